#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/contract/hanging_plugins.sh - an output whose write never returns, a storage whose questions never do:
# everybody else goes on, a reload takes them off one by one, and the end comes all the same
set -u
. "$top_srcdir/tests/lib/built.sh"
take_plugins storage_memory output_file input_example
install -m 755 "$top_builddir/tests/plugins/.libs/output_testing.so" "$top_builddir/tests/plugins/.libs/storage_minimal.so" \
	"$dir/plugins/"
url=http://127.0.0.1:$port

# start CONFIGURATION: a daemon, in $pid
start() {
	printf '%s\nserver: { listen: ["127.0.0.1:%s"] }\n' "$1" $port >"$dir/decima.yaml"
	# At once: who looks for a line below must not find that of the daemon before.
	: >"$dir/log"
	"$top_builddir/decima" run -c "$dir/decima.yaml" --data "$dir/data" --plugin-path "$dir/plugins" \
		>"$dir/log" 2>&1 &
	pid=$!
}

# result NAME STATUS WHY
result() { if [ "$2" -eq 0 ]; then echo "ok $1"; else echo "not ok $1: $3; $(tail -n 1 "$dir/log")"; fi; }

ended() { ! kill -0 $pid; }

# --- an output that hangs in write()
start "inputs:
  example: { interval: 20ms }
storage:
  memory: {}
outputs:
  testing: { mode: hang, queue_reserve: 64KiB, queue_max: 128KiB, write_timeout: 100ms }
  file: { directory: $dir/files }"
wait_for 20 grep -q 'is ready at' "$dir/log"
result starts $? "it did not say that it is ready"

wait_for 20 grep -q 'testing: lost .*queue_full' "$dir/log"
result its_queue_fills_and_drops $? "nothing was said to be lost"

files() { [ "$(find "$dir/files" -name '*.pb.gz' | wc -l)" -ge "$1" ]; }
before=$(find "$dir/files" -name '*.pb.gz' | wc -l)
wait_for 20 files $((before + 50))
result the_other_output_goes_on $? "it stopped at $before files"

profiles() { "$top_builddir/decima" query types --url "$url" 2>/dev/null | awk 'NR == 2 { print $2 }'; }
grown() { [ "$(profiles)" -gt "$1" ]; }
n=$(profiles)
wait_for 20 grown "$((${n:-0} + 20))"
result the_storage_goes_on $? "it stopped at ${n:-no} profiles"

kill -TERM $pid
wait_for 40 ended
result it_ends_all_the_same $? "it still runs 40 s after SIGTERM"
wait $pid 2>/dev/null
pid=
grep -q 'testing: .*did not come back' "$dir/log"
result the_log_says_who $? "no word about the plugin that hangs"
! grep -E '(file|memory|example): lost' "$dir/log" >/dev/null
result nobody_else_lost_anything $? "$(grep -E -m 1 '(file|memory|example): lost' "$dir/log")"

# --- a reload that takes off an output that hangs, and after it those that do not
# they_go DRAIN_TIMEOUT [FILE]: with the line of another output
they_go() {
	start "inputs:
  example: { interval: 20ms }
storage:
  memory: {}
outputs:
  testing: { mode: hang, queue_reserve: 64KiB, queue_max: 128KiB, write_timeout: 100ms }
${2:-}
pipeline: { drain_timeout: $1 }"
	wait_for 20 grep -q 'testing: lost .*queue_full' "$dir/log"
	sed -i -e '/example/d' -e '/testing/d' -e '/file/d' -e '/^outputs/d' -e '/^inputs/d' "$dir/decima.yaml"
	kill -HUP $pid
	wait_for 40 grep -q 'config: reloaded' "$dir/log"
	result "a_reload_goes_through_$1" $? "nothing was reloaded"
	grep -q 'testing: .*did not come back' "$dir/log"
	result "it_says_who_hangs_$1" $? "no word about the plugin that hangs"
	! grep -E '(file|example|memory): .*(did not come back|failed)' "$dir/log" >/dev/null
	result "nobody_else_is_given_up_$1" $? "somebody was"
	kill -TERM $pid
	wait_for 40 ended
	result "it_ends_after_$1" $? "it still runs 40 s after SIGTERM"
	wait $pid 2>/dev/null
	status=$?
	pid=
	[ $status -eq 0 ]
	result "it_ends_well_after_$1" $? "status $status"
}
they_go 5s "  file: { directory: $dir/files }"
! grep -E '(file|memory|example): lost' "$dir/log" >/dev/null
result nobody_else_lost_anything_by_it $? "somebody did"
they_go 0

# --- a storage that hangs in merge(), while a question waits for it
start 'inputs:
  example: { interval: 20ms }
storage:
  minimal: { hang: true }
pipeline: { drain_timeout: 3s }'
wait_for 20 grep -q 'is ready at' "$dir/log"
"$top_builddir/decima" query top 'example:samples:count:::delta' --url "$url" >"$dir/top" 2>&1 &
asker=$!
wait_for 20 grep -q 'merge hangs' "$dir/log"
result a_question_hangs $? "it never reached merge()"
"$top_builddir/decima" query types --url "$url" >/dev/null 2>&1
result others_are_answered $? "the list of types was not"
kill -TERM $pid
wait_for 40 ended
result it_ends_with_a_question_inside $? "it still runs 40 s after SIGTERM"
wait $pid 2>/dev/null
status=$?
pid=
[ $status -eq 0 ]
result it_ends_well $? "status $status"
grep -q 'minimal: .*did not come back from a question' "$dir/log"
result the_log_names_the_storage $? "no word about the storage that hangs"
grep -q 'a request to /api/v1/.* has not come back' "$dir/log"
result the_log_names_the_question $? "no word about the question"
wait_for 20 eval '! kill -0 $asker'
result the_asker_is_told $? "the client still waits"
wait $asker 2>/dev/null || : # it was told with an error
