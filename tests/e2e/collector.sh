#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/collector.sh - stock OpenTelemetry Collectors between: what goes through one is what was sent, and counts once
#
# One with OTLP as of 1.10; when DECIMA_TEST_COLLECTORS is "all" one as of 1.9 besides, which takes another two minutes
# of two cores to build: `tools/test collectors`. Each gets tests/data/otlp, and what another Decima's output sends, and
# sends it on in every way it knows. A token tells by which of these ways something came.
#
# takes at most 1200 s
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

[ -e "$plugins/output_otlp.so" ] || skip_all "built without the output otlp"
[ -e "$plugins/input_receive.so" ] || skip_all "built without receive"
command -v openssl >/dev/null || skip_all "no openssl"

collector=
collector_stop() {
	[ -n "$collector" ] || return 0
	kill "$collector" 2>/dev/null
	wait "$collector"
	collector=
}
trap 'collector_stop; far_stop; daemon_stop; rm -rf "$dir"' EXIT

# ---- the daemon that gets it, behind TLS ----
certificates_made collector ca server localhost 127.0.0.1
ways="grpc grpc_plain http http_plain json batched"
cat >"$dir/far.yaml" <<YAML
inputs: { receive: {} }
storage: { local: {} }
server:
  tokens:
$(for way in $ways; do echo "    - { token: t-$way, role: write, labels: { way: $way } }"; done)
  tls: { cert_file: ca/server.pem, key_file: ca/server.key }
YAML

# ---- collectors ----
# exporter NAME ADDRESS TOKEN [OPTIONS]
exporter() {
	echo "  $1: { endpoint: \"$2\", tls: { ca_file: $dir/ca/ca.pem }, headers: { authorization: \"Bearer $3\" }${4:+, $4},"
	echo "    retry_on_failure: { initial_interval: 200ms, max_interval: 1s } }"
}
is_begun() { grep -q 'Everything is ready' "$dir/collector.log" || ! kill -0 "$collector"; }
# collector_start PROGRAM: with everything to $port; its own addresses are $otlp_grpc and $otlp_http
collector_start() {
	{
		echo 'receivers: { otlp: { protocols: { grpc: { endpoint: "127.0.0.1:0" }, http: { endpoint: "127.0.0.1:0" } } } }'
		echo 'exporters:'
		exporter otlp/grpc "127.0.0.1:$port" t-grpc
		exporter otlp/grpc_plain "127.0.0.1:$port" t-grpc_plain 'compression: none'
		exporter otlphttp/http "https://127.0.0.1:$port" t-http
		exporter otlphttp/http_plain "https://127.0.0.1:$port" t-http_plain 'compression: none'
		exporter otlphttp/json "https://127.0.0.1:$port" t-json 'encoding: json'
		# Requests of half a second become one, with one dictionary.
		exporter otlp/batched "127.0.0.1:$port" t-batched 'sending_queue: { batch: { flush_timeout: 500ms, min_size: 1000000 } }'
		exporter otlp/stranger "127.0.0.1:$port" wrong
		exporter otlphttp/stranger "https://127.0.0.1:$port" wrong
		echo 'service:'
		echo '  pipelines:'
		echo '    profiles:'
		echo '      receivers: [ otlp ]'
		echo '      exporters: [ otlp/grpc, otlp/grpc_plain, otlphttp/http, otlphttp/http_plain, otlphttp/json, otlp/batched,'
		echo '        otlp/stranger, otlphttp/stranger ]'
	} >"$dir/collector.yaml"
	"$dir/$1" --config "$dir/collector.yaml" --feature-gates service.profilesSupport >"$dir/collector.log" 2>&1 &
	collector=$!
	wait_for 30 is_begun
	otlp_grpc=$(sed -n 's/.*Starting GRPC server.*"endpoint":"\([^"]*\)".*/\1/p' "$dir/collector.log")
	otlp_http=$(sed -n 's/.*Starting HTTP server.*"endpoint":"\([^"]*\)".*/\1/p' "$dir/collector.log")
	[ -n "$otlp_grpc" ] && [ -n "$otlp_http" ]
}
# complaint: the last of what it says went wrong; what it says of the strangers is wanted
complaint() { grep -v stranger "$dir/collector.log" | grep '"level":"\(warn\|error\)"\|panic' | tail -n 1 | cut -c 1-600; }

