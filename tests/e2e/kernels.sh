#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/kernels.sh - the sampler on other kernels than this machine's, booted in QEMU
#
# DECIMA_TEST_KERNELS names them, as in tests/kernels/list, or is "all"; Debian 12's own, 6.1, unless told otherwise.
# `tools/test kernels` takes all. A case is called KERNEL.NAME.
set -u
here=$top_srcdir/tests/kernels
PATH=$PATH:/usr/sbin:/sbin
kernels=${DECIMA_TEST_KERNELS:-6.1}
[ "$kernels" = all ] && kernels=$(awk '/^[a-z0-9]/ { print $1 }' "$here/list")
if [ ! -e "$top_builddir/plugins/.libs/input_ebpf.so" ]; then
	echo "skip kernels: built without eBPF"
	exit 0
fi
out=$(mktemp) || exit
trap 'rm -f "$out"' EXIT

# guest KERNEL NAME [-a ARGUMENT].. -- SCRIPT: its cases, and `dmesg`, under KERNEL.NAME
guest() {
	kernel=$1 what=$2
	shift 2
	options=
	while [ "$1" != -- ]; do options="$options $1" && shift; done
	# shellcheck disable=SC2086 # the options are words
	"$here/run" -t "${DECIMA_GUEST_SECONDS:-400}" $options "$kernel" -- sh "$here/guest/$2" >"$out" 2>&1
	status=$?
	if [ $status -eq 77 ]; then
		echo "skip $kernel.$what: $(tail -n 1 "$out")"
	else
		sed "s/^\(ok\|not ok\|skip\) /\1 $kernel.$what./" "$out"
		[ $status -eq 0 ] || grep -q '^not ok' "$out" || echo "not ok $kernel.$what: exit status $status"
	fi
}

for k in $kernels; do
	guest "$k" sampler -- sampler.sh
	guest "$k" conditions -- conditions.sh
	guest "$k" cpus -a maxcpus=1 -- cpus.sh
done
