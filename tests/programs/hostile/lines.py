# SPDX-License-Identifier: Apache-2.0
# tests/programs/hostile/lines.py - connections on which anything may be said: bytes, frames of HTTP/2 (RFC 9113), HPACK (RFC 7541)
#
# Nothing here knows what is right: whoever attacks says what goes out, and reads what comes back. Each wait has an end.
import ctypes
import socket
import ssl
import struct
import time

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
END_STREAM, END_HEADERS, ACK = 1, 4, 1
WAIT_S = 10


class Place:
    """Where Decima is, and how it is spoken to."""

    def __init__(self, port, ca):
        self.port, self.ca = port, ca

    def dial(self, protocol="http/1.1", timeout=WAIT_S, takes=0):
        """takes: about so many bytes, while nobody reads them; 0: as many as usual."""
        s = socket.socket()
        if takes:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, takes)
        s.settimeout(timeout)
        s.connect(("127.0.0.1", self.port))
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not self.ca:
            return s
        c = ssl.create_default_context(cafile=self.ca)
        c.set_alpn_protocols([protocol])
        return c.wrap_socket(s, server_hostname="localhost")


def say(s, data):
    """False: the other end has closed before it took all."""
    try:
        s.sendall(data)
    except (OSError, ssl.SSLError):
        return False
    return True


def hear(s, n=1 << 16):
    """What comes; b"" at the end, and when it does not come in time, which raises."""
    try:
        return s.recv(n)
    except socket.timeout:
        raise
    except (OSError, ssl.SSLError):
        return b""


def hear_all(s, wait_s=WAIT_S):
    """Until the other end closes; None: it does not."""
    s.settimeout(wait_s)
    got = b""
    try:
        while True:
            piece = hear(s)
            if not piece:
                return got
            got += piece
    except socket.timeout:
        return None


def answer(s, wait_s=WAIT_S):
    """One answer of HTTP/1: its status and body, of the length that its head says; (0, b"") when there is none, (-1, b"") when it takes too long."""
    s.settimeout(wait_s)
    got = b""
    try:
        while b"\r\n\r\n" not in got:
            piece = hear(s)
            if not piece:
                return 0, b""
            got += piece
        head, _, body = got.partition(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        if status == 100:
            return answer(s, wait_s)
        length = 0
        for line in head.split(b"\r\n")[1:]:
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        while len(body) < length:
            piece = hear(s)
            if not piece:
                break
            body += piece
        return status, body
    except socket.timeout:
        return -1, b""


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def number(n, bits, first):
    """An integer of HPACK (5.1) behind the upper bits of its first byte."""
    most = (1 << bits) - 1
    if n < most:
        return bytes([first | n])
    out, n = bytes([first | most]), n - most
    while n >= 128:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(name, value, first=0):
    """A literal without indexing; first 0x40: with."""
    name, value = name.encode() if isinstance(name, str) else name, value.encode() if isinstance(value, str) else value
    return bytes([first]) + number(len(name), 7, 0) + name + number(len(value), 7, 0) + value


def fields(*pairs):
    return b"".join(field(n, v) for n, v in pairs)


def request(method, path, *pairs):
    return fields((":method", method), (":scheme", "http"), (":path", path), (":authority", "localhost"), *pairs)


def head_frames(stream, block, flags=END_STREAM):
    """HEADERS, and CONTINUATION as far as it needs them."""
    out, at, kind = b"", 0, HEADERS
    while True:
        piece = block[at : at + 16000]
        at += len(piece)
        out += frame(kind, (flags if kind == HEADERS else 0) | (END_HEADERS if at >= len(block) else 0), stream, piece)
        if at >= len(block):
            return out
        kind = CONTINUATION


class Field(ctypes.Structure):
    """nghttp2_nv"""

    _fields_ = [
        ("name", ctypes.c_void_p),
        ("value", ctypes.c_void_p),
        ("n_name", ctypes.c_size_t),
        ("n_value", ctypes.c_size_t),
        ("flags", ctypes.c_uint8),
    ]


class Inflater:
    """Heads of answers, by the library that Decima itself needs: Huffman and the dynamic table are no affair of ours."""

    EMIT, FINAL = 2, 1

    def __init__(self):
        self.lib = ctypes.CDLL("libnghttp2.so.14")
        self.lib.nghttp2_hd_inflate_hd2.restype = ctypes.c_ssize_t
        self.lib.nghttp2_hd_inflate_hd2.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_size_t, ctypes.c_int]
        self.lib.nghttp2_hd_inflate_end_headers.argtypes = self.lib.nghttp2_hd_inflate_del.argtypes = [ctypes.c_void_p]
        self.inflater = ctypes.c_void_p()
        self.lib.nghttp2_hd_inflate_new(ctypes.byref(self.inflater))

    def close(self):
        if self.inflater:
            self.lib.nghttp2_hd_inflate_del(self.inflater)
        self.inflater = None

    def text(self, block):
        """ "name: value\n" each"""
        out, field_, flags = b"", Field(), ctypes.c_int()
        kept = ctypes.create_string_buffer(block, len(block) + 1)
        at, left = ctypes.addressof(kept), len(block)
        while True:
            n = self.lib.nghttp2_hd_inflate_hd2(self.inflater, ctypes.byref(field_), ctypes.byref(flags), at, left, 1)
            if n < 0:
                raise ValueError("a head that is not HPACK's")
            at, left = at + n, left - n
            if flags.value & self.EMIT:
                out += ctypes.string_at(field_.name, field_.n_name) + b": " + ctypes.string_at(field_.value, field_.n_value) + b"\n"
            if flags.value & self.FINAL:
                self.lib.nghttp2_hd_inflate_end_headers(self.inflater)
                return out
            if not flags.value & self.EMIT and left == 0:
                return out


