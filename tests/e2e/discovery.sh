#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/discovery.sh - targets that servers know: HTTP, DNS, Consul, Docker, Kubernetes
#
# What is found is compared with what Prometheus' own discovery found. Where the server is real and here, HTTP and the DNS, that is
# asked too; the others were recorded once (tests/lib/recorded.py, how: tests/data/discovery/README.md) and answer again.
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

[ -e "$plugins/input_pprof_scrape.so" ] || skip_all "built without pprof_scrape"
command -v python3 >/dev/null || skip_all "python3 is not installed"
servers=
stop_servers() { for pid in $servers; do kill "$pid" 2>/dev/null; done; }
trap 'stop_servers; [ ! -e "$dir/dns/pid" ] || kill "$(cat "$dir/dns/pid")"; daemon_stop; rm -rf "$dir"' EXIT

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
	if wait_for 10 same "$2" "$3"; then ok "$1"; else not_ok "$1" "$(diff "$3" "$dir/found.$2" | head -n 6 | tr '\n' '|')"; fi
}

# as_theirs NAME RUN..: each job of $dir/jobs.json has what Prometheus finds now, by RUN and our program of it
agrees() {
	endpoints
	python3 "$top_srcdir/tests/lib/discovery.py" judge "$dir/targets.json" "$dir/theirs.json" >"$dir/judged" 2>&1 && [ ! -s "$dir/judged" ]
}
as_theirs() {
	[ -x "$dir/discovered" ] || return 0
	name=$1
	shift
	if ! python3 "$top_srcdir/tests/lib/discovery.py" theirs "$* $dir/discovered" "$dir/jobs.json" >"$dir/theirs.json" 2>"$dir/err"; then
		not_ok "$name" "$(tail -n 2 "$dir/err" | tr '\n' '|')"
	elif wait_for 10 agrees; then
		ok "$name"
	else
		not_ok "$name" "$(head -c 1000 "$dir/judged")"
	fi
}
discovered_made discovery.prometheus

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
daemon_begin discovery.starts -c "$dir/prometheus.yml"
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
# counts NAME VALUE: of the job
counts() { get /metrics | grep -qx "decima_sd_$1{instance=\"pprof_scrape\",scrape_job=\"http\"} $2"; }
wait_for 10 counts failed_configs 1 && ok discovery.counts_failed || not_ok discovery.counts_failed "$(get /metrics | grep ^decima_sd_failed)"
printf '[]' >"$dir/www/a.json"
wait_for 20 finds http 0 && ok discovery.http_empty || not_ok discovery.http_empty "$(found http | head -n 3)"
wait_for 10 counts failed_configs 0 && ok discovery.counts_well || not_ok discovery.counts_well "$(get /metrics | grep ^decima_sd_failed)"
counts refresh_failures_total '\([3-9]\|[1-9][0-9]\)' && ok discovery.counts_failures || not_ok discovery.counts_failures "$(get /metrics | grep ^decima_sd_refresh)"
get /api/v1/config >"$dir/effective"
expect discovery.config_shows "url: http://127.0.0.1:$port/a.json" "$dir/effective"
if grep -q 'it-is-secret' "$dir/effective"; then not_ok discovery.masks "the password is shown"; else ok discovery.masks; fi
daemon_stop

# Answers of many kinds, good ones and those that are refused: each as Prometheus takes it.
python3 - "$dir" "$port" <<'END'
import json, sys
folder, port = sys.argv[1:]
answers = {
    "names": '[{"targets": ["a:1"], "labels": {"service.name": "shop", "größe": "XL", "a b": "c", "__meta_x.y": "z"}}]',
    "values": '[{"targets": ["a:1"], "labels": {"text": "two\\nlines \\"quoted\\" \\u00e4", "empty": ""}}]',
    "twice": '[{"targets": ["a:1", "a:1"], "labels": {"k": "v"}}, {"targets": ["a:1"], "labels": {"k": "v"}}]',
    "none": '[]',
    "no_targets": '[{"targets": [], "labels": {"k": "v"}}, {"targets": ["a:1"]}]',
    "no_labels": '[{"targets": ["a:1"], "labels": {}}, {"targets": ["b:1"], "labels": null}]',
    "null_targets": '[{"targets": null}, {"targets": ["a:1"]}]',
    "number": '[{"targets": ["a:1"], "labels": {"k": 1}}]',
    "other_key": '[{"targets": ["a:1"], "label": {"k": "v"}}]',
    "a_map": '{"targets": ["a:1"]}',
    "null_group": '[null, {"targets": ["a:1"]}]',
    "cut": '[{"targets": ["a:1"]}',
    "more": '[{"targets": ["a:1"]}] []',
    "no_port": '[{"targets": ["a", "[::1]:80", "b:80/path"]}]',
}
for name, text in answers.items():
    open("%s/www/%s.json" % (folder, name), "w").write(text)
