#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/record_corpus.sh - `decima record -- CMD` shows the chain that the source says, of programs that are hard to walk
#
# The same programs and chains as in ebpf_corpus.sh, which is about a sampler that has settled: here each is sampled from its
# first instruction on, so it may be cut short while tables are being made. It is never wrong. Left out is
# what is not the program yet (the call that becomes it, and the loader, whose functions have any names), and what a single
# sample says.
set -u
. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/lib/chains.sh"
. "$top_srcdir/tests/lib/hard.sh"
need_sampler
roots || exit 1

# recorded NAME CHAINS COMMAND..
recorded() {
	name=$1 chains=$2
	shift 2
	"$decima" record --plugin-path "$plugins" -F 997 -o "$dir/stacks.folded" -- "$@" >/dev/null 2>"$dir/err"
	expect_status "$name" 0 $?
	awk '!/^_start;_dl_start|_sys_execve;/ && $NF > 1.5e9 / 997 { v = $NF; sub(/ [0-9]+$/, ""); print v, $0 }' "$dir/stacks.folded" | sort -rn >"$dir/stacks"
	exact "${name}_chain" "$chains" "$dir/stacks" "$dir/stacks" 70 60
}

# hard BUILD CASE
hard() { recorded "$1.$2" "$(hard_chains "$1" "$2")" "$dir/hard_$1" "$2" 1; }

if hard_built gcc; then
	for shape in qsort realigned_alloca recursion longjmp signal coroutine tail_call noreturn split thread lazy vdso; do
		hard gcc $shape
	done
fi
hard_built stripped && hard stripped alloca
hard_built static && hard static qsort
hard_built pie && hard pie realigned
hard_built clang && hard clang pushes
hard_built musl && hard musl alloca

# What the loader calls before the program begins comes from where the process does. Names of the loader's are in its debuginfo alone.
if compile libconstructor.so constructor.c -fomit-frame-pointer -shared -fPIC -DLIBRARY &&
	compile constructor constructor.c -fomit-frame-pointer -L"$dir" -lconstructor -Wl,-rpath,"$dir"; then
	recorded constructor "(_dl_start_user|ld-.*) *(_dl_init|call_init.*|ld-.*) begin_library spin" "$dir/constructor"
fi
