#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/ebpf_accounting.sh - every run of the sampling program is accounted for, up to the batch
#
# entries = emitted + filtered + lost; emitted = records read = samples in rows; and the outcomes
# add up to what was emitted, on each CPU at the end of each window, too. A deferred sample comes out once, with an outcome of its own. Losses are
# made by a ring of one page and 10,000 Hz. Runs that never were, because the kernel ran none, are held against the time
# that CPUs were busy.
set -u
. "$top_srcdir/tests/host/lib.sh"
need_root
compile chain chain.c -fno-omit-frame-pointer -DLEAF_FRAME || exit 1

# identity NAME PERIOD_NS
identity() {
	entries=$(metric sampler_entries_total) emitted=$(metric sampler_emitted_total)
	filtered=0
	for f in idle self pid comm; do filtered=$((filtered + $(metric sampler_filtered_${f}_total))); done
	full=$(metric sampler_ring_full_total)
	lost=$((full + $(metric sampler_busy_total) + $(metric sampler_no_scratch_total)))
	outcomes=$(sed -n 's/^# decima_sampler_outcome_[a-z_]*_total{[^}]*} //p' "$dir/rows" | awk '{ n += $1 } END { print n }')
	shown=$(awk -F '\t' -v p="$2" '$1 == "process_cpu" { n += $5 } END { printf "%.6f\n", n / p }' "$dir/rows")
	deferred=$(metric sampler_outcome_deferred_total)
	unwound=$(sed -n 's/^# decima_sampler_deferred_[a-z_]*_total{[^}]*} //p' "$dir/rows" | awk '{ n += $1 } END { print n + 0 }')
	check "$1.deferred" "$unwound" -eq "$deferred"
	check "$1.none_waits" "$(metric sampler_deferred_waiting)" -eq 0
	check "$1.entries" "$entries" -eq $((emitted + filtered + lost))
	check "$1.outcomes" "$outcomes" -eq "$emitted"
	check "$1.each_cpu_in_each_window" "$(metric sampler_unaccounted)" -eq 0
	check "$1.rows" "$shown" = "$emitted.000000"
	check "$1.dropped" "$(dropped samples_ring_full)" -eq "$full"
	check "$1.lost_ns" "$(metric sampler_lost_ns_total)" -eq $((lost * $2))
}

start "$dir/chain" 60 20
busy=$pid
sample "{frequency: 997Hz}" 4
identity plain $((1000000000 / 997))
check plain.something "$(metric sampler_emitted_total)" -gt 1000
check plain.nothing_lost "$lost" -eq 0

sample "{frequency: 997Hz, filter: {pids: [$busy]}}" 3
identity pid $((1000000000 / 997))
check pid.filtered "$(metric sampler_filtered_pid_total)" -gt 0
check pid.only "$(awk -F '\t' '$1 == "process_cpu" && $2 !~ /comm=chain,/' "$dir/rows" | wc -l)" -eq 0

sample_work "{frequency: 997Hz, filter: {comms: [chain]}}" 2
identity comm $((1000000000 / 997))
check comm.only "$(awk -F '\t' '$1 == "process_cpu" && $2 !~ /comm=chain,/' "$dir/rows" | wc -l)" -eq 0
check comm.some "$(metric sampler_emitted_total)" -gt 100

# By a name of its own: another test's may run beside it.
saved=$host host=$dir/own$$
cp "$saved" "$host"
sample "{frequency: 997Hz, filter: {exclude_self: true}}" 2
host=$saved
identity self $((1000000000 / 997))
check self.none "$(grep -c "comm=own$$" "$dir/rows")" -eq 0

# Tables that find no room: the stacks say so, and nothing is lost.
sample "{frequency: 997Hz, tables_memory: 1MiB}" 3
identity no_room $((1000000000 / 997))

sample "{frequency: 10000Hz, ring_size: 4096}" 3
identity seeded_loss 100000
check seeded_loss.lost "$full" -gt 0
check seeded_loss.quality "$(awk -F '\t' '$4 == "lost: ring buffer full" { n += $5 } END { print n + 0 }' "$dir/rows")" -gt 0

# Nothing interrupts a sample today, so what the program notes of one that is under way is forged, on every CPU. The busy
# program rests meanwhile: a sample that another CPU takes during the update would lose its record to it, and end the mark.
forge_busy() {
	kill -STOP "$pid"
	forge_marks
	kill -CONT "$pid"
	work_on 2
}
forge_marks() {
	for id in $(sed -n 's/^map_id:[[:space:]]*//p' /proc/"$sampler"/fdinfo/* 2>/dev/null | sort -u); do
		size=$(bpftool map show id "$id" | sed -n '/name scratches /,/value/s/.*[[:space:]]value \([0-9]*\)B.*/\1/p')
		# shellcheck disable=SC2046 # a word for each byte
		[ -n "$size" ] && bpftool map update id "$id" key 0 0 0 0 \
			value 1 $(awk -v n="$size" 'BEGIN { while (--n) print 0 }') && return
	done
	echo "no map to forge" >>"$dir/log"
}
if has bpftool forged_busy; then
	sample_while "{frequency: 97Hz}" forge_busy
	identity forged_busy $((1000000000 / 97))
	check forged_busy.lost "$(metric sampler_busy_total)" -gt 50
	check forged_busy.counted "$(dropped samples_busy)" -eq "$(metric sampler_busy_total)"
fi
kill -9 "$busy"

# The reader is held up until tens of thousands wait: it takes them in turns with its other work, and loses none.
start "$dir/chain" 600 20
hold() {
	kill -STOP "$sampler"
	work_on 5
	kill -CONT "$sampler"
	sleep 1
}
sample_while "{frequency: 10000Hz, ring_size: 32MiB, cpu_budget: 0, filter: {pids: [$pid]}}" hold
identity held 100000
check held.nothing_lost "$lost" -eq 0
check held.in_turns "$(metric sampler_rounds_cut)" -gt 0
kill -9 "$pid"

# What the kernel does not run the program for, while bpf(2) changes a map, comes out as lost; beside a program of system
# calls alone it does not. In samples, what the program has used and has not been sampled with.
compile bpf_updates bpf_updates.c || exit 1
untaken() {
	sample_while "{frequency: 997Hz, window: 1s, cpu_budget: 0}" sh -c '"$@" >"$0"' "$dir/used" "$dir/bpf_updates" 3 $2
	missing=$(awk -F '\t' -v used="$(cat "$dir/used")" '$1 == "process_cpu" && $2 ~ /comm=bpf_updates,/ { n += $5 }
		END { printf "%.0f", (used - n / 1e9) * 997 }' "$dir/rows")
	told=$(metric sampler_not_run_total)
	check "$1.counted" "$(dropped samples_not_run)" -eq "$told"
	check "$1.quality" "$(awk -F '\t' '$4 ~ /^lost: the kernel did not run the sampler/ { n += $5 }
		END { print n + 0 }' "$dir/rows")" -eq "$told"
	identity "$1" $((1000000000 / 997))
}
untaken updates ''
check updates.missing "$missing" -gt 300
check updates.told "$told" -gt $((missing * 3 / 4 - 60))
check updates.no_more "$told" -lt $((missing * 5 / 4 + 120))
untaken control control
check control.told "$told" -lt 120
