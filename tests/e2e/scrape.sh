#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/scrape.sh - a real Go service, scraped by files as Prometheus and Parca have them
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

command -v go >/dev/null || skip_all "go is not installed; apt-get install golang-go"
[ -e "$plugins/input_pprof_scrape.so" ] || skip_all "built without pprof_scrape"
GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local GOCACHE=${GOCACHE:-$dir/cache} GOPATH=$dir/gopath HOME=$dir
PPROF_TMPDIR=$dir
export GOFLAGS GOPROXY GOTOOLCHAIN GOCACHE GOPATH HOME PPROF_TMPDIR

if ! (cd "$top_srcdir/tests/programs/scraped" && go build -o "$dir/scraped" .) 2>"$dir/build"; then
	not_ok scrape.program "$(head -n 3 "$dir/build")"
	exit 1
fi
services=
stop_services() { for pid in $services; do kill "$pid" 2>/dev/null; done; }
trap 'stop_services; daemon_stop; rm -rf "$dir"' EXIT
# service NAME: one more, whose address is the variable of that name
service() {
	"$dir/scraped" >"$dir/$1" 2>"$dir/$1.err" &
	services="$services $!"
	wait_for 20 test -s "$dir/$1"
	eval "$1=\$(cat \"\$dir/$1\")"
}
one='' two=''
service one
service two

endpoints() { get /api/v1/targets >"$dir/targets.json"; }
# sum_of SELECTOR REGEX: of the stacks with such a function
sum_of() { ask query stacks "$1" --focus "$2" --from now-10m 2>/dev/null | sum_of_lines; }
has_type() { ask query types 2>/dev/null | grep -qF "$1"; }

cat >"$dir/parca.yaml" <<YAML
object_storage:
  bucket:
    type: FILESYSTEM
    config: { directory: ./data }
scrape_configs:
  - job_name: service
    scrape_interval: 2s
    scrape_timeout: 4s
    static_configs:
      - targets: ["$one"]
        labels: { env: test }
  - job_name: few
    scrape_interval: 2s
    profiling_config:
      path_prefix: /few
      pprof_config: { process_cpu: { enabled: false }, heap: { path: /debug/pprof/heap }, mutx: { delta: true } }
    static_configs: [ { targets: ["$one"] } ]
  - job_name: once
    scrape_interval: 2s
    scrape_timeout: 4s
    profiling_config:
      path_prefix: /once
      pprof_config: { memory: { enabled: false }, block: { enabled: false }, mutex: { enabled: false }, goroutine: { enabled: false } }
    static_configs: [ { targets: ["$two"] } ]
  - job_name: nobody
    scrape_interval: 1s
    profiling_config:
      pprof_config: { memory: { enabled: false }, block: { enabled: false }, mutex: { enabled: false }, process_cpu: { enabled: false } }
    static_configs: [ { targets: ["127.0.0.1:1"] } ]
  - job_name: files
    scrape_interval: 1s
    scrape_timeout: 10s
    file_sd_configs: [ { files: [ "$dir/sd/*.json" ] } ]
    relabel_configs:
      - { source_labels: [__name__], regex: goroutine, action: keep }
      - { source_labels: [__meta_filepath], regex: ".*/(.*).json", target_label: file }
YAML
mkdir "$dir/sd"
daemon_begin scrape.starts -c "$dir/parca.yaml"
ok scrape.starts
expect scrape.says_what_is_ignored 'object_storage: has no meaning here, and is ignored' "$dir/log"
expect scrape.says_what_is_not_scraped 'job few: pprof_config.heap is not scraped, as it is none of the usual ones; write enabled: true' "$dir/log"
expect scrape.says_what_was_meant 'job few: pprof_config.mutx is not scraped, as it is none of the usual ones; write enabled: true, or did you mean "mutex"?' "$dir/log"

# ---- the five profiles of a Go service ----
for type in memory:alloc_space:bytes:space:bytes:delta memory:alloc_objects:count:space:bytes:delta \
	memory:inuse_space:bytes:space:bytes goroutine:goroutine:count:goroutine:count \
	process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta; do
	wait_for 30 has_type "$type" && ok "scrape.type.$type" || not_ok "scrape.type.$type" "$(ask query types 2>&1 | tr '\n' '|')"
