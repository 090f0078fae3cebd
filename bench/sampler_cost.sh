#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench/sampler_cost.sh - what the sampler costs while every core is busy, beside perf record
#
#	sampler_cost.sh [BUILD_DIR [HZ [SECONDS]]]
#
# As root, after `make check_PROGRAMS` (tests/host/sample and the plugin). One spinning process per
# core, 20 frames deep; the sampler and `perf record -g -a` run at the same frequency at the same
# time, and both are measured after a warm-up of 10 s (symbols read, first short windows over). CPU
# time is the scheduler's (schedstat), of the threads that belong to each; the program's time is the
# kernel's own (bpf_stats_enabled). Prints one JSON line per figure.
set -u
build=${1:-.}
hz=${2:-19}
seconds=${3:-20}
src=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$build" && pwd)
dir=$(mktemp -d) || exit 1
pids=
cleanup() {
	for p in $pids; do kill "$p" 2>/dev/null; done
	[ -n "${stats:-}" ] && echo "$stats" >/proc/sys/kernel/bpf_stats_enabled
	rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

[ "$(id -u)" = 0 ] || { echo "sampler_cost: needs root" >&2; exit 77; }
PATH=$PATH:/usr/sbin:/sbin
${CC:-cc} -O2 -fno-omit-frame-pointer -DLEAF_FRAME -pthread -o "$dir/chain" "$src/tests/programs/chain.c" || exit 1

cores=$(getconf _NPROCESSORS_ONLN)
total=$((seconds + 20))
cpu=0
while [ $cpu -lt "$cores" ]; do
	taskset -c $cpu "$dir/chain" $((total + 10)) 14 &
	pids="$pids $!"
	cpu=$((cpu + 1))
done
stats=$(cat /proc/sys/kernel/bpf_stats_enabled)
echo 1 >/proc/sys/kernel/bpf_stats_enabled

"$build/tests/host/sample" "$build/plugins/.libs" "input/ebpf={frequency: ${hz}Hz}" $total >"$dir/rows" 2>"$dir/log" &
sampler=$!
pids="$pids $sampler"
perf=
if command -v perf >/dev/null; then
	perf record -o "$dir/perf.data" -e cpu-clock -g -a -F "$hz" -- sleep $total >/dev/null 2>&1 &
	perf=$!
	pids="$pids $perf"
fi
sleep 10

# threads PID NAME: nanoseconds that threads whose comm begins with NAME have run
threads() {
	for t in /proc/"$1"/task/*; do
		case $(cat "$t/comm" 2>/dev/null) in "$2"*) cut -d ' ' -f 1 "$t/schedstat" ;; esac
	done 2>/dev/null | awk '{ n += $1 } END { printf "%.0f\n", n }'
}
# program FIELD: run_time_ns or run_cnt of the sampling program
program() { bpftool -j prog show name sample | grep -o "\"$1\":[0-9]*" | head -n 1 | cut -d : -f 2; }
busy() { awk '/^cpu / { print $2 + $3 + $4 + $7 + $8, $2 + $3 + $4 + $5 + $6 + $7 + $8 }' /proc/stat; }

a_reader=$(threads $sampler ebpf-reader) a_flush=$(threads $sampler ebpf-flush)
a_perf=0; [ -n "$perf" ] && a_perf=$(threads $perf perf)
a_ns=$(program run_time_ns) a_n=$(program run_cnt)
a_busy=$(busy)
sleep "$seconds"
b_reader=$(threads $sampler ebpf-reader) b_flush=$(threads $sampler ebpf-flush)
b_perf=0; [ -n "$perf" ] && b_perf=$(threads $perf perf)
b_ns=$(program run_time_ns) b_n=$(program run_cnt)
b_busy=$(busy)
rss=$(awk '/^VmRSS/ { print $2 }' /proc/$sampler/status)
kill $sampler; wait $sampler
new=$(grep -o 'wakeups_total{[^}]*} [0-9]*' "$dir/rows" | cut -d ' ' -f 2)

echo "$a_reader $b_reader $a_flush $b_flush $a_perf $b_perf $a_ns $b_ns $a_n $b_n $a_busy $b_busy $rss ${new:-0}" |
	awk -v cores="$cores" -v s="$seconds" -v hz="$hz" '
	function line(name, value, unit, against) {
		printf "{\"bench\":\"sampler_cost\",\"name\":\"%s\",\"value\":%s,\"unit\":\"%s\",\"hz\":%d,\"cores\":%d,\"against\":\"%s\"}\n", \
			name, value, unit, hz, cores, against
	}
	{
		machine = cores * s * 1e9
		reader = $2 - $1; flush = $4 - $3; perf = $6 - $5; bpf = $8 - $7; n = $10 - $9
		line("user_cpu", sprintf("%.4f", 100 * (reader + flush) / machine), "percent of the machine", "target 0.2")
		line("reader_cpu", sprintf("%.4f", 100 * reader / machine), "percent of the machine", "")
		line("flush_cpu", sprintf("%.4f", 100 * flush / machine), "percent of the machine", "")
		line("user_cpu_per_sample", sprintf("%.1f", n ? (reader + flush) / n / 1000 : 0), "us", "")
		line("bpf_per_sample", sprintf("%.2f", n ? bpf / n / 1000 : 0), "us", "")
		line("bpf_cpu", sprintf("%.4f", 100 * bpf / machine), "percent of the machine", "")
		line("perf_record_cpu", sprintf("%.4f", 100 * perf / machine), "percent of the machine", "perf record -g -a, writes only")
		line("samples", n, "count", sprintf("%d expected", hz * cores * s))
		line("machine_busy", sprintf("%.1f", 100 * ($13 - $11) / ($14 - $12)), "percent", "")
		line("new_processes", $16, "count", "of the whole run")
		line("rss", $15, "KiB", "the host program with its symbol store")
	}'
