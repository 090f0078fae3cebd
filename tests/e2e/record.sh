#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/record.sh - one shot: a command's chain in every format, its words and its exit status
set -u
. "$top_srcdir/tests/e2e/lib.sh"

need_sampler
record() { "$decima" record --plugin-path "$plugins" "$@"; }

${CC:-cc} -O1 -fno-omit-frame-pointer -o "$dir/chain" "$top_srcdir/tests/programs/chain.c" -pthread || exit 1

record -- sh -c 'echo "$# $0 $*"; exit 7' a b -x --all >"$dir/out" 2>"$dir/err"
expect_status exit_status 7 $?
expect words_are_the_commands_own '3 a b -x --all' "$dir/out"
record -F 50 -- echo hello >"$dir/out" 2>&1
expect_status options_before_the_command 0 $?
if [ "$(head -n 1 "$dir/out")" = hello ]; then ok nothing_is_added; else not_ok nothing_is_added "$(head -n 1 "$dir/out")"; fi
record -- sh -c 'kill -9 $$' >/dev/null 2>&1
expect_status killed_command 137 $?
record -- "$dir/none" >"$dir/out" 2>"$dir/err"
expect_status no_such_command 127 $?
expect no_such_command_is_said "$dir/none cannot be run: No such file or directory; give the path" "$dir/err"
if [ "$(wc -l <"$dir/err")" -eq 1 ] && [ ! -s "$dir/out" ]; then
	ok no_such_command_is_all_that_is_said
else
	not_ok no_such_command_is_all_that_is_said "$(cat "$dir/err" "$dir/out" | tail -n 1)"
fi

record -o "$dir/none.pb.gz" -- true
expect_status nothing_sampled 0 $?
if [ -s "$dir/none.pb.gz" ]; then ok nothing_sampled_is_a_profile; else not_ok nothing_sampled_is_a_profile "no file"; fi

# Whoever sleeps is on no CPU.
sleep 600 &
sleeper=$!
record -p $sleeper -d 1 >"$dir/out" 2>"$dir/err"
expect_status no_sample 0 $?
expect no_sample_is_said 'no sample was taken' "$dir/err"
if grep -q 'of 1 s' "$dir/err"; then not_ok progress_is_for_terminals "$(head -n 1 "$dir/err")"; else ok progress_is_for_terminals; fi
if script -q -c true /dev/null </dev/null >/dev/null; then
	script -q -c "$decima record --plugin-path $plugins -p $sleeper -d 3" /dev/null </dev/null >"$dir/out"
	expect progress ' stacks; Ctrl-C ends it' "$dir/out"
else
	skip progress "there are no pseudo terminals here"
fi
kill $sleeper

for name in x.pb.gz x.folded x.speedscope.json x.html; do
	record -o "$dir/$name" -- timeout 2 "$dir/chain" 2 >/dev/null 2>"$dir/err"
	if [ -s "$dir/$name" ]; then ok "record_$name"; else not_ok "record_$name" "$(head -n 1 "$dir/err")"; fi
done
expect folded_has_the_chain main "$dir/x.folded"
ln -s x.folded "$dir/link.folded"
record -o "$dir/link.folded" -- true 2>"$dir/err"
expect_status record_through_a_link 0 $?
if [ -L "$dir/link.folded" ]; then ok link_stays; else not_ok link_stays "it was replaced"; fi
"$decima" convert "$dir/x.pb.gz" "$dir/y.folded" && expect pprof_has_the_chain main "$dir/y.folded"
# A browser runs the page's script: the table of functions is its work.
if command -v chromium >/dev/null; then
	timeout 60 chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync \
		--disable-background-networking --disable-component-update --user-data-dir="$dir/chromium" \
		--dump-dom "file://$dir/x.html" >"$dir/dom" 2>"$dir/err"
	expect html_shows_the_functions '<td>main</td>' "$dir/dom"
else
	echo "skip html_shows_the_functions: chromium is missing"
fi
record -o "$dir/x.unknown" -- true 2>"$dir/err"
expect_status unknown_ending 2 $?

