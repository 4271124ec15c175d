#!/usr/bin/env bash
# Runs the tests; arguments go to `swift test`, for example `Scripts/test.sh --filter KeyWriter`.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"
# Swift Testing begins all tests at once, and those that block keep the few threads of tasks: at each
# `await` a test would wait for minutes, with its stores and file watches open.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH="${SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH:-16}"
# Every store of the suite as a copy of a shared one.
case "${LARCH_LOG:-}" in
'') ;;
memory) exec ./Scripts/test-over-log.sh "$@" ;;
*) fail "LARCH_LOG can be \"memory\", not \"$LARCH_LOG\"." ;;
esac
# The suite is all Swift Testing; the empty XCTest run would only print "0 tests" over its result.
exec swift test --disable-xctest ${swift_flags[@]+"${swift_flags[@]}"} "$@"
