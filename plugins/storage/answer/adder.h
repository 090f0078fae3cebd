/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/adder.h - what profiles add up to by group and key, whoever adds
 *
 * Who answers with sums (merge.c, points.c) begins with an adder, and says what one does with a
 * stream's spans and rows. Where there is much to read, several threads do that, each with an adder
 * of its own; where what is read is of several eras, each era has one, in its own numbers. In the
 * end all are joined: sums are exact and counts commute, so the answer is the same in any order.
 *
 * What a thread takes at once is a part of a stream: some pieces of a delta stream, and a whole
 * stream of states, whose order means something. States in several eras are added first, by one
 * thread, in the answer's numbers.
 *
 * Threads: adder__add() belongs to one; its helpers end before it does.
 */
#ifndef DECIMA_STORAGE_ANSWER_ADDER_H
#define DECIMA_STORAGE_ANSWER_ADDER_H

#include "plugins/storage/answer/groups.h"
#include "plugins/storage/answer/sums.h"
#include "plugins/storage/answer/view.h"
#include "plugins/storage/answer/walk.h"

struct adder;

struct adder_ops {
	struct walk_user user; /* ctx, dict and readers are set for each adder */
	/* One of the same question, which has nothing yet; NULL when memory ran out. */
	struct adder *(*fork)(const struct adder *a);
	void (*free)(struct adder *a); /* what fork() made; NULL is fine */
	void (*end)(struct adder *a);  /* of a part of a stream */
	/*
	 * Takes over what `from` has beside sums; groups[from->groups.v.n]: what its groups are
	 * called here. 0 or -ENOMEM.
	 */
	int (*join)(struct adder *a, const struct adder *from, const uint32_t *groups);
};

struct adder {
	const struct adder_ops *ops;
	struct view *view;
	struct groups groups;
	struct sums sums;
	bool by_stack; /* keys are stacks; else times */
	/* of the walk */
	struct walk *walk;
	uint32_t selection;
	bool gauge;
};

struct adder_init {
	const struct adder_ops *ops;
	struct view *view;
	const struct dcm_group_by *by;
	bool by_series, by_stack;
	uint32_t n_values; /* a key has */
};
int adder__init(struct adder *a, const struct adder_init *init); /* 0 or -ENOMEM: fini() as well */
void adder__fini(struct adder *a);

/*
 * Adds up a selection. 0, -ENOMEM, -EBADMSG when a piece was damaged and whoever asks begins again,
 * or what the budget says.
 */
int adder__add(struct adder *a, uint32_t selection);

#endif
