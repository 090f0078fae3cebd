#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/ebpf_cpus.sh - a CPU that goes and comes back is sampled again; nothing stays in the kernel after SIGKILL
#
# Taking a CPU away disturbs whatever else runs here, so that part wants DECIMA_TEST_HOTPLUG=1.
set -u
. "$top_srcdir/tests/host/lib.sh"
need_root
compile chain chain.c -fno-omit-frame-pointer -DLEAF_FRAME || skip_all "no C compiler"

# Ids of the programs that the host holds, and whether one of these is still in the kernel: other samplers of this
# machine come and go meanwhile.
programs() { cat /proc/"$pid"/fdinfo/* 2>/dev/null | sed -n 's/^prog_id:[[:space:]]*//p' | sort -u; }
still_there() { for id in $ids; do bpftool prog show id "$id" >/dev/null 2>&1 && return; done; return 1; }
if command -v bpftool >/dev/null; then
	start "$host" "$plugins" "input/ebpf={}" 60
	i=0
	while ids=$(programs) && [ -z "$ids" ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i + 1)); done
	check loaded -n "$ids"
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
	# The kernel frees programs after a grace period.
	i=0
	while still_there && [ $i -lt 100 ]; do sleep 0.1; i=$((i + 1)); done
	check sigkill_leaves_nothing "$(still_there && echo yes || echo no)" = no
else
	echo "skip sigkill_leaves_nothing: bpftool is missing"
fi

# Every CPU is sampled, and samples say which.
n=$(getconf _NPROCESSORS_ONLN)
cpu=0
while [ $cpu -lt "$n" ]; do
	start taskset -c $cpu "$dir/chain" 30
	cpu=$((cpu + 1))
done
sample "{frequency: 99Hz, filter: {comms: [chain]}}" 2
check every_cpu "$(cut -f 3 "$dir/rows" | grep -o 'cpu=[0-9]*' | sort -u | wc -l)" -eq "$n"

last=/sys/devices/system/cpu/cpu$((n - 1))/online
if [ "${DECIMA_TEST_HOTPLUG:-0}" != 1 ]; then
	echo "skip hotplug: set DECIMA_TEST_HOTPLUG=1 to take a CPU away for a while"
elif [ ! -w "$last" ] || [ "$n" -lt 2 ]; then
	echo "skip hotplug: no CPU here can be taken away"
else
	"$host" "$plugins" "input/ebpf={frequency: 99Hz, window: 1s, filter: {comms: [chain]}}" 8 >"$dir/rows" 2>"$dir/log" &
	h=$!
	sleep 1.5
	echo 0 >"$last" && sleep 2.2
	echo 1 >"$last" && sleep 1.5
	start taskset -c $((n - 1)) "$dir/chain" 30
	wait $h
	check hotplug.all_back "$(metric sampler_cpus)" -eq "$n"
	at_least hotplug.sampled 10 'main;alpha;beta;gamma_;spin'
	again=$(awk -F '\t' -v c="cpu=$((n - 1)),pid=$pid," 'index($3, c) { t += $5 } END { printf "%.0f\n", t }' "$dir/rows")
	check hotplug.again "$again" -gt 100000000
fi
