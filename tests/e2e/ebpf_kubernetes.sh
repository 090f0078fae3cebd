#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/ebpf_kubernetes.sh - a process in a pod's control group, and a kubelet over HTTPS that knows the pod
set -u
. "$top_srcdir/tests/host/lib.sh"
need_root
command -v python3 >/dev/null || skip_all "no python3"
command -v openssl >/dev/null || skip_all "no openssl"
compile chain chain.c -fno-omit-frame-pointer -DLEAF_FRAME || exit 1

id=$(printf '%064d' 7)
uid=8f2b4c5a-1d3e-4f60-9a7b-0c1d2e3f4a5b
# A tree of its own in the first hierarchy that allows one.
group=
for root in /sys/fs/cgroup/unified /sys/fs/cgroup /sys/fs/cgroup/systemd; do
	[ -e "$root/cgroup.procs" ] || continue
	group=$root/kubepods/besteffort/pod$uid/cri-containerd-$id.scope
	mkdir -p "$group" 2>/dev/null && break
	group=
done
[ -n "$group" ] || skip_all "no control group can be made"
cleanup() {
	finish
	sleep 0.2
	(cd "$root" && rmdir -p "kubepods/besteffort/pod$uid/cri-containerd-$id.scope") 2>/dev/null
}
trap cleanup EXIT

cd "$dir" || exit 1
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test-ca -keyout ca.key -out ca.crt 2>openssl.log
openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout server.key -out server.csr 2>>openssl.log
printf 'subjectAltName=IP:127.0.0.1\n' >ext
openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile ext -out server.crt 2>>openssl.log ||
	{
		not_ok certificate "openssl makes none: $(tail -n 1 openssl.log)"
		exit 1
	}
printf 'the-token\n' >token
cat >kubelet.py <<'END'
import http.server, json, ssl, sys
pods = {"items": [{"metadata": {"name": "web-1", "namespace": "shop", "uid": sys.argv[2], "labels": {"app": "web"}},
                   "status": {"phase": "Running", "containerStatuses": [
                       {"name": "nginx", "image": "nginx:1", "containerID": "containerd://" + sys.argv[1]}]}}]}
class Kubelet(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        allowed = self.headers.get("Authorization") == "Bearer the-token"
        body = json.dumps(pods).encode() if allowed and self.path == "/pods" else b"no"
        self.send_response(200 if allowed and self.path == "/pods" else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Kubelet)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("server.crt", "server.key")
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
END
python3 kubelet.py "$id" "$uid" >port 2>kubelet.log &
pids="$pids $!"
i=0
while [ $i -lt 100 ] && ! [ -s port ]; do sleep 0.1; i=$((i + 1)); done
[ -s port ] || {
	not_ok kubelet "the fake one does not start: $(tail -n 1 kubelet.log)"
	exit 1
}
url=https://127.0.0.1:$(cat port)

start "$dir/chain" 600
chain_pid=$pid
echo "$chain_pid" >"$group/cgroup.procs" || skip_all "a process cannot be moved into a control group"

# told TEXT: it was said, and (with $sampled) the process has been sampled, which may come later
sampled=
told() { grep -q "$1" "$dir/rows" "$dir/log" && { [ -z "$sampled" ] || grep -q "container_id=$id" "$dir/rows"; }; }
# kubernetes YAML TEXT [MORE]: what the sampler says of the process, asked that way, until it has told the text
kubernetes() {
	sample_while "{frequency: 99Hz, window: 1s, filter: {pids: [$chain_pid]}, kubernetes: {source: kubelet, url: '$url', $1}${3:+, $3}}" \
		wait_for 60 told "$2"
}
kubernetes "token_file: $dir/token, ca_file: $dir/ca.crt" pod=web-1 'labels: {meta: ["__meta_kubernetes_*"]}'
check pod -n "$(grep 'namespace=shop,' rows | grep 'pod=web-1,' | head -n 1)"
check container -n "$(grep "container=nginx,container_id=$id,container_runtime=containerd," rows | head -n 1)"
check service -n "$(grep 'service_name=nginx' rows | head -n 1)"
check meta -n "$(grep '__meta_kubernetes_pod_label_app=web' rows | head -n 1)"
check asked "$(metric sampler_kubernetes_requests_total)" -ge 1
check no_failure "$(metric sampler_kubernetes_failures_total)" -eq 0

sampled=yes
kubernetes "token_file: $dir/ext, ca_file: $dir/ca.crt" 'may not list pods'
sampled=
check token.refused -n "$(grep 'may not list pods' log)"
check token.failures "$(metric sampler_kubernetes_failures_total)" -ge 1
check token.still_sampled "$(grep -c "container_id=$id" rows)" -gt 0
check token.no_pod "$(grep -c 'pod=web-1' rows)" -eq 0

kubernetes "token_file: $dir/token, ca_file: ''" 'certificate is not trusted'
check authority.unknown -n "$(grep 'certificate is not trusted' log)"
check authority.no_pod "$(grep -c 'pod=web-1' rows)" -eq 0
kubernetes "token_file: $dir/token, ca_file: '', insecure: true" pod=web-1
check insecure "$(grep -c 'pod=web-1' rows)" -gt 0
kubernetes "token_file: $dir/nothing" kubernetes.token_file
check no_token -n "$(grep 'kubernetes.token_file' log)"

# Only what runs in the pods' control groups: a busy process beside it is left out, and counted.
start "$dir/chain" 60
warm
sample_work "{frequency: 99Hz, filter: {pids: [$chain_pid, $pid], cgroups: [/kubepods]}}" 2
check filter.inside "$(grep -c "pid=$chain_pid," rows)" -gt 0
check filter.outside "$(grep -c "pid=$pid," rows)" -eq 0
check filter.counted "$(metric sampler_filtered_cgroup)" -gt 10
