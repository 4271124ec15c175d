#!/usr/bin/env bash
# Three PostgreSQL servers under Patroni with one etcd, in a temporary directory and on ports of 127.0.0.1: for a
# soak by hand. It needs the Debian packages postgresql, patroni, python3-etcd and etcd-server.
#
# It prints and takes what postgres-cluster.sh does, except `hold`; Patroni itself chooses the leader, some 20
# seconds after a kill:
#
#   kill     SIGKILL for the leader, its processes and its Patroni, as after a failure of the machine
#   promote  waits until Patroni has made another leader
#   rejoin   starts the killed Patroni, and waits until there is a synchronous standby, and one more
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source "$(dirname "${BASH_SOURCE[0]}")/postgres-programs.sh"
command -v patroni >/dev/null && command -v etcd >/dev/null || fail "Patroni or etcd is not installed."

directory=$(mktemp -d /tmp/larch-patroni.XXXXXX)
chmod 755 "$directory"
mkdir "$directory/etcd"
if [ "$(id -u)" = 0 ]; then chown -R "$owner" "$directory"; fi
cd "$directory"
base=$((20000 + RANDOM % 20000))

declare -A patronis=()
etcd_pid=
# A process and all that it made, except servers, which are in groups of their own.
kill_tree() {
  local child
  for child in $(children "$1"); do kill_tree "$child"; done
  kill -KILL "$1" 2>/dev/null || true
}
# Patroni first, since it would start the server again.
kill_machine() {
  kill_tree "${patronis[$1]}"
  kill_server "$directory/$1"
}
end() {
  local server
  for server in "${!patronis[@]}"; do kill_machine "$server"; done
  if [ -n "$etcd_pid" ]; then kill_tree "$etcd_pid"; fi
  rm -rf "$directory"
}
trap end EXIT
trap 'exit 0' INT TERM HUP

as_owner etcd --data-dir "$directory/etcd" --listen-client-urls "http://127.0.0.1:$base" \
  --advertise-client-urls "http://127.0.0.1:$base" --listen-peer-urls "http://127.0.0.1:$((base + 1))" \
  --initial-advertise-peer-urls "http://127.0.0.1:$((base + 1))" \
  --initial-cluster "default=http://127.0.0.1:$((base + 1))" >etcd.log 2>&1 </dev/null &
etcd_pid=$!

for server in 1 2 3; do
  cat >"$server.yml" <<YML
scope: larch
name: server$server
restapi: {listen: "127.0.0.1:$((base + 20 + server))", connect_address: "127.0.0.1:$((base + 20 + server))"}
etcd3: {hosts: "127.0.0.1:$base"}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 2
    retry_timeout: 5
    synchronous_mode: true
    synchronous_mode_strict: true
    postgresql: {use_pg_rewind: false, parameters: {max_connections: 60, shared_buffers: 16MB, wal_keep_size: 256MB}}
  initdb: [{encoding: UTF8}, {locale: C}, {auth: trust}]
postgresql:
  listen: "127.0.0.1:$((base + 10 + server))"
  connect_address: "127.0.0.1:$((base + 10 + server))"
  data_dir: "$directory/$server"
  pgpass: "$directory/$server.pgpass"
  bin_dir: "$programs"
  pg_hba: ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
  remove_data_directory_on_diverged_timelines: true
  remove_data_directory_on_rewind_failure: true
  authentication: {superuser: {username: larch}, replication: {username: larch}}
  parameters: {unix_socket_directories: "$directory"}
YML
done

start_patroni() {
  as_owner patroni "$directory/$1.yml" >>"$1.log" 2>&1 </dev/null &
  patronis[$1]=$!
}

ask() { "$programs/psql" -X -A -t -q -h 127.0.0.1 -p "$((base + 10 + $1))" -U larch -d postgres -c "$2" 2>/dev/null; }

# Waits, for three minutes at most, until a server other than one takes writes, and names it in `leader`.
wait_for_leader() {
  local attempt server
  for ((attempt = 0; attempt < 900; attempt++)); do
    for server in 1 2 3; do
      [ "$server" != "$1" ] || continue
      if [ "$(ask "$server" 'SELECT pg_is_in_recovery()')" = f ]; then
        leader=$server
        return
      fi
    done
    sleep 0.2
  done
  return 1
}

wait_for_standbys() {
  local attempt
  for ((attempt = 0; attempt < 900; attempt++)); do
    if [ "$(ask "$leader" "SELECT count(*) = 2 AND bool_or(sync_state IN ('sync', 'quorum'))
      FROM pg_stat_replication WHERE state = 'streaming'")" = t ]; then return; fi
    sleep 0.2
  done
  return 1
}

leader=
for server in 1 2 3; do start_patroni "$server"; done
wait_for_leader none && wait_for_standbys || {
  tail -n 20 "$directory"/*.log >&2
  fail "Patroni made no cluster; the ends of the logs are above."
}

ports="$((base + 11)),$((base + 12)),$((base + 13))"
say "url postgres:///postgres?host=127.0.0.1,127.0.0.1,127.0.0.1&port=$ports&user=larch&sslmode=disable&target_session_attrs=read-write"
say "directory $directory"
say "ready"

killed=
while read -r command; do
  if case $command in
    kill) killed=$leader && kill_machine "$killed" ;;
    promote) wait_for_leader "$killed" ;;
    rejoin) rm -f "$directory/$killed/postmaster.pid" && start_patroni "$killed" && wait_for_standbys ;;
    *) false ;;
  esac; then
    say "done"
  else
    tail -n 5 "$directory"/*.log >&2
    say "failed"
  fi
done
