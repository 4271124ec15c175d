#!/usr/bin/env bash
# Builds the documentation site with DocC, the public API and the guides, and fails on any warning: a
# link that leads nowhere or to several things, a parameter that is not explained. The guides are the
# articles that Scripts/articles.swift makes from docs/. The result is opened with
# `docc preview` or put on any web server; it lies in the folder that is named at the end.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

# Apple's toolchain keeps it apart from the other commands.
docc=$(command -v docc || xcrun --find docc 2>/dev/null) || fail "docc was not found; it comes with every Swift toolchain."

say "Building …"
for built in LarchTestSupport LarchPostgres; do
  build=(--target "$built" ${swift_flags[@]+"${swift_flags[@]}"})
  if ! log=$(swift build "${build[@]}" 2>&1); then
    printf '%s\n' "$log" >&2
    fail "The library did not build; the compiler's words are above."
  fi
done
products=$(swift build "${build[@]}" --show-bin-path)
target=$(swift -print-target-info | sed -nE 's/^ *"triple": "(.*)",$/\1/p' | head -1)
sdk=()
if command -v xcrun >/dev/null 2>&1; then sdk=(-sdk "$(xcrun --show-sdk-path)"); fi

output=$root/.build/documentation
rm -rf "$output"
mkdir -p "$output"
read -r -a lmdb_flags <<<"$("${PKG_CONFIG:-pkg-config}" --cflags-only-I lmdb 2>/dev/null || true)"

document() {
  local module=$1
  shift
  mkdir -p "$output/$module.graph"
  swift symbolgraph-extract -module-name "$module" -target "$target" ${sdk[@]+"${sdk[@]}"} \
    -I "$products/Modules" -I Sources/CLMDB -Xcc "-fmodule-map-file=$products/CLarch.build/module.modulemap" \
    ${lmdb_flags[@]+-Xcc "${lmdb_flags[@]}"} \
    -minimum-access-level public -emit-extension-block-symbols -output-dir "$output/$module.graph"
  # What others link to is kept beside the archive, so that the second finds the names of the first.
  "$docc" convert "Sources/$module/$module.docc" \
    --additional-symbol-graph-dir "$output/$module.graph" \
    --fallback-display-name "$module" --fallback-bundle-identifier "larch.$module" \
    --enable-experimental-external-link-support --warnings-as-errors \
    --output-path "$output/$module.doccarchive" "$@" ||
    fail "The documentation of $module has warnings; they are above."
}

document Larch
document LarchTestSupport --dependency "$output/Larch.doccarchive"
document LarchPostgres --dependency "$output/Larch.doccarchive"
say "docc: clean, in .build/documentation"
