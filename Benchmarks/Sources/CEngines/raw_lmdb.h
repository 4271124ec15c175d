// What the raw LMDB engine's files share: the sub-databases, their keys, and records in pages.
#ifndef LARCH_BENCHMARK_RAW_LMDB_H
#define LARCH_BENCHMARK_RAW_LMDB_H

#include <lmdb.h>
#include <string.h>

#include "packed_person.h"

enum { EMAIL, AGE, CITY_AGE, CREATED_AT, COMPANY, INDEX_COUNT };

#define CHECK(call)                \
  do {                             \
    code = (call);                 \
    if (code != 0) goto failed;    \
  } while (0)

// Opens the file with address space for 64 GiB, or 1 where that much is not to be had.
int lmdb_open_environment(const char *path, MDB_env **out);

struct bench_lmdb {
  MDB_env *environment;
  MDB_dbi people;
  MDB_dbi indexes[INDEX_COUNT];
  MDB_txn *parked;  // the read transaction that is renewed and reset, or NULL
};

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

// A view: its strings point into the page, so they live until the next write or the end of the read.
static inline void view(bench_person *person, int64_t id, const MDB_val *value) {
  view_packed(person, id, value->mv_data);
}

static inline void materialise(bench_person *person, int64_t id, const MDB_val *value) {
  materialise_packed(person, id, value->mv_data);
}

// The parked transaction is renewed, which costs less than a new one; `mdb_txn_reset` parks it again.
static inline int renew_read(MDB_env *environment, MDB_txn **parked, MDB_txn **txn) {
  int code = *parked != NULL ? mdb_txn_renew(*parked)
                             : mdb_txn_begin(environment, NULL, MDB_RDONLY, parked);
  *txn = *parked;
  return code;
}

static inline int begin_read(bench_lmdb *store, MDB_txn **txn) {
  return renew_read(store->environment, &store->parked, txn);
}

// Deletes a person with its index entries, but for those in the spared index; INDEX_COUNT spares none.
int lmdb_delete_person(bench_lmdb *store, MDB_txn *txn, int64_t id, int spared_index);

#endif
