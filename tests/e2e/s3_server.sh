#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/s3_server.sh - profiles as objects on somebody else's server of S3, by TLS: Versity's gateway in front of a directory
#
# When DECIMA_TEST_S3 is set: its compilation takes two minutes. `tools/test s3`. tests/e2e/s3.sh has the faults.
#
# takes at most 1500 s
set -u
. "$top_srcdir/tests/e2e/lib.sh"

[ -n "${DECIMA_TEST_S3:-}" ] || skip_all "takes two minutes more: DECIMA_TEST_S3=all (tools/test s3)"
[ -e "$plugins/output_s3.so" ] || skip_all "built without s3"
[ -e "$plugins/input_receive.so" ] || skip_all "built without receive"
for tool in openssl python3; do command -v $tool >/dev/null || skip_all "$tool is not installed"; done

secret=wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY
server=
trap 'kill "$server" 2>/dev/null; daemon_stop; rm -rf "$dir"' EXIT
go_command s3_server.builds github.com/versity/versitygw/cmd/versitygw@v1.8.0 || exit 0
certificates_made s3_server tls server 127.0.0.1
mkdir "$dir/root"
port=$(free_port)
"$dir/versitygw" -p "127.0.0.1:$port" --cert "$dir/tls/server.pem" --key "$dir/tls/server.key" \
	-a AKIAIOSFODNN7EXAMPLE -s "$secret" -r eu-test-1 posix "$dir/root" >"$dir/server.log" 2>&1 &
server=$!
listens() { grep -qF "127.0.0.1:$port" "$dir/server.log"; }
wait_for 30 listens || {
	not_ok s3_server.listens "$(last_words "$dir/server.log")"
	exit 0
}

printf '%s\n' "$secret" >"$dir/key"
cat >"$dir/near.yaml" <<YAML
inputs: { receive: {} }
storage: { memory: {} }
outputs:
  s3:
    endpoint: "https://127.0.0.1:$port/"
    region: eu-test-1
    bucket: profiles
    prefix: a+b=c@d
    access_key: AKIAIOSFODNN7EXAMPLE
    secret_key_file: key
    tls_config: { ca_file: tls/ca.pem }
YAML
daemon_begin s3_server.starts -c "$dir/near.yaml"
push() {
	printf 'main;work %s\n' "$2" | curl -s -f --unix-socket "$dir/sock" --data-binary @- \
		"http://localhost/api/v1/ingest?name=demo&time=now&label=service_name=$1" >/dev/null
}
objects() { find "$dir/root/profiles" -path "*/a+b=c@d/$1/*.pb.gz" -type f; }
there() { [ "$(objects "$1" | wc -l)" = "$2" ]; }
# arrives NAME SERVICE SAMPLES: as one object, which has them
arrives() {
	wait_for 30 there "$2" 1
	objects "$2" >"$dir/objects"
	if [ "$(wc -l <"$dir/objects")" = 1 ] && "$decima" convert --to-format folded "$(cat "$dir/objects")" "$dir/folded" 2>"$dir/err"; then
		expect "s3_server.$1" "main;work $3" "$dir/folded"
	else
		not_ok "s3_server.$1" "$(wc -l <"$dir/objects") objects; $(tail -n 1 "$dir/log"); $(tail -n 1 "$dir/server.log")"
	fi
}
says() {
	said() { get /api/v1/pipeline | grep -qF -e "$1"; }
	if wait_for 30 said "$2"; then ok "s3_server.$1"; else not_ok "s3_server.$1" "no \"$2\": $(last_words "$dir/log")"; fi
}

push early 3
says no_bucket_is_told NoSuchBucket
mkdir "$dir/root/profiles"
arrives bucket_is_there early 3
push 'a%2Fb%3D%25%20%2B%C3%A4%3F%23..%27' 4
arrives odd_labels 'a_b=*' 4
echo wrong >"$dir/key"
sleep 1.1
push later 5
says wrong_key_is_told SignatureDoesNotMatch
printf '%s\n' "$secret" >"$dir/key"
arrives right_key_again later 5
daemon_stop
sed -i 's/region: eu-test-1/region: eu-test-2/' "$dir/near.yaml"
daemon_begin s3_server.starts_again -c "$dir/near.yaml"
push elsewhere 6
says wrong_region_is_told eu-test-1
