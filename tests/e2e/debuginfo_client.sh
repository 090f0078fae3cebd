#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/debuginfo_client.sh - `decima debuginfo upload` to a server of grpc-go's: what it sends is taken there, whole, in the
# clear and behind TLS, at the second try, and not where it is known
#
# runs beside others
set -u
# shellcheck source=tests/e2e/lib.sh
. "$top_srcdir/tests/e2e/lib.sh"

for tool in "${CC:-cc}" readelf openssl; do
	command -v "${tool%% *}" >/dev/null || skip_all "$tool is missing"
done
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$dir"' EXIT
cd "$dir" || exit 1

go_program debuginfo_client.server server debuginfo_server || exit 0
# serve [CERT KEY]: its port in $port, what is called in calls
serve() {
	[ -z "$server" ] || kill "$server"
	rm -rf has && mkdir has
	: >port
	./server has "$@" >port 2>calls &
	server=$!
	wait_for 20 test -s port
	port=$(cat port)
}
# send URL [ARGUMENT]..
send() {
	url=$1
	shift
	: >calls
	timeout 60 "$decima" debuginfo upload --url "$url" "$@" >out 2>err
}
calls() { tr '\n' ' ' <calls; }
# arrived NAME FILE: just what `decima debuginfo extract` makes of it
arrived() {
	"$decima" debuginfo extract "$2" -o want >/dev/null
	if cmp -s want "has/$id"; then ok "debuginfo_client.$1"; else not_ok "debuginfo_client.$1" "$(find has -type f) $(cat err)"; fi
}
cat >whole.c <<-'C'
	volatile unsigned long turns;
	__attribute__((noinline)) void only_here(void) { turns++; }
	int main(void) { only_here(); return 0; }
C
${CC:-cc} -g -O1 -Wl,--build-id -o whole whole.c || exit 1
id=$(readelf -n whole | sed -n 's/.*Build ID: //p')

serve
send "http://127.0.0.1:$port" whole
expect_status debuginfo_client.sent 0 $?
expect debuginfo_client.stored "whole: build id $id: stored, functions and lines" out
arrived arrived whole
[ "$(calls)" = 'ShouldInitiateUpload InitiateUpload Upload MarkUploadFinished ' ] && ok debuginfo_client.calls || not_ok debuginfo_client.calls "$(calls)"
send "http://127.0.0.1:$port" whole
expect debuginfo_client.known "whole: build id $id: known, nothing sent" out
[ "$(calls)" = 'ShouldInitiateUpload ' ] && ok debuginfo_client.asks_alone || not_ok debuginfo_client.asks_alone "$(calls)"
# Twice the server turns the stream away: the third one is taken.
rm "has/$id"
echo 2 >has/busy
send "http://127.0.0.1:$port" whole
expect_status debuginfo_client.third_try 0 $?
arrived arrived_at_last whole
rm "has/$id"
echo 99 >has/busy
send "http://127.0.0.1:$port" whole
expect_status debuginfo_client.gives_up 1 $?
expect debuginfo_client.says_why 'whole: 100 % busy?for a moment' err
rm has/busy
: >has/signed
send "http://127.0.0.1:$port" whole
expect_status debuginfo_client.elsewhere 1 $?
expect debuginfo_client.says_elsewhere 'in another way than by gRPC' err
rm has/signed
# Several MiB, in more chunks than one: symbols of long names, which nothing makes small.
{
	echo '.globl main; main: ret'
	od -An -v -tx1 -w40 -N 3200000 /dev/urandom | tr -d ' ' | sed 's/.*/f&: ret/'
} >many.s
if ${CC:-cc} -Wl,--build-id -o many many.s 2>cc.log; then
	id=$(readelf -n many | sed -n 's/.*Build ID: //p')
	send "http://127.0.0.1:$port" many
	expect_status debuginfo_client.large 0 $?
	arrived large_arrived many
	[ "$(wc -c <"has/$id")" -gt 3000000 ] && ok debuginfo_client.is_large || not_ok debuginfo_client.is_large "$(wc -c <"has/$id")"
else
	not_ok debuginfo_client.large "$(head -n 1 cc.log)"
fi

# ---- behind TLS ----
id=$(readelf -n whole | sed -n 's/.*Build ID: //p')
certificates_made debuginfo_client ca server localhost 127.0.0.1
serve ca/server.pem ca/server.key
send "https://127.0.0.1:$port" --ca-file ca/ca.pem whole
expect_status debuginfo_client.tls 0 $?
arrived tls_arrived whole
send "https://127.0.0.1:$port" whole
expect_status debuginfo_client.tls_unknown 1 $?
expect debuginfo_client.tls_says_why 'certificate is not trusted' err
send "http://127.0.0.1:$port" whole
expect_status debuginfo_client.clear_to_tls 1 $?
