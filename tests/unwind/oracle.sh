#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/unwind/oracle.sh - a sample of this machine's ELF files: every row of their unwind tables is what libdw says
#
# 20 seconds of CPU time (DECIMA_TEST_ORACLE_SECONDS) for the machine's own files; then arm64 ones, where a cross compiler
# has brought some, and a program of Go.
#
# One thread: not run under TSan.
set -u
oracle=$top_builddir/tests/unwind/oracle
dir=$(mktemp -d) || exit 1
out=$dir/out
trap 'rm -rf "$dir"' EXIT

# compare NAME OPTION...: at least one file, and no answer that differs. What rules cannot say is listed, with counts, and is
# less than one row in a thousand.
compare() {
	name=$1
	shift
	if "$oracle" "$@" >"$out" 2>"$out.err" &&
		awk '{ n[$1] = $2 } END { exit !(n["equal"] > 1000 && n["unsupported"] * 1000 < n["rows"]) }' "$out"; then
		echo "ok $name: $(awk '$1 ~ /^(files|rows|equal|unsupported|mismatches)$/ { printf "%s %s ", $1, $2 }' "$out")"
		awk -v name="$name" '$1 == "gap" { print "# " name ": " $3 " rows or descriptions not supported: " $2 }' "$out"
	else
		echo "not ok $name: $(tr '\n' ' ' <"$out") $(head -n 3 "$out.err")"
	fi
}

compare unwind_oracle --seconds "${DECIMA_TEST_ORACLE_SECONDS:-20}"
arm64=/usr/aarch64-linux-gnu/lib
if [ -d $arm64 ]; then
	compare unwind_oracle_arm64 --seconds 10 $arm64
else
	echo "skip unwind_oracle_arm64: no arm64 libraries in $arm64 (package libc6-arm64-cross)"
fi
# Go's own description knows frame address and return address.
GOCACHE=${GOCACHE:-$dir/cache} GO111MODULE=off GOFLAGS='' GOTOOLCHAIN=local HOME=$dir
export GOCACHE GO111MODULE GOFLAGS GOTOOLCHAIN HOME
if ! command -v go >/dev/null; then
	echo "skip unwind_oracle_go: go is missing"
elif go build -o "$dir/chain_go" "$top_srcdir/tests/programs/chain.go" 2>"$out.err"; then
	compare unwind_oracle_go "$dir/chain_go"
else
	echo "not ok unwind_oracle_go: $(head -n 3 "$out.err")"
fi
