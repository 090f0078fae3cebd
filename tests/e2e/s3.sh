#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/s3.sh - profiles as objects: what is there, whoever was away, killed, or had the wrong key
#
# The server, tests/lib/s3.py, computes the signatures by itself, and is held to Amazon's example, and to botocore where that is
# installed.
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

[ -e "$plugins/output_s3.so" ] || skip_all "built without s3"
[ -e "$plugins/input_receive.so" ] || skip_all "built without receive"
command -v python3 >/dev/null || skip_all "python3 is not installed"

secret=wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY
s3=$dir/s3
mkdir -p "$s3/objects"
echo "$secret" >"$s3/secret"
: >"$s3/put"
server=
server_stop() {
	[ -n "$server" ] || return 0
	kill "$server" 2>/dev/null
	wait "$server" 2>/dev/null
	server=
}
# server_start [PORT]
server_start() {
	rm -f "$s3/port"
	python3 "$top_srcdir/tests/lib/s3.py" "$s3" "$@" 2>"$dir/s3.log" &
	server=$!
	wait_for 60 [ -s "$s3/port" ] && return
	not_ok s3.server "$(last_words "$dir/s3.log")"
	exit 1
}
trap 'server_stop; daemon_stop; rm -rf "$dir"' EXIT

if python3 "$top_srcdir/tests/lib/s3.py" --self-test; then ok s3.server_is_right; else
	not_ok s3.server_is_right "its signature of Amazon's example is another one"
fi
server_start
port=$(cat "$s3/port")

# ---- the server, by somebody else's signatures ----
cat >"$dir/boto.py" <<'PY'
import sys
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
import urllib.request
request = AWSRequest("PUT", f"http://127.0.0.1:{sys.argv[1]}/profiles/boto/dt%3D1/a%40%2B_x", data=b"hello")
S3SigV4Auth(Credentials("AKIAIOSFODNN7EXAMPLE", sys.argv[2]), "s3", "eu-test-1").add_auth(request)
try:
	print(urllib.request.urlopen(urllib.request.Request(request.url, b"hello", dict(request.headers), method="PUT")).status)
except urllib.error.HTTPError as e:
	print(e.code, e.read().decode())
PY
if python3 -c 'import botocore' 2>/dev/null; then
	python3 "$dir/boto.py" "$port" "$secret" >"$dir/out" 2>&1
	expect s3.server_takes_botocore 200 "$dir/out"
	python3 "$dir/boto.py" "$port" wrong >"$dir/out" 2>&1
	expect s3.server_refuses_a_wrong_key SignatureDoesNotMatch "$dir/out"
else
	skip s3.server_takes_botocore "botocore is not installed"
fi
: >"$s3/put"

# ---- objects ----
echo "$secret" >"$dir/key"
cat >"$dir/near.yaml" <<YAML
inputs: { receive: {} }
storage: { memory: {} }
outputs:
  s3:
    endpoint: "http://127.0.0.1:$port/"
    region: eu-test-1
    bucket: profiles
    prefix: team-a
    access_key: AKIAIOSFODNN7EXAMPLE
    secret_key_file: $dir/key
    http_headers: { X-Amz-Storage-Class: { values: [ REDUCED_REDUNDANCY ] }, X-A: { values: [ "a  b" ] } }
YAML
daemon_begin s3.starts -c "$dir/near.yaml"

# push SERVICE NUMBER: a profile of that many samples
push() {
	printf 'main;work %s\n' "$2" | curl -s -f --unix-socket "$dir/sock" --data-binary @- \
		"http://localhost/api/v1/ingest?name=demo&time=now&label=service_name=$1" >/dev/null
}
count() { find "$s3/objects" -path "*/team-a/$1/*" -type f | wc -l; }
there() { [ "$(count "$1")" = "$2" ]; }
state() { get /api/v1/pipeline; }
# arrives NAME SERVICE NUMBER
arrives() {
	wait_for 20 there "$2" "$3"
	if there "$2" "$3"; then ok "s3.$1"; else
		not_ok "s3.$1" "$(count "$2") objects, not $3: $(state | grep -o '[^"]*answered[^"]*' | head -n 1) $(last_words "$dir/log")"
	fi
}
# says NAME WORDS: in the output's state
says() {
	said() { state | grep -qF -e "$1"; }
	wait_for 20 said "$2"
	if said "$2"; then ok "s3.$1"; else not_ok "s3.$1" "no \"$2\" in $(state | grep -o '"[^"]*127.0.0.1[^"]*"' | head -n 2 | tr '\n' '|')"; fi
}

push shop 42
arrives is_put shop 1
name=$(find "$s3/objects" -path '*/team-a/shop/*' -type f | head -n 1)
case ${name#"$s3/objects/"} in
team-a/shop/dt=20??-??-??/hour=??/demo.samples-????????T??????.???Z-????????????????.pb.gz) ok s3.key ;;
*) not_ok s3.key "$name" ;;
esac
"$decima" convert --from-format pprof --to-format folded "$name" "$dir/folded" >"$dir/out" 2>&1
expect s3.decima_reads_it 'main;work 42' "$dir/folded"
if command -v go >/dev/null; then
	HOME=$dir GOCACHE=${GOCACHE:-$dir/cache} go tool pprof -top "$name" >"$dir/top" 2>"$dir/err"
	expect s3.pprof_reads_it ' work' "$dir/top"
else
	skip s3.pprof_reads_it "go is not installed"
fi
expect s3.storage_class 'x-amz-storage-class: REDUCED_REDUNDANCY' "$s3/headers"
expect s3.type 'content-type: application/octet-stream' "$s3/headers"

