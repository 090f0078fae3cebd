#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/codec_pprof.sh - pprof, judged by others: real Go profiles, `go tool pprof`, protoc, and real binaries
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

if ! command -v go >/dev/null; then
	skip codec_pprof "go is not installed; apt-get install golang-go"
	exit 0
fi
# Nothing is downloaded, and nothing is left behind.
GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local GOCACHE=${GOCACHE:-$dir/cache} GOPATH=$dir/gopath HOME=$dir
PPROF_TMPDIR=$dir
export GOFLAGS GOPROXY GOTOOLCHAIN GOCACHE GOPATH HOME PPROF_TMPDIR
proto=$top_srcdir/tests/data/pprof

pprof() { go tool pprof -symbolize=none "$@" 2>"$dir/pprof.err"; }
same() { # NAME FILE FILE
	if [ -s "$2" ] && cmp -s "$2" "$3"; then ok "$1"; else
		not_ok "$1" "$(diff "$2" "$3" | head -n 5 | tr '\n' '|')"
	fi
}

# Folded stacks of the last value, from what `go tool pprof -raw` prints.
folded_by_go() {
	pprof -raw "$1" | awk '
		/^Samples:$/ { part = "samples"; getline; next }
		/^Locations$/ { part = "locations"; next }
		/^Mappings$/ { part = ""; next }
		part == "samples" && /^ *-?[0-9][-0-9 ]*: / {
			split($0, sides, ": ")
			n = split(sides[1], values, " ")
			value[++n_samples] = values[n]
			stack[n_samples] = sides[2]
		}
		part == "locations" {
			if ($1 ~ /^[0-9]+:$/) {
				id = $1 + 0
				at = $3 ~ /^M=/ ? 4 : 3
				name[id] = $at
			} else
				name[id] = $1 ";" name[id]
		}
		END {
			for (s = 1; s <= n_samples; s++) {
				if (value[s] == 0)
					continue
				n = split(stack[s], ids, " ")
				line = name[ids[n]]
				for (i = n - 1; i > 0; i--)
					line = line ";" name[ids[i]]
				sum[line] += value[s]
			}
			for (line in sum)
				if (sum[line])
					printf "%s %d\n", line, sum[line]
		}' | LC_ALL=C sort
}

# What -traces says of a value, without the head and without stacks whose value is 0, in any order.
traces() { # FILE INDEX
	pprof -traces -sample_index="$2" "$1" | awk '
		/^-----------\+/ { flush(); inside = 1; next }
		inside { if (!/^ +[^ ]/ && $0 == "") next; text = text $0 "\n"; if (!seen++) first = $1 }
		function flush() { if (text != "" && zero() == 0) printf "%s", unfold(text); text = ""; seen = 0 }
		function zero() { return text ~ /(^|\n) +0   / }
		function unfold(t) { gsub(/\n/, "|", t); return t "\n" }
		END { flush() }' | LC_ALL=C sort
}

if ! (cd "$top_srcdir/tests/programs/go_profiles" && go build -trimpath -o "$dir/go_profiles" .) 2>"$dir/err"; then
	not_ok go_profiles "$(head -n 1 "$dir/err")"
	exit 1
fi
mkdir "$dir/in" "$dir/out"
"$dir/go_profiles" "$dir/in" || exit 1

