#!/usr/bin/env bash
# Builds the benchmarks for release and runs them with the arguments given. On a fresh machine it
# installs what is missing: liblmdb and SQLite, and, where that can be, RocksDB and LevelDB, which
# are peers that it does without. LARCH_BENCH_PEERS= (empty) leaves those out.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
if [ -n "${LARCH_BENCH_PEERS-unset}" ]; then
  "$root/Scripts/setup.sh" --bench --peers
else
  "$root/Scripts/setup.sh" --bench
fi
cd "$root"

# The manifest looks for the headers only where nobody tells it; SwiftPM keeps a manifest's answer,
# and would not notice that a package came later.
if [ -z "${LARCH_BENCH_PEERS+set}" ]; then
  LARCH_BENCH_PEERS=$("$root/Scripts/setup.sh" --which-peers)
  export LARCH_BENCH_PEERS
fi
LARCH_BENCH_TOOLCHAIN=$(swift --version 2>/dev/null | sed -n 's/.*\(Swift version [0-9.]*\).*/\1/p' | head -1)
export LARCH_BENCH_TOOLCHAIN
exec swift run -c release --package-path Benchmarks larch-bench "$@"
