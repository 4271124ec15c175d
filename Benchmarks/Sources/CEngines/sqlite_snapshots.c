// GRDB refers to SQLite's snapshots, which many builds of SQLite for Linux do not have. The benchmark
// opens none, so these are there only for the linker.

#if defined(BENCH_GRDB) && defined(__linux__)

#include <sqlite3.h>

__attribute__((weak)) int sqlite3_snapshot_get(
  sqlite3 *database, const char *schema, sqlite3_snapshot **snapshot) {
  (void)database, (void)schema, (void)snapshot;
  return SQLITE_ERROR;
}

__attribute__((weak)) int sqlite3_snapshot_open(
  sqlite3 *database, const char *schema, sqlite3_snapshot *snapshot) {
  (void)database, (void)schema, (void)snapshot;
  return SQLITE_ERROR;
}

__attribute__((weak)) void sqlite3_snapshot_free(sqlite3_snapshot *snapshot) { (void)snapshot; }

__attribute__((weak)) int sqlite3_snapshot_cmp(sqlite3_snapshot *first, sqlite3_snapshot *second) {
  (void)first, (void)second;
  return 0;
}

#endif
