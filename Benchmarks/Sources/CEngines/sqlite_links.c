// Associations in SQLite: foreign keys on, each with an index, ON DELETE CASCADE.

#include <stdio.h>

#include "sqlite.h"

enum {
  ADD_COMPANY, ADD_STUDENT, ADD_COURSE, DESTROY_COMPANY, COMPANIES, FETCH, ADD_LINK, LINKS_FORTH,
  LINKS_BACK, STATEMENT_COUNT
};

static const char *const statement_texts[STATEMENT_COUNT] = {
  "INSERT INTO company (id, name) VALUES (?, ?)",
  "INSERT INTO student (id, name) VALUES (?, ?)",
  "INSERT INTO course (id, name) VALUES (?, ?)",
  "DELETE FROM company WHERE id = ?",
  "SELECT id, name FROM company ORDER BY id",
  "SELECT company.id, company.name, person.id, person.name, email, age, score, active, createdAt,"
  " city, companyID FROM company LEFT JOIN person ON companyID = company.id"
  " WHERE company.id <= ? ORDER BY company.id",
  "INSERT OR IGNORE INTO link (a, b) VALUES (?, ?)",
  "SELECT a, b FROM link ORDER BY a, b",
  "SELECT a, b FROM link INDEXED BY link_b_a ORDER BY b, a"};

static const char tables[] =
  "PRAGMA foreign_keys = ON;"
  "CREATE TABLE IF NOT EXISTS company (id INTEGER PRIMARY KEY, name TEXT NOT NULL);"
  "CREATE UNIQUE INDEX IF NOT EXISTS company_name ON company (name);"
  PERSON_TABLE(" REFERENCES company (id) ON DELETE CASCADE")
  "CREATE TABLE IF NOT EXISTS student (id INTEGER PRIMARY KEY, name TEXT NOT NULL);"
  "CREATE TABLE IF NOT EXISTS course (id INTEGER PRIMARY KEY, name TEXT NOT NULL);"
  "CREATE TABLE IF NOT EXISTS link ("
  " a INTEGER NOT NULL REFERENCES student (id) ON DELETE CASCADE,"
  " b INTEGER NOT NULL REFERENCES course (id) ON DELETE CASCADE,"
  " PRIMARY KEY (a, b)) WITHOUT ROWID;"
  "CREATE INDEX IF NOT EXISTS link_b_a ON link (b, a);";

struct bench_sqlite_links {
  bench_sqlite *people;
  sqlite3_stmt *statements[STATEMENT_COUNT];
};

int bench_sqlite_links_open(const char *path, bench_sqlite_links **out) {
  bench_sqlite_links *store = calloc(1, sizeof *store);
  if (store == NULL) abort();
  int code = sqlite_open(path, tables, &store->people);
  for (int index = 0; code == SQLITE_OK && index < STATEMENT_COUNT; index++) {
    code = sqlite3_prepare_v3(
      store->people->database, statement_texts[index], -1, SQLITE_PREPARE_PERSISTENT,
      &store->statements[index], NULL);
  }
  if (code != SQLITE_OK) {
    bench_sqlite_links_close(store);
    return code;
  }
  *out = store;
  return SQLITE_OK;
}

void bench_sqlite_links_close(bench_sqlite_links *store) {
  for (int index = 0; index < STATEMENT_COUNT; index++) sqlite3_finalize(store->statements[index]);
  if (store->people != NULL) bench_sqlite_close(store->people);
  free(store);
}

bench_sqlite *bench_sqlite_links_people(bench_sqlite_links *store) { return store->people; }

// MARK: Filling

static int add_named(sqlite3_stmt *insert, const char *kind, size_t count) {
  int code = SQLITE_OK;
  for (size_t number = 1; code == SQLITE_OK && number <= count; number++) {
    char name[64];
    int length = snprintf(name, sizeof name, "%s %zu", kind, number);
    sqlite3_bind_int64(insert, 1, (sqlite3_int64)number);
    sqlite3_bind_text(insert, 2, name, length, SQLITE_STATIC);
    code = run(insert);
  }
  return code;
}

int bench_sqlite_links_add_companies(bench_sqlite_links *store, size_t count) {
  int code = sqlite_begin_write(store->people);
  if (code != SQLITE_OK) return code;
  code = add_named(store->statements[ADD_COMPANY], "Company", count);
  return sqlite_finish(store->people, code);
}

