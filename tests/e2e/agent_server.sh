#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/agent_server.sh - one Decima sends to another by TLS with a token: every sample arrives, and once
#
# The agent takes profiles of which each has a stack of its own, so that what is missing and what came twice can be told.
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

[ -e "$plugins/input_receive.so" ] || skip_all "built without receive"
[ -e "$plugins/output_decima.so" ] || skip_all "built without the output decima"
command -v openssl >/dev/null || skip_all "no openssl"
certificates_made agent_server ca server 127.0.0.1

server=
old=
trap 'server_stop; daemon_stop; [ -n "$old" ] && kill "$old"; rm -rf "$dir"' EXIT
cat >"$dir/server.yaml" <<YAML
server:
  tokens: [ { token: letmein, role: write } ]
  tls: { cert_file: ca/server.pem, key_file: ca/server.key }
inputs: { receive: {} }
storage: { local: {} }
YAML
server_log() { cat "$dir"/server.*.log; }
is_served() { grep -q 'is ready at' "$dir/server.$runs.log" || ! kill -0 "$server"; }
runs=0
# server_start ADDRESS
server_start() {
	runs=$((runs + 1))
	"$decima" run --plugin-path "$plugins" --data "$dir/server.data" -c "$dir/server.yaml" \
		--set "server.listen=[\"$1\",\"unix:$dir/server.sock\"]" >"$dir/out" 2>"$dir/server.$runs.log" &
	server=$!
	wait_for 60 is_served
	if ! kill -0 "$server" 2>/dev/null; then
		not_ok agent_server.server_starts "$(tail -n 2 "$dir/server.$runs.log" | tr '\n' '|')"
		exit 1
	fi
	address=$(sed -n 's|.*is ready at https://\([^ ,]*\).*|\1|p' "$dir/server.$runs.log" | head -n 1)
}
server_stop() {
	[ -n "$server" ] || return 0
	kill -CONT "$server" 2>/dev/null
	kill "${1:--TERM}" "$server" 2>/dev/null
	wait "$server" 2>/dev/null
	server=
}
server_start 127.0.0.1:0

printf 'letmein\n' >"$dir/token"
cat >"$dir/agent.yaml" <<YAML
node: agent-7
inputs: { receive: { answer: queued } }
outputs:
  decima:
    url: "https://$address"
    bearer_token_file: token
    tls_config: { ca_file: ca/ca.pem }
    write_timeout: 2s
YAML
agent_start() {
	if ! daemon_start -c "$dir/agent.yaml"; then
		not_ok "agent_server.$1" "$(last_words "$dir/log")"
		exit 1
	fi
}
agent_start agent_starts
ok agent_server.starts

# push FROM TO: profile number n has 1 in stack s<n>
push() {
	for n in $(seq "$1" "$2"); do
		printf 'main;s%s 1\n' "$n" | curl -s -f -o /dev/null --unix-socket "$dir/sock" --data-binary @- \
			"http://localhost/api/v1/ingest?name=demo&time=now&label=n=$((n % 5))" || echo "not taken: $n"
	done
}
# What the server has: a line for each stack, "NUMBER TIMES".
stacks() {
	"$decima" query stacks 'demo:samples:count:::delta' --from now-1h --to now+1m --url "unix:$dir/server.sock" 2>/dev/null |
		sed -n 's/.*s\([0-9]*\) \([0-9]*\)$/\1 \2/p' | sort -n
}
has() { [ "$(stacks | wc -l)" -ge "$1" ]; }
# all NAME N: each of 1 to N is there, once
all() {
	wait_for 60 has "$2"
	stacks >"$dir/got"
	seq "$2" | sed 's/$/ 1/' >"$dir/want"
	if cmp -s "$dir/got" "$dir/want"; then ok "agent_server.$1"; else
		not_ok "agent_server.$1" "$(diff "$dir/want" "$dir/got" | head -n 4 | tr '\n' '|') $(tail -n 1 "$dir/log")"
	fi
}
has_state() { get /api/v1/pipeline | grep -qF -e "$1"; }
# says NAME TEXT: in what the agent says of its output
says() { if wait_for 30 has_state "$2"; then ok "agent_server.$1"; else not_ok "agent_server.$1" "$(get /api/v1/pipeline | head -c 600)"; fi; }

push 1 20
all arrives 20
"$decima" query values node --url "unix:$dir/server.sock" >"$dir/nodes" 2>&1
expect agent_server.node_is_the_agents agent-7 "$dir/nodes"

