#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/scrape_hostile.sh - targets that mean harm, or want to know who asks: each has its sentence, and harms nobody else
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

[ -e "$plugins/input_pprof_scrape.so" ] || skip_all "built without pprof_scrape"
command -v python3 >/dev/null || skip_all "python3 is not installed"
command -v openssl >/dev/null || skip_all "openssl is not installed"
certificates_made scrape_hostile ca server 127.0.0.1
certificates_made scrape_hostile ca client scraper
mv "$dir/ca/server.pem" "$dir/ca/good.pem" && mv "$dir/ca/server.key" "$dir/ca/good.key"
DAYS=-1 certificates_made scrape_hostile ca server 127.0.0.1
DAYS=-1 certificates_made scrape_hostile ca client late
certificates_made scrape_hostile other client stranger
python3 "$top_srcdir/tests/lib/hostile_pprof.py" "$dir/ca/good.pem" "$dir/ca/good.key" "$dir/ca/ca.pem" \
	"$dir/ca/server.pem" "$dir/ca/server.key" >"$dir/servers" 2>"$dir/servers.err" &
server=$!
trap 'kill "$server" 2>/dev/null; daemon_stop; rm -rf "$dir"' EXIT
wait_for 20 test -s "$dir/servers"
read -r plain secure expired <"$dir/servers"
printf secret-token >"$dir/token"
printf secret-word >"$dir/password"
printf secret-header >"$dir/header"
printf user >"$dir/user"

# job NAME ADDRESS PATH [LINE]..: one target; the lines are of the job
job() {
	cat <<-YAML
		  - job_name: $1
		    profiling_config:
		      pprof_config:
		        memory: { path: $3 }
		        block: { enabled: false }
		        mutex: { enabled: false }
		        goroutine: { enabled: false }
		        process_cpu: { enabled: false }
		    static_configs: [ { targets: ["$2"] } ]
	YAML
	shift 3
	for line; do echo "    $line"; done
}
own="tls_config: { ca_file: $dir/ca/ca.pem }"
tls='scheme: https'
{
	printf 'global: { scrape_interval: 2s, scrape_timeout: 2s, body_size_limit: 1MiB }\nscrape_configs:\n'
	job good "$plain" /good
	for what in hanging slow endless endless_500 truncated huge bomb bomb_inside html empty cut_gzip broken loop garbage headers absent; do
		job "$what" "$plain" "/$what"
	done
	for status in 301 302 303 307 308; do job "moved_$status" "$plain" "/moved_$status" "$own"; done
	job moved_stays "$plain" /moved_301 "$own" 'follow_redirects: false'
	job moved_untrusted "$plain" /moved_301
	# Who asks, right and wrong.
	job tls "$secure" /good "$tls" "$own"
	job tls_stranger "$secure" /good "$tls"
	job tls_expired "$expired" /good "$tls" "$own"
	job tls_name "$secure" /good "$tls" "tls_config: { ca_file: $dir/ca/ca.pem, server_name: elsewhere }"
	job tls_anyone "$secure" /good "$tls" 'tls_config: { insecure_skip_verify: true }'
	job basic "$secure" /basic "$tls" "$own" "basic_auth: { username: user, password: secret-word }"
	job basic_files "$secure" /basic "$tls" "$own" "basic_auth: { username_file: $dir/user, password_file: $dir/password }"
	job basic_wrong "$secure" /basic "$tls" "$own" "basic_auth: { username: user, password: guessed }"
	job bearer "$secure" /bearer "$tls" "$own" "authorization: { credentials: secret-token }"
	job bearer_file "$secure" /bearer "$tls" "$own" "authorization: { credentials_file: $dir/token }"
	job bearer_wrong "$secure" /bearer "$tls" "$own"
	job bearer_no_file "$secure" /bearer "$tls" "$own" "authorization: { credentials_file: $dir/absent }"
	job bearer_token "$secure" /bearer "$tls" "$own" "bearer_token: secret-token"
	job bearer_token_file "$secure" /bearer "$tls" "$own" "bearer_token_file: $dir/token"
	job own_type "$secure" /own_type "$tls" "$own" "authorization: { type: Token, credentials: secret-token }"
	job oauth2 "$secure" /oauth2 "$tls" "$own" \
		"oauth2: { client_id: us, client_secret: secret-client, token_url: 'https://$secure/token', tls_config: { ca_file: $dir/ca/ca.pem } }"
	job oauth2_wrong "$secure" /oauth2 "$tls" "$own" \
		"oauth2: { client_id: us, client_secret: guessed, token_url: 'https://$secure/token', tls_config: { ca_file: $dir/ca/ca.pem } }"
	job proxy elsewhere.invalid:80 /good "proxy_url: 'http://$plain'"
	job header_file "$secure" /header "$tls" "$own" "http_headers: { X-Scrape-Token: { files: [ $dir/header ] } }"
	job header "$secure" /header "$tls" "$own" "http_headers: { X-Scrape-Token: { secrets: [ secret-header ] } }"
	job mutual "$secure" /mutual "$tls" "tls_config: { ca_file: $dir/ca/ca.pem, cert_file: $dir/ca/scraper.pem, key_file: $dir/ca/scraper.key }"
	job mutual_without "$secure" /mutual "$tls" "$own"
	job mutual_expired "$secure" /mutual "$tls" "tls_config: { ca_file: $dir/ca/ca.pem, cert_file: $dir/ca/late.pem, key_file: $dir/ca/late.key }"
	job mutual_stranger "$secure" /mutual "$tls" "tls_config: { ca_file: $dir/ca/ca.pem, cert_file: $dir/other/stranger.pem, key_file: $dir/other/stranger.key }"
} >"$dir/scrape.yaml"
daemon_begin scrape_hostile.starts -c "$dir/scrape.yaml"

