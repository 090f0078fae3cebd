#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/kernels/guest/daemon.sh - a daemon that gave its rights up still samples CPUs, programs and files that come later
#
# Run by tests/e2e/kernels.sh in a guest of two CPUs. Debian's kernels open perf events at their own level 3 for
# CAP_SYS_ADMIN only, which the broker has not: root's daemon starts all the same, and says what a later CPU takes.
# DECIMA_GUEST_REST lets it run for so many seconds before (`tools/test kernels`: an hour), in which a program in a file of its own comes and goes all the time.
set -u
. "$top_srcdir/tests/e2e/lib.sh"
cpu1=/sys/devices/system/cpu/cpu1/online
paranoid=/proc/sys/kernel/perf_event_paranoid
[ -x "$decima" ] || skip_all "decima is not installed"
compile chain chain.c -fomit-frame-pointer || exit 1
chmod 755 "$dir"
# Who has rights loads what is root's, which is not so where an ordinary user built and installed it.
mkdir "$dir/plugins" && cp "$plugins"/*.so "$dir/plugins/" && chown -R 0:0 "$dir/plugins"
plugins=$dir/plugins
DECIMA_PLUGIN_PATH=$plugins

n_cpus() { get /metrics | sed -n 's/^decima_sampler_cpus{instance="ebpf"} //p'; }
has_cpus() { [ "$(n_cpus)" = "$1" ]; }
says() { grep -q "$1" "$dir/log"; }
has_stack() { ask query stacks "$cpu{comm=\"$1\"}" 2>/dev/null | grep -q '_start;.*main;alpha;beta;gamma_;spin'; }
# sampled NAME CPU: a new program of another user's there has its whole stack, from a file that nobody has met and that
# only root may read, by tables that are put into the kernel now
sampled() {
	cp "$dir/chain" "$dir/$1"
	chmod 711 "$dir/$1"
	setpriv --reuid=65534 --regid=65534 --clear-groups taskset -c "$2" "$dir/$1" 3600 >/dev/null 2>&1 &
	program=$!
	if wait_for 60 has_stack "$1"; then ok "$1"; else not_ok "$1" "$(ask query stacks "$cpu{comm=\"$1\"}" 2>&1 | head -n 3 | tr '\n' '|')"; fi
	kill -9 $program
}

cat >"$dir/conf.yaml" <<-END
	inputs:
	  ebpf: { frequency: 99Hz, window: 1s, filter: { comms: [rests, later_program, later_cpu, cpu_again] } }
	storage:
	  memory: {}
END
echo 0 >$cpu1
echo 3 >$paranoid
daemon_start -c "$dir/conf.yaml" || {
	not_ok start "$(tail -n 1 "$dir/log")"
	exit 0
}
ok start
expect state 'ebpf: ok: sampling at 99 Hz' "$dir/log"
rests_until=$(($(date +%s) + ${DECIMA_GUEST_REST:-0})) n_rests=0
while [ "$(date +%s)" -lt $rests_until ]; do
	n_rests=$((n_rests + 1))
	cp "$dir/chain" "$dir/rests"
	timeout 1 "$dir/rests" 3600 >/dev/null 2>&1
	sleep 5
	[ $((n_rests % 60)) -ne 1 ] || echo "# after $n_rests programs: $(get /metrics | grep -E '^(process_resident_memory_bytes|decima_sampler_(entries|ring_full)_total)' | tr '\n' ' ')"
done
sampled later_program 0

echo 1 >$cpu1
settled_cpu() { has_cpus 2 || says 'a CPU that came online is not sampled'; }
wait_for 60 settled_cpu
if has_cpus 2; then
	ok "paranoid_3: this kernel has no such level"
else
	expect paranoid_3 'kernel.perf_event_paranoid is 3, by which this kernel opens perf events for CAP_SYS_ADMIN only: set it to 2' "$dir/log"
	echo 2 >$paranoid
	if wait_for 60 has_cpus 2; then ok paranoid_2; else not_ok paranoid_2 "$(n_cpus) CPUs"; fi
	# It is well again, and says so. A guest that waits for its host misses ticks of its timers: samples not taken.
	last=$(grep -v 'ebpf: lost' "$dir/log" | tail -n 1)
	case $last in
	*'ebpf: ok'*) ok state_again ;;
	*) not_ok state_again "$last" ;;
	esac
fi
echo 2 >$paranoid
sampled later_cpu 1
echo 0 >$cpu1
if wait_for 60 has_cpus 1; then ok cpu_gone; else not_ok cpu_gone "$(n_cpus) CPUs"; fi
echo 1 >$cpu1
if wait_for 60 has_cpus 2; then ok cpu_back; else not_ok cpu_back "$(n_cpus) CPUs"; fi
sampled cpu_again 1
daemon_stop
expect_status stop 0 "$daemon_status"
