#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/run-case.sh - runs one test of `make check` and writes what came out, a line per case
#
#	run-case.sh PROGRAM
#
# PROGRAM is a cmocka program (tests/unit/test_NAME), a fuzz target that replays its corpus (fuzz/fuzz_NAME), or a
# script (NAME.sh) that prints the lines itself. The lines, `ok NAME`, `not ok NAME: why`, `skip NAME: why`, go to
# tests/results/ in the build folder, where tools/test counts them. A program that dies, exceeds its time
# (TEST_TIMEOUT seconds), or exits 0 without a case is a failed case too: a test cannot get lost.
# Ends with 1 when a case failed, 77 when all were skipped. Wants top_srcdir and top_builddir in the environment.
set -u
prog=$1
name=$(basename "$prog" .sh)
here=$top_srcdir/tests
lines=$top_builddir/tests/results/$name
xml=$lines.xml.d
out=$lines.out

# What a test compiles is looked at where it lies, which a compiler cache's answer may not know.
CCACHE_DISABLE=1
export CCACHE_DISABLE

rm -rf "$lines" "$out" "$xml"
began=$(date +%s)
mkdir -p "$xml"

run() { timeout -k 10 "${TEST_TIMEOUT:-600}" "$@" >"$out" 2>&1; }

case $name in
fuzz_*)
	run "$prog" "$top_srcdir/fuzz/corpus/${name#fuzz_}"
	status=$?
	[ $status -eq 0 ] && echo "ok $name: $(tail -n 1 "$out")" >"$lines"
	;;
test_*)
	# cmocka's TAP calls a skipped test "not ok", so its XML is read; it never overwrites a file.
	CMOCKA_MESSAGE_OUTPUT=XML CMOCKA_XML_FILE="$xml/%g.xml" run "$prog"
	status=$?
	find "$xml" -name '*.xml' | sort | while read -r f; do awk -f "$here/cmocka-lines.awk" "$out" "$f"; done >"$lines"
	;;
*)
	case $prog in
	*.sh) run sh "$prog" ;;
	*) run "$prog" ;;
	esac
	status=$?
	grep -E '^(ok|not ok|skip) ' "$out" >"$lines"
	;;
esac

if [ $status -ne 0 ] && ! grep -q '^not ok ' "$lines" 2>/dev/null; then
	why="exit status $status"
	[ $status -eq 124 ] && why="not done after ${TEST_TIMEOUT:-600} s"
	echo "not ok $name: $why; the output ends: $(grep -v '^ *$' "$out" | tail -n 1 | cut -c 1-200)" >>"$lines"
fi
[ -s "$lines" ] || echo "not ok $name: it ran no case" >>"$lines"
rm -rf "$xml"

cat "$out" "$lines"
echo "$name took $(($(date +%s) - began)) s"
grep -q '^not ok ' "$lines" && exit 1
grep -q '^ok ' "$lines" || exit 77
exit 0
