#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/hostile.sh - who means no good: floods, bombs, stalls, smuggled requests and broken profiles, in the clear and under TLS
#
# tests/programs/hostile attacks one daemon over loopback, while an honest client of it is served. No answer to bad input is a 5xx,
# memory stays within what docs/MEMORY.md has, descriptors come back, and what was accepted is there once.
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

[ -e "$plugins/input_receive.so" ] || skip_all "built without receive"
command -v python3 >/dev/null || skip_all "no python3"

printf 'main;work 30\nmain;idle 12\n' >"$dir/a.folded"
"$decima" convert "$dir/a.folded" "$dir/a.pb.gz" >/dev/null

# attacked NAME CA CONFIG: all of it, on a daemon of its own
attacked() {
	printf '%s\ninputs: { receive: {} }\nstorage: { memory: {} }\n' "$3" >"$dir/hostile.yaml"
	daemon_begin "hostile.$1" -c "$dir/hostile.yaml" --set "server.listen=[\"127.0.0.1:0\",\"unix:$dir/sock\"]"
	port=$(sed -n 's|.*is ready at https\{0,1\}://[^ ,/]*:\([0-9]*\).*|\1|p' "$dir/log" | head -n 1)
	: >"$dir/accepted"
	PYTHONDONTWRITEBYTECODE=1 timeout 300 python3 "$top_srcdir/tests/programs/hostile/hostile.py" \
		"$port" "$daemon" "$2" "$top_srcdir" "$dir/a.pb.gz" "$dir/accepted" 2>"$dir/err"
	expect_status "hostile.$1_to_the_end" 0 $?
	tail -n 3 "$dir/err"
	ask query stacks 'probe:samples:count:::delta{}' --from now-1h --to now+1m 2>&1 | sort >"$dir/stored"
	if sort "$dir/accepted" | cmp -s - "$dir/stored"; then ok "hostile.$1_accepted_once"; else
		not_ok "hostile.$1_accepted_once" "$(sort "$dir/accepted" | diff - "$dir/stored" | head -n 3 | tr '\n' '|')"
	fi
	daemon_stop
	expect_status "hostile.$1_ends_well" 0 "$daemon_status"
}
attacked clear '' ''

command -v openssl >/dev/null || skip_all "no openssl"
certificates_made hostile ca server localhost 127.0.0.1
attacked tls "$dir/ca/ca.pem" 'server: { tls: { cert_file: ca/server.pem, key_file: ca/server.key } }'
