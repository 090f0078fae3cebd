#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/ebpf_corpus.sh - programs that are hard to walk come out whole: built without frame pointers
#
# A chain must be exact from the process's or thread's first function to the leaf; above it an
# interrupt may have struck. The few samples that hit a function between two calls count against it.
# What is not cut, and says so, must begin where the program begins: a wrong frame is a failure.
set -u
. "$top_srcdir/tests/host/lib.sh"
need_root

root='^_start;((_start_c|libc[^;]*|__libc_start[^;]*);)*main'
thread='^((__clone3?|clone3?|start_thread|start|libc[^;]*);)+'
end='(;[a-z_]*(asm_|irq|entry|exc_)[^;]*(;[^;]*)*)?$'
percent=97

# exact NAME PATTERN BEGIN: nearly all stacks of $pid are the pattern, and all that are whole begin so
exact() {
	sample "{frequency: 199Hz, filter: {pids: [$pid]}}" 3
	at_least "$1" $percent "$2$end"
	wrong=$(rows | sed 's/^[0-9]* //' | grep -v '^\[' | grep -vE "$3" | head -n 1)
	check "$1.whole" -z "$wrong"
	kill -9 "$pid"
}
repeat() { awk -v n="$1" -v s="$2" 'BEGIN { while (n-- > 0) printf "%s", s }'; }

# hard BUILD CASE PATTERN
hard() {
	start "$dir/hard_$1" "$2" 60
	sleep 0.1
	exact "$1.$2" "$3" "${4:-$root}"
}

hard_cases() {
	hard "$1" qsort "$root;sorted;([^;]*;)*compare;spin"
	hard "$1" alloca "$root;scattered;spin"
	hard "$1" realigned "$root;(aligned_case;)?aligned;spin"
	hard "$1" realigned_alloca "$root;(aligned_and_scattered_case;)?aligned_and_scattered;spin"
	# Until the tables are built, only the last 16 KiB of a stack are copied.
	percent=70
	hard "$1" large "$root;large;spin"
	hard "$1" recursion "$root;(ping_case;)?$(repeat 150 "ping;pong;")ping;spin"
	percent=97
	hard "$1" longjmp "$root;jumper;(thrower|after_jump);spin"
	hard "$1" signal "$root;interrupted;[^;]*;on_signal;spin"
	hard "$1" coroutine '^([^;]*;)?coroutine;spin' "^[^;]*;coroutine|$root"
	hard "$1" tail_call "$root;tail_caller;spin"
	hard "$1" noreturn "$root;never_back;finish;spin"
	hard "$1" split "$root;(split_case;)?split(\.cold)?;rare;spin"
	hard "$1" pushes "$root;pushes;eats;spin"
	hard "$1" thread "${thread}thread_main;spin" "${thread}thread_main|$root"
}

flags="-fomit-frame-pointer"
compile hard_gcc hard.c $flags || skip_all "no C compiler"
hard_cases gcc
hard gcc vdso "$root;asks(;[^;]*(clock_gettime|\[vdso\])[^;]*)*"
strip -o "$dir/hard_stripped" "$dir/hard_gcc"
at='hard_stripped\+0x[0-9a-f]+'
hard stripped alloca "^$at;((__libc_start|libc)[^;]*;)*$at;$at;$at" "^$at;((__libc_start|libc)[^;]*;)*$at"
compile hard_static hard.c $flags -static && hard static qsort "$root;sorted;([^;]*;)*compare;spin"
compile hard_pie hard.c $flags -static-pie && hard pie realigned "$root;(aligned_case;)?aligned;spin"
compile hard_lto hard.c $flags -flto=1 && hard lto pushes "$root;(pushes;)?eats;spin"
compile hard_o0 hard.c $flags -O0 && hard o0 alloca "$root;scattered;spin"
if command -v clang >/dev/null && CC=clang compile hard_clang hard.c $flags; then
	hard_cases clang
else
	echo "skip clang: clang is missing"
fi
if command -v musl-gcc >/dev/null && CC=musl-gcc compile hard_musl hard.c $flags -static -DNO_UCONTEXT; then
	# What calls main there is where the program begins: nothing above it has unwind rows.
	stage='^libc_start_main_stage2;main'
	hard musl alloca "($root|$stage);scattered;spin" "$root|$stage"
	hard musl thread '^((clone|__clone|start|start_thread);)*thread_main;spin' '^'
else
	echo "skip musl: musl-gcc (package musl-tools) is missing"
fi

# Rust as a release is built, Go with its leaves that have no frame, C++ through its own library.
if command -v rustc >/dev/null && rustc -O -g -o "$dir/chain_rs" "$programs/chain.rs" 2>"$dir/log"; then
	start "$dir/chain_rs" 60
	sleep 0.1
	exact rust "$root;([^;]*;)*chain::main;[^;]*Alpha[^;]*run[^;]*;chain::beta[^;]*;chain::call[^;]*;(chain::beta::[^;]*;)?chain::inner::spin[^;]*" "$root"
else
	echo "skip rust: rustc is missing, or builds nothing"
fi
