#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/ebpf_budget.sh - over its budget the sampler takes fewer samples, that weigh more, and says so
set -u
. "$top_srcdir/tests/host/lib.sh"
need_root
compile chain chain.c -fno-omit-frame-pointer -DLEAF_FRAME || exit 1

# 1 % of a host cannot pay for 9,999 samples a second on busy CPUs: before all else here, so that they are busy with it.
for _ in $(seq "$(nproc)"); do start nice -n -15 "$dir/chain" 60; done
sample "{frequency: 9999Hz, window: 1s, cpu_budget: 1%, filter: {comms: [chain]}}" 26
check budget.told "$(grep -c 'more than cpu_budget (1 %)' "$dir/log")" -ge 1
check budget.frequency "$(metric sampler_frequency_hertz)" -lt 9999
check budget.quality "$(grep -c 'reduced: over cpu_budget' "$dir/rows")" -ge 1
# The row's label says how often it was sampled instead; and the state that it is less than it should be: 2 is degraded.
check budget.label "$(awk -F '\t' '/reduced: over cpu_budget/ && $3 ~ /^frequency=(4999|2499|1249|624|312|156)$/' "$dir/rows" | wc -l)" -ge 1
check budget.state "$(grep -c 'state 2: sampling at 4999 of 9999 Hz until there is room: over cpu_budget' "$dir/log")" -eq 1
# Nothing of the CPU time is lost by it: fewer samples, of more weight.
values=$(awk -F '\t' '$1 == "process_cpu" { n += $5 } END { printf "%.0f\n", n }' "$dir/rows")
emitted=$(metric sampler_emitted_total)
check budget.weights "$((values / (emitted + 1)))" -gt 100010

# over RELOAD: a sampler begins that is over its budget: 1 MiB is less than any process has; SIGUSR1 changes it
over() {
	rm -f "$dir/log" # what an earlier one said
	SAMPLE_RELOAD=$1 "$host" "$plugins" \
		'input/ebpf={frequency: 199Hz, window: 1s, memory_budget: 1MiB}' 300 >"$dir/rows" 2>"$dir/log" &
	h=$!
	pids="$pids $h"
}
# told TEXT: the log has it, within two minutes
told() {
	n=0
	while ! grep -qs "$1" "$dir/log" && [ $n -lt 240 ]; do
		sleep 0.5
		n=$((n + 1))
	done
	grep -c "$1" "$dir/log"
}

# Over the budget of memory it lowers the frequency; with room it comes back.
over '{frequency: 199Hz, window: 1s, memory_budget: 0}'
check memory.told "$(told 'more than memory_budget (1 MiB): 99 Hz of 199')" -ge 1
sleep 3
kill -USR1 $h
check memory.comes_back "$(told 'within the budgets again: 199 Hz of 199')" -eq 1
last_state() { [ "$(sed -n 's/.*: state \([0-9]\): .*/\1/p' "$dir/log" | tail -n 1)" = "$1" ]; }
check memory.state "$(grep -c 'state 2: sampling at 99 of 199 Hz until there is room: over memory_budget' "$dir/log")" -ge 1
if wait_for 10 last_state 1; then ok memory.state_again; else not_ok memory.state_again "$(grep ': state ' "$dir/log" | tail -n 1)"; fi
kill -INT $h
wait $h
check memory.quality "$(grep -c 'reduced: over memory_budget' "$dir/rows")" -ge 1
check memory.frequency "$(metric sampler_frequency_hertz)" -eq 199
check memory.shown "$(metric sampler_memory_bytes)" -gt 1048576
check memory.maps "$(metric sampler_map_bytes)" -gt 1048576
# The program says itself how long it took.
check measured "$(metric sampler_run_ns_total)" -gt "$(metric sampler_emitted_total)"

# A change of something else leaves the frequency low: each sample still weighs as much as two.
over '{frequency: 199Hz, window: 1s, memory_budget: 1MiB, labels: {cpu: true}}'
check change.told "$(told 'more than memory_budget (1 MiB): 99 Hz of 199')" -ge 1
start "$dir/chain" 120
sleep 3
before=$(wc -l <"$dir/rows")
chain_since() { tail -n +$((before + 1)) "$dir/rows" | awk -F '\t' '$1 == "process_cpu" && /comm=chain,/'; }
changed() { grep -q 'reload: 0' "$dir/log" && [ "$(chain_since | wc -l)" -ge 5 ]; }
kill -USR1 $h
wait_for 120 changed
kill -INT $h
wait $h
check change.sampled "$(chain_since | wc -l)" -ge 5
check change.keeps_low "$(chain_since | awk -F '\t' -v two=$((1000000000 / 199 * 2)) '$5 % two' | wc -l)" -eq 0
