#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/ebpf_unwind.sh - stacks of programs without frame pointers, to their roots, frame by frame
#
# Each program says which chain of calls it is in nearly all of the time. Of its CPU time, at least
# 99.5 % has to show that chain exactly, or a beginning of it where a sample was taken on the way
# there; and none of it a frame that cannot be there: what is neither says that it is truncated.
#
# takes at most 1800 s where the machine is busy
set -u
. "$top_srcdir/tests/host/lib.sh"
need_root

root='_start;((__libc_start|libc)[^;]*;)*main;run'
end='(;[a-z_]*(asm_|irq|entry|ret_from)[^;]*(;[^;]*)*)?$'
# On the way: the clock, in the C library and the vDSO; string comparison; setting up a signal.
other='(;(is_over|[a-z_]*(strcmp|clock_gettime|time|sig|memset)|\[vdso\]|libc|ld-linux|_dl_)[^;]*)*'

# exact NAME CHAIN [PERCENT]: of the rows at hand. CHAIN is what follows run; no parentheses.
exact() {
	at_least "$1.chain" 90 "^$root$2$end"
	way=$(printf '%s' "$2" | sed 's/;/(;/g')
	depth=$(printf '%s' "$2" | tr -cd ';' | wc -c)
	while [ "$depth" -gt 0 ]; do way="$way$other)?" depth=$((depth - 1)); done
	# A recursion may be anywhere between its first call and its last.
	way=$(printf '%s' "$way" | sed 's/down\\\*600/down(\\*[0-9]+)?/')
	way="(_start;)?((__libc_start|libc|ld-linux|_dl_)[^;]*;?)*(main(;run)?)?$other$way"
	at_least "$1" "${3:-99.5}" "^$way$end"
	at_least "$1.nothing_wrong" 100 "^(\[truncated: [^;]*\];.*|$way)$end"
}

# one NAME MODE CHAIN PROGRAM [PERCENT]: runs it, samples it once it is under way
one() {
	start "$4" 60 "$2"
	warm
	sample_work "{frequency: 397Hz, filter: {pids: [$pid]}}" 2
	exact "$1.$2" "$3" "${5:-}"
	kill -9 "$pid"
}

# all NAME PROGRAM
all() {
	one "$1" plain ';alpha;beta;spin' "$2"
	one "$1" recursion ';down\*600;spin' "$2"
	one "$1" alloca ';with_alloca;spin' "$2"
	one "$1" realigned ';realigned;spin' "$2"
	one "$1" both ';realigned_alloca;spin' "$2"
	one "$1" tail ';tail_second;spin' "$2"
	one "$1" leaf ';leaf_caller;leaf' "$2"
	# The first samples, which wait for the tables, have a copy of one stack only.
	one "$1" signal ';on_other_stack;interrupted;[_.a-z0-9+]*;handler;spin' "$2" 90
}

flags=-fomit-frame-pointer
compile gcc unwind.c $flags || skip_all "no C compiler"
all gcc "$dir/gcc"
one gcc library ';library;[_.a-z0-9+]*;[_.a-z0-9+]*;compare;spin' "$dir/gcc"

if command -v clang >/dev/null && CC=clang compile clang unwind.c $flags; then
	all clang "$dir/clang"
else
	echo "skip clang: clang is missing"
fi
compile static unwind.c $flags -static && all static "$dir/static"
if compile static_pie unwind.c $flags -fPIE -static-pie; then
	one static_pie plain ';alpha;beta;spin' "$dir/static_pie"
	one static_pie signal ';on_other_stack;interrupted;[_.a-z0-9+]*;handler;spin' "$dir/static_pie" 90
fi

# The same frames without names.
strip -o "$dir/stripped" "$dir/gcc"
start "$dir/stripped" 60 plain
warm
sample_work "{frequency: 397Hz, filter: {pids: [$pid]}}" 2
at='stripped[+]0x[0-9a-f]+'
other='lib.*|_.*|ld-.*|clock_gettime.*|\[vdso\]'
shows stripped "$at *(libc.*|__libc_start.*) $at $at $at $at $at"
kill -9 "$pid"

# C++: the catch clause, and the destructor that runs while the runtime unwinds.
if ${CXX:-c++} -O2 -g -fomit-frame-pointer -o "$dir/cxx" "$programs/unwind.cc" 2>"$dir/log"; then
	start "$dir/cxx" 60
	warm
	sample_work "{frequency: 397Hz, filter: {pids: [$pid]}}" 3
	# The rest is the runtime at work.
	at_least cxx 97 "^$root;catcher(\.cold)?;(spin|thrower[^;]*;Guard::~Guard[^;]*;spin)$end"
	at_least cxx.destructor 30 "^$root;catcher;thrower[^;]*;Guard::~Guard[^;]*;spin$end"
	kill -9 "$pid"
else
	echo "skip cxx: no C++ compiler"
fi

# Frame pointers alone, for comparison: the caller of a leaf without a frame is not to be found by them.
start "$dir/gcc" 60 plain
sample_work "{frequency: 397Hz, unwind: frame_pointers, filter: {pids: [$pid]}}" 1
check frame_pointers_alone "$(share "^$root;alpha;beta;spin$end" | cut -d . -f 1)" -lt 50
kill -9 "$pid"
