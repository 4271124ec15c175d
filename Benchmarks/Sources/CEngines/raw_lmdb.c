// The physical limit: the sub-databases and bytes that Larch uses, through LMDB's C API and nothing on top.
//
//   people      id (8 bytes, big-endian, sign flipped) -> packed record
//   five indexes, DUPSORT | DUPFIXED, encoded field -> id:
//   email (unique), age, city+age, createdAt, companyID

#include <errno.h>

#include "raw_lmdb.h"

static const char *const index_names[INDEX_COUNT] = {
  "email", "age", "city_age", "createdAt", "companyID"};

// Address space only; the same as Larch reserves, and 1 GiB where that much is not to be had.
static const size_t map_sizes[] = {(size_t)64 << 30, (size_t)1 << 30};

static void make_key(int index, index_key *key, const bench_person *person) {
  switch (index) {
    case EMAIL: make_email_key(key, person->email, person->email_length); break;
    case AGE: make_int_key(key, person->age); break;
    case CITY_AGE: make_city_age_key(key, person->city, person->city_length, person->age); break;
    case CREATED_AT: make_created_at_key(key, person->created_at); break;
    default: make_int_key(key, person->company_id); break;
  }
}

// MARK: Opening

const char *bench_lmdb_message(int code) { return mdb_strerror(code); }

static int open_with_map(const char *path, size_t map_size, MDB_env **out) {
  MDB_env *environment;
  int code = mdb_env_create(&environment);
  if (code != 0) return code;
  code = mdb_env_set_mapsize(environment, map_size);
  if (code == 0) code = mdb_env_set_maxdbs(environment, 16);
  if (code == 0) code = mdb_env_open(environment, path, MDB_NOSUBDIR | MDB_NOTLS, 0600);
  if (code != 0) mdb_env_close(environment);
  else *out = environment;
  return code;
}

int lmdb_open_environment(const char *path, MDB_env **out) {
  int code = open_with_map(path, map_sizes[0], out);
  // EINVAL: valgrind's answer to a map that is too large for it.
  return code == ENOMEM || code == EINVAL ? open_with_map(path, map_sizes[1], out) : code;
}

int bench_lmdb_open(const char *path, bench_lmdb **out) {
  int code;
  MDB_txn *txn = NULL;
  bench_lmdb *store = calloc(1, sizeof *store);
  if (store == NULL) abort();
  CHECK(lmdb_open_environment(path, &store->environment));
  CHECK(mdb_txn_begin(store->environment, NULL, 0, &txn));
  CHECK(mdb_dbi_open(txn, "people", MDB_CREATE, &store->people));
  for (int index = 0; index < INDEX_COUNT; index++) {
    CHECK(mdb_dbi_open(
      txn, index_names[index], MDB_CREATE | MDB_DUPSORT | MDB_DUPFIXED, &store->indexes[index]));
  }
  code = mdb_txn_commit(txn);
  txn = NULL;
  if (code != 0) goto failed;
  *out = store;
  return 0;
failed:
  if (txn != NULL) mdb_txn_abort(txn);
  bench_lmdb_close(store);
  return code;
}

void bench_lmdb_close(bench_lmdb *store) {
  if (store->parked != NULL) mdb_txn_abort(store->parked);
  if (store->environment != NULL) mdb_env_close(store->environment);
  free(store);
}

// MARK: Writing

static int last_stored_id(bench_lmdb *store, MDB_txn *txn, int64_t *id) {
  MDB_cursor *cursor;
  MDB_val key, value;
  int code = mdb_cursor_open(txn, store->people, &cursor);
  if (code != 0) return code;
  code = mdb_cursor_get(cursor, &key, &value, MDB_LAST);
  *id = code == 0 ? load_key_int(key.mv_data) : 0;
  mdb_cursor_close(cursor);
  return code == MDB_NOTFOUND ? 0 : code;
}

