# SPDX-License-Identifier: Apache-2.0
# tools/lib/steps.sh - what tools/test does besides building and checking variants; sourced
#
# A step writes its cases to build/results/STEP. $top and $jobs come from tools/test.

results=$top/build/results

# lanes N COMMAND ITEM...: COMMAND ITEM for each of them, N at a time, in their order; each in a shell of its own
lanes() {
	n_lanes=$1 command=$2
	shift 2
	if ! taken=$(mktemp -d); then
		echo "not ok $command: no folder can be made for those that are under way; none has run" >"$results/$command"
		return 1
	fi
	while [ "$n_lanes" -gt 0 ]; do
		n_lanes=$((n_lanes - 1))
		# Who makes the folder has the item.
		for item in "$@"; do mkdir "$taken/$(basename "$item")" 2>/dev/null && "$command" "$item"; done &
	done
	wait
	rm -rf "$taken"
}

step_lint() {
	"$top/tools/lint" "$top" >"$results/lint"
	grep -v '^ok ' "$results/lint"
}

# The tarball builds, passes its tests, installs and uninstalls, from a read-only source folder. Of the tests those that
# read what is in it, or beside them: the others would run the gcc build's programs again. How small xz can make it is not asked:
# XZ_OPT.
step_dist() {
	log=$top/build/dist.log
	: >"$log"
	# shellcheck disable=SC2046 # the settings are words
	if ! logged "$log" variant_configure gcc || ! logged "$log" cached make -C "$top/build/gcc" -k -j"$jobs" check TESTS=; then
		echo "not ok distcheck: the gcc build failed; see $log" >"$results/dist"
	elif ! of_the_tree=$(cd "$top/build/gcc" && tests_of_the_tree | tr '\n' ' ') || [ -z "$of_the_tree" ]; then
		echo "not ok distcheck: it has no tests of its own" >"$results/dist"
	elif logged "$log" cached env $(thoroughness dist) make -C "$top/build/gcc" -j"$jobs" distcheck VERBOSE=1 XZ_OPT=-1 \
		TESTS="$of_the_tree" DISTCHECK_CONFIGURE_FLAGS="$(variant_flags gcc)"; then
		echo "ok distcheck" >"$results/dist"
		tarball_is_whole >>"$results/dist"
	else
		why=$(grep '^not ok ' "$log" || grep -E '^FAIL:|\*\*\*|error:' "$log")
		echo "not ok distcheck: $(echo "$why" | head -n 1); see $log" >"$results/dist"
	fi
}

# Every committed file is in the tarball; what only matters to a clone need not be.
tarball_is_whole() {
	lists=$(mktemp -d)
	tar -tf "$top"/build/gcc/decima-*.tar.xz | sed 's|^[^/]*/||' | sort >"$lists/tarball"
	if ! git -C "$top" ls-files >"$lists/git" 2>/dev/null || [ ! -s "$lists/git" ]; then
		echo "skip tarball_is_whole: this is not a clone"
	else
		grep -vE '^(\.ci/|\.github/|\.gitignore$)|/\.gitkeep$' "$lists/git" | sort | comm -23 - "$lists/tarball" >"$lists/missing"
		if [ -s "$lists/missing" ]; then
			echo "not ok tarball_is_whole: not in it: $(head -n 20 "$lists/missing" | tr '\n' ' ')"
		else
			echo "ok tarball_is_whole"
		fi
	fi
	rm -rf "$lists"
}

# libFuzzer over each corpus: what the corpus alone reaches must not fall below fuzz/floors, and then a moment of
# libFuzzer's own ideas, thousands of runs, no promise of more.
step_fuzz() {
	log=$top/build/fuzz.log
	: >"$log"
	if ! command -v clang >/dev/null; then
		echo "skip fuzz: clang is missing" >"$results/fuzz"
	elif ! logged "$log" variant_configure fuzz; then
		echo "not ok configure: see $log" >"$results/fuzz"
	else
		targets=$(cd "$top/fuzz" && ls fuzz_*.c | sed 's/\.c$//')
		# shellcheck disable=SC2046,SC2086 # the targets are words
		cached make -C "$top/build/fuzz" -k -j"$jobs" $(echo "$targets" | sed 's|^|fuzz/|') >>"$log" 2>&1
		# shellcheck disable=SC2086
		lanes "$jobs" fuzz_one $targets
	fi
	grep -hs '^not ok' "$results/fuzz" "$results"/fuzz_*
}

