#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/endpoints.sh - services in C++, Java, Python, Rust and Node, scraped as they serve pprof
#
# Each is a small program of tests/programs/endpoints that uses a library which is published for that: gperftools,
# jemalloc, com.papertrail:profiler, pypprof, the crate pprof, @datadog/pprof. One daemon asks all of them, by
# a file with scrape_configs; what it then says is held against `go tool pprof` or `jeprof` of the same address, and
# against what the program is known to hold and to do. What cannot be fetched is skipped, and what is not built fails.
#
# takes at most 1200 s
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

[ -e "$plugins/input_pprof_scrape.so" ] || skip_all "built without pprof_scrape"
programs=$top_srcdir/tests/programs/endpoints
PATH=$PATH:$HOME/.cargo/bin
PPROF_TMPDIR=$dir
export PPROF_TMPDIR
services=
stop_services() { for pid in $services; do kill "$pid" 2>/dev/null; done; }
trap 'stop_services; daemon_stop; rm -rf "$dir"' EXIT

# fetched_there NAME SECONDS COMMAND..: as fetched, in the folder $dir/NAME
fetched_there() { (cd "$dir/$1" && fetched "$@"); }
# made NAME COMMAND..: in $dir/NAME, or a failed case
made() {
	name=$1
	shift
	(cd "$dir/$name" && timeout 600 "$@") >"$dir/$name.log" 2>&1 && return
	not_ok "$name.builds" "$(grep -v '^ *$' "$dir/$name.log" | tail -n 3 | tr '\n' '|' | cut -c 1-400)"
	return 1
}
# serves NAME COMMAND..: it says where, in a line; then NAME is in $served, and its address in the variable at_NAME
served=
serves() {
	name=$1
	shift
	(cd "$dir/$name" && exec "$@") >"$dir/$name.at" 2>"$dir/$name.err" &
	services="$services $!"
	if ! wait_for 60 test -s "$dir/$name.at"; then
		not_ok "$name.serves" "$(last_words "$dir/$name.err")"
		return 1
	fi
	served="$served $name"
	eval "at_$name=\$(cat \"\$dir/$name.at\")"
}
is_served() { case " $served " in *" $1 "*) ;; *) return 1 ;; esac }

# ---- the services ----
# cpp NAME FLAG..: as $programs/cpp.cc is built with these; its dynamic symbols are what its /pprof/symbol knows
cpp() {
	name=$1
	shift
	mkdir "$dir/$name"
	compile "$name/served" endpoints/cpp.cc -O1 -fno-omit-frame-pointer -rdynamic "$@" -lstdc++
}
# has_header NAME HEADER PACKAGE
has_header() {
	echo "#include <$2>" | ${CC:-cc} -x c++ -E - >/dev/null 2>&1 && return
	skip "$1" "$2 is not there; apt-get install $3"
	return 1
}
need_cc
ready=
if has_header gperftools gperftools/profiler.h libgoogle-perftools-dev; then
	cpp gperftools -DGPERFTOOLS -ltcmalloc_and_profiler && ready="$ready gperftools"
fi
if has_header jemalloc jemalloc/jemalloc.h libjemalloc-dev && cpp jemalloc -ljemalloc; then
	# A library that was built without says that it does not know the word.
	MALLOC_CONF=prof:true "$dir/jemalloc/served" --help >"$dir/jemalloc.log" 2>&1 </dev/null &
	probe=$!
	wait_for 20 test -s "$dir/jemalloc.log"
	kill $probe 2>/dev/null
	if grep -q 'Invalid conf' "$dir/jemalloc.log"; then
		skip jemalloc "this libjemalloc has no profiling"
	else
		ready="$ready jemalloc"
	fi
fi

if has javac java && has mvn java; then
	mkdir "$dir/java" && cp "$programs/java/pom.xml" "$programs/java/Served.java" "$dir/java"
	fetched_there java 240 mvn -q -B -Dmaven.repo.local="$dir/java/repository" dependency:copy-dependencies \
		-DoutputDirectory="$dir/java/lib" &&
		made java javac -cp 'lib/*' -d classes Served.java && ready="$ready java"
fi

