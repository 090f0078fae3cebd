#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/kubernetes.sh - a Kubernetes cluster that is large, and changes: what of it becomes targets
#
# Which labels there are is discovery.sh's; here it is that a change of any object reaches the targets that are joined with
# it, and no others, and what happens beyond what may be held.
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

[ -e "$plugins/input_pprof_scrape.so" ] || skip_all "built without pprof_scrape"
command -v python3 >/dev/null || skip_all "python3 is not installed"
servers=
trap 'for pid in $servers; do kill "$pid" 2>/dev/null; done; daemon_stop; rm -rf "$dir"' EXIT

# cluster N [BARE [BYTES]]
cluster() {
	: >"$dir/cluster"
	python3 "$top_srcdir/tests/lib/cluster.py" "$@" >"$dir/cluster" 2>"$dir/cluster.log" &
	servers="$servers $!"
	wait_for 60 test -s "$dir/cluster"
	server=$(cat "$dir/cluster")
}
change() { curl -sf "http://$server/-/$1"; }
# job NAME ROLE ATTACH: one profile, not asked in the meantime
job() {
	cat <<-YAML
		  - job_name: $1
		    scrape_interval: 24h
		    profiling_config: { pprof_config: { memory: { enabled: false }, block: { enabled: false }, mutex: { enabled: false }, process_cpu: { enabled: false } } }
		    relabel_configs: [ { action: labelmap, regex: "__meta_kubernetes_(.*_label_changed|pod_name|pod_container_port_name|node_name)" } ]
		    kubernetes_sd_configs: [ { role: $2, api_server: "http://$server", attach_metadata: { $3 } } ]
	YAML
}
# n JOB LABEL VALUE: how many targets of the job have it
n() {
	get /api/v1/targets >"$dir/targets.json"
	python3 -c 'import json, sys
print(sum(e["job"] == sys.argv[2] and e["labels"].get(sys.argv[3]) == sys.argv[4] for e in json.load(open(sys.argv[1]))["endpoints"]))' \
		"$dir/targets.json" "$@"
}
has() { [ "$(n "$1" "$2" "$3")" -eq "$4" ]; }
# expect_n NAME JOB LABEL VALUE N
expect_n() {
	if wait_for 20 has "$2" "$3" "$4" "$5"; then ok "kubernetes.$1"; else not_ok "kubernetes.$1" "$(n "$2" "$3" "$4") targets of $2 have $3=$4, not $5"; fi
}

cluster 1200
{
	echo scrape_configs:
	job pods pod ""
	job joined endpoints "node: true, namespace: true"
} >"$dir/config.yml"
daemon_begin kubernetes.starts -c "$dir/config.yml"
for job in pods joined; do
	expect_n "$job.debug" $job pod_container_port_name debug 1200
	expect_n "$job.http" $job pod_container_port_name http 1200
done
# Three pages for each of the two jobs.
curl -sf "http://$server/-/asked" >"$dir/asked"
expect kubernetes.pages '"pods": 6' "$dir/asked"

# Both ports of what changed, or of all that is joined with it.
for what in pods=app-3- services=app-4 endpoints=app-5 nodes=node-2 namespaces=ns-3; do
	change "label?$what&value=yes"
done
expect_n pod.alone pods pod_label_changed yes 2
expect_n pod.joined joined pod_label_changed yes 2
expect_n service joined service_label_changed yes 20
expect_n endpoints joined endpoints_label_changed yes 20
expect_n node joined node_label_changed yes 30
expect_n namespace joined namespace_label_changed yes 100
# Of a pod that has gone its endpoint is left, until it goes, too.
change "delete?pods=app-6-"
expect_n gone.alone pods pod_container_port_name debug 1199
expect_n gone.joined joined pod_container_port_name debug 1199
expect_n gone.uncovered joined pod_container_port_name http 1199
daemon_stop

# ---- more than may be held ----
cluster 0 100003
{
	echo scrape_configs:
	job nodes node ""
} >"$dir/config.yml"
daemon_start -c "$dir/config.yml" || not_ok kubernetes.full_starts "$(last_words "$dir/log")"
all_there() { get /metrics >"$dir/metrics" && grep -q 'sd_discovered_targets{.*} 100000$' "$dir/metrics"; }
wait_for 60 all_there && ok kubernetes.full || not_ok kubernetes.full "$(grep 'sd_discovered' "$dir/metrics" | tr '\n' '|')"
expect kubernetes.full_counts 'decima_dropped_total{instance="pprof_scrape",reason="kubernetes_objects"} 3' "$dir/metrics"
expect kubernetes.full_says 'nodes: 3 have no room, as no more than 100000 are held' "$dir/log"
# One that is known already has its place.
change "label?nodes=bare-7&value=b"
changed() { get /metrics | grep -q 'reason="kubernetes_objects"} 3$' && [ "$(n nodes node_label_changed b)" -eq 1 ]; }
wait_for 20 changed && ok kubernetes.full_changes || not_ok kubernetes.full_changes "$(get /metrics | grep kubernetes_objects)"
daemon_stop

# ---- more bytes than may be held: 128 MiB, here of 1,400 nodes of 100,000 each ----
cluster 0 1400 100000
{
	echo scrape_configs:
	job nodes node ""
} >"$dir/config.yml"
daemon_start -c "$dir/config.yml" || not_ok kubernetes.heavy_starts "$(last_words "$dir/log")"
# What is held and what is not are all of them; one more of those that are would be too much.
cat >"$dir/judge.awk" <<'AWK'
/sd_discovered_targets\{/ { held = $2 }
/reason="kubernetes_objects"/ { lost = $2 }
END { exit !(held + lost == 1400 && held * 100000 <= 128 * 2 ^ 20 && (held + 1) * 101000 > 128 * 2 ^ 20) }
AWK
heavy() { get /metrics >"$dir/metrics" && awk -f "$dir/judge.awk" "$dir/metrics"; }
wait_for 60 heavy && ok kubernetes.heavy || not_ok kubernetes.heavy "$(grep 'sd_discovered\|kubernetes_objects' "$dir/metrics" | tr '\n' '|')"
expect kubernetes.heavy_says 'have no room, as no more than 100000 are held, and 128 MiB' "$dir/log"
