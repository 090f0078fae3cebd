#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/broker.sh - the daemon has no capability, and what comes after it gave them up still has names
set -u
. "$top_srcdir/tests/e2e/lib.sh"
need_sampler
PATH=$PATH:/usr/sbin:/sbin
none=0000000000000000

cat >"$dir/conf.yaml" <<EOF
inputs:
  ebpf: { frequency: 199Hz, window: 1s }
  perf_map: {}
storage:
  memory: {}
# Nobody is there, and who asks has no rights either.
symbols: { debuginfod: ["http://127.0.0.1:9"] }
EOF

# caps PID NAME: of its main thread
caps() { sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status"; }
# child_of PID NAME
child_of() { pgrep -P "$1" -x "$2"; }
gone() { ! kill -0 "$1" 2>/dev/null || grep -q '^State:.Z' "/proc/$1/status"; }
# Programs that the daemon holds; and whether one of these is still in the kernel.
programs() { cat /proc/"$daemon"/fdinfo/* 2>/dev/null | sed -n 's/^prog_id:[[:space:]]*//p' | sort -u; }
none_left() { for id in $ids; do bpftool prog show id "$id" >/dev/null 2>&1 && return 1; done; return 0; }

daemon_start -c "$dir/conf.yaml" || not_ok broker.start "$(tail -n 1 "$dir/log")"
broker=$(child_of "$daemon" decima-broker)
case $broker in
'') not_ok broker.runs "no decima-broker below $daemon" ;;
*) ok broker.runs ;;
esac

