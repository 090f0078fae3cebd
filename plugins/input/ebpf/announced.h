/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/announced.h - by which mappings of a process image programs walked, and when
 *
 * A program walks by what was announced when the sample was taken, which may have been another library's
 * rules: mappings change before anybody announces it. What had been mapped is known later, to whoever reads
 * the sample, and both are compared here: up to the first frame whose code was another's the walk is right.
 *
 * Announcements by which no file changes its place are one state, and so are those that follow each other within
 * one look at the rings: which of them a sample of that moment was walked by is not known, so it has to agree with what
 * was there before and with the last one, and where files took turns in between its walk counts for nothing. That
 * holds too for a sample that is older than what is remembered. The reader thread's.
 */
#ifndef DECIMA_EBPF_ANNOUNCED_H
#define DECIMA_EBPF_ANNOUNCED_H

#include <stdint.h>

#include "plugins/input/ebpf/maps.h"

enum {
	ANNOUNCED_STATES = 8
}; /* samples are read at the next look, on a busy machine at a later one */

struct announced_state {
	struct maps *maps;	    /* a reference */
	int64_t since_ns, until_ns; /* mono: programs may have read it then */
	int64_t turned_ns; /* until then other files took turns in it: nobody knows which were there */
};

struct announced {
	struct announced_state states[ANNOUNCED_STATES]; /* newest first */
	uint32_t n;
	int64_t known_ns; /* what was announced before has been forgotten; 0: nothing has */
};

/* `maps` were announced between these times; looked_ns: when the rings were looked at before. */
void announced__add(struct announced *a, struct maps *maps, int64_t begun_ns, int64_t done_ns,
		    int64_t looked_ns);

/* Two files of which one was walked for the other's: the same rule holds in both at an address all the same. */
typedef bool announced_same_fn(void *ctx, const struct maps_range *by, const struct maps_range *of,
			       uint64_t address);

/* A walk. */
struct announced_walk {
	int64_t time_ns;
	const struct maps *maps; /* the mappings that there were */
	const uint64_t *frames;	 /* [n], leaf first */
	uint32_t n;
	announced_same_fn *same; /* NULL: nobody knows */
	void *ctx;
};

/* Of how many of its frames the caller was found by the right rules. */
uint32_t announced__n_sure(const struct announced *a, const struct announced_walk *w);

void announced__fini(struct announced *a);

#endif
