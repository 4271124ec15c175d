// SQLite for any shape of record: the caller has the tables, the statements and the values, and this
// runs them. What it adds to SQLite's own work is the look at a letter for each column and each value.

#include "row_hash.h"
#include "shapes.h"
#include "sqlite.h"

enum { MOST_COLUMNS = 64, MOST_STATEMENTS = 64 };

typedef struct {
  sqlite3_stmt *statement;
  char columns[MOST_COLUMNS + 1];
  int parameters;
  int child;
} table_statement;

struct bench_tables {
  sqlite3 *database;
  table_statement statements[MOST_STATEMENTS];
  uint32_t count;
};

int bench_tables_open(const char *path, const char *schema, bench_tables **out) {
  bench_tables *store = calloc(1, sizeof *store);
  if (store == NULL) abort();
  int code = sqlite_open_database(path, &store->database);
  if (code == SQLITE_OK) code = sqlite3_exec(store->database, schema, NULL, NULL, NULL);
  if (code != SQLITE_OK) {
    bench_tables_close(store);
    return code;
  }
  *out = store;
  return SQLITE_OK;
}

void bench_tables_close(bench_tables *store) {
  for (uint32_t index = 0; index < store->count; index++) {
    sqlite3_finalize(store->statements[index].statement);
  }
  sqlite3_close(store->database);
  free(store);
}

int bench_tables_checkpoint(bench_tables *store) {
  return sqlite3_wal_checkpoint_v2(
    store->database, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
}

int bench_tables_prepare(
  bench_tables *store, const char *sql, const char *columns, int child, uint32_t *statement) {
  if (store->count == MOST_STATEMENTS || strlen(columns) > MOST_COLUMNS) return SQLITE_TOOBIG;
  table_statement *made = &store->statements[store->count];
  int code = sqlite3_prepare_v3(
    store->database, sql, -1, SQLITE_PREPARE_PERSISTENT, &made->statement, NULL);
  if (code != SQLITE_OK) return code;
  strcpy(made->columns, columns);
  made->parameters = sqlite3_bind_parameter_count(made->statement);
  made->child = child;
  *statement = store->count++;
  return SQLITE_OK;
}

static inline int bind(sqlite3_stmt *statement, int parameter, const bench_cell *cell) {
  switch (cell->kind) {
    case 'i': return sqlite3_bind_int64(statement, parameter, cell->integer);
    case 'd': return sqlite3_bind_double(statement, parameter, cell->real);
    case 't': return sqlite3_bind_text(
      statement, parameter, cell->bytes, (int)cell->length, SQLITE_STATIC);
    case 'b': return sqlite3_bind_blob(
      statement, parameter, cell->bytes, (int)cell->length, SQLITE_STATIC);
    default: return sqlite3_bind_null(statement, parameter);
  }
}

// A row as the record that a program would make of it; `texts` are those that it owns.
static inline uint64_t read_row(
  sqlite3_stmt *statement, const char *columns, char **texts, int *text_count) {
  uint64_t hash = ROW_HASH_START;
  for (int column = 0; columns[column] != 0; column++) {
    char letter = columns[column];
    if (letter < 'a') {
      if (sqlite3_column_type(statement, column) == SQLITE_NULL) {
        hash = row_add(hash, ROW_HASH_NIL);
        continue;
      }
      letter = (char)(letter | 0x20);
    }
    switch (letter) {
      case 'i': hash = row_add(hash, (uint64_t)sqlite3_column_int64(statement, column)); break;
      case 'd': hash = row_add_double(hash, sqlite3_column_double(statement, column)); break;
      case 'u': hash = row_add_uuid(hash, sqlite3_column_blob(statement, column)); break;
      default: {
        uint32_t length;
        char *text = column_copy(statement, column, &length);
        // The caller of a store keeps its record, so the bytes count as used.
        __asm__ volatile("" : : "r"(text) : "memory");
        hash = row_add_text(hash, text, length, letter == 'h');
        texts[(*text_count)++] = text;
      }
    }
  }
  return hash;
}

// All rows of a statement whose parameters are bound; with those of its child, which are of the same
// record.
static int read_rows(bench_tables *store, const table_statement *made, bench_result *result) {
  sqlite3_stmt *statement = made->statement;
  char *texts[MOST_COLUMNS];
  while (sqlite3_step(statement) == SQLITE_ROW) {
    int text_count = 0;
    result_add(result, read_row(statement, made->columns, texts, &text_count));
    if (made->child >= 0) {
      const table_statement *child = &store->statements[made->child];
      sqlite3_bind_int64(child->statement, 1, sqlite3_column_int64(statement, 0));
      int code = read_rows(store, child, result);
      if (code != SQLITE_OK) return code;
    }
    for (int index = 0; index < text_count; index++) free(texts[index]);
  }
  return sqlite3_reset(statement);
}

int bench_tables_run(
  bench_tables *store, const bench_call *calls, size_t count, const bench_cell *cells,
  bench_result *result) {
  int code = SQLITE_OK;
  for (size_t index = 0; index < count; index++) {
    const table_statement *made = &store->statements[calls[index].statement];
    const bench_cell *cell = &cells[calls[index].first_cell];
    for (int parameter = 1; code == SQLITE_OK && parameter <= made->parameters; parameter++) {
      code = bind(made->statement, parameter, cell++);
    }
    if (code == SQLITE_OK) {
      if (made->columns[0] == '#') {
        code = run(made->statement);
        result->rows += (uint64_t)sqlite3_changes(store->database);
      } else {
        code = read_rows(store, made, result);
      }
    }
    if (code != SQLITE_OK) break;
  }
  if (code != SQLITE_OK && !sqlite3_get_autocommit(store->database)) {
    sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
  }
  return code;
}
