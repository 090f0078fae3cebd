#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/ebpf_budget.sh - over its budget the sampler takes fewer samples, that weigh more, and says so
set -u
. "$top_srcdir/tests/host/lib.sh"
need_root
compile chain chain.c -fno-omit-frame-pointer -DLEAF_FRAME || skip_all "no C compiler"

# 1 % of a host cannot pay for 9,999 samples a second on busy CPUs: before all else here, so that they are busy with it.
for _ in $(seq "$(nproc)"); do start nice -n -15 "$dir/chain" 60; done
sample "{frequency: 9999Hz, window: 1s, cpu_budget: 1%, filter: {comms: [chain]}}" 26
check budget.told "$(grep -c 'more than cpu_budget (1 %)' "$dir/log")" -ge 1
check budget.frequency "$(metric sampler_frequency_hertz)" -lt 9999
check budget.quality "$(grep -c 'reduced: over a budget' "$dir/rows")" -ge 1
# Nothing of the CPU time is lost by it: fewer samples, of more weight.
values=$(awk -F '\t' '$1 == "process_cpu" { n += $5 } END { printf "%.0f\n", n }' "$dir/rows")
emitted=$(metric sampler_emitted_total)
check budget.weights "$((values / (emitted + 1)))" -gt 100010

# No decima fits into 1 MiB.
sample "{frequency: 199Hz, window: 1s, cpu_budget: 0, memory_budget: 1MiB}" 22
check budget.memory.told "$(grep -c 'more than memory_budget (1 MiB)' "$dir/log")" -ge 1
check budget.memory.frequency "$(metric sampler_frequency_hertz)" -lt 199
