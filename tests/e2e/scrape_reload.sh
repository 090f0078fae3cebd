#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/scrape_reload.sh - another configuration: targets that stay the same go on, with what they counted and are asking
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

[ -e "$plugins/input_pprof_scrape.so" ] || skip_all "built without pprof_scrape"
command -v python3 >/dev/null || skip_all "python3 is not installed"
echo names >"$dir/word"
python3 "$top_srcdir/tests/lib/pprof_symbol.py" "$dir/word" >"$dir/program" 2>"$dir/program.err" &
program=$!
trap 'kill "$program" 2>/dev/null; daemon_stop; rm -rf "$dir"' EXIT
wait_for 20 test -s "$dir/program"
address=$(cat "$dir/program")

# job NAME PROFILES [TARGET]
job() {
	cat <<-YAML
		  - job_name: $1
		    scrape_interval: 1s
		    scrape_timeout: 5s
		    profiling_config:
		      pprof_config: { block: { enabled: false }, mutex: { enabled: false }, goroutine: { enabled: false }, process_cpu: { enabled: false }, $2 }
		    static_configs: [ { targets: ["${3:-$address}"] } ]
	YAML
}
both='memory: { path: /pprof/heap }, slow: { enabled: true, path: /pprof/slow }'
# configured JOB..: those of $dir/scrape.yaml
configured() { printf 'scrape_configs:\n%s\n' "$*" >"$dir/new" && mv "$dir/new" "$dir/scrape.yaml"; }
reload() { curl -sf -X POST --unix-socket "$dir/sock" http://localhost/-/reload; }
configured "$(job stays "$both")"
daemon_begin scrape_reload.starts -c "$dir/scrape.yaml"

allocated=memory:alloc_space:bytes:space:bytes:delta
sum() { ask query stacks "$allocated{job=\"$1\"}" --from now-10m 2>/dev/null | sum_of_lines; }
counted() { curl -s "http://$address/counts" | cut -d ' ' -f 3; }
slow() { curl -s "http://$address/slow" | cut -d ' ' -f "$1"; }
has() { ask targets >"$dir/targets" && grep -q "$1" "$dir/targets"; }
has_not() { ask targets >"$dir/targets" && ! grep -q "$1" "$dir/targets"; }
counts() { [ "$(sum stays)" -gt 0 ]; }
if wait_for 30 counts; then ok scrape_reload.counts; else not_ok scrape_reload.counts "$(tail -n 2 "$dir/log")"; fi

# Ten times something else changes, at times when a slow profile is under way: a job comes, and another goes.
n=0
while [ $((n += 1)) -le 10 ]; do
	configured "$(job stays "$both")
$(job "guest$n" 'memory: { enabled: false }' 127.0.0.1:1)"
	reload >"$dir/said" 2>&1 || not_ok "scrape_reload.reload_$n" "$(head -c 300 "$dir/said")"
	sleep 0.7
done
[ "$(slow 1)" -ge 3 ] && [ "$(slow 2)" = 0 ] && ok scrape_reload.profiles_under_way_stay || not_ok scrape_reload.profiles_under_way_stay "$(slow 2) of $(slow 1) were given up"
wait_for 20 has 'stays.*slow.*up' && ok scrape_reload.slow_is_up || not_ok scrape_reload.slow_is_up "$(grep slow "$dir/targets")"
get /metrics >"$dir/metrics"
expect scrape_reload.metrics_come 'scrape_job="guest10"' "$dir/metrics"
# The targets are those of the last configuration now; names that fail do not matter to them either.
sleep 6
echo fails >"$dir/word"
sleep 2.5
echo names >"$dir/word"
sleep 2
echo 'names still' >"$dir/word"
whole() { [ "$(sum stays)" -eq $(($(counted) - 1100)) ]; }
wait_for 20 whole && ok scrape_reload.nothing_lost || not_ok scrape_reload.nothing_lost "$(counted) bytes there from 1100 on, $(sum stays) here"
# Targets of one job are those of one job only.
[ "$(ask targets | grep -c '^stays ')" = 2 ] && ok scrape_reload.each_once || not_ok scrape_reload.each_once "$(ask targets | tr '\n' '|')"

# What the new one has not, ends: a profile, a target, a job; what it has more, begins.
configured "$(job stays 'memory: { path: /pprof/heap }')
$(job comes 'memory: { path: /pprof/heap }')"
reload >/dev/null
wait_for 20 has_not 'stays.*slow' && ok scrape_reload.profile_goes || not_ok scrape_reload.profile_goes "$(tr '\n' '|' <"$dir/targets")"
wait_for 20 has 'comes.*memory.*up' && ok scrape_reload.job_comes || not_ok scrape_reload.job_comes "$(tr '\n' '|' <"$dir/targets")"
# A job counts until its last call has ended.
guests_gone() { get /metrics >"$dir/metrics" && ! grep -q 'scrape_job="guest' "$dir/metrics"; }
wait_for 20 guests_gone && ok scrape_reload.metrics_go || not_ok scrape_reload.metrics_go "$(grep 'scrape_job="guest' "$dir/metrics" | head -n 3 | tr '\n' '|')"
asked=$(awk '/^decima_scrapes_total.*scrape_job="stays"/ { print $NF }' "$dir/metrics")
[ "${asked:-0}" -ge 20 ] && ok scrape_reload.metrics_stay || not_ok scrape_reload.metrics_stay "$asked scrapes in twelve configurations"
has_not guest && ok scrape_reload.job_goes || not_ok scrape_reload.job_goes "$(tr '\n' '|' <"$dir/targets")"
configured "$(job stays 'memory: { path: /pprof/heap }' 127.0.0.1:1)"
reload >/dev/null
wait_for 20 has_not "$address" && ok scrape_reload.target_goes || not_ok scrape_reload.target_goes "$(tr '\n' '|' <"$dir/targets")"

# One that cannot be leaves all as it was.
configured "$(job stays 'memory: { path: /pprof/heap }')
    relabel_configs: [ { regex: '(', target_label: x } ]"
if reload >"$dir/said" 2>&1; then not_ok scrape_reload.refused "it was taken"; else ok scrape_reload.refused; fi
has 'stays.*127.0.0.1:1/' && ok scrape_reload.refused_changes_nothing || not_ok scrape_reload.refused_changes_nothing "$(tr '\n' '|' <"$dir/targets")"
daemon_stop
expect_status scrape_reload.stops 0 "$daemon_status"