done
curl -s "http://$one/contend" >/dev/null
for type in mutex:contentions:count:contentions:count:delta block:delay:nanoseconds:contentions:count:delta; do
	wait_for 30 has_type "$type" && ok "scrape.type.$type" || not_ok "scrape.type.$type" "$(ask query types 2>&1 | tr '\n' '|')"
done

# What was allocated, to the byte: each of 300 blocks is in the size class of 10,240 bytes. What the runtime allocates while a
# collection begins there has a size of its own.
blocks() {
	ask query stacks "memory:$1:space:bytes:delta{job=\"service\"}" --group-by bytes --focus '^main\.allocate$' --from now-10m 2>/dev/null |
		awk '/bytes=10240;/ { n += $NF } END { printf "%d\n", n }'
}
before=$(blocks alloc_space:bytes)
curl -s "http://$one/allocate?n=300" >/dev/null
allocated() { [ "$(blocks alloc_space:bytes)" -ge $((before + 3072000)) ]; }
wait_for 30 allocated
bytes=$(blocks alloc_space:bytes)
if [ $((bytes - before)) -eq 3072000 ]; then ok scrape.allocated; else not_ok scrape.allocated "$before, then $bytes; 3072000 were wanted"; fi
after=$(sum_of 'memory:alloc_space:bytes:space:bytes:delta{job="service"}' '^main\.allocate$')
objects=$(blocks alloc_objects:count)
if [ "$objects" -eq 300 ]; then ok scrape.allocated_objects; else not_ok scrape.allocated_objects "$objects, not 300"; fi
# `go tool pprof` of the endpoint counts the same, from the program's start.
go tool pprof -symbolize=none -sample_index=alloc_space -focus 'main\.allocate$' -unit B -top "http://$one/debug/pprof/allocs" 2>/dev/null |
	awk '$6 == "main.allocate" { print $1 }' >"$dir/go"
if grep -qx "${after}B" "$dir/go"; then ok scrape.as_go_counts; else not_ok scrape.as_go_counts "$(cat "$dir/go") there, $after here"; fi

# A gauge is a mean: fifty goroutines, however often they were counted.
parked=$(sum_of 'goroutine:goroutine:count:goroutine:count{job="service"}' '^main\.park$')
if [ "$parked" -eq 50 ]; then ok scrape.goroutines; else not_ok scrape.goroutines "$parked, not 50"; fi

ask query flame "$cpu{job=\"service\"}" >"$dir/flame" 2>&1
expect scrape.cpu_outer 'main.burnOuter' "$dir/flame"
expect scrape.cpu_inner 'main.burnInner' "$dir/flame"
# Our export is what Go's pprof reads.
ask query pprof "$cpu{job=\"service\"}" -o "$dir/cpu.pb.gz" 2>"$dir/err" &&
	go tool pprof -symbolize=none -top "$dir/cpu.pb.gz" >"$dir/top" 2>"$dir/err"
expect scrape.cpu_export 'main.burnInner' "$dir/top"
ask query values env >"$dir/values"
expect scrape.labels_of_the_group 'test' "$dir/values"
ask query values instance >"$dir/values"
expect scrape.instance "$one" "$dir/values"

# Labels of Go's samples: one groups and filters by them.
ask query stacks "$cpu{job=\"service\"}" --group-by request --focus '^main\.burnOuter$' >"$dir/stacks" 2>&1
expect scrape.sample_label 'request=/checkout' "$dir/stacks"
grep -v 'request=/checkout' "$dir/stacks" >"$dir/others" && not_ok scrape.sample_label_of_all "$(head -n 2 "$dir/others" | tr '\n' '|')" || ok scrape.sample_label_of_all
ask query stacks "memory:alloc_space:bytes:space:bytes:delta{job=\"service\"}" --group-by bytes --focus '^main\.allocate$' >"$dir/stacks" 2>&1
expect scrape.sample_number 'bytes=10240' "$dir/stacks"