# --- what Go writes, through us, says the same to Go
# same_to_go PREFIX IN OUT: each kind of profile in the folder IN, and what we make of it in OUT
same_to_go() {
	prefix=$1
	for kind in cpu heap allocs goroutine mutex block threadcreate; do
		in=$2/$kind.pb.gz
		out=$3/$kind.pb.gz
		if ! "$decima" convert "$in" "$out" 2>"$dir/err"; then
			not_ok "${prefix}_$kind" "$(head -n 1 "$dir/err")"
			continue
		fi
		folded_by_go "$in" >"$dir/want"
		"$decima" convert --to-format folded "$in" - | LC_ALL=C sort >"$dir/got"
		[ $kind = threadcreate ] || same "${prefix}_folded_$kind" "$dir/want" "$dir/got"
		n=$(pprof -raw "$in" | awk '/^Samples:$/ { getline; print NF }')
		i=0
		while [ "$i" -lt "$n" ]; do
			traces "$in" "$i" >"$dir/want"
			traces "$out" "$i" >"$dir/got"
			if cmp -s "$dir/want" "$dir/got"; then ok "${prefix}_traces_${kind}_$i"; else
				not_ok "${prefix}_traces_${kind}_$i" "$(diff "$dir/want" "$dir/got" | head -n 4 | tr '\n' '~')"
			fi
			i=$((i + 1))
		done
	done
}
same_to_go go "$dir/in" "$dir/out"
# The oldest and the newest Go that could be had, recorded (tests/data/pprof/record_go.sh).
for recorded in "$proto"/go*/; do
	version=$(basename "$recorded")
	mkdir "$dir/out/$version"
	same_to_go "$version" "${recorded%/}" "$dir/out/$version"
done
pprof -tags "$dir/out/cpu.pb.gz" >"$dir/tags"
expect tags /buy "$dir/tags"

# --- protoc knows every field, and what it writes of our text form is the same profile
if command -v protoc >/dev/null; then
	for kind in cpu heap; do
		gzip -dc "$dir/out/$kind.pb.gz" >"$dir/raw.pb"
		if ! protoc -I "$proto" --decode perftools.profiles.Profile profile.proto <"$dir/raw.pb" >"$dir/text" 2>"$dir/err"; then
			not_ok "protoc_$kind" "$(head -n 1 "$dir/err")"
		elif grep -qE '^ *[0-9]+: ' "$dir/text"; then
			not_ok "protoc_$kind" "a field that the format does not have"
		else
			ok "protoc_$kind"
		fi
		protoc -I "$proto" --encode perftools.profiles.Profile profile.proto <"$dir/text" >"$dir/again.pb"
		"$decima" convert --to-format folded "$dir/again.pb" "$dir/got"
		"$decima" convert --to-format folded "$dir/in/$kind.pb.gz" "$dir/want"
		same "protoc_again_$kind" "$dir/want" "$dir/got"
	done
else
	skip protoc "protoc is not installed; apt-get install protobuf-compiler"
fi

# --- other formats become pprof that Go accepts, with the same stacks
recorded=$top_srcdir/tests/data/perf_script/recorded_6.1.perf
for end in folded speedscope.json dcm; do
	"$decima" convert "$dir/in/cpu.pb.gz" "$dir/cpu.$end" &&
		"$decima" convert "$dir/cpu.$end" "$dir/from.pb.gz" &&
		"$decima" convert "$dir/from.pb.gz" "$dir/got.folded"
	"$decima" convert "$dir/cpu.$end" "$dir/want.folded"
	# speedscope's file has a profile for each type; pprof's folded text is of the last one.
	sed -e '/^type=speedscope:samples/d' -e 's/^type=[^;]*;//' "$dir/want.folded" >"$dir/want"
	same "from_$end" "$dir/want" "$dir/got.folded"
	if pprof -top "$dir/from.pb.gz" >"$dir/top" && grep -q main.burnInner "$dir/top"; then ok "go_reads_$end"; else
		not_ok "go_reads_$end" "$(head -n 2 "$dir/pprof.err" "$dir/top" | tr '\n' '|')"
	fi
done
"$decima" convert "$recorded" "$dir/perf.pb.gz"
if pprof -top "$dir/perf.pb.gz" >"$dir/top"; then ok go_reads_perf; else not_ok go_reads_perf "$(head -n 1 "$dir/pprof.err")"; fi
expect perf_tags 'comm: Total' "$(pprof -tags "$dir/perf.pb.gz" >"$dir/tags"; echo "$dir/tags")"

