/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/frames_find.h - what the sources of frames share while one request is answered;
 * private to this folder
 *
 * Addresses are sorted; each source adds frames for those it knows, innermost first, and marks them
 * done. Texts are stored once.
 */
#ifndef DECIMA_SYMBOLIZE_FRAMES_FIND_H
#define DECIMA_SYMBOLIZE_FRAMES_FIND_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/intern.h"
#include "core/base/vec.h"
#include "core/symbolize/frames.h"

/* One address on its way to an answer. */
struct frames_target {
	uint64_t address;
	uint32_t index;	   /* in the question */
	uint32_t first, n; /* its frames in `found` */
	uint32_t unit;	   /* DWARF's unit that claimed it last; 0: none did */
	uint8_t state;	   /* enum frames_state; anything but FRAMES_NOTHING is done */
};

struct frames_found {
	uint32_t name, file, home; /* in `texts` */
	uint32_t line, start_line;
};

struct frames_find {
	struct frames_target *targets; /* [n] by address */
	uint32_t n, n_done;
	bool inlines, map;
	int64_t deadline_ns; /* on CLOCK_MONOTONIC */
	uint64_t max_bytes;
	uint32_t steps; /* since the start: the clock is asked once in a while */
	bool late;
	VEC(struct frames_found) found;
	struct intern texts;
	bool no_memory;
};

/* True when time is over (then for good). To be called once a step of unknown number. */
bool frames_find__late(struct frames_find *f);

/* Targets in [from, to): the first one's position; *ret_end is behind the last. */
uint32_t frames_find__range(const struct frames_find *f, uint64_t from, uint64_t to, uint32_t *ret_end);

/* Begins the frames of a target; then add each, innermost first; then done. */
void frames_find__begin(struct frames_find *f, struct frames_target *t);
void frames_find__add(struct frames_find *f, struct frames_target *t, const struct frame *frame);
void frames_find__done(struct frames_find *f, struct frames_target *t);

/* Gives every target that is not done that state. */
void frames_find__rest(struct frames_find *f, enum frames_state state);

/* The sources. What they cannot read they leave undone. */
/* whole: leave addresses alone whose inlined calls the file should tell, and does not. */
void frames_go__find(struct frames_find *f, int fd, bool whole);
/* alt_fd, package_fd: FRAMES_ALT and FRAMES_PACKAGE of the file, or -1. */
void frames_dwarf__find(struct frames_find *f, int fd, int alt_fd, int package_fd);

#endif
