#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/ebpf_labels.sh - what docs/LABELS.md promises of a process, in samples of one; a daemon relabels by the
# Parca agent's names
set -u
. "$top_srcdir/tests/host/lib.sh"
need_root
flags="-fno-omit-frame-pointer -DLEAF_FRAME"
compile chain chain.c $flags -Wl,--build-id=0x00112233445566778899aabbccddeeff00112233 || exit 1

# A tree of its own in the first hierarchy that allows one.
id=$(printf '%064d' 11)
root=
for tree in /sys/fs/cgroup/unified /sys/fs/cgroup /sys/fs/cgroup/systemd; do
	[ -e "$tree/cgroup.procs" ] && mkdir "$tree/decima_labels.slice" 2>/dev/null && root=$tree/decima_labels.slice && break
done
cleanup() {
	finish
	[ -n "$root" ] || return
	sleep 0.2
	find "$root" -depth -type d -exec rmdir {} + 2>/dev/null
}
trap cleanup EXIT

# has NAME TEXT: a row says it among its labels
has() { check "$1" "$(grep -cF -- "$2" "$dir/rows")" -gt 0; }
has_not() { check "$1" "$(grep -cF -- "$2" "$dir/rows")" -eq 0; }

# Everything that is off by default, and what was not asked for. Programs that are sampled for a second run before all
# else here, so that this second has samples.
start nice -n -15 env WANTED=v1 SECRET=hush "$dir/chain" 600 0 a_thread
sample "{frequency: 199Hz, filter: {pids: [$pid]}, labels: {env: [WANTED], cmdline: true, kernel: true}}" 2
has exe "exe=$dir/chain,"
has comm "comm=chain,"
has service "service_name=chain"
has build_id "build_id=00112233445566778899aabbccddeeff00112233,"
has compiler "compiler=$(readelf -p .comment "$dir/chain" | sed -n 's/^ *\[ *0\] *//p'),"
has static "static=false,"
has stripped "stripped=false"
has env "env_WANTED=v1,"
has_not env.only "hush"
has cmdline "cmdline=$dir/chain 600 0 a_thread,"
has kernel_release "kernel_release=$(uname -r),"
has arch "arch=$(uname -m),"
has pid "pid=$pid,"
has thread_name "thread_name=a_thread"
has tid "tid=$(ls "/proc/$pid/task" | tail -n 1)"
has cpu "cpu="
sample "{frequency: 199Hz, filter: {pids: [$pid]}}" 1
has_not env.opt_in "env_"
has_not cmdline.opt_in "cmdline="
has_not kernel.opt_in "kernel_release="
kill -9 "$pid"

if has_static_libc static.is && compile still chain.c $flags -static -s; then
	start nice -n -15 "$dir/still" 600
	sample "{frequency: 199Hz, filter: {pids: [$pid]}}" 1
	has static.is "static=true,"
	has stripped.is "stripped=true"
	kill -9 "$pid"
fi
if command -v python3 >/dev/null; then
	start nice -n -15 python3 -c 'while True: pass'
	sample "{frequency: 199Hz, filter: {pids: [$pid]}}" 1
	has runtime "runtime=python,"
	kill -9 "$pid"
else
	echo "skip runtime: no python3"
fi

# A program that only ever runs for some ms is one series, with what a look into its file tells, for all that was sampled
# after its parent had waited for it, or had not yet. In the moment of its exec() it is its parent's program still.
echo 'int main(void) { for (volatile long i = 0; i < 8000000; i++) ; return 0; }' >"$dir/brief.c"
if ${CC:-cc} -Wl,--build-id=0xb41ef0 -o "$dir/brief" "$dir/brief.c" 2>"$dir/cc.log"; then
	# shellcheck disable=SC2016 # the inner shell's
	start sh -c 'while :; do "$1"; done' sh "$dir/brief"
	sample "{frequency: 997Hz}" 3
	grep 'comm=brief,' "$dir/rows" | grep -v "exe=$(readlink -f /bin/sh)," >"$dir/brief.rows"
	check brief "$(wc -l <"$dir/brief.rows")" -gt 0
	bare=$(grep -vc "build_id=b41ef0,.*exe=$dir/brief,.*stripped=false" "$dir/brief.rows")
	# A few in a thousand end before anybody has looked, where many other things run as well.
	check brief.is_one_series $((bare * 100)) -le "$(wc -l <"$dir/brief.rows")"
	kill -9 "$pid"