push 'a%2Fb%3D%25%20%2B%C3%A4%3F%23..%27' 3
arrives odd_labels 'a_b=*' 1
push '..' 3
arrives dots '_.' 1

# ---- wrong keys are told, and tried again ----
echo wrong >"$dir/key"
sleep 1.1
push later 5
says wrong_key_is_told 'SignatureDoesNotMatch: The request signature'
says wrong_key_has_a_remedy 'is secret_key right?'
if state | grep -qF "$secret"; then not_ok s3.no_secret "the status shows the key"; else ok s3.no_secret; fi
echo "$secret" >"$dir/key"
arrives right_key_again later 1
echo '503 SlowDown' >"$s3/fail"
push slow 5
says slow_down 'answered 503: SlowDown: as the test wants it'
echo '404 NoSuchBucket' >"$s3/fail"
says no_bucket 'make it, or set bucket'
rm "$s3/fail"
arrives in_the_end slow 1

# ---- one that is refused is set aside, and keeps nobody ----
echo '400 EntityTooLarge' >"$s3/fail"
push large 5
rejected() { get /metrics | grep -q '^decima_dropped_total{instance="s3",reason="rejected"} 1$'; }
wait_for 20 rejected
if rejected; then ok s3.refused; else not_ok s3.refused "$(get /metrics | grep 'dropped_total{instance="s3"' | head -n 3)"; fi
rm "$s3/fail"
push behind 5
arrives refused_holds_up_nobody behind 1

# ---- an answer that is lost: the same object again ----
: >"$s3/silent"
push lost 5
again() { grep -q '^again team-a/lost/' "$s3/put"; }
wait_for 20 again
if again; then ok s3.sent_again; else not_ok s3.sent_again "$(tail -n 3 "$s3/put" | tr '\n' '|')"; fi
arrives one_object lost 1

# ---- the server is away, and the daemon is killed: each profile is there, once ----
server_stop
for n in 1 2 3 4 5; do push away $n; done
spooled() { get /metrics | grep '^decima_spool_batches{instance="s3"}' | grep -qv ' 0$'; }
wait_for 20 spooled
kill -KILL "$daemon"
wait "$daemon" 2>/dev/null
daemon_start -c "$dir/near.yaml" || not_ok s3.is_back "$(last_words "$dir/log")"
server_start "$port"
arrives after_a_kill away 5
# Killed while it sends, too.
for n in 1 2 3 4 5 6 7 8; do push busy $n; done
kill -KILL "$daemon"
wait "$daemon" 2>/dev/null
daemon_start -c "$dir/near.yaml" || not_ok s3.is_back "$(last_words "$dir/log")"
arrives after_another busy 8
push end 1
arrives still_sends end 1
find "$s3/objects" -path '*/team-a/busy/*' -type f | while read -r f; do
	"$decima" convert --from-format pprof --to-format folded "$f" "$dir/folded" >/dev/null 2>&1 && cat "$dir/folded"
done | sort >"$dir/busy"
if [ "$(awk '{ print $NF }' "$dir/busy" | sort -n | tr '\n' ' ')" = "1 2 3 4 5 6 7 8 " ]; then ok s3.each_once; else
	not_ok s3.each_once "$(tr '\n' '|' <"$dir/busy")"
fi

# ---- keys that are lent, of the environment; the bucket before the host ----
daemon_stop
echo lent-token+/= >"$s3/token"
sed -i '/access_key:\|secret_key_file:/d' "$dir/near.yaml"
daemon_start -c "$dir/near.yaml" && daemon_stop
expect s3.keys_are_needed 'access_key and secret_key: are missing' "$dir/log"
AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE AWS_SECRET_ACCESS_KEY=$secret AWS_SESSION_TOKEN=old
export AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN
daemon_start -c "$dir/near.yaml" || not_ok s3.environment_starts "$(last_words "$dir/log")"
push lent 1
says old_token 'ExpiredToken: The provided token has expired.; renew session_token'
daemon_stop
AWS_SESSION_TOKEN=lent-token+/=
daemon_start -c "$dir/near.yaml" || not_ok s3.environment_starts "$(last_words "$dir/log")"
arrives lent_keys lent 1
daemon_stop
# Names below localhost are this machine's, for curl.
daemon_start -c "$dir/near.yaml" --set outputs.s3.path_style=false --set "outputs.s3.endpoint=http://localhost:$port" ||
	not_ok s3.before_the_host_starts "$(last_words "$dir/log")"
push before 1
arrives bucket_before_the_host before 1
expect s3.bucket_is_in_the_host "host: profiles.localhost:$port" "$s3/headers"
daemon_stop

# ---- what a file may not say, and what is not shown ----
# refused NAME WORDS SET...
refused() {
	what=$1 words=$2
	shift 2
	"$decima" check --config-only --plugin-path "$plugins" -c "$dir/near.yaml" "$@" >"$dir/out" 2>&1
	expect "s3.$what" "$words" "$dir/out"
}
refused overwrites 'put {id} into it' --set 'outputs.s3.object_name="{service_name}/{time}"'
refused half_a_key 'access_key: needs the other half' --set outputs.s3.access_key=x
refused endpoint 'endpoint: "ftp://x" is not' --set outputs.s3.endpoint=ftp://x
refused bucket 'bucket: "a/b" is not one' --set outputs.s3.bucket=a/b
"$decima" check --print --plugin-path "$plugins" -c "$dir/near.yaml" --set outputs.s3.access_key=x --set outputs.s3.secret_key=hush >"$dir/out" 2>&1
if grep -q 'secret_key' "$dir/out" && ! grep -q hush "$dir/out"; then ok s3.secret_is_hidden; else not_ok s3.secret_is_hidden "$(grep -n 'secret_key\|hush' "$dir/out" | head -n 3)"; fi
