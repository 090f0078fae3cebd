/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/api/gaps.c - what an answer lacks: told by the store, written in every format
 *
 * In JSON a member left_out, in text lines under the answer, and in every answer, files too, the
 * header Decima-Left-Out with one sentence. The first API_MAX_GAPS are told one by one, the others
 * are counted.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/api/internal.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/query/render.h"

enum { HEADER_GAPS = 3 };

static void copy(char *to, size_t cap, struct dcm_str text)
{
	snprintf(to, cap, "%.*s", (int)(text.n < cap ? text.n : cap - 1), text.n ? text.p : "");
}

void api_gaps__add(void *ctx, const struct dcm_gap *gap)
{
	struct api_gaps *g = ctx;

	if (g->n == API_MAX_GAPS) {
		g->n_more++;
		return;
	}
	struct api_gap *to = &g->v[g->n++];
	copy(to->what, sizeof(to->what), gap->what);
	copy(to->why, sizeof(to->why), gap->why);
	to->from_ms = gap->from_ms;
	to->to_ms = gap->to_ms;
	to->n_profiles = gap->n_profiles;
}

void api_gaps__json(const struct api_gaps *g, struct buf *b)
{
	if (!g->n)
		return;
	buf__text(b, ",\"left_out\":[");
	for (uint32_t i = 0; i < g->n; i++) {
		const struct api_gap *gap = &g->v[i];

		buf__printf(b, "%s{\"what\":", i ? "," : "");
		buf__json(b, str__of(gap->what));
		buf__text(b, ",\"why\":");
		buf__json(b, str__of(gap->why));
		buf__printf(b, ",\"from_ms\":%" PRId64 ",\"to_ms\":%" PRId64 ",\"profiles\":%" PRIu64 "}",
			    gap->from_ms, gap->to_ms, gap->n_profiles);
	}
	buf__printf(b, "],\"left_out_more\":%" PRIu32, g->n_more);
}

static int64_t ns_of(int64_t ms)
{
	int64_t ns;

	return __builtin_mul_overflow(ms, 1000000, &ns) ? ms < 0 ? INT64_MIN : INT64_MAX : ns;
}

static void put_sentence(const struct api_gap *gap, struct buf *b)
{
	char from[32], to[32];

	render__text(str__of(gap->what), 0, b);
	buf__printf(b, " (%s to %s, ", units__format_time(ns_of(gap->from_ms), from),
		    units__format_time(ns_of(gap->to_ms), to));
	if (gap->n_profiles)
		buf__printf(b, "at most %" PRIu64 " profiles): ", gap->n_profiles);
	else
		buf__text(b, "nobody knows how many profiles): ");
	render__text(str__of(gap->why), 0, b);
}

void api_gaps__text(const struct api_gaps *g, struct buf *b)
{
	for (uint32_t i = 0; i < g->n; i++) {
		buf__text(b, "left out: ");
		put_sentence(&g->v[i], b);
		buf__byte(b, '\n');
	}
	if (g->n_more)
		buf__printf(b, "left out: %" PRIu32 " more\n", g->n_more);
}

void api_gaps__header(const struct api_gaps *g, struct http_response *resp)
{
	struct buf b = { 0 };
	uint32_t n = g->n < HEADER_GAPS ? g->n : HEADER_GAPS;

	if (!g->n)
		return;
	for (uint32_t i = 0; i < n; i++) {
		buf__text(&b, i ? "; " : "");
		put_sentence(&g->v[i], &b);
	}
	if (g->n - n + g->n_more)
		buf__printf(&b, "; and %" PRIu32 " more", g->n - n + g->n_more);
	/* One line of ASCII, whatever a store says. */
	for (size_t i = 0; i < b.n; i++)
		if (b.data[i] < ' ' || b.data[i] > '~')
			b.data[i] = '?';
	if (!b.error)
		http_response__header(resp, API_LEFT_OUT, "%.*s", (int)b.n, (const char *)b.data);
	buf__fini(&b);
}
