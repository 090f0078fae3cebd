#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/discovery_tls.sh - servers of discovery behind TLS: whom we trust, who lets us in, and who we are in a pod
#
# What they answer is made here, three servers' TLS is real (tests/lib/recorded.py): one with a good certificate, one whose
# certificate has expired, and one that wants ours. HTTP, Consul, Docker and Kubernetes are asked at each.
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

[ -e "$plugins/input_pprof_scrape.so" ] || skip_all "built without pprof_scrape"
for tool in python3 openssl; do command -v $tool >/dev/null || skip_all "$tool is not installed"; done
servers=""
trap 'for pid in $servers; do kill "$pid" 2>/dev/null; done; daemon_stop; rm -rf "$dir"' EXIT

# The first one has expired.
DAYS=-1
export DAYS
certificates_made discovery_tls tls server localhost 127.0.0.1
unset DAYS
cat "$dir/tls/server.pem" "$dir/tls/server.key" >"$dir/late.serving"
certificates_made discovery_tls tls server localhost 127.0.0.1
certificates_made discovery_tls tls client scraper
certificates_made discovery_tls other client stranger
cat "$dir/tls/server.pem" "$dir/tls/server.key" >"$dir/good.serving"
cp "$dir/good.serving" "$dir/closed.serving"

python3 - "$dir" <<'END'
import json, sys
def asked(path, body, **headers):
    return {"path": path, "status": 200, "headers": headers, "body": body if isinstance(body, list) and not body else json.dumps(body), "ended": body != []}
container = {"Id": "c", "Names": ["/c"], "HostConfig": {"NetworkMode": "b"}, "Ports": [{"PrivatePort": 1, "Type": "tcp"}],
             "NetworkSettings": {"Networks": {"b": {"NetworkID": "x", "IPAddress": "10.0.0.1"}}}}
node = {"metadata": {"name": "n"}, "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}}
instance = {"Node": {"Node": "n", "Address": "10.0.0.1"}, "Service": {"ID": "s", "Service": "s", "Port": 1}, "Checks": []}
json.dump([
    asked("/targets", [{"targets": ["10.0.0.1:1"]}], **{"content-type": "application/json"}),
    asked("/v1/health/service/s?dc=d&stale=&wait=120000ms", [instance], **{"x-consul-index": "5"}),
    asked("/version", {"ApiVersion": "1.41", "MinAPIVersion": "1.12"}),
    asked("/v1.41/containers/json", [container]), asked("/v1.41/networks", [{"Id": "x", "Name": "b"}]),
    asked("/api/v1/nodes?limit=500", {"metadata": {"resourceVersion": "1"}, "items": [node]}),
    asked("/api/v1/nodes?watch=1&allowWatchBookmarks=true&timeoutSeconds=480&resourceVersion=1", []),
    asked("/api/v1/namespaces/shop/pods?limit=500", {"metadata": {"resourceVersion": "1"}, "items": [
        {"metadata": {"name": "p", "namespace": "shop"}, "status": {"podIP": "10.0.0.1", "phase": "Running"}, "spec": {"containers": [{"name": "c"}]}}]}),
    asked("/api/v1/namespaces/shop/pods?watch=1&allowWatchBookmarks=true&timeoutSeconds=480&resourceVersion=1", []),
], open(sys.argv[1] + "/record.json", "w"))
END
# serve NAME [CA]
serve() {
	python3 "$top_srcdir/tests/lib/recorded.py" replay "$dir/record.json" "$dir/$1.serving" "" ${2:+"$2"} >"$dir/$1.at" 2>"$dir/$1.log" &
	servers="$servers $!"
	wait_for 20 test -s "$dir/$1.at"
}
serve good
serve late
serve closed "$dir/tls/ca.pem"

# Of each: a server, and whom we trust and who we are. The first three find what there is.
cat >"$dir/cases" <<'END'
known good tls/ca.pem -
unchecked late insecure -
let_in closed tls/ca.pem tls/scraper
another_authority good other/ca.pem -
expired late tls/ca.pem -
nobody closed tls/ca.pem -
stranger closed tls/ca.pem other/stranger
END
python3 - "$dir" >"$dir/jobs.json" <<'END'
import base64, json, sys
d, jobs = sys.argv[1], {}
for line in open(d + "/cases"):
    name, server, ca, client = line.split()
    at = open("%s/%s.at" % (d, server)).read().strip()
    tls = {"insecure_skip_verify": True} if ca == "insecure" else {"ca_file": d + "/" + ca}
    if client != "-":
        tls.update(cert_file="%s/%s.pem" % (d, client), key_file="%s/%s.key" % (d, client))
    for kind, config in {"http": {"url": "https://%s/targets" % at, "refresh_interval": "1s"}, "docker": {"host": "https://" + at, "refresh_interval": "1s"},
                         "consul": {"server": at, "scheme": "https", "datacenter": "d", "services": ["s"], "refresh_interval": "1s"},
                         "kubernetes": {"role": "node", "api_server": "https://" + at}}.items():
        jobs["%s_%s" % (kind, name)] = {kind + "_sd_configs": [dict(config, tls_config=tls)]}
# kubeconfigs: who we are in files, in the file itself, and at a server that is called otherwise.
def text(path):
    return base64.b64encode(open(d + "/" + path, "rb").read()).decode()
by_files = {"client-certificate": "tls/scraper.pem", "client-key": d + "/tls/scraper.key"}
by_data = {"client-certificate-data": text("tls/scraper.pem"), "client-key-data": text("tls/scraper.key")}
at = open(d + "/closed.at").read().strip()
for name, user, cluster in (("files", by_files, {"certificate-authority": "tls/ca.pem"}), ("data", by_data, {"certificate-authority-data": text("tls/ca.pem")}),
                            ("called", by_files, {"certificate-authority": "tls/ca.pem", "tls-server-name": "localhost"}),
                            ("miscalled", by_files, {"certificate-authority": "tls/ca.pem", "tls-server-name": "elsewhere"}), ("no_one", {}, {"certificate-authority": "tls/ca.pem"})):
    config = {"clusters": [{"name": "c", "cluster": dict(cluster, server="https://" + at)}], "users": [{"name": "u", "user": user}],
              "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}], "current-context": "x"}
    json.dump(config, open("%s/%s.kubeconfig" % (d, name), "w"))
    jobs["kubeconfig_" + name] = {"kubernetes_sd_configs": [{"role": "node", "kubeconfig_file": "%s/%s.kubeconfig" % (d, name)}]}
json.dump(jobs, sys.stdout)
END
python3 "$top_srcdir/tests/lib/discovery.py" ours "$dir/jobs.json" >"$dir/jobs.yml"
daemon_begin discovery_tls.starts -c "$dir/jobs.yml"
has() { get /api/v1/targets | grep -q "\"job\":\"$1\""; }
told() { grep -qE "job $1: [a-z]*_sd: .*($2)" "$dir/log"; }
# not_found JOB SENTENCE: nothing, and that is told
not_found() { wait_for 20 told "$1" "$2" && ! has "$1"; }
# judge JOB NAME
judge() {
	case $2 in
	known | unchecked | let_in) wait_for 20 has "$1" ;;
	another_authority) not_found "$1" "the server's certificate is not trusted" ;;
	expired) not_found "$1" "the server's certificate has expired" ;;
	*) not_found "$1" "the server ended the connection|the connection broke" ;;
	esac
}
while read -r name _; do
	for kind in http consul docker kubernetes; do
		job=${kind}_$name
		if judge "$job" "$name"; then ok "discovery_tls.$job"; else not_ok "discovery_tls.$job" "$(grep "job $job:" "$dir/log" | tail -n 1)"; fi
	done
