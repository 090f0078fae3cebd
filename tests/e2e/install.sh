#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/install.sh - what `make install DESTDIR=` leaves, and that a plugin builds against it with nothing else
set -u
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
root=$destdir$prefix

for file in bin/decima bin/decima-plugin-check include/decima/plugin.h lib/pkgconfig/decima.pc \
	lib/decima/storage_memory.so lib/decima/output_file.so lib/decima/input_perf_map.so \
	etc/decima/decima.yaml lib/systemd/system/decima.service share/man/man1/decima.1; do
	if [ -s "$root/$file" ]; then echo "ok installed $file"; else echo "not ok installed $file: it is not there"; fi
done
# Only what is listed: one header, and no libtool archives among the plugins.
stray=$(cd "$root" && find include -type f ! -path include/decima/plugin.h; cd "$root" && find lib -name '*.la')
if [ -z "$stray" ]; then echo "ok nothing_else"; else echo "not ok nothing_else:" $stray; fi

# The example, copied out of the tree, as its own comment says to build it.
cp "$top_srcdir/plugins/input/example/example.c" "$dir/input_mine.c"
flags=$(PKG_CONFIG_SYSROOT_DIR=$destdir PKG_CONFIG_LIBDIR=$root/lib/pkgconfig pkg-config --cflags decima)
if cc -std=gnu17 -Wall -Wextra -Werror -shared -fPIC -o "$dir/input_mine.so" "$dir/input_mine.c" $flags 2>"$dir/cc.out"; then
	echo "ok example_builds_out_of_tree"
else
	echo "not ok example_builds_out_of_tree: $(head -n 1 "$dir/cc.out")"
fi
if "$root/bin/decima-plugin-check" "$dir/input_mine.so" >"$dir/check.out" 2>&1; then
	echo "ok example_passes_the_check"
else
	echo "not ok example_passes_the_check: $(tail -n 1 "$dir/check.out")"
fi
