/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/api/status.c - how Decima itself is doing: health, metrics, instances, queues, stores; and
 * reload
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "config.h"
#include "core/api/internal.h"
#include "core/base/error.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/base/vec.h"
#include "core/query/render.h"

static const char *const state_names[] = { "starting", "ok", "degraded", "failed", "stopped" };

static bool wants_text(const struct http_request *req)
{
	return str__eq(http_request__param(req, "format"), STR("text"));
}

static void field(struct buf *b, const char *name, const char *value)
{
	buf__printf(b, "\"%s\":", name);
	buf__json(b, str__of(value));
}

/* ------------------------------------------------------------------------------------------------
 * Instances
 */

struct listing {
	struct http_request const *req;
	struct buf *out;
	bool inputs_only;
	uint32_t n, n_failed;
	VEC(struct dcm_str) cells;
};

static bool is_input(const struct api_instance *i)
{
	return str__eq(str__of(i->kind), STR("input"));
}

static void instance_as_json(void *ctx, const struct api_instance *i)
{
	struct listing *l = ctx;
	char since[32];

	if (l->inputs_only && !is_input(i))
		return;
	buf__text(l->out, l->n++ ? ",{" : "{");
	field(l->out, "kind", i->kind);
	buf__byte(l->out, ',');
	field(l->out, "plugin", i->plugin);
	buf__byte(l->out, ',');
	field(l->out, "name", i->name);
	buf__byte(l->out, ',');
	field(l->out, "path", i->path);
	buf__printf(l->out, ",\"phase\":\"%s\",\"state\":\"%s\",\"since\":\"%s\",\"failures\":%u,",
		    instance__phase_name(i->view.phase), state_names[i->view.state.state],
		    units__format_time(i->view.state.since_real_ns, since), i->view.n_failures);
	field(l->out, "sentence", i->view.state.sentence);
	buf__byte(l->out, '}');
}

static void instance_as_text(void *ctx, const struct api_instance *i)
{
	struct listing *l = ctx;
	const char *cells[] = { i->kind, i->name, state_names[i->view.state.state],
				i->view.state.sentence };

	if (l->inputs_only && !is_input(i))
		return;
	for (size_t c = 0; c < 4; c++) {
		struct dcm_str copy = arena__str(l->req->arena, str__of(cells[c]));

		if (!copy.p || !vec__push(&l->cells, copy))
			return;
	}
	l->n++;
}

static void list_instances(struct api *a, const struct http_request *req, struct listing *l,
			   struct http_response *resp)
{
	static const char *const heads[] = { "KIND", "NAME", "STATE", "WHAT" };

	l->req = req;
	l->out = &resp->body;
	if (wants_text(req)) {
		a->c.each_instance(a->c.ctx, instance_as_text, l);
		render__table(&(struct render_table){ heads, 4, 0, l->cells.v, l->n },
			      &(struct render_options){ 0 }, &resp->body);
		snprintf(resp->content_type, sizeof(resp->content_type), "text/plain; charset=utf-8");
	} else {
		a->c.each_instance(a->c.ctx, instance_as_json, l);
	}
	vec__fini(&l->cells);
}

void api__targets(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct api *a = ctx;
	struct listing l = { .inputs_only = true };

	if (!a->c.each_instance) {
		http_response__problem(resp, 503, "no daemon runs here, so nothing is collected");
		return;
	}
	if (!wants_text(req))
		buf__text(&resp->body, "{\"targets\":[");
	list_instances(a, req, &l, resp);
	if (!wants_text(req))
		buf__text(&resp->body, "]}\n");
}

/* ------------------------------------------------------------------------------------------------
 * Queues
 */

static void queue_as_json(void *ctx, const struct pipeline_view *v)
{
	struct listing *l = ctx;

	buf__text(l->out, l->n++ ? ",{" : "{");
	field(l->out, "name", v->name);
	buf__printf(l->out,
		    ",\"bytes\":%" PRIu64 ",\"reserve_bytes\":%" PRIu64 ",\"max_bytes\":%" PRIu64
		    ",\"batches\":%" PRIu64 ",\"writing\":%" PRIu64 ",\"in\":%" PRIu64
		    ",\"out\":%" PRIu64 ",\"lost_batches\":%" PRIu64 ",\"lost_rows\":%" PRIu64
		    ",\"filtered_profiles\":%" PRIu64,
		    v->queue->bytes, v->queue->reserve_bytes, v->queue->max_bytes,
		    v->queue->n_batches, v->queue->n_popped, v->queue->n_in, v->queue->n_out,
		    v->queue->n_lost_batches, v->queue->n_lost_rows, v->n_profiles_filtered);
	if (v->writer) {
		buf__printf(l->out,
			    ",\"written_batches\":%" PRIu64 ",\"written_rows\":%" PRIu64
			    ",\"retries\":%" PRIu64 ",",
			    v->writer->counts.n_written_batches, v->writer->counts.n_written_rows,
			    v->writer->counts.n_retries);
		field(l->out, "trouble", v->writer->trouble);
	}
	buf__byte(l->out, '}');
}

/* {"instance":..,"reason":..,"n":..} of each pair that has lost something. */
static void loss_as_json(void *ctx, const struct stats_view *v)
{
	struct listing *l = ctx;

	if (!str__eq(str__of(v->name), STR("decima_dropped_total")) || v->count == 0)
		return;
	buf__text(l->out, l->n++ ? ",{" : "{");
	for (size_t i = 0; i < v->n_labels; i++) {
		field(l->out, v->labels[i].name, v->labels[i].value);
		buf__byte(l->out, ',');
	}
	buf__printf(l->out, "\"n\":%" PRIu64 "}", v->count);
}

