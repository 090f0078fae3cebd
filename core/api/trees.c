/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/api/trees.c - merged answers: call trees, tables of functions, files
 *
 * Trees as JSON are columns in preorder over a table of frames:
 *	{"unit":..,"total":[a],"filtered":[a],"trimmed_nodes":n,
 *	 "frames":{"name":[..],"file":[..],"binary":[..],"kind":[..],"line":[..],"unnamed":[why or null]},
 *	 "nodes":{"frame":[-1 for the root, ..],"depth":[..],"self":[..],"total":[..]}}
 * and in a diff total and filtered have two entries, nodes self_b and total_b, and what compare.c adds.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "core/api/internal.h"
#include "core/base/error.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/query/flametree.h"
#include "core/query/render.h"

enum { TOP_LIMIT = 1000, TEXT_TOP_ROWS = 40, TEXT_TREE_ROWS = 60 };

static void text_answer(struct http_response *resp)
{
	snprintf(resp->content_type, sizeof(resp->content_type), "text/plain; charset=utf-8");
}

static void json_sides(struct buf *b, const char *name, const int64_t v[2], uint32_t n)
{
	buf__printf(b, ",\"%s\":[%" PRId64, name, v[0]);
	if (n > 1)
		buf__printf(b, ",%" PRId64, v[1]);
	buf__byte(b, ']');
}

static void json_texts(struct buf *b, const char *name, const struct frames *f,
		       struct dcm_str (*text)(const struct frame *))
{
	buf__printf(b, "\"%s\":[", name);
	for (uint32_t i = 0; i < f->n; i++) {
		if (i)
			buf__byte(b, ',');
		buf__json(b, text(&f->v[i]));
	}
	buf__text(b, "],");
}

static struct dcm_str name_of(const struct frame *f)
{
	return f->name;
}
static struct dcm_str file_of(const struct frame *f)
{
	return f->file;
}
static struct dcm_str binary_of(const struct frame *f)
{
	return f->binary;
}
static struct dcm_str kind_of(const struct frame *f)
{
	return str__of(frames__kind_name(f->kind));
}

static void json_why(struct buf *b, const struct frame *f)
{
	char text[512];
	uint32_t n = symbols__why_of(f->unnamed, f->build_id, text, sizeof(text));

	buf__json(b, (struct dcm_str){ text, n });
}

static void json_frames(struct buf *b, const struct frames *f)
{
	buf__text(b, "\"frames\":{");
	json_texts(b, "name", f, name_of);
	json_texts(b, "file", f, file_of);
	json_texts(b, "binary", f, binary_of);
	json_texts(b, "kind", f, kind_of);
	buf__text(b, "\"line\":[");
	for (uint32_t i = 0; i < f->n; i++)
		buf__printf(b, "%s%" PRId64, i ? "," : "", f->v[i].line);
	buf__text(b, "],\"unnamed\":[");
	for (uint32_t i = 0; i < f->n; i++) {
		if (i)
			buf__byte(b, ',');
		if (f->v[i].is_unnamed)
			json_why(b, &f->v[i]);
		else
			buf__text(b, "null");
	}
	buf__text(b, "]}");
}

/* What a sample of the answer stands for, where it is one for all of it; else 0. */
static int64_t period_of(const struct frames *f)
{
	const struct dcm_batch *b = f->batch;
	int64_t period = b->n_profiles ? b->profiles[0].period : 0;

	for (uint32_t i = 1; i < b->n_profiles; i++)
		if (b->profiles[i].period != period)
			return 0;
	return period;
}

/* What is not of one frame or node: "unit":.. and so on. */
static void json_whole(struct buf *b, const struct flame *f, struct dcm_str unit,
		       const struct api_gaps *gaps)
{
	int64_t total[2] = { f->total[0][0], f->n_values > 1 ? f->total[1][0] : 0 };

	buf__text(b, "\"unit\":");
	buf__json(b, unit);
	json_sides(b, "total", total, f->n_values);
	json_sides(b, "filtered", f->filtered, f->n_values);
	buf__printf(b, ",\"trimmed_nodes\":%" PRIu64, f->n_trimmed);
	if (f->n_values > 1)
		api_compare__json(&f->frames->compare, f->all, b);
	else
		buf__printf(b, ",\"period\":%" PRId64, period_of(f->frames));
	api_gaps__json(gaps, b);
}

