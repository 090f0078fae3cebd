#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/debuginfo_calls.sh - Parca's debuginfo service as grpc-go calls it: a program that was pushed without names gets
# them; streams that end early, lie, or come twice leave nothing
#
# grpcurl is a Go module, which comes through the module proxy that `go` knows.
#
# runs beside others
set -u
# shellcheck source=tests/e2e/lib.sh
. "$top_srcdir/tests/e2e/lib.sh"

[ -e "$plugins/input_receive.so" ] || skip_all "built without receive"
for tool in "${CC:-cc}" readelf eu-strip nm curl python3; do
	command -v "${tool%% *}" >/dev/null || skip_all "$tool is missing"
done
grpcurl_made debuginfo_calls.grpcurl || exit 0
cd "$dir" || exit 1

cat >calls.yaml <<YAML
inputs: { receive: {} }
storage: { local: {} }
symbols: { max_bytes: 4MiB }
server: { tokens: [ { token: letmein, role: write }, { token: look, role: read }, { token: root, role: admin } ] }
YAML
start() {
	if ! daemon_start -c calls.yaml --set "server.listen=[\"127.0.0.1:0\",\"unix:$dir/sock\"]"; then
		not_ok debuginfo_calls.starts "$(tail -n 3 log | tr '\n' '|')"
		exit 1
	fi
	base=$(sed -n 's|.*is ready at http://\([^ ,]*\).*|\1|p' log | head -n 1)
}
token=letmein upload=none
# call METHOD JSON..: its answer in answer, what it says in err
call() {
	method=$1
	shift
	printf '%s' "$@" | timeout 60 ./grpcurl -plaintext -H "Authorization: Bearer $token" -import-path "$top_srcdir/proto" \
		-proto parca/debuginfo/v1alpha1/debuginfo.proto -d @ "$base" "parca.debuginfo.v1alpha1.DebuginfoService/$method" >answer 2>err
}
named() { printf '{"buildId":"%s","hash":"%s"%s}' "$id" "$1" "${2:-}"; }
# initiate HASH SIZE [MORE]
initiate() {
	call InitiateUpload "$(named "$1" ",\"size\":\"$2\"${3:-}")"
	upload=$(sed -n 's/.*"uploadId": "\(.*\)".*/\1/p' answer)
}
info() { printf '{"info":{"buildId":"%s","uploadId":"%s"}}' "$id" "$upload"; }
# chunks FILE [BYTES]: its messages, of 5000 bytes each
chunks() {
	rm -f piece.*
	split -b 5000 "$1" piece.
	for piece in piece.*; do printf '{"chunkData":"%s"}' "$(base64 "$piece" | tr -d '\n')"; done
}
size() { wc -c <"$1" | tr -d ' '; }
left() { find data/symbols -type f ! -name LOCK | wc -l; }

cat >program.c <<'C'
volatile unsigned long turns;
__attribute__((noinline)) void only_here(void) { turns++; }
int main(void) { only_here(); return 0; }
C
${CC:-cc} -g -O1 -no-pie -Wl,--build-id -o whole program.c || exit 1
id=$(readelf -n whole | sed -n 's/.*Build ID: //p')
address=$(nm whole | sed -n 's/ T only_here//p')
# objcopy's would not say where in the program's file its segments were, which is what the profile goes by.
eu-strip -f debug -o bare whole
head -c 3000 whole >short.elf
start

# ---- a profile of addresses ----
python3 "$top_srcdir/tests/programs/address_profile.py" "$address" "$id" >profile.pb
status=$(curl -s -o answer -w '%{http_code}' -H 'Authorization: Bearer letmein' --data-binary @profile.pb "http://$base/api/v1/ingest?name=pushed")
if [ "$status" = 200 ]; then ok debuginfo_calls.pushed; else not_ok debuginfo_calls.pushed "$status: $(head -c 300 answer)"; fi
echo root >root
types() { "$decima" query types --url "http://$base" --token-file root --from now-1d 2>/dev/null; }
type=$(types | sed -n 's/^\([^ ]*:samples:count[^ ]*\).*/\1/p' | head -n 1)
stacks() { "$decima" query stacks "$type{}" --url "http://$base" --token-file root --from 0 --to now+1h >stacks 2>&1; }
stacks
if grep -q 'program+0x' stacks; then ok debuginfo_calls.without_a_name; else not_ok debuginfo_calls.without_a_name "$type: $(head -c 300 stacks)"; fi