# said JOB HEALTH SENTENCE
said() {
	get /api/v1/targets >"$dir/targets.json"
	python3 - "$dir/targets.json" "$@" >"$dir/said" 2>&1 <<'END'
import json, sys
e = next(e for e in json.load(open(sys.argv[1]))["endpoints"] if e["job"] == sys.argv[2])
print(e["health"], e["error"])
sys.exit(e["health"] != sys.argv[3] or sys.argv[4] not in (e["error"] or ""))
END
}
expect_said() { if wait_for 20 said "$@"; then ok "scrape_hostile.$1"; else not_ok "scrape_hostile.$1" "$(cat "$dir/said"), not $2 $3"; fi; }
expect_said good up ''
expect_said hanging down 'no whole answer within 2s'
expect_said slow down 'no whole answer within 2s'
expect_said endless down 'larger than 1048576 bytes'
expect_said endless_500 down 'larger than 1048576 bytes'
expect_said truncated down 'closed'
expect_said huge down 'larger than 1048576 bytes'
expect_said bomb down 'larger than 1048576 bytes'
expect_said bomb_inside down 'more than the 1048576 bytes'
expect_said html down '(it is said to be text/html)'
expect_said empty down 'pprof'
expect_said cut_gzip down 'damaged or cut off'
expect_said broken down 'status 503: the disk is full; what does its log say?'
expect_said loop down 'redirect'
expect_said garbage down 'not HTTP'
expect_said headers down 'more headers than'
expect_said absent down 'status 404; is the path right?'
for status in 301 302 303 307 308; do expect_said "moved_$status" up ''; done
expect_said moved_stays down 'status 301'
expect_said moved_untrusted down 'certificate'
for job in tls tls_anyone basic basic_files bearer bearer_file bearer_token bearer_token_file own_type oauth2 proxy header header_file mutual; do expect_said "$job" up ''; done
expect_said tls_stranger down 'certificate'
expect_said tls_expired down 'certificate has expired; renew it there'
expect_said tls_name down 'is it the right server?'
expect_said basic_wrong down 'status 401: who are you?; give the job credentials'
expect_said bearer_wrong down 'status 401'
expect_said oauth2_wrong down '401'
expect_said bearer_no_file down "$dir/absent"
expect_said mutual_without down 'status 401'
expect_said mutual_expired down 'certificate'
expect_said mutual_stranger down 'certificate'

# The good one is asked as if it were alone, and memory is what the limits say.
asked() { curl -s "http://$plain/asked" | awk '$1 == "/good" { print $2 }'; }
before=$(asked)
sleep 10
after=$(asked)
# A dozen jobs ask for it, some by way of others, every two seconds, and none of them waits for those that hang.
[ $((after - before)) -ge 20 ] && ok scrape_hostile.good_goes_on || not_ok scrape_hostile.good_goes_on "$((after - before)) times in ten seconds"
rss=$(awk '/^RssAnon/ { print $2 }' "/proc/$daemon/status")
[ "$rss" -lt 150000 ] && ok scrape_hostile.memory || not_ok scrape_hostile.memory "$rss kB"
get /metrics >"$dir/metrics"
for reason in timeout connection status format limit; do
	awk -v m="reason=\"$reason\"" '/^decima_scrape_failures_total/ && index($0, m) && $2 > 0 { n = 1 } END { exit !n }' "$dir/metrics" &&
		ok "scrape_hostile.counted_$reason" || not_ok "scrape_hostile.counted_$reason" "$(grep scrape_failures "$dir/metrics" | tr '\n' '|')"
