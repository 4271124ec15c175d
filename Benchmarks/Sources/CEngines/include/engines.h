// The peers that are written in C: raw LMDB, SQLite and, where they are installed, RocksDB and LevelDB,
// behind functions of the same shape.
// Every function that returns int returns 0 or the library's own error code.
#ifndef LARCH_BENCHMARK_ENGINES_H
#define LARCH_BENCHMARK_ENGINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  int64_t id;
  int64_t age;
  int64_t company_id;
  double score;
  double created_at;
  bool active;
  // Not terminated by zero; owned by whoever made the struct.
  char *name;
  char *email;
  char *city;
  uint32_t name_length;
  uint32_t email_length;
  uint32_t city_length;
} bench_person;

typedef struct {
  uint64_t rows;
  uint64_t checksum;
} bench_result;

// A string that a query asks for; borrowed, not terminated by zero.
typedef struct {
  const char *bytes;
  uint32_t length;
} bench_text;

// A student and a course that the student takes.
typedef struct {
  int64_t student;
  int64_t course;
} bench_link;

typedef struct bench_lmdb bench_lmdb;

const char *bench_lmdb_message(int code);
int bench_lmdb_open(const char *path, bench_lmdb **out);
void bench_lmdb_close(bench_lmdb *store);
// One durable transaction; the ids follow the largest one stored and the last is handed back.
int bench_lmdb_insert(bench_lmdb *store, const bench_person *people, size_t count, int64_t *last_id);
int bench_lmdb_age(bench_lmdb *store, const int64_t *ids, size_t count, uint64_t *done);
int bench_lmdb_delete(bench_lmdb *store, const int64_t *ids, size_t count, uint64_t *done);
int bench_lmdb_get(bench_lmdb *store, const int64_t *ids, size_t count, bench_result *result);
// A read transaction for each get: renewed and reset, or begun and aborted when `fresh`.
int bench_lmdb_get_each(
  bench_lmdb *store, const int64_t *ids, size_t count, bool fresh, bench_result *result);
int bench_lmdb_scan(bench_lmdb *store, bench_result *result);
// FNV-1a-64 over all records in id order; also checks that every index has one entry a record.
int bench_lmdb_fingerprint(bench_lmdb *store, bench_result *result);
// Each of these is one read: a query for every text or company given, or one query.
int bench_lmdb_find_emails(
  bench_lmdb *store, const bench_text *emails, size_t count, bench_result *result);
int bench_lmdb_find_ages(bench_lmdb *store, int64_t from, int64_t through, bench_result *result);
// The first `limit` people of each city by age and id.
int bench_lmdb_find_cities(
  bench_lmdb *store, const bench_text *cities, size_t count, size_t limit, bench_result *result);
int bench_lmdb_find_companies(
  bench_lmdb *store, const int64_t *companies, size_t count, bench_result *result);
int bench_lmdb_find_email_prefix(bench_lmdb *store, bench_text prefix, bench_result *result);
int bench_lmdb_find_city_prefix(bench_lmdb *store, bench_text prefix, bench_result *result);
// How many are at least as old, as rows and as checksum.
int bench_lmdb_count_ages(bench_lmdb *store, int64_t from, bench_result *result);
int bench_lmdb_find_scores(bench_lmdb *store, double above, bench_result *result);
int bench_lmdb_top_scores(bench_lmdb *store, size_t limit, bench_result *result);

// A store of its own for the associations: people and the companies that they belong to, students and
// courses linked in both directions. Ids are 1 and up, names "Company 1", "Student 1", "Course 1" and up.
typedef struct bench_lmdb_links bench_lmdb_links;

int bench_lmdb_links_open(const char *path, bench_lmdb_links **out);
void bench_lmdb_links_close(bench_lmdb_links *store);
// The store of the people, to insert into it.
bench_lmdb *bench_lmdb_links_people(bench_lmdb_links *store);
int bench_lmdb_links_add_companies(bench_lmdb_links *store, size_t count);
int bench_lmdb_links_add_school(bench_lmdb_links *store, size_t students, size_t courses);
// One durable transaction, in which everybody of these companies goes with them.
int bench_lmdb_links_destroy(bench_lmdb_links *store, const int64_t *companies, size_t count);
// People as bench_lmdb_fingerprint, with the companies that are left.
int bench_lmdb_links_fingerprint(bench_lmdb_links *store, bench_result *result);
// The first companies by id, each with all of its people, all materialised; rows are people.
int bench_lmdb_links_fetch(bench_lmdb_links *store, size_t companies, bench_result *result);
// One durable transaction; a link that is there already stays one.
int bench_lmdb_links_add(bench_lmdb_links *store, const bench_link *links, size_t count);
// All links read in one direction and then in the other.
int bench_lmdb_links_read(bench_lmdb_links *store, bench_result *result);

typedef struct bench_sqlite bench_sqlite;

const char *bench_sqlite_message(int code);
int bench_sqlite_open(const char *path, bench_sqlite **out);
void bench_sqlite_close(bench_sqlite *store);
int bench_sqlite_insert(
  bench_sqlite *store, const bench_person *people, size_t count, int64_t *last_id);
