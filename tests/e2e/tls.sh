#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/tls.sh - HTTP/2 and HTTP/1.1 behind TLS: certificates of both sides, renewed ones, what is refused; h2spec and nghttp
#
# h2spec is a Go module, which comes through the module proxy that `go` knows.
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

command -v openssl >/dev/null || skip_all "no openssl"
ca=$dir/ca
certificates() { "$top_srcdir/tools/certificates" "$@" >"$dir/err" 2>&1; }
if ! { certificates "$ca" server localhost 127.0.0.1 && certificates "$ca" client agent &&
	certificates "$dir/other" client stranger && DAYS=-1 certificates "$ca" client late; }; then
	not_ok tls.certificates "$(tail -n 2 "$dir/err" | tr '\n' '|')"
	exit 1
fi
ok tls.certificates

# config [MORE]: of server.tls; storage and pages are there
config() {
	cat <<YAML
server: { tls: { cert_file: ca/server.pem, key_file: ca/server.key ${1:-} } }
storage: { memory: {} }
inputs: { receive: {} }
outputs: { web: {} }
YAML
}
start() {
	if ! daemon_start -c "$dir/tls.yaml" --set "server.listen=[\"127.0.0.1:0\",\"unix:$dir/sock\"]"; then
		not_ok "tls.$1" "$(last_words "$dir/log")"
		exit 1
	fi
	ok "tls.$1"
	base=$(sed -n 's|.*is ready at \(https://[^ ,]*\).*|\1|p' "$dir/log" | head -n 1)
	port=${base##*:}
}
# fetch NAME WANT PATH [CURL-ARGUMENT]...: "STATUS VERSION", or "failed"
fetch() {
	name=$1 want=$2 path=$3
	shift 3
	got=$(curl -s -m 20 --cacert "$ca/ca.pem" -o "$dir/answer" -w '%{http_code} %{http_version}' "$@" "$base$path") || got=failed
	if [ "$got" = "$want" ]; then ok "tls.$name"; else not_ok "tls.$name" "$got, not $want"; fi
}

# ---- one port, both versions ----
config >"$dir/tls.yaml"
start starts
fetch http_2 '200 2' /-/healthy --http2
fetch http_1 '200 1.1' /-/healthy --http1.1
# A file of the pages, and a body, through both.
script=$(get / | grep -o '[a-zA-Z0-9_.-]*\.js' | head -n 1)
for version in 1.1 2; do
	curl -s --cacert "$ca/ca.pem" "--http$version" "$base/$script" | cmp -s - "$top_srcdir/ui/dist/$script"
	expect_status "tls.page_$version" 0 $?
	head -c 20000 /dev/zero | tr '\0' 'a' >"$dir/body"
	printf ' %s\n' "${version%.1}" >>"$dir/body"
	fetch "push_$version" "200 $version" "/api/v1/ingest?name=demo&label=v=$version" "--http$version" --data-binary "@$dir/body"
	got=$("$decima" query stacks "demo:samples:count:::delta{v=\"$version\"}" --url "$base" --ca-file "$ca/ca.pem" \
		--from now-1h --to now+1m 2>"$dir/err" | awk '{ print $NF }')
	if [ "$got" = "${version%.1}" ]; then ok "tls.pushed_$version"; else not_ok "tls.pushed_$version" "\"$got\": $(cat "$dir/err")"; fi
done
if curl -s -m 10 "http://${base#https://}/-/healthy" >/dev/null; then not_ok tls.not_in_the_clear "answered"; else
	ok tls.not_in_the_clear
fi
for old in tls1 tls1_1; do
	openssl s_client -connect "127.0.0.1:$port" "-$old" -cipher 'ALL:@SECLEVEL=0' </dev/null >"$dir/out" 2>&1
	expect "tls.$old" 'Cipher is (NONE)' "$dir/out"
done
openssl s_client -connect "127.0.0.1:$port" -tls1_2 -CAfile "$ca/ca.pem" -verify_return_error -alpn h2 </dev/null >"$dir/out" 2>&1
expect tls.alpn 'ALPN protocol: h2' "$dir/out"
"$decima" query types --url "$base" >"$dir/out" 2>"$dir/err"
expect tls.an_unknown_authority 'not trusted' "$dir/err"
"$decima" query types --url "http://${base#https://}" >"$dir/out" 2>"$dir/err"
expect tls.in_the_clear_says_what_to_write 'write https://' "$dir/err"

# ---- nghttp: several streams of one connection, and a body ----
# nghttps NAME ADDRESS: pages and a push; nghttp says of each stream what its status was
nghttps() {
	if ! command -v nghttp >/dev/null; then
		skip "tls.nghttp_$1" "nghttp is not installed; apt-get install nghttp2-client"
		return
	fi
	nghttp -v -n -m 3 -t 20 "$2/-/healthy" "$2/" >"$dir/out" 2>&1
	n=$(sed 's/\x1b\[[0-9;]*m//g' "$dir/out" | grep -c 'recv (stream_id=[0-9]*) :status: 200')
	if [ "$n" = 6 ]; then ok "tls.nghttp_$1"; else not_ok "tls.nghttp_$1" "$n times 200, not 6: $(tail -n 2 "$dir/out" | tr '\n' '|')"; fi
	nghttp -v -n -t 20 -d "$dir/body" "$2/api/v1/ingest?name=by_nghttp" >"$dir/out" 2>&1
	expect "tls.nghttp_pushes_$1" ':status: 200' "$dir/out"
}
nghttps tls "$base"

# ---- h2spec: every one of its cases ----
# h2specs NAME [ARGUMENT]...: the path takes POST with a body, which many of the cases send
h2specs() {
	spec=$1
	shift
	timeout 300 "$dir/h2spec" "$@" -h 127.0.0.1 -p "$port" -P /api/v1/ingest -o 5 >"$dir/out" 2>&1
	failed=$(sed -n '/^Failures/,$p' "$dir/out" | sed -n 's/^ *× [0-9]*: //p' | tr '\n' '|')
	case $(tail -n 1 "$dir/out") in
	'145 tests, '*' 0 skipped, '*) ;;
	*) failed="$failed $(tail -n 1 "$dir/out")" ;;
	esac
	if [ -z "$failed" ]; then ok "tls.$spec"; else not_ok "tls.$spec" "$failed"; fi
}
go_command tls.h2spec github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible && h2specs h2spec -t -k

