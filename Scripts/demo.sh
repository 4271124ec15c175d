#!/usr/bin/env bash
# Builds and runs the small address book, optimised, since it shows how long things take.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"
say "Building …"
if ! log=$(swift build -c release --product LarchDemo ${swift_flags[@]+"${swift_flags[@]}"} 2>&1); then
  printf '%s\n' "$log" >&2
  fail "The demo did not build; the compiler's words are above."
fi
exec "$(swift build -c release --show-bin-path ${swift_flags[@]+"${swift_flags[@]}"})/LarchDemo" "$@"
