#!/usr/bin/env bash
# Builds and runs the small address book. A path as argument keeps the store there. Built for debugging,
# which takes a minute where an optimised build takes several; LARCH_DEMO_CONFIGURATION=release
# shows how long things take in a program that is shipped.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"
configuration=${LARCH_DEMO_CONFIGURATION:-debug}
flags=(-c "$configuration" ${swift_flags[@]+"${swift_flags[@]}"})
say "Building for ${configuration/%debug/debugging} … (the first time takes some minutes)"
if ! log=$(swift build --product LarchDemo "${flags[@]}" 2>&1); then
  printf '%s\n' "$log" >&2
  fail "The demo did not build; the compiler's words are above."
fi
"$(swift build --show-bin-path "${flags[@]}")/LarchDemo" "$@"
if [ "$configuration" = debug ] && [ "${LARCH_OPTIMIZE:-0}" != 1 ]; then
  say "Without the optimiser Larch is some four times as slow as in a program that is shipped;"
  say "to see that: LARCH_DEMO_CONFIGURATION=release make demo"
fi
