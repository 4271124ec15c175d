#!/usr/bin/env bash
# The whole suite under the address sanitizer and then the thread sanitizer, each in a build
# directory of its own. `Scripts/sanitize.sh address` or `thread` runs one of them only.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"
# Tests that start a program to see it die by a signal want to see the signal, not the sanitizer's
# exit code. Leaks are not looked for: the address sanitizer does not see the pointers in Swift's
# enums, which carry tag bits, and takes what they own for lost.
signals=handle_segv=0:handle_sigbus=0:handle_abort=0:abort_on_error=1
export ASAN_OPTIONS="detect_leaks=0:$signals" TSAN_OPTIONS="$signals"
for sanitizer in ${1:-address thread}; do
  say "== $sanitizer sanitizer"
  # For tests that measure memory: a sanitizer keeps what was freed for a while.
  export LARCH_SANITIZER=$sanitizer
  swift test --disable-xctest --sanitize "$sanitizer" --scratch-path ".build/$sanitizer" \
    ${swift_flags[@]+"${swift_flags[@]}"}
done
