#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/ebpf_lines.sh - what the sampler sees of a program gets inlined functions, files and lines, from DWARF and
# from separate debuginfo; needs root, g++ and objcopy
set -u
# shellcheck source=tests/e2e/lib.sh
. "$top_srcdir/tests/e2e/lib.sh"
cd "$dir" || exit 1
[ "$(id -u)" -eq 0 ] || { skip ebpf_lines "needs root"; exit 0; }
[ -e "$plugins/input_ebpf.so" ] || { skip ebpf_lines "no input_ebpf.so"; exit 0; }
for tool in g++ objcopy readelf; do
	command -v "$tool" >/dev/null || { skip ebpf_lines "$tool is missing"; exit 0; }
done
g++ -O2 -g -fno-omit-frame-pointer -Wl,--build-id -o lines "$top_srcdir/tests/programs/lines.cc" || exit 1

# record NAME COMMAND...: the folded stacks, until the program has been seen.
record() {
	out=$1.folded
	shift
	"$decima" record --plugin-path "$plugins" -F 199 -o "$out" -- "$@" >record.log 2>&1
}
chain='main;lines_outer;middle;innermost'

record with ./lines 3
if grep -q "$chain" with.folded; then ok lines_inlined; else not_ok lines_inlined "$(head -n 2 with.folded record.log | tr '\n' '|')"; fi

# Lines: the loop of innermost() is on the line that says so.
"$decima" record --plugin-path "$plugins" -F 199 -o lines.speedscope.json -- ./lines 3 >record.log 2>&1
line=$(grep -n 'the loop' "$top_srcdir/tests/programs/lines.cc" | cut -d : -f 1)
if command -v python3 >/dev/null; then
	python3 - "$line" >found <<-'END'
		import json, sys
		frames = json.load(open("lines.speedscope.json"))["shared"]["frames"]
		print([f for f in frames if f["name"].startswith("innermost") and f.get("file", "").endswith("lines.cc")])
	END
	if grep -q innermost found; then ok lines_file; else not_ok lines_file "$(head -c 200 found)"; fi
else
	skip lines_file "python3 is missing"
fi

# Stripped: nothing but addresses, and the daemon says why; with debuginfo in a directory: all of it.
objcopy --only-keep-debug lines lines.debug
objcopy --strip-all lines bare
id=$(readelf -n bare | sed -n 's/.*Build ID: //p')
daemon_start --set outputs.file.enabled=false --set "symbols.debuginfo=[\"$dir/debug\"]" ||
	{ not_ok lines_daemon "$(tail -n 1 "$dir/log")"; exit 1; }
./bare 600 &
program=$!
seen() { ask query flame "$cpu{comm=\"bare\"}" --format json --from now-10m >answer 2>/dev/null && grep -q "$1" answer; }
if wait_for 60 seen "stripped: no debuginfo for build id $id"; then ok lines_reason; else not_ok lines_reason "$(head -c 300 answer)"; fi
daemon_stop
mkdir -p "debug/.build-id/$(echo "$id" | cut -c 1-2)"
cp lines.debug "debug/.build-id/$(echo "$id" | cut -c 1-2)/$(echo "$id" | cut -c 3-).debug"
daemon_start --set outputs.file.enabled=false --set "symbols.debuginfo=[\"$dir/debug\"]" \
	--set symbols.lines_memory=64MiB ||
	{ not_ok lines_daemon "$(tail -n 1 "$dir/log")"; exit 1; }
folded() { ask query stacks "$cpu{comm=\"bare\"}" --from now-10m >stacks 2>/dev/null && grep -q "$chain" stacks; }
if wait_for 60 folded; then ok lines_separate_debuginfo; else not_ok lines_separate_debuginfo "$(head -c 300 stacks)"; fi
get /metrics >metrics
if [ "$(sed -n 's/^decima_symbols_lines_asked_total //p' metrics)" -gt 0 ]; then ok lines_metrics; else not_ok lines_metrics "$(grep lines metrics | head -n 3)"; fi
kill "$program"
wait "$program" 2>/dev/null

# Hostile: reading it takes more memory than a reader may have. The reader dies, the frame says why, the rest goes on.
if [ "$(uname -m)" = x86_64 ] && ${CC:-cc} -o whole "$top_srcdir/tests/programs/hungry.s" -Wl,--build-id 2>cc.log &&
	objcopy --strip-all -w --keep-section='.debug_*' whole hungry; then
	./hungry &
	program=$!
	hungry() { ask query flame "$cpu{comm=\"hungry\"}" --format json --from now-10m >answer 2>/dev/null && grep -q "$1" answer; }
	if wait_for 60 hungry 'too long or too much memory'; then ok lines_hostile; else not_ok lines_hostile "$(head -c 300 answer)"; fi
	kill "$program"
	wait "$program" 2>/dev/null
	if folded; then ok lines_go_on; else not_ok lines_go_on "$(head -c 300 stacks)"; fi
else
	skip lines_hostile "not x86-64, or the C compiler takes no assembler: $(head -n 1 cc.log)"
fi
exit 0
