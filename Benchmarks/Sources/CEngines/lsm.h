// RocksDB and LevelDB as their manuals advise: one batch a transaction, synchronous, bloom filters, a
// cache that holds the workload. Included by rocksdb.c and leveldb.c, which say what is called how:
// LSM(name) for a name of the library, and functions for what the two do not have alike.
//
// One sorted space of keys, each with a byte in front that says what it is of:
//
//   PEOPLE   id -> packed record          EMAIL  e-mail -> id
//   AGE, CREATED_AT, COMPANY   value, id -> nothing      CITY_AGE  city, 0, age, id -> nothing
//
// Whether an e-mail is taken is looked up before a record is written, as in the other peers, but
// nothing keeps two writers from doing so at the same time, and a batch does not see itself: less than
// the others promise.

#include <stdatomic.h>
#include <stdio.h>

#include "packed_person.h"

enum { PEOPLE, EMAIL, AGE, CITY_AGE, CREATED_AT, COMPANY, END };

struct bench_lsm {
  LSM(t) *database;
  LSM(options_t) *options;
  LSM(cache_t) *cache;
  LSM(readoptions_t) *reading;
  LSM(writeoptions_t) *writing;
  atomic_int_fast64_t last_id;
};

static _Thread_local char message[256];

static const char *last_message(void) { return message; }

// Keeps the library's message, which it gives to the caller.
static int failed(char *error) {
  if (error == NULL) return 0;
  snprintf(message, sizeof message, "%s", error);
  LSM(free)(error);
  return -1;
}

static int missing(int64_t id) {
  snprintf(message, sizeof message, "record %lld is not in the store", (long long)id);
  return -1;
}

// MARK: Keys

typedef struct {
  char bytes[300];
  size_t length;
} lsm_key;

static inline void start_key(lsm_key *key, int kind) {
  key->bytes[0] = (char)kind;
  key->length = 1;
}

static inline void add_int(lsm_key *key, int64_t value) {
  store_key_int((unsigned char *)key->bytes + key->length, value);
  key->length += 8;
}

static inline void add_text(lsm_key *key, const char *text, uint32_t length) {
  memcpy(key->bytes + key->length, text, length);
  key->length += length;
}

static inline void make_person_key(lsm_key *key, int64_t id) {
  start_key(key, PEOPLE);
  add_int(key, id);
}

static inline void make_int_key(lsm_key *key, int kind, int64_t value) {
  start_key(key, kind);
  add_int(key, value);
}

static inline void make_email_key(lsm_key *key, const char *email, uint32_t length) {
  start_key(key, EMAIL);
  add_text(key, email, length);
}

static inline void make_city_key(lsm_key *key, const char *city, uint32_t length) {
  start_key(key, CITY_AGE);
  add_text(key, city, length);
  key->bytes[key->length++] = 0;
}

// The key of an index that holds the id too, or of the e-mail.
static void make_entry(lsm_key *key, int kind, const bench_person *person, int64_t id) {
  switch (kind) {
    case EMAIL: make_email_key(key, person->email, person->email_length); return;
    case AGE: make_int_key(key, AGE, person->age); break;
    case CITY_AGE:
      make_city_key(key, person->city, person->city_length);
      add_int(key, person->age);
      break;
    case CREATED_AT:
      start_key(key, CREATED_AT);
      store_key_double((unsigned char *)key->bytes + key->length, person->created_at);
      key->length += 8;
      break;
    default: make_int_key(key, COMPANY, person->company_id); break;
  }
  add_int(key, id);
}

static inline int64_t id_at_end(const char *key, size_t length) {
  return load_key_int(key + length - 8);
}

// MARK: Opening

static void find_last_id(bench_lsm *store) {
  LSM(iterator_t) *iterator = LSM(create_iterator)(store->database, store->reading);
  char end[1] = {EMAIL};
  LSM(iter_seek)(iterator, end, 1);
  if (LSM(iter_valid)(iterator)) LSM(iter_prev)(iterator);
  else LSM(iter_seek_to_last)(iterator);
  if (LSM(iter_valid)(iterator)) {
    size_t length;
    const char *key = LSM(iter_key)(iterator, &length);
    if (key[0] == PEOPLE) atomic_store(&store->last_id, id_at_end(key, length));
  }
  LSM(iter_destroy)(iterator);
}

static void close_store(bench_lsm *store) {
  if (store->database != NULL) LSM(close)(store->database);
  LSM(readoptions_destroy)(store->reading);
  LSM(writeoptions_destroy)(store->writing);
  LSM(options_destroy)(store->options);
  LSM(cache_destroy)(store->cache);
  free(store);
}

