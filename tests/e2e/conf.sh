#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/conf.sh - the files of conf/ load, say what the option tables say, and the default one is the built-in one
#
# runs beside others
set -u
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
path=$destdir$prefix/lib/decima

verdict() { # NAME DETAIL: by the status of the command before
	if [ "$status" -eq 0 ]; then echo "ok $1"; else echo "not ok $1: $2"; fi
}

for file in "$top_srcdir"/conf/*.yaml; do
	name=$(basename "$file" .yaml)
	"$decima" check --config-only --plugin-path "$path" -c "$file" >"$dir/check" 2>&1
	status=$?
	verdict "conf_${name}_loads" "$(head -n 1 "$dir/check")"
	"$decima" generate conf "$file" --plugin-path "$path" >"$dir/again" 2>"$dir/err" && cmp -s "$file" "$dir/again"
	status=$?
	verdict "conf_${name}_is_current" "run: decima generate conf conf/$name.yaml; $(diff "$file" "$dir/again" | sed -n 2p)"
	# Every option that is commented out means the same when it is not: the file still loads. But for oauth2, which
	# needs values where it is there.
	sed -E '/^ *#oauth2:/,/^ *#bearer_token:/d; s/^( *)#([a-z0-9_]+:)/\1\2/' "$file" >"$dir/all.yaml"
	"$decima" check --config-only --plugin-path "$path" -c "$dir/all.yaml" >"$dir/check" 2>&1
	status=$?
	verdict "conf_${name}_with_every_option" "$(head -n 1 "$dir/check")"
done
