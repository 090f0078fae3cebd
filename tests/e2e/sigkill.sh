#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/sigkill.sh - SIGKILL at any moment leaves nothing in the kernel, and the next start works
#
# Each time the daemon is stopped first, so that what it and its processes hold at that moment can be
# listed: BPF programs, maps and links by their ids, which no other sampler of this machine shares. An
# event's program goes with the event, so when the program has gone no event of ours is left.
set -u
. "$top_srcdir/tests/e2e/lib.sh"
need_sampler
PATH=$PATH:/usr/sbin:/sbin
command -v bpftool >/dev/null || skip_all "bpftool is missing"

config() { # FREQUENCY
	cat >"$dir/conf.yaml" <<EOF
inputs:
  ebpf: { frequency: $1, window: 1s }
  perf_map: {}
storage:
  memory: {}
EOF
}

# The daemon, its broker, its forker and its workers, whoever their parent is by now.
ours() { pgrep -f -- "--data $dir/data"; }
no_process() { ! ours; }
# What processes hold of the kernel's: lines as "prog 12".
held() {
	for p in $(ours); do
		cat /proc/"$p"/fdinfo/* 2>/dev/null
	done | sed -n 's/^\(prog\|map\|link\)_id:[[:space:]]*/\1 /p' | sort -u
}
nothing_left() {
	while read -r kind id; do
		bpftool "$kind" show id "$id" >/dev/null 2>&1 && return 1
	done <"$dir/held"
	return 0
}
no_pin() { [ -z "$(find /sys/fs/bpf -name '*decima*' 2>/dev/null)" ]; }

# Starts it without waiting for anything.
launch() {
	: >"$dir/log"
	"$decima" run --plugin-path "$plugins" --data "$dir/data" --listen "unix:$dir/sock" -c "$dir/conf.yaml" \
		>"$dir/out" 2>"$dir/log" &
	daemon=$!
}

# killed MOMENT: the daemon dies now, and nothing remains
killed() {
	kill -STOP "$daemon" 2>/dev/null
	held >"$dir/held"
	kill -9 "$daemon" 2>/dev/null
	wait "$daemon" 2>/dev/null
	daemon=
	if ! wait_for 60 no_process; then
		not_ok "sigkill.$1" "still there: $(ps -o pid=,comm= -p "$(ours | tr '\n' ',' | sed 's/,$//')" | tr '\n' '|')"
	elif ! wait_for 60 nothing_left; then
		not_ok "sigkill.$1" "of $(tr '\n' ',' <"$dir/held") something is still there"
	elif ! no_pin; then
		not_ok "sigkill.$1" "something is pinned in /sys/fs/bpf"
	else
		ok "sigkill.$1"
	fi
}
# The most that one of the moments found, so that a test that looks at nothing does not pass.
most=0
count() {
	n=$(wc -l <"$dir/held")
	[ "$n" -le "$most" ] || most=$n
}

config 199Hz
for delay in 0 0.02 0.05 0.1 0.15 0.2 0.3 0.5; do
	launch
	sleep $delay
	killed "start_$delay"
	count
done

# As soon as it holds a program, and thus while it loads or attaches.
loaded() { held | grep -q prog || ! kill -0 "$daemon"; }
launch
wait_for 60 loaded
killed loading
count

sampled() { get /metrics | grep -q '^decima_sampler_emitted_total{[^}]*} [1-9]'; }
daemon_start -c "$dir/conf.yaml" || not_ok sigkill.start "$(tail -n 1 "$dir/log")"
wait_for 60 sampled || not_ok sigkill.sampled "nothing was sampled"
killed sampling
count

for delay in 0 0.01 0.05; do
	config 199Hz
	daemon_start -c "$dir/conf.yaml" || not_ok sigkill.start "$(tail -n 1 "$dir/log")"
	config 97Hz
	kill -HUP "$daemon"
	sleep $delay
	killed "reload_$delay"
	count
done

for delay in 0 0.01 0.05 0.1; do
	daemon_start -c "$dir/conf.yaml" || not_ok sigkill.start "$(tail -n 1 "$dir/log")"
	kill -TERM "$daemon"
	sleep $delay
	killed "stop_$delay"
done

if [ "$most" -ge 5 ]; then ok sigkill.looked_at; else not_ok sigkill.looked_at "never more than $most programs, maps and links"; fi

# After all that it starts, samples, answers and ends well.
daemon_start -c "$dir/conf.yaml" || not_ok sigkill.start_again "$(tail -n 1 "$dir/log")"
if wait_for 60 sampled; then ok sigkill.samples_again; else not_ok sigkill.samples_again "nothing was sampled"; fi
expect sigkill.state 'ebpf: ok' "$dir/log"
held >"$dir/held"
daemon_stop
expect_status sigkill.clean_end 0 "$daemon_status"
if wait_for 60 nothing_left; then ok sigkill.nothing_left; else not_ok sigkill.nothing_left "$(tr '\n' ',' <"$dir/held")"; fi
