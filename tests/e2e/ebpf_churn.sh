#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/ebpf_churn.sh - processes, mappings and threads that come and go: named all the same, at a bounded cost
set -u
. "$top_srcdir/tests/host/lib.sh"
need_root
{ compile churn churn.c -fno-omit-frame-pointer && roots; } || exit 1
# What a process does between two that spin, and at its beginning and end.
other="$other|(wait|fork|exec|child|processes|mappings|threads|mmap|munmap|idle|pause).*"

# nothing_lost NAME [PART]: neither samples nor what the kernel tells of processes, or of that one in PART records
nothing_lost() {
	check "$1.samples" "$(dropped samples_ring_full)" -eq 0
	check "$1.memory" "$(dropped samples_no_memory)" -eq 0
	most=0
	[ -z "${2:-}" ] || most=$(($(metric sampler_process_records_total) / $2))
	check "$1.records" "$(metric sampler_process_records_lost_total)" -le "$most"
	check "$1.understood" "$(metric sampler_process_records_malformed_total)" -eq 0
}

# A row is of one process.
many_spun() { [ "$(grep -c 'work;spin' "$dir/rows")" -ge 50 ]; }
# Children that live 5 to 50 ms and never exec, and ones that do.
for kind in fork exec; do
	start "$dir/churn" $kind 5 50 600
	sample_while "{frequency: 199Hz, window: 1s, filter: {pids: [$pid]}}" wait_for 60 many_spun
	# Programs that exec spend some of their time with the dynamic linker.
	shows $kind "$root ?processes ?child.* work spin|$root ?processes" 90 70
	check $kind.few_readings "$(metric sampler_maps_read)" -le 10
	check $kind.lost_files "$(grep '^process_cpu' "$dir/rows" | grep -c 'churn+0x')" -eq 0
	check $kind.exe "$(grep '^process_cpu' "$dir/rows" | grep -v 'in execve' | grep -vc "exe=$dir/churn,")" -eq 0
	nothing_lost $kind
	kill -9 "$pid"
done

# A mapping made, used and unmapped hundreds of times a second: readings of /proc stay rare.
start "$dir/churn" map 16 600
warm
sample "{frequency: 199Hz, filter: {pids: [$pid]}}" 4
shows map "$root ?mappings work spin|$root ?mappings" 90 80
check map.told "$(metric sampler_process_records_total)" -gt 1000
check map.few_readings "$(metric sampler_maps_read)" -le 220
# Thousands of records a second: a sampler that gets no CPU for longer than a ring takes to fill loses some.
nothing_lost map 10
kill -9 "$pid"

start "$dir/churn" threads 10000 600
wait_for 60 grep -q made "$dir/program.out"
if grep -q 'made 10000' "$dir/program.out"; then
	sample "{frequency: 199Hz, filter: {pids: [$pid]}}" 3
	shows threads "$root ?threads work spin|${thread% *} ?idle" 98 95
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
# A library that was unmapped before anybody could ask is told as such, by a stack that is cut.
# Besides what the judge knows of the loader, its names elsewhere, what a library runs at its end, and code that has no
# name any more.
saved=$other other="$other|(dl|rand|deregister_tm).*|\\[anon\\].*"
shows dlopen "$root ?turn spin_[ab]|$root turn" 90 0
other=$saved
check dlopen.turns "$(rows | grep -c 'spin_a')" -gt 0
check dlopen.turns_b "$(rows | grep -c 'spin_b')" -gt 0
nothing_lost dlopen
kill -9 "$pid"

# All of it at once, and then none: the kernel holds no more of the sampler's than before, nor does the sampler hold more
# files, and each window was on time.
#
# followed: how many processes the program in the kernel is told to follow
followed() { bpftool map dump id "$followed_map" 2>/dev/null | grep -c '"\{0,1\}key"\{0,1\}:'; }
map_of() {
	sed -n 's/^map_id:[[:space:]]*//p' /proc/"$sampler"/fdinfo/* 2>/dev/null | sort -u | while read -r id; do
		bpftool map show id "$id" | grep -q "name $1 " && echo "$id" && break
	done
}
many_followed() { [ "$(followed)" -gt 3 ]; }
# Of thousands. One that is freed in the context of a task that a kernel runs no programs in stays: on some, that is
# the first process.
few_followed() { [ "$(followed)" -le 100 ]; }
n_files() { find /proc/"$sampler"/fd -type l | wc -l; }
# A file of each program and library may be kept, hundreds of processes' may not.
few_files() { [ "$(n_files)" -le $((files + 16)) ]; }
at_once() {
	followed_map=$(map_of filter_pids)
	files=$(n_files)
	began=$(date +%s)
	kill -CONT "$pid"
	wait_for 20 many_followed
	check storm.followed_many $? -eq 0
	wait_for 120 grep -q over "$dir/program.out"
	seconds=$(($(date +%s) - began))
	wait_for 30 few_followed
	few_followed
	check storm.followed $? -eq 0
	wait_for 60 few_files
	check storm.files "$(n_files)" -le $((files + 16))
}
if command -v bpftool >/dev/null; then
	# shellcheck disable=SC2016 # the inner shell's
	start sh -c 'kill -STOP $$; cd "$1"; ./churn fork 1 2 6 & ./churn exec 1 2 6 & ./churn map 16 6 & ./churn threads 1000 1 &
		./swap ./a.so ./b.so 6 & wait; echo over; exec sleep 600' sh "$dir"
	wait_for 60 grep -q '^State:.T' "/proc/$pid/status"
	sample_while "{frequency: 199Hz, window: 1s, filter: {pids: [$pid]}}" at_once
	check storm.processes "$(metric sampler_process_records_total)" -gt 1000
	check storm.on_time "$(sed -n 's/^# batches //p' "$dir/rows")" -ge $((seconds / 2))
	nothing_lost storm 10
	kill -9 "$pid"
else
	echo "skip storm: bpftool is missing"
fi

# The sampler is stopped while programs start by the hundred on one CPU: the kernel's records do not all fit. What is lost
# is counted, and named right again afterwards.
start "$dir/churn" exec 1 2 600
second=$pid
start "$dir/churn" exec 1 2 600
storm() {
	sleep 1
	kill -STOP "$sampler" "$second" "$pid"
	taskset -c "$(taskset -cp $$ | sed 's/.*: //;s/[-,].*//')" sh -c 'i=0; while [ $i -lt 800 ]; do /bin/true; i=$((i + 1)); done'
	kill -CONT "$sampler" "$second" "$pid"
	sleep 3
}
sample_while "{frequency: 199Hz, filter: {pids: [$second, $pid]}}" storm
check lost.counted "$(metric sampler_process_records_lost_total)" -gt 0
check lost.dropped "$(dropped process_records_ring_full)" -gt 0
# A machine with much else to do leaves less than a whole stack of many.
at_least lost 30 'work;spin'
kill -9 "$pid" "$second"
