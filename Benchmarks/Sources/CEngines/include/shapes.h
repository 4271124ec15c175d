// The peers of the shapes benchmark that are written in C: SQLite for every shape, driven by a list of
// calls, and raw LMDB for events and documents.
// Every function that returns int returns 0 or the library's own error code.
#ifndef LARCH_BENCHMARK_SHAPES_H
#define LARCH_BENCHMARK_SHAPES_H

#include "engines.h"

// A value that a statement is given. Texts and bytes are borrowed.
typedef struct {
  union {
    int64_t integer;
    double real;
    const void *bytes;
  };
  uint32_t length;
  // 'i' an integer, 'd' a double, 't' a text, 'b' bytes, 'n' NULL
  char kind;
} bench_cell;

// A statement, and the first of the values for its parameters.
typedef struct {
  uint32_t statement;
  uint32_t first_cell;
} bench_call;

typedef struct bench_tables bench_tables;

// Opens the database as the one of the people is opened, and makes the tables.
int bench_tables_open(const char *path, const char *schema, bench_tables **out);
void bench_tables_close(bench_tables *store);
int bench_tables_checkpoint(bench_tables *store);

// Prepares a statement. `columns` has a letter for each column of its rows, which is how it becomes part
// of a record: 'i' an integer, 'd' a double, 't' a text, 'u' the bytes of a UUID, 'h' a text of which
// every byte counts in the checksum. Capital letters are columns that may be NULL. "#" counts the rows
// that the statement changes; "1" before the others says that there is one row at most, so that no
// step looks for another. Negative child: none; otherwise that statement is run
// for each row with its first column, and its rows are part of the same record.
int bench_tables_prepare(
  bench_tables *store, const char *sql, const char *columns, int child, uint32_t *statement);

// Runs statement after statement. Each row is read into memory of the caller's, added to the result and
// dropped. An error rolls back what was begun.
int bench_tables_run(
  bench_tables *store, const bench_call *calls, size_t count, const bench_cell *cells,
  bench_result *result);

// An event, or one that a query asks for. The strings are not terminated by zero.
typedef struct {
  unsigned char id[16];
  double at;
  int64_t amount;
  const char *kind;
  const char *device;
  // NULL: none.
  const char *note;
  uint32_t kind_length;
  uint32_t device_length;
  uint32_t note_length;
} bench_event;

// From a date up to another, of a kind.
typedef struct {
  bench_text kind;
  double from;
  double to;
} bench_span;

typedef struct bench_events bench_events;

int bench_events_open(const char *path, bench_events **out);
void bench_events_close(bench_events *store);
// In one durable transaction.
int bench_events_insert(
  bench_events *store, const bench_event *events, size_t count, bench_result *result);
int bench_events_find(
  bench_events *store, const bench_event *asked, size_t count, bench_result *result);
// The latest before the end of each span; of its kind where it has one.
int bench_events_page(
  bench_events *store, const bench_span *spans, size_t count, size_t limit, bench_result *result);
// Those in each span, of any kind.
int bench_events_range(
  bench_events *store, const bench_span *spans, size_t count, bench_result *result);
// Of the kind in each span: how many there are, or the sum of the amounts.
int bench_events_count(
  bench_events *store, const bench_span *spans, size_t count, bench_result *result);
int bench_events_sum(
  bench_events *store, const bench_span *spans, size_t count, bench_result *result);
int bench_events_kinds(bench_events *store, bool counted, bench_result *result);
int bench_events_devices(bench_events *store, bench_result *result);
// Each fetched, given the kind, and stored.
int bench_events_update(
  bench_events *store, const bench_event *changes, size_t count, bench_result *result);
int bench_events_delete(
  bench_events *store, const bench_event *asked, size_t count, bench_result *result);
int bench_events_scan(bench_events *store, bool all_bytes, bench_result *result);

// A document, or what a query asks for.
typedef struct {
  bench_text id;
  bench_text area;
  bench_text title;
  bench_text body;
  int64_t revision;
} bench_document;

typedef struct bench_documents bench_documents;

int bench_documents_open(const char *path, bench_documents **out);
void bench_documents_close(bench_documents *store);
int bench_documents_insert(
  bench_documents *store, const bench_document *documents, size_t count, bench_result *result);
int bench_documents_find(
  bench_documents *store, const bench_text *ids, size_t count, bench_result *result);
// The first after each id.
int bench_documents_page(
  bench_documents *store, const bench_text *ids, size_t count, size_t limit, bench_result *result);
enum { BENCH_RECORDS, BENCH_IDS, BENCH_COUNT };
// The documents whose ids begin so; or their ids; or how many there are.
int bench_documents_prefix(
  bench_documents *store, const bench_text *prefixes, size_t count, int wanted,
  bench_result *result);
int bench_documents_areas(bench_documents *store, bench_result *result);
// The sum of the revisions of each area.
int bench_documents_sum(
  bench_documents *store, const bench_text *areas, size_t count, bench_result *result);
// Each fetched, given the body, and stored.
int bench_documents_update(
  bench_documents *store, const bench_document *changes, size_t count, bench_result *result);
int bench_documents_delete(
  bench_documents *store, const bench_text *ids, size_t count, bench_result *result);
int bench_documents_scan(bench_documents *store, bool all_bytes, bench_result *result);

#endif
