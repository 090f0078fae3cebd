#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/install.sh - what `make install DESTDIR=` leaves, and that a plugin builds against it with nothing else
#
# runs beside others
set -u
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
root=$destdir$prefix

# Of `systemd-analyze syscall-filter`: which of `needed` are not in `filter`, whose sets hold calls and sets.
expand_filter='
	/^@/ { set = $1; next }
	/^    [a-z@]/ && set { member[set, ++n[set]] = $1 }
	END {
		todo = split(filter, list, " ")
		for (i = 1; i <= todo; i++) {
			allowed[list[i]] = 1
			for (k = 1; k <= n[list[i]]; k++)
				list[++todo] = member[list[i], k]
		}
		for (i = split(needed, want, " "); i > 0; i--)
			if (!(want[i] in allowed))
				print want[i]
	}'

headers="include/decima/base.h include/decima/batch.h include/decima/http.h include/decima/options.h include/decima/plugin.h include/decima/query.h include/decima/serve.h"
# shellcheck disable=SC2086 # the headers are words
for file in $headers bin/decima bin/decima-plugin-check lib/pkgconfig/decima.pc \
	lib/decima/storage_local.so lib/decima/storage_memory.so lib/decima/output_file.so lib/decima/input_perf_map.so \
	etc/decima/decima.yaml lib/systemd/system/decima.service lib/systemd/system/decima-agent.service lib/systemd/system/decima-server.service share/man/man1/decima.1 \
	share/bash-completion/completions/decima share/zsh/site-functions/_decima share/fish/vendor_completions.d/decima.fish \
	share/doc/decima/examples/decima-sysctl.conf share/doc/decima/examples/agent.yaml \
	share/doc/decima/examples/certificates share/doc/decima/examples/server.yaml share/doc/decima/examples/scraper.yaml \
	share/man/man1/decima-plugin-check.1 share/man/man5/decima.yaml.5; do
	if [ -s "$root/$file" ]; then echo "ok installed $file"; else echo "not ok installed $file: it is not there"; fi
done
# Only what is listed, and no libtool archives among the plugins.
stray=$(cd "$root" && find include -type f | while read -r file; do
	case " $headers " in *" $file "*) ;; *) echo "$file" ;; esac
done; cd "$root" && find lib -name '*.la')
if [ -z "$stray" ]; then echo "ok nothing_else"; else echo "not ok nothing_else:" $stray; fi

"$root/bin/decima" check --config-only -c "$root/etc/decima/decima.yaml" --plugin-path "$root/lib/decima" >"$dir/check" 2>&1 &&
	echo "ok installed_configuration_loads" || echo "not ok installed_configuration_loads: $(head -n 1 "$dir/check")"

# The units, as they are but for where the program is; systemd names a line that it does not understand. Each stays below
# what it says of it: systemd's own measure of what a service may do, in tenths; the sampler's rights count much.
unit() { # NAME MOST
	sed "s|^ExecStart=|&$destdir|" "$root/lib/systemd/system/$1.service" >"$dir/$1.service"
	if ! command -v systemd-analyze >/dev/null; then
		echo "skip unit_$1: systemd-analyze is missing"
		return
	fi
	faults=$(systemd-analyze verify --man=no "$dir/$1.service" 2>&1 | grep -F decima)
	if [ -z "$faults" ]; then echo "ok unit_$1"; else echo "not ok unit_$1: $faults"; fi
	if ! systemd-analyze --help | grep -q -e --offline; then
		echo "skip unit_$1_exposure: this systemd-analyze needs a running systemd for it"
	elif systemd-analyze security --no-pager --offline=true "--threshold=$2" "$dir/$1.service" >"$dir/exposure" 2>&1; then
		echo "ok unit_$1_exposure"
	else
		echo "not ok unit_$1_exposure: $(tail -n 1 "$dir/exposure")"
	fi
}
unit decima 45
unit decima-agent 45
unit decima-server 20
# Each asks for its own configuration, and keeps its own things.
for name in agent server; do
	got=$(sed -n 's/^ExecStart=.* -c .*\/\([^/]*\)$/\1/p; s/^StateDirectory=//p' "$dir/decima-$name.service" | tr '\n' ' ')
	if [ "$got" = "$name.yaml decima-$name " ]; then echo "ok unit_of_$name"; else echo "not ok unit_of_$name: $got"; fi
