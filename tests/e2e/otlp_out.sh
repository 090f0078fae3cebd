#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/otlp_out.sh - profiles that are sent by OTLP: what servers of the published Go modules read, and another daemon
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

[ -e "$plugins/output_otlp.so" ] || skip_all "built without the output otlp"
[ -e "$plugins/input_receive.so" ] || skip_all "built without receive"
command -v openssl >/dev/null || skip_all "no openssl"

servers=
servers_stop() {
	for pid in $servers; do kill "$pid" 2>/dev/null; done
}
trap 'servers_stop; far_stop; daemon_stop; rm -rf "$dir"' EXIT

# ---- the daemon that is sent to, behind TLS ----
certificates_made otlp_out ca server localhost 127.0.0.1
cat >"$dir/far.yaml" <<YAML
inputs: { receive: {} }
storage: { local: {} }
server:
  tokens: [ { token: letmein, role: write } ]
  tls: { cert_file: ca/server.pem, key_file: ca/server.key }
YAML
far_begin otlp_out.far_starts

# ---- servers by grpc-go and net/http, of two versions, which hand on what they take ----
# server_start VERSION: its addresses are in $dir/VERSION.out
server_start() {
	go_program "otlp_out.go_$1" "otlp_server.$1" otlp_server "otlp/$1.mod" || return
	TOKEN=letmein "$dir/otlp_server.$1" "$url" >"$dir/$1.out" 2>"$dir/$1.err" &
	servers="$servers $!"
	wait_for 30 grep -q '^grpc ' "$dir/$1.out" && return
	not_ok "otlp_out.go_$1" "the server does not come up: $(last_words "$dir/$1.err")"
	return 1
}
at() { sed -n "s/^$2 //p" "$dir/$1.out"; }
also=
has_go=
if server_start 1.10 && server_start 1.9; then
	has_go=1
	for version in 1.10 1.9; do
		also="$also, { name: go_grpc_$version, selector: '{service_name=\"go_grpc_$version\"}', layout: \"$version\", url: \"http://$(at $version grpc)\", bearer_token: secret }"
		also="$also, { name: go_http_$version, selector: '{service_name=\"go_http_$version\"}', layout: \"$version\", compression: none, url: \"http://$(at $version http)/v1development/profiles\" }"
	done
	also="$also, { name: bad, selector: '{service_name=\"bad\"}', url: \"http://$(at 1.10 grpc)\", refusals: 1 }"
	also="$also, { name: bad_http, selector: '{service_name=\"bad_http\"}', protocol: http, url: \"http://$(at 1.10 http)\", refusals: 1 }"
fi

# ---- of older versions the module reads what is sent, and hands on what it writes itself ----
relays=
for version in 1.8 1.7 1.5; do
	go_program "otlp_out.module_$version" "relay.$version" otlp_relay "otlp/$version.mod" || continue
	TOKEN=letmein "$dir/relay.$version" "$url" >"$dir/relay_$version.out" 2>&1 &
	servers="$servers $!"
	wait_for 30 grep -q '^http ' "$dir/relay_$version.out" || {
		not_ok "otlp_out.module_$version" "the relay does not come up: $(last_words "$dir/relay_$version.out")"
		continue
	}
	relays="$relays $version"
	also="$also, { name: module_$version, selector: '{service_name=\"module_$version\"}', protocol: http, compression: none, layout: \"$version\", url: \"http://$(at "relay_$version" http)\" }"
done

# way NAME OPTIONS: an output straight to the other daemon
way() {
	echo ", { name: $1, selector: '{service_name=\"$1\"}', url: \"https://127.0.0.1:$port\", bearer_token_file: token, tls_config: { ca_file: ca/ca.pem }, $2 }"
}
ways="grpc grpc_1.9 grpc_1.7 http http_1.8 http_1.5"
printf 'letmein\n' >"$dir/token"
cat >"$dir/near.yaml" <<YAML
node: test
inputs: { receive: {} }
storage: { memory: {} }
outputs:
  otlp: [ $({
	way grpc 'layout: "1.10"'
	way grpc_1.9 'layout: "1.9", compression: none'
	way grpc_1.7 'layout: "1.7"'
	way http 'protocol: http'
	way http_1.8 'protocol: http, compression: none, layout: "1.8"'
	way http_1.5 'protocol: http, layout: "1.5"'
	echo "$also"
} | tr -d '\n' | sed 's/^, //') ]
YAML
daemon_begin otlp_out.starts -c "$dir/near.yaml"

