/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unwind/judge.h - is a table of rules what libdw says?
 *
 * Both are asked for the caller's registers on a machine whose registers and memory hold made-up
 * numbers: libdw's expressions are evaluated, our rule is followed step by step as bpf/unwind.h has
 * it, and the frame address, the frame pointer, the return address and, where the rule has it, rbx
 * must come out equal, for two such machines, at the first and the last byte of each row.
 */
#ifndef DECIMA_TESTS_UNWIND_JUDGE_H
#define DECIMA_TESTS_UNWIND_JUDGE_H

#include "plugins/input/ebpf/unwind/rows.h"

struct judge {
	/* What to print of mismatches, at most: then they are only counted. */
	unsigned max_lines;
	uint64_t stride; /* every how many rows are compared; 0 and 1: all */

	uint64_t files, rows, points; /* looked at; a point is an address compared */
	uint64_t equal;
	uint64_t with_rbx; /* of these, those whose rule says where rbx is */
	uint64_t mismatches;
	uint64_t fp_lost;      /* the frame pointer is left out, as counted in gaps[] */
	uint64_t unsupported;  /* left out whole, as counted in gaps[] */
	uint64_t broken;       /* left out, and libdw cannot say more */
	uint64_t without;      /* no description, says either */
	uint64_t padding;      /* behind a function, of which libdw knows nothing */
	uint64_t known_better; /* ours where libdw has none: PLT, entry points, Go, signals */
	uint64_t missing;      /* described, says libdw; ours has the rule for code without */
	uint64_t gaps[UNWIND_GAP_N];
};

/*
 * Compares the file's table with libdw's answers. 0; -ENOTSUP: libdw has no call frame information
 * of it; -ENOEXEC: no file for us; or another failure to compile. A file of Go is compared by frame
 * address and return address only: libdw knows no more.
 */
int judge__file(struct judge *j, int fd, const char *name);

#endif
