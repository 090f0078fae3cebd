#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/kernels.sh - the sampler on other kernels than this machine's, booted in QEMU
#
# DECIMA_TEST_KERNELS names them, as in tests/kernels/list, or is "all"; Debian 12's own, 6.1, unless told otherwise.
# `tools/test kernels` takes all, and in 6.1 what comes later comes after an hour. A case is called KERNEL.SCRIPT.NAME. A guest takes two minutes, on a machine that has
# much else to do ten; what it is given is not what is expected.
#
# takes at most 2000 s for each kernel
#
# runs beside others: what it boots samples in there
set -u
here=$top_srcdir/tests/kernels
PATH=$PATH:/usr/sbin:/sbin
kernels=${DECIMA_TEST_KERNELS:-6.1}
rests=''
[ "$kernels" = all ] && kernels=$(awk '/^[a-z0-9]/ { print $1 }' "$here/list") rests=6.1
if [ ! -e "$top_builddir/plugins/.libs/input_ebpf.so" ]; then
	echo "skip kernels: built without eBPF"
	exit 0
fi
out=$(mktemp) || exit
trap 'rm -f "$out"' EXIT

# One boot for all: it costs as much as many cases. Only one CPU is on at first, for what comes later. conditions.sh
# is the last, since some of what it forbids stays forbidden until the next boot.
for k in $kernels; do
	rest=${DECIMA_GUEST_REST:-0}
	[ "$k" = "$rests" ] && rest=${DECIMA_GUEST_REST:-3600}
	DECIMA_GUEST_REST=$rest "$here/run" -t $((${DECIMA_GUEST_SECONDS:-1500} + rest)) -a maxcpus=1 "$k" -- \
		sh "$here/guest/all.sh" cpus daemon sampler conditions >"$out" 2>&1
	status=$?
	if [ $status -eq 77 ]; then
		echo "skip $k: $(tail -n 1 "$out")"
	else
		sed "s/^\(ok\|not ok\|skip\) /\1 $k./" "$out"
		[ $status -eq 0 ] || grep -q '^not ok' "$out" || echo "not ok $k: exit status $status"
	fi
done
