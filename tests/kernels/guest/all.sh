#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/kernels/guest/all.sh - the named scripts of this folder, one after the other in one guest
#
#	all.sh NAME..
#
# A boot costs as much as many cases. Their cases are called NAME.CASE. A script that ends badly without a case that
# says so is one itself.
set -u
here=$top_srcdir/tests/kernels/guest
out=$(mktemp) || exit
trap 'rm -f "$out"' EXIT
for name in "$@"; do
	# What was found out is printed as it comes: a guest that hangs has said where.
	{
		sh "$here/$name.sh"
		status=$?
		[ $status -eq 0 ] || echo "exit status $status" >&3
	} 3>"$out" | sed -u "s/^\(ok\|not ok\|skip\) /\1 $name./"
	[ -s "$out" ] && echo "not ok $name: $(cat "$out")"
done
exit 0
