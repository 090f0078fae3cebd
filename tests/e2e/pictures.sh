#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/pictures.sh - docs' pictures can be made: of a real build, with something on them, and small
# takes at most 300 s
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"
need_sampler

mkdir "$dir/out"
"$top_srcdir/tools/pictures" -s 8 "$top_builddir" "$dir/out" >"$dir/said" 2>"$dir/err"
status=$?
[ $status -ne 77 ] || skip_all "$(tail -n 1 "$dir/err")"
expect_status pictures.made 0 $status
[ $status -eq 0 ] || tail -n 3 "$dir/err" >&2
for name in explore explore-dark compare; do
	# PATH: W x H, N bytes, N frames
	frames=$(sed -n "s|.*/$name.png: 1280 x 800, [0-9]* bytes, \([0-9]*\) frames|\1|p" "$dir/said")
	bytes=$(wc -c <"$dir/out/$name.png")
	if [ "${frames:-0}" -ge 100 ] && [ "$bytes" -le 204800 ]; then
		ok "pictures.$name"
	else
		not_ok "pictures.$name" "${frames:-no} frames, 100 at least; $bytes bytes, 204800 at most"
	fi
done
