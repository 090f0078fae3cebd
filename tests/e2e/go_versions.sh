#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/go_versions.sh - programs that other versions of Go make: stacks, lines, unwind tables, and what is scraped
#
# DECIMA_TEST_GO names them, or is "all"; none unless told, because `go` fetches each (150 MB, once). `tools/test go`
# takes all. A case is called goVERSION.NAME; what is asked of each version is what other tests ask of the machine's own.
#
# takes at most 3600 s
set -u
# The last of each; the tables of functions changed in 1.18 and 1.20, those of inlined calls in 1.20 and 1.21.
all='1.18.10 1.19.13 1.20.14 1.21.13 1.22.12 1.23.12 1.24.13 1.25.14 1.26.8 1.27.4'
versions=${DECIMA_TEST_GO:-}
[ "$versions" = all ] && versions=$all
if [ -z "$versions" ]; then
	echo "skip go_versions: takes what DECIMA_TEST_GO names (tools/test go)"
	exit 0
fi
if ! command -v go >/dev/null; then
	echo "skip go_versions: go is missing"
	exit 0
fi
out=$(mktemp) || exit
# Each has its own cache: what one compiled is no use to another.
GOCACHE=$(mktemp -d) || exit
# What a test compiles is looked at where it lies, as tests/run-case.sh has it.
CCACHE_DISABLE=1
export GOCACHE CCACHE_DISABLE
trap 'rm -rf "$out" "$out.cases" "$GOCACHE"' EXIT
path=$PATH

# unit PROGRAM CASE..: these of a cmocka program
unit() {
	program=$1
	shift
	CMOCKA_MESSAGE_OUTPUT=TAP timeout 600 "$top_builddir/tests/unit/$program" >"$out" 2>&1
	for case_name in "$@"; do
		if grep -q "^ok [0-9]* - $case_name\$" "$out"; then
			echo "ok go$v.$case_name"
		elif grep -q "^not ok [0-9]* # SKIP $case_name\$\|^ok [0-9]* # SKIP $case_name\$" "$out"; then
			echo "skip go$v.$case_name: $(sed -n "s/^skip: $case_name: //p" "$out")"
		else
			echo "not ok go$v.$case_name: $(grep -A 3 "$case_name" "$out" | tr '\n' ' ' | head -c 500)"
		fi
	done
}

# script PATH [SED]: its cases, or those that the expression leaves
script() {
	sh "$top_srcdir/tests/$1" >"$out" 2>&1
	status=$?
	sed -n "${2:-}s/^\(ok\|not ok\|skip\) /\1 go$v./p" "$out" >"$out.cases"
	[ -s "$out.cases" ] || echo "not ok go$v.$1: it ran no such case"
	cat "$out.cases"
	[ $status -eq 0 ] || echo "not ok go$v.$1: exit status $status"
}

for v in $versions; do
	# Go fetches others from 1.21 on; one before would answer for itself.
	root=$(GOTOOLCHAIN=go$v GOFLAGS='' go env GOROOT 2>"$out")
	PATH=$root/bin:$path
	GOTOOLCHAIN=local
	export GOTOOLCHAIN
	if [ "$(go env GOVERSION)" = "go$v" ]; then
		unit test_frames test_llvm_symbolizer_agrees test_stripped_go_keeps_lines
		DECIMA_TEST_ORACLE_SECONDS=1 script unwind/oracle.sh '/oracle_go/'
		script e2e/ebpf_go.sh
		script e2e/scrape.sh
	else
		echo "not ok go$v: $(go env GOVERSION) could not fetch it: $(tail -n 1 "$out")"
	fi
	PATH=$path
done
