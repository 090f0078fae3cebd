#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/receive.sh - profiles that are pushed: by curl, by Pyroscope's SDK, and by Connect's client of push.v1
#
# The two clients are Go modules, which come through the module proxy that `go` knows.
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

[ -e "$plugins/input_receive.so" ] || skip_all "built without receive"

base=
cat >"$dir/receive.yaml" <<YAML
inputs: { receive: { max_unpacked: 1MiB, max_body: 16MiB } }
storage: { local: {} }
YAML
start() {
	if ! daemon_start -c "$dir/receive.yaml" --set "server.listen=[\"127.0.0.1:0\",\"unix:$dir/sock\"]"; then
		not_ok receive.starts "$(last_words "$dir/log")"
		exit 1
	fi
	base=$(sed -n 's|.*is ready at \(http://[^ ,]*\).*|\1|p' "$dir/log" | head -n 1)
}
start
ok receive.starts

# push NAME STATUS TARGET [CURL-ARGUMENT]..: standard input is the body; the answer is in $dir/answer, its head in $dir/head
push() {
	name=$1 want=$2 target=$3
	shift 3
	got=$(curl -s -o "$dir/answer" -D "$dir/head" -w '%{http_code}' --data-binary @- "$@" "$base$target")
	if [ "$got" = "$want" ]; then ok "receive.$name"; else
		not_ok "receive.$name" "status $got, not $want: $(head -c 300 "$dir/answer")"
	fi
}
# sum SELECTOR [REGEX]: of the stacks with such a function
sum() { ask query stacks "$1" --focus "${2:-.}" --from now-1h --to now+1m 2>/dev/null | sum_of_lines; }
# sums NAME WANT SELECTOR [REGEX]
sums() {
	got=$(sum "$3" "${4:-.}")
	if [ "$got" = "$2" ]; then ok "receive.$1"; else not_ok "receive.$1" "$got, not $2"; fi
}

# ---- plain requests ----
printf 'main;work 30\nmain;idle 12\n' | push folded 200 '/api/v1/ingest?name=demo&label=service_name=shop&label=env=a%3Db'
expect receive.answer_counts '{"profiles":1,"samples":2}' "$dir/answer"
sums folded_is_stored 42 'demo:samples:count:::delta{service_name="shop",env="a=b"}'
# No path can hold this label: what sends it makes another path of it.
printf 'main;work 30\n' | push label_of_dots 200 '/api/v1/ingest?name=dots&label=..=far&label=.=near'
for label in .:near ..:far; do
	ask query values "${label%:*}" --from now-1h --to now+1m >"$dir/values" 2>&1
	expect "receive.values_of_${label%:*}" "${label#*:}" "$dir/values"
done
# Without a time of its own the same may be meant to come again; with one it is a retry.
printf 'main;work 30\nmain;idle 12\n' | push folded_again 200 '/api/v1/ingest?name=demo&label=service_name=shop&label=env=a%3Db'
sums untimed_adds_up 84 'demo:samples:count:::delta{service_name="shop"}'
for i in 1 2 3; do
	printf 'main;work 5\n' | push "timed_$i" 200 "/api/v1/ingest?name=timed&time=$(date +%s)" >"$dir/verdict.$i"
	[ $i = 1 ] && stamp=$(date +%s)
done
cat "$dir"/verdict.*
for i in 1 2 3; do
	printf 'main;retry 5\n' | push retry_$i 200 "/api/v1/ingest?name=retried&time=$stamp"
done
sums retries_count_once 5 'retried:samples:count:::delta{}'

printf 'a;b 3\n' | "$decima" convert --from-format folded --to-format pprof - "$dir/small.pb.gz"
push pprof 200 '/api/v1/ingest?label=service_name=by_pprof' <"$dir/small.pb.gz"

