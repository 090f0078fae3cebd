/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/build.h - a table while it is being made
 *
 * Each source of rules (CFI section, pclntab, stubs) adds a layer of stretches, in any order, each
 * with rows of its own; build__layer_done() sorts the layer and lays it under those before it: what
 * a stretch of an earlier layer covers, a later one cannot. build__finish() then joins them.
 *
 * One thread. Addresses are offsets from `base`, the first executable byte.
 */
#ifndef DECIMA_EBPF_UNWIND_BUILD_H
#define DECIMA_EBPF_UNWIND_BUILD_H

#include "core/base/vec.h"
#include "plugins/input/ebpf/unwind/image.h"
#include "plugins/input/ebpf/unwind/rows.h"
#include "plugins/input/ebpf/unwind/rules.h"

enum {
	BUILD_GAP = 15, /* bytes between functions that are padding, and get the rule before them */
	BUILD_MUCH_CODE = 64 << 10, /* bytes without a description */
};

struct build_row {
	uint32_t at;
	uint16_t rule;
};

/* Code with one description. Its rows ascend; the first one's `at` is not above `start`. */
struct build_stretch {
	uint32_t start, end; /* [start, end) */
	uint32_t first, n;   /* rows */
};

struct build_list {
	struct build_stretch *v;
	size_t n, cap;
};

struct build {
	const struct image *image;
	struct unwind_limits limits; /* without zeroes */
	uint64_t base;
	uint32_t span; /* from the first executable byte to behind the last */
	struct rules rules;
	VEC(struct build_row) rows;
	struct build_list layer;	  /* being made */
	struct build_list table;	  /* ascending, disjoint */
	VEC(struct build_row) bare;	  /* ascending: code that the table does not cover */
	const struct image_segment *code; /* the executable segment met last */
	uint32_t n_fdes;
	uint32_t gaps[UNWIND_GAP_N];
	bool with_rbx;	/* rules say where the caller's rbx is */
	bool wants_rbx; /* there is a rule that finds its frame by rbx */
};

/* 0, or as unwind__compile(). The image is borrowed. */
int build__init(struct build *b, const struct image *im, const struct unwind_limits *limits,
		bool with_rbx, struct dcm_error *err);
void build__fini(struct build *b);

/*
 * To be called once for each thing whose number an input decides: 0, or as image__work() when it is
 * time to stop.
 */
int build__tick(struct build *b);

/*
 * The stretch of code [vaddr, vaddr + n), cut at its segment's end, as offsets: false when no
 * executable segment holds its start, or when it is empty.
 */
bool build__range(struct build *b, uint64_t vaddr, uint64_t n, uint32_t *ret_start, uint32_t *ret_end);

/* A row at the end of the rows, counted in gaps[] if not supported. 0, -EFBIG or -ENOMEM. */
int build__row(struct build *b, uint32_t at, struct unwind_rule rule);
/* Rows from `first` to the last become a stretch of the layer. 0 or -ENOMEM. */
int build__stretch(struct build *b, uint32_t start, uint32_t end, uint32_t first);
/* A stretch of one rule. */
int build__plain(struct build *b, uint32_t start, uint32_t end, struct unwind_rule rule);

/* The index of a rule for code without a description: by frame pointer, of either kind. -ENOMEM. */
int build__frame_pointer(struct build *b, enum unwind_cfa cfa);

/* Lays the layer under the table, and begins a new one. 0 or -ENOMEM. */
int build__layer_done(struct build *b);
/* The first stretch of the table that ends behind an offset; the table's length when none does. */
size_t build__first(const struct build *b, uint32_t at);
/* The stretch of the table that covers an offset, or NULL. */
const struct build_stretch *build__find(const struct build *b, uint32_t at);

/* The finished table: 0 or -ENOMEM. Nothing can be added afterwards. */
int build__finish(struct build *b, struct unwind_rows **ret_rows);

#endif
