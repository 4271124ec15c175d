// What the raw LMDB engine's files share: the sub-databases, their keys, and the packed record.
#ifndef LARCH_BENCHMARK_RAW_LMDB_H
#define LARCH_BENCHMARK_RAW_LMDB_H

#include <lmdb.h>
#include <string.h>

#include "person.h"

enum { EMAIL, AGE, CITY_AGE, CREATED_AT, COMPANY, INDEX_COUNT };

struct bench_lmdb {
  MDB_env *environment;
  MDB_dbi people;
  MDB_dbi indexes[INDEX_COUNT];
  MDB_txn *parked;  // the read transaction that is renewed and reset, or NULL
};

// MARK: Bytes

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

// One index key; 01 starts a string, 00 00 ends one that another component follows.
typedef struct {
  unsigned char bytes[512];
  size_t length;
} index_key;

static inline void make_email_key(index_key *key, const char *email, uint32_t length) {
  key->bytes[0] = 1;
  memcpy(key->bytes + 1, email, length);
  key->length = 1 + (size_t)length;
}

static inline void make_int_key(index_key *key, int64_t value) {
  store_key_int(key->bytes, value);
  key->length = 8;
}

static inline void make_city_age_key(
  index_key *key, const char *city, uint32_t length, int64_t age) {
  key->bytes[0] = 1;
  memcpy(key->bytes + 1, city, length);
  key->bytes[1 + length] = 0;
  key->bytes[2 + length] = 0;
  store_key_int(key->bytes + 3 + length, age);
  key->length = 11 + (size_t)length;
}

static inline void make_created_at_key(index_key *key, double created_at) {
  store_key_double(key->bytes, created_at);
  key->length = 8;
}

// Packed record: age, score, createdAt, companyID (8 bytes each), active, three lengths, the strings.
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

// A view: its strings point into the page, so they live until the next write or the end of the read.
static inline void view(bench_person *person, int64_t id, const MDB_val *value) {
  const unsigned char *source = value->mv_data;
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

static inline void materialise(bench_person *person, int64_t id, const MDB_val *value) {
  view(person, id, value);
  person->name = person_copy_string(person->name, person->name_length);
  person->email = person_copy_string(person->email, person->email_length);
  person->city = person_copy_string(person->city, person->city_length);
}

// The parked transaction is renewed, which costs less than a new one; `mdb_txn_reset` parks it again.
static inline int begin_read(bench_lmdb *store, MDB_txn **txn) {
  if (store->parked != NULL) {
    *txn = store->parked;
    return mdb_txn_renew(store->parked);
  }
  int code = mdb_txn_begin(store->environment, NULL, MDB_RDONLY, &store->parked);
  *txn = store->parked;
  return code;
}

// Deletes a person with its index entries, but for those in the spared index; INDEX_COUNT spares none.
int lmdb_delete_person(bench_lmdb *store, MDB_txn *txn, int64_t id, int spared_index);

#endif
