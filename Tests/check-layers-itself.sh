#!/usr/bin/env bash
# Breaks the rules of the layers on purpose, in a copy of the sources: the check must find each fault.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../Scripts/common.sh"
cd "$root"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export LARCH_LAYERED_SOURCES=$scratch/Larch

# What it breaks, the file and the line that do so, what the check must say, and what it checks.
breaks() {
  local fault=$1 file=$2 line=$3 message=$4
  shift 4
  rm -rf "$scratch/Larch"
  cp -R Sources/Larch "$scratch/Larch"
  mkdir -p "$(dirname "$scratch/Larch/$file")"
  printf '%s\n' "$line" >>"$scratch/Larch/$file"
  if ./Tests/check-layers.sh "$@" >"$scratch/log" 2>&1; then
    fail "the check of the layers misses $fault"
  fi
  grep -q -e "$message" "$scratch/log" || {
    cat "$scratch/log" >&2
    fail "the check of the layers does not say \"$message\" for $fault"
  }
}

breaks 'a layer that names a higher one' Support/Bytes.swift 'extension Store {}' \
  "cannot find type 'Store'" Support
breaks 'a room that names a room beside it' Store/Files/Store+Backup.swift \
  'extension MigrationRunner {}' "cannot find type 'MigrationRunner'" Store/Files
breaks 'a member of a room beside it' Store/Files/Store+Backup.swift \
  'extension Store { func broken() throws { _ = try statistics() } }' \
  "cannot find 'statistics' in scope" Store/Files
breaks 'a file outside of the rooms' Store/Loose.swift '' 'lies in no room' Support
breaks 'a room that is not in the list' Store/Unlisted/New.swift '' 'not in the list of rooms' Support
breaks 'a layer that is not in the list' Unlisted/New.swift '' 'not in the list of layers' Support

say "layers: the check finds what is broken on purpose"
