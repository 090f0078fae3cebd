#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/ebpf_processes.sh - processes that are short, deleted, elsewhere, huge, or oddly named
set -u
. "$top_srcdir/tests/host/lib.sh"
need_root
flags="-fno-omit-frame-pointer -DLEAF_FRAME"
{ compile chain chain.c $flags && roots; } || exit 1
chain="$root alpha beta gamma_ spin"
text='main;alpha;beta;gamma_;spin'

cp "$dir/chain" "$dir/gone" && case_of deleted "$chain" "$dir/gone" 600
warm
rm "$dir/gone"

# Another file at the same path: names must come from the one that runs.
cp "$dir/chain" "$dir/replaced" && case_of replaced "$chain" "$dir/replaced" 600
warm
sed 's/gamma_/decoy_/' "$programs/chain.c" >"$dir/decoy.c"
compile decoy "$dir/decoy.c" $flags && mv "$dir/decoy" "$dir/replaced"

# is_named NAME: $pid has become it
is_named() { grep -q "^$1\$" "/proc/$pid/comm"; }
# In a mount namespace with a file system of its own.
if may_mount mount_namespace; then
	mkdir "$dir/mnt"
	case_of mount_namespace "$chain" \
		unshare -m sh -c 'mount -t tmpfs tmpfs "$1/mnt" && cp "$1/chain" "$1/mnt/inner" && exec "$1/mnt/inner" 600' sh "$dir"
	wait_for 60 is_named inner
fi

# In a pid namespace: pids are the host's.
cp "$dir/chain" "$dir/apart"
unshare -pf --kill-child sh -c "exec $dir/apart 600" &
pids="$pids $!"
unshared=$!
wait_for 60 pgrep -P $unshared
pid=$(pgrep -P $unshared)
wait_for 60 is_named apart
case_at pid_namespace "$chain"
apart=$pid

compile memfd memfd.c && case_of memfd "$chain" "$dir/memfd" "$dir/chain" 600

# A decoy at the same path: the program runs in a chroot, where another file has that name.
mkdir -p "$dir/jail/lib64" "$dir/jail/lib/x86_64-linux-gnu" "$dir/jail/$dir"
for l in $(ldd "$dir/chain" | grep -o '/[^ ]*'); do
	mkdir -p "$dir/jail/$(dirname "$l")" && cp "$l" "$dir/jail/$l"
done
cp "$dir/chain" "$dir/jail/$dir/jailed"
compile jailed "$dir/decoy.c" $flags
case_of chroot_decoy "$chain" chroot "$dir/jail" "$dir/jailed" 600
wait_for 60 is_named jailed

# The leader has ended, a thread runs: /proc/PID shows nothing any more.
compile zombie zombie.c -fno-omit-frame-pointer &&
	case_of zombie_leader "$(printf '%s' "$thread" | sed 's/thread_main$/run/') spin" "$dir/zombie" 600

judge 'frequency: 997Hz' 1
check deleted_name -n "$(grep -F "exe=$dir/gone," "$dir/rows" | head -n 1)"
check no_decoy "$(rows | grep -c decoy_)" -eq 0
check pid_of_the_host -n "$(grep -F 'comm=apart,' "$dir/rows" | grep -F "pid=$apart," | head -n 1)"
check zombie_leader.exe -n "$(grep -F "exe=$dir/zombie," "$dir/rows" | head -n 1)"

# exec(): the old image's mappings must not name the new one's addresses. Filtered by its pid, which stays.
short=short$$
compile $short chain.c $flags -DCLOCK=CLOCK_PROCESS_CPUTIME_ID
cp "$dir/$short" "$dir/first" && cp "$dir/chain" "$dir/second"
start sh -c 'kill -STOP $$; "$1/first" 0.5; exec "$1/second" 60' sh "$dir"
# go_on: what has stopped itself does
go_on() {
	wait_for 60 grep -q '^State:.T' "/proc/$pid/status"
	kill -CONT "$pid"
}
# on_second: goes on, until the second one has worked
on_second() {
	go_on
	wait_for 60 grep -q second "/proc/$pid/comm" && warm 100
}
sample_while "{frequency: 199Hz, filter: {pids: [$pid]}}" on_second
# What the shell itself was in depends on which one it is; it was never in the programs.
check exec.shell -z "$(grep 'comm=sh,' "$dir/rows" | grep gamma_ | head -n 1)"
grep -v 'comm=sh,' "$dir/rows" >"$dir/programs" && mv "$dir/programs" "$dir/rows"
shows exec "$chain" 95 90
check exec.first -n "$(grep -F 'comm=first,' "$dir/rows" | head -n 1)"
check exec.second -n "$(grep -F 'comm=second,' "$dir/rows" | head -n 1)"
check exec.not_mixed -z "$(grep 'comm=second,' "$dir/rows" | grep 'exe=[^,]*first' | head -n 1)"
kill -9 "$pid"

