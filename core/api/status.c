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
#include "core/base/log_tail.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/base/vec.h"
#include "core/query/render.h"

static const char *const state_names[] = { "starting", "ok", "degraded", "failed", "stopped" };

static void field(struct buf *b, const char *name, const char *value)
{
	buf__printf(b, "\"%s\":", name);
	buf__json(b, str__of(value));
}

/* ------------------------------------------------------------------------------------------------
 * Instances
 */

/* An answer under way: JSON goes straight to the body, text is gathered into a table's cells. */
struct listing {
	struct arena *arena;
	struct buf *out;
	bool inputs_only;
	uint32_t n, n_failed;
	VEC(struct dcm_str) cells;
};

/* Out of memory, the answer as a whole fails. */
static void add_row(struct listing *l, const struct dcm_str *cells, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct dcm_str copy = arena__str(l->arena, cells[i]);

		if (!copy.p || !vec__push(&l->cells, copy)) {
			l->out->error = -ENOMEM;
			return;
		}
	}
	l->n++;
}

/* Ends a table, so that another can begin. */
static void write_table(struct listing *l, const char *const *heads, uint32_t n_columns, uint64_t right)
{
	struct render_table t = { heads, n_columns, right, l->cells.v, l->n };

	if (!l->out->error)
		render__table(&t, &(struct render_options){ 0 }, l->out);
	vec__fini(&l->cells);
	l->n = 0;
}

static struct dcm_str number(struct listing *l, uint64_t n)
{
	return str__of(arena__printf(l->arena, "%" PRIu64, n));
}

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
	const struct dcm_str cells[] = { str__of(i->kind), str__of(i->name),
					 str__of(state_names[i->view.state.state]),
					 str__of(i->view.state.sentence) };

	if (!l->inputs_only || is_input(i))
		add_row(l, cells, 4);
}

static void instances_as_text(struct api *a, struct listing *l, struct http_response *resp)
{
	static const char *const heads[] = { "KIND", "NAME", "STATE", "WHAT" };

	snprintf(resp->content_type, sizeof(resp->content_type), "text/plain; charset=utf-8");
	a->c.each_instance(a->c.ctx, instance_as_text, l);
	write_table(l, heads, 4, 0);
}

void api__targets(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct api *a = ctx;
	struct listing l = { .arena = req->arena, .out = &resp->body, .inputs_only = true };
	enum api_format format;

	if (!api_param__format(req, &format, resp))
		return;
	if (!a->c.each_instance) {
		http_response__problem(resp, 503, "no daemon runs here, so nothing is collected");
	} else if (format == API_TEXT) {
		instances_as_text(a, &l, resp);
		api_endpoints__text(a, req->arena, l.out);
	} else {
		buf__text(l.out, "{\"targets\":[");
		a->c.each_instance(a->c.ctx, instance_as_json, &l);
		buf__text(l.out, "],\"endpoints\":[");
		api_endpoints__json(a, l.out);
		buf__text(l.out, "]}\n");
	}
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
			    v->queue->n_out, v->queue->n_out_rows, v->queue->n_retries);
		field(l->out, "trouble", v->writer->trouble);
	}
	if (v->spooler)
		buf__printf(l->out,
			    ",\"spool\":{\"open\":%s,\"bytes\":%" PRIu64 ",\"batches\":%" PRIu64
			    ",\"rows\":%" PRIu64 ",\"oldest_ms\":%" PRId64 ",\"set_aside\":%" PRIu64
			    ",\"set_aside_bytes\":%" PRIu64 "}",
			    v->spooler->is_open ? "true" : "false", v->spooler->spool.bytes,
			    v->spooler->spool.n_batches, v->spooler->spool.n_rows,
			    v->spooler->spool.oldest_real_ns / 1000000, v->spooler->spool.n_aside,
			    v->spooler->spool.aside_bytes);
	buf__byte(l->out, '}');
}

static void queue_as_text(void *ctx, const struct pipeline_view *v)
{
	struct listing *l = ctx;
	const struct dcm_str cells[] = { str__of(v->name),
					 number(l, v->queue->bytes),
					 number(l, v->queue->n_in),
					 number(l, v->queue->n_out),
					 number(l, v->queue->n_lost_batches),
					 v->spooler ? number(l, v->spooler->spool.n_batches) : STR("-"),
					 str__of(v->writer ? v->writer->trouble : "") };

	add_row(l, cells, 7);
}

