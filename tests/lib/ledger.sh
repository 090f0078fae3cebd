# SPDX-License-Identifier: Apache-2.0
# tests/lib/ledger.sh - the local store under the input ledger, whose books are held against answers; sourced
#
# After tests/e2e/lib.sh. The input (tests/plugins/ledger.c) keeps books of what it handed in and of what was
# acknowledged. Its profile N is one frame "fN" of value N % 7 + 1, so that what is missing, there twice or never was
# shows in one answer. $plugins becomes a directory with the two alone.

ledger=$top_builddir/tests/plugins/.libs/input_ledger.so
[ -e "$plugins/storage_local.so" ] || skip_all "built without the local store"
[ -e "$ledger" ] || skip_all "$ledger is not built"
installed=$plugins
plugins=$dir/plugins
mkdir "$plugins"
cp "$installed/storage_local.so" "$ledger" "$plugins/"
chmod go-w "$plugins" "$plugins"/*
DECIMA_PLUGIN_PATH=$plugins
selector=ledger:count:count:count:count:delta

# config BOOKS STORE [OPTION]: for start; one more option of the input. A seal a second, so that the log, blocks and what
# lies between them are met.
config() {
	mkdir -p "$1"
	books=$1 store=$2
	touch "$books/acknowledged" "$books/emitted"
	cat >"$dir/decima.yaml" <<-END
		inputs:
		  ledger: { directory: $books${3:+, $3} }
		storage:
		  local: { path: $store, seal_interval: 1s }
	END
}

start() { daemon_start -c "$dir/decima.yaml" || not_ok start "$(tail -n 1 "$dir/log")"; }
n_acknowledged() { wc -l <"$books/acknowledged"; }
acknowledged_more_than() { [ "$(n_acknowledged)" -gt "$1" ]; }
# Until some hundred more are acknowledged.
write_some() { wait_for 60 acknowledged_more_than $(($(n_acknowledged) + 100)) || not_ok "$1" "nothing is acknowledged: $(tail -n 1 "$dir/log")"; }

# lacks ARGUMENT..: holds the books against what the store answers to a question with these arguments, and prints what is
# wrong, if anything is
lacks() {
	cp "$books/acknowledged" "$dir/must"
	if ! "$decima" query stacks "$selector" --from 0 "$@" >"$dir/stacks" 2>"$dir/err"; then
		head -n 1 "$dir/err"
		return
	fi
	cp "$books/emitted" "$dir/may"
	awk '
		FILENAME ~ /may$/ { may[$1] = 1; next }
		FILENAME ~ /must$/ { must[$1] = 1; next }
		{
			n = substr($1, 2)
			if (!(n in may)) { print "f" n " was never emitted"; exit }
			if ($2 != n % 7 + 1) { print "f" n " has " $2; exit }
			there[n] = 1
		}
		END {
			for (n in must) {
				count++
				if (!(n in there)) missing++
			}
			if (missing) print missing " of " count " acknowledged profiles are missing"
		}
	' "$dir/may" "$dir/must" "$dir/stacks"
}

# balanced NAME ARGUMENT..: a case; of books that have something to tell
balanced() {
	name=$1
	shift
	lacks "$@" >"$dir/verdict"
	[ "$(wc -l <"$dir/must")" -ge 50 ] || echo "only $(wc -l <"$dir/must") profiles were acknowledged" >>"$dir/verdict"
	if [ -s "$dir/verdict" ]; then not_ok "$name" "$(head -n 1 "$dir/verdict")"; else ok "$name"; fi
}
