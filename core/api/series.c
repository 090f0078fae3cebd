/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/api/series.c - totals over time
 *
 * {"step_ms":..,"unit":..,"series":[{"labels":{..},"t_ms":[..],"value":[..],"duration_ns":[..],"profiles":[..]}]}
 */
#include <errno.h>
#include <inttypes.h>

#include "core/api/internal.h"
#include "core/base/error.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/query/render.h"

enum { DEFAULT_STEPS = 60, MAX_POINTS = 11000 };

struct writing {
	struct http_response *resp;
	enum api_format format;
	struct dcm_str unit;
	uint32_t n;
	const struct question *q;
	struct api_grouped grouped;
};

static void points_as_json(struct writing *w, const struct dcm_points *p)
{
	struct buf *b = &w->resp->body;

	buf__printf(b, "%s{\"labels\":{", w->n++ ? "," : "");
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

static void points_as_text(struct writing *w, const struct dcm_points *p)
{
	struct buf *b = &w->resp->body;
	char time[32], value[48];

	buf__printf(b, "%s{", w->n++ ? "\n" : "");
	for (uint32_t i = 0; i < p->n_labels; i++) {
		buf__text(b, i ? ", " : "");
		render__text(p->labels[i].name, 0, b);
		buf__text(b, "=\"");
		render__text(p->labels[i].value, 0, b);
		buf__byte(b, '"');
	}
	buf__text(b, "}\n");
	for (uint32_t i = 0; i < p->n; i++)
		buf__printf(b, "%s  %12s  %u profiles\n", units__format_time(p->t_ms[i] * 1000000, time),
			    units__format_value((double)p->value[i], w->unit, value), p->n_profiles[i]);
}

static int add_points(void *ctx, const struct dcm_points *p)
{
	struct writing *w = ctx;

	for (uint32_t i = 0; i < p->n_labels; i++)
		api_grouped__saw(&w->grouped, w->q, p->labels[i].name, p->labels[i].value);
	if (w->format == API_JSON)
		points_as_json(w, p);
	else
		points_as_text(w, p);
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

static void finish(const struct writing *w, const struct api_gaps *gaps)
{
	struct buf *b = &w->resp->body;

	if (w->format == API_JSON) {
		buf__byte(b, ']');
		api_gaps__json(gaps, b);
		buf__text(b, "}\n");
	} else {
		api_gaps__text(gaps, b);
	}
	api_gaps__header(gaps, w->resp);
	api_grouped__note(&w->grouped, w->q, w->resp,
			  w->format == API_TEXT ? API_NOTE_BELOW : API_NOTE_HEADER);
}

void api__series(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct api *a = ctx;
	struct api_question q;
	struct dcm_error err = DCM_ERROR_INIT;
	struct writing w = { .resp = resp };
	int64_t step_ms;
	int r;

	if (!api_question__read(a, req, "q", &q, resp))
		return;
	if (api_question__read_shape(req, &q, resp) && read_step(req, &q.q, &step_ms, resp) &&
	    api_param__labels(req, "sum_by", &q.q.group_by, &q.q.n_group_by, resp) == 0) {
		w.format = q.format;
		w.q = &q.q;
		w.unit = engine__unit(&q.q);
		if (w.format == API_JSON) {
			buf__printf(&resp->body, "{\"step_ms\":%" PRId64 ",\"unit\":", step_ms);
			buf__json(&resp->body, w.unit);
			buf__text(&resp->body, ",\"series\":[");
		} else {
			snprintf(resp->content_type, sizeof(resp->content_type),
				 "text/plain; charset=utf-8");
		}
		r = engine__time_series(api__engine(a), &q.q, step_ms, add_points, &w, &err);
		if (r < 0)
			api__fail(resp, r, &err);
		else
			finish(&w, &q.gaps);
	}
	api_question__fini(&q);
}
