#!/usr/bin/env bash
# Three PostgreSQL servers of their own on one machine, of which one takes writes and two are its standbys, in
# a temporary directory and on Unix sockets only: for tests of failover. It never touches a server of the system.
#
#   Scripts/postgres-cluster.sh                 a commit waits for one of the standbys (quorum)
#   Scripts/postgres-cluster.sh --asynchronous  a commit waits for nobody, so a failover may lose some
#
# It prints lines of a name and a value, `url` (all servers; the one that takes writes is used), `directory`,
# and `ready`. It ends everything at the end of its input: at Ctrl-D, or when the program that started
# it has gone. Lines of its input are commands, each answered with a line "done" or "failed":
#
#   kill     SIGKILL for the leader and its processes, as after a failure of the machine
#   promote  the standby with the newest position becomes the leader, and the other one follows it
#   rejoin   the killed server becomes a standby: a new copy of the leader
#   hold     the standbys get nothing from now on, as behind a slow line, until one of them is promoted
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source "$(dirname "${BASH_SOURCE[0]}")/postgres-programs.sh"

names='ANY 1 ("1", "2", "3")'
for argument in "$@"; do
  case $argument in
    --asynchronous) names= ;;
    *) fail "postgres-cluster.sh does not know $argument." ;;
  esac
done

# Short, since the path of a socket may have some hundred characters only.
directory=$(mktemp -d /tmp/larch-cluster.XXXXXX)
chmod 755 "$directory"
mkdir "$directory/s"
if [ "$(id -u)" = 0 ]; then chown -R "$owner" "$directory"; fi
cd "$directory"

# Only names of sockets, since no server listens on the network.
port() { printf '543%s' "$1"; }
ask() { as_owner "$programs/psql" -X -A -t -q -h "$directory/s" -p "$(port "$1")" -U larch -d postgres -c "$2"; }

end() {
  local server
  for server in 1 2 3; do kill_server "$directory/$server"; done
  rm -rf "$directory"
}
trap end EXIT
# A terminal sends its interrupt to all processes of the command; the end of the input tells of the rest.
trap 'exit 0' INT TERM HUP

start() {
  as_owner "$programs/pg_ctl" -D "$directory/$1" -l "$directory/$1.log" -w -t 120 \
    -o "$(printf '%q ' -c listen_addresses= -c "port=$(port "$1")" \
      -c "unix_socket_directories=$directory/s" -c max_connections=60 -c shared_buffers=16MB \
      -c fsync=off -c full_page_writes=off -c log_min_messages=fatal -c wal_keep_size=256MB \
      -c wal_receiver_timeout=5s -c wal_retrieve_retry_interval=100ms \
      -c "synchronous_standby_names=$names")" \
    start >>"$directory/log" 2>&1
}

# How a standby reaches its leader.
source_of() { printf 'host=%s port=%s user=larch application_name=%s' "$directory/s" "$(port "$2")" "$1"; }

# Makes a server a standby of the leader, from a new copy.
make_standby() {
  rm -rf "${directory:?}/$1"
  # The killed server left its lock. Where nobody asks for the outcome of a dead process, as in some containers, its
  # number stays in use, and the next server takes it for one that runs.
  rm -f "$directory/s/.s.PGSQL.$(port "$1")" "$directory/s/.s.PGSQL.$(port "$1").lock"
  as_owner "$programs/pg_basebackup" -D "$directory/$1" -R -X stream -c fast --no-sync \
    -d "$(source_of "$1" "$leader")" >>"$directory/log" 2>&1 && start "$1"
}

# Waits, for two minutes at most, until so many standbys get what the leader writes.
wait_for_standbys() {
  local attempt
  for ((attempt = 0; attempt < 1200; attempt++)); do
    if [ "$(ask "$leader" "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'")" \
      -ge "$1" ]; then return; fi
    sleep 0.1
  done
  return 1
}

# The server that was killed last, until it is there again.
killed=
# The servers that run, but one.
others() {
  local server
  for server in 1 2 3; do [ "$server" = "$1" ] || [ "$server" = "$killed" ] || say "$server"; done
}

# The source of a standby; an empty one keeps it from getting anything.
follow() { ask "$1" "ALTER SYSTEM SET primary_conninfo = '$2'" && ask "$1" "SELECT pg_reload_conf()" >/dev/null; }

# Waits until a standby gets nothing more, and has applied what it got.
wait_for_silence() {
  local attempt
  for ((attempt = 0; attempt < 1200; attempt++)); do
    if [ "$(ask "$1" "SELECT count(*) FROM pg_stat_wal_receiver")" = 0 ]; then return; fi
    sleep 0.1
  done
  return 1
}

promote() {
  local server newest='' position best=-1
  for server in $(others "$leader"); do
    # Without a receiver nothing more can come that would make another one the newest.
    follow "$server" '' && wait_for_silence "$server" || return 1
    position=$(ask "$server" "SELECT pg_wal_lsn_diff(
      greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()), '0/0')::bigint")
    if [ "$position" -gt "$best" ]; then newest=$server best=$position; fi
  done
  [ -n "$newest" ] || return 1
  as_owner "$programs/pg_ctl" -D "$directory/$newest" -w -t 120 promote >>"$directory/log" 2>&1 || return 1
  for server in $(others "$newest"); do
    follow "$server" "$(source_of "$server" "$newest")" || return 1
  done
  leader=$newest
}

hold() {
  local server
  for server in $(others "$leader"); do follow "$server" '' && wait_for_silence "$server" || return 1; done
}

leader=1
as_owner "$programs/initdb" -D "$directory/1" -U larch -A trust -E UTF8 --locale=C --no-sync \
  >"$directory/log" 2>&1 && start 1 && make_standby 2 && make_standby 3 && wait_for_standbys 2 || {
  tail -n 20 "$directory/log" "$directory"/?.log >&2
  fail "The servers could not be made; their output is above."
}

sockets="$directory/s"
say "url postgres:///postgres?host=$sockets,$sockets,$sockets&port=$(port 1),$(port 2),$(port 3)&user=larch&target_session_attrs=read-write"
say "directory $directory"
say "ready"

while read -r command; do
  if case $command in
    kill) kill_server "$directory/$leader" && killed=$leader ;;
    promote) promote ;;
    rejoin) make_standby "$killed" && wait_for_standbys 2 && killed= ;;
    hold) hold ;;
    *) false ;;
  esac; then
    say "done"
  else
    tail -n 5 "$directory/log" "$directory"/?.log >&2
    say "failed"
  fi
done
