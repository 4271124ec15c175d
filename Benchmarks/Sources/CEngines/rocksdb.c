// RocksDB, where it is installed. What it has in common with LevelDB is in lsm.h.

#include "engines.h"

#ifdef BENCH_ROCKSDB

#include <rocksdb/c.h>

#define LSM(name) rocksdb_##name

// A value that stays in the cache while it is looked at; NULL bytes where there is none.
typedef struct {
  const char *bytes;
  rocksdb_pinnableslice_t *slice;
} lsm_value;

static int failed(char *error);

static inline int get_value(
  rocksdb_t *database, const rocksdb_readoptions_t *reading, const char *key, size_t length,
  lsm_value *value) {
  char *error = NULL;
  size_t size;
  value->slice = rocksdb_get_pinned(database, reading, key, length, &error);
  value->bytes = value->slice == NULL ? NULL : rocksdb_pinnableslice_value(value->slice, &size);
  return failed(error);
}

static inline void release_value(lsm_value *value) { rocksdb_pinnableslice_destroy(value->slice); }

// A processor or two compact beside the writer; a bloom filter of 10 bits; blocks as they are, since
// what is looked at is in memory.
static void tune(rocksdb_options_t *options, rocksdb_cache_t *cache) {
  rocksdb_options_increase_parallelism(options, 2);
  rocksdb_options_set_compression(options, rocksdb_no_compression);
  rocksdb_block_based_table_options_t *tables = rocksdb_block_based_options_create();
  rocksdb_block_based_options_set_block_cache(tables, cache);
  rocksdb_block_based_options_set_filter_policy(
    tables, rocksdb_filterpolicy_create_bloom_full(10));
  rocksdb_options_set_block_based_table_factory(options, tables);
  rocksdb_block_based_options_destroy(tables);
}

#include "lsm.h"
#include "lsm_queries.h"

const bench_lsm_functions *bench_rocksdb(void) { return &functions; }

#else

const bench_lsm_functions *bench_rocksdb(void) { return NULL; }

#endif
