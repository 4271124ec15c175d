#!/usr/bin/env bash
# Wrong uses that must not compile. Each file in Tests/Refusals is compiled by itself against the
# built library, as a user's would be; a line that must be refused ends in
#   // error: words of the message
# and the compiler must say them about that very line, and nothing about any other. A file without
# such a line must compile: the control that shows that the right way is open.
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
  -module-name Refused -swift-version 6 -parse-as-library
  -I "$products/Modules" -I Sources/CLMDB -I "$scratch/CLarch"
  -module-cache-path .build/check-modules
)
for flag in ${lmdb_flags[@]+"${lmdb_flags[@]}"}; do flags+=(-Xcc "$flag"); done
if [ "$(uname)" = Darwin ]; then
  flags+=(-sdk "$(xcrun --show-sdk-path)" -target "$(uname -m)-apple-macosx15.0")
fi

checked=0
failures=0
while IFS= read -r file; do
  checked=$((checked + 1))
  # Lines such as `// swiftc: -default-isolation MainActor` add flags for one file.
  read -r -a extra <<<"$(sed -n 's|^// swiftc: *||p' "$file" | tr '\n' ' ')"
  # Down to SIL, since the checks of ownership and isolation come after the types.
  swiftc -emit-sil -o /dev/null "${flags[@]}" ${extra[@]+"${extra[@]}"} "$file" \
    >"$scratch/log" 2>&1 || true
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
done < <(find Tests/Refusals -name '*.swift' | LC_ALL=C sort)

[ "$failures" = 0 ] || fail "$failures of $checked files in Tests/Refusals did not behave as they say."
say "refusals: $checked files behave as they say"
