#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/arm64.sh - the sampler compiles for arm64, in the kernel and outside, without a warning
#
# What it does there is not tried here. Its unwind tables of arm64 files are: tests/unwind/oracle.sh, test_unwind.
set -u
cc=aarch64-linux-gnu-gcc
headers=/usr/aarch64-linux-gnu/include
clang=$(sed -n 's/^BPF_CLANG = //p' "$top_builddir/Makefile")
[ -e "$top_builddir/bpf/sampler.bpf.o" ] || {
	echo "skip arm64: built without eBPF"
	exit 0
}
command -v $cc >/dev/null && [ -d $headers ] || {
	echo "skip arm64: $cc or its headers are missing (packages gcc-aarch64-linux-gnu, libc6-dev-arm64-cross)"
	exit 0
}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$top_srcdir" || exit 1

# compiles NAME COMMAND..
compiles() {
	name=$1
	shift
	if "$@" >"$dir/log" 2>&1; then
		echo "ok arm64.$name"
	else
		echo "not ok arm64.$name: $(grep -m 1 -E 'error|warning' "$dir/log")"
	fi
}
compiles program "$clang" -target bpf -D__TARGET_ARCH_arm64 -g -O2 -std=gnu17 -Wall -Wextra -Werror -I. -idirafter $headers \
	-c bpf/sampler.bpf.c -o "$dir/sampler.bpf.o"
# Libraries' headers are this machine's; they say the same for both, and the C library's own come first.
compiles input $cc -fsyntax-only -std=gnu17 -D_GNU_SOURCE -DHAVE_CONFIG_H -Wall -Wextra -Werror -I"$top_builddir" -I. \
	-Iinclude -idirafter /usr/include plugins/input/ebpf/*.c plugins/input/ebpf/*/*.c
