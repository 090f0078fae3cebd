#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/kernels/guest/cpus.sh - a CPU that comes up later is sampled too, and one that goes away and comes back
#
# Run by tests/e2e/kernels.sh in a guest that was booted with maxcpus=1: the other CPU is there, but off. There is
# nobody else here whom it would disturb.
set -u
. "$top_srcdir/tests/host/lib.sh"
need_root
compile chain chain.c -fno-omit-frame-pointer -DLEAF_FRAME || exit 1
cpu1=/sys/devices/system/cpu/cpu1/online

# wait_for COMMAND..: polls; the guest's own end is the deadline of what never comes
wait_for() {
	tries=0
	until "$@" || [ $tries -ge 600 ]; do sleep 0.2; tries=$((tries + 1)); done
}
# Whether the running program was sampled on the second CPU, with its chain.
seen() { grep -q "cpu=1,pid=$pid,.*main;alpha;beta;gamma_;spin" "$dir/rows"; }
# sampled NAME: a new program on the second CPU is
sampled() {
	start taskset -c 1 "$dir/chain" 3600
	wait_for seen
	check "$1" "$(seen && echo yes || echo no)" = yes
	kill -9 "$pid"
}

check one_at_boot "$(cat /sys/devices/system/cpu/online)" = 0
"$host" "$plugins" "input/ebpf={frequency: 99Hz, window: 1s, filter: {comms: [chain]}}" 3600 >"$dir/rows" 2>"$dir/log" &
h=$!
pids="$pids $h"
wait_for grep -q 'state 1' "$dir/log"
echo 1 >$cpu1
sampled comes
echo 0 >$cpu1
echo 1 >$cpu1
# Too short for the reader to notice, which looks once a second: it finds the event dead.
sampled comes_back
kill -INT $h
wait $h
check both "$(metric sampler_cpus)" -eq 2
