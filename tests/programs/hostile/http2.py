# SPDX-License-Identifier: Apache-2.0
# tests/programs/hostile/http2.py - floods, bombs and stalls of HTTP/2, and messages of gRPC that are none
import gzip
import struct
import time

from lines import (CONTINUATION, DATA, END_HEADERS, END_STREAM, H2, HEADERS, PING, PRIORITY, RST,
                   SETTINGS, WINDOW, field, frame, head_frames, number, request)

INGEST = request("POST", "/api/v1/ingest?name=hostile")
HEALTHY = request("GET", "/-/healthy")
# More than a connection may have (docs/API.md): 500 at once and 100 a second.
FLOOD = 3000


def flood(place, make):
    """What the connection is told that says make(h) without end."""
    h = H2(place)
    h.settle()
    h.ask(INGEST, ends=False)
    for _ in range(FLOOD // 50):
        if not h.send(b"".join(make(h) for _ in range(50))):
            break
    code = h.goodbye()
    h.close()
    return code


def reset(h):
    n = h.new_id()
    return head_frames(n, INGEST, 0) + frame(RST, 0, n, struct.pack(">I", 8))


def made_reset(h, what):
    """CVE-2025-8671: what is wrong with a stream has the server reset it."""
    n = h.new_id()
    return head_frames(n, INGEST, 0) + what(n)


FLOODS = {
    "rapid_reset": reset,
    "settings": lambda h: frame(SETTINGS),
    "large_settings": lambda h: frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 65535) * 32),
    "ping": lambda h: frame(PING, 0, 0, bytes(8)),
    "empty_data": lambda h: frame(DATA, 0, 1),
    "padding_alone": lambda h: frame(DATA, 8, 1, b"\x05" + bytes(5)),
    "priority": lambda h: frame(PRIORITY, 0, h.new_id(), b"\0\0\0\0\1"),
    "made_reset_by_window": lambda h: made_reset(h, lambda n: frame(WINDOW, 0, n, bytes(4))),
    "made_reset_by_overflow": lambda h: made_reset(h, lambda n: frame(WINDOW, 0, n, b"\x7f\xff\xff\xff")),
    "made_reset_by_length": lambda h: head_frames(h.new_id(), request("POST", "/api/v1/ingest", ("content-length", "x")), 0),
    "made_reset_by_itself": lambda h: made_reset(h, lambda n: frame(PRIORITY, 0, n, struct.pack(">IB", n, 1))),
}


def floods(place, verdict):
    for name, make in FLOODS.items():
        code = flood(place, make)
        # nghttp2 ends some by itself, as what they are: an error of the protocol; or with nothing said (1000 at once).
        verdict(f"h2.flood_{name}", code is not None and code != 0, f"GOAWAY {code}")


def continuations(place, verdict):
    """CVE-2024-27316 and the like: a head without end, empty or not."""
    for name, piece, most in (("empty", b"", 200000), ("full", field("x", "v" * 16000), 4000)):
        h = H2(place)
        h.s.settimeout(20)
        h.send(frame(HEADERS, END_STREAM, 1, HEALTHY))
        block = frame(CONTINUATION, 0, 1, piece) * (500 if not piece else 4)
        began, n = time.monotonic(), 0
        while n < most and h.send(block):
            n += 500 if not piece else 4
        code = h.goodbye(15)
        h.close()
        print(f"# continuation_{name}: {n} frames, GOAWAY {code}", flush=True)
        verdict(f"h2.continuation_{name}", code is not None, f"open after {n} frames and {time.monotonic() - began:.0f} s")


def many(place, n, make, settings=()):
    """n connections, each with what make(h) says of the first."""
    lines, words = [], None
    for _ in range(n):
        try:
            h = H2(place, settings)
        except OSError:
            break
        words = words or make(h)
        h.send(words)
        lines.append(h)
    return lines


def hold(place, n, make, settings=(), seconds=2):
    """They stay that long, and are read by nobody."""
    lines = many(place, n, make, settings)
    time.sleep(seconds)
    for h in lines:
        h.close()
    return len(lines)


def half_streams(h):
    return b"".join(head_frames(h.new_id(), INGEST, 0) for _ in range(100))


def large_heads(h):
    block = INGEST + b"".join(field(f"x{i}", "v" * 650) for i in range(90))
    return b"".join(head_frames(h.new_id(), block, 0) for _ in range(100))


def packed_heads(h):
    """A value that stands in the dynamic table is a byte in each of 100 heads: 6 kB become 6 MB."""
    first = INGEST + field("x", "v" * 3900, 0x40) + bytes([0xBE]) * 14
    return head_frames(h.new_id(), first, 0) + b"".join(head_frames(h.new_id(), INGEST + bytes([0xBE]) * 15, 0) for _ in range(99))


def table_bomb(h):
    """More than a head may have, by its dynamic table: 4 kB, ten thousand times."""
    return head_frames(h.new_id(), HEALTHY + field("x", "v" * 4000, 0x40) + bytes([0xBE]) * 10000)


def metrics(h):
    return b"".join(head_frames(h.new_id(), request("GET", "/metrics")) for _ in range(100))


NO_WINDOW = ((4, 0),)


