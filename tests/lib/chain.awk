# SPDX-License-Identifier: Apache-2.0
# tests/lib/chain.awk - do stacks show the chain of calls that a program is in?
#
#	CHAINS='WORD WORD..|WORD..' OTHER=REGEX awk -f chain.awk STACKS
#
# Input: a value, and a stack from its root between semicolons, FRAME*N for N in a row. A chain is a word for each frame,
# a regular expression without a blank; with ? before it the frame may be missing, with * it may be missing or repeated.
# The program is in the first chain nearly all of the time, or in one that begins with the word "="; in the others on its
# way there. OTHER: functions that it may be in at any moment instead of the chain's next, to the leaf.
#
# Output: the sum of values of each kind of stack, and every wrong one behind a #:
#
#	whole	the first chain
#	way	a beginning of a chain, with or without OTHER; or the loader, and nothing that it would not call
#	none	no frame but the kernel's, and nobody says why
#	early	cut because tables were not there yet, and the frames that are there are right
#	cut	cut for another reason, the same
#	wrong	anything else
function read_chain(c, text, i, n, words, mark) {
	wanted[c] = c == 1 || text ~ /^ *= /
	sub(/^ *= /, "", text)
	n = length_of[c] = split(text, words, " ")
	for (i = 1; i <= n; i++) {
		mark = substr(words[i], 1, 1)
		optional[c, i] = mark == "?" || mark == "*"
		repeated[c, i] = mark == "*"
		if (optional[c, i]) words[i] = substr(words[i], 2)
		expression[c, i] = "^(" words[i] ")$"
	}
}
# Adds the state "k words of chain c are done", and those that follow because words may be missing.
function add(states, c, k) {
	states[k]
	while (k < length_of[c] && optional[c, k + 1]) states[++k]
}
# Frame i is one that the program may be in at any moment; some are known by who calls them, or nobody says who does.
function is_other(i) {
	if (frame[i] ~ never) return 0
	return frame[i] ~ other || (i > 1 && frame[i] ~ loaders && (frame[i - 1] ~ loader || frame[i - 1] ~ loaders || frame[i - 1] ~ cut || frame[i - 1] ~ static_loader))
}
# 2: whole; 1: a beginning, or with `anywhere` some of it; 0: neither. Frames from `first` on.
function follow(c, first, anywhere, i, k, now, after, is_in, in_other) {
	if (anywhere) for (k = 0; k < length_of[c]; k++) now[k]
	else add(now, c, 0)
	is_in = 1
	for (i = first; i <= n_frames && frame[i] !~ kernel; i++) {
		in_other = (is_in || in_other) && is_other(i) && (i > 1 || frame[i] ~ loader)
		split("", after)
		is_in = 0
		for (k in now) {
			k += 0
			if (k < length_of[c] && frame[i] ~ expression[c, k + 1]) { add(after, c, k + 1); is_in = 1 }
			if (k > 0 && repeated[c, k] && frame[i] ~ expression[c, k]) { add(after, c, k); is_in = 1 }
		}
		if (!is_in && !in_other) return 0
		split("", now)
		for (k in after) now[k]
	}
	return is_in && (length_of[c] in now) ? 2 : 1
}
function read_stack(stack, i, k, n, parts, times) {
	n = split(stack, parts, ";")
	n_frames = 0
	for (i = 1; i <= n; i++) {
		times = 1
		if (match(parts[i], /[*][0-9]+$/)) {
			times = substr(parts[i], RSTART + 1) + 0
			parts[i] = substr(parts[i], 1, RSTART - 1)
		}
		for (k = 0; k < times; k++) frame[++n_frames] = parts[i]
	}
}
# 1: the loader at work, which every program begins with: it and the C library are all there is, from frame `first` on.
function is_loading(first, i) {
	if (frame[first] !~ loader) return 0
	for (i = first; i <= n_frames && frame[i] !~ kernel; i++)
		if (frame[i] !~ loader && !is_other(i)) return 0
	return 1
}
function kind(c, best, is, is_cut) {
	is_cut = frame[1] ~ cut
	if (!is_cut && frame[1] ~ kernel) return "none"
	best = is_loading(1 + (is_cut || frame[1] == "_start"))
	for (c = 1; c <= n_chains && best < 2; c++) {
		is = follow(c, 1 + is_cut, is_cut)
		if (is > 1 && !wanted[c]) is = 1
		if (is > best) best = is
	}
	if (!best) return "wrong"
	if (is_cut) return frame[1] ~ early ? "early" : "cut"
	return best > 1 ? "whole" : "way"
}
BEGIN {
	kernel = "^([a-z_0-9]*(asm_|irq|entry|exc_|ret_from)|[[]truncated: .*kernel)"
	# Nothing calls these; __x86_* are the kernel's, whose part of a stack begins with one of the above.
	never = "^(_start|main|start_thread|runtime[.](goexit|main).*|main[.]main|__x86_(indirect|return)_.*)$"
	loader = "^(ld-|_dl_)"
	static_loader = "^__libc_start_main$" # where nobody else does
	# What glibc's has by other names, what chooses among a library's functions for this processor, and crtbegin.o's.
	loaders = "^(frame_dummy|__x86_cacheinfo|__(libc|pthread)_early_init|(__)?getrlimit(64)?|__ctype_init|mmap(64)?|munmap|mprotect|(de)?register_tm_clones|dl_main|do_lookup_x|check_match|version_check_doit|map_doit|openaux|open_(path|verify).*|fillin_rpath|" \
		"(dl|rtld|elf|cpu|intel|tunable|init|handle|process|update|call|add|is|get|enter|do|resolve|expand|decompose|cache|" \
		"search|copy|compute|allocate|match|relocate|security|setup|lookup|load|dfs|sort|remove)_[A-Za-z0-9_.]*|(str|mem|stp|wcs|wmem)[a-z_]*)$"
	cut = "^[[]truncated: "
	early = "stack deeper than its copy|tables not built yet"
	other = "^(" ENVIRON["OTHER"] ")$"
	n_chains = split(ENVIRON["CHAINS"], chains, "|")
	# A bar within parentheses belongs to a word.
	for (c = 1; c <= n_chains; c++) {
		text = text (text == "" ? "" : "|") chains[c]
		opened = text
		closed = text
		if (gsub(/[(]/, "", opened) == gsub(/[)]/, "", closed)) {
			read_chain(++n, text)
			text = ""
		}
	}
	n_chains = n
}
{
	value = $1
	sub(/^[0-9]+ /, "")
	read_stack($0)
	k = kind()
	sum[k] += value
	if (k == "wrong") wrong[++n_wrong] = value " " $0
}
END {
	n = split("whole way none early cut wrong", kinds, " ")
	for (i = 1; i <= n; i++) printf "%s=%.0f\n", kinds[i], sum[kinds[i]]
	for (i = 1; i <= n_wrong; i++) print "# " wrong[i]
}