# wrong_option NAME OPTION WORDS..: the fault is the option's, not that of a configuration nobody wrote
wrong_option() {
	name=$1 option=$2
	shift 2
	record "$@" >"$dir/out" 2>"$dir/err"
	expect_status "$name" 2 $?
	expect "${name}_names_the_option" "decima record: $option: " "$dir/err"
}
wrong_option frequency_above --frequency -F 100000 -- true
wrong_option frequency_no_number --frequency -F often -- true
wrong_option pid_no_number --pid -p self
wrong_option pid_empty --pid -p ""
wrong_option pid_comma_at_the_end --pid -p "$$,"
wrong_option duration_no_time --duration -d soon -- true
wrong_option rows_no_number --max-rows --max-rows x -- true
"$decima" record --plugin-path here -- true 2>"$dir/err"
expect_status plugin_path_relative 2 $?
expect plugin_path_names_the_option 'decima record: --plugin-path: ' "$dir/err"

record -- >"$dir/out" 2>"$dir/err"
expect_status no_command 2 $?
expect no_command_is_said 'there is no command behind --' "$dir/err"

# The time is over first: nothing is left behind, and the status is the command's.
mkfifo "$dir/word"
record -d 1 -o "$dir/time.folded" -- sh -c 'cat "$0"; echo ended; exit 7' "$dir/word" >"$dir/out" 2>"$dir/err" &
recorder=$!
wait_for 60 grep -q 'waiting for sh' "$dir/err"
echo go >"$dir/word"
wait $recorder
expect_status time_over 7 $?
expect time_over_waits ended "$dir/out"
expect time_over_is_said 'waiting for sh (process ' "$dir/err"

# hung_up COMMAND..: the recorder gets a SIGHUP when its command, which writes there, has begun
hung_up() {
	"$decima" record --plugin-path "$plugins" -o "$dir/hup.folded" "$@" >"$dir/out" 2>"$dir/err" &
	recorder=$!
	wait_for 20 grep -q begun "$dir/out"
	kill -HUP $recorder
	wait $recorder
}
hung_up -- sh -c 'trap "echo told; exit 9" HUP; echo begun; sleep 20 & wait'
expect_status hung_up 9 $?
expect hung_up_goes_on told "$dir/out"
# samples RECORDER: its events are there
samples() { find "/proc/$1/fd" -lname '*perf_event*' 2>/dev/null | grep -q .; }
"$dir/chain" 120 >/dev/null 2>&1 &
running=$!
for signal in HUP QUIT; do
	rm -f "$dir/signal.folded"
	# An interactive shell's: scripts start background commands with SIGQUIT ignored.
	env --default-signal=QUIT "$decima" record --plugin-path "$plugins" -p $running -o "$dir/signal.folded" 2>"$dir/err" &
	recorder=$!
	wait_for 60 samples $recorder
	sleep 1
	kill -$signal $recorder
	wait $recorder
	expect_status "ended_by_$signal" 0 $?
	expect "ended_by_${signal}_writes" spin "$dir/signal.folded"
done
nohup "$decima" record --plugin-path "$plugins" -d 6 -p $running -o "$dir/nohup.folded" 2>"$dir/err" &
recorder=$!
wait_for 60 samples $recorder
kill -HUP $recorder
sleep 0.5
if kill -0 $recorder; then ok nohup_is_heeded; else not_ok nohup_is_heeded "it has ended: $(cat "$dir/err")"; fi
wait $recorder
expect_status nohup_ends_in_time 0 $?
kill $running

# With its descriptors closed, what it opens first must not get what is printed.
timeout 30 "$decima" record --plugin-path "$plugins" -d 1 -o "$dir/closed.folded" -- "$dir/chain" 1 1>&- 2>&-
expect_status closed_descriptors 0 $?
expect closed_descriptors_has_the_chain spin "$dir/closed.folded"
timeout 30 "$decima" record --plugin-path "$plugins" -F 999 -d 1 -a 1>&- 2>"$dir/err"
expect_status closed_output 1 $?
expect closed_output_is_said 'Bad file descriptor' "$dir/err"

