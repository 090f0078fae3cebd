/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/sources.c - the inputs that others ask: for names of runtime addresses, for their targets
 *
 * A list of entries under one mutex. Whoever walks it pins the entry it is at (n_users), lets go of
 * the mutex while the plugin runs, and goes on from there. A pinned entry stays in the list until
 * it is let go, a removed one is skipped, and new ones come at the end, so the walk never loses its
 * place.
 */
#include "core/plugin/sources.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

struct source {
	struct source *next;
	const char *name;
	const struct dcm_input_ops *ops;
	void *instance;
	unsigned n_users; /* calls under way */
	bool is_removed;
};

struct sources {
	pthread_mutex_t mutex;
	pthread_cond_t unused; /* some n_users fell to 0 */
	struct source *first;
};

struct sources *sources__new(void)
{
	struct sources *s = NEW(struct sources);

	if (!s)
		return NULL;
	pthread_mutex_init(&s->mutex, NULL);
	pthread_cond_init(&s->unused, NULL);
	return s;
}

void sources__free(struct sources *s)
{
	if (!s)
		return;
	while (s->first) {
		struct source *next = s->first->next;

		free(s->first);
		s->first = next;
	}
	pthread_cond_destroy(&s->unused);
	pthread_mutex_destroy(&s->mutex);
	free(s);
}

int sources__add(struct sources *s, const char *name, const struct dcm_input_ops *ops, void *instance)
{
	struct source *new, **at;

	if (!ops->process && !ops->resolve && !ops->targets)
		return 0;
	new = NEW(struct source);
	if (!new)
		return -ENOMEM;
	new->name = name;
	new->ops = ops;
	new->instance = instance;
	pthread_mutex_lock(&s->mutex);
	for (at = &s->first; *at; at = &(*at)->next)
		;
	*at = new;
	pthread_mutex_unlock(&s->mutex);
	return 0;
}

void sources__remove(struct sources *s, void *instance)
{
	struct source **at, *gone;

	pthread_mutex_lock(&s->mutex);
	for (at = &s->first; *at && ((*at)->instance != instance || (*at)->is_removed);)
		at = &(*at)->next;
	gone = *at;
	if (gone) {
		gone->is_removed = true;
		while (gone->n_users > 0)
			pthread_cond_wait(&s->unused, &s->mutex);
		for (at = &s->first; *at != gone; at = &(*at)->next)
			;
		*at = gone->next;
		free(gone);
	}
	pthread_mutex_unlock(&s->mutex);
}

/*
 * The first entry from `at` on that is not being removed, pinned; NULL at the end. With the mutex.
 */
static struct source *pin(struct source *at)
{
	while (at && at->is_removed)
		at = at->next;
	if (at)
		at->n_users++;
	return at;
}

/* The pinned entry after `at` (NULL: the first one); unpins `at`. */
static struct source *step(struct sources *s, struct source *at)
{
	struct source *next;

	pthread_mutex_lock(&s->mutex);
	next = pin(at ? at->next : s->first);
	if (at && --at->n_users == 0)
		pthread_cond_broadcast(&s->unused);
	pthread_mutex_unlock(&s->mutex);
	return next;
}

void sources__process_event(struct sources *s, enum dcm_process_event event,
			    const struct dcm_process *process)
{
	for (struct source *at = step(s, NULL); at; at = step(s, at))
		if (at->ops->process)
			at->ops->process(at->instance, event, process);
}

/* Passes on what is named for the first time. */
struct first_names {
	dcm_symbol_fn each;
	void *ctx;
	uint32_t off, n;    /* the addresses of this chunk: [off .. off + n) */
	uint64_t named[64]; /* a bit for each */
};
#define CHUNK ((uint32_t)(64 * sizeof(((struct first_names *)0)->named) / sizeof(uint64_t)))

static void first_name(void *ctx, uint32_t i, const struct dcm_symbol *symbol)
{
	struct first_names *f = ctx;

	/* An index that was never asked for is the source's mistake, and must not become ours. */
	if (i >= f->n || (f->named[i / 64] >> (i % 64) & 1))
		return;
	f->named[i / 64] |= (uint64_t)1 << (i % 64);
	f->each(f->ctx, f->off + i, symbol);
}

/* One chunk. *why is set when some source knows the process. */
static void resolve_chunk(struct sources *s, const struct dcm_process *process,
			  const uint64_t *addresses, struct first_names *f, enum dcm_unnamed *why)
{
	bool is_known = false;

	for (struct source *at = step(s, NULL); at; at = step(s, at)) {
		enum dcm_unnamed says = DCM_UNNAMED_JIT_NO_MAP;

		if (!at->ops->resolve)
			continue;
		if (at->ops->resolve(at->instance, process, addresses, f->n, first_name, f, &says) == 0 &&
		    !is_known) {
			is_known = true;
			*why = says;
		}
	}
}

void sources__resolve(struct sources *s, const struct dcm_process *process, const uint64_t *addresses,
		      uint32_t n, dcm_symbol_fn each, void *ctx, enum dcm_unnamed *ret_why)
{
	enum dcm_unnamed why = DCM_UNNAMED_JIT_NO_MAP;

	/* In chunks, so that the bits fit on the stack and running out of memory is no case. */
	for (uint32_t off = 0; off < n; off += CHUNK) {
		struct first_names f = { .each = each, .ctx = ctx, .off = off };

		f.n = n - off < CHUNK ? n - off : CHUNK;
		resolve_chunk(s, process, addresses + off, &f, &why);
	}
	if (ret_why)
		*ret_why = why;
}

/* ---- targets ---- */

struct target_walk {
	const char *name;
	sources_target_fn each;
	void *ctx;
};

static int tell_target(void *ctx, const struct dcm_target *target)
{
	const struct target_walk *w = ctx;

	w->each(w->ctx, w->name, target);
	return 0;
}

void sources__targets(struct sources *s, sources_target_fn each, void *ctx)
{
	for (struct source *at = step(s, NULL); at; at = step(s, at)) {
		struct target_walk walk = { .name = at->name, .each = each, .ctx = ctx };

		if (at->ops->targets)
			at->ops->targets(at->instance, tell_target, &walk);
	}
}
