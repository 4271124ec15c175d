// Associations on raw LMDB. Beside the sub-databases of the people:
//
//   companies, students, courses    id (8 bytes, as everywhere) -> name
//   company_name                    encoded name -> id, DUPSORT | DUPFIXED
//   courses_of, students_of         id -> ids linked to it, DUPSORT | DUPFIXED
//
// What belongs to a company is the index on companyID.

#include <stdio.h>

#include "raw_lmdb.h"

enum { COMPANIES, STUDENTS, COURSES, PLAIN_COUNT };
enum { COMPANY_NAME = PLAIN_COUNT, COURSES_OF, STUDENTS_OF, DATABASE_COUNT };

static const char *const database_names[DATABASE_COUNT] = {
  "companies", "students", "courses", "company_name", "courses_of", "students_of"};

struct bench_lmdb_links {
  bench_lmdb *people;
  MDB_dbi databases[DATABASE_COUNT];
};

int bench_lmdb_links_open(const char *path, bench_lmdb_links **out) {
  MDB_txn *txn = NULL;
  bench_lmdb_links *store = calloc(1, sizeof *store);
  if (store == NULL) abort();
  int code;
  CHECK(bench_lmdb_open(path, &store->people));
  CHECK(mdb_txn_begin(store->people->environment, NULL, 0, &txn));
  for (int index = 0; index < DATABASE_COUNT; index++) {
    unsigned flags = index < PLAIN_COUNT ? MDB_CREATE : MDB_CREATE | MDB_DUPSORT | MDB_DUPFIXED;
    CHECK(mdb_dbi_open(txn, database_names[index], flags, &store->databases[index]));
  }
  code = mdb_txn_commit(txn);
  txn = NULL;
  if (code != 0) goto failed;
  *out = store;
  return 0;
failed:
  if (txn != NULL) mdb_txn_abort(txn);
  bench_lmdb_links_close(store);
  return code;
}

void bench_lmdb_links_close(bench_lmdb_links *store) {
  if (store->people != NULL) bench_lmdb_close(store->people);
  free(store);
}

bench_lmdb *bench_lmdb_links_people(bench_lmdb_links *store) { return store->people; }

// MARK: Filling

static int add_named(
  bench_lmdb_links *store, MDB_txn *txn, int database, const char *kind, size_t count) {
  int code = 0;
  for (size_t number = 1; code == 0 && number <= count; number++) {
    unsigned char id_bytes[8];
    char name[64];
    store_key_int(id_bytes, (int64_t)number);
    MDB_val id = {8, id_bytes};
    MDB_val value = {(size_t)snprintf(name, sizeof name, "%s %zu", kind, number), name};
    code = mdb_put(txn, store->databases[database], &id, &value, MDB_APPEND);
    if (code == 0 && database == COMPANIES) {
      index_key built;
      make_email_key(&built, name, (uint32_t)value.mv_size);
      MDB_val key = {built.length, built.bytes};
      code = mdb_put(txn, store->databases[COMPANY_NAME], &key, &id, MDB_NOOVERWRITE);
    }
  }
  return code;
}

int bench_lmdb_links_add_companies(bench_lmdb_links *store, size_t count) {
  MDB_txn *txn;
  int code = mdb_txn_begin(store->people->environment, NULL, 0, &txn);
  if (code != 0) return code;
  CHECK(add_named(store, txn, COMPANIES, "Company", count));
  return mdb_txn_commit(txn);
failed:
  mdb_txn_abort(txn);
  return code;
}

int bench_lmdb_links_add_school(bench_lmdb_links *store, size_t students, size_t courses) {
  MDB_txn *txn;
  int code = mdb_txn_begin(store->people->environment, NULL, 0, &txn);
  if (code != 0) return code;
  CHECK(add_named(store, txn, STUDENTS, "Student", students));
  CHECK(add_named(store, txn, COURSES, "Course", courses));
  return mdb_txn_commit(txn);
failed:
  mdb_txn_abort(txn);
  return code;
}

// MARK: Destroying

typedef struct {
  unsigned char *bytes;
  size_t size;
} id_bytes_list;

