#!/usr/bin/env bash
# Runs the tests; arguments go to `swift test`, for example `Scripts/test.sh --filter KeyWriter`.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"
# The suite is all Swift Testing; the empty XCTest run would only print "0 tests" over its result.
exec swift test --disable-xctest ${swift_flags[@]+"${swift_flags[@]}"} "$@"
