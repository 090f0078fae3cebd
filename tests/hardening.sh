#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/hardening.sh - what configure promised is in the binaries, and a plugin exports one function
set -u
cd "$top_builddir" || exit 1
command -v readelf >/dev/null || {
	echo "skip hardening: readelf is missing (package binutils)"
	exit 0
}

# has NAME FILE PATTERN READELF_OPTIONS: the listing has a line with the pattern.
has() {
	case_name=$1 file=$2 pattern=$3
	shift 3
	if readelf -W "$@" "$file" 2>/dev/null | grep -qE "$pattern"; then
		echo "ok $case_name $(basename "$file")"
	else
		echo "not ok $case_name $(basename "$file"): readelf $* shows no $pattern"
	fi
}
configured() { grep -qE "^$1 = .*$2" Makefile; }

for file in decima decima-plugin-check plugins/.libs/*.so; do
	[ -f "$file" ] || continue
	if configured HARDEN_LDFLAGS relro; then
		has relro "$file" GNU_RELRO -l
		has bind_now "$file" 'BIND_NOW|Flags: .*NOW' -d
		has stack_not_executable "$file" 'GNU_STACK .* RW ' -l
	fi
	configured HARDEN_LDFLAGS ibt && has cet "$file" 'IBT, SHSTK' -n
	case $file in
	*.so)
		exported=$(readelf -W --dyn-syms "$file" | awk '$7 != "UND" && $5 == "GLOBAL" { print $8 }' |
			grep -vE '^(_init|_fini|__asan_|__odr_asan|__ubsan_|__tsan_|__start_|__stop_|__sancov|__sanitizer)' | tr '\n' ' ')
		if [ "$exported" = "dcm_plugin_entry " ]; then
			echo "ok exports $(basename "$file")"
		else
			echo "not ok exports $(basename "$file"): $exported"
		fi
		;;
	*)
		has pie "$file" 'Type: +DYN' -h
		configured HARDEN_CFLAGS stack-protector && has stack_protector "$file" __stack_chk_fail --dyn-syms
		configured HARDEN_CPPFLAGS FORTIFY && has fortify "$file" '__[a-z]*_chk(@|$)' --dyn-syms
		;;
	esac
done
