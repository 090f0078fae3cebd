#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/ebpf_cache.sh - a second start takes its unwind tables from disk; what is damaged there is made again
set -u
. "$top_srcdir/tests/e2e/lib.sh"
need_sampler
[ "$(uname -m)" = x86_64 ] || skip_all "unwind tables are for x86-64"
[ -r /sys/kernel/btf/vmlinux ] || skip_all "this kernel has no BTF"
compile chain chain.c || exit 1

cat >"$dir/conf.yaml" <<EOF
inputs:
  ebpf: { frequency: 199Hz, window: 1s, filter: { comms: [chain] } }
storage:
  memory: {}
EOF
folder=$dir/data/ebpf/unwind

# It runs before the sampler does, so what is met is its own code and libc's, which has enough rows to be kept.
"$dir/chain" 600 >/dev/null &
chain=$!
trap 'daemon_stop; kill $chain 2>/dev/null; chmod -R u+rwx "$dir"; rm -rf "$dir"' EXIT

metric() { get /metrics | sed -n "s/^decima_unwind_$1{[^}]*} //p"; }
# at_least METRIC N
at_least() { [ "$(metric "$1")" -ge "$2" ]; }
# reaches NAME METRIC N: within a minute
reaches() {
	if wait_for 60 at_least "$2" "$3"; then
		ok "$1"
	else
		not_ok "$1" "unwind_$2 is $(metric "$2"), not $3 or more; $(tail -n 2 "$dir/log")"
	fi
}
# is NAME METRIC N
is() { if [ "$(metric "$2")" = "$3" ]; then ok "$1"; else not_ok "$1" "unwind_$2 is $(metric "$2"), not $3"; fi; }
start() { daemon_start -c "$dir/conf.yaml" "$@" || not_ok ebpf_cache.start "status $daemon_status: $(tail -n 1 "$dir/log")"; }

start
reaches cache.first_stores cache_stored 1
is cache.first_finds_none cache_hits 0
daemon_stop
if [ -n "$(find "$folder" -name '*.unwind' -perm 0600)" ]; then ok cache.files; else not_ok cache.files "none in $folder"; fi

has_stack() { ask query stacks "$cpu{comm=\"chain\"}" 2>/dev/null | grep -q 'main;alpha;beta;gamma_'; }
start
reaches cache.second_finds cache_hits 1
is cache.no_damage cache_damaged 0
if wait_for 60 has_stack; then ok cache.stacks; else not_ok cache.stacks "$(ask query stacks "$cpu" | head -n 3)"; fi
daemon_stop

# Half of each file, then one byte of each turned: removed, made again, and counted.
for f in "$folder"/*.unwind; do truncate -s $(($(stat -c %s "$f") / 2)) "$f"; done
start
reaches cache.truncated cache_damaged 1
reaches cache.made_again cache_stored 1
is cache.damaged_is_no_hit cache_hits 0
daemon_stop
for f in "$folder"/*.unwind; do
	printf 'DECIMA' | dd of="$f" bs=1 seek=$(($(stat -c %s "$f") / 2)) conv=notrunc 2>/dev/null
done
start
reaches cache.altered cache_damaged 1
daemon_stop

# Where nothing can be written it says so once, and samples as before.
rm -f "$folder"/*.unwind
chmod 500 "$folder"
start
reaches cache.read_only_counts cache_failures 1
if wait_for 60 has_stack; then ok cache.read_only_samples; else not_ok cache.read_only_samples "no stacks"; fi
lines=$(grep -c 'unwind tables are not kept' "$dir/log")
if [ "$lines" = 1 ]; then ok cache.read_only_told; else not_ok cache.read_only_told "$lines times"; fi
daemon_stop

# None wanted, none made.
chmod 700 "$folder" && rmdir "$folder"
start --set inputs.ebpf.tables_cache=0
reaches cache.off_compiles tables_files 1
if [ -e "$folder" ]; then not_ok cache.off "$folder was made"; else ok cache.off; fi
