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

# Words that docs/glossary.md replaces, and phrases that make a reader stop. In documents, code
# blocks, code spans and HTML comments may have them, since they show what a program prints.
refused='\b(anew|for ever|shall)\b|\black(s|ed)?[.,;:]|\bas there([.,;:]|$)|\ba look at (all|every)\b'
refused+='|\btak(e|es|en|ing) in\b|\b(is|are|was|were|be|been) told\b|\bmade-up\b|\bgo(es)? over to\b'
refused+='|\b(kept up|upkeep)\b|\bfigures\b|\bgathered\b|\bgiven out\b'
prose() {
  # The articles of the site say what docs/ says.
  find . \( -name .build -o -name .git -o -path ./Sources/Larch/Larch.docc/Guides \) -prune -o -type f -name '*.md' -print |
    sed 's|^\./||' | LC_ALL=C sort | tr '\n' '\0' | xargs -0 awk '
      FNR == 1 { fenced = 0 }
      /^[ \t]*```/ { fenced = !fenced; next }
      fenced || FILENAME == "docs/glossary.md" { next }
      { gsub(/`[^`]*`/, "``"); gsub(/<!--[^>]*-->/, ""); print FILENAME ":" FNR ": " $0 }'
}
found=$(
  prose | grep -iE "$refused" || true
  grep -rniE --include='*.swift' "//.*($refused)" Sources || true
)
if [ -n "$found" ]; then
  printf '%s\n' "$found"
  report "the words above are not plain English; docs/glossary.md has the words to use"
fi

swift -swift-version 6 Scripts/articles.swift --check ||
  report "links of documents lead nowhere, or articles are not current"

for script in Scripts/*.sh Tests/*.sh .ci/run; do
  bash -n "$script" || report "$script is not valid shell"
done

[ "$failures" = 0 ] || exit 1
say "lint: clean"
