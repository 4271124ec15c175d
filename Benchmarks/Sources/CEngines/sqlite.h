// What the files of the SQLite engine share: the connection, and rows as people.
#ifndef LARCH_BENCHMARK_SQLITE_H
#define LARCH_BENCHMARK_SQLITE_H

#include <sqlite3.h>
#include <string.h>

#include "person.h"

#define COLUMNS "id, name, email, age, score, active, createdAt, city, companyID"

#define PERSON_TABLE(reference)                                                                 \
  "CREATE TABLE IF NOT EXISTS person (id INTEGER PRIMARY KEY, name TEXT NOT NULL,"              \
  " email TEXT NOT NULL, age INTEGER NOT NULL, score REAL NOT NULL, active INTEGER NOT NULL,"   \
  " createdAt REAL NOT NULL, city TEXT NOT NULL, companyID INTEGER NOT NULL" reference ");"

struct bench_sqlite {
  sqlite3 *database;
  sqlite3_stmt **statements;
};

// Opens a connection with the settings that every benchmark uses; it is to be closed after an error too.
int sqlite_open_database(const char *path, sqlite3 **out);
// Makes these tables before those of the people, which are made where they are not there yet.
int sqlite_open(const char *path, const char *tables, bench_sqlite **out);
int sqlite_begin_write(bench_sqlite *store);
int sqlite_begin_read(bench_sqlite *store);
// Commits, or rolls back where the code is one of an error, and hands that back.
int sqlite_finish(bench_sqlite *store, int code);

// Runs a statement that returns no rows.
static inline int run(sqlite3_stmt *statement) {
  sqlite3_step(statement);
  return sqlite3_reset(statement);
}

static inline char *column_copy(sqlite3_stmt *statement, int column, uint32_t *length) {
  const void *text = sqlite3_column_text(statement, column);
  *length = (uint32_t)sqlite3_column_bytes(statement, column);
  return person_copy_string(text, *length);
}

// A row whose person begins at this column.
static inline void materialise_at(sqlite3_stmt *statement, int first, bench_person *person) {
  person->id = sqlite3_column_int64(statement, first);
  person->name = column_copy(statement, first + 1, &person->name_length);
  person->email = column_copy(statement, first + 2, &person->email_length);
  person->age = sqlite3_column_int64(statement, first + 3);
  person->score = sqlite3_column_double(statement, first + 4);
  person->active = sqlite3_column_int(statement, first + 5) != 0;
  person->created_at = sqlite3_column_double(statement, first + 6);
  person->city = column_copy(statement, first + 7, &person->city_length);
  person->company_id = sqlite3_column_int64(statement, first + 8);
}

static inline void materialise(sqlite3_stmt *statement, bench_person *person) {
  materialise_at(statement, 0, person);
}

#endif