static void json_tree(struct buf *b, const struct flame *f, struct dcm_str unit,
		      const struct api_gaps *gaps)
{
	buf__byte(b, '{');
	json_whole(b, f, unit, gaps);
	buf__byte(b, ',');
	json_frames(b, f->frames);
	buf__text(b, ",\"nodes\":{\"frame\":[");
	for (uint32_t i = 0; i < f->n; i++)
		buf__printf(b, "%s%" PRId64, i ? "," : "",
			    f->frame[i] == FLAME_ROOT ? -1 : (int64_t)f->frame[i]);
	buf__text(b, "],\"depth\":[");
	for (uint32_t i = 0; i < f->n; i++)
		buf__printf(b, "%s%u", i ? "," : "", f->depth[i]);
	buf__byte(b, ']');
	api__json_column(b, "self", f->self[0], f->n);
	api__json_column(b, "total", f->total[0], f->n);
	if (f->n_values > 1) {
		api__json_column(b, "self_b", f->self[1], f->n);
		api__json_column(b, "total_b", f->total[1], f->n);
	}
	if (f->trimmed[0])
		api__json_column(b, "trimmed", f->trimmed[0], f->n);
	if (f->n_values > 1 && f->trimmed[1])
		api__json_column(b, "trimmed_b", f->trimmed[1], f->n);
	if (f->n_values > 1)
		api_compare__json_columns(f, b);
	buf__text(b, "}}\n");
}

static int flametree(struct http_response *resp, const struct flame *f, struct dcm_str unit,
		     const struct api_gaps *gaps, struct dcm_error *err)
{
	struct buf meta = { 0 };
	int r;

	buf__byte(&meta, '{');
	json_whole(&meta, f, unit, gaps);
	buf__byte(&meta, '}');
	r = meta.error ? meta.error : flametree__write(f, buf__view(&meta), &resp->body);
	if (r < 0)
		error__nomem(err);
	snprintf(resp->content_type, sizeof(resp->content_type), FLAMETREE_MIME);
	buf__fini(&meta);
	return r;
}

#define NOTHING_STORED                                                                             \
	"nothing is stored that the selector asks for in this range; `decima query types` and "    \
	"`series` say what there is"

/*
 * A table of nothing leaves people alone with it. left_out: weights of what was found and is not in
 * it.
 */
static void text_of_nothing(const int64_t left_out[2], struct buf *out)
{
	if (!left_out[0] && !left_out[1])
		buf__text(out, NOTHING_STORED "\n");
}

/* The root alone: all that was found is not in it. */
static bool is_nothing_of_something(const struct flame *f)
{
	return f->n <= 1 && f->total[0][0] == 0 && (f->filtered[0] || f->filtered[1]);
}

static enum api_note_place place_of(const struct api_question *q)
{
	return q->format == API_TEXT ? API_NOTE_BELOW : API_NOTE_HEADER;
}

/* Says when no group has a label that was asked for. */
static void note_groups(const struct api_question *q, const struct frames *f, struct http_response *resp)
{
	struct api_grouped grouped = { 0 };

	api_grouped__saw_frames(&grouped, &q->q, f);
	api_grouped__note(&grouped, &q->q, resp, place_of(q));
}

/*
 * Asks for the tree and writes it in the format wanted. The question's shape has been read; the
 * function is of its callers and callees alone.
 */
static void answer_tree(struct api *a, const struct api_question *q, enum flame_side side,
			struct dcm_str function, struct http_response *resp)
{
	const struct flame_options options = { .invert = q->invert,
					       .side = side,
					       .function = function,
					       .under = q->under,
					       .n_under = q->n_under,
					       .max_nodes = q->max_nodes };
	struct dcm_error err = DCM_ERROR_INIT;
	struct flame *f = NULL;
	int r;

