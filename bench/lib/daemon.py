# SPDX-License-Identifier: Apache-2.0
"""bench/lib/daemon.py - a daemon that is measured from outside, and the figures that come of it, a JSON line each

With PYTHONPATH=bench/lib. Times of CPU are all threads', by the scheduler, so that what else the machine does shows little.
"""
import http.client
import json
import os
import socket
import subprocess
import sys
import time


class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def cpu(pid):
    """Seconds."""
    return sum(int(open("/proc/%d/task/%s/schedstat" % (pid, t)).read().split()[0]) for t in os.listdir("/proc/%d/task" % pid)) / 1e9


def resident(pid, key="VmRSS"):
    """Bytes, of a key of /proc/PID/status."""
    return next(int(l.split()[1]) for l in open("/proc/%d/status" % pid) if l.startswith(key)) * 1024


class Daemon:
    """One of build, with this configuration, its files in folder (made if need be), and a socket there; TCP if `listen` says so."""

    def __init__(self, build, folder, config, listen=()):
        os.makedirs(folder, exist_ok=True)
        self.log, self.sock = folder + "/log", folder + "/sock"
        config = {**config, "server": {**config.get("server", {}), "listen": [*listen, "unix:" + self.sock]}}
        # JSON is YAML.
        json.dump(config, open(folder + "/config.yaml", "w"))
        self.p = subprocess.Popen([build + "/decima", "run", "-c", folder + "/config.yaml", "--data", folder + "/data",
                                   "--plugin-path", build + "/plugins/.libs"], stderr=open(self.log, "w"))
        while not self.said("is ready at"):
            if self.p.poll() is not None:
                sys.exit("the daemon does not start: " + open(self.log).read())
            time.sleep(0.02)
        # The addresses that it listens at, in their order.
        self.addresses = self.said("is ready at").split("is ready at ")[1].strip().split(", ")

    def said(self, what):
        return next((l for l in open(self.log) if what in l), None)

    def get(self, where):
        c = Unix(self.sock)
        c.request("GET", where)
        return c.getresponse().read().decode()

    def metric(self, name, label=""):
        """The sum over its labels; over those with the label, as in health="up"."""
        return sum(float(l.split()[-1]) for l in self.get("/metrics").splitlines() if l.startswith((name + "{", name + " ")) and label in l)

    def cpu(self):
        return cpu(self.p.pid)

    def memory(self, key):
        return resident(self.p.pid, key)

    def stop(self):
        self.p.terminate()
        self.p.wait()


def show(name, value, unit, target, met, **more):
    print(json.dumps({"bench": name, "value": round(value, 3), "unit": unit, "target": target, "met": met, **more}, separators=(",", ":")), flush=True)


def at_most(name, value, unit, target, **more):
    show(name, value, unit, target, value <= target, **more)


def at_least(name, value, unit, target, **more):
    show(name, value, unit, target, value >= target, **more)
