# SPDX-License-Identifier: Apache-2.0
"""tests/lib/discovery.py - jobs of a discovery, made into configurations and judged by what Prometheus' own found

    discovery.py ours JOBS PLACE=TEXT..              prints our configuration of them
    discovery.py theirs DISCOVERED JOBS PLACE=TEXT.. prints {JOB: [labels]}: what each finds by DISCOVERED
                                                     (tests/programs/discovered, built, perhaps with what runs it)
    discovery.py judge TARGETS WANT                  a line for each job whose targets differ

JOBS is a file, {JOB: {"..._sd_configs": [..]}}, in which each PLACE stands for a text; TARGETS what /api/v1/targets
answers; WANT what `theirs` printed.
"""
import json
import subprocess
import sys
import tempfile


def jobs_of(file, places):
    text = open(file).read()
    for place in places:
        text = text.replace(*place.split("=", 1))
    return json.loads(text)


def ours(jobs):
    off = {p: {"enabled": False} for p in ("memory", "block", "mutex", "process_cpu")}
    # Targets that differ by what was found only are one, unless their labels say it. None of them is there: none is asked.
    rules = [{"action": "labelmap", "regex": "__(meta_.*|address__)"}, {"target_label": "__address__", "replacement": "127.0.0.1:9"}]
    print(json.dumps({"scrape_configs": [dict(job_name=job, scrape_interval="1h", profiling_config={"pprof_config": off}, relabel_configs=rules, **config)
                                         for job, config in jobs.items()]}))


def theirs(discovered, jobs):
    with tempfile.TemporaryDirectory() as d:
        asked = {}
        for job, config in jobs.items():
            json.dump(config, open("%s/%s" % (d, job), "w"))
            asked[job] = subprocess.Popen([*discovered.split(), d + "/" + job], stdout=subprocess.PIPE, text=True)
        found = {job: p.communicate()[0] for job, p in asked.items()}
        if any(p.returncode for p in asked.values()):
            sys.exit("it does not find them")
    print(json.dumps({job: [json.loads(line) for line in text.splitlines()] for job, text in found.items()}))


def judge(targets, want):
    mine = ("__name__", "__profile_path__", "__scheme__", "__scrape_interval__", "__scrape_timeout__", "job", "service_name")
    got = {}
    for e in targets["endpoints"]:
        labels = {k: v for k, v in e["discovered"].items() if k not in mine and (k != "instance" or "__meta_kubernetes_node_provider_id" in e["discovered"])}
        got.setdefault(e["job"], set()).add(json.dumps(labels, sort_keys=True))
    for job, all in want.items():
        want, have = {json.dumps(l, sort_keys=True) for l in all}, got.get(job, set())
        if want != have:
            print("%s: %d targets, not %d: %s" % (job, len(have), len(want), " | ".join([*sorted(want - have)[:1], *sorted(have - want)[:1]])))


what, *rest = sys.argv[1:]
if what == "ours":
    ours(jobs_of(rest[0], rest[1:]))
elif what == "theirs":
    theirs(rest[0], jobs_of(rest[1], rest[2:]))
else:
    judge(*(json.load(open(file)) for file in rest))