# ---- what is refused says so ----
printf x | push refuse_parameter 400 '/api/v1/ingest?lable=a=b'
expect receive.refuse_parameter_says 'did you mean \"label\"' "$dir/answer"
printf 'a 1\n' | push refuse_label 400 '/api/v1/ingest?label=a'
expect receive.refuse_label_says 'write NAME=VALUE' "$dir/answer"
printf 'a 1\n' | push refuse_time 400 '/api/v1/ingest?time=yesterday'
printf 'a 1\n' | push refuse_format 400 '/api/v1/ingest?format=jfr'
printf '' | push refuse_empty 400 /api/v1/ingest
printf 'no value\n' | push refuse_text 400 '/api/v1/ingest?format=folded'
expect receive.refuse_text_says 'line 1' "$dir/answer"
head -c 30000000 /dev/zero | gzip | push refuse_bomb 413 /api/v1/ingest
head -c 30000000 /dev/zero | gzip | push refuse_http_bomb 413 /api/v1/ingest -H 'Content-Encoding: gzip'
head -c 17000000 /dev/zero | push refuse_large 413 /api/v1/ingest
printf 'a 1\n' | push refuse_coding 415 /api/v1/ingest -H 'Content-Encoding: br'
printf 'a 1\n' | gzip | push http_gzip 200 '/api/v1/ingest?name=packed' -H 'Content-Encoding: gzip'
[ "$(curl -s -o /dev/null -w '%{http_code}' "$base/ingest")" = 405 ] && ok receive.get_is_refused || not_ok receive.get_is_refused "no 405"

# ---- as Pyroscope's clients do, by hand ----
now=$(date +%s)
printf 'main;spin 100\n' | push pyroscope_folded 200 "/ingest?name=py.cpu%7Benv%3Dprod%7D&from=$((now - 10))&until=$now&sampleRate=50&spyName=pyspy"
sums pyroscope_rate 2000000000 "$cpu"'{service_name="py",env="prod",pyroscope_spy="pyspy"}'
printf 'main;spin\nmain;spin\n\nmain;rest\n' | push pyroscope_lines 200 "/pyroscope/ingest?name=lines.of.it&format=lines&sampleRate=100"
sums pyroscope_lines_count 30000000 "$cpu"'{service_name="lines.of.it"}'
printf 'main;keep 4096\n' | push pyroscope_memory 200 "/ingest?name=py.inuse_space&units=bytes"
sums pyroscope_memory_is_a_gauge 4096 'memory:inuse_space:bytes:space:bytes{service_name="py"}'
for format in trie tree jfr; do
	printf x | push "pyroscope_no_$format" 415 "/ingest?name=x&format=$format"
	expect "receive.pyroscope_no_${format}_says" "$format is not read" "$dir/answer"
done
for kind in trie tree; do
	printf x | push "pyroscope_no_type_$kind" 415 '/ingest?name=x' -H "Content-Type: binary/octet-stream+$kind"
	expect "receive.pyroscope_no_type_${kind}_says" "$kind is not read" "$dir/answer"
done
push pyroscope_pprof 200 '/ingest?name=whole&format=pprof' <"$dir/small.pb.gz"
sums pyroscope_pprof_is_stored 3 'samples:samples:count::{service_name="whole"}'
"$decima" convert --to-format speedscope "$dir/small.pb.gz" "$dir/small.speedscope.json"
push pyroscope_speedscope 200 '/ingest?name=scoped&format=speedscope' <"$dir/small.speedscope.json"
sums pyroscope_speedscope_is_stored 3 'speedscope:samples:count:::delta{service_name="scoped"}'

