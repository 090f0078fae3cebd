#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/programs/hostile/hostile.py PORT PID CA SOURCES PPROF ACCEPTED - attacks on a daemon, "ok NAME" or "not ok NAME: WHY" of each
#
# CA is its authority, or "" in the clear. PPROF is a valid profile, SOURCES where the repository is, with valid ones of other
# kinds. An honest client is served all the while; the numbers of what was accepted of it go into the file ACCEPTED.
import glob
import gzip
import sys
import time

import http1
import http2
import mutate
from lines import Place, answer, say
from watch import Probe, forget_peak, n_descriptors, rss_mib

# docs/MEMORY.md: bodies as they are sent, all together, and four of them at once unpacked, with twice that for what is made of it.
BODIES_MIB = 64 + 4 * 3 * 64
# Heads and answers of HTTP/2 that wait, all together, and as much again for what is around them: sessions, pieces, the allocator's.
WAITING_MIB = 2 * 128
# At the end: what mutated profiles put into the store, and a tenth of the largest burst.
LEFT_MIB = 100
# Of the connections, 512: others come in as well.
HOLDERS = 150


class Attack:
    def __init__(self, port, pid, ca):
        self.place, self.pid = Place(port, ca), pid
        self.at_start_mib = rss_mib(pid)
        self.prefix = "hostile.tls_" if ca else "hostile."

    def verdict(self, name, good, why=""):
        print(f"ok {self.prefix}{name}" if good else f"not ok {self.prefix}{name}: {why}", flush=True)

    def bounded(self, name, most_mib, what):
        """What happens takes no more than that beside what there was at the start."""
        before = self.at_start_mib
        forget_peak(self.pid)
        began = time.monotonic()
        what()
        peak = rss_mib(self.pid, "VmHWM")
        print(f"# {name}: at {began % 1000:.0f}, {time.monotonic() - began:.1f} s, {before} MiB, at most {peak}", flush=True)
        self.verdict(f"memory_{name}", peak <= before + most_mib, f"{peak} MiB, from {before}")

    def gives_back(self):
        """What was taken for all that is free again, but for what is stored, and what the allocator keeps between."""
        end = time.monotonic() + 40
        while rss_mib(self.pid) > self.at_start_mib + LEFT_MIB and time.monotonic() < end:
            time.sleep(0.5)
        now = rss_mib(self.pid)
        print(f"# at the end: {now} MiB, {self.at_start_mib} at the start", flush=True)
        self.verdict("memory_is_given_back", now <= self.at_start_mib + LEFT_MIB, f"{now} MiB, from {self.at_start_mib}")

    def holds(self):
        for make, settings in (
            (http2.half_streams, ()),
            (http2.large_heads, ()),
            (http2.packed_heads, ()),
            (http2.metrics, http2.NO_WINDOW),
        ):
            name = f"held_{make.__name__}"
            self.bounded(name, WAITING_MIB, lambda make=make, settings=settings: http2.hold(self.place, HOLDERS, make, settings))

    def mutations(self, sources, pprof):
        rng_heads = b" HTTP/1.1\r\nHost: localhost\r\n"

        def valid(pattern):
            out = []
            for path in sorted(glob.glob(f"{sources}/{pattern}")):
                with open(path, "rb") as f:
                    out.append(f.read())
            return out

        with gzip.open(pprof) as f:
            profiles = [f.read()]
        for kind, target, type_, bodies, n in (
            ("pprof", b"/api/v1/ingest", b"application/octet-stream", profiles, 2000),
            ("otlp", b"/v1development/profiles", b"application/x-protobuf", valid("tests/data/otlp/*.pb"), 1000),
            ("arrow", b"/parca.profilestore.v1alpha1.ProfileStoreService/WriteArrow", b"application/grpc-web",
             valid("fuzz/corpus/arrow/*"), 2000),
            ("batch", b"/decima.v1.Ingest/Write", b"application/proto", valid("tests/golden/memory-1/*.batch"), 500),
            ("batches", b"/decima.v1.Ingest/Write", b"application/vnd.decima.batches",
             [b"".join(len(b).to_bytes(4, "little") + b for b in 3 * valid("tests/golden/memory-1/*.batch"))], 500),
            ("elf", b"/api/v1/debuginfo", b"application/octet-stream", valid("fuzz/corpus/elf/[ims]*"), 300),
        ):
            head = b"POST " + target + rng_heads + b"Content-Type: " + type_ + b"\r\n"
            self.bounded(f"mutated_{kind}", BODIES_MIB, lambda k=kind, h=head, b=bodies, n=n: mutate.send(self.place, self.verdict, k, h, b, n))


    def calls(self, sources, pprof):
        """The same by gRPC over HTTP/2, in the clear and under TLS."""
        with gzip.open(pprof) as f:
            kinds = mutate.messages(f.read())
        arrows = []
        for path in sorted(glob.glob(f"{sources}/fuzz/corpus/arrow/*")):
            with open(path, "rb") as f:
                arrows.append([f.read()])
        for kind, (method, valid) in kinds.items():
            sent = arrows if valid is None else [valid]
            self.bounded(f"called_{kind}", BODIES_MIB, lambda k=kind, m=method, v=sent: mutate.call(self.place, self.verdict, k, m, v, 300))


def warm_up(place, sources):
    """What is begun with the first of its kind is there: who reads files, above all."""
    with place.dial() as s, open(f"{sources}/fuzz/corpus/elf/shared", "rb") as f:
        body = f.read()
        say(s, b"POST /api/v1/debuginfo HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        answer(s)


def main():
    port, pid, ca, sources, pprof, accepted = int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:7]
    a = Attack(port, pid, ca)
    warm_up(a.place, sources)
    start_fds = n_descriptors(pid)
    probe = Probe(a.place)
    probe.start()
    slow = http1.Slow(a.place, 40)
    slow.begin()
    a.bounded("smuggling", WAITING_MIB, lambda: (http1.refuse_all(a.place, a.verdict), http1.take_all(a.place, a.verdict)))
    slow.drip()
    a.bounded("floods", WAITING_MIB, lambda: http2.floods(a.place, a.verdict))
    a.bounded("continuations", WAITING_MIB, lambda: http2.continuations(a.place, a.verdict))
    slow.drip()
    a.bounded("tables", WAITING_MIB, lambda: (http2.bombs(a.place, a.verdict), http2.stalls(a.place, a.verdict)))
    a.holds()
    a.bounded("grpc", BODIES_MIB, lambda: http2.grpc(a.place, a.verdict))
    a.bounded("bombs", BODIES_MIB, lambda: http1.bombs(a.place, a.verdict))
    a.bounded("lists", BODIES_MIB, lambda: http1.lists(a.place, a.verdict))
    if not ca:
        a.mutations(sources, pprof)
    a.calls(sources, pprof)
    slow.end(a.verdict)
    probe.stop()
    a.gives_back()
    a.verdict("others_are_served", probe.n > 50 and not probe.faults, f"{len(probe.faults)} of {2 * probe.n}: {probe.faults[:5]}")
    print(f"# {probe.n} turns of the honest client, the slowest answer after {probe.slowest_s:.2f} s", flush=True)
    with open(accepted, "w") as f:
        f.writelines(f"probe;n{n} 1\n" for n in probe.accepted)
    end = time.monotonic() + 20
    while n_descriptors(pid) > start_fds and time.monotonic() < end:
        time.sleep(0.2)
    a.verdict("descriptors", n_descriptors(pid) <= start_fds, f"{n_descriptors(pid)}, and {start_fds} at the start")


main()
