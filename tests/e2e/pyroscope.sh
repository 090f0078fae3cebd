#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/pyroscope.sh - profiles that are sent on by /ingest: what another daemon has then, also after it was away
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

[ -e "$plugins/output_pyroscope.so" ] || skip_all "built without pyroscope"
[ -e "$plugins/input_receive.so" ] || skip_all "built without receive"

trap 'far_stop; daemon_stop; rm -rf "$dir"' EXIT
cat >"$dir/far.yaml" <<YAML
inputs: { receive: {} }
storage: { local: {} }
YAML
far_begin pyroscope.far_starts

cat >"$dir/near.yaml" <<YAML
inputs: { receive: {} }
storage: { memory: {} }
outputs: { pyroscope: { url: "http://127.0.0.1:$port/" } }
YAML
daemon_begin pyroscope.starts -c "$dir/near.yaml"

# push LABELS: standard input is the body
push() { curl -s -f --unix-socket "$dir/sock" --data-binary @- "http://localhost/api/v1/ingest?$1" >/dev/null; }
# sum SELECTOR: what the other daemon has
sum() {
	"$decima" query stacks "$1" --focus . --from now-1h --to now+1m --url "unix:$dir/far.sock" 2>/dev/null |
		awk '{ n += $NF } END { printf "%d\n", n }'
}
has() { [ "$(sum "$1")" = "$2" ]; }
# arrives NAME SELECTOR SUM
arrives() {
	wait_for 10 has "$2" "$3"
	if has "$2" "$3"; then ok "pyroscope.$1"; else
		not_ok "pyroscope.$1" "$(sum "$2"), not $3: $(tail -n 2 "$dir/log" | tr '\n' '|')"
	fi
}

printf 'main;work 30\nmain;idle 12\n' | push 'name=demo&label=service_name=shop&label=env=a%20b%26c'
arrives labels 'samples:samples:count::{service_name="shop",env="a b&c"}' 42
printf 'main;work 5\n' | push 'name=demo&label=service_name=odd&label=env=a%3Db%2Cc%7Dd'
arrives no_escapes 'samples:samples:count::{service_name="odd",env="a_b_c_d"}' 5

far_stop
printf 'main;late 7\n' | push 'name=demo&label=service_name=late'
printf 'main;late 8\n' | push 'name=demo&label=service_name=later'
waits() { get /api/v1/pipeline | grep -q '127.0.0.1'; }
wait_for 10 waits
far_again pyroscope.far_is_back
arrives after_it_was_away 'samples:samples:count::{service_name="late"}' 7
arrives in_the_queue 'samples:samples:count::{service_name="later"}' 8

# ---- killed: what was delivered before is not delivered again ----
cpu_of() {
	now=$(date +%s)
	printf 'main;work 7\nmain;idle 2\n' | curl -s -f --unix-socket "$dir/sock" --data-binary @- \
		"http://localhost/ingest?name=$1&from=$((now - 10))&until=$now&format=folded&sampleRate=100" >/dev/null
}
cpu=process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta
cpu_of once
arrives before_a_kill "$cpu{service_name=\"once\"}" 90000000
settled_there() { get /metrics | grep -q '^decima_spool_batches{instance="pyroscope"} 0$'; }
wait_for 10 settled_there
kill -KILL "$daemon"
wait "$daemon" 2>/dev/null
daemon_start -c "$dir/near.yaml" || not_ok pyroscope.is_back "$(last_words "$dir/log")"
cpu_of after
arrives after_a_kill "$cpu{service_name=\"after\"}" 90000000
# The other side knows what it has had, so only this one can tell.
get /metrics >"$dir/metrics"
expect pyroscope.nothing_twice 'pyroscope_sent_total{instance="pyroscope"} 1' "$dir/metrics"

# ---- one that the other side refuses is set aside, and keeps nobody ----
far_stop
sed -i 's|receive: {}|receive: { max_body: 1KiB }|' "$dir/far.yaml"
far_again pyroscope.far_is_back
{ printf 'main;' && head -c 3000 /dev/urandom | od -An -tx1 -v | tr -d ' \n' && printf 'large 1\n'; } | push 'name=demo&label=service_name=large'
cpu_of behind
arrives refused_holds_up_nobody "$cpu{service_name=\"behind\"}" 90000000
aside=$dir/data/pyroscope/spool/aside
cat "$aside"/*.txt >"$dir/said" 2>/dev/null
expect pyroscope.refused_is_set_aside "takes at most 1024" "$dir/said"
"$decima" convert --from-format batch --to-format folded "$aside"/*.batch "$dir/aside.folded" >"$dir/out" 2>&1
expect pyroscope.refused_can_be_read "large 1" "$dir/aside.folded"
get /metrics >"$dir/metrics"
expect pyroscope.refused_is_counted 'decima_dropped_total{instance="pyroscope",reason="rejected"} 1' "$dir/metrics"
