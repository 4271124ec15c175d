#!/usr/bin/env bash
# Prints a file that is made from the Unicode data of this machine's Swift, or of its Foundation:
#
#   Scripts/generate.sh nfc-tables > Sources/Larch/Key/NFCTables.swift
#   Scripts/generate.sh word-tables > Sources/Larch/Key/WordTables.swift
#   Scripts/generate.sh collation-tables > Sources/Larch/Key/CollationTables.swift
#   Scripts/generate.sh collation-pairs > Tests/Parts/LarchKeyTests/Recorded/collation-pairs.txt
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

name="${1:?the middle of the name of a file Scripts/generate-….swift}"
shift
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
parts=(Scripts/table-text.swift)
libraries=()
if [[ "$name" == collation-* ]]; then
  parts+=(Scripts/icu-collator.swift)
  libraries+=(-l_FoundationICU)
fi
cat "${parts[@]}" "Scripts/generate-$name.swift" > "$folder/main.swift"
swiftc -O "$folder/main.swift" ${libraries[@]+"${libraries[@]}"} -o "$folder/generate"
"$folder/generate" "$@" > "$folder/made.swift"
if [[ "$name" == *-tables ]]; then
  swift format --configuration .swift-format "$folder/made.swift"
else
  cat "$folder/made.swift"
fi
