# SPDX-License-Identifier: Apache-2.0
# tests/programs/hostile/http1.py - HTTP/1.1 that is no HTTP, or is two things at once, or does not come to an end
import gzip
import struct
import time

from lines import H2, WINDOW, answer, frame, hear_all, request, say

HOST = b"Host: localhost\r\n"
TAKES = 4096  # bytes that a reader's machine keeps for him
WIDE_OPEN = ((4, 0x7FFFFFFF),)  # INITIAL_WINDOW_SIZE
POST = b"POST /api/v1/ingest?name=smuggled HTTP/1.1\r\n" + HOST
SMUGGLED = b"GET /-/smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"

# What is refused, or what a second server may read otherwise: whatever stands behind it must not be answered as a request.
# Each has the statuses that are right; the connection is closed behind the answer.
REFUSED = {
    "length_and_coding": POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "coding_and_length": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    "two_lengths": POST + b"Content-Length: 0\r\nContent-Length: 50\r\n\r\n",
    "two_alike_lengths": POST + b"Content-Length: 4\r\nContent-Length: 4\r\n\r\na 1\n",
    "list_of_lengths": POST + b"Content-Length: 4, 4\r\n\r\na 1\n",
    "signed_length": POST + b"Content-Length: +4\r\n\r\na 1\n",
    "hex_length": POST + b"Content-Length: 0x4\r\n\r\na 1\n",
    "length_with_unit": POST + b"Content-Length: 4k\r\n\r\na 1\n",
    "empty_length": POST + b"Content-Length: \r\n\r\na 1\n",
    "length_beyond_64_bits": POST + b"Content-Length: 18446744073709551620\r\n\r\na 1\n",
    "two_codings": POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "coding_not_last": POST + b"Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
    "coding_twice": POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "coding_with_parameter": POST + b"Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n",
    "coding_with_vt": POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    "coding_folded": POST + b"Transfer-Encoding:\r\n chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    "coding_folded_behind": POST + b"Transfer-Encoding: chunked\r\n , identity\r\n\r\n0\r\n\r\n",
    "length_folded": POST + b"Content-Length:\r\n 4\r\n\r\na 1\n",
    "length_folded_behind": POST + b"Content-Length: 4\r\n 0\r\n\r\na 1\n",
    "chunked_folded": POST + b"Transfer-Encoding:\r\n\tchunked\r\n\r\n",
    "name_folded": POST + b"X-A: b\r\n Transfer-Encoding: chunked\r\nContent-Length : 4\r\n\r\na 1\n",
    "header_folded": b"GET /-/healthy HTTP/1.1\r\n" + HOST + b"X-Forwarded-: root\r\n User\r\n\r\n",
    "header_folded_last": b"GET /-/healthy HTTP/1.1\r\n" + HOST + b"X-A: b\r\n c\r\nX-B: d\r\n\te\r\n f\r\n\r\n",
    "header_folded_behind_blanks": b"GET /-/healthy HTTP/1.1\r\n" + HOST + b"X-:" + 40 * b" " + b"root\r\n User\r\n\r\n",
    "header_folded_far": b"GET /-/healthy HTTP/1.1\r\n" + HOST + b"X-:" + 9000 * b" " + b"root\r\n " + 5000 * b"u" + b"\r\n\r\n",
    "space_before_colon": POST + b"Transfer-Encoding : chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    "tab_before_colon": POST + b"Content-Length\t: 4\r\n\r\na 1\n",
    "name_without_colon": POST + b"Transfer-Encoding chunked\r\nContent-Length: 4\r\n\r\na 1\n",
    "no_name": POST + b": b\r\nContent-Length: 4\r\n\r\na 1\n",
    "nul_in_name": POST + b"Content-Length\x00x: 4\r\n\r\na 1\n",
    "bare_cr_in_value": POST + b"X-A: b\rTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\na 1\n",
    "folded_first": b"POST /api/v1/ingest HTTP/1.1\r\n X-A: b\r\n" + HOST + b"Content-Length: 4\r\n\r\na 1\n",
    "chunked_in_1_0": POST.replace(b"1.1", b"1.0") + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two_hosts": b"GET /-/healthy HTTP/1.1\r\n" + HOST + HOST + b"\r\n",
    "no_host": b"GET /-/healthy HTTP/1.1\r\n\r\n",
    "version_2": b"GET /-/healthy HTTP/2.0\r\n" + HOST + b"\r\n",
    "spaces_in_target": b"GET /-/healthy HTTP/1.1 HTTP/1.1\r\n" + HOST + b"\r\n",
    "chunk_of_no_digits": POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    "chunk_signed": POST + b"Transfer-Encoding: chunked\r\n\r\n-4\r\na 1\n\r\n0\r\n\r\n",
    "chunk_plus": POST + b"Transfer-Encoding: chunked\r\n\r\n+4\r\na 1\n\r\n0\r\n\r\n",
    "chunk_0x": POST + b"Transfer-Encoding: chunked\r\n\r\n0x4\r\na 1\n\r\n0\r\n\r\n",
    "chunk_beyond_64_bits": POST + b"Transfer-Encoding: chunked\r\n\r\n10000000000000004\r\na 1\n\r\n0\r\n\r\n",
    "chunk_longer_than_said": POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\na 1\n\r\n0\r\n\r\n",
    "chunk_space_before": POST + b"Transfer-Encoding: chunked\r\n\r\n 4\r\na 1\n\r\n0\r\n\r\n",
}
# Right, or let pass without harm: what stands behind it is the next request, and the bytes of each are read as one.
TAKEN = {
    "chunk_extension": (POST + b"Transfer-Encoding: chunked\r\n\r\n4;a=b;c=\"d\"\r\na 1\n\r\n0\r\n\r\n", 200),
    "chunk_trailers": (POST + b"Transfer-Encoding: chunked\r\n\r\n4\r\na 1\n\r\n0\r\nContent-Length: 50\r\nHost: evil\r\n\r\n", 200),
    "coding_in_capitals": (POST + b"Transfer-Encoding: CHUNKED\r\n\r\n4\r\na 1\n\r\n0\r\n\r\n", 200),
    "absolute_target": (b"POST http://localhost/api/v1/ingest?name=smuggled HTTP/1.1\r\nHost: elsewhere\r\nContent-Length: 4\r\n\r\na 1\n", 200),
    "leading_zeros": (POST + b"Content-Length: 0004\r\n\r\na 1\n", 200),
    "value_behind_blanks": (b"GET /-/healthy HTTP/1.1\r\n" + HOST + b"X-A:" + 9000 * b" \t" + b"b \t\r\nX-B:\r\nX-C:c\r\n\r\n", 200),
    "body_of_get": (b"GET /-/healthy HTTP/1.1\r\n" + HOST + b"Content-Length: 0\r\n\r\n", 200),
}
# Under TLS the certificate says who is asked (docs/API.md).
TAKEN_IN_THE_CLEAR = {"other_host_for_target": (b"GET http://evil.example/-/healthy HTTP/1.1\r\n" + HOST + b"\r\n", 421)}