else
	not_ok compile.brief "$(head -n 1 "$dir/cc.log")"
fi

# By each runtime's kind of path, and systemd's.
group() {
	mkdir -p "$root/$1" && echo "$pid" >"$root/$1/cgroup.procs"
	sample "{frequency: 199Hz, filter: {pids: [$pid]}}" 1
}
start nice -n -15 "$dir/chain" 600
if [ -z "$root" ] || ! echo "$pid" >"$root/cgroup.procs"; then
	echo "skip containers: no control group can be made"
else
	group a.service
	has systemd_unit "systemd_unit=a.service"
	has systemd_slice "systemd_slice=decima_labels.slice"
	has systemd.service "service_name=a"
	has cgroup "cgroup=/decima_labels.slice/a.service,"
	group "docker-$id.scope"
	has docker "container_id=$id,container_runtime=docker,"
	# Its name from docker's own file, in a mount namespace where /var/lib is ours.
	if may_mount docker.name; then
		# shellcheck disable=SC2016 # the inner shell's
		unshare -m sh -c 'of=/var/lib/docker/containers/$1 && shift && mount -t tmpfs none /var/lib &&
			mkdir -p "$of" && echo "{\"Name\":\"/shop-front-1\"}" >"$of/config.v2.json" && exec "$@"' sh "$id" \
			"$host" "$plugins" "input/ebpf={frequency: 199Hz, filter: {pids: [$pid]}}" 2 >"$dir/rows" 2>"$dir/log"
		has docker.name "container=shop-front-1,"
		has docker.service "service_name=shop-front-1"
	fi
	group "cri-containerd-$id.scope"
	has containerd "container_id=$id,container_runtime=containerd,"
	group "crio-$id.scope"
	has cri-o "container_id=$id,container_runtime=cri-o,"
	group "libpod-$id.scope"
	has podman "container_id=$id,container_runtime=podman,"
fi

# The rules of a Parca agent's configuration, in a daemon.
(
	. "$top_srcdir/tests/e2e/lib.sh"
	cat >"$dir/conf.yaml" <<-END
		inputs:
		  ebpf:
		    frequency: 199Hz
		    window: 1s
		    filter: { pids: [$pid] }
		    labels: { meta: [ "__meta_process_*", "__meta_system_*", "__meta_podman_*" ] }
		storage:
		  memory: {}
		relabel_configs:
		  - source_labels: [ __meta_process_executable_compiler ]
		    regex: "([A-Za-z]+).*"
		    target_label: toolchain
		  - source_labels: [ __meta_process_executable_name, __meta_process_executable_build_id ]
		    separator: "@"
		    target_label: program
		  - source_labels: [ __meta_podman_container_id ]
		    target_label: box
		  - action: labelmap
		    regex: __meta_system_kernel_(.+)
		  - action: labeldrop
		    regex: exe
	END
	daemon_start -c "$dir/conf.yaml" || not_ok relabel "$(tail -n 1 "$dir/log")"
	relabelled() { ask query labels >"$dir/names" 2>/dev/null && grep -q toolchain "$dir/names"; }
	wait_for 60 relabelled
	# value LABEL: the only one that it has
	value() { ask query values "$1" | awk 'NR > 1 { print $1 }'; }
	check relabel -n "$(value toolchain)"
	# The sampler's own quality profiles are of no program: two empty values joined are "@".
	check relabel.joined "$(value program | grep -vx @)" = chain@00112233445566778899aabbccddeeff00112233
	check relabel.labelmap "$(value release)" = "$(uname -r)"
	[ -z "$root" ] || check relabel.container "$(value box)" = "$id"
	check relabel.gone -z "$(grep -E '__meta|^exe$' "$dir/names")"
	daemon_stop
)
kill -9 "$pid"