def bombs(place, verdict):
    h = H2(place)
    h.send(table_bomb(h))
    got = h.texts(1)
    h.close()
    verdict("h2.table_bomb", got is not None and (b"more than" in got or b"goaway" in got or b"reset" in got), repr(got and got[:300]))
    h = H2(place)
    # A table of 4 GiB, as far as the client is asked; each side has its own say.
    h.send(frame(SETTINGS, 0, 0, struct.pack(">HI", 1, 0xFFFFFFFF)))
    got = h.texts(h.ask(HEALTHY))
    h.send(head_frames(h.new_id(), number(0xFFFFFF, 5, 0x20) + HEALTHY))
    code = h.goodbye()
    h.close()
    verdict("h2.table_size", b"200" in (got or b"") and code not in (None, 0), f"{got!r}, GOAWAY {code}")


def stalls(place, verdict):
    """A window that is opened by one byte, by none, and by more than there is."""
    h = H2(place, NO_WINDOW)
    n = h.ask(request("GET", "/metrics"))
    for _ in range(20):
        h.send(frame(WINDOW, 0, n, struct.pack(">I", 1)))
    time.sleep(0.2)
    h.send(frame(WINDOW, 0, n, struct.pack(">I", 1 << 20)))
    got = h.texts(n)
    verdict("h2.window_of_bytes", got is not None and b"decima_http_requests_total" in got, repr(got and got[-200:]))
    h.close()
    h = H2(place)
    h.send(frame(WINDOW, 0, 0, b"\x7f\xff\xff\xff"))
    code = h.goodbye()
    h.close()
    verdict("h2.window_too_large", code not in (None, 0), f"GOAWAY {code}")


def call(method, *pairs):
    return request("POST", method, ("content-type", "application/grpc"), ("te", "trailers"), *pairs)


def message(body, flag=0, n=None):
    return bytes([flag]) + struct.pack(">I", len(body) if n is None else n) + body


RAW = "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw"
PUSH = "/push.v1.PusherService/Push"
GZIP = ("grpc-encoding", "gzip")
INVALID, EXHAUSTED, UNIMPLEMENTED = (3,), (8,), (12,)


def calls():
    """NAME: head, body, the statuses that are right"""
    bomb = gzip.compress(bytes(100 << 20))
    large = "v" * 8000
    return {
        "no_message": (call(PUSH), b"", INVALID),
        "part_of_a_head": (call(PUSH), b"\0\0\0", INVALID),
        "shorter": (call(PUSH), message(b"abc", 0, 2), UNIMPLEMENTED),
        "longer": (call(PUSH), message(b"abc", 0, 10), INVALID),
        "length_2_31": (call(PUSH), message(b"abc", 0, 1 << 31), INVALID + EXHAUSTED),
        "length_2_32": (call(PUSH), message(b"abc", 0, 0xFFFFFFFF), INVALID + EXHAUSTED),
        "two_messages": (call(PUSH), message(b"") * 2, UNIMPLEMENTED),
        "flag": (call(PUSH), message(b"", 2), INVALID),
        "packed_by_nothing": (call(PUSH), message(b"abc", 1), UNIMPLEMENTED + INVALID),
        "packed_by_unknown": (call(PUSH, ("grpc-encoding", "snappy")), message(b"abc", 1), UNIMPLEMENTED),
        "packed_by_a_long_name": (call(PUSH, ("grpc-encoding", "z" * 60000)), message(b"abc", 1), UNIMPLEMENTED),
        "no_gzip": (call(PUSH, GZIP), message(b"abc", 1), INVALID),
        "cut_gzip": (call(PUSH, GZIP), message(gzip.compress(b"abc" * 99)[:-9], 1), INVALID),
        "gzip_bomb": (call(PUSH, GZIP), message(bomb, 1), EXHAUSTED),
        "gzip_bomb_writeraw": (call(RAW, GZIP), message(bomb, 1), EXHAUSTED),
        "nonsense": (call(RAW), message(b"\xff" * 100), INVALID),
        "depth": (call(RAW), message(b"\x12\x02" * 5000), INVALID),
        "json": (request("POST", PUSH, ("content-type", "application/grpc+json"), ("te", "trailers")), message(b"{}"), UNIMPLEMENTED),
        "no_method": (call("/a.B/C"), message(b""), UNIMPLEMENTED),
        "long_method": (call("/" + "a" * 60000), message(b""), UNIMPLEMENTED),
        "odd_method": (call("/push.v1.PusherService/" + "%01" * 19000), message(b""), UNIMPLEMENTED + INVALID),
        "timeout": (call(PUSH, ("grpc-timeout", "1X")), message(b""), INVALID),
        "timeout_of_nothing": (call(PUSH, ("grpc-timeout", "0n")), message(b""), (0, 3, 4)),
        "metadata": (call(PUSH, *((f"x-{i}", large) for i in range(12))), message(b""), INVALID + EXHAUSTED),
        "many_metadata": (call(PUSH, *((f"x-{i}", "v") for i in range(500))), message(b""), INVALID + EXHAUSTED),
        "bin_metadata": (call(PUSH, ("x-bin", "===")), message(b""), (0, 3)),
    }


def grpc(place, verdict):
    for name, (block, body, want) in calls().items():
        h = H2(place)
        h.settle()
        began = time.monotonic()
        got = h.texts(h.ask(block, body), 30)
        took = time.monotonic() - began
        h.close()
        if took > 1:
            print(f"# grpc {name}: {took:.1f} s", flush=True)
        got = got or b""
        at = got.find(b"grpc-status: ")
        status = int(got[at + 13 :].split(b"\n")[0]) if at >= 0 else -1
        good = status in want and (status == 0 or b"grpc-message: " in got)
        verdict("grpc." + name, good, repr(got[:300]))
