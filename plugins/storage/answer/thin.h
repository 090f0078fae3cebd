/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/thin.h - which profiles of streams in memory lose rows to a removal
 *
 * What is to go is found in a view, without the store's lock, and put into effect under it:
 *
 *	thin__view(&t, &match, &meter);
 *	thin__put(&t.v.v[i], streams);		with the lock for writing
 *
 * Threads: one.
 */
#ifndef DECIMA_STORAGE_ANSWER_THIN_H
#define DECIMA_STORAGE_ANSWER_THIN_H

#include "plugins/storage/answer/match.h"
#include "plugins/storage/answer/meter.h"
#include "plugins/storage/streams/streams.h"

struct thin_change {
	struct view_place place;   /* of the stream, in the numbers of its era */
	const struct profile *old; /* held by the view */
	struct profile *left;	   /* NULL: nothing is left */
};

/* Zeroed is empty. */
struct thin {
	VEC(struct thin_change) v;
};
void thin__fini(struct thin *t);

/*
 * Finds what the match takes from its view's pieces that are streams in memory. A state (gauge,
 * cumulative) that a later one has replaced goes as a whole: it must not come back when that one
 * goes. 0, -ENOMEM, or what the meter says.
 */
int thin__view(struct thin *t, struct match *m, struct meter *meter);

/*
 * Puts a change into effect, once. False: the profile is not there any more, and `left` stays for
 * thin__fini().
 */
bool thin__put(struct thin_change *c, struct streams *s);

#endif
