// Queries on raw LMDB, each by the fastest way through the C API that was found by measuring. Cursors
// live for an operation, and a record is materialised only where it is part of the answer.

#include <stdlib.h>

#include "raw_lmdb.h"

// A read with one cursor, for the time of an operation.
typedef struct {
  MDB_txn *txn;
  MDB_dbi people;
  MDB_cursor *cursor;
} index_read;

static void end_read(index_read *read) {
  if (read->cursor != NULL) mdb_cursor_close(read->cursor);
  if (read->txn != NULL) mdb_txn_reset(read->txn);
}

static int start_read(bench_lmdb *store, MDB_dbi database, index_read *read, bench_result *result) {
  *result = (bench_result){0, 0};
  *read = (index_read){NULL, store->people, NULL};
  int code = begin_read(store, &read->txn);
  if (code == 0) code = mdb_cursor_open(read->txn, database, &read->cursor);
  if (code != 0) end_read(read);
  return code;
}

static inline void add_person(bench_result *result, int64_t id, const MDB_val *value) {
  bench_person person;
  materialise(&person, id, value);
  result->rows += 1;
  result->checksum += person_checksum(&person);
  person_free(&person);
}

// An entry's value is the key of its record.
static inline int fetch(index_read *read, const void *id, bench_result *result) {
  MDB_val key = {8, (void *)id};
  MDB_val value;
  int code = mdb_get(read->txn, read->people, &key, &value);
  if (code == 0) add_person(result, load_key_int(id), &value);
  return code == MDB_NOTFOUND ? MDB_CORRUPTED : code;
}

// All entries of the cursor's key, a page of them a call; `ids` is the entry it stands on before the
// first call and a whole page after it.
static inline int first_ids(index_read *read, MDB_val *ids) {
  MDB_val key;
  size_t count;
  int code = mdb_cursor_count(read->cursor, &count);
  // For a single entry GET_MULTIPLE gives nothing.
  if (code != 0 || count == 1) return code;
  return mdb_cursor_get(read->cursor, &key, ids, MDB_GET_MULTIPLE);
}

static inline int next_ids(index_read *read, MDB_val *ids) {
  MDB_val key;
  return mdb_cursor_get(read->cursor, &key, ids, MDB_NEXT_MULTIPLE);
}

int bench_lmdb_find_emails(
  bench_lmdb *store, const bench_text *emails, size_t count, bench_result *result) {
  index_read read;
  int code = start_read(store, store->indexes[EMAIL], &read, result);
  if (code != 0) return code;
  for (size_t index = 0; code == 0 && index < count; index++) {
    index_key built;
    make_email_key(&built, emails[index].bytes, emails[index].length);
    MDB_val key = {built.length, built.bytes};
    MDB_val id;
    code = mdb_cursor_get(read.cursor, &key, &id, MDB_SET);
    if (code == 0) code = fetch(&read, id.mv_data, result);
  }
  end_read(&read);
  return code;
}

int bench_lmdb_find_companies(
  bench_lmdb *store, const int64_t *companies, size_t count, bench_result *result) {
  index_read read;
  int code = start_read(store, store->indexes[COMPANY], &read, result);
  if (code != 0) return code;
  for (size_t index = 0; code == 0 && index < count; index++) {
    index_key company;
    make_int_key(&company, companies[index]);
    MDB_val key = {company.length, company.bytes};
    MDB_val ids;
    code = mdb_cursor_get(read.cursor, &key, &ids, MDB_SET_KEY);
    if (code == 0) code = first_ids(&read, &ids);
    for (; code == 0; code = next_ids(&read, &ids)) {
      const unsigned char *bytes = ids.mv_data;
      for (size_t at = 0; code == 0 && at < ids.mv_size; at += 8) {
        code = fetch(&read, bytes + at, result);
      }
      if (code != 0) break;
    }
    if (code == MDB_NOTFOUND) code = 0;
  }
  end_read(&read);
  return code;
}

static inline bool has_prefix(const MDB_val *key, const index_key *prefix) {
  return key->mv_size >= prefix->length
    && memcmp(key->mv_data, prefix->bytes, prefix->length) == 0;
}

