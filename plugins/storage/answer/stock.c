/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/stock.c - the block that came last goes first: it is the likeliest to be in a cache
 */
#include "plugins/storage/answer/stock.h"

#include <stdlib.h>

void stock__init(struct stock *s)
{
	pthread_mutex_init(&s->lock, NULL);
	s->n = 0;
}

void stock__fini(struct stock *s)
{
	while (s->n)
		free(s->blocks[--s->n]);
	pthread_mutex_destroy(&s->lock);
}

void *stock__take(struct stock *s)
{
	void *block = NULL;

	if (!s)
		return NULL;
	pthread_mutex_lock(&s->lock);
	if (s->n)
		block = s->blocks[--s->n];
	pthread_mutex_unlock(&s->lock);
	return block;
}

void stock__give(struct stock *s, void *block)
{
	if (s) {
		pthread_mutex_lock(&s->lock);
		if (s->n < STOCK_MAX) {
			s->blocks[s->n++] = block;
			block = NULL;
		}
		pthread_mutex_unlock(&s->lock);
	}
	free(block);
}
