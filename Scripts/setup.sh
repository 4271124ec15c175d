#!/usr/bin/env bash
# Makes sure that this machine can build Larch: Swift, and LMDB with its header.
# Says nothing and needs no network when all is there. `--bench` asks for SQLite too, which the
# benchmarks compare with; `--postgres` tries to install PostgreSQL's server and PgBouncer, which some
# tests start, and goes on where it cannot; `--peers` tries to install further ones and goes on where it cannot;
# `--which-peers` only names those that are there; `--valgrind` asks for what counts instructions.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

pkg_config=${PKG_CONFIG:-pkg-config}

# Compiles and links a file against a library, which is the question that the build will ask.
# A pkg-config entry alone would not do: it can be there without the header, or the reverse.
has_library() {
  local package=$1 header=$2 library=$3 flags
  flags=$("$pkg_config" --cflags --libs "$package" 2>/dev/null) || flags="-l$library"
  # Word splitting is wanted: the flags are a list.
  # shellcheck disable=SC2086
  printf '#include <%s>\nint main(void) { return 0; }\n' "$header" |
    "$compiler" -x c - -o "$scratch/probe" $flags >/dev/null 2>&1
}

find_compiler() {
  local candidate
  for candidate in "${CC:-}" clang cc gcc; do
    if [ -n "$candidate" ] && command -v "$candidate" >/dev/null 2>&1; then
      printf '%s' "$candidate"
      return
    fi
  done
  fail "No C compiler was found. Install clang (it comes with every Swift toolchain) and try again."
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null 2>&1; then
    sudo "$@"
  else
    fail "Installing packages needs root: run '$*' as root, then try again."
  fi
}

install_package() {
  local apt=$1 brew=$2
  if command -v apt-get >/dev/null 2>&1; then
    say "Installing $apt with apt-get …"
    # The package lists of a fresh container are often empty or old; they are fetched only if so.
    if ! as_root env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -qq --no-install-recommends "$apt" >"$scratch/log" 2>&1; then
      as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq >"$scratch/log" 2>&1 || true
      as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "$apt" >"$scratch/log" 2>&1 || {
        cat "$scratch/log" >&2
        fail "apt-get could not install $apt; its output is above."
      }
    fi
  elif command -v brew >/dev/null 2>&1; then
    say "Installing $brew with Homebrew …"
    brew install "$brew"
  else
    fail "Larch needs $brew with its C header (Debian and Ubuntu: $apt, Homebrew: $brew," \
      "Fedora: $brew-devel, Alpine: $brew-dev). Install it with your package manager and try again."
  fi
}

need() {
  local package=$1 header=$2 library=$3 apt=$4 brew=$5
  has_library "$package" "$header" "$library" && return
  install_package "$apt" "$brew"
  has_library "$package" "$header" "$library" ||
    fail "$apt was installed, but a program that includes <$header> still does not link."
}

command -v swift >/dev/null 2>&1 ||
  fail "Swift was not found in PATH. Install Swift 6.2 or newer from https://swift.org/install."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
compiler=$(find_compiler)

# Without a package manager that has it, the benchmarks do without.
want() {
  local package=$1 header=$2 library=$3 apt=$4 brew=$5
  has_library "$package" "$header" "$library" && return
  (install_package "$apt" "$brew") || say "Going on without $package: it is only one more peer."
}

# A command that comes with a package of the same name.
need_command() {
  local name=$1 package=$2
  command -v "$name" >/dev/null 2>&1 && return
  install_package "$package" "$package"
  command -v "$name" >/dev/null 2>&1 || fail "$package was installed, but there is no command $name."
}

# The tests that need the server say by themselves that they were left out.
want_postgres() {
  "$root/Scripts/postgres.sh" --find >/dev/null 2>&1 && return
  if command -v apt-get >/dev/null 2>&1 || command -v brew >/dev/null 2>&1; then
    (install_package postgresql postgresql@17) && return
  fi
  say "Going on without PostgreSQL: the tests that need its server are left out."
}

want_pooler() {
  [ -x /usr/sbin/pgbouncer ] || command -v pgbouncer >/dev/null 2>&1 && return
  if command -v apt-get >/dev/null 2>&1 || command -v brew >/dev/null 2>&1; then
    (install_package pgbouncer pgbouncer) && return
  fi
  say "Going on without PgBouncer: the tests that need it are left out."
}

which_peers() {
  local found=()
  has_library rocksdb rocksdb/c.h rocksdb && found+=(rocksdb)
  has_library leveldb leveldb/c.h leveldb && found+=(leveldb)
  (IFS=, && printf '%s\n' "${found[*]-}")
}

if [ "${1:-}" = --which-peers ]; then
  which_peers
  exit
fi
need lmdb lmdb.h lmdb liblmdb-dev lmdb
for wanted in "$@"; do
  case $wanted in
    --bench) need sqlite3 sqlite3.h sqlite3 libsqlite3-dev sqlite ;;
    --postgres)
      want_postgres
      want_pooler
      ;;
    --peers)
      want rocksdb rocksdb/c.h rocksdb librocksdb-dev rocksdb
      want leveldb leveldb/c.h leveldb libleveldb-dev leveldb
      ;;
    --valgrind)
      need_command valgrind valgrind
      need_command strip binutils
      ;;
    *) fail "setup.sh does not know $wanted." ;;
  esac
done
