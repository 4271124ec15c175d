#include "clarch.h"
#include <string.h>

static uint32_t table[8][256];

// Runs before main, so that no caller ever needs a lock or a "ready" flag.
__attribute__((constructor)) static void make_table(void) {
  for (uint32_t n = 0; n < 256; n++) {
    uint32_t c = n;
    for (int k = 0; k < 8; k++) c = (c & 1) ? (c >> 1) ^ 0x82F63B78u : c >> 1;
    table[0][n] = c;
  }
  for (uint32_t n = 0; n < 256; n++)
    for (int k = 1; k < 8; k++)
      table[k][n] = (table[k - 1][n] >> 8) ^ table[0][table[k - 1][n] & 0xFF];
}

static uint32_t crc_table(uint32_t crc, const uint8_t *p, size_t n) {
  while (n >= 8) {
    uint64_t w;
    memcpy(&w, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    w = __builtin_bswap64(w);
#endif
    w ^= crc;
    crc = table[7][w & 0xFF] ^ table[6][(w >> 8) & 0xFF] ^ table[5][(w >> 16) & 0xFF] ^
          table[4][(w >> 24) & 0xFF] ^ table[3][(w >> 32) & 0xFF] ^ table[2][(w >> 40) & 0xFF] ^
          table[1][(w >> 48) & 0xFF] ^ table[0][w >> 56];
    p += 8;
    n -= 8;
  }
  while (n--) crc = (crc >> 8) ^ table[0][(crc ^ *p++) & 0xFF];
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc_hardware(
    uint32_t crc, const uint8_t *p, size_t n) {
  uint64_t c = crc;
  while (n >= 8) {
    uint64_t w;
    memcpy(&w, p, 8);
    c = __builtin_ia32_crc32di(c, w);
    p += 8;
    n -= 8;
  }
  uint32_t r = (uint32_t)c;
  if (n >= 4) {
    uint32_t w;
    memcpy(&w, p, 4);
    r = __builtin_ia32_crc32si(r, w);
    p += 4;
    n -= 4;
  }
  while (n--) r = __builtin_ia32_crc32qi(r, *p++);
  return r;
}
static int has_hardware;
__attribute__((constructor)) static void probe(void) {
  __builtin_cpu_init();
  has_hardware = __builtin_cpu_supports("sse4.2") != 0;
}
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
static const int has_hardware = 1;
static uint32_t crc_hardware(uint32_t crc, const uint8_t *p, size_t n) {
  while (n >= 8) {
    uint64_t w;
    memcpy(&w, p, 8);
    crc = __crc32cd(crc, w);
    p += 8;
    n -= 8;
  }
  while (n--) crc = __crc32cb(crc, *p++);
  return crc;
}
#else
static const int has_hardware = 0;
static uint32_t crc_hardware(uint32_t crc, const uint8_t *p, size_t n) {
  return crc_table(crc, p, n);
}
#endif

uint32_t larch_crc32c(uint32_t crc, const void *bytes, size_t count) {
  crc = ~crc;
  crc = has_hardware ? crc_hardware(crc, bytes, count) : crc_table(crc, bytes, count);
  return ~crc;
}

uint32_t larch_crc32c_parts(
    uint32_t number, const void *bytes1, size_t count1, const void *bytes2, size_t count2) {
  uint8_t head[4] = {number & 0xFF, (number >> 8) & 0xFF, (number >> 16) & 0xFF, number >> 24};
  if (!has_hardware) {
    uint32_t crc = crc_table(~0u, head, 4);
    crc = crc_table(crc, bytes1, count1);
    return ~crc_table(crc, bytes2, count2);
  }
  uint32_t crc = crc_hardware(~0u, head, 4);
  crc = crc_hardware(crc, bytes1, count1);
  return ~crc_hardware(crc, bytes2, count2);
}
