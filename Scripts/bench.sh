#!/usr/bin/env bash
# Builds the benchmarks for release and runs them with the arguments given.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
"$root/Scripts/setup.sh" --bench
cd "$root"
exec swift run -c release --package-path Benchmarks larch-bench "$@"
