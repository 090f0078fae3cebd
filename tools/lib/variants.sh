# SPDX-License-Identifier: Apache-2.0
# tools/lib/variants.sh - the builds that tools/test makes, and how one is built and checked; sourced
#
# A build that fails is a failed case of that variant and stops nothing else. $top and $jobs come from tools/test.

variants="gcc asan tsan noebpf"

# variant_flags NAME: what configure is given.
variant_flags() {
	case $1 in
	gcc) echo "CC=gcc --enable-werror" ;;
	asan) echo "CC=clang --enable-werror --enable-sanitizers=address" ;;
	tsan) echo "CC=clang --enable-sanitizers=thread" ;;
	noebpf) echo "CC=gcc --enable-werror --disable-ebpf" ;;
	fuzz) echo "CC=clang --enable-sanitizers=address --enable-fuzzing --disable-ebpf" ;;
	*) return 1 ;;
	esac
}

# variant_wants NAME: the commands without which it cannot be built.
variant_wants() {
	case $1 in
	gcc) echo "gcc clang bpftool" ;;
	noebpf) echo "gcc" ;;
	fuzz) echo "clang" ;;
	*) echo "clang bpftool" ;;
	esac
}

# logged LOG COMMAND...: runs it quietly; on failure shows the end of the log.
logged() {
	log=$1
	shift
	"$@" >>"$log" 2>&1 && return 0
	echo "--- the end of $log"
	tail -n 25 "$log"
	return 1
}

# cached COMMAND...: with the compilers behind the user's ccache, when there is one: the tarball and the build without
# eBPF compile what the gcc build did. Paths below $top count by where they are seen from, so that this is the same, and so are
# two clones.
cached() {
	if [ -d /usr/lib/ccache ]; then
		PATH=/usr/lib/ccache:$PATH CCACHE_BASEDIR=$top CCACHE_NOHASHDIR=1 "$@"
	else
		"$@"
	fi
}

# variant_configure NAME: in build/NAME, again only when configure or the flags are newer.
variant_configure() {
	dir=$top/build/$1
	mkdir -p "$dir" && cd "$dir" || return 1
	flags=$(variant_flags "$1")
	[ -f Makefile ] && [ -z "$(find "$top/configure" -newer Makefile)" ] && [ "$(cat flags 2>/dev/null)" = "$flags" ] && return 0
	# shellcheck disable=SC2086 # the flags are words
	"$top/configure" --prefix=/opt/decima $flags && echo "$flags" >flags
}

# variant_run NAME: configure, build, make check; the cases go to build/NAME/tests/results and build/NAME.lines.
variant_run() {
	name=$1
	dir=$top/build/$name
	lines=$dir.lines
	log=$dir.log
	rm -rf "$dir/tests/results"
	: >"$lines"
	: >"$log"
	for command in $(variant_wants "$name"); do
		if ! PATH="$PATH:/usr/sbin:/sbin" command -v "$command" >/dev/null; then
			echo "skip build: $command is missing" >>"$lines"
			return
		fi
	done
	if ! logged "$log" variant_configure "$name"; then
		echo "not ok configure: $(grep 'error:' "$log" | tail -n 1); see $log" >>"$lines"
		return
	fi
	cd "$dir" || return
	variant_make build
	# Benches are run by hand; that they build is seen here.
	[ "$name" != gcc ] || variant_make bench bench
	variant_check
}

# variant_make CASE [TARGET]...: in the build folder
variant_make() {
	case_name=$1
	shift
	if logged "$log" cached make -k -j"$jobs" "$@"; then
		echo "ok $case_name" >>"$lines"
	else
		echo "not ok $case_name: $(grep -m 1 -E 'error:|No rule|undefined reference' "$log"); see $log" >>"$lines"
	fi
}

