#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/spool.sh - what an agent has said yes to is at the server, once, whoever is killed and whatever disk is full
#
# The agent has no storage: it says yes to a profile when that is in the spool of its output. Each profile has a stack of
# its own, so that what is missing and what came twice can be told.
#
# takes at most 900 s
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

[ -e "$plugins/input_receive.so" ] || skip_all "built without receive"
[ -e "$plugins/output_decima.so" ] || skip_all "built without the output decima"

server=
mounted=
finish() {
	kill -KILL "$server" 2>/dev/null
	daemon_stop
	[ -n "$mounted" ] && umount "$mounted"
	rm -rf "$dir"
}
trap finish EXIT
cat >"$dir/server.yaml" <<YAML
inputs: { receive: {} }
storage: { local: {} }
YAML
is_served() { grep -q 'is ready at' "$dir/server.log" || ! kill -0 "$server"; }
# server_start ADDRESS
server_start() {
	: >"$dir/server.log"
	"$decima" run --plugin-path "$plugins" --data "$dir/server.data" -c "$dir/server.yaml" \
		--set "server.listen=[\"$1\",\"unix:$dir/server.sock\"]" >"$dir/out" 2>"$dir/server.log" &
	server=$!
	wait_for 60 is_served
	if ! kill -0 "$server" 2>/dev/null; then
		not_ok spool.server_starts "$(tail -n 2 "$dir/server.log" | tr '\n' '|')"
		exit 1
	fi
	address=$(sed -n 's|.*is ready at http://\([^ ,]*\).*|\1|p' "$dir/server.log" | head -n 1)
}
server_stop() {
	kill "${1:--TERM}" "$server" 2>/dev/null
	wait "$server" 2>/dev/null
	server=
}
server_start 127.0.0.1:0

cat >"$dir/agent.yaml" <<YAML
inputs: { receive: { answer: stored } }
outputs:
  decima: { url: "http://$address", write_timeout: 2s }
YAML
agent_start() { daemon_start -c "$dir/agent.yaml" "$@" || not_ok spool.agent_starts "$(last_words "$dir/log")"; }
agent_kill() {
	kill -KILL "$daemon"
	wait "$daemon" 2>/dev/null
	daemon=
}
agent_start

series=demo
# send N [BYTES]: profile number N, whose stack is that long; 0 when the agent said yes
send() {
	{
		printf 'main;'
		[ -n "${2:-}" ] && head -c "$2" /dev/urandom | od -An -tx1 -v | tr -d ' \n'
		printf 's%s 1\n' "$1"
	} | curl -s -f -o /dev/null --max-time 20 --unix-socket "$dir/sock" --data-binary @- \
		"http://localhost/api/v1/ingest?name=$series&time=now"
}
# push FROM TO [BYTES]: those that the agent said yes to are noted
push() {
	for n in $(seq "$1" "$2"); do send "$n" "${3:-}" && echo "$n" >>"$dir/yes"; done
}
# What the server has: a line for each stack, "NUMBER TIMES".
stacks() {
	"$decima" query stacks "$series:samples:count:::delta" --from now-1h --to now+1m --url "unix:$dir/server.sock" 2>/dev/null |
		sed -n 's/.*s\([0-9]*\) \([0-9]*\)$/\1 \2/p' | sort -n
}
missing() { stacks | cut -d ' ' -f 1 | sort | comm -13 - "$dir/sorted"; }
none_is_missing() { [ -z "$(missing)" ]; }
# all NAME [NOTE]: the server has every one that was said yes to, and none twice
all() {
	sort "$dir/yes" >"$dir/sorted"
	wait_for 60 none_is_missing
	twice=$(stacks | awk '$2 != 1' | head -n 3 | tr '\n' '|')
	missing=$(missing | head -n 3 | tr '\n' '|')
	if [ -z "$missing$twice" ]; then ok "spool.$1"; else
		not_ok "spool.$1" "missing: $missing twice: $twice ${2:-} $(tail -n 1 "$dir/log")"
	fi
}
metric() { get /metrics | sed -n "s/^decima_$1{instance=\"decima\"} //p"; }
dropped() { get /metrics | sed -n "s/^decima_dropped_total{instance=\"decima\",reason=\"$1\"} //p"; }
# at_least NAME LIMIT VALUE
at_least() { if [ "${3:-0}" -ge "$2" ]; then ok "spool.$1"; else not_ok "spool.$1" "\"$3\" is less than $2"; fi; }

