#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/ebpf_chains.sh - programs whose chains of calls are known come out with just these chains
#
# Each from the program's first function to the leaf (tests/lib/chain.awk): with frame pointers, by JITs, and where the
# leader of the thread group is dead.
set -u
. "$top_srcdir/tests/host/lib.sh"
need_root

flags="-fno-omit-frame-pointer -DLEAF_FRAME"
{ compile chain chain.c $flags && roots; } || exit 1
chain='alpha beta gamma_ spin'
case_of c "$root $chain" "$dir/chain" 600
case_of c_recursion "$root alpha beta gamma_ $(repeat 600 'down ')spin" "$dir/chain" 600 600

has clang c_clang && CC=clang compile clang chain.c $flags && case_of c_clang "$root $chain" "$dir/clang" 600

# The leader of the thread group is dead: /proc/PID shows nothing, /proc/TID does.
cp "$dir/chain" "$dir/dead"
case_of c_thread_of_dead_leader "$thread $chain" "$dir/dead" 600 0 'a;b'
has_static_libc c_static && compile static chain.c $flags -static && case_of c_static "$root $chain" "$dir/static" 600

bare="-nostdlib -static -ffreestanding -fno-pie -no-pie -fcf-protection=none -fno-stack-protector"
bits32=
if [ "$(uname -m)" != x86_64 ]; then
	echo "skip c_32bit: its programs are written for x86"
elif compile chain32 chain32.c -m32 -fno-omit-frame-pointer $bare && compile bare32 bare32.c -m32 -fomit-frame-pointer $bare; then
	timeout 0.2 "$dir/chain32" 2>/dev/null
	status=$?
	if [ $status -eq 124 ]; then
		bits32=yes
	elif [ $status -gt 128 ]; then
		not_ok c_32bit "the program dies: $status"
	else
		echo "skip c_32bit: this kernel runs no 32-bit programs"
	fi
fi

# Without names: file and offset, the same frames.
compile stripped chain.c $flags -s -Wl,--build-id=none
at='stripped[+]0x[0-9a-f]+'
case_of c_stripped "$(unnamed stripped) $at $at $at $at" "$dir/stripped" 600

perf_map=
if [ -e "$plugins/input_perf_map.so" ]; then perf_map='input/perf_map={}'; else echo "skip jit: built without input/perf_map"; fi
if ! command -v node >/dev/null; then
	echo "skip node: node is missing"
elif [ -n "$perf_map" ]; then
	# "JS:*spin" of node 20 is "LazyCompile:*spin" of node 18, which has no maglev.
	js='[A-Za-z]+:[~^*+]?' at='.*chain[.]js:[0-9:]*' native='(node|v8|std|uv|cppgc).*|Builtins_.*'
	# main ends in a jump to node::Start.
	above="${root% main} ?main *($native) *[A-Za-z]+:.*node:internal.* ${js}.*chain[.]js:1:1"
	alone=--no-turbo-inlining
	node --no-maglev-inlining -e 0 2>/dev/null && alone="$alone --no-maglev-inlining"
	# It leaves an isolate-*.log where it is started. The JIT settles first.
	cd "$dir" || exit 1
	saved=$other other="$other|$native|(gettimeofday|operator |m(un|re)?map|m(advise|protect)).*"
	# Code made anew while it runs has no name until node writes the next line of its map.
	anew='\[anon\][+]0x[0-9a-f]+'
	# And all of it is walked by frame pointers: a sample in a prologue lacks the caller.
	case_of node "$above ?(${js}run$at|$anew) ?${js}alpha$at ?${js}beta$at ?${js}spin$at|${thread% *} *($native)" \
		node --perf-basic-prof --interpreted-frames-native-stack $alone "$programs/chain.js" 600
	node_pids=$pid
	warm 150
	# Frames of the interpreter are in code of node's own file that has no unwind rows.
	at='.*deep[.]js:[0-9:]*'
	interpreted="$(repeat 30 'Builtins_InterpreterEntryTrampoline ')*(Builtins_.*)"
	case_of node_builtins "${above%% \**} *($native) $interpreted ?(${js}call$at|$anew) ?(${js}spin$at|$anew)|${thread% *} *($native)" \
		node --perf-basic-prof $alone "$programs/deep.js" 600
	node_pids="$node_pids $pid"
	other=$saved
