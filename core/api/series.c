/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/api/series.c - totals over time
 *
 * {"step_ms":..,"unit":..,"series":[{"labels":{..},"t_ms":[..],"value":[..],"duration_ns":[..],"profiles":[..]}]}
 *
 * With `top` only so many, the heaviest first, and ,"series_left_out":n where there are more. Each is written down
 * when it comes, and forgotten when as many heavier ones have come: at most `top` of them are held.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "core/api/internal.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/query/render.h"
#include "core/query/selector.h"

enum { DEFAULT_STEPS = 60, MAX_POINTS = 11000, MAX_TOP = 1000 };

/* A series that may be among the heaviest. */
struct heavy {
	uint64_t weight;
	uint64_t place; /* among all: of those alike the first stays */
	struct buf text;
};

struct writing {
	struct http_response *resp;
	enum api_format format;
	struct dcm_str unit;
	uint32_t n;
	const struct question *q;
	struct api_grouped grouped;
	uint32_t top;	 /* 0: all */
	struct heavy *v; /* [top], the first [n_kept] are there, in any order */
	uint32_t n_kept;
	uint64_t n_kept_bytes; /* of all texts; no more than the answer may have */
	uint64_t n_seen;
};

static void points_as_json(const struct dcm_points *p, struct buf *b)
{
	buf__text(b, "{\"labels\":{");
	for (uint32_t i = 0; i < p->n_labels; i++) {
		buf__text(b, i ? "," : "");
		buf__json(b, p->labels[i].name);
		buf__byte(b, ':');
		buf__json(b, p->labels[i].value);
	}
	buf__byte(b, '}');
	api__json_column(b, "t_ms", p->t_ms, p->n);
	api__json_column(b, "value", p->value, p->n);
	api__json_column(b, "duration_ns", p->duration_ns, p->n);
	buf__text(b, ",\"profiles\":[");
	for (uint32_t i = 0; i < p->n; i++)
		buf__printf(b, "%s%u", i ? "," : "", p->n_profiles[i]);
	buf__text(b, "]}");
}

static void points_as_text(const struct dcm_points *p, struct dcm_str unit, struct buf *b)
{
	struct buf name = { 0 };
	char time[32], value[48];

	buf__byte(b, '{');
	for (uint32_t i = 0; i < p->n_labels; i++) {
		buf__text(b, i ? ", " : "");
		/* As a selector is written, and cleaned for a terminal. */
		buf__reset(&name);
		selector__put_name(p->labels[i].name, &name);
		render__text(buf__view(&name), 0, b);
		buf__text(b, "=\"");
		render__text(p->labels[i].value, 0, b);
		buf__byte(b, '"');
	}
	buf__text(b, "}\n");
	for (uint32_t i = 0; i < p->n; i++)
		buf__printf(b, "%s  %12s  %u profiles\n", units__format_time(p->t_ms[i] * 1000000, time),
			    units__format_value((double)p->value[i], unit, value), p->n_profiles[i]);
	if (name.error && !b->error)
		b->error = name.error;
	buf__fini(&name);
}

static void separate(struct writing *w)
{
	if (w->n++)
		buf__byte(&w->resp->body, w->format == API_JSON ? ',' : '\n');
}

static void put_points(const struct writing *w, const struct dcm_points *p, struct buf *b)
{
	if (w->format == API_JSON)
		points_as_json(p, b);
	else
		points_as_text(p, w->unit, b);
}

static uint64_t weight_of(const struct dcm_points *p)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		uint64_t v = p->value[i] < 0 ? -(uint64_t)p->value[i] : (uint64_t)p->value[i];

		if (__builtin_add_overflow(sum, v, &sum))
			return UINT64_MAX;
	}
	return sum;
}

