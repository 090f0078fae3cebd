#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/cors.sh - pages of other sites: what a browser is told of them, and what a real one then does
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

# start NAME: with $dir/cors.yaml; the address in $base
start() {
	if ! daemon_start -c "$dir/cors.yaml" --set 'server.listen=["127.0.0.1:0"]'; then
		not_ok "cors.$1" "$(last_words "$dir/log")"
		exit 1
	fi
	base=$(sed -n 's|.*is ready at \(http://[^ ,]*\).*|\1|p' "$dir/log" | head -n 1)
}
# ask_for NAME [ARGUMENT].. PATH: the answer's head in $dir/head, in lower case and without CR
ask_for() {
	curl -s -D - -o "$dir/body" "$@" | tr -d '\r' | tr '[:upper:]' '[:lower:]' >"$dir/head"
}
lacks() { if grep -qF -e "$2" "$dir/head"; then not_ok "cors.$1" "$(grep -F -e "$2" "$dir/head")"; else ok "cors.$1"; fi; }
# preflight ORIGIN METHOD HEADERS PATH
preflight() {
	ask_for -X OPTIONS -H "Origin: $1" -H "Access-Control-Request-Method: $2" \
		-H "Access-Control-Request-Headers: $3" "$base$4"
}

# ---- without a word in the configuration there is none of it ----
echo 'storage: { memory: {} }' >"$dir/cors.yaml"
start off
ask_for -H 'Origin: http://apps.example' "$base/api/v1/status"
lacks off access-control
lacks off_varies_not 'vary: origin'
preflight http://apps.example GET authorization /api/v1/status
lacks off_preflight access-control
expect cors.off_preflight_is_no_method ' 405' "$dir/head"
daemon_stop

# ---- one origin, and tokens ----
page_port=$(free_port)
cat >"$dir/cors.yaml" <<YAML
storage: { memory: {} }
server:
  cors_origins: [ "http://apps.example", "http://localhost:${page_port:-1}" ]
  tokens: [ { token: letmein, role: read } ]
YAML
start on
preflight http://apps.example POST authorization,x-grpc-web,x-evil,cookie /grpc.health.v1.Health/Check
expect cors.preflight_needs_no_token ' 204' "$dir/head"
expect cors.preflight_origin 'access-control-allow-origin: http://apps.example' "$dir/head"
expect cors.preflight_headers 'access-control-allow-headers: authorization, x-grpc-web' "$dir/head"
lacks preflight_no_more_headers x-evil
lacks preflight_no_more_methods allow-methods
expect cors.preflight_is_kept 'access-control-max-age: 600' "$dir/head"
lacks no_credentials allow-credentials
preflight http://apps.example DELETE authorization /api/v1/queries/1
expect cors.preflight_delete 'access-control-allow-methods: delete' "$dir/head"
preflight http://apps.example DELETE authorization /api/v1/status
lacks preflight_no_delete allow-methods
for origin in http://apps.example.evil https://apps.example http://apps.example:80 null '*'; do
	preflight "$origin" GET authorization /api/v1/status
	lacks "preflight_of_$origin" access-control
	ask_for -H "Origin: $origin" -H 'Authorization: Bearer letmein' "$base/api/v1/status"
	lacks "answer_to_$origin" access-control
	expect "cors.varies_for_$origin" 'vary: origin' "$dir/head"
done
ask_for -H 'Origin: http://apps.example' -H 'Authorization: Bearer letmein' "$base/api/v1/status"
expect cors.answer 'access-control-allow-origin: http://apps.example' "$dir/head"
ask_for -H 'Origin: http://apps.example' "$base/api/v1/status"
expect cors.refusal_can_be_read 'access-control-allow-origin: http://apps.example' "$dir/head"
expect cors.refusal ' 401' "$dir/head"
ask_for --http2-prior-knowledge -H 'Origin: http://apps.example' -H 'Authorization: Bearer letmein' "$base/api/v1/status"
expect cors.http_2 'access-control-allow-origin: http://apps.example' "$dir/head"
ask_for "$base/api/v1/status"
expect cors.varies_without_one 'vary: origin' "$dir/head"

# ---- a token as a password, for who knows nothing else ----
ask_for -u any:letmein "$base/api/v1/status"
expect cors.password ' 200' "$dir/head"
ask_for -u letmein:any "$base/api/v1/status"
expect cors.user_is_none ' 401' "$dir/head"
lacks nobody_is_asked_for_a_password 'www-authenticate: basic'
ask_for -u any:letmein -H 'Origin: http://evil.example' -X DELETE "$base/api/v1/queries/1"
expect cors.password_of_another_site ' 403' "$dir/head"
ask_for -u any:letmein -H 'Origin: http://apps.example' -X DELETE "$base/api/v1/queries/1"
expect cors.password_of_a_named_site ' 404' "$dir/head"

# ---- a real browser, at pages of a named and of an unnamed origin ----
in_browser() {
	browser=$(command -v chromium || true)
	if [ -z "$browser" ] || [ -z "$page_port" ]; then
		skip cors.browser "chromium or python3 is missing"
		return
	fi
	mkdir "$dir/pages"
	cat >"$dir/pages/page.html" <<HTML
<pre id="said"></pre><script>
const say = text => { document.getElementById("said").textContent += text + ";"; };
const health = "$base/grpc.health.v1.Health/Check";
Promise.allSettled([
	fetch("$base/api/v1/status", { headers: { Authorization: "Bearer letmein" } }).then(r => say("rest" + r.status), () => say("restblocked")),
	fetch("$base/api/v1/status").then(r => say("anyone" + r.status), () => say("anyoneblocked")),
	fetch(health, { method: "POST", body: new Uint8Array(5), headers: { "Content-Type": "application/grpc-web+proto", "X-Grpc-Web": "1" } })
		.then(r => r.arrayBuffer()).then(b => say("web" + new Uint8Array(b)[6]), () => say("webblocked")),
	fetch("$base/api/v1/status", { headers: { "X-Evil": "1" } }).then(() => say("evil"), () => say("evilblocked")),
]).then(() => say("all"));
</script>
HTML
	python3 -m http.server --bind 127.0.0.1 --directory "$dir/pages" "$page_port" >/dev/null 2>&1 &
	pages=$!
	wait_for 10 curl -s -o /dev/null "http://127.0.0.1:$page_port/page.html"
	# page HOST: what it says, in $dir/said
	page() {
		HOME=$dir timeout 60 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$dir/chromium" \
			--virtual-time-budget=8000 --dump-dom "http://$1:$page_port/page.html" >"$dir/said" 2>"$dir/err"
	}
	page localhost
	for want in rest200 anyone401 web1 evilblocked; do expect "cors.browser_$want" "$want;" "$dir/said"; done
	# Another name of the same machine is another origin.
	page 127.0.0.1
	for want in restblocked anyoneblocked webblocked evilblocked; do expect "cors.browser_elsewhere_$want" "$want;" "$dir/said"; done
	kill $pages
}
in_browser
daemon_stop
