#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/configure.sh - configure takes what it offers, and what it refuses gets a sentence with the remedy
#
# runs beside others
set -u
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
# What configure found out about the machine is found out once: a minute saved, and nothing that is tested here.
cache=--cache-file=$dir/cache

# run NAME ARGUMENT...: configures in a folder of its own; the output is in $dir/NAME/out.
run() {
	case_name=$1
	shift
	mkdir -p "$dir/$case_name"
	(cd "$dir/$case_name" && "$top_srcdir/configure" "$@" >out 2>&1)
}
accepts() {
	if run "$@"; then echo "ok $case_name"; else
		echo "not ok $case_name: $(grep 'error:' "$dir/$case_name/out" | tail -n 1)"
	fi
}
# refuses NAME PATTERN ARGUMENT...: fails, and says a sentence with the pattern.
refuses() {
	pattern=$2 name=$1
	shift 2
	if run "$name" "$@"; then
		echo "not ok $name: configure accepted $*"
	elif grep 'error:' "$dir/$name/out" | grep -qE -- "$pattern"; then
		echo "ok $name"
	else
		echo "not ok $name: no \"$pattern\" in: $(grep 'error:' "$dir/$name/out" | tail -n 1)"
	fi
}
# off NAME PLUGIN: the summary of the last accepted run says that the plugin is off.
off() {
	if grep -qE "^ *$2: off \(--disable-" "$dir/$1/out"; then echo "ok $1_summary"; else
		echo "not ok $1_summary: the summary does not say that $2 is off"
	fi
}

accepts default "$cache"
for plugin in input/perf_map storage/local storage/memory output/file; do
	option=$(echo "$plugin" | tr '/_' '--')
	accepts "without_$option" "$cache" "--disable-$option"
	off "without_$option" "$plugin"
done
accepts no_hardening "$cache" --disable-hardening
refuses bad_sanitizer 'address or thread' "$cache" --enable-sanitizers=memory
refuses unknown_option 'unrecognized options: --disable-file' "$cache" --disable-file
refuses fuzzing_with_gcc 'clang' CC=gcc --enable-fuzzing

# A machine without the tools for eBPF: a PATH that has everything but them.
mkdir "$dir/bin"
for folder in /usr/local/bin /usr/bin /bin; do
	for program in "$folder"/*; do
		case $program in
		*/clang* | */bpftool) ;;
		*) ln -sf "$program" "$dir/bin/" ;;
		esac
	done
done
PATH=$dir/bin
refuses no_clang 'package clang, or configure with --disable-ebpf' CC=gcc
accepts no_clang_disable_ebpf CC=gcc --disable-ebpf
off no_clang_disable_ebpf input/ebpf
# A pkg-config that finds nothing: every library is an error with its package.
refuses no_libraries 'install the package lib[a-z0-9]+-dev' CC=gcc PKG_CONFIG_LIBDIR=/nonexistent --disable-ebpf
