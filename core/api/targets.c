/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/api/targets.c - what inputs collect from: each address and profile, how it went, when it is next
 *
 * As the inputs tell it at that moment (dcm_input_ops.targets); nothing is kept here. JSON has all of
 * it, the text those that are asked.
 */
#include <errno.h>
#include <inttypes.h>

#include "core/api/internal.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/base/vec.h"
#include "core/query/render.h"

static const char *const healths[] = {
	[DCM_HEALTH_UNKNOWN] = "unknown", [DCM_HEALTH_UP] = "up",
	[DCM_HEALTH_DOWN] = "down",	  [DCM_HEALTH_OFF] = "off",
	[DCM_HEALTH_DROPPED] = "dropped",
};

static const char *health_of(const struct dcm_target *t)
{
	return t->health <= DCM_HEALTH_DROPPED ? healths[t->health] : healths[DCM_HEALTH_UNKNOWN];
}

/* ---- JSON ---- */

struct endpoints {
	struct buf *out;
	uint32_t n;
};

static void text_field(struct buf *b, const char *name, struct dcm_str value)
{
	buf__printf(b, "\"%s\":", name);
	buf__json(b, value);
	buf__byte(b, ',');
}

static void labels_field(struct buf *b, const char *name, const struct dcm_label_text *labels, uint32_t n)
{
	buf__printf(b, "\"%s\":{", name);
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			buf__byte(b, ',');
		buf__json(b, labels[i].name);
		buf__byte(b, ':');
		buf__json(b, labels[i].value);
	}
	buf__text(b, "},");
}

/* null for a moment that has not been. */
static void time_field(struct buf *b, const char *name, int64_t real_ns)
{
	char text[32];

	if (real_ns)
		buf__printf(b, "\"%s\":\"%s\",", name, units__format_time(real_ns, text));
	else
		buf__printf(b, "\"%s\":null,", name);
}

static void as_json(void *ctx, const char *input, const struct dcm_target *t)
{
	struct endpoints *e = ctx;
	struct buf *b = e->out;

	buf__text(b, e->n++ ? ",{" : "{");
	text_field(b, "input", str__of(input));
	text_field(b, "job", t->job);
	text_field(b, "profile", t->profile);
	text_field(b, "url", t->url);
	text_field(b, "health", str__of(health_of(t)));
	text_field(b, "error", t->error);
	labels_field(b, "discovered", t->discovered, t->n_discovered);
	labels_field(b, "labels", t->labels, t->n_labels);
	time_field(b, "last", t->last_real_ns);
	time_field(b, "next", t->next_real_ns);
	buf__printf(b,
		    "\"duration_ns\":%" PRId64 ",\"interval_ns\":%" PRId64
		    ",\"timeout_ns\":%" PRId64 ",\"bytes\":%" PRIu64 ",\"samples\":%" PRIu64
		    ",\"asked\":%" PRIu64 ",\"failed\":%" PRIu64 "}",
		    t->duration_ns, t->interval_ns, t->timeout_ns, t->bytes, t->samples, t->n_asked,
		    t->n_failed);
}

void api_endpoints__json(struct api *a, struct buf *out)
{
	struct endpoints e = { .out = out };

	if (a->c.each_target)
		a->c.each_target(a->c.ctx, as_json, &e);
}

/* ---- text ---- */

#define N_COLUMNS 10

struct table {
	struct arena *arena;
	struct buf *out;
	uint32_t n, n_dropped;
	VEC(struct dcm_str) cells;
};

static void add_cell(struct table *t, struct dcm_str text)
{
	struct dcm_str copy = arena__str(t->arena, text);

	if (!copy.p || !vec__push(&t->cells, copy))
		t->out->error = -ENOMEM;
}

/* For people; "" of what was not measured: its first answer has not come, or nobody asks it. */
static struct dcm_str measured(double v, struct dcm_str unit, char buf[static 48])
{
	return str__of(v > 0 ? units__format_value(v, unit, buf) : "");
}

static struct dcm_str label_of(const struct dcm_target *e, const char *name)
{
	for (uint32_t i = 0; i < e->n_labels; i++)
		if (str__eq(e->labels[i].name, str__of(name)))
			return e->labels[i].value;
	return STR("");
}

#define SKEW_MOST_MS (INT64_C(1000) * 365 * 86400 * 1000) /* a thousand years */

/* How far a sender's clock is ahead of ours: "+1.5s". */
static struct dcm_str skew_of(const struct dcm_target *e, char buf[static 50])
{
	char length[48];
	int64_t ms;

	/* Of a scraped target it is a label like others, and may be any text. */
	if (units__parse_int(label_of(e, "clock_skew_ms"), "", &ms) < 0 || ms < -SKEW_MOST_MS ||
	    ms > SKEW_MOST_MS)
		return STR("");
	units__format_duration((ms < 0 ? -ms : ms) * 1000000, length);
	snprintf(buf, 50, "%c%s", ms < 0 ? '-' : '+', length);
	return str__of(buf);
}

static void as_text(void *ctx, const char *input, const struct dcm_target *e)
{
	struct table *t = ctx;
	char when[32], took[48], size[48], skew[50];

	(void)input;
	if (e->health == DCM_HEALTH_DROPPED) {
		t->n_dropped++;
		return;
	}
	add_cell(t, e->job);
	add_cell(t, e->profile);
	add_cell(t, str__of(health_of(e)));
	add_cell(t, str__of(e->last_real_ns ? units__format_time(e->last_real_ns, when) : "never"));
	add_cell(t, measured((double)e->duration_ns, STR("nanoseconds"), took));
	add_cell(t, measured((double)e->bytes, STR("bytes"), size));
	add_cell(t, e->url);
	add_cell(t, label_of(e, "version"));
	add_cell(t, skew_of(e, skew));
	add_cell(t, e->error);
	t->n++;
}

void api_endpoints__text(struct api *a, struct arena *arena, struct buf *out)
{
	static const char *const heads[N_COLUMNS] = { "JOB",  "PROFILE", "STATE",   "LAST",  "TOOK",
						      "SIZE", "URL",	 "VERSION", "CLOCK", "WHAT" };
	struct table t = { .arena = arena, .out = out };

	if (a->c.each_target)
		a->c.each_target(a->c.ctx, as_text, &t);
	if (t.n && !out->error) {
		struct render_table r = { heads, N_COLUMNS, 1u << 4 | 1u << 5, t.cells.v, t.n };

		buf__byte(out, '\n');
		render__table(&r, &(struct render_options){ 0 }, out);
	}
	if (t.n_dropped)
		buf__printf(out, "\n%u more were found and dropped by relabelling; --format json lists them\n",
			    t.n_dropped);
	vec__fini(&t.cells);
}
