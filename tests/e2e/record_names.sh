#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/record_names.sh - C++ and Rust through the whole path: their known chains, with the names of their sources
#
# Below main stand the C library and Rust's runtime, which need not have frame pointers; above the leaf an interrupt
# may have struck. A share of CPU time is asked for, because a command's start is sampled too.
set -u
. "$top_srcdir/tests/e2e/lib.sh"

if [ "$(id -u)" -ne 0 ] || [ ! -e "$plugins/input_ebpf.so" ]; then
	skip record_names "sampling takes root and a build with eBPF"
	exit 0
fi
PATH=$PATH:$HOME/.cargo/bin

# chain NAME REGEX: at least nine tenths of what $dir/NAME burns is in this chain
chain() {
	"$decima" record --plugin-path "$plugins" -F 199 -o "$dir/$1.folded" -- "$dir/$1" 2 >/dev/null 2>"$dir/err"
	expect_status "$1" 0 $?
	if regex="(^|;)$2(;[^;]*)*\$" awk '
		BEGIN { re = ENVIRON["regex"] }
		{ v = $NF; sub(/ [0-9]+$/, ""); all += v; if ($0 ~ re) in_chain += v }
		END { exit !(all > 0 && in_chain >= 0.9 * all) }' "$dir/$1.folded"; then
		ok "$1_chain"
	else
		not_ok "$1_chain" "most often: $(awk '{ print $NF, $0 }' "$dir/$1.folded" | sort -rn | head -n 1)"
	fi
}

vector='std::vector<int, std::allocator<int> >'
cc_chain="main;chain::Alpha::run;chain::beta<$vector, 1000000>;chain::Box<$vector >::operator\(\)"
cc_chain="$cc_chain;chain::\(anonymous namespace\)::spin"
for cxx in g++ clang++; do
	if ! command -v $cxx >/dev/null; then
		skip "$cxx" "$cxx is missing"
	elif $cxx -O2 -fno-omit-frame-pointer -o "$dir/$cxx" "$top_srcdir/tests/programs/chain.cc" 2>"$dir/err"; then
		chain $cxx "$cc_chain"
	else
		not_ok $cxx "$(grep -m 1 error "$dir/err")"
	fi
done

# The older mangling does not tell what a generic function was made for, and the default depends on the compiler.
run='chain::main;<chain::Alpha as chain::Walk>::run'
closure='chain::beta::<u32>;chain::call::<chain::beta<u32>::\{closure#0\}>'
rust() { # NAME REGEX [FLAG]...
	name=$1 regex=$2
	shift 2
	if rustc -O -C force-frame-pointers=yes "$@" -o "$dir/$name" "$top_srcdir/tests/programs/chain.rs" 2>"$dir/err"; then
		chain "$name" "$regex"
	else
		not_ok "$name" "$(grep -m 1 error "$dir/err")"
	fi
}
if command -v rustc >/dev/null; then
	rust rust_default "$run;(chain::beta;chain::call|$closure);chain::inner::spin"
	rust rust_v0 "$run;$closure;chain::inner::spin" -C symbol-mangling-version=v0
else
	skip rust "rustc is missing"
fi
