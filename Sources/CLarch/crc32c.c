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
#include <immintrin.h>
#define HARDWARE __attribute__((target("sse4.2")))
#define CRC_WORD(crc, word) ((uint32_t)__builtin_ia32_crc32di(crc, word))
#define CRC_BYTE(crc, byte) __builtin_ia32_crc32qi(crc, byte)
static int has_hardware;
__attribute__((constructor)) static void probe(void) {
  __builtin_cpu_init();
  has_hardware = __builtin_cpu_supports("sse4.2") != 0;
}
#elif defined(__ARM_FEATURE_CRC32) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#include <arm_acle.h>
#define HARDWARE
#define CRC_WORD(crc, word) __crc32cd(crc, word)
#define CRC_BYTE(crc, byte) __crc32cb(crc, byte)
static const int has_hardware = 1;
#else
static const int has_hardware = 0;
#endif

#ifdef HARDWARE
// The instruction takes three cycles but can begin in each, so a long value is read in three lanes
// at once. A lane is added to the one before it as if that had been followed by as many zeros; the
// checksum of that is a sum over its bits, which a table has for each of its four bytes.
#define LANE 256
static uint32_t zeros[4][256];

__attribute__((constructor)) static void make_zeros(void) {
  // The checksum of each bit after one zero, then after twice as many, until it is after a lane.
  uint32_t bits[32], twice[32];
  for (int bit = 0; bit < 32; bit++) {
    bits[bit] = 1u << bit;
    for (int n = 0; n < 8; n++)
      bits[bit] = (bits[bit] & 1) ? (bits[bit] >> 1) ^ 0x82F63B78u : bits[bit] >> 1;
  }
  for (size_t count = 1; count < LANE; count *= 2) {
    for (int bit = 0; bit < 32; bit++) {
      twice[bit] = 0;
      for (int n = 0; n < 32; n++)
        if (bits[bit] >> n & 1) twice[bit] ^= bits[n];
    }
    memcpy(bits, twice, sizeof bits);
  }
  for (int bit = 0; bit < 32; bit++) zeros[bit / 8][1u << bit % 8] = bits[bit];
  for (int k = 0; k < 4; k++)
    for (uint32_t n = 1; n < 256; n++)
      zeros[k][n] = zeros[k][n & (n - 1)] ^ zeros[k][n & -n];
}

static inline uint32_t after_zeros(uint32_t crc) {
  return zeros[0][crc & 0xFF] ^ zeros[1][(crc >> 8) & 0xFF] ^ zeros[2][(crc >> 16) & 0xFF] ^
         zeros[3][crc >> 24];
}

#if defined(__x86_64__)
#define FOLDED 256
#define FOLDING __attribute__((target("sse4.2,avx512f,pclmul,vpclmulqdq")))
static int can_fold;
// What moves the first and the second word of sixteen bytes over 256 bytes, and over 64.
static uint64_t over_all[2], over_next[2];

// x to the power, modulo the polynomial, in the order of bits of a checksum.
static uint64_t power(size_t exponent) {
  uint32_t value = 1u << 31;
  while (exponent--) value = (value & 1) ? (value >> 1) ^ 0x82F63B78u : value >> 1;
  return value;
}

__attribute__((constructor)) static void make_folds(void) {
  __builtin_cpu_init();
  can_fold = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq") &&
             __builtin_cpu_supports("pclmul");
  // The product of a word and a power has 33 places more than both: 32 since the power is in the
  // half of a word, and one since there are 127 bits in the 128.
  over_all[0] = power(8 * FOLDED + 64 - 33);
  over_all[1] = power(8 * FOLDED - 33);
  over_next[0] = power(8 * 64 + 64 - 33);
  over_next[1] = power(8 * 64 - 33);
}

FOLDING static inline __m512i fold(__m512i x, __m512i over, __m512i next) {
  return _mm512_ternarylogic_epi64(
      _mm512_clmulepi64_epi128(x, over, 0x00), _mm512_clmulepi64_epi128(x, over, 0x11), next, 0x96);
}

FOLDING static inline __m512i pair(const uint64_t *words) {
  return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)words));
}

// The checksum of groups of 256 bytes, two at least: four times as many bytes a cycle as in lanes. Bytes
// are moved over the ones behind them until only the last 64 are left, which have the same checksum.
FOLDING static __attribute__((noinline)) uint32_t crc_folded(
    uint32_t crc, const uint8_t *p, size_t n) {
  __m512i first = _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)crc));
  __m512i a = _mm512_xor_si512(_mm512_loadu_si512(p), first);
  __m512i b = _mm512_loadu_si512(p + 64);
  __m512i c = _mm512_loadu_si512(p + 128);
  __m512i d = _mm512_loadu_si512(p + 192);
  __m512i over = pair(over_all);
  for (n -= FOLDED, p += FOLDED; n > 0; n -= FOLDED, p += FOLDED) {
    a = fold(a, over, _mm512_loadu_si512(p));
    b = fold(b, over, _mm512_loadu_si512(p + 64));
    c = fold(c, over, _mm512_loadu_si512(p + 128));
    d = fold(d, over, _mm512_loadu_si512(p + 192));
  }
  over = pair(over_next);
  uint64_t words[8];
  _mm512_storeu_si512(words, fold(fold(fold(a, over, b), over, c), over, d));
  crc = 0;
  for (int place = 0; place < 8; place++) crc = CRC_WORD(crc, words[place]);
  return crc;
}
#endif