	r = engine__flame(api__engine(a), &q->q, q->group, &options, &f, &err);
	if (r < 0) {
		api__fail(resp, r, &err);
		return;
	}
	if (q->format == API_TEXT) {
		struct render_options o = { .max_rows = q->max_rows ? q->max_rows : TEXT_TREE_ROWS,
					    .width = q->width,
					    .unit = engine__unit(&q->q) };

		text_answer(resp);
		render__flame(f, &o, &resp->body);
		if (f->n <= 1 && f->total[0][0] == 0)
			text_of_nothing(f->filtered, &resp->body);
		api_gaps__text(&q->gaps, &resp->body);
	} else if (q->format == API_JSON) {
		json_tree(&resp->body, f, engine__unit(&q->q), &q->gaps);
	} else {
		r = flametree(resp, f, engine__unit(&q->q), &q->gaps, &err);
	}
	if (r < 0)
		api__fail(resp, r, &err);
	api_gaps__header(&q->gaps, resp);
	if (side != FLAME_WHOLE && is_nothing_of_something(f))
		api_note__no_function(resp, place_of(q), function);
	note_groups(q, f->frames, resp);
	flame__free(f);
}

static void tree(struct api *a, const struct http_request *req, const char *selector,
		 enum flame_side side, struct http_response *resp)
{
	struct dcm_str function = http_request__param(req, "function");
	struct api_question q;

	if (side != FLAME_WHOLE && function.n == 0) {
		http_response__problem(resp, 400, "function: missing; give its exact name");
		return;
	}
	if (!api_question__read(a, req, selector, &q, resp))
		return;
	if (api_question__read_tree(req, &q, resp))
		answer_tree(a, &q, side, function, resp);
	api_question__fini(&q);
}

void api__flame(void *ctx, const struct http_request *req, struct http_response *resp)
{
	tree(ctx, req, "q", FLAME_WHOLE, resp);
}

void api__callers(void *ctx, const struct http_request *req, struct http_response *resp)
{
	tree(ctx, req, "q", FLAME_CALLERS, resp);
}

void api__callees(void *ctx, const struct http_request *req, struct http_response *resp)
{
	tree(ctx, req, "q", FLAME_CALLEES, resp);
}

/* ------------------------------------------------------------------------------------------------
 * The table of functions
 */

static void json_row(struct buf *b, const struct top *t, const struct top_row *row)
{
	const struct frame *f = &t->frames->v[row->frame];

	buf__text(b, "{\"name\":");
	buf__json(b, f->name);
	buf__text(b, ",\"file\":");
	buf__json(b, f->file);
	buf__text(b, ",\"binary\":");
	buf__json(b, f->binary);
	buf__printf(b, ",\"kind\":\"%s\",\"unnamed\":", frames__kind_name(f->kind));
	if (f->is_unnamed)
		json_why(b, f);
	else
		buf__text(b, "null");
	json_sides(b, "self", row->self, t->n_values);
	json_sides(b, "total", row->total, t->n_values);
	if (t->n_values > 1) {
		buf__text(b, ",\"self_change\":");
		api_compare__json_change(&t->frames->compare, t->all, row->self, b);
		buf__text(b, ",\"total_change\":");
		api_compare__json_change(&t->frames->compare, t->all, row->total, b);
	}
	buf__byte(b, '}');
}

static void json_top(struct buf *b, const struct top *t, struct dcm_str unit, const struct api_gaps *gaps)
{
	buf__text(b, "{\"unit\":");
	buf__json(b, unit);
	json_sides(b, "total", t->total, t->n_values);
	json_sides(b, "rest", t->rest, t->n_values);
	json_sides(b, "no_frame", t->no_frame, t->n_values);
	json_sides(b, "filtered", t->filtered, t->n_values);
	buf__printf(b, ",\"functions\":%u", t->n_all);
	if (t->n_values > 1)
		api_compare__json(&t->frames->compare, t->all, b);
	api_gaps__json(gaps, b);
	buf__text(b, ",\"rows\":[");
	for (uint32_t i = 0; i < t->n; i++) {
		if (i)
			buf__byte(b, ',');
		json_row(b, t, &t->rows[i]);
	}
	buf__text(b, "]}\n");
}

