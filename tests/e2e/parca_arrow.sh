#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/parca_arrow.sh - what Parca's agents send by WriteArrow: streams of Arrow's own library, over grpc-go
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

[ -e "$plugins/input_receive.so" ] || skip_all "built without receive"
printf 'inputs: { receive: {} }\nstorage: { local: {} }\n' >"$dir/arrow.yaml"
daemon_begin parca_arrow.starts -c "$dir/arrow.yaml" --set "server.listen=[\"127.0.0.1:0\",\"unix:$dir/sock\"]"
ok parca_arrow.starts
base=$(sed -n 's|.*is ready at \(http://[^ ,]*\).*|\1|p' "$dir/log" | head -n 1)
grpcurl_made parca_arrow.grpcurl || exit 0
go_program parca_arrow.stream parca_arrow parca_arrow || exit 0

# send FILE [GRPCURL-ARGUMENT]..: by WriteArrow
send() {
	printf '{"ipcBuffer":"%s"}' "$(base64 "$1" | tr -d '\n')" >"$dir/request"
	shift
	[ $# -gt 0 ] || set -- -plaintext
	timeout 60 "$dir/grpcurl" "$@" -d @ "${base#http*://}" \
		parca.profilestore.v1alpha1.ProfileStoreService/WriteArrow <"$dir/request" >"$dir/answer" 2>"$dir/err"
}
# Of one hour each, so that each is asked for alone.
hour=$(($(date +%s) / 3600 * 3600))
for packed in none lz4 zstd; do
	hour=$((hour - 3600))
	"$dir/parca_arrow" $hour $packed >"$dir/stream"
	send "$dir/stream"
	expect_status parca_arrow.$packed 0 $?
	ask query stacks 'parca_agent:samples:count:cpu:nanoseconds:delta' --from $hour --to $((hour + 60)) --group-by comm,node \
		>"$dir/answer" 2>"$dir/err"
	sed 's/libwork[^;]*;//' "$dir/answer" | sort >"$dir/got"
	expect parca_arrow.${packed}_two_of_one_stack ' 42' "$dir/got"
	expect parca_arrow.${packed}_kernel 'do_syscall_64_of_the_kernel' "$dir/got"
	expect parca_arrow.${packed}_interpreted 'comm=work;node=n1;handle_request_of_python 7' "$dir/got"
	expect parca_arrow.${packed}_null_label 'comm=idle' "$dir/got"
	expect parca_arrow.${packed}_other_series ' 100' "$dir/got"
	ask query stacks 'parca_agent:samples:count:cpu:nanoseconds:delta' --from $hour --to $((hour + 60)) --group-by cpu >"$dir/answer" 2>"$dir/err"
	if [ "$(awk '{ n += $NF } /^cpu=1/ { c += $NF } END { print n, c }' "$dir/answer")" = "149 19" ]; then
		ok parca_arrow.${packed}_sums
	else
		not_ok parca_arrow.${packed}_sums "$(tr '\n' '|' <"$dir/answer")"
	fi
done
head -c 900 "$dir/stream" >"$dir/cut"
send "$dir/cut"
expect parca_arrow.cut 'Code: InvalidArgument' "$dir/err"
expect parca_arrow.cut_says_where 'writearrow: message' "$dir/err"
"$dir/parca_arrow" $hour float >"$dir/float"
send "$dir/float"
expect parca_arrow.other_type 'Code: InvalidArgument' "$dir/err"
expect parca_arrow.other_type_is_named 'column value: its type, floating point (3)' "$dir/err"

# ---- by TLS with a token, as agents send that go over a network ----
daemon_stop
if command -v openssl >/dev/null; then
	certificates_made parca_arrow tls server 127.0.0.1
	printf 'server: { tokens: [{ token: letmein, role: write }], tls: { cert_file: tls/server.pem, key_file: tls/server.key } }\n' |
		cat - "$dir/arrow.yaml" >"$dir/tls.yaml"
	rm -rf "$dir/data"
	daemon_begin parca_arrow.tls -c "$dir/tls.yaml" --set "server.listen=[\"127.0.0.1:0\",\"unix:$dir/sock\"]"
	base=$(sed -n 's|.*is ready at \(https://[^ ,]*\).*|\1|p' "$dir/log" | head -n 1)
	send "$dir/stream" -cacert "$dir/tls/ca.pem"
	expect parca_arrow.tls_without_a_token 'Unauthenticated' "$dir/err"
	send "$dir/stream" -cacert "$dir/tls/ca.pem" -H 'Authorization: Bearer letmein'
	expect_status parca_arrow.tls_with_a_token 0 $?
	ask query stacks 'parca_agent:samples:count:cpu:nanoseconds:delta' --from $hour --to $((hour + 60)) >"$dir/answer" 2>"$dir/err"
	expect parca_arrow.tls_is_stored 'handle_request_of_python 7' "$dir/answer"
else
	skip parca_arrow.tls "no openssl"
fi

# ---- both layouts that agents have had, with dictionaries that grow and that are replaced: one answer ----
daemon_stop
go_program parca_arrow.layouts parca_layouts parca_layouts || exit 0
cat >"$dir/want" <<'STACKS'
a-library-with-a-long-name.so+0x5678;[truncated: abort-marker 3] 1
a-library-with-a-long-name.so+0x5678;app+0x1234 3
a-library-with-a-long-name.so+0x5678;app+0x1234;do_syscall_64 1
app+0x1234;[anon]+0x9abc 1
app+0x1234;main;work 1
[no frames] 100
app+0x1234;main;work 4096
STACKS
# What a daemon that has this request alone says of its two types.
answer_to() {
	rm -rf "$dir/data"
	daemon_start -c "$dir/arrow.yaml" || return
	{
		printf '\000'
		size=$(wc -c <"$1")
		for shift in 24 16 8 0; do printf '%b' "\\0$(printf %03o $((size >> shift & 255)))"; done
		cat "$1"
	} | curl -s -o /dev/null --http2-prior-knowledge --unix-socket "$dir/sock" -H 'Content-Type: application/grpc+proto' --data-binary @- \
		http://localhost/parca.profilestore.v1alpha1.ProfileStoreService/WriteArrow
	for type in parca_agent:samples:count:cpu:nanoseconds:delta memory:inuse_space:bytes:space:bytes; do
		ask query stacks $type --from 2026-09-21T00:00:00Z --to 2026-09-22T00:00:00Z 2>/dev/null | LC_ALL=C sort
	done
	daemon_stop
}
for layout in flat nested; do
	for packed in plain plain-delta plain-anew lz4 lz4-delta zstd; do
		"$dir/parca_layouts" $layout $packed >"$dir/request" && answer_to "$dir/request" >"$dir/got"
		if cmp -s "$dir/want" "$dir/got"; then
			ok parca_arrow.${layout}_$packed
		else
			not_ok parca_arrow.${layout}_$packed "$(diff "$dir/want" "$dir/got" | head -n 4 | tr '\n' '|')"
		fi
	done
done
