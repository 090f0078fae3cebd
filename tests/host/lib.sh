# SPDX-License-Identifier: Apache-2.0
# tests/host/lib.sh - what the root-only tests of the sampler share; sourced by tests/e2e/ebpf_*.sh
#
# Wants top_srcdir and top_builddir. Makes $dir, which goes away at the end with every process that
# was noted in $pids. A machine that cannot run these tests is skipped with the reason.
. "$top_srcdir/tests/lib/wait.sh"

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

# compile NAME SOURCE FLAG..: a program of tests/programs into $dir/NAME
compile() {
	to=$dir/$1 from=$programs/$2
	shift 2
	${CC:-cc} -O2 -g -pthread "$@" -o "$to" "$from"
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
# sample_while YAML COMMAND..: the same from before the command begins until it has ended
sample_while() {
	# Emptied before it is forked: what the one before said is no answer.
	: >"$dir/rows"
	: >"$dir/log"
	"$host" "$plugins" "input/ebpf=$1" 600 >"$dir/rows" 2>"$dir/log" &
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
# shows NAME CHAINS: the rows at hand are of a program in these chains (tests/host/chain.awk), and $other functions. At
# least 99.5 % of the CPU time is in a chain or on the way there, 90 % in the whole of the first, none anywhere else.
# Samples from before the tables were built are counted apart, since how many there are is up to the machine.
shows() {
	rows | CHAINS=$2 OTHER=$other awk -f "$top_srcdir/tests/host/chain.awk" >"$dir/kinds"
	verdict=$(awk -F = '/=/ { v[$1] = $2 } /^#/ { first = substr($0, 3) } END {
		settled = v["whole"] + v["way"] + v["cut"]
		all = settled + v["early"] + v["wrong"]
		if (all == 0) exit
		right = settled ? 100 * (v["whole"] + v["way"]) / settled : 0
		whole = settled ? 100 * v["whole"] / settled : 0
		good = right >= 99.5 && whole >= 90 && settled >= all / 10 && v["wrong"] == 0
		printf "%s %.2f %% right, %.2f %% whole, %.2f %% early, %.2f %% wrong %s\n", good ? "ok" : "not ok",
			right, whole, 100 * v["early"] / all, 100 * v["wrong"] / all, first }' "$dir/kinds")
	case $verdict in
	ok*) ok "$1: ${verdict#ok }" ;;
	*) not_ok "$1" "${verdict:-no samples}; most often: $(rows | head -n 1)" ;;
	esac
}
# rows: stacks by CPU time, the largest first; a frame that repeats N times is written once, as FRAME*N
rows() {
	awk -F '\t' 'function short(stack, i, n, k, frames, out) {
			n = split(stack, frames, ";")
			for (i = 1; i <= n; i += k) {
				for (k = 1; i + k <= n && frames[i + k] == frames[i]; k++) ;
				out = out (i > 1 ? ";" : "") frames[i] (k > 1 ? "*" k : "")
			}
			return out
		}
		$1 == "process_cpu" { v[$4] += $5 }
		END { for (s in v) printf "%.0f %s\n", v[s], short(s) }' "$dir/rows" | sort -rn
}
# metric NAME: its last value, 0 when it is not there; of all reasons together for dropped_total
metric() {
	sed -n "s/^# decima_$1{[^}]*} //p" "$dir/rows" | awk '{ n = $1 } END { printf "%.0f\n", n }'
}
dropped() {
	sed -n "s/^# decima_dropped_total{[^}]*reason=\"$1\"} //p" "$dir/rows" | awk '{ n = $1 } END { printf "%.0f\n", n }'
}