# ---- a certificate that is renewed while it runs ----
serial() { openssl s_client -connect "127.0.0.1:$port" </dev/null 2>/dev/null | openssl x509 -noout -serial; }
before=$(serial)
certificates "$ca" server localhost 127.0.0.1
is_renewed() { [ "$(serial)" != "$before" ]; }
if wait_for 20 is_renewed; then ok tls.renewed; else not_ok tls.renewed "still $before"; fi
fetch renewed_serves '200 2' /-/healthy
# Half of a pair changes nothing, and is said.
before=$(serial)
cp "$ca/agent.key" "$ca/server.key"
says_why() { serial >/dev/null; grep -q 'is not the key of the certificate' "$dir/log"; }
if wait_for 20 says_why && ! is_renewed; then ok tls.half_renewed; else not_ok tls.half_renewed "$(tail -n 1 "$dir/log")"; fi
fetch half_renewed_serves '200 2' /-/healthy
daemon_stop
expect_status tls.stops 0 "$daemon_status"

# ---- what one client has of the connections comes back, however each of them ends ----
certificates "$ca" server localhost 127.0.0.1
config >"$dir/tls.yaml"
sed -i 's/^server: {/& max_client_connections: 4,/' "$dir/tls.yaml"
start shares
if command -v python3 >/dev/null; then
	python3 - "$port" >"$dir/out" 2>"$dir/err" <<'PYTHON'
import socket, ssl, struct, sys, time

here = ("127.0.0.1", int(sys.argv[1]))
GET = b"GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n"
H2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])

def dial(alpn=None, wrap=True):
    s = socket.create_connection(here, 20)
    if not wrap:
        return s
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if alpn:
        context.set_alpn_protocols([alpn])
    return context.wrap_socket(s)

