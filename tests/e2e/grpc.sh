#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/grpc.sh - gRPC as grpc-go speaks it, and gRPC-Web, at the port that everything else has
#
# grpcurl is a Go module, which comes through the module proxy that `go` knows.
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

[ -e "$plugins/input_receive.so" ] || skip_all "built without receive"
start() {
	if ! daemon_start -c "$dir/grpc.yaml" --set "server.listen=[\"127.0.0.1:0\",\"unix:$dir/sock\"]"; then
		not_ok "grpc.$1" "$(last_words "$dir/log")"
		exit 1
	fi
	ok "grpc.$1"
	base=$(sed -n 's|.*is ready at \(http://[^ ,]*\).*|\1|p' "$dir/log" | head -n 1)
}
cat >"$dir/grpc.yaml" <<YAML
inputs: { receive: { max_body: 256KiB, max_unpacked: 512KiB } }
storage: { local: {} }
YAML
start starts

# ---- gRPC-Web: by hand, over both versions of HTTP ----
health=/grpc.health.v1.Health/Check
# web NAME HTTP TYPE WANT: the answer to one empty message, as od shows it
web() {
	printf '\0\0\0\0\0' >"$dir/call"
	case $3 in *text*) base64 "$dir/call" | tr -d '\n' >"$dir/call.text" && mv "$dir/call.text" "$dir/call" ;; esac
	curl -s "$2" -D "$dir/head" -H "Content-Type: $3" --data-binary "@$dir/call" "$base$health" >"$dir/answer"
	case $3 in *text*) base64 -d "$dir/answer" >"$dir/answer.bytes" && mv "$dir/answer.bytes" "$dir/answer" ;; esac
	got=$(od -An -c "$dir/answer" | tr -d ' \n')
	if [ "$got" = "$4" ]; then ok "grpc.$1"; else not_ok "grpc.$1" "$got"; fi
	expect "grpc.$1_type" "$5" "$dir/head"
}
# SERVING is field 1, 1.
serving='\0\0\0\0002\b001200\0\0\0020grpc-status:0\r\n'
web web --http1.1 application/grpc-web "$serving" 'Content-Type: application/grpc-web+proto'
web web_http_2 --http2-prior-knowledge application/grpc-web+proto "$serving" 'content-type: application/grpc-web+proto'
web web_text --http1.1 application/grpc-web-text "$serving" 'Content-Type: application/grpc-web-text+proto'
curl -s -H 'Content-Type: application/grpc' --data-binary "@$dir/call" "$base$health" >"$dir/answer"
expect grpc.http_1 'gRPC needs HTTP/2' "$dir/answer"
# Messages in JSON, which are no protobuf, are not read as such.
printf '\0\0\0\0\002{}' >"$dir/json"
for kind in grpc grpc-web; do
	curl -s --http2-prior-knowledge -D - -H "Content-Type: application/$kind+json" --data-binary "@$dir/json" "$base$health" >"$dir/head"
	expect "grpc.json_by_$kind" 'grpc-status: 12' "$dir/head"
	expect "grpc.json_by_${kind}_says" "send application/$kind+proto" "$dir/head"
done
curl -s --http2-prior-knowledge -D "$dir/head" -H 'Content-Type: application/grpc' --data-binary @/dev/null "$base$health" >"$dir/answer"
expect grpc.without_a_message 'grpc-status: 3' "$dir/head"
curl -s --http2-prior-knowledge -D "$dir/head" -H 'Content-Type: application/grpc' -d x "$base/api/v1/ingest" >"$dir/answer"
expect grpc.no_method 'grpc-status: 12' "$dir/head"