/* *ret is the default. */
static bool read_sort(const struct http_request *req, enum top_sort *ret, struct http_response *resp)
{
	static const char *const names[] = {
		[TOP_BY_SELF] = "self", [TOP_BY_TOTAL] = "total", [TOP_BY_NAME] = "name", [TOP_BY_DIFF] = "diff"
	};
	struct dcm_str text = http_request__param(req, "sort");

	if (text.n == 0)
		return true;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (str__eq(text, str__of(names[i]))) {
			*ret = (enum top_sort)i;
			return true;
		}
	http_response__problem(resp, 400, "sort: \"%.*s\" is none of self, total, name, diff",
			       STR_ARG(text));
	return false;
}

static void answer_top(struct api *a, const struct api_question *q, struct top_options *options,
		       struct http_response *resp)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct top *t = NULL;
	int r;

	options->limit = q->max_rows		 ? q->max_rows
			 : q->format == API_TEXT ? TEXT_TOP_ROWS
						 : TOP_LIMIT;
	r = engine__top(api__engine(a), &q->q, q->group, options, &t, &err);
	if (r < 0) {
		api__fail(resp, r, &err);
		return;
	}
	if (q->format == API_TEXT) {
		text_answer(resp);
		render__top(t, &(struct render_options){ .width = q->width, .unit = engine__unit(&q->q) },
			    &resp->body);
		if (t->n_all == 0 && !t->no_frame[0] && !t->no_frame[1])
			text_of_nothing(t->filtered, &resp->body);
		api_gaps__text(&q->gaps, &resp->body);
	} else {
		json_top(&resp->body, t, engine__unit(&q->q), &q->gaps);
	}
	api_gaps__header(&q->gaps, resp);
	note_groups(q, t->frames, resp);
	top__free(t);
}

void api__functions(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct api *a = ctx;
	struct api_question q;
	struct top_options options = { .sort = TOP_BY_SELF };

	if (!api_question__read(a, req, "q", &q, resp))
		return;
	if (api_question__read_shape(req, &q, resp) && read_sort(req, &options.sort, resp))
		answer_top(a, &q, &options, resp);
	api_question__fini(&q);
}

/* ------------------------------------------------------------------------------------------------
 * Both at once, of two selections
 */

/* Both sides' ranges: a_from .. b_to, each with from and to as its default. */
static bool read_sides(const struct http_request *req, struct api_question *ret,
		       struct http_response *resp)
{
	struct question *q = &ret->q;
	struct api_range range_a = { "a_from", "a_to", q->from_ms, q->to_ms, ret->now_ns };
	struct api_range range_b = { "b_from", "b_to", q->from_ms, q->to_ms, ret->now_ns };

	q->diff = true;
	q->selector_b = http_request__param(req, "b_q");
	if (q->selector_b.n == 0) {
		http_response__problem(resp, 400, "b_q: missing; give the second selector");
		return false;
	}
	if (!api_range__read(req, &range_a, resp) || !api_range__read(req, &range_b, resp))
		return false;
	q->from_ms = range_a.from_ms;
	q->to_ms = range_a.to_ms;
	q->from_b_ms = range_b.from_ms;
	q->to_b_ms = range_b.to_ms;
	resp->has_tag = api_range__is_over(&range_a) && api_range__is_over(&range_b);
	return true;
}

static bool read_report(const struct http_request *req, bool *ret_table, struct http_response *resp)
{
	struct dcm_str text = http_request__param(req, "report");

	*ret_table = str__eq(text, STR("functions"));
	if (*ret_table || text.n == 0 || str__eq(text, STR("tree")))
		return true;
	http_response__problem(resp, 400, "report: \"%.*s\" is neither tree nor functions",
			       STR_ARG(text));
	return false;
}

