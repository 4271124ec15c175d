#ifndef LARCH_CLMDB_SHIM_H
#define LARCH_CLMDB_SHIM_H
#include <lmdb.h>
#endif
