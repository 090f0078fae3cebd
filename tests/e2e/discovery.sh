#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/discovery.sh - targets that servers know: HTTP, DNS, Consul, Docker, Kubernetes
#
# What is found is compared with what Prometheus' own discovery found. Where the server is real and here, that is asked
# too; the others were recorded once (tests/lib/recorded.py, how: tests/data/discovery/README.md) and answer again.
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

[ -e "$plugins/input_pprof_scrape.so" ] || skip_all "built without pprof_scrape"
command -v python3 >/dev/null || skip_all "python3 is not installed"
servers=
stop_servers() { for pid in $servers; do kill "$pid" 2>/dev/null; done; }
trap 'stop_servers; daemon_stop; rm -rf "$dir"' EXIT

endpoints() { get /api/v1/targets >"$dir/targets.json"; }
# found JOB: the labels that discovery found for it, each target once, sorted, one JSON object a line
found() {
	endpoints
	python3 - "$dir/targets.json" "$1" <<'END'
import json, sys
mine = ("__name__", "__profile_path__", "__scheme__", "__scrape_interval__", "__scrape_timeout__", "job", "instance", "service_name")
lines = set()
for e in json.load(open(sys.argv[1]))["endpoints"]:
    if e["job"] == sys.argv[2]:
        lines.add(json.dumps({k: v for k, v in e["discovered"].items() if k not in mine}, sort_keys=True))
print("\n".join(sorted(lines)))
END
}
# finds JOB N: so many of them
finds() { [ "$(found "$1" | grep -c .)" -eq "$2" ]; }
# expect_found NAME JOB FILE: as in the file
same() {
	found "$1" >"$dir/found.$1"
	cmp -s "$dir/found.$1" "$2"
}
expect_found() {
	if wait_for 20 same "$2" "$3"; then ok "$1"; else not_ok "$1" "$(diff "$3" "$dir/found.$2" | head -n 6 | tr '\n' '|')"; fi
}

mkdir "$dir/www"
python3 -u -m http.server --bind 127.0.0.1 --directory "$dir/www" 0 >"$dir/www.out" 2>"$dir/www.log" &
servers="$servers $!"
serving() { grep -q 'port [0-9]' "$dir/www.out"; }
wait_for 20 serving
port=$(sed -n 's/.* port \([0-9]*\) .*/\1/p' "$dir/www.out")
cat >"$dir/www/a.json" <<'JSON'
[ {"targets": ["127.0.0.1:1", "127.0.0.1:2"], "labels": {"env": "test", "__meta_url": "not this"}}, {"targets": ["127.0.0.1:3"]} ]
JSON

profiles='{ pprof_config: { memory: { enabled: false }, block: { enabled: false }, mutex: { enabled: false }, process_cpu: { enabled: false } } }'
cat >"$dir/prometheus.yml" <<YAML
scrape_configs:
  - job_name: http
    scrape_interval: 1h
    profiling_config: $profiles
    http_sd_configs:
      - url: http://127.0.0.1:$port/a.json
        refresh_interval: 1s
        basic_auth: { username: u, password: it-is-secret }
YAML
if ! daemon_start -c "$dir/prometheus.yml"; then
	not_ok discovery.starts "$(tail -n 3 "$dir/log" | tr '\n' '|')"
	exit 1
fi
ok discovery.starts

# ---- HTTP ----
cat >"$dir/want" <<JSON
{"__address__": "127.0.0.1:1", "__meta_url": "http://127.0.0.1:$port/a.json", "env": "test"}
{"__address__": "127.0.0.1:2", "__meta_url": "http://127.0.0.1:$port/a.json", "env": "test"}
{"__address__": "127.0.0.1:3", "__meta_url": "http://127.0.0.1:$port/a.json"}
JSON
expect_found discovery.http http "$dir/want"
# Whatever is wrong with the answer, the last good one stays.
says() { get /api/v1/pipeline | grep -qF "$1"; }
# http_fails NAME SENTENCE
http_fails() {
	if wait_for 20 says "$2"; then ok "discovery.http_$1"; else not_ok "discovery.http_$1" "$(get /api/v1/pipeline | grep -o 'http_sd: [^"]*' | head -n 1)"; fi
	expect_found "discovery.http_$1_keeps" http "$dir/want"
}
mv "$dir/www/a.json" "$dir/www/away"
http_fails status 'a.json: answered with status 404'
printf '[ {"targets": ["a:1"], "label": {}} ]' >"$dir/www/a.json"
http_fails key 'group 1: has another key than targets and labels'
printf '[ {"targets": ["a:1"]' >"$dir/www/a.json"
http_fails json 'is not JSON'
printf '[]' >"$dir/www/a.json"
wait_for 20 finds http 0 && ok discovery.http_empty || not_ok discovery.http_empty "$(found http | head -n 3)"
get /metrics >"$dir/metrics"
expect discovery.counts_failures 'sd_refresh_failures_total{' "$dir/metrics"
get /api/v1/config >"$dir/effective"
expect discovery.config_shows "url: http://127.0.0.1:$port/a.json" "$dir/effective"
if grep -q 'it-is-secret' "$dir/effective"; then not_ok discovery.masks "the password is shown"; else ok discovery.masks; fi
daemon_stop
