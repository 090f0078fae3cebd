# SPDX-License-Identifier: Apache-2.0
# tests/unwind/stacks.awk - are the stacks that core_walk found those of libdwfl?
#
#	awk -v chain=SYMBOLS -f stacks.awk CORE_WALK_OUTPUT CORE_ORACLE_OUTPUT
#
# Prints "THREADS FRAMES" that are equal, and a line "differs: .." for each thread that is not. Where libdwfl gives up,
# its answer counts as far as it goes; where it has lost rbx (core_oracle.c), our stack goes on to its root, and through
# each of the SYMBOLS. A walk may end where the copy of its stack ends, on which no second stack is; it must be whole
# otherwise. An address is one more than libdwfl's where nothing called the code: what a signal interrupted, and what it
# returns to (struct sampler_sample).
function number(hex, i, n) {
	hex = tolower(hex)
	for (i = 1; i <= length(hex); i++) n = n * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
	return n
}
# Is one of our frames in that function?
function passes(tid, symbol, i) {
	for (i = 1; i <= n_ours[tid]; i++)
		if (ours[tid, i] > from[symbol] && ours[tid, i] <= to[symbol]) return 1
	return 0
}
# What is wrong about how far our stack goes; "": nothing.
function length_fault(tid, symbols, n, i) {
	if (outcome[tid] == "copy_end") return n_ours[tid] > n_theirs[tid] ? "more frames" : ""
	if (outcome[tid] != "root") return "ends with " outcome[tid]
	if (!(tid in end)) return "unknown to libdwfl"
	if (end[tid] == "root") return n_ours[tid] != n_theirs[tid] ? "number of frames" : ""
	if (end[tid] != "lost_rbx") return ""
	if (n_ours[tid] <= n_theirs[tid]) return "ends where rbx is needed"
	n = split(chain, symbols, " ")
	for (i = 1; i <= n; i++)
		if (!passes(tid, symbols[i])) return "no frame in " symbols[i]
	return ""
}
{ is_ours = FILENAME == ARGV[1] }
/^TID / {
	tid = $2 + 0
	if (is_ours) tids[tid]
	next
}
/^end / {
	if (is_ours) outcome[tid] = $2
	else end[tid] = $2
	next
}
NF == 3 {
	from[$3] = number($1)
	to[$3] = from[$3] + $2
	next
}
is_ours { ours[tid, ++n_ours[tid]] = number($1) }
!is_ours { theirs[tid, ++n_theirs[tid]] = number($1) }
END {
	for (tid in tids) {
		n = n_ours[tid] < n_theirs[tid] ? n_ours[tid] : n_theirs[tid]
		why = ""
		for (i = 1; i <= n && why == ""; i++)
			if (ours[tid, i] != theirs[tid, i] && (i == 1 || ours[tid, i] != theirs[tid, i] + 1))
				why = "frame " i - 1
		if (why == "") why = length_fault(tid)
		if (why != "") printf "differs: thread %d: %s: %d frames, libdwfl %d\n", tid, why, n_ours[tid], n_theirs[tid]
		n_threads++
		n_frames += n
	}
	print n_threads + 0, n_frames + 0
}
