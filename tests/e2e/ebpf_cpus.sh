#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/ebpf_cpus.sh - every CPU is sampled; nothing stays in the kernel after SIGKILL
#
# CPUs that come and go: tests/kernels/guest/cpus.sh, where that disturbs nobody.
set -u
. "$top_srcdir/tests/host/lib.sh"
need_root
compile chain chain.c -fno-omit-frame-pointer -DLEAF_FRAME || exit 1

# Ids of the programs that the host holds, and whether one of these is still in the kernel: other samplers of this
# machine come and go meanwhile.
programs() { cat /proc/"$pid"/fdinfo/* 2>/dev/null | sed -n 's/^prog_id:[[:space:]]*//p' | sort -u; }
still_there() { for id in $ids; do bpftool prog show id "$id" >/dev/null 2>&1 && return; done; return 1; }
if command -v bpftool >/dev/null; then
	start "$host" "$plugins" "input/ebpf={}" 60
	i=0
	while ids=$(programs) && [ -z "$ids" ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i + 1)); done
	check loaded -n "$ids"
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
	# The kernel frees programs after a grace period.
	i=0
	while still_there && [ $i -lt 100 ]; do sleep 0.1; i=$((i + 1)); done
	check sigkill_leaves_nothing "$(still_there && echo yes || echo no)" = no
else
	echo "skip sigkill_leaves_nothing: bpftool is missing"
fi

# Every CPU is sampled, and samples say which.
n=$(getconf _NPROCESSORS_ONLN)
cpu=0
while [ $cpu -lt "$n" ]; do
	start taskset -c $cpu "$dir/chain" 30
	cpu=$((cpu + 1))
done
sample "{frequency: 99Hz, filter: {comms: [chain]}}" 2
check every_cpu "$(cut -f 3 "$dir/rows" | grep -o 'cpu=[0-9]*' | sort -u | wc -l)" -eq "$n"