# Processes of 20 ms, one after the other, of a name that nobody else has: most of their time must be told by name. Some
# of it goes to the dynamic linker, which is as true.
one_by_one() {
	i=0
	while [ $i -lt 100 ]; do
		"$dir/$short" 0.02
		i=$((i + 1))
	done
}
sample_while "{frequency: 99Hz, filter: {comms: [$short]}}" one_by_one
shows short_lived "$chain" 90 70
check short_lived.many "$(metric sampler_wakeups_total)" -gt 20
# What they map is told by the kernel: /proc is read for hardly any of them.
check short_lived.told "$(metric sampler_maps_read)" -le 5
check short_lived.none_lost "$(metric sampler_process_records_lost_total)" -eq 0

# Children of a chosen process come along, others do not.
start sh -c '"$1/chain" 60 & wait' sh "$dir"
shell=$pid
wait_for 60 pgrep -P "$shell"
sleep 0.1 # /proc has the starts of processes in ticks of 10 ms: one of the same tick counts as forked since
sample "{frequency: 199Hz, filter: {pids: [$shell]}}" 1
check children.before "$(rows | wc -l)" -eq 0
kill -9 "$shell"
# Nor does one get lost that is forked while the sampler starts.
cp "$dir/chain" "$dir/kid"
start sh -c 'until [ -e "$1/go" ]; do sleep 0.01; done; for i in $(seq 60); do "$1/kid" 600 & sleep 0.02; done; wait' sh "$dir"
(until pgrep -f "$host" >/dev/null; do sleep 0.01; done && : >"$dir/go") &
kids() { grep -o 'comm=kid,.*pid=[0-9]*' "$dir/rows" | sed 's/.*pid=//' | sort -u | wc -l; }
kids_seen() { [ "$(kids)" -eq 60 ]; }
sample_while "{frequency: 997Hz, cpu_budget: 0, window: 1s, labels: {pid: true}, filter: {pids: [$pid]}}" wait_for 60 kids_seen
pkill -9 -P "$pid"
check children.meanwhile "$(kids)" -eq 60
kill -9 "$pid" 2>/dev/null
start sh -c 'kill -STOP $$; while :; do "$1/chain" 0.3; done' sh "$dir"
child_seen() { grep -q "$text" "$dir/rows"; }
on_child() { go_on && wait_for 60 child_seen; }
sample_while "{frequency: 199Hz, window: 1s, filter: {pids: [$pid]}}" on_child
check children.after "$(rows | grep -c "$text")" -gt 0
kill -9 "$pid"

# A name of any bytes.
cp "$dir/chain" "$dir/$(printf 'a\001\377,b;c')"
start "$dir/$(printf 'a\001\377,b;c')" 60
warm
sample_work "{frequency: 199Hz, filter: {pids: [$pid]}}" 1
check odd_name -n "$(grep -F 'comm=a??,b;c,' "$dir/rows" | head -n 1)"
kill -9 "$pid"

# Libraries that take turns at one address, told apart by the count of executable pages.
turns="-fno-omit-frame-pointer -shared -fPIC"
compile a.so swap.c $turns -DLIBRARY=spin_a
compile b.so swap.c $turns -DLIBRARY=spin_b -DMORE_CODE
compile swap swap.c -fno-omit-frame-pointer -ldl
turns_chain="$root ?turn spin_[ab]|$root turn (dl|rand).*"
start "$dir/swap" "$dir/a.so" "$dir/b.so" 60
sample_work "{frequency: 199Hz, filter: {pids: [$pid]}}" 6
at_least dlopen_turns.a 20 'main;(turn;)?spin_a'
at_least dlopen_turns.b 20 'main;(turn;)?spin_b'
at_least dlopen_turns 98 'spin_[ab]|;turn;dl(open|close|sym)|;main;time'
kill -9 "$pid"