static bool is_loss(const struct stats_view *v)
{
	return str__eq(str__of(v->name), STR("decima_dropped_total")) && v->count > 0;
}

/* The pipeline's own losses are rows; other reasons name what they count: see drop() in plugin.h. */
#define LOST_ROWS "ROWS, OR AS THE REASON SAYS"

/* {"instance":..,"reason":..,"n":..} of each pair that has lost something. */
static void loss_as_json(void *ctx, const struct stats_view *v)
{
	struct listing *l = ctx;

	if (!is_loss(v))
		return;
	buf__text(l->out, l->n++ ? ",{" : "{");
	for (size_t i = 0; i < v->n_labels; i++) {
		field(l->out, v->labels[i].name, v->labels[i].value);
		buf__byte(l->out, ',');
	}
	buf__printf(l->out, "\"n\":%" PRIu64 "}", v->count);
}

static void loss_as_text(void *ctx, const struct stats_view *v)
{
	struct listing *l = ctx;
	struct dcm_str cells[3] = { 0 };

	if (!is_loss(v))
		return;
	for (size_t i = 0; i < v->n_labels; i++)
		cells[str__eq(str__of(v->labels[i].name), STR("reason"))] = str__of(v->labels[i].value);
	cells[2] = number(l, v->count);
	add_row(l, cells, 3);
}

static void pipeline_as_text(struct api *a, struct listing *l, struct http_response *resp)
{
	static const char *const queues[] = { "QUEUE",	     "BYTES",	     "BATCHES IN",
					      "BATCHES OUT", "BATCHES LOST", "IN SPOOL",
					      "TROUBLE" };
	static const char *const losses[] = { "LOST BY", "REASON", LOST_ROWS };

	instances_as_text(a, l, resp);
	buf__byte(l->out, '\n');
	pipeline__each(a->c.pipeline, queue_as_text, l);
	write_table(l, queues, 7, 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4 | 1u << 5);
	stats__each(a->c.stats, loss_as_text, l);
	if (l->n == 0)
		return;
	buf__byte(l->out, '\n');
	write_table(l, losses, 3, 1u << 2);
}

static void pipeline_as_json(struct api *a, struct listing *l)
{
	buf__text(l->out, "{\"instances\":[");
	a->c.each_instance(a->c.ctx, instance_as_json, l);
	buf__text(l->out, "],\"queues\":[");
	l->n = 0;
	pipeline__each(a->c.pipeline, queue_as_json, l);
	buf__text(l->out, "],\"losses\":[");
	l->n = 0;
	stats__each(a->c.stats, loss_as_json, l);
	buf__text(l->out, "]}\n");
}

void api__pipeline(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct api *a = ctx;
	struct listing l = { .arena = req->arena, .out = &resp->body };
	enum api_format format;

	if (!api_param__format(req, &format, resp))
		return;
	if (!a->c.each_instance || !a->c.pipeline || !a->c.stats)
		http_response__problem(resp, 503, "no daemon runs here, so there is no pipeline");
	else if (format == API_TEXT)
		pipeline_as_text(a, &l, resp);
	else
		pipeline_as_json(a, &l);
}

/* ------------------------------------------------------------------------------------------------
 * The log's last lines
 */

static void line_as_json(void *ctx, const struct log_tail_line *line)
{
	struct listing *l = ctx;
	char when[32];

	buf__printf(l->out, "%s{\"time\":\"%s\",\"level\":\"%s\",\"area\":", l->n++ ? "," : "",
		    units__format_time(line->real_ns, when), line->level_name);
	buf__json(l->out, line->area);
	buf__text(l->out, ",\"message\":");
	buf__json(l->out, line->text);
	buf__byte(l->out, '}');
}

static void line_as_text(void *ctx, const struct log_tail_line *line)
{
	struct listing *l = ctx;
	char when[32];

	buf__printf(l->out, "%s %s %.*s: %.*s\n", units__format_time(line->real_ns, when),
		    line->level_name, STR_ARG(line->area), STR_ARG(line->text));
}

