#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/query_pprof.sh - `go tool pprof -traces` shows the stacks and values of `decima query stacks`, names or none
#
# A frame without a name has no function in pprof, so that whoever has its debuginfo can still name it; `-traces` alone
# writes it as [FILE]. With -addresses it writes ADDRESS [FILE], which is what `decima query stacks` calls FILE+0xADDRESS;
# file offsets begin at 4 GiB there.
set -u
. "$top_srcdir/tests/e2e/lib.sh"

PATH=$PATH:/usr/local/go/bin
PPROF_TMPDIR=$dir GOCACHE=${GOCACHE:-$dir/cache} HOME=$dir GOPROXY=off GOTOOLCHAIN=local
export PPROF_TMPDIR GOCACHE HOME GOPROXY GOTOOLCHAIN
need_sampler
command -v go >/dev/null || { skip query_pprof "go is missing"; exit 0; }

compile chain chain.c -O1 -g0 -fno-omit-frame-pointer || exit 1
# Other code, so that its build id is not that of the one with names.
compile nameless chain.c -O1 -g0 -fno-omit-frame-pointer -DLEAF_FRAME -s || exit 1
cat >"$dir/decima.yaml" <<'END'
inputs: { ebpf: { frequency: 199Hz } }
storage: { memory: {} }
END
daemon_begin start -c "$dir/decima.yaml"
timeout 4 "$dir/chain" 4 &
timeout 4 "$dir/nameless" 4
is_stored() { ask query stacks "$cpu{comm=\"nameless\"}" | grep -q 'nameless+0x'; }
wait_for 30 is_stored || not_ok stored "nothing of the program is there"

# traces FILE: what -traces says as folded lines, equal ones added up, in order of bytes
traces() {
	go tool pprof -symbolize=none -addresses -traces -unit=nanoseconds "$1" 2>"$dir/err" | awk '
		function frame(text) {
			if (text ~ /^[0-9a-f]+ \[.*\]$/ && length(text) > 17) {
				address = substr(text, 1, 16)
				sub(/^0+/, "", address)
				# A file offset begins at 4 GiB (core/codec/pprof.h).
				if (length(address) == 9 && sub(/^1/, "", address))
					sub(/^0+/, "", address)
				return substr(text, 19, length(text) - 19) "+0x" address
			}
			if (text ~ /^[0-9a-f]+ / && index(text, " ") == 17)
				text = substr(text, 18)
			# Where the line is known, it stands behind the name.
			sub(/ [^ ]+:[0-9]+( [(]inline[)])?$/, "", text)
			return text
		}
		function flush() { if (stack != "") sum[stack] += value; stack = "" }
		/^-----------\+/ { flush(); inside = 1; next }
		!inside || /^ *$/ || /^ +[a-z_]+:/ { next }
		stack == "" { value = $1; sub(/ns$/, "", value); text = $0; sub(/^ *[^ ]+ +/, "", text); stack = frame(text); next }
		{ text = $0; sub(/^ +/, "", text); stack = frame(text) ";" stack }
		END { flush(); for (s in sum) printf "%s %.0f\n", s, sum[s] }' | LC_ALL=C sort
}

# A time that has passed: both questions are about the same profiles.
to=$(date +%s)
for comm in chain nameless; do
	ask query stacks "$cpu{comm=\"$comm\"}" --to "$to" | LC_ALL=C sort >"$dir/want"
	ask query pprof "$cpu{comm=\"$comm\"}" --to "$to" -o "$dir/$comm.pb.gz" 2>"$dir/err"
	traces "$dir/$comm.pb.gz" >"$dir/got"
	if [ -s "$dir/want" ] && cmp -s "$dir/want" "$dir/got"; then
		ok "traces_$comm"
	else
		not_ok "traces_$comm" "$(diff "$dir/want" "$dir/got" | head -n 4 | tr '\n' '|')"
	fi
done
expect without_names 'nameless+0x' "$dir/got"

# Whose profile it is, though the kernel comes first in most of its stacks.
mkdir "$dir/libc.so.6"
cp "$(command -v dd)" "$dir/libc.so.6/dd"
"$decima" record -o "$dir/dd.pb.gz" -- "$dir/libc.so.6/dd" if=/dev/zero of=/dev/null bs=1M count=20000 2>"$dir/err"
go tool pprof -symbolize=none -top "$dir/dd.pb.gz" >"$dir/top" 2>"$dir/err"
expect file_is_the_program 'File: dd' "$dir/top"

# Names that no linker has seen are not cut to what is outside their brackets.
cat >"$dir/want" <<'END'
main;F::operator()<int>;std::sort<P*, cmp>::(anonymous namespace)::less<=> 4
main;main.(*T[...]).run;operator() 3
END
if "$decima" convert "$dir/want" "$dir/names.pb.gz" && traces "$dir/names.pb.gz" >"$dir/got" && cmp -s "$dir/want" "$dir/got"; then
	ok names_of_no_linker
else
	not_ok names_of_no_linker "$(diff "$dir/want" "$dir/got" | tr '\n' '|')"
fi
