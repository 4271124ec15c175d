#ifndef BENCHMARK_LMDB_SHIM_H
#define BENCHMARK_LMDB_SHIM_H
#include <lmdb.h>
#endif
