# SPDX-License-Identifier: Apache-2.0
# tests/programs/hostile/watch.py - what is looked at meanwhile: an honest client, and the daemon's memory and descriptors
import multiprocessing
import os
import time

from lines import answer, say

EVERY_S, SOON_S = 0.1, 5


def rss_mib(pid, what="VmRSS"):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(what + ":")) // 1024


def forget_peak(pid):
    """VmHWM begins anew (proc(5), clear_refs)."""
    with open(f"/proc/{pid}/clear_refs", "w") as f:
        f.write("5")


def n_descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


class Probe:
    """Asks for the health and pushes a profile of its own, again and again, each over a connection of its own; in a process of its own."""

    def __init__(self, place):
        self.place = place
        self.accepted, self.faults, self.slowest_s, self.n = [], [], 0.0, 0
        self.ends, self.told = multiprocessing.Event(), multiprocessing.Queue()
        self.process = multiprocessing.Process(target=self.run, daemon=True)

    def start(self):
        self.process.start()

    def ask(self, what):
        began = time.monotonic()
        try:
            with self.place.dial() as s:
                say(s, what)
                status = answer(s)[0]
        except OSError as e:
            status = f"{type(e).__name__}: {e}"
        took = time.monotonic() - began
        self.slowest_s = max(self.slowest_s, took)
        if status != 200 or took > SOON_S:
            self.faults.append(f"{what.split(b' ')[1].decode()}: {status} after {took:.1f} s, at {began % 1000:.0f}")
        return status == 200

    def run(self):
        while not self.ends.wait(EVERY_S):
            self.n += 1
            self.ask(b"GET /-/healthy HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            body = b"probe;n%d 1\n" % self.n
            head = b"POST /api/v1/ingest?name=probe HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
            if self.ask(head % len(body) + body):
                self.accepted.append(self.n)
        self.told.put((self.accepted, self.faults, self.slowest_s, self.n))

    def stop(self):
        self.ends.set()
        self.accepted, self.faults, self.slowest_s, self.n = self.told.get(timeout=60)
        self.process.join(10)
