#!/bin/sh
# Code that must not compile: each line of Tests/Refusals/*.swift that ends with
# `// error: text` has to give an error with that text, and no other line any error.
# Needs a debug build.
set -eu
cd "$(dirname "$0")/.."
modules=.build/debug/Modules
[ -d "$modules" ] || { echo "check-refusals: build the package first"; exit 1; }
output=$(mktemp)
trap 'rm -f "$output"' EXIT
failures=0
for file in Tests/Refusals/*.swift; do
  if swiftc -typecheck -swift-version 6 -diagnostic-style llvm -I "$modules" \
    -Xcc -fmodule-map-file=Sources/CLMDB/module.modulemap \
    -Xcc -fmodule-map-file=.build/debug/CLarch.build/module.modulemap \
    "$file" >"$output" 2>&1
  then :; fi
  grep -q '// error: ' "$file" || { echo "$file: expects no error"; failures=1; }
  grep -n '// error: ' "$file" | while IFS= read -r line; do
    number=${line%%:*}
    expected=${line##*// error: }
    grep -F "$file:$number:" "$output" | grep -F ' error: ' | grep -qF -- "$expected" || {
      echo "$file:$number: expected this error: $expected"
      exit 1
    }
  done || { cat "$output"; failures=1; }
  for number in $(sed -n "s|^.*$file:\([0-9]*\):[0-9]*: error: .*|\1|p" "$output" | sort -u); do
    sed -n "${number}p" "$file" | grep -q '// error: ' || {
      echo "$file:$number: unexpected error"
      cat "$output"
      failures=1
    }
  done
done
[ "$failures" = 0 ] && echo "check-refusals: all refused as expected"
exit "$failures"
