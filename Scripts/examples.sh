#!/usr/bin/env bash
# Builds and runs the packages in Examples as their users would, against this checkout. They share a
# build directory, so that the library is compiled for the first of them only.
set -euo pipefail
# As users build it, whatever the suite is built with.
unset LARCH_OPTIMIZE LARCH_WARNINGS
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"
build=(--scratch-path "$root/.build/examples" ${swift_flags[@]+"${swift_flags[@]}"})

say "== Hello"
swift build --package-path Examples/Hello "${build[@]}"
hello=$(swift build --package-path Examples/Hello "${build[@]}" --show-bin-path)/Hello
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# Twice: the second run finds what the first has stored.
(cd "$scratch" && "$hello" && "$hello") >"$scratch/output"
printf '%s\n' '1 Water the larch' '1 Water the larch' '2 Water the larch' |
  diff - "$scratch/output" || fail "Hello printed something else (>) than it should (<)."

say "== Programs"
swift build --package-path Examples/Programs "${build[@]}"
programs=$(swift build --package-path Examples/Programs "${build[@]}" --show-bin-path)
# Each checks what it prints, and ends with an error where something is wrong.
for program in TopLevel IssueTracker ImportServer Dashboard Editor; do
  say "-- $program"
  "$programs/$program" || fail "$program found something wrong; see above."
done

say "== Memberwise"
# Any warning fails, those of the generated files included.
swift build --package-path Examples/Memberwise "${build[@]}" 2>&1 | tee "$scratch/build"
! grep -q 'warning:' "$scratch/build" || fail "Memberwise has warnings; see above."
memberwise=$(swift build --package-path Examples/Memberwise "${build[@]}" --show-bin-path)/Memberwise
"$memberwise" || fail "Memberwise found something wrong; see above."

say "== Seeds"
swift build --package-path Examples/Seeds "${build[@]}"
seeds=$(swift build --package-path Examples/Seeds "${build[@]}" --show-bin-path)/Seeds
"$seeds" || fail "Seeds found something wrong; see above."

say "== Shared"
swift build --package-path Examples/Shared "${build[@]}"
if ./Scripts/postgres.sh --find >/dev/null 2>&1; then
  shop=$(swift build --package-path Examples/Shared "${build[@]}" --show-bin-path)/TicketShop
  # The server ends with its input.
  mkfifo "$scratch/input"
  ./Scripts/postgres.sh --quick <"$scratch/input" >"$scratch/postgres" &
  database=$!
  exec 9>"$scratch/input"
  until grep -q '^ready' "$scratch/postgres" || ! kill -0 "$database" 2>/dev/null; do sleep 0.1; done
  address=$(sed -n 's/^socket //p' "$scratch/postgres")
  # Three servers at once, each with a copy of its own.
  servers=()
  for server in north south west; do
    "$shop" "$address" "$scratch/$server.larch" "$server" &
    servers+=($!)
  done
  for server in "${servers[@]}"; do wait "$server" || fail "A TicketShop failed; see above."; done
  "$shop" "$address" "$scratch/report.larch" | tee "$scratch/output"
  grep -qx '60 tickets, 60 seats, 0 free, 3 servers' "$scratch/output" ||
    fail "The servers sold something else than the 60 tickets, or not all three sold."
  exec 9>&-
  wait "$database" || true
else
  say "PostgreSQL's server is not installed, so TicketShop was built and not run."
fi

say "== SnapshotTests"
swift test --package-path Examples/SnapshotTests "${build[@]}"

say "examples: fine"