int bench_sqlite_age(bench_sqlite *store, const int64_t *ids, size_t count, uint64_t *done);
int bench_sqlite_delete(bench_sqlite *store, const int64_t *ids, size_t count, uint64_t *done);
int bench_sqlite_get(bench_sqlite *store, const int64_t *ids, size_t count, bench_result *result);
int bench_sqlite_get_each(
  bench_sqlite *store, const int64_t *ids, size_t count, bench_result *result);
int bench_sqlite_scan(bench_sqlite *store, bench_result *result);
int bench_sqlite_fingerprint(bench_sqlite *store, bench_result *result);
// Each of these is one read: a query for every text or company given, or one query.
int bench_sqlite_find_emails(
  bench_sqlite *store, const bench_text *emails, size_t count, bench_result *result);
int bench_sqlite_find_ages(bench_sqlite *store, int64_t from, int64_t through, bench_result *result);
// The first `limit` people of each city by age and id.
int bench_sqlite_find_cities(
  bench_sqlite *store, const bench_text *cities, size_t count, size_t limit, bench_result *result);
int bench_sqlite_find_companies(
  bench_sqlite *store, const int64_t *companies, size_t count, bench_result *result);
int bench_sqlite_find_email_prefix(bench_sqlite *store, bench_text prefix, bench_result *result);
int bench_sqlite_find_city_prefix(bench_sqlite *store, bench_text prefix, bench_result *result);
// How many are at least as old, as rows and as checksum.
int bench_sqlite_count_ages(bench_sqlite *store, int64_t from, bench_result *result);
int bench_sqlite_find_scores(bench_sqlite *store, double above, bench_result *result);
int bench_sqlite_top_scores(bench_sqlite *store, size_t limit, bench_result *result);
// Moves the write-ahead log into the file, so that the size on disk is the size of the data.
int bench_sqlite_checkpoint(bench_sqlite *store);

// The same for the associations, with foreign keys on.
typedef struct bench_sqlite_links bench_sqlite_links;

int bench_sqlite_links_open(const char *path, bench_sqlite_links **out);
void bench_sqlite_links_close(bench_sqlite_links *store);
bench_sqlite *bench_sqlite_links_people(bench_sqlite_links *store);
int bench_sqlite_links_add_companies(bench_sqlite_links *store, size_t count);
int bench_sqlite_links_add_school(bench_sqlite_links *store, size_t students, size_t courses);
int bench_sqlite_links_destroy(bench_sqlite_links *store, const int64_t *companies, size_t count);
int bench_sqlite_links_fingerprint(bench_sqlite_links *store, bench_result *result);
int bench_sqlite_links_fetch(bench_sqlite_links *store, size_t companies, bench_result *result);
int bench_sqlite_links_add(bench_sqlite_links *store, const bench_link *links, size_t count);
int bench_sqlite_links_read(bench_sqlite_links *store, bench_result *result);

// RocksDB and LevelDB, whose C interfaces are the same but for the names. Functions as above; what
// failed last in this thread is told by `message`.
typedef struct bench_lsm bench_lsm;

typedef struct {
  const char *(*message)(void);
  int (*open)(const char *path, bench_lsm **out);
  void (*close)(bench_lsm *store);
  // May be called by several threads at once.
  int (*insert)(bench_lsm *store, const bench_person *people, size_t count, int64_t *last_id);
  int (*age)(bench_lsm *store, const int64_t *ids, size_t count, uint64_t *done);
  int (*delete_people)(bench_lsm *store, const int64_t *ids, size_t count, uint64_t *done);
  // In one snapshot when so asked.
  int (*get)(
    bench_lsm *store, const int64_t *ids, size_t count, bool in_snapshot, bench_result *result);
  int (*scan)(bench_lsm *store, bench_result *result);
  int (*fingerprint)(bench_lsm *store, bench_result *result);
  int (*find_emails)(
    bench_lsm *store, const bench_text *emails, size_t count, bench_result *result);
  int (*find_ages)(bench_lsm *store, int64_t from, int64_t through, bench_result *result);
  int (*find_cities)(
    bench_lsm *store, const bench_text *cities, size_t count, size_t limit, bench_result *result);
  int (*find_companies)(
    bench_lsm *store, const int64_t *companies, size_t count, bench_result *result);
  int (*find_email_prefix)(bench_lsm *store, bench_text prefix, bench_result *result);
  int (*find_city_prefix)(bench_lsm *store, bench_text prefix, bench_result *result);
  int (*count_ages)(bench_lsm *store, int64_t from, bench_result *result);
  int (*find_scores)(bench_lsm *store, double above, bench_result *result);
  int (*top_scores)(bench_lsm *store, size_t limit, bench_result *result);
  // Brings everything into sorted files, so that sizes and reads are those of data at rest.
  int (*settle)(bench_lsm *store);
} bench_lsm_functions;

// NULL where this program was built without them.
const bench_lsm_functions *bench_rocksdb(void);
const bench_lsm_functions *bench_leveldb(void);

// What the program has allocated and not freed; zero where the system does not tell.
size_t bench_allocated_bytes(void);

#endif