// The index on city and age holds the people of a city by age, and by id where they are as old.
static int fetch_city(index_read *read, bench_text city, size_t limit, bench_result *result) {
  index_key prefix;
  make_city_age_key(&prefix, city.bytes, city.length, 0);
  prefix.length -= 8;
  MDB_val key = {prefix.length, prefix.bytes};
  MDB_val id;
  int code = limit == 0 ? MDB_NOTFOUND : mdb_cursor_get(read->cursor, &key, &id, MDB_SET_RANGE);
  while (code == 0 && has_prefix(&key, &prefix)) {
    code = fetch(read, id.mv_data, result);
    if (code != 0 || --limit == 0) return code;
    code = mdb_cursor_get(read->cursor, &key, &id, MDB_NEXT);
  }
  return code == MDB_NOTFOUND ? 0 : code;
}

int bench_lmdb_find_cities(
  bench_lmdb *store, const bench_text *cities, size_t count, size_t limit, bench_result *result) {
  index_read read;
  int code = start_read(store, store->indexes[CITY_AGE], &read, result);
  if (code != 0) return code;
  for (size_t index = 0; code == 0 && index < count; index++) {
    code = fetch_city(&read, cities[index], limit, result);
  }
  end_read(&read);
  return code;
}

// MARK: Many records

// Ids of records that are fetched in ascending order, page after page of the people: about a quarter
// faster than in the order of an index on something else, the sort included.
typedef struct {
  uint64_t *ids;
  size_t count;
  size_t capacity;
} id_list;

static uint64_t *allocate_ids(size_t count) {
  uint64_t *ids = malloc(count * sizeof *ids);
  if (ids == NULL && count > 0) abort();
  return ids;
}

static inline void add_id(id_list *list, const void *id) {
  if (list->count == list->capacity) {
    list->capacity = list->capacity == 0 ? 256 : list->capacity * 2;
    list->ids = realloc(list->ids, list->capacity * sizeof *list->ids);
    if (list->ids == NULL) abort();
  }
  list->ids[list->count++] = (uint64_t)load_key_int(id);
}

// Radix sort; as many rounds as the largest id, which the store assigned, has digits. Few ids have
// small digits, since every round goes through all values of one.
static void sort_ids(id_list *list) {
  enum { MOST_VALUES = 1 << 11 };
  const int digit = list->count < 1024 ? 8 : 11;
  const size_t values = (size_t)1 << digit;
  size_t places[MOST_VALUES];
  uint64_t bits = 0;
  for (size_t index = 0; index < list->count; index++) bits |= list->ids[index];
  uint64_t *from = list->ids, *to = allocate_ids(list->count);
  for (int shift = 0; shift < 64 && bits >> shift != 0; shift += digit) {
    memset(places, 0, values * sizeof *places);
    for (size_t index = 0; index < list->count; index++) {
      places[from[index] >> shift & (values - 1)]++;
    }
    size_t next = 0;
    for (size_t value = 0; value < values; value++) {
      size_t held = places[value];
      places[value] = next;
      next += held;
    }
    for (size_t index = 0; index < list->count; index++) {
      to[places[from[index] >> shift & (values - 1)]++] = from[index];
    }
    uint64_t *sorted = to;
    to = from;
    from = sorted;
  }
  list->ids = from;
  free(to);
}

static int fetch_list(index_read *read, id_list *list, bench_result *result) {
  int code = 0;
  sort_ids(list);
  for (size_t index = 0; code == 0 && index < list->count; index++) {
    unsigned char id[8];
    store_key_int(id, (int64_t)list->ids[index]);
    code = fetch(read, id, result);
  }
  return code;
}

int bench_lmdb_find_ages(bench_lmdb *store, int64_t from, int64_t through, bench_result *result) {
  index_read read;
  id_list list = {NULL, 0, 0};
  int code = start_read(store, store->indexes[AGE], &read, result);
  if (code != 0) return code;
  index_key first;
  make_int_key(&first, from);
  MDB_val key = {first.length, first.bytes};
  MDB_val ids;
  code = mdb_cursor_get(read.cursor, &key, &ids, MDB_SET_RANGE);
  while (code == 0 && load_key_int(key.mv_data) <= through) {
    for (code = first_ids(&read, &ids); code == 0; code = next_ids(&read, &ids)) {
      const unsigned char *bytes = ids.mv_data;
      for (size_t at = 0; at < ids.mv_size; at += 8) add_id(&list, bytes + at);
    }
    if (code == MDB_NOTFOUND) code = mdb_cursor_get(read.cursor, &key, &ids, MDB_NEXT_NODUP);
  }
  if (code == 0 || code == MDB_NOTFOUND) code = fetch_list(&read, &list, result);
  free(list.ids);
  end_read(&read);
  return code;
}

