#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/store_kills.sh - SIGKILL while the local store compacts, is copied, and removes, and while programs push: nothing
# that was promised is lost, there twice, or back again
#
# Most profiles come hours late, into times whose blocks are compacted in the first rounds of each life.
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/lib/ledger.sh"

config "$dir/books" "$dir/store" 'late: 3h'
copy=$dir/copy

killed() {
	kill -9 "$daemon"
	wait "$daemon" 2>/dev/null
	daemon=
}
# owes FILE NAME ARGUMENT..: as balanced, when only these numbers are to be there
owes() {
	mkdir -p "$dir/owed"
	cp "$books/emitted" "$dir/owed/emitted"
	cp "$1" "$dir/owed/acknowledged"
	shift
	books=$dir/owed
	balanced "$@"
	books=$dir/books
}

# soon COMMAND..: until it succeeds; wait_for() looks too rarely. Who has found nothing to compact looks again after a
# minute.
soon() {
	end=$(($(date +%s) + 90))
	until "$@"; do
		[ "$(date +%s)" -lt $end ] || return
	done
}

# --- while it compacts: blocks are written (by a seal, it may be), or have just become one
blocks() { find "$store/blocks" -name "*.$1" 2>/dev/null | wc -l; }
is_written() { [ "$(blocks tmp)" -gt 0 ]; }
are_fewer() {
	before=$most
	most=$(blocks blk)
	[ "$most" -lt "$before" ]
}
has_blocks() { [ "$(blocks blk)" -gt 0 ]; }
# A first seal is left whole, so that each life finds two blocks of one time in its first round.
start
write_some compaction.begins
wait_for 60 has_blocks || not_ok compaction.begins "nothing was sealed"
daemon_stop
for moment in is_written are_fewer is_written are_fewer is_written are_fewer; do
	start
	write_some compaction.writes
	most=0
	sleep 0.5 # what is written until then is sealed
	soon $moment || not_ok "compaction.$moment" "nothing was compacted: $(ls "$store/blocks")"
	killed
done
balanced compaction.lost_nothing --data "$store"

# --- while it is copied: what was promised is whole; what was not is that, or no store
there() { [ -e "$1" ] || ! kill -0 "$asker" 2>/dev/null; }
for moment in "$copy" "$copy/blocks" "$copy/MANIFEST"; do
	at=backup.killed_at_${moment##*/}
	start
	write_some "$at"
	cp "$books/acknowledged" "$dir/then"
	ask store backup "$copy" >"$dir/answer" 2>&1 &
	asker=$!
	soon there "$moment"
	killed
	wait $asker
	promised=$?
	[ -e "$moment" ] || not_ok "$at" "no such moment: $(head -n 1 "$dir/answer")"
	if [ $promised -eq 0 ] || [ -e "$copy/MANIFEST" ]; then
		"$decima" store check "$copy" >"$dir/answer" 2>&1
		expect_status "$at.is_sound" 0 $?
		owes "$dir/then" "$at.has_all" --data "$copy"
	fi
	rm -rf "$copy"
	balanced "$at.lost_nothing" --data "$store"
done

# --- while it removes what is latest, every eighth: all of it goes, or none, and what went does not come back
latest() { "$decima" query stacks "$selector" --from 0 "$@" 2>"$dir/err" | awk '{ n = substr($1, 2) } n % 8 == 7 { print n }'; }
# in_both FILE FILE: how many lines of the one are in the other
in_both() { sort -u "$1" >"$dir/one" && sort -u "$2" | comm -12 "$dir/one" - | wc -l; }
changed() { [ "$(manifest)" != "$before" ]; }
manifest() { stat -c %i "$store/MANIFEST"; }
: >"$dir/gone"
for moment in 0.02 0.03 change another_change; do
	start
	write_some "removal_$moment"
	latest --url "unix:$dir/sock" >"$dir/before"
	before=$(manifest)
	ask store remove '{service_name="ledger"}' --from 0 --to now-20h >"$dir/answer" 2>&1 &
	asker=$!
	# With its manifest it is done, unless that was a seal's.
	case $moment in
	0*) sleep "$moment" ;;
	*) soon changed ;;
	esac
	killed
	wait $asker
	removes=$?
	# What came meanwhile may have gone or not; of what came before there is all or nothing.
	latest --data "$store" >"$dir/after"
	n_left=$(in_both "$dir/before" "$dir/after")
	n_before=$(wc -l <"$dir/before")
	if [ "$n_left" -eq 0 ]; then
		ok "removal.all_or_nothing_$moment"
		cat "$dir/before" >>"$dir/gone"
	elif [ "$n_left" -eq "$n_before" ] && [ $removes -ne 0 ]; then
		ok "removal.all_or_nothing_$moment"
	else
		not_ok "removal.all_or_nothing_$moment" "$n_left of $n_before are there, exit status $removes"
	fi
done
last=$(tail -n 1 "$books/emitted")
start
write_some last
daemon_stop
awk -v last="$last" '$1 % 8 != 7 || $1 > last' "$books/acknowledged" >"$dir/rest"
owes "$dir/rest" removal.lost_nothing_else --data "$store"
latest --data "$store" >"$dir/after"
n_back=$(in_both "$dir/gone" "$dir/after")
if [ "$n_back" -eq 0 ]; then ok removal.is_for_good; else not_ok removal.is_for_good "$n_back are back"; fi
"$decima" store check "$store" >"$dir/answer" 2>&1
expect_status is_sound 0 $?

# --- while programs push by the API: what was answered 200 is there, once, and the rest is whole or not there
if [ ! -e "$installed/input_receive.so" ] || ! command -v curl >/dev/null; then
	skip pushed "built without receive, or curl is missing"
	exit 0
fi
cp "$installed/input_receive.so" "$plugins/"
chmod go-w "$plugins"/*
config "$dir/pushed" "$dir/pushed.store"
sed -i 's/^  ledger: .*/  receive: {}/' "$dir/decima.yaml"
selector=pushed:samples:count:::delta

# push FIRST: this number and each third one, one a request, until there is no answer
push() {
	n=$1
	while echo "$n" >>"$books/emitted" && printf 'f%s %s\n' "$n" $((n % 7 + 1)) | curl -s -f -o /dev/null --unix-socket "$dir/sock" \
		--data-binary @- "http://localhost/api/v1/ingest?name=pushed&time=now&label=n=$((n % 5))"; do
		echo "$n" >>"$books/acknowledged"
		n=$((n + 3))
	done
}
first=1
for round in 1 2 3 4 5 6; do
	start
	before=$(n_acknowledged)
	for i in 0 1 2; do push $((first + i)) & done
	wait_for 60 acknowledged_more_than $((before + 20 * round)) || not_ok pushed.takes "$(tail -n 1 "$dir/log")"
	killed
	wait
	first=$(sort -n "$books/emitted" | awk 'END { print $1 + 3 }')
done
balanced pushed.lost_nothing --data "$store"
start
balanced pushed.restarts --url "unix:$dir/sock"
ask store check >"$dir/answer" 2>&1
expect_status pushed.is_sound 0 $?
daemon_stop