# ---- a form, as Pyroscope's SDKs send it: what becomes of 2, and then 8, by what sample_type_config says of them
printf 'a;b 2\n' | "$decima" convert --from-format folded --to-format pprof - "$dir/2.pb.gz"
printf 'a;b 8\n' | "$decima" convert --from-format folded --to-format pprof - "$dir/8.pb.gz"
# form NAME STATUS TARGET CURL-ARGUMENT..
form() {
	name=$1 want=$2 target=$3
	shift 3
	got=$(curl -s -o "$dir/answer" -w '%{http_code}' "$@" "$base$target")
	if [ "$got" = "$want" ]; then ok "receive.$name"; else not_ok "receive.$name" "status $got, not $want: $(head -c 300 "$dir/answer")"; fi
}
# formed NAME CONFIG WANT TYPE
formed() {
	echo "$2" >"$dir/config.json"
	for sample in 2 8; do
		form "form_${1}_$sample" 200 "/ingest?name=$1&from=$((now - 40 + sample))" -F "profile=@$dir/$sample.pb.gz" -F "sample_type_config=@$dir/config.json"
	done
	sums "form_$1" "$3" "$4{service_name=\"$1\"}"
}
formed mean '{"samples":{"units":"objects","aggregation":"average","cumulative":true}}' 5 samples:samples:count::
formed count '{"samples":{"aggregation":"sum","cumulative":true}}' 6 samples:samples:count::
formed difference '{"samples":{"cumulative":false}}' 10 samples:samples:count:::delta
form form_of_jfr 415 '/ingest?name=x' -F "jfr=@$dir/2.pb.gz"
expect receive.form_of_jfr_says 'JFR is not read' "$dir/answer"
form form_without_profile 400 '/ingest?name=x' -F "prev_profile=@$dir/2.pb.gz"
echo '[]' >"$dir/config.json"
form form_of_no_types 400 '/ingest?name=x' -F "profile=@$dir/2.pb.gz" -F "sample_type_config=@$dir/config.json"
expect receive.form_of_no_types_says 'sample_type_config: it is no JSON object' "$dir/answer"
# A list in each three bytes, of which JSON's tree takes a hundred.
{ printf '{"a":[[]' && head -c 90000 /dev/zero | tr '\0' x | sed 's/xxx/,[]/g' && printf ']}'; } >"$dir/config.json"
form form_of_too_large_types 413 '/ingest?name=x' -F "profile=@$dir/2.pb.gz" -F "sample_type_config=@$dir/config.json"
expect receive.form_of_too_large_types_says 'sample_type_config: has 90' "$dir/answer"
# A number is seconds, or what is smaller, by how large it is; and none is of a time that there is not.
for time in 99999999999 99999999999999 99999999999999999 99999999999999999999; do
	printf 'a 1\n' | push "pyroscope_no_time_$time" 400 "/ingest?name=x&from=$time"
	expect "receive.pyroscope_no_time_${time}_says" 'is no time' "$dir/answer"
done
printf 'a 1\n' | push pyroscope_no_name 400 /ingest
printf 'a 1\n' | push pyroscope_bad_name 400 '/ingest?name=a%7Bb%7D'
printf x | push connect_text 415 /push.v1.PusherService/Push -H 'Content-Type: text/plain'
printf '{"series":[{"samples":[{"rawProfile":"?"}]}]}' | push connect_json_bad 400 /push.v1.PusherService/Push -H 'Content-Type: application/json; charset=utf-8'
expect receive.connect_json_bad_says 'RawSample.rawProfile is no base64' "$dir/answer"
printf x | push connect_bad 400 /push.v1.PusherService/Push -H 'Content-Type: application/proto'
expect receive.connect_code '"code":"invalid_argument"' "$dir/answer"

# ---- the real clients ----
if go_program receive.clients pushing pushing; then
	if timeout 60 "$dir/pushing" connect "$base" "$dir/small.pb.gz" 2>"$dir/err"; then ok receive.connect; else
		not_ok receive.connect "$(head -n 2 "$dir/err" | tr '\n' '|')"
	fi
	sums connect_is_stored 3 'thing:samples:count::{service_name="connected"}'
	sums json_is_stored 3 'thing:samples:count::{service_name="in_json"}'
	timeout 60 "$dir/pushing" sdk "$base" 4 >"$dir/sdk" 2>&1
	if grep -q ERROR "$dir/sdk"; then not_ok receive.sdk "$(grep ERROR "$dir/sdk" | head -n 1)"; else ok receive.sdk; fi
	shop='{service_name="shop.checkout",env="test"}'
	# Four seconds of one thread that does nothing else, as long as the machine has a CPU for it.
	got=$(sum "$cpu$shop" burnPushed)
	if [ "$got" -gt 300000000 ] && [ "$got" -lt 6000000000 ]; then ok receive.sdk_cpu; else not_ok receive.sdk_cpu "$got ns"; fi
	# 64 MiB were allocated once, of which Go samples some 55 of 64 and scales them: 78 MB at most. What is told of it at each
	# upload must not be added to what was told before.
	got=$(sum "memory:alloc_space:bytes:space:bytes:delta$shop" allocatePushed)
	if [ "$got" -gt 45000000 ] && [ "$got" -lt 80000000 ]; then ok receive.sdk_allocated; else not_ok receive.sdk_allocated "$got bytes"; fi
	# A mean over uploads, the first of which may have come before.
	got=$(sum "memory:inuse_space:bytes:space:bytes$shop" allocatePushed)
	if [ "$got" -gt 10000000 ] && [ "$got" -lt 75000000 ]; then ok receive.sdk_in_use; else not_ok receive.sdk_in_use "$got bytes"; fi
