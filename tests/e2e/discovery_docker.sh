#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/discovery_docker.sh - containers of a live Docker daemon, that come and go while we watch
#
# What is found is compared with what Prometheus' own discovery finds there at the same time. The daemon has a network
# namespace of its own, with its bridges, one of processes, and its data and sockets in a folder: of the host's it touches
# nothing but a control group, which goes at the end. Where it is not installed, Debian's packages are unpacked, and not installed.
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

[ -e "$plugins/input_pprof_scrape.so" ] || skip_all "built without pprof_scrape"
[ "$(id -u)" = 0 ] || skip_all "needs root"
for tool in python3 unshare nsenter ip openssl; do command -v $tool >/dev/null || skip_all "$tool is not installed"; done
[ -x /bin/busybox ] || skip_all "busybox-static is not installed"
unshare -nmp --fork --mount-proc true 2>/dev/null || skip_all "no network namespace can be made"

# ---- the daemon ----
# docker_unpacked: of the packages, by lists of our own where the system has none
docker_unpacked() {
	mkdir -p "$dir/lists/partial" "$dir/debs" && cd "$dir/debs" || return
	set -- docker.io containerd runc
	apt-get download -q "$@" >"$dir/err" 2>&1 ||
		{ apt-get -q -o Dir::State::lists="$dir/lists" update && apt-get -q -o Dir::State::lists="$dir/lists" download "$@"; } >"$dir/err" 2>&1 || return
	for deb in *.deb; do dpkg-deb -x "$deb" "$dir/docker" || return; done
	cd / && rm -rf "$dir/debs" "$dir/lists"
	PATH=$dir/docker/usr/bin:$dir/docker/usr/sbin:$PATH
}
if ! command -v dockerd >/dev/null; then
	command -v apt-get >/dev/null || skip_all "docker is not installed"
	docker_unpacked || skip_all "docker is not installed, and its packages cannot be had: $(tail -n 1 "$dir/err")"
fi

