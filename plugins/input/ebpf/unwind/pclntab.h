/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/pclntab.h - Go's table of functions: where they are, and their frame
 * sizes
 *
 * Versions since Go 1.18 (its table has 32-bit offsets from where Go's text begins).
 * Sources: Go's src/runtime/symtab.go (pcHeader, moduledata), src/runtime/runtime2.go (_func),
 * src/internal/abi/symtab.go (flags).
 */
#ifndef DECIMA_EBPF_UNWIND_PCLNTAB_H
#define DECIMA_EBPF_UNWIND_PCLNTAB_H

#include "plugins/input/ebpf/unwind/build.h"
#include "plugins/input/ebpf/unwind/bytes.h"

/* Flags of functions. */
enum {
	PCLNTAB_TOP = 1,       /* outermost of its stack */
	PCLNTAB_WRITES_SP = 2, /* in ways that frame sizes do not tell */
	PCLNTAB_ASM = 4,
};

struct pclntab {
	struct build *build;
	uint8_t *data; /* [n]; owned */
	uint64_t n;
	uint64_t vaddr;	 /* of the table */
	bool is_1_20;	 /* or later */
	uint8_t quantum; /* bytes that all instructions are multiples of */
	uint64_t n_functions, names, pctab, functions; /* the latter three: offsets in data */
	uint64_t text;
};

struct pclntab_function {
	uint64_t vaddr;
	uint32_t start, end; /* offsets from the build's base */
	uint8_t flags;
	struct bytes name; /* without NUL */
	struct bytes pcsp;
};

/* Its frame sizes, step by step: [at, end) has frames of `size` bytes. */
struct pclntab_frames {
	struct bytes table;
	uint64_t at, end;
	int64_t size;
	bool is_first;
};

/*
 * Finds and reads the table. 0 (to be freed by pclntab__fini()), -ENOENT when there is none that
 * can be read, -EFBIG, -EIO, -ENOMEM.
 */
int pclntab__open(struct pclntab *g, struct build *b);
void pclntab__fini(struct pclntab *g);

/* Function i < n_functions: false when its code or its record lies outside. */
bool pclntab__function(const struct pclntab *g, uint64_t i, struct pclntab_function *f);

struct pclntab_frames pclntab__frames(const struct pclntab_function *f);
bool pclntab__next_frame(const struct pclntab *g, const struct pclntab_function *f,
			 struct pclntab_frames *t);

/* Whether the function's name is, or begins with, a text. */
bool pclntab__is_named(const struct pclntab_function *f, const char *name);
bool pclntab__begins(const struct pclntab_function *f, const char *beginning);

#endif