def refuse_all(place, verdict):
    """One answer, of 4xx (505: another version), and the end of the connection: no byte behind it was a request."""
    for name, what in REFUSED.items():
        with place.dial() as s:
            say(s, what + SMUGGLED)
            got = hear_all(s, 8)
        # For some libmicrohttpd sends one head twice (docs/API.md).
        heads = [] if got is None else got.split(b"HTTP/1.")[1:]
        statuses = sorted({h[2:5].decode() for h in heads if h[1:2] == b" "})
        good = got is not None and len(statuses) == 1 and (statuses[0][0] == "4" or statuses[0] == "505") and b"smuggled" not in got
        verdict("h1." + name, good, "still open" if got is None else repr(got[:300]))


def take_all(place, verdict):
    for name, (what, want) in (TAKEN | ({} if place.ca else TAKEN_IN_THE_CLEAR)).items():
        with place.dial() as s:
            say(s, what)
            status, body = answer(s)
            say(s, b"GET /-/ready HTTP/1.1\r\n" + HOST + b"\r\n")
            after = answer(s)[0]
        verdict("h1." + name, status == want and (after == 200 or (want >= 400 and after == 0)), f"{status}, then {after}: {body[:200]!r}")


def bombs(place, verdict):
    """What unpacks to more than there may be: 100 MiB in 100 kB, many at once, in the coding of HTTP and in that of the file."""
    zeros = gzip.compress(bytes(100 << 20), 9)
    twice = gzip.compress(zeros, 9)
    for name, head, body in (
        ("coding", b"Content-Encoding: gzip\r\n", zeros),
        ("file", b"", zeros),
        ("both", b"Content-Encoding: gzip\r\n", twice),
        ("members", b"Content-Encoding: gzip\r\n", gzip.compress(b"") * 100000),
    ):
        lines = [place.dial() for _ in range(12)]
        for s in lines:
            say(s, POST + head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        statuses = [answer(s, 30)[0] for s in lines]
        for s in lines:
            s.close()
        verdict(f"h1.bomb_{name}", all(400 <= n < 500 for n in statuses), str(statuses))


LISTS = b"[" + b"[]," * (18 << 20) + b"[]]"


def lists(place, verdict):
    """JSON of which each three bytes would take a hundred of memory, wherever JSON is read."""
    form = b'--b\r\nContent-Disposition: form-data; name="sample_type_config"\r\n\r\n' + b'{"a":' + LISTS + b"}\r\n--b--\r\n"
    for name, target, type_, body in (
        ("types", b"/ingest?name=smuggled", b"multipart/form-data; boundary=b", form),
        ("otlp", b"/v1development/profiles", b"application/json", b'{"dictionary":' + LISTS + b"}"),
        ("push", b"/push.v1.PusherService/Push", b"application/json", b'{"series":' + LISTS + b"}"),
        ("speedscope", b"/api/v1/ingest?format=speedscope", b"application/octet-stream", b'{"profiles":' + LISTS + b"}"),
    ):
        packed = gzip.compress(body, 1)
        lines = [place.dial() for _ in range(6)]
        for s in lines:
            say(s, b"POST " + target + b" HTTP/1.1\r\n" + HOST + b"Content-Type: " + type_ + b"\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed) + packed)
        statuses = [answer(s, 60)[0] for s in lines]
        for s in lines:
            s.close()
        verdict(f"h1.lists_{name}", all(400 <= n < 500 for n in statuses), str(statuses))


class Slow:
    """Heads and bodies that come a byte at a time, and readers of either HTTP that take nothing: many, and all of them ended in time. They
    go on beside other attacks."""

    def __init__(self, place, n):
        self.place, self.n = place, n

    def begin(self):
        self.began = time.monotonic()
        self.heads = [self.place.dial() for _ in range(self.n)]
        self.bodies = [self.place.dial() for _ in range(self.n)]
        self.readers = [self.place.dial(takes=TAKES) for _ in range(self.n)]
        self.http2_readers = [H2(self.place, WIDE_OPEN, takes=TAKES) for _ in range(self.n)]
        for s in self.heads:
            say(s, b"GET /-/healthy HT")
        for s in self.bodies:
            say(s, POST + b"Content-Length: 100000\r\n\r\na")
        for s in self.readers:
            say(s, (b"GET /metrics HTTP/1.1\r\n" + HOST + b"\r\n") * 40)
        for h in self.http2_readers:
            h.send(frame(WINDOW, 0, 0, struct.pack(">I", 1 << 30)))
            for _ in range(90):
                h.ask(request("GET", "/metrics"))

    def drip(self):
        for s in self.heads + self.bodies:
            say(s, b"T")

    def end(self, verdict):
        """Heads have 10 s, bodies 30, an answer 60 and as long again for each MiB: such as these have a third of one at most."""
        readers = [("readers", self.readers, 80), ("http2_readers", [h.s for h in self.http2_readers], 80)]
        for name, lines, most in [("heads", self.heads, 10), ("bodies", self.bodies, 30)] + readers:
            until = self.began + most + 5
            if most == 80:  # who reads on is slow no more: what is there then is the last of it
                time.sleep(max(0, until - time.monotonic()))
            open_ = [s for s in lines if hear_all(s, max(0.5, until - time.monotonic())) is None]
            verdict(f"h1.slow_{name}_end", not open_, f"{len(open_)} of {len(lines)} are open after {time.monotonic() - self.began:.0f} s")
        for s in self.heads + self.bodies + self.readers + [h.s for h in self.http2_readers]:
            s.close()
