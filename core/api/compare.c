/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/api/compare.c - how the sides of a diff compare, as JSON
 *
 * In the answer, beside its raw totals (core/query/compare.h says what all of it means):
 *	"compare":{"by":"rate","level":2.5758,"confidence":0.99,"untested":why or null,"sides":[A,B]}
 * by: rate, mean or total; a side:
 *	{"from_ms":..,"to_ms":..,"seconds":..,"profiles":..,"duration_ns":..,"period":..,"samples":..}
 * where the range is the side's time, and profiles, duration_ns and period are null when the store did not
 * tell, samples when they are not known. Then for each value (of a function) an object, and for each
 * node's total columns:
 *	"delta": B - A, of rates where `by` is rate; "change": delta / |A|, null when A is 0;
 *	"z": null when nothing is tested; "significant": true, false, or null with z
 */
#include <inttypes.h>
#include <math.h>

#include "core/api/internal.h"
#include "core/base/str.h"

static void put_number(struct buf *b, double v)
{
	if (isfinite(v))
		buf__printf(b, "%.15g", v);
	else
		buf__text(b, "null");
}

static const char *significance(const struct comparison *c)
{
	return isnan(c->z) ? "null" : c->is_significant ? "true" : "false";
}

static void put_side(struct buf *b, const struct compare *c, unsigned side, int64_t all)
{
	const struct compare_side *s = &c->side[side];

	buf__printf(b, "{\"from_ms\":%" PRId64 ",\"to_ms\":%" PRId64 ",\"seconds\":", s->from_ms,
		    s->to_ms);
	put_number(b, compare__seconds(c, side));
	if (s->is_told)
		buf__printf(b, ",\"profiles\":%" PRIu64 ",\"duration_ns\":%" PRId64 ",\"period\":%" PRId64,
			    s->n_profiles, s->duration_ns, s->period);
	else
		buf__text(b, ",\"profiles\":null,\"duration_ns\":null,\"period\":null");
	buf__text(b, ",\"samples\":");
	put_number(b, compare__samples(c, side, all));
	buf__byte(b, '}');
}

void api_compare__json(const struct compare *c, const int64_t all[2], struct buf *b)
{
	static const char *const by[] = {
		[COMPARE_TOTALS] = "total", [COMPARE_RATES] = "rate", [COMPARE_MEANS] = "mean"
	};
	char text[128];
	const char *why = compare__untested(c, all, text);

	buf__printf(b, ",\"compare\":{\"by\":\"%s\",\"level\":%g,\"confidence\":%g,\"untested\":",
		    by[c->by], COMPARE_LEVEL, COMPARE_CONFIDENCE);
	if (why)
		buf__json(b, str__of(why));
	else
		buf__text(b, "null");
	buf__text(b, ",\"sides\":[");
	put_side(b, c, 0, all[0]);
	buf__byte(b, ',');
	put_side(b, c, 1, all[1]);
	buf__text(b, "]}");
}

void api_compare__json_change(const struct compare *c, const int64_t all[2],
			      const int64_t values[2], struct buf *b)
{
	struct comparison r = compare__values(c, all, values);

	buf__text(b, "{\"delta\":");
	put_number(b, r.delta);
	buf__text(b, ",\"change\":");
	put_number(b, r.change);
	buf__text(b, ",\"z\":");
	put_number(b, r.z);
	buf__printf(b, ",\"significant\":%s}", significance(&r));
}

void api_compare__json_columns(const struct flame *f, struct buf *b)
{
	static const char *const names[] = { "delta", "change", "z", "significant" };

	for (unsigned column = 0; column < 4; column++) {
		buf__printf(b, ",\"%s\":[", names[column]);
		for (uint32_t i = 0; i < f->n; i++) {
			const int64_t v[2] = { f->total[0][i], f->total[1][i] };
			struct comparison c = compare__values(&f->frames->compare, f->all, v);

			if (i)
				buf__byte(b, ',');
			if (column == 3)
				buf__text(b, significance(&c));
			else
				put_number(b, column == 0 ? c.delta : column == 1 ? c.change : c.z);
		}
		buf__byte(b, ']');
	}
}
