#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/storage/conformance.sh - the conformance program over our storages, and over faults that it must see
#
# A storage is a line: `conforms NAME FILE.so ARGUMENTS..`. CONFORMANCE_PLANS=2000 looks longer than `make check` does.
set -u
. "$top_srcdir/tests/lib/scratch.sh"
dir=$(scratch) || exit 1
trap 'rm -rf "$dir"' EXIT
program=$top_builddir/tests/storage/conformance
memory=$top_builddir/plugins/.libs/storage_memory.so
local_store=$top_builddir/plugins/.libs/storage_local.so
faulty=$top_builddir/tests/plugins/.libs/storage_faulty.so
export TMPDIR="$dir" DECIMA_FAULTY_INNER="$memory"
for file in "$program" "$memory" "$local_store" "$faulty"; do
	[ -e "$file" ] || {
		echo "skip conformance: $file is not built"
		exit 0
	}
done

# conforms NAME FILE.so ARGUMENTS..
conforms() {
	name=$1 file=$2
	shift 2
	"$program" "$@" "$file" >"$dir/out" 2>&1
	status=$?
	grep -vE '^(ok|not ok) ' "$dir/out"
	sed -nE "s/^(ok|not ok) /\1 conformance.$name./p" "$dir/out"
	[ $status -eq 0 ] || grep -q '^not ok ' "$dir/out" || echo "not ok conformance.$name: exit status $status"
}

# keeps_contract NAME FILE.so OPTIONS: tests/contract's program, which asks SQLite the same
keeps_contract() {
	contract=$top_builddir/tests/contract/test_storage
	if [ ! -x "$contract" ]; then
		echo "skip conformance.$1_contract: libsqlite3-dev is missing"
	elif "$contract" "$2" "$3" >"$dir/out" 2>&1; then
		echo "ok conformance.$1_contract"
	else
		echo "not ok conformance.$1_contract: $(grep -m 1 -A 1 'ERROR' "$dir/out" | tr '\n' ' ')"
	fi
}

# catches CASE FAULT..: each is seen by that case, which ends with a report
catches() {
	case=$1
	shift
	for fault in "$@"; do
		"$program" --only "$case" --plans 12 --shrinks 0 --patience 2 $keeps \
			--options "{ max_bytes: 1GiB, retention: 0, fault: $fault$journal }" \
			--from-backup "{ path: \"{DIR}\", max_bytes: 1GiB, retention: 0, fault: $fault }" \
			"$faulty" >"$dir/out" 2>&1
		status=$?
		if [ $status -eq 1 ] && grep -q "^not ok $case" "$dir/out"; then
			echo "ok conformance.catches_$fault"
		else
			tail -n 5 "$dir/out"
			echo "not ok conformance.catches_$fault: it was not seen: exit status $status"
		fi
	done
}

bounds='max_bytes: 1GiB, retention: 0'
conforms memory "$memory" --from-backup "{ path: \"{DIR}\", $bounds }"
conforms local "$local_store" --keeps --counts-late --plans "${CONFORMANCE_PLANS:-6}" --kills 5 \
	--options "{ path: \"{DIR}\", $bounds }"
# Blocks as soon as may be, so that questions go over many.
conforms local_blocks "$local_store" --keeps --counts-late --plans "${CONFORMANCE_PLANS:-4}" --kills 5 --seed 100 \
	--options "{ path: \"{DIR}\", $bounds, seal_interval: 1s, head_max_bytes: 1MiB }"
keeps_contract local "$local_store" "{ path: \"{DIR}\", $bounds }"
# Few series: what is beyond them, before and after a restart, which a backup is for a store that keeps nothing.
few="$bounds, max_series: 8"
conforms memory_bound "$memory" --only bound --bound 8 --options "{ $few }" --from-backup "{ path: \"{DIR}\", $few }"
conforms local_bound "$local_store" --only bound --bound 8 --keeps --counts-late --options "{ path: \"{DIR}\", $few }"
# A store elsewhere answers later, from another thread, and says -EAGAIN; and one that survives SIGKILL.
conforms slow "$faulty" --plans 5 --options "{ fault: slow, $bounds }" \
	--from-backup "{ path: \"{DIR}\", fault: slow, $bounds }"
conforms journal "$faulty" --only kills --keeps --options "{ fault: journal, journal: \"{DIR}\", $bounds }"

journal='' keeps=''
catches answers forgets stores_retries drops_late tears acks_twice acks_never acks_early ends_badly refuses \
	to_inclusive from_exclusive forgets_matcher ne_wants_label unsorted counts_series loses_point loses_duration \
	loses_period loses_row off_by_one swaps_sides side_miscounts one_group forgets_before ignores_cancel ignores_deadline \
	short_answer retains_more retain_miscounts removes_all removes_nothing removes_ever backup_lacks forgets_ids \
	maintain_loses stat_rows stat_last check_finds
catches moments halves
catches refusals list_goes_on takes_no_type
# The store that has no bound is seen too.
if "$program" --only bound --bound 8 --from-backup "{ path: \"{DIR}\", $bounds }" "$memory" >"$dir/out" 2>&1; then
	echo "not ok conformance.catches_no_bound: it was not seen"
else
	sed -n 's/^not ok bound: .*/ok conformance.catches_no_bound/p' "$dir/out"
fi
journal=', journal: "{DIR}"' keeps=--keeps
catches kills journal_late journal_torn
