#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/ebpf_unwind.sh - stacks of programs without frame pointers, to their roots, frame by frame
#
# Each case says which chain of calls its program is in nearly all of the time, from _start to the leaf
# (tests/lib/chain.awk). Of its CPU time, at least 99.5 % has to show that chain, or a beginning of it where a sample was
# taken on the way there; and none of it a frame that cannot be there.
#
# takes at most 1800 s where the machine is busy
set -u
. "$top_srcdir/tests/host/lib.sh"
need_root
flags=-fomit-frame-pointer
{ compile gcc unwind.c $flags && roots; } || exit 1

run="$root run"
# one BUILD MODE CHAINS
one() { case_of "$1.$2" "$3" "$dir/$1" 600 "$2"; }
signal="$run on_other_stack interrupted (__restore_rt|libc.*) handler spin"
# all BUILD
all() {
	one "$1" plain "$run alpha beta spin"
	one "$1" recursion "$run $(repeat 600 'down ')spin"
	one "$1" alloca "$run with_alloca spin"
	one "$1" realigned "$run realigned spin"
	one "$1" both "$run realigned_alloca spin"
	one "$1" tail "$run tail_second spin|$run tail_first"
	one "$1" leaf "$run leaf_caller leaf"
	one "$1" signal "$signal"
	judge 'frequency: 997Hz' 1
}

all gcc

one gcc library "$run library (.*qsort.*|libc.*) (.*sort.*|libc.*) compare spin"
has clang clang && CC=clang compile clang unwind.c $flags && all clang
has_static_libc static && compile static unwind.c $flags -static && all static
if has_static_libc static_pie && compile static_pie unwind.c $flags -fPIE -static-pie; then
	one static_pie plain "$run alpha beta spin"
	one static_pie signal "$signal"
fi

# C++: the catch clause, and the destructor that runs while the runtime unwinds.
runtime='(_Unwind_|uw_|std::|__cxa|__gxx|dl_|search_object|read_|size_of_).*|is_eligible.*'
if ! command -v "${CXX:-c++}" >/dev/null; then
	echo "skip cxx: no C++ compiler"
elif ${CXX:-c++} -O2 -g -fomit-frame-pointer -o "$dir/cxx" "$programs/unwind.cc" 2>"$dir/cc.log"; then
	thrower="$run catcher thrower(.cold)?"
	saved=$other other="$other|$runtime"
	case_of cxx "$run catcher(.cold)? spin|= $thrower Guard::~Guard.* spin|$thrower" "$dir/cxx" 600
	other=$saved
else
	not_ok compile.cxx "$(head -n 1 "$dir/cc.log")"
fi

# The same frames without names.
compile stripped unwind.c $flags -s -Wl,--build-id=none
at='stripped[+]0x[0-9a-f]+'
saved=$other other='lib.*|_.*|ld-.*|clock_gettime.*|\[vdso\]'
case_of stripped "$(unnamed stripped) $at $at $at $at" "$dir/stripped" 600 plain
other=$saved

judge 'frequency: 997Hz' 1

# Frame pointers alone, for comparison: the caller of a leaf without a frame is not to be found by them.
start "$dir/gcc" 60 plain
sample_work "{frequency: 397Hz, unwind: frame_pointers, filter: {pids: [$pid]}}" 1
check frame_pointers_alone "$(share ';alpha;beta;spin$' | cut -d . -f 1)" -lt 50
kill -9 "$pid"
