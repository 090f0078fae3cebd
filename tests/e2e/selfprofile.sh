#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/selfprofile.sh - the daemon's own CPU profile: by go tool pprof, by scraping itself, as an ordinary user
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

[ -e "$plugins/input_pprof_scrape.so" ] || skip_all "built without pprof_scrape"
chmod 755 "$dir"

# A free port, for a target has to be written down before the daemon starts.
port=$(free_port)
url=http://127.0.0.1:$port
# The Go service of that file is one here, at another port, where there is Go to build it.
service='' go_port=6060
if command -v go >/dev/null && (cd "$top_srcdir/tests/programs/scraped" && GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local \
	GOCACHE=${GOCACHE:-$dir/cache} GOPATH=$dir/gopath go build -o "$dir/scraped" .) >"$dir/err" 2>&1; then
	"$dir/scraped" >"$dir/service" 2>"$dir/service.err" &
	service=$!
	wait_for 20 test -s "$dir/service"
	go_port=$(sed 's/.*://' "$dir/service")
elif command -v go >/dev/null; then
	not_ok selfprofile.service "$(head -n 3 "$dir/err" | tr '\n' '|')"
fi
sed "s/127.0.0.1:7070/127.0.0.1:$port/; s/127.0.0.1:6060/127.0.0.1:$go_port/" "$top_srcdir/conf/scraper.yaml" >"$dir/scraper.yaml"

# The daemon as nobody, where there is somebody else to be.
mkdir "$dir/data" && chmod 777 "$dir/data"
real=$decima
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	# Copies: where it is installed may be nobody's business.
	cp "$real" "$dir/decima" && cp -r "$plugins" "$dir/plugins" && chmod -R go+rX "$dir/plugins"
	printf '#!/bin/sh\nexec setpriv --reuid 65534 --regid 65534 --clear-groups "%s" "$@"\n' "$dir/decima" >"$dir/nobody"
	chmod 755 "$dir/nobody"
	decima=$dir/nobody
	plugins=$dir/plugins
fi
daemon_begin selfprofile.starts -c "$dir/scraper.yaml" --listen "127.0.0.1:$port" --set inputs.pprof_scrape.scrape_interval=3s
decima=$real
if [ "$(ps -o uid= -p "$daemon" | tr -d ' ')" != 0 ]; then ok selfprofile.as_a_user; else skip selfprofile.as_a_user "nobody else can run it here"; fi

# Something to see: questions, until the end.
busy() {
	while curl -s "$url/metrics" "$url/api/v1/targets" "$url/api/v1/pipeline" >/dev/null; do sleep 0.05; done
}
busy &
load=$!
trap 'kill "$load" $service 2>/dev/null; daemon_stop; rm -rf "$dir"' EXIT

curl -s "$url/debug/pprof/" >"$dir/index"
expect selfprofile.index "href='profile?debug=1'" "$dir/index"
# A recording holds what had the CPU, on a busy machine little of the daemon: in one of five there is enough of it.
has_callers() {
	curl -s -o "$dir/cpu.pb.gz" -w '%{http_code} %{content_type}\n' "$url/debug/pprof/profile?seconds=3" >"$dir/said"
	command -v go >/dev/null || return 0
	go tool pprof -symbolize=none -traces "$dir/cpu.pb.gz" >"$dir/traces" 2>"$dir/err"
	reads=$?
	grep -q http_routes__dispatch "$dir/traces" && grep -q on_request "$dir/traces"
}
PPROF_TMPDIR=$dir GOTOOLCHAIN=local HOME=$dir
export PPROF_TMPDIR GOTOOLCHAIN HOME
for _ in 1 2 3 4 5; do
	if has_callers; then break; fi
done
expect selfprofile.answers '200 application/octet-stream' "$dir/said"
curl -sI --max-time 2 "$url/debug/pprof/profile?seconds=20" >"$dir/head"
expect selfprofile.head_waits_for_nothing 'HTTP/1.1 200' "$dir/head"
for wrong in 0 -1 x 100000; do
	curl -s -o "$dir/wrong" -w '%{http_code}' "$url/debug/pprof/profile?seconds=$wrong" >"$dir/code"
	expect "selfprofile.refuses_$wrong" 400 "$dir/code"
done
expect selfprofile.says_what_may_be 'write 1 to ' "$dir/wrong"

# ---- what others read of it ----
if command -v go >/dev/null; then
	expect_status selfprofile.pprof_reads_it 0 "$reads"
	expect selfprofile.duration 'Duration: 3s' "$dir/traces"
	expect selfprofile.threads_have_names 'MHD-single' "$dir/traces"
	expect selfprofile.callers 'http_routes__dispatch' "$dir/traces"
	expect selfprofile.leaves 'on_request' "$dir/traces"
	go tool pprof -symbolize=none -top "$url/debug/pprof/profile?seconds=1" >"$dir/top" 2>"$dir/err"
	expect_status selfprofile.pprof_asks_for_it 0 $?
