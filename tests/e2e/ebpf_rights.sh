#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/ebpf_rights.sh - with fewer rights it works, or says the one thing to do
set -u
. "$top_srcdir/tests/host/lib.sh"
need_root
compile chain chain.c -fno-omit-frame-pointer -DLEAF_FRAME || exit 1

# A place that everybody may read.
chmod 755 "$dir"
mkdir "$dir/plugins" && cp "$plugins/input_ebpf.so" "$dir/plugins/"
cp "$host" "$dir/sample"
host=$dir/sample plugins=$dir/plugins

# says NAME PATTERN COMMAND..: it fails, with that sentence
says() {
	says_name=$1 pattern=$2
	shift 2
	if "$@" "$host" "$plugins" "input/ebpf={}" 1 >"$dir/rows" 2>"$dir/log"; then
		not_ok "$says_name" "it started"
	elif grep -qE -- "$pattern" "$dir/log"; then
		ok "$says_name"
	else
		not_ok "$says_name" "another sentence: $(tail -n 1 "$dir/log")"
	fi
}
# with CAPABILITIES COMMAND..: as nobody with just these
with() {
	caps=$1
	shift
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps="-all,$caps" --ambient-caps="$caps" \
		--bounding-set="-all,$caps" "$@"
}
command -v setpriv >/dev/null || skip_all "setpriv is missing"

says nobody 'give it CAP_BPF and CAP_PERFMON' setpriv --reuid=65534 --regid=65534 --clear-groups
says no_perfmon 'give it CAP_PERFMON' with +bpf
says no_bpf 'give it CAP_BPF$' with +perfmon
may_mount pid_namespace && says pid_namespace '--pid=host' unshare -pf --mount-proc
if unshare -Ur true 2>/dev/null; then
	says user_namespace 'user namespace' unshare -Ur
else
	echo "skip user_namespace: this kernel makes none"
fi

start setpriv --reuid=65533 --regid=65533 --clear-groups "$dir/chain" 60
run() { with "$1" "$host" "$plugins" "input/ebpf={frequency: 199Hz, filter: {pids: [$pid]}}" 2 >"$dir/rows" 2>"$dir/log"; }
fine=+bpf,+perfmon,+sys_ptrace,+dac_read_search,+syslog,+checkpoint_restore
if run $fine; then
	at_least fine_capabilities 98 'main;alpha;beta;gamma_;spin'
	check fine_capabilities.state "$(grep -c 'state 1' "$dir/log")" -eq 1
	# Each that is missing has a sentence of its own, and only that.
	for cap in sys_ptrace dac_read_search syslog checkpoint_restore; do
		run "$(echo "$fine" | sed "s/,+$cap//")"
		check "no_$cap" "$(grep 'state 2' "$dir/log" | grep -o 'CAP_[A-Z_]*' | sort -u | tr '\n' ' ')" = \
			"CAP_$(echo "$cap" | tr '[:lower:]' '[:upper:]') "
	done
	run +bpf,+perfmon,+syslog
	check no_ptrace.state "$(grep -c 'give Decima CAP_SYS_PTRACE' "$dir/log")" -ge 1
	check no_ptrace.samples "$(rows | wc -l)" -gt 0
	check no_ptrace.why "$(grep -c 'unnamed: not readable by Decima' "$dir/rows")" -gt 0
elif grep -q 'kernel.perf_event_paranoid is .*: set it to 2' "$dir/log"; then
	echo "skip fine_capabilities: kernel.perf_event_paranoid is for root alone here; tests/kernels tries it"
else
	not_ok fine_capabilities "$(tail -n 1 "$dir/log")"
fi
kill -9 "$pid"

host=$top_builddir/tests/host/sample plugins=$top_builddir/plugins/.libs
if sample "{btf_path: $dir/none}" 1; then
	not_ok btf_path "it started"
else
	check btf_path "$(grep -c 'btf_path: the file cannot be read' "$dir/log")" -ge 1
fi
head -c 1000 /dev/urandom >"$dir/noise"
if sample "{btf_path: $dir/noise}" 1; then
	not_ok btf_damaged "it started"
else
	check btf_damaged "$(grep -c 'btf_path: the file holds no BTF' "$dir/log")" -ge 1
fi
# Few descriptors, for root too.
# shellcheck disable=SC3045 # every shell that we know has -n
few() (ulimit -n 32 && exec "$@")
says few_files 'RLIMIT_NOFILE is 32: raise it to 1024 or more' few
# An idle CPU may get no event at all.
start "$dir/chain" 60
sample "{btf_path: /sys/kernel/btf/vmlinux}" 1
check btf_path_given "$(metric sampler_entries_total)" -gt 0
kill -9 "$pid"

# Both off leaves nothing to do.
sample "{kernel_stacks: false, user_stacks: false}" 1
check nothing_to_do "$(grep -c 'turn one on' "$dir/log")" -eq 1