// The company's key comes as a copy: LMDB lets it point into a page.
static int copy_ids_at(MDB_cursor *cursor, MDB_val company, id_bytes_list *list) {
  MDB_val ids;
  size_t count;
  int code = mdb_cursor_get(cursor, &company, &ids, MDB_SET);
  if (code == 0) code = mdb_cursor_count(cursor, &count);
  if (code != 0) return code == MDB_NOTFOUND ? 0 : code;
  list->bytes = malloc(count * 8);
  if (list->bytes == NULL) abort();
  // For a single entry GET_MULTIPLE gives nothing.
  if (count > 1) code = mdb_cursor_get(cursor, &company, &ids, MDB_GET_MULTIPLE);
  for (; code == 0; code = mdb_cursor_get(cursor, &company, &ids, MDB_NEXT_MULTIPLE)) {
    memcpy(list->bytes + list->size, ids.mv_data, ids.mv_size);
    list->size += ids.mv_size;
  }
  return code == MDB_NOTFOUND ? 0 : code;
}

// Copied, since a delete may change the pages that they are in; nor may a cursor live that long.
static int copy_ids(MDB_txn *txn, MDB_dbi index, MDB_val company, id_bytes_list *list) {
  MDB_cursor *cursor;
  int code = mdb_cursor_open(txn, index, &cursor);
  if (code != 0) return code;
  code = copy_ids_at(cursor, company, list);
  mdb_cursor_close(cursor);
  return code;
}

static int delete_company(bench_lmdb_links *store, MDB_txn *txn, MDB_val *id) {
  index_key built;
  MDB_val name;
  int code = mdb_get(txn, store->databases[COMPANIES], id, &name);
  if (code != 0) return code;
  make_email_key(&built, name.mv_data, (uint32_t)name.mv_size);
  MDB_val key = {built.length, built.bytes};
  code = mdb_del(txn, store->databases[COMPANY_NAME], &key, id);
  return code == 0 ? mdb_del(txn, store->databases[COMPANIES], id, NULL) : code;
}

static int destroy_one(bench_lmdb_links *store, MDB_txn *txn, int64_t company) {
  id_bytes_list list = {NULL, 0};
  index_key built;
  make_int_key(&built, company);
  MDB_val key = {built.length, built.bytes};
  MDB_dbi index = store->people->indexes[COMPANY];
  int code = copy_ids(txn, index, key, &list);
  // All of the company's entries in one call.
  if (code == 0 && list.size > 0) code = mdb_del(txn, index, &key, NULL);
  for (size_t at = 0; code == 0 && at < list.size; at += 8) {
    code = lmdb_delete_person(store->people, txn, load_key_int(list.bytes + at), COMPANY);
  }
  free(list.bytes);
  return code == 0 ? delete_company(store, txn, &key) : code;
}

int bench_lmdb_links_destroy(bench_lmdb_links *store, const int64_t *companies, size_t count) {
  MDB_txn *txn;
  int code = mdb_txn_begin(store->people->environment, NULL, 0, &txn);
  if (code != 0) return code;
  for (size_t index = 0; index < count; index++) {
    CHECK(destroy_one(store, txn, companies[index]));
  }
  return mdb_txn_commit(txn);
failed:
  mdb_txn_abort(txn);
  return code;
}

// MARK: Reading

int bench_lmdb_links_fingerprint(bench_lmdb_links *store, bench_result *result) {
  MDB_txn *txn;
  MDB_cursor *cursor;
  MDB_val id, name;
  MDB_stat names;
  size_t count = 0;
  int code = bench_lmdb_fingerprint(store->people, result);
  if (code == 0) code = begin_read(store->people, &txn);
  if (code != 0) return code;
  code = mdb_stat(txn, store->databases[COMPANY_NAME], &names);
  if (code == 0) code = mdb_cursor_open(txn, store->databases[COMPANIES], &cursor);
  if (code == 0) {
    while ((code = mdb_cursor_get(cursor, &id, &name, MDB_NEXT)) == 0) {
      count += 1;
      result->checksum +=
        company_checksum(load_key_int(id.mv_data), name.mv_data, (uint32_t)name.mv_size, 0);
    }
    mdb_cursor_close(cursor);
    if (code == MDB_NOTFOUND) code = names.ms_entries == count ? 0 : MDB_CORRUPTED;
  }
  mdb_txn_reset(txn);
  return code;
}

static inline int fetch_person(
  bench_lmdb_links *store, MDB_txn *txn, const void *id, bench_result *result) {
  bench_person person;
  MDB_val key = {8, (void *)id};
  MDB_val value;
  int code = mdb_get(txn, store->people->people, &key, &value);
  if (code != 0) return code == MDB_NOTFOUND ? MDB_CORRUPTED : code;
  materialise(&person, load_key_int(id), &value);
  result->rows += 1;
  result->checksum += person_checksum(&person);
  person_free(&person);
  return 0;
}

