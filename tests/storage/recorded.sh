#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/storage/recorded.sh - a recorded set has none of the machine's words, and all the rest
set -u
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
pack=$top_builddir/bench/pack_recorded
decima=$top_builddir/decima
for file in "$pack" "$decima"; do
	[ -x "$file" ] || {
		echo "skip recorded: $file is not built"
		exit 0
	}
done
verdict() {
	if [ -z "$2" ]; then echo "ok recorded.$1"; else echo "not ok recorded.$1: $2"; fi
}

# Two words that differ in one letter, one that comes twice, public ones, numbers, a build id, bytes beyond ASCII. Words
# are long where the test looks for them: what they become is drawn.
cat >"$dir/names.folded" <<-'END'
	alicesprogram;/home/alicesprogram/libsecret.so.6;bash 3
	alicesprogran;0123456789abcdef0123;Worker-47110815-12 4
	Größenordnung;x 5
END
"$decima" convert "$dir/names.folded" "$dir/names.dcm" || echo "not ok recorded.convert: exit status $?"
"$pack" "$dir/set.zst" "$dir/names.dcm" >"$dir/counts" || echo "not ok recorded.pack: exit status $?"
verdict counts "$([ "$(grep -cxE 'rows 3|stacks 3|frames 8' "$dir/counts")" -eq 3 ] || tr '\n' ' ' <"$dir/counts")"

command -v zstd >/dev/null || {
	echo "skip recorded.words: zstd is missing"
	exit 0
}
zstd -qdcf "$dir/set.zst" >"$dir/set.dcm"
"$decima" convert "$dir/set.dcm" "$dir/set.folded" || echo "not ok recorded.convert_back: exit status $?"
verdict no_words "$(LC_ALL=C grep -aE 'alices|secret|Worker|47110815|0123456789|enordnung' "$dir/set.folded")"
# Lengths, kinds of characters and places are as they were.
word='[a-z]{13}'
cat >"$dir/shapes" <<-END
	^$word;/home/$word/[a-z]{9}\.so\.6;bash 3$
	^$word;[0-9a-f]{20};[A-Z][a-z]{5}-[0-9]{8}-12 4$
	^[A-Z][a-z]{14};x 5$
END
verdict shape "$(LC_ALL=C grep -avE -f "$dir/shapes" "$dir/set.folded")"
verdict same_word "$(awk -F '[;/]' '$3 == "home" && $1 != $4' "$dir/set.folded")"
verdict other_word "$(awk -F ';' 'seen[$1]++' "$dir/set.folded")"