fi

# Code that was moved, named by a jitdump somewhere in the file system.
if [ "$(uname -m)" != x86_64 ]; then
	echo "skip jitdump: the program is written for x86-64"
elif [ -n "$perf_map" ] && compile jit jit.c -fno-omit-frame-pointer; then
	case_of jitdump "$root call jitted::spin" "$dir/jit" "$dir" 600
fi

judge 'frequency: 997Hz' 1 "$perf_map"
check thread_name -n "$(grep -F 'thread_name=a;b' "$dir/rows" | head -n 1)"
check comm_of_the_leader -n "$(grep -F 'comm=dead,' "$dir/rows" | head -n 1)"
for p in ${node_pids:-}; do rm -f "/tmp/perf-$p.map"; done

# Code that nobody describes: with frame pointers the whole chain is there; without, it is cut where a function makes no
# frame record, and none is left out in the middle, as that would be where the caller is one that does (alloca, both).
bare_run="$root run"
bare() {
	case_of "$1.plain" "$bare_run alpha beta spin" "$dir/$1" 600 plain
	case_of "$1.recursion" "$bare_run $(repeat 600 'down ')spin" "$dir/$1" 600 recursion
	case_of "$1.alloca" "$bare_run with_alloca spin" "$dir/$1" 600 alloca
	case_of "$1.both" "$bare_run realigned_alloca spin" "$dir/$1" 600 both
	case_of "$1.leaf" "$bare_run leaf_caller leaf" "$dir/$1" 600 leaf
}
if [ "$(uname -m)" != x86_64 ]; then
	echo "skip framed, frameless: on this processor all code makes frame records"
else
	no_tables="-g0 -fno-asynchronous-unwind-tables -fno-unwind-tables"
	compile framed unwind.c $no_tables -fno-omit-frame-pointer && bare framed && judge 'frequency: 997Hz' 1
	if compile frameless unwind.c $no_tables -fomit-frame-pointer; then
		whole=$right right='0 0' settle=2
		bare frameless
		judge 'frequency: 997Hz' 1
		right=$whole settle=60
	fi
fi

# By frame pointers alone, since 32-bit programs have no tables here: gcc begins a function with other instructions between
# the two that make a frame, where its caller cannot be seen.
if [ -n "$bits32" ]; then
	start "$dir/chain32"
	sample_work "{frequency: 997Hz, filter: {pids: [$pid]}}" 1
	at_least c_32bit 99.5 '^_start;alpha;beta;gamma_;spin(;[a-z_0-9]*(asm_|irq|entry|exc_).*)?$'
	kill -9 "$pid"
	# Whatever the register holds that others have their frame pointer in: no frame, and no root, is made of it.
	start "$dir/bare32"
	sample_work "{frequency: 997Hz, filter: {pids: [$pid]}}" 1
	at_least c_32bit_without 99.5 '^\[truncated: [^];]*\];spin(;[a-z_0-9]*(asm_|irq|entry|exc_).*)?$'
	kill -9 "$pid"
fi

# A frame pointer that leads astray makes no frame, and no root either. It is begun when somebody listens: the stack of
# "grown" is to grow after it was listed.
if [ "$(uname -m)" != x86_64 ]; then
	echo "skip astray: the program is written for x86-64"
