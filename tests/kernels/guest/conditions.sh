#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/kernels/guest/conditions.sh - what a kernel's settings forbid has a sentence of its own; the rest works on
#
# Run by tests/e2e/kernels.sh in a guest, which has no other user whom these settings would disturb. Lockdown comes
# last: it only ever rises.
set -u
. "$top_srcdir/tests/host/lib.sh"
need_root
compile chain chain.c -fno-omit-frame-pointer -DLEAF_FRAME || exit 1
command -v setpriv >/dev/null && command -v prlimit >/dev/null || skip_all "setpriv or prlimit is missing"

# Places that everybody may read.
chmod 755 "$dir"
mkdir "$dir/plugins" && cp "$plugins/input_ebpf.so" "$dir/plugins/"
cp "$host" "$dir/sample"
host=$dir/sample plugins=$dir/plugins
fine=+bpf,+perfmon,+sys_ptrace,+dac_read_search,+syslog,+checkpoint_restore
yaml='' hz=99
set_to() { echo "$2" >"/proc/sys/kernel/$1"; }
# with CAPABILITIES COMMAND..: as nobody with just these
with() {
	caps=$1
	shift
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps="-all,$caps" --ambient-caps="$caps" \
		--bounding-set="-all,$caps" "$@"
}
# run COMMAND..: the sampler below it; rows and log as everywhere
run() { "$@" "$host" "$plugins" "input/ebpf={frequency: ${hz}Hz, filter: {pids: [$pid]}$yaml}" 2 >"$dir/rows" 2>"$dir/log"; }
# works NAME COMMAND..
works() {
	works_name=$1
	shift
	if run "$@"; then at_least "$works_name" 80 'main;alpha;beta;gamma_;spin'; else not_ok "$works_name" "$(tail -n 1 "$dir/log")"; fi
}
# refuses NAME SENTENCE COMMAND..
refuses() {
	refuses_name=$1 sentence=$2
	shift 2
	if run "$@"; then not_ok "$refuses_name" "it started"; else check "$refuses_name" -n "$(grep -F -- "$sentence" "$dir/log")"; fi
}

start setpriv --reuid=65533 --regid=65533 --clear-groups "$dir/chain" 900
chain=$pid
prlimit --pid $$ --memlock=unlimited
set_to perf_event_paranoid 2
works paranoid_2 with $fine
set_to perf_event_paranoid 3
if run with $fine; then
	ok "paranoid_3: this kernel has no such level"
else
	check paranoid_3 -n "$(grep 'perf_event_paranoid is 3.*: set it to 2' "$dir/log")"
	works paranoid_3.root env
fi
set_to perf_event_paranoid 2

# More than the kernel takes: said and counted, and what it takes is right.
bound=$(cat /proc/sys/kernel/perf_event_max_sample_rate)
set_to perf_event_max_sample_rate 200
hz=2000
works max_sample_rate env
check max_sample_rate.says -n "$(grep 'state 2: .*the kernel takes at most 200 of 2000 samples a second' "$dir/log")"
check max_sample_rate.counted -n "$(grep '^# decima_sampler_throttled_total.* [1-9]' "$dir/rows")"
hz=99
set_to perf_event_max_sample_rate "$bound"

# Fewer frames of the kernel than there are: the stack says so where it is cut, and so does the state.
bound=$(cat /proc/sys/kernel/perf_event_max_stack)
set_to perf_event_max_stack 1
yaml=', user_stacks: false'
# shellcheck disable=SC2016 # the inner shell's
start sh -c 'while :; do read -r line </proc/self/stat; done'
run env
cut='^[0-9]* \[truncated: kernel stack deeper than kernel.perf_event_max_stack\];[^;]*$'
check max_stack.cut "$(rows | grep -c "$cut")" -gt 0
# In the program itself there is no stack of the kernel.
check max_stack.no_other "$(rows | grep '^[0-9]* .' | grep -vc "$cut")" -eq 0
check max_stack.says -n "$(grep 'state 2: kernel stacks are cut: set kernel.perf_event_max_stack to 127' "$dir/log")"
kill -9 "$pid"
set_to perf_event_max_stack "$bound"
yaml='' pid=$chain

# Root's BPF only; once 1, it stays until the next boot.
set_to unprivileged_bpf_disabled 1
works unprivileged_bpf_disabled with $fine

set_to kptr_restrict 2
works kptr_2 env
check kptr_2.says -n "$(grep 'state 2: kernel frames have no names: set kernel.kptr_restrict to 1' "$dir/log")"
set_to kptr_restrict 1
works kptr_1 with $fine
check kptr_1.silent -z "$(grep 'state 2' "$dir/log")"
works kptr_1.no_syslog with +bpf,+perfmon,+sys_ptrace,+dac_read_search
check kptr_1.no_syslog.says -n "$(grep 'state 2: kernel frames may have no names: give Decima CAP_SYSLOG' "$dir/log")"
set_to kptr_restrict 0

# Locked memory: before 5.11, maps count.
prlimit --pid $$ --memlock=65536
case $(uname -r) in
5.[0-9].* | 5.10.*) refuses memlock 'raise LimitMEMLOCK' with $fine ;;
*) works memlock with $fine ;;
esac
works memlock.root env

# Without the kernel's own type information; then with a copy of it.
cp /sys/kernel/btf/vmlinux "$dir/btf"
mount -t tmpfs none /sys/kernel/btf
refuses no_btf 'has no /sys/kernel/btf/vmlinux' env
yaml=", btf_path: $dir/btf"
works btf_path env
yaml=
umount /sys/kernel/btf

# Other hierarchies of control groups: the old one, and both.
umount /sys/fs/cgroup
mount -t tmpfs cgroups /sys/fs/cgroup
mkdir /sys/fs/cgroup/cpu /sys/fs/cgroup/systemd /sys/fs/cgroup/unified
if mount -t cgroup -o cpu cpu /sys/fs/cgroup/cpu && mount -t cgroup -o none,name=systemd systemd /sys/fs/cgroup/systemd; then
	mkdir -p /sys/fs/cgroup/cpu/burn /sys/fs/cgroup/systemd/system.slice/chain.service
	echo "$pid" >/sys/fs/cgroup/cpu/burn/cgroup.procs
	echo "$pid" >/sys/fs/cgroup/systemd/system.slice/chain.service/cgroup.procs
	works cgroup_v1 env
	check cgroup_v1.path -n "$(grep 'cgroup=/system.slice/chain.service' "$dir/rows")"
	mount -t cgroup2 unified /sys/fs/cgroup/unified
	mkdir -p /sys/fs/cgroup/unified/user.slice/two.scope
	echo "$pid" >/sys/fs/cgroup/unified/user.slice/two.scope/cgroup.procs
	works cgroup_hybrid env
	check cgroup_hybrid.path -n "$(grep 'cgroup=/user.slice/two.scope' "$dir/rows")"
else
	echo "skip cgroup_v1: this kernel has it no more"
fi

if [ -w /sys/kernel/security/lockdown ]; then
	echo integrity >/sys/kernel/security/lockdown
	works lockdown_integrity env
	echo confidentiality >/sys/kernel/security/lockdown
	refuses lockdown_confidentiality 'boot with lockdown=integrity' env
else
	echo "skip lockdown: this kernel has none"
fi
kill -9 "$pid"
