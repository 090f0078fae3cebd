#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/store_away.sh - directories of the local store go away and come back, and its files can only be read for a
# while, under a daemon: it says so, answers what it can, and goes on by itself
#
# A directory that is renamed away stays away until it is renamed back: one made in its place would keep it out.
#
# takes at most 900 s
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/lib/ledger.sh"
trap 'daemon_stop; umounts; rm -rf "$dir"' EXIT
umounts() {
	umount -l "$dir/read_only/wal" "$dir/read_only/eras" "$dir/read_only/blocks" 2>/dev/null
	while umount -l "$dir/ext4" 2>/dev/null; do :; done
}

refusing() { get /metrics | grep -q "^decima_storage_refusing{instance=\"local\"} $1\$"; }
state() { get /api/v1/pipeline | tr '{' '\n' | grep '"name":"local"'; }
said() { state | grep -q "$1"; }
has_block() { find "$store/blocks" -name '*.blk' | grep -q .; }
n_lost() { get /metrics | awk '/^decima_dropped_total[{]/ { n += $NF } END { print n + 0 }'; }

# begin NAME [STORE]: a store with blocks, and a log that is written to
begin() {
	config "$dir/books_$1" "${2:-$dir/$1}"
	start
	write_some "$1.writes"
	wait_for 60 has_block || not_ok "$1.sealed" "no block in $store"
	n_lost_before=$(n_lost)
}
# degraded NAME TEXT: it says so where people look, with the store's directory in it
degraded() {
	if wait_for 60 said "\"state\":\"degraded\".*$store: .*$2"; then ok "$1.state"; else not_ok "$1.state" "$(state)"; fi
	logged() { grep -q "$store: .*$1" "$dir/log"; }
	if wait_for 60 logged "$2"; then ok "$1.log"; else not_ok "$1.log" "$(tail -n 1 "$dir/log")"; fi
}
# remedied NAME TEXT: each sentence of its log that has this says what to do
remedied() {
	if grep "$2" "$dir/log" | grep -v 'goes on in a new segment' | grep -v 'look at its disk, and mount it for writing' >"$dir/verdict"; then
		not_ok "$1.each_says_what_to_do" "$(head -n 1 "$dir/verdict")"
	else
		ok "$1.each_says_what_to_do"
	fi
}
# No more than what was under way is acknowledged while it refuses.
refuses() {
	if wait_for 60 refusing 1; then ok "$1.metric"; else not_ok "$1.metric" "$(get /metrics | grep storage_)"; fi
	before=$(n_acknowledged)
	emitted=$(wc -l <"$books/emitted")
	balanced "$1.answers" --url "unix:$dir/sock"
	emits() { [ "$(wc -l <"$books/emitted")" -gt $((emitted + 50)) ]; }
	wait_for 60 emits || not_ok "$1.emits" "the input stands"
	if [ "$(n_acknowledged)" -eq "$before" ]; then ok "$1.nothing_is_acknowledged"; else
		not_ok "$1.nothing_is_acknowledged" "$(n_acknowledged) and not $before"
	fi
}
# gaps_are_told NAME: the answer has all that was acknowledged, or says what it lacks
gaps_are_told() {
	lacks --url "unix:$dir/sock" >"$dir/verdict"
	if [ ! -s "$dir/verdict" ] || grep -q 'left out of the answer: ' "$dir/err"; then ok "$1.gaps_are_told"; else
		not_ok "$1.gaps_are_told" "$(head -n 1 "$dir/verdict")"
	fi
}
# recovered NAME: without a restart, with all that was acknowledged and all that waited, and for those who come later
recovered() {
	emitted=$(tail -n 1 "$books/emitted")
	if wait_for 60 said '"state":"ok"'; then ok "$1.recovers"; else not_ok "$1.recovers" "$(state)"; fi
	if wait_for 60 refusing 0; then ok "$1.accepts"; else not_ok "$1.accepts" "$(get /metrics | grep storage_)"; fi
	write_some "$1.writes_again"
	caught_up() { awk -v last="$emitted" '$1 > last { found = 1 } END { exit !found }' "$books/acknowledged"; }
	wait_for 60 caught_up || not_ok "$1.catches_up" "profile $emitted and those after it are not acknowledged"
	n_lost_after=$(n_lost)
	if [ "$n_lost_after" = "$n_lost_before" ]; then
		awk -v last="$emitted" 'FILENAME ~ /acknowledged$/ { there[$1] = 1; next } $1 <= last && !($1 in there) { n++ }
			END { if (n) print n " profiles are neither acknowledged nor counted as lost" }' \
			"$books/acknowledged" "$books/emitted" >"$dir/verdict"
		if [ -s "$dir/verdict" ]; then not_ok "$1.nothing_is_lost" "$(cat "$dir/verdict")"; else ok "$1.nothing_is_lost"; fi
	else
		not_ok "$1.nothing_is_lost" "$n_lost_before were lost before, now $n_lost_after: $(get /metrics | grep '^decima_dropped_total' | tr '\n' '|')"
	fi
	balanced "$1.answers_all" --url "unix:$dir/sock"
	ask store check >"$dir/answer" 2>&1
	expect_status "$1.is_sound" 0 $?
	daemon_stop
	start
	balanced "$1.restarts" --url "unix:$dir/sock"
	ask store check >"$dir/answer" 2>&1
	expect_status "$1.is_sound_after" 0 $?
	daemon_stop
}