void api__pipeline(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct api *a = ctx;
	struct listing l = { 0 };

	if (!a->c.each_instance || !a->c.pipeline) {
		http_response__problem(resp, 503, "no daemon runs here, so there is no pipeline");
		return;
	}
	if (!wants_text(req))
		buf__text(&resp->body, "{\"instances\":[");
	list_instances(a, req, &l, resp);
	if (wants_text(req))
		return;
	buf__text(&resp->body, "],\"queues\":[");
	l.n = 0;
	pipeline__each(a->c.pipeline, queue_as_json, &l);
	buf__text(&resp->body, "],\"losses\":[");
	l.n = 0;
	stats__each(a->c.stats, loss_as_json, &l);
	buf__text(&resp->body, "]}\n");
}

/* ------------------------------------------------------------------------------------------------
 * Status
 */

static void store_as_json(struct api *a, struct buf *b)
{
	struct dcm_store_stat s = { .size = sizeof(s) };

	if (!a->c.store_stat(a->c.ctx, &s))
		return;
	buf__text(b, ",\"storage\":{\"place\":");
	buf__json(b, s.place);
	buf__printf(b,
		    ",\"bytes\":%" PRIu64 ",\"series\":%" PRIu64 ",\"stacks\":%" PRIu64
		    ",\"locations\":%" PRIu64 ",\"profiles\":%" PRIu64 ",\"rows\":%" PRIu64
		    ",\"first_ms\":%" PRId64 ",\"last_ms\":%" PRId64 "}",
		    s.bytes, s.n_series, s.n_stacks, s.n_locations, s.n_profiles, s.n_rows,
		    s.first_ms, s.last_ms);
}

static void symbols_as_json(struct api *a, struct buf *b)
{
	struct symbols_stat s = { 0 };

	symbols__stat(a->c.symbols, &s);
	buf__printf(b,
		    ",\"symbols\":{\"lookups\":%" PRIu64 ",\"hits\":%" PRIu64
		    ",\"files_read\":%" PRIu64 ",\"files_bad\":%" PRIu64
		    ",\"files_unreadable\":%" PRIu64 ",\"files_dropped\":%" PRIu64
		    ",\"table_bytes\":%" PRIu64 ",\"learned_bytes\":%" PRIu64
		    ",\"kallsyms_bytes\":%" PRIu64 ",\"queued\":%u}",
		    s.lookups, s.hits, s.files_read, s.files_bad, s.files_unreadable,
		    s.files_dropped, s.table_bytes, s.learned_bytes, s.kallsyms_bytes, s.n_queued);
}

void api__status(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct api *a = ctx;
	struct buf *b = &resp->body;
	char started[32];

	(void)req;
	buf__printf(b, "{\"version\":\"%s\",\"started\":\"%s\",", PACKAGE_VERSION,
		    units__format_time(a->started_real_ns, started));
	field(b, "node", a->c.node);
	buf__byte(b, ',');
	field(b, "data", a->c.data_dir);
	buf__byte(b, ',');
	field(b, "config", a->c.config_path);
	if (a->c.store_stat)
		store_as_json(a, b);
	if (a->c.symbols)
		symbols_as_json(a, b);
	if (api__engine(a)) {
		struct engine_stat e;

		engine__stat(api__engine(a), &e);
		buf__printf(b,
			    ",\"queries\":{\"asked\":%" PRIu64 ",\"failed\":%" PRIu64
			    ",\"refused\":%" PRIu64 ",\"running\":%u,\"waiting\":%u}",
			    e.asked, e.failed, e.refused, e.running, e.waiting);
	}
	buf__text(b, "}\n");
}

void api__healthy(void *ctx, const struct http_request *req, struct http_response *resp)
{
	(void)ctx;
	(void)req;
	snprintf(resp->content_type, sizeof(resp->content_type), "text/plain; charset=utf-8");
	buf__text(&resp->body, "ok\n");
}

static void count_failed(void *ctx, const struct api_instance *i)
{
	struct listing *l = ctx;

	l->n_failed += i->view.phase == INSTANCE_FAILED &&
		       str__eq(str__of(i->kind), STR("storage"));
}

/* Ready: questions can be answered. A sampler without rights does not make the server unready. */
void api__ready(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct api *a = ctx;
	struct listing l = { 0 };

	if (a->c.each_instance)
		a->c.each_instance(a->c.ctx, count_failed, &l);
	if (l.n_failed)
		http_response__problem(resp, 503, "a storage does not run; /api/v1/pipeline says why");
	else
		api__healthy(ctx, req, resp);
}

void api__metrics(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct api *a = ctx;

	(void)req;
	if (!a->c.stats) {
		http_response__problem(resp, 503, "nothing is counted here");
		return;
	}
	snprintf(resp->content_type, sizeof(resp->content_type),
		 "text/plain; version=0.0.4; charset=utf-8");
	stats__write_prometheus(a->c.stats, &resp->body);
}

void api__reload(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct api *a = ctx;
	struct dcm_error err = DCM_ERROR_INIT;
	int r;

	(void)req;
	if (!a->c.reload) {
		http_response__problem(resp, 503, "nothing can be reloaded here");
		return;
	}
	r = a->c.reload(a->c.ctx, &err);
	if (r < 0)
		http_response__problem(resp, r == -EINVAL ? 400 : http__status_of(r),
				       "%s; nothing was changed", err.text);
	else
		buf__text(&resp->body, "{\"reloaded\":true}\n");
}
