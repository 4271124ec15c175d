#!/usr/bin/env bash
# Runs the suites that open stores over shared logs in memory: LARCH_LOG=memory make test. Each store is a
# copy of a shared one, with a second copy that must have equal pairs at its end. See docs/testing.md.
#
# Arguments are names of test targets; without any, all of the list below are run.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"
targets=("$@")
# None of those about several processes, failures of disks and logs of other kinds, and not LarchLiveTests: there many
# tests wait until writes are not recorded any more, and those of a shared store always are.
all="LarchStoreTests LarchReaderTests LarchValidationTests LarchHookTests LarchRelationTests"
all="$all LarchActiveRecordTests LarchTrackedTests LarchEvolutionTests"
all="$all LarchMigrationTests LarchWriterTests LarchImportTests LarchOracleTests LarchTransferTests"
all="$all LarchTypelessTests LarchExecutionTests LarchPlanningTests LarchStressTests"
read -r -a all_targets <<<"$all"
[ ${#targets[@]} -gt 0 ] || targets=("${all_targets[@]}")
# The same list each time, so that nothing is built again; in a folder of its own, which leaves the ordinary
# build alone.
LARCH_TESTS=$(IFS=,; printf '%s' "${all_targets[*]}")
export LARCH_TESTS
flags=(--scratch-path .build/shared-everything -Xswiftc -DLARCH_SHARE_EVERYTHING)
flags+=(${swift_flags[@]+"${swift_flags[@]}"})
swift build --build-tests "${flags[@]}"
list=Tests/over-log-left-out.txt
skips=()
while read -r pattern _; do
  case "$pattern" in '' | '#'*) continue ;; esac
  skips+=(--skip "$pattern")
done <"$list"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
swift test list --skip-build "${flags[@]}" >"$scratch/tests" 2>/dev/null
ran=0 stores=0 pairs=0 all_tests=0 failed=()
for target in "${targets[@]}"; do
  say "== $target"
  code=0
  swift test --skip-build --disable-xctest "${flags[@]}" --filter "^$target\\." "${skips[@]}" \
    >"$scratch/out" 2>&1 || code=$?
  grep -aE '^✘|^error|Fatal|the copies differ' "$scratch/out" | cut -c1-400 || true
  grep -aE 'Test run with|stores equal to' "$scratch/out" || true
  [ "$code" = 0 ] || failed+=("$target")
  count=$(sed -nE 's/.*Test run with ([0-9]+) tests?.*/\1/p' "$scratch/out" | tail -1)
  ran=$((ran + ${count:-0}))
  equal=$(sed -nE 's/^larch: ([0-9]+) stores equal to.*/\1/p' "$scratch/out" | awk '{n += $1} END {print n + 0}')
  stores=$((stores + equal))
  more=$(sed -nE 's/^larch: .* ([0-9]+) pairs; .*/\1/p' "$scratch/out" | awk '{n += $1} END {print n + 0}')
  pairs=$((pairs + more))
  all_tests=$((all_tests + $(grep -c "^$target\\." "$scratch/tests" || true)))
done
say "$ran tests ran over shared logs, $((all_tests - ran)) were left out ($list says why)."
say "$stores stores were compared with their second copies, $pairs pairs in all."
[ "$stores" -gt 0 ] || fail "No store was shared."
[ ${#failed[@]} = 0 ] || fail "failed: ${failed[*]}"