// Of words, at least as many as a group of lanes has. It is the last that its callers call, so that
// they need not save registers where values are short.
HARDWARE static __attribute__((noinline)) uint32_t crc_lanes(
    uint32_t crc, const uint8_t *p, size_t n) {
#if defined(__x86_64__)
  if (can_fold) {
    size_t folded = n / FOLDED * FOLDED;
    crc = crc_folded(crc, p, folded);
    p += folded;
    n -= folded;
  }
#endif
  for (; n >= 3 * LANE; n -= 3 * LANE, p += 3 * LANE) {
    uint32_t second = 0, third = 0;
    for (size_t n = 0; n < LANE; n += 8) {
      uint64_t a, b, c;
      memcpy(&a, p + n, 8);
      memcpy(&b, p + LANE + n, 8);
      memcpy(&c, p + 2 * LANE + n, 8);
      crc = CRC_WORD(crc, a);
      second = CRC_WORD(second, b);
      third = CRC_WORD(third, c);
    }
    crc = after_zeros(after_zeros(crc) ^ second) ^ third;
  }
  for (; n >= 8; n -= 8, p += 8) {
    uint64_t word;
    memcpy(&word, p, 8);
    crc = CRC_WORD(crc, word);
  }
  return crc;
}

// Records differ in length from one to the next, so a loop over the bytes that are left at the end
// would be predicted wrong for most: that took longer than the checksum itself. Bytes that make no
// word go first, at the end of a word of zeros, which change nothing while the checksum is zero;
// what of the checksum reaches beyond them is added behind.
HARDWARE static inline uint32_t crc_hardware(uint32_t crc, const uint8_t *p, size_t n) {
  if (n < 8) {
    while (n--) crc = CRC_BYTE(crc, *p++);
    return crc;
  }
  unsigned bits = (unsigned)(n & 7) * 8;
  uint64_t w;
  memcpy(&w, p, 8);
  uint64_t first = (w ^ crc) << (56 - bits) << 8;
  crc = CRC_WORD(0, first) ^ (uint32_t)((uint64_t)crc >> bits);
  p += n & 7;
  if (n >= 3 * LANE) return crc_lanes(crc, p, n);
  for (n >>= 3; n > 0; n--, p += 8) {
    memcpy(&w, p, 8);
    crc = CRC_WORD(crc, w);
  }
  return crc;
}
HARDWARE static __attribute__((noinline)) uint32_t crc_of_other_ids(
    uint32_t number, const uint8_t *p1, size_t n1, const uint8_t *p2, size_t n2) {
  uint8_t head[4] = {number & 0xFF, (number >> 8) & 0xFF, (number >> 16) & 0xFF, number >> 24};
  return ~crc_hardware(crc_hardware(crc_hardware(~0u, head, 4), p1, n1), p2, n2);
}
HARDWARE static uint32_t crc_hardware_parts(
    uint32_t number, const uint8_t *p1, size_t n1, const uint8_t *p2, size_t n2) {
  if (n1 != 8) return crc_of_other_ids(number, p1, n1, p2, n2);
  // Most ids: with the number twelve bytes, of which four go first.
  uint64_t word;
  memcpy(&word, p1, 8);
  uint32_t crc = CRC_WORD(CRC_WORD(0, (uint64_t)(~0u ^ number) << 32), word);
  return ~crc_hardware(crc, p2, n2);
}
#else
static uint32_t crc_hardware(uint32_t crc, const uint8_t *p, size_t n) {
  return crc_table(crc, p, n);
}
static uint32_t crc_hardware_parts(
    uint32_t number, const uint8_t *p1, size_t n1, const uint8_t *p2, size_t n2) {
  (void)number, (void)p1, (void)n1, (void)p2, (void)n2;
  return 0;
}
#endif

uint32_t larch_crc32c(uint32_t crc, const void *bytes, size_t count) {
  crc = ~crc;
  crc = has_hardware ? crc_hardware(crc, bytes, count) : crc_table(crc, bytes, count);
  return ~crc;
}

uint32_t larch_crc32c_parts(
    uint32_t number, const void *bytes1, size_t count1, const void *bytes2, size_t count2) {
  if (has_hardware) return crc_hardware_parts(number, bytes1, count1, bytes2, count2);
  uint8_t head[4] = {number & 0xFF, (number >> 8) & 0xFF, (number >> 16) & 0xFF, number >> 24};
  uint32_t crc = crc_table(~0u, head, 4);
  crc = crc_table(crc, bytes1, count1);
  return ~crc_table(crc, bytes2, count2);
}
