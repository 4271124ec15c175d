#!/usr/bin/env bash
# Builds and runs the small address book, optimised, since it shows how long things take. A path as
# argument keeps the store there. LARCH_DEMO_CONFIGURATION=debug takes the build of the tests, for CI.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"
flags=(-c "${LARCH_DEMO_CONFIGURATION:-release}" ${swift_flags[@]+"${swift_flags[@]}"})
say "Building … (the first time takes some minutes)"
if ! log=$(swift build --product LarchDemo "${flags[@]}" 2>&1); then
  printf '%s\n' "$log" >&2
  fail "The demo did not build; the compiler's words are above."
fi
exec "$(swift build --show-bin-path "${flags[@]}")/LarchDemo" "$@"
