/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/piece.c - a reader for each kind of pieces
 */
#include "plugins/storage/answer/piece.h"

#include <assert.h>
#include <stddef.h>

void *piece_readers__get(struct piece_readers *r, const struct piece_ops *ops)
{
	unsigned i = 0;

	while (i < PIECE_KINDS_MAX && r->v[i].ops && r->v[i].ops != ops)
		i++;
	assert(i < PIECE_KINDS_MAX);
	if (!r->v[i].ops) {
		void *reader = ops->reader_new();

		if (!reader)
			return NULL;
		r->v[i].reader = reader;
		r->v[i].ops = ops;
	}
	return r->v[i].reader;
}

void piece_readers__fini(struct piece_readers *r)
{
	for (unsigned i = 0; i < PIECE_KINDS_MAX && r->v[i].ops; i++)
		r->v[i].ops->reader_free(r->v[i].reader);
	*r = (struct piece_readers){ 0 };
}