static int open_store(const char *path, bench_lsm **out) {
  char *error = NULL;
  bench_lsm *store = calloc(1, sizeof *store);
  if (store == NULL) abort();
  store->cache = LSM(cache_create_lru)((size_t)1 << 30);
  store->options = LSM(options_create)();
  LSM(options_set_create_if_missing)(store->options, 1);
  LSM(options_set_write_buffer_size)(store->options, (size_t)64 << 20);
  tune(store->options, store->cache);
  store->reading = LSM(readoptions_create)();
  store->writing = LSM(writeoptions_create)();
  LSM(writeoptions_set_sync)(store->writing, 1);
  store->database = LSM(open)(store->options, path, &error);
  if (error != NULL) {
    store->database = NULL;
    close_store(store);
    return failed(error);
  }
  find_last_id(store);
  *out = store;
  return 0;
}

// MARK: Writing

static int commit(bench_lsm *store, LSM(writebatch_t) *batch, int code) {
  char *error = NULL;
  if (code == 0) LSM(write)(store->database, store->writing, batch, &error);
  LSM(writebatch_destroy)(batch);
  return code == 0 ? failed(error) : code;
}

static inline void put_entry(
  LSM(writebatch_t) *batch, int kind, const bench_person *person, int64_t id) {
  lsm_key key;
  unsigned char id_bytes[8];
  store_key_int(id_bytes, id);
  make_entry(&key, kind, person, id);
  LSM(writebatch_put)(
    batch, key.bytes, key.length, (const char *)id_bytes, kind == EMAIL ? 8 : 0);
}

static inline void delete_entry(
  LSM(writebatch_t) *batch, int kind, const bench_person *person, int64_t id) {
  lsm_key key;
  make_entry(&key, kind, person, id);
  LSM(writebatch_delete)(batch, key.bytes, key.length);
}

static inline void put_person(LSM(writebatch_t) *batch, const bench_person *person, int64_t id) {
  lsm_key key;
  unsigned char packed[FIXED_SIZE + 3 * 255];
  make_person_key(&key, id);
  pack(packed, person);
  LSM(writebatch_put)(batch, key.bytes, key.length, (const char *)packed, packed_size(person));
}

static int insert(
  bench_lsm *store, const bench_person *people, size_t count, int64_t *last_id) {
  int code = 0;
  int64_t id = atomic_fetch_add(&store->last_id, (int_fast64_t)count);
  LSM(writebatch_t) *batch = LSM(writebatch_create)();
  for (size_t index = 0; code == 0 && index < count; index++) {
    const bench_person *person = &people[index];
    lsm_key key;
    lsm_value taken;
    make_email_key(&key, person->email, person->email_length);
    code = get_value(store->database, store->reading, key.bytes, key.length, &taken);
    if (code != 0) break;
    if (taken.bytes != NULL) {
      release_value(&taken);
      snprintf(message, sizeof message, "an e-mail is taken");
      code = -1;
      break;
    }
    put_person(batch, person, ++id);
    for (int kind = EMAIL; kind < END; kind++) put_entry(batch, kind, person, id);
  }
  *last_id = id;
  return commit(store, batch, code);
}

static int get_person(
  bench_lsm *store, const LSM(readoptions_t) *reading, int64_t id, lsm_value *value) {
  lsm_key key;
  make_person_key(&key, id);
  int code = get_value(store->database, reading, key.bytes, key.length, value);
  return code == 0 && value->bytes == NULL ? missing(id) : code;
}

static int age(bench_lsm *store, const int64_t *ids, size_t count, uint64_t *done) {
  int code = 0;
  LSM(writebatch_t) *batch = LSM(writebatch_create)();
  for (size_t index = 0; index < count; index++) {
    lsm_value value;
    bench_person person;
    code = get_person(store, store->reading, ids[index], &value);
    if (code != 0) break;
    materialise_packed(&person, ids[index], value.bytes);
    release_value(&value);
    delete_entry(batch, AGE, &person, ids[index]);
    delete_entry(batch, CITY_AGE, &person, ids[index]);
    person.age = (person.age + 1) % 100;
    put_entry(batch, AGE, &person, ids[index]);
    put_entry(batch, CITY_AGE, &person, ids[index]);
    put_person(batch, &person, ids[index]);
    person_free(&person);
  }
  *done = count;
  return commit(store, batch, code);
}

static int delete_people(bench_lsm *store, const int64_t *ids, size_t count, uint64_t *done) {
  int code = 0;
  LSM(writebatch_t) *batch = LSM(writebatch_create)();
  for (size_t index = 0; index < count; index++) {
    lsm_value value;
    lsm_key key;
    bench_person person;
    code = get_person(store, store->reading, ids[index], &value);
    if (code != 0) break;
    view_packed(&person, ids[index], value.bytes);
    for (int kind = EMAIL; kind < END; kind++) delete_entry(batch, kind, &person, ids[index]);
    make_person_key(&key, ids[index]);
    LSM(writebatch_delete)(batch, key.bytes, key.length);
    release_value(&value);
  }
  *done = count;
  return commit(store, batch, code);
}

static int settle(bench_lsm *store) {
  LSM(compact_range)(store->database, NULL, 0, NULL, 0);
  return 0;
}
