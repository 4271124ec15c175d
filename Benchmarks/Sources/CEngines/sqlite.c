// SQLite as its manual advises: prepared statements, WAL, synchronous=FULL, 64 MB cache, memory map.

#include "sqlite.h"

enum {
  BEGIN_WRITE, BEGIN_READ, COMMIT, ROLLBACK, INSERT, SET_AGE, DELETE, GET, SCAN,
  FIND_EMAIL, FIND_AGES, FIND_CITY, FIND_COMPANY, EMAIL_RANGE, CITY_RANGE, COUNT_AGES, FIND_SCORES,
  TOP_SCORES, STATEMENT_COUNT
};

static const char *const statement_texts[STATEMENT_COUNT] = {
  "BEGIN IMMEDIATE", "BEGIN", "COMMIT", "ROLLBACK",
  "INSERT INTO person (name, email, age, score, active, createdAt, city, companyID)"
  " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
  "UPDATE person SET age = ? WHERE id = ?",
  "DELETE FROM person WHERE id = ?",
  "SELECT " COLUMNS " FROM person WHERE id = ?",
  "SELECT " COLUMNS " FROM person ORDER BY id",
  "SELECT " COLUMNS " FROM person WHERE email = ?",
  "SELECT " COLUMNS " FROM person WHERE age BETWEEN ? AND ?",
  "SELECT " COLUMNS " FROM person WHERE city = ? ORDER BY age, id LIMIT ?",
  "SELECT " COLUMNS " FROM person WHERE companyID = ?",
  "SELECT " COLUMNS " FROM person WHERE email >= ? AND email < ?",
  "SELECT " COLUMNS " FROM person WHERE city >= ? AND city < ?",
  "SELECT count(*) FROM person WHERE age >= ?",
  "SELECT " COLUMNS " FROM person WHERE score > ?",
  "SELECT " COLUMNS " FROM person ORDER BY score DESC LIMIT ?"};

static const char settings[] =
  "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -65536;"
  "PRAGMA mmap_size = 1073741824; PRAGMA temp_store = MEMORY;";

static const char schema[] =
  PERSON_TABLE("")
  "CREATE UNIQUE INDEX IF NOT EXISTS person_email ON person (email);"
  "CREATE INDEX IF NOT EXISTS person_age ON person (age);"
  "CREATE INDEX IF NOT EXISTS person_city_age ON person (city, age);"
  "CREATE INDEX IF NOT EXISTS person_createdAt ON person (createdAt);"
  "CREATE INDEX IF NOT EXISTS person_companyID ON person (companyID);";

const char *bench_sqlite_message(int code) { return sqlite3_errstr(code); }

int sqlite_open_database(const char *path, sqlite3 **out) {
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  int code = sqlite3_open_v2(path, out, flags, NULL);
  return code == SQLITE_OK ? sqlite3_exec(*out, settings, NULL, NULL, NULL) : code;
}

int sqlite_open(const char *path, const char *tables, bench_sqlite **out) {
  bench_sqlite *store = calloc(1, sizeof *store);
  sqlite3_stmt **statements = calloc(STATEMENT_COUNT, sizeof *statements);
  if (store == NULL || statements == NULL) abort();
  store->statements = statements;
  int code = sqlite_open_database(path, &store->database);
  if (code == SQLITE_OK) code = sqlite3_exec(store->database, tables, NULL, NULL, NULL);
  if (code == SQLITE_OK) code = sqlite3_exec(store->database, schema, NULL, NULL, NULL);
  for (int index = 0; code == SQLITE_OK && index < STATEMENT_COUNT; index++) {
    code = sqlite3_prepare_v3(
      store->database, statement_texts[index], -1, SQLITE_PREPARE_PERSISTENT,
      &store->statements[index], NULL);
  }
  if (code != SQLITE_OK) {
    bench_sqlite_close(store);
    return code;
  }
  *out = store;
  return SQLITE_OK;
}

int bench_sqlite_open(const char *path, bench_sqlite **out) { return sqlite_open(path, "", out); }

void bench_sqlite_close(bench_sqlite *store) {
  for (int index = 0; index < STATEMENT_COUNT; index++) sqlite3_finalize(store->statements[index]);
  sqlite3_close(store->database);
  free(store->statements);
  free(store);
}

int sqlite_begin_write(bench_sqlite *store) { return run(store->statements[BEGIN_WRITE]); }

int sqlite_begin_read(bench_sqlite *store) { return run(store->statements[BEGIN_READ]); }

int sqlite_finish(bench_sqlite *store, int code) {
  if (code == SQLITE_OK) return run(store->statements[COMMIT]);
  run(store->statements[ROLLBACK]);
  return code;
}

