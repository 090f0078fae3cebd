#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/otlp.sh - OTLP profiles of every version, as the published Go modules write them, come out the same
#
# tests/data/otlp/VERSION.pb is what they wrote; where go finds the modules they write it again, and it must be those bytes.
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

[ -e "$plugins/input_receive.so" ] || skip_all "built without receive"

data=$top_srcdir/tests/data/otlp
path=/v1development/profiles
cat >"$dir/otlp.yaml" <<YAML
inputs: { receive: { max_unpacked: 1MiB } }
storage: { memory: {} }
YAML
# A daemon for each version, as all have one and the same profile.
start() {
	daemon_stop
	if ! daemon_start -c "$dir/otlp.yaml" "$@"; then
		not_ok otlp.starts "$(last_words "$dir/log")"
		exit 1
	fi
}
# push NAME STATUS PATH [CURL-ARGUMENT]..: standard input is the body, of $type, $dir/answer the answer
type=application/x-protobuf
push() {
	name=$1 want=$2 target=$3
	shift 3
	got=$(curl -s -o "$dir/answer" -w '%{http_code}' --unix-socket "$dir/sock" --data-binary @- \
		-H "Content-Type: $type" "$@" "http://localhost$target")
	if [ "$got" = "$want" ]; then ok "otlp.$name"; else
		not_ok "otlp.$name" "status $got, not $want: $(head -c 300 "$dir/answer")"
	fi
}
cpu='process_cpu:samples:count:cpu:nanoseconds:delta{service_name="shop",pod="shop-1"}'
heap='memory:inuse_space:bytes::{service_name="shop"}'
range='--from 1789999990 --to 1790000040'
# All that was stored, as people see it.
told() {
	# shellcheck disable=SC2086 # words
	{
		ask query stacks "$cpu" --group-by thread_name,cpu,pid,trace_id $range
		ask query stacks "$heap" $range
		ask query series "$cpu" --step 1s $range
	} 2>&1
}

# What the JSON says, counted by hand: see tests/programs/otlp/1.10.json.
cat >"$dir/want" <<'TEXT'
thread_name=;cpu=;pid=4711;trace_id=;main;app+0x4000 7
thread_name=worker;cpu=;pid=4711;trace_id=;main;work;inlined;do_syscall_64 2
thread_name=worker;cpu=3;pid=4711;trace_id=;main;work;inlined 3
thread_name=worker;cpu=3;pid=4711;trace_id=0102030405060708090a0b0c0d0e0f10;main;handler 3
main;work;inlined 4096
TEXT
for version in 1.10 1.9 1.8 1.7 1.5; do
	start
	gzip -c "$data/$version.pb" | push "$version" 200 "$path" -H 'Content-Encoding: gzip'
	case $version in
	1.10) [ ! -s "$dir/answer" ] && ok otlp.current_answer || not_ok otlp.current_answer "it is not empty" ;;
	*) expect "otlp.${version}_is_told" "read as one of OTLP $version" "$dir/answer" ;;
	esac
	told >"$dir/told.$version"
	if [ "$(grep -v '^{\|^20' "$dir/told.$version")" = "$(cat "$dir/want")" ]; then ok "otlp.${version}_stacks"; else
		not_ok "otlp.${version}_stacks" "$(tr '\n' '|' <"$dir/told.$version")"
	fi
	if cmp -s "$dir/told.1.10" "$dir/told.$version"; then ok "otlp.${version}_windows"; else
		not_ok "otlp.${version}_windows" "$(diff "$dir/told.1.10" "$dir/told.$version" | tr '\n' '|')"
	fi
	push "${version}_again" 200 "$path" <"$data/$version.pb"
	told >"$dir/again"
	if cmp -s "$dir/told.$version" "$dir/again"; then ok "otlp.${version}_retry_counts_once"; else
		not_ok "otlp.${version}_retry_counts_once" "$(diff "$dir/told.$version" "$dir/again" | tr '\n' '|')"
	fi
done

# ---- one whose bytes do not tell, two values of 1.9 or two attributes of 1.10, is what its sender's were before ----
start
few() { printf '%s' "CkwKFwoVCgxzZXJ2aWNlLm5hbWUSBQoDZmV3EjESLwoECAEQAhkAAPMjhFvXGCCA5JfQEhIYCAESAgECKQDKjV+EW9cYKQCUKJuEW9cYEkESABIEGgIIARoAGgIIBDoAOgMKAQEqACoHc2FtcGxlcyoFY291bnQqAWsqAWYyADIHCAMSAwoBdjIHCAMSAwoBdw==" | base64 -d; }
few | push few_alone 200 "$path" -A new
[ ! -s "$dir/answer" ] && ok otlp.few_alone_are_current || not_ok otlp.few_alone_are_current "$(cat "$dir/answer")"
push few_before 200 "$path" -A old <"$data/1.9.pb"
few | push few_of_an_old_one 200 "$path" -A old
expect otlp.few_are_as_before 'read as one of OTLP 1.9' "$dir/answer"
few | push few_of_another 200 "$path" -A new
[ ! -s "$dir/answer" ] && ok otlp.few_of_another_are_current || not_ok otlp.few_of_another_are_current "$(cat "$dir/answer")"
curl -s --unix-socket "$dir/sock" http://localhost/metrics >"$dir/metrics"
expect otlp.versions_are_counted 'decima_receive_otlp_requests_total{instance="receive",version="1.9"} 2' "$dir/metrics"
curl -s --unix-socket "$dir/sock" http://localhost/api/v1/targets >"$dir/targets"
expect otlp.old_senders_are_told '"otlp 1.9"' "$dir/targets"