def ends(name):
    """one connection, which has been taken when this returns, and has ended"""
    if name == "half_a_hello":
        s = dial(wrap=False)
        s.sendall(b"\x16\x03\x01\x02\x00\x01")
    elif name == "no_hello":
        s = dial(wrap=False)
        s.sendall(GET)
        s.recv(100)
    elif name == "h2":
        s = dial("h2")
        s.sendall(H2)
        s.recv(9)
    elif name == "h2_broken":
        s = dial("h2")
        s.sendall(GET)
        while s.recv(4096):
            pass
    elif name == "silent":
        s = dial()
    else:
        s = dial("http/1.1")
        s.sendall(GET)
        assert b" 200 " in s.recv(4096)
    if name == "h1_reset":
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()

def is_let_in():
    """within 10 s, as the server hears of an end a moment later"""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            ends("h1")
            return True
        except (OSError, AssertionError):
            time.sleep(0.1)
    return False

for name in ("h1", "h1_reset", "h2", "h2_broken", "silent", "half_a_hello", "no_hello"):
    for _ in range(40):
        try:
            ends(name)
        except (OSError, AssertionError):
            pass
    case = "tls.share_comes_back_" + name
    print("ok " + case if is_let_in() else "not ok %s: nothing more is let in" % case)
PYTHON
	cat "$dir/out"
	[ "$(grep -c '^ok ' "$dir/out")" = 7 ] || not_ok tls.shares_come_back "$(last_words "$dir/err")"
else
	skip tls.shares "python3 is not installed; apt-get install python3"
fi
daemon_stop

# ---- clients' certificates ----
certificates "$ca" server localhost 127.0.0.1
config ', client_ca_file: ca/ca.pem, client_role: read' >"$dir/tls.yaml"
start mutual
fetch no_certificate failed /api/v1/types
fetch certificate '200 2' /api/v1/types --cert "$ca/agent.pem" --key "$ca/agent.key"
fetch certificate_http_1 '200 1.1' /api/v1/types --http1.1 --cert "$ca/agent.pem" --key "$ca/agent.key"
fetch certificate_may_read_only '403 2' '/api/v1/ingest?name=demo' -d 'a 1' --cert "$ca/agent.pem" --key "$ca/agent.key"
fetch stranger failed /api/v1/types --cert "$dir/other/stranger.pem" --key "$dir/other/stranger.key"
openssl verify -CAfile "$ca/ca.pem" "$ca/late.pem" >"$dir/out" 2>&1
expect tls.late_is_late 'certificate has expired' "$dir/out"
fetch late failed /api/v1/types --cert "$ca/late.pem" --key "$ca/late.key"
# What is for servers is not for clients.
fetch servers_certificate failed /api/v1/types --cert "$ca/server.pem" --key "$ca/server.key"
daemon_stop
# Another authority of clients, while it runs: who was let in is not any more, by no session from before either.
cp "$ca/ca.pem" "$ca/clients.pem"
config ', client_ca_file: ca/clients.pem, client_role: read' >"$dir/tls.yaml"
start another_authority
fetch before_another_authority '200 2' /api/v1/types --cert "$ca/agent.pem" --key "$ca/agent.key"
openssl s_client -connect "127.0.0.1:$port" -CAfile "$ca/ca.pem" -cert "$ca/agent.pem" -key "$ca/agent.key" -sess_out "$dir/session" \
	-tls1_2 </dev/null >"$dir/out" 2>&1
