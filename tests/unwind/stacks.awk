# SPDX-License-Identifier: Apache-2.0
# tests/unwind/stacks.awk - are the stacks that core_walk found those of eu-stack?
#
#	awk -f stacks.awk CORE_WALK_OUTPUT EU_STACK_OUTPUT
#
# Prints "THREADS FRAMES" that are equal, and a line "differs: .." for each thread that is not. Where eu-stack gives up,
# its answer counts as far as it goes. A walk may end where the copy of its stack ends, on which no second stack is; it
# must be whole otherwise. An address is one more than eu-stack's where nothing called the code: what a signal
# interrupted, and what it returns to (struct sampler_sample).
function number(hex, i, n) {
	hex = tolower(hex)
	sub(/^0x/, "", hex)
	for (i = 1; i <= length(hex); i++) n = n * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
	return n
}
/^eu-stack:/ {
	if (match($0, / tid [0-9]+/)) gave_up[substr($0, RSTART + 5, RLENGTH - 5)]
	next
}
/^TID / {
	tid = $2 + 0
	if (FNR == NR) tids[tid]
	next
}
FNR == NR && /^end / { outcome[tid] = $2; next }
FNR == NR { ours[tid, ++n_ours[tid]] = number($1); next }
/^#[0-9]/ { theirs[tid, ++n_theirs[tid]] = number($2) }
END {
	for (tid in tids) {
		n = n_ours[tid] < n_theirs[tid] ? n_ours[tid] : n_theirs[tid]
		why = ""
		for (i = 1; i <= n && why == ""; i++)
			if (ours[tid, i] != theirs[tid, i] && (i == 1 || ours[tid, i] != theirs[tid, i] + 1))
				why = "frame " i - 1
		if (why == "" && outcome[tid] == "copy_end") {
			if (n_ours[tid] > n_theirs[tid]) why = "more frames"
		} else if (why == "" && outcome[tid] != "root") {
			why = "ends with " outcome[tid]
		} else if (why == "" && n_ours[tid] != n_theirs[tid] && !(tid in gave_up)) {
			why = "number of frames"
		}
		if (why != "") printf "differs: thread %d: %s: %d frames, eu-stack %d\n", tid, why, n_ours[tid], n_theirs[tid]
		n_threads++
		n_frames += n
	}
	print n_threads + 0, n_frames + 0
}
