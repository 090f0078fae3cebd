/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/query/render.c - tables and trees as text
 */
#include "core/query/render.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/query/walk.h"

/* -------------------------------------------------------------------------------------------------
 * Cells
 */

/* How many columns a text takes: its characters; bytes that are none are shown as one '?' each. */
static uint32_t width_of(struct dcm_str s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s.n; n++) {
		unsigned len = str__utf8_len(s.p + i, s.n - i);
		i += len ? len : 1;
	}
	return n;
}

/* C0, DEL and C1: what moves a cursor or changes a colour. */
static bool is_control(const char *p, unsigned len)
{
	unsigned char c = (unsigned char)p[0];

	return (len == 1 && (c < ' ' || c == 0x7f)) ||
	       (len == 2 && c == 0xc2 && (unsigned char)p[1] < 0xa0);
}

void render__text(struct dcm_str s, uint32_t width, struct buf *out)
{
	uint32_t room = width, whole = width ? width_of(s) : 0;

	if (width && whole > width)
		room = width > 3 ? width - 3 : 0;
	for (uint32_t i = 0, n = 0; i < s.n && (!width || n < room); n++) {
		unsigned len = str__utf8_len(s.p + i, s.n - i);

		if (len == 0 || is_control(s.p + i, len))
			buf__byte(out, '?');
		else
			buf__append(out, s.p + i, len);
		i += len ? len : 1;
	}
	if (width && whole > width)
		buf__append(out, "...", width < 3 ? width : 3);
}

static void put_spaces(struct buf *out, uint32_t n)
{
	while (n-- > 0)
		buf__byte(out, ' ');
}