# --- the log's directory: nothing is acknowledged that would be in no log
begin wal
mv "$store/wal" "$store/wal.away"
degraded wal 'wal/ has gone; bring it back'
refuses wal
mv -T "$store/wal.away" "$store/wal" || not_ok wal.comes_back "$(ls "$store" "$store/wal")"
recovered wal

# --- that of blocks and that of dictionaries: what comes waits in the log
for gone in blocks eras; do
	begin $gone
	mv "$store/$gone" "$store/$gone.away"
	degraded $gone "$gone/ has gone; bring it back"
	write_some $gone.log_takes_more
	gaps_are_told $gone
	mv -T "$store/$gone.away" "$store/$gone" || not_ok $gone.comes_back "$(ls "$store" "$store/$gone")"
	recovered $gone
done

# --- the same, and the daemon is killed meanwhile
begin killed
for gone in wal blocks eras; do
	mv "$store/$gone" "$store/$gone.away"
	wait_for 60 said '"state":"degraded"' || not_ok killed.says_so "$(state)"
	kill -9 "$daemon"
	wait "$daemon" 2>/dev/null
	daemon=
	mv -T "$store/$gone.away" "$store/$gone"
	balanced "killed.without_$gone" --data "$store"
	start
done
balanced killed.restarts --url "unix:$dir/sock"
daemon_stop

# --- all of it: a store that is renamed goes on where it is
begin moved
mv "$store" "$dir/elsewhere"
write_some moved.writes_on
balanced moved.answers --url "unix:$dir/sock"
mv "$dir/elsewhere" "$store"
recovered moved

# --- its directories turn read-only, and back: their mounts do, under files that are open
begin read_only
turn_read_only() {
	for d in wal blocks eras; do
		mount --bind "$store/$d" "$store/$d" && mount -o remount,bind,ro "$store/$d" || return
	done
}
if turn_read_only 2>"$dir/err"; then
	refuses read_only
	degraded read_only 'Read-only file system; look at its disk'
	remedied read_only 'Read-only file system'
	for d in wal blocks eras; do umount -l "$store/$d"; done
	recovered read_only
else
	skip read_only "no directory can be mounted read-only: $(head -n 1 "$dir/err")"
	daemon_stop
fi

# --- the whole file system, as ext4 leaves it after an error of its disk: until somebody mounts it anew
# fdatasync() says that all is well then, and what went to room that was only allocated is gone: core/disk/wal.c.
mkdir "$dir/ext4"
if ! command -v mkfs.ext4 >/dev/null; then
	skip ext4 "mkfs.ext4 is missing"
elif mkfs.ext4 -q -F "$dir/disk" 256M >"$dir/err" 2>&1 && mount -o loop "$dir/disk" "$dir/ext4" 2>"$dir/err"; then
	begin ext4 "$dir/ext4/store"
	mount -o remount,abort "$dir/ext4" 2>"$dir/err"
	refuses ext4
	degraded ext4 'Read-only file system; look at its disk'
	remedied ext4 'Read-only file system'
	daemon_stop
	balanced ext4.without_daemon --data "$store"
	umount "$dir/ext4" || not_ok ext4.unmounted "exit status $?"
	if mount -o loop "$dir/disk" "$dir/ext4" 2>"$dir/err"; then ok ext4.mounted_anew; else not_ok ext4.mounted_anew "$(cat "$dir/err")"; fi
	start
	write_some ext4.writes_again
	balanced ext4.restarts --url "unix:$dir/sock"
	ask store check >"$dir/answer" 2>&1
	expect_status ext4.is_sound 0 $?
	daemon_stop
else
	skip ext4 "no ext4 can be mounted from a file: $(head -n 1 "$dir/err")"
fi
