#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/async_profiler.sh - what a published profiler exports as OTLP is what it says itself in its folded stacks
#
# async-profiler of each version of OTLP that it has spoken, from where Maven finds it. Its lists of one are numbers, which are not
# packed, 4.1 tells no time and has tables without a zero value, and until 4.2 its samples are told as cumulative.
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

[ -e "$plugins/input_receive.so" ] || skip_all "built without receive"
for tool in mvn java javac; do command -v $tool >/dev/null || skip_all "$tool is not installed; apt-get install default-jdk-headless maven"; done
case $(uname -m) in x86_64) machine=linux-x64 ;; aarch64) machine=linux-arm64 ;; *) skip_all "there is none for $(uname -m)" ;; esac

cat >"$dir/receive.yaml" <<YAML
inputs: { receive: {} }
storage: { memory: {} }
YAML

# built VERSION: its classes and its library, in $dir/VERSION
built() {
	mkdir "$dir/$1"
	(cd "$dir" && fetched "async_profiler.$1" 240 mvn -q -B -Dmaven.repo.local="$dir/repository" dependency:copy \
		-DoutputDirectory="$dir/$1" -Dartifact="tools.profiler:async-profiler:$1") || return
	jar=$(echo "$dir/$1"/*.jar)
	(cd "$dir/$1" && jar xf "$jar" "$machine/libasyncProfiler.so") &&
		javac -cp "$jar" -d "$dir/$1" "$top_srcdir/tests/programs/async_profiler/Profiled.java" >"$dir/err" 2>&1 && return
	not_ok "async_profiler.$1.builds" "$(last_words "$dir/err")"
	return 1
}
# profiled VERSION COMMAND: what Profiled leaves, in $dir/VERSION
profiled() {
	timeout 120 java -cp "$jar:$dir/$1" Profiled "$dir/$1/$machine/libasyncProfiler.so" "$dir/$1" "$2" >"$dir/err" 2>&1 &&
		[ -s "$dir/$1/last.otlp" ] && [ -s "$dir/$1/last.folded" ] && return
	not_ok "async_profiler.$name" "it does not work: $(last_words "$dir/err")"
	return 1
}
# push FILE: the status is in $status, and the answer in $dir/answer
push() {
	status=$(curl -s -o "$dir/answer" -w '%{http_code}' --unix-socket "$dir/sock" --data-binary "@$1" \
		-H 'Content-Type: application/x-protobuf' http://localhost/v1development/profiles)
}
# total [FOLDED]: the stacks that it has in more than one line are one; with a second file, less what was there before
total() {
	awk 'FNR == 1 { file++ }
		{ value = $NF; sub(/ [^ ]*$/, ""); n[$0] += file == 1 ? value : -value }
		END { for (stack in n) if (n[stack]) print stack, n[stack] }' "$@" | sort
}
# stored: as it writes them itself, where a thread is the root
stored() {
	type=$(ask query types | awk '$1 ~ /:count:/ { print $1 }')
	ask query stacks "$type" --group-by thread_name --from 0 2>"$dir/err" | sed 's/^thread_name=;//; s/^thread_name=//' | sort
}
# exports VERSION OTLP KIND COMMAND
exports() {
	name=$1.$3
	profiled "$1" "$4" || return
	daemon_begin "async_profiler.$name" -c "$dir/receive.yaml"
	last=$dir/$1/last first=
	# Of cumulative ones what was added to the one before is told.
	if [ "$2" = 1.7 ]; then
		first=$dir/$1/first
		push "$first.otlp"
	fi
	push "$last.otlp"
	total "$last.folded" ${first:+"$first.folded"} >"$dir/want"
	stored >"$dir/got"
	if [ "$status" = 200 ] && [ -s "$dir/want" ] && cmp -s "$dir/want" "$dir/got"; then
		ok "async_profiler.$name"
	else
		not_ok "async_profiler.$name" "status $status, $(diff "$dir/want" "$dir/got" | head -n 3 | cut -c 1-300 | tr '\n' '|')"
	fi
	if [ "$2" = 1.10 ]; then
		if grep -q 'read as one of' "$dir/answer"; then not_ok "async_profiler.$name.is_current" "$(cat "$dir/answer")"; else ok "async_profiler.$name.is_current"; fi
	else
		expect "async_profiler.$name.is_old" "read as one of OTLP $2, by its bytes" "$dir/answer"
	fi
	daemon_stop
}

built 4.1 && {
	exports 4.1 1.7 cpu event=ctimer,interval=5ms
	exports 4.1 1.7 alloc event=alloc,alloc=100k
	exports 4.1 1.7 threads event=ctimer,interval=5ms,threads
}
built 4.2 && {
	exports 4.2 1.7 cpu event=ctimer,interval=5ms
	exports 4.2 1.7 alloc event=alloc,alloc=100k
	# It counts the thread as a frame and does not write it, so that each stack reaches into the next, and the last one too far.
	name=4.2.threads
	if profiled 4.2 event=ctimer,interval=5ms,threads; then
		daemon_begin "async_profiler.$name" -c "$dir/receive.yaml"
		push "$dir/4.2/last.otlp"
		expect_status "async_profiler.$name" 400 "$status"
		expect "async_profiler.$name.sentence" "a sample's locations are" "$dir/answer"
		daemon_stop
	fi
}
for version in 4.4:1.9 4.5:1.10; do
	built "${version%:*}" || continue
	exports "${version%:*}" "${version#*:}" cpu event=ctimer,interval=5ms
	exports "${version%:*}" "${version#*:}" alloc event=alloc,alloc=100k
	exports "${version%:*}" "${version#*:}" threads event=ctimer,interval=5ms,threads
done
daemon_stop
