// What both C peers share: the checksum, the fingerprint, and the freeing of a materialised record.
#ifndef LARCH_BENCHMARK_PERSON_H
#define LARCH_BENCHMARK_PERSON_H

#include <stdlib.h>
#include <string.h>

#include "engines.h"

static inline uint64_t person_bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline uint64_t person_checksum(const bench_person *person) {
  // Only lengths are summed, so a compiler may prove the copies unused and drop them with their malloc;
  // the caller of a store keeps its record, so the bytes count as used here.
  __asm__ volatile("" : : "r"(person->name), "r"(person->email), "r"(person->city) : "memory");
  return (uint64_t)person->id * 0x9E3779B97F4A7C15u + (uint64_t)person->age * 0xC2B2AE3D27D4EB4Fu
    + (uint64_t)person->company_id * 0x165667B19E3779F9u
    + person_bits(person->score) * 0xD6E8FEB86659FD93u
    + person_bits(person->created_at) * 0xFF51AFD7ED558CCDu + (person->active ? 0xA5A5u : 0u)
    + (uint64_t)person->name_length * 257u + (uint64_t)person->email_length * 65537u
    + (uint64_t)person->city_length * 16777259u;
}

static inline char *person_copy_string(const void *bytes, uint32_t length) {
  char *copy = malloc((size_t)length + 1);
  if (copy == NULL) abort();
  memcpy(copy, bytes, length);
  copy[length] = 0;
  return copy;
}

static inline void person_free(bench_person *person) {
  free(person->name);
  free(person->email);
  free(person->city);
}

static inline uint64_t fnv_bytes(uint64_t hash, const void *bytes, size_t count) {
  const unsigned char *cursor = bytes;
  for (size_t index = 0; index < count; index++) hash = (hash ^ cursor[index]) * 0x100000001B3u;
  return hash;
}

static inline uint64_t fnv_u64(uint64_t hash, uint64_t value) {
  unsigned char bytes[8];
  for (int index = 0; index < 8; index++) bytes[index] = (unsigned char)(value >> (8 * index));
  return fnv_bytes(hash, bytes, 8);
}

#define FNV_START 0xCBF29CE484222325u

// Strings end with a zero byte, so that the borders between them count.
static inline uint64_t fnv_person(uint64_t hash, const bench_person *person) {
  unsigned char active = person->active ? 1 : 0;
  hash = fnv_u64(hash, (uint64_t)person->id);
  hash = fnv_bytes(fnv_bytes(hash, person->name, person->name_length), "", 1);
  hash = fnv_bytes(fnv_bytes(hash, person->email, person->email_length), "", 1);
  hash = fnv_u64(hash, (uint64_t)person->age);
  hash = fnv_u64(hash, person_bits(person->score));
  hash = fnv_bytes(hash, &active, 1);
  hash = fnv_u64(hash, person_bits(person->created_at));
  hash = fnv_bytes(fnv_bytes(hash, person->city, person->city_length), "", 1);
  return fnv_u64(hash, (uint64_t)person->company_id);
}

// What a company adds to a checksum: its people count beside its id, so that it matters whose they
// are.
static inline uint64_t company_checksum(int64_t id, const char *name, uint32_t length, uint64_t people) {
  __asm__ volatile("" : : "r"(name) : "memory");
  return (uint64_t)id * (people + 1) * 0x9E3779B97F4A7C15u + length * 257u;
}

// Summed over links; other links between the same students and courses do not add up to the same.
static inline uint64_t link_checksum(int64_t student, int64_t course) {
  uint64_t bits = (uint64_t)student * 0x9E3779B97F4A7C15u ^ (uint64_t)course * 0xC2B2AE3D27D4EB4Fu;
  return (bits ^ bits >> 29) * 0xBF58476D1CE4E5B9u;
}

#endif
