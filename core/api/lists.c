/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/api/lists.c - types, label names, label values
 *
 * Each at most API_MAX_LIST entries, or `limit`; `truncated`, or the last line of the text, says that
 * there are more. `prefix` is for who types a name.
 */
#include <errno.h>
#include <inttypes.h>

#include "core/api/internal.h"
#include "core/base/error.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/base/vec.h"
#include "core/batch/type.h"
#include "core/query/render.h"

/* An answer under way: JSON goes straight to the body, text is gathered into a table's cells. */
struct list {
	struct http_response *resp;
	struct arena *arena;
	const struct api_gaps *gaps;
	enum api_format format;
	struct dcm_str prefix; /* of the names that are listed */
	uint32_t n, max;
	bool truncated;
	VEC(struct dcm_str) cells;
};

static int add_cell(struct list *l, struct dcm_str s)
{
	struct dcm_str copy = arena__str(l->arena, s);

	return copy.p && vec__push(&l->cells, copy) ? 0 : -ENOMEM;
}

/* 0 to go on; 1 when the list is full. */
static int count_entry(struct list *l)
{
	if (l->n == l->max) {
		l->truncated = true;
		return 1;
	}
	if (l->format == API_JSON && l->n > 0)
		buf__byte(&l->resp->body, ',');
	l->n++;
	return 0;
}

static void finish(struct list *l, int r, const struct dcm_error *err, const char *const *heads,
		   uint32_t n_columns, uint64_t right)
{
	if (r < 0) {
		api__fail(l->resp, r, err);
	} else if (l->format == API_JSON) {
		buf__printf(&l->resp->body, "],\"truncated\":%s", l->truncated ? "true" : "false");
		api_gaps__json(l->gaps, &l->resp->body);
		buf__text(&l->resp->body, "}\n");
	} else {
		struct render_table t = { heads, n_columns, right, l->cells.v, l->n };

		render__table(&t, &(struct render_options){ 0 }, &l->resp->body);
		if (l->truncated)
			buf__printf(&l->resp->body, "there are more: these are the first %u\n", l->n);
		api_gaps__text(l->gaps, &l->resp->body);
		snprintf(l->resp->content_type, sizeof(l->resp->content_type),
			 "text/plain; charset=utf-8");
	}
	if (r >= 0)
		api_gaps__header(l->gaps, l->resp);
	vec__fini(&l->cells);
}

/* ------------------------------------------------------------------------------------------------
 * Types
 */

static struct dcm_str type_text(struct arena *a, const struct dcm_type_info *t)
{
	char *p = arena__printf(a, "%.*s:%.*s:%.*s:%.*s:%.*s%s", STR_ARG(t->name),
				STR_ARG(t->sample_type), STR_ARG(t->sample_unit),
				STR_ARG(t->period_type), STR_ARG(t->period_unit),
				t->temporality == DCM_DELTA ? ":delta" : "");

	return p ? str__of(p) : (struct dcm_str){ NULL, 0 };
}

static const char *temporality_name(uint32_t t)
{
	return t == DCM_DELTA ? "delta" : t == DCM_GAUGE ? "gauge" : "cumulative";
}

static int type_as_text(struct list *l, struct dcm_str text, const struct dcm_type_info *t)
{
	char n[24], last[32];

	snprintf(n, sizeof(n), "%" PRIu64, t->n_profiles);
	units__format_time(t->last_ms * 1000000, last);
	if (add_cell(l, text) < 0 || add_cell(l, str__of(n)) < 0 || add_cell(l, str__of(last)) < 0)
		return -ENOMEM;
	return 0;
}