int bench_sqlite_insert(
  bench_sqlite *store, const bench_person *people, size_t count, int64_t *last_id) {
  int code = sqlite_begin_write(store);
  if (code != SQLITE_OK) return code;
  sqlite3_stmt *statement = store->statements[INSERT];
  for (size_t index = 0; code == SQLITE_OK && index < count; index++) {
    const bench_person *person = &people[index];
    sqlite3_bind_text(statement, 1, person->name, (int)person->name_length, SQLITE_STATIC);
    sqlite3_bind_text(statement, 2, person->email, (int)person->email_length, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 3, person->age);
    sqlite3_bind_double(statement, 4, person->score);
    sqlite3_bind_int(statement, 5, person->active);
    sqlite3_bind_double(statement, 6, person->created_at);
    sqlite3_bind_text(statement, 7, person->city, (int)person->city_length, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 8, person->company_id);
    code = run(statement);
  }
  *last_id = sqlite3_last_insert_rowid(store->database);
  return sqlite_finish(store, code);
}

int bench_sqlite_age(bench_sqlite *store, const int64_t *ids, size_t count, uint64_t *done) {
  int code = sqlite_begin_write(store);
  if (code != SQLITE_OK) return code;
  sqlite3_stmt *get = store->statements[GET], *set = store->statements[SET_AGE];
  for (size_t index = 0; code == SQLITE_OK && index < count; index++) {
    bench_person person;
    sqlite3_bind_int64(get, 1, ids[index]);
    if (sqlite3_step(get) != SQLITE_ROW) {
      sqlite3_reset(get);
      code = SQLITE_NOTFOUND;
      break;
    }
    materialise(get, &person);
    sqlite3_reset(get);
    sqlite3_bind_int64(set, 1, (person.age + 1) % 100);
    sqlite3_bind_int64(set, 2, ids[index]);
    code = run(set);
    person_free(&person);
  }
  *done = count;
  return sqlite_finish(store, code);
}

int bench_sqlite_delete(bench_sqlite *store, const int64_t *ids, size_t count, uint64_t *done) {
  int code = sqlite_begin_write(store);
  if (code != SQLITE_OK) return code;
  for (size_t index = 0; code == SQLITE_OK && index < count; index++) {
    sqlite3_bind_int64(store->statements[DELETE], 1, ids[index]);
    code = run(store->statements[DELETE]);
    if (code == SQLITE_OK && sqlite3_changes(store->database) != 1) code = SQLITE_NOTFOUND;
  }
  *done = count;
  return sqlite_finish(store, code);
}

static int get_one(sqlite3_stmt *get, int64_t id, bench_result *result) {
  bench_person person;
  sqlite3_bind_int64(get, 1, id);
  int code = sqlite3_step(get);
  if (code == SQLITE_ROW) {
    materialise(get, &person);
    result->rows += 1;
    result->checksum += person_checksum(&person);
    person_free(&person);
  }
  int end = sqlite3_reset(get);
  return code == SQLITE_DONE ? SQLITE_NOTFOUND : end;
}

int bench_sqlite_get_each(
  bench_sqlite *store, const int64_t *ids, size_t count, bench_result *result) {
  int code = SQLITE_OK;
  *result = (bench_result){0, 0};
  for (size_t index = 0; code == SQLITE_OK && index < count; index++) {
    code = get_one(store->statements[GET], ids[index], result);
  }
  return code;
}

int bench_sqlite_get(bench_sqlite *store, const int64_t *ids, size_t count, bench_result *result) {
  int code = sqlite_begin_read(store);
  if (code != SQLITE_OK) return code;
  return sqlite_finish(store, bench_sqlite_get_each(store, ids, count, result));
}

static inline int each_row(
  sqlite3_stmt *query, bench_result *result, uint64_t (*add)(uint64_t, const bench_person *)) {
  while (sqlite3_step(query) == SQLITE_ROW) {
    bench_person person;
    materialise(query, &person);
    result->rows += 1;
    result->checksum = add(result->checksum, &person);
    person_free(&person);
  }
  return sqlite3_reset(query);
}

static uint64_t add_checksum(uint64_t sum, const bench_person *person) {
  return sum + person_checksum(person);
}

int bench_sqlite_scan(bench_sqlite *store, bench_result *result) {
  *result = (bench_result){0, 0};
  return each_row(store->statements[SCAN], result, add_checksum);
}

int bench_sqlite_fingerprint(bench_sqlite *store, bench_result *result) {
  *result = (bench_result){0, FNV_START};
  return each_row(store->statements[SCAN], result, fnv_person);
}

