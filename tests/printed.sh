#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/printed.sh - a command whose answer cannot be written says so and fails; a reader that has seen enough is none of that
set -u
. "$top_srcdir/tests/lib/built.sh"
take_plugins storage_memory
echo 'storage: { memory: {} }' >"$dir/decima.yaml"

# unwritten NAME ARGUMENTS..: to a full disk, and to a pipe that nobody reads
unwritten() {
	name=$1
	shift
	"$top_builddir/decima" "$@" >/dev/full 2>"$dir/said"
	status=$?
	if [ $status -ne 1 ]; then
		echo "not ok ${name}_full: status $status"
	elif ! grep -q 'standard output: cannot be written: No space left on device' "$dir/said"; then
		echo "not ok ${name}_full: it says: $(head -n 1 "$dir/said")"
	else
		echo "ok ${name}_full"
	fi
	{ "$top_builddir/decima" "$@" 2>"$dir/said"; echo $? >"$dir/status"; } | true
	if [ "$(cat "$dir/status")" = 0 ] && [ ! -s "$dir/said" ]; then
		echo "ok ${name}_pipe"
	else
		echo "not ok ${name}_pipe: status $(cat "$dir/status"): $(head -n 1 "$dir/said")"
	fi
}
unwritten help --help
unwritten help_of_a_verb query top --help
unwritten version --version
unwritten plugins plugins --plugin-path "$dir/plugins"
unwritten describe describe --plugin-path "$dir/plugins" storage/memory
unwritten conf generate conf "$dir/decima.yaml" --plugin-path "$dir/plugins"
unwritten check check --config-only -c "$dir/decima.yaml" --plugin-path "$dir/plugins"