if has python3 python; then
	mkdir "$dir/python" && cp "$programs/python/"* "$dir/python"
	if ! python3 -m venv "$dir/python/venv" >"$dir/python.log" 2>&1; then
		skip python "no venv; apt-get install python3-venv"
	else
		fetched_there python 240 venv/bin/pip install -q --disable-pip-version-check -r requirements.txt &&
			ready="$ready python"
	fi
fi

if has cargo rust; then
	mkdir "$dir/rust" "$dir/rust/any" && cp "$programs/rust/"* "$dir/rust"
	# A lock file names the registry: as cargo writes it in one of its own.
	printf '[package]\nname = "any"\nversion = "0.0.0"\n[lib]\npath = "any.rs"\n[dependencies]\ncfg-if = "1"\n' >"$dir/rust/any/Cargo.toml"
	: >"$dir/rust/any/any.rs"
	if fetched_there rust 120 cargo generate-lockfile --manifest-path any/Cargo.toml; then
		registry=$(sed -n 's/^source = //p' "$dir/rust/any/Cargo.lock")
		sed "s|^source = .*|source = $registry|" "$dir/rust/Cargo.lock.in" >"$dir/rust/Cargo.lock"
		rm -r "$dir/rust/any"
		fetched_there rust 240 cargo fetch -q --locked &&
			made rust env CARGO_TARGET_DIR="$dir/rust/target" cargo build -q --locked --offline &&
			ready="$ready rust"
	fi
fi

if has npm node && has node node; then
	mkdir "$dir/node" && cp "$programs/node/"* "$dir/node"
	fetched_there node 120 npm ci --ignore-scripts --no-audit --no-fund && ready="$ready node"
fi

# None burns while others are being built.
for name in $ready; do
	case $name in
	gperftools) serves gperftools env TCMALLOC_SAMPLE_PARAMETER=4096 ./served ;;
	jemalloc) serves jemalloc env MALLOC_CONF=prof:true,lg_prof_sample:12,prof_accum:true ./served ;;
	java) serves java java -cp 'classes:lib/*' Served && java_pid=${services##* } ;;
	python) serves python venv/bin/python served.py ;;
	rust) serves rust target/debug/served ;;
	node) serves node node served.mjs ;;
	esac
done

[ -n "$served" ] || exit 0

# ---- one daemon for all of them ----
# job NAME PROFILES: those of Go's that are not said are off
job() {
	is_served "$1" || return
	eval "address=\$at_$1"
	cat <<YAML
  - job_name: $1
    profiling_config:
      pprof_config: { ${2}goroutine: { enabled: false }, block: { enabled: false }, mutex: { enabled: false } }
    static_configs: [ { targets: [ "$address" ] } ]
YAML
}
{
	printf 'global: { scrape_interval: 4s, scrape_timeout: 10s }\nscrape_configs:\n'
	job gperftools 'memory: { path: /pprof/heap }, process_cpu: { path: /pprof/profile },
        exact: { enabled: true, path: /pprof/heapprofile },
        growth: { enabled: true, path: /pprof/growth, compute_delta: false }, '
	job jemalloc 'memory: { path: /pprof/heap }, process_cpu: { enabled: false }, '
	job java 'process_cpu: { path: /pprof/profile }, memory: { enabled: false }, '
	# It answers one request at a time.
	job python 'memory: { path: /debug/pprof/heap }, process_cpu: { seconds: 1 },
        wall: { enabled: true, delta: true, seconds: 1, path: /debug/pprof/wall },
        threads: { enabled: true, path: /debug/pprof/thread }, '
	job rust 'memory: { enabled: false }, '
	job node 'memory: { path: /debug/pprof/heap }, process_cpu: { enabled: false },
        wall: { enabled: true, delta: true, path: /debug/pprof/profile }, '
} >"$dir/services.yaml"
daemon_begin endpoints.starts -c "$dir/services.yaml"
ok endpoints.starts

