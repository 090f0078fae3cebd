/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/crew.c - counts who is free, and starts threads
 *
 * A thread takes some 50 us from its start to its end, and a question gets one for what takes
 * milliseconds: so none has to be kept in between.
 */
#include "plugins/storage/answer/crew.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct helper {
	pthread_t thread;
	crew_fn work;
	void *ctx;
	uint32_t i;
};

void crew__init(struct crew *c, uint32_t n_threads, uint64_t rows_each)
{
	atomic_init(&c->n_free, (int32_t)n_threads - 1);
	atomic_init(&c->n_threads, n_threads);
	c->rows_each = rows_each;
}

void crew__resize(struct crew *c, uint32_t n_threads)
{
	const uint32_t before = atomic_exchange(&c->n_threads, n_threads);

	atomic_fetch_add(&c->n_free, (int32_t)n_threads - (int32_t)before);
}

uint32_t crew__worth(const struct crew *c, uint64_t n_rows)
{
	const uint32_t most = c ? atomic_load(&c->n_threads) : 1;
	const uint64_t n = c ? n_rows / c->rows_each : 1;

	return n > most ? most : n ? (uint32_t)n : 1;
}

/* Up to n of those that are free. */
static uint32_t engage(struct crew *c, uint32_t n)
{
	int32_t n_free = atomic_load(&c->n_free), take;

	do {
		take = n_free < (int32_t)n ? n_free : (int32_t)n;
		if (take <= 0)
			return 0;
	} while (!atomic_compare_exchange_weak(&c->n_free, &n_free, n_free - take));
	return (uint32_t)take;
}

static void *help(void *arg)
{
	const struct helper *h = arg;

	h->work(h->ctx, h->i);
	return NULL;
}

static bool begin(struct helper *h)
{
	if (pthread_create(&h->thread, NULL, help, h) != 0)
		return false;
	pthread_setname_np(h->thread, "answer");
	return true;
}

uint32_t crew__work(struct crew *c, uint32_t n, crew_fn work, void *ctx)
{
	struct helper helpers[CREW_MAX - 1];
	const uint32_t most = n > CREW_MAX ? CREW_MAX : n;
	const uint32_t engaged = c && most > 1 ? engage(c, most - 1) : 0;
	uint32_t begun = 0;

	for (; begun < engaged; begun++) {
		helpers[begun] = (struct helper){ .work = work, .ctx = ctx, .i = begun + 1 };
		if (!begin(&helpers[begun]))
			break;
	}
	work(ctx, 0);
	for (uint32_t i = 0; i < begun; i++)
		pthread_join(helpers[i].thread, NULL);
	if (engaged)
		atomic_fetch_add(&c->n_free, (int32_t)engaged);
	return begun + 1;
}
