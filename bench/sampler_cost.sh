#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench/sampler_cost.sh - what the sampler costs while every core is busy, beside perf record
#
#	sampler_cost.sh [BUILD_DIR [HZ [SECONDS]]]
#
# As root, after `make check_PROGRAMS` (tests/host/sample and the plugin). One spinning process per
# core, 45 frames deep and without frame pointers; the sampler, `perf record -g -a` and `perf record
# --call-graph dwarf -a` run at the same frequency at the same time, and all are measured after a
# warm-up of 10 s (symbols read, first short windows over). CPU time is the scheduler's (schedstat),
# of the threads that belong to each; the program's time is the kernel's own (bpf_stats_enabled), and
# what it took per frame is over the whole run. Prints one JSON line per figure.
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
${CC:-cc} -O2 -fomit-frame-pointer -pthread -o "$dir/chain" "$src/tests/programs/chain.c" || exit 1

cores=$(getconf _NPROCESSORS_ONLN)
total=$((seconds + 20))
cpu=0
while [ $cpu -lt "$cores" ]; do
	taskset -c $cpu "$dir/chain" $((total + 10)) 37 &
	pids="$pids $!"
	cpu=$((cpu + 1))
done
stats=$(cat /proc/sys/kernel/bpf_stats_enabled)
echo 1 >/proc/sys/kernel/bpf_stats_enabled

"$build/tests/host/sample" "$build/plugins/.libs" "input/ebpf={frequency: ${hz}Hz}" $total >"$dir/rows" 2>"$dir/log" &
sampler=$!
pids="$pids $sampler"
perf='' dwarf=''
if command -v perf >/dev/null; then
	perf record -o "$dir/perf.data" -e cpu-clock -g -a -F "$hz" -- sleep $total >/dev/null 2>&1 &
	perf=$!
	perf record -o "$dir/dwarf.data" -e cpu-clock --call-graph dwarf -a -F "$hz" -- sleep $total >/dev/null 2>&1 &
	dwarf=$!
	pids="$pids $perf $dwarf"
fi
sleep 10

# threads PID NAME: nanoseconds that threads whose comm begins with NAME have run
threads() {
	for t in /proc/"$1"/task/*; do
		case $(cat "$t/comm" 2>/dev/null) in "$2"*) cut -d ' ' -f 1 "$t/schedstat" ;; esac
	done 2>/dev/null | awk '{ n += $1 } END { printf "%.0f\n", n }'
}
# program FIELD: run_time_ns or run_cnt of the sampling program, the one of type perf_event (7)
program() {
	for f in /proc/"$sampler"/fdinfo/*; do
		awk -v field="$1:" '/^prog_type:/ { ours = $2 == 7 } $1 == field { n = $2 } END { if (ours) print n }' "$f"
	done 2>/dev/null | head -n 1
}
busy() { awk '/^cpu / { print $2 + $3 + $4 + $7 + $8, $2 + $3 + $4 + $5 + $6 + $7 + $8 }' /proc/stat; }

a_reader=$(threads $sampler ebpf-reader) a_flush=$(threads $sampler ebpf-flush)
a_perf=0 a_dwarf=0; [ -n "$perf" ] && a_perf=$(threads $perf perf) a_dwarf=$(threads $dwarf perf)
a_ns=$(program run_time_ns) a_n=$(program run_cnt)
a_busy=$(busy)
sleep "$seconds"
b_reader=$(threads $sampler ebpf-reader) b_flush=$(threads $sampler ebpf-flush)
b_perf=0 b_dwarf=0; [ -n "$perf" ] && b_perf=$(threads $perf perf) b_dwarf=$(threads $dwarf perf)
b_tables=$(threads $sampler ebpf-tables)
b_ns=$(program run_time_ns) b_n=$(program run_cnt)
b_busy=$(busy)
rss=$(awk '/^VmRSS/ { print $2 }' /proc/$sampler/status)
# metric NAME: its last value
metric() { sed -n "s/^# decima_$1{[^}]*} //p" "$dir/rows" | tail -n 1; }
program_ns=$(program run_time_ns)
maps_bytes=$(cat /proc/$sampler/fdinfo/* 2>/dev/null | awk '/^map_type:/ { map = 1 } /^pos:/ { map = 0 } /^memlock:/ && map { n += $2 } END { printf "%.0f", n }')
kill $sampler; wait $sampler
new=$(metric sampler_wakeups_total)
maps_bytes=$((maps_bytes + $(metric unwind_tables_map_bytes)))
frames=$(($(metric sampler_user_frames_total) + $(metric sampler_kernel_frames_total)))
# Of the spinning processes' CPU time: what shows the whole chain, by the sampler and by perf.
ours=$(awk -F '\t' '$1 == "process_cpu" && $2 ~ /comm=chain,/ { t += $5; if ($4 ~ /^_start;.*;main;alpha;beta;gamma_;(down;)*spin/) n += $5 } END { printf "%.2f", t ? 100 * n / t : 0 }' "$dir/rows")
# whole FILE: percent of perf's samples of the program whose stack has main in it
whole() {
	perf script -i "$1" --comm chain -F comm,ip,sym 2>/dev/null | awk '
		/^chain/ { t++; next }
		/ main$/ { n++ }
		END { printf "%.2f", t ? 100 * n / t : 0 }'
}
fp_whole=0 dwarf_whole=0
[ -n "$perf" ] && wait "$perf" "$dwarf"
[ -n "$perf" ] && fp_whole=$(whole "$dir/perf.data") dwarf_whole=$(whole "$dir/dwarf.data")

echo "$ours $fp_whole $dwarf_whole $program_ns $frames ${maps_bytes:-0} $((b_dwarf - a_dwarf)) ${b_tables:-0}" >"$dir/more"
echo "$a_reader $b_reader $a_flush $b_flush $a_perf $b_perf $a_ns $b_ns $a_n $b_n $a_busy $b_busy $rss ${new:-0}" |
	awk -v cores="$cores" -v s="$seconds" -v hz="$hz" -v more="$(cat "$dir/more")" '
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
		split(more, m, " ")
		line("whole_stacks", m[1], "percent", "target 99.5; perf -g " m[2] ", perf --call-graph dwarf " m[3])
		line("bpf_per_frame", sprintf("%.0f", m[5] ? m[4] / m[5] : 0), "ns", "all runs of the program over the frames they found; target 450")
		line("bpf_maps", sprintf("%.1f", m[6] / 1048576), "MiB", "target 24")
		line("perf_dwarf_cpu", sprintf("%.4f", 100 * m[7] / machine), "percent of the machine", "perf record --call-graph dwarf, writes only")
		line("tables_cpu", sprintf("%.1f", m[8] / 1e6), "ms", "compiling tables, of the whole run")
		line("rss", $15, "KiB", "the host program with its symbol store")
	}'
