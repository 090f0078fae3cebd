# SPDX-License-Identifier: Apache-2.0
# tests/lib/compile.sh - programs that a test compiles for itself; sourced, with not_ok and skip_all there
#
# Wants $dir and $top_srcdir. A program that does not compile is a failed case; a machine without a compiler is skipped.

has_cc() {
	cc=${CC:-cc}
	command -v "${cc%% *}" >/dev/null
}
need_cc() { has_cc || skip_all "no C compiler"; }

# has TOOL NAME: it is there, or NAME is skipped
has() {
	command -v "$1" >/dev/null && return
	echo "skip $2: $1 is missing"
	return 1
}
# has_static_libc NAME: programs can be linked so, or NAME is skipped
has_static_libc() {
	[ "$(${CC:-cc} -print-file-name=libc.a)" != libc.a ] && return
	echo "skip $1: no static libc"
	return 1
}

# builds NAME SOURCE FLAG..: a program of tests/programs, or of another folder, into $dir/NAME, or false
builds() {
	built=$dir/$1 source=$2
	shift 2
	[ "${source#/}" != "$source" ] || source=$top_srcdir/tests/programs/$source
	${CC:-cc} -O2 -g -pthread -o "$built" "$source" "$@" 2>"$dir/cc.log"
}
# compile NAME SOURCE FLAG..: the same, or a failed case
compile() {
	need_cc
	builds "$@" && return
	not_ok "compile.$1" "$(head -n 1 "$dir/cc.log")"
	return 1
}