cpu=process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta
now=$(date +%s)
# push NAME{LABELS}: folded text, at 100 samples a second, on standard input
push() {
	curl -s -f --unix-socket "$dir/sock" --data-binary @- \
		"http://localhost/ingest?name=$(printf %s "$1" | sed 's/ /%20/g; s/{/%7B/; s/}/%7D/; s/=/%3D/g; s/,/%2C/g')&from=$((now - 10))&until=$now&format=folded&sampleRate=100" >/dev/null
}
# stacks SOCKET SERVICE
stacks() { "$decima" query stacks "$cpu{service_name=\"$2\"}" --from now-1h --to now+1m --url "unix:$1" 2>/dev/null | sort; }
same() { stacks "$dir/sock" "$1" >"$dir/want" && stacks "$dir/far.sock" "$1" >"$dir/got" && [ -s "$dir/want" ] && cmp -s "$dir/want" "$dir/got"; }
# arrives NAME SERVICE: the other daemon's answer is this one's
arrives() {
	if wait_for 15 same "$2"; then ok "otlp_out.$1"; else
		not_ok "otlp_out.$1" "$(diff "$dir/want" "$dir/got" | head -n 3 | tr '\n' '|') $(tail -n 1 "$dir/log")"
	fi
}
# read_as NAME VERSION LINE: what a server has read
read_as() {
	if wait_for 15 grep -qxF -e "$3" "$dir/$2.out"; then ok "otlp_out.$1"; else
		not_ok "otlp_out.$1" "$(tail -n 3 "$dir/$2.out" | tr '\n' '|') $(tail -n 1 "$dir/log")"
	fi
}

# ---- each way and version, straight to the other daemon ----
for name in $ways; do
	printf 'main;work 30\nmain;idle;"odd" λ 12\n' | push "$name"
	arrives "$name" "$name"
done
"$decima" query stacks "$cpu{service_name=\"grpc\",node=\"test\",host_name=\"test\",otel_scope_name=\"decima\"}" --from now-1h --to now+1m \
	--url "unix:$dir/far.sock" >"$dir/out" 2>&1
expect otlp_out.labels 'main;work 300000000' "$dir/out"

for version in $relays; do
	printf 'main;work 30\nmain;idle;"odd" λ 12\n' | push "module_$version{tier=front}"
	arrives "module_$version" "module_$version"
	expect "otlp_out.module_${version}_reads_it" read "$dir/relay_$version.out"
done

