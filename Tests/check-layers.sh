#!/usr/bin/env bash
# Larch is one module whose folders are layers (docs/architecture.md), and the folders in a layer are
# its rooms. This check keeps them so: each is type-checked together with exactly the folders that it
# may use, so naming a type of any other folder is an error. A new dependency is a visible edit of
# the lists below. Names check only these: `Tests/check-layers.sh Key Store/Files`. What needs no
# record types is a target of its own, `LarchInspection`: the compiler keeps it above the library.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../Scripts/common.sh"
cd "$root"

# Folder: the folders that it may use. Lowest first; not transitive, what is used is written out.
layers='
Support:
Runtime:      Support
Changes:      Support
Pages:        Support
SharedLog:    Support
LMDB:         Support Changes Pages SharedLog
Key:          Support Runtime
Text:         Support Key
Coding:       Support Runtime
Model:        Support Runtime Key Text Coding
Query:        Support Runtime Key Text Coding Model
Planning:     Support Runtime Key Text Coding Model Query
Catalog:      Support Runtime Changes SharedLog LMDB Key Text Coding Model
Indexing:     Support Runtime Changes SharedLog LMDB Key Text Coding Model Catalog
Execution:    Support Runtime Changes SharedLog LMDB Pages Key Text Coding Model Query Planning Catalog Indexing
Relations:    Support Runtime Changes SharedLog LMDB Key Text Coding Model Catalog Indexing
Store:        Support Runtime Changes SharedLog LMDB Pages Key Text Coding Model Query Planning Catalog Indexing Execution Relations
ActiveRecord: Support Runtime Changes SharedLog LMDB Pages Key Text Coding Model Query Planning Catalog Indexing Execution Relations Store
Import:       Support Runtime Changes SharedLog LMDB Pages Key Text Coding Model Query Planning Catalog Indexing Execution Relations Store
'

# Rooms of a layer: the rooms of the same layer that it may use, beside what the layer may.
rooms='
Store/Associations: Keeping Opening Querying Saving Transactions
Store/AsyncWriting: Opening Transactions
Store/Deleting: Querying Saving Transactions
Store/Files: Opening Transactions
Store/Following: AsyncWriting Files Migrations Mirroring Opening Sharing Transactions
Store/Grouping: Keeping Querying Transactions
Store/Integrity: Associations Files Opening Transactions
Store/Keeping: Grouping Querying Transactions
Store/Mirroring: Files Migrations Opening Sharing Transactions
Store/Migrations: Integrity Opening Querying Saving Transactions
Store/Observing: Grouping Keeping Opening Querying Transactions
Store/Opening: AsyncWriting Files Following Integrity Migrations Mirroring Querying Saving Sharing Transactions
Store/Querying: Deleting Keeping Opening Saving Transactions
Store/Saving: Associations Deleting Querying Transactions
Store/Sharing: AsyncWriting Files Following Migrations Mirroring Opening Transactions
Store/Statistics: Opening Transactions
Store/Units: AsyncWriting Deleting Opening Querying Saving Transactions
Store/Transactions: AsyncWriting Opening Querying Saving
Execution/Filters: Related Rows Running
Execution/Joins: Filters Related Rows Running Sorting
Execution/Related: Filters Joins Rows Running Sorting
Execution/Rows: Filters Related Running Sorting
Execution/Running: Filters Related Rows Sorting
Execution/Sorting: Filters Related Rows
LMDB/Access: Environment
LMDB/CommitLog: Access Environment Files Outbox Writing
LMDB/Environment: Access CommitLog Files Observing Outbox Reading Sharing Writing
LMDB/Files: Access CommitLog Environment
LMDB/Observing: Access Environment Files Outbox Reading
LMDB/Outbox: Access CommitLog Environment Files Reading Sharing Writing
LMDB/Reading: Access Environment Files
LMDB/Sharing: Access Environment Files Outbox Reading Writing
LMDB/Writing: Access CommitLog Environment Files Outbox Reading Sharing
Coding/Codable: Evolution Format Memberwise TypeFacts
Coding/Evolution: Codable Format TypeFacts
Coding/Format: Codable Evolution TypeFacts
Coding/Memberwise: Codable Evolution Format TypeFacts
Coding/TypeFacts: Codable Evolution Format Memberwise
Query/Fields: Filters Predicates Requests
Query/Filters: Fields
Query/Predicates: Fields Filters
Query/Requests: Fields Filters Predicates
Query/Text: Fields Filters Requests
Model/Associations: Records Schema
Model/Records: Schema Validation
Model/Schema: Associations Records Validation
Model/Validation: Records Schema
'

sources=${LARCH_LAYERED_SOURCES:-Sources/Larch}
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

# Type-checks one folder with the folders that it may use.
check() {
  local name=$1 uses=$2 used file files=()
  # Bodies are checked in the folder itself only; of the others, what they declare.
  while IFS= read -r file; do files+=(-primary-file "$file"); done \
    < <(swift_files_in "$sources/$name")
  [ "${#files[@]}" -gt 0 ] || return 0
  for used in $uses; do
    [ -d "$sources/$used" ] || continue
    while IFS= read -r file; do files+=("$file"); done < <(swift_files_in "$sources/$used")
  done
  local log=$scratch/${name//\//-}.log
  if ! swiftc "${flags[@]}" "${files[@]}" >"$log" 2>&1; then
    grep -E 'error:' "$log" >&2 || cat "$log" >&2
    say "$name uses more than it may:$(tr -s ' ' <<<" ${uses:-nothing}")" >&2
    : >"$log.failed"
  fi
}

# A layer with rooms is checked room by room, and has no file outside of them.
has_rooms() { grep -q "^$1/" <<<"$rooms"; }
checks=$scratch/checks
while IFS=: read -r name uses; do
  [ -n "$name" ] && [ -d "$sources/$name" ] || continue
  has_rooms "$name" || printf '%s:%s\n' "$name" "$uses"
done <<<"$layers" >"$checks"
while IFS=: read -r name uses; do
  [ -n "$name" ] && [ -d "$sources/$name" ] || continue
  layer=${name%%/*}
  siblings=$(for room in $uses; do printf ' %s' "$layer/$room"; done)
  printf '%s:%s%s\n' "$name" "$(grep "^$layer:" <<<"$layers" | cut -d: -f2-)" "$siblings"
done <<<"$rooms" >>"$checks"
for layer in $(cut -d/ -f1 <<<"$rooms" | sort -u); do
  for file in "$sources/$layer"/*.swift; do
    [ -e "$file" ] && report "$file lies in no room"
  done
  for folder in "$sources/$layer"/*/; do
    [ -d "$folder" ] || continue
    name=$layer/$(basename "$folder")
    grep -q "^$name:" <<<"$rooms" || report "the room $name is not in the list of rooms"
  done
done

if [ $# -gt 0 ]; then
  for name in "$@"; do
    grep -E "^$name(/[^:]*)?:" "$checks" || fail "there is no layer or room $name"
  done >"$scratch/wanted"
  mv "$scratch/wanted" "$checks"
fi
# Two at a time: each is one thread.
run_every_second() {
  awk -v first="$1" 'NR % 2 == first' "$checks" |
    while IFS=: read -r name uses; do check "$name" "$uses"; done
}
run_every_second 0 &
run_every_second 1
wait
failures=$((failures + $(find "$scratch" -name '*.failed' | wc -l)))

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
