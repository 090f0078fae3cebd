#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/pyroscope.sh - profiles that are sent on to Pyroscope, by push.v1 and by /ingest: what another daemon has then, also
# after it was away, and what a server of the published service reads
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

[ -e "$plugins/output_pyroscope.so" ] || skip_all "built without pyroscope"
[ -e "$plugins/input_receive.so" ] || skip_all "built without receive"

server=
trap 'kill "$server" 2>/dev/null; far_stop; daemon_stop; rm -rf "$dir"' EXIT

# push LABELS: standard input is the body
push() { curl -s -f --unix-socket "$dir/sock" --data-binary @- "http://localhost/api/v1/ingest?$1" >/dev/null; }
# sum SELECTOR: what the other daemon has
sum() {
	"$decima" query stacks "$1" --focus . --from now-1h --to now+1m --url "unix:$dir/far.sock" 2>/dev/null |
		sum_of_lines
}
has() { [ "$(sum "$1")" = "$2" ]; }
# arrives NAME SELECTOR SUM
arrives() {
	wait_for 10 has "$2" "$3"
	if has "$2" "$3"; then ok "pyroscope.$1"; else
		not_ok "pyroscope.$1" "$(sum "$2"), not $3: $(tail -n 2 "$dir/log" | tr '\n' '|')"
	fi
}
cpu=process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta
# cpu_of SERVICE [FUNCTION]
cpu_of() {
	now=$(date +%s)
	printf 'main;%s 7\nmain;idle 2\n' "${2:-work}" | curl -s -f --unix-socket "$dir/sock" --data-binary @- \
		"http://localhost/ingest?name=$1&from=$((now - 10))&until=$now&format=folded&sampleRate=100" >/dev/null
}
waits() { get /api/v1/pipeline | grep -q '127.0.0.1'; }
settled_there() { get /metrics | grep -q '^decima_spool_batches{instance="pyroscope"} 0$'; }

