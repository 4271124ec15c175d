#!/usr/bin/env bash
# Larch is one module whose folders are layers (docs/architecture.md). This check keeps them so:
# each folder is type-checked together with exactly the folders that it may use, so naming a type
# of any other folder is an error. A new dependency is a visible edit of the list below.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../Scripts/common.sh"
cd "$root"

# Folder: the folders that it may use. Lowest first; not transitive, what is used is written out.
layers='
Support:
Runtime:      Support
LMDB:         Support
Pages:        Support
Key:          Support
Coding:       Support Runtime
Model:        Support Runtime Key Coding
Query:        Support Runtime Key Coding Model
Planning:     Support Runtime Key Coding Model Query
Catalog:      Support Runtime LMDB Key Coding Model
Indexing:     Support Runtime LMDB Key Coding Model Catalog
Execution:    Support Runtime LMDB Key Coding Model Query Planning Catalog Indexing
Relations:    Support Runtime LMDB Key Coding Model Catalog Indexing
Store:        Support Runtime LMDB Pages Key Coding Model Query Planning Catalog Indexing Execution Relations
ActiveRecord: Support Runtime LMDB Pages Key Coding Model Query Planning Catalog Indexing Execution Relations Store
Import:       Support Runtime LMDB Pages Key Coding Model Query Planning Catalog Indexing Execution Relations Store
Typeless:     Support Runtime LMDB Pages Key Coding Model Query Planning Catalog Indexing Execution Relations Store
'

sources=Sources/Larch
failures=0
report() {
  printf 'larch layers: %s\n' "$*" >&2
  failures=$((failures + 1))
}

# The folders on disk and the list must name the same things; a folder of the list that does not
# exist yet is no fault, one that is not in the list is.
for folder in "$sources"/*/; do
  name=$(basename "$folder")
  # The first page of the documentation is no code.
  case $name in *.docc) continue ;; esac
  grep -q "^$name:" <<<"$layers" || report "the folder $name is not in the list of layers"
done
for file in "$sources"/*.swift; do
  [ -e "$file" ] && report "$file lies in no layer"
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# SwiftPM writes this module map itself; here there is no SwiftPM.
mkdir "$scratch/CLarch"
cat >"$scratch/CLarch/module.modulemap" <<MAP
module CLarch { umbrella "$root/Sources/CLarch/include" export * }
MAP

read -r -a lmdb_flags <<<"$("${PKG_CONFIG:-pkg-config}" --cflags lmdb 2>/dev/null || true)"
# Kept between runs, since Foundation takes its time to be read for the first time.
cache=.build/check-modules
flags=(
  -frontend -typecheck -module-name Larch -package-name larch -swift-version 6 -parse-as-library
  -enable-upcoming-feature InternalImportsByDefault
  -enable-upcoming-feature ExistentialAny
  -I Sources/CLMDB -I "$scratch/CLarch"
  -module-cache-path "$cache"
)
for flag in ${lmdb_flags[@]+"${lmdb_flags[@]}"}; do flags+=(-Xcc "$flag"); done
if [ "$(uname)" = Darwin ]; then
  flags+=(-sdk "$(xcrun --show-sdk-path)" -target "$(uname -m)-apple-macosx15.0")
fi

swift_files_in() { find "$@" -name '*.swift' | LC_ALL=C sort; }

while IFS=: read -r name uses; do
  [ -n "$name" ] && [ -d "$sources/$name" ] || continue
  # Bodies are checked in the folder itself only; of the others, what they declare.
  files=()
  while IFS= read -r file; do files+=(-primary-file "$file"); done \
    < <(swift_files_in "$sources/$name")
  [ "${#files[@]}" -gt 0 ] || continue
  for used in $uses; do
    [ -d "$sources/$used" ] || continue
    while IFS= read -r file; do files+=("$file"); done < <(swift_files_in "$sources/$used")
  done
  if ! swiftc "${flags[@]}" "${files[@]}" >"$scratch/log" 2>&1; then
    grep -E 'error:' "$scratch/log" >&2 || cat "$scratch/log" >&2
    report "$name uses more than it may:$(tr -s " " <<<" ${uses:-nothing}")"
  fi
done <<<"$layers"

# C comes in through one door, and the call that destroys data in duplicate-sorted databases
# (docs/decisions/0003-entry-layout.md) is not made anywhere.
imports='^[[:space:]]*(@[A-Za-z_()]+ +)*((internal|private|fileprivate|package|public) +)?import CLMDB'
elsewhere=$(grep -rnE "$imports" Sources --include='*.swift' | grep -v "^$sources/LMDB/" || true)
if [ -n "$elsewhere" ]; then
  printf '%s\n' "$elsewhere" >&2
  report "CLMDB is imported outside of $sources/LMDB"
fi
if grep -rn 'mdb_cursor_del' --include='*.swift' --include='*.c' --include='*.h' Sources; then
  report "mdb_cursor_del is used; collect the pairs and delete each with mdb_del"
fi

[ "$failures" = 0 ] || exit 1
say "layers: clean"