# ---- who may, and what is wrong ----
token=wrong
call ShouldInitiateUpload "$(named a)"
expect debuginfo_calls.no_token 'Code: Unauthenticated' err
token=look
call ShouldInitiateUpload "$(named a)"
expect debuginfo_calls.may_read_only 'Code: PermissionDenied' err
call Upload "$(info)"
expect debuginfo_calls.may_not_stream 'Code: PermissionDenied' err
token=letmein
call ShouldInitiateUpload '{"buildId":"../../etc"}'
expect debuginfo_calls.no_build_id 'Code: InvalidArgument' err
call ShouldInitiateUpload "$(named a ',"type":"DEBUGINFO_TYPE_SOURCES"')"
expect debuginfo_calls.sources 'Neither sources' answer
call ShouldInitiateUpload "$(named a ',"buildIdType":"BUILD_ID_TYPE_GNU"')"
expect debuginfo_calls.wanted '"shouldInitiateUpload": true' answer
expect debuginfo_calls.first_time 'First time we see this Build ID' answer
call Upload "$(info)" "$(chunks debug)"
expect debuginfo_calls.not_begun 'Code: FailedPrecondition' err
call Upload "$(chunks debug)"
expect debuginfo_calls.chunk_first 'message 0: it should be an UploadInfo' err
call InitiateUpload "$(named a ',"size":"5000000"')"
expect debuginfo_calls.too_large 'symbols.max_bytes' err
initiate a "$(size debug)"
expect debuginfo_calls.by_grpc 'UPLOAD_STRATEGY_GRPC' answer
call ShouldInitiateUpload "$(named b)"
expect debuginfo_calls.in_progress 'A previous upload is still in-progress' answer
call InitiateUpload "$(named b ',"size":"1"')"
expect debuginfo_calls.second_at_once 'Code: FailedPrecondition' err
call Upload "$(info)" "$(chunks debug)" '{"chunkData":"AA=="}'
expect debuginfo_calls.more_than_said "and InitiateUpload said $(size debug)" err
call MarkUploadFinished "{\"buildId\":\"$id\",\"uploadId\":\"$upload\"}"
expect debuginfo_calls.marked_too_early 'Code: FailedPrecondition' err
call Upload "$(info)" "$(chunks bare | head -c 100)"
[ "$(left)" = 0 ] && ok debuginfo_calls.leaves_nothing || not_ok debuginfo_calls.leaves_nothing "$(find data/symbols)"
initiate short "$(size short.elf)" ',"force":true'
call Upload "$(info)" "$(chunks short.elf)"
expect debuginfo_calls.cut_off 'Code: InvalidArgument' err
initiate short "$(size short.elf)"
expect debuginfo_calls.cut_off_again 'Code: AlreadyExists' err
right=$id
id=abcdef
initiate other "$(size debug)"
call Upload "$(info)" "$(chunks debug)"
expect debuginfo_calls.other_build_id 'another one than was announced' err
id=$right
# More than may ever come: frames alone.
head -c 6000000 /dev/zero >zeros
call Upload "$(info)" "$(chunks zeros)"
expect debuginfo_calls.endless 'Code: ResourceExhausted' err

# ---- it is killed in the middle of a stream, and has nothing of it ----
initiate a "$(size debug)" ',"force":true'
{
	info
	chunks debug | head -c 30000
	sleep 30
} | timeout 40 ./grpcurl -plaintext -H "Authorization: Bearer $token" -import-path "$top_srcdir/proto" \
	-proto parca/debuginfo/v1alpha1/debuginfo.proto -d @ "$base" parca.debuginfo.v1alpha1.DebuginfoService/Upload >/dev/null 2>&1 &
half=$!
body_is_open() { find "/proc/$daemon/fd" -lname "$dir/data/*(deleted)" | grep -q .; }
if wait_for 20 body_is_open; then ok debuginfo_calls.has_half; else not_ok debuginfo_calls.has_half "no file without a name"; fi
kill -9 "$daemon"
wait "$daemon" 2>/dev/null
daemon=
kill "$half" 2>/dev/null
wait "$half" 2>/dev/null
start
[ "$(left)" = 0 ] && ok debuginfo_calls.half_is_gone || not_ok debuginfo_calls.half_is_gone "$(find data/symbols)"