# has_type NAME TYPE: within a minute, for the job of the name
has_type() {
	stored() { ask query stacks "$2{job=\"$1\"}" --from now-10m 2>/dev/null | grep -q .; }
	if wait_for 60 stored "$1" "$2"; then ok "$1.type.$2"; else
		not_ok "$1.type.$2" "$(ask targets | grep "^$1 " | tr '\n' '|' | cut -c 1-300)$(ask query types 2>&1 | cut -d ' ' -f 1 | tr '\n' '|')"
	fi
}
stacks() { ask query stacks "$2{job=\"$1\"}" --from now-10m 2>/dev/null; }
# sum WORD: of the folded stacks on the input that have a frame with the word
sum() { awk -v word="$1" 'index($0, word) { n += $NF } END { printf "%d\n", n }'; }
# share NAME LEAST TYPE WORD: the stacks with the word have so many percent of all of the job
share() {
	stacks "${1%%.*}" "$3" >"$dir/stacks"
	part=$(sum "$4" <"$dir/stacks") all=$(sum '' <"$dir/stacks")
	if [ "$all" -gt 0 ] && [ $((part * 100)) -ge $((all * $2)) ]; then ok "$1"; else
		not_ok "$1" "$4 has $part of $all, less than $2 %: $(sort -k 2nr "$dir/stacks" | head -n 3 | cut -c 1-300 | tr '\n' '|')"
	fi
}
# near WANT GOT [PERMILLE]: as much, within a thousandth or so many
near() { [ "${1:-0}" -gt 0 ] && [ $((($1 > $2 ? $1 - $2 : $2 - $1) * 1000)) -le $(($1 * ${3:-1})) ]; }
# about NAME WANT GOT [PERMILLE]
about() {
	if near "$2" "$3" "${4:-1}"; then ok "$1"; else
		not_ok "$1" "$3, not $2"
	fi
}
# go_says TYPE URL FUNCTION: the bytes, or other plain numbers, of all its stacks
go_says() {
	timeout 60 go tool pprof -sample_index="$1" -unit B -top -cum "$2" 2>"$dir/err" | sed 's/ (inline)$//' |
		awk -v name="$3" '{ at = $6; for (i = 7; i <= NF; i++) at = at " " $i } at == name { print $4 + 0 }'
}
# go_agrees NAME URL FUNCTION: it has more than half of the CPU by Go's reader, too. None of them makes two such profiles at
# once, so that the daemon must be gone.
go_agrees() {
	is_served "${1%%.*}" && has_go "$1" || return 0
	timeout 60 go tool pprof -top "$2" >"$dir/top" 2>"$dir/err"
	percent=$(awk -v name="$3" 'index($0, name) && $5 + 0 > most { most = $5 + 0 } END { printf "%d\n", most }' "$dir/top")
	if [ "$percent" -ge 50 ]; then ok "$1"; else not_ok "$1" "$3 has $percent %: $(last_words "$dir/err")"; fi
}

inuse=memory:inuse_space:bytes:space:bytes
alloc=memory:alloc_space:bytes:space:bytes:delta
go=
# The first who asks for pprof has it built.
command -v go >/dev/null && go=yes && go tool pprof -help >/dev/null 2>&1
# has_go NAME: it is there, or NAME is skipped
has_go() {
	[ -n "$go" ] && return
	skip "$1" "go is not installed; apt-get install golang-go"
	return 1
}

# ---- C++ ----
# named PROGRAM: the folded stacks on the input, where names are put for what is an offset in the program. The profiles
# themselves have none.
named() {
	cat >"$dir/plain"
	grep -o 'served+0x[0-9a-f]*' "$dir/plain" | sort -u >"$dir/offsets"
	sed 's/.*+//' "$dir/offsets" | addr2line -f -C -s -e "$1" | awk 'NR % 2' >"$dir/names"
	paste "$dir/offsets" "$dir/names" | awk -F '\t' -v plain="$dir/plain" '{ name[$1] = $2 } END {
		while ((getline line <plain) > 0) {
			value = line; sub(/.* /, "", value); sub(/ [^ ]*$/, "", line)
			n = split(line, f, ";")
			for (i = 1; i <= n; i++) printf "%s%s", (i > 1 ? ";" : ""), ((f[i] in name) ? name[f[i]] : f[i])
			print " " value
		}
	}'
}
# cpp_sum NAME TYPE FUNCTION
cpp_sum() { stacks "$1" "$2" | named "$dir/$1/served" | sum "$3"; }
# names_itself NAME TYPE FUNCTION: the names that the program said at /pprof/symbol are in the stacks
names_itself() {
	has_name() { stacks "$1" "$2" | grep -qF "$3"; }
	wait_for 30 has_name "$@" && ok "$1.names_itself" || not_ok "$1.names_itself" "$(stacks "$1" "$2" | head -n 2 | cut -c 1-300 | tr '\n' '|')"
}
# symbols NAME: /pprof/symbol answers as gperftools documents it
symbols() {
	eval "url=http://\$at_$1/pprof"
	curl -s "$url/symbol" >"$dir/answer"
	expect "$1.num_symbols" 'num_symbols: 1' "$dir/answer"
	addresses=$(curl -s "$url/heap" | sed -n 's/^.*@ *0x/0x/p' | tr ' ' '\n' | sort -u | paste -s -d +)
	curl -s -d "0x1+$addresses" "$url/symbol" >"$dir/answer"
	expect "$1.symbol" '	keep(int)' "$dir/answer"
}

