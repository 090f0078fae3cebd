/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/query/compare.c - see compare.h
 */
#include "core/query/compare.h"

#include <math.h>
#include <stdio.h>

#include "core/base/str.h"

void compare__set_range(struct compare_side *s, const struct dcm_select *sel, int64_t first_ms,
			int64_t now_ms)
{
	int64_t from_ms = first_ms && first_ms > sel->from_ms ? first_ms : sel->from_ms;
	int64_t to_ms = now_ms < sel->to_ms ? now_ms : sel->to_ms;

	if (from_ms >= to_ms) {
		from_ms = sel->from_ms;
		to_ms = sel->to_ms;
	}
	s->from_ms = from_ms;
	s->to_ms = to_ms;
}

/* -------------------------------------------------------------------------------------------------
 * Types
 */

/* What a sample of a type is worth with that period; 0: unknown; -1: values are no multiples of it. */
static double worth(const struct dcm_batch *b, const struct dcm_type *t, int64_t period)
{
	struct dcm_str type = b->strings[t->sample_type], unit = b->strings[t->sample_unit];

	if (str__eq(type, STR("samples")) && str__eq(unit, STR("count")))
		return 1;
	if (!str__eq(type, b->strings[t->period_type]) || !str__eq(unit, b->strings[t->period_unit]))
		return -1;
	return period > 0 ? (double)period : 0;
}

void compare__set_types(struct compare *c, const struct dcm_batch *answer)
{
	const struct dcm_type *types[2];
	bool state[2];

	if (answer->n_profiles == 0 || answer->profiles[0].n_types != 2)
		return;
	for (unsigned k = 0; k < 2; k++) {
		types[k] = &answer->types[answer->profiles[0].type_off + k];
		state[k] = types[k]->temporality == DCM_GAUGE;
	}
	for (unsigned k = 0; k < 2; k++)
		if (c->side[k].is_told && c->side[k].n_profiles == 0)
			state[k] = state[1 - k];
	c->by = state[0] != state[1] ? COMPARE_TOTALS : state[0] ? COMPARE_MEANS : COMPARE_RATES;
	if (state[0] || state[1]) {
		c->no_samples = "a state has no samples";
		return;
	}
	for (unsigned k = 0; k < 2; k++) {
		struct compare_side *s = &c->side[k];

		s->per_sample = worth(answer, types[k], s->is_told ? s->period : 0);
		if (s->per_sample < 0) {
			s->per_sample = 0;
			c->no_samples = "values of this type are no multiples of a sampling period";
		}
	}
}

/* -------------------------------------------------------------------------------------------------
 * Values
 */

double compare__seconds(const struct compare *c, unsigned side)
{
	const struct compare_side *s = &c->side[side];
	double ms = (double)s->to_ms - (double)s->from_ms;

	return ms > 0 ? ms / 1e3 : 1;
}

double compare__normal(const struct compare *c, unsigned side, int64_t value)
{
	return c->by == COMPARE_RATES ? (double)value / compare__seconds(c, side) : (double)value;
}

double compare__factor(const struct compare *c, unsigned side)
{
	double own = compare__seconds(c, side), other = compare__seconds(c, 1 - side);

	return c->by == COMPARE_RATES && own < other ? other / own : 1;
}

double compare__samples(const struct compare *c, unsigned side, int64_t value)
{
	double per_sample = c->no_samples ? 0 : c->side[side].per_sample;

	return per_sample > 0 ? (double)value / per_sample : NAN;
}

const char *compare__untested(const struct compare *c, const int64_t all[2], char buf[static 128])
{
	if (c->no_samples)
		return c->no_samples;
	for (unsigned k = 0; k < 2; k++) {
		if (all[k] == 0)
			snprintf(buf, 128, "side %c has no samples", 'A' + k);
		else if (all[k] < 0)
			snprintf(buf, 128, "side %c weighs less than nothing", 'A' + k);
		else if (c->side[k].per_sample == 0)
			snprintf(buf, 128, "side %c has no sampling period, or more than one", 'A' + k);
		else
			continue;
		return buf;
	}
	return NULL;
}

/* [2] each: x samples of n. NAN when x can be no part of n. */
static double z_of(const double x[2], const double n[2], bool *ret_enough)
{
	double all = n[0] + n[1], with = x[0] + x[1], without = all - with;

	*ret_enough = false;
	for (unsigned k = 0; k < 2; k++)
		if (!(n[k] > 0 && x[k] >= 0 && x[k] <= n[k]))
			return NAN;
	if (!(with > 0 && without > 0))
		return 0;
	double p = with / all, q = without / all;
	double least = fmin(n[0], n[1]) * fmin(p, q);

	*ret_enough = least >= 5;
	return (x[1] / n[1] - x[0] / n[0]) / sqrt(p * q * (1 / n[0] + 1 / n[1]));
}

struct comparison compare__values(const struct compare *c, const int64_t all[2], const int64_t values[2])
{
	double a = compare__normal(c, 0, values[0]), b = compare__normal(c, 1, values[1]);
	double x[2], n[2];
	bool enough;

	for (unsigned k = 0; k < 2; k++) {
		x[k] = compare__samples(c, k, values[k]);
		n[k] = compare__samples(c, k, all[k]);
	}
	struct comparison r = { .delta = b - a, .change = a == 0 ? NAN : (b - a) / fabs(a) };
	r.z = z_of(x, n, &enough);
	r.is_significant = enough && fabs(r.z) >= COMPARE_LEVEL;
	return r;
}
