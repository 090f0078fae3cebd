# SPDX-License-Identifier: Apache-2.0
"""pushing.py URL: burns CPU in work() for 12 s, and until it has had 4 s of it, and the SDK pushes what it saw of that each 10 s, and at the end"""

import sys
import time

import pyroscope


def leaf(n):
    total = 0.0
    for i in range(1, n):
        total += i**0.5
    return total


def work(seconds, cpu_seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end or time.process_time() < cpu_seconds:
        leaf(20000)


pyroscope.configure(application_name="shop.python", server_address=sys.argv[1], tags={"region": "eu"})
with pyroscope.tag_wrapper({"controller": "slow"}):
    work(12, 4)
pyroscope.shutdown()
