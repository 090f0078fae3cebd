#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/asking.sh - a command that gets no answer says what to do: the URL, the token, the plugins, the folder that is not there
set -u
. "$top_srcdir/tests/lib/built.sh"
take_plugins storage_memory
listen=127.0.0.1:$port
mkdir "$dir/none"
echo 'a;b 1' >"$dir/in.folded"
echo sesame >"$dir/token"
echo other >"$dir/other"

# says NAME STATUS TEXT ARGUMENTS..
says() {
	name=$1 want=$2 text=$3
	shift 3
	"$top_builddir/decima" "$@" >"$dir/said" 2>&1
	status=$?
	if [ $status -ne "$want" ]; then
		echo "not ok $name: status $status, not $want: $(head -n 1 "$dir/said")"
	elif ! grep -qF -- "$text" "$dir/said"; then
		echo "not ok $name: no \"$text\" in: $(head -n 1 "$dir/said")"
	else
		echo "ok $name"
	fi
}
says url_without_host 2 '"http://" names no host; write http://HOST:PORT or unix:/PATH' query types --url http://
says convert_to_nowhere 1 "$dir/none/x/y.folded: there is no directory $dir/none/x; make it, or name another" \
	convert "$dir/in.folded" "$dir/none/x/y.folded"
DECIMA_PLUGIN_PATH=$dir/none
export DECIMA_PLUGIN_PATH
says no_plugins 1 "no storage plugin in $dir/none can read a directory; say where they are with DECIMA_PLUGIN_PATH" \
	store stat "$dir/none"
DECIMA_PLUGIN_PATH=$dir/plugins
says no_store 1 'not a store that a plugin here knows' store stat "$dir/none"
unset DECIMA_PLUGIN_PATH

printf '%s\n' 'storage: { memory: {} }' 'server:' '  tokens: [ { token: sesame, role: read } ]' >"$dir/decima.yaml"
"$top_builddir/decima" run -c "$dir/decima.yaml" --data "$dir/data" --plugin-path "$dir/plugins" --listen "$listen" \
	>"$dir/log" 2>&1 &
pid=$!
wait_for 20 grep -q 'is ready' "$dir/log" || echo "not ok start: $(tail -n 1 "$dir/log")"
says https_of_a_daemon 1 'speaks no TLS; write http://' query types --url "https://$listen"
says no_token 1 '(--token-file FILE sends one)' query types --url "http://$listen"
says wrong_token 1 'one of them belongs into the file of --token-file' query types --url "http://$listen" \
	--token-file "$dir/other"
says right_token 0 TYPE query types --url "http://$listen" --token-file "$dir/token"