static int add_type(void *ctx, const struct dcm_type_info *t)
{
	struct list *l = ctx;
	struct dcm_str text = type_text(l->arena, t);
	struct type_text parts = { t->name,	   t->sample_type, t->sample_unit,
				   t->period_type, t->period_unit, t->temporality == DCM_DELTA };
	struct buf *b = &l->resp->body;

	if (!text.p)
		return -ENOMEM;
	if (count_entry(l))
		return 1;
	if (l->format == API_TEXT)
		return type_as_text(l, text, t);
	buf__text(b, "{\"type\":");
	buf__json(b, text);
	buf__text(b, ",\"unit\":");
	buf__json(b, t->sample_unit);
	buf__printf(b, ",\"temporality\":\"%s\",\"description\":", temporality_name(t->temporality));
	buf__json(b, str__of(type__describe(&parts)));
	buf__printf(b, ",\"profiles\":%" PRIu64 ",\"first_ms\":%" PRId64 ",\"last_ms\":%" PRId64 "}",
		    t->n_profiles, t->first_ms, t->last_ms);
	return b->error;
}

void api__types(void *ctx, const struct http_request *req, struct http_response *resp)
{
	static const char *const heads[] = { "TYPE", "PROFILES", "LAST" };
	struct api *a = ctx;
	struct api_question q;
	struct dcm_error err = DCM_ERROR_INIT;
	struct list l = { .resp = resp, .arena = req->arena, .gaps = &q.gaps, .max = API_MAX_LIST };
	int r;

	if (!api_question__read(a, req, NULL, &q, resp))
		return;
	if (api_question__read_shape(req, &q, resp)) {
		l.format = q.format;
		if (l.format == API_JSON)
			buf__text(&resp->body, "{\"types\":[");
		r = engine__types(api__engine(a), &q.q, add_type, &l, &err);
		finish(&l, r, &err, heads, 3, 2);
	}
	api_question__fini(&q);
}

/* ------------------------------------------------------------------------------------------------
 * Labels
 */

static int add_name(void *ctx, struct dcm_str name, uint64_t n_series)
{
	struct list *l = ctx;
	struct buf *b = &l->resp->body;
	char n[24];

	if (!str__starts(name, l->prefix))
		return 0;
	if (count_entry(l))
		return 1;
	if (l->format == API_TEXT) {
		snprintf(n, sizeof(n), "%" PRIu64, n_series);
		return add_cell(l, name) < 0 || add_cell(l, str__of(n)) < 0 ? -ENOMEM : 0;
	}
	buf__text(b, "{\"name\":");
	buf__json(b, name);
	buf__printf(b, ",\"series\":%" PRIu64 "}", n_series);
	return b->error;
}

/* Label names when `name` is NULL, else the values of that one. */
static void list_names(struct api *a, const struct http_request *req, const struct dcm_str *name,
		       struct http_response *resp)
{
	static const char *const label_heads[] = { "LABEL", "SERIES" }, *const value_heads[] = {
		"VALUE", "SERIES"
	};
	struct api_question q;
	struct dcm_error err = DCM_ERROR_INIT;
	struct list l = { .resp = resp, .arena = req->arena, .gaps = &q.gaps, .max = API_MAX_LIST };
	int r;

	if (!api_question__read(a, req, NULL, &q, resp))
		return;
	l.prefix = http_request__param(req, "prefix");
	if (api_question__read_shape(req, &q, resp) &&
	    api_param__number(req, "limit", API_MAX_LIST, &l.max, resp)) {
		l.format = q.format;
		if (l.format == API_JSON)
			buf__printf(&resp->body, "{\"%s\":[", name ? "values" : "labels");
		r = name ? engine__values(api__engine(a), &q.q, *name, add_name, &l, &err)
			 : engine__labels(api__engine(a), &q.q, add_name, &l, &err);
		finish(&l, r, &err, name ? value_heads : label_heads, 2, 2);
		if (r >= 0 && name && l.n == 0)
			api_note__no_label(
				resp, l.format == API_TEXT ? API_NOTE_BELOW : API_NOTE_HEADER, *name);
	}
	api_question__fini(&q);
}

void api__labels(void *ctx, const struct http_request *req, struct http_response *resp)
{
	list_names(ctx, req, NULL, resp);
}

void api__values(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct dcm_str name = http_request__path_param(req, "name");

	if (name.n == 0)
		name = http_request__param(req, "label");
	if (name.n == 0)
		http_response__problem(resp, 400, "label: missing; give its name");
	else
		list_names(ctx, req, &name, resp);
}