elif compile astray astray.c -fomit-frame-pointer -z execstack; then
	ends='(;(now|clock_gettime|[a-z_0-9]*(asm_|irq|entry|exc_)).*)?$'
	astray_works() { start "$dir/astray" "$1" && work_on 2; }
	for mode in zeroes count stack thread grown; do
		sample_while '{frequency: 397Hz, filter: {comms: [astray]}}' astray_works $mode
		kill -9 "$pid"
		cut="^\\[truncated: return address is not code\\];astray;spin$ends"
		at_least "astray.$mode" 30 "$cut"
		at_least "astray.$mode.all" 98 "$cut|^_start;(.*;)?grow;(spin|memset|asm_)|^_start(;_dl_.*)?$"
	done
	# By frame pointers alone: a register that is 0 may be any number.
	sample_while '{frequency: 397Hz, unwind: frame_pointers, filter: {comms: [astray]}}' astray_works null
	kill -9 "$pid"
	at_least astray.null 95 "^\\[truncated: no frame pointer\\];.*spin$ends"
fi

# A BPF program that the kernel runs for this one has its own name, and the stack goes on below it.
if [ "$(cat /proc/sys/net/core/bpf_jit_kallsyms 2>/dev/null)" != 1 ]; then
	echo "skip bpf_program: the kernel lists no BPF programs (net.core.bpf_jit_kallsyms)"
elif compile bpf_spin bpf_spin.c; then
	start "$dir/bpf_spin" 600
	warm
	sample_work "{frequency: 397Hz, filter: {pids: [$pid]}}" 2
	spins() { printf '^_start;.*;main;run;syscall;.*;bpf_prog_[0-9a-f]+_%s(;[a-z_0-9]*(asm_|irq|entry|exc_).*)?$' "$1"; }
	at_least bpf_program 90 "$(spins spins)"
	# So has one that comes when the kernel's list was read already, which says no program's end.
	one_more() {
		work_on 2
		start "$dir/bpf_spin" 600 turns
		work_on 2
	}
	first=$pid
	sample_while "{frequency: 397Hz, window: 1s, filter: {comms: [bpf_spin]}}" one_more
	only=$pid
	at_least bpf_program.later 90 "$(spins turns)"
	only=$first
	at_least bpf_program.beside 90 "$(spins spins)"
	only=
	kill -9 "$pid" "$first"
fi

# Close to as deep as a stack may be it is whole; beyond it the leaf.s side is there, and says so.
start "$dir/chain" 60 980
warm
sample_work "{frequency: 199Hz, kernel_stacks: false, filter: {pids: [$pid]}}" 2
at_least depth.980 95 '^_start;.*;main;alpha;beta;gamma_;down[*]980;spin(;[^;]*)?$'
kill -9 "$pid"
start "$dir/chain" 60 1100
warm
sample_work "{frequency: 199Hz, kernel_stacks: false, filter: {pids: [$pid]}}" 2
at_least depth.1100 95 '^\[truncated: deeper than max_depth\];down[*]999;spin(;[^;]*)?$'
kill -9 "$pid"

start "$dir/chain" 60 600
warm
sample_work "{frequency: 199Hz, max_depth: 50, filter: {pids: [$pid]}}" 2
at_least max_depth 95 "^\[truncated: deeper than max_depth\];down\\*49;spin(;[a-z_0-9]*(asm_|irq|entry|exc_).*)?$"
check max_depth_quality "$(grep -c 'decima_quality.*truncated: deeper than max_depth' "$dir/rows")" -gt 0
kill -9 "$pid"

start "$dir/chain" 60
sample "{frequency: 199Hz, user_stacks: false, filter: {pids: [$pid]}}" 2
check no_user_stacks.rows "$(rows | wc -l)" -gt 0
check no_user_stacks "$(rows | grep -c gamma_)" -eq 0
sample "{frequency: 199Hz, kernel_stacks: false, filter: {pids: [$pid]}}" 2
check no_kernel_stacks.rows "$(rows | grep -c gamma_)" -gt 0
check no_kernel_stacks "$(rows | grep -c 'spin;')" -eq 0
kill -9 "$pid"