# ---- decima.v1.Ingest: a message that is a batch, as docs/FORMATS.md has it, and no protobuf ----
# ingest FILE: the status is in $dir/head
ingest() {
	grpc_framed "$1" >"$dir/call"
	curl -s --http2-prior-knowledge -D "$dir/head" -H 'Content-Type: application/grpc' -H 'TE: trailers' \
		--data-binary "@$dir/call" "$base/decima.v1.Ingest/Write" >"$dir/answer"
}
all_sums() {
	ask query types --from 2001-01-01T00:00:00Z --to now+1h 2>"$dir/err" | grep -v '^decima_' | while read -r type _; do
		echo "$type $(ask query stacks "$type" --from 2001-01-01T00:00:00Z --to now+1h 2>"$dir/err" | sum_of_lines)"
	done
}
batch=$top_srcdir/tests/golden/memory-1/000000.batch
ingest "$batch"
expect grpc.ingest 'grpc-status: 0' "$dir/head"
all_sums >"$dir/first"
if grep -q ' [1-9]' "$dir/first"; then ok grpc.ingest_is_stored; else not_ok grpc.ingest_is_stored "$(cat "$dir/first" "$dir/err" | head -c 300)"; fi
ingest "$batch"
expect grpc.ingest_again 'grpc-status: 0' "$dir/head"
all_sums | cmp -s - "$dir/first" && ok grpc.ingest_counts_once || not_ok grpc.ingest_counts_once "$(all_sums | diff "$dir/first" - | head -n 3 | tr '\n' '|')"
head -c 20000 "$batch" >"$dir/cut"
ingest "$dir/cut"
expect grpc.ingest_cut 'grpc-status: 3' "$dir/head"
expect grpc.ingest_cut_says 'grpc-message: batch' "$dir/head"

# ---- several of them, as the output decima sends what waits ----
# behind_its_length FILE
behind_its_length() {
	bytes=$(wc -c <"$1")
	# shellcheck disable=SC2059 # made of digits
	printf "\\$(printf %o $((bytes % 256)))\\$(printf %o $((bytes / 256 % 256)))\\$(printf %o $((bytes / 65536 % 256)))\\000"
	cat "$1"
}
# several NAME STATUS: of the body $dir/call; $dir/answer is what was said
several() {
	got=$(curl -s -o "$dir/answer" -w '%{http_code}' -H 'Content-Type: application/vnd.decima.batches' \
		--data-binary "@$dir/call" "$base/decima.v1.Ingest/Write")
	expect_status "grpc.$1" "$2" "$got"
}
printf 'main;work 5\n' >"$dir/one.folded"
printf 'main;rest 2\n' >"$dir/two.folded"
for name in one two; do
	"$decima" convert --to-format batch "$dir/$name.folded" "$dir/$name.batch" >"$dir/out" 2>"$dir/err" || not_ok "grpc.$name" "$(cat "$dir/err")"
done
all_of() { for name; do behind_its_length "$dir/$name.batch"; done; }
count() { get /metrics | sed -n 's/^decima_receive_samples_total{.*} //p'; }
before=$(count)
all_of one two >"$dir/call"
several several 200
if [ "$(($(count) - before))" = 2 ]; then ok grpc.several_are_taken; else not_ok grpc.several_are_taken "$before $(count)"; fi
# One that is refused is told; what is before it may be stored, and counts once when it comes again.
head -c 10 "$dir/two.batch" >"$dir/bad.batch"
all_of one bad two >"$dir/call"
several several_with_a_bad_one 400
expect grpc.several_with_a_bad_one_says 'batch' "$dir/answer"
all_sums >"$dir/first"
all_of two one one >"$dir/call"
several several_again 200
all_sums | cmp -s - "$dir/first" && ok grpc.several_count_once || not_ok grpc.several_count_once "$(all_sums | diff "$dir/first" - | head -n 3 | tr '\n' '|')"
for body in '' '\001' '\001\000\000\000' '\000\000\000\000' '\377\377\377\377a' '\003\000\000\000ab'; do
	# shellcheck disable=SC2059 # no format
	printf "$body" >"$dir/call"
	several "several_$(printf '%s' "$body" | tr -cd '0-7a-z')_refused" 400
done
# shellcheck disable=SC2046 # words
all_of $(for _ in $(seq 65); do echo one; done) >"$dir/call"
several several_too_many 400
expect grpc.several_too_many_says '1 to 64 batches' "$dir/answer"

# ---- grpc-go, in grpcurl ----
grpcurl_made grpc.grpcurl || exit 0