holder="" docker_pid="" group=decima-docker-$$
# Whatever it started is in its namespace of processes, and ends with the first of them.
docker_stop() {
	[ -n "$docker_pid" ] || return 0
	kill -KILL "$docker_pid" 2>/dev/null
	wait "$docker_pid" 2>/dev/null
	docker_pid=
	rm -f "$dir/docker.pid"
}
# What was killed leaves it a moment later.
group_removed() { find /sys/fs/cgroup -depth -type d -path "*/$group*" -exec rmdir {} +; }
finish() {
	daemon_stop
	docker_stop
	[ -z "$holder" ] || kill "$holder"
	wait_for 5 group_removed
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 1' TERM

certificates_made discovery_docker tls server localhost 127.0.0.1
certificates_made discovery_docker tls client scraper
certificates_made discovery_docker other client stranger
unshare -n sh -c 'ip link set lo up && echo up && exec sleep 3000' >"$dir/holder" &
holder=$!
wait_for 20 test -s "$dir/holder"
DOCKER_HOST=unix://$dir/docker.sock DOCKER_CONFIG=$dir/docker.config
export DOCKER_HOST DOCKER_CONFIG
answers() { docker version >"$dir/err" 2>&1; }
settled_docker() { answers || ! kill -0 "$docker_pid" 2>/dev/null; }
docker_start() {
	nsenter -t "$holder" -n unshare -mp --fork --kill-child --mount-proc dockerd -H "$DOCKER_HOST" -H tcp://127.0.0.1:2376 --tlsverify --tlscacert "$dir/tls/ca.pem" \
		--tlscert "$dir/tls/server.pem" --tlskey "$dir/tls/server.key" --data-root "$dir/docker.data" --exec-root "$dir/docker.exec" \
		--pidfile "$dir/docker.pid" --iptables=false --ip6tables=false --cgroup-parent "/$group" >>"$dir/docker.log" 2>&1 &
	docker_pid=$!
	wait_for 60 settled_docker
	answers
}
docker_start || skip_all "dockerd does not run here: $(grep -v 'level=info' "$dir/docker.log" | tail -n 2 | tr '\n' '|')"
fill=$top_srcdir/tests/data/discovery/fill_docker.sh
sh "$fill" >"$dir/filled" 2>&1 || skip_all "dockerd runs no containers here: $(tail -n 1 "$dir/filled")"
ok discovery_docker.daemon

# ---- as Prometheus finds them, while they change ----
discovered_made discovery_docker.prometheus
# The jobs that were recorded, at the socket; and at the port, with and without what it takes to be let in.
python3 - "$top_srcdir/tests/data/discovery/docker.jobs.json" "$dir" <<'END'
import json, re, sys
jobs, d = re.sub("@TCP@/[a-z-]*", "unix://%s/docker.sock" % sys.argv[2], open(sys.argv[1]).read()), sys.argv[2]
def over_tls(**more):
    known = {"ca_file": "tls/ca.pem", "cert_file": "tls/scraper.pem", "key_file": "tls/scraper.key", **more}
    return {"docker_sd_configs": [{"host": "https://127.0.0.1:2376", "refresh_interval": "1s", "tls_config": {k: d + "/" + v for k, v in known.items() if v}}]}
json.dump({**json.loads(jobs), "tls": over_tls()}, open(d + "/jobs.json", "w"))
json.dump({"nobody": over_tls(cert_file="", key_file=""), "stranger": over_tls(cert_file="other/stranger.pem", key_file="other/stranger.key"),
           "another_server": over_tls(ca_file="other/ca.pem")}, open(d + "/refused.json", "w"))
END
discovery=$top_srcdir/tests/lib/discovery.py
plain=$decima
printf '#!/bin/sh\nexec nsenter -t %s -n "%s" "$@"\n' "$holder" "$plain" >"$dir/decima"
chmod +x "$dir/decima"
# agrees: each job has what Prometheus finds
agrees() {
	get /api/v1/targets >"$dir/targets.json"
	python3 "$discovery" judge "$dir/targets.json" "$dir/want.json" >"$dir/judged" 2>&1 && [ ! -s "$dir/judged" ]
}
# as_theirs NAME
as_theirs() {
	[ -x "$dir/discovered" ] || return 0
	if ! python3 "$discovery" theirs "nsenter -t $holder -n $dir/discovered" "$dir/jobs.json" >"$dir/want.json" 2>"$dir/err"; then
		not_ok "discovery_docker.$1" "$(tail -n 2 "$dir/err" | tr '\n' '|')"
	elif wait_for 20 agrees; then
		ok "discovery_docker.$1"
	else
		not_ok "discovery_docker.$1" "$(head -c 1000 "$dir/judged")"
	fi
}
# n JOB NAME: how many targets the job has of the container of that name
n() {
	get /api/v1/targets >"$dir/targets.json"
	python3 -c 'import json, sys
print(sum(e["job"] == sys.argv[2] and e["discovered"].get("__meta_docker_container_name") == "/" + sys.argv[3] for e in json.load(open(sys.argv[1]))["endpoints"]))' \
		"$dir/targets.json" "$@"
}
has() { [ "$(n "$1" "$2")" -eq "$3" ]; }
# expect_n NAME JOB CONTAINER N
expect_n() {
	if wait_for 20 has "$2" "$3" "$4"; then ok "discovery_docker.$1"; else not_ok "discovery_docker.$1" "$(n "$2" "$3") targets of $3, not $4"; fi
}
# docker_does COMMAND..: or that fails
docker_does() { docker "$@" >"$dir/err" 2>&1 || not_ok "discovery_docker.$1" "$(tail -n 1 "$dir/err")"; }
python3 "$discovery" ours "$dir/jobs.json" >"$dir/jobs.yml"
decima=$dir/decima
daemon_begin discovery_docker.starts -c "$dir/jobs.yml"
expect_n web all web 4
expect_n web_tls tls web 4
expect_n host port in-host 1
as_theirs all
sh "$fill" change >"$dir/filled" 2>&1 || not_ok discovery_docker.changes "$(tail -n 1 "$dir/filled")"
expect_n late all late 1
expect_n late_tls tls late 1
expect_n gone all gone 0
docker_does rename late later
expect_n renamed all later 1
docker_does pause later
docker_does network disconnect alpha two-networks
docker_does rm -f six
expect_n removed all six 0
expect_n paused all later 1
as_theirs changed
docker_does unpause later

# ---- a daemon that goes, and comes again, with what it starts then ----
says() { get /api/v1/pipeline | grep -qF "$1"; }
docker_stop
wait_for 20 says "docker_sd: " && ok discovery_docker.down || not_ok discovery_docker.down "$(last_words "$dir/log")"
if has all web 4 && has tls web 4; then ok discovery_docker.down_keeps; else not_ok discovery_docker.down_keeps "$(n all web), $(n tls web)"; fi
docker_start || not_ok discovery_docker.again "$(last_words "$dir/docker.log")"
docker_does start udp-only two-networks
expect_n again_gone all web 0
expect_n again all two-networks 1
expect_n again_tls tls two-networks 1
daemon_stop

# ---- who is not let in, and who is not trusted ----
python3 "$discovery" ours "$dir/refused.json" >"$dir/refused.yml"
daemon_begin discovery_docker.refused -c "$dir/refused.yml"
told() { grep -q "job $1: docker_sd: " "$dir/log"; }
for job in nobody stranger another_server; do
	wait_for 20 told $job && has $job two-networks 0 && ok "discovery_docker.$job" || not_ok "discovery_docker.$job" "$(n $job two-networks) targets; $(last_words "$dir/log")"
done
expect discovery_docker.not_trusted "job another_server: docker_sd: https://127.0.0.1:2376/version: the server's certificate is not trusted: " "$dir/log"
expect discovery_docker.not_known 'job nobody: docker_sd: https://127.0.0.1:2376/version: the ' "$dir/log"
