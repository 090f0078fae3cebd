/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/rows.h - an ELF file's call frame information as a table of rules
 *
 * Sources, in the order of trust: Go's pclntab for the functions it lists (exact frame sizes, which
 * DWARF lacks for the frame pointer), .eh_frame, .debug_frame where .eh_frame is silent, known
 * stubs (PLT sections, entry point, signal trampolines) where both are, and the frame-pointer rule
 * for all other code. x86-64 and arm64 files, whichever the machine that compiles; no relocatable
 * files. A file is foreign: it is read in pieces through a function, never mapped, so one that is
 * cut meanwhile is an error and no signal, and every size meets a limit before memory is asked for.
 *
 * Tables never change once made; threads may share them.
 */
#ifndef DECIMA_EBPF_UNWIND_ROWS_H
#define DECIMA_EBPF_UNWIND_ROWS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "bpf/unwind.h"
#include "core/base/cleanup.h"

/* Where the bytes of an ELF image come from. */
struct unwind_source {
	/* All n bytes from the offset, or a negative errno (-EIO: it is shorter). */
	int (*read)(void *arg, void *p, size_t n, uint64_t offset);
	void *arg;
	uint64_t size; /* bytes in all; nothing beyond it is asked for */
};

struct unwind_limits {
	uint64_t max_bytes; /* of memory while compiling; 0: 512 MiB */
	uint32_t max_fdes;  /* 0: 4 Mi */
	uint32_t max_rows;  /* 0: 64 Mi */
	/*
	 * Of work, in bytes that are read or looked at: some 1 to 5 ns each. What a file asks for
	 * beyond it is refused with -ETIME, on every machine alike. 0: 4 Gi, several times what the
	 * largest programs take.
	 */
	uint64_t max_work;
	/*
	 * Asked now and then, in the caller's thread, at least every few thousand rows: true ends
	 * the work with -ECANCELED; it may also sleep, to give way. NULL: never.
	 */
	bool (*stop)(void *arg);
	void *stop_arg;
};

/* A stretch of the file that is mapped executable: how a file offset becomes an address. */
struct unwind_segment {
	uint64_t vaddr, offset;
	uint64_t size; /* bytes in memory */
};

/*
 * Row i covers [base + at[i], base + at[i + 1]) with rules[rule[i]]; the last row is one of rule 0
 * (UNWIND_CFA_NONE), and covers nothing. at[] ascends strictly, neighbours' rules differ. All of
 * the executable segments is covered, and whatever lies between them is rule 0.
 */
struct unwind_rows {
	uint64_t base; /* ELF virtual address of the first executable byte */
	uint32_t n;    /* rows, at least 1 */
	uint32_t n_rules, n_segments;
	uint32_t *at;		   /* [n] */
	uint16_t *rule;		   /* [n] */
	struct unwind_rule *rules; /* [n_rules] distinct, [0] is UNWIND_CFA_NONE; at most 65,535 */
	struct unwind_segment *segments; /* [n_segments] ascending by vaddr, disjoint */
	uint16_t machine;		 /* EM_X86_64 or EM_AARCH64 */
	bool is_go;			 /* has functions of Go, with a table */

	/* What it was made from, for people and tests. */
	uint32_t n_fdes;	     /* functions described */
	uint64_t covered_bytes;	     /* of the code by descriptions of its own */
	uint64_t code_bytes;	     /* executable in all */
	uint32_t gaps[UNWIND_GAP_N]; /* rows or descriptions that rules do not express, by reason */
};

/*
 * Compiles. 0; -ENOEXEC: not an ELF file that can be read here, or its tables lie outside of it;
 * -EFBIG: over a limit; -ETIME: over that of work; -ECANCELED: stopped; -EIO, -ENOMEM. Descriptions
 * that are damaged or not supported are no error: they are counted in gaps[] and their code gets
 * the next best rule. limits may be NULL.
 */
int unwind__compile(const struct unwind_source *source, const struct unwind_limits *limits,
		    struct unwind_rows **ret_rows, struct dcm_error *err);

/* The same of a file. fd is borrowed, its position left alone. */
int unwind__compile_fd(int fd, const struct unwind_limits *limits, struct unwind_rows **ret_rows,
		       struct dcm_error *err);

void unwind_rows__free(struct unwind_rows *rows);
DEFINE_CLEANUP(struct unwind_rows *, unwind_rows__free);

/* The row that covers an ELF virtual address, or -1 when none does. */
int64_t unwind_rows__find(const struct unwind_rows *rows, uint64_t vaddr);

#endif
