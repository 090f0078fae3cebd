#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/ebpf_chains.sh - programs whose chains of calls are known come out with just these chains
#
# Below main stands the C library up to _start or the thread's start; above the leaf an interrupt may
# have struck. With frame pointers alone, the C library shows one frame at most, and a note.
set -u
. "$top_srcdir/tests/host/lib.sh"
need_root

begin='^(_start;__libc_start_main[^;]*;)?((libc[^;]*|clone[^;]*|start_thread|__libc_start[^;]*);)+'
end='(;[a-z_]*(asm_|irq|entry)[^;]*(;[^;]*)*)?$'

# chain NAME PERCENT PATTERN COMMAND..: samples the running command
chain() {
	chain_name=$1 percent=$2 pattern=$3
	shift 3
	start "$@"
	warm
	sample_work "{frequency: 199Hz, filter: {pids: [$pid]}}" 3
	at_least "$chain_name" "$percent" "$begin$pattern$end"
	kill -9 "$pid"
}

flags="-fno-omit-frame-pointer -DLEAF_FRAME"
compile chain chain.c $flags || skip_all "no C compiler"
chain c 98 'main;alpha;beta;gamma_;spin' "$dir/chain" 60
chain c_recursion 95 'main;alpha;beta;gamma_;down\*600;spin' "$dir/chain" 60 600

if command -v clang >/dev/null && CC=clang compile clang chain.c $flags; then
	chain c_clang 98 'main;alpha;beta;gamma_;spin' "$dir/clang" 60
else
	echo "skip c_clang: clang is missing"
fi

# The leader of the thread group is dead: /proc/PID shows nothing, /proc/TID does.
chain c_thread_of_dead_leader 98 'thread_main;alpha;beta;gamma_;spin' "$dir/chain" 60 0 'a;b'
check thread_name -n "$(grep -F 'thread_name=a;b' "$dir/rows" | head -n 1)"
check comm_of_the_leader -n "$(grep -F 'comm=chain,' "$dir/rows" | head -n 1)"

saved=$begin begin='^(_start;)?((libc[^;]*|_start|__libc_start[^;]*);)*'
compile static chain.c $flags -static && chain c_static 98 'main;alpha;beta;gamma_;spin' "$dir/static" 60
begin=$saved

bare="-nostdlib -static -ffreestanding -fno-pie -no-pie -fcf-protection=none -fno-stack-protector"
compile chain32 chain32.c -m32 -fno-omit-frame-pointer $bare 2>/dev/null
timeout 0.2 "$dir/chain32" 2>/dev/null
if [ $? -eq 124 ]; then
	saved=$begin begin='^'
	chain c_32bit 98 '_start;alpha;beta;gamma_;spin' "$dir/chain32"
	begin=$saved
else
	echo "skip c_32bit: this machine runs or builds no 32-bit programs"
fi

# Without names: file and offset, the same frames.
strip -o "$dir/stripped" "$dir/chain"
at='stripped\+0x[0-9a-f]+'
saved=$begin begin="^$at;((libc[^;]*|__libc_start[^;]*);)+"
chain c_stripped 98 "$at;$at;$at;$at;$at" "$dir/stripped" 60
begin=$saved

start "$dir/chain" 60 600
warm
sample_work "{frequency: 199Hz, max_depth: 50, filter: {pids: [$pid]}}" 2
at_least max_depth 95 "^\[truncated: deeper than max_depth\];down\\*49;spin$end"
check max_depth_quality "$(grep -c 'decima_quality.*truncated: deeper than max_depth' "$dir/rows")" -gt 0
kill -9 "$pid"

start "$dir/chain" 60
sample "{frequency: 199Hz, user_stacks: false, filter: {pids: [$pid]}}" 2
check no_user_stacks "$(rows | grep -c gamma_)" -eq 0
sample "{frequency: 199Hz, kernel_stacks: false, filter: {pids: [$pid]}}" 2
check no_kernel_stacks "$(rows | grep -c 'spin;')" -eq 0
kill -9 "$pid"

if command -v go >/dev/null && GOCACHE=${GOCACHE:-$dir/go} HOME=$dir go build -o "$dir/chain_go" "$programs/chain.go" 2>"$dir/log"; then
	begin='^'
	chain go 95 'runtime\.goexit[^;]*;runtime\.main;main\.main;main\.alpha;main\.beta;main\.spin' "$dir/chain_go" 60
else
	echo "skip go: no Go compiler"
fi

if ! command -v node >/dev/null; then
	echo "skip node: node is missing"
elif [ ! -e "$plugins/input_perf_map.so" ]; then
	echo "skip node: built without input/perf_map"
else
	# "JS:*spin" of node 20 is "LazyCompile:*spin" of node 18, which has no maglev.
	js='[A-Za-z]+:[~^*+]?'
	at=' [^;]*chain\.js:[0-9:]*'
	alone=--no-turbo-inlining
	node --no-maglev-inlining -e 0 2>/dev/null && alone="$alone --no-maglev-inlining"
	# It leaves an isolate-*.log where it is started.
	cd "$dir" || exit 1
	start node --perf-basic-prof --interpreted-frames-native-stack $alone "$programs/chain.js" 60
	# The JIT settles first.
	warm 150
	sample "{frequency: 199Hz, filter: {pids: [$pid]}}" 3 "input/perf_map={}"
	at_least node 95 "node::Start.*;${js}run$at;${js}alpha$at;${js}beta$at;${js}spin$at$end"
	kill -9 "$pid"
	rm -f "/tmp/perf-$pid.map"
fi

# Code that was moved, named by a jitdump somewhere in the file system.
if [ ! -e "$plugins/input_perf_map.so" ]; then
	echo "skip jitdump: built without input/perf_map"
elif [ "$(uname -m)" != x86_64 ]; then
	echo "skip jitdump: the program is written for x86-64"
elif compile jit jit.c -fno-omit-frame-pointer; then
	start "$dir/jit" "$dir" 60
	warm
	sample "{frequency: 199Hz, filter: {pids: [$pid]}}" 3 "input/perf_map={}"
	at_least jitdump 98 "main;call;jitted::spin$end"
	kill -9 "$pid"
fi
