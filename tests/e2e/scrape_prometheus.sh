#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/scrape_prometheus.sh - relabelling and configuration files, held against Prometheus' own code and test data
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

[ -e "$plugins/input_pprof_scrape.so" ] || skip_all "built without pprof_scrape"
command -v go >/dev/null || skip_all "go is not installed; apt-get install golang-go"
cp -R "$top_srcdir/tests/programs/relabel_oracle" "$dir/oracle"
# Where the user's `go` fetches from; what is fetched is left nowhere, unless he has it already.
GOPROXY=$(go env GOPROXY) GOSUMDB=$(go env GOSUMDB) GONOSUMDB=$(go env GONOSUMDB) GOMODCACHE=$(go env GOMODCACHE)
version=$(awk '$1 == "github.com/prometheus/prometheus" { print $2 }' "$dir/oracle/go.mod")
[ -d "$GOMODCACHE/github.com/prometheus/prometheus@$version" ] || GOMODCACHE=$dir/gopath/pkg/mod
GOFLAGS='-mod=readonly -modcacherw' GOTOOLCHAIN=local GOCACHE=${GOCACHE:-$dir/cache} GOPATH=$dir/gopath HOME=$dir
export GOFLAGS GOPROXY GOSUMDB GONOSUMDB GOMODCACHE GOTOOLCHAIN GOCACHE GOPATH HOME
# A module that cannot be had, or a Go that is too old for it, is no failure; that what is there does not build is one.
go_fetched prometheus.oracle "$dir/oracle" list -deps . && go_builds prometheus.oracle "$dir/oracle" relabel_oracle || exit 0

# ---- relabelling ----
cases=$top_srcdir/tests/data/relabel/cases.yaml
n=$(grep -c 'job_name:' "$cases")
if daemon_start -c "$cases"; then
	told() { get /api/v1/targets >"$dir/targets.json" && [ "$(grep -o '"job":' "$dir/targets.json" | wc -l)" -ge "$n" ]; }
	wait_for 20 told
	"$dir/relabel_oracle" "$cases" "$dir/targets.json" >"$dir/verdicts" 2>&1
	while read -r name verdict; do
		if [ "$verdict" = same ]; then ok "prometheus.relabel.$name"; else not_ok "prometheus.relabel.$name" "$verdict"; fi
	done <"$dir/verdicts"
	[ "$(wc -l <"$dir/verdicts")" -eq "$n" ] && ok prometheus.relabel.all || not_ok prometheus.relabel.all "$n cases, $(wc -l <"$dir/verdicts") verdicts"
	daemon_stop
else
	not_ok prometheus.relabel "$(last_words "$dir/log")"
fi

# ---- files that Prometheus takes, and that it refuses: its own test data ----
# What is no matter of scraping profiles is ignored here with a warning, whatever stands in it; so these may differ.
differs() {
	case $1 in
	# A CPU profile may take longer than the interval; Parca wants it written so.
	scrape_interval.bad.yml | scrape_config_files.bad.yml | scrape_config_files_global.bad.yml) ;;
	# Bytes without a unit are a size here; an empty group of targets is one of none.
	scrape_body_size_limit.bad.yml | empty_static_config.bad.yml) ;;
	# Metrics, their names and protocols, remote storage, the database.
	empty_metric_relabel_config.bad.yml | metric_name_validation_scheme.bad.yml | scrape_config_utf8_conflicting.bad.yml) ;;
	scrape_config_files_fallback_scrape_protocol?.bad.yml | scrape_config_files_scrape_protocols*.bad.yml) ;;
	tsdb_*.bad.yml) ;;
	# Discoveries that are not here.
	azure_* | ec2_* | eureka_* | lightsail_* | marathon_* | outscale_* | puppetdb_* | stackit_* | uyuni_*) ;;
	*) return 1 ;;
	esac
}
prometheus=$(cd "$dir/oracle" && go list -m -f '{{.Dir}}' github.com/prometheus/prometheus)
data=$prometheus/config/testdata
compared=0 ignored=0
mkdir "$dir/jobs"
for file in "$data"/*.yml; do
	name=${file##*/}
	# One of metrics alone gets a job, so that it is read at all; what is wrong with it is no matter of ours.
	if ! grep -qE '^scrape_config(s|_files):' "$file"; then
		case $name in *bad* | *incompatible*) continue ;; esac
		{ cat "$file" && printf '\nscrape_configs: [ { job_name: added } ]\n'; } >"$dir/jobs/$name"
		file=$dir/jobs/$name
	fi
	case $name in *bad*) want=2 ;; *) want=0 ;; esac
	"$decima" check --config-only --plugin-path "$plugins" -c "$file" >"$dir/check" 2>&1
	got=$?
	compared=$((compared + 1))
	if [ "$got" -eq "$want" ]; then
		ok "prometheus.file.$name"
	elif differs "$name" && [ "$got" -eq 0 ]; then
		ignored=$((ignored + 1))
	else
		not_ok "prometheus.file.$name" "exit status $got, and Prometheus $want: $(grep -v warning "$dir/check" | head -n 1 | cut -c 1-200)"
	fi
done
[ "$compared" -ge 140 ] && ok prometheus.files || not_ok prometheus.files "only $compared files were compared"
[ "$ignored" -le 60 ] && ok prometheus.files_that_differ || not_ok prometheus.files_that_differ "$ignored"

# ---- the same for what a client says of itself, and whom it trusts: the test data of Prometheus' HTTP client ----
# as_job FILE: with a job around it
as_job() {
	printf 'scrape_configs:\n  - job_name: client\n'
	case $1 in
	*/tls_config.*) echo '    tls_config:' && sed 's/^/      /' "$1" ;;
	*) sed 's/^/    /' "$1" ;;
	esac
}
data=$(cd "$dir/oracle" && go list -m -f '{{.Dir}}' github.com/prometheus/common)/config/testdata
compared=0
for file in "$data"/http.conf.*.y*ml "$data"/tls_config.*.y*ml; do
	name=${file##*/}
	case $name in
	*.ref.yaml) continue ;;			       # a keeper of secrets, of which Prometheus itself has none
	*.invalid-bearer-token-file.bad.yml) want=0 ;; # the file is not there: that is told when it is asked for
	*bad*) want=2 ;;
	*) want=0 ;;
	esac
	as_job "$file" >"$dir/client.yml"
	"$decima" check --config-only --plugin-path "$plugins" -c "$dir/client.yml" >"$dir/check" 2>&1
	got=$?
	compared=$((compared + 1))
	[ "$got" -eq "$want" ] && ok "prometheus.client.$name" ||
		not_ok "prometheus.client.$name" "exit status $got, not $want: $(grep -v warning "$dir/check" | head -n 1 | cut -c 1-200)"
done
[ "$compared" -ge 35 ] && ok prometheus.clients || not_ok prometheus.clients "only $compared files were compared"

# ---- what docs/SCRAPING.md says metrics are called there ----
sed -n '/^## How it goes/,/^## Limits/p' "$top_srcdir/docs/SCRAPING.md" | grep -oE '`(up|scrape_[a-z_]+|prometheus_[a-z_]+)`' | tr -d '`' | grep -vx scrape_job | sort -u >"$dir/names"
[ "$(wc -l <"$dir/names")" -ge 10 ] || not_ok prometheus.metrics "hardly any names"
cat "$prometheus"/scrape/*.go "$prometheus"/discovery/*.go >"$dir/source"
while read -r name; do
	grep -qF "\"$name\"" "$dir/source" && ok "prometheus.metric.$name" || not_ok "prometheus.metric.$name" "Prometheus has none of that name"
done <"$dir/names"
