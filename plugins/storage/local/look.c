/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/look.c - heads and blocks become pieces of a view
 *
 * Pieces stand in a view as they were written, blocks before heads; but what the heads hold must be taken under the
 * lock, and blocks are read without it. So the heads go into a view of their own first, with the same eras in the same
 * order, and from there behind the blocks.
 */
#include "plugins/storage/local/look.h"

#include <errno.h>

#include "core/base/error.h"
#include "plugins/storage/answer/stream_piece.h"
#include "plugins/storage/local/block_piece.h"
#include "plugins/storage/local/eras.h"

static void tell_unreadable(struct store *s, struct stored *b, const char *why)
{
	atomic_fetch_add_explicit(&s->n_unreadable, 1, memory_order_relaxed);
	if (!atomic_exchange(&b->told, true) && s->options.report)
		s->options.report(s->options.report_ctx, DCM_LOG_ERROR, why);
}

static void leave_out(void *ctx, const struct piece *p, int error)
{
	struct look *l = ctx;
	const struct block *block = block_piece__block(p);
	char path[BLOCK_PATH_BYTES];
	struct dcm_error err = DCM_ERROR_INIT;

	for (size_t i = 0; i < l->blocks.n; i++) {
		struct stored *b = l->blocks.v[i].stored;

		if (!block || block != &b->map.block)
			continue;
		error__sys(&err, error, "%s: a chunk is damaged, and left out of answers",
			   commit__block_path(path, b->entry.number));
		tell_unreadable(l->store, b, err.text);
	}
}

void look__init(struct look *l, struct store *s, const struct dcm_host *host,
		const struct dcm_select *sel, uint32_t n_sel)
{
	*l = (struct look){ .store = s };
	view__init(&l->view, host, sel, n_sel);
	l->view.unreadable = leave_out;
	l->view.ctx = l;
}

void look__fini(struct look *l)
{
	view__fini(&l->view);
	for (size_t i = 0; i < l->blocks.n; i++)
		stored__unref(l->blocks.v[i].stored);
	for (size_t i = 0; i < l->pins.n; i++)
		era__unref(l->pins.v[i].era);
	vec__fini(&l->pins);
	vec__fini(&l->blocks);
	vec__fini(&l->eras);
}

/* ---- under the lock ---- */

/* May a profile of the block matter? A cumulative one does, however long before the range. */
static bool is_wanted(const struct look *l, const struct stored *b)
{
	const bool before = atomic_load_explicit(&b->cumulative, memory_order_relaxed) !=
			    STORED_NOT_CUMULATIVE;

	for (uint32_t k = 0; k < l->view.n_sel; k++)
		if (b->entry.first_ms < l->view.sel[k].to_ms &&
		    (before || b->entry.last_ms >= l->view.sel[k].from_ms))
			return true;
	return false;
}

/* The era's number in the view, which it gets when it has none yet. DCM_NONE: memory. */
static uint32_t view_era(struct look *l, struct view *heads, struct era *e)
{
	const struct dict_counts counts = dict__counts(e->dict);

	for (size_t i = 0; i < l->eras.n; i++)
		if (l->eras.v[i] == e)
			return (uint32_t)i;
	if (!vec__push(&l->eras, e) || view__era(heads, e->dict, &counts) == DCM_NONE)
		return DCM_NONE;
	return view__era(&l->view, e->dict, &counts);
}

static int take_blocks(struct look *l, struct view *heads)
{
	const struct store *s = l->store;

	for (size_t i = 0; i < s->blocks.n; i++) {
		struct stored *b = s->blocks.v[i];

		if (!is_wanted(l, b))
			continue;
		if (!b->era->dict) {
			atomic_fetch_add_explicit(&l->store->n_unreadable, 1, memory_order_relaxed);
			continue;
		}
		uint32_t era = view_era(l, heads, b->era);
		if (era == DCM_NONE || !vec__push(&l->blocks, (struct look_block){ stored__ref(b), era }))
			return -ENOMEM;
	}
	return 0;
}

static int take_heads(struct look *l, struct view *heads, const struct heads *from)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->n; i++) {
		uint32_t era = view_era(l, heads, from->v[i]->era);

		r = era == DCM_NONE ? -ENOMEM : stream_piece__add_all(heads, era, &from->v[i]->streams);
	}
	return r;
}

static int take_all(struct look *l, struct view *heads)
{
	const struct store *s = l->store;
	int r = take_blocks(l, heads);

	if (r == 0)
		r = take_heads(l, heads, &s->sealing);
	return r ? r : take_heads(l, heads, &s->active);
}

static bool has_pin(const struct look *l, const struct era *e)
{
	for (size_t i = l->pins.n; i > 0; i--)
		if (l->pins.v[i - 1].era == e)
			return true;
	return false;
}

