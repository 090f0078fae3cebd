/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/sieve.c - cheap matchers first, then the others on what is left
 */
#include "plugins/storage/answer/sieve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "plugins/storage/answer/match.h"
#include "plugins/storage/answer/meter.h"

/* One look at a series costs about as much as this many values of an index. */
enum {
	SIEVE_LOOK_VALUES = 4,
	SIEVE_PATIENCE = 256 /* comparisons between two looks at the clock */
};

struct judge {
	struct dict *dict;
	const struct dcm_host *host;
	const struct dcm_matcher *matcher;
	struct dcm_budget *budget;
	uint32_t n; /* values asked about */
};

static int go_on(void *ctx)
{
	const struct judge *j = ctx;

	return meter__look(j->host, j->budget);
}

static int accepts(void *ctx, struct dcm_str value)
{
	struct judge *j = ctx;
	const int r = j->n++ % SIEVE_PATIENCE ? 0 : meter__look(j->host, j->budget);

	return r < 0 ? r : match__accepts(j->host, j->matcher, value);
}

/* -------------------------------------------------------------------------------------------------
 * One by one
 */

static bool matcher_takes(const struct dict *d, uint32_t series, const struct dcm_host *host,
			  const struct dcm_matcher *m)
{
	struct dcm_str value;

	return !dict__series_label(d, series, m->name, &value) || match__accepts(host, m, value);
}

bool sieve__judge(const struct dict *d, uint32_t series, const struct dcm_host *host,
		  const struct dcm_select *sel)
{
	if (dict__lacks_series(d, series))
		return true;
	for (uint32_t i = 0; i < sel->n_matchers; i++)
		if (!matcher_takes(d, series, host, &sel->matchers[i]))
			return false;
	return true;
}

uint32_t sieve__next(const struct sieve *s, uint32_t series)
{
	if (!s->bits || series >= s->n)
		return series;
	uint32_t word = series / 64;
	uint64_t bits = s->bits[word] & UINT64_MAX << series % 64;
	while (!bits && ++word < (s->n + 63) / 64)
		bits = s->bits[word];
	return bits ? word * 64 + (uint32_t)__builtin_ctzll(bits) : s->n;
}

static int look_at_each(struct sieve *s, struct judge *j)
{
	for (uint32_t i = sieve__next(s, 0); i < s->n; i = sieve__next(s, i + 1)) {
		const int r = j->n++ % SIEVE_PATIENCE ? 0 : meter__look(j->host, j->budget);

		if (r < 0)
			return r;
		if (!matcher_takes(j->dict, i, j->host, j->matcher))
			s->bits[i / 64] &= ~(UINT64_C(1) << i % 64);
	}
	return 0;
}

/* -------------------------------------------------------------------------------------------------
 * All at once
 */

static uint32_t count_left(const struct sieve *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < (s->n + 63) / 64; i++)
		n += (uint32_t)__builtin_popcountll(s->bits[i]);
	return n;
}

static bool is_equality(const struct dcm_matcher *m)
{
	return m->op == DCM_EQ || m->op == DCM_NE;
}

static int apply(struct sieve *s, struct judge *j)
{
	const struct dcm_matcher *m = j->matcher;
	const struct labels_test test = {
		.name = m->name,
		.equals = is_equality(m) ? &m->value : NULL,
		.negated = m->op == DCM_NE,
		.accepts = accepts,
		.ctx = j,
	};

	if (!test.equals &&
	    (uint64_t)count_left(s) * SIEVE_LOOK_VALUES < labels__n_values(j->dict, m->name))
		return look_at_each(s, j);
	return labels__clear(j->dict, &test, s->bits, s->n);
}

/* Nobody can say that these are not wanted. */
static void take_lacking(struct sieve *s, const struct dict *d)
{
	for (uint32_t i = 0; d->has_gaps && i < s->n; i++)
		if (dict__lacks_series(d, i))
			s->bits[i / 64] |= UINT64_C(1) << i % 64;
}

int sieve__init(struct sieve *s, struct dict *d, uint32_t n, const struct dcm_host *host,
		const struct dcm_select *sel)
{
	struct judge j = { .dict = d, .host = host, .budget = sel->budget };
	int r = 0;

	*s = (struct sieve){ .n = n };
	if (!sel->n_matchers || !n)
		return 0;
	r = labels__extend(d, n, go_on, &j);
	if (r < 0)
		return r;
	s->bits = mem__zalloc((n + 63) / 64, sizeof(*s->bits));
	if (!s->bits)
		return -ENOMEM;
	memset(s->bits, 0xff, n / 64 * sizeof(*s->bits));
	if (n % 64)
		s->bits[n / 64] = (UINT64_C(1) << n % 64) - 1;
	for (int equality = 1; equality >= 0; equality--)
		for (uint32_t i = 0; r == 0 && i < sel->n_matchers; i++) {
			j.matcher = &sel->matchers[i];
			if (is_equality(j.matcher) == equality)
				r = apply(s, &j);
		}
	if (r < 0)
		sieve__fini(s);
	else
		take_lacking(s, d);
	return r;
}

void sieve__fini(struct sieve *s)
{
	free(s->bits);
	*s = (struct sieve){ 0 };
}