# ---- both are killed again and again, at any moment, while profiles come ----
: >"$dir/yes"
n=1001
seed=${SEED:-$(date +%s)}
# below LIMIT: into $below
below() {
	seed=$(((seed * 1103515245 + 12345) % 2147483648))
	below=$((seed / 65536 % $1))
}
first_seed=$seed
round=0
until_s=$(($(date +%s) + 100))
while [ "$round" -lt 15 ] && [ "$(date +%s)" -lt "$until_s" ]; do
	round=$((round + 1))
	push $n $((n + 9)) &
	pusher=$!
	below 40
	sleep "$(printf '0.%02d' "$below")"
	below 3
	[ "$below" = 1 ] || server_stop -KILL
	[ "$below" = 0 ] || agent_kill
	# One of them is away for a while now and then.
	below 2
	if [ -z "$server" ] && [ "$below" = 1 ]; then server_start "$address"; fi
	[ -n "$daemon" ] || agent_start
	wait "$pusher"
	[ -n "$server" ] || server_start "$address"
	n=$((n + 10))
done
at_least rounds_of_kills 5 "$round"
all "killed" "SEED=$first_seed, $round rounds"
at_least enough_was_said_yes_to 40 "$(wc -l <"$dir/yes")"
settled() { [ "$(metric spool_batches)" = 0 ]; }
if wait_for 30 settled; then ok spool.is_empty; else not_ok spool.is_empty "$(metric spool_batches) batches"; fi

# ---- the server is away: it is told, and how much waits ----
server_stop
push 101 120
"$decima" status --url "unix:$dir/sock" >"$dir/status" 2>&1
is_degraded() { get /api/v1/pipeline | grep -q '"state":"degraded"'; }
if wait_for 20 is_degraded; then ok spool.away_is_told; else not_ok spool.away_is_told "$(get /api/v1/pipeline | head -c 400)"; fi
get /api/v1/pipeline | sed 's/"bytes":[1-9][0-9]*,/"bytes":N,/g' >"$dir/pipeline"
expect spool.away_is_counted '"spool":{"open":true,"bytes":N,"batches":20,' "$dir/pipeline"
agent_kill
agent_start
at_least away_and_killed 20 "$(metric spool_batches)"
server_start "$address"
all away_and_back
daemon_stop

# ---- away for what an hour makes, which memory has no room for: 360 profiles, 9 MB ----
: >"$dir/yes"
server_stop
agent_start
# by_three FROM: 180 of them, by three senders
by_three() {
	pushers=
	for at in 0 60 120; do
		push $(($1 + at)) $(($1 + at + 59)) 12500 &
		pushers="$pushers $!"
	done
	for pusher in $pushers; do wait "$pusher"; done
}
series=hour
by_three 2001
agent_kill
agent_start
by_three 2181
at_least an_hour_waits 360 "$(metric spool_batches)"
at_least an_hour_is_on_the_disk 6000000 "$(metric spool_bytes)"
server_start "$address"
all an_hour
at_least an_hour_was_said_yes_to 360 "$(wc -l <"$dir/yes")"
together spool.an_hour_goes_together "$dir/server.sock" 360

