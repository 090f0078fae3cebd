# SPDX-License-Identifier: Apache-2.0
# tests/lib/chains.sh - do stacks show just the chains of calls that a program is in? Sourced, with ok and not_ok there
#
# Wants $dir and $top_srcdir, and tests/lib/compile.sh for roots. Chains are written as tests/lib/chain.awk says, which decides.

# What a program may be in at any moment instead of its chain's next: the C library, the loader, the vDSO, stubs, its clock.
other='now|is_over|over|exit|_.*|lib.*|ld-.*|\[(vdso|plt)\].*|(clock_gettime|time|qsort|msort|memset|snprintf|setjmp|longjmp|sig'
other="$other|[cm]alloc|realloc|free|memcpy|memmove|setitimer|getcontext|makecontext|swapcontext|setcontext|strcmp|strtod"
other="$other|printf|outstring|write|brk|sbrk|fstat|getrandom|pthread_|clone).*"

# repeat N TEXT
repeat() { awk -v n="$1" -v s="$2" 'BEGIN { while (n-- > 0) printf "%s", s }'; }

# roots: $root and $thread begin the chains of programs of this machine's C library, up to main and to thread_main. How
# many frames of its own there are is asked of libgcc's unwinder.
roots() {
	compile roots roots.c || return
	# shellcheck disable=SC2046 # two numbers
	set -- $("$dir/roots")
	root="_start $(repeat $(($1 - 1)) '(libc.*|__libc_start.*) ')main"
	thread="$(repeat "$2" '(__clone3?|clone3?|start_thread|libc.*) ')thread_main"
}
# unnamed NAME: $root of a program without symbols. Build it without a build id: where another program has the same one
# and symbols, names come from there.
unnamed() { printf '%s' "$root" | sed "s/_start/$1[+]0x[0-9a-f]+/; s/main\$/$1[+]0x[0-9a-f]+/"; }

# kinds CHAINS: how much of each kind there is in the stacks of stdin, a line of VALUE ROOT;..;LEAF for each
kinds() { CHAINS=$1 OTHER=$other awk -f "$top_srcdir/tests/lib/chain.awk"; }

# exact NAME CHAINS STACKS [SETTLED [PERCENT [WHOLE]]]: a case; of files of stacks as above. Of those in SETTLED at least
# 99.5 % of the CPU time is in a chain or on the way there, at least 95 % in the whole of the first (where the machine
# stands still for 30 ms, one sample weighs as much as thirty), and none of STACKS anywhere else. A stack that says that
# it is cut is not wrong, and not right either.
exact() {
	kinds "$2" <"$3" | sed -n 's/^# //p' >"$dir/wrong"
	kinds "$2" <"${4:-$3}" >"$dir/kinds"
	verdict=$(awk -F = -v right="${5:-99.5}" -v whole="${6:-95}" -v wrong="$(wc -l <"$dir/wrong")" '
		/^[a-z]*=/ { v[$1] = $2; all += $2 }
		END {
			if (all == 0) exit
			for (kind in v) v[kind] *= 100 / all
			good = v["whole"] + v["way"] >= right && v["whole"] >= whole && wrong == 0
			printf "%s %.2f %% right, %.2f %% whole, %.2f %% cut, %d wrong stacks\n", good ? "ok" : "not ok",
				v["whole"] + v["way"], v["whole"], v["cut"] + v["early"], wrong
		}' "$dir/kinds")
	case $verdict in
	ok*) ok "$1: ${verdict#ok }" ;;
	*)
		not_ok "$1" "${verdict:-no samples}; most often: $(head -n 1 "${4:-$3}" | cut -c 1-400), wrong: $(head -n 1 "$dir/wrong")"
		sed 's/^/# wrong: /' "$dir/wrong"
		;;
	esac
}