done
# Nobody reads a secret: not in the configuration that is shown, not in sentences, not in the log.
get /api/v1/config >"$dir/shown"
[ -s "$dir/shown" ] || not_ok scrape_hostile.config "nothing is shown"
if grep -lE 'secret-(word|token|header|client|given)|guessed' "$dir/shown" "$dir/targets.json" "$dir/log" >"$dir/leaks"; then
	not_ok scrape_hostile.secrets "$(tr '\n' ' ' <"$dir/leaks")"
else
	ok scrape_hostile.secrets
fi
daemon_stop
expect_status scrape_hostile.stops 0 "$daemon_status"

# ---- servers of the DNS that say nothing: who has an address is asked all the same ----
if [ "$(id -u)" = 0 ] && unshare -nm setpriv --pdeathsig KILL ip link set lo up 2>/dev/null; then
	echo 'nameserver 127.0.0.1' >"$dir/resolv.conf"
	cat >"$dir/mute.py" <<-'END'
		import http.server, socket
		names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		names.bind(("127.0.0.1", 53))
		http.server.HTTPServer(("127.0.0.1", 8080), http.server.SimpleHTTPRequestHandler).serve_forever()
	END
	cat >"$dir/alone" <<-END
		#!/bin/sh
		exec unshare -nm sh -c 'ip link set lo up && mount --bind "$dir/resolv.conf" /etc/resolv.conf && { setpriv --pdeathsig KILL python3 "$dir/mute.py" 2>"$dir/mute.err" & exec "$decima" "\$@"; }' sh "\$@"
	END
	chmod 755 "$dir/alone"
	{
		printf 'global: { scrape_interval: 2s, scrape_timeout: 2s }\nscrape_configs:\n'
		job named some.example.org:80 /good
		job numbered 127.0.0.1:8080 /absent
	} >"$dir/scrape.yaml"
	plain_decima=$decima decima=$dir/alone
	daemon_begin scrape_hostile.mute_dns_starts -c "$dir/scrape.yaml"
	decima=$plain_decima
	expect_said named down 'its name is still being looked up; do the servers of the DNS answer?'
	expect_said numbered down 'status 404'
	daemon_stop
else
	skip scrape_hostile.named "needs root, and a network namespace"
fi

# ---- room: who sends much and never ends has what others do not need ----
# Eight of them would have more than all room there is, without a limit of their own.
{
	printf 'global: { scrape_interval: 6s, scrape_timeout: 5s }\nscrape_configs:\n'
	for i in 1 2 3 4 5 6 7 8; do job "heavy$i" "$plain" /heavy; done
	job good "$plain" /good 'scrape_interval: 500ms' 'scrape_timeout: 500ms'
} >"$dir/scrape.yaml"
daemon_begin scrape_hostile.room_starts -c "$dir/scrape.yaml"
no_room() {
	get /metrics >"$dir/metrics"
	awk '/^decima_scrape_failures_total/ && /reason="memory"/ && $2 > 0 { n = 1 } END { exit !n }' "$dir/metrics"
}
wait_for 30 no_room && ok scrape_hostile.counted_memory || not_ok scrape_hostile.counted_memory "$(grep scrape_failures "$dir/metrics" | tr '\n' '|')"
says_so() { for i in 1 2 3 4 5 6 7 8; do said "heavy$i" down 'no room for the answer' && return; done; return 1; }
wait_for 20 says_so && ok scrape_hostile.no_room_says || not_ok scrape_hostile.no_room_says "$(cat "$dir/said")"
get /metrics >"$dir/metrics"
failed=$(awk '/^decima_scrape_failures_total/ && /scrape_job="good"/ && /reason="memory"/ { n += $2 } END { print n + 0 }' "$dir/metrics")
expect_said good up ''
[ "$failed" -eq 0 ] && ok scrape_hostile.room_for_others || not_ok scrape_hostile.room_for_others "the good one had no room $failed times"
daemon_stop
expect_status scrape_hostile.room_stops 0 "$daemon_status"
