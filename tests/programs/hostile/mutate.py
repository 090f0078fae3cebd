# SPDX-License-Identifier: Apache-2.0
# tests/programs/hostile/mutate.py - valid profiles and programs that are a little wrong: the same ones for the same seed
#
# Protobuf is taken apart into its fields, wherever bytes can be read as such, changed there and put together with lengths that
# fit, so that a reader gets past them; now and then with ones that do not. Arrow's and ELF's parts are words in their places.
import gzip
import random
import re
import threading
import time

from lines import H2, answer, request, say

VARINT, I64, BYTES, I32 = 0, 1, 2, 5
ODD = (0, 1, 2, 127, 128, 255, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)


def varint(n):
    out = b""
    while n >= 128:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def read_varint(data, at):
    n = shift = 0
    while at < len(data) and shift < 70:
        n |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return n, at
    raise ValueError


def parse(data, depth=0):
    """[number, wire type, value]..; a message in it is a list of the like. ValueError: it is none."""
    out, at = [], 0
    while at < len(data):
        tag, at = read_varint(data, at)
        kind = tag & 7
        if tag >> 3 == 0 or kind not in (VARINT, I64, BYTES, I32):
            raise ValueError
        if kind == VARINT:
            value, at = read_varint(data, at)
        else:
            n, at = (8, at) if kind == I64 else (4, at) if kind == I32 else read_varint(data, at)
            value, at = data[at : at + n], at + n
            if len(value) < n:
                raise ValueError
        if kind == BYTES and depth < 8 and len(value) > 1:
            try:
                value = parse(value, depth + 1)
            except ValueError:
                pass
        out.append([tag >> 3, kind, value])
    return out


def build(fields, rng, lies):
    out = b""
    for n, kind, value in fields:
        out += varint(n << 3 | kind)
        if isinstance(value, list):
            value = build(value, rng, lies)
        if isinstance(value, int):
            out += varint(value & (1 << 64) - 1) if kind == VARINT else value.to_bytes(16, "little")[: 8 if kind == I64 else 4]
        else:
            lie = kind == BYTES and rng.random() < lies
            out += (varint(rng.choice(ODD) if lie else len(value)) if kind == BYTES else b"") + value
    return out


def all_lists(fields):
    yield fields
    for f in fields:
        if isinstance(f[2], list):
            yield from all_lists(f[2])


def change(fields, rng):
    """One field somewhere."""
    at = rng.choice([v for v in all_lists(fields) if v] or [fields])
    if not at:
        return
    i, how = rng.randrange(len(at)), rng.randrange(7)
    f = at[i]
    if how == 0:
        del at[i]
    elif how == 1:
        at[i:i] = [list(f)] * rng.choice((1, 2, 50))
    elif how == 2:
        f[0] = rng.choice((1, 2, 3, 4, 5, 6, 7, 9, 13, 100, (1 << 29) - 1))
    elif how == 3 and isinstance(f[2], int):
        f[2] = rng.choice(ODD)
    elif how == 4 and isinstance(f[2], bytes):
        f[2] = words(f[2], rng) if f[2] else b"\xff\xfe"
    elif how == 5:
        at[i] = [f[0], rng.choice((VARINT, BYTES)), rng.choice(ODD) if rng.random() < 0.5 else bytes(rng.randrange(40))]
        at[i][1] = VARINT if isinstance(at[i][2], int) else BYTES
    else:
        other = rng.choice(list(all_lists(fields)))
        if other:
            at[i] = [f[0], *rng.choice(other)[1:]]


