#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/contract/plugin_check.sh - every plugin passes decima-plugin-check, and that finds each fault it looks for
set -u
tool=$top_builddir/decima-plugin-check
testing=$top_builddir/tests/plugins/.libs/output_testing.so
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

sweep=${DECIMA_TEST_SWEEP_SECONDS:-20}
for plugin in "$top_builddir"/plugins/.libs/*.so; do
	name=$(basename "$plugin" .so)
	if "$tool" --seconds "$sweep" "$plugin" >"$dir/out" 2>&1; then
		echo "ok $name: $(grep -c '^ok ' "$dir/out") answers, $(grep -c '^skip ' "$dir/out") skipped"
		sed -n "s/^skip no_memory: time was up/skip $name.no_memory: time was up/p" "$dir/out"
	else
		echo "not ok $name: $(grep -vE '^(ok|skip) ' "$dir/out" | head -n 1)"
	fi
done

# A plugin that waits for an answer as long as its own call's timeout_ns says comes back: no server answers here.
for name in decima otlp parca pyroscope; do
	if timeout $((sweep + 57)) "$tool" --seconds "$sweep" --config '{ url: "http://127.0.0.1:9" }' \
		"$top_builddir/plugins/.libs/output_$name.so" >"$dir/out" 2>&1 &&
		grep -q '^ok lifecycle' "$dir/out" && grep -q '^skip work: .*no server says a word' "$dir/out"; then
		echo "ok a_server_that_is_silent_ends_a_call_of_$name"
		sed -n "s/^skip no_memory: time was up/skip output_$name.with_a_server.no_memory: time was up/p" "$dir/out"
	else
		echo "not ok a_server_that_is_silent_ends_a_call_of_$name: $(tail -n 1 "$dir/out")"
	fi
done

# finds MODE PATTERN: the misbehaving plugin gets that line, and the exit status 1
finds() {
	"$tool" --config "{ mode: $1 }" "$testing" >"$dir/out" 2>&1
	status=$?
	if [ $status -eq 1 ] && grep -qE "$2" "$dir/out"; then
		echo "ok finds_$1"
	else
		echo "not ok finds_$1: status $status, $(grep -v '^ok ' "$dir/out" | head -n 1)"
	fi
}
finds fail_open_mute '^not ok lifecycle: it cannot start and does not say why'
finds leak_fd '^not ok lifecycle: 3 descriptors were left open by 3 rounds: [0-9]+ is /dev/null, '
finds leak_thread '^not ok lifecycle: [0-9]+ threads were left behind'
finds reject '^not ok work: this batch will never do'
finds leak_change '^not ok change: 6 descriptors were left open by 3 rounds: [0-9]+ is /dev/null, '
finds refuse '^not ok change: prepare refuses the configuration'
if "$tool" "$testing" 2>&1 | grep -q '^skip no_memory: built with a sanitizer'; then
	echo "skip finds_leak_memory: built with a sanitizer, which counts the memory itself"
	echo "skip finds_crash_without_memory: built with a sanitizer, which has the allocator"
else
	finds leak_memory '^not ok lifecycle: [0-9]+ blocks of memory were not freed'
	finds crash_without_memory '^not ok no_memory: it dies \(Aborted\) when allocation 1 fails'
fi

"$tool" "$top_builddir/tests/plugins/.libs/storage_minimal.so" >"$dir/out" 2>&1
if [ $? -eq 1 ] && grep -q '^not ok work: .* was written, and merge says 0' "$dir/out"; then
	echo "ok finds_a_storage_that_forgets"
else
	echo "not ok finds_a_storage_that_forgets: $(grep -v '^ok ' "$dir/out" | head -n 1)"
fi

if "$tool" "$top_builddir/tests/plugins/.libs/output_frontend.so" >"$dir/out" 2>&1; then
	echo "ok a_frontend_passes"
else
	echo "not ok a_frontend_passes: $(grep -v '^ok ' "$dir/out" | head -n 1)"
fi

# What cannot run here is no fault of the plugin's, as long as it says so.
if "$tool" --config '{ mode: fail_open }' "$testing" >"$dir/out" 2>&1 && grep -q '^skip lifecycle: .*port 7070' "$dir/out"; then
	echo "ok a_sentence_is_a_skip"
else
	echo "not ok a_sentence_is_a_skip: $(tail -n 1 "$dir/out")"
fi

# refused FAULT PATTERN
refused() {
	"$tool" "$top_builddir/tests/plugins/.libs/input_broken_$1.so" >"$dir/out" 2>&1
	status=$?
	if [ $status -eq 1 ] && grep -qE "^not ok description: .*$2" "$dir/out"; then
		echo "ok refuses_$1"
	else
		echo "not ok refuses_$1: status $status, $(head -n 1 "$dir/out")"
	fi
}
refused newer 'version [0-9]+\.[0-9]+ of the plugin interface, and this decima has'
refused major 'version [0-9]+\.[0-9]+ of the plugin interface'
refused magic 'magic number'
refused table 'table of options is wrong'
refused default 'table of options is wrong'
refused no_entry 'does not export dcm_plugin_entry'
refused no_stop 'lacks open, start or stop'
refused kind 'a kind that it is not'
refused null 'returned NULL'
refused link 'a_function_that_nobody_has'

"$tool" >"$dir/out" 2>&1
[ $? -eq 2 ] && echo "ok wrong_usage" || echo "not ok wrong_usage: $(head -n 1 "$dir/out")"
