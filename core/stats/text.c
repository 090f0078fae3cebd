/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/stats/text.c - the registry in Prometheus' text format 0.0.4
 *
 * A histogram's buckets are made cumulative here, and its _count is their sum, so that the
 * invariants of the format hold although the counts were read while others added to them. Source:
 * https://prometheus.io/docs/instrumenting/exposition_formats/
 */
#include "core/stats/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct writer {
	struct buf *b;
	const char *family; /* name of the last header; texts are unique per family */
};

/* The shortest of two precisions that reads back as the same number. */
static void write_double(struct buf *b, double v)
{
	char text[32];

	if (isnan(v) || isinf(v)) {
		buf__text(b, isnan(v) ? "NaN" : v < 0 ? "-Inf" : "+Inf");
		return;
	}
	snprintf(text, sizeof(text), "%.15g", v);
	if (strtod(text, NULL) != v)
		snprintf(text, sizeof(text), "%.17g", v);
	buf__text(b, text);
}

static void write_header(struct buf *b, const struct stats_view *view)
{
	static const char *const kinds[] = {
		[STATS_COUNTER] = "counter",
		[STATS_GAUGE] = "gauge",
		[STATS_HISTOGRAM] = "histogram",
	};

	buf__printf(b, "# HELP %s ", view->name);
	for (const char *c = view->help; *c; c++) {
		if (*c == '\n')
			buf__text(b, "\\n");
		else if (*c == '\\')
			buf__text(b, "\\\\");
		else
			buf__byte(b, (uint8_t)*c);
	}
	buf__printf(b, "\n# TYPE %s %s\n", view->name, kinds[view->kind]);
}

static void write_histogram(struct buf *b, const struct stats_view *view)
{
	const char *comma = view->n_labels ? "," : "";
	const char *open = view->n_labels ? "{" : "", *close = view->n_labels ? "}" : "";
	uint64_t sum = 0;

	for (unsigned i = 0; i <= view->layout->n; i++) {
		sum += view->buckets[i];
		buf__printf(b, "%s_bucket{%s%sle=\"", view->name, view->labels_text, comma);
		write_double(b, i < view->layout->n ? stats__bound(view->layout, i) : INFINITY);
		buf__printf(b, "\"} %llu\n", (unsigned long long)sum);
	}
	buf__printf(b, "%s_sum%s%s%s ", view->name, open, view->labels_text, close);
	write_double(b, view->value);
	buf__printf(b, "\n%s_count%s%s%s %llu\n", view->name, open, view->labels_text, close,
		    (unsigned long long)view->count);
}

static void write_view(void *ctx, const struct stats_view *view)
{
	struct writer *w = ctx;
	struct buf *b = w->b;

	if (w->family != view->name)
		write_header(b, view);
	w->family = view->name;
	if (view->kind == STATS_HISTOGRAM) {
		write_histogram(b, view);
		return;
	}
	buf__text(b, view->name);
	if (view->n_labels)
		buf__printf(b, "{%s}", view->labels_text);
	buf__byte(b, ' ');
	if (view->is_exact)
		buf__printf(b, "%llu", (unsigned long long)view->count);
	else
		write_double(b, view->value);
	buf__byte(b, '\n');
}

int stats__write_prometheus(struct stats *s, struct buf *b)
{
	struct writer w = { .b = b };

	stats__each(s, write_view, &w);
	return b->error;
}
