# SPDX-License-Identifier: Apache-2.0
"""address_profile.py ADDRESS BUILD_ID [PATH [START LIMIT [OFFSET]]] - a pprof profile of one sample at an address without a name

ADDRESS, START, LIMIT and OFFSET as hex digits; the mapping is PATH's, with that build id, from START to LIMIT (400000 to 500000), and
begins at OFFSET (0) in its file.
"""
import sys


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def number(field, n):
    return varint(field << 3) + varint(n)


def text(field, b):
    return varint(field << 3 | 2) + varint(len(b)) + b


address, build_id, path, start, limit, offset = (sys.argv[1:] + ["/bin/program", "400000", "500000", "0"][len(sys.argv) - 3:])
strings = [b"", b"samples", b"count", path.encode(), build_id.encode()]
out = text(1, number(1, 1) + number(2, 2)) + text(2, text(1, varint(1)) + text(2, varint(7)))
out += text(3, number(1, 1) + number(2, int(start, 16)) + number(3, int(limit, 16)) + number(4, int(offset, 16)) + number(5, 3) + number(6, 4))
out += text(4, number(1, 1) + number(2, 1) + number(3, int(address, 16) + 1))
out += b"".join(text(6, s) for s in strings)
sys.stdout.buffer.write(out)
