#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/web.sh - the pages: what the server says of them, and a real browser at work on real profiles
set -u
. "$top_srcdir/tests/e2e/lib.sh"
need_sampler
[ -e "$plugins/output_web.so" ] || skip_all "built without the pages"

cat >"$dir/decima.yaml" <<END
server: {listen: "127.0.0.1:0", base_path: /x/y}
inputs: {ebpf: {frequency: 199Hz, window: 1s}, receive: {}}
storage: {local: {}}
outputs: {web: {}}
END
daemon_start -c "$dir/decima.yaml" --set 'server.listen=["127.0.0.1:0"]' || {
	not_ok web.start "$(tail -n 1 "$dir/log")"
	exit 0
}
url=$(sed -n 's/.*is ready at \(http:[^ ]*\).*/\1/p' "$dir/log")/

# header NAME PATH WANT: a line of the answer's head
header() {
	curl -s -D "$dir/head" -o "$dir/body" -H 'Accept-Encoding: gzip' "$url$2"
	expect "web.$1" "$3" "$dir/head"
}
script=$(curl -s "$url" | sed -n 's/.*src="\(app-[^"]*\.js\)".*/\1/p')
header page '' 'Content-Type: text/html'
policy="default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'"
policy="$policy; base-uri 'self'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types decima-worker"
header policy '' "Content-Security-Policy: $policy"
header page_is_asked_for_anew '' 'Cache-Control: no-cache'
header script_is_kept "$script" 'max-age=31536000, immutable'
header script_is_packed "$script" 'Content-Encoding: gzip'
header application explore 'HTTP/1.1 200'
header slash_behind 'explore/?q=1' 'Location: ../explore?q=1'
header below_the_base x/y/compare 'HTTP/1.1 200'
curl -sI "${url}explore" >"$dir/head"
expect web.heads_alone 'HTTP/1.1 200' "$dir/head"
header nothing_of_the_api api/v1/nothing 'application/problem+json'

# Pages of one's own: the second server's are a copy, of which some are not quite the same.
cp -R "$top_srcdir/ui/dist" "$dir/pages"
echo '// Of somebody.' >>"$dir/pages/$script"
sed -i 's/<head>/<head><meta name="generator" content="somebody">/' "$dir/pages/index.html"

# A second server, of whose profiles those of three hours ago are in a block that is damaged, and others are not.
trap 'daemon_stop; far_stop; rm -rf "$dir"' EXIT
cat >"$dir/far.yaml" <<END
inputs: {receive: {}}
storage: {local: {path: $dir/far/store, seal_interval: 1s}}
outputs: {web: {ui_dir: pages}}
END
# far_send NAME TIME: ten samples of main, which calls NAME
far_send() {
	echo "main;$1 10" | curl -s --fail-with-body --unix-socket "$dir/far.sock" --data-binary @- "http://localhost/api/v1/ingest?name=some&time=$2"
}
far_block() { find "$dir/far/store/blocks" -name '*.blk' | grep .; }
now=$(date +%s)
if far_start 0 && far_send lost $((now - 10800)) && wait_for 60 far_block; then
	far_stop
	truncate -s -1 "$(far_block)"
	far_start 0
	far_send kept $((now - 60))
fi >"$dir/far.said" 2>&1
partial=$(sed -n 's/.*is ready at \(http:[^ ,]*\).*/\1/p' "$dir/far.log")/

curl -s "$partial" >"$dir/body"
expect web.pages_of_a_directory 'content="somebody"' "$dir/body"
curl -s "$partial$script" >"$dir/body"
if cmp -s "$dir/body" "$dir/pages/$script"; then ok web.files_of_a_directory; else not_ok web.files_of_a_directory "$script is another"; fi
mkdir "$dir/empty" && printf '../far.yaml\ttext/plain\t0\n' >"$dir/empty/files"
mkdir "$dir/pipe" && mkfifo "$dir/pipe/files" # which nobody writes to
for bad in none empty pipe; do
	"$decima" run --plugin-path "$plugins" --data "$dir/bad" -c "$dir/far.yaml" --set outputs.web.ui_dir="$dir/$bad" \
		--set "storage.local.path=$dir/bad/store" --set "server.listen=[\"unix:$dir/bad.sock\"]" >"$dir/bad.log" 2>&1 &
	bad_daemon=$!
	said() { grep -q "ui_dir: .*$dir/$bad/files" "$dir/bad.log"; }
	if wait_for 20 said; then ok "web.directory_$bad"; else not_ok "web.directory_$bad" "$(last_words "$dir/bad.log")"; fi
	kill $bad_daemon 2>/dev/null
	wait $bad_daemon
done

compile worker chain.c -fno-omit-frame-pointer -DLEAF_FRAME
compile nameless chain.c -fno-omit-frame-pointer -DLEAF_FRAME -s -Wl,--build-id=none
modules=$(dirname "$top_builddir")/ui/node_modules
browser=$(command -v chromium || true)
if [ ! -d "$modules/playwright-core" ]; then
	skip web.browser "playwright-core is not there: tools/test ui fetches it"
elif [ -z "$browser" ]; then
	skip web.browser "chromium is missing"
else
	"$dir/nameless" 2 >/dev/null 2>&1
	"$dir/worker" 8 >/dev/null 2>&1
	UI_MODULES=$(dirname "$modules") CHROMIUM=$browser timeout 600 node "$top_srcdir/tests/e2e/web.mjs" "$url" "$partial" 2>"$dir/err"
	status=$?
	[ $status -eq 0 ] || not_ok web.browser "exit status $status: $(tail -n 3 "$dir/err" | tr '\n' '|')"
fi
daemon_stop
