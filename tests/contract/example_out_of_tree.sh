#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/contract/example_out_of_tree.sh - the example, copied elsewhere, builds against what is installed and is loaded
#
# The header and decima.pc are installed into a directory of their own; the example's own makefile does the rest with
# pkg-config and nothing of the source tree.
set -u
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
for tool in make pkg-config; do
	command -v $tool >/dev/null || {
		echo "skip example_out_of_tree: $tool is missing (package $tool)"
		exit 0
	}
done
unset MAKEFLAGS MFLAGS MAKELEVEL

if ! make -C "$top_builddir" DESTDIR="$dir/root" install-decimaincludeHEADERS install-pkgconfigDATA >"$dir/out" 2>&1; then
	echo "not ok install: $(tail -n 1 "$dir/out")"
	exit 1
fi
pc=$(find "$dir/root" -name decima.pc)
mkdir "$dir/mine"
cp "$top_srcdir/plugins/input/example/example.c" "$dir/mine/"
cp "$top_srcdir/plugins/input/example/Makefile.example" "$dir/mine/Makefile"
if PKG_CONFIG_SYSROOT_DIR="$dir/root" PKG_CONFIG_LIBDIR=$(dirname "$pc") \
	make -C "$dir/mine" CFLAGS='-Wall -Wextra -Werror' >"$dir/out" 2>&1; then
	echo "ok builds"
else
	echo "not ok builds: $(grep -m 1 -E 'error|Error' "$dir/out")"
	exit 1
fi
# It knows the header that was installed, and not the one of the tree.
if grep -q -- "-I$dir/root" "$dir/out" && ! grep -qF -- "-I$top_srcdir" "$dir/out"; then
	echo "ok installed_header"
else
	echo "not ok installed_header: $(grep -m 1 -- '-shared' "$dir/out")"
fi
if "$top_builddir/decima-plugin-check" "$dir/mine/input_example.so" >"$dir/out" 2>&1; then
	echo "ok loads"
else
	echo "not ok loads: $(grep -v '^ok ' "$dir/out" | head -n 1)"
fi
