#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/ebpf_lines.sh - what the sampler sees of a program gets inlined functions, files and lines, from DWARF of
# every make and from separate debuginfo, Go's tables, a jitdump, the vDSO; needs root, g++ and objcopy
set -u
# shellcheck source=tests/e2e/lib.sh
. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/lib/chains.sh"
. "$top_srcdir/tests/lib/hard.sh"
cd "$dir" || exit 1
need_sampler
for tool in g++ objcopy readelf; do
	command -v "$tool" >/dev/null || { skip ebpf_lines "$tool is missing"; exit 0; }
done
roots || exit 1
# Of main's three calls but one is there.
chain="$root lines_outer.* middle.* innermost.*"
text='main;lines_outer[^;]*;middle;innermost'

# Builds of one program, whose one chain has two calls that were inlined: NAME, for comm, and what makes it.
build() {
	name=$1
	shift
	"$@" -fomit-frame-pointer -Wl,--build-id -o "$name" "$top_srcdir/tests/programs/lines.cc" 2>cxx.log || {
		not_ok "$name" "$1 does not build it: $(head -n 1 cxx.log)"
		return 1
	}
	names="$names $name"
}
names=
build lines g++ -O2 -g
build lines_dwarf4 g++ -O2 -gdwarf-4
build lines_zlib g++ -O2 -g -gz=zlib
build lines_lto g++ -O2 -g -flto=1
if command -v clang++ >/dev/null; then build lines_clang clang++ -O2 -g; else skip lines_clang "clang++ is missing"; fi
if ! command -v dwz >/dev/null; then
	skip lines_dwz "dwz is missing"
elif build lines_dwz g++ -O2 -g; then
	dwz lines_dwz 2>cxx.log || not_ok lines_dwz.made "$(head -n 1 cxx.log)"
fi
# What two programs share lies in a file beside them. Their build ids are no other's, which would name them too.
if ! command -v dwz >/dev/null; then
	skip lines_common "dwz is missing"
	skip lines_other "dwz is missing"
elif build lines_common g++ -O2 -g -falign-functions=64 && build lines_other g++ -O2 -g -falign-functions=128; then
	dwz -m lines.common -M lines.common lines_common lines_other 2>cxx.log && readelf -S lines_common | grep -q debugaltlink ||
		not_ok lines_common.made "$(head -n 1 cxx.log)"
fi
# Found by its name beside the program.
if build lines_linked g++ -O2 -g -Wl,--build-id=none; then
	objcopy --only-keep-debug lines_linked lines_linked.debug
	objcopy --strip-all --add-gnu-debuglink=lines_linked.debug lines_linked
fi

# Lines: the loop of innermost() is on the line that says so; code that is compiled at run time is where its dump says.
# frames NAME COMMAND..: NAME FILE:LINE of what is seen of it, a line each, in NAME.frames, by Go's reader of pprof; its
# stacks in NAME.folded
frames() {
	frames_of=$1
	shift
	"$decima" record --plugin-path "$plugins" -F 199 -o "$frames_of.pb.gz" -- "$@" >record.log 2>&1 &&
		"$decima" convert "$frames_of.pb.gz" "$frames_of.folded" 2>>record.log || not_ok "$frames_of.recorded" "$(tail -n 1 record.log)"
	go tool pprof -raw "$frames_of.pb.gz" 2>&1 | sed -n 's/^ *[0-9]*: 0x[0-9a-f]* M=[0-9]* //; s/^ *\(.*:[0-9]*\):[0-9]* s=[0-9]*$/\1/p' |
		sort -u >"$frames_of.frames"
}
# has_frame NAME REGEX
has_frame() { if grep -qE "$2" "$1.frames"; then ok "$1.file"; else not_ok "$1.file" "$(tail -n 5 "$1.frames" | tr '\n' '|')"; fi; }
# mostly NAME PERCENT REGEX [OF]: so much of its CPU time, or of what is in stacks with OF, at least, is in stacks like that
mostly() {
	awk -v least="$2" -v text="$3" -v of="${4:-.}" '$0 ~ of { t += $NF } $0 ~ text { n += $NF } END { exit !(t && 100 * n >= least * t) }' "$1.folded" &&
		ok "$1.stacks" && return
	not_ok "$1.stacks" "$(awk '{ print $NF, $0 }' "$1.folded" | sort -rn | head -n 2 | tr '\n' '|')"
}
line_of() { grep -n 'the loop' "$top_srcdir/tests/programs/$1" | cut -d : -f 1; }
if command -v go >/dev/null; then
	frames lines ./lines 3
	has_frame lines "^innermost .*/lines\.cc:$(line_of lines.cc)\$"
	# Go, by DWARF and by its own tables.
	for by in dwarf tables; do
		flags=-w
		[ $by = dwarf ] && flags=-compressdwarf=true
		go build -o lines_go -ldflags=$flags "$top_srcdir/tests/programs/lines.go" 2>go.log || not_ok lines_go "$(head -n 1 go.log)"
		frames go_$by ./lines_go 3
		has_frame go_$by "^main\.innermost .*/lines\.go:$(line_of lines.go)\$"
		# Go's scheduler has stacks of its own.
		mostly go_$by 98 'runtime.main;main.main;main.outer;main.middle;main.innermost' main.innermost
	done
	if [ "$(uname -m)" != x86_64 ]; then
		skip jitdump "the program is written for x86-64"
	elif compile jit jit.c -fno-omit-frame-pointer; then
		frames jitdump ./jit "$dir" 3
		has_frame jitdump '^jitted::spin /src/jitted\.x:42$'
	fi
	# The kernel's own library for programs has names, too.
	if hard_built gcc; then
		frames vdso ./hard_gcc vdso 3
		mostly vdso 50 'main;asks;now;clock_gettime;(__vdso_)?clock_gettime'
	fi
