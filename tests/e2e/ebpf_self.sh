#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/ebpf_self.sh - exclude_self leaves out each process that the daemon consists of, and no other
set -u
. "$top_srcdir/tests/e2e/lib.sh"
need_sampler
has_cc || skip_all "no C compiler"
compile chain chain.c -g -fno-omit-frame-pointer -DLEAF_FRAME || exit 1

# family: the daemon's processes, a line of PID NAME each
family() {
	echo "$daemon main"
	for child in $(pgrep -P "$daemon"); do
		echo "$child $(cat "/proc/$child/comm")"
		for worker in $(pgrep -P "$child"); do echo "$worker $(cat "/proc/$worker/comm")"; done
	done
}
# seen: which of these there are samples of, and the program where it is; by pid, as another daemon may run beside this one
seen() {
	family >"$dir/family"
	ask query stacks "$cpu" --group-by pid | sed -n 's/^pid=\([0-9]*\);.*/\1/p' | sort -u >"$dir/pids"
	awk 'NR == FNR { there[$1]; next } $1 in there { print $2 }' "$dir/pids" "$dir/family" | sort -u >"$dir/seen"
}
has() { seen && grep -qx "$1" "$dir/seen"; }
chain_seen() { ask query stacks "$cpu{comm=\"chain\"}" | grep -q 'main;alpha;beta;gamma_;spin'; }
# sampled EXCLUDE: a daemon that has had something to do: opening files, and DWARF for the workers
sampled() {
	cat >"$dir/conf.yaml" <<EOF
inputs:
  ebpf: { frequency: 4999Hz, window: 1s, cpu_budget: 0, labels: { pid: true }, filter: { exclude_self: $1 } }
storage:
  memory: {}
EOF
	daemon_start -c "$dir/conf.yaml" || not_ok "self.start_$1" "$(tail -n 1 "$dir/log")"
	timeout 4 "$dir/chain" 60
	if wait_for 30 chain_seen; then ok "self.others_$1"; else not_ok "self.others_$1" "no sample of chain"; fi
}

sampled false
for name in main decima-broker decima-worker; do
	if wait_for 30 has $name; then ok "self.there.$name"; else not_ok "self.there.$name" "$(tr '\n' ' ' <"$dir/seen")"; fi
done
daemon_stop

sampled true
for _ in 1 2 3; do ask query top "$cpu" >/dev/null; done
seen
if grep -q decima-worker "$dir/family"; then ok self.family; else not_ok self.family "$(tr '\n' ' ' <"$dir/family")"; fi
if [ -s "$dir/seen" ]; then not_ok self.none "$(tr '\n' ' ' <"$dir/seen")"; else ok self.none; fi
