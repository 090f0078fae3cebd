# SPDX-License-Identifier: Apache-2.0
"""tests/programs/endpoints/python/served.py - a Python service that serves its profiles by pypprof

Serves /debug/pprof/profile, wall, heap and thread at a port of 127.0.0.1, and prints HOST:PORT in a line of its own.
keep() holds 1,000 blocks of 10,000 bytes; burn_outer() calls burn_inner(), in less than half of the time.
"""
import time

import mprofile
from pypprof.net_http import start_pprof_server

kept = []


def keep():
    for _ in range(1000):
        kept.append(bytearray(10000))


def burn_inner(end):
    x = 0
    while time.perf_counter() < end:
        x = x * 31 & 0xFFFF
    return x


def burn_outer():
    while True:
        burn_inner(time.perf_counter() + 0.01)
        time.sleep(0.015)


server = start_pprof_server(host="127.0.0.1", port=0)
mprofile.start(sample_rate=1024)
keep()
print("127.0.0.1:%d" % server.server_address[1], flush=True)
burn_outer()