# Our export of the heap is what Go counts at the endpoint: what is held, and all that was allocated since the first scrape.
top_of() { go tool pprof -symbolize=none -sample_index="$1" -focus "$2" -unit "$3" -top "$4" 2>/dev/null | sed -n 's/^Showing nodes accounting for \([0-9.]*\).*/\1/p'; }
# heap_export NAME TYPE INDEX FUNCTION BYTES
heap_export() {
	ask query pprof "$2{job=\"service\"}" --from now-10m -o "$dir/heap.pb.gz" >"$dir/err" 2>&1
	there=$(top_of "$3" "$4" B "http://$one/debug/pprof/heap")
	here=$(top_of "$3" "$4" B "$dir/heap.pb.gz")
	[ "$there" = "$5" ] && [ "$here" = "$5" ] && ok "$1" || not_ok "$1" "$there there, $here exported, not $5: $(head -n 1 "$dir/err")"
}
heap_export scrape.kept_export memory:inuse_space:bytes:space:bytes inuse_space '^main\.keep$' 1048576
heap_export scrape.allocated_export memory:alloc_space:bytes:space:bytes:delta alloc_space '^main\.allocate$' "$after"

# What our export has more than before is what the endpoint counted meanwhile.
# counted INDEX FILE-OR-URL
counted() { top_of "$1" '^main\.contend' "$unit" "$2"; }
# counted_export PROFILE INDEX UNIT TYPE_UNIT: of waiting for a lock; what was counted before the first scrape is in no
# difference: as much as is missing once all has been asked for
counted_export() {
	unit=$3
	exported() {
		ask query pprof "$1:$2:$4:contentions:count:delta{job=\"service\"}" --from now-10m -o "$dir/$1.pb.gz" >"$dir/err" 2>&1
		here=$(counted "$2" "$dir/$1.pb.gz")
		here=${here:-0}
	}
	all_exported() { exported "$@" && [ "$here" = "$((there - unseen))" ]; }
	there=$(counted "$2" "http://$one/debug/pprof/$1")
	sleep 5
	exported "$@"
	unseen=$((${there:-0} - here))
	curl -s "http://$one/contend" >/dev/null
	there=$(counted "$2" "http://$one/debug/pprof/$1")
	there=${there:-0}
	[ "$unseen" -ge 0 ] && [ "$there" -gt "$unseen" ] && wait_for 20 all_exported "$@" && ok "scrape.$1_$2_export" ||
		not_ok "scrape.$1_$2_export" "$there there, $unseen before, $here exported: $(head -n 1 "$dir/err")"
}
counted_export mutex contentions count count
counted_export mutex delay ns nanoseconds
counted_export block contentions count count
counted_export block delay ns nanoseconds
# CPU: the share that each function has is what `go tool pprof` says of the same profile at the endpoint.
shares_of() {
	go tool pprof -symbolize=none -top -cum -nodefraction=0 -edgefraction=0 -nodecount=100000 "$1" 2>"$dir/err" |
		awk '$5 ~ /%$/ { print $6, $2, $5 }' | sort
}
shares_of "http://$two/once/debug/pprof/profile?seconds=1" >"$dir/there"
once_exported() { ask query pprof "$cpu{job=\"once\"}" --from now-10m -o "$dir/cpu.pb.gz" 2>"$dir/err"; }
wait_for 20 once_exported && shares_of "$dir/cpu.pb.gz" >"$dir/here"
grep -q '^main.burnInner ' "$dir/there" && cmp -s "$dir/there" "$dir/here" && ok scrape.cpu_share ||
	not_ok scrape.cpu_share "$(diff "$dir/there" "$dir/here" | head -n 4 | tr '\n' '|') $(head -n 1 "$dir/err")"
ask query pprof 'goroutine:goroutine:count:goroutine:count{job="service"}' -o "$dir/goroutine.pb.gz" >"$dir/err" 2>&1
there=$(top_of goroutine '^main\.park$' count "http://$one/debug/pprof/goroutine")
here=$(top_of goroutine '^main\.park$' count "$dir/goroutine.pb.gz")
[ "$there" = 50 ] && [ "$here" = 50 ] && ok scrape.goroutine_export || not_ok scrape.goroutine_export "$there there, $here exported"

