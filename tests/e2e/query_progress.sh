#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# runs beside others
# tests/e2e/query_progress.sh - who looks on at a terminal sees how far a question has come, and nobody else
set -u
. "$top_srcdir/tests/e2e/lib.sh"

command -v script >/dev/null || skip_all "script (bsdutils) is missing"
script -q -c true /dev/null </dev/null >/dev/null || skip_all "there are no pseudo terminals here"

# on_terminal COMMAND..: its screen is $dir/screen
on_terminal() {
	: >"$dir/screen"
	timeout 120 script -q -f -c "$*" "$dir/screen" </dev/null >/dev/null 2>&1 &
	terminal=$!
}
shown() { grep -aqF "$1" "$dir/screen"; }
# ends NAME ANSWER: the line has gone before the answer came
ends() {
	wait $terminal
	tr '\r\033' '<^' <"$dir/screen" >"$dir/seen"
	if grep -qF "Ctrl-C ends it<^[K$2" "$dir/seen"; then ok "$1"; else not_ok "$1" "$(tail -n 3 "$dir/seen")"; fi
}

printf 'storage: { memory: {} }\n' >"$dir/decima.yaml"
daemon_begin start -c "$dir/decima.yaml"
kill -STOP "$daemon"
on_terminal "'$decima' query types --url 'unix:$dir/sock'"
wait_for 60 shown 'decima query types: 2 s; Ctrl-C ends it' && ok waits || not_ok waits "$(cat "$dir/screen")"
kill -CONT "$daemon"
ends waits.gone TYPE
daemon_stop

# As the daemon's API is (docs/API.md, Questions under way); it answers a question that it was asked for twice.
cat >"$dir/slow.py" <<'END'
import http.server, re, threading

looks, looked = {}, threading.Condition()


class Slow(http.server.BaseHTTPRequestHandler):
    def answer(self, text, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self):
        look = re.fullmatch("/api/v1/queries/([0-9a-f]{32})", self.path)
        if look:
            with looked:
                looks[look.group(1)] = looks.get(look.group(1), 0) + 1
                looked.notify_all()
            self.answer('{"done":1,"total":4,"cancelled":false}', "application/json")
        else:
            question = self.headers.get("X-Query-Id")
            with looked:
                looked.wait_for(lambda: looks.get(question, 0) > 1, 3 if self.path.startswith("/quick") else 60)
            self.answer("here it is\n", "text/plain")

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
print(server.server_address[1], flush=True)
server.serve_forever()
END
command -v python3 >/dev/null || { skip share "python3 is missing"; exit 0; }
timeout 300 python3 "$dir/slow.py" >"$dir/slow.port" &
slow=$!
wait_for 30 test -s "$dir/slow.port"
url=http://127.0.0.1:$(cat "$dir/slow.port")
on_terminal "'$decima' query types --url '$url'"
ends share.gone 'here it is'
shown ' s, 25 %; Ctrl-C ends it' && ok share || not_ok share "$(cat "$dir/screen")"
timeout 120 "$decima" query types --url "$url/quick" >"$dir/answer" 2>"$dir/err"
expect_status no_terminal 0 $?
if [ -s "$dir/err" ]; then not_ok no_terminal.quiet "$(cat "$dir/err")"; else ok no_terminal.quiet; fi
kill $slow
