# SPDX-License-Identifier: Apache-2.0
# tests/host/lib.sh - what the root-only tests of the sampler share; sourced by tests/e2e/ebpf_*.sh
#
# Wants top_srcdir and top_builddir. Makes $dir, which goes away at the end with every process that
# was noted in $pids. A machine that cannot run these tests is skipped with the reason.
. "$top_srcdir/tests/lib/wait.sh"
. "$top_srcdir/tests/lib/compile.sh"
. "$top_srcdir/tests/lib/chains.sh"

dir=$(mktemp -d) || exit 1
pids=
finish() {
	for p in $pids; do kill -9 "$p" 2>/dev/null; done
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 1' INT TERM
PATH=$PATH:/usr/sbin:/sbin:/usr/local/go/bin

host=$top_builddir/tests/host/sample
plugins=$top_builddir/plugins/.libs
programs=$top_srcdir/tests/programs
name=$(basename "$0" .sh)

skip_all() {
	echo "skip $name: $*"
	exit 0
}
ok() { echo "ok $1"; }
not_ok() {
	echo "not ok $1: $2"
	sed 's/^/# /' "$dir/log" 2>/dev/null | tail -n 5
}
# check NAME CONDITION..: a test of test(1)
check() {
	check_name=$1
	shift
	if [ "$@" ]; then ok "$check_name"; else not_ok "$check_name" "$*"; fi
}

[ -e "$plugins/input_ebpf.so" ] || skip_all "built without eBPF"
[ -x "$host" ] || skip_all "tests/host/sample is not built: run make check first"
need_root() {
	[ "$(id -u)" = 0 ] || skip_all "needs root"
	[ -r /sys/kernel/btf/vmlinux ] || skip_all "this kernel has no BTF"
}

# may_mount NAME: a mount namespace takes a root that is a mount point, which a chroot may not have
may_mount() {
	unshare -m true 2>/dev/null && return
	echo "skip $1: no mount namespaces here (a root that is no mount point?)"
	return 1
}

# start COMMAND..: in the background; $pid, which is ended with the test
start() {
	: >"$dir/program.out"
	"$@" >"$dir/program.out" 2>&1 &
	pid=$!
	pids="$pids $pid"
}

# used TICKS: $pid has had so many hundredths of a second of CPU time, or is gone
used() {
	[ -e "/proc/$pid/stat" ] || return 0
	[ "$(sed 's/.*) //' "/proc/$pid/stat" | awk '{ print $12 + $13 }')" -ge "$1" ]
}
# warm [TICKS]: $pid is past the dynamic linker, or has worked for as long as it needs to settle
warm() { wait_for 60 used "${1:-10}"; }

# sample YAML SECONDS [MORE]: rows into $dir/rows, metrics too, the log into $dir/log
sample() { "$host" "$plugins" "input/ebpf=$1" ${3:+"$3"} "$2" >"$dir/rows" 2>"$dir/log"; }
more=
# sample_while YAML COMMAND..: the same from before the command begins until it has ended; $more is a second instance
sample_while() {
	# Emptied before it is forked: what the one before said is no answer.
	: >"$dir/rows"
	: >"$dir/log"
	"$host" "$plugins" "input/ebpf=$1" ${more:+"$more"} 600 >"$dir/rows" 2>"$dir/log" &
	sampler=$!
	pids="$pids $sampler"
	shift
	wait_for 60 grep -q 'sample: ebpf: state [1-9]' "$dir/log"
	"$@"
	kill -TERM "$sampler"
	wait "$sampler"
}
# sample_work YAML SECONDS: while $pid has so much CPU time, which a share of few samples would be a matter of luck
# without; four times as long by the clock at most
work_on() { wait_for $(($1 * 4)) used $(($(sed 's/.*) //' "/proc/$pid/stat" | awk '{ print $12 + $13 }') + $1 * 100)); }
sample_work() { sample_while "$1" work_on "$2"; }

# share PATTERN: percent (two digits) of the CPU time whose stack, as rows prints it, matches the regex
share() {
	rows | awk -v re="$1" '{ v = $1; sub(/^[0-9]+ /, ""); t += v; if ($0 ~ re) n += v }
		END { printf "%.2f\n", t ? 100 * n / t : 0 }'
}
# at_least NAME PERCENT PATTERN
at_least() {
	got=$(share "$3")
	if awk -v a="$got" -v b="$2" 'BEGIN { exit !(a >= b) }'; then
		ok "$1: $got % (at least $2)"
	else
		not_ok "$1" "$got % of the CPU time, at least $2 wanted; most often: $(rows | head -n 1)"
	fi
}
# ------------------------------------------------------------------------------------------------
# Programs whose chains are known (tests/lib/chains.sh)

right=99.5 # and how much of it is whole, if not 95
# case_of NAME CHAINS COMMAND..: a program that judge looks at, and the chains it has to show, with $other, in $right percent
case_of() {
	case_name=$1 case_chains=$2
	shift 2
	start "$@"
	case_at "$case_name" "$case_chains"
}
# case_at NAME CHAINS: the same of $pid, which runs already
case_at() { printf '%s\t%s\t%s\t%s\t%s\n' "$pid" "$1" "$right" "$2" "$other" >>"$dir/cases"; }
# each_case COMMAND..: with $pid, $case_name, $case_right, $case_chains and $other of each
each_case() {
	others=$other
	while IFS='	' read -r pid case_name case_right case_chains other; do
		only=$pid
		"$@" </dev/null
	done <"$dir/cases"
	only='' other=$others
}
# judge YAML SECONDS [MORE]: samples all of them at once, with these options, until each has had so much CPU time, and
# shows. One sampler for many programs is many times as fast as one for each.
judge() {
	each_case warm
	more=${3:-}
	sample_while "{$1, cpu_budget: 0, window: 1s, filter: {pids: [$(cut -f 1 "$dir/cases" | paste -sd , -)]}}" \
		cases_work "$2"
	more=
	each_case judge_one
	settled=0
	rm "$dir/cases"
}
judge_one() {
	# shellcheck disable=SC2086 # a number or two
	shows "$case_name" "$case_chains" $case_right
	kill -9 "$pid"
}
cases_work() {
	each_case case_settles
	settled=$(wc -l <"$dir/rows")
	each_case case_begins
	each_case case_works "$1"
}
# Its tables are there when its whole chain has been seen. From then on the share counts. $settle: how many half seconds
# it is waited for, where a program may never show it.
settle=60
case_whole() { rows | kinds "$case_chains" | grep -q 'whole=[1-9]'; }
case_settles() {
	n=0
	until case_whole || [ $((n += 1)) -ge $settle ]; do sleep 0.5; done
}
ticks() { sed 's/.*) //' "/proc/$pid/stat" | awk '{ print $12 + $13 }'; }
case_begins() { ticks >"$dir/began.$pid"; }
case_works() { wait_for 300 used $(($(cat "$dir/began.$pid") + $1 * 100)); }

settled=0 only=''
# shows NAME CHAINS [PERCENT [WHOLE]]: the rows at hand are of a program in these chains (exact). $only: of that process
# alone; $settled: so many lines of rows are only asked for wrong stacks.
shows() {
	rows >"$dir/stacks"
	rows "$settled" >"$dir/stacks.settled"
	exact "$1" "$2" "$dir/stacks" "$dir/stacks.settled" "${3:-}" "${4:-}"
}
# rows [SKIP]: stacks by CPU time, the largest first; a frame that repeats N times is written once, as FRAME*N. Of process
# $only, or of all; without the first SKIP lines.
rows() {
	awk -F '\t' -v skip="${1:-0}" -v only="$only" 'function short(stack, i, n, k, frames, out) {
			n = split(stack, frames, ";")
			for (i = 1; i <= n; i += k) {
				for (k = 1; i + k <= n && frames[i + k] == frames[i]; k++) ;
				out = out (i > 1 ? ";" : "") frames[i] (k > 1 ? "*" k : "")
			}
			return out
		}
		NR > skip && $1 == "process_cpu" && (only == "" || $3 ~ "(^|,)pid=" only "(,|$)") { v[$4] += $5 }
		END { for (s in v) printf "%.0f %s\n", v[s], short(s) }' "$dir/rows" | sort -rn
}
# metric NAME: its last value, 0 when it is not there; of all reasons together for dropped_total
metric() {
	sed -n "s/^# decima_$1{[^}]*} //p" "$dir/rows" | awk '{ n = $1 } END { printf "%.0f\n", n }'
}
dropped() {
	sed -n "s/^# decima_dropped_total{[^}]*reason=\"$1\"} //p" "$dir/rows" | awk '{ n = $1 } END { printf "%.0f\n", n }'
}