# ---- and all of it ----
initiate a "$(size debug)"
call Upload "$(info)" "$(chunks debug)"
expect debuginfo_calls.taken "\"size\": \"$(size debug)\"" answer
call Upload "$(info)" "$(chunks debug)"
expect debuginfo_calls.twice 'have come already' err
call MarkUploadFinished "{\"buildId\":\"$id\",\"uploadId\":\"other\"}"
expect debuginfo_calls.other_upload_id 'Code: InvalidArgument' err
call MarkUploadFinished "{\"buildId\":\"abcdabcd\",\"uploadId\":\"$upload\"}"
expect debuginfo_calls.unknown 'Code: NotFound' err
call MarkUploadFinished "{\"buildId\":\"$id\",\"uploadId\":\"$upload\"}"
expect_status debuginfo_calls.marked 0 $?
stacks
expect debuginfo_calls.names_the_past only_here stacks
call ShouldInitiateUpload "$(named c)"
expect debuginfo_calls.exists 'Debuginfo already exists and is not marked as invalid, therefore no new upload is needed.' answer

# ---- as agents of Parca's cut it: notes are all that is left of the segments, addresses are ELF's ----
sed 's/only_here/only_there/' program.c >second.c
${CC:-cc} -g -O1 -Wl,--build-id -o second second.c || exit 1
id=$(readelf -n second | sed -n 's/.*Build ID: //p')
cat >cut.py <<'PY'
import struct, sys
b = bytearray(open("second", "rb").read())
at, n = struct.unpack_from("<Q", b, 32)[0], struct.unpack_from("<H", b, 56)[0]
notes = [b[at + 56 * i:at + 56 * i + 56] for i in range(n) if struct.unpack_from("<I", b, at + 56 * i)[0] == 4]
for i, note in enumerate(notes):
    b[at + 56 * i:at + 56 * i + 56] = note
struct.pack_into("<H", b, 56, len(notes))
open("cut.elf", "wb").write(b)
PY
python3 cut.py
python3 "$top_srcdir/tests/programs/address_profile.py" "$(nm second | sed -n 's/ T only_there//p')" "$id" \
	/bin/program 0 ffffffffffffffff >profile2.pb
curl -s -o answer -H 'Authorization: Bearer letmein' --data-binary @profile2.pb "http://$base/api/v1/ingest?name=pushed"
initiate agent "$(size cut.elf)"
call Upload "$(info)" "$(chunks cut.elf)"
call MarkUploadFinished "{\"buildId\":\"$id\",\"uploadId\":\"$upload\"}"
expect_status debuginfo_calls.of_an_agent 0 $?
stacks
expect debuginfo_calls.of_an_agent_names only_there stacks
id=$right

# ---- a program without a build id goes by the agent's hash, in its profiles and here ----
sed 's/only_here/nobodys/' program.c >nameless.c
${CC:-cc} -g -O1 -no-pie -Wl,--build-id=none -o nameless nameless.c || exit 1
id=00112233445566778899aabbccddeeff
python3 "$top_srcdir/tests/programs/address_profile.py" "$(nm nameless | sed -n 's/ T nobodys//p')" "$id" >profile3.pb
curl -s -o answer -H 'Authorization: Bearer letmein' --data-binary @profile3.pb "http://$base/api/v1/ingest?name=pushed"
initiate hash "$(size nameless)" ',"buildIdType":"BUILD_ID_TYPE_HASH"'
call Upload "$(info)" "$(chunks nameless)"
expect debuginfo_calls.by_a_hash "$id" answer
call MarkUploadFinished "{\"buildId\":\"$id\",\"uploadId\":\"$upload\"}"
stacks
expect debuginfo_calls.by_a_hash_names nobodys stacks
id=$right

# ---- `decima debuginfo upload` says who it is ----
printf letmein >letmein
printf look >look
"$decima" debuginfo upload --url "http://$base" whole >answer 2>err
expect_status debuginfo_calls.verb_without_token 1 $?
expect debuginfo_calls.verb_wants_token 'whole: ' err
"$decima" debuginfo upload --url "http://$base" --token-file look whole >answer 2>err
expect debuginfo_calls.verb_may_not 'needs the role write' err
"$decima" debuginfo upload --url "http://$base" --token-file letmein whole >answer 2>err
expect debuginfo_calls.verb_knows "whole: build id $id: known, nothing sent" answer
daemon_stop
