#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/debuginfo_extract.sh - reduced files answer eu-addr2line and addr2line as the originals do, and are smaller
#
# Programs in C, C++, Rust and Go, and Decima itself; addresses all over .text. Stripped Go programs have no DWARF to ask
# for: there the symbol store's own answer is compared, in tests/unit/test_extract.c.
#
# runs beside others
set -u
# shellcheck source=tests/e2e/lib.sh
. "$top_srcdir/tests/e2e/lib.sh"
cd "$dir" || exit 1
for tool in eu-addr2line addr2line readelf objcopy; do
	command -v "$tool" >/dev/null || { skip debuginfo_extract "$tool is missing"; exit 0; }
done
src=$top_srcdir/tests/programs

# addresses FILE: 300 of them, all over .text.
addresses() {
	readelf -SW "$1" | sed -n 's/.*\] \.text *[A-Z]* *\([0-9a-f]*\) [0-9a-f]* \([0-9a-f]*\) .*/\1 \2/p' |
		python3 -c 'import sys; a, n = (int(x, 16) for x in sys.stdin.read().split()[:2])
for i in range(300): print(hex(a + i * n // 300))'
}

# same NAME FILE REDUCED: both tools say the same of both files; elfutils' really says something.
same() {
	addresses "$2" >addresses
	for tool in addr2line eu-addr2line; do
		xargs "$tool" -i -f -a -e "$2" <addresses >want 2>/dev/null
		xargs "$tool" -i -f -a -e "$3" <addresses >got 2>/dev/null
		if cmp -s want got; then ok "extract_$1_$tool"; else not_ok "extract_$1_$tool" "$(diff want got | head -n 4 | tr '\n' '|')"; fi
	done
	if [ "$(grep -c ':[0-9]' want)" -ge 20 ]; then ok "extract_$1_lines"; else not_ok "extract_$1_lines" "$(head -c 200 want)"; fi
}

# smaller NAME FILE REDUCED: than what objcopy keeps, compressed too. It drops Go's table, which is kept here.
smaller() {
	[ "$1" != go ] || return
	if ! { objcopy --only-keep-debug "$2" kept && objcopy --compress-debug-sections=zlib kept packed; } 2>objcopy.log; then
		not_ok "extract_$1_smaller" "objcopy: $(head -n 1 objcopy.log)"
	elif [ "$(stat -c %s "$3")" -lt "$(stat -c %s packed)" ]; then
		ok "extract_$1_smaller"
	else
		not_ok "extract_$1_smaller" "$(stat -c %s "$3") bytes, objcopy needs $(stat -c %s packed)"
	fi
}

one() { # NAME FILE
	if "$decima" debuginfo extract "$2" -o "$1.reduced" >out 2>&1; then
		same "$1" "$2" "$1.reduced"
		smaller "$1" "$2" "$1.reduced"
	else
		not_ok "extract_$1" "$(head -n 1 out)"
	fi
}

build() { # NAME TOOL COMMAND...
	name=$1
	tool=$2
	shift 2
	if ! command -v "$tool" >/dev/null; then
		skip "extract_$name" "$tool is missing"
	elif "$@" >build.log 2>&1; then
		one "$name" "$name"
	else
		not_ok "extract_$name" "$tool does not build it: $(head -n 1 build.log)"
	fi
}

build c gcc gcc -O2 -g -o c "$src/chain.c"
build cxx g++ g++ -O2 -g -o cxx "$src/inlines.cc"
build cxx4 g++ g++ -O2 -gdwarf-4 -fdebug-types-section -o cxx4 "$src/inlines.cc"
build macros g++ g++ -O2 -g3 -o macros "$src/inlines.cc"
build lto g++ g++ -O2 -g -flto -o lto "$src/inlines.cc"
build packed g++ g++ -O2 -g -gz=zlib -o packed "$src/inlines.cc"
build clang clang++ clang++ -O2 -g -o clang "$src/inlines.cc"
build static g++ g++ -O2 -g -static -o static "$src/inlines.cc"
build rust rustc rustc -O -g -o rust "$src/inlines.rs"
build go go env GOFLAGS= GO111MODULE=off go build -o go "$src/inlines.go"
if [ -x "$top_builddir/decima" ]; then one decima "$top_builddir/decima"; else skip extract_decima "$top_builddir/decima is not there"; fi

# Several files go under their build ids; what is there answers to debuggers.
mkdir dir
"$decima" debuginfo extract cxx clang -o dir >out 2>&1
expect_status extract_directory 0 $?
id=$(readelf -n cxx | sed -n 's/.*Build ID: //p')
file=dir/.build-id/$(echo "$id" | cut -c 1-2)/$(echo "$id" | cut -c 3-).debug
if cmp -s "$file" cxx.reduced; then ok extract_layout; else not_ok extract_layout "no $file"; fi
if [ "$(readelf -n "$file" | sed -n 's/.*Build ID: //p')" = "$id" ]; then ok extract_build_id; else not_ok extract_build_id "not $id"; fi

# Wrong usage, and files that cannot be reduced: each is named, the others are still done.
"$decima" debuginfo extract cxx clang -o nowhere >out 2>err
expect_status extract_several_into_a_file 2 $?
gcc -c -g -o object.o "$src/chain.c"
"$decima" debuginfo extract object.o -o object.reduced >out 2>err
expect_status extract_object 1 $?
expect extract_says_object "object.o: neither a program nor a library" err
"$decima" debuginfo extract "$src/chain.c" cxx -o dir/ >out 2>err
expect_status extract_what_cannot_be 1 $?
expect extract_says_text "chain.c: not an ELF file" err
expect extract_does_the_rest "cxx: dir/.build-id" out
head -c 20000 cxx >cut-off
"$decima" debuginfo extract cut-off -o cut-off.reduced >out 2>err
expect_status extract_cut_off 1 $?
cp cxx stripped && strip stripped
"$decima" debuginfo extract stripped -o stripped.reduced >out 2>err
expect_status extract_stripped 1 $?
expect extract_says_stripped "stripped: nothing in it names an address: it is stripped; give the file with symbols" err
if [ -e stripped.reduced ]; then not_ok extract_stripped_leaves_nothing "stripped.reduced is there"; else ok extract_stripped_leaves_nothing; fi
cp cxx itself && ln -s itself link
for to in itself link; do
	"$decima" debuginfo extract itself -o $to >out 2>err
	expect_status extract_onto_$to 1 $?
	expect extract_onto_${to}_is_said "itself: $to is this file itself" err
done
if cmp -s cxx itself; then ok extract_spares_the_program; else not_ok extract_spares_the_program "it was replaced"; fi
if [ -e cut-off.reduced ] || [ -n "$(find . -name '*.tmp-*')" ]; then not_ok extract_leaves_nothing "$(echo ./*)"; else ok extract_leaves_nothing; fi