class H2:
    """A connection of HTTP/2 that has said the preface and its settings."""

    def __init__(self, place, settings=(), timeout=WAIT_S, takes=0):
        self.s = place.dial("h2", timeout, takes)
        self.got = b""
        self.next_id = 1
        self.inflater = Inflater()
        self.send(PREFACE + frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", k, v) for k, v in settings)))

    def send(self, data):
        return say(self.s, data)

    def settle(self):
        """What the server's windows are is known, and acknowledged: from here on a request has 1 MiB."""
        for f in self.frames():
            if f is None or (f[0] == SETTINGS and not f[1] & ACK):
                break
        self.send(frame(SETTINGS, ACK))

    def new_id(self):
        self.next_id += 2
        return self.next_id - 2

    def ask(self, block, body=None, ends=True):
        """The request's number; a body that does not end leaves it half open."""
        stream = self.new_id()
        self.send(head_frames(stream, block, END_STREAM if body is None and ends else 0))
        if body is not None:
            self.give(stream, body, ends)
        return stream

    def give(self, stream, body, ends=True):
        """In frames, within a window of 1 MiB: more has to be waited for, and is not here."""
        for at in range(0, max(len(body), 1), 16384):
            last = at + 16384 >= len(body)
            if not self.send(frame(DATA, END_STREAM if ends and last else 0, stream, body[at : at + 16384])):
                return

    def frames(self, wait_s=WAIT_S):
        """What comes, frame by frame, until the other end closes or nothing has come for that long: then None is the last."""
        end = time.monotonic() + wait_s
        while True:
            while len(self.got) >= 9:
                n = int.from_bytes(self.got[:3], "big")
                if len(self.got) < 9 + n:
                    break
                kind, flags, stream = self.got[3], self.got[4], int.from_bytes(self.got[5:9], "big")
                payload, self.got = self.got[9 : 9 + n], self.got[9 + n :]
                yield kind, flags, stream, payload
            left = end - time.monotonic()
            if left <= 0:
                yield None
                return
            self.s.settimeout(left)
            try:
                piece = hear(self.s)
            except socket.timeout:
                yield None
                return
            if not piece:
                return
            self.got += piece

    def goodbye(self, wait_s=WAIT_S):
        """The code of its GOAWAY; -1: closed without one, None: still open."""
        code = -1
        for f in self.frames(wait_s):
            if f is None:
                return None
            if f[0] == GOAWAY:
                code = int.from_bytes(f[3][4:8], "big")
        return code

    def texts(self, stream, wait_s=WAIT_S):
        """All that is said on a stream until it ends, heads as lines and data, with "reset:N" or "goaway:N"; None: it does not end."""
        got, block = b"", b""
        for f in self.frames(wait_s):
            if f is None:
                return None
            kind, flags, at, payload = f
            if kind == GOAWAY and int.from_bytes(payload[4:8], "big"):
                return b"goaway:%d" % int.from_bytes(payload[4:8], "big")
            if at != stream:
                if kind == HEADERS:
                    self.inflater.text(payload)
                continue
            if kind == RST:
                return got + b"reset:%d" % int.from_bytes(payload, "big")
            if kind in (HEADERS, CONTINUATION):
                block += payload
                if flags & END_HEADERS:
                    got, block = got + self.inflater.text(block), b""
            elif kind == DATA:
                got += payload
                self.send(frame(WINDOW, 0, 0, struct.pack(">I", len(payload))) if payload else b"")
            if kind in (HEADERS, DATA) and flags & END_STREAM:
                return got
        return got + b"closed"

    def close(self):
        self.inflater.close()
        self.s.close()