// MARK: Queries

static void bind_text(sqlite3_stmt *query, int parameter, bench_text text) {
  sqlite3_bind_text(query, parameter, text.bytes, (int)text.length, SQLITE_STATIC);
}

// Runs one statement for each text, in one read.
static int find_texts(
  bench_sqlite *store, sqlite3_stmt *query, const bench_text *texts, size_t count,
  bench_result *result) {
  *result = (bench_result){0, 0};
  int code = sqlite_begin_read(store);
  if (code != SQLITE_OK) return code;
  for (size_t index = 0; code == SQLITE_OK && index < count; index++) {
    bind_text(query, 1, texts[index]);
    code = each_row(query, result, add_checksum);
  }
  return sqlite_finish(store, code);
}

int bench_sqlite_find_emails(
  bench_sqlite *store, const bench_text *emails, size_t count, bench_result *result) {
  return find_texts(store, store->statements[FIND_EMAIL], emails, count, result);
}

int bench_sqlite_find_cities(
  bench_sqlite *store, const bench_text *cities, size_t count, size_t limit,
  bench_result *result) {
  sqlite3_bind_int64(store->statements[FIND_CITY], 2, (sqlite3_int64)limit);
  return find_texts(store, store->statements[FIND_CITY], cities, count, result);
}

int bench_sqlite_find_companies(
  bench_sqlite *store, const int64_t *companies, size_t count, bench_result *result) {
  sqlite3_stmt *query = store->statements[FIND_COMPANY];
  *result = (bench_result){0, 0};
  int code = sqlite_begin_read(store);
  if (code != SQLITE_OK) return code;
  for (size_t index = 0; code == SQLITE_OK && index < count; index++) {
    sqlite3_bind_int64(query, 1, companies[index]);
    code = each_row(query, result, add_checksum);
  }
  return sqlite_finish(store, code);
}

int bench_sqlite_find_ages(
  bench_sqlite *store, int64_t from, int64_t through, bench_result *result) {
  sqlite3_stmt *query = store->statements[FIND_AGES];
  *result = (bench_result){0, 0};
  sqlite3_bind_int64(query, 1, from);
  sqlite3_bind_int64(query, 2, through);
  return each_row(query, result, add_checksum);
}

// A prefix as a range, which unlike LIKE uses the index for every collation; it ends below the
// prefix with its last byte one greater.
static int find_prefix(sqlite3_stmt *query, bench_text prefix, bench_result *result) {
  char end[256];
  *result = (bench_result){0, 0};
  if (prefix.length == 0 || prefix.length > sizeof end) return SQLITE_TOOBIG;
  memcpy(end, prefix.bytes, prefix.length);
  end[prefix.length - 1] += 1;
  bind_text(query, 1, prefix);
  bind_text(query, 2, (bench_text){end, prefix.length});
  return each_row(query, result, add_checksum);
}

int bench_sqlite_find_email_prefix(
  bench_sqlite *store, bench_text prefix, bench_result *result) {
  return find_prefix(store->statements[EMAIL_RANGE], prefix, result);
}

int bench_sqlite_find_city_prefix(bench_sqlite *store, bench_text prefix, bench_result *result) {
  return find_prefix(store->statements[CITY_RANGE], prefix, result);
}

int bench_sqlite_count_ages(bench_sqlite *store, int64_t from, bench_result *result) {
  sqlite3_stmt *query = store->statements[COUNT_AGES];
  *result = (bench_result){0, 0};
  sqlite3_bind_int64(query, 1, from);
  if (sqlite3_step(query) == SQLITE_ROW) {
    result->rows = (uint64_t)sqlite3_column_int64(query, 0);
    result->checksum = result->rows;
  }
  return sqlite3_reset(query);
}

int bench_sqlite_find_scores(bench_sqlite *store, double above, bench_result *result) {
  sqlite3_stmt *query = store->statements[FIND_SCORES];
  *result = (bench_result){0, 0};
  sqlite3_bind_double(query, 1, above);
  return each_row(query, result, add_checksum);
}

int bench_sqlite_top_scores(bench_sqlite *store, size_t limit, bench_result *result) {
  sqlite3_stmt *query = store->statements[TOP_SCORES];
  *result = (bench_result){0, 0};
  sqlite3_bind_int64(query, 1, (sqlite3_int64)limit);
  return each_row(query, result, add_checksum);
}

int bench_sqlite_checkpoint(bench_sqlite *store) {
  return sqlite3_wal_checkpoint_v2(
    store->database, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
}
