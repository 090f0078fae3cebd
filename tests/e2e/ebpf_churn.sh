#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/ebpf_churn.sh - processes, mappings and threads that come and go: named all the same, at a bounded cost
set -u
. "$top_srcdir/tests/host/lib.sh"
need_root
compile churn churn.c -fno-omit-frame-pointer || skip_all "no C compiler"

# nothing_lost NAME [PART]: neither samples nor what the kernel tells of processes, or of that one in PART records
nothing_lost() {
	check "$1.samples" "$(dropped samples_ring_full)" -eq 0
	check "$1.memory" "$(dropped samples_no_memory)" -eq 0
	most=0
	[ -z "${2:-}" ] || most=$(($(metric sampler_process_records_total) / $2))
	check "$1.records" "$(metric sampler_process_records_lost_total)" -le "$most"
	check "$1.understood" "$(metric sampler_process_records_malformed_total)" -eq 0
}

# Children that live 5 to 50 ms and never exec, and ones that do.
for kind in fork exec; do
	start "$dir/churn" $kind 5 50 60
	warm 1
	sample "{frequency: 199Hz, filter: {pids: [$pid]}}" 4
	# Programs that exec spend some of their time with the dynamic linker.
	at_least $kind 80 'work;spin'
	check $kind.few_readings "$(metric sampler_maps_read)" -le 10
	check $kind.lost_files "$(grep '^process_cpu' "$dir/rows" | grep -c 'churn+0x')" -eq 0
	check $kind.exe "$(grep '^process_cpu' "$dir/rows" | grep -v 'in execve' | grep -vc "exe=$dir/churn,")" -eq 0
	nothing_lost $kind
	kill -9 "$pid"
done

# A mapping made, used and unmapped hundreds of times a second: readings of /proc stay rare.
start "$dir/churn" map 16 60
warm
sample "{frequency: 199Hz, filter: {pids: [$pid]}}" 4
at_least map 85 'work;spin'
check map.told "$(metric sampler_process_records_total)" -gt 1000
check map.few_readings "$(metric sampler_maps_read)" -le 220
# Thousands of records a second: a sampler that gets no CPU for longer than a ring takes to fill loses some.
nothing_lost map 10
kill -9 "$pid"

start "$dir/churn" threads 10000 60
wait_for 60 grep -q made "$dir/program.out"
if grep -q 'made 10000' "$dir/program.out"; then
	sample "{frequency: 199Hz, filter: {pids: [$pid]}}" 3
	at_least threads 95 'work;spin'
	check threads.one_process "$(metric sampler_processes)" -le 3
	nothing_lost threads
else
	echo "skip threads: this machine lets a process have no 10,000 (kernel.threads-max, pids.max): $(cat "$dir/program.out")"
fi
kill -9 "$pid"

# Two libraries in turns without a pause between: each sample has the one that ran.
for l in a b; do
	compile $l.so swap.c -fno-omit-frame-pointer -shared -fPIC -DTIMES=300000 -DLIBRARY=spin_$l
done
compile swap swap.c -fno-omit-frame-pointer -ldl
start "$dir/swap" "$dir/a.so" "$dir/b.so" 60
warm
sample "{frequency: 199Hz, filter: {pids: [$pid]}}" 4
at_least dlopen 90 'spin_[ab]|dl_|dlopen|dlclose|ld-linux|libc'
check dlopen.turns "$(rows | grep -c 'spin_a')" -gt 0
check dlopen.turns_b "$(rows | grep -c 'spin_b')" -gt 0
nothing_lost dlopen
kill -9 "$pid"

# The sampler is stopped while programs start by the hundred on one CPU: the kernel's records do not all fit. What is lost
# is counted, and named right again afterwards.
start "$dir/churn" exec 1 2 60
other=$pid
start "$dir/churn" exec 1 2 60
storm() {
	sleep 1
	kill -STOP "$sampler" "$other" "$pid"
	taskset -c "$(taskset -cp $$ | sed 's/.*: //;s/[-,].*//')" sh -c 'i=0; while [ $i -lt 800 ]; do /bin/true; i=$((i + 1)); done'
	kill -CONT "$sampler" "$other" "$pid"
	sleep 3
}
sample_while "{frequency: 199Hz, filter: {pids: [$other, $pid]}}" storm
check lost.counted "$(metric sampler_process_records_lost_total)" -gt 0
check lost.dropped "$(dropped process_records_ring_full)" -gt 0
at_least lost 30 'work;spin'
kill -9 "$pid" "$other"
