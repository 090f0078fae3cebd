/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/walk_increases.c - what cumulative profiles grew by
 *
 * A profile's rows are collected in the answer's numbers, so that it can be compared with the one
 * before it whatever piece and era that is in.
 */
#include <errno.h>
#include <stdlib.h>

#include "plugins/storage/answer/walk_parts.h"

void walk_state__free(struct walk_state *s)
{
	if (s)
		vec__fini(&s->rows);
	free(s);
}

static int compare_rows(const void *a, const void *b)
{
	const struct walk_state_row *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

/* Another era's order is another one. */
static void sort_rows(struct walk_state *s)
{
	bool sorted = true;

	for (size_t i = 1; sorted && i < s->rows.n; i++)
		sorted = s->rows.v[i - 1].key < s->rows.v[i].key;
	if (!sorted)
		qsort(s->rows.v, s->rows.n, sizeof(s->rows.v[0]), compare_rows);
}

/* Did any row decrease? A row that one side lacks is 0 there. */
static bool is_reset(const struct walk_state *before, const struct walk_state *now)
{
	size_t i = 0, j = 0;

	while (i < before->rows.n || j < now->rows.n) {
		const int c = i == before->rows.n ? 1
			      : j == now->rows.n  ? -1
						 : compare_rows(&before->rows.v[i], &now->rows.v[j]);
		const int64_t old = c <= 0 ? before->rows.v[i].value : 0;
		const int64_t new = c >= 0 ? now->rows.v[j].value : 0;

		if (new < old)
			return true;
		i += c <= 0;
		j += c >= 0;
	}
	return false;
}

/* By how much the row grew; *i moves up in `before`. No row decreased. */
static int64_t increase_of(const struct walk_state *before, const struct walk_state_row *row, size_t *i)
{
	while (*i < before->rows.n && before->rows.v[*i].key < row->key)
		++*i;
	const bool known = *i < before->rows.n && before->rows.v[*i].key == row->key;
	const __int128 increase = (__int128)row->value - (known ? before->rows.v[*i].value : 0);

	return increase > INT64_MAX ? INT64_MAX : (int64_t)increase;
}

static int take_row(struct walk *w, const struct walk_state_row *row, int64_t value, uint32_t *n)
{
	const uint32_t set = (uint32_t)row->key;
	struct walk_rowbuf *out = w->out;
	int r = match__row(w->match, set, &out->groups[*n]);

	if (r < 0 || out->groups[*n] == MATCH_NONE)
		return r;
	out->stacks[*n] = (uint32_t)(row->key >> 32);
	out->label_sets[*n] = set;
	out->values[*n] = value;
	++*n;
	return 0;
}

static int tell_increases(struct walk *w)
{
	const struct walk_state *now = w->now;
	const bool reset = w->has_before && is_reset(w->before, now);
	size_t at = 0;
	int r = 0;

	for (size_t i = 0, end; r == 0 && i < now->rows.n; i = end) {
		uint32_t n = 0;

		end = now->rows.n - i < PIECE_ROWS_MAX ? now->rows.n : i + PIECE_ROWS_MAX;
		for (size_t k = i; r == 0 && k < end; k++) {
			const struct walk_state_row *row = &now->rows.v[k];

			r = take_row(w, row,
				     !w->has_before ? 0
				     : reset	    ? row->value
						    : increase_of(w->before, row, &at),
				     &n);
		}
		if (r == 0)
			r = walk__tell(w, i == 0, n, &now->head);
	}
	return r;
}

/* The profile in w->now is complete: it becomes the one before. */
int walk__collected(struct walk *w)
{
	struct walk_state *now = w->now;
	int r = 0;

	if (!now->there)
		return 0;
	sort_rows(now);
	if (!now->before)
		r = now->rows.n ? tell_increases(w) : walk__tell_empty(w, &now->head);
	w->now = w->before;
	w->before = now;
	w->now->there = false;
	w->has_before = true;
	return r;
}

int walk__collect(struct walk *w, const struct piece_rows *rows, uint32_t n, const struct walk_head *head)
{
	int r = w->out->began ? 0 : walk__collected(w);
	struct walk_state *now = w->now;

	if (r != 0)
		return r;
	if (!w->out->began) {
		now->head = *head;
		now->rows.n = 0;
		now->there = true;
		now->before = w->n_started <= w->n_before;
		w->out->began = true;
	}
	if (!vec__reserve(&now->rows, n))
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t at = w->out->kept[i];
		const uint32_t stack = walk__stack(w, rows->stacks[at]);
		const uint32_t set = walk__label_set(w, rows->labels ? rows->labels[at] : 0);

		if (stack == DCM_NONE || set == DCM_NONE)
			return -ENOMEM;
		now->rows.v[now->rows.n++] = (struct walk_state_row){ (uint64_t)stack << 32 | set,
								      rows->values[at] };
	}
	return 0;
}
