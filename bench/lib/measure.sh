# SPDX-License-Identifier: Apache-2.0
# bench/lib/measure.sh - the daemon, perf record, and what both took; sourced by bench/sampler
#
# Wants $build and $src. Makes $dir, which goes away at the end with all that was started.
dir=$(mktemp -d /tmp/decima-bench.XXXXXX) || exit 1
cores=$(getconf _NPROCESSORS_ONLN)
daemon='' fp='' dwarf='' gate='' stats=''
PATH=$PATH:/usr/sbin:/sbin
trap finish EXIT
trap 'exit 1' INT TERM

say() { echo "bench/sampler: $*" >&2; }

# family PID..: these processes and all below them
family() {
	for family_pid; do
		echo "$family_pid"
		# shellcheck disable=SC2046
		family $(cat /proc/"$family_pid"/task/*/children 2>/dev/null)
	done
}

# The job's own subshells are not waited for: what they left behind is killed.
finish() {
	for pid in $daemon $fp $dwarf $gate; do
		# shellcheck disable=SC2046
		kill $(family "$pid") 2>/dev/null
	done
	[ -n "$stats" ] && echo "$stats" >/proc/sys/kernel/bpf_stats_enabled
	rm -rf "$dir"
}

need_root() {
	[ "$(id -u)" = 0 ] || { say "needs root"; exit 77; }
	for file in decima plugins/.libs/input_ebpf.so; do
		[ -x "$build/$file" ] || { say "$build/$file is not there: build with eBPF first"; exit 77; }
	done
	command -v perf >/dev/null || say "perf is not there: nothing to compare with"
	stats=$(cat /proc/sys/kernel/bpf_stats_enabled)
	echo 1 >/proc/sys/kernel/bpf_stats_enabled
	${CC:-cc} -O2 -fomit-frame-pointer -pthread -o "$dir/chain" "$src/tests/programs/chain.c" &&
		${CC:-cc} -O2 -fno-omit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables -pthread -o "$dir/framed" \
			"$src/tests/programs/chain.c" &&
		${CC:-cc} -O2 -fno-omit-frame-pointer -pthread -o "$dir/churn" "$src/tests/programs/churn.c" || exit 1
}

# ---------------------------------------------------------------------------------------------------------------------
# The daemon

get() { curl -s --unix-socket "$dir/sock" "http://localhost$1"; }

# launch: with $dir/decima.yaml
launch() {
	: >"$dir/log"
	"$build/decima" run -c "$dir/decima.yaml" --listen "unix:$dir/sock" --data "$dir/data" \
		--plugin-path "$build/plugins/.libs" 2>"$dir/log" &
	daemon=$!
}
# until_logged TEXT: busily, for the first moment
until_logged() { until grep -q "$1" "$dir/log"; do kill -0 "$daemon" 2>/dev/null || break; done; }

# daemon_start HZ INPUT_OPTIONS SYMBOL_OPTIONS [STORAGE]
daemon_start() {
	rm -rf "$dir/data" "$dir/sock"
	cat >"$dir/decima.yaml" <<-END
		inputs: { ebpf: { frequency: $1Hz, cpu_budget: 0, $2 }, perf_map: {} }
		storage: { ${4:-memory}: {} }
		symbols: { $3 }
	END
	launch
	for _ in $(seq 200); do
		[ -n "$(get /-/ready)" ] && return
		kill -0 $daemon 2>/dev/null || break
		sleep 0.05
	done
	say "the daemon does not start: $(tail -n 1 "$dir/log")"
	exit 1
}

daemon_stop() {
	kill "$daemon" 2>/dev/null
	wait "$daemon"
	daemon=
	# shellcheck disable=SC2046
	[ -n "$gate" ] && kill $(family "$gate") 2>/dev/null
	wait "$gate" 2>/dev/null
	gate=
}

# Until its last window was stored.
daemon_settle() { sleep 11; }

# How many files were read, reduced for the symbol store and compiled to tables so far; "waits" while some are to be reduced
files_done() {
	get /metrics | awk '
		/^decima_symbols_store_waiting / && $2 > 0 { waits = 1 }
		/^decima_(symbols_files_read_total|symbols_store_put_total|unwind_tables_builds)[ {]/ { n += $2 }
		END { print waits ? "waits" : n + 0 }'
}
# daemon_rests: waits until there was nothing of that for eight seconds, two minutes at most; $rested is when it began to rest
daemon_rests() {
	rested=$(date +%s) rests_by=$((rested + 120)) rests_with=$(files_done)
	while sleep 8 && [ "$(date +%s)" -lt $rests_by ]; do
		rests_before=$rests_with rests_with=$(files_done)
		[ "$rests_with" != waits ] && [ "$rests_with" = "$rests_before" ] && break
		rested=$(date +%s)
	done
}

# stacks MATCHERS [OPTION]..: folded
stacks() {
	matchers=$1
	shift
	"$build/decima" query stacks "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{$matchers}" \
		--url "unix:$dir/sock" "$@"
}

# daemon_time INPUTS: milliseconds from exec until it is ready, and of CPU time
daemon_time() {
	printf '%s\nstorage: { memory: {} }\n' "$1" >"$dir/decima.yaml"
	start_ns=$(date +%s%N)
	launch
	until_logged 'is ready'
	end_ns=$(date +%s%N)
	# shellcheck disable=SC2046
	echo $(((end_ns - start_ns) / 1000000)) $(($(cpu $(family $daemon)) / 1000000))
	daemon_stop
}

# first_times HZ FRAMES: milliseconds from exec of the daemon until all CPUs are sampled, and until a question shows stacks
# with these frames; and percent of those it shows then that have them
first_times() {
	rm -rf "$dir/data" "$dir/sock"
	printf 'inputs: { ebpf: { frequency: %sHz } }\nstorage: { memory: {} }\n' "$1" >"$dir/decima.yaml"
	start_ns=$(date +%s%N)
	launch
	until_logged 'sampling at'
	began_ns=$(date +%s%N)
	for _ in $(seq 500); do
		stacks 'comm="chain"' >"$dir/first.stacks" 2>/dev/null
		grep -q "$2" "$dir/first.stacks" && break
		sleep 0.01
	done
	end_ns=$(date +%s%N)
	echo $(((began_ns - start_ns) / 1000000)) $(((end_ns - start_ns) / 1000000)) \
		"$(awk -v frames="$2" '{ t += $NF } $0 ~ frames { n += $NF } END { printf "%.2f", t ? 100 * n / t : 0 }' "$dir/first.stacks")"
	kill "$daemon"
	wait "$daemon"
	daemon=
}

# median COLUMN FILE
median() { cut -d ' ' -f "$1" "$2" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# ---------------------------------------------------------------------------------------------------------------------
# perf

# perf_start HZ: both kinds, of all processes, until perf_stop.
perf_start() {
	fp='' dwarf=''
	command -v perf >/dev/null || return
	for kind in fp dwarf; do
		perf record -o "$dir/$kind.data" -e cpu-clock --call-graph $kind -a -F "$1" >/dev/null 2>&1 &
		eval "$kind=\$!"
	done
}

# Ends them, for which their files are whole.
perf_stop() {
	[ -n "$fp" ] && kill "$fp" "$dwarf" 2>/dev/null
	[ -n "$fp" ] && wait "$fp" "$dwarf" 2>/dev/null
	fp='' dwarf=''
}

# perf_script KIND COMMS: samples of programs with these names (a regex) that have user frames, each a line of frames from
# the root on, into $dir/KIND.text; what naming all of them took goes to $dir/KIND.took.
perf_script() {
	# shellcheck disable=SC2016
	timeout 120 sh -c 'perf script --no-inline -i "$1" -F comm,ip,sym 2>/dev/null; times >"$2"' sh \
		"$dir/$1.data" "$dir/$1.took" | awk -v comms="^($2)\$" '
		function flush() { if (wanted && user) print stack; stack = comm = ""; user = 0 }
		NF == 0 { flush(); next }
		/^[^\t]/ && comm == "" { comm = $0; sub(/ +$/, "", comm); wanted = comm ~ comms; next }
		{ user += $1 !~ /^ffff/; stack = $2 (stack == "" ? "" : ";") stack }
		END { flush() }' >"$dir/$1.text"
}
# perf_share KIND CLASS: percent of these samples with such frames
perf_share() {
	awk -v begin="$2" '{ t++ } $0 ~ begin { n++ } END { if (t) printf "%.2f", 100 * n / t; else print "null" }' "$dir/$1.text"
}
script_ns() {
	awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, "[ms]"); n += t[1] * 60 + t[2] } printf "%.0f", n * 1e9 }' "$dir/$1.took"
}

# ---------------------------------------------------------------------------------------------------------------------
# What was taken

# cpu PID..: nanoseconds that their threads have run
cpu() {
	for cpu_pid; do cat /proc/"$cpu_pid"/task/*/schedstat; done 2>/dev/null | awk '{ n += $1 } END { printf "%.0f\n", n }'
}
# threads PID..: the same by the names of the threads, a line each. By one process, as the daemon hears of each that starts, and
# these are its own threads' times
threads() {
	for thread_pid; do ls -d /proc/"$thread_pid"/task/*; done 2>/dev/null | awk '
		(getline name <($0 "/comm")) > 0 && (getline times <($0 "/schedstat")) > 0 { gsub(" ", "_", name); split(times, t, " "); n[name] += t[1] }
		{ close($0 "/comm"); close($0 "/schedstat") }
		END { for (name in n) printf "thread_%s %.0f\n", name, n[name] }'
}
# status_mib FIELD PID..: of their memory, what they share counted for each. VmRSS is all that is resident, RssAnon the part of
# it that no file holds
status_mib() {
	status_field=$1
	shift
	for status_pid; do cat /proc/"$status_pid"/status; done 2>/dev/null |
		awk -v field="$status_field:" '$1 == field { n += $2 } END { printf "%.1f\n", n / 1024 }'
}
# anon_by_name PID..: RssAnon of these by the names of the processes, a line each
anon_by_name() {
	for anon_pid; do cat /proc/"$anon_pid"/status; done 2>/dev/null | awk '
		$1 == "Name:" { name = $2 }
		$1 == "RssAnon:" { n[name] += $2 }
		END { for (name in n) printf "anon_mib_%s %.1f\n", name, n[name] / 1024 }'
}
# The kernel's own accounts of the programs: of the one that samples (type perf_event, 7), and all_run_time_ns of all, each
# once
program() {
	for pid in $(family "$daemon"); do
		cat /proc/"$pid"/fdinfo/*
		echo "pos:"
	done 2>/dev/null | awk '
		/^pos:/ { ours = 0; id = "" }
		/^prog_type:/ { ours = $2 == 7 }
		/^prog_id:/ { id = $2 }
		/^run_time_ns:/ { times[id] = $2 }
		/^run_(time_ns|cnt):/ && ours { v[$1] = $2 }
		END {
			for (id in times) all += times[id]
			for (k in v) print substr(k, 1, length(k) - 1), v[k]
			print "all_run_time_ns", all + 0
		}'
}
# Memory of BPF maps, each once; those of the unwind tables have no descriptor any more
maps_mib() {
	tables_bytes=$(get /metrics | sed -n 's/^decima_unwind_tables_map_bytes{[^}]*} //p')
	cat /proc/"$daemon"/fdinfo/* 2>/dev/null | awk -v n="${tables_bytes:-0}" '
		/^map_type:/ { map = 1 } /^pos:/ { map = 0 }
		/^memlock:/ && map { bytes = $2 }
		/^map_id:/ && map { m[$2] = bytes }
		END { for (id in m) n += m[id]; printf "%.1f\n", n / 1048576 }'
}

# each_of_daemon PATTERN: how many of these its processes have in /proc/PID
each_of_daemon() {
	for pid in $(family "$daemon"); do
		# shellcheck disable=SC2086 # a pattern
		ls -d /proc/"$pid"/$1
	done 2>/dev/null | wc -l
}

# accounts: CPU time as the kernel accounts for it, NAME VALUE lines; nobody measured notices
accounts() {
	# shellcheck disable=SC2046
	{
		echo "agent_ns $(cpu $(family "$daemon"))"
		threads $(family "$daemon")
	}
	[ -n "$fp" ] && echo "fp_ns $(cpu "$fp")" && echo "dwarf_ns $(cpu "$dwarf")"
	echo "wall_ns $(date +%s%N)"
}
# counters: the rest, of which the daemon says a part, and works for it
counters() {
	[ -n "$fp" ] && echo "fp_rss_mib $(status_mib VmRSS "$fp")" && echo "dwarf_rss_mib $(status_mib VmRSS "$dwarf")"
	# shellcheck disable=SC2046
	{
		echo "agent_rss_mib $(status_mib VmRSS $(family "$daemon"))"
		echo "agent_anon_mib $(status_mib RssAnon $(family "$daemon"))"
		anon_by_name $(family "$daemon")
	}
	echo "maps_mib $(maps_mib)"
	echo "descriptors $(each_of_daemon 'fd/*')"
	echo "tasks $(each_of_daemon 'task/*')"
	program
	get /metrics | awk '/^decima_[a-z_]*dropped[a-z_]*{/ && /instance="ebpf"/ && /reason="samples_/ { n += $NF }
		END { print "samples_lost", n + 0 }'
	get /metrics | sed -n 's/^decima_\(sampler_\)\{0,1\}\([a-z_]*\)\({instance="ebpf"}\)\{0,1\} /\2 /p'
}
# snapshot FILE: both
snapshot() {
	{
		accounts
		counters
	} >"$1"
	awk '/^deferred_.*_total/ { n += $2 } END { print "deferred_all", n + 0 }' "$1" >>"$1.more"
	cat "$1.more" >>"$1"
	rm "$1.more"
}
# now NAME, delta NAME: of the snapshots $dir/before and $dir/after
now() { awk -v name="$1" '$1 == name { v = $2 } END { print v == "" ? "null" : v }' "$dir/after"; }
delta() {
	awk -v name="$1" '$1 == name { n++; v[FILENAME] = $2 } END { printf "%.0f\n", n == 2 ? v[ARGV[2]] - v[ARGV[1]] : 0 }' \
		"$dir/before" "$dir/after"
}
# grown NAME: the same where there are fractions
grown() { awk -v from="$(sed -n "s/^$1 //p" "$dir/before")" -v to="$(now "$1")" 'BEGIN { printf "%.1f\n", to - from }'; }
# All that docs/LOSSES.md calls lost, whose samples the kernel did not take included, and stacks that were not told in time
lost() { echo $(($(delta samples_lost) + $(delta deferred_given_up))); }

# ratio A B FACTOR
ratio() { awk -v a="$1" -v b="$2" -v f="$3" 'BEGIN { if (a == "null" || b == 0) print "null"; else printf "%.4f\n", a * f / b }'; }

# figure NAME VALUE UNIT TARGET [FP DWARF]: TARGET is a sign and a number, or ""
figure() {
	awk -v name="$1" -v value="${2:-null}" -v unit="$3" -v target="$4" -v fp="${5:-null}" -v dwarf="${6:-null}" '
		function met(sign, limit) {
			if (value == "null")
				return "false"
			if (sign == "<=") return value + 0 <= limit ? "true" : "false"
			if (sign == ">=") return value + 0 >= limit ? "true" : "false"
			if (sign == "==") return value + 0 == limit ? "true" : "false"
			return value + 0 < limit ? "true" : "false"
		}
		BEGIN {
			n = split(target, t, " ")
			printf "{\"bench\":\"sampler\",\"name\":\"%s\",\"value\":%s,\"unit\":\"%s\",\"target\":%s,\"met\":%s,", \
				name, value, unit, n ? "\"" target "\"" : "null", n ? met(t[1], t[2] + 0) : "null"
			printf "\"compared_with\":{\"perf record --call-graph fp\":%s,\"perf record --call-graph dwarf\":%s}}\n", fp, dwarf
		}'
}
