#!/usr/bin/env bash
# Wrong uses that must not compile. Each file in Tests/Refusals is compiled by itself against the
# built library, as a user's would be; a line that must be refused ends in
#   // error: words of the message
# and the compiler must say them about that very line, and nothing about any other. A file without
# such a line must compile: the control that shows that the right way is open.
#
# Tests/Refusals/messages.txt has every message as a whole, one line each, so that a change of what a
# user reads is seen. `--record` writes it. Messages are the compiler's, so they are compared only
# where the compiler is the one that it names; the words in the files hold for all.
#
# Each expression has few of the compiler's steps (scopes of its solver), also one that is refused:
# 20,000 take half a second. A count says the same on a busy machine. An expression with more gets an
# error about its time, which no file expects.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../Scripts/common.sh"
cd "$root"

products=$(swift build --show-bin-path ${swift_flags[@]+"${swift_flags[@]}"})
[ -e "$products/Modules/Larch.swiftmodule" ] ||
  swift build --target Larch ${swift_flags[@]+"${swift_flags[@]}"} >/dev/null

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/CLarch"
cat >"$scratch/CLarch/module.modulemap" <<MAP
module CLarch { umbrella "$root/Sources/CLarch/include" export * }
MAP
read -r -a lmdb_flags <<<"$("${PKG_CONFIG:-pkg-config}" --cflags lmdb 2>/dev/null || true)"
flags=(
  -module-name Refused -swift-version 6
  -I "$products/Modules" -I Sources/CLMDB -I "$scratch/CLarch"
  -module-cache-path .build/check-modules
  -Xfrontend -solver-scope-threshold=20000
)
for flag in ${lmdb_flags[@]+"${lmdb_flags[@]}"}; do flags+=(-Xcc "$flag"); done
if [ "$(uname)" = Darwin ]; then
  flags+=(-sdk "$(xcrun --show-sdk-path)" -target "$(uname -m)-apple-macosx15.0")
fi

# Modules that stand for those of other platforms.
for module in Tests/Refusals/Modules/*.swift; do
  name=$(basename "$module" .swift)
  swiftc -emit-module -parse-as-library -swift-version 6 -module-name "$name" \
    -o "$scratch/$name.swiftmodule" "$module"
done
flags+=(-I "$scratch")

case ${1:-} in
  --record) recording=1 ;;
  '') recording=0 ;;
  *) fail "usage: Tests/check-refusals.sh [--record]" ;;
esac
golden=Tests/Refusals/messages.txt
swiftc --version 2>/dev/null | sed -n 's/.*\(Swift version [0-9.]*\).*/\1/p' >"$scratch/messages"

checked=0
failures=0
while IFS= read -r file; do
  checked=$((checked + 1))
  # Lines such as `// swiftc: -default-isolation MainActor` add flags for one file.
  read -r -a extra <<<"$(sed -n 's|^// swiftc: *||p' "$file" | tr '\n' ' ')"
  # All but the one that is a main.swift.
  [ "${file##*/}" = TopLevel.swift ] || extra+=(-parse-as-library)
  # Down to SIL, since the checks of ownership and isolation come after the types.
  swiftc -emit-sil -o /dev/null "${flags[@]}" ${extra[@]+"${extra[@]}"} "$file" \
    >"$scratch/log" 2>&1 || true
  sed -n 's|^/*\([^ ]*/\)*\([^/ ]*\.swift\):\([0-9]*\):[0-9]*: error: |\2:\3: |p' "$scratch/log" |
    LC_ALL=C sort -t: -k2n -k3 >>"$scratch/messages"
  if ! awk -v file="$file" '
    FNR == NR {
      at = index($0, "// error: ")
      if (at) expected[FNR] = substr($0, at + 10)
      next
    }
    match($0, /\.swift:[0-9]+:[0-9]+: error: /) {
      split(substr($0, RSTART + 7), part, ":")
      line = part[1]
      message = substr($0, RSTART + RLENGTH)
      if (!(line in expected)) {
        printf "%s:%d: not expected: %s\n", file, line, message
        bad = 1
      } else if (index(message, expected[line])) met[line] = 1
      else said[line] = message
      next
    }
    /^(<unknown>:0: )?error: / { printf "%s: %s\n", file, $0; bad = 1 }
    END {
      for (line in expected)
        if (!(line in met)) {
          printf "%s:%d: should be refused with \"%s\", but %s\n", file, line, expected[line],
            (line in said) ? "the compiler says \"" said[line] "\"" : "it compiles"
          bad = 1
        }
      exit bad
    }' "$file" "$scratch/log" >&2; then
    failures=$((failures + 1))
  fi
done < <(find Tests/Refusals -maxdepth 1 -name '*.swift' | LC_ALL=C sort)

if [ "$recording" = 1 ]; then
  cp "$scratch/messages" "$golden"
elif [ "$(head -n 1 "$golden" 2>/dev/null)" = "$(head -n 1 "$scratch/messages")" ]; then
  diff -u "$golden" "$scratch/messages" >&2 || {
    say "refusals: other messages than in $golden; if they are right: Tests/check-refusals.sh --record"
    failures=$((failures + 1))
  }
else
  say "refusals: whole messages not compared, $golden is of another compiler"
fi

[ "$failures" = 0 ] || fail "$failures of $checked files in Tests/Refusals did not behave as they say."
say "refusals: $checked files behave as they say"
