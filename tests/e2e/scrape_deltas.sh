#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/scrape_deltas.sh - profiles that a Go service makes deltas of itself (godeltaprof), and fgprof's, held against Go's own
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

[ -e "$plugins/input_pprof_scrape.so" ] || skip_all "built without pprof_scrape"
go_program deltas.program deltas deltas || exit 0
service=
trap '[ -n "$service" ] && kill "$service" 2>/dev/null; daemon_stop; rm -rf "$dir"' EXIT
"$dir/deltas" >"$dir/at" 2>"$dir/service.err" &
service=$!
wait_for 20 test -s "$dir/at"
at=$(cat "$dir/at")

cat >"$dir/deltas.yaml" <<YAML
scrape_configs:
  - job_name: deltas
    scrape_interval: 2s
    profiling_config:
      pprof_config:
        fgprof: { enabled: true }
        process_cpu: { enabled: false }
        delta_heap: { enabled: true, path: /debug/pprof/delta_heap }
        delta_mutex: { enabled: true, path: /debug/pprof/delta_mutex }
        delta_block: { enabled: true, path: /debug/pprof/delta_block }
    static_configs: [ { targets: ["$at"] } ]
YAML
daemon_begin deltas.starts -c "$dir/deltas.yaml"
# sum TYPE FUNCTION: of the stacks with such a function
sum() { ask query stacks "$1" --focus "$2" --from now-10m 2>/dev/null | sum_of_lines; }
# asked PROFILE N: so often
asked() { get /api/v1/targets | python3 -c 'import json, sys
sys.exit(not any(e["profile"] == sys.argv[1] and e["health"] == "up" and e["asked"] - e["failed"] >= int(sys.argv[2]) for e in json.load(sys.stdin)["endpoints"]))' "$@"; }
for profile in memory mutex block delta_heap delta_mutex delta_block fgprof; do
	wait_for 30 asked $profile 1 && ok "deltas.$profile" || not_ok "deltas.$profile" "$(ask targets | grep " $profile " | head -n 1)"
done

# What is added now comes once: as Go counts it from the program's start, and as we make differences of that.
curl -s "http://$at/allocate?n=300" >/dev/null
curl -s "http://$at/contend" >/dev/null
for type in memory:alloc_space:bytes:space:bytes:delta delta_heap:alloc_space:bytes:space:bytes:delta; do
	is_all() { [ "$(sum $type '^main\.allocate$')" -ge 3072000 ]; }
	wait_for 30 is_all
	got=$(sum $type '^main\.allocate$')
	[ "$got" = 3072000 ] && ok "deltas.$type" || not_ok "deltas.$type" "$got, not 3072000; $(ask query types | cut -d ' ' -f 1 | tr '\n' ' ')"
done
for profile in mutex block; do
	agree() {
		own=$(sum "$profile:contentions:count:contentions:count:delta" '^main\.contend')
		its=$(sum "delta_$profile:contentions:count:contentions:count:delta" '^main\.contend')
		there=$(go tool pprof -symbolize=none -sample_index=contentions -focus '^main\.contend' -unit count -top "http://$at/debug/pprof/$profile" 2>/dev/null |
			sed -n 's/^Showing nodes accounting for \([0-9.]*\).*/\1/p')
		[ "$own" -gt 0 ] && [ "$its" = "$own" ] && [ "$there" = "$own" ]
	}
	wait_for 30 agree && ok "deltas.${profile}_contentions" ||
		not_ok "deltas.${profile}_contentions" "$its told as deltas, $own by difference, $there there"
done
# And once: they come with no other scrape.
sleep 5
agree && ok deltas.once || not_ok deltas.once "$its told as deltas, $own by difference, $there there"
# fgprof: time on and off the CPU of each goroutine.
time=fgprof:time:nanoseconds:wallclock:nanoseconds:delta
waited() { [ "$(sum $time '^main\.waits$')" -gt 0 ]; }
wait_for 20 waited && ok deltas.fgprof_waits || not_ok deltas.fgprof_waits "$(ask query types | cut -d ' ' -f 1 | tr '\n' ' ')"
daemon_stop
expect_status deltas.stops 0 "$daemon_status"