done

# What the broker may call and what is called without the C library, the unit lets through.
if command -v systemd-analyze >/dev/null; then
	sets=$(systemd-analyze --no-pager syscall-filter 2>/dev/null)
	needed=$({
		sed -n '/^static const int calls/,/^}/s/^\tSYS_\([a-z0-9_]*\),$/\1/p' "$top_srcdir/core/broker/broker_process.c"
		find "$top_srcdir/core" "$top_srcdir/plugins" -name '*.c' \
			-exec sed -n 's/.*syscall(SYS_\([a-z0-9_]*\).*/\1/p' {} +
	} | sort -u | tr "\n" " ")
	refused=$(printf '%s\n' "$sets" | awk -v filter="$(sed -n 's/^SystemCallFilter=//p' "$dir/decima.service")" \
		-v needed="$needed" "$expand_filter")
	if [ "$(echo "$needed" | wc -w)" -lt 30 ]; then
		echo "not ok unit_system_calls: the list of the broker's was not found"
	elif [ -z "$refused" ]; then
		echo "ok unit_system_calls"
	else
		echo "not ok unit_system_calls: the unit's filter refuses" $refused
	fi
else
	echo "skip unit_system_calls: systemd-analyze is missing"
fi
# Nothing of /proc that names are made of is hidden: this setting puts an empty file over /proc/kallsyms.
if grep -q '^ProtectKernelTunables=yes' "$dir/decima.service"; then
	echo "not ok unit_shows_kallsyms: ProtectKernelTunables=yes hides it"
else
	echo "ok unit_shows_kallsyms"
fi

if command -v man >/dev/null; then
	for page in man1/decima.1 man1/decima-plugin-check.1 man5/decima.yaml.5; do
		faults=$(MANWIDTH=80 LC_ALL=C.UTF-8 man --warnings -l "$root/share/man/$page" 2>&1 >/dev/null | head -n 3)
		if [ -z "$faults" ]; then echo "ok formats $page"; else echo "not ok formats $page:" $faults; fi
	done
else
	echo "skip formats: man is missing"
fi

# The page says each option of --help.
"$root/bin/decima-plugin-check" --help | sed -n 's/^  --\([a-z]*\).*/\1/p' | while read -r option; do
	if grep -qF "\\-\\-$option" "$root/share/man/man1/decima-plugin-check.1"; then
		echo "ok manual of --$option"
	else
		echo "not ok manual of --$option: it is not in decima-plugin-check(1)"
	fi
done

# The example, copied out of the tree, built as a stranger builds his own: by its makefile, pkg-config and the header.
cp "$top_srcdir"/plugins/input/example/* "$dir/" && rm "$dir/local.mk"
PATH=$root/bin:$PATH
PKG_CONFIG_SYSROOT_DIR=$destdir
PKG_CONFIG_LIBDIR=$root/lib/pkgconfig
export PATH PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_LIBDIR
if CFLAGS="-O2 -Wall -Wextra -Werror" make -C "$dir" -f Makefile.example >"$dir/make.out" 2>&1; then
	echo "ok example_builds_out_of_tree"
else
	echo "not ok example_builds_out_of_tree: $(grep -m 1 error "$dir/make.out")"
fi
if make -C "$dir" -f Makefile.example check >"$dir/check.out" 2>&1; then
	echo "ok example_passes_the_check"
else
	echo "not ok example_passes_the_check: $(tail -n 2 "$dir/check.out" | head -n 1)"
fi