# ---- how targets go ----
ask targets >"$dir/targets"
expect scrape.targets_up 'up' "$dir/targets"
refused() { ask targets >"$dir/targets" && grep 'nobody' "$dir/targets" | grep -q 'down'; }
wait_for 20 refused && ok scrape.target_down || not_ok scrape.target_down "$(grep nobody "$dir/targets")"
off() { ask targets >"$dir/targets" && grep 'few' "$dir/targets" | grep 'block' | grep -q ' off '; }
wait_for 20 off && ok scrape.target_without_a_profile || not_ok scrape.target_without_a_profile "$(grep few "$dir/targets")"
if grep -q ' 0ns \| 0 \?B ' "$dir/targets"; then not_ok scrape.target_unmeasured "$(grep -m 1 ' 0ns \| 0 \?B ' "$dir/targets")"; else ok scrape.target_unmeasured; fi
few() { ask query types --from now-5m >/dev/null && [ "$(sum_of 'goroutine:goroutine:count:goroutine:count{job="few"}' '^main\.park$')" = 50 ]; }
wait_for 20 few && ok scrape.target_with_a_prefix || not_ok scrape.target_with_a_prefix "$(grep few "$dir/targets")"
# All that is said of a target, of each kind, and that /metrics adds it up.
cat >"$dir/said.py" <<'PY'
import json, re, sys, time
from datetime import datetime
targets = json.load(open(sys.argv[1]))["endpoints"]
metrics = [(name, dict(re.findall(r'(\w+)="([^"]*)"', labels)), float(value))
           for name, labels, value in re.findall(r'^decima_(\w+)\{(.*)\} (\S+)$', open(sys.argv[2]).read(), re.M)]
def metric(name, **labels):
    of = [v for n, l, v in metrics if n == name and labels.items() <= l.items()]
    want(of, f"{name} {labels} is not there")
    return sum(of)
faults = []
def want(truth, what, e=None):
    if not truth:
        faults.append(f"{what}: {json.dumps(e)[:300]}")
def seconds(t):
    return datetime.fromisoformat(t.replace("Z", "+00:00")).timestamp()
for e in targets:
    up, down = e["health"] == "up", e["health"] == "down"
    if e["health"] in ("unknown", "dropped"):
        continue
    want(abs(seconds(e["last"]) - time.time()) < 120, "last", e)
    want(seconds(e["next"]) > seconds(e["last"]), "next", e)
    want(0 < e["duration_ns"] < 60e9 or down, "duration", e)
    want(e["asked"] >= 1 and (e["failed"] >= 1) >= down, "asked", e)
    want(bool(e["error"]) == (not up), "error", e)
    want(e["url"].startswith("http://127.0.0.1:"), "url", e)
    if up:
        want(e["bytes"] > 0, "bytes", e)
    if up and e["profile"] in ("goroutine", "memory"):
        want(e["samples"] > 0, "samples", e)
    want(e["interval_ns"] == (2e9 if e["job"] in ("service", "few", "once") else 1e9), "interval", e)
    want(e["timeout_ns"] == {"service": 4e9, "few": 2e9, "nobody": 1e9, "files": 10e9, "once": 4e9}[e["job"]], "timeout", e)
    want(e["labels"]["job"] == e["job"] and e["labels"]["instance"] in e["url"], "labels", e)
for job in {e["job"] for e in targets}:
    of = [e for e in targets if e["job"] == job]
    for health in ("unknown", "up", "down", "off"):
        n = sum(e["health"] == health for e in of)
        want(metric("scrape_targets", scrape_job=job, health=health) == n, f"{job}: {n} are {health}")
    want(metric("scrape_targets_dropped", scrape_job=job) == sum(e["health"] == "dropped" for e in of), f"{job}: dropped")
    want(metric("scrapes_total", scrape_job=job) >= sum(e.get("asked", 0) for e in of), f"{job}: scrapes_total")
    want(metric("scrape_failures_total", scrape_job=job) >= sum(e.get("failed", 0) for e in of), f"{job}: failures")
    want(metric("scrape_samples_total", scrape_job=job) >= sum(e.get("samples", 0) for e in of if e["health"] == "up") / 2, f"{job}: samples_total")
    want(metric("scrape_bytes_total", scrape_job=job) >= sum(e.get("bytes", 0) for e in of), f"{job}: bytes_total")
    want(metric("scrape_duration_seconds_count", scrape_job=job) <= metric("scrapes_total", scrape_job=job), f"{job}: durations")
    want(metric("sd_refreshes_total", scrape_job=job) > 0 and metric("sd_discovered_targets", scrape_job=job) > 0, f"{job}: discovery")