else
	for case_name in lines.file go_dwarf go_tables jitdump; do
		skip $case_name "go is missing, whose reader of pprof says the lines"
	done
	skip vdso "go is missing"
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
kill "$program"
wait "$program" 2>/dev/null
daemon_stop
mkdir -p "debug/.build-id/$(echo "$id" | cut -c 1-2)"
cp lines.debug "debug/.build-id/$(echo "$id" | cut -c 1-2)/$(echo "$id" | cut -c 3-).debug"
daemon_start --set outputs.file.enabled=false --set "symbols.debuginfo=[\"$dir/debug\"]" \
	--set symbols.lines_memory=64MiB --set inputs.ebpf.window=1s --set inputs.ebpf.frequency=499Hz \
	--set inputs.ebpf.cpu_budget=0 ||
	{ not_ok lines_daemon "$(tail -n 1 "$dir/log")"; exit 1; }
folded() { ask query stacks "$cpu{comm=\"$1\"}" --from now-10m >stacks 2>/dev/null && grep -q "$text" stacks; }
programs=
for name in $names bare; do
	./"$name" 600 &
	programs="$programs $!"
done
seen=
for name in $names bare; do wait_for 60 folded "$name" || seen="$seen $name"; done
if [ -z "$seen" ]; then ok lines.seen; else not_ok lines.seen "no chain of$seen: $(head -c 300 stacks)"; fi
# From here on each sample counts: half a second of CPU time of each.
from=$(date +%s)
since() { ask query stacks "$cpu{comm=\"$1\"}" --from "$from" 2>/dev/null | awk '{ v = $NF; sub(/ [0-9]+$/, ""); print v, $0 }'; }
enough() { [ "$(since "$1" | awk '{ n += $1 } END { printf "%.0f\n", n / 1e6 }')" -ge 500 ]; }
for name in $names bare; do
	wait_for 60 enough "$name"
	since "$name" | sort -rn >stacks
	exact "lines.${name#lines_}" "$chain" stacks
done
get /metrics >metrics
if [ "$(sed -n 's/^decima_symbols_lines_asked_total //p' metrics)" -gt 0 ]; then ok lines_metrics; else not_ok lines_metrics "$(grep lines metrics | head -n 3)"; fi
# shellcheck disable=SC2086 # numbers
kill $programs

# Hostile: reading it takes more memory than a reader may have. The reader dies, the frame says why, the rest goes on.
if [ "$(uname -m)" != x86_64 ]; then
	skip lines_hostile "the program is written for x86-64"
	skip lines_go_on "the program is written for x86-64"
elif ${CC:-cc} -o whole "$top_srcdir/tests/programs/hungry.s" -Wl,--build-id 2>cc.log &&
	objcopy --strip-all -w --keep-section='.debug_*' whole hungry 2>>cc.log; then
	./hungry &
	program=$!
	hungry() { ask query flame "$cpu{comm=\"hungry\"}" --format json --from now-10m >answer 2>/dev/null && grep -q "$1" answer; }
	if wait_for 60 hungry 'too long or too much memory'; then ok lines_hostile; else not_ok lines_hostile "$(head -c 300 answer)"; fi
	kill "$program"
	wait "$program" 2>/dev/null
	if folded bare; then ok lines_go_on; else not_ok lines_go_on "$(head -c 300 stacks)"; fi
else
	not_ok lines_hostile "its program cannot be made: $(head -n 1 cc.log)"
fi
exit 0
