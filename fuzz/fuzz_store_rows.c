/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_store_rows.c - frames of rows of the store's log, from anybody's bytes
 *
 * What is taken refers to nothing that is not there, and what is written of it says the same again.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/le.h"
#include "plugins/storage/local/rows_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_ENTRIES = 1 << 12, MOST_PARTS = 16, RECORD_HEADER_BYTES = 8 + 11 * 16, NOT_SMALL = 1 };

/* Counts are believed up to a limit, or filling in would take all of the time. */
static bool is_small(const struct rows_part *p)
{
	uint32_t counts[sizeof(p->counts) / sizeof(uint32_t)];

	memcpy(counts, &p->counts, sizeof(counts));
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (counts[i] > MOST_ENTRIES)
			return false;
	for (size_t at = 8; at < RECORD_HEADER_BYTES && p->n_record >= RECORD_HEADER_BYTES; at += 16)
		if (le__get32(p->record + at) > MOST_ENTRIES || le__get32(p->record + at + 4) > MOST_ENTRIES)
			return false;
	return p->n_rows <= MOST_ENTRIES * 16 && p->n_profiles <= MOST_ENTRIES;
}

/* One head for all parts of one era. */
static int take(const struct rows_part *p, struct era *e, struct heads *heads, struct heads_plan *plan)
{
	struct streams_plan *of;
	struct head *head;
	uint64_t n_lost;
	int r = era__replay(e, p->record, p->n_record, &p->counts, &n_lost);

	if (r == 0)
		r = heads__plan_of(heads, plan, e, &head, &of);
	return r ? r : rows_part__plan(p, &head->streams, of);
}

/* All of a frame. 0, NOT_SMALL, or why it is none. */
static int take_all(const uint8_t *p, size_t n, struct era *e, struct heads *heads,
		    struct heads_plan *plan)
{
	struct rows_frame f;
	int r = rows_frame__open(&f, p, n);

	for (uint32_t i = 0; r == 0 && i < f.n_ids; i++)
		rows_frame__id(&f);
	if (r == 0 && f.n_parts > MOST_PARTS)
		return NOT_SMALL;
	for (uint32_t i = 0; r == 0 && i < f.n_parts; i++) {
		struct rows_part part;

		r = rows_frame__part(&f, &part);
		if (r == 0 && (!is_small(&part) || (i && e->begin_ms != part.begin_ms)))
			return NOT_SMALL;
		e->begin_ms = part.begin_ms;
		if (r == 0)
			r = take(&part, e, heads, plan);
	}
	return r || rows_frame__at_end(&f) ? r : -1;
}

static void check_numbers(const struct heads_plan *plan)
{
	for (size_t i = 0; i < plan->items.n; i++) {
		const struct streams *s = &plan->items.v[i].head->streams;
		const struct streams_plan *of = &plan->items.v[i].plan;
		const struct dict_counts n = dict__counts(s->dict);

		for (size_t k = 0; k < of->items.n; k++) {
			const struct stream *st = &s->v[of->items.v[k].stream];

			if (st->series >= n.series || st->type >= n.types)
				abort();
			for (uint32_t row = 0; row < of->items.v[k].profile->n_rows; row++) {
				const struct row r = profile__row(of->items.v[k].profile, row);

				if (r.stack >= n.stacks || r.labels >= n.label_sets)
					abort();
			}
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct era *e = era__new(1, 0, 0);
	struct heads heads = { .n = 0 };
	struct heads_plan plan = { .items = { 0 } }, again = { .items = { 0 } };
	struct buf first = { .n = 0 }, second = { .n = 0 };

	if (e && era__begin_unlogged(e) == 0 && take_all(data, size, e, &heads, &plan) == 0) {
		check_numbers(&plan);
		if (rows_frame__encode(&plan, NULL, 0, &first))
			abort();
		const int r = take_all(first.data, first.n, e, &heads, &again);

		/* Together the parts of a frame may be what each is not. */
		if (r < 0 ||
		    (r == 0 && (rows_frame__encode(&again, NULL, 0, &second) || first.n != second.n ||
				memcmp(first.data, second.data, first.n) != 0)))
			abort();
		heads__apply(&plan);
	}
	buf__fini(&first);
	buf__fini(&second);
	heads_plan__fini(&plan);
	heads_plan__fini(&again);
	heads__fini(&heads);
	era__unref(e);
	return 0;
}
