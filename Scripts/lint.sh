#!/usr/bin/env bash
# The formatter's lint over every Swift file, and the few rules of the house that it cannot know.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

failures=0
report() {
  printf 'larch lint: %s\n' "$*" >&2
  failures=$((failures + 1))
}

swift_files | tr '\n' '\0' | xargs -0 swift format lint --strict || report "swift format has findings"

# Words that mean that something is not done yet do not belong in a released file.
if grep -rnE '\b(TODO|FIXME|XXX)\b' Sources Benchmarks/Sources 2>/dev/null; then
  report "unfinished work is marked above"
fi

for script in Scripts/*.sh Tests/*.sh .ci/run; do
  bash -n "$script" || report "$script is not valid shell"
done

[ "$failures" = 0 ] || exit 1
say "lint: clean"