// People of the company that the cursor is set to, which is as far as an index goes at a time.
static int fetch_people(
  bench_lmdb_links *store, MDB_txn *txn, MDB_cursor *people, MDB_val *company,
  bench_result *result) {
  MDB_val ids;
  size_t count;
  int code = mdb_cursor_get(people, company, &ids, MDB_SET_KEY);
  if (code == 0) code = mdb_cursor_count(people, &count);
  if (code == 0 && count > 1) code = mdb_cursor_get(people, company, &ids, MDB_GET_MULTIPLE);
  while (code == 0) {
    const unsigned char *bytes = ids.mv_data;
    for (size_t at = 0; code == 0 && at < ids.mv_size; at += 8) {
      code = fetch_person(store, txn, bytes + at, result);
    }
    if (code == 0) code = mdb_cursor_get(people, company, &ids, MDB_NEXT_MULTIPLE);
  }
  return code == MDB_NOTFOUND ? 0 : code;
}

int bench_lmdb_links_fetch(bench_lmdb_links *store, size_t companies, bench_result *result) {
  MDB_txn *txn;
  MDB_cursor *cursor = NULL, *people = NULL;
  *result = (bench_result){0, 0};
  int code = begin_read(store->people, &txn);
  if (code != 0) return code;
  CHECK(mdb_cursor_open(txn, store->databases[COMPANIES], &cursor));
  CHECK(mdb_cursor_open(txn, store->people->indexes[COMPANY], &people));
  for (size_t taken = 0; taken < companies; taken++) {
    MDB_val id, name;
    CHECK(mdb_cursor_get(cursor, &id, &name, MDB_NEXT));
    uint32_t length = (uint32_t)name.mv_size;
    int64_t number = load_key_int(id.mv_data);
    char *copy = person_copy_string(name.mv_data, length);
    uint64_t before = result->rows;
    code = fetch_people(store, txn, people, &id, result);
    result->checksum += company_checksum(number, copy, length, result->rows - before);
    free(copy);
    if (code != 0) goto failed;
  }
failed:
  if (people != NULL) mdb_cursor_close(people);
  if (cursor != NULL) mdb_cursor_close(cursor);
  mdb_txn_reset(txn);
  return code == MDB_NOTFOUND ? 0 : code;
}

// MARK: Links

int bench_lmdb_links_add(bench_lmdb_links *store, const bench_link *links, size_t count) {
  MDB_txn *txn;
  int code = mdb_txn_begin(store->people->environment, NULL, 0, &txn);
  if (code != 0) return code;
  for (size_t index = 0; index < count; index++) {
    unsigned char student[8], course[8];
    store_key_int(student, links[index].student);
    store_key_int(course, links[index].course);
    MDB_val key = {8, student}, value = {8, course};
    code = mdb_put(txn, store->databases[COURSES_OF], &key, &value, MDB_NODUPDATA);
    if (code == MDB_KEYEXIST) continue;
    if (code != 0) goto failed;
    key = (MDB_val){8, course};
    value = (MDB_val){8, student};
    CHECK(mdb_put(txn, store->databases[STUDENTS_OF], &key, &value, MDB_NODUPDATA));
  }
  return mdb_txn_commit(txn);
failed:
  mdb_txn_abort(txn);
  return code;
}

int bench_lmdb_links_read(bench_lmdb_links *store, bench_result *result) {
  MDB_txn *txn;
  *result = (bench_result){0, 0};
  int code = begin_read(store->people, &txn);
  if (code != 0) return code;
  for (int direction = COURSES_OF; code == 0 && direction <= STUDENTS_OF; direction++) {
    MDB_cursor *cursor;
    MDB_val key, value;
    code = mdb_cursor_open(txn, store->databases[direction], &cursor);
    if (code != 0) break;
    while ((code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
      int64_t from = load_key_int(key.mv_data), to = load_key_int(value.mv_data);
      result->rows += 1;
      result->checksum +=
        direction == COURSES_OF ? link_checksum(from, to) : 3 * link_checksum(to, from);
    }
    mdb_cursor_close(cursor);
    if (code == MDB_NOTFOUND) code = 0;
  }
  mdb_txn_reset(txn);
  return code;
}
