# SPDX-License-Identifier: Apache-2.0
# tests/lib/built.sh - the decima that was built, in a folder of its own; sourced by scripts of `make check` that run it
#
# Wants top_srcdir and top_builddir. Makes $dir, which goes away at the end together with the daemon $pid, and $port.
. "$top_srcdir/tests/lib/wait.sh"

dir=$(mktemp -d) || exit 1
pid=
trap '[ -n "$pid" ] && kill -9 $pid 2>/dev/null; rm -rf "$dir"' EXIT
# Two runs at once have different process numbers, and so different ports.
port=$((20000 + $$ % 12000))

# take_plugins WANTED..: the plugins that were built, in $dir/plugins, where root's trust in them does not depend on where
# the build is. Ends the test as skipped when one of these, or decima, is not there.
take_plugins() {
	mkdir "$dir/plugins"
	for file in decima "$@"; do
		[ "$file" = decima ] || file=plugins/.libs/$file.so
		[ -e "$top_builddir/$file" ] || {
			echo "skip $(basename "$0" .sh): $file is not built"
			exit 0
		}
	done
	cp "$top_builddir"/plugins/.libs/*.so "$dir/plugins/"
	chmod 755 "$dir"
	chmod -R go-w "$dir"
}
