#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "clarch.h"

#include <pthread.h>

size_t larch_stack_left(void) {
  char here;
  const char *lowest;
  size_t size;
#if defined(__APPLE__)
  size = pthread_get_stacksize_np(pthread_self());
  lowest = (const char *)pthread_get_stackaddr_np(pthread_self()) - size;
#elif defined(__linux__)
  pthread_attr_t attributes;
  void *start;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return SIZE_MAX;
  int code = pthread_attr_getstack(&attributes, &start, &size);
  pthread_attr_destroy(&attributes);
  if (code != 0) return SIZE_MAX;
  lowest = start;
#else
  return SIZE_MAX;
#endif
  // Nothing is known about a stack that the program allocated itself.
  uintptr_t left = (uintptr_t)&here - (uintptr_t)lowest;
  return left <= size ? left : SIZE_MAX;
}