# Turns of milliseconds, so that /proc is read for one sample while others of other turns wait. Most are cut, for want of
# the new one's tables, more on a busy machine; none is named by the other library, where the function has another name.
# What was mapped before anybody listened is not known: so it begins then.
turns_begin() { start "$dir/swap" "$dir/a.so" "$dir/b.so" 6 && wait "$pid"; }
saved=$other other="$other|(dl|rand|pthread|strtol|deregister_tm)_?.*|\\[anon\\].*"
for shape in -DMORE_CODE -DSHIFTED; do
	compile a.so swap.c $turns -DTIMES=3000000 -DLIBRARY=spin_a
	compile b.so swap.c $turns -DTIMES=3000000 -DLIBRARY=spin_b $shape
	sample_while "{frequency: 997Hz, cpu_budget: 0, filter: {comms: [swap]}}" turns_begin
	shows "fast_turns$shape" "$root ?turn spin_[ab]|$root turn" 10 0
done

# As many a second as are handed over to be walked later come out whole: where the one's unwind rows end before the other's
# code, and where they are wrong for it. Of the others none shows callers that were found by the other library's rows.
# walked_turns NAME FLAGS_OF_A FLAGS_OF_B [HERTZ PERCENT]
walked_turns() {
	# shellcheck disable=SC2086 # words
	compile a.so swap.c $turns -DTIMES=3000000 -DLIBRARY=spin_a $2
	# shellcheck disable=SC2086 # words
	compile b.so swap.c $turns -DTIMES=3000000 -DLIBRARY=spin_b $3
	sample_while "{frequency: ${4:-59}Hz, cpu_budget: 0, filter: {comms: [swap]}}" turns_begin
	shows "walked_turns.$1" "$root ?turn spin_[ab]|$root turn" "${5:-90}" 0
}
wrong_a='-fomit-frame-pointer -DROOM=40' wrong_b='-fomit-frame-pointer -DROOM=90'
walked_turns no_rows '' -DSHIFTED
walked_turns wrong_rows "$wrong_a" "$wrong_b"
walked_turns wrong_rows.fast "$wrong_a" "$wrong_b" 499 10
other=$saved

# The same with libraries of one size, which no count tells apart.
turns="$turns -DTIMES=60000000"
# shellcheck disable=SC2086 # words
{ compile a.so swap.c $turns -DLIBRARY=spin_a $wrong_a && compile b.so swap.c $turns -DLIBRARY=spin_b $wrong_b; } || exit 1
right='98 90'
case_of equal_turns "$turns_chain" "$dir/swap" "$dir/a.so" "$dir/b.so" 600
right=99.5
judge 'frequency: 199Hz' 5
at_least equal_turns.a 20 '(^|;)main;(turn;)?spin_a$'
at_least equal_turns.b 20 '(^|;)main;(turn;)?spin_b$'

# A hundred thousand mappings are read rarely, and the rest of the machine is sampled meanwhile. The kernel allows 65,530
# by default: the limit is raised until they are there.
limit=/proc/sys/vm/max_map_count
before=$(cat $limit)
restore() { [ "$(cat $limit)" = "$before" ] || echo "$before" >$limit; }
trap 'restore; finish' EXIT
n=100000
[ "$before" -ge 110000 ] || echo 110000 2>/dev/null >$limit
if [ "$(cat $limit)" -lt 110000 ]; then
	echo "skip mappings.100000: vm.max_map_count is $before and cannot be raised here; 60,000 are looked at"
	n=60000
fi
compile mappings mappings.c -fno-omit-frame-pointer && start "$dir/mappings" $n 600
large=$pid
wait_for 120 grep -q ready "$dir/program.out"
restore
check mappings.there "$(wc -l <"/proc/$large/maps")" -ge $n
start "$dir/chain" 600
both_named() { grep -q 'main;spin' "$dir/rows" && grep -qE "$text" "$dir/rows"; }
sample_while "{frequency: 99Hz, window: 1s, filter: {pids: [$pid, $large]}}" wait_for 60 both_named
check mappings.named "$(rows | grep -c 'main;spin')" -gt 0
# Its libraries are known in spite of all of them.
check mappings.whole "$(rows | grep -c '^[0-9]* _start;.*;main;spin')" -gt 0
check mappings.others "$(rows | grep -c "$text")" -gt 0
check mappings.reads "$(metric sampler_maps_read)" -le 8
check mappings.nothing_lost "$(dropped samples_ring_full)" -eq 0
kill -9 "$pid" "$large"