if is_served gperftools; then
	url=http://$at_gperftools/pprof
	for type in $inuse exact:inuse_space:bytes:space:bytes "$cpu"; do
		has_type gperftools "$type"
	done
	# It counts up, and nothing need be added while the daemon looks.
	grows() { ask query types 2>/dev/null | grep -q '^growth:space:bytes:space:bytes '; }
	wait_for 60 grows && ok gperftools.growth || not_ok gperftools.growth "$(ask targets | grep growth)"
	names_itself gperftools exact:inuse_space:bytes:space:bytes 'keep(int)'
	# Nothing is left out, and so it is a thousand blocks; a gauge, however often it was asked.
	about gperftools.kept 10000000 "$(cpp_sum gperftools exact:inuse_space:bytes:space:bytes 'keep(int)')"
	sampled=$(cpp_sum gperftools $inuse 'keep(int)')
	about gperftools.sample 10000000 "$sampled" 60
	curl -s "http://$at_gperftools/allocate?n=300" >/dev/null
	# A scrape may come amid the allocating: what it missed is in the next.
	forgot() { near 300 "$(cpp_sum gperftools exact:alloc_objects:count:space:bytes:delta 'forget(int)')"; }
	wait_for 30 forgot
	about gperftools.forgotten 300 "$(cpp_sum gperftools exact:alloc_objects:count:space:bytes:delta 'forget(int)')"
	about gperftools.forgotten_bytes 3000000 "$(cpp_sum gperftools exact:alloc_space:bytes:space:bytes:delta 'forget(int)')"
	stacks gperftools "$cpu" | named "$dir/gperftools/served" >"$dir/stacks"
	part=$(sum 'burn(unsigned int)' <"$dir/stacks") all=$(sum '' <"$dir/stacks")
	if [ "$part" -gt 0 ] && [ $((part * 10)) -ge $((all * 8)) ]; then ok gperftools.burns; else not_ok gperftools.burns "$part of $all"; fi
	symbols gperftools
	if has_go gperftools.as_go_counts; then
		about gperftools.as_go_counts "$(go_says space "$url/heap" 'keep(int)')" "$sampled"
	fi
fi

if is_served jemalloc; then
	url=http://$at_jemalloc/pprof
	has_type jemalloc $inuse
	names_itself jemalloc $inuse 'keep(int)'
	held=$(cpp_sum jemalloc $inuse 'keep(int)')
	about jemalloc.kept 10000000 "$held" 60
	curl -s "http://$at_jemalloc/allocate?n=3000" >/dev/null
	forgot() { near 30000000 "$(cpp_sum jemalloc $alloc 'forget(int)')" 60; }
	wait_for 30 forgot
	about jemalloc.forgotten 30000000 "$(cpp_sum jemalloc $alloc 'forget(int)')" 60
	symbols jemalloc
	if has jeprof jemalloc.as_jeprof_counts; then
		(cd "$dir" && HOME=$dir timeout 60 jeprof --text --show_bytes "$url/heap") >"$dir/text" 2>"$dir/err"
		about jemalloc.as_jeprof_counts "$(awk '$6 ~ /^keep/ { print $4 }' "$dir/text")" "$held"
	fi
fi

