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
need_root

flags="-fomit-frame-pointer -Wl,-z,lazy"
{ compile hard_gcc hard.c $flags && roots; } || exit 1
qsort='*(_*qsort.*|_*msort.*|libc.*)'

# hard BUILD CASE CHAINS
hard() { case_of "$1.$2" "$3" "$dir/hard_$1" "$2" 600; }
hard_cases() {
	hard "$1" qsort "$root sorted $qsort compare spin"
	hard "$1" alloca "$root scattered spin"
	hard "$1" realigned "$root ?aligned_case aligned spin"
	hard "$1" realigned_alloca "$root ?aligned_and_scattered_case aligned_and_scattered spin"
	hard "$1" large "$root large spin"
	hard "$1" recursion "$root ?ping_case $(repeat 150 "ping pong ")ping spin"
	hard "$1" longjmp "$root jumper (thrower|after_jump) spin"
	hard "$1" signal "$root interrupted (__restore_rt|libc.*) on_signal spin"
	hard "$1" coroutine "(__start_context|libc.*) coroutine spin|$root resumed"
	hard "$1" tail_call "$root tail_caller spin|$root tail_caller tail_called"
	hard "$1" noreturn "$root never_back finish spin"
	hard "$1" split "$root ?split_case split(.cold)? rare spin"
	hard "$1" pushes "$root pushes eats spin"
	hard "$1" thread "$thread spin|$root threads"
	hard "$1" lazy "$root lazy *(_dl_.*|do_lookup_x|check_match|ld-.*|rand.*|\\[plt\\].*|libc.*)"
	judge 'frequency: 997Hz' 1
}

hard_cases gcc
hard gcc vdso "$root asks *(now|_*clock_gettime.*|__vdso.*|\\[vdso\\].*)"
compile hard_stripped hard.c $flags -s -Wl,--build-id=none
at='hard_stripped[+]0x[0-9a-f]+'
hard stripped alloca "$(unnamed hard_stripped) $at $at"
has_static_libc static && compile hard_static hard.c $flags -static && hard static qsort "$root sorted $qsort compare spin"
has_static_libc pie && compile hard_pie hard.c $flags -static-pie && hard pie realigned "$root ?aligned_case aligned spin"
compile hard_lto hard.c $flags -flto=1 && hard lto pushes "$root ?pushes eats spin"
compile hard_o0 hard.c $flags -O0 && hard o0 alloca "$root scattered spin"
judge 'frequency: 997Hz' 1
has clang clang && CC=clang compile hard_clang hard.c $flags && hard_cases clang
if has musl-gcc musl && CC=musl-gcc compile hard_musl hard.c $flags -static -DNO_UCONTEXT; then
	musl='?_start *(_start_c|libc_start.*|__libc_start.*)'
	# What calls main there is where the program begins: nothing above it has unwind rows.
	hard musl alloca "$musl main scattered spin"
	hard musl thread "?(start|libc.*) thread_main spin|$musl main threads"
	# clock_gettime has no rows, and the frame pointer is 0 as the thread began with it: cut, and no root.
	right='0 0'
	hard musl thread_vdso "?(start|libc.*) asking_thread|$musl main"
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
