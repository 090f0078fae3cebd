#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench/short_lived.sh - how much of the CPU time of processes that live 5 to 150 ms is told by name
#
#	short_lived.sh [BUILD_DIR [HZ [SECONDS]]]
#
# As root, after `make check_PROGRAMS`. A storm of children, one after the other on each core, with and
# without exec. `user_stack`: CPU time whose stack has user frames and whose series has the program's
# path; `no_user_code`: in execve() and at the end, where there is none; `chain`: in the functions that
# the source says, the rest being the dynamic linker and libc. Prints one JSON line per figure.
set -u
build=$(cd "${1:-.}" && pwd)
hz=${2:-99}
seconds=${3:-10}
src=$(cd "$(dirname "$0")/.." && pwd)
dir=$(mktemp -d) || exit 1
pids=
cleanup() {
	for p in $pids; do kill "$p" 2>/dev/null; done
	rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

[ "$(id -u)" = 0 ] || { echo "short_lived: needs root" >&2; exit 77; }
${CC:-cc} -O2 -fno-omit-frame-pointer -pthread -o "$dir/churn" "$src/tests/programs/churn.c" || exit 1

for kind in fork exec; do
	for range in "5 150" "8 8"; do
		pids=
		for _ in $(seq "$(getconf _NPROCESSORS_ONLN)"); do
			# shellcheck disable=SC2086
			"$dir/churn" $kind $range $((seconds + 3)) >"$dir/n" &
			pids="$pids $!"
		done
		"$build/tests/host/sample" "$build/plugins/.libs" "input/ebpf={frequency: ${hz}Hz}" "$seconds" \
			>"$dir/rows" 2>"$dir/log"
		for p in $pids; do wait "$p"; done
		awk -F '\t' -v kind="$kind" -v range="$range" -v hz="$hz" -v exe="exe=$dir/churn," '
			$1 == "process_cpu" && $2 ~ /comm=(churn|exe),/ {
				all += $5
				root = $4
				sub(/^\[[^]]*\];?/, "", root)
				if (root ~ /^(entry_|asm_|ret_from_fork|$)/) none += $5
				else if (index($2, exe)) stack += $5
				if ($4 ~ /work;spin/) chain += $5
			}
			/^# decima_sampler_maps_read/ { reads = $NF }
			/^# decima_sampler_process_records_lost_total/ { lost = $NF }
			function line(name, value, unit, against) {
				printf "{\"bench\":\"short_lived\",\"name\":\"%s\",\"value\":%s,\"unit\":\"%s\",\"kind\":\"%s\",\"ms\":\"%s\",\"hz\":%d,\"against\":\"%s\"}\n", \
					name, value, unit, kind, range, hz, against
			}
			END {
				line("user_stack", sprintf("%.2f", all ? 100 * stack / all : 0), "percent of their CPU time", "target 90")
				line("no_user_code", sprintf("%.2f", all ? 100 * none / all : 0), "percent of their CPU time", "")
				line("chain", sprintf("%.2f", all ? 100 * chain / all : 0), "percent of their CPU time", "")
				line("maps_read", reads + 0, "count", "")
				line("records_lost", lost + 0, "count", "")
			}' "$dir/rows"
	done
done