void api__log(void *ctx, const struct http_request *req, struct http_response *resp)
{
	const struct api *a = ctx;
	struct listing l = { .arena = req->arena, .out = &resp->body };
	enum api_format format;

	if (!api_param__format(req, &format, resp))
		return;
	if (!a->c.log_tail) {
		http_response__problem(resp, 503, "no daemon runs here, so there is no log");
	} else if (format == API_TEXT) {
		snprintf(resp->content_type, sizeof(resp->content_type), "text/plain; charset=utf-8");
		log_tail__each(a->c.log_tail, line_as_text, &l);
	} else {
		buf__text(l.out, "{\"lines\":[");
		log_tail__each(a->c.log_tail, line_as_json, &l);
		buf__text(l.out, "]}\n");
	}
}

/* ------------------------------------------------------------------------------------------------
 * Status
 */

static void symbols_as_json(struct api *a, struct buf *b)
{
	struct symbols_stat s = { 0 };

	symbols__stat(a->c.symbols, &s);
	buf__printf(b,
		    ",\"symbols\":{\"lookups\":%" PRIu64 ",\"hits\":%" PRIu64
		    ",\"files_read\":%" PRIu64 ",\"files_bad\":%" PRIu64
		    ",\"files_unreadable\":%" PRIu64 ",\"files_dropped\":%" PRIu64
		    ",\"table_bytes\":%" PRIu64 ",\"learned_bytes\":%" PRIu64
		    ",\"kallsyms_bytes\":%" PRIu64 ",\"queued\":%u,\"store_bytes\":%" PRIu64
		    ",\"store_files\":%" PRIu64 ",\"store_state\":",
		    s.lookups, s.hits, s.files_read, s.files_bad, s.files_unreadable,
		    s.files_dropped, s.table_bytes, s.learned_bytes, s.kallsyms_bytes, s.n_queued,
		    s.store_bytes, s.store_files);
	buf__json(b, str__of(s.store_state));
	buf__byte(b, ',');
	field(b, "workers_state", a->c.workers_state ? a->c.workers_state(a->c.ctx) : "");
	buf__byte(b, '}');
}

void api__config(void *ctx, const struct http_request *req, struct http_response *resp)
{
	const struct api *a = ctx;

	(void)req;
	if (!a->c.effective) {
		http_response__problem(resp, 503, "no daemon runs here, so there is no configuration");
		return;
	}
	snprintf(resp->content_type, sizeof(resp->content_type), "application/yaml"); /* RFC 9512 */
	a->c.effective(a->c.ctx, &resp->body);
}

void api__status(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct api *a = ctx;
	struct buf *b = &resp->body;
	const int64_t reloaded = a->c.reloaded_real_ns ? a->c.reloaded_real_ns(a->c.ctx) : 0;
	char time[32];

	(void)req;
	buf__printf(b, "{\"version\":\"%s\",\"started\":\"%s\",", PACKAGE_VERSION,
		    units__format_time(a->started_real_ns, time));
	if (reloaded)
		buf__printf(b, "\"reloaded\":\"%s\",", units__format_time(reloaded, time));
	field(b, "node", a->c.node);
	buf__byte(b, ',');
	field(b, "data", a->c.data_dir);
	buf__byte(b, ',');
	field(b, "config", a->c.config_path);
	struct dcm_store_stat store = { .size = sizeof(store) };
	if (a->c.store_stat && a->c.store_stat(a->c.ctx, &store)) {
		buf__text(b, ",\"storage\":");
		api__put_store(&store, b);
	}
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

/* A configuration that does not do is the caller's to mend, whatever it was that it ran into. */
static int status_of_reload(int r)
{
	switch (-r) {
	case EINVAL:
		return 400;
	case EBUSY:
		return 409;
	case ENOMEM:
	case ESHUTDOWN:
		return 503;
	default:
		return 422;
	}
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
		http_response__problem(resp, status_of_reload(r), "%s; nothing was changed", err.text);
	else
		buf__text(&resp->body, "{\"reloaded\":true}\n");
}
