#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/ebpf_deaf.sh - a file system that does not answer stands where a process says that its file is
set -u
. "$top_srcdir/tests/host/lib.sh"
need_root
[ -c /dev/fuse ] || skip_all "this kernel has no FUSE"
may_mount ebpf_deaf || exit 0
compile chain chain.c -fno-omit-frame-pointer -DLEAF_FRAME || exit 1
compile deaf deaf.c || exit 1
chain='main;alpha;beta;gamma_;spin'

# Known by its own path, then met below a folder that is the deaf file system's for us, and the true one for the process.
mkdir "$dir/there"
cp "$dir/chain" "$dir/own" && ln "$dir/own" "$dir/linked"
deaf_ends() { kill -9 "$deaf" 2>/dev/null; umount -l "$dir/there" 2>/dev/null; }
trap 'deaf_ends; finish' EXIT
start unshare -m sh -c 'mount --bind "$1" "$1/there" && exec "$1/there/linked" 600' sh "$dir"
far=$pid
warm 20
start "$dir/deaf" "$dir/there"
deaf=$pid
is_deaf() { grep -q ready "$dir/program.out" || ! kill -0 "$deaf"; }
wait_for 20 is_deaf
# Who may mount may still not mount this.
grep -qiE 'not permitted|no such device' "$dir/program.out" && skip_all "no FUSE can be mounted: $(cat "$dir/program.out")"
grep -q ready "$dir/program.out" || {
	not_ok deaf.mounted "$(cat "$dir/program.out")"
	exit 1
}
check deaf.hangs "$(timeout 1 stat "$dir/there/x" 2>/dev/null; echo $?)" -eq 124
start "$dir/own" 600
near=$pid
warm

# One shot, too: what belongs to the far one's lines is looked for beside it, where the deaf one is for us.
timeout -k 10 120 "$decima" record --plugin-path "$destdir$prefix/lib/decima" -F 199 -d 2 -p "$far" -o "$dir/far.folded" \
	>"$dir/log" 2>&1
check deaf.record $? -eq 0
check deaf.record_names "$(grep -c "$chain" "$dir/far.folded")" -gt 0

# The far one is met second: what was known by then is looked for where its path leads to. The deaf one ends before the
# sampler does, which could not end otherwise if it waited for it.
has() { grep -qE "pid=$1,.*$chain" "$dir/rows"; }
kill -STOP "$far"
meet() {
	wait_for 60 has "$near"
	kill -CONT "$far"
	wait_for 60 has "$far"
	met=$?
	deaf_ends
}
sample_while "{frequency: 199Hz, window: 1s, filter: {pids: [$near, $far]}}" meet
check deaf.sampled "$met" -eq 0
at_least deaf.chains 95 "$chain"