def protobuf(data, rng):
    fields = parse(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        # A change may have put a list into itself.
        change(fields, rng)
        try:
            data = build(fields, rng, 0.02 if rng.random() < 0.3 else 0)
        except RecursionError:
            return data
        fields = parse_again(data)
    return data if rng.random() < 0.9 else data[: rng.randrange(len(data) + 1)]


def parse_again(data):
    try:
        return parse(data)
    except ValueError:
        return [[1, BYTES, data]]


def words(data, rng):
    """A word or a few of them, the first bytes more often; or a piece more, or less."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        width = rng.choice((1, 2, 4, 8))
        most = min(len(out), 128) if rng.random() < 0.4 else len(out)
        at = rng.randrange(max(most // width, 1)) * width
        out[at : at + width] = (rng.choice(ODD) & (1 << 8 * width) - 1).to_bytes(width, "little")
    cut = rng.randrange(12)
    if cut == 0:
        out = out[: rng.randrange(len(out) + 1)]
    elif cut == 1:
        at = rng.randrange(len(out))
        out[at:at] = out[at : at + rng.randrange(64)]
    return bytes(out)


class Sender(threading.Thread):
    """One connection, as long as it is kept; answers other than 2xx and 4xx are faults, and refusals without a sentence."""

    def __init__(self, place, head, bodies):
        super().__init__(daemon=True)
        self.place, self.head, self.bodies = place, head, bodies
        self.faults, self.statuses, self.slowest = [], {}, (0, 0)

    def run(self):
        s = None
        for i, body in self.bodies:
            began = time.monotonic()
            for _ in range(2):
                s = s or self.place.dial()
                say(s, self.head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
                status, text = answer(s, 20)
                if status:
                    break
                # It closed behind the answer before this one; or for this one.
                s.close()
                s = None
            self.slowest = max(self.slowest, (time.monotonic() - began, i))
            if status == 200 and text[:1] != b"{" and b"grpc-status" in text:
                status = 1000 + int(text.split(b"grpc-status: ")[1].split(b"\r")[0])
            self.statuses[status] = self.statuses.get(status, 0) + 1
            good = 200 <= status < 500 or status in GRPC_GOOD
            if not good or status not in (200, 201, 1000) and not SENTENCE.search(text):
                self.faults.append(f"the {i}th: {status} {text[:200]!r}")
        if s:
            s.close()


# A few words: of gRPC its message, of a problem its detail, of OTLP the second field of google.rpc.Status.
SENTENCE = re.compile(rb"(grpc-message: |\"detail\":\"|\x12..?)[A-Za-z][ -~]*( [ -~]+){2}", re.DOTALL)
# OK, INVALID_ARGUMENT, RESOURCE_EXHAUSTED, UNIMPLEMENTED
GRPC_GOOD = (1000, 1003, 1008, 1012)


def requests_of(kind, valid, n, rng):
    for i in range(n):
        data = rng.choice(valid)
        if kind == "elf":
            yield i, words(data, rng)
        elif kind in ("batch", "batches"):
            # A sum fits none that is changed.
            yield i, words(data, rng) if i % 20 else data
        elif kind == "arrow":
            # The request is a field; what is in it an IPC stream.
            body = words(data[4:], rng)
            body = data[:4] + body if rng.random() < 0.2 else b"\x0a" + varint(len(body)) + body
            yield i, b"\0" + len(body).to_bytes(4, "big") + body
        else:
            body = protobuf(data, rng)
            yield i, gzip.compress(body, 1) if kind == "pprof" and i % 4 == 0 else body


def send(place, verdict, kind, head, valid, n, seed=1):
    """n of them, over four connections."""
    bodies = list(requests_of(kind, valid, n, random.Random(seed)))
    senders = [Sender(place, head, bodies[i::4]) for i in range(4)]
    for t in senders:
        t.start()
    for t in senders:
        t.join()
    statuses = {}
    for t in senders:
        for k, v in t.statuses.items():
            statuses[k] = statuses.get(k, 0) + v
    faults = [f for t in senders for f in t.faults]
    # Some must get through, and some must not: else nothing was tried.
    refused = n - sum(v for k, v in statuses.items() if k in (200, 1000))
    verdict(f"mutated.{kind}", not faults and 0 < refused < n, f"{statuses} {faults[:3]}")
    print(f"# {kind}: {statuses}, the slowest (s, number): {max(t.slowest for t in senders)}", flush=True)


def nested(*fields):
    """A message of texts, bytes and messages: (number, what stands there)."""
    return b"".join(varint(n << 3 | 2) + varint(len(v)) + v for n, v in fields)


def messages(pprof):
    """Valid ones, by kind: what is called, and the messages of the call, one after the other. Each is of a profile, or a file's."""
    label = nested((1, b"service_name"), (2, b"hostile"))
    raw = nested((2, nested((1, nested((1, label))), (2, nested((1, pprof))))))
    push = nested((1, nested((1, nested((1, b"__name__"), (2, b"cpu"))), (1, label), (2, nested((1, pprof))))))
    info = nested((1, nested((1, b"abcdef0123456789"), (2, b"no-such-upload"))))
    parca = "/parca.profilestore.v1alpha1.ProfileStoreService/"
    return {
        "writeraw": (parca + "WriteRaw", [raw]),
        "writearrow": (parca + "WriteArrow", None),
        "push.v1": ("/push.v1.PusherService/Push", [push]),
        "upload": ("/parca.debuginfo.v1alpha1.DebuginfoService/Upload", [info, nested((2, pprof))]),
    }


def status_of(got):
    """gRPC's, and whether it comes with a sentence, or is a yes."""
    at = (got or b"").find(b"grpc-status: ")
    if at < 0:
        return -1, False
    status = int(got[at + 13 :].split(b"\n")[0])
    return status, status == 0 or b"grpc-message: " in got


# OK, INVALID_ARGUMENT, NOT_FOUND, RESOURCE_EXHAUSTED, FAILED_PRECONDITION, UNIMPLEMENTED
CALL_GOOD = (0, 3, 5, 8, 9, 12)
CALLS_A_CONNECTION = 20


def call(place, verdict, kind, method, valid, n, seed=1):
    """n calls of gRPC over HTTP/2, one after the other; of a stream of messages each is a little wrong, or none is."""
    rng, statuses, faults, h = random.Random(seed), {}, [], None
    block = request("POST", method, ("content-type", "application/grpc"), ("te", "trailers"))
    for i in range(n):
        if i % CALLS_A_CONNECTION == 0:
            if h:
                h.close()
            h = H2(place)
            h.settle()
        change_ = (lambda m: words(m, rng)) if kind == "writearrow" else (lambda m: protobuf(m, rng))
        sent = [m if i % 10 == 0 else change_(m) for m in rng.choice(valid)]
        body = b"".join(b"\0" + len(m).to_bytes(4, "big") + m for m in sent)
        got = h.texts(h.ask(block, body), 20)
        status, told = status_of(got)
        statuses[status] = statuses.get(status, 0) + 1
        if status not in CALL_GOOD or not told:
            faults.append(f"the {i}th: {got[:200] if got else got!r}")
            h.close()
            h = H2(place)
            h.settle()
    h.close()
    refused = n - statuses.get(0, 0)
    # What is uploaded was never asked for.
    verdict(f"called.{kind}", not faults and 0 < refused and (kind == "upload" or refused < n), f"{statuses} {faults[:3]}")
    print(f"# calls of {kind}: {statuses}", flush=True)
