#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/debuginfo_upload.sh - debuginfo that is sent names what was sampled before; who may send it, and what is
# refused with which sentence. The first half needs no rights; the second root and a C compiler
set -u
# shellcheck source=tests/e2e/lib.sh
. "$top_srcdir/tests/e2e/lib.sh"
for tool in "${CC:-cc}" readelf objcopy curl; do
	command -v "${tool%% *}" >/dev/null || skip_all "$tool is missing"
done
cd "$dir" || exit 1
program=
trap 'daemon_stop; kill "$program" 2>/dev/null; umount "$dir/data/symbols" 2>/dev/null; rm -rf "$dir"' EXIT

build() { # NAME [FLAG]..
	cat >"$1.c" <<-END
		volatile unsigned long turns;
		__attribute__((noinline)) void only_$1(void) { for (;;) turns++; }
		int main(void) { only_$1(); return 0; }
	END
	${CC:-cc} -g -O1 -fno-omit-frame-pointer -Wl,--build-id -o "$@" "$1.c" || exit 1
	id=$(readelf -n "$1" | sed -n 's/.*Build ID: //p')
}
url() { echo "http://127.0.0.1:$port"; }
# start [ARGUMENT].., on loopback and on a socket
start() {
	port=$((20000 + $$ % 20000))
	until daemon_start --set "server.listen=[\"127.0.0.1:$port\",\"unix:$dir/sock\"]" "$@"; do
		if ! grep -q 'the port is in use' log; then
			not_ok start "$(tail -n 1 log)"
			exit 1
		fi
		port=$((port + 1))
		[ $port -lt 45000 ] || skip_all "no port is free"
	done
}
send() { "$decima" debuginfo upload --url "$(url)" "$@" >out 2>err; }
query=
# post FILE [CURL-ARGUMENT]..: the status
post() {
	file=$1
	shift
	curl -s -o answer -w '%{http_code}' --data-binary "@$file" "$@" "$(url)/api/v1/debuginfo$query"
}
# refuses NAME STATUS TEXT FILE [CURL-ARGUMENT]..
refuses() {
	name=$1
	want=$2
	text=$3
	shift 3
	got=$(post "$@")
	if [ "$got" = "$want" ] && grep -qF "$text" answer; then ok "$name"; else not_ok "$name" "$got: $(head -c 300 answer)"; fi
}
counter() { get /metrics | sed -n "s/^decima_symbols_uploads_$1 //p"; }

# --- what is refused, and what is not

build whole
objcopy --strip-all whole bare
objcopy --strip-debug whole names
objcopy --strip-debug --redefine-sym only_whole=forged whole forged
objcopy --remove-section .note.gnu.build-id whole anonymous
head -c 3000 whole >cut-off
printf '\177ELF' >begin
: >empty
${CC:-cc} -c -o object.o whole.c
# Every byte behind the head is noise; and one whose section table claims 65535 sections at its end.
{ head -c 64 whole; head -c 20000 /dev/urandom; } >noise
cp whole sections
printf '\377\377' | dd of=sections bs=1 seek=60 conv=notrunc 2>/dev/null
start --set inputs.ebpf.enabled=false --set outputs.file.enabled=false --set symbols.max_bytes=1MiB

refuses upload_text 422 "not an ELF file" "$top_srcdir/README.md"
refuses upload_empty 422 "not an ELF file" empty
refuses upload_head 422 "ELF" begin
refuses upload_object 422 "neither a program nor a library" object.o
refuses upload_anonymous 422 "no build id" anonymous
refuses upload_stripped 422 "stripped" bare
refuses upload_encoded 415 "Content-Encoding" names -H 'Content-Encoding: gzip'
query='?replace=1'
refuses upload_replace 403 "needs the role admin" names
query=
head -c 1048577 /dev/zero >large
refuses upload_large 413 "symbols.max_bytes" large
refuses upload_large_in_chunks 413 "symbols.max_bytes" large -H 'Transfer-Encoding: chunked'
# Reduced, it has more than half of what is kept.
{ echo '.globl main; main: ret'; seq -f 'function_%05.0f: ret' 16000; } >many.s
${CC:-cc} -Wl,--build-id -o many many.s 2>cc.log
refuses upload_many_symbols 413 "half of symbols.max_bytes" many
for file in cut-off noise sections; do
	got=$(post "$file")
	case $got in 4??) ok "upload_$file" ;; *) not_ok "upload_$file" "$got: $(head -c 300 answer)" ;; esac
done
if [ -z "$(find data/symbols -name 'new-*' -o -name '*.debug' -o -name '*.elf')" ]; then ok upload_leaves_nothing; else
	not_ok upload_leaves_nothing "$(find data/symbols)"
fi
if kill -0 "$daemon" && [ "$(curl -s "$(url)/-/healthy")" = ok ]; then ok upload_survived; else not_ok upload_survived "$(tail -n 2 log)"; fi
if [ "$(counter 'refused_total{reason="not_elf"}')" -ge 2 ]; then ok upload_counts_refusals; else
	not_ok upload_counts_refusals "$(get /metrics | grep uploads)"
fi

# --- the verb

