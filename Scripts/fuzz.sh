#!/usr/bin/env bash
# Fuzzes each target of Tests/Fuzzing for the seconds given (60), under the address sanitizer, and
# first shows that the fuzzer bites: with a planted bug switched on it must find that bug, which takes
# some 15 seconds, and by chance four times that. Finds are written to Tests/Fuzzing/.build/finds; a
# target's name as second argument fuzzes that one only. `--build-only` fuzzes nothing.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root/Tests/Fuzzing"

seconds=${1:-60}
targets=${2:-$(cd Sources && ls -d Fuzz*/main.swift 2>/dev/null | xargs -n1 dirname)}
[ -n "$targets" ] || fail "There is no fuzz target in Tests/Fuzzing/Sources."

# A crash is what is looked for here; Swift's own picture of each would only hide libFuzzer's.
export SWIFT_BACKTRACE=enable=no
mkdir -p .build/finds

# Leaks are not looked for: the address sanitizer does not see the pointers in Swift's enums, which
# carry tag bits, and takes what they own for lost.
export ASAN_OPTIONS=detect_leaks=0
options=(-timeout=10 -rss_limit_mb=2048 -detect_leaks=0)

say "Building the fuzz targets …"
log=$(swift build -c release 2>&1) || {
  printf '%s\n' "$log" >&2
  fail "The fuzz targets did not build; the compiler's words are above."
}
if [ "$seconds" = --build-only ]; then exit 0; fi

failures=0
for target in $targets; do
  mkdir -p "Corpus/$target" ".build/corpus/$target"
  scratch=$(mktemp -d)
  mkdir "$scratch/corpus"
  code=0
  LARCH_PLANTED_BUG=1 .build/release/"$target" "${options[@]}" -seed=1 -max_total_time=300 \
    -artifact_prefix="$scratch/" "$scratch/corpus" "Corpus/$target" >"$scratch/log" 2>&1 || code=$?
  # 77 is libFuzzer's own exit code for a find; anything else did not find, or did not run.
  if [ "$code" = 77 ]; then
    say "$target: the planted bug was found"
  else
    tail -5 "$scratch/log" >&2
    say "$target: FAILED, the planted bug was not found in 300 seconds"
    failures=$((failures + 1))
  fi
  rm -rf "$scratch"

  log=".build/finds/$target.log"
  if .build/release/"$target" "${options[@]}" -max_total_time="$seconds" -print_final_stats=1 \
    -artifact_prefix=".build/finds/$target-" \
    ".build/corpus/$target" "Corpus/$target" >"$log" 2>&1; then
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    coverage=$(sed -nE 's/.* cov: ([0-9]+) .*/\1/p' "$log" | tail -1)
    say "$target: $runs runs in $seconds seconds, $coverage edges, clean"
  else
    tail -40 "$log" >&2
    say "$target: FAILED, the input is in Tests/Fuzzing/.build/finds; keep it in Tests/Fuzzing/Corpus/$target with the repair"
    failures=$((failures + 1))
  fi
done
[ "$failures" = 0 ]
