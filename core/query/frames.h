/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/query/frames.h - the frames of an answer: what a location reads as, and which are the same
 *
 * A location of a (named) batch becomes one frame a line, innermost first, or a single frame when
 * nothing is known but its address. Frames with the same key, which depends on the grouping, are
 * one frame with one id; ids are sorted by (name, file, binary, kind, line, address), so that equal
 * answers number them alike, whatever the order of tables.
 *
 *	FRAMES_FUNCTION  name, file, binary, kind        (the usual one)
 *	FRAMES_LINE      and the line
 *	FRAMES_BINARY    binary and kind only
 *	FRAMES_ADDRESS   and the line and the address
 *	FRAMES_FILE      source file, binary and kind, of frames that have a file; others as by binary
 *
 * Grouped by binary or file, a run of one in a stack is drawn as one frame. A table keeps a
 * reference to its batch, whose texts it shows. Constant once made.
 */
#ifndef DECIMA_QUERY_FRAMES_H
#define DECIMA_QUERY_FRAMES_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/arena.h"
#include "core/base/cleanup.h"
#include "core/query/compare.h"

enum frames_group { FRAMES_FUNCTION, FRAMES_LINE, FRAMES_BINARY, FRAMES_ADDRESS, FRAMES_FILE };

/*
 * Beside enum dcm_frame_kind, in struct frame: a label that leads its stacks, "pod=api-1"; its name as a
 * selector has it.
 */
#define FRAME_LABEL 255u

struct frame {
	struct dcm_str name;	    /* for people; "libfoo.so+0x1234" when there is no name */
	struct dcm_str system_name; /* as in the symbol table, "" when the same as name */
	struct dcm_str file;	    /* source file, or "" */
	struct dcm_str binary;	    /* path of the mapping's file, "[kernel]", or "" */
	/* lower-case hex, or "": one of them when the binary came with several */
	struct dcm_str build_id;
	int64_t line; /* FRAMES_LINE, _ADDRESS: the line; else the function's first; 0: unknown */
	uint64_t address; /* FRAMES_ADDRESS, and frames without a name; else 0 */
	uint8_t kind;	  /* enum dcm_frame_kind, or FRAME_LABEL */
	uint8_t unnamed;  /* enum dcm_unnamed when there is no name */
	bool is_unnamed;
	bool always_inlined; /* seen inlined only */
};

/* One line of one location: the finest thing that filters look at. */
struct frame_slot {
	uint32_t frame;	   /* id */
	uint32_t location; /* in the batch */
	uint32_t line;	   /* in the batch's lines, or DCM_NONE */
};

struct frames {
	_Atomic uint32_t refs;
	struct dcm_batch *batch; /* referenced */
	enum frames_group group;
	struct frame *v; /* [n], by id */
	uint32_t n;
	const struct dcm_span *locations; /* [batch->n_locations] into slots, innermost first */
	const struct frame_slot *slots;	  /* [n_slots] */
	uint32_t n_slots;
	/* [batch->n_profiles * n_by]: frames of the group's labels, in the order asked for */
	const uint32_t *labels;
	uint32_t n_by;
	/* Of a diff, how its sides compare: set by whoever asked, before others see the table. */
	struct compare compare;
	struct arena arena;	    /* owns the tables */
	struct frames_order *order; /* how ids come into order */
};

/*
 * The frames of a batch. by (NULL: none) names the labels that lead the stacks; a label that a
 * profile's series lacks reads "name=". -ENOMEM, or -E2BIG beyond 2^31 slots.
 */
int frames__new(struct dcm_batch *batch, enum frames_group group, const struct dcm_group_by *by,
		struct frames **ret, struct dcm_error *err);
/*
 * The same before ids are in order: they are as the frames came, and a thread may be at it. Who
 * reads many stacks meanwhile takes their ids as they are, and what he has made of them through
 * `rank` ([n], new ids by old; NULL: they are the same) once frames__settle() has returned 0. One
 * thread at a time, before the table is shared. -ENOMEM.
 */
int frames__begin(struct dcm_batch *batch, enum frames_group group, const struct dcm_group_by *by,
		  struct frames **ret, struct dcm_error *err);
int frames__settle(struct frames *f, const uint32_t **ret_rank);
/* Frames are shared by the answers made from them. */
struct frames *frames__ref(struct frames *f);
void frames__unref(struct frames *f);
DEFINE_CLEANUP(struct frames *, frames__unref);

/* Its frames stand for parts of a program, which calls within it do not leave. */
bool frames__group_is_coarse(enum frames_group group);

/* "function", "line", "binary", "address", "file"; -EINVAL with a sentence otherwise. */
int frames__parse_group(struct dcm_str text, enum frames_group *ret, struct dcm_error *err);

/* "native", "kernel", "jit", "interpreted", "note", "label". */
const char *frames__kind_name(unsigned kind);

/* The part behind the last '/', or all of it. */
struct dcm_str frames__base_name(struct dcm_str path);

#endif
