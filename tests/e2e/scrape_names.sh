#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/scrape_names.sh - profiles of addresses get the names that the program itself says, at /pprof/symbol
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

[ -e "$plugins/input_pprof_scrape.so" ] || skip_all "built without pprof_scrape"
command -v python3 >/dev/null || skip_all "python3 is not installed"
programs=
trap 'for pid in $programs; do kill "$pid" 2>/dev/null; done; daemon_stop; rm -rf "$dir"' EXIT
# program NAME WORD: one more, whose address is the variable of that name, and whose word $dir/NAME.word
program() {
	echo "$2" >"$dir/$1.word"
	python3 "$top_srcdir/tests/lib/pprof_symbol.py" "$dir/$1.word" >"$dir/$1" 2>"$dir/$1.err" &
	programs="$programs $!"
	wait_for 20 test -s "$dir/$1"
	eval "$1=\$(cat \"\$dir/$1\")"
}
# says NAME WORD: from now on
says() { echo "$2" >"$dir/$1.new" && mv "$dir/$1.new" "$dir/$1.word"; }
named='' absent='' silent=''
program named names
program absent absent
program silent 'silent still'

# job NAME ADDRESS
job() {
	cat <<-YAML
		  - job_name: $1
		    scrape_interval: 1s
		    scrape_timeout: 1s
		    profiling_config:
		      pprof_config:
		        memory: { path: /pprof/heap }
		        block: { enabled: false }
		        mutex: { enabled: false }
		        goroutine: { enabled: false }
		        process_cpu: { enabled: false }
		    static_configs: [ { targets: ["$2"] } ]
	YAML
}
{
	echo 'scrape_configs:'
	job named "$named"
	job absent "$absent"
	job silent "$silent"
} >"$dir/scrape.yaml"
daemon_begin scrape_names.starts -c "$dir/scrape.yaml"

allocated=memory:alloc_space:bytes:space:bytes:delta
stacks() { ask query stacks "$allocated{job=\"$1\"}" --from now-10m 2>/dev/null; }
# sum JOB [REGEX]: of the stacks that match
sum() { stacks "$1" | grep -E "${2:-.}" | sum_of_lines; }
# heaps NAME N: so many more have been taken from it
count() { curl -s "http://$(cat "$dir/$1")/counts" | cut -d ' ' -f "$2"; }
more() { [ "$(count "$1" 1)" -ge "$2" ]; }
heaps() { wait_for 60 more "$1" $(($(count "$1" 1) + $2)); }
health() { ask targets >"$dir/targets" && grep -q "$1 .*$2" "$dir/targets"; }

chain='main;cache::fill;operator new'
has_chain() { stacks named | grep -qF "$chain"; }
if wait_for 30 has_chain; then ok scrape_names.chain; else not_ok scrape_names.chain "$(stacks named | head -n 2 | tr '\n' '|')"; fi
# Go's pprof asks the same question, and says the same of its answer, but for allocators, which it leaves out.
if command -v go >/dev/null; then
	HOME=$dir PPROF_TMPDIR=$dir go tool pprof -symbolize=remote -sample_index=alloc_space -traces "http://$named/pprof/heap" 2>"$dir/err" |
		awk '/cache::fill|operator new| main$/ { sub(/^ *([0-9.]+[a-zA-Z]* +)?/, ""); print }' | sed 's/(.*//' | sort -u >"$dir/go"
	stacks named | head -n 1 | sed 's/ [0-9]*$//' | tr ';' '\n' | grep -v '^operator new' | sort -u >"$dir/ours"
	if cmp -s "$dir/go" "$dir/ours"; then ok scrape_names.as_go; else not_ok scrape_names.as_go "$(diff "$dir/go" "$dir/ours" | tr '\n' '|')"; fi
else
	skip scrape_names.as_go "go is not installed; apt-get install golang-go"
fi

# While the names fail, profiles do: they would have other stacks. What was allocated meanwhile is counted afterwards.
says named fails
wait_for 30 health named 'status 500: the symbol table' && ok scrape_names.failure_is_told || not_ok scrape_names.failure_is_told "$(grep named "$dir/targets")"
heaps named 2
says named 'names still'
heaps named 2
# The heap began at 1000 bytes, and had 100 more at the first scrape, from which on it counts; Go's pprof took some, too.
all() { [ "$(sum named "$chain")" -eq $(($(count named 3) - 1100)) ] && [ "$(sum named)" = "$(sum named "$chain")" ]; }
wait_for 10 all && ok scrape_names.nothing_lost || not_ok scrape_names.nothing_lost "$(count named 3) bytes there, $(sum named) here: $(stacks named | tr '\n' '|')"

# Other addresses, the same functions: names of one process are not those of the next. What it has at
# the first scrape, or the second where the first fell between the two, does not count: that a name became another would
# look the same.
before=$(sum named "$chain")
says named 'moved'
heaps named 3
says named 'moved still'
heaps named 2
began_anew() {
	since=$(($(sum named "$chain") - before))
	[ "$since" -ge 100 ] && [ "$since" -ge $(($(count named 3) - 200)) ] && [ "$since" -le $(($(count named 3) - 100)) ] &&
		[ "$(sum named)" = "$(sum named "$chain")" ]
}
wait_for 10 began_anew && ok scrape_names.another_process || not_ok scrape_names.another_process "$before before, $(count named 3) since, $(sum named "$chain") here"