static int find_prefix(bench_lmdb *store, int database, bench_text text, bench_result *result) {
  index_read read;
  id_list list = {NULL, 0, 0};
  int code = start_read(store, store->indexes[database], &read, result);
  if (code != 0) return code;
  index_key prefix;
  make_email_key(&prefix, text.bytes, text.length);
  MDB_val key = {prefix.length, prefix.bytes};
  MDB_val id;
  code = mdb_cursor_get(read.cursor, &key, &id, MDB_SET_RANGE);
  while (code == 0 && has_prefix(&key, &prefix)) {
    add_id(&list, id.mv_data);
    code = mdb_cursor_get(read.cursor, &key, &id, MDB_NEXT);
  }
  if (code == 0 || code == MDB_NOTFOUND) code = fetch_list(&read, &list, result);
  free(list.ids);
  end_read(&read);
  return code;
}

int bench_lmdb_find_email_prefix(bench_lmdb *store, bench_text prefix, bench_result *result) {
  return find_prefix(store, EMAIL, prefix, result);
}

int bench_lmdb_find_city_prefix(bench_lmdb *store, bench_text prefix, bench_result *result) {
  return find_prefix(store, CITY_AGE, prefix, result);
}

int bench_lmdb_count_ages(bench_lmdb *store, int64_t from, bench_result *result) {
  index_read read;
  int code = start_read(store, store->indexes[AGE], &read, result);
  if (code != 0) return code;
  index_key first;
  make_int_key(&first, from);
  MDB_val key = {first.length, first.bytes};
  MDB_val id;
  code = mdb_cursor_get(read.cursor, &key, &id, MDB_SET_RANGE);
  while (code == 0) {
    size_t count;
    code = mdb_cursor_count(read.cursor, &count);
    result->checksum += count;
    if (code == 0) code = mdb_cursor_get(read.cursor, &key, &id, MDB_NEXT_NODUP);
  }
  result->rows = result->checksum;
  end_read(&read);
  return code == MDB_NOTFOUND ? 0 : code;
}

// MARK: Without an index

int bench_lmdb_find_scores(bench_lmdb *store, double above, bench_result *result) {
  index_read read;
  int code = start_read(store, store->people, &read, result);
  if (code != 0) return code;
  MDB_val key, value;
  while ((code = mdb_cursor_get(read.cursor, &key, &value, MDB_NEXT)) == 0) {
    if (packed_score(value.mv_data) > above) add_person(result, load_key_int(key.mv_data), &value);
  }
  end_read(&read);
  return code == MDB_NOTFOUND ? 0 : code;
}

typedef struct {
  double score;
  MDB_val key;
  MDB_val value;
} ranked_person;

// The best in front. Of equal scores the smaller id, which comes first, stays in front.
static inline size_t rank(
  ranked_person *best, size_t held, size_t limit, double score, MDB_val key, MDB_val value) {
  size_t at = held < limit ? held : limit - 1;
  for (; at > 0 && best[at - 1].score < score; at--) best[at] = best[at - 1];
  best[at] = (ranked_person){score, key, value};
  return held < limit ? held + 1 : limit;
}

int bench_lmdb_top_scores(bench_lmdb *store, size_t limit, bench_result *result) {
  index_read read;
  int code = start_read(store, store->people, &read, result);
  if (code != 0) return code;
  // The bytes stay where they are for the length of the read.
  ranked_person *best = malloc(limit * sizeof *best);
  if (best == NULL && limit > 0) abort();
  size_t held = 0;
  MDB_val key, value;
  while ((code = mdb_cursor_get(read.cursor, &key, &value, MDB_NEXT)) == 0) {
    double score = packed_score(value.mv_data);
    if (held < limit || (limit > 0 && score > best[limit - 1].score)) {
      held = rank(best, held, limit, score, key, value);
    }
  }
  for (size_t index = 0; index < held; index++) {
    add_person(result, load_key_int(best[index].key.mv_data), &best[index].value);
  }
  free(best);
  end_read(&read);
  return code == MDB_NOTFOUND ? 0 : code;
}
