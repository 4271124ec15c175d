#ifndef CLARCH_H
#define CLARCH_H
#include <stddef.h>
#include <stdint.h>

/// CRC-32C (Castagnoli) of `count` bytes at `bytes`, continuing from `crc` (0 to start).
/// Uses the processor's own instruction where there is one.
uint32_t larch_crc32c(uint32_t crc, const void *bytes, size_t count);

/// CRC-32C of the little-endian bytes of `number`, then of `count1` bytes, then of `count2` bytes.
uint32_t larch_crc32c_parts(
    uint32_t number, const void *bytes1, size_t count1, const void *bytes2, size_t count2);

/// Makes a Swift object immortal; reference counts are ignored from then on. 0 where the
/// runtime cannot.
int larch_make_immortal(void *object);

/// Asks the processor to load the memory at an address, which is read soon. Any address will do.
static inline void larch_prefetch(const void *address) { __builtin_prefetch(address); }

extern _Thread_local void *larch_innermost_scope;

/// A place of the calling thread for the innermost scope that it runs in; NULL at first.
static inline void **larch_scope(void) { return &larch_innermost_scope; }

/// The Swift task that the calling thread runs, not retained; NULL outside every task.
const void *larch_current_task(void);

/// How many bytes of the calling thread's stack are left; SIZE_MAX if unknown.
size_t larch_stack_left(void);

#endif
