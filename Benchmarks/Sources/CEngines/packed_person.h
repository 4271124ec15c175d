// A record as the peers store it that only know bytes: age, score, createdAt, companyID (8 bytes each),
// active, three lengths, the strings. With the parts of keys that sort as their values do.
#ifndef LARCH_BENCHMARK_PACKED_PERSON_H
#define LARCH_BENCHMARK_PACKED_PERSON_H

#include "person.h"

static inline void store_big_endian(unsigned char *target, uint64_t value) {
  value = __builtin_bswap64(value);
  memcpy(target, &value, 8);
}

static inline void store_key_int(unsigned char *target, int64_t value) {
  store_big_endian(target, (uint64_t)value ^ ((uint64_t)1 << 63));
}

static inline int64_t load_key_int(const void *source) {
  uint64_t value;
  memcpy(&value, source, 8);
  return (int64_t)(__builtin_bswap64(value) ^ ((uint64_t)1 << 63));
}

static inline void store_key_double(unsigned char *target, double value) {
  uint64_t bits = person_bits(value + 0.0);
  uint64_t sign = (uint64_t)1 << 63;
  store_big_endian(target, (bits & sign) ? ~bits : bits | sign);
}

#define FIXED_SIZE 36

static inline size_t packed_size(const bench_person *person) {
  return FIXED_SIZE + (size_t)person->name_length + person->email_length + person->city_length;
}

static inline void pack(unsigned char *target, const bench_person *person) {
  memcpy(target, &person->age, 8);
  memcpy(target + 8, &person->score, 8);
  memcpy(target + 16, &person->created_at, 8);
  memcpy(target + 24, &person->company_id, 8);
  target[32] = person->active;
  target[33] = (unsigned char)person->name_length;
  target[34] = (unsigned char)person->email_length;
  target[35] = (unsigned char)person->city_length;
  target += FIXED_SIZE;
  memcpy(target, person->name, person->name_length);
  target += person->name_length;
  memcpy(target, person->email, person->email_length);
  target += person->email_length;
  memcpy(target, person->city, person->city_length);
}

// A view: its strings point into the bytes, so they live as long as those.
static inline void view_packed(bench_person *person, int64_t id, const void *bytes) {
  const unsigned char *source = bytes;
  person->id = id;
  memcpy(&person->age, source, 8);
  memcpy(&person->score, source + 8, 8);
  memcpy(&person->created_at, source + 16, 8);
  memcpy(&person->company_id, source + 24, 8);
  person->active = source[32] != 0;
  person->name_length = source[33];
  person->email_length = source[34];
  person->city_length = source[35];
  person->name = (char *)source + FIXED_SIZE;
  person->email = person->name + person->name_length;
  person->city = person->email + person->email_length;
}

static inline void materialise_packed(bench_person *person, int64_t id, const void *bytes) {
  view_packed(person, id, bytes);
  person->name = person_copy_string(person->name, person->name_length);
  person->email = person_copy_string(person->email, person->email_length);
  person->city = person_copy_string(person->city, person->city_length);
}

static inline double packed_score(const void *bytes) {
  double score;
  memcpy(&score, (const unsigned char *)bytes + 8, 8);
  return score;
}

#endif
