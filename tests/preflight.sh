#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/preflight.sh - what `decima check` says of this machine is what `decima run` then meets, and looking changes nothing
set -u
. "$top_srcdir/tests/lib/built.sh"
mkdir "$dir/home" "$dir/foreign"
take_plugins storage_memory storage_local output_file
touch "$dir/home/file" "$dir/foreign/precious"
listen=127.0.0.1:$port

decima() { # VERB CONFIGURATION
	printf '%s\n' "$2" >"$dir/decima.yaml"
	"$top_builddir/decima" "$1" -c "$dir/decima.yaml" --data "$dir/home/data" --plugin-path "$dir/plugins" \
		--listen "$listen"
}
everything() { (cd "$dir/home" && find . && find "$dir/foreign"); }

# expect NAME STATUS TEXT CONFIGURATION: check ends so, says so, and makes nothing
expect() {
	everything >"$dir/before"
	decima check "$4" >"$dir/said" 2>&1
	status=$?
	everything >"$dir/after"
	if [ $status -ne "$2" ]; then
		echo "not ok $1: status $status, not $2: $(head -n 1 "$dir/said")"
	elif ! grep -qF -- "$3" "$dir/said"; then
		echo "not ok $1: no \"$3\" in: $(head -n 1 "$dir/said")"
	elif ! cmp -s "$dir/before" "$dir/after"; then
		echo "not ok $1: it changed $(diff "$dir/before" "$dir/after" | head -n 2 | tail -n 1)"
	else
		echo "ok $1"
	fi
}

# expect_both NAME TEXT CONFIGURATION: check refuses with the text, and run fails with it too
expect_both() {
	expect "$1" 1 "$2" "$3"
	"$top_builddir/decima" run -c "$dir/decima.yaml" --data "$dir/home/data" --plugin-path "$dir/plugins" \
		--listen "$listen" >"$dir/log" 2>&1 &
	pid=$!
	if wait_for 20 grep -qF -- "$2" "$dir/log"; then
		echo "ok ${1}_at_run"
	else
		echo "not ok ${1}_at_run: no \"$2\" in: $(grep -m 1 error "$dir/log")"
	fi
	kill $pid 2>/dev/null
	wait $pid 2>/dev/null
	pid=
}

expect fine 0 ok "{ outputs: { file: {} }, storage: { local: {} } }"
expect fine_with_paths 0 ok "{ outputs: { file: { directory: $dir/home/x/y } }, storage: { local: { path: $dir/home/z } } }"
expect_both file_in_proc 'directory: /proc/nope cannot be made: /proc is a file system of the kernel' \
	'{ outputs: { file: { directory: /proc/nope } }, storage: { memory: {} } }'
expect_both file_below_a_file "is no directory; name another" \
	"{ outputs: { file: { directory: $dir/home/file/x } }, storage: { memory: {} } }"
expect_both file_in_a_foreign_directory 'holds other things' \
	"{ outputs: { file: { directory: $dir/foreign } }, storage: { memory: {} } }"
expect_both local_in_proc '/proc/nope2 cannot be made: /proc is a file system of the kernel' \
	'{ storage: { local: { path: /proc/nope2 } } }'
expect_both memory_of_nothing 'path: /nonexistent: cannot be opened: No such file' \
	'{ storage: { memory: { path: /nonexistent } } }'
expect_both memory_of_something_else "path: $dir/foreign: has no manifest" \
	"{ storage: { memory: { path: $dir/foreign } } }"
expect_both no_such_user 'there is no user decima-nobody here; make it' '{ user: decima-nobody, storage: { memory: {} } }'

# As root without capabilities, and as another user: what only root's capabilities could write to is refused.
if [ "$(id -u)" -eq 0 ]; then
	mkdir "$dir/home/theirs"
	chown 65534 "$dir/home/theirs"
	expect_both root_is_a_guest "$dir/home/theirs" \
		"{ outputs: { file: { directory: $dir/home/theirs } }, storage: { memory: {} } }"
	expect the_user_may 0 ok "{ user: nobody, outputs: { file: { directory: $dir/home/theirs } }, storage: { memory: {} } }"
	expect the_user_may_not 1 'uid 65534 may not write into' \
		"{ user: nobody, outputs: { file: { directory: $dir/home/new } }, storage: { memory: {} } }"
else
	mkdir "$dir/home/theirs"
	chmod 555 "$dir/home/theirs"
	expect_both read_only_directory 'may not write into' \
		"{ outputs: { file: { directory: $dir/home/theirs/x } }, storage: { memory: {} } }"
	expect_both not_root 'only root can become root' '{ user: root, storage: { memory: {} } }'
fi

# Sockets: what is said names the directory, and the remedy.
tcp=$listen
listen=unix:$dir/home/none/s
expect_both socket_without_directory "there is no directory $dir/home/none; make it" '{ storage: { memory: {} } }'
listen=unix:/proc/s
expect socket_in_proc 1 'unix:/proc/s: /proc cannot be written: /proc is a file system of the kernel' '{ storage: { memory: {} } }'
listen=unix:$dir/home/file
expect socket_is_a_file 1 'there is something else than a socket; remove it' '{ storage: { memory: {} } }'
listen=$tcp

# What a running decima holds is worth a warning: it may be the one that is to be replaced.
conf="{ outputs: { file: { directory: $dir/home/held } }, storage: { local: { path: $dir/home/store } } }"
printf '%s\n' "$conf" >"$dir/held.yaml"
"$top_builddir/decima" run -c "$dir/held.yaml" --data "$dir/home/data" --plugin-path "$dir/plugins" --listen "$listen" \
	>"$dir/log" 2>&1 &
pid=$!
wait_for 20 grep -q 'is ready' "$dir/log" || echo "not ok held: $(tail -n 1 "$dir/log")"
expect held_directory 0 "warning: output file: directory: $dir/home/held is used by output file of process $pid" "$conf"
expect held_store 0 "$dir/home/store: LOCK: process $pid has this store open" "$conf"
expect held_port 0 "warning: server.listen: $listen: the port is in use" "$conf"
kill $pid
wait $pid
pid=

# A foreign program's port is one that no start gets.
: >"$dir/holder"
if command -v python3 >/dev/null; then
	python3 -c '
import socket, sys, time
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", int(sys.argv[1]))); s.listen(); print("ready", flush=True)
while True:
	c, _ = s.accept(); c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"); c.close()' "$port" >"$dir/holder" &
	pid=$!
	wait_for 20 grep -q ready "$dir/holder" || echo "not ok foreign: it has no port"
	expect foreign_port 1 "server.listen: $listen: the port is in use" '{ storage: { memory: {} } }'
else
	echo "skip foreign_port: python3 is missing"
fi