done <"$dir/cases"
for name in files data called; do
	wait_for 20 has "kubeconfig_$name" && ok "discovery_tls.kubeconfig_$name" || not_ok "discovery_tls.kubeconfig_$name" "$(grep "job kubeconfig_$name:" "$dir/log" | tail -n 1)"
done
not_found kubeconfig_miscalled 'is it the right server' && ok discovery_tls.kubeconfig_miscalled || not_ok discovery_tls.kubeconfig_miscalled "$(grep miscalled "$dir/log" | tail -n 1)"
not_found kubeconfig_no_one 'the server ended the connection|the connection broke' && ok discovery_tls.kubeconfig_no_one || not_ok discovery_tls.kubeconfig_no_one "$(grep no_one "$dir/log" | tail -n 1)"


daemon_stop
expect_status discovery_tls.stops 0 "$daemon_status"

# ---- in a pod: what stands where a service account's files are, of which the token is read again ----
mkdir "$dir/account"
cp "$dir/tls/ca.pem" "$dir/account/ca.crt"
printf shop >"$dir/account/namespace"
printf 'yesterday' >"$dir/account/token"
python3 "$top_srcdir/tests/lib/recorded.py" replay "$dir/record.json" "$dir/good.serving" today >"$dir/pod.at" 2>"$dir/pod.log" &
servers="$servers $!"
wait_for 20 test -s "$dir/pod.at"
printf '#!/bin/sh\nexec unshare -m sh -c '"'"'mount -t tmpfs none /run && mkdir -p /run/secrets/kubernetes.io/serviceaccount &&
	mount --bind %s /run/secrets/kubernetes.io/serviceaccount && exec "$@"'"'"' sh "%s" "$@"\n' "$dir/account" "$decima" >"$dir/in_pod"
chmod 755 "$dir/in_pod"
cat >"$dir/pod.yml" <<'YAML'
scrape_configs:
  - { job_name: pod, kubernetes_sd_configs: [ { role: pod, namespaces: { own_namespace: true } } ] }
  - { job_name: node, kubernetes_sd_configs: [ { role: node } ] }
YAML
if "$dir/in_pod" --version >"$dir/err" 2>&1; then
	outside=$decima decima=$dir/in_pod
	KUBERNETES_SERVICE_HOST=127.0.0.1 KUBERNETES_SERVICE_PORT=$(sed 's/.*://' "$dir/pod.at")
	export KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT
	daemon_begin discovery_tls.pod_starts -c "$dir/pod.yml"
	decima=$outside
	not_found node 401 && ok discovery_tls.pod_of_yesterday || not_ok discovery_tls.pod_of_yesterday "$(grep 'job node' "$dir/log" | tail -n 1)"
	printf 'today' >"$dir/account/token.new" && mv "$dir/account/token.new" "$dir/account/token"
	wait_for 60 has node && ok discovery_tls.pod_token_is_read_again || not_ok discovery_tls.pod_token_is_read_again "$(grep 'job node' "$dir/log" | tail -n 1)"
	wait_for 60 has pod && ok discovery_tls.pod_own_namespace || not_ok discovery_tls.pod_own_namespace "$(grep 'job pod' "$dir/log" | tail -n 1)"
	if grep -q 'today\|yesterday' "$dir/log"; then not_ok discovery_tls.pod_masks "the log has the token"; else ok discovery_tls.pod_masks; fi
	daemon_stop
else
	skip discovery_tls.pod "no mount namespace is to be had: $(head -n 1 "$dir/err")"
fi
# Where no pod is, that is said.
unset KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT
daemon_start -c "$dir/pod.yml"
grep -q 'this is no pod' "$dir/log" && ok discovery_tls.no_pod || not_ok discovery_tls.no_pod "$(last_words "$dir/log")"
daemon_stop
