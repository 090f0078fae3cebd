#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/scraper_only.sh - a build without eBPF, clang and libbpf is a whole collector: it scrapes, keeps, shows, and sends on
#
# Nobody runs the build that tools/test calls noebpf, installed into a folder; another Decima takes what it sends.
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

without=$top_builddir/../noebpf
[ -f "$without/Makefile" ] || skip_all "build/noebpf is not there; tools/test noebpf makes it"
[ -e "$plugins/input_receive.so" ] || skip_all "built without receive"
command -v go >/dev/null || skip_all "go is not installed; apt-get install golang-go"
GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local GOCACHE=${GOCACHE:-$dir/cache} GOPATH=$dir/gopath
export GOFLAGS GOPROXY GOTOOLCHAIN GOCACHE GOPATH
if ! (cd "$top_srcdir/tests/programs/scraped" && go build -o "$dir/scraped" .) 2>"$dir/err"; then
	not_ok scraper_only.program "$(last_words "$dir/err")"
	exit 1
fi
if ! make -C "$without" install DESTDIR="$dir/root" >"$dir/err" 2>&1; then
	not_ok scraper_only.installs "$(last_words "$dir/err")"
	exit 1
fi
chmod -R go+rX "$dir"
installed=$dir/root$prefix
find "$installed" -name '*ebpf*' >"$dir/ebpf"
find "$installed" -name '*.so' -exec ldd {} + 2>/dev/null | grep libbpf >>"$dir/ebpf"
[ ! -s "$dir/ebpf" ] && [ -n "$(find "$installed" -name input_pprof_scrape.so)" ] && ok scraper_only.without_ebpf || not_ok scraper_only.without_ebpf "$(tr '\n' ' ' <"$dir/ebpf")"

service=
trap '[ -n "$service" ] && kill "$service" 2>/dev/null; daemon_stop; far_stop; rm -rf "$dir"' EXIT
"$dir/scraped" >"$dir/at" 2>"$dir/service.err" &
service=$!
wait_for 20 test -s "$dir/at"
at=$(cat "$dir/at")

cat >"$dir/far.yaml" <<YAML
inputs: { receive: {} }
storage: { memory: {} }
YAML
far_begin scraper_only.far_starts
cat >"$dir/only.yaml" <<YAML
# The number of a request would be too much to keep.
relabel_configs: [ { action: labeldrop, regex: __sample_request } ]
inputs:
  pprof_scrape:
    scrape_configs:
      - job_name: service
        scrape_interval: 2s
        scrape_timeout: 4s
        static_configs: [ { targets: ["$at"] } ]
storage: { local: {} }
outputs: { decima: { url: "$url" }, web: {} }
YAML
mkdir "$dir/data" && chmod 777 "$dir/data" "$dir"
sent_to=$decima decima=$installed/bin/decima plugins_there=$plugins plugins=$(dirname "$(find "$installed" -name input_pprof_scrape.so)")
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	printf '#!/bin/sh\nexec setpriv --reuid 65534 --regid 65534 --clear-groups "%s" "$@"\n' "$decima" >"$dir/nobody"
	chmod 755 "$dir/nobody"
	decima=$dir/nobody
fi
daemon_begin scraper_only.starts -c "$dir/only.yaml"
decima=$sent_to plugins=$plugins_there
uid=$(ps -o uid= -p "$daemon" | tr -d ' ')
if [ "$uid" = 0 ] && [ ! -e "$dir/nobody" ]; then skip scraper_only.as_a_user "setpriv is not there"; elif [ "$uid" != 0 ]; then ok scraper_only.as_a_user; else
	not_ok scraper_only.as_a_user "uid $uid"
fi

ask_far() { "$decima" "$@" --url "unix:$dir/far.sock"; }
# has_type WHO TYPE
has_type() { "$1" query types 2>/dev/null | grep -qF "$2"; }
# allocated WHO: bytes in all that its store has of main.allocate: 300 blocks of 10,240, and the little, below one of them, that the
# runtime allocates while a collection begins there
allocated() {
	"$1" query stacks 'memory:alloc_space:bytes:space:bytes:delta{job="service"}' --focus '^main\.allocate$' --from now-10m 2>/dev/null |
		sum_of_lines
}
for who in ask ask_far; do
	for type in memory:alloc_space:bytes:space:bytes:delta memory:inuse_space:bytes:space:bytes \
		goroutine:goroutine:count:goroutine:count "$cpu"; do
		wait_for 30 has_type $who "$type" && ok "scraper_only.$who.$type" || not_ok "scraper_only.$who.$type" "$($who query types 2>&1 | tr '\n' '|')"
	done
done
curl -s "http://$at/allocate?n=300" >/dev/null
for who in ask ask_far; do
	is_all() { [ "$(($(allocated $who) / 10240))" = 300 ]; }
	wait_for 30 is_all && ok "scraper_only.$who.allocated" || not_ok "scraper_only.$who.allocated" "$(allocated $who), not 3072000"
	$who query stacks "$cpu{job=\"service\"}" --group-by request --focus '^main\.burnOuter$' >"$dir/stacks" 2>&1
	if grep -q main.burnOuter "$dir/stacks" && ! grep -q checkout "$dir/stacks"; then ok "scraper_only.$who.label_dropped"; else
		not_ok "scraper_only.$who.label_dropped" "$(head -n 2 "$dir/stacks" | tr '\n' '|')"
	fi
done
get / >"$dir/page"
expect scraper_only.page '<html' "$dir/page"
daemon_stop
expect_status scraper_only.stops 0 "$daemon_status"