/* The heavier one comes first; of those alike the one that came first. */
static int compare_heavy(const void *a, const void *b)
{
	const struct heavy *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* Where a series of this weight is written down: a new place, or the lightest one's; NULL: all that are there are heavier. */
static struct heavy *place_for(struct writing *w, uint64_t weight)
{
	struct heavy *lightest = &w->v[0];

	if (w->n_kept < w->top)
		return &w->v[w->n_kept++];
	for (uint32_t i = 1; i < w->n_kept; i++)
		if (compare_heavy(&w->v[i], lightest) > 0)
			lightest = &w->v[i];
	return weight > lightest->weight ? lightest : NULL;
}

static int keep_heavy(struct writing *w, const struct dcm_points *p)
{
	const uint64_t weight = weight_of(p), place = w->n_seen++;
	struct heavy *h = place_for(w, weight);
	struct buf *body = &w->resp->body;

	if (!h)
		return 0;
	h->weight = weight;
	h->place = place;
	w->n_kept_bytes -= h->text.n;
	buf__reset(&h->text);
	h->text.limit = body->limit;
	put_points(w, p, &h->text);
	w->n_kept_bytes += h->text.n;
	/* As if it had been written there, which is where somebody looks. */
	if (body->error == 0)
		body->error = body->limit && w->n_kept_bytes > body->limit ? -EFBIG : h->text.error;
	return body->error;
}

static void put_heavy(struct writing *w)
{
	if (w->n_kept > 1)
		qsort(w->v, w->n_kept, sizeof(*w->v), compare_heavy);
	for (uint32_t i = 0; i < w->n_kept; i++) {
		separate(w);
		buf__append(&w->resp->body, w->v[i].text.data, w->v[i].text.n);
	}
}

static void forget_heavy(struct writing *w)
{
	for (uint32_t i = 0; i < w->n_kept; i++)
		buf__fini(&w->v[i].text);
	free(w->v);
}

static int add_points(void *ctx, const struct dcm_points *p)
{
	struct writing *w = ctx;

	for (uint32_t i = 0; i < p->n_labels; i++)
		api_grouped__saw(&w->grouped, w->q, p->labels[i].name, p->labels[i].value);
	if (w->top)
		return keep_heavy(w, p);
	separate(w);
	put_points(w, p, &w->resp->body);
	return w->resp->body.error;
}

/*
 * The step asked for, or the range in DEFAULT_STEPS; a step that makes too many points is refused.
 */
static bool read_step(const struct http_request *req, const struct question *q, int64_t *ret_ms,
		      struct http_response *resp)
{
	struct dcm_str text = http_request__param(req, "step");
	int64_t ns, range = q->to_ms - q->from_ms;

	if (text.n == 0) {
		*ret_ms = range > DEFAULT_STEPS * 1000 ? range / DEFAULT_STEPS / 1000 * 1000 : 1000;
		return true;
	}
	if (units__parse_duration(text, &ns) < 0 || (ns != 0 && ns < 1000000)) {
		http_response__problem(
			resp, 400, "step: \"%.*s\" is no duration of at least 1ms; write it like 10s",
			STR_ARG(text));
		return false;
	}
	*ret_ms = ns / 1000000;
	if (*ret_ms > 0 && range / *ret_ms > MAX_POINTS) {
		http_response__problem(
			resp, 400, "step: the range has more than %d steps; widen the step or shorten the range",
			MAX_POINTS);
		return false;
	}
	return true;
}

static void put_end(const struct writing *w, const struct api_gaps *gaps)
{
	const uint64_t left_out = w->n_seen - w->n_kept;
	struct buf *b = &w->resp->body;

	if (w->format == API_JSON) {
		buf__byte(b, ']');
		if (left_out)
			buf__printf(b, ",\"series_left_out\":%" PRIu64, left_out);
		api_gaps__json(gaps, b);
		buf__text(b, "}\n");
	} else {
		if (left_out)
			buf__printf(b, "\n%" PRIu64 " lighter series are left out\n", left_out);
		api_gaps__text(gaps, b);
	}
	api_gaps__header(gaps, w->resp);
	api_grouped__note(&w->grouped, w->q, w->resp,
			  w->format == API_TEXT ? API_NOTE_BELOW : API_NOTE_HEADER);
}

static void put_beginning(const struct writing *w, int64_t step_ms)
{
	struct http_response *resp = w->resp;

	if (w->format == API_JSON) {
		buf__printf(&resp->body, "{\"step_ms\":%" PRId64 ",\"unit\":", step_ms);
		buf__json(&resp->body, w->unit);
		buf__text(&resp->body, ",\"series\":[");
	} else {
		snprintf(resp->content_type, sizeof(resp->content_type), "text/plain; charset=utf-8");
	}
}

static void answer(struct api *a, struct api_question *q, struct writing *w, int64_t step_ms)
{
	struct dcm_error err = DCM_ERROR_INIT;
	int r;

	if (w->top) {
		w->v = mem__zalloc(w->top, sizeof(*w->v));
		if (!w->v) {
			http_response__problem(w->resp, 503, "out of memory");
			return;
		}
	}
	put_beginning(w, step_ms);
	r = engine__time_series(api__engine(a), &q->q, step_ms, add_points, w, &err);
	if (r < 0) {
		api__fail(w->resp, r, &err);
	} else {
		put_heavy(w);
		put_end(w, &q->gaps);
	}
	forget_heavy(w);
}

void api__series(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct api *a = ctx;
	struct api_question q;
	struct writing w = { .resp = resp };
	int64_t step_ms;

	if (!api_question__read(a, req, "q", &q, resp))
		return;
	if (api_question__read_shape(req, &q, resp) && read_step(req, &q.q, &step_ms, resp) &&
	    api_param__number(req, "top", MAX_TOP, &w.top, resp) &&
	    api_param__labels(req, "sum_by", &q.q.group_by, &q.q.n_group_by, resp) == 0) {
		w.format = q.format;
		w.q = &q.q;
		w.unit = engine__unit(&q.q);
		answer(a, &q, &w, step_ms);
	}
	api_question__fini(&q);
}
