#!/usr/bin/env bash
# Opens the page of `larch report` in a real browser without a window, and uses its search.
# LARCH_BROWSER names the browser; else a Chromium that is installed is taken.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"
for name in chromium chromium-browser google-chrome; do
  LARCH_BROWSER=${LARCH_BROWSER:-$(command -v "$name" || true)}
done
[ -n "$LARCH_BROWSER" ] || fail "There is no Chromium; install one (apt-get install chromium), or set LARCH_BROWSER."
export LARCH_BROWSER
swift test --filter BrowserTests ${swift_flags[@]+"${swift_flags[@]}"}