/* References to the eras of all wanted blocks, and how many of them have to be read. */
static int pin_eras(struct look *l, uint64_t asked_at, size_t *ret_n_missing)
{
	const struct store *s = l->store;

	for (size_t i = 0; i < s->blocks.n; i++) {
		struct era *e = s->blocks.v[i]->era;

		if (has_pin(l, e) || !is_wanted(l, s->blocks.v[i]))
			continue;
		if (!vec__reserve(&l->pins, 1))
			return -ENOMEM;
		l->pins.v[l->pins.n++] = (struct look_pin){ .era = era__ref(e) };
		atomic_store_explicit(&e->asked_at, asked_at, memory_order_relaxed);
	}
	*ret_n_missing = 0;
	for (size_t i = 0; i < l->pins.n; i++)
		*ret_n_missing += !l->pins.v[i].era->dict && !l->pins.v[i].failed;
	return 0;
}

/* ---- without it ---- */

/* -ENOMEM, or 0: those that cannot be read say so. */
static int load_pinned(struct look *l)
{
	const struct store_options *o = &l->store->options;

	for (size_t i = 0; i < l->pins.n; i++) {
		struct look_pin *p = &l->pins.v[i];
		struct dcm_error err = DCM_ERROR_INIT;
		int r = p->failed ? 0 : eras__load(l->store, p->era, &err);

		if (r == -ENOMEM)
			return r;
		p->failed |= r != 0;
		if (r && !atomic_exchange(&p->era->told, true) && o->report)
			o->report(o->report_ctx, DCM_LOG_ERROR, err.text);
	}
	eras__trim(l->store);
	return 0;
}

/* One moment in which the dictionaries of all that is wanted are there, or could not be read. */
static int take_moment(struct look *l, struct view *heads)
{
	struct store *s = l->store;
	const uint64_t asked_at = atomic_fetch_add_explicit(&s->n_asked, 1, memory_order_relaxed) + 1;
	size_t n_missing = 0;

	for (;;) {
		pthread_rwlock_rdlock(&s->lock);
		int r = pin_eras(l, asked_at, &n_missing);
		bool done = r || n_missing == 0;
		if (r == 0 && done)
			r = take_all(l, heads);
		pthread_rwlock_unlock(&s->lock);
		if (!done)
			r = load_pinned(l);
		if (done || r)
			return r;
	}
}

/* Notes whether a later question must look at it for what is before its range. */
static void note_types(const struct look *l, const struct look_block *b, const struct block *block)
{
	const struct view_era *era = &l->view.eras.v[b->era];
	enum stored_cumulative found = STORED_NOT_CUMULATIVE;

	if (atomic_load_explicit(&b->stored->cumulative, memory_order_relaxed) != STORED_UNKNOWN)
		return;
	for (uint64_t i = 0; i < block->n_types; i++) {
		const uint32_t type = block->types[i].type;

		if (type >= era->counts.types ||
		    dict__type_at(era->dict, type)->parts.temporality == DCM_CUMULATIVE)
			found = STORED_CUMULATIVE;
	}
	atomic_store_explicit(&b->stored->cumulative, (uint8_t)found, memory_order_relaxed);
}

static int add_blocks(struct look *l)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->blocks.n; i++) {
		struct look_block *b = &l->blocks.v[i];
		struct dcm_error err = DCM_ERROR_INIT;
		struct block_pieces from = { .era = b->era };

		r = stored__block(b->stored, &from.block, &err);
		if (r == 0) {
			note_types(l, b, from.block);
			r = block_piece__add_all(&l->view, &from);
		} else if (r != -ENOMEM) {
			tell_unreadable(l->store, b->stored, err.text);
			r = 0;
		}
	}
	return r;
}

/* The pieces of heads go behind those of blocks. */
static int add_heads(struct look *l, struct view *heads)
{
	size_t n = heads->pieces.n;
	int r = 0;

	heads->pieces.n = 0; /* each is the other view's now, or released by it */
	for (size_t i = 0; i < n; i++) {
		struct view_piece *p = &heads->pieces.v[i];

		if (r == 0)
			r = view__add(&l->view, p->selection, &p->place, &p->piece);
		else if (p->piece.ops->release)
			p->piece.ops->release(&p->piece);
	}
	return r;
}

int look__take(struct look *l)
{
	struct view heads;

	view__init(&heads, l->view.host, l->view.sel, l->view.n_sel);
	int r = take_moment(l, &heads);
	if (r == 0)
		r = add_blocks(l);
	if (r == 0)
		r = add_heads(l, &heads);
	view__fini(&heads);
	return r ? r : view__seal(&l->view);
}