# sends_by PROTOCOL TYPE: of what `name=demo` has there; what has no escapes in names is $odd there
sends_by() {
	by=$1
	rm -rf "$dir/data" "$dir/far"
	cat >"$dir/far.yaml" <<YAML
inputs: { receive: {} }
storage: { local: {} }
YAML
	far_begin "pyroscope.$by.far_starts"
	cat >"$dir/near.yaml" <<YAML
inputs: { receive: {} }
storage: { memory: {} }
outputs: { pyroscope: { url: "http://127.0.0.1:$port/", protocol: $by } }
YAML
	daemon_begin "pyroscope.$by.starts" -c "$dir/near.yaml"

	printf 'main;work 30\nmain;idle 12\n' | push 'name=demo&label=service_name=shop&label=env=a%20b%26c'
	arrives "$by.labels" "$2{service_name=\"shop\",env=\"a b&c\"}" 42
	printf 'main;work 5\n' | push 'name=demo&label=service_name=odd&label=env=a%3Db%2Cc%7Dd'
	arrives "$by.escapes" "$2{service_name=\"odd\",env=\"$odd\"}" 5

	far_stop
	printf 'main;late 7\n' | push 'name=demo&label=service_name=late'
	printf 'main;late 8\n' | push 'name=demo&label=service_name=later'
	for i in $(seq 40); do cpu_of many "late_$i"; done
	wait_for 10 waits
	far_again "pyroscope.$by.far_is_back"
	arrives "$by.after_it_was_away" "$2{service_name=\"late\"}" 7
	arrives "$by.in_the_queue" "$2{service_name=\"later\"}" 8
	arrives "$by.what_is_on_its_way_together" "$cpu{service_name=\"many\"}" 3600000000

	# ---- killed: what was delivered before is not delivered again ----
	cpu_of once
	arrives "$by.before_a_kill" "$cpu{service_name=\"once\"}" 90000000
	wait_for 10 settled_there
	kill -KILL "$daemon"
	wait "$daemon" 2>/dev/null
	daemon_start -c "$dir/near.yaml" || not_ok "pyroscope.$by.is_back" "$(last_words "$dir/log")"
	cpu_of after
	arrives "$by.after_a_kill" "$cpu{service_name=\"after\"}" 90000000
	# The other side knows what it has had, so only this one can tell.
	get /metrics >"$dir/metrics"
	expect "pyroscope.$by.nothing_twice" 'pyroscope_sent_total{instance="pyroscope"} 1' "$dir/metrics"

	# ---- one that the other side refuses is set aside, and keeps nobody ----
	far_stop
	sed -i 's|receive: {}|receive: { max_body: 1KiB }|' "$dir/far.yaml"
	far_again "pyroscope.$by.far_is_back_with_less"
	{ printf 'main;' && head -c 3000 /dev/urandom | od -An -tx1 -v | tr -d ' \n' && printf 'large 1\n'; } | push 'name=demo&label=service_name=large'
	cpu_of behind
	arrives "$by.refused_holds_up_nobody" "$cpu{service_name=\"behind\"}" 90000000
	aside=$dir/data/pyroscope/spool/aside
	cat "$aside"/*.txt >"$dir/said" 2>/dev/null
	expect "pyroscope.$by.refused_is_set_aside" "takes at most 1024" "$dir/said"
	"$decima" convert --from-format batch --to-format folded "$aside"/*.batch "$dir/aside.folded" >"$dir/out" 2>&1
	expect "pyroscope.$by.refused_can_be_read" "large 1" "$dir/aside.folded"
	get /metrics >"$dir/metrics"
	expect "pyroscope.$by.refused_is_counted" 'decima_dropped_total{instance="pyroscope",reason="rejected"} 1' "$dir/metrics"
	far_stop
	daemon_stop
}
odd='a=b,c}d' sends_by push demo:samples:count::
odd='a_b_c_d' sends_by ingest samples:samples:count::

# ---- the published service, with the limits that Pyroscope has by default ----
go_program pyroscope.service pushing pushing || exit 0
"$dir/pushing" serve >"$dir/served" 2>"$dir/served.err" &
server=$!
wait_for 30 grep -q '^at ' "$dir/served"
rm -rf "$dir/data"
cat >"$dir/near.yaml" <<YAML
node: test
inputs: { receive: { max_body: 64MiB } }
storage: { memory: {} }
outputs:
  pyroscope:
    - url: "http://$(sed -n 's/^at //p' "$dir/served")"
      tenant: team-a
      tenant_label: team
      basic_auth: { username: "1234", password: glc_secret }
    - name: whole
      url: "http://$(sed -n 's/^at //p' "$dir/served")"
      protocol: ingest
      selector: '{service_name="shop"}'
    - name: apart
      url: "http://$(sed -n 's/^at //p' "$dir/served")"
      tenant: team-c
      selector: '{team="team-c"}'
YAML
daemon_begin pyroscope.service.starts -c "$dir/near.yaml"
# reads NAME LINE
reads() {
	if wait_for 20 grep -qxF -e "$2" "$dir/served"; then ok "pyroscope.service.$1"; else
		not_ok "pyroscope.service.$1" "$(tail -n 3 "$dir/served" | tr '\n' '|') $(tail -n 1 "$dir/log")"
	fi
}
printf 'main;work 30\nmain;idle 12\n' | push 'name=demo&label=service_name=shop&label=env=a%20b%26c%7D%22'
reads labels 'demo:samples:count{__delta__=false,env=a b&c}",instance=test,node=test,service_name=shop} sum=42 samples=2'
reads tenant 'tenant: team-a'
printf 'main;work 4\n' | push 'name=demo&label=service_name=tenants&label=team=team-b'
reads tenant_of_a_label 'tenant: team-b'
printf 'main;work 4\n' | push 'name=demo&label=service_name=tenants&label=team=a%0d%0ab'
lost_tenants() { get /metrics | grep -qxF 'decima_dropped_total{instance="pyroscope",reason="not_encoded"} 1'; }
if wait_for 20 lost_tenants; then ok pyroscope.service.no_tenant_is_lost; else not_ok pyroscope.service.no_tenant_is_lost "$(get /metrics | grep 'instance="pyroscope",reason')"; fi
sed 's/tenant: team-a/tenant: team-a\n      http_headers: { x-scope-orgid: { values: [ b ] } }/' "$dir/near.yaml" >"$dir/both.yaml"
"$decima" check --plugin-path "$plugins" -c "$dir/both.yaml" >"$dir/out" 2>&1
expect pyroscope.service.two_tenants 'x-scope-orgid is what tenant and tenant_label say, too' "$dir/out"
# gigapipe's /ingest goes by the type of the body, and not by the address.
reads ingest 'ingest shop{env=a b&c_",instance=test,node=test} pprof of 2 samples'
# As Grafana's cloud has it: the user is the number of the instance, the password a token.
reads basic_auth "as Basic $(printf 1234:glc_secret | base64)"
printf 'main;work 3\n' | push 'name=demo&label=env=x'
reads no_service 'demo:samples:count{__delta__=false,env=x,instance=test,node=test,service_name=unknown} sum=3 samples=1'

# Names of labels that it refuses.
printf 'main;odd 6\n' | push 'name=demo&label=service.name=odd&label=http.method=a&label=http_method=b&label=a%2Cb=c&label=%C3%BC=d'
reads names_of_labels 'demo:samples:count{U___fc_=d,U__a_2c_b=c,U__http_2e_method=a,__delta__=false,http_method=b,instance=test,node=test,service_name=odd} sum=6 samples=1'
printf 'main;odd 6\n' | push 'name=demo&label=service_name=shop&label=http.method=a&label=a%2Cb=c'
# A pprof of a sample with the label "span id", of Datadog's tracer.
printf '\n\004\010\001\020\002\022\011\022\001\006\032\004\010\003\020\0042\0002\003odd2\001n2\007span id2\0017' | push 'name=demo&label=service_name=sampled'
reads names_of_labels_of_samples 'samples of sampled: U__span_20_id=7'
reads names_of_labels_by_ingest 'ingest shop{U__a_2c_b=c,http_method=a,instance=test,node=test} pprof of 1 samples'

# More samples than it takes, and more bytes: in parts, whose sum is the whole, and whose times differ.
awk 'BEGIN { for (i = 0; i < 40000; i++) print "main;f" i % 100 ";g" int(i / 100) " 2" }' | push 'name=demo&label=service_name=many'
# adds_up NAME SERVICE SUM SAMPLES PARTS: in so many parts at least, of as many times, of which one has the duration if any has
adds_up() {
	parts_there() {
		sed -n "s/^demo:.*service_name=$2} sum=\([0-9]*\) samples=\([0-9]*\)\$/\1 \2/p" "$dir/served" |
			awk '{ sum += $1; n += $2 } END { print sum + 0, n + 0 }' >"$dir/sums"
		[ "$(cat "$dir/sums")" = "$3 $4" ]
	}
	wait_for 20 parts_there "$@"
	grep "^of $2 at " "$dir/served" >"$dir/parts"
	n=$(wc -l <"$dir/parts") times=$(cut -d ' ' -f 4 "$dir/parts" | sort -u | wc -l)
	if parts_there "$@" && [ "$n" -ge "$5" ] && [ "$times" = "$n" ]; then ok "pyroscope.service.$1"; else
		not_ok "pyroscope.service.$1" "$(cat "$dir/sums"), not $3 $4, in $n parts at $times times; $(tail -n 1 "$dir/log")"
	fi
}
adds_up many_samples many 80000 40000 3
awk 'BEGIN { for (i = 0; i < 1000; i++) { s = "main;f" i; for (k = 0; k < 900; k++) s = s "_long_name_"; print s " 3" } }' |
	push 'name=demo&label=service_name=long'
adds_up many_bytes long 3000 1000 8
now=$(date +%s)
awk 'BEGIN { for (i = 0; i < 20000; i++) print "main;f" i % 100 ";g" int(i / 100) " 1" }' | curl -s -f --unix-socket "$dir/sock" --data-binary @- \
	"http://localhost/ingest?name=timed&from=$((now - 10))&until=$now&format=folded&sampleRate=100" >/dev/null
timed() { [ "$(grep -c '^of timed at ' "$dir/served")" = 2 ]; }
wait_for 20 timed
durations=$(sed -n 's/^of timed at .* for //p' "$dir/served" | sort -n | tr '\n' ' ')
if [ "$durations" = "1 10000000000 " ]; then ok pyroscope.service.duration_counts_once; else not_ok pyroscope.service.duration_counts_once "$durations"; fi
# A state is no sum of parts: it goes whole, and this server says what it thinks of that.
said() { cat "$dir"/data/pyroscope/spool/aside/*.txt 2>/dev/null | grep -qF -e "$1"; }
awk 'BEGIN { for (i = 0; i < 20000; i++) print "main;f" i % 100 ";g" int(i / 100) " 1" }' >"$dir/state.folded"
"$decima" convert --to-format pprof "$dir/state.folded" - 2>"$dir/err" | push 'name=state&label=service_name=state'
if wait_for 20 said 'the profile has 20000 samples'; then ok pyroscope.service.state_goes_whole; else
	not_ok pyroscope.service.state_goes_whole "$(last_words "$dir/log")"
fi

# Refused for good, with Connect's sentence; unavailable, out of order: it is tried again.
printf 'main;no 7\n' | push 'name=demo&label=service_name=x&label=refuse=3'
if wait_for 20 said 'answered 400: refused: 100 % of \"it\"'; then ok pyroscope.service.refused_is_set_aside; else
	not_ok pyroscope.service.refused_is_set_aside "$(cat "$dir"/data/pyroscope/spool/aside/*.txt) $(tail -n 1 "$dir/log")"
fi
for code in 14 13 8; do
	printf 'main;wait 9\n' | push "name=demo&label=service_name=x&label=refuse=$code:2"
	reads "code_${code}_is_tried_again" "demo:samples:count{__delta__=false,instance=test,node=test,refuse=$code:2,service_name=x} sum=9 samples=1"
done

# One tenant is told to wait, again and again: all of its output wait, and nobody of another output's.
printf 'main;wait 9\n' | push 'name=demo&label=service_name=x&label=team=team-b&label=refuse=8:1000000'
for i in $(seq 30); do printf 'main;held 1\n' | push "name=demo&label=service_name=held_$i&label=team=team-d"; done
printf 'main;apart 1\n' | push 'name=demo&label=service_name=apart&label=team=team-c'
reads tenant_of_another_output 'tenant: team-c'
waiting() { get /metrics | sed -n 's/^decima_spool_batches{instance="pyroscope"} //p'; }
told_to_wait() { get /api/v1/pipeline | grep -qF 'answered 429'; }
if wait_for 20 told_to_wait && [ "$(waiting)" -ge 20 ]; then ok pyroscope.service.tenants_of_one_output_wait; else
	not_ok pyroscope.service.tenants_of_one_output_wait "$(waiting) batches wait: $(get /api/v1/pipeline | head -c 400)"
fi
