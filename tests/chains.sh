#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/chains.sh - what tests/lib/chain.awk calls right, cut and wrong
set -u
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
ok() { echo "ok $1"; }
not_ok() { echo "not ok $1: $2"; }
. "$top_srcdir/tests/lib/chains.sh"
chains='_start (libc.*|__libc_start.*) main ?maybe alpha *down spin|= _start libc.* main other_way|_start libc.* main before'

# is KIND NAME STACK
is() {
	printf '5 %s\n' "$3" | kinds "$chains" >"$dir/kinds"
	if grep -q "^$1=5" "$dir/kinds"; then ok "chains.$2"; else not_ok "chains.$2" "$(tr '\n' ' ' <"$dir/kinds")"; fi
}
is whole all '_start;__libc_start_main;main;alpha;spin'
is whole optional '_start;__libc_start_main;main;maybe;alpha;spin'
is whole repeated '_start;__libc_start_main;main;alpha;down*600;spin'
is whole as_good '_start;libc.so.6+0x1;main;other_way'
is whole kernel '_start;libc.so.6+0x1;main;alpha;spin;asm_exc_page_fault;exc_page_fault'
is whole kernel_cut "_start;libc.so.6+0x1;main;alpha;spin;[truncated: the kernel's unwinder ends here];__x86_indirect_thunk_rax"
is way beginning '_start;libc.so.6+0x1;main'
is way before '_start;libc.so.6+0x1;main;before'
is way other '_start;libc.so.6+0x1;main;clock_gettime;[vdso]+0x1'
is way loader '_start;_dl_start;dl_main'
is way loader_without_names 'ld-linux-x86-64.so.2+0x1;ld-linux-x86-64.so.2+0x2'
is way loader_and_library '_start;_dl_start;dl_main;_dl_map_object;memcpy;asm_exc_page_fault;exc_page_fault'
is way loader_by_other_names '_start;libc.so.6+0x1;main;_dl_fixup;_dl_lookup_symbol_x;do_lookup_x;check_match'
is way library_begins '_start;libc.so.6+0x1;main;ld-linux-x86-64.so.2+0x1;frame_dummy'
is way loader_of_itself '_start;__libc_start_main;wcsnlen;asm_exc_page_fault;exc_page_fault'
is way loader_asks_the_processor '_start;_dl_start;dl_main;_dl_relocate_object;elf_dynamic_do_Rela;elf_machine_rela;__x86_cacheinfo;init_cacheinfo'
is cut loader_cut '[truncated: no frame pointer];_dl_start;memcpy'
is cut cut '[truncated: no frame pointer];alpha;spin'
is early early '[truncated: tables not built yet];spin'
is none kernel_alone 'entry_SYSCALL_64_after_hwframe;do_syscall_64'
is wrong no_caller '_start;libc.so.6+0x1;main;spin'
is wrong no_root 'main;alpha;spin'
is wrong no_library '_start;main;alpha;spin'
is wrong twice '_start;libc.so.6+0x1;main;main;alpha'
is wrong behind_other '_start;libc.so.6+0x1;main;clock_gettime;alpha'
is wrong cut_and_wrong '[truncated: no frame pointer];spin;alpha'
is wrong thunk '_start;libc.so.6+0x1;main;alpha;spin;__x86_indirect_thunk_rax'
is wrong loader_of_itself_below_main '_start;__libc_start_main;main;wcsnlen'
is wrong loader_below_main '_start;libc.so.6+0x1;main;_dl_x;foo'
is wrong loader_calls_others '_start;_dl_start;dl_main;foo'
is wrong loader_calls_the_leaf 'ld-linux-x86-64.so.2+0x1;spin'
is wrong loader_calls_main '_start;_dl_start;main;alpha;spin'
is wrong loader_cut_calls_others '[truncated: no frame pointer];_dl_start;foo'
is wrong loader_without_itself '_start;libc.so.6+0x1;main;do_lookup_x'
