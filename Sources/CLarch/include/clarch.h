#ifndef CLARCH_H
#define CLARCH_H
#include <stddef.h>
#include <stdint.h>

/// CRC-32C (Castagnoli) of `count` bytes at `bytes`, continuing from `crc` (0 to start).
/// Uses the processor's own instruction where there is one.
uint32_t larch_crc32c(uint32_t crc, const void *bytes, size_t count);

#endif