# call PROTO METHOD [ARGUMENT]...: its answer in $dir/answer, what it says in $dir/err
call() {
	case $1 in
	health) proto=grpc/health/v1/health ;;
	push) proto=push/v1/push ;;
	writeraw) proto=parca/profilestore/v1alpha1/profilestore ;;
	esac
	method=$2
	shift 2
	timeout 60 "$dir/grpcurl" -plaintext -import-path "$top_srcdir/proto" -proto "$proto.proto" "$@" \
		"${base#http://}" "$method" >"$dir/answer" 2>"$dir/err"
}
call health grpc.health.v1.Health/Check
expect grpc.health '"status": "SERVING"' "$dir/answer"
call health grpc.health.v1.Health/Check -d '{ "service": "decima" }'
expect grpc.health_of_another 'Code: NotFound' "$dir/err"
call health grpc.health.v1.Health/List
tr -d ' \n' <"$dir/answer" >"$dir/list"
expect grpc.health_of_all '{"statuses":{"":{"status":"SERVING"}}}' "$dir/list"
# A watch says what there is at once, and goes on until its time is over.
call health grpc.health.v1.Health/Watch -max-time 3
expect grpc.watch '"status": "SERVING"' "$dir/answer"
expect grpc.watch_goes_on 'Code: DeadlineExceeded' "$dir/err"
call health grpc.health.v1.Health/Watch -max-time 2 -d '{ "service": "decima" }'
expect grpc.watch_of_another '"status": "SERVICE_UNKNOWN"' "$dir/answer"
curl -s --http2-prior-knowledge -D "$dir/head" -H 'Content-Type: application/grpc-web' --data-binary "@$dir/call" \
	"$base/grpc.health.v1.Health/Watch" >"$dir/answer"
if grep -aq 'grpc-status: 12' "$dir/answer"; then ok grpc.no_streams_in_grpc_web; else not_ok grpc.no_streams_in_grpc_web "$(tr -d '\0' <"$dir/answer")"; fi

# A balancer of grpc-go that minds health sends where it says SERVING, and nowhere else.
if go_program grpc.balancer grpc_watch grpc_watch; then
	timeout 60 "$dir/grpc_watch" "${base#http://}" '' 2 >"$dir/answer" 2>"$dir/err"
	expect grpc.balancer_sees_it READY "$dir/answer"
	timeout 60 "$dir/grpc_watch" "${base#http://}" decima 2 >"$dir/answer" 2>"$dir/err"
	expect grpc.balancer_of_another TRANSIENT_FAILURE "$dir/answer"
	if grep -q READY "$dir/answer"; then not_ok grpc.balancer_sends_nothing "READY"; else ok grpc.balancer_sends_nothing; fi
fi

