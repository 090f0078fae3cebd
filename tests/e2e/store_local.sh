#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/store_local.sh - the local store in a daemon: what it acknowledged is there after restarts, SIGKILL, a full disk
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/lib/ledger.sh"
small=$dir/small
trap 'daemon_stop; umount "$small" 2>/dev/null; rm -rf "$dir"' EXIT

# --- a restart
config "$dir/books" "$dir/store"
start
write_some writes
balanced answers --url "unix:$dir/sock"
balanced answers_without_the_daemon --data "$dir/store"
daemon_stop
expect_status ends 0 "$daemon_status"
balanced answers_when_it_has_gone --data "$dir/store"
start
balanced answers_after_a_restart --url "unix:$dir/sock"

# --- a diff of two ranges that are over: the daemon's and the directory's are one
# All of the above may have been within this second, of which nothing is asked for.
sleep 1
now=$(date +%s)
write_some diff
# diff_of ARGUMENT..
diff_of() {
	"$decima" query diff "$selector" "$selector" --a-from 0 --a-to "$((now - 1))" --b-from "$((now - 1))" \
		--b-to "$now" --format json "$@" 2>"$dir/err"
}
for report in tree functions; do
	diff_of --report $report --url "unix:$dir/sock" >"$dir/a"
	diff_of --report $report --data "$dir/store" >"$dir/b"
	if grep -q '"by":"rate"' "$dir/a" && cmp -s "$dir/a" "$dir/b"; then ok "diff_is_the_same_$report"; else
		not_ok "diff_is_the_same_$report" "$(head -c 200 "$dir/err" "$dir/a" | tr '\n' '|')"
	fi
done

# --- a second daemon is told who has it
mkdir "$dir/books2"
sed "s|$dir/books |$dir/books2 |" "$dir/decima.yaml" >"$dir/second.yaml"
"$decima" run --plugin-path "$plugins" --data "$dir/data2" --listen "unix:$dir/sock2" -c "$dir/second.yaml" >"$dir/log2" 2>&1 &
second=$!
if wait_for 60 grep -q "process $daemon has this store open" "$dir/log2"; then ok second_daemon_is_refused; else
	not_ok second_daemon_is_refused "$(tail -n 1 "$dir/log2")"
fi
kill "$second"
wait "$second"
write_some first_daemon_goes_on
balanced first_daemon_is_unharmed --url "unix:$dir/sock"

# --- checked, copied and restored, by the daemon and beside it: a log, and blocks too
has_block() { find "$dir/store/blocks" -name '*.blk' | grep -q .; }
wait_for 60 has_block || not_ok sealed "no block in $dir/store"
ask store check >"$dir/answer" 2>&1
expect_status check 0 $?
"$decima" store check "$dir/store" >"$dir/answer" 2>&1
expect_status check_beside_it 0 $?

# Ctrl-C that waits for it, as one that comes at its beginning
cat >"$dir/interrupted.py" <<'END'
import os, signal, sys

signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
os.kill(os.getpid(), signal.SIGINT)
os.execv(sys.argv[1], sys.argv[1:])
END
if command -v python3 >/dev/null; then
	python3 "$dir/interrupted.py" "$decima" store check "$dir/store" >"$dir/answer" 2>&1
	expect_status check_is_ended 1 $?
	expect check_says_how_far 'decima store check: it was ended when 0 of ' "$dir/answer"
	python3 "$dir/interrupted.py" "$decima" store check "$dir/store" --format json >"$dir/answer" 2>"$dir/err"
	expect check_has_no_verdict '"sound":null}' "$dir/answer"
else
	skip check_is_ended "python3 is missing"
