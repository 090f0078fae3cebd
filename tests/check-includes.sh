#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/check-includes.sh - the tree obeys the include direction, and tools/check-includes sees what does not
set -u
tool=$top_srcdir/tools/check-includes
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

if out=$(sh "$tool" "$top_srcdir"); then
	echo "ok tree"
else
	echo "$out"
	echo "not ok tree: $(echo "$out" | wc -l) faults, the first: $(echo "$out" | head -n 1)"
fi

# case NAME accepted|refused FILE INCLUDE: a tree of one file with one include
case_() {
	rm -rf "$dir/t"
	mkdir -p "$dir/t/$(dirname "$3")"
	printf '#include %s\n' "$4" >"$dir/t/$3"
	if sh "$tool" "$dir/t" >/dev/null; then got=accepted; else got=refused; fi
	if [ $got = "$2" ]; then echo "ok $1"; else echo "not ok $1: $3 with #include $4 was $got"; fi
}
case_ down accepted core/codec/a.c '"core/base/buf.h"'
case_ own_folder accepted core/codec/a.c '"core/codec/pprof.h"'
case_ up refused core/base/a.c '"core/batch/batch.h"'
case_ sideways refused core/codec/a.c '"core/net/http.h"'
case_ system accepted core/base/a.c '<stdio.h>'
case_ public_header accepted plugins/input/x/a.c '<decima/plugin.h>'
case_ plugin_base accepted plugins/input/x/a.c '"core/base/buf.h"'
case_ plugin_core refused plugins/input/x/a.c '"core/batch/batch.h"'
case_ plugin_generated accepted plugins/input/x/a.c '"bpf/x.skel.h"'
case_ plugin_other_plugin refused plugins/input/x/a.c '"plugins/input/y/y.h"'
case_ storage_shared accepted plugins/storage/x/a.c '"plugins/storage/answer/view.h"'
case_ storage_shared_down accepted plugins/storage/answer/a.c '"plugins/storage/dict/dict.h"'
case_ storage_shared_up refused plugins/storage/dict/a.c '"plugins/storage/answer/view.h"'
case_ storage_other_storage refused plugins/storage/answer/a.c '"plugins/storage/local/look.h"'
case_ core_plugin refused core/main/a.c '"plugins/input/y/y.h"'
case_ not_from_root refused core/base/a.c '"buf.h"'
case_ angle_brackets refused core/main/a.c '<core/base/buf.h>'
case_ libbpf accepted bpf/a.bpf.c '<bpf/bpf_helpers.h>'
case_ unknown_folder refused core/misc/a.c '<stdio.h>'
case_ bpf_core refused bpf/a.bpf.c '"core/base/buf.h"'
case_ empty_tree refused README '<stdio.h>'