# ---- reflection: what is here, without a .proto ----
# reflect [ARGUMENT]...
reflect() { timeout 60 "$dir/grpcurl" -plaintext "$@" >"$dir/answer" 2>"$dir/err"; }
at=${base#http://}
reflect "$at" list
cat >"$dir/want" <<LIST
grpc.health.v1.Health
grpc.reflection.v1.ServerReflection
grpc.reflection.v1alpha.ServerReflection
opentelemetry.proto.collector.profiles.v1development.ProfilesService
parca.debuginfo.v1alpha1.DebuginfoService
parca.profilestore.v1alpha1.ProfileStoreService
parca.telemetry.v1alpha1.TelemetryService
push.v1.PusherService
LIST
if cmp -s "$dir/want" "$dir/answer"; then ok grpc.list; else not_ok grpc.list "$(tr '\n' ' ' <"$dir/answer"; head -n 1 "$dir/err")"; fi
reflect "$at" list grpc.health.v1.Health
expect grpc.list_methods grpc.health.v1.Health.Watch "$dir/answer"
reflect "$at" describe
expect_status grpc.describe_all 0 $?
reflect "$at" describe grpc.health.v1.HealthCheckResponse.ServingStatus
expect grpc.describe_nested 'SERVICE_UNKNOWN = 3;' "$dir/answer"
reflect "$at" describe push.v1.PusherService.Push
expect grpc.describe_method 'rpc Push ( .push.v1.PushRequest ) returns ( .push.v1.PushResponse );' "$dir/answer"
# In a file that this one's imports import.
reflect "$at" describe opentelemetry.proto.common.v1.AnyValue
expect grpc.describe_imported 'oneof value {' "$dir/answer"
reflect -d '{}' "$at" opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export
expect_status grpc.call_with_imports 0 $?
reflect "$at" describe push.v1.PushRequests
expect grpc.describe_nothing 'Symbol not found: push.v1.PushRequests' "$dir/err"
reflect "$at" grpc.health.v1.Health/Check
expect grpc.call_by_reflection '"status": "SERVING"' "$dir/answer"
# The older version by its own name.
reflect -d '{ "fileByFilename": "push/v1/push.proto" }' -import-path "$top_srcdir/proto" -proto grpc/reflection/v1alpha/reflection.proto \
	"$at" grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo
expect grpc.reflection_v1alpha '"fileDescriptorProto": [' "$dir/answer"
reflect -d '{ "host": "h", "allExtensionNumbersOfType": "x" } { "listServices": "" }' \
	"$at" grpc.reflection.v1.ServerReflection/ServerReflectionInfo
expect grpc.no_extensions '"errorMessage": "no message here has extensions"' "$dir/answer"
expect grpc.asks_on '"name": "push.v1.PusherService"' "$dir/answer"

# What reflection says is proto/, and that is what the published modules have, field by field.
# fields NAME SERVICE PROTO
fields() {
	if ! command -v protoc >/dev/null; then
		skip "grpc.proto_$1" "protoc is not installed; apt-get install protobuf-compiler"
		return
	fi
	protoc -I "$top_srcdir/proto" --include_imports --descriptor_set_out="$dir/set" "$3"
	"$dir/proto_fields" "$2" >"$dir/want"
	"$dir/proto_fields" "$2" "$dir/set" >"$dir/got"
	if [ -s "$dir/want" ] && cmp -s "$dir/want" "$dir/got"; then ok "grpc.proto_$1"; else
		not_ok "grpc.proto_$1" "$(diff "$dir/want" "$dir/got" | sed -n 2p)"
	fi
}
if go_program grpc.proto proto_fields proto_fields; then
	fields health grpc.health.v1.Health grpc/health/v1/health.proto
	fields reflection grpc.reflection.v1.ServerReflection grpc/reflection/v1/reflection.proto
	fields reflection_alpha grpc.reflection.v1alpha.ServerReflection grpc/reflection/v1alpha/reflection.proto
	fields push push.v1.PusherService push/v1/push.proto
	fields otlp opentelemetry.proto.collector.profiles.v1development.ProfilesService \
		opentelemetry/proto/collector/profiles/v1development/profiles_service.proto
fi

# ---- profiles ----
printf 'main;work 30\nmain;idle 12\n' >"$dir/a.folded"
"$decima" convert "$dir/a.folded" "$dir/a.pb.gz" >/dev/null
profile=$(base64 "$dir/a.pb.gz" | tr -d '\n')
raw() { printf '{"series":[{"labels":{"labels":[{"name":"__name__","value":"demo"},{"name":"node","value":"%s"}]},"samples":[{"rawProfile":"%s"}]}]}' "$1" "$2"; }
write_raw=parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw
sums() {
	got=$(ask query stacks "$3" --from now-1h --to now+1m 2>/dev/null | sum_of_lines)
	if [ "$got" = "$2" ]; then ok "grpc.$1"; else not_ok "grpc.$1" "$got, not $2: $(head -n 3 "$dir/err" | tr '\n' '|')"; fi
}
call writeraw $write_raw -d "$(raw one "$profile")"
expect_status grpc.write_raw 0 $?
sums write_raw_is_stored 42 'demo:samples:count::{node="one"}'
call writeraw $write_raw -d "$(raw two "$(printf 'no profile' | base64)")"
expect grpc.write_raw_nonsense 'Code: InvalidArgument' "$dir/err"
expect grpc.write_raw_says_where 'writeraw: series 0, profile 0' "$dir/err"
# Random text is not packed any smaller.
big=$(head -c 250000 /dev/urandom | base64 | tr -d '\n')
raw three "$big" >"$dir/big.json"
timeout 60 "$dir/grpcurl" -plaintext -import-path "$top_srcdir/proto" -proto parca/profilestore/v1alpha1/profilestore.proto -d @ \
	"${base#http://}" $write_raw <"$dir/big.json" >"$dir/answer" 2>"$dir/err"
expect grpc.write_raw_bad_and_large 'Code: InvalidArgument' "$dir/err"
raw three "$(head -c 500000 /dev/urandom | base64 | tr -d '\n')" >"$dir/big.json"
timeout 60 "$dir/grpcurl" -plaintext -import-path "$top_srcdir/proto" -proto parca/profilestore/v1alpha1/profilestore.proto -d @ \
	"${base#http://}" $write_raw <"$dir/big.json" >"$dir/answer" 2>"$dir/err"
expect grpc.write_raw_too_large 'Code: ResourceExhausted' "$dir/err"
call push push.v1.PusherService/Push -d "{\"series\":[{\"labels\":[{\"name\":\"__name__\",\"value\":\"demo\"},{\"name\":\"node\",\"value\":\"pushed\"}],\"samples\":[{\"rawProfile\":\"$profile\",\"ID\":\"1\"}]}]}"
expect_status grpc.push 0 $?
sums push_is_stored 42 'demo:samples:count::{node="pushed"}'

# ---- an agent of Parca that has crashed ----
panic=parca.telemetry.v1alpha1.TelemetryService/ReportPanic
# As Go ends: why, and then all its stacks.
stacks=$(for i in $(seq 60); do printf 'goroutine %s [running]:\\nmain.work(0xc000%s)\\n\\t/src/main.go:%s +0x1d\\n' "$i" "$i" "$i"; done)
reflect -d "{\"stderr\":\"level=info msg=begins\\npanic: oh [recovered]\\n\\tpanic: oh no\\n\\n$stacks\",\"metadata\":{\"node\":\"far\"}}" "$at" $panic
expect_status grpc.panic 0 $?
expect grpc.panic_says_why 'an agent of Parca (node=far) has ended with an error: panic: oh no  goroutine 1 [running]: main.work(' "$dir/log"
reflect -d "{\"stderr\":\"again\"}" "$at" $panic
get /metrics >"$dir/metrics"
expect grpc.panics_are_counted 'decima_receive_panics_total{instance="receive"} 2' "$dir/metrics"
daemon_stop

# ---- who may ----
printf 'server: { tokens: [ { token: letmein, role: write }, { token: look, role: read } ] }\n' >>"$dir/grpc.yaml"
start with_tokens
call writeraw $write_raw -d "$(raw four "$profile")"
expect grpc.without_a_token 'Code: Unauthenticated' "$dir/err"
call writeraw $write_raw -H 'Authorization: Bearer wrong' -d "$(raw four "$profile")"
expect grpc.wrong_token 'Code: Unauthenticated' "$dir/err"
call writeraw $write_raw -H 'Authorization: Bearer look' -d "$(raw four "$profile")"
expect grpc.may_read_only 'Code: PermissionDenied' "$dir/err"
call writeraw $write_raw -H 'Authorization: Bearer letmein' -d "$(raw four "$profile")"
expect_status grpc.token 0 $?
timeout 60 "$dir/grpcurl" -plaintext "${base#http://}" list >"$dir/answer" 2>"$dir/err"
expect grpc.reflection_needs_a_token 'Unauthenticated' "$dir/err"
timeout 60 "$dir/grpcurl" -plaintext -H 'Authorization: Bearer look' "${base#http://}" list >"$dir/answer" 2>"$dir/err"
expect grpc.reflection_reads 'push.v1.PusherService' "$dir/answer"
# A watcher does not keep decima from stopping, and hears of it. Probes have no token.
timeout 60 "$dir/grpcurl" -plaintext -import-path "$top_srcdir/proto" -proto grpc/health/v1/health.proto \
	"${base#http://}" grpc.health.v1.Health/Watch >"$dir/watched" 2>"$dir/watch.err" &
watcher=$!
call health grpc.health.v1.Health/Check
expect grpc.health_without_a_token '"status": "SERVING"' "$dir/answer"
wait_for 10 grep -q SERVING "$dir/watched"
began=$(date +%s)
daemon_stop
took=$(($(date +%s) - began))
if [ $took -le 5 ]; then ok grpc.stop_with_a_watcher; else not_ok grpc.stop_with_a_watcher "$took s"; fi
wait $watcher
expect grpc.watcher_hears_of_it 'Code: Unavailable' "$dir/watch.err"
