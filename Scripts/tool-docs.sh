#!/usr/bin/env bash
# Runs the commands that docs/tool.md shows, on the store of the demo, and puts what they print into
# it; writes the manual page, docs/larch.1, too. With --check nothing is written: what they print must
# be what is there.
#
# A block stands under a line such as
#
#     <!-- larch: query people.larch Contact 'age >= 30' -->
#
# and is made anew from it, so a new example is that line and a run of this script. The commands run
# one after the other in one folder with `people.larch` in it, in the order of the document. What
# stands behind `larch:` is for a shell; pipes and further calls of `larch` are allowed. A block that
# begins with `<!-- larch-quiet: … -->` is run and shows nothing.
#
# Machines differ in a few things, which --check takes for equal: times, durations, numbers of
# processes and transactions, sizes in bytes and parts in percent. On a machine whose pages are not
# 4096 bytes long the numbers of pages differ too, so there only the commands are run.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

mode=write
case "${1:-}" in
  '') ;;
  --check) mode=check ;;
  *) fail "usage: Scripts/tool-docs.sh [--check]" ;;
esac
document=docs/tool.md

# Programs that are built elsewhere may be named, for a machine that has no time to build twice.
programs=${LARCH_TOOL_PROGRAMS:-}
if [ -z "$programs" ]; then
  for product in larch LarchDemo; do
    if ! log=$(swift build --product "$product" ${swift_flags[@]+"${swift_flags[@]}"} 2>&1); then
      printf '%s\n' "$log" >&2
      fail "$product did not build; the compiler's words are above."
    fi
  done
  programs=$(swift build --show-bin-path ${swift_flags[@]+"${swift_flags[@]}"})
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin" "$scratch/demo"
here=$(cd "$scratch/demo" && pwd -P)
ln -s "$programs/larch" "$scratch/bin/larch"
"$programs/LarchDemo" "$scratch/demo/people.larch" >"$scratch/log" 2>&1 ||
  fail "The demo did not make its store: $(cat "$scratch/log")"

# A command as a reader would run it, with its output, what it says of errors and its exit code.
run() {
  local code=0
  (
    cd "$scratch/demo"
    PATH="$scratch/bin:$PATH" COLUMNS=96 NO_COLOR=1 TZ=UTC bash -c "$1" </dev/null 2>&1
  ) >"$scratch/output" || code=$?
  # Where the folder is says nothing.
  sed -e "s#$here/##g" -e "s#$scratch/demo/##g" "$scratch/output"
  if [ "$code" != 0 ]; then printf '[exit code %d]\n' "$code"; fi
}

made=$scratch/tool.md
: >"$made"
skipping=no
awaited=no
while IFS= read -r line || [ -n "$line" ]; do
  # The old block goes: from its fence to the next one.
  if [ "$awaited" = yes ]; then
    awaited=no
    if [ "$line" = '```console' ]; then
      skipping=yes
      continue
    fi
  fi
  if [ "$skipping" = yes ]; then
    if [ "$line" = '```' ]; then skipping=no; fi
    continue
  fi
  printf '%s\n' "$line" >>"$made"
  case "$line" in
    '<!-- larch-quiet: '*' -->')
      command=${line#'<!-- larch-quiet: '}
      run "${command%' -->'}" >/dev/null
      ;;
    '<!-- larch: '*' -->')
      command=${line#'<!-- larch: '}
      command="larch ${command%' -->'}"
      {
        printf '```console\n$ %s\n' "$command"
        run "$command"
        printf '```\n'
      } >>"$made"
      awaited=yes
      ;;
  esac
done <"$document"

# What differs from machine to machine; columns are as wide as what is in them, so spaces count once.
normal() {
  sed -E \
    -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}/<time>/g' \
    -e 's/[0-9.,]+ (B|KiB|MiB|GiB|TiB)/<size>/g' \
    -e 's/[0-9.]+ (ns|µs|ms|s)([ ,;)]|$)/<duration>\2/g' \
    -e 's/process [0-9]+/process <number>/g' \
    -e 's/transaction [0-9]+( \([0-9]+ commits\))?(  no records)?/transaction <number>/g' \
    -e 's/"([a-zA-Z]*[bB]ytes|bytesBefore|bytesAfter|process|fill)": ?[0-9.]+/"\1": <number>/g' \
    -e 's/[0-9]+ %/<part>/g' \
    -e 's/Unicode [0-9.]+/Unicode <version>/g' \
    -e 's/LMDB [0-9.]+/LMDB <version>/g' \
    -e 's/  +/  /g' "$1"
}

if [ "$mode" = write ]; then
  cmp -s "$made" "$document" || cp "$made" "$document"
  "$scratch/bin/larch" manual >docs/larch.1
  say "tool-docs: written"
  exit 0
fi
if [ "$(getconf PAGESIZE)" != 4096 ]; then
  say "tool-docs: the commands ran; their output is not compared, since pages here are not 4096 bytes"
  exit 0
fi
if ! diff <(normal "$document") <(normal "$made") >"$scratch/difference"; then
  head -60 "$scratch/difference" >&2
  fail "$document does not show what the commands print; run Scripts/tool-docs.sh"
fi
say "tool-docs: the same"