# ---- Java ----
if is_served java; then
	# The library tells no period, so that there are counts and no times.
	has_type java process_cpu:samples:count:cpu:nanoseconds:delta
	stacks java process_cpu:samples:count:cpu:nanoseconds:delta >"$dir/stacks"
	# Which calls which, as the virtual machine says it of the thread.
	burning() {
		jstack "$java_pid" 2>/dev/null | awk '/^"burner"/ { on = 1 } /^$/ { on = 0 }
			on && /^\tat / { sub(/\(.*/, ""); sub(/.*\./, ""); c = $0 (c ? " " : "") c } END { print c }' >"$dir/jstack"
		grep -q 'burnInner$' "$dir/jstack"
	}
	wait_for 60 burning
	# Of the stacks with the function: methods, from the root on.
	grep 'burnInner(' "$dir/stacks" | sed 's/([^;]*//g' | awk '{
		n = split($0, f, ";"); c = ""
		for (i = 1; i <= n; i++) { sub(/.*\./, "", f[i]); c = c (i > 1 ? " " : "") f[i] }
		print c
	}' | sort | uniq -c | sort -rn | awk 'NR == 1 { $1 = ""; sub(/^ /, ""); print }' >"$dir/chain"
	if [ -s "$dir/chain" ] && cmp -s "$dir/chain" "$dir/jstack"; then ok java.chain; else
		not_ok java.chain "$(cat "$dir/chain"), and jstack: $(cat "$dir/jstack")"
	fi
	grep 'burnInner(' "$dir/stacks" | grep -v 'burnOuter([^;]*;[^;]*burnInner([^;]*$' >"$dir/others"
	if [ -s "$dir/others" ]; then not_ok java.callers "$(head -n 3 "$dir/others" | tr '\n' '|')"; else ok java.callers; fi
fi

# ---- Python ----
if is_served python; then
	url=http://$at_python/debug/pprof
	for type in process_cpu:CPU:nanoseconds:CPU:nanoseconds:delta wall:wall:nanoseconds:wall:nanoseconds:delta \
		memory:HEAP:bytes:HEAP:bytes threads:THREADS:count:THREADS:count; do
		has_type python $type
	done
	share python.burns 80 process_cpu:CPU:nanoseconds:CPU:nanoseconds:delta 'burn_outer;burn_inner'
	share python.waits 80 wall:wall:nanoseconds:wall:nanoseconds:delta 'burn_outer'
	# Its heap's stacks begin at the leaf.
	held=$(stacks python memory:HEAP:bytes:HEAP:bytes | sum 'keep;<module>')
	about python.kept 10000000 "$held" 50
	! has_go python.as_go_counts || about python.as_go_counts "$(go_says HEAP "$url/heap" keep)" "$held" 10
fi

# ---- Rust ----
if is_served rust; then
	has_type rust "$cpu"
	share rust.burns 90 "$cpu" 'served::burn_outer;served::burn_inner'
fi

# ---- Node ----
if is_served node; then
	url=http://$at_node/debug/pprof
	has_type node wall:wall:nanoseconds:wall:nanoseconds:delta
	has_type node memory:inuse_space:bytes:inuse_space:bytes
	share node.burns 70 wall:wall:nanoseconds:wall:nanoseconds:delta burnOuter
	held=$(stacks node memory:inuse_space:bytes:inuse_space:bytes | sum keep)
	about node.kept 10000000 "$held" 60
	! has_go node.as_go_counts || about node.as_go_counts "$(go_says inuse_space "$url/heap" keep)" "$held" 10
fi

ask targets >"$dir/targets"
for name in $served; do
	grep "^$name " "$dir/targets" | grep -q ' down ' && not_ok "$name.up" "$(grep "^$name .* down " "$dir/targets" | head -n 2)" || ok "$name.up"
done
daemon_stop
expect_status endpoints.stops 0 "$daemon_status"

go_agrees gperftools.as_go_burns "http://${at_gperftools:-}/pprof/profile?seconds=2" 'burn(unsigned int)'
go_agrees python.as_go_burns "http://${at_python:-}/debug/pprof/profile?seconds=2" burn_inner
go_agrees rust.as_go_burns "http://${at_rust:-}/debug/pprof/profile?seconds=2" served::burn_inner
go_agrees node.as_go_burns "http://${at_node:-}/debug/pprof/profile?seconds=2" burn