open(folder + "/www/type.txt", "w").write(answers["twice"])
urls = {name: "http://127.0.0.1:%s/%s.json" % (port, name) for name in [*answers, "absent"]} | {"type": "http://127.0.0.1:%s/type.txt" % port}
json.dump({name: {"http_sd_configs": [{"url": url, "refresh_interval": "1s"}]} for name, url in urls.items()}, open(folder + "/jobs.json", "w"))
END
python3 "$top_srcdir/tests/lib/discovery.py" ours "$dir/jobs.json" >"$dir/jobs.yml"
daemon_begin discovery.http_live_starts -c "$dir/jobs.yml"
as_theirs discovery.http_live
daemon_stop

# ---- DNS: a real server in a network of its own, where it may have port 53 ----
mkdir "$dir/dns"
cat >"$dir/dns/zone" <<'ZONE'
$TTL 60
@ IN SOA ns1 admin 1 3600 600 86400 60
@ IN NS ns1
@ IN NS ns2.elsewhere.test.
@ IN MX 10 mail
@ IN MX 20 mail2.elsewhere.test.
ns1 IN A 127.0.0.1
mail IN A 127.0.0.5
_pprof._tcp IN SRV 0 5 6060 one
_pprof._tcp IN SRV 0 5 6061 two.elsewhere.test.
_off._tcp IN SRV 0 0 0 .
services IN CNAME _pprof._tcp
web IN A 127.0.0.7
web IN A 127.0.0.8
alias IN CNAME web
web IN AAAA ::7
only4 IN A 127.0.0.9
ZONE
i=0
while [ $((i += 1)) -le 250 ]; do echo "many IN A 10.1.2.$i"; done >>"$dir/dns/zone"
sed 's/^web .*//; s/^alias .*//' "$dir/dns/zone" >"$dir/dns/less"
cat >"$dir/dns/nsd.conf" <<CONF
server:
  ip-address: 127.0.0.1
  username: ""
  chroot: ""
  zonesdir: "$dir/dns"
  database: ""
  pidfile: "$dir/dns/pid"
  xfrdfile: "$dir/dns/xfrd"
  zonelistfile: "$dir/dns/zones"
  logfile: "$dir/dns/log"
  zonefiles-check: yes
remote-control:
  control-enable: no
zone:
  name: example.test
  zonefile: zone
CONF
printf 'nameserver 127.0.0.1\nsearch example.test\noptions ndots:2\n' >"$dir/dns/resolv.conf"
cat >"$dir/dns.yml" <<YAML
scrape_configs:
$(for job in "srv:_pprof._tcp.example.test:SRV:0" "a:alias.example.test.:a:81" "aaaa:web.example.test:AAAA:82" "mx:example.test.:MX:83" \
		"ns:example.test.:NS:84" "searched:web:A:85" "none:only4.example.test.:AAAA:86" "nobody:nobody.example.test.:A:87" \
		"many:many.example.test.:A:88" "down:web.nowhere.invalid.:A:89" "several:web.example.test., only4:A:90" \
		"srv_alias:services.example.test:SRV:0" "srv_root:_off._tcp.example.test.:SRV:0" "case:WEB.Example.Test.:A:91" "word:web.example:A:92" "mx_none:only4.example.test.:MX:93"; do
		IFS=: read -r name host type to <<END
$job
END
		echo "  - { job_name: $name, scrape_interval: 1h, profiling_config: $profiles, dns_sd_configs: [ { names: [$host], type: $type, port: $to, refresh_interval: 1s } ] }"
	done)
