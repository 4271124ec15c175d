#!/usr/bin/env bash
# Counts the instructions of the main paths under callgrind and holds them against the committed
# counts; fails when one is more than 2 % worse. `--record` writes them instead. Takes the arguments
# of larch-instructions --compare, or `--build-only`.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
if [ "$(uname -s)" != Linux ]; then
  say "Not counted: callgrind is for Linux."
  exit 0
fi
"$root/Scripts/setup.sh" --valgrind
cd "$root"
swift build -c release --package-path Benchmarks --product larch-instructions ${swift_flags[@]+"${swift_flags[@]}"}
if [ "${1:-}" = --build-only ]; then exit 0; fi
built=$(swift build -c release --package-path Benchmarks --show-bin-path)/larch-instructions

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Debian's valgrind cannot read the debug information of newer compilers.
strip -g -o "$work/larch-instructions" "$built"
# The same hashes, addresses and bound functions in every run. With a large cache for each thread,
# what other threads free stays with them: else the allocator's own work varies with their timing. Nor does it keep
# small blocks apart, which it joins when a large one is freed: a count of 2,000 saves was 6 % higher for that.
export SWIFT_DETERMINISTIC_HASHING=1 LD_BIND_NOW=1
export GLIBC_TUNABLES=glibc.malloc.tcache_count=65535:glibc.malloc.mxfast=0
if ! valgrind --tool=callgrind --callgrind-out-file="$work/profile" --collect-atstart=no \
  --dump-after='*dumpedRegion*' --toggle-collect='*countedRegion*' \
  "$work/larch-instructions" --count --dir "$work" >"$work/log" 2>&1; then
  cat "$work/log" >&2
  fail "The main paths did not run under valgrind; its output is above."
fi
status=0
"$built" --compare "$work/profile" \
  --environment "toolchain=$(swift --version 2>/dev/null | sed -n 's/.*\(Swift version [0-9.]*\).*/\1/p' | head -1)" \
  --environment "architecture=$(uname -m)" \
  --environment "libc=$(getconf GNU_LIBC_VERSION 2>/dev/null || echo unknown)" \
  --environment "lmdb=$(${PKG_CONFIG:-pkg-config} --modversion lmdb 2>/dev/null || echo unknown)" \
  --environment "valgrind=$(valgrind --version)" \
  "$@" || status=$?
if [ "$status" != 0 ] && [ -n "${LARCH_PROFILES:-}" ]; then
  mkdir -p "$LARCH_PROFILES"
  cp "$work"/profile.* "$LARCH_PROFILES"
  say "The profiles, in the order of the table, are in $LARCH_PROFILES."
fi
exit "$status"
