#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/parca.sh - profiles that are sent on by Parca's WriteRaw: what a server by grpc-go reads of them, and another daemon
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

[ -e "$plugins/output_parca.so" ] || skip_all "built without the output parca"
[ -e "$plugins/input_receive.so" ] || skip_all "built without receive"

store=
trap 'kill "$store" 2>/dev/null; far_stop; daemon_stop; rm -rf "$dir"' EXIT
cat >"$dir/far.yaml" <<YAML
inputs: { receive: {} }
storage: { local: {} }
server: { tokens: [ { token: letmein, role: write } ] }
YAML
far_begin parca.far_starts

# ---- a server by grpc-go, with the published .proto ----
: >"$dir/store.out"
store_start() {
	command -v protoc >/dev/null || {
		skip parca.grpc_go "protoc is missing; apt-get install protobuf-compiler"
		return 1
	}
	go_program parca.grpc_go parca_store parca_store || return
	protoc -I "$top_srcdir/proto" -o "$dir/descriptors" parca/profilestore/v1alpha1/profilestore.proto >"$dir/err" 2>&1 || {
		not_ok parca.grpc_go "protoc: $(last_words "$dir/err")"
		return 1
	}
	"$dir/parca_store" "$dir/descriptors" >"$dir/store.out" 2>"$dir/store.err" &
	store=$!
	wait_for 30 grep -q '^at ' "$dir/store.out" && return
	not_ok parca.grpc_go "the server does not come up: $(last_words "$dir/store.err")"
	kill "$store" 2>/dev/null
	store=
	return 1
}
also=
if store_start; then
	also=", { name: go, url: \"http://$(sed -n 's/^at //p' "$dir/store.out")\", bearer_token: secret }"
fi

printf 'letmein\n' >"$dir/token"
cat >"$dir/near.yaml" <<YAML
node: test
inputs: { receive: {} }
storage: { memory: {} }
outputs:
  parca: [ { url: "http://127.0.0.1:$port/", bearer_token_file: token }$also ]
YAML
daemon_begin parca.starts -c "$dir/near.yaml"

# push LABELS: standard input is the body
push() { curl -s -f --unix-socket "$dir/sock" --data-binary @- "http://localhost/api/v1/ingest?$1" >/dev/null; }
# stacks SELECTOR SOCKET
stacks() { "$decima" query stacks "$1" --focus . --from now-1h --to now+1m --url "unix:$2" 2>/dev/null | sort; }
same() { stacks "$1" "$dir/sock" >"$dir/want" && stacks "$2" "$dir/far.sock" >"$dir/got" && [ -s "$dir/want" ] && cmp -s "$dir/want" "$dir/got"; }
# arrives NAME TYPE LABELS [TYPE THERE]: the other daemon's answer is this one's
arrives() {
	if wait_for 10 same "$2$3" "${4:-$2}$3"; then ok "parca.$1"; else
		not_ok "parca.$1" "$(diff "$dir/want" "$dir/got" | head -n 3 | tr '\n' '|') $(tail -n 1 "$dir/log")"
	fi
}
# read_as NAME LINE: what the server by grpc-go has read
read_as() {
	[ -n "$store" ] || return 0
	if wait_for 10 grep -qxF -e "$2" "$dir/store.out"; then ok "parca.$1"; else
		not_ok "parca.$1" "$(tail -n 3 "$dir/store.out" | tr '\n' '|') $(tail -n 1 "$dir/log")"
	fi
}