int bench_sqlite_links_add_school(bench_sqlite_links *store, size_t students, size_t courses) {
  int code = sqlite_begin_write(store->people);
  if (code != SQLITE_OK) return code;
  code = add_named(store->statements[ADD_STUDENT], "Student", students);
  if (code == SQLITE_OK) code = add_named(store->statements[ADD_COURSE], "Course", courses);
  return sqlite_finish(store->people, code);
}

// MARK: Destroying

int bench_sqlite_links_destroy(bench_sqlite_links *store, const int64_t *companies, size_t count) {
  int code = sqlite_begin_write(store->people);
  if (code != SQLITE_OK) return code;
  sqlite3_stmt *destroy = store->statements[DESTROY_COMPANY];
  for (size_t index = 0; code == SQLITE_OK && index < count; index++) {
    sqlite3_bind_int64(destroy, 1, companies[index]);
    code = run(destroy);
    if (code == SQLITE_OK && sqlite3_changes(store->people->database) != 1) code = SQLITE_NOTFOUND;
  }
  return sqlite_finish(store->people, code);
}

// MARK: Reading

int bench_sqlite_links_fingerprint(bench_sqlite_links *store, bench_result *result) {
  sqlite3_stmt *companies = store->statements[COMPANIES];
  int code = bench_sqlite_fingerprint(store->people, result);
  if (code != SQLITE_OK) return code;
  while (sqlite3_step(companies) == SQLITE_ROW) {
    const char *name = (const char *)sqlite3_column_text(companies, 1);
    uint32_t length = (uint32_t)sqlite3_column_bytes(companies, 1);
    result->checksum += company_checksum(sqlite3_column_int64(companies, 0), name, length, 0);
  }
  return sqlite3_reset(companies);
}

typedef struct {
  int64_t id;
  char *name;
  uint32_t length;
  uint64_t people;
} open_company;

static void end_company(open_company *company, bench_result *result) {
  if (company->name == NULL) return;
  result->checksum +=
    company_checksum(company->id, company->name, company->length, company->people);
  free(company->name);
}

// A row for each person; the company is materialised at its first.
int bench_sqlite_links_fetch(bench_sqlite_links *store, size_t companies, bench_result *result) {
  sqlite3_stmt *query = store->statements[FETCH];
  open_company company = {0, NULL, 0, 0};
  *result = (bench_result){0, 0};
  sqlite3_bind_int64(query, 1, (sqlite3_int64)companies);
  while (sqlite3_step(query) == SQLITE_ROW) {
    int64_t id = sqlite3_column_int64(query, 0);
    if (company.name == NULL || company.id != id) {
      end_company(&company, result);
      company = (open_company){id, NULL, 0, 0};
      company.name = column_copy(query, 1, &company.length);
    }
    if (sqlite3_column_type(query, 2) == SQLITE_NULL) continue;
    bench_person person;
    materialise_at(query, 2, &person);
    company.people += 1;
    result->rows += 1;
    result->checksum += person_checksum(&person);
    person_free(&person);
  }
  end_company(&company, result);
  return sqlite3_reset(query);
}

// MARK: Links

int bench_sqlite_links_add(bench_sqlite_links *store, const bench_link *links, size_t count) {
  int code = sqlite_begin_write(store->people);
  if (code != SQLITE_OK) return code;
  sqlite3_stmt *add = store->statements[ADD_LINK];
  for (size_t index = 0; code == SQLITE_OK && index < count; index++) {
    sqlite3_bind_int64(add, 1, links[index].student);
    sqlite3_bind_int64(add, 2, links[index].course);
    code = run(add);
  }
  return sqlite_finish(store->people, code);
}

static int read_links(sqlite3_stmt *query, uint64_t factor, bench_result *result) {
  while (sqlite3_step(query) == SQLITE_ROW) {
    int64_t student = sqlite3_column_int64(query, 0), course = sqlite3_column_int64(query, 1);
    result->rows += 1;
    result->checksum += factor * link_checksum(student, course);
  }
  return sqlite3_reset(query);
}

int bench_sqlite_links_read(bench_sqlite_links *store, bench_result *result) {
  *result = (bench_result){0, 0};
  int code = read_links(store->statements[LINKS_FORTH], 1, result);
  return code == SQLITE_OK ? read_links(store->statements[LINKS_BACK], 3, result) : code;
}