YAML
dns() {
	command -v nsd >/dev/null && command -v unshare >/dev/null || { skip discovery.dns "nsd and unshare are not installed"; return; }
	unshare -nm true 2>/dev/null || { skip discovery.dns "no network namespace can be made"; return; }
	plain=$decima
	cat >"$dir/decima" <<RUN
#!/bin/sh
exec unshare -nm sh -c 'ip link set lo up && mount --bind "$dir/dns/resolv.conf" /etc/resolv.conf && nsd -c "$dir/dns/nsd.conf" >"$dir/dns/out" 2>&1 && exec "\$@"' sh "$plain" "\$@"
RUN
	chmod +x "$dir/decima"
	decima=$dir/decima
	daemon_start -c "$dir/dns.yml" || { not_ok discovery.dns_starts "$(last_words "$dir/log")"; return; }
	decima=$plain
	# expect_dns JOB LINE...: as Prometheus' discovery has them (tests/programs/discovered), which leaves empty labels out
	expect_dns() {
		job=$1
		shift
		for line; do echo "$line"; done | sort >"$dir/want"
		expect_found "discovery.dns_$job" "$job" "$dir/want"
	}
	expect_dns srv \
		'{"__address__": "one.example.test:6060", "__meta_dns_name": "_pprof._tcp.example.test", "__meta_dns_srv_record_port": "6060", "__meta_dns_srv_record_target": "one.example.test."}' \
		'{"__address__": "two.elsewhere.test:6061", "__meta_dns_name": "_pprof._tcp.example.test", "__meta_dns_srv_record_port": "6061", "__meta_dns_srv_record_target": "two.elsewhere.test."}'
	expect_dns a '{"__address__": "127.0.0.7:81", "__meta_dns_name": "alias.example.test."}' \
		'{"__address__": "127.0.0.8:81", "__meta_dns_name": "alias.example.test."}'
	expect_dns aaaa '{"__address__": "[::7]:82", "__meta_dns_name": "web.example.test"}'
	expect_dns mx '{"__address__": "mail.example.test:83", "__meta_dns_mx_record_target": "mail.example.test.", "__meta_dns_name": "example.test."}' \
		'{"__address__": "mail2.elsewhere.test:83", "__meta_dns_mx_record_target": "mail2.elsewhere.test.", "__meta_dns_name": "example.test."}'
	expect_dns ns '{"__address__": "ns1.example.test:84", "__meta_dns_name": "example.test.", "__meta_dns_ns_record_target": "ns1.example.test."}' \
		'{"__address__": "ns2.elsewhere.test:84", "__meta_dns_name": "example.test.", "__meta_dns_ns_record_target": "ns2.elsewhere.test."}'
	expect_dns searched '{"__address__": "127.0.0.7:85", "__meta_dns_name": "web"}' '{"__address__": "127.0.0.8:85", "__meta_dns_name": "web"}'
	# More than a datagram of 4 KiB holds: by TCP.
	wait_for 20 finds many 250 && ok discovery.dns_many || not_ok discovery.dns_many "$(found many | grep -c .)"
	refused() { grep -qF 'web.nowhere.invalid.: A records cannot be had' "$dir/log"; }
	wait_for 20 refused && ok discovery.dns_refused || not_ok discovery.dns_refused "$(last_words "$dir/log")"
	finds none 0 && finds nobody 0 && ok discovery.dns_none || not_ok discovery.dns_none "$(found none; found nobody)"
	# All of them as Prometheus finds them now, asking the same server.
	python3 - "$dir/dns.yml" >"$dir/jobs.json" <<'END'
import json, re, sys
row = re.compile(r"job_name: (\w+),.* names: \[(.*?)\], type: (\w+), port: (\d+)")
print(json.dumps({job: {"dns_sd_configs": [{"names": names.split(", "), "type": type, "port": int(port), "refresh_interval": "1s"}]}
                  for job, names, type, port in map(lambda l: row.search(l).groups(), filter(row.search, open(sys.argv[1])))}))
END
	[ "$(grep -o dns_sd_configs "$dir/jobs.json" | wc -l)" -ge 14 ] || not_ok discovery.dns_jobs "$(head -c 300 "$dir/jobs.json")"
	as_theirs discovery.dns_live nsenter -t "$daemon" -n -m
	# A record that goes takes its target along; a server that goes takes nothing.
	sed 's/admin 1 /admin 2 /' "$dir/dns/less" >"$dir/dns/zone"
	kill -HUP "$(cat "$dir/dns/pid")"
	wait_for 20 finds a 0 && ok discovery.dns_gone || not_ok discovery.dns_gone "$(found a)"
	kill "$(cat "$dir/dns/pid")"
	wait_for 30 says '_pprof._tcp.example.test: SRV records cannot be had' && ok discovery.dns_down || not_ok discovery.dns_down "$(get /api/v1/pipeline | head -c 300)"
	finds srv 2 && ok discovery.dns_down_keeps || not_ok discovery.dns_down_keeps "$(found srv)"
	daemon_stop
}
dns

# ---- what was recorded of real servers: Kubernetes, Consul, Docker ----
discovery=$top_srcdir/tests/lib/discovery.py
as_there() {
	endpoints
	python3 "$discovery" judge "$dir/targets.json" "$data/$1.want.json" >"$dir/judged" 2>&1 && [ ! -s "$dir/judged" ]
}
# replay NAME [PEM TOKEN]
replay() {
	served=$1
	shift
	finds_again "$served" "$served" replay "$@"
}
# finds_again WANT NAME HOW [ARG]..: recorded.py serves the record so
finds_again() {
	replayed=$1 recorded=$2 how=$3
	shift 3
	python3 "$top_srcdir/tests/lib/recorded.py" "$how" "$data/$recorded.record.json" "$@" >"$dir/replay.$replayed" 2>"$dir/replay.log" &
	servers="$servers $!"
	wait_for 20 test -s "$dir/replay.$replayed"
	at=$(cat "$dir/replay.$replayed")
	python3 "$discovery" ours "$data/$recorded.jobs.json" "@SERVER@=http://$at" "@HOSTPORT@=$at" "@TCP@=tcp://$at" >"$dir/$replayed.yml"
	daemon_start -c "$dir/$replayed.yml" || { not_ok "discovery.${replayed}_starts" "$(last_words "$dir/log")"; return; }
	wait_for 30 as_there "$replayed" && ok "discovery.$replayed" || not_ok "discovery.$replayed" "$(head -c 1000 "$dir/judged")"
	get /api/v1/config >"$dir/effective"
	if [ -s "$dir/replay.log" ]; then not_ok "discovery.${replayed}_asks" "$(head -n 3 "$dir/replay.log")"; else ok "discovery.${replayed}_asks"; fi
	daemon_stop
}
data=$top_srcdir/tests/data/discovery
replay kubernetes
# With what its record has removed in the end: a pod of a CronJob, a service elsewhere.
finds_again kubernetes_begun kubernetes begun
# A list in pages of which the second was not known any more, watches that ended, and one that was refused as too old.
replay kubernetes_pages
replay consul
replay docker

