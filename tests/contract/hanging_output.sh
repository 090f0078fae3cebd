#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/contract/hanging_output.sh - a daemon with an output that never returns: everybody else goes on
set -u
dir=$(mktemp -d) || exit 1
pid=
trap '[ -n "$pid" ] && kill -9 $pid 2>/dev/null; rm -rf "$dir"' EXIT
for file in decima plugins/.libs/storage_memory.so plugins/.libs/output_file.so plugins/.libs/input_example.so; do
	[ -e "$top_builddir/$file" ] || {
		echo "skip hanging_output: $file is not built"
		exit 0
	}
done
# A directory of our own, so that root's trust in it does not depend on where the build is.
mkdir "$dir/plugins"
cp "$top_builddir"/plugins/.libs/*.so "$top_builddir/tests/plugins/.libs/output_testing.so" "$dir/plugins/"
chmod -R go-w "$dir"
# Two runs at once have different process numbers, and so different ports.
port=$((20000 + $$ % 20000))
cat >"$dir/decima.yaml" <<YAML
inputs:
  example: { interval: 20ms }
storage:
  memory: {}
outputs:
  testing: { mode: hang, queue_reserve: 64KiB, queue_max: 128KiB, write_timeout: 100ms }
  file: { directory: $dir/files }
server: { listen: ["127.0.0.1:$port"] }
YAML
"$top_builddir/decima" run -c "$dir/decima.yaml" --data "$dir/data" --plugin-path "$dir/plugins" >"$dir/log" 2>&1 &
pid=$!

# until SECONDS COMMAND..: repeats it until it succeeds
until_ok() {
	left=$(($1 * 10))
	shift
	while ! "$@" >/dev/null 2>&1; do
		left=$((left - 1))
		[ $left -gt 0 ] || return 1
		sleep 0.1
	done
}
# result NAME STATUS WHY
result() { if [ "$2" -eq 0 ]; then echo "ok $1"; else echo "not ok $1: $3; $(tail -n 1 "$dir/log")"; fi; }

until_ok 20 grep -q 'is ready at' "$dir/log"
result starts $? "it did not say that it is ready"
url=http://127.0.0.1:$port

until_ok 20 grep -q 'testing: lost .*queue_full' "$dir/log"
result its_queue_fills_and_drops $? "nothing was said to be lost"

files() { [ "$(find "$dir/files" -name '*.pb.gz' | wc -l)" -ge "$1" ]; }
before=$(find "$dir/files" -name '*.pb.gz' | wc -l)
until_ok 20 files $((before + 50))
result the_other_output_goes_on $? "it stopped at $before files"

profiles() { "$top_builddir/decima" query types --url "$url" 2>/dev/null | awk 'NR == 2 { print $2 }'; }
grown() { [ "$(profiles)" -gt "$1" ]; }
n=$(profiles)
until_ok 20 grown "$((${n:-0} + 20))"
result the_storage_goes_on $? "it stopped at ${n:-no} profiles"

kill -TERM $pid
ended() { ! kill -0 $pid; }
until_ok 40 ended
result it_ends_all_the_same $? "it still runs 40 s after SIGTERM"
wait $pid 2>/dev/null
pid=
grep -q 'testing: .*did not come back' "$dir/log"
result the_log_says_who $? "no word about the plugin that hangs"
! grep -E '(file|memory|example): lost' "$dir/log" >/dev/null
result nobody_else_lost_anything $? "$(grep -E -m 1 '(file|memory|example): lost' "$dir/log")"