static int insert_one(bench_lmdb *store, MDB_txn *txn, const bench_person *person, int64_t id) {
  unsigned char id_bytes[8];
  index_key built;
  store_key_int(id_bytes, id);
  make_email_key(&built, person->email, person->email_length);
  MDB_val key = {built.length, built.bytes};
  MDB_val value;
  int code = mdb_get(txn, store->indexes[EMAIL], &key, &value);
  if (code == 0) return MDB_KEYEXIST;
  if (code != MDB_NOTFOUND) return code;

  MDB_val id_key = {8, id_bytes};
  value = (MDB_val){packed_size(person), NULL};
  // Written straight into the page.
  code = mdb_put(txn, store->people, &id_key, &value, MDB_APPEND | MDB_RESERVE);
  if (code != 0) return code;
  pack(value.mv_data, person);
  for (int index = 0; index < INDEX_COUNT; index++) {
    if (index != EMAIL) make_key(index, &built, person);
    key = (MDB_val){built.length, built.bytes};
    value = (MDB_val){8, id_bytes};
    code = mdb_put(txn, store->indexes[index], &key, &value, 0);
    if (code != 0) return code;
  }
  return 0;
}

int bench_lmdb_insert(
  bench_lmdb *store, const bench_person *people, size_t count, int64_t *last_id) {
  MDB_txn *txn;
  int64_t id;
  int code = mdb_txn_begin(store->environment, NULL, 0, &txn);
  if (code != 0) return code;
  CHECK(last_stored_id(store, txn, &id));
  for (size_t index = 0; index < count; index++) {
    CHECK(insert_one(store, txn, &people[index], ++id));
  }
  *last_id = id;
  return mdb_txn_commit(txn);
failed:
  mdb_txn_abort(txn);
  return code;
}

static int change_entry(
  MDB_txn *txn, MDB_dbi index, index_key *old, index_key *new, unsigned char *id_bytes) {
  MDB_val value = {8, id_bytes};
  MDB_val key = {old->length, old->bytes};
  int code = mdb_del(txn, index, &key, &value);
  if (code != 0) return code;
  key = (MDB_val){new->length, new->bytes};
  return mdb_put(txn, index, &key, &value, 0);
}

int bench_lmdb_age(bench_lmdb *store, const int64_t *ids, size_t count, uint64_t *done) {
  MDB_txn *txn;
  int code = mdb_txn_begin(store->environment, NULL, 0, &txn);
  if (code != 0) return code;
  for (size_t index = 0; index < count; index++) {
    unsigned char id_bytes[8];
    index_key old, new;
    bench_person person;
    MDB_val value;
    store_key_int(id_bytes, ids[index]);
    MDB_val id_key = {8, id_bytes};
    CHECK(mdb_get(txn, store->people, &id_key, &value));
    materialise(&person, ids[index], &value);
    int64_t old_age = person.age;
    person.age = (old_age + 1) % 100;
    make_int_key(&old, old_age);
    make_int_key(&new, person.age);
    code = change_entry(txn, store->indexes[AGE], &old, &new, id_bytes);
    if (code == 0) {
      make_city_age_key(&old, person.city, person.city_length, old_age);
      make_city_age_key(&new, person.city, person.city_length, person.age);
      code = change_entry(txn, store->indexes[CITY_AGE], &old, &new, id_bytes);
    }
    if (code == 0) {
      value = (MDB_val){packed_size(&person), NULL};
      code = mdb_put(txn, store->people, &id_key, &value, MDB_RESERVE);
      if (code == 0) pack(value.mv_data, &person);
    }
    person_free(&person);
    if (code != 0) goto failed;
  }
  *done = count;
  return mdb_txn_commit(txn);
failed:
  mdb_txn_abort(txn);
  return code;
}

int lmdb_delete_person(bench_lmdb *store, MDB_txn *txn, int64_t id, int spared_index) {
  unsigned char id_bytes[8];
  bench_person person;
  MDB_val value;
  store_key_int(id_bytes, id);
  MDB_val id_key = {8, id_bytes};
  int code = mdb_get(txn, store->people, &id_key, &value);
  if (code != 0) return code;
  // Only the keys are needed: one copy of the bytes, since a later delete may spill their page.
  unsigned char copy[FIXED_SIZE + 3 * 255];
  memcpy(copy, value.mv_data, value.mv_size);
  value.mv_data = copy;
  view(&person, id, &value);
  for (int which = 0; which < INDEX_COUNT; which++) {
    if (which == spared_index) continue;
    index_key built;
    make_key(which, &built, &person);
    MDB_val key = {built.length, built.bytes};
    MDB_val duplicate = {8, id_bytes};
    code = mdb_del(txn, store->indexes[which], &key, &duplicate);
    if (code != 0) return code;
  }
  return mdb_del(txn, store->people, &id_key, NULL);
}

