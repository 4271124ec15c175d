#!/usr/bin/env bash
# The whole suite under the address sanitizer and then the thread sanitizer, each in a build
# directory of its own. `Scripts/sanitize.sh address` or `thread` runs one of them only.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"
for sanitizer in ${1:-address thread}; do
  say "== $sanitizer sanitizer"
  swift test --disable-xctest --sanitize "$sanitizer" --scratch-path ".build/$sanitizer" \
    ${swift_flags[@]+"${swift_flags[@]}"}
done
