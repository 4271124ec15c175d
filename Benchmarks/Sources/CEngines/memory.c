#include "engines.h"

#ifdef __linux__
#include <malloc.h>
#endif

size_t bench_allocated_bytes(void) {
#ifdef __linux__
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
#else
  return 0;
#endif
}
