#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/symbols.sh - the names of a program outlive it: over a restart, after SIGKILL, without a daemon, on a full
# disk; and what is kept for that is bounded. Needs root and a C compiler
set -u
# shellcheck source=tests/e2e/lib.sh
. "$top_srcdir/tests/e2e/lib.sh"
need_sampler
for tool in "${CC:-cc}" readelf objcopy; do
	command -v "${tool%% *}" >/dev/null || skip_all "$tool is missing"
done
cd "$dir" || exit 1
data=$dir/data
trap 'daemon_stop; kill "$program" 2>/dev/null; umount "$data/symbols" 2>/dev/null; rm -rf "$dir"' EXIT

# It is gone in the end: its only function is known by what was kept of it.
program=
build() { # NAME
	cat >"$1.c" <<-END
		volatile unsigned long turns;
		__attribute__((noinline)) void only_$1(void) { for (;;) turns++; }
		int main(void) { only_$1(); return 0; }
	END
	${CC:-cc} -O1 -fno-omit-frame-pointer -Wl,--build-id -o "$1" "$1.c" || exit 1
	id=$(readelf -n "$1" | sed -n 's/.*Build ID: //p')
	kept=.build-id/$(echo "$id" | cut -c 1-2)/$(echo "$id" | cut -c 3-)
}
# start [ARGUMENT].., of a daemon that samples
start() { daemon_start --set outputs.file.enabled=false "$@" || not_ok daemon "$(tail -n 1 log)"; }
stacks() { "$decima" query stacks "$cpu{comm=\"$1\"}" --from now-30m "$2" "$3" >stacks 2>err; }
# Somebody asks, and sees that function.
named() { stacks "$@" && grep -q "only_$1" stacks; }
# verdict NAME PROGRAM QUERY-ARGUMENT..
verdict() {
	if wait_for 60 named "$2" "$3" "$4"; then ok "$1"; else not_ok "$1" "$(head -c 200 stacks err | tr '\n' '|')"; fi
}
is_kept() { [ -e "$data/symbols/$kept.$1" ]; }

# --- deleted, and the daemon starts anew
build gone
start
"./gone" &
program=$!
verdict names_of_what_runs gone --url "unix:$dir/sock"
if wait_for 60 is_kept elf; then ok kept; else not_ok kept "$(ls -R data/symbols | head -n 20 | tr '\n' '|')"; fi
kill "$program"
wait "$program" 2>/dev/null
rm gone
daemon_stop
verdict names_without_program_and_daemon gone --data "$dir/data"
start
verdict names_after_a_restart gone --url "unix:$dir/sock"
verdict names_beside_the_daemon gone --data "$dir/data"
ask store stat >stat
expect stat "symbols    " stat

# --- killed while it samples: all that was answered is there, with its names, and sampling goes on
sum() { "$decima" query stacks "$cpu" --from now-30m "$@" 2>err | awk '{ sum += $NF } END { printf "%.0f\n", sum }'; }
more_than() { now=$(sum --url "unix:$dir/sock") && [ "$now" -gt "$1" ]; }
if wait_for 60 more_than "$(sum --url "unix:$dir/sock")"; then ok samples_before_the_kill; else not_ok samples_before_the_kill "$(head -n 1 err)"; fi
sleep 1 # what was answered just now may not have been acknowledged
kill -9 "$daemon"
wait "$daemon" 2>/dev/null
daemon=
left=$(sum --data "$dir/data")
if [ "$left" -ge "$now" ]; then ok samples_after_the_kill; else not_ok samples_after_the_kill "$left of $now ns are there"; fi
verdict names_after_the_kill gone --data "$dir/data"
start
verdict names_after_the_next_start gone --url "unix:$dir/sock"
if wait_for 60 more_than "$left"; then ok samples_go_on; else not_ok samples_go_on "$(head -n 1 err)"; fi
daemon_stop

# --- what is too much goes, and the names with it
start --set symbols.max_bytes=4KiB
is_gone() { ! is_kept elf; }
if wait_for 60 is_gone; then ok bounded; else not_ok bounded "$(du -s data/symbols)"; fi
get /metrics >metrics
if [ "$(sed -n 's/^decima_symbols_store_evicted_total //p' metrics)" -gt 0 ]; then ok evictions_are_counted; else
	not_ok evictions_are_counted "$(grep store metrics | head -n 3)"
fi
daemon_stop

# --- a full disk costs no name, and is counted
mount -t tmpfs -o size=4k none "$data/symbols" 2>/dev/null || { skip full_disk "tmpfs cannot be mounted"; exit 0; }
build full
start
"./full" &
program=$!
verdict names_on_a_full_disk full --url "unix:$dir/sock"
failed() { get /metrics >metrics && [ "$(sed -n 's/^decima_symbols_store_failed_total //p' metrics)" -gt 0 ]; }
if wait_for 60 failed; then ok full_disk_is_counted; else not_ok full_disk_is_counted "$(grep store metrics | head -n 3)"; fi
kill "$program"
wait "$program" 2>/dev/null
daemon_stop