# ---- what was sent is not sent again ----
counter() { get /metrics | sed -n "s/^decima_$1{instance=\"decima\"} //p"; }
server_counter() { curl -s --unix-socket "$dir/server.sock" http://localhost/metrics | sed -n "s/^decima_$1{instance=\"receive\"} //p"; }
# sent NAME: bytes of pushing the same large profile once more, when it has arrived
sent() {
	before=$(counter decima_sent_bytes_total) rows=$(counter decima_samples_total)
	curl -s -f -o /dev/null --unix-socket "$dir/sock" --data-binary "@$dir/same" "http://localhost/api/v1/ingest?name=same&time=now"
	more_went() { [ "$(counter decima_samples_total)" -gt "$rows" ]; }
	wait_for 30 more_went
	echo $(($(counter decima_sent_bytes_total) - before))
}
seq 500 | sed 's/.*/main;a_function_with_a_name_&;another_&;third_& &/' >"$dir/same"
first=$(sent) second=$(sent)
if [ $((second * 5)) -lt "$first" ]; then ok agent_server.said_once; else not_ok agent_server.said_once "$first bytes, then $second"; fi
# is NAME WANT GOT
is() { if [ "$2" = "$3" ]; then ok "agent_server.$1"; else not_ok "agent_server.$1" "$3, not $2"; fi; }
is one_session "1 1" "$(counter decima_sessions_total) $(server_counter receive_sessions)"

# ---- the server knows who sends, and how its clock stands ----
"$decima" targets --url "unix:$dir/server.sock" >"$dir/targets" 2>&1
expect agent_server.agents_are_listed "agent-7" "$dir/targets"
"$decima" targets --format json --url "unix:$dir/server.sock" >"$dir/targets" 2>&1
if tr '{' '\n' <"$dir/targets" | grep -qE '"node":"agent-7","version":"decima/[0-9.]+","clock_skew_ms":"-?[0-9]{1,3}"'; then
	ok agent_server.agents_say_version_and_clock
else
	not_ok agent_server.agents_say_version_and_clock "$(head -c 600 "$dir/targets")"
fi

# ---- the other side is frozen: a request is with it, and its answer comes too late ----
kill -STOP "$server"
push 21 40
says frozen "degraded"
kill -CONT "$server"
all frozen_and_back 40

# ---- it is killed, and comes back at the same address ----
for round in 1 2 3; do
	push $((41 + (round - 1) * 20)) $((50 + (round - 1) * 20))
	server_stop -KILL
	push $((51 + (round - 1) * 20)) $((60 + (round - 1) * 20))
	server_start "$address"
done
all killed_and_back 100

if [ "$(counter decima_sessions_total)" -gt 1 ]; then ok agent_server.sessions_began_anew; else not_ok agent_server.sessions_began_anew "$(counter decima_sessions_total)"; fi

# ---- the agent stops: what it holds goes out first ----
push 101 120
daemon_stop
expect_status agent_server.agent_stops 0 "$daemon_status"
all agent_stopped 120

# ---- it may not: nothing is lost while that is put right ----
printf 'wrong\n' >"$dir/token"
agent_start with_a_wrong_token
push 121 130
says wrong_token "the token is not one of server.tokens"
printf 'letmein\n' >"$dir/token"
all right_token 130

# ---- another authority: nothing is sent ----
daemon_stop
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=another -keyout "$dir/other.key" -out "$dir/other.pem" 2>/dev/null
sed -i 's|ca_file: ca/ca.pem|ca_file: other.pem|' "$dir/agent.yaml"
agent_start with_another_authority
push 131 131
says other_authority "not trusted"
daemon_stop

# ---- no room for sessions: all arrives, each batch on its own ----
sed -i 's|ca_file: other.pem|ca_file: ca/ca.pem|' "$dir/agent.yaml"
server_stop
sed -i 's|receive: {}|receive: { max_sessions: 0 }|' "$dir/server.yaml"
server_start "$address"
agent_start without_room
all what_waited 131
push 132 140
all without_room 140
is says_no_room 1 "$(server_counter receive_sessions_unkept_total)"
daemon_stop

# ---- one that has never heard of sessions: refuses them as what they are not, and takes batches ----
cat >"$dir/old.py" <<'PY'
import http.server, gzip, sys
n, too_new = 0, int(sys.argv[2])
class Old(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        global n, too_new
        body = gzip.decompress(self.rfile.read(int(self.headers["content-length"])))
        if too_new > 0:
            too_new -= 1
            self.answer(415, b'{"detail":"batch format: version 2 with flags 0; this program reads version 1"}')
            return
        is_batch = body[:4] == b"DCMB"
        if is_batch:
            open("%s/old.%d.batch" % (sys.argv[1], n), "wb").write(body)
            n += 1
        print(body[:4].decode(), file=sys.stderr, flush=True)
        said = b"" if is_batch else b'{"detail":"batch format: it does not begin with the mark of a batch"}'
        self.answer(200 if is_batch else 400, said)
    def answer(self, status, said):
        self.send_response(status)
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)
    def log_message(self, *a):
        pass
s = http.server.HTTPServer(("127.0.0.1", 0), Old)
print(s.server_port, flush=True)
s.serve_forever()
PY
listens() { [ -s "$dir/old.port" ]; }
# old_start N: it reads nothing of the first N requests: they are of a later version
old_start() {
	: >"$dir/old.port"
	python3 "$dir/old.py" "$dir" "$1" >"$dir/old.port" 2>"$dir/old.said" &
	old=$!
	wait_for 30 listens
	sed "s|url: .*|url: http://127.0.0.1:$(cat "$dir/old.port")|; /bearer_token_file\|tls_config/d" "$dir/agent.yaml" >"$dir/to_old.yaml"
}
old_stop() {
	kill "$old"
	wait "$old" 2>/dev/null
	old=
}
old_start 0
if daemon_start -c "$dir/to_old.yaml"; then
	push 201 210
	ten() { [ "$(find "$dir" -name 'old.*.batch' | wc -l)" -ge 10 ]; }
	wait_for 30 ten
	for b in "$dir"/old.*.batch; do "$decima" convert "$b" "$b.folded" 2>>"$dir/err"; done
	cat "$dir"/old.*.folded | sed -n 's/.*;s\([0-9]*\) \([0-9]*\)$/\1 \2/p' | sort -n >"$dir/got"
	seq 201 210 | sed 's/$/ 1/' >"$dir/want"
	is old_server "$(cat "$dir/want")" "$(cat "$dir/got")"
	# It is asked once, and left alone with it for a while.
	is old_server_is_asked_once 1 "$(grep -c DCMS "$dir/old.said")"
	daemon_stop
else
	not_ok agent_server.old_server "$(last_words "$dir/log")"
fi
old_stop
# What is too new for it waits, longer than what is refused does, until it is updated.
rm -f "$dir"/old.*.batch
old_start 12
if daemon_start -c "$dir/to_old.yaml"; then
	push 221 221
	one() { [ -n "$(find "$dir" -name 'old.*.batch')" ]; }
	if wait_for 60 one; then ok agent_server.too_new_waits; else
		not_ok agent_server.too_new_waits "$(get /api/v1/pipeline | head -c 500)"
	fi
	daemon_stop
else
	not_ok agent_server.too_new_waits "$(last_words "$dir/log")"
fi
old_stop

# ---- what the other side cannot take is refused for good, and counted ----
server_stop
sed -i 's|receive: { max_sessions: 0 }|receive: { max_body: 1KiB }|' "$dir/server.yaml"
server_start "$address"
agent_start with_too_much
{
	for n in $(seq 2000); do printf 'main;%s%s 1\n' "$(printf '%s' "$n" | sha256sum | cut -c 1-40)" "$n"; done
} >"$dir/large"
curl -s -f -o /dev/null --unix-socket "$dir/sock" --data-binary "@$dir/large" 'http://localhost/api/v1/ingest?name=large'
is_refused() { get /metrics | grep -q '^decima_dropped_total{instance="decima",reason="rejected"} [1-9]'; }
if wait_for 30 is_refused; then ok agent_server.too_large_is_counted; else
	not_ok agent_server.too_large_is_counted "$(get /metrics | grep '^decima_dropped' | head -n 5 | tr '\n' '|')"
fi
server_stop
daemon_stop

# ---- a batch that is too large goes profile by profile, and only the one that is too large alone is refused ----
sed -i 's|max_body: 1KiB|max_body: 4KiB|' "$dir/server.yaml"
rm -rf "$dir/server.data" "$dir/data"
server_start "$address"
agent_start with_too_much_at_once
series() {
	"$decima" convert --from-format folded --to-format pprof "$dir/one" - 2>>"$dir/err" | base64 -w 0 >"$dir/one.base64"
	printf '%s{"labels":[{"name":"__name__","value":"demo"},{"name":"service_name","value":"n%s"}],"samples":[{"ID":"%s","rawProfile":"%s"}]}' \
		"$2" "$1" "$1" "$(cat "$dir/one.base64")"
}
{
	printf '{"series":['
	for n in $(seq 40); do
		printf 'main;%s;s%s 1\n' "$(printf '%s' "$n" | sha512sum | cut -c 1-128)" "$n" >"$dir/one"
		series "$n" ""
		printf ,
	done
	cp "$dir/large" "$dir/one"
	series large ""
	printf ']}'
} >"$dir/request.json"
curl -s -f -o /dev/null --unix-socket "$dir/sock" -H 'content-type: application/json' --data-binary "@$dir/request.json" \
	'http://localhost/push.v1.PusherService/Push' || not_ok agent_server.parts_are_taken "$(last_words "$dir/log")"
named() {
	"$decima" query values service_name --url "unix:$dir/server.sock" 2>/dev/null | sed -n 's/^n\([0-9]*\) .*/\1/p' | sort -n | tr '\n' ' '
}
forty="$(seq 40 | tr '\n' ' ')"
all_named() { [ "$(named)" = "$forty" ]; }
wait_for 60 all_named
is parts_arrive "$forty" "$(named)"
sum() {
	"$decima" query stacks demo:samples:count:: --focus . --from now-1h --to now+1m --url "unix:$dir/server.sock" 2>/dev/null |
		sum_of_lines
}
is parts_count_once 40 "$(sum)"
rows() { get /metrics | sed -n 's/^decima_dropped_total{instance="decima",reason="rejected"} //p'; }
is_settled() { [ "$(rows)" = 2000 ]; }
wait_for 30 is_settled
is only_the_large_one_is_refused 2000 "$(rows)"
"$decima" convert --from-format batch --to-format folded "$dir"/data/decima/spool/aside/*.batch "$dir/aside.folded" 2>>"$dir/err"
is the_large_one_is_set_aside 2000 "$(wc -l <"$dir/aside.folded")"
server_stop
daemon_stop