send names
expect_status upload_status 0 $?
expect upload_line "names: build id $id: stored, functions (" out
send --parallel 1 names forged bare nowhere object.o anonymous whole
expect_status upload_some_refused 1 $?
expect upload_says_conflict "forged: another file is kept of build id $id, which names its addresses otherwise" err
expect upload_says_stripped "bare: nothing in it names an address" err
expect upload_says_nowhere "nowhere: cannot be read" err
expect upload_says_object "object.o: neither a program nor a library" err
expect upload_says_anonymous "anonymous: it has no build id" err
expect upload_known "names: build id $id: known, nothing sent" out
expect upload_does_the_rest "whole: build id $id: stored, functions and lines (" out
send names whole bare
expect_status upload_again 0 $?
expect upload_asks_first "bare: build id $id: known, nothing sent" out
send forged --replace
expect_status upload_replace_needs_admin 1 $?
expect upload_replace_says_so "forged: another file is kept of build id $id, which names its addresses otherwise; it stays unless an administrator" err
"$decima" debuginfo upload --url "unix:$dir/sock" --replace forged >out 2>err
expect_status upload_replaced 0 $?
expect upload_says_replaced "forged: build id $id: replaced, functions (" out
"$decima" debuginfo upload --url "unix:$dir/sock" --replace --format json whole nowhere >out 2>err
expect_status upload_json_status 1 $?
expect upload_json "{\"files\":[{\"file\":\"whole\",\"build_id\":\"$id\",\"result\":\"replaced\",\"functions\":true,\"lines\":true,\"bytes\":" out
expect upload_json_refused '{"file":"nowhere","result":"refused","reason":"cannot be read: No such file or directory"}' out
"$decima" debuginfo upload >out 2>err
expect_status upload_usage 2 $?
"$decima" debuginfo upload --url "http://127.0.0.1:1" whole >out 2>err
expect_status upload_nobody 1 $?
expect upload_says_nobody "cannot connect" err
"$decima" debuginfo upload --url "$(url)" --timeout soon whole >out 2>err
expect_status upload_bad_timeout 2 $?
if [ "$(counter 'total{result="replaced"}')" = 2 ] && [ "$(counter 'total{result="stored"}')" = 2 ]; then ok upload_counts; else
	not_ok upload_counts "$(get /metrics | grep uploads)"
fi

# --- directories: what is ELF in them, each once, several at a time

mkdir -p tree/deeper/of/it
for name in one two three four five six; do build "$name" && mv "$name" tree/deeper; done
cp tree/deeper/one tree/deeper/of/it/again
cp bare tree/deeper/of/stripped
objcopy --strip-all tree/deeper/two tree/bare
cp object.o "$top_srcdir/README.md" tree
ln -s ../../.. tree/deeper/up
mkfifo tree/pipe
send tree
expect_status upload_tree 0 $?
tail -n 1 out >sums
case $(cat sums) in "6 sent, "*" 0 not taken, "*" passed over") ok upload_tree_sums ;; *) not_ok upload_tree_sums "$(cat sums err)" ;; esac
if [ "$(grep -c ': stored, functions and lines' out)" = 6 ]; then ok upload_tree_lines; else not_ok upload_tree_lines "$(tr '\n' '|' <out)"; fi
send tree --parallel 16
expect upload_tree_again "0 sent, 9 known, 0 not taken, 1 passed over" out
send --parallel 17 tree
expect_status upload_bad_parallel 2 $?
daemon_stop

# --- old profiles get their names at once

need_sampler
build late
objcopy --strip-all late stripped
start --set outputs.file.enabled=false
./stripped &
program=$!
query() { ask query flame "$cpu{comm=\"stripped\"}" --format json --from "$1" --to "$2" >flame 2>/dev/null; }
unnamed() { query now-10m now && grep -q "stripped: no debuginfo for build id $id" flame; }
if wait_for 60 unnamed; then ok upload_unnamed_before; else not_ok upload_unnamed_before "$(head -c 300 flame)"; fi
kill "$program"
wait "$program" 2>/dev/null
rm stripped
# What comes from here on is another window.
sleep 1
now=$(date +%s)
query 0 "$now" && cp flame before
send late
expect_status upload_late 0 $?
query 0 "$now"
if grep -q only_late flame && ! grep -q only_late before; then ok upload_names_the_past; else
	not_ok upload_names_the_past "$(head -c 300 flame)"
fi
daemon_stop
"$decima" query stacks "$cpu{comm=\"stripped\"}" --data "$dir/data" --from 0 --to "$now" >stacks 2>err
expect upload_names_without_daemon only_late stacks

# --- a full disk

mount -t tmpfs -o size=64k none "$dir/data/symbols" 2>/dev/null || skip_all "tmpfs cannot be mounted"
head -c 1000000 /dev/zero >data/symbols/filling 2>/dev/null
start --set outputs.file.enabled=false --set inputs.ebpf.enabled=false
send whole
expect_status upload_full_disk 1 $?
expect upload_says_full "No space left on device" err
rm data/symbols/filling
send whole
expect_status upload_with_room_again 0 $?
daemon_stop
