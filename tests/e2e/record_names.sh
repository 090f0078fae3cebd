#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/record_names.sh - C++ and Rust through the whole path: their known chains, with the names of their sources
#
# Each from _start to the leaf (tests/lib/chain.awk). The command's start is sampled too: it may be cut short while tables
# are being made, and never wrong; what a single sample says is left out, as the runtimes' own starts have many names.
set -u
. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/lib/chains.sh"

need_sampler
PATH=$PATH:$HOME/.cargo/bin

roots || exit 1
other="$other|(std|core|alloc|<|__rust|.*lang_start|rand|operator|getdelim|getline|sysconf|sched_).*"

# chain NAME CHAIN: of what $dir/NAME burns
chain() {
	"$decima" record --plugin-path "$plugins" -F 499 -o "$dir/$1.folded" -- "$dir/$1" 3 >/dev/null 2>"$dir/err"
	expect_status "$1" 0 $?
	awk '$NF > 1.5e9 / 499 { v = $NF; sub(/ [0-9]+$/, ""); print v, $0 }' "$dir/$1.folded" | sort -rn >"$dir/stacks"
	exact "$1_chain" "$2" "$dir/stacks" "$dir/stacks" 95 90
}

vector='std::vector<int,.std::allocator<int>.>'
cc_chain="$root chain::Alpha::run chain::beta<$vector,.1000000> chain::Box<$vector.>::operator[(][)]"
cc_chain="$cc_chain chain::[(]anonymous.namespace[)]::spin"
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
runtime='*(std::.*|core::.*|<.*|__rust.*|.*lang_start.*)'
run="$root $runtime chain::main <chain::Alpha.as.chain::Walk>::run"
beta='(chain::beta::<u32>|chain::beta)' call='(chain::call::<chain::beta<u32>::[{]closure#0[}]>|chain::call)'
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
	rust rust_default "$run $beta $call chain::inner::spin"
	rust rust_v0 "$run ${beta%|*}) ${call%|*}) chain::inner::spin" -C symbol-mangling-version=v0
	# The compiler itself has ended before the tables of its library are made, which is large: they are waited for.
	"$decima" record --plugin-path "$plugins" -F 499 -o "$dir/rustc.folded" -- rustc -O -o "$dir/none" \
		"$top_srcdir/tests/programs/chain.rs" >/dev/null 2>"$dir/err"
	expect_status rustc 0 $?
	awk '{ t += $NF } /^\[truncated: tables not built yet/ { n += $NF } END { printf "%d\n", t ? 100 * n / t : 100 }' \
		"$dir/rustc.folded" >"$dir/cut"
	if [ "$(cat "$dir/cut")" -le 20 ]; then ok rustc_is_waited_for; else not_ok rustc_is_waited_for "$(cat "$dir/cut") % are cut"; fi
else
	skip rust "rustc is missing"
fi
