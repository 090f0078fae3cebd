#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/codec_legacy.sh - pprof's older formats, judged by Go's reader, jeprof and google-pprof
#
# Go's module github.com/google/pprof comes through the module proxy that `go` knows, and has files of its own to read.
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

convert=$top_builddir/tests/unit/legacy_proto

# --- Go's reader: its own files, and random ones
oracle() {
	go_program oracle pprof_oracle pprof_oracle || return
	data=$(cd "$dir/pprof_oracle.src" && go list -m -f '{{.Dir}}' github.com/google/pprof 2>"$dir/err")/profile/testdata
	[ -d "$data" ] && return
	not_ok oracle "its module's own files are not at $data: $(last_words "$dir/err")"
	return 1
}
# same NAME ARGUMENT..: the oracle finds no difference
same() {
	name=$1
	shift
	if TMPDIR=$dir "$dir/pprof_oracle" "$@" >"$dir/says" 2>&1; then ok "$name"; else
		not_ok "$name" "$(grep -v ' same$' "$dir/says" | head -n 2 | cut -c 1-400 | tr '\n' '|')"
	fi
}
if oracle; then
	for file in "$data"/cppbench.* "$data"/go.* "$data"/gobench.*; do
		case $file in *.string) continue ;; esac
		same "go_reads_$(basename "$file")" files "$convert" "$file"
	done
	for file in "$top_srcdir"/tests/data/pprof/gperftools.*; do
		same "go_reads_$(basename "$file")" files "$convert" "$file"
	done
	for file in "$data"/java.*; do
		case $file in *.string) continue ;; esac
		"$decima" convert --from-format pprof "$file" "$dir/java.folded" 2>"$dir/err"
		expect_status "refuse_$(basename "$file")" 1 $?
		expect "says_$(basename "$file")" "of an old Java agent, which is not read" "$dir/err"
	done
	for seed in 1 2; do
		same "random_$seed" random "$convert" $seed "${DECIMA_TEST_LEGACY_FILES:-300}"
	done
fi

# --- the libraries themselves
# sum WORD: of the last numbers of the folded stacks on the input that have a frame with the word
sum() { awk -v word="$1" 'index($0, word) { sum += $NF } END { printf "%d\n", sum }'; }
# about NAME WANT GOT: within a thousandth
about() {
	if [ "$2" -gt 0 ] && [ $((($2 > $3 ? $2 - $3 : $3 - $2) * 1000)) -le "$2" ]; then ok "$1"; else not_ok "$1" "$3, not $2"; fi
}
# cum_of FILE: "total" and what main and keep have with all they call, in bytes, as printed by --text
cum_of() { awk '/^Total:/ { print "total", $2 } $6 ~ /^(main|keep)$/ { print $6, $4 }' "$1"; }
mkdir "$dir/run"

judge_heap() { # NAME PROGRAM_OF_THE_LIBRARY
	# Of a file both write names, and not the profile that they are of.
	"$2" --raw "$dir/run/allocate" "$dir/$1.heap" 2>"$dir/err" | sed '/^---$/q' >"$dir/$1.named"
	cat "$dir/$1.heap" >>"$dir/$1.named"
	if ! "$decima" convert "$dir/$1.named" "$dir/$1.folded" 2>"$dir/err"; then
		not_ok "$1" "$(head -n 1 "$dir/err")"
		return
	fi
	"$2" --text --show_bytes "$dir/run/allocate" "$dir/$1.heap" >"$dir/text" 2>"$dir/err"
	cum_of "$dir/text" >"$dir/cum"
	about "$1_total" "$(awk '$1 == "total" { print $2 }' "$dir/cum")" "$(sum '' <"$dir/$1.folded")"
	about "$1_keep" "$(awk '$1 == "keep" { print $2 }' "$dir/cum")" "$(sum 'keep(int)' <"$dir/$1.folded")"
	about "$1_main" "$(awk '$1 == "main" { print $2 }' "$dir/cum")" "$(sum 'main;' <"$dir/$1.folded")"
}

if ! command -v jeprof >/dev/null; then
	skip jemalloc "jeprof is not installed; apt-get install libjemalloc-dev"
elif compile run/allocate allocate.cc -O1 -g -fno-omit-frame-pointer -lstdc++ -ljemalloc; then
	if MALLOC_CONF=prof:true,lg_prof_sample:12 "$dir/run/allocate" "$dir/jemalloc.heap" 2>"$dir/err"; then
		judge_heap jemalloc jeprof
		MALLOC_CONF=prof:true,lg_prof_sample:12,prof_accum:true "$dir/run/allocate" "$dir/accum.heap"
		"$decima" convert "$dir/accum.heap" "$dir/accum.pb.gz"
		gzip -dc "$dir/accum.pb.gz" | grep -a -q alloc_space && ok jemalloc_accum || not_ok jemalloc_accum "no alloc_space"
	else
		skip jemalloc "this libjemalloc has no profiling: $(head -n 1 "$dir/err")"
	fi
fi

if ! command -v google-pprof >/dev/null; then
	skip gperftools "google-pprof is not installed; apt-get install libgoogle-perftools-dev google-perftools"
elif compile run/allocate allocate.cc -DGPERFTOOLS -O1 -g -fno-omit-frame-pointer -lstdc++ -ltcmalloc_and_profiler; then
	if "$dir/run/allocate" "$dir/gperftools.heap" "$dir/gperftools.prof" 2>"$dir/err"; then
		[ -x "$dir/pprof_oracle" ] && same go_reads_gperftools files "$convert" "$dir/gperftools.heap" "$dir/gperftools.prof"
		judge_heap gperftools google-pprof
		# The program that writes names before a CPU profile writes its own words, too.
		google-pprof --raw "$dir/run/allocate" "$dir/gperftools.prof" >"$dir/named.prof" 2>"$dir/err"
		"$decima" convert "$dir/named.prof" "$dir/cpu.folded" && expect gperftools_cpu 'compute(double)' "$dir/cpu.folded"
		"$decima" convert "$dir/gperftools.prof" "$dir/plain.folded"
		# It says a period of 1 us there, which is none, so that there are counts; the program's was 10 ms.
		about gperftools_cpu_total "$(sum '' <"$dir/plain.folded")" "$(($(sum '' <"$dir/cpu.folded") * 10000000))"
		used=$(sum '' <"$dir/plain.folded")
		if [ "$used" -gt 500000000 ] && [ "$used" -lt 3000000000 ]; then ok gperftools_cpu_time; else not_ok gperftools_cpu_time "$used ns of a second"; fi
	else
		not_ok gperftools "$(head -n 1 "$dir/err")"
	fi
fi
