// LevelDB, where it is installed. What it has in common with RocksDB is in lsm.h.

#include "engines.h"

#ifdef BENCH_LEVELDB

#include <leveldb/c.h>

#define LSM(name) leveldb_##name

// The library's copy of a value; NULL bytes where there is none.
typedef struct {
  char *bytes;
} lsm_value;

static int failed(char *error);

static inline int get_value(
  leveldb_t *database, const leveldb_readoptions_t *reading, const char *key, size_t length,
  lsm_value *value) {
  char *error = NULL;
  size_t size;
  value->bytes = leveldb_get(database, reading, key, length, &size, &error);
  return failed(error);
}

static inline void release_value(lsm_value *value) { leveldb_free(value->bytes); }

// For as long as the program runs: a store does not own its filter.
static leveldb_filterpolicy_t *shared_filter(void) {
  static leveldb_filterpolicy_t *filter = NULL;
  if (filter == NULL) filter = leveldb_filterpolicy_create_bloom(10);
  return filter;
}

// A bloom filter of 10 bits; blocks as they are, since what is looked at is in memory.
static void tune(leveldb_options_t *options, leveldb_cache_t *cache) {
  leveldb_options_set_compression(options, leveldb_no_compression);
  leveldb_options_set_cache(options, cache);
  leveldb_options_set_max_open_files(options, 1000);
  leveldb_options_set_filter_policy(options, shared_filter());
}

#include "lsm.h"
#include "lsm_queries.h"

const bench_lsm_functions *bench_leveldb(void) { return &functions; }

#else

const bench_lsm_functions *bench_leveldb(void) { return NULL; }

#endif