# --- addresses that we write are found by Go in the real file, PIE and not
cat >"$dir/prog.c" <<'END'
int hot_function(int x) { return x * 3 + 1; }
int main(int argc, char **argv) { (void)argv; return hot_function(argc); }
END
symbolized() { # START LIMIT ADDRESS: a profile of one unnamed address, through us, named by Go
	sed -e "s|@START@|$1|" -e "s|@LIMIT@|$2|" -e "s|@ADDRESS@|$3|" -e "s|@FILE@|$dir/prog|" >"$dir/text" <<'END'
sample_type { type: 1 unit: 2 }
sample { location_id: 1 value: 7 }
mapping { id: 1 memory_start: @START@ memory_limit: @LIMIT@ filename: 3 }
location { id: 1 mapping_id: 1 address: @ADDRESS@ }
string_table: "" string_table: "cpu" string_table: "nanoseconds" string_table: "@FILE@"
END
	protoc -I "$proto" --encode perftools.profiles.Profile profile.proto <"$dir/text" >"$dir/one.pb" &&
		"$decima" convert "$dir/one.pb" "$dir/one.pb.gz" &&
		go tool pprof -symbolize=local -traces "$dir/one.pb.gz" >"$dir/traces" 2>"$dir/pprof.err"
}
if command -v protoc >/dev/null && command -v gcc >/dev/null && command -v nm >/dev/null; then
	for pie in -pie -no-pie; do
		gcc -O0 -g "$pie" -o "$dir/prog" "$dir/prog.c"
		vaddr=$((0x$(nm "$dir/prog" | sed -n 's/ T hot_function$//p')))
		# Where the segment with the code lies in the file, and in memory.
		# shellcheck disable=SC2046 # two words
		set -- $(readelf -lW "$dir/prog" | awk '$1 == "LOAD" && / R E / { print $2, $3 }')
		offset=$((vaddr - $2 + $1))
		symbolized 0 0xffffffffffffffff $vaddr
		expect "symbols_vaddr$pie" hot_function "$dir/traces"
		# Go's own pprof cannot know the segment of a file offset: no name is better than a wrong one.
		symbolized 0x7000000000 0x7000100000 $((0x7000000000 + offset))
		expect "symbols_offset$pie" '7ns   [prog]' "$dir/traces"
	done
else
	skip symbols "protoc, gcc or nm is not installed"
fi

# --- convert: what it refuses, and what it leaves alone
"$decima" convert /dev/null "$dir/x.folded" 2>"$dir/err"
expect_status refuse_empty 1 $?
head -c 200 "$dir/in/cpu.pb.gz" >"$dir/cut.pb.gz"
printf 'old\n' >"$dir/kept.folded"
"$decima" convert "$dir/cut.pb.gz" "$dir/kept.folded" 2>"$dir/err"
expect_status refuse_cut 1 $?
expect refuse_cut_says "cut.pb.gz: gzip: its compressed data is damaged or cut off" "$dir/err"
expect kept old "$dir/kept.folded"
"$decima" convert "$dir/in/cpu.pb.gz" "$dir/x.unknown" 2>"$dir/err"
expect_status refuse_name 2 $?
"$decima" convert --to-format perf "$dir/in/cpu.pb.gz" "$dir/x" 2>"$dir/err"
expect_status refuse_perf_out 2 $?
# A first frame that zlib could begin with, as every profile of V8 has it.
printf '(root);main 5\n' >"$dir/v8.folded"
"$decima" convert "$dir/v8.folded" - >"$dir/got" && expect text_like_zlib '(root);main 5' "$dir/got"
gzip -k "$dir/v8.folded" && "$decima" convert "$dir/v8.folded.gz" - >"$dir/got"
expect folded_gz '(root);main 5' "$dir/got"
printf 'no profile\n' | "$decima" convert - - 2>"$dir/err"
expect guess_told 'look like folded; --from-format says otherwise' "$dir/err"
head -c 300000000 /dev/zero | gzip -9 >"$dir/bomb.pb.gz"
"$decima" convert "$dir/bomb.pb.gz" "$dir/x.folded" 2>"$dir/err"
expect_status refuse_bomb 1 $?
expect refuse_bomb_says "unpacks to more than the 268435456 bytes that one profile may have; split it up" "$dir/err"
"$decima" convert - - <"$dir/in/cpu.pb.gz" >"$dir/got" && expect pipes main.burnInner "$dir/got"