# ---- headers, paths, and what is refused; none of it spoils what is there ----
start
push header_1 200 "$path" -H 'OTLP-Profiles-Development-Version: 1' <"$data/1.10.pb"
told >"$dir/before"
push header_is_believed 400 "$path" -H 'OTLP-Profiles-Development-Version: 1' <"$data/1.7.pb"
expect otlp.header_is_believed_says 'otlp 1.10: profile 0' "$dir/answer"
push header_2 400 "$path" -H 'OTLP-Profiles-Development-Version: 2' <"$data/1.10.pb"
expect otlp.header_2_says '2 is not read here' "$dir/answer"
push header_bad 400 "$path" -H 'OTLP-Profiles-Development-Version: 01' <"$data/1.10.pb"
push header_twice 400 "$path" -H 'OTLP-Profiles-Development-Version: 1' -H 'OTLP-Profiles-Development-Version: 1' <"$data/1.10.pb"
push experimental 400 /v1experimental/profiles <"$data/1.10.pb"
expect otlp.experimental_says 'OTLP 1.3' "$dir/answer"
type=application/json
printf '{"dictionary":1}' | push json_bad 400 "$path"
expect otlp.json_bad_says '"message":"otlp: JSON: ExportProfilesServiceRequest.dictionary is no object"' "$dir/answer"
type=text/plain
printf '{}' | push other_type 415 "$path"
type=application/x-protobuf
head -c 500 "$data/1.10.pb" | push cut 400 "$path"
printf 'main;work 5\n' | push text 400 "$path"
head -c 3000000 /dev/zero | gzip | push bomb 413 "$path" -H 'Content-Encoding: gzip'
printf '' | push nothing 200 "$path"
told >"$dir/after"
if cmp -s "$dir/before" "$dir/after"; then ok otlp.refusals_spoil_nothing; else
	not_ok otlp.refusals_spoil_nothing "$(diff "$dir/before" "$dir/after" | tr '\n' '|')"
fi
start
push v1_path 200 /v1/profiles <"$data/1.10.pb"
told | cmp -s - "$dir/told.1.10" && ok otlp.v1_path_is_stored || not_ok otlp.v1_path_is_stored "another answer"

# ---- JSON ----
start
type=application/json
push json 200 "$path" <"$top_srcdir/tests/programs/otlp/1.10.json"
expect otlp.json_answer '{}' "$dir/answer"
told | cmp -s - "$dir/told.1.10" && ok otlp.json_is_stored || not_ok otlp.json_is_stored "another answer"
printf '%s' '{"resourceProfiles":[{"scopeProfiles":[{"profiles":[{"originalPayloadFormat":"jfr","originalPayload":"RkxS"}]}]}]}' |
	push partial 200 "$path"
expect otlp.partial_says '{"partialSuccess":{"rejectedProfiles":"1","errorMessage":"profile 0 has no samples' "$dir/answer"
type=application/x-protobuf

# ---- gRPC: the message in a frame of its own, over HTTP/2 ----
start
# push_framed NAME VERSION [CURL-ARGUMENT]..: the trailers are in $dir/trailers
push_framed() {
	pushed=$1 pushed_as=$2
	shift 2
	type=application/grpc
	grpc_framed "$data/$pushed_as.pb" | push "$pushed" 200 /opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export --http2-prior-knowledge \
		-H 'TE: trailers' -D "$dir/trailers" "$@"
	type=application/x-protobuf
}
# The version by metadata, as by a header: it is believed.
push_framed grpc_version_1 1.10 -H 'OTLP-Profiles-Development-Version: 1'
expect otlp.grpc_version_1_is_taken 'grpc-status: 0' "$dir/trailers"
push_framed grpc_version_is_believed 1.7 -H 'OTLP-Profiles-Development-Version: 1'
expect otlp.grpc_version_is_believed_says 'grpc-message: otlp 1.10: profile 0' "$dir/trailers"
push_framed grpc_version_2 1.10 -H 'OTLP-Profiles-Development-Version: 2'
expect otlp.grpc_version_2_status 'grpc-status: 3' "$dir/trailers"
# 1.3 has a service of its own, which is refused by name.
type=application/grpc
grpc_framed "$data/1.4.pb" | push grpc_experimental 200 /opentelemetry.proto.collector.profiles.v1experimental.ProfilesService/Export \
	--http2-prior-knowledge -H 'TE: trailers' -D "$dir/trailers"
type=application/x-protobuf
expect otlp.grpc_experimental_status 'grpc-status: 3' "$dir/trailers"
expect otlp.grpc_experimental_says 'OTLP 1.3' "$dir/trailers"
start
push_framed grpc 1.9
expect otlp.grpc_says 'read as one of OTLP 1.9' "$dir/answer"
told | cmp -s - "$dir/told.1.10" && ok otlp.grpc_is_stored || not_ok otlp.grpc_is_stored "another answer"

# ---- old ones refused, where that is wanted ----
start --set inputs.receive.otlp_old=refuse
push old_refused 400 "$path" <"$data/1.7.pb"
daemon_stop

# ---- the modules write what is in tests/data ----
go_modules otlp.modules || exit 0
for version in 1.4 1.5 1.7 1.8 1.9 1.10 1.11; do
	go_program "otlp.module_$version" "write.$version" otlp "otlp/$version.mod" || continue
	# 1.11 has changed nothing on the wire.
	as=$version
	[ "$as" = 1.11 ] && as=1.10
	if "$dir/write.$version" <"$top_srcdir/tests/programs/otlp/$as.json" | cmp -s - "$data/$as.pb"; then ok "otlp.module_$version"; else
		not_ok "otlp.module_$version" "it writes other bytes"
	fi
done