# What it spends on giving back its memory comes behind its end: from Linux 6.16 on behind its exit event, too.
cat >"$dir/large.c" <<'END'
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
	volatile char *p = mmap(NULL, 768u << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return 1;
	madvise((void *)p, 768u << 20, MADV_NOHUGEPAGE);
	for (unsigned i = 0; i < 768u << 20; i += 4096)
		p[i] = 1;
	_exit(0);
}
END
if ${CC:-cc} -O1 -o "$dir/large" "$dir/large.c"; then
	record -F 999 -o "$dir/large.folded" -- "$dir/large" 2>"$dir/err"
	expect exit_is_followed ';exit_mmap' "$dir/large.folded"
else
	not_ok exit_is_followed "large.c does not compile"
fi

# Where it cannot work there is one sentence. Few descriptors are the command's, not ours, when there may be more.
if unshare -Ur true 2>/dev/null; then
	unshare -Ur "$decima" record --plugin-path "$plugins" -- true >"$dir/out" 2>"$dir/err"
	expect_status user_namespace 1 $?
	expect user_namespace_is_said 'runs in a user namespace' "$dir/err"
	if [ "$(wc -l <"$dir/err")" -eq 1 ]; then ok user_namespace_is_all; else not_ok user_namespace_is_all "$(head -n 1 "$dir/err")"; fi
else
	skip user_namespace "this kernel makes none"
fi
# shellcheck disable=SC3045 # every shell that we know has -n
(ulimit -n 12 && record -o "$dir/few.folded" -- true) >"$dir/out" 2>"$dir/err"
expect_status few_descriptors 1 $?
expect few_descriptors_are_said 'RLIMIT_NOFILE is 12: raise it to 1024 or more' "$dir/err"
# shellcheck disable=SC3045 # every shell that we know has -S
(ulimit -S -n 32 && record -o "$dir/few.folded" -- sh -c 'ulimit -n') >"$dir/out" 2>"$dir/err"
expect_status soft_limit 0 $?
expect soft_limit_is_the_commands 32 "$dir/out"

# What would be in vain does not begin.
record -o "$dir/none/x.folded" -- touch "$dir/ran" >"$dir/out" 2>"$dir/err"
expect_status no_such_directory 1 $?
expect no_such_directory_is_named "--output: $dir/none" "$dir/err"
if [ -e "$dir/ran" ]; then not_ok nothing_runs_in_vain "the command ran"; else ok nothing_runs_in_vain; fi
sh -c 'exit 0' &
gone=$!
wait $gone
record -d 1 -p $gone >"$dir/out" 2>"$dir/err"
expect_status no_such_process 1 $?
expect no_such_process_is_named "no process $gone" "$dir/err"

"$dir/chain" 60 >/dev/null 2>&1 &
running=$!
record -d 1 -p $running >"$dir/out" 2>"$dir/err"
expect_status by_pid 0 $?
expect by_pid_sees_it main "$dir/out"
# Whose a stack is, too.
for name in by.folded by.pb.gz; do
	record -a -d 1 --group-by comm,pid -o "$dir/$name" 2>"$dir/err"
	expect_status "group_by_${name#by.}" 0 $?
done
expect group_by_is_in_front "comm=chain;pid=$running;" "$dir/by.folded"
gzip -dc "$dir/by.pb.gz" | strings >"$dir/out"
expect group_by_is_in_pprof comm "$dir/out"
record --group-by comm, -- true >"$dir/out" 2>"$dir/err"
expect_status group_by_nothing 2 $?
# As a selector has names.
record --group-by 'pid,"comm' -- true >"$dir/out" 2>"$dir/err"
expect_status group_by_half_a_name 2 $?
expect group_by_half_a_name_says 'column 5: the string that begins here has no closing "' "$dir/err"
record -p $running -d 1 --group-by '"comm"' -o "$dir/quoted.folded" 2>"$dir/err"
expect group_by_in_quotes "comm=chain;" "$dir/quoted.folded"
kill $running

