# Shared by the other scripts: where the repository is, and how a failure is told.
# Source it, do not run it.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Extra flags for every `swift build` and `swift test`, for example
# LARCH_SWIFT_FLAGS="-Xswiftc -DTHOROUGH". One list for all steps, since a changed flag
# makes SwiftPM build everything again.
read -r -a swift_flags <<<"${LARCH_SWIFT_FLAGS:-}"

say() { printf '%s\n' "$*"; }
fail() {
  printf 'larch: %s\n' "$*" >&2
  exit 1
}

# Every Swift file of the repository, wherever its package keeps its build products.
swift_files() {
  (cd "$root" && find . \( -name .build -o -name .git -o -name .swiftpm \) -prune \
    -o -type f -name '*.swift' -print | sed 's|^\./||' | LC_ALL=C sort)
}
