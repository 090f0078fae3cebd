#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/ebpf_reload.sh - what may change while it runs does so, and the rest names its key
set -u
. "$top_srcdir/tests/host/lib.sh"
need_root
compile chain chain.c -fno-omit-frame-pointer -DLEAF_FRAME || exit 1

# reload HOW FROM TO: with FROM, then with TO, beside a busy process
reload() {
	SAMPLE_RELOAD=$3
	export SAMPLE_RELOAD
	start "$dir/chain" 600
	sample_while "$2" "$1"
	kill -9 "$pid"
}
ask() {
	kill -USR1 "$sampler"
	wait_for 60 grep -q '^sample: reload' "$dir/log"
}
# By CPU time: on a busy machine there may be no sample in 2 s of the clock.
change() {
	work_on 2
	ask
	work_on 3
}

reload change "{frequency: 19Hz, window: 1s}" "{frequency: 997Hz, window: 1s}"
check frequency.told "$(grep -c -e 'sampling at 997 Hz' -e 'of 997 samples a second' "$dir/log")" -ge 1
# Samples of both kinds, each with its own weight.
values=$(awk -F '\t' '$1 == "process_cpu" { n += $5 } END { printf "%.0f\n", n }' "$dir/rows")
emitted=$(metric sampler_emitted_total)
slow=$(awk -v v="$values" -v n="$emitted" 'BEGIN { f = int(1e9 / 997); s = int(1e9 / 19); printf "%.3f\n", (v - n * f) / (s - f) }')
check frequency.weights "${slow#*.}" = 000
check frequency.both "${slow%.*}" -gt 10
check frequency.more "$emitted" -gt 1500

reload change "{window: 1s}" "{window: 1s, labels: {cpu: false, pid: false, thread_id: false, thread_name: false, exe: false, cgroup: false, program: false, systemd: false, container: false}}"
check labels.before "$(grep -c 'comm=chain,.*	cpu=[0-9]*,pid=' "$dir/rows")" -gt 0
check labels.after "$(awk -F '\t' '$1 == "process_cpu" && $2 == "comm=chain,service_name=chain" && $3 == ""' "$dir/rows" | wc -l)" -gt 0

reload ask "{}" "{filter: {exclude_self: true}}"
check exclude_self.accepted "$(grep -c '^sample: reload: 0' "$dir/log")" -eq 1

# A key that needs a restart is named, and nothing has changed.
for change in max_depth:10 kernel_stacks:false user_stacks:false ring_size:8MiB btf_path:/x; do
	key=${change%%:*}
	reload ask "{}" "{$key: ${change#*:}}"
	check "restart.$key" "$(grep -c "^sample: reload: -16 ebpf: $key: a change of it needs a restart" "$dir/log")" -eq 1
done
reload ask "{}" "{filter: {pids: [1]}}"
check restart.filter.pids "$(grep -c '^sample: reload: -16 ebpf: filter.pids' "$dir/log")" -eq 1
reload ask "{}" "{filter: {cgroups: [/x]}}"
check restart.filter.cgroups "$(grep -c '^sample: reload: -16 ebpf: filter.cgroups' "$dir/log")" -eq 1
for change in "labels.env:labels: {env: [A]}" "labels.meta:labels: {meta: [__meta_x]}" "kubernetes:kubernetes: {source: api}"; do
	reload ask "{}" "{${change#*:}}"
	check "restart.${change%%:*}" "$(grep -c "^sample: reload: -16 ebpf: ${change%%:*}: a change of it" "$dir/log")" -eq 1
done
