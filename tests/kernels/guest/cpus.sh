#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/kernels/guest/cpus.sh - a CPU that comes up later is sampled too, and one that goes away and comes back
#
# Run by tests/e2e/kernels.sh in a guest that was booted with maxcpus=1: the other CPU is there, but off.
set -u
. "$top_srcdir/tests/host/lib.sh"
need_root
compile chain chain.c -fno-omit-frame-pointer -DLEAF_FRAME || skip_all "no C compiler"

check one_at_boot "$(cat /sys/devices/system/cpu/online)" = 0
"$host" "$plugins" "input/ebpf={frequency: 99Hz, window: 1s, filter: {comms: [chain]}}" 60 >"$dir/rows" 2>"$dir/log" &
h=$!
pids="$pids $h"
i=0
until grep -q 'state 1' "$dir/log" || [ $i -ge 200 ]; do sleep 0.2; i=$((i + 1)); done
echo 1 >/sys/devices/system/cpu/cpu1/online
start taskset -c 1 "$dir/chain" 600
i=0
until grep -q 'cpu=1,.*main;alpha;beta;gamma_;spin' "$dir/rows" || [ $i -ge 200 ]; do sleep 0.2; i=$((i + 1)); done
kill -INT $h
wait $h
check both "$(metric sampler_cpus)" -eq 2
check both.chain "$(grep -c 'cpu=1,.*main;alpha;beta;gamma_;spin' "$dir/rows")" -gt 0
kill -9 "$pid"

DECIMA_TEST_HOTPLUG=1 sh "$top_srcdir/tests/e2e/ebpf_cpus.sh"
