# SPDX-License-Identifier: Apache-2.0
"""tests/lib/recorded.py - what a real server of HTTP answered, recorded, and answered again

    recorded.py record UPSTREAM FILE   a proxy before http(s)://HOST:PORT or unix:/SOCKET that writes FILE when it ends
    recorded.py record UPSTREAM FILE NAME=VALUE.. NAME+SECONDS..   the same: who asks with such a parameter is answered as if he
                                       had asked for that value, and the first time of each path so much later
    recorded.py replay FILE            a server that answers as the file says
    recorded.py replay FILE PEM TOKEN  the same over TLS, with certificate and key of a file, for who says the token
    recorded.py replay FILE PEM TOKEN CA   for who shows a certificate by that authority besides; no TOKEN: ""
    recorded.py replay FILE "" TOKEN   for who says the token, without TLS
    recorded.py replay FILE unix:/SOCKET   on a socket, which it makes
    recorded.py begun FILE             as it was when the record of a Kubernetes began, and what seldom is written there beside
                                       it (annotated()): watches tell nothing. Lists may be asked for otherwise than they
                                       were, as Prometheus' discovery does

Either prints its own HOST:PORT and serves until it is told to end (SIGTERM). Requests are for /JOB/PATH; the server that is
recorded is asked for /PATH. FILE is JSON: a list of exchanges in the order in which they began, {"path", "status", "headers",
"body", "ended"}; a body that came in pieces over time (a watch) is a list of them; status 0 is a question that was still open
at the end. A path that was asked several times is answered in that order, and then as the last time; of answers that follow each other
and are the same the first is kept. What had not ended when the record did stays open, and so does a blocking
query of Consul's behind an index that was told.
"""
import http.client
import http.server
import json
import signal
import socket
import socketserver
import ssl
import sys
import threading
import time
import urllib.parse

KEPT = ("content-type", "x-consul-index", "x-consul-effective-consistency")


