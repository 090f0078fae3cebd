#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/tls_recipe.sh - docs/API.md, TLS, as it stands there: two sides by certificates, each as a user without rights
#
# What systemd does is done by hand: a user of its own, and the keys, which root alone may read, in a folder of that user.
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root"
[ -e "$plugins/input_receive.so" ] && [ -e "$plugins/output_decima.so" ] || skip_all "built without receive or the output decima"
for command in openssl setpriv; do
	command -v "$command" >/dev/null || skip_all "no $command"
done
chmod 711 "$dir"
server=
trap '[ -n "$server" ] && kill "$server" 2>/dev/null && wait "$server"; daemon_stop; rm -rf "$dir"' EXIT

# part N: the Nth block of commands there, with the two machines' /etc/decima as folders here
part() {
	awk -v want="$1" '/^### / { there = $0 == "### TLS"; next } !there { next }
		/^```sh$/ { inside = ++n == want; next } /^```/ { inside = 0 } inside' "$top_srcdir/docs/API.md" |
		sed "s|/etc/decima|$2|g; s|192\.0\.2\.7|127.0.0.1|; s| conf/| $top_srcdir/conf/|; s|^tools/|$top_srcdir/tools/|"
}
cd "$dir" || exit 1
part 1 "$dir/nowhere" >authority.sh
part 2 "$dir/server" >server.sh
part 3 "$dir/host" >host.sh
for side in authority server host; do
	if [ -s $side.sh ] && sh -eu "$side.sh" >out 2>&1; then ok "tls_recipe.$side"; else
		not_ok "tls_recipe.$side" "$(tail -n 2 out | tr '\n' '|')"
		exit 1
	fi
done

as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
for key in tls/ca.key tls/agent-7.key server.tar agent-7.tar server/tls/server.key host/tls/agent.key; do
	if [ -r $key ] && ! as_nobody cat "$dir/$key" >/dev/null 2>&1; then ok "tls_recipe.root_alone_reads_$key"; else
		not_ok "tls_recipe.root_alone_reads_$key" "$(ls -l $key 2>&1)"
	fi
done

# What a unit's LoadCredential= lines say becomes a folder of the unit's user.
# handed_over UNIT SIDE
handed_over() {
	mkdir "$2.keys" "$2.data"
	sed -n 's|^LoadCredential=\([^:]*\):/etc/decima/\(.*\)|\1 \2|p' "$destdir$prefix/lib/systemd/system/$1.service" >loads
	while read -r name file; do
		cp "$2/$file" "$2.keys/$name" 2>/dev/null || : >"$2.keys/$name"
	done <loads
	chmod -R go= "$2.keys" "$2.data"
	chown -R 65534:65534 "$2.keys" "$2.data"
	# Its file, in the folder that it was copied to here.
	sed -i "s|/etc/decima|$dir/$2|g" "$2"/*.yaml
}
handed_over decima-server server
handed_over decima-agent host

# as_nobody_by FILE FOLDER: a program that is decima as that user, with that folder's keys; one process, that can be stopped
as_nobody_by() {
	cat >"$1" <<-EOF
		#!/bin/sh
		CREDENTIALS_DIRECTORY=$2 exec setpriv --reuid=65534 --regid=65534 --clear-groups "$decima" "\$@"
	EOF
	chmod 755 "$1"
}
as_nobody_by "$dir/server_as_nobody" "$dir/server.keys"
as_nobody_by "$dir/agent_as_nobody" "$dir/host.keys"

is_there() { grep -q 'is ready at' "$dir/server.log" || ! kill -0 "$server" 2>/dev/null; }
"$dir/server_as_nobody" run --plugin-path "$plugins" --data "$dir/server.data" -c "$dir/server/server.yaml" \
	--set 'server.listen=127.0.0.1:0' 2>server.log &
server=$!
wait_for 60 is_there
address=$(sed -n 's|.*is ready at https://\([^ ,]*\).*|\1|p' server.log | head -n 1)
if [ -n "$address" ]; then ok tls_recipe.server_runs; else
	not_ok tls_recipe.server_runs "$(tail -n 2 server.log | tr '\n' '|')"
	exit 1
fi

# The agent's file but for its input, which takes rights.
sed "s|https://profiles.example.org:7070|https://$address|" host/agent.yaml |
	awk '/^inputs:/ { print "inputs: { receive: { answer: queued } }"; gone = 1; next } /^[a-z]/ { gone = 0 } !gone' >agent.yaml
mkdir -p data run
chown 65534 "$dir" data run
decima_of_all=$decima decima=$dir/agent_as_nobody
daemon_start -c "$dir/agent.yaml" || not_ok tls_recipe.agent_runs "$(last_words "$dir/log")"
decima=$decima_of_all
if [ -n "$daemon" ]; then
	echo 'main;work 42' | curl -s -f --unix-socket "$dir/sock" --data-binary @- 'http://localhost/api/v1/ingest?name=demo&time=now' >out
	expect tls_recipe.pushed '"profiles":1' out
fi
# Who shows his certificate may write, no more; who shows none is not let in.
has_arrived() { get /metrics | grep -q '^decima_decima_delivered_total{instance="decima"} [1-9]'; }
if wait_for 60 has_arrived; then ok tls_recipe.arrives; else not_ok tls_recipe.arrives "$(get /api/v1/pipeline | head -c 500)"; fi
port=${address##*:}
curl -s -m 10 --cacert server/tls/ca.pem "https://127.0.0.1:$port/-/healthy" >out 2>&1
status=$?
if [ $status -ne 0 ] && [ ! -s out ]; then ok tls_recipe.nobody_without_a_certificate; else
	not_ok tls_recipe.nobody_without_a_certificate "exit status $status: $(head -c 200 out)"
fi
curl -s -m 10 --cacert server/tls/ca.pem --cert host/tls/agent.pem --key host/tls/agent.key "https://127.0.0.1:$port/-/healthy" >out 2>&1
expect_status tls_recipe.curl 0 $?