# What adds up and has no duration is for Parca something that stands: it knows the one by the other.
delta=demo:samples:count:::delta
printf 'main;work 30\nmain;idle 12\n' | push 'name=demo&label=service_name=shop&label=env=a%20b%26c%7D%22'
arrives labels $delta '{service_name="shop"}' demo:samples:count::
printf 'main;work 5\n' | push 'name=other&label=service_name=shop'
arrives another_type other:samples:count:::delta '{service_name="shop"}' other:samples:count::
read_as go_reads_it 'demo:samples:count::{env=a b&c}",instance=test,node=test,service_name=shop} sum=42 stacks=2 duration=0'
read_as go_reads_the_other 'other:samples:count::{instance=test,node=test,service_name=shop} sum=5 stacks=1 duration=0'
printf 'main;odd 6\n' | push 'name=demo&label=service_name=odd&label=http.method=a&label=http_method=b&label=a%2Cb=c&label=%C3%BC=d'
read_as names_of_labels 'demo:samples:count::{U___fc_=d,U__a_2c_b=c,U__http_2e_method=a,http_method=b,instance=test,node=test,service_name=odd} sum=6 stacks=1 duration=0'
read_as token_is_sent 'authorization: Bearer secret'
now=$(date +%s)
cpu=process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta
# push_cpu SERVICE: folded text, at 100 samples a second, on standard input
push_cpu() {
	curl -s -f --unix-socket "$dir/sock" --data-binary @- \
		"http://localhost/ingest?name=$1.cpu&from=$((now - 10))&until=$now&format=folded&sampleRate=100" >/dev/null
}
printf 'main;work 7\nmain;idle 2\n' | push_cpu app
arrives with_a_duration $cpu '{service_name="app"}'
read_as go_reads_a_duration 'process_cpu:cpu:nanoseconds:cpu:nanoseconds{instance=test,node=test,service_name=app} sum=90000000 stacks=2 duration=10000000000'

# ---- refused for good: set aside, with the words; unavailable: it is tried again ----
dropped() { get /metrics | sed -n "s/^decima_dropped_total{instance=\"$1\",reason=\"rejected\"} //p"; }
if [ -n "$store" ]; then
	printf 'main;no 7\n' | push 'name=demo&label=refuse=3'
	is_counted() { [ "$(dropped go)" = 1 ]; }
	if wait_for 20 is_counted; then ok parca.refused_is_counted; else not_ok parca.refused_is_counted "$(dropped go)"; fi
	get /api/v1/pipeline >"$dir/pipeline"
	expect parca.refused_says_why "gRPC's status 3: refused: 100 % of " "$dir/pipeline"
	aside=$dir/data/go/spool/aside
	cat "$aside"/*.txt >"$dir/said" 2>/dev/null
	expect parca.refused_is_set_aside "gRPC's status 3: refused: 100 % of " "$dir/said"
	"$decima" convert --from-format batch --to-format folded "$aside"/*.batch "$dir/aside.folded" >"$dir/out" 2>&1
	expect parca.refused_can_be_read "main;no 7" "$dir/aside.folded"
	printf 'main;wait 9\n' | push 'name=demo&label=refuse=14:3'
	read_as unavailable_is_tried_again 'demo:samples:count::{instance=test,node=test,refuse=14:3} sum=9 stacks=1 duration=0'
	# More than such a server takes in a message, which says so by the status of one that is short of something.
	head -c 6000000 /dev/urandom | od -An -tx1 -v | tr -d ' \n' | fold -w 200 | sed 's/^/main;/; s/$/ 1/' | push 'name=demo&label=service_name=large'
	printf 'main;behind 3\n' | push 'name=demo&label=service_name=behind'
	read_as too_large_holds_up_nobody 'demo:samples:count::{instance=test,node=test,service_name=behind} sum=3 stacks=1 duration=0'
	cat "$aside"/*.txt | sed 's/larger than the 4 MiB/larger than max/' >"$dir/said"
	expect parca.too_large_is_set_aside "larger than max" "$dir/said"
fi

# ---- away, and back; a wrong token, which is put right ----
far_stop
printf 'main;late 7\n' | push 'name=demo&label=service_name=late'
for i in $(seq 40); do printf 'main;late 1\nmain;late_%d %d\n' "$i" "$i" | push_cpu many; done
far_again parca.far_is_back
arrives after_it_was_away $delta '{service_name="late"}' demo:samples:count::
arrives what_waits_comes_once $cpu '{service_name="many"}'
expect parca.what_waits_adds_up 'main;late 400000000' "$dir/got"
together parca.what_waits_goes_together "$dir/far.sock" 41
printf 'wrong\n' >"$dir/token"
sleep 1.2
printf 'main;token 8\n' | push 'name=demo&label=service_name=token'
says() { get /api/v1/pipeline | grep -qF -e "$1"; }
if wait_for 20 says "status 16"; then ok parca.wrong_token_is_told; else not_ok parca.wrong_token_is_told "$(get /api/v1/pipeline | head -c 400)"; fi
printf 'letmein\n' >"$dir/token"
wait_for 30 same "$delta{service_name=\"token\"}" 'demo:samples:count::{service_name="token"}'
arrives right_token $delta '{service_name="token"}' demo:samples:count::