# In the build folder: builds the tests, each that can be, and runs them. A test that does not link is a failed case.
variant_check() {
	make -s print-tests | grep '^tests/unit/' >/dev/null || echo "skip unit_tests: libcmocka-dev is missing" >>"$lines"
	make -s print-tests | grep '^tests/contract/test_' >/dev/null || echo "skip contract_tests: libcmocka-dev or libsqlite3-dev is missing" >>"$lines"
	tests=
	[ "$name" != tsan ] || tests=$(threaded_tests)
	logged "$log" cached make -k -j"$jobs" check TESTS= ${tests:+"check_PROGRAMS=$(programs_beside "$tests")"} ||
		echo "not ok build of the tests: $(grep -E 'error:|No rule|undefined reference' "$log" | tail -n 1); see $log" >>"$lines"
	[ "$name" != noebpf ] || tests=$(differing_tests)
	# check_PROGRAMS= : one that does not build must not keep the others from running. One more of them than there are
	# CPUs: some mostly wait.
	# shellcheck disable=SC2046 # the settings are words
	env $(thoroughness "$name") make -k -j$((jobs + 1)) check-TESTS check_PROGRAMS= check_LTLIBRARIES= ${tests:+"TESTS=$tests"} \
		>>"$log" 2>&1
	grep -h '^not ok ' tests/results/* 2>/dev/null
	slowest "${tests:-$(make -s print-tests)}"
	[ -d tests/results ] || echo "not ok check: it left no results; see $log" >>"$lines"
}

# slowest TESTS: in a build folder where they have run: where its time went
slowest() {
	# shellcheck disable=SC2046 # the logs are words
	grep -h ' took [0-9]* s$' $(echo "$1" | sed 's/\.sh$//; s/$/.log/') 2>/dev/null | sort -k 3nr | head -n 8 |
		awk -v name="$name" 'NR == 1 { printf "%s, the slowest:", name } { printf "%s %s %s s", (NR > 1 ? "," : ""), $1, $3 } END { if (NR) print "" }'
}

# thoroughness NAME: what is the same in each build takes its time in one of them: how plugins do without memory, each
# allocation; a minute of the store's power cuts on a simulated disk; the machine's programs beside libdw.
thoroughness() {
	case $1 in
	gcc) echo "DECIMA_TEST_SWEEP_SECONDS=100 CRASH_CYCLES=${CRASH_CYCLES:-80000}" ;;
	*) echo "DECIMA_TEST_SWEEP_SECONDS=5 DECIMA_TEST_ORACLE_SECONDS=5 CONFORMANCE_PLANS=${CONFORMANCE_PLANS:-2}" ;;
	esac
}

# stripped PROGRAM: what runs of it, without names, lines and the number that is made of these
stripped() { objcopy --strip-all --remove-section=.note.gnu.build-id "$1" "$2"; }

# In a build folder that has its tests: the scripts, and the programs that are not the gcc build's, byte for byte, and so have not run yet. Where that
# build's tests have not run this time, all.
differing_tests() {
	if [ ! -d "$top/build/gcc/tests/results" ]; then
		make -s print-tests
		return
	fi
	pair=$(mktemp -d)
	for test in $(make -s print-tests); do
		{ stripped "$top/build/gcc/$test" "$pair/a" && stripped "$test" "$pair/b" && cmp -s "$pair/a" "$pair/b"; } 2>/dev/null || echo "$test"
	done
	rm -rf "$pair"
}

# In a build folder, of the gcc build's tests: the scripts, the fuzzers' corpora, and the programs that know where the tree is, or
# ask.
tests_of_the_tree() {
	pair=$(mktemp -d)
	for test in $(make -s print-tests); do
		case $test in fuzz/*)
			echo "$test"
			continue
			;;
		esac
		stripped "$test" "$pair/a" 2>/dev/null && ! grep -qF -e "$top" -e srcdir -e builddir "$pair/a" || echo "$test"
	done
	rm -rf "$pair"
}

# programs_beside TESTS: in a build folder, what `make check` builds, without the tests that are none of these
programs_beside() {
	make -s print-tests | grep -vxF "$1" >others
	make -s print-check-programs | grep -vxFf others | tr '\n' ' '
	rm others
}

# In a build folder: the tests that can have a race, which are scripts, and programs that make threads or load plugins, but for those
# that say of themselves that they have one thread. The gcc build's programs tell, which import just what they use; where there are
# none, or nm cannot say, every test can.
threaded_tests() {
	for test in $(make -s print-tests); do
		program=$top/build/gcc/$test
		if [ -x "$program" ] && imports=$(nm -D -u "$program" 2>/dev/null) &&
			! echo "$imports" | grep -qE ' (pthread_create|dlopen)(@|$)'; then
			case $test in *.sh) ;; *) continue ;; esac
		fi
		! grep -qs '^[ #]*\*\{0,1\} One thread: not run under TSan' "$top/${test%.sh}.c" "$top/$test" || continue
		echo "$test"
	done
}
