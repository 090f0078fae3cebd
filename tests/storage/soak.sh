#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/storage/soak.sh - six hours of the clock with a retention of one: the store's memory, descriptors, files and
# bytes stay where they were after two, and what was written last is there. `bench/store . hour` does it at the full rate.
set -u
. "$top_srcdir/tests/lib/scratch.sh"
dir=$(scratch) || exit 1
trap 'rm -rf "$dir"' EXIT
program=$top_builddir/bench/bench_store
[ -x "$program" ] || {
	echo "skip soak: $program is not built"
	exit 0
}
if TMPDIR="$dir" "$program" soak 20 6 >"$dir/out" 2>&1; then
	echo "ok soak.bounded"
else
	tail -n 8 "$dir/out"
	echo "not ok soak.bounded: something grew, or is not there"
fi
