#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/ebpf_corpus.sh - programs that are hard to walk come out whole: built without frame pointers
#
# Each case says the chain of calls that the program is in nearly all of the time, from the process's or thread's first
# function to the leaf (tests/lib/chain.awk), and by what other way it gets there. A wrong frame is a failure.
#
# takes at most 1800 s where the machine is busy
set -u
. "$top_srcdir/tests/host/lib.sh"
. "$top_srcdir/tests/lib/hard.sh"
need_root

{ hard_built gcc && roots; } || exit 1

# hard BUILD CASE
hard() { case_of "$1.$2" "$(hard_chains "$1" "$2")" "$dir/hard_$1" "$2" 600; }
hard_cases() {
	for shape in qsort alloca realigned realigned_alloca large recursion longjmp signal coroutine tail_call noreturn split \
		pushes thread lazy; do
		hard "$1" $shape
	done
	judge 'frequency: 997Hz' 1
}

hard_cases gcc
hard gcc vdso
hard_built stripped && hard stripped alloca
hard_built static && hard static qsort
hard_built pie && hard pie realigned
hard_built lto && hard lto pushes
hard_built o0 && hard o0 alloca
judge 'frequency: 997Hz' 1
hard_built clang && hard_cases clang
if hard_built musl; then
	hard musl alloca
	hard musl thread
	# clock_gettime has no rows, and the frame pointer is 0 as the thread began with it: cut, and no root.
	right='0 0'
	hard musl thread_vdso
	right=99.5
fi

# Rust as a release is built.
if ! has rustc rust; then
	:
elif rustc -O -g -o "$dir/hard_rust" "$programs/chain.rs" 2>"$dir/cc.log"; then
	rust='*(std::.*|core::.*|<.*|__rust.*|.*lang_start.*)'
	case_of rust "$root $rust chain::main $rust .*Alpha.*run.* chain::beta.* chain::call.* ?chain::beta::.* chain::inner::spin.*" "$dir/hard_rust" 600
else
	not_ok compile.rust "$(grep -m 1 error "$dir/cc.log")"
fi

judge 'frequency: 997Hz' 1
