#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/kernels/guest/sampler.sh - on this kernel the sampler loads, and known programs come out with their chains
#
# Run by tests/e2e/kernels.sh in a guest, where time is slow: shares and counts decide.
set -u
. "$top_srcdir/tests/host/lib.sh"
need_root

# chain NAME PERCENT PATTERN COMMAND..: samples the running command; $dir/rows keeps what was seen
chain() {
	chain_name=$1 percent=$2 pattern=$3
	shift 3
	start "$@"
	sample "{frequency: 99Hz, filter: {pids: [$pid]}}" 4
	at_least "$chain_name" "$percent" "$pattern"
	kill -9 "$pid"
}

flags="-fno-omit-frame-pointer -DLEAF_FRAME"
compile chain chain.c $flags && compile in_kernel chain.c $flags -DIN_KERNEL || exit 1
chain c 90 'main;alpha;beta;gamma_;spin' "$dir/chain" 600
check state "$(grep -c 'state 1: sampling at 99 Hz' "$dir/log")" -eq 1
# Nothing is lost without a reason, on any kernel.
check accounting "$(metric sampler_entries_total)" -eq \
	"$(sed -n 's/^# decima_sampler_\(emitted\|filtered_[a-z]*\|ring_full\|busy\|no_scratch\)_total{[^}]*} //p' "$dir/rows" |
		awk '{ n += $1 } END { printf "%.0f\n", n }')"
chain recursion 90 'main;alpha;beta;gamma_;down[*]600;spin' "$dir/chain" 600 600
chain thread 90 'thread_main;alpha;beta;gamma_;spin' "$dir/chain" 600 0 name
# Registers of a task in the kernel: from a helper since 5.15, from the top of its stack before.
chain in_kernel 80 'main;alpha;beta;gamma_;spin;(entry|do)_SYSCALL' "$dir/in_kernel" 600

# Functions of a module have their names: all files of this guest come through one, 9p.
# shellcheck disable=SC2016 # the inner shell's
start sh -c 'while :; do find "$1/tests" -name nothing; done' sh "$top_srcdir"
sample "{frequency: 99Hz, filter: {pids: [$pid]}}" 4
awk '$4 ~ /^\[9p/ { print $3 }' /proc/kallsyms >"$dir/names"
check module.listed "$(wc -l <"$dir/names")" -gt 10
check module.named "$(rows | awk -v names="$dir/names" '
	BEGIN { while ((getline line <names) > 0) is[line] = 1 }
	{ sub(/^[0-9.]* /, ""); n = split($0, f, ";"); for (i = 1; i <= n; i++) if (f[i] in is) { seen++; next } }
	END { print seen + 0 }')" -gt 0
kill -9 "$pid"

# By tables: to the first frame of all.
if compile bare chain.c -fomit-frame-pointer; then
	chain tables 90 '(^|;)_start;.*main;alpha;beta;gamma_;spin' "$dir/bare" 600
	check tables.deferred "$(metric sampler_deferred_root_total)" -eq "$(metric sampler_outcome_deferred_total)"
fi

# Processes come and go: their exec and exit are heard of.
start sh -c "while :; do '$dir/chain' 0.3; done"
sample "{frequency: 99Hz}" 6
check exec_and_exit "$(metric sampler_events_total)" -gt 3
kill -9 "$pid"

# Each verifier counts in its own way.
sh "$top_srcdir/tests/e2e/ebpf_verifier.sh"
