#!/usr/bin/env bash
# Writes the figures of runs into README.md and docs/benchmarks.md, between their markers, and draws
# the charts: Scripts/bench-table.sh results.json growth.json shapes.json, as `make bench ARGS="--json FILE"`
# wrote them. What was written is kept in docs/benchmarks.json; without arguments it is written again.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
kept=$root/docs/benchmarks.json
if [ $# = 0 ]; then
  set -- "$kept"
else
  for file in "$@"; do
    [ -r "$file" ] || fail "$file cannot be read."
  done
  # The last summary of each kind: those of the files given before those that are kept.
  new=$(mktemp)
  trap 'rm -f "$new"' EXIT
  for kind in run growth shapes shapesGrowth; do
    { [ ! -e "$kept" ] || cat "$kept"; cat "$@"; } | grep "^{\"$kind\":" | tail -1 >>"$new" || true
  done
  [ -s "$new" ] || fail "These files hold no summary: a run writes it when it comes to its end."
  cp "$new" "$kept"
  set -- "$kept"
fi
pages=()
for page in README.md docs/benchmarks.md; do
  if grep -q '<!-- bench:begin' "$root/$page"; then pages+=(--table "$root/$page"); fi
done
"$root/Scripts/bench.sh" --from "$1" --charts "$root/Sources/Larch/Larch.docc/Images" "${pages[@]}"