want(metric("scrape_failures_total", scrape_job="nobody", reason="connection") > 0, "failures by reason")
want(metric("scrape_failures_total", scrape_job="service") < metric("scrapes_total", scrape_job="service"), "service fails")
want(metric("scrape_duration_seconds_sum", scrape_job="service") > 0, "durations")
want(metric("scrape_delta_bytes") > 0, "what is kept for differences")
want(metric("scrape_samples_total") > 0 and metric("scrape_bytes_total") > 0, "samples and bytes")
print("\n".join(faults[:3]) or "all is said")
PY
# Metrics first, counts later: what is counted between the two would be a difference.
all_is_said() { get /metrics >"$dir/metrics" && endpoints && python3 "$dir/said.py" "$dir/targets.json" "$dir/metrics" >"$dir/said" 2>&1 && grep -qx 'all is said' "$dir/said"; }
wait_for 20 all_is_said && ok scrape.all_is_said || not_ok scrape.all_is_said "$(tr '\n' '|' <"$dir/said")"
get /metrics >"$dir/metrics"
expect scrape.metric_scrapes 'decima_scrapes_total{instance="pprof_scrape",scrape_job="service"}' "$dir/metrics"
expect scrape.metric_down 'decima_scrape_targets{health="down",instance="pprof_scrape",scrape_job="nobody"}' "$dir/metrics"

# Each metric that docs/SCRAPING.md has is there, and each that is there has its row.
grep -oE 'decima_(scrapes?|sd)_[a-z_]+' "$top_srcdir/docs/SCRAPING.md" | sort -u >"$dir/documented"
sed -nE 's/^# TYPE (decima_(scrapes?|sd)_[a-z_]+) .*/\1/p' "$dir/metrics" | sort -u >"$dir/shown"
[ -s "$dir/shown" ] && diff "$dir/documented" "$dir/shown" >"$dir/differ" && ok scrape.metrics_are_documented ||
	not_ok scrape.metrics_are_documented "$(tr '\n' '|' <"$dir/differ")"

# ---- targets that come and go ----
echo "[{\"targets\":[\"$two\"],\"labels\":{\"zone\":\"b\"}}]" >"$dir/sd/new.tmp" && mv "$dir/sd/new.tmp" "$dir/sd/two.json"
found() { ask query values file 2>/dev/null | grep -qx 'two.*'; }
wait_for 20 found && ok scrape.file_found || not_ok scrape.file_found "$(grep files "$dir/targets")"
cat >"$dir/judge.py" <<'PY'
import json, sys
e = json.load(open(sys.argv[1]))["endpoints"]
mine = [x for x in e if x["job"] == "files"]
up = [x for x in mine if x["health"] == "up"]
dropped = [x for x in mine if x["health"] == "dropped"]
print("asked", len(up), "dropped", len(dropped), up[0]["labels"].get("zone"), up[0]["labels"].get("file"), up[0]["discovered"].get("__meta_filepath", "").endswith("two.json"))
PY
told() { endpoints && python3 "$dir/judge.py" "$dir/targets.json" >"$dir/judged" 2>&1 && grep -qx 'asked 1 dropped 4 b two True' "$dir/judged"; }
wait_for 20 told && ok scrape.dropped_are_told || not_ok scrape.dropped_are_told "$(cat "$dir/judged")"
echo '[{"targets":3}]' >"$dir/sd/two.json"
complaint() { grep -q 'group 1: targets is not a list' "$dir/log"; }
wait_for 20 complaint && ok scrape.bad_file_is_told || not_ok scrape.bad_file_is_told "$(tail -n 2 "$dir/log")"
# Another file's target comes with the next look over all: the first one's is still there then.
echo "[{\"targets\":[\"$one\"]}]" >"$dir/sd/another.tmp" && mv "$dir/sd/another.tmp" "$dir/sd/another.json"
another() { get /api/v1/targets | grep -q 'another.json'; }
wait_for 20 another
of_files() { ask targets >"$dir/targets" && grep -q "^files .*$two" "$dir/targets"; }
of_files && ok scrape.bad_file_changes_nothing || not_ok scrape.bad_file_changes_nothing "$(grep ^files "$dir/targets")"
rm "$dir/sd/two.json"
gone() { ! of_files && [ -s "$dir/targets" ]; }
wait_for 20 gone && ok scrape.file_gone || not_ok scrape.file_gone "$(grep files "$dir/targets")"
daemon_stop
expect_status scrape.stops 0 "$daemon_status"