fi
ask store backup "$dir/backup" 2>"$dir/err"
expect_status backup 0 $?
if [ -e "$dir/backup/symbols/LOCK" ]; then ok backup_has_symbols; else not_ok backup_has_symbols "$(ls "$dir/backup")"; fi
"$decima" store backup "$dir/copy" --data "$dir/store" 2>"$dir/err"
expect_status backup_beside_it 0 $?
"$decima" store restore "$dir/copy" "$dir/restored" 2>"$dir/err"
expect_status restore 0 $?
cp "$books/acknowledged" "$dir/now"
ask store stat >"$dir/answer"
expect stat "place      $dir/store" "$dir/answer"
expect stat_keeps 'keeps      15d, at most ' "$dir/answer"
# size_of DIRECTORY..: of the files in them, as the file system says; the store's own, without the symbols beside them
size_of() { find "$@" -path '*/symbols' -prune -o -type f -printf '%s\n' | awk '{ n += $1 } END { print n + 0 }'; }
# tells_sizes ARGUMENT..: by kind, as they are on the disk
tells_sizes() {
	want="$(size_of "$store") $(size_of "$store/blocks") $(size_of "$store/eras") $(size_of "$store/wal")"
	told=$("$decima" store stat --format json "$@" |
		sed -n 's/.*"disk_bytes":\([0-9]*\),"block_bytes":\([0-9]*\),"dictionary_bytes":\([0-9]*\),"log_bytes":\([0-9]*\).*/\1 \2 \3 \4/p')
	[ "$told" = "$want" ]
}
# What was acknowledged when the copies were made is a part of what they may have: nothing is written meanwhile.
daemon_stop
if tells_sizes "$dir/store"; then ok sizes_without_the_daemon; else not_ok sizes_without_the_daemon "$told and not $want"; fi
"$decima" store stat "$dir/store" >"$dir/answer"
if grep -q keeps "$dir/answer"; then not_ok stat_without_the_daemon "$(grep keeps "$dir/answer")"; else ok stat_without_the_daemon; fi
if grep -q '^size .*: blocks .*, dictionaries .*, log ' "$dir/answer"; then ok sizes_by_kind; else not_ok sizes_by_kind "$(cat "$dir/answer")"; fi
"$decima" store backup "$dir/last" --data "$dir/store" 2>"$dir/err"
balanced a_copy_has_all --data "$dir/last"
"$decima" query stacks "$selector" --from 0 --data "$dir/copy" 2>/dev/null | sort >"$dir/a"
"$decima" query stacks "$selector" --from 0 --data "$dir/restored" 2>/dev/null | sort >"$dir/b"
if [ -s "$dir/a" ] && cmp -s "$dir/a" "$dir/b"; then ok restored_is_the_same; else not_ok restored_is_the_same "$(diff "$dir/a" "$dir/b" | head -n 1)"; fi