int bench_lmdb_delete(bench_lmdb *store, const int64_t *ids, size_t count, uint64_t *done) {
  MDB_txn *txn;
  int code = mdb_txn_begin(store->environment, NULL, 0, &txn);
  if (code != 0) return code;
  for (size_t index = 0; index < count; index++) {
    CHECK(lmdb_delete_person(store, txn, ids[index], INDEX_COUNT));
  }
  *done = count;
  return mdb_txn_commit(txn);
failed:
  mdb_txn_abort(txn);
  return code;
}

// MARK: Reading

static inline int get_one(bench_lmdb *store, MDB_txn *txn, int64_t id, bench_result *result) {
  unsigned char id_bytes[8];
  bench_person person;
  MDB_val value;
  store_key_int(id_bytes, id);
  MDB_val key = {8, id_bytes};
  int code = mdb_get(txn, store->people, &key, &value);
  if (code != 0) return code;
  materialise(&person, id, &value);
  result->rows += 1;
  result->checksum += person_checksum(&person);
  person_free(&person);
  return 0;
}

int bench_lmdb_get(bench_lmdb *store, const int64_t *ids, size_t count, bench_result *result) {
  MDB_txn *txn;
  *result = (bench_result){0, 0};
  int code = begin_read(store, &txn);
  for (size_t index = 0; code == 0 && index < count; index++) {
    code = get_one(store, txn, ids[index], result);
  }
  if (txn != NULL) mdb_txn_reset(txn);
  return code;
}

int bench_lmdb_get_each(
  bench_lmdb *store, const int64_t *ids, size_t count, bool fresh, bench_result *result) {
  int code = 0;
  *result = (bench_result){0, 0};
  for (size_t index = 0; code == 0 && index < count; index++) {
    MDB_txn *txn;
    code = fresh ? mdb_txn_begin(store->environment, NULL, MDB_RDONLY, &txn)
                 : begin_read(store, &txn);
    if (code != 0) return code;
    code = get_one(store, txn, ids[index], result);
    if (fresh) mdb_txn_abort(txn);
    else mdb_txn_reset(txn);
  }
  return code;
}

int bench_lmdb_scan(bench_lmdb *store, bench_result *result) {
  MDB_txn *txn;
  MDB_cursor *cursor;
  MDB_val key, value;
  *result = (bench_result){0, 0};
  int code = begin_read(store, &txn);
  if (code != 0) return code;
  code = mdb_cursor_open(txn, store->people, &cursor);
  if (code == 0) {
    while ((code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
      bench_person person;
      materialise(&person, load_key_int(key.mv_data), &value);
      result->rows += 1;
      result->checksum += person_checksum(&person);
      person_free(&person);
    }
    mdb_cursor_close(cursor);
  }
  mdb_txn_reset(txn);
  return code == MDB_NOTFOUND ? 0 : code;
}

int bench_lmdb_fingerprint(bench_lmdb *store, bench_result *result) {
  MDB_txn *txn;
  MDB_cursor *cursor;
  MDB_val key, value;
  MDB_stat statistics;
  *result = (bench_result){0, FNV_START};
  int code = begin_read(store, &txn);
  if (code != 0) return code;
  code = mdb_cursor_open(txn, store->people, &cursor);
  if (code == 0) {
    while ((code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
      bench_person person;
      view(&person, load_key_int(key.mv_data), &value);
      result->rows += 1;
      result->checksum = fnv_person(result->checksum, &person);
    }
    mdb_cursor_close(cursor);
  }
  if (code == MDB_NOTFOUND) code = 0;
  for (int index = 0; code == 0 && index < INDEX_COUNT; index++) {
    code = mdb_stat(txn, store->indexes[index], &statistics);
    if (code == 0 && statistics.ms_entries != result->rows) code = MDB_CORRUPTED;
  }
  mdb_txn_reset(txn);
  return code;
}
