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

flags="-fomit-frame-pointer -Wl,-z,lazy"
# hard BUILD CASE CHAINS
hard() { recorded "$1.$2" "$3" "$dir/hard_$1" "$2" 1; }

qsort='*(_*qsort.*|_*msort.*|libc.*)'
if compile hard_gcc hard.c $flags; then
	hard gcc qsort "$root sorted $qsort compare spin"
	hard gcc realigned_alloca "$root ?aligned_and_scattered_case aligned_and_scattered spin"
	hard gcc recursion "$root ?ping_case $(repeat 150 "ping pong ")ping spin"
	hard gcc longjmp "$root jumper (thrower|after_jump) spin"
	hard gcc signal "$root interrupted (__restore_rt|libc.*) on_signal spin"
	hard gcc coroutine "(__start_context|libc.*) coroutine spin|$root resumed"
	hard gcc tail_call "$root tail_caller spin|$root tail_caller tail_called"
	hard gcc noreturn "$root never_back finish spin"
	hard gcc split "$root ?split_case split(.cold)? rare spin"
	hard gcc thread "$thread spin|$root threads"
	hard gcc lazy "$root lazy *(_dl_.*|do_lookup_x|check_match|ld-.*|rand.*|\\[plt\\].*|libc.*)"
	hard gcc vdso "$root asks *(now|_*clock_gettime.*|__vdso.*|\\[vdso\\].*)"
fi
compile hard_stripped hard.c $flags -s -Wl,--build-id=none
at='hard_stripped[+]0x[0-9a-f]+'
hard stripped alloca "$(unnamed hard_stripped) $at $at"
has_static_libc static && compile hard_static hard.c $flags -static && hard static qsort "$root sorted $qsort compare spin"
has_static_libc pie && compile hard_pie hard.c $flags -static-pie && hard pie realigned "$root ?aligned_case aligned spin"
has clang clang && CC=clang compile hard_clang hard.c $flags && hard clang pushes "$root pushes eats spin"
if has musl-gcc musl && CC=musl-gcc compile hard_musl hard.c $flags -static -DNO_UCONTEXT; then
	hard musl alloca "?_start *(_start_c|libc_start.*|__libc_start.*) main scattered spin"
fi