# ---- so it does to a server that keeps no sessions, whose second message would follow on nothing ----
server_stop
sed -i 's|receive: {}|receive: { max_sessions: 0 }|' "$dir/server.yaml"
: >"$dir/yes"
series=unkept
push 601 660
server_start "$address"
all without_sessions
together spool.without_sessions_goes_together "$dir/server.sock" 60
sed -i 's|receive: { max_sessions: 0 }|receive: {}|' "$dir/server.yaml"
series=demo
daemon_stop

# ---- what is too much, or too old, is lost and counted ----
server_stop
agent_start --set outputs.decima.spool_max=1MiB
push 201 340 40000
at_least full_is_counted 1 "$(dropped spool_full)"
full=$(dropped spool_full)
server_start "$address"
wait_for 60 settled
have=$(stacks | awk '$1 > 200 && $1 <= 340' | wc -l)
if [ "$have" -eq $((140 - full)) ]; then ok spool.full_adds_up; else not_ok spool.full_adds_up "$have there, $full lost, of 140"; fi
stacks >"$dir/got"
expect spool.the_newest_stays "340 1" "$dir/got"
daemon_stop
server_stop
agent_start --set outputs.decima.spool_age=1s
push 401 403
expired() { [ "$(dropped spool_expired)" = 3 ]; }
sleep 2
agent_kill
agent_start --set outputs.decima.spool_age=1s
if wait_for 20 expired; then ok spool.expired_is_counted; else not_ok spool.expired_is_counted "$(dropped spool_expired) of 3"; fi
daemon_stop

# ---- a reload gives it a spool, takes it away, and gives it again: what waits goes along, or waits on the disk ----
: >"$dir/yes"
spool_is() { sed -i "s/write_timeout: 2s[^}]*/write_timeout: 2s, spool: $1 /" "$dir/agent.yaml"; }
spool_is off
agent_start
push 411 413
has_spool() { get /api/v1/pipeline | grep -q '"spool":{"open":true'; }
has_none() { ! has_spool; }
# reloaded STATE CONDITION
reloaded() {
	spool_is "$1"
	kill -HUP "$daemon"
	wait_for 20 "$2" || not_ok "spool.reload_$1" "$(tail -n 2 "$dir/log" | tr '\n' '|')"
}
reloaded on has_spool
push 414 416
reloaded off has_none
expect spool.what_stays_is_told "batches (" "$dir/log"
expect spool.what_stays_is_told_with_its_place "$dir/data/decima/spool: " "$dir/log"
push 417 419
reloaded on has_spool
push 420 422
agent_kill
server_start "$address"
agent_start
all reloaded
at_least reloaded_all 12 "$(wc -l <"$dir/yes")"
daemon_stop
server_stop

