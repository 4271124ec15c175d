#ifndef BENCHMARK_SQLITE_SHIM_H
#define BENCHMARK_SQLITE_SHIM_H
#include <sqlite3.h>
#endif