fi

# ---- what was acknowledged is there after the worst of ends ----
printf 'main;kept 77\n' | push before_the_end 200 '/api/v1/ingest?name=kept'
kill -KILL "$daemon"
wait "$daemon" 2>/dev/null
daemon=
start
sums acknowledged_survives 77 'kept:samples:count:::delta{}'
get /metrics >"$dir/metrics"
expect receive.metrics 'decima_receive_requests_total{instance="receive"}' "$dir/metrics"

# ---- a reload takes the endpoints away and brings them back ----
printf 'a 1\n' | push before_reload 200 '/api/v1/ingest?name=reloaded'
sed 's/receive: { max_unpacked[^}]*}/receive: { pyroscope: false }/' "$dir/receive.yaml" >"$dir/new" && mv "$dir/new" "$dir/receive.yaml"
kill -HUP "$daemon"
gone() { [ "$(curl -s -o /dev/null -w '%{http_code}' -d x "$base/ingest?name=a")" = 404 ]; }
wait_for 20 gone
if gone; then ok receive.reload_takes_away; else not_ok receive.reload_takes_away "/ingest is still there"; fi
printf 'a 1\n' | push after_reload 200 '/api/v1/ingest?name=reloaded'

# ---- who may: a token that may only read is refused before a byte is read ----
daemon_stop
cat >"$dir/receive.yaml" <<YAML
server:
  proxy: { from: 127.0.0.3, role: write }
  tokens:
    - { token: reads, role: read }
    - { token: writes, role: write }
    - { token: shop, role: write, labels: { tenant: shop } }
    - { token: bank, role: write, labels: { tenant: bank, "env": "of \$1" } }
inputs: { receive: {} }
storage: { memory: {} }
YAML
start
printf 'a 1\n' | push nobody 401 /api/v1/ingest
printf 'a 1\n' | push reader 403 /api/v1/ingest -H 'Authorization: Bearer reads'
# Said before the plugin hears of it, and as its clients read it: OTLP's a google.rpc.Status, Connect's a code.
printf x | push otlp_nobody 401 /v1development/profiles -H 'Content-Type: application/x-protobuf'
if [ "$(od -An -N 2 -t u1 "$dir/answer" | tr -s ' ')" = ' 8 16' ]; then ok receive.otlp_nobody_code; else not_ok receive.otlp_nobody_code "$(cat "$dir/answer")"; fi
printf x | push otlp_packed 415 /v1development/profiles -H 'Authorization: Bearer writes' -H 'Content-Type: application/json' -H 'Content-Encoding: br'
expect receive.otlp_packed_code '{"code":3,"message":"the body is packed by br' "$dir/answer"
printf x | push connect_reader 403 /push.v1.PusherService/Push -H 'Authorization: Bearer reads' -H 'Content-Type: application/proto'
expect receive.connect_reader_code '"code":"permission_denied"' "$dir/answer"
printf 'a 1\n' | push writer 200 /api/v1/ingest -H 'Authorization: Bearer writes'

# ---- whose: labels of a token, whatever the sender says; what two send alike is no retry, and what one sends again is ----
stamp=$(date +%s)
same="/api/v1/ingest?name=tenants&time=$stamp&label=tenant=forged&label=env=a"
for token in shop bank bank writes; do
	printf 'main;work 3\n' | push "as_$token" 200 "$same" -H "Authorization: Bearer $token"
done
printf 'main;work 3\n' | push as_a_proxys_user 200 "$same" --interface 127.0.0.3 -H 'X-Forwarded-User: alice'
sums of_the_shop 3 'tenants:samples:count:::delta{tenant="shop",env="a"}'
sums of_the_bank 3 'tenants:samples:count:::delta{tenant="bank",env="of $1"}'
sums of_nobody 3 'tenants:samples:count:::delta{tenant="forged",env="a"}'
sums of_who_has_no_token 3 'tenants:samples:count:::delta{tenant="",env=""}'
sums all_tenants 12 'tenants:samples:count:::delta{}'
daemon_stop