# ---- what the other side will never take is set aside, with what it said ----
sed -i 's|receive: {}|receive: { max_body: 1KiB }|' "$dir/server.yaml"
server_start "$address"
: >"$dir/yes"
agent_start
send 501 4000
push 502 505
all refused_holds_up_nobody
aside=$dir/data/decima/spool/aside
cat "$aside"/*.txt >"$dir/said" 2>/dev/null
expect spool.refused_is_set_aside "takes at most 1024" "$dir/said"
"$decima" convert --from-format batch --to-format folded "$aside"/*.batch "$dir/aside.folded" >"$dir/out" 2>&1
expect spool.refused_can_be_read "s501 1" "$dir/aside.folded"
at_least refused_is_counted 1 "$(dropped rejected)"
# Among those that wait together, too.
server_stop
push 511 530
send 531 4000
push 532 540
server_start "$address"
all refused_of_many_holds_up_nobody
refused_twice() { [ "$(dropped rejected)" = 2 ]; }
if wait_for 20 refused_twice; then ok spool.refused_of_many; else not_ok spool.refused_of_many "$(dropped rejected) of 2; $(tail -n 1 "$dir/log")"; fi
daemon_stop

# ---- a place where there can be none ----
: >"$dir/a_file"
"$decima" check -c "$dir/agent.yaml" --plugin-path "$plugins" --data "$dir/data" --set "outputs.decima.spool_path=$dir/a_file" >"$dir/out" 2>&1
expect_status spool.check_of_a_file 1 $?
expect spool.check_says_where "output decima: spool_path: $dir/a_file" "$dir/out"

# ---- its disk is full: it says no, and yes again by itself when there is room ----
mkdir "$dir/small"
if mount -t tmpfs -o size=4m decima "$dir/small" 2>"$dir/mount"; then
	mounted=$dir/small
	: >"$dir/yes"
	server_stop
	sed -i 's|receive: { max_body: 1KiB }|receive: {}|' "$dir/server.yaml"
	server_start "$address"
	agent_start --set "outputs.decima.spool_path=$dir/small/spool" --set outputs.decima.spool_max=2MiB
	push 601 603
	dd if=/dev/zero of="$dir/small/filler" bs=64k count=100 2>/dev/null
	push 604 606 100000 &
	pusher=$!
	is_full() { get /api/v1/pipeline | grep -qF 'make room'; }
	if wait_for 20 is_full; then ok spool.full_disk_is_told; else not_ok spool.full_disk_is_told "$(get /api/v1/pipeline | head -c 500)"; fi
	rm "$dir/small/filler"
	wait "$pusher"
	push 651 653
	agent_kill
	agent_start --set "outputs.decima.spool_path=$dir/small/spool" --set outputs.decima.spool_max=2MiB
	all full_disk
	expect spool.full_disk_ends 653 "$dir/yes"
	daemon_stop
	umount "$mounted"
	mounted=
else
	skip spool.full_disk "no small file system can be mounted: $(head -n 1 "$dir/mount")"
fi
server_stop

# ---- the server's disk is full: it says so, the agent keeps what comes, and nothing is lost or twice when there is room ----
if mount -t tmpfs -o size=160m decima "$dir/small" 2>"$dir/mount"; then
	mounted=$dir/small
	: >"$dir/yes"
	printf 'inputs: { receive: {} }\nstorage: { local: { path: "%s", seal_interval: 1s } }\n' "$dir/small/store" >"$dir/server.yaml"
	server_start "$address"
	agent_start
	push 701 703
	server_metric() { curl -s --unix-socket "$dir/server.sock" http://localhost/metrics | sed -n "s/^decima_$1{instance=\"$2\"} //p"; }
	# All of the room, also what became free meanwhile; a profile has it ask for some.
	n=1000
	fills() {
		dd if=/dev/zero bs=4k >>"$dir/small/filler" 2>/dev/null
		n=$((n + 1))
		push $n $n
		[ "$(server_metric storage_refusing local)" = 1 ]
	}
	if wait_for 60 fills; then ok spool.full_server_refuses; else not_ok spool.full_server_refuses "$(server_metric storage_refusing local)"; fi
	push 704 720
	if wait_for 20 is_degraded; then ok spool.full_server_is_told; else not_ok spool.full_server_is_told "$(get /api/v1/pipeline | head -c 500)"; fi
	is_told_in_time() { get /api/v1/pipeline | grep -qF 'it is on its way, and was not stored in time'; }
	if wait_for 20 is_told_in_time; then ok spool.full_server_answers_in_time; else not_ok spool.full_server_answers_in_time "$(get /api/v1/pipeline | head -c 500)"; fi
	curl -s --unix-socket "$dir/server.sock" http://localhost/api/v1/pipeline >"$dir/out"
	expect spool.full_server_says_why 'No space left on device; make room' "$dir/out"
	at_least full_server_waits 17 "$(metric spool_batches)"
	agent_kill
	agent_start
	push 721 723
	rm "$dir/small/filler"
	all full_server
	at_least full_server_was_said_yes_to 23 "$(wc -l <"$dir/yes")"
	daemon_stop
	server_stop
else
	skip spool.full_server "no small file system can be mounted: $(head -n 1 "$dir/mount")"
fi
