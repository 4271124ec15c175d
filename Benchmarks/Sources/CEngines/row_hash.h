// The checksum of a row, as RowHash.swift has it.
#ifndef LARCH_BENCHMARK_ROW_HASH_H
#define LARCH_BENCHMARK_ROW_HASH_H

#include "person.h"

#define ROW_HASH_START 0x4C41524348534850u
#define ROW_HASH_NIL 0x6E696C6E696Cu

static inline uint64_t row_add(uint64_t hash, uint64_t bits) {
  hash = (hash ^ bits) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 29;
}

static inline uint64_t row_add_double(uint64_t hash, double value) {
  return row_add(hash, person_bits(value));
}

// The sixteen bytes of a UUID.
static inline uint64_t row_add_uuid(uint64_t hash, const void *bytes) {
  uint64_t halves[2];
  memcpy(halves, bytes, 16);
  return row_add(row_add(hash, __builtin_bswap64(halves[0])), __builtin_bswap64(halves[1]));
}

// Its length, and with `all_bytes` what it says.
static inline uint64_t row_add_text(
  uint64_t hash, const void *bytes, uint32_t length, bool all_bytes) {
  hash = row_add(hash, length);
  return all_bytes ? row_add(hash, fnv_bytes(FNV_START, bytes, length)) : hash;
}

static inline void result_add(bench_result *result, uint64_t hash) {
  result->rows += 1;
  result->checksum += hash;
}

#endif
