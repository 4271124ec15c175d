// SQLite for any shape of record: the caller has the tables, the statements and the values, and this
// runs them. Columns of one kind that follow each other are read by a loop of their own, so that it adds
// little to what code for each statement would take.

#include "row_hash.h"
#include "shapes.h"
#include "sqlite.h"

enum { MOST_COLUMNS = 64, MOST_STATEMENTS = 64 };

// Columns of one kind, up to `end`.
typedef struct {
  char letter;
  unsigned char end;
} column_run;

typedef struct {
  sqlite3_stmt *statement;
  column_run runs[MOST_COLUMNS];
  int run_count;
  int parameters;
  int child;
  bool counts_changes;
  bool has_one_row;
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
  if (store->count == MOST_STATEMENTS || strlen(columns) > MOST_COLUMNS + 1) return SQLITE_TOOBIG;
  table_statement *made = &store->statements[store->count];
  int code = sqlite3_prepare_v3(
    store->database, sql, -1, SQLITE_PREPARE_PERSISTENT, &made->statement, NULL);
  if (code != SQLITE_OK) return code;
  made->counts_changes = columns[0] == '#';
  made->has_one_row = columns[0] == '1';
  if (made->counts_changes || made->has_one_row) columns++;
  for (int column = 0; columns[column] != 0; column++) {
    if (column == 0 || columns[column] != columns[column - 1]) {
      made->runs[made->run_count++].letter = columns[column];
    }
    made->runs[made->run_count - 1].end = (unsigned char)(column + 1);
  }
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

static inline uint64_t read_text(
  uint64_t hash, sqlite3_stmt *statement, int column, bool all_bytes, char **texts,
  int *text_count) {
  uint32_t length;
  char *text = column_copy(statement, column, &length);
  // The caller of a store keeps its record, so the bytes count as used.
  __asm__ volatile("" : : "r"(text) : "memory");
  texts[(*text_count)++] = text;
  return row_add_text(hash, text, length, all_bytes);
}

static uint64_t read_optional(
  uint64_t hash, sqlite3_stmt *statement, int column, char letter, char **texts,
  int *text_count) {
  if (sqlite3_column_type(statement, column) == SQLITE_NULL) return row_add(hash, ROW_HASH_NIL);
  if (letter == 'I') return row_add(hash, (uint64_t)sqlite3_column_int64(statement, column));
  return read_text(hash, statement, column, letter == 'H', texts, text_count);
}

// A row as the record that a program would make of it; `texts` are those that it owns.
static inline uint64_t read_row(const table_statement *made, char **texts, int *text_count) {
  sqlite3_stmt *statement = made->statement;
  uint64_t hash = ROW_HASH_START;
  int column = 0;
  for (const column_run *run = made->runs; run < made->runs + made->run_count; run++) {
    int end = run->end;
    switch (run->letter) {
      case 'i':
        do hash = row_add(hash, (uint64_t)sqlite3_column_int64(statement, column));
        while (++column < end);
        break;
      case 'd':
        do hash = row_add_double(hash, sqlite3_column_double(statement, column));
        while (++column < end);
        break;
      case 't':
        do hash = read_text(hash, statement, column, false, texts, text_count);
        while (++column < end);
        break;
      case 'h':
        do hash = read_text(hash, statement, column, true, texts, text_count);
        while (++column < end);
        break;
      case 'u':
        do hash = row_add_uuid(hash, sqlite3_column_blob(statement, column));
        while (++column < end);
        break;
      default:
        do hash = read_optional(hash, statement, column, run->letter, texts, text_count);
        while (++column < end);
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
    result_add(result, read_row(made, texts, &text_count));
    if (made->child >= 0) {
      const table_statement *child = &store->statements[made->child];
      sqlite3_bind_int64(child->statement, 1, sqlite3_column_int64(statement, 0));
      int code = read_rows(store, child, result);
      if (code != SQLITE_OK) return code;
    }
    for (int index = 0; index < text_count; index++) free(texts[index]);
    if (made->has_one_row) break;
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
      if (made->counts_changes) {
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