# ---- an unchanged file of Prometheus ----
cat >"$dir/prometheus.yml" <<YAML
global:
  scrape_interval: 1s
  evaluation_interval: 15s
  external_labels: { monitor: codelab }
rule_files: [ first.rules ]
scrape_configs:
  - job_name: prometheus
    metrics_path: /metrics
    static_configs:
      - targets: ["$one"]
YAML
if daemon_start -c "$dir/prometheus.yml"; then
	ok scrape.prometheus_starts
	labelled() { ask query values monitor 2>/dev/null | grep -q codelab; }
	wait_for 20 labelled && ok scrape.external_labels || not_ok scrape.external_labels "$(ask query labels 2>&1 | tr '\n' '|')"
	expect scrape.metrics_path_warned '"metrics_path" has no meaning here' "$dir/log"
	daemon_stop
else
	not_ok scrape.prometheus_starts "$(last_words "$dir/log")"
fi
# Both ways at once would be two meanings.
printf 'inputs: {}\nscrape_configs: []\n' >"$dir/both.yaml"
"$decima" check --config-only -c "$dir/both.yaml" >"$dir/check" 2>&1
expect_status scrape.both_status 2 $?
expect scrape.both_is_told "$dir/both.yaml:2:1: scrape_configs: stands beside inputs:" "$dir/check"

# Jobs in files of their own: faults are told where they stand.
mkdir "$dir/jobs"
printf 'scrape_configs:\n  - job_name: a\n    static_configs: [ { targets: ["%s"] } ]\n' "$one" >"$dir/jobs/a.yml"
printf 'scrape_configs:\n  - job_name: b\n    scrape_intervall: 1s\n' >"$dir/jobs/b.yml"
printf 'scrape_config_files: [ "jobs/*.yml", none.yml ]\n' >"$dir/files.yaml"
"$decima" check --config-only --plugin-path "$plugins" -c "$dir/files.yaml" >"$dir/check" 2>&1
expect_status scrape.files_status 2 $?
expect scrape.files_fault "$dir/jobs/b.yml:3:5: input pprof_scrape: scrape_configs[1]: unknown option \"scrape_intervall\"; did you mean \"scrape_interval\"?" "$dir/check"
expect scrape.files_none "none.yml: there is no such file" "$dir/check"
printf 'global: { scrape_timout: 1s }\nscrape_config_files: []\n' >"$dir/files.yaml"
"$decima" check --config-only --plugin-path "$plugins" -c "$dir/files.yaml" >"$dir/check" 2>&1
expect scrape.global_fault "$dir/files.yaml:1:11: global: unknown option \"scrape_timout\"; did you mean \"scrape_timeout\"?" "$dir/check"
printf 'scrape_config_files: [ "jobs/a*.yml" ]\n' >"$dir/files.yaml"
if daemon_start -c "$dir/files.yaml"; then
	in_file() { ask targets >"$dir/targets" && grep -q "^a .*up.*$one" "$dir/targets"; }
	wait_for 20 in_file && ok scrape.files || not_ok scrape.files "$(tr '\n' '|' <"$dir/targets")"
	daemon_stop
else
	not_ok scrape.files "$(last_words "$dir/log")"
fi
