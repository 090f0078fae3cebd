# SPDX-License-Identifier: Apache-2.0
# tests/lib/hostile_pprof.py - servers of profiles that do what no scraper should be harmed by, by path
#
#	hostile_pprof.py CERT KEY CA EXPIRED_CERT EXPIRED_KEY
#
# Prints the address in the clear, the one with TLS, and the one with the certificate that has expired. /good is a heap;
# /basic, /bearer, /own_type, /oauth2, /header and /mutual want a name and password, a token, one of another type, one that POST
# /token gave, a header, a certificate by CA: 401 without; the others say what they do. It is a proxy to elsewhere.invalid, too.
# GET /asked: how often each was asked for.
import base64, gzip, http.server, ssl, sys, threading, time, zlib

HEAP = b"heap profile: 1: 100 [ 1: 100] @ heapprofile\n1: 100 [ 1: 100] @ 0x401136\n"
asked = {}
pack = zlib.compressobj(9, zlib.DEFLATED, 31)
large = zlib.compressobj(9, zlib.DEFLATED, 31)
LARGE = b"".join(large.compress(bytes(1 << 20)) for _ in range(40)) + large.flush(zlib.Z_SYNC_FLUSH)
BOMB = b"".join(pack.compress(bytes(1 << 20)) for _ in range(64)) + pack.flush()


class Served(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def head(self, status, length, **more):
        self.send_response(status)
        if length is not None:
            self.send_header("Content-Length", str(length))
        for name, value in more.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def body(self, data, status=200, **more):
        self.head(status, len(data), **more)
        self.wfile.write(data)

    def wants(self, name, value):
        if self.headers.get(name) == value:
            self.body(HEAP)
        else:
            self.body(b"who are you?\n", 401, WWW_Authenticate="Basic")

    def do_POST(self):
        asks = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/token" and b"grant_type=client_credentials" in asks and b"client_secret=secret-client" in asks:
            self.body(b'{"access_token": "secret-given", "token_type": "Bearer", "expires_in": 60}', Content_Type="application/json")
        else:
            self.body(b"{}", 401)

    def do_GET(self):
        path = self.path.split("?")[0]
        if path.startswith("http://elsewhere.invalid/"):
            path = "/proxied" + path[len("http://elsewhere.invalid"):]
        asked[path] = asked.get(path, 0) + 1
        what = path.strip("/").replace("/", "_")
        self.close_connection = what not in ("good", "basic", "bearer", "own_type", "oauth2", "header", "mutual")
        try:
            getattr(self, "on_" + what, self.on_absent)()
        except OSError:
            pass

    def on_absent(self):
        self.body(b"nothing here\n", 404)

    def on_good(self):
        self.body(HEAP)

    def on_hanging(self):
        time.sleep(30)

    def on_slow(self):
        self.head(200, 1000)
        for _ in range(30):
            self.wfile.write(b"h")
            time.sleep(1)

    def on_endless(self):
        self.head(200, None)
        while True:
            self.wfile.write(HEAP * 1000)

    def on_endless_500(self):
        self.head(500, None)
        while True:
            self.wfile.write(b"the disk is full " * 1000)

    def on_truncated(self):
        self.head(200, 10 * len(HEAP))
        self.wfile.write(HEAP)

    def on_huge(self):
        self.head(200, 1 << 40)
        while True:
            self.wfile.write(b"x" * 65536)

    def on_bomb(self):
        self.body(BOMB, Content_Encoding="gzip")

    def on_bomb_inside(self):
        self.body(BOMB)

    def on_html(self):
        self.body(b"<html><body>Please log in</body></html>", Content_Type="text/html")

    def on_empty(self):
        self.body(b"")

    def on_cut_gzip(self):
        self.body(gzip.compress(HEAP * 100)[:-20])

    def on_broken(self):
        self.body(b"the disk is full\nand more\n", 503)

    def on_loop(self):
        self.head(302, 0, Location="/loop")

    def on_garbage(self):
        self.wfile.write(b"\x00\x01\x02 this is not HTTP\r\n\r\n")

    def on_headers(self):
        self.wfile.write(b"HTTP/1.1 200 OK\r\n" + b"X-Header: and one more\r\n" * 100000 + b"\r\n")

    def on_basic(self):
        self.wants("Authorization", "Basic " + base64.b64encode(b"user:secret-word").decode())

    def on_bearer(self):
        self.wants("Authorization", "Bearer secret-token")

    def on_own_type(self):
        self.wants("Authorization", "Token secret-token")

    def on_oauth2(self):
        self.wants("Authorization", "Bearer secret-given")

    def on_proxied_good(self):
        self.body(HEAP)

    def on_heavy(self):
        # 40 MiB, as they are unpacked, and no end.
        self.head(200, None, Content_Encoding="gzip")
        self.wfile.write(LARGE)
        self.wfile.flush()
        time.sleep(30)

    def on_header(self):
        self.wants("X-Scrape-Token", "secret-header")

    def on_mutual(self):
        if isinstance(self.connection, ssl.SSLSocket) and self.connection.getpeercert():
            self.body(HEAP)
        else:
            self.body(b"who are you?\n", 401)

    def on_asked(self):
        self.body("".join(f"{k} {v}\n" for k, v in sorted(asked.items())).encode())


for status in (301, 302, 303, 307, 308):
    def on_moved(self, status=status):
        self.head(status, 0, Location="https://%s/good" % secure_at)
    setattr(Served, "on_moved_%d" % status, on_moved)



class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128


def secured(cert, key):
    server = Server(("127.0.0.1", 0), Served)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    context.load_verify_locations(sys.argv[3])
    context.verify_mode = ssl.CERT_OPTIONAL
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.handle_error = lambda *_: None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return "127.0.0.1:%d" % server.server_address[1]


plain = Server(("127.0.0.1", 0), Served)
secure_at = secured(sys.argv[1], sys.argv[2])
print("127.0.0.1:%d %s %s" % (plain.server_address[1], secure_at, secured(sys.argv[4], sys.argv[5])), flush=True)
plain.serve_forever()
