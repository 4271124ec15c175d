# What the scripts that make PostgreSQL servers of their own share; to be sourced after common.sh.
# shellcheck shell=bash

# Debian keeps the programs out of PATH, so that several versions can be installed.
find_programs() {
  local candidate
  for candidate in "${LARCH_POSTGRES_BIN:-}" \
    $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V -r) \
    /usr/libexec/postgresql* /opt/homebrew/opt/postgresql*/bin /usr/local/opt/postgresql*/bin \
    /Applications/Postgres.app/Contents/Versions/latest/bin /usr/local/pgsql/bin \
    "$(dirname "$(command -v initdb 2>/dev/null || echo /nowhere/initdb)")"; do
    if [ -n "$candidate" ] && [ -x "$candidate/initdb" ] && [ -x "$candidate/postgres" ]; then
      printf '%s' "$candidate"
      return
    fi
  done
  return 1
}

programs=$(find_programs) || fail "PostgreSQL's server was not found. Install it (Debian and Ubuntu:" \
  "postgresql, Homebrew: postgresql@17), or name the directory of initdb in LARCH_POSTGRES_BIN."

# A server does not run as root.
as_owner() { "$@"; }
owner=$(id -un)
if [ "$(id -u)" = 0 ]; then
  owner=nobody
  if id postgres >/dev/null 2>&1; then owner=postgres; fi
  as_owner() {
    if command -v setpriv >/dev/null 2>&1; then
      setpriv --reuid="$owner" --regid="$(id -g "$owner")" --clear-groups "$@"
    else
      local command
      printf -v command '%q ' "$@"
      su -s /bin/sh "$owner" -c "$command"
    fi
  }
fi

# The pid of the server of a data directory, if it runs. It wrote the number itself, but after its death another
# process may have that.
server_pid() {
  local found
  found=$(head -1 "$1/postmaster.pid" 2>/dev/null) || return 0
  case "$(ps -o args= -p "${found:-0}" 2>/dev/null) " in *" $1 "* | *"=$1 "*) printf '%s' "$found" ;; esac
}

# The processes that a process has made.
children() { ps -A -o pid=,ppid= | awk -v parent="$1" '$2 == parent { print $1 }'; }

# Kills the server of a data directory and the processes that it made, all at once: a server that loses a process
# first recovers, and shows commits that no standby has.
kill_server() {
  local parent
  parent=$(server_pid "$1")
  [ -n "$parent" ] || return 0
  # Word splitting is wanted: the pids are a list.
  # shellcheck disable=SC2046
  kill -KILL "$parent" $(children "$parent") 2>/dev/null || true
}