# fuzz_one TARGET: libFuzzer writes what it finds into its first folder, which must not be the committed corpus.
fuzz_one() {
	program=$top/build/fuzz/fuzz/$1
	corpus=$top/fuzz/corpus/${1#fuzz_}
	log=$top/build/$1.log
	limits="-rss_limit_mb=2048 -timeout=20"
	: >"$log"
	# It is built already, or says here why it is not.
	if ! cached make -C "$top/build/fuzz" "fuzz/$1" >>"$log" 2>&1; then
		echo "not ok $1: does not build; see $log" >"$results/$1"
		return
	fi
	fuzz_run "$1" >"$results/$1"
	[ -s "$results/$1" ] || echo "not ok $1: it ran no case; see $log" >"$results/$1"
}

# fuzz_run TARGET: prints its cases; $program, $corpus, $limits and $log are fuzz_one's
fuzz_run() {
	scratch=$(mktemp -d) && mkdir "$scratch/new" && cd "$scratch" || return
	# shellcheck disable=SC2086 # the limits are words
	timeout 120 "$program" -runs=0 $limits "$corpus" >replay.log 2>&1
	cat replay.log >>"$log"
	reached=$(sed -n 's/.*INITED cov: \([0-9]*\).*/\1/p' replay.log)
	floor=$(awk -v target="$1" '$1 == target { print $2 }' "$top/fuzz/floors")
	if [ "${reached:-0}" -ge "${floor:-1000000000}" ]; then
		echo "ok $1.floor: $reached edges, at least $floor"
	else
		echo "not ok $1.floor: the corpus reaches ${reached:-no} edges, fuzz/floors wants ${floor:-a line for it}"
	fi
	# shellcheck disable=SC2086
	if timeout 120 "$program" -seed=1 -runs=20000 -max_total_time=15 $limits new "$corpus" >>"$log" 2>&1; then
		echo "ok $1.runs"
	else
		mkdir -p "$top/build/fuzz-finds/$1" && cp -r "$scratch/." "$top/build/fuzz-finds/$1/"
		echo "not ok $1.runs: $(grep -E 'ERROR|SUMMARY' "$log" | tail -n 1); the input is in build/fuzz-finds/$1"
	fi
	cd "$top" && rm -rf "$scratch"
}

# The scripts of tests/e2e with a decima installed into a folder that root (or whoever we are) owns all the way up.
# They get, exported: top_srcdir, top_builddir, decima (the program), destdir (where it was installed), prefix. lib.sh is
# theirs to share. A script whose head says `# runs beside others` neither samples here nor changes what is installed.
step_e2e() {
	if e2e_install e2e; then
		# As many at a time as there are CPUs; who says how much time it takes is the first.
		beside=$(grep -l '^# runs beside others' "$top"/tests/e2e/*.sh)
		# shellcheck disable=SC2046,SC2086 # the names are words
		lanes "$jobs" e2e_one $(grep -l '^# takes at most' $beside) $(grep -L '^# takes at most' $beside)
		for script in $(grep -L '^# runs beside others' "$top"/tests/e2e/*.sh); do
			case $script in */lib.sh) ;; *) e2e_one "$script" ;; esac
		done
	fi
	rm -rf "$destdir"
}

# e2e_install STEP: the gcc build into $destdir, and the environment of the scripts
e2e_install() {
	log=$top/build/$1.log
	: >"$log"
	prefix=/opt/decima
	top_srcdir=$top
	top_builddir=$top/build/gcc
	# Some scripts run it as somebody else.
	if ! { destdir=$(mktemp -d /tmp/decima-test.XXXXXX) && chmod 755 "$destdir"; }; then
		echo "not ok install: no folder can be made for it in /tmp" >"$results/$1"
		return 1
	fi
	decima=$destdir$prefix/bin/decima
	export prefix destdir decima top_srcdir top_builddir
	if ! logged "$log" variant_configure gcc; then
		echo "not ok configure: see $log" >"$results/$1"
	elif ! logged "$log" cached make -C "$top_builddir" -j"$jobs" install DESTDIR="$destdir"; then
		echo "not ok install: make install DESTDIR= failed; see $log" >"$results/$1"
	else
		# The scripts use test programs and the example too; one that does not build, its script will miss.
		cached make -C "$top_builddir" -k -j"$jobs" check TESTS= >>"$log" 2>&1
		return 0
	fi
	return 1
}

# e2e_alone STEP SCRIPT VARIABLE: one of the scripts, with "all" for what it takes a part of in step_e2e
e2e_alone() {
	if e2e_install "$1"; then
		(
			export "$3=all" TEST_TIMEOUT=12000
			e2e_one "$top/tests/e2e/$2.sh"
		)
	fi
	rm -rf "$destdir"
}
# The sampler on every kernel of tests/kernels/list.
step_kernels() { e2e_alone kernels kernels DECIMA_TEST_KERNELS; }
# Programs of every version of Go that we claim to know.
step_go() { e2e_alone go go_versions DECIMA_TEST_GO; }
# Objects on a server of S3 that takes minutes to compile.
step_s3() { e2e_alone s3 s3_server DECIMA_TEST_S3; }
# Profiles through the older collector too, which takes two minutes to compile.
step_collectors() { e2e_alone collectors collector DECIMA_TEST_COLLECTORS; }

# e2e_one SCRIPT: it may say how much time it takes, when 600 s are not enough
e2e_one() {
	case_name=$(basename "$1" .sh)
	out=$top/build/e2e-$case_name.out
	script_began=$(date +%s)
	limit=$(sed -n 's/^# takes at most \([0-9]*\) s.*/\1/p' "$1")
	timeout -k 10 "${TEST_TIMEOUT:-${limit:-600}}" sh "$1" >"$out" 2>&1
	status=$?
	grep -E '^(ok|not ok|skip) ' "$out" >"$results/$case_name"
	if [ $status -ne 0 ] && ! grep -q '^not ok ' "$results/$case_name"; then
		echo "not ok $case_name: exit status $status; see $out" >>"$results/$case_name"
	fi
	[ -s "$results/$case_name" ] || echo "not ok $case_name: it ran no case" >>"$results/$case_name"
	echo "e2e $case_name: $(($(date +%s) - script_began)) s"
	grep '^not ok ' "$results/$case_name"
}