void api__diff(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct api *a = ctx;
	struct api_question q;

	struct top_options table = { .sort = TOP_BY_DIFF };
	bool is_table;

	if (!api_question__read(a, req, "a_q", &q, resp))
		return;
	if (read_sides(req, &q, resp) && read_report(req, &is_table, resp) &&
	    (is_table ? api_question__read_shape : api_question__read_tree)(req, &q, resp) &&
	    read_sort(req, &table.sort, resp)) {
		if (is_table)
			answer_top(a, &q, &table, resp);
		else
			answer_tree(a, &q, FLAME_WHOLE, STR(""), resp);
	}
	api_question__fini(&q);
}

/* ------------------------------------------------------------------------------------------------
 * Files
 */

static const struct export
{
	const char *format, *content_type, *suffix;
}
exports[] = { { "pprof", "application/vnd.google.protobuf+gzip", "pb.gz" },
	      { "folded", "text/plain; charset=utf-8", "folded" },
	      { "speedscope", "application/json", "speedscope.json" },
	      { "html", "text/html; charset=utf-8", "html" } };

static const struct export *read_export(const struct http_request *req, struct http_response *resp)
{
	struct dcm_str text = http_request__param(req, "format");

	for (size_t i = 0; i < sizeof(exports) / sizeof(exports[0]); i++)
		if (str__eq(text, str__of(exports[i].format)))
			return &exports[i];
	http_response__problem(resp, 400, "format: \"%.*s\" is none of pprof, folded, speedscope, html",
			       STR_ARG(text));
	return NULL;
}

/*
 * Folded stacks are drawn from frames, so that labels lead and unnamed frames read as in every
 * other answer.
 */
static int export_folded(struct api *a, const struct api_question *q, struct http_response *resp,
			 struct dcm_error *err)
{
	struct frames *frames = NULL;
	int r = engine__frames(api__engine(a), &q->q, FRAMES_FUNCTION, &frames, err);

	if (r == 0)
		r = render__folded(frames, q->filter, &resp->body, err);
	if (r == 0) {
		engine__filtered(api__engine(a), &q->q);
		note_groups(q, frames, resp);
	}
	frames__unref(frames);
	return r;
}

static int export_encoded(struct api *a, const struct api_question *q, const char *format,
			  struct http_response *resp, struct dcm_error *err)
{
	struct api_grouped grouped = { 0 };
	struct dcm_batch *batch = NULL;
	int r;

	if (!a->c.encode)
		return error__set(err, -ENOTSUP, "%s cannot be written here", format);
	r = engine__merge(api__engine(a), &q->q, &batch, NULL, err);
	if (r == 0 && batch->n_profiles == 0)
		r = error__set(err, -ENOENT, NOTHING_STORED);
	if (r == 0)
		r = a->c.encode(a->c.ctx, batch, format, &resp->body, err);
	for (uint32_t p = 0; r == 0 && p < batch->n_profiles; p++)
		for (uint32_t i = 0; i < q->q.n_group_by; i++)
			api_grouped__saw(&grouped, &q->q, q->q.group_by[i],
					 batch__series_label(batch, batch->profiles[p].series,
							     q->q.group_by[i]));
	if (r == 0)
		api_grouped__note(&grouped, &q->q, resp, API_NOTE_HEADER);
	batch__unref(batch);
	return r;
}

void api__export(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct api *a = ctx;
	struct api_question q;
	struct dcm_error err = DCM_ERROR_INIT;
	const struct export *e = read_export(req, resp);
	int r;

	if (!e || !api_question__read(a, req, "q", &q, resp))
		return;
	if (str__eq(str__of(e->format), STR("folded")))
		r = export_folded(a, &q, resp, &err);
	else
		r = export_encoded(a, &q, e->format, resp, &err);
	if (r < 0) {
		api__fail(resp, r, &err);
	} else {
		snprintf(resp->content_type, sizeof(resp->content_type), "%s", e->content_type);
		http_response__header(resp, "Content-Disposition",
				      "attachment; filename=\"profile.%s\"", e->suffix);
		api_gaps__header(&q.gaps, resp);
	}
	api_question__fini(&q);
}