else
	skip selfprofile.pprof_reads_it "go is not installed; apt-get install golang-go"
fi

# ---- itself, scraped ----
at_port() { "$decima" "$@" --url "$url"; }
up() { at_port targets >"$dir/targets" 2>&1 && grep 'process_cpu' "$dir/targets" | grep -q ' up '; }
wait_for 30 up && ok selfprofile.scrapes_itself || not_ok selfprofile.scrapes_itself "$(grep process_cpu "$dir/targets")"
# Before they are found, nobody says that there are none.
grep 'no target was found' "$dir/log" >"$dir/said" && not_ok selfprofile.targets_are_found "$(cat "$dir/said")" || ok selfprofile.targets_are_found
others_off() { at_port targets >"$dir/targets" 2>&1 && [ "$(grep '^decima ' "$dir/targets" | grep -c ' off ')" = 4 ]; }
wait_for 30 others_off && ok selfprofile.has_no_other || not_ok selfprofile.has_no_other "$(grep '^decima ' "$dir/targets" | tr '\n' '|')"
live() { at_port query stacks "$cpu{job=\"decima\"}" --focus http_routes__dispatch >"$dir/live" 2>&1 && grep -q 'http_routes__dispatch' "$dir/live"; }
wait_for 30 live && ok selfprofile.is_live || not_ok selfprofile.is_live "$(head -n 5 "$dir/live" | tr '\n' '|')"
at_port query stacks --group-by thread_name "$cpu{job=\"decima\"}" >"$dir/stacks" 2>&1
expect selfprofile.by_thread 'thread_name=MHD-single' "$dir/stacks"

# ---- a Go service, by conf/scraper.yaml as it is ----
if [ -n "$service" ]; then
	for type in memory:alloc_space:bytes:space:bytes:delta memory:inuse_space:bytes:space:bytes goroutine:goroutine:count:goroutine:count \
		process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta mutex:contentions:count:contentions:count:delta block:delay:nanoseconds:contentions:count:delta; do
		has_type() { curl -s "http://$(cat "$dir/service")/contend" "http://$(cat "$dir/service")/allocate?n=3" >/dev/null; at_port query stacks "$type{job=\"go\"}" 2>/dev/null | grep -q 'main\.'; }
		wait_for 40 has_type && ok "selfprofile.go.$type" || not_ok "selfprofile.go.$type" "$(at_port targets | grep '^go ' | tr '\n' '|')"
	done
else
	skip selfprofile.go "go is not installed; apt-get install golang-go"
fi

# Two at once, and a third behind them.
began=$(date +%s)
curl -s -o "$dir/a" "$url/debug/pprof/profile?seconds=4" & a=$!
curl -s -o "$dir/b" "$url/debug/pprof/profile?seconds=4" & b=$!
curl -s -m 2 "$url/metrics" >"$dir/metrics"
expect selfprofile.questions_go_on decima_ "$dir/metrics"
wait "$a"; expect_status selfprofile.first 0 $?
wait "$b"; expect_status selfprofile.second 0 $?
[ $(($(date +%s) - began)) -le 15 ] && ok selfprofile.beside_each_other || not_ok selfprofile.beside_each_other "$(($(date +%s) - began)) s"

# A stop does not wait for a recording.
curl -s -o "$dir/cut" "$url/debug/pprof/profile?seconds=40" & cut=$!
sleep 0.3
kill "$load" 2>/dev/null
began=$(date +%s%N)
daemon_stop
expect_status selfprofile.stops 0 "$daemon_status"
took=$((($(date +%s%N) - began) / 1000000))
[ "$took" -lt 1900 ] && ok selfprofile.stops_at_once || not_ok selfprofile.stops_at_once "$took ms"
wait "$cut"

# ---- who may ---- (with a token: nobody else)
if daemon_start -c "$dir/scraper.yaml" --listen "127.0.0.1:$port" --set 'server.tokens=[{token: 0123456789abcdef0123, role: read}]'; then
	curl -s -o /dev/null -w '%{http_code}' "$url/debug/pprof/profile?seconds=1" >"$dir/code"
	expect selfprofile.needs_a_role 401 "$dir/code"
	curl -s -o /dev/null -w '%{http_code}' "$url/debug/pprof/" >"$dir/code"
	expect selfprofile.index_needs_one 401 "$dir/code"
	curl -s -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer 0123456789abcdef0123' "$url/debug/pprof/profile?seconds=1" >"$dir/code"
	expect selfprofile.with_the_role 200 "$dir/code"
	daemon_stop
else
	not_ok selfprofile.starts_with_tokens "$(last_words "$dir/log")"
fi
