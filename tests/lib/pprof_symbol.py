# SPDX-License-Identifier: Apache-2.0
# tests/lib/pprof_symbol.py - a program that serves its heap as gperftools' do, and names of its functions at /pprof/symbol
#
#	pprof_symbol.py FILE
#
# Prints HOST:PORT. Each heap that is asked for has 100 bytes more from one place. What it does is FILE's word, read at
# each request: "names"; "fails", "absent", "empty" and "silent" are of /pprof/symbol; "moved" is a program that began anew
# at other addresses; with "still" in it the heap does not grow. GET /counts: heaps, questions for names, bytes allocated,
# those of the program before. /pprof/slow is a profile that takes two seconds; GET /slow: how many were asked for, and how
# many of them nobody waited for.
import http.server, select, sys, time

FUNCTIONS = {0x1100: "main", 0x1200: "_ZN5cache4fillEi", 0x1300: "operator new(unsigned long)"}
SLOW = "heap profile: 1: 1 [ 1: 1] @ heapprofile\n1: 1 [ 1: 1] @ 0x1310\n"
slow = {"asked": 0, "left": 0}
counts = {"heaps": 0, "questions": 0, "bytes": 1000, "began": 0}


def word():
    return open(sys.argv[1]).read().split()


def base():
    return 0x600000000000 if "moved" in word() else 0x555555554000


def heap():
    if "moved" in word() and not counts["began"]:
        counts.update(began=counts["bytes"], bytes=0)
    if "still" not in word():
        counts["bytes"] += 100
    counts["heaps"] += 1
    n, b = counts["bytes"], base()
    return (f"heap profile: 1: 100 [ {n // 100}: {n}] @ heapprofile\n"
            f"1: 100 [ {n // 100}: {n}] @ {b + 0x1310:#x} {b + 0x1220:#x} {b + 0x1110:#x}\n"
            "MAPPED_LIBRARIES:\n"
            f"{b + 0x1000:x}-{b + 0x2000:x} r-xp 00001000 08:01 7 /usr/bin/cached\n")


def name(address):
    at = address - base()
    return max(((f, n) for f, n in FUNCTIONS.items() if f <= at < f + 0x100), default=(0, "??"))[1]


class Served(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, status, text):
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        if self.path == "/pprof/heap":
            self.answer(200, heap())
        elif self.path == "/pprof/symbol":
            self.answer(200, "num_symbols: 1\n")
        elif self.path == "/pprof/slow":
            slow["asked"] += 1
            time.sleep(2)
            # Whoever left has closed the connection: there is something to be read, its end.
            slow["left"] += bool(select.select([self.connection], [], [], 0)[0])
            self.answer(200, SLOW)
        elif self.path == "/slow":
            self.answer(200, "{asked} {left}\n".format(**slow))
        elif self.path == "/counts":
            self.answer(200, "{heaps} {questions} {bytes} {began}\n".format(**counts))
        else:
            self.answer(404, "nothing here\n")

    def do_POST(self):
        asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
        counts["questions"] += 1
        if "silent" in word():
            time.sleep(30)
        if "absent" in word():
            self.answer(404, "not found\n")
        elif "fails" in word():
            self.answer(500, "the symbol table is being read\n")
        elif "empty" in word():
            self.answer(200, "num_symbols: 0\n")
        else:
            self.answer(200, "".join(f"{a}\t{name(int(a, 16))}\n" for a in asked.split("+")))


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Served)
print("127.0.0.1:%d" % server.server_address[1], flush=True)
server.serve_forever()