# Lists and watches that go wrong, each in its own way, until the second or third list is whole.
python3 - "$dir" <<'END'
import json, sys
def node(name, version):
    return {"metadata": {"name": name, "resourceVersion": version}, "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}}
def listed(*names, more=""):
    return {"metadata": {"resourceVersion": str(len(names)), "continue": more}, "items": [node(n, "1") for n in names]}
whole = listed("a", "b", "c")
gone = {"type": "ERROR", "object": {"kind": "Status", "code": 410}}
# Of each: lists, further pages, events of the first watch or the status that it is refused with.
faults = {
    "gone": ([listed("a"), whole], [], [{"type": "ADDED", "object": node("b", "2")}, gone]),
    "unreadable": ([listed("a"), whole], [], [{"type": "ADDED"}]),
    "nameless": ([listed("a"), whole], [], [{"type": "ADDED", "object": {"metadata": {}}}]),
    "nameless_gone": ([listed("a"), whole], [], [{"type": "DELETED", "object": {"metadata": {}}}]),
    "refused": ([listed("a"), whole], [], 400),
    "no_items": ([listed("a"), {"metadata": {"resourceVersion": "9"}}, whole], [], [gone]),
    "endless": ([listed("a", more="x"), whole], [listed("a", more="x")], []),
}
record, jobs, want = [], {}, {}
for job, (lists, pages, events) in faults.items():
    path = "/%s/api/v1/nodes?" % job
    watch = path + "watch=1&allowWatchBookmarks=true&timeoutSeconds=480&resourceVersion="
    def asked(path, body, status=200, ended=True):
        record.append({"path": path, "status": status, "headers": {}, "body": body, "ended": ended})
    for body in lists:
        asked(path + "limit=500", json.dumps(body))
    for body in pages:
        asked(path + "limit=500&continue=x", json.dumps(body))
    if isinstance(events, int):
        asked(watch + "1", "no", events)
    else:
        asked(watch + "1", [json.dumps(e) + "\n" for e in events], ended=False)
    asked(watch + "3", [], ended=False)
    jobs[job] = {"kubernetes_sd_configs": [{"role": "node", "api_server": "@SERVER@/" + job}]}
    want[job] = [{"__address__": "10.0.0.1:0", "__meta_kubernetes_node_name": n, "__meta_kubernetes_node_address_InternalIP": "10.0.0.1"} for n in "abc"]
# Of two namespaces, one may not be looked at.
for namespace in "ab":
    path = "/forbidden/api/v1/namespaces/%s/pods?" % namespace
    pod = {"metadata": {"name": "p", "namespace": namespace}, "status": {"podIP": "10.0.0.2"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    asked(path + "limit=500", json.dumps({"metadata": {"resourceVersion": "3"}, "items": [pod]}), 403 if namespace == "b" else 200)
    asked(path + "watch=1&allowWatchBookmarks=true&timeoutSeconds=480&resourceVersion=3", [], ended=False)
jobs["forbidden"] = {"kubernetes_sd_configs": [{"role": "pod", "api_server": "@SERVER@/forbidden", "namespaces": {"names": ["a", "b"]}}]}
pods = {"namespace": "a", "pod_name": "p", "pod_ip": "10.0.0.2", "pod_container_name": "c", "pod_container_image": "i", "pod_container_init": "false", "pod_ready": "unknown"}
want["forbidden"] = [dict({"__address__": "10.0.0.2"}, **{"__meta_kubernetes_" + k: v for k, v in pods.items()})]
for name, made in ("record", record), ("jobs", jobs), ("want", want):
    json.dump(made, open("%s/faults.%s.json" % (sys.argv[1], name), "w"))
END
data=$dir
replay faults

# What Consul answers and real ones do not, or not to everybody. A question is behind an index, or (None) at the beginning.
cat >"$dir/made.py" <<'END'
import json, sys
def instance(id, **more):
    return {"Node": {"Node": "n", "Address": "10.0.0.1"}, "Service": dict({"ID": id, "Service": "s", "Port": 1, "Address": "", "Tags": []}, **more), "Checks": []}
def target(id, service="s", **more):
    labels = {"address": "10.0.0.1", "node": "n", "dc": "d", "service": service, "service_id": id, "service_port": "1", "health": "passing", "tags": ",,"}
    return dict({"__address__": "10.0.0.1:1"}, **{"__meta_consul_" + k: v for k, v in {**labels, **more}.items()})
a, ab, whole = [instance("a")], [instance(i) for i in "ab"], [instance(i) for i in "abc"]
# Of each: what is asked behind which index, and what it answers with which index.
faults = {
    "back": [(None, ab, 50), (50, a, 7), (None, whole, 8)],
    "no_index": [(None, a, 0), (None, a, ""), (None, a, "x"), (None, whole, 5)],
    "same": [(None, whole, 5), (5, [], 5)],
    "unreadable": [(None, "no", 4), (None, whole, 5)],
    "no_list": [(None, {}, 4), (None, whole, 5)],
    "no_node": [(None, [{"Service": {}}], 4), (None, whole, 5)],
    "refused": [(None, 403, 4), (None, whole, 5)],
    "changed_badly": [(None, ab, 4), (4, {}, 6), (4, whole, 6)],
}
record, jobs, want = [], {}, {}
def asked(job, what, index, body, told):
    path = "/%s/v1/%s&stale=%s&wait=120000ms" % (job, what, "&index=%s" % index if index else "")
    record.append({"path": path, "status": body if isinstance(body, int) else 200, "headers": {"x-consul-index": str(told)},
                   "body": body if isinstance(body, str) else json.dumps(body), "ended": True})
def job(name, token="the-token", **options):
    jobs[name] = {"consul_sd_configs": [dict(server="@SERVER@/" + name, datacenter="d", refresh_interval="1s", token=token, **options)]}
for name, steps in faults.items():
    for index, body, told in steps:
        asked(name, "health/service/s?dc=d", index, body, told)
    job(name, services=["s"])
    want[name] = [target(i) for i in "abc"]
# Enterprise's
asked("enterprise", "health/service/s?dc=d&ns=n%201&partition=p", None, [instance("a", Namespace="n 1", Partition="p")], 5)
job("enterprise", services=["s"], namespace="n 1", partition="p")
want["enterprise"] = [target("a", namespace="n 1", partition="p")]
job("token", token="it-is-another", services=["s"])
want["token"] = []
# A service that has lost its tag, and a catalog that is none
asked("untagged", "catalog/services?dc=d", None, [], 4)
asked("untagged", "catalog/services?dc=d", None, {"s": ["x", "blue"], "t": ["blue"], "u": []}, 5)
asked("untagged", "catalog/services?dc=d", 5, {"s": ["blue"], "t": []}, 6)
for s in "st":
    asked("untagged", "health/service/%s?dc=d&tag=blue" % s, None, a, 5)
job("untagged", tags=["blue"])
want["untagged"] = [target("a")]
for name, made in ("record", record), ("jobs", jobs), ("want", want):
    json.dump(made, open("%s/consul_faults.%s.json" % (sys.argv[1], name), "w"))
END
python3 "$dir/made.py" "$dir"
replay consul_faults "" the-token
while IFS=: read -r job sentence; do
	expect "discovery.consul_$job" "job $job: consul_sd: $sentence" "$dir/log"
done <<'END'
no_index:health/service/s: the answer has no X-Consul-Index above 0
unreadable:health/service/s: the answer is not JSON
no_list:health/service/s: the answer is no list of instances
no_node:health/service/s: instance 1 has no Node or no Service
refused:health/service/s: answered with status 403
token:health/service/s: answered with status 401
untagged:catalog/services: the answer is no map of services
END
if grep -q 'the-token\|it-is-another' "$dir/effective"; then not_ok discovery.consul_masks "a token is shown"; else ok discovery.consul_masks; fi

# Every label that Prometheus documents is in what was compared above.
# documented KIND FILES LABELS
documented() {
	missing=
	for label in $3; do
		# shellcheck disable=SC2086
		grep -q "\"__meta_$1_$label\"" $2 || missing="$missing $label"
	done
	if [ -z "$missing" ]; then ok "discovery.$1_labels"; else not_ok "discovery.$1_labels" "in no answer:$missing"; fi
}
recorded=$top_srcdir/tests/data/discovery
documented consul "$recorded/consul.want.json $dir/consul_faults.want.json" "address dc health partition namespace metadata_rack node
	service_address service_id service_metadata_team service_port service tagged_address_lan tags"
documented kubernetes "$recorded/kubernetes.want.json $recorded/kubernetes_begun.want.json" "namespace namespace_label_[a-z].* namespace_annotation_[a-z].*
	namespace_labelpresent_.* namespace_annotationpresent_.* node_name node_provider_id node_label_.* node_labelpresent_.* node_annotation_.*
	node_annotationpresent_.* node_address_.* service_annotation_.* service_annotationpresent_.* service_cluster_ip service_external_name
	service_label_.* service_labelpresent_.* service_loadbalancer_ip service_name service_port_name service_port_number service_port_protocol
	service_type pod_name pod_ip pod_annotation_.* pod_annotationpresent_.* pod_label_.* pod_labelpresent_.* pod_container_init
	pod_container_name pod_container_id pod_container_image pod_container_port_name pod_container_port_number pod_container_port_protocol
	pod_ready pod_phase pod_node_name pod_host_ip pod_uid pod_controller_kind pod_controller_name endpoints_name endpoints_label_.*
	endpoints_labelpresent_.* endpoints_annotation_.* endpoints_annotationpresent_.* endpoint_hostname endpoint_node_name endpoint_ready
	endpoint_port_name endpoint_port_protocol endpoint_address_target_kind endpoint_address_target_name endpointslice_name
	endpointslice_label_.* endpointslice_labelpresent_.* endpointslice_annotation_.* endpointslice_annotationpresent_.*
	endpointslice_address_target_kind endpointslice_address_target_name endpointslice_address_type endpointslice_endpoint_conditions_ready
	endpointslice_endpoint_conditions_serving endpointslice_endpoint_conditions_terminating endpointslice_endpoint_topology_kubernetes_io_hostname
	endpointslice_endpoint_topology_present_kubernetes_io_hostname endpointslice_endpoint_hostname endpointslice_endpoint_node_name
	endpointslice_endpoint_zone endpointslice_port endpointslice_port_name endpointslice_port_protocol endpointslice_port_app_protocol
	ingress_name ingress_label_.* ingress_labelpresent_.* ingress_annotation_.* ingress_annotationpresent_.* ingress_class_name ingress_scheme
	ingress_host ingress_path"
documented docker "$recorded/docker.want.json" "container_id container_image container_image_id container_name container_network_mode
	container_label_tier network_id network_ingress network_internal network_ip network_label_team network_name network_scope
	port_private port_public port_public_ip"

# ---- more services than are asked for at once: they take turns, and one that changes is seen ----
cat >"$dir/many.py" <<'END'
import http.server, json, re, socketserver, sys, threading, time
lock, counts, index = threading.Condition(), {"open": 0, "most": 0}, {"s299": 5}
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *a):
        pass
    def answer(self, body, told):
        text = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("X-Consul-Index", str(told))
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    def do_GET(self):
        name = re.search("service/([^?]*)", self.path)
        if self.path == "/most":
            return self.answer(counts["most"], 0)
        if self.path == "/change":
            with lock:
                index["s299"] = 6
                lock.notify_all()
            return self.answer("changed", 0)
        behind, wait = re.search("index=([0-9]+)", self.path), int(re.search("wait=([0-9]+)ms", self.path)[1]) / 1000
        with lock:
            counts["open"] += bool(name)
            counts["most"] = max(counts["most"], counts["open"])
            if behind:
                lock.wait_for(lambda: str(index.get(name and name[1], 5)) != behind[1], min(wait, 60))
            told = index.get(name and name[1], 5)
            counts["open"] -= bool(name)
        if not name:
            return self.answer({"s%03d" % i: [] for i in range(300)}, 5)
        self.answer([{"Node": {"Node": "n", "Address": "127.0.0.1"}, "Service": {"ID": "%s-%d" % (name[1], i), "Service": name[1], "Port": 9}}
                     for i in range(told - 4)], told)
class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 512
s = Server(("127.0.0.1", 0), Handler)
print(s.server_address[1], flush=True)
s.serve_forever()
END
python3 "$dir/many.py" >"$dir/many.port" 2>"$dir/many.log" &
many=$!
servers="$servers $many"
wait_for 20 test -s "$dir/many.port"
port=$(cat "$dir/many.port")
echo '{"many": {"consul_sd_configs": [{"server": "@HOSTPORT@", "datacenter": "d", "refresh_interval": "1s"}]}}' >"$dir/many.jobs.json"
python3 "$discovery" ours "$dir/many.jobs.json" "@HOSTPORT@=127.0.0.1:$port" >"$dir/many.yml"
threads() { ls "/proc/$daemon/task" | wc -l; }
if daemon_start -c "$dir/many.yml"; then
	wait_for 30 finds many 300 && ok discovery.consul_many || not_ok discovery.consul_many "$(found many | grep -c .) of 300"
	[ "$(threads)" -lt 100 ] && ok discovery.consul_many_threads || not_ok discovery.consul_many_threads "$(threads) threads"
	curl -s "http://127.0.0.1:$port/change" >"$dir/changed"
	wait_for 20 finds many 301 && ok discovery.consul_many_change || not_ok discovery.consul_many_change "$(found many | grep -c .) of 301"
	most=$(curl -s "http://127.0.0.1:$port/most")
	[ "$most" -gt 100 ] && [ "$most" -le 128 ] && ok discovery.consul_many_turns || not_ok discovery.consul_many_turns "$most at once"
	# Consul that goes takes nothing along, and of 128 questions that fail not each is told.
	kill "$many"
	wait_for 30 says 'many: consul_sd: ' && ok discovery.consul_down || not_ok discovery.consul_down "$(get /api/v1/pipeline | head -c 300)"
	sleep 3
	finds many 301 && ok discovery.consul_down_keeps || not_ok discovery.consul_down_keeps "$(found many | grep -c .) of 301"
	told=$(grep -c 'many: consul_sd: .*its targets stay' "$dir/log")
	[ "$told" -ge 1 ] && [ "$told" -le 4 ] && ok discovery.consul_down_told || not_ok discovery.consul_down_told "$told sentences"
	daemon_stop
else
	not_ok discovery.consul_many_starts "$(last_words "$dir/log")"
fi

# ---- a Docker daemon on a socket: of another version, with answers that are none, not there ----
python3 - "$dir" <<'END'
import json, sys
d = sys.argv[1]
def container(name, **more):
    return dict({"Id": name, "Names": ["/" + name], "HostConfig": {"NetworkMode": "b"}, "Ports": [{"PrivatePort": 1, "Type": "tcp"}],
                 "NetworkSettings": {"Networks": {"b": {"NetworkID": "x", "IPAddress": "10.0.0.1"}}}}, **more)
whole = [container("a"), container("b"), {"Id": "removed", "Names": []}, container("c", HostConfig={"NetworkMode": "container:d"}, NetworkSettings={}, Ports=[]),
         container("d", HostConfig={"NetworkMode": "container:c"}, NetworkSettings={"Networks": None})]
nets = [{"Id": "x", "Name": "b", "Scope": "swarm", "Internal": False, "Ingress": True, "Labels": None}]
version = {"ApiVersion": "1.41", "MinAPIVersion": "1.12"}
# Of each: the versions' answers, which version is asked then, and the lists.
made = {
    "newer": ([{"ApiVersion": "1.60", "MinAPIVersion": "1.24"}], "v1.44", [whole], [nets]),
    "newest": ([{"ApiVersion": "1.60", "MinAPIVersion": "1.52"}], "v1.52", [whole], [nets]),
    "no_version": ([{}, {"ApiVersion": "2.1"}, version], "v1.41", [whole], [nets]),
    "no_containers": ([version], "v1.41", [{}, whole], [nets]),
    "no_networks": ([version], "v1.41", [whole], [{}, nets]),
    "unreadable": ([version], "v1.41", ["no", whole], [nets]),
    "bad_port": ([version], "v1.41", [[container("a", Ports=[{"PrivatePort": 70000, "Type": "tcp"}])], whole], [nets]),
}
record, jobs, want = [], {}, {}
for job, (versions, asked, lists, networks) in made.items():
    for path, bodies in ("version", versions), (asked + "/containers/json", lists), (asked + "/networks", networks):
        for body in bodies:
            record.append({"path": "/%s/%s" % (job, path), "status": 200, "headers": {}, "body": body if body == "no" else json.dumps(body), "ended": True})
    jobs[job] = {"docker_sd_configs": [{"host": "@TCP@/" + job, "refresh_interval": "1s"}]}
    want[job] = [dict({"__address__": "10.0.0.1:1"}, **{"__meta_docker_" + k: v for k, v in {
        "container_id": n, "container_name": "/" + n, "container_network_mode": "b", "network_id": "x", "network_name": "b", "network_scope": "swarm",
        "network_internal": "false", "network_ingress": "true", "network_ip": "10.0.0.1", "port_private": "1"}.items()}) for n in "ab"]
for name, all in ("record", record), ("jobs", jobs), ("want", want):
    json.dump(all, open("%s/docker_faults.%s.json" % (d, name), "w"))
json.dump([dict(e, path=e["path"].removeprefix("/newer")) for e in record if e["path"].startswith("/newer/")], open(d + "/socket.record.json", "w"))
END
replay docker_faults
while IFS=: read -r job sentence; do
	expect "discovery.docker_$job" "$sentence" "$dir/log"
done <<'END'
no_version:/no_version/version: the answer has no ApiVersion 1.N
no_containers:/no_containers/networks: the answer is no list of containers
no_networks:/no_networks/networks: the answer is no list of networks
unreadable:/unreadable/containers/json: the answer is not JSON
bad_port:a port of container a is not a number of 0 to 65535
END
cat >"$dir/socket.yml" <<YAML
scrape_configs:
  - job_name: socket
    scrape_interval: 1h
    profiling_config: $profiles
    docker_sd_configs: [ { host: "unix://$dir/docker.sock", refresh_interval: 1s, basic_auth: { username: u, password: p } } ]
    relabel_configs: [ { action: labelmap, regex: "__(meta_docker_container_name)" }, { target_label: __address__, replacement: "127.0.0.1:9" } ]
YAML
if daemon_start -c "$dir/socket.yml"; then
	wait_for 20 says "docker_sd: unix:$dir/docker.sock:/version: " && ok discovery.docker_no_socket || not_ok discovery.docker_no_socket "$(tail -n 1 "$dir/log")"
	python3 "$top_srcdir/tests/lib/recorded.py" replay "$dir/socket.record.json" "unix:$dir/docker.sock" >"$dir/replay.socket" 2>&1 &
	socket=$!
	servers="$servers $socket"
	wait_for 20 finds socket 2 && ok discovery.docker_socket || not_ok discovery.docker_socket "$(tail -n 1 "$dir/log")"
	kill "$socket"
	wait_for 20 says 'docker_sd: unix:' && finds socket 2 && ok discovery.docker_down_keeps || not_ok discovery.docker_down_keeps "$(found socket)"
	daemon_stop
else
	not_ok discovery.docker_socket_starts "$(last_words "$dir/log")"
fi

# ---- a kubeconfig: where, whom to trust and as whom, by text and by files beside it ----
if ! openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 \
	-keyout "$dir/server.key" -out "$dir/server.crt" 2>"$dir/openssl.log"; then
	skip discovery.kubeconfig "openssl makes no certificate: $(tail -n 1 "$dir/openssl.log")"
	exit 0
fi
cat "$dir/server.crt" "$dir/server.key" >"$dir/server.pem"
printf the-token >"$dir/token"
python3 - "$dir" <<'END'
import json, sys
items = [{"metadata": {"name": n}, "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}} for n in "ab"]
json.dump([
    {"path": "/api/v1/nodes?limit=500", "status": 200, "headers": {}, "body": json.dumps({"metadata": {"resourceVersion": "1"}, "items": items}), "ended": True},
    {"path": "/api/v1/nodes?watch=1&allowWatchBookmarks=true&timeoutSeconds=480&resourceVersion=1", "status": 200, "headers": {}, "body": [], "ended": False},
], open(sys.argv[1] + "/tls.record.json", "w"))
END
python3 "$top_srcdir/tests/lib/recorded.py" replay "$dir/tls.record.json" "$dir/server.pem" the-token >"$dir/replay.tls" 2>"$dir/tls.log" &
servers="$servers $!"
wait_for 20 test -s "$dir/replay.tls"
# kubeconfig NAME CLUSTER USER: a file, and a job for it
kubeconfig() {
	cat >"$dir/$1.kubeconfig" <<-YAML
		apiVersion: v1
		kind: Config
		current-context: here
		contexts: [ { name: there, context: { cluster: none, user: nobody } }, { name: here, context: { cluster: c, user: u } } ]
		clusters: [ { name: c, cluster: { server: "https://$(cat "$dir/replay.tls")/", $2 } } ]
		users: [ { name: u, user: { $3 } } ]
	YAML
	cat >>"$dir/kubeconfigs.yml" <<-YAML
		  - job_name: $1
		    scrape_interval: 1h
		    proxy_url: http://127.0.0.1:1
		    profiling_config: $profiles
		    kubernetes_sd_configs: [ { role: node, kubeconfig_file: $1.kubeconfig } ]
		    relabel_configs: [ { action: labelmap, regex: "__(meta_kubernetes_node_name)" } ]
	YAML
}
echo 'scrape_configs:' >"$dir/kubeconfigs.yml"
kubeconfig by_text "certificate-authority-data: $(base64 -w 0 "$dir/server.crt")" 'token: the-token'
kubeconfig by_file 'certificate-authority: server.crt' 'tokenFile: token'
kubeconfig insecure 'insecure-skip-tls-verify: true' 'token: the-token'
kubeconfig wrong_token 'certificate-authority: server.crt' 'token: another'
kubeconfig nobody_trusted '' 'token: the-token'
kubeconfig bad_text 'certificate-authority-data: "not?base64"' 'token: the-token'
kubeconfig by_program '' 'exec: { command: aws }'
if daemon_start -c "$dir/kubeconfigs.yml"; then
	for job in by_text by_file insecure; do
		if wait_for 20 finds $job 2; then ok discovery.kubeconfig_$job; else not_ok discovery.kubeconfig_$job "$(grep $job "$dir/log" | tail -n 1)"; fi
	done
	told() { grep -q "job $1: kubernetes_sd: nodes" "$dir/log"; }
	wait_for 20 told wrong_token
	wait_for 20 told nobody_trusted
	expect discovery.kubeconfig_wrong_token 'job wrong_token: kubernetes_sd: nodes: answered with status 401' "$dir/log"
	expect discovery.kubeconfig_nobody_trusted "the server's certificate is not trusted" "$dir/log"
	expect discovery.kubeconfig_bad_text 'bad_text.kubeconfig: certificate-authority-data is not base64' "$dir/log"
	expect discovery.kubeconfig_by_program 'by_program.kubeconfig: its user is known by a program (exec, auth-provider), which is not run' "$dir/log"
	daemon_stop
else
	not_ok discovery.kubeconfig_starts "$(last_words "$dir/log")"
fi
