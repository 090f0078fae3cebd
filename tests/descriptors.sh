#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/descriptors.sh - the committed descriptors are what protoc makes of proto/
set -u
command -v protoc >/dev/null || {
	echo "skip descriptors: protoc is not installed; apt-get install protobuf-compiler"
	exit 0
}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
"$top_srcdir/tools/descriptors" "$dir" 2>"$dir/err" || echo "not ok descriptors: $(head -n 1 "$dir/err")"
for file in core/api/descriptors.h plugins/input/receive/descriptors.h; do
	if cmp -s "$top_srcdir/$file" "$dir/$file"; then
		echo "ok $file"
	else
		echo "not ok $file: it is not what tools/descriptors writes; run that and commit"
	fi
done
