#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/ebpf_verifier.sh - the kernel's verifier takes each program within a tenth of its budget
#
# Verifiers of other kernels have needed up to three times as much for the same program; at 100,000
# of 1,000,000 instructions there is room for that.
set -u
. "$top_srcdir/tests/host/lib.sh"
need_root
command -v bpftool >/dev/null || skip_all "bpftool is missing"
object=$top_builddir/bpf/sampler.bpf.o
[ -e "$object" ] || skip_all "bpf/sampler.bpf.o is not built"
may_mount "$name" || exit 0

# A bpf file system of our own, which nobody else sees.
unshare -m sh -c '
	mkdir -p "$1/fs" && mount -t bpf bpf "$1/fs" && mkdir "$1/fs/p" &&
	bpftool -d prog loadall "$2" "$1/fs/p"' sh "$dir" "$object" >"$dir/log" 2>&1
awk '/prog .*: -- BEGIN PROG LOAD LOG/ { match($0, /'\''[a-z_]*'\''/); prog = substr($0, RSTART + 1, RLENGTH - 2) }
	/^processed [0-9]+ insns/ { print prog, $2 }' "$dir/log" >"$dir/insns"
check programs "$(wc -l <"$dir/insns")" -eq "$(grep -c '^SEC("\(perf_event\|tp_btf\|raw_tp\)' "$top_srcdir/bpf/sampler.bpf.c")"
while read -r program n; do
	if [ "$n" -le 100000 ]; then ok "$program: $n instructions"; else not_ok "$program" "$n instructions"; fi
done <"$dir/insns"