# What the sampler can be told in a file it can be told here: each sentence that names an option can be followed.
"$dir/chain" 60 >/dev/null 2>&1 &
running=$!
record -p $running -d 1 --set inputs.ebpf.max_depth=2 -o "$dir/set.folded" 2>"$dir/err"
expect_status set 0 $?
expect set_is_heeded '[truncated: deeper than max_depth];' "$dir/set.folded"
record -p $running -d 1 --set inputs.ebpf.frequency=7Hz --set inputs.ebpf.btf_path="$dir/no.btf" >"$dir/out" 2>"$dir/err"
expect_status set_several 1 $?
expect set_several_are_heeded 'btf_path: the file cannot be read' "$dir/err"
kill $running
record --set inputs.ebpf.max_dept=2 -- touch "$dir/ran" >"$dir/out" 2>"$dir/err"
expect_status set_wrong 2 $?
expect set_wrong_is_told 'did you mean "max_depth"?' "$dir/err"
if [ -e "$dir/ran" ]; then not_ok set_wrong_runs_nothing "the command ran"; else ok set_wrong_runs_nothing; fi

# Programs of milliseconds, one after the other, are walked later, by copies of their stacks: at a thousand samples a second, too.
record -F 997 -o "$dir/brief.folded" -- sh -c 'i=0; while [ $i -lt 200 ]; do ls -l /usr/bin >"$0"; i=$((i + 1)); done' "$dir/out" 2>"$dir/err"
expect_status brief 0 $?
awk '{ t += $NF } /^\[truncated: (tables not built yet|return address in no mapping)/ { n += $NF }
	END { printf "%d\n", t ? 100 * n / t : 100 }' "$dir/brief.folded" >"$dir/cut"
if [ "$(cat "$dir/cut")" -le 10 ]; then ok brief_is_whole; else not_ok brief_is_whole "$(cat "$dir/cut") % are cut"; fi

# It ends with the last of them.
samples_below() { samples "$(pgrep -P "$1")"; }
"$dir/chain" 120 >/dev/null 2>&1 &
first=$!
"$dir/chain" 120 >/dev/null 2>&1 &
running=$!
timeout 60 "$decima" record --plugin-path "$plugins" -p $first,$running -o "$dir/ended.folded" 2>"$dir/err" &
recorder=$!
# timeout's child
wait_for 60 samples_below $recorder
sleep 1
kill $first
sleep 1.5
if kill -0 $recorder; then ok one_pid_is_left; else not_ok one_pid_is_left "it has ended: $(cat "$dir/err")"; fi
kill $running
wait $recorder
expect_status pids_end 0 $?
expect pids_end_writes spin "$dir/ended.folded"

# A thread's id is not its process's.
cat >"$dir/thread.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *wait_long(void *arg)
{
	sleep(60);
	return arg;
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, wait_long, NULL);
	sleep(60);
}
END
if ${CC:-cc} -o "$dir/thread" "$dir/thread.c" -pthread; then
	"$dir/thread" &
	running=$!
	has_two() { [ "$(ls "/proc/$running/task" | wc -l)" -eq 2 ]; }
	wait_for 20 has_two
	for tid in "/proc/$running/task"/*; do
		tid=${tid##*/}
		[ "$tid" = $running ] || break
	done
	record -d 1 -p "$tid" >"$dir/out" 2>"$dir/err"
	expect_status by_thread 2 $?
	expect by_thread_names_the_process "$tid is a thread of process $running" "$dir/err"
	kill $running
else
	not_ok by_thread "thread.c does not compile"
fi

# Grandchildren that run before the recorder does.
sh -c "sh -c '$dir/chain 30 & wait' & wait" >/dev/null 2>&1 &
family=$!
wait_for 10 pgrep -f "$dir/chain 30"
record -d 2 -p $family -o "$dir/family.folded" 2>"$dir/err"
expect_status family 0 $?
expect family_is_there spin "$dir/family.folded"
# shellcheck disable=SC2046 # pids are words
kill $(pgrep -f "$dir/chain 30")

# Without rights: the reason, once, and the command does not run.
chmod 755 "$dir"
mkdir "$dir/plugins"
cp "$plugins/input_ebpf.so" "$plugins/storage_memory.so" "$plugins/input_perf_map.so" "$dir/plugins/"
cp "$decima" "$dir/decima"
setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/decima" record --plugin-path "$dir/plugins" \
	-- echo it ran >"$dir/out" 2>&1
expect_status without_rights 1 $?
if [ "$(wc -l <"$dir/out")" -eq 1 ]; then ok without_rights_says_it_once; else not_ok without_rights_says_it_once "$(tr '\n' '|' <"$dir/out")"; fi
expect without_rights_says_why 'give it CAP_BPF' "$dir/out"