# resumed: does a client go on with that session, who has no certificate?
resumed() {
	openssl s_client -connect "127.0.0.1:$port" -CAfile "$ca/ca.pem" -sess_in "$dir/session" -tls1_2 </dev/null 2>&1 | grep -q '^Reused'
}
if resumed; then ok tls.session_goes_on; else not_ok tls.session_goes_on "$(tail -n 2 "$dir/out" | tr '\n' '|')"; fi
cp "$dir/other/ca.pem" "$ca/clients.pem"
is_let_in() { curl -s -f -m 20 --cacert "$ca/ca.pem" -o "$dir/answer" --cert "$dir/other/$1.pem" --key "$dir/other/$1.key" "$base/api/v1/types"; }
wait_for 20 is_let_in stranger
fetch of_another_authority '200 2' /api/v1/types --cert "$dir/other/stranger.pem" --key "$dir/other/stranger.key"
fetch of_the_authority_before failed /api/v1/types --cert "$ca/agent.pem" --key "$ca/agent.key"
if resumed; then not_ok tls.session_of_the_authority_before "it goes on"; else ok tls.session_of_the_authority_before; fi
daemon_stop
config ', client_ca_file: ca/ca.pem, client_auth: optional, client_role: admin' >"$dir/tls.yaml"
sed -i 's/^server: { /server: { tokens: [ { token: letmein, role: read } ], /' "$dir/tls.yaml"
start optional
fetch neither '401 2' /api/v1/types
fetch token '200 2' /api/v1/types -H 'Authorization: Bearer letmein'
fetch token_may_read_only '403 2' /-/reload -X POST -H 'Authorization: Bearer letmein'
fetch admin_by_certificate '200 2' /-/reload -X POST --cert "$ca/agent.pem" --key "$ca/agent.key"
daemon_stop

# ---- what cannot start, and why ----
# refused NAME TEXT TLS
refused() {
	config "$3" >"$dir/tls.yaml"
	"$decima" check --plugin-path "$plugins" --data "$dir/data" -c "$dir/tls.yaml" --set 'server.listen=127.0.0.1:0' >"$dir/out" 2>&1
	expect "tls.$1" "$2" "$dir/out"
}
refused missing_file "server.tls.client_ca_file" ', client_ca_file: ca/nowhere.pem'
refused no_pem "give it the PEM" ', client_ca_file: tls.yaml'
printf 'server: { tls: { cert_file: ca/server.pem } }\n' >"$dir/half.yaml"
"$decima" check --config-only --plugin-path "$plugins" -c "$dir/half.yaml" >"$dir/out" 2>&1
expect tls.half_a_pair 'server.tls.key_file: is missing' "$dir/out"
printf 'server: { listen: "0.0.0.0:0", tls: { cert_file: ca/server.pem, key_file: ca/server.key } }\n' >"$dir/open.yaml"
"$decima" check --config-only --plugin-path "$plugins" -c "$dir/open.yaml" >"$dir/out" 2>&1
expect tls.open_to_all 'nobody needs a token or a certificate' "$dir/out"

# ---- in the clear, with prior knowledge: the same ----
printf 'storage: { memory: {} }\ninputs: { receive: {} }\noutputs: { web: {} }\n' >"$dir/far.yaml"
trap 'far_stop; daemon_stop; rm -rf "$dir"' EXIT
far_begin tls.in_the_clear
nghttps in_the_clear "$url"
[ ! -x "$dir/h2spec" ] || h2specs h2spec_in_the_clear
# What is neither a request nor the preface gets no answer, and is counted; half a request is told what it lacks.
n_refused() { curl -s --unix-socket "$dir/far.sock" http://localhost/metrics | sed -n 's/^decima_http_refused_total //p'; }
# said BYTES: what comes back, in $dir/out; 0 when the server has ended it before curl has to
said() {
	printf '%b' "$1" | curl -s -m 10 "telnet://127.0.0.1:$port" >"$dir/out" 2>&1
}
before=$(n_refused)
said 'INVALID CONNECTION PREFACE\r\n\r\n'
expect_status tls.no_preface_is_closed 0 $?
if [ -s "$dir/out" ]; then not_ok tls.no_preface_gets_no_answer "$(head -n 1 "$dir/out")"; else ok tls.no_preface_gets_no_answer; fi
if [ "$(n_refused)" = $((before + 1)) ]; then ok tls.no_preface_is_counted; else not_ok tls.no_preface_is_counted "$(n_refused), before $before"; fi
said 'GET /-/healthy\r\n\r\n'
expect tls.half_a_request_is_answered 'HTTP/1.1 400' "$dir/out"