# No thread of the main process has any capability of any kind; the broker has no others than it names.
left=$(cat /proc/"$daemon"/task/*/status | grep -E '^Cap(Inh|Prm|Eff|Amb):' | grep -cv "$none")
if [ "$left" = 0 ]; then ok broker.no_capability; else not_ok broker.no_capability "$left sets are not empty"; fi
if [ "$(caps "$broker" NoNewPrivs)$(caps "$daemon" NoNewPrivs)" = 11 ]; then ok broker.no_new_privs; else not_ok broker.no_new_privs "not set"; fi
if [ "$(caps "$broker" Seccomp)" = 2 ]; then ok broker.seccomp; else not_ok broker.seccomp "$(caps "$broker" Seccomp)"; fi
# CAP_SYS_ADMIN is bit 21, CAP_DAC_OVERRIDE bit 1, CAP_SETUID bit 7
if [ $((0x$(caps "$broker" CapPrm) & (1 << 21 | 1 << 1 | 1 << 7))) = 0 ]; then ok broker.few; else not_ok broker.few "$(caps "$broker" CapPrm)"; fi

# What begins now is another user's, one after the other, from files that only root may read; one loads an object late.
if ! has_cc; then
	skip broker.names_after "no C compiler"
elif compile chain chain.c -fno-omit-frame-pointer -DLEAF_FRAME; then
	chmod 755 "$dir"
	chmod 711 "$dir/chain"
	timeout 4 setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/chain" 60 >/dev/null
	n=0
	while [ $n -lt 100 ]; do
		/bin/true
		n=$((n + 1))
	done
	chain_seen() { ask query stacks "$cpu{comm=\"chain\"}" >"$dir/stacks" && grep -q 'main;alpha;beta;gamma_;spin' "$dir/stacks"; }
	wait_for 30 chain_seen
	expect broker.names_after 'main;alpha;beta;gamma_;spin' "$dir/stacks"
	ask query stacks "$cpu" >"$dir/stacks"
	if grep -q 'not readable by Decima' "$dir/stacks"; then
		not_ok broker.readable "$(grep -m 1 'not readable by Decima' "$dir/stacks" | cut -c 1-200)"
	else
		ok broker.readable
	fi
fi

# Two libraries of another user's in turns at one address, from files that were not there when the rights went.
turns=turns$$
library="-fno-omit-frame-pointer -shared -fPIC -DTIMES=3000000"
if ! has_cc; then
	skip broker.turns "no C compiler"
elif compile a.so swap.c $library -DLIBRARY=spin_a && compile b.so swap.c $library -DLIBRARY=spin_b &&
	compile "$turns" swap.c -fno-omit-frame-pointer -ldl; then
	setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/$turns" "$dir/a.so" "$dir/b.so" 600 &
	swap=$!
	turns_seen() {
		ask query stacks "$cpu{comm=\"$turns\"}" >"$dir/stacks" && grep -q 'turn;spin_a' "$dir/stacks" &&
			grep -q 'turn;spin_b' "$dir/stacks" && ! grep -q '[ab][.]so+0x' "$dir/stacks"
	}
	if wait_for 60 turns_seen; then ok broker.turns; else not_ok broker.turns "$(head -n 5 "$dir/stacks" | tr '\n' '|')"; fi
	kill $swap
	get /metrics >"$dir/metrics"
	lost=$(sed -n 's/^decima_dropped_total{instance="ebpf",reason="samples_[a-z_]*"} //p' "$dir/metrics" | awk '{ n += $1 } END { print n + 0 }')
	if [ "$lost" = 0 ]; then ok broker.turns_lost_none; else not_ok broker.turns_lost_none "$(grep dropped_total "$dir/metrics" | tr '\n' '|')"; fi
fi

# Whoever opens files hangs: it is said with the remedy, nothing is guessed, and all is there once it answers.
has_state() { ask targets >"$dir/targets" 2>&1 && grep -q "$1" "$dir/targets"; }
hang=hang$$
if ! has_cc; then
	skip broker.hangs "no C compiler"
elif compile "$hang" chain.c -fomit-frame-pointer; then
	kill -STOP "$broker"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/$hang" 600 >/dev/null &
	hanging=$!
	if wait_for 30 has_state 'decima-broker, which opens files for the sampler, does not answer'; then
		ok broker.hangs
	else
		not_ok broker.hangs "$(tr '\n' '|' <"$dir/targets")"
	fi
	expect broker.hangs.logged 'does not answer' "$dir/log"
	expect broker.hangs.remedy 'kill -CONT it' "$dir/log"
	get /metrics >"$dir/metrics"
	if grep -q '^decima_sampler_silence_seconds{[^}]*} [1-9]' "$dir/metrics"; then
		ok broker.hangs.metric
	else
		not_ok broker.hangs.metric "$(grep silence "$dir/metrics" | tr '\n' '|')"
	fi
	hang_seen() { ask query stacks "$cpu{comm=\"$hang\"}" >"$dir/stacks" && grep -q "$hang" "$dir/stacks"; }
	wait_for 30 hang_seen
	if grep -q "$hang+0x.*;$hang+0x" "$dir/stacks" || ! grep -q "truncated.*$hang+0x" "$dir/stacks"; then
		not_ok broker.hangs.no_guess "$(grep -m 1 "$hang+0x" "$dir/stacks" | cut -c 1-200)"
	else
		ok broker.hangs.no_guess
	fi
	ask query stacks 'decima_quality:samples:count:::delta' >"$dir/stacks"
	expect broker.hangs.reason 'unnamed: file not opened in time' "$dir/stacks"
	kill -CONT "$broker"
	if wait_for 30 has_state 'sampling at 199 Hz'; then ok broker.answers; else not_ok broker.answers "$(tr '\n' '|' <"$dir/targets")"; fi
	answered_seen() {
		ask query stacks "$cpu{comm=\"$hang\",exe=\"$dir/$hang\"}" >"$dir/stacks" && grep -q 'main;alpha;beta;gamma_' "$dir/stacks"
	}
	wait_for 30 answered_seen
	expect broker.answers.names 'main;alpha;beta;gamma_' "$dir/stacks"
	kill $hanging
fi

# A change that would open programs again is refused, and the daemon goes on as it was.
sed -i 's/window: 1s/window: 1s, max_depth: 100/' "$dir/conf.yaml"
kill -HUP "$daemon"
wait_for 30 grep -q 'not reloaded' "$dir/log"
expect broker.reload_refused 'the rights for that were given up at the start; restart decima' "$dir/log"
sed -i 's/, max_depth: 100/, labels: { cpu: false }/' "$dir/conf.yaml"
kill -HUP "$daemon"
wait_for 30 grep -qE 'config: reloaded' "$dir/log"
expect broker.reload 'config: reloaded' "$dir/log"

# Whichever of them is killed: nothing stays.
kill -9 "$broker"
wait "$daemon"
expect_status broker.broker_killed 1 $?
expect broker.broker_killed_says 'the broker, which has the rights to sample, has died' "$dir/log"
daemon=
rm -f "$dir/log" # which says that the first one was ready
daemon_start -c "$dir/conf.yaml" || not_ok broker.start_again "$(tail -n 1 "$dir/log")"
broker=$(child_of "$daemon" decima-broker)
# inlined_seen NAME: lines.cc under that name, which nobody has met, is seen and its inlined functions are known
inlined_seen() { ask query stacks "$cpu{comm=\"$1\"}" >"$dir/stacks" && grep -q 'lines_outer[^;]*;middle;innermost' "$dir/stacks"; }
plain_seen() { ask query stacks "$cpu{comm=\"$1\"}" >"$dir/stacks" && grep -q 'main;lines_outer' "$dir/stacks"; }
build_lines() {
	g++ -O2 -g -Wl,--build-id -falign-functions="$2" -o "$dir/$1" "$top_srcdir/tests/programs/lines.cc" 2>"$dir/cxx.log" &&
		return
	not_ok "broker.$1" "$(head -n 1 "$dir/cxx.log")"
	return 1
}
# The one that forks is the older one; the other is its spare.
forkers=$(child_of "$daemon" decima-forker)
kill -9 "$(echo "$forkers" | head -n 1)"
wait_for 30 grep -q 'spare does it from now on' "$dir/log"
expect broker.forker_killed_says 'a decima-forker, whose workers read debug information, has died' "$dir/log"
if ! command -v g++ >/dev/null; then
	skip broker.spare "g++ is missing"
elif build_lines "one$$" 64; then
	"$dir/one$$" 600 &
	one=$!
	if wait_for 60 inlined_seen "one$$"; then ok broker.spare; else not_ok broker.spare "$(head -n 3 "$dir/stacks" | tr '\n' '|')"; fi
	kill $one
fi
get /api/v1/status >"$dir/status"
expect broker.spare.state '"workers_state":""' "$dir/status"
kill -9 "$(echo "$forkers" | tail -n 1)"
wait_for 30 grep -q 'decima-forker and its spare have died' "$dir/log"
expect broker.forkers_killed_says 'lines, inlined functions and debug files are read no more, all else goes on; restart' "$dir/log"
get /api/v1/status >"$dir/status"
expect broker.forkers_killed.state '"workers_state":"decima-forker and its spare have died' "$dir/status"
get /metrics >"$dir/metrics"
expect broker.forkers_killed.metric 'decima_workers_forkers 0' "$dir/metrics"
expect broker.forkers_killed.counted 'decima_workers_forkers_died_total 2' "$dir/metrics"
if ! command -v g++ >/dev/null; then
	skip broker.forkers_killed.goes_on "g++ is missing"
elif build_lines "two$$" 128; then
	"$dir/two$$" 600 &
	two=$!
	if wait_for 60 plain_seen "two$$"; then
		ok broker.forkers_killed.goes_on
	else
		not_ok broker.forkers_killed.goes_on "$(head -n 3 "$dir/stacks" | tr '\n' '|')"
	fi
	kill $two
fi
for p in $forkers; do
	if wait_for 10 gone "$p"; then ok broker.forkers_killed.gone; else not_ok broker.forkers_killed.gone "$p is still there"; fi
done
daemon_stop
daemon_start -c "$dir/conf.yaml" || not_ok broker.start_after_forker "$(tail -n 1 "$dir/log")"
broker=$(child_of "$daemon" decima-broker)
forker=$(child_of "$daemon" decima-forker)
ids=$(programs)
kill -9 "$daemon"
wait "$daemon" 2>/dev/null
daemon=
for p in $broker $forker; do
	if wait_for 10 gone "$p"; then ok "broker.main_killed.$(cat "/proc/$p/comm" 2>/dev/null || echo gone)"; else not_ok broker.main_killed "$p is still there"; fi
done
if ! command -v bpftool >/dev/null; then
	skip broker.no_program_left "bpftool is missing"
elif [ -z "$ids" ]; then
	not_ok broker.no_program_left "the daemon held none"
elif wait_for 20 none_left; then
	ok broker.no_program_left
else
	not_ok broker.no_program_left "of" $ids
fi

# Root that becomes somebody: the data are theirs, root's files are out of reach.
rm -f "$dir/log"
daemon_start -c "$dir/conf.yaml" --set user=nobody || not_ok broker.user "$(tail -n 1 "$dir/log")"
if [ -n "$daemon" ]; then
	uids=$(ps -o uid= -p "$daemon,$(child_of "$daemon" decima-broker)" | tr -d ' \n')
	if [ "$uids" = "$(id -u nobody)$(id -u nobody)" ]; then ok broker.user; else not_ok broker.user "uids $uids"; fi
	expect broker.user.samples 'ebpf: ok' "$dir/log"
fi
daemon_stop

# Somebody who is not root, with just the capabilities that the service has: the same, and nobody has more.
if command -v setpriv >/dev/null; then
	rm -rf "$dir/log" "$dir/data"
	mkdir "$dir/data"
	chown nobody "$dir" "$dir/data"
	fine=+bpf,+perfmon,+sys_ptrace,+dac_read_search,+syslog,+checkpoint_restore
	cat >"$dir/as_nobody" <<-EOF
		#!/bin/sh
		exec setpriv --reuid=nobody --regid=65534 --clear-groups --inh-caps=-all,$fine --ambient-caps=$fine \\
			--bounding-set=-all,$fine "$decima" "\$@"
	EOF
	chmod 755 "$dir/as_nobody"
	decima_of_all=$decima decima=$dir/as_nobody
	daemon_start -c "$dir/conf.yaml" || not_ok broker.ordinary_user "$(tail -n 1 "$dir/log")"
	decima=$decima_of_all
	if grep -q 'kernel.perf_event_paranoid is .*: set it to 2' "$dir/log"; then
		skip broker.ordinary_user "kernel.perf_event_paranoid is for root alone here; tests/kernels tries it"
	elif [ -n "$daemon" ]; then
		expect broker.ordinary_user 'ebpf: ok' "$dir/log"
		left=$(cat /proc/"$daemon"/task/*/status | grep -E '^Cap(Inh|Prm|Eff|Amb):' | grep -cv "$none")
		if [ "$left" = 0 ]; then ok broker.ordinary_user.no_capability; else not_ok broker.ordinary_user.no_capability "$left sets are not empty"; fi
		has_samples() { ask query stacks "$cpu" 2>/dev/null | grep -q ';'; }
		if wait_for 60 has_samples; then ok broker.ordinary_user.samples; else not_ok broker.ordinary_user.samples "none"; fi
	fi
	daemon_stop
else
	skip broker.ordinary_user "setpriv is missing"
fi