# A program that has no names is asked with every 31st profile, and its profiles are taken as they are.
heaps absent 3
questions=$(count absent 2)
[ "$questions" -ge 1 ] && [ "$questions" -le $(($(count absent 1) / 31 + 1)) ] && ok scrape_names.absent_is_asked_rarely ||
	not_ok scrape_names.absent_is_asked_rarely "$questions questions at $(count absent 1) heaps"
wait_for 10 health absent up && [ "$(sum absent 'cached')" -gt 0 ] && ok scrape_names.absent_is_taken || not_ok scrape_names.absent_is_taken "$(stacks absent | tr '\n' '|')"
# From when it has names on, they are there, and nothing counts twice.
says absent names
absent_named() { [ "$(sum absent "$chain")" -gt 0 ]; }
wait_for 60 absent_named && ok scrape_names.names_that_come_late || not_ok scrape_names.names_that_come_late "$(stacks absent | tr '\n' '|')"
says absent 'names still'
heaps absent 1
most=$(($(count absent 3) - 1000))
[ "$(sum absent)" -le "$most" ] && ok scrape_names.late_counts_once || not_ok scrape_names.late_counts_once "$(sum absent) of $most"

# One that does not answer holds up nobody; its first profile has no names, as it never said any.
wait_for 20 health silent up && ok scrape_names.silent_is_taken || not_ok scrape_names.silent_is_taken "$(grep silent "$dir/targets")"
get /metrics >"$dir/metrics"
names_counted() { awk '/^decima_scrape_names_total/ { n += $2 } END { exit !(n >= 9) }' "$dir/metrics"; }
names_counted && ok scrape_names.counted || not_ok scrape_names.counted "$(grep scrape_name "$dir/metrics" | tr '\n' '|')"
failures_counted() { awk '/^decima_scrape_name_failures_total/ { n += $2 } END { exit !(n >= 3) }' "$dir/metrics"; }
failures_counted && ok scrape_names.failures_counted || not_ok scrape_names.failures_counted "$(grep scrape_name "$dir/metrics" | tr '\n' '|')"

# ---- with a build id: from debuginfo that comes later, whoever was scraped ----
# An address in memory is one of the file's own where the program is linked to one place (fixed). Where the kernel chooses the
# place (pie) it is not, and where besides the code's addresses are not its offsets in the file (moved) neither of these is.
cat >"$dir/program.c" <<'C'
#include <stdio.h>
int NAME(int x) { return x * 3; }
/* "ADDRESS START LIMIT OFFSET" of the function, and of the mapping that it is in: what a program writes into its profiles */
int main(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long address = (unsigned long)NAME, start, limit, offset;
	char line[4096];

	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &limit, &offset) == 3 && start <= address && address < limit)
			return printf("%lx %lx %lx %lx\n", address, start, limit, offset) < 0;
	return 1;
}
C
# by_id_profile KIND FLAG..: $dir/KIND, and what it would serve
by_id_profile() {
	kind=$1
	shift
	cc -g -O0 -DNAME="only_$kind" "$@" -Wl,--build-id -o "$dir/$kind" "$dir/program.c" && "$dir/$kind" >"$dir/place" || return
	read -r address start limit offset <"$dir/place"
	id=$(readelf -n "$dir/$kind" | sed -n 's/.*Build ID: //p')
	python3 "$top_srcdir/tests/programs/address_profile.py" "$address" "$id" "/bin/$kind" "$start" "$limit" "$offset" >"$dir/www/$kind"
}
of_kind() { ask query stacks "memory:samples:count::{job=\"$1\"}" --from now-10m 2>&1; }
by_id() { of_kind "$1" | grep -qF "$2"; }
if command -v cc >/dev/null && command -v readelf >/dev/null; then
	mkdir "$dir/www"
	by_id_profile fixed -no-pie && by_id_profile pie -fPIE -pie && by_id_profile moved -fPIE -pie -Wl,--section-start=.init=0x5000 ||
		not_ok scrape_names.by_id_programs "they do not build or run"
	python3 -u -m http.server --bind 127.0.0.1 --directory "$dir/www" 0 >"$dir/www.out" 2>"$dir/www.log" &
	programs="$programs $!"
	serving() { grep -q 'port [0-9]' "$dir/www.out"; }
	wait_for 20 serving
	{
		echo 'scrape_configs:'
		for kind in fixed pie moved; do
			job $kind "127.0.0.1:$(sed -n 's/.* port \([0-9]*\) .*/\1/p' "$dir/www.out")" | sed "s#/pprof/heap#/$kind#"
		done
	} >"$dir/scrape.yaml"
	curl -sf -X POST --unix-socket "$dir/sock" http://localhost/-/reload >"$dir/said" || not_ok scrape_names.by_id_reload "$(head -c 300 "$dir/said")"
	for kind in fixed pie moved; do
		wait_for 30 by_id $kind "$kind+0x" && ok "scrape_names.by_id_${kind}_without" || not_ok "scrape_names.by_id_${kind}_without" "$(of_kind $kind | head -n 2 | tr '\n' '|')"
		ask debuginfo upload "$dir/$kind" >"$dir/said" 2>&1
		expect_status "scrape_names.by_id_${kind}_upload" 0 $?
		wait_for 30 by_id $kind "only_$kind" && ok "scrape_names.by_id_$kind" || not_ok "scrape_names.by_id_$kind" "$(of_kind $kind | head -n 2 | tr '\n' '|')"
	done
else
	skip scrape_names.by_id "cc and readelf are not installed"
fi
daemon_stop
expect_status scrape_names.stops 0 "$daemon_status"