/* To the right of its column, with a space before it also where it does not fit. */
__attribute__((format(printf, 3, 4))) static void put_cell(struct buf *out, int width,
							   const char *fmt, ...)
{
	char text[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	buf__printf(out, " %*s", width - 1, text);
}

static void put_value(struct buf *out, int64_t v, const struct render_options *o)
{
	char text[48];

	put_cell(out, 10, "%s", units__format_value((double)v, o->unit, text));
}

static double share_of(int64_t v, int64_t total)
{
	return total ? 100.0 * (double)v / (double)total : 0;
}

static void put_share(struct buf *out, int64_t v, int64_t total)
{
	put_cell(out, 8, "%.2f%%", share_of(v, total));
}

/* Of a diff: both sides' values, by how much they differ, and whether that is more than chance. */
static void put_change(struct buf *out, const struct compare *c, const int64_t all[2],
		       const int64_t v[2], const struct render_options *o)
{
	struct comparison change = compare__values(c, all, v);
	double percent = 100 * change.change;
	char text[48];

	for (unsigned s = 0; s < 2; s++)
		put_cell(out, 10, "%s", units__format_value(compare__normal(c, s, v[s]), o->unit, text));
	if (change.delta == 0 || fabs(percent) < 0.05)
		put_cell(out, 9, "%s", "");
	else if (v[0] == 0 || v[1] == 0)
		put_cell(out, 9, "%s", v[0] == 0 ? "new" : "gone");
	else if (fabs(percent) < 1e6)
		put_cell(out, 9, fabs(percent) < 1000 ? "%+.1f%%" : "%+.0f%%", percent);
	else
		put_cell(out, 9, "%+.1e%%", percent);
	buf__byte(out, change.is_significant ? '*' : ' ');
}

enum { NAME_MIN = 16, INDENT_MIN = 16 };

/* Columns left for a name behind `used` ones; 0: unbounded. */
static uint32_t room_for_name(const struct render_options *o, size_t used)
{
	if (o->width == 0)
		return 0;
	return o->width > used + NAME_MIN ? o->width - (uint32_t)used : NAME_MIN;
}

/*
 * The frame as people read it: name, and where it is when a line or several binaries tell it apart.
 */
static void put_frame(struct buf *out, const struct frame *f, enum frames_group group, uint32_t width)
{
	struct buf text = { 0 };

	buf__str(&text, f->name);
	if ((group == FRAMES_LINE || group == FRAMES_ADDRESS) && f->file.n)
		buf__printf(&text, " %.*s:%" PRId64, STR_ARG(f->file), f->line);
	if (group == FRAMES_ADDRESS && !f->is_unnamed)
		buf__printf(&text, " @0x%" PRIx64, f->address);
	if (text.error)
		out->error = out->error ? out->error : text.error;
	render__text(buf__view(&text), width, out);
	buf__fini(&text);
}

/* -------------------------------------------------------------------------------------------------
 * Table
 */

static void put_top_row(const struct top *t, const struct top_row *r,
			const struct render_options *o, struct buf *out)
{
	const struct frame *f = &t->frames->v[r->frame];
	struct dcm_str binary = t->frames->group == FRAMES_BINARY || f->is_unnamed
					? STR("")
					: frames__base_name(f->binary);
	size_t start = out->n;

	if (t->n_values == 1) {
		put_value(out, r->self[0], o);
		put_share(out, r->self[0], t->total[0]);
		put_value(out, r->total[0], o);
		put_share(out, r->total[0], t->total[0]);
	} else {
		put_change(out, &t->frames->compare, t->all, r->self, o);
		put_change(out, &t->frames->compare, t->all, r->total, o);
	}
	put_spaces(out, 2);
	uint32_t room = room_for_name(o, out->n - start), tail = binary.n ? width_of(binary) + 3 : 0;
	if (room && tail && tail + 24 > room)
		tail = 0;
	put_frame(out, f, t->frames->group, room ? room - tail : 0);
	if (tail) {
		buf__text(out, " (");
		render__text(binary, 0, out);
		buf__byte(out, ')');
	}
	buf__byte(out, '\n');
}

static void put_sum(struct buf *out, const char *what, const int64_t v[2], uint32_t n_values,
		    const struct render_options *o)
{
	char a[48], b[48];

	units__format_value((double)v[0], o->unit, a);
	if (n_values == 1)
		buf__printf(out, "%s %s", what, a);
	else
		buf__printf(out, "%s %s and %s", what, a, units__format_value((double)v[1], o->unit, b));
}

static bool any(const int64_t v[2])
{
	return v[0] || v[1];
}

/* What the sides of a diff are, and what is known of chance. */
static void put_sides(const struct compare *c, const int64_t all[2], const struct render_options *o,
		      struct buf *out)
{
	char text[128];

	for (unsigned k = 0; k < 2; k++) {
		const struct compare_side *s = &c->side[k];
		double n = compare__samples(c, k, all[k]);

		buf__printf(out, "%s%c: %s", k ? "; " : "", 'A' + k,
			    units__format_value((double)all[k], o->unit, text));
		if (s->to_ms > s->from_ms)
			buf__printf(out, " in %s",
				    units__format_value(compare__seconds(c, k), STR("seconds"), text));
		if (s->is_told)
			buf__printf(out, ", %" PRIu64 " profile%s", s->n_profiles,
				    s->n_profiles == 1 ? "" : "s");
		if (!isnan(n))
			buf__printf(out, ", %s samples", units__format_value(n, STR("count"), text));
	}
	const char *why = compare__untested(c, all, text);
	if (why)
		buf__printf(out, "\nwhich changes are significant is not known: %s\n", why);
	else
		buf__printf(out, "\n* its share of the samples changed: |z| >= %.2f, which chance alone does once in %.0f times\n",
			    COMPARE_LEVEL, 1 / (1 - COMPARE_CONFIDENCE));
}

/* "A/s" heads a column of rates. */
static void put_heads(const struct compare *c, const char *const heads[2], struct buf *out)
{
	for (unsigned k = 0; k < 2; k++) {
		char text[16];

		snprintf(text, sizeof(text), "%s%s", heads[k], c->by == COMPARE_RATES ? "/s" : "");
		put_cell(out, 10, "%s", text);
	}
	put_cell(out, 9, "change");
	buf__byte(out, ' ');
}

void render__top(const struct top *t, const struct render_options *o, struct buf *out)
{
	uint32_t n = o->max_rows && o->max_rows < t->n ? o->max_rows : t->n;
	int64_t rest[2] = { t->rest[0], t->rest[1] };

	if (t->n_values == 1) {
		buf__text(out, "      self   share     total   share  function\n");
	} else {
		put_heads(&t->frames->compare, (const char *const[]){ "self A", "self B" }, out);
		put_heads(&t->frames->compare, (const char *const[]){ "total A", "total B" }, out);
		buf__text(out, "  function\n");
	}
	for (uint32_t i = 0; i < n; i++)
		put_top_row(t, &t->rows[i], o, out);
	for (uint32_t i = n; i < t->n; i++)
		for (unsigned s = 0; s < 2; s++)
			rest[s] = walk__add(rest[s], t->rows[i].self[s]);
	put_sum(out, "total", t->total, t->n_values, o);
	if (n < t->n_all) {
		buf__printf(out, "; %u of %u functions shown,", n, t->n_all);
		put_sum(out, " the others have", rest, t->n_values, o);
		buf__text(out, " of their own");
	}
	if (any(t->no_frame))
		put_sum(out, "; without a frame", t->no_frame, t->n_values, o);
	if (any(t->filtered))
		put_sum(out, "; filtered out", t->filtered, t->n_values, o);
	buf__byte(out, '\n');
	if (t->n_values > 1)
		put_sides(&t->frames->compare, t->all, o, out);
}

/* -------------------------------------------------------------------------------------------------
 * Tree
 */

struct heavy {
	uint64_t weight;
	uint32_t node;
};

static int compare_heavy(const void *a, const void *b)
{
	const struct heavy *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->node < y->node ? -1 : 1;
}

/* Which nodes are shown: the heaviest whose parents are. NULL: out of memory. */
static bool *choose_nodes(const struct flame *f, uint32_t max_rows)
{
	bool *shown = mem__zalloc(f->n, sizeof(*shown));
	CLEANUP(mem__freep) struct heavy *v = mem__resize(NULL, f->n, sizeof(*v));
	const double factor[2] = { compare__factor(&f->frames->compare, 0),
				   compare__factor(&f->frames->compare, 1) };

	if (!shown || !v) {
		free(shown);
		return NULL;
	}
	for (uint32_t i = 0; i < f->n; i++) {
		uint64_t a = compare__weight(factor[0], f->total[0][i]),
			 b = f->n_values > 1 ? compare__weight(factor[1], f->total[1][i]) : 0;

		v[i] = (struct heavy){ a + b < a ? UINT64_MAX : a + b, i };
	}
	if (max_rows && max_rows < f->n)
		qsort(v, f->n, sizeof(*v), compare_heavy);
	for (uint32_t i = 0, left = max_rows ? max_rows : f->n; i < f->n && left > 0; i++)
		if (v[i].node == 0 || shown[f->parent[v[i].node]]) {
			shown[v[i].node] = true;
			left--;
		}
	return shown;
}

/* How far a tree is indented behind `used` columns: names have room too. */
static uint32_t most_indent(const struct render_options *o, size_t used)
{
	uint32_t most = o->width ? o->width / 2 : 200;

	if (o->width && most + used + NAME_MIN > o->width)
		most = o->width > used + NAME_MIN ? o->width - (uint32_t)used - NAME_MIN : 0;
	return most > INDENT_MIN ? most : INDENT_MIN;
}

static void put_node(const struct flame *f, uint32_t i, const struct render_options *o, struct buf *out)
{
	uint32_t indent = f->depth[i] * 2;
	size_t start = out->n;

	if (f->n_values == 1) {
		put_share(out, f->total[0][i], f->total[0][0]);
		put_value(out, f->total[0][i], o);
		put_value(out, f->self[0][i], o);
	} else {
		const int64_t v[2] = { f->total[0][i], f->total[1][i] };

		put_change(out, &f->frames->compare, f->all, v, o);
		put_share(out, v[0], f->total[0][0]);
		put_share(out, v[1], f->total[1][0]);
	}
	put_spaces(out, 2);
	size_t used = out->n - start;
	uint32_t most = most_indent(o, used);
	if (indent > most) {
		/* Too deep to indent: say how deep. */
		char depth[24];
		int n = snprintf(depth, sizeof(depth), "[%u] ", f->depth[i]);

		put_spaces(out, most - (uint32_t)n);
		buf__text(out, depth);
		indent = most;
	} else {
		put_spaces(out, indent);
	}
	if (i == 0)
		buf__text(out, "total");
	else
		put_frame(out, &f->frames->v[f->frame[i]], f->frames->group,
			  room_for_name(o, used + indent));
	buf__byte(out, '\n');
}

void render__flame(const struct flame *f, const struct render_options *o, struct buf *out)
{
	CLEANUP(mem__freep) bool *shown = choose_nodes(f, o->max_rows);
	int64_t left[2] = { 0 };
	uint64_t n_left = f->n_trimmed;

	if (!shown) {
		out->error = out->error ? out->error : -ENOMEM;
		return;
	}
	if (f->n_values == 1) {
		buf__text(out, "   share     total      self  function\n");
	} else {
		put_heads(&f->frames->compare, (const char *const[]){ "A", "B" }, out);
		buf__text(out, " share A share B  function\n");
	}
	for (uint32_t i = 0; i < f->n; i++) {
		if (shown[i]) {
			put_node(f, i, o, out);
			for (uint32_t s = 0; f->trimmed[0] && s < f->n_values; s++)
				left[s] = walk__add(left[s], f->trimmed[s][i]);
			continue;
		}
		n_left++;
		for (uint32_t s = 0; shown[f->parent[i]] && s < f->n_values; s++)
			left[s] = walk__add(left[s], f->total[s][i]);
	}
	if (n_left) {
		buf__printf(out, "smaller frames not shown: %" PRIu64, n_left);
		put_sum(out, ", weighing", left, f->n_values, o);
		buf__byte(out, '\n');
	}
	if (any(f->filtered)) {
		put_sum(out, "filtered out", f->filtered, f->n_values, o);
		buf__byte(out, '\n');
	}
	if (f->n_values > 1)
		put_sides(&f->frames->compare, f->all, o, out);
}

/* -------------------------------------------------------------------------------------------------
 * Lists
 */

void render__table(const struct render_table *t, const struct render_options *o, struct buf *out)
{
	CLEANUP(mem__freep) uint32_t *widths = mem__zalloc(t->n_columns, sizeof(*widths));
	uint32_t n = o->max_rows && o->max_rows < t->n_rows ? o->max_rows : t->n_rows;

	if (!widths) {
		out->error = out->error ? out->error : -ENOMEM;
		return;
	}
	for (uint32_t c = 0; c < t->n_columns; c++) {
		widths[c] = width_of(str__of(t->heads[c]));
		for (uint32_t r = 0; r < n; r++) {
			uint32_t w = width_of(t->cells[(size_t)r * t->n_columns + c]);
			widths[c] = w > widths[c] ? w : widths[c];
		}
	}
	for (uint32_t r = 0; r <= n; r++) {
		uint32_t used = 0;

		for (uint32_t c = 0; c < t->n_columns; c++) {
			struct dcm_str cell = r ? t->cells[(size_t)(r - 1) * t->n_columns + c]
						: str__of(t->heads[c]);
			bool last = c + 1 == t->n_columns, right = t->right >> (c & 63) & 1;

			if (right)
				put_spaces(out, widths[c] - width_of(cell));
			render__text(cell, last && !right ? room_for_name(o, used) : 0, out);
			if (!right && !last)
				put_spaces(out, widths[c] - width_of(cell));
			if (!last)
				put_spaces(out, 2);
			used += widths[c] + 2;
		}
		buf__byte(out, '\n');
	}
	if (n < t->n_rows)
		buf__printf(out, "%u of %u shown\n", n, t->n_rows);
}