# ---- what is asked, here and there ----
# told SOCKET SELECTORS: of the profiles of tests/data/otlp
range='--from 1789999990 --to 1790000040'
told() {
	# shellcheck disable=SC2086 # words
	{
		"$decima" query stacks "process_cpu:samples:count:cpu:nanoseconds:delta{service_name=\"shop\",pod=\"shop-1\"$2}" \
			--group-by thread_name,cpu,pid,trace_id $range --url "unix:$1"
		"$decima" query stacks "memory:inuse_space:bytes::{service_name=\"shop\"$2}" $range --url "unix:$1"
		"$decima" query series "process_cpu:samples:count:cpu:nanoseconds:delta{service_name=\"shop\"$2}" --step 1s $range --url "unix:$1"
	} 2>&1 | sed 's/,way="[a-z_]*"//; s/"way": *"[a-z_]*",* *//'
}
# stacks SOCKET SERVICE WAY: of what was sent just now
stacks() {
	"$decima" query stacks "$cpu{service_name=\"$2\"${3:+,way=\"$3\"}}" --from now-1h --to now+1m --url "unix:$1" 2>/dev/null | sort
}

# in_and_out VERSION LAYOUT: profiles of that layout, in and out of that version
in_and_out() {
	v=$1
	go_program "collector.$v" "collector.$v" collector "collector/$v.mod" || return
	rm -rf "$dir/far" "$dir/data"
	far_begin "collector.${v}_far_starts"
	if ! collector_start "collector.$v"; then
		not_ok "collector.${v}_starts" "$(last_words "$dir/collector.log")"
		exit 1
	fi
	daemon_begin "collector.${v}_near_starts" -c "$dir/near.yaml" --set "outputs.otlp=[
		{\"name\":\"grpc\",\"url\":\"http://$otlp_grpc\",\"selector\":\"{service_name=\\\"by_grpc\\\"}\",\"layout\":\"$2\"},
		{\"name\":\"http\",\"url\":\"http://$otlp_http\",\"selector\":\"{service_name=\\\"by_http\\\"}\",\"layout\":\"$2\",\"protocol\":\"http\"}]"

	# Straight to a daemon, and to the collector.
	type='Content-Type: application/x-protobuf'
	curl -s -f --unix-socket "$dir/sock" -H "$type" --data-binary "@$top_srcdir/tests/data/otlp/$2.pb" http://localhost/v1development/profiles >/dev/null
	curl -s -f -H "$type" --data-binary "@$top_srcdir/tests/data/otlp/$2.pb" "http://$otlp_http/v1development/profiles" >/dev/null
	told "$dir/sock" '' >"$dir/want"
	expect "collector.${v}_is_asked" 'main;work;inlined;do_syscall_64 2' "$dir/want"
	is_told() { told "$dir/far.sock" ",way=\"$way\"" >"$dir/got" && cmp -s "$dir/want" "$dir/got"; }
	for way in $ways; do
		if wait_for 15 is_told; then ok "collector.${v}_$way"; else
			not_ok "collector.${v}_$way" "$(diff "$dir/want" "$dir/got" | head -n 3 | tr '\n' '|') $(complaint)"
		fi
	done

	# From a Decima through the collector to another.
	for by in grpc http; do
		printf 'main;work 30\nmain;idle;"odd" λ 12\n' | curl -s -f --unix-socket "$dir/sock" --data-binary @- \
			"http://localhost/ingest?name=by_$by&from=$(($(date +%s) - 10))&until=$(date +%s)&format=folded&sampleRate=100" >/dev/null
		stacks "$dir/sock" by_$by '' >"$dir/want"
		is_there() { stacks "$dir/far.sock" by_$by "$way" >"$dir/got" && [ -s "$dir/want" ] && cmp -s "$dir/want" "$dir/got"; }
		for way in $ways; do
			if wait_for 15 is_there; then ok "collector.${v}_${way}_of_the_output_by_$by"; else
				not_ok "collector.${v}_${way}_of_the_output_by_$by" "$(diff "$dir/want" "$dir/got" | head -n 3 | tr '\n' '|') $(complaint) $(tail -n 1 "$dir/log")"
			fi
		done
	done
	daemon_stop
}
printf 'inputs: { receive: {} }\nstorage: { memory: {} }\n' >"$dir/near.yaml"

if [ "${DECIMA_TEST_COLLECTORS:-}" = all ]; then in_and_out 0.144 1.9; else
	skip collector.0.144 "takes two minutes more: DECIMA_TEST_COLLECTORS=all (tools/test collectors)"
fi
collector_stop
far_stop
in_and_out 0.165 1.10 || exit 0

# A token that is not known is a fault of the settings, which the collector tells, and does not try again.
for stranger in otlp otlphttp; do
	words='the token is not one of server.tokens'
	[ $stranger = otlp ] || words='HTTP Status Code 401'
	is_refused() { grep "\"$stranger/stranger\"" "$dir/collector.log" | grep 'not retryable' | grep -qF -e "$words"; }
	if wait_for 10 is_refused; then ok "collector.${stranger}_stranger"; else
		not_ok "collector.${stranger}_stranger" "$(grep "\"$stranger/stranger\"" "$dir/collector.log" | tail -n 1 | cut -c 1-600)"
	fi
done

# ---- away and back, by a stop and by kill -9, while requests come in: all there, once ----
# request NUMBER: one sample of a function of its own
request() {
	cat <<JSON
{"resourceProfiles":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"restart"}}]},"scopeProfiles":[{"profiles":[
{"sampleType":{"typeStrindex":3,"unitStrindex":4},"periodType":{"typeStrindex":3,"unitStrindex":4},"period":"1","timeUnixNano":"${now}000000000",
"samples":[{"stackIndex":1,"values":["1"]}]}]}]}],"dictionary":{"mappingTable":[{}],"locationTable":[{},{"lines":[{"functionIndex":1}]}],
"functionTable":[{},{"nameStrindex":5}],"linkTable":[{}],"stringTable":["","","","cpu","nanoseconds","n_$1"],"attributeTable":[{}],
"stackTable":[{},{"locationIndices":[1]}]}}
JSON
}
now=$(date +%s)
n=0
while [ $n -lt 100 ]; do
	case $n in
	20) far_stop ;;
	60) kill -9 "$far" && wait "$far" 2>/dev/null ;;
	esac
	request $n | curl -s -f -H 'Content-Type: application/json' --data-binary @- "http://$otlp_http/v1development/profiles" >"$dir/answer" ||
		not_ok collector.takes "$(head -c 300 "$dir/answer")"
	case $n in 40 | 80) far_again collector.far_is_back ;; esac
	echo "n_$n 1" >>"$dir/sent"
	n=$((n + 1))
done
sort "$dir/sent" >"$dir/want"
all_there() { stacks "$dir/far.sock" restart "$way" >"$dir/got" && cmp -s "$dir/want" "$dir/got"; }
for way in $ways; do
	if wait_for 30 all_there; then ok "collector.${way}_restarts"; else
		not_ok "collector.${way}_restarts" "$(diff "$dir/want" "$dir/got" | grep -c '^<') are missing, $(diff "$dir/want" "$dir/got" | grep -c '^>') too many: $(diff "$dir/want" "$dir/got" | sed -n '2,4p' | tr '\n' '|') $(complaint)"
	fi
done