# --- a damaged block: the rest is answered, and the answer says what it lacks, for people, programs and beside files
cp -r "$dir/last" "$dir/damaged"
block=$(find "$dir/damaged/blocks" -name '*.blk' | sort | head -n 1)
truncate -s -1 "$block"
block=blocks/${block##*/}

# damaged NAME TEXT FILE ARGUMENT..: the question's answer, or its standard error, says so
damaged() {
	name=$1 text=$2 file=$3
	shift 3
	"$decima" query "$@" --data "$dir/damaged" >"$dir/answer" 2>"$dir/err"
	expect "damage_$name" "$text" "$file"
}
damaged top "left out: $block" "$dir/answer" top "$selector" --from 0
damaged flame "left out: $block" "$dir/answer" flame "$selector" --from 0
damaged diff "left out: $block" "$dir/answer" diff "$selector" "$selector" --from 0
damaged series "left out: $block" "$dir/answer" series "$selector" --from now-1h
damaged types "left out: $block" "$dir/answer" types
damaged json "\"left_out\":[{\"what\":\"$block\"" "$dir/answer" top "$selector" --from 0 --format json
damaged beside_json "left out of the answer: $block" "$dir/err" top "$selector" --from 0 --format json
damaged beside_stacks "left out of the answer: $block" "$dir/err" stacks "$selector" --from 0
damaged beside_pprof "left out of the answer: $block" "$dir/err" pprof "$selector" --from 0 -o "$dir/pprof"
"$decima" query types --from 2001-01-01T00:00:00Z --to 2001-01-02T00:00:00Z --data "$dir/damaged" >"$dir/answer" 2>&1
if grep -q "left out" "$dir/answer"; then not_ok no_damage_elsewhere "$(grep "left out" "$dir/answer")"; else ok no_damage_elsewhere; fi

# --- a damaged dictionary: what the blocks refer to
rm -rf "$dir/damaged"
cp -r "$dir/last" "$dir/damaged"
era=$(find "$dir/damaged/eras" -name '*.log' | sort | head -n 1)
printf '\377\377\377\377' | dd of="$era" bs=1 seek=120 conv=notrunc 2>/dev/null
era=eras/${era##*/}
damaged dictionary_top "left out: $era" "$dir/answer" top "$selector" --from 0
damaged dictionary_flame "left out: $era" "$dir/answer" flame "$selector" --from 0
damaged dictionary_diff "left out: $era" "$dir/answer" diff "$selector" "$selector" --from 0
damaged dictionary_series "left out: $era" "$dir/answer" series "$selector" --from now-1h
damaged dictionary_types "left out: $era" "$dir/answer" types
if grep -q '::::' "$dir/answer"; then not_ok dictionary_lists_no_lost_type "$(grep '::::' "$dir/answer")"; else ok dictionary_lists_no_lost_type; fi
damaged dictionary_json "\"left_out\":[{\"what\":\"$era\"" "$dir/answer" top "$selector" --from 0 --format json
damaged dictionary_beside_stacks "left out of the answer: $era" "$dir/err" stacks "$selector" --from 0
"$decima" store check "$dir/damaged" >"$dir/answer" 2>&1
expect dictionary_check "$era is damaged" "$dir/answer"

# --- without its manifest nothing is answered, and the sentence says which file of which store is meant
rm -rf "$dir/damaged/MANIFEST"
mkdir "$dir/damaged/MANIFEST"
"$decima" store check "$dir/damaged" >"$dir/answer" 2>&1
expect_status manifest_is_checked 1 $?
expect manifest_has_its_place "$dir/damaged: MANIFEST: cannot read: Is a directory" "$dir/answer"

# --- all that is on the disk is told, by kind, by the daemon too: while the input waits nothing changes
sed 's/books,/books, interval: 1h,/; s/directory: \([^ ]*\) }/directory: \1, interval: 1h }/' "$dir/decima.yaml" >"$dir/still.yaml"
daemon_start -c "$dir/still.yaml" || not_ok still "$(tail -n 1 "$dir/log")"
if wait_for 60 tells_sizes --url "unix:$dir/sock"; then ok sizes_of_the_daemon; else not_ok sizes_of_the_daemon "$told and not $want"; fi
daemon_stop

# --- SIGKILL at many moments
for round in 1 2 3 4 5 6 7 8; do
	start
	write_some "kill_$round"
	sleep "0.$round"
	kill -9 "$daemon"
	wait "$daemon" 2>/dev/null
	daemon=
done
balanced killed_without_a_daemon --data "$dir/store"

# --- without the files of its log: what was acknowledged is there, or answers and the check say what is not
rm -rf "$dir/damaged"
cp -r "$dir/store" "$dir/damaged"
rm -f "$dir/damaged"/wal/*.wal
"$decima" query stacks "$selector" --from 0 --data "$dir/damaged" >"$dir/stacks" 2>"$dir/err"
if awk 'FILENAME ~ /stacks$/ { there[substr($1, 2)] = 1; next } !($1 in there) { n++ } END { exit n > 0 }' \
	"$dir/stacks" "$books/acknowledged"; then ok nothing_was_in_the_log; else
	damaged log_top "left out: wal" "$dir/answer" top "$selector" --from 0
	damaged log_json '"left_out":[{"what":"wal"' "$dir/answer" top "$selector" --from 0 --format json
	damaged log_beside_stacks "left out of the answer: wal" "$dir/err" stacks "$selector" --from 0
	"$decima" store check "$dir/damaged" >"$dir/answer" 2>&1
	expect_status log_is_checked 1 $?
	expect log_check 'that were acknowledged cannot be read' "$dir/answer"
fi
start
balanced killed --url "unix:$dir/sock"
ask store check >"$dir/answer" 2>&1
expect_status killed_is_sound 0 $?
daemon_stop

# --- removed for good: what was there is in no answer any more, what came after is, also after a restart
config "$dir/books4" "$dir/store4"
start
write_some removal.writes
ask store remove "$selector" --to now 2>"$dir/err"
expect_status removal.takes_a_range 2 $?
"$decima" store remove "$selector" --from 0 --to now --data "$dir/store4" 2>"$dir/err"
expect_status removal.takes_a_daemon 1 $?
expect removal.says_so 'this store is only read here' "$dir/err"
cp "$books/acknowledged" "$dir/gone"
ask store remove '{service_name=~".+"}' --from 0 --to now >"$dir/answer"
expect_status removal 0 $?
expect removal.counts 'profiles lost what matched' "$dir/answer"
cp "$books/emitted" "$dir/maybe_gone"

# removed NAME ARGUMENT..: none of what is gone, and all that was acknowledged later
removed() {
	name=$1
	shift
	cp "$books/acknowledged" "$dir/must"
	"$decima" query stacks "$selector" --from 0 "$@" >"$dir/stacks" 2>"$dir/err"
	awk '
		FILENAME ~ /maybe_gone$/ { old[$1] = 1; next }
		FILENAME ~ /gone$/ { gone[$1] = 1; next }
		FILENAME ~ /stacks$/ { there[substr($1, 2)] = 1; next }
		{ if (!($1 in old)) { later++; if (!($1 in there)) missing++ } }
		END {
			for (n in gone) if (n in there) back++
			if (back) print back " that were removed are there"
			else if (missing) print missing " of " later " that came later are missing"
			else if (later < 50) print "only " later + 0 " came later"
		}
	' "$dir/maybe_gone" "$dir/gone" "$dir/stacks" "$dir/must" >"$dir/verdict"
	if [ -s "$dir/verdict" ]; then not_ok "$name" "$(head -n 1 "$dir/verdict")"; else ok "$name"; fi
}
write_some removal.writes_on
removed removal.is_in_no_answer --url "unix:$dir/sock"
removed removal.nor_beside_the_daemon --data "$dir/store4"
daemon_stop
start
removed removal.nor_after_a_restart --url "unix:$dir/sock"
daemon_stop

# --- the directory that nobody named
daemon_start --set inputs.ebpf.enabled=false --set inputs.perf_map.enabled=false || not_ok default "$(tail -n 1 "$dir/log")"
if [ "$(stat -c %a "$dir/data/local")" = 700 ]; then ok default_directory; else not_ok default_directory "$(ls -ld "$dir/data"/*)"; fi
daemon_stop

# --- a full disk: refused, said, answered, and all well when there is room again
mkdir "$small"
if ! mount -t tmpfs -o size=160m none "$small" 2>"$dir/err"; then
	skip full_disk "no tmpfs can be mounted: $(head -n 1 "$dir/err")"
	exit 0
fi
config "$dir/books3" "$small/store"
start
write_some full_disk.writes
refusing() { get /metrics | grep -q "^decima_storage_refusing{instance=\"local\"} $1\$"; }
# All of the room, also what became free meanwhile.
fills() {
	dd if=/dev/zero bs=4k >>"$small/filler" 2>/dev/null
	refusing 1
}
if wait_for 60 fills; then ok full_disk.metric; else not_ok full_disk.metric "$(get /metrics | grep storage_)"; fi
state() { get /api/v1/pipeline | tr '{' '\n' | grep '"name":"local"'; }
said() { state | grep -q "$1"; }
full="No space left on device; make room on its file system"
if wait_for 60 said "\"state\":\"degraded\".*$small/store: .*$full"; then ok full_disk.state; else not_ok full_disk.state "$(state)"; fi
ask store backup "$small/backup" 2>"$dir/err"
expect_status full_disk.no_backup 1 $?
expect full_disk.backup_says_what_to_do "$full" "$dir/err"
before=$(n_acknowledged)
balanced full_disk.answers --url "unix:$dir/sock"
balanced full_disk.answers_without_the_daemon --data "$small/store"
sleep 2
if [ "$(n_acknowledged)" -eq "$before" ]; then ok full_disk.nothing_is_acknowledged; else
	not_ok full_disk.nothing_is_acknowledged "$(n_acknowledged) and not $before"
fi
rm "$small/filler"
if wait_for 60 refusing 0; then ok full_disk.recovers; else not_ok full_disk.recovers "$(tail -n 1 "$dir/log")"; fi
write_some full_disk.writes_again
balanced full_disk.lost_nothing --url "unix:$dir/sock"
if wait_for 60 said '"state":"ok"'; then ok full_disk.state_is_well; else not_ok full_disk.state_is_well "$(state)"; fi
daemon_stop
start
balanced full_disk.restarts --url "unix:$dir/sock"
daemon_stop