class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=600)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def upstream(where):
    scheme, rest = where.split(":", 1)
    if scheme == "unix":
        return Unix(rest)
    rest = rest.strip("/")
    if scheme == "https":
        return http.client.HTTPSConnection(rest, timeout=600, context=ssl._create_unverified_context())
    return http.client.HTTPConnection(rest, timeout=600)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *a):
        pass

    def piece(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def begin(self, status, headers, length):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if length is None:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def stay(self):
        """Until the other side goes."""
        self.connection.settimeout(600)
        try:
            self.connection.recv(1)
        except OSError:
            pass
        self.close_connection = True


class Recorder(Handler):
    def do_GET(self):
        entry = {"path": self.path, "status": 0, "headers": {}, "body": "", "ended": False}
        with self.server.lock:
            self.server.exchanges.append(entry)
        try:
            self.relay(entry)
        except OSError:
            self.close_connection = True
            if not entry["status"]:
                with self.server.lock:
                    self.server.exchanges.remove(entry)

    def linger(self):
        """As long as is wanted, before the first question of a path with such a parameter."""
        rest, _, query = self.path.partition("?")
        for name, seconds in self.server.late.items():
            with self.server.lock:
                if name + "=" not in query or (rest, name) in self.server.lingered:
                    continue
                self.server.lingered.add((rest, name))
            time.sleep(seconds)

    def relay(self, entry):
        c = upstream(self.server.upstream)
        skip = ("host", "connection", "accept-encoding")
        self.linger()
        c.request("GET", altered("/" + self.path.split("/", 2)[2], self.server.asked),
                  headers={k: v for k, v in self.headers.items() if k.lower() not in skip})
        r = c.getresponse()
        entry["headers"] = {k.lower(): v for k, v in r.getheaders() if k.lower() in KEPT}
        if "watch=" not in self.path or r.status != 200:
            body = r.read()
            entry.update(status=r.status, body=body.decode(), ended=True)
            self.begin(r.status, entry["headers"], len(body))
            self.wfile.write(body)
            return
        entry.update(status=r.status, body=[])
        self.begin(r.status, entry["headers"], None)
        try:
            while line := r.readline():
                entry["body"].append(line.decode())
                self.piece(line)
        except http.client.HTTPException:
            pass
        entry["ended"] = True
        self.piece(b"")


def altered(path, asked):
    """The path, with those of its parameters in place of which others are asked for."""
    def one(part):
        name, equals, _ = part.partition("=")
        return name + equals + asked.get(name, part[len(name + equals):])
    rest, mark, query = path.partition("?")
    return rest + mark + "&".join(map(one, query.split("&"))) if mark else path


def without_index(path):
    """The path of a blocking query of Consul's without the index, and the index."""
    rest, found, index = path.partition("&index=")
    index, _, more = index.partition("&")
    return (rest + "&" + more, index) if found else None


def told(exchanges):
    """What indices were told, for which question: who asks what is newer than one of them may have to wait."""
    asked = [(without_index(e["path"]) or (e["path"], ""), e["headers"].get("x-consul-index")) for e in exchanges]
    return {(path, index) for (path, _), index in asked if index}


class Replayer(Handler):
    def do_GET(self):
        told = (self.headers.get("Authorization", "").removeprefix("Bearer "), self.headers.get("X-Consul-Token"))
        if self.server.token and self.server.token not in told:
            self.begin(401, {}, 0)
            return
        with self.server.lock:
            turns = self.server.turns.get(self.path)
            if turns is not None:
                spent = turns["next"] >= len(turns["all"])
                entry = turns["all"][min(turns["next"], len(turns["all"]) - 1)]
                turns["next"] += 1
        if turns is None and without_index(self.path) in self.server.told:
            return self.stay()
        if turns is None:
            print("recorded: not in the record: " + self.path, file=sys.stderr, flush=True)
            entry = {"status": 404, "headers": {}, "body": "nobody asked this of the server that was recorded"}
        elif not entry["status"] or (spent and not isinstance(entry["body"], str)):
            return self.stay()
        if isinstance(entry["body"], str):
            body = entry["body"].encode()
            self.begin(entry["status"], entry["headers"], len(body))
            self.wfile.write(body)
            return
        self.begin(entry["status"], entry["headers"], None)
        for line in entry["body"]:
            self.piece(line.encode())
        if not entry["ended"]:
            return self.stay()
        self.piece(b"")


def annotated(path, body):
    """A list of objects with annotations that people rarely write there, and the topology that older slices have."""
    kind = path.rpartition("/")[2]
    if kind not in ("endpoints", "endpointslices", "ingresses"):
        return body
    objects = json.loads(body)
    for i, o in enumerate(objects["items"]):
        o["metadata"].setdefault("annotations", {})["example.com/of-" + kind] = "number %d" % i
        for k, e in enumerate(o.get("endpoints") or []):
            e["deprecatedTopology"] = {"kubernetes.io/hostname": "host-%d" % k, "example.com/rack": "r1"}
    return json.dumps(objects)


class Beginning(Handler):
    """Kubernetes' lists by path and selectors, whatever else is asked of them."""

    @staticmethod
    def key(url):
        path, _, query = url.partition("?")
        asked = urllib.parse.parse_qs(query)
        return path, tuple(asked.get(k, [""])[0] for k in ("labelSelector", "fieldSelector")), "watch" in asked

    def do_GET(self):
        path, selectors, is_watch = self.key(self.path)
        if is_watch:
            # Who wants the beginning in a watch is told to list.
            self.begin(400 if "sendInitialEvents" in self.path else 200, {"content-type": "application/json"}, None)
            return self.stay() if "sendInitialEvents" not in self.path else self.piece(b"")
        entry = next((e for e in self.server.exchanges if self.key(e["path"]) == (path, selectors, False)), None)
        if not entry:
            print("recorded: not in the record: " + self.path, file=sys.stderr, flush=True)
        body = annotated(path, entry["body"]).encode() if entry and entry["status"] == 200 else b""
        self.begin(entry["status"] if entry else 404, entry["headers"] if entry else {}, len(body))
        self.wfile.write(body)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        """Whoever asked may be gone before it is answered."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class UnixServer(Server):
    address_family = socket.AF_UNIX

    def server_bind(self):
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address, 0

    def get_request(self):
        return self.socket.accept()[0], ("a socket", 0)


def ordered(v):
    if isinstance(v, list):
        return sorted(map(ordered, v), key=json.dumps)
    return {k: ordered(v[k]) for k in sorted(v) if k != "Status"} if isinstance(v, dict) else v


def essence(e):
    """What two answers have in common that say the same: Docker's lists have no order, and say how long a container runs."""
    try:
        return dict(e, body=ordered(json.loads(e["body"])))
    except (TypeError, ValueError):
        return e


def lean(e):
    """Without what a server says of the machine that it is on."""
    what = {"/v1/agent/self": ("Config",), "/version": ("Version", "ApiVersion", "MinAPIVersion")}
    for end, keys in what.items():
        if e["status"] == 200 and e["path"].partition("?")[0].endswith(end):
            body = json.loads(e["body"])
            return dict(e, body=json.dumps({k: body[k] for k in keys}))
    return e


def without_repeats(exchanges):
    last, kept = {}, []
    for e in map(lean, exchanges):
        now = essence(e)
        if e["ended"] and now == last.get(e["path"]):
            continue
        last[e["path"]] = now
        kept.append(e)
    return kept


def main():
    what, *rest = sys.argv[1:]
    if rest[-1].startswith("unix:") and what == "replay":
        s = UnixServer(rest.pop()[5:], Replayer)
    else:
        s = Server(("127.0.0.1", 0), {"record": Recorder, "replay": Replayer, "begun": Beginning}[what])
    s.lock = threading.Lock()
    if what == "record":
        s.upstream, file, *others = rest
        s.exchanges = []
        s.asked = dict(o.split("=") for o in others if "=" in o)
        s.late = {name: int(seconds) for name, seconds in (o.split("+") for o in others if "+" in o)}
        s.lingered = set()
    else:
        s.turns = {}
        s.token = rest[2] if len(rest) > 1 else ""
        if len(rest) > 1 and rest[1]:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(rest[1])
            if len(rest) > 3:
                context.verify_mode = ssl.CERT_REQUIRED
                context.load_verify_locations(rest[3])
            s.socket = context.wrap_socket(s.socket, server_side=True)
        s.exchanges = exchanges = json.load(open(rest[0]))
        s.told = told(exchanges)
        for e in exchanges:
            s.turns.setdefault(e["path"], {"next": 0, "all": []})["all"].append(e)
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *a: ended.set())
    threading.Thread(target=s.serve_forever, daemon=True).start()
    print("%s:%d" % s.server_address if isinstance(s.server_address, tuple) else s.server_address, flush=True)
    while not ended.wait(0.2):
        pass
    if what == "record":
        with s.lock:
            json.dump(without_repeats(s.exchanges), open(file, "w"), indent=0)


main()