# ---- what the published modules read ----
if [ -n "$has_go" ]; then
	for version in 1.10 1.9; do
		for by in grpc http; do
			name=go_${by}_$version
			printf 'main;work 7\nmain;idle 2\n' | push "$name{pod=p-1,tier=a b}"
			read_as "$name" $version "profile cpu:nanoseconds:cpu:nanoseconds {k8s.node.name=test,k8s.pod.name=p-1,service.instance.id=test,service.name=$name,tier=a b} scope=decima period=10000000 duration=10000000000"
			read_as "${name}_sample" $version "sample 70000000 work[profile.frame.type=native];main[profile.frame.type=native] {}"
			arrives "${name}_handed_on" "$name"
		done
	done
	read_as go_is_told_the_version 1.10 'by grpc version=[1] authorization=[Bearer secret]'
	read_as go_gets_gzip 1.10 'grpc packed=gzip'
	read_as go_is_not_told_another 1.9 'by http /v1development/profiles version=[] packed=[] type=[application/x-protobuf]'
	if grep -q '^broken' "$dir/1.10.out" "$dir/1.9.out"; then not_ok otlp_out.go_finds_no_fault "$(grep -h '^broken' "$dir"/1.*.out | head -n 2 | tr '\n' '|')"; else
		ok otlp_out.go_finds_no_fault
	fi

	# ---- taken, and the answer lost: sent again, counted once ----
	for by in grpc http; do
		printf 'main;lost 5\n' | push "go_${by}_1.10{lose=2}"
	done
	is_tried() { [ "$(grep -c 'sample 50000000 lost' "$dir/1.10.out")" = 6 ]; }
	if wait_for 30 is_tried; then ok otlp_out.a_lost_answer_is_tried_again; else
		not_ok otlp_out.a_lost_answer_is_tried_again "$(grep -c 'sample 50000000 lost' "$dir/1.10.out")"
	fi
	for by in grpc http; do
		arrives "a_retry_by_${by}_counts_once" "go_${by}_1.10"
		expect "otlp_out.a_retry_by_${by}_counts_once_there" 'main;lost 50000000' "$dir/got"
	done

	# ---- partly taken, and warnings ----
	dropped() { get /metrics | sed -n "s/^decima_dropped_total{instance=\"$1\",reason=\"$2\"} //p"; }
	counts() { [ "$(dropped "$1" "$2")" = "$3" ]; }
	says() { get /api/v1/pipeline | grep -qF -e "$1"; }
	printf 'main;partly 5\n' | push 'go_grpc_1.10{partial=no room}'
	printf 'main;partly 5\n' | push 'go_http_1.10{partial=no room}'
	for by in grpc http; do
		if wait_for 15 counts "go_${by}_1.10" profiles_rejected 1; then ok "otlp_out.partly_by_${by}_is_counted"; else
			not_ok "otlp_out.partly_by_${by}_is_counted" "$(dropped "go_${by}_1.10" profiles_rejected)"
		fi
	done
	if wait_for 15 says 'left out 1 of its 1 profiles: no room'; then ok otlp_out.partly_is_told; else
		not_ok otlp_out.partly_is_told "$(get /api/v1/pipeline | head -c 400)"
	fi
	printf 'main;warned 5\n' | push 'go_http_1.10{warn=be careful}'
	if wait_for 15 grep -qF 'and says: be careful' "$dir/log"; then ok otlp_out.a_warning_is_logged; else
		not_ok otlp_out.a_warning_is_logged "$(tail -n 1 "$dir/log")"
	fi

	# ---- refused for good, or tried again: as the specification has it ----
	# aside NAME SERVICE WISH WORDS: set aside, with the server's words
	is_aside() { cat "$dir/data/$1/spool/aside"/*.txt | grep -qF -e "$2"; }
	aside() {
		printf 'main;no 7\n' | push "$2{refuse=$3}"
		if wait_for 20 is_aside "$2" "$4"; then ok "otlp_out.$1"; else
			not_ok "otlp_out.$1" "$(cat "$dir/data/$2/spool/aside"/*.txt 2>/dev/null | tail -n 1) $(tail -n 1 "$dir/log")"
		fi
	}
	aside refused bad 3 "gRPC's status 3: refused: 100 % of "
	aside internal_is_refused bad 13 "gRPC's status 13: refused: 100 % of "
	aside exhausted_is_refused bad 8 "gRPC's status 8: refused: 100 % of "
	aside http_400 bad_http 400 'answered 400: refused: 100 % of '
	aside http_500 bad_http 500 'answered 500: refused: 100 % of '
	# again NAME SERVICE WISH: it arrives all the same
	again() {
		printf 'main;again_%s 9\n' "$1" | push "$2{refuse=$3}"
		read_as "$1" 1.10 "sample 90000000 again_$1[profile.frame.type=native];main[profile.frame.type=native] {}"
	}
	again unavailable_is_tried_again bad 14:2
	again exhausted_with_a_retry_is_tried_again bad 8r:2
	again aborted_is_tried_again bad 10:1
	again http_429_is_tried_again bad_http 429:2
	again http_503_is_tried_again bad_http 503:2
	# More than such a server takes in a message, which is said; and what comes behind it goes.
	head -c 6000000 /dev/urandom | od -An -tx1 -v | tr -d ' \n' | fold -w 200 | sed 's/^/main;/; s/$/ 1/' | push bad
	again too_large_holds_up_nobody bad 14:1
	cat "$dir/data/bad/spool/aside"/*.txt >"$dir/said" 2>/dev/null
	expect otlp_out.too_large_is_set_aside "4 MiB" "$dir/said"
fi

# ---- away, and back; a wrong token, which is put right ----
far_stop
printf 'main;late 7\n' | push grpc
printf 'main;late 7\n' | push http
# Each with tables of its own, and something that all have.
for i in $(seq 40); do
	printf 'main;late 1\nmain;late_%d %d\n' "$i" "$i" | push grpc
	printf 'main;late 1\nmain;late_%d %d\n' "$i" "$i" | push http
done
far_again otlp_out.far_is_back
wait_for 30 same http
arrives grpc_after_it_was_away grpc
arrives http_after_it_was_away http
expect otlp_out.late_is_there 'main;late 470000000' "$dir/got"
together otlp_out.what_waits_goes_together "$dir/far.sock" 82
printf 'wrong\n' >"$dir/token"
sleep 1.2
printf 'main;token 8\n' | push grpc
printf 'main;token 8\n' | push http
told() { get /api/v1/pipeline | grep -qF -e "$1"; }
for what in "status 16" "answered 401"; do
	if wait_for 20 told "$what"; then ok "otlp_out.wrong_token_is_told, $what"; else not_ok "otlp_out.wrong_token_is_told, $what" "$(get /api/v1/pipeline | head -c 600)"; fi
done
printf 'letmein\n' >"$dir/token"
wait_for 30 same grpc
wait_for 30 same http
arrives grpc_right_token grpc
arrives http_right_token http
