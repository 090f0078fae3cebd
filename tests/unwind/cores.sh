#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/unwind/cores.sh - the step that the kernel runs walks core dumps as libdwfl does, frame by frame
#
# Programs of tests/programs/hard.c are ended by a signal wherever they are at that moment, several times each; an
# interpreter aborts below its own frames, with other threads waiting.
set -u
. "$top_srcdir/tests/lib/compile.sh"
walk=$top_builddir/tests/unwind/core_walk
oracle=$top_builddir/tests/unwind/core_oracle
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
skip_all() {
	echo "skip unwind_cores: $*"
	exit 0
}
[ "$(uname -m)" = x86_64 ] || skip_all "tables are for x86-64"
case $(cat /proc/sys/kernel/core_pattern) in
*[/\|]* | '') skip_all "the kernel hands core dumps to somebody else (core_pattern)" ;;
esac
# shellcheck disable=SC3045 # dash and bash have it
ulimit -c unlimited 2>/dev/null || skip_all "core dumps are forbidden (ulimit -c)"
cd "$dir" || exit 1

dumps=
# compare NAME EXECUTABLE [SYMBOL..]: the dumps that lie here; all of them go. SYMBOLS are functions that each stack
# passes, which is asked where libdwfl cannot say.
compare() {
	name=$1
	executable=$2
	shift 2
	threads=0 frames=0 why=
	for core in core*; do
		# Where none ever comes, this machine writes none; where one came before, one is missing.
		if [ ! -e "$core" ]; then
			[ -n "$dumps" ] || skip_all "no core dump was written"
			echo "not ok unwind_cores.$name: no core dump was written"
			return
		fi
		dumps=yes
		"$walk" "$core" >ours 2>err || why="$why $(cat err)"
		"$oracle" "$core" "$executable" >theirs 2>err || why="$why $(cat err)"
		awk -v chain="$*" -f "$top_srcdir/tests/unwind/stacks.awk" ours theirs >verdict
		why="$why$(grep '^differs' verdict)"
		threads=$((threads + $(awk 'END { print $1 }' verdict)))
		frames=$((frames + $(awk 'END { print $2 }' verdict)))
	done
	rm -f core*
	if [ -z "$why" ] && [ "$threads" -gt 0 ] && [ "$frames" -gt "$threads" ]; then
		echo "ok unwind_cores.$name: $threads threads, $frames frames"
	else
		echo "not ok unwind_cores.$name: $threads threads, $frames frames; $why"
	fi
}

# is_under_way PID: it has used a tick of CPU time in user code, so that it is past exec and the loader
is_under_way() { [ "$(sed 's/.*) //' "/proc/$1/stat" | cut -d ' ' -f 12)" -gt 0 ] 2>/dev/null; }

# case_of NAME CASE: four dumps, some hundredths of a second after one another
case_of() {
	for when in 0.01 0.02 0.04 0.07; do
		"$dir/$1" "$2" 60 >/dev/null 2>&1 &
		pid=$!
		for _ in $(seq 1000); do
			is_under_way $pid && break
			sleep 0.02
		done
		sleep $when
		kill -ABRT $pid
		wait $pid 2>/dev/null
		mv core* "dump.$when" 2>/dev/null
	done
	for dump in dump.*; do [ -e "$dump" ] && mv "$dump" "core.${dump#dump.}"; done
	if [ "$2" = lazy ]; then
		compare "$1.$2" "$dir/$1" main _start
	else
		compare "$1.$2" "$dir/$1"
	fi
}

# build NAME FLAG..
build() {
	name=$1
	shift
	has_cc || {
		echo "skip unwind_cores.$name: ${CC:-cc} is missing"
		return 1
	}
	builds "$name" hard.c -fomit-frame-pointer -Wl,-z,lazy "$@" && return
	echo "not ok unwind_cores.$name: $(head -n 1 "$dir/cc.log")"
	return 1
}

build gcc && for c in qsort alloca realigned realigned_alloca large longjmp signal coroutine tail_call \
	noreturn split vdso pushes recursion thread lazy; do case_of gcc $c; done
CC=clang build clang && for c in qsort alloca realigned_alloca signal recursion vdso lazy; do case_of clang $c; done
has_static_libc unwind_cores.static && build static -static && for c in qsort signal thread; do case_of static $c; done

# Not a script that stands for it.
python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null)
if [ -x "$python" ]; then
	"$python" -c 'import os, threading, time
for i in range(3): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
def down(n): down(n - 1) if n else sorted([2, 1], key=lambda x: os.abort())
down(30)' >/dev/null 2>&1
	compare python "$python"
else
	echo "skip unwind_cores.python: python3 is missing"
fi
