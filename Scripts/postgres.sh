#!/usr/bin/env bash
# A PostgreSQL server of its own, in a temporary directory, for tests and for trying things out. It never
# touches a server of the system.
#
#   Scripts/postgres.sh          starts one, prints its addresses, and ends it at the end of its input:
#                                at Ctrl-D, or when the program that started it has gone, however it went
#   Scripts/postgres.sh --quick  the same without flushes: for tests that lose no power
#   Scripts/postgres.sh --find   prints the directory of the server's programs; fails where there is none
#
# The addresses are lines of a name and a value: `socket` is trusted, `tls` is a port of 127.0.0.1 that wants
# a password (its certificate is for the host db.larch.test, signed by `root`); `root`, `directory` and
# `pid` are what the names say. Lines of its input are commands, each answered with a line "done": `kill`
# (SIGKILL, as after a failure of the machine), `start`, `pause` and `resume` (SIGSTOP, SIGCONT).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source "$(dirname "${BASH_SOURCE[0]}")/postgres-programs.sh"

settings=()
for argument in "$@"; do
  case $argument in
    --find)
      say "$programs"
      exit
      ;;
    --quick) settings+=(-c fsync=off -c full_page_writes=off) ;;
    *) fail "postgres.sh does not know $argument." ;;
  esac
done

# Short, since the path of a socket may have some hundred characters only.
directory=$(mktemp -d /tmp/larch-postgres.XXXXXX)
chmod 755 "$directory"
mkdir "$directory/s"
if [ "$(id -u)" = 0 ]; then chown -R "$owner" "$directory"; fi
cd "$directory"

server() { server_pid "$directory/data"; }
# The server and the processes that it made.
family() {
  local pid
  pid=$(server)
  [ -n "$pid" ] || return 0
  printf '%s ' "$pid"
  children "$pid"
}
signal() {
  local pids
  pids=$(family)
  # Word splitting is wanted: the pids are a list.
  # shellcheck disable=SC2086
  if [ -n "$pids" ]; then kill -"$1" $pids 2>/dev/null || true; fi
}

end() {
  signal CONT
  if [ -n "$(server)" ]; then
    as_owner "$programs/pg_ctl" -D "$directory/data" -m immediate -t 20 stop >/dev/null 2>&1 ||
      signal KILL
  fi
  rm -rf "$directory"
}
trap end EXIT
# A terminal sends its interrupt to all processes of the command; the end of the input tells of the rest.
trap 'exit 0' INT TERM HUP

as_owner "$programs/initdb" -D "$directory/data" -U larch -A trust -E UTF8 --locale=C --no-sync \
  >"$directory/log" 2>&1 || {
  cat "$directory/log" >&2
  fail "initdb failed; its output is above."
}

cat >"$directory/data/pg_hba.conf" <<'HBA'
local   all larch_secret           scram-sha-256
local   all all                    trust
hostssl all all      127.0.0.1/32  scram-sha-256
HBA

port=
if command -v openssl >/dev/null 2>&1; then
  # An authority of its own, and a certificate for a name that no resolver knows.
  openssl req -new -x509 -days 30 -nodes -subj /CN=larch-authority -newkey rsa:2048 \
    -keyout authority.key -out root.crt >>log 2>&1
  openssl req -new -nodes -subj /CN=db.larch.test -newkey rsa:2048 \
    -keyout server.key -out server.csr >>log 2>&1
  printf 'subjectAltName=DNS:db.larch.test\n' >names
  openssl x509 -req -in server.csr -days 30 -CA root.crt -CAkey authority.key -CAcreateserial \
    -extfile names -out server.crt >>log 2>&1
  chmod 600 server.key
  chmod 644 root.crt
  if [ "$(id -u)" = 0 ]; then chown "$owner" server.key server.crt root.crt; fi
  settings+=(-c ssl=on -c "ssl_cert_file=$directory/server.crt" -c "ssl_key_file=$directory/server.key")
fi

start() {
  local attempt
  for ((attempt = 0; attempt < 60; attempt++)); do
    if [ -n "${server_key:=$(ls server.key 2>/dev/null || true)}" ] && [ -z "$port" ]; then
      port=$((20000 + (RANDOM * 32768 + RANDOM) % 40000))
      fresh=1
    fi
    if as_owner "$programs/pg_ctl" -D "$directory/data" -l "$directory/server.log" -w -t 60 \
      -o "$(printf '%q ' -c "listen_addresses=${port:+127.0.0.1}" -c "port=${port:-5432}" \
        -c "unix_socket_directories=$directory/s" -c max_connections=60 \
        -c log_min_messages=warning ${settings[@]+"${settings[@]}"})" \
      start >>"$directory/log" 2>&1; then
      fresh=
      return
    fi
    # The port was taken, or the memory or the number of a server that was killed is still in use.
    if [ -n "${fresh:-}" ]; then port=; fi
    sleep 0.2
  done
  tail -20 "$directory/server.log" >&2
  fail "PostgreSQL did not start; the end of its log is above."
}
start

say "socket postgres:///postgres?host=$directory/s&port=${port:-5432}&user=larch"
if [ -n "$port" ]; then
  say "tls $port"
  say "root $directory/root.crt"
fi
say "directory $directory"
say "pid $(server)"
say "ready"

while read -r command; do
  case $command in
    kill)
      signal KILL
      # The pid file of the killed server is what the next one is warned by.
      ;;
    start) start ;;
    pause) signal STOP ;;
    resume) signal CONT ;;
    *) say "unknown"; continue ;;
  esac
  say "done"
done
