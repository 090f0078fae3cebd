#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench/startup.sh - how soon the daemon answers, and what it weighs before it has anything to keep
#
#	bench/startup.sh BUILD_DIR [TURNS]
#
# Starts the daemon of a build folder over and over: with the memory store alone, and (as root) with the sampler. The
# time is from exec to the first answer of /-/ready on its unix socket, polled each millisecond; the memory is VmRSS
# a second later. One JSON line a figure, the median of the turns; the comparison is `true`, started the same way.
set -eu
build=$1
turns=${2:-7}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

python3 - "$build" "$turns" "$dir" <<'END'
import http.client, json, os, socket, statistics, subprocess, sys, time

build, turns, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
path = os.path.join(folder, "sock")

class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(path)

def ready():
    try:
        c = Unix("localhost", timeout=1)
        c.request("GET", "/-/ready")
        return c.getresponse().status == 200
    except OSError:
        return False

def turn(config):
    start = time.monotonic()
    p = subprocess.Popen([build + "/decima", "run", "-c", config, "--listen", "unix:" + path, "--data", folder,
                          "--plugin-path", os.path.abspath(build) + "/plugins/.libs"], stderr=subprocess.DEVNULL)
    while not ready():
        if p.poll() is not None or time.monotonic() - start > 20:
            sys.exit("startup.sh: the daemon does not start; see: %s/decima run -c %s" % (build, config))
        time.sleep(0.001)
    took = time.monotonic() - start
    time.sleep(1)
    with open("/proc/%d/status" % p.pid) as f:
        rss = next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))
    p.terminate()
    p.wait()
    return took * 1000, rss / 1024

def baseline():
    start = time.monotonic()
    subprocess.run(["true"])
    return (time.monotonic() - start) * 1000

def show(name, value, unit, other_name, other):
    print(json.dumps({"bench": name, "value": round(value, 1), "unit": unit, "compared_with": other_name,
                      "baseline": round(other, 1)}))

configs = {"without_ebpf": "storage: { memory: {} }\n"}
if os.geteuid() == 0:
    configs["with_ebpf"] = "inputs: { ebpf: {}, perf_map: {} }\nstorage: { memory: {} }\n"
for name, text in configs.items():
    file = os.path.join(folder, name + ".yaml")
    with open(file, "w") as f:
        f.write(text)
    runs = [turn(file) for _ in range(turns)]
    other = statistics.median(baseline() for _ in range(turns))
    show("start_to_ready_" + name, statistics.median(r[0] for r in runs), "ms", "exec of true", other)
    show("idle_rss_" + name, statistics.median(r[1] for r in runs), "MiB", "the limit of 20 MiB", 20)
END
