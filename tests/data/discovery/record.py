# SPDX-License-Identifier: Apache-2.0
"""tests/data/discovery/record.py - records what a real server tells our discovery, and what Prometheus' found there

    record.py NAME UPSTREAM DECIMA PLUGINS DISCOVERED [PARAMETER..] [COMMAND..]

PARAMETER, NAME=VALUE or NAME+SECONDS, is as recorded.py has it. Reads NAME.jobs.json, {JOB: {"..._sd_configs": [..]}}, in which @SERVER@ stands for the server; writes NAME.record.json
(tests/lib/recorded.py) and NAME.want.json, {JOB: [labels]}. While the record runs, and our discovery has had a few
seconds, COMMAND (of a shell) changes what the server has. DISCOVERED is tests/programs/discovered, built. Of Kubernetes,
what Prometheus finds in the record as it began, with what COMMAND removed, becomes NAME_begun.want.json:

    record.py begun NAME DISCOVERED    that alone, of a record that is there
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))
serve = [sys.executable, here + "/../../lib/recorded.py"]


def find(discovered, d, config):
    """What Prometheus' discovery finds by a configuration, as text."""
    open(d + "/theirs.yml", "w").write(config)
    out = subprocess.run([discovered, d + "/theirs.yml"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def find_begun(name, discovered):
    server = subprocess.Popen(serve + ["begun", "%s/%s.record.json" % (here, name)], stdout=subprocess.PIPE, text=True)
    address = "http://" + server.stdout.readline().strip()
    with tempfile.TemporaryDirectory() as d:
        jobs = json.load(open("%s/%s.jobs.json" % (here, name)))
        want = {job: find(discovered, d, json.dumps(config).replace("@SERVER@", address)) for job, config in jobs.items()}
    server.terminate()
    server.wait()
    json.dump(want, open("%s/%s_begun.want.json" % (here, name), "w"), indent=0, sort_keys=True)


if sys.argv[1] == "begun":
    find_begun(*sys.argv[2:])
    sys.exit()
name, upstream, decima, plugins, discovered = sys.argv[1:6]
jobs = open("%s/%s.jobs.json" % (here, name)).read()
record = "%s/%s.record.json" % (here, name)
parameters = [a for a in sys.argv[6:] if re.fullmatch(r"[a-zA-Z]+[=+]\d+", a)]
proxy = subprocess.Popen(serve + ["record", upstream, record] + parameters, stdout=subprocess.PIPE, text=True)
address = "http://" + proxy.stdout.readline().strip()
with tempfile.TemporaryDirectory() as d:
    nowhere = [{"target_label": "__address__", "replacement": "127.0.0.1:9"}]
    ours = [dict(job_name=job, scrape_interval="1h", relabel_configs=nowhere, **config) for job, config in json.loads(jobs).items()]
    text = json.dumps({"scrape_configs": ours}).replace("@TCP@", address.replace("http:", "tcp:"))
    open(d + "/ours.yml", "w").write(text.replace("@SERVER@", address).replace("@HOSTPORT@", address[7:]))
    p = subprocess.Popen([decima, "run", "-c", d + "/ours.yml", "--listen", "unix:" + d + "/sock", "--data", d + "/data", "--plugin-path", plugins])
    time.sleep(8)
    for command in sys.argv[6 + len(parameters):]:
        subprocess.run(command, shell=True, check=True)
        time.sleep(20)
    proxy.terminate()
    proxy.wait()
    p.terminate()
    p.wait()
    want = {}
    for job, config in json.loads(jobs).items():
        text = json.dumps(config).replace("@TCP@/" + job, upstream.replace("unix:/", "unix:///"))
        text = text.replace("@SERVER@/" + job, upstream).replace("@HOSTPORT@", upstream.split("//")[-1])
        want[job] = find(discovered, d, text.replace('/%s"' % job, '"') if "path_prefix" in text else text)
json.dump(want, open("%s/%s.want.json" % (here, name), "w"), indent=0, sort_keys=True)
if name == "kubernetes":
    find_begun(name, discovered)
