#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/ebpf_perf.sh - the sampler leaves alone what `perf` of the same machine hears from the kernel
#
# The kernel makes one record of a mapping for all events that want it. What our events ask for must not change it for
# those that are served after ours, as those of one process are.
set -u
. "$top_srcdir/tests/host/lib.sh"
need_root
command -v perf >/dev/null || skip_all "no perf"
compile chain chain.c -fno-omit-frame-pointer -DCLOCK=CLOCK_PROCESS_CPUTIME_ID || exit 1

# record NAME: perf follows a command, which it starts; leaves its status in the file NAME.status
record() {
	perf record -q -e cpu-clock -o "$dir/$1.data" -- "$dir/chain" 0.3 >"$dir/$1.log" 2>&1
	echo $? >"$dir/$1.status"
}
# works_alone: it does without our sampler; somebody else's may be in the way, before ours runs and after
works_alone() {
	record alone
	[ "$(cat "$dir/alone.status")" = 0 ] || skip_all "perf record fails without us: $(tail -n 1 "$dir/alone.log")"
}
works_alone

sample_while "{frequency: 99Hz}" record beside
[ "$(cat "$dir/beside.status")" = 0 ] || works_alone
check perf.sampled "$(rows | wc -l)" -gt 0
check perf.record "$(cat "$dir/beside.status")" -eq 0
perf report -i "$dir/beside.data" --stdio >"$dir/report" 2>"$dir/report.log"
check perf.report $? -eq 0
check perf.report_names "$(grep -c ' chain ' "$dir/report")" -gt 0
