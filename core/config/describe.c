/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/describe.c - option tables as text, Markdown, a man page's section, and JSON
 *
 * Each form is a pair of callbacks for describe__walk(). The YAML form is describe_yaml.c.
 */
#include "core/config/describe.h"

#include <string.h>

#include "core/base/str.h"
#include "core/config/describe_walk.h"
#include "core/config/table.h"

static void walk_all(const struct describe_subject *s, const struct describe_form *form)
{
	for (uint32_t i = 0; i < s->n_tables; i++)
		describe__walk(s->tables[i], form);
}

static void indent(struct buf *out, unsigned n)
{
	buf__printf(out, "%*s", (int)n, "");
}

/* ------------------------------------------------------------------------------------------------
 * Text
 */

/* A row's name stands at this column; its doc four further. */
static unsigned text_column(unsigned depth)
{
	return 2 + 4 * depth;
}

static void text_row(void *ctx, const struct describe_row *r)
{
	struct buf *out = ctx, head = { 0 };

	buf__byte(out, '\n');
	buf__printf(&head, "%s (%s)", r->row->name, r->facts);
	describe__wrap(head.data ? (const char *)head.data : r->row->name, text_column(r->depth),
		       "", out);
	buf__fini(&head);
	if (r->row->doc)
		describe__wrap(r->row->doc, text_column(r->depth) + 4, "", out);
}

static void text_enter(void *ctx, const struct describe_row *r, const char *intro)
{
	describe__wrap(intro, text_column(r->depth) + 4, "", ctx);
}

static void nothing(void *ctx, const struct describe_row *r)
{
	(void)ctx;
	(void)r;
}

void describe__text(const struct describe_subject *s, struct buf *out)
{
	struct describe_form form = { text_row, text_enter, nothing, out, out, s->of_program };

	buf__printf(out, "%s\n", s->title);
	describe__wrap(s->summary ? s->summary : "", 2, "", out);
	walk_all(s, &form);
}

/* ------------------------------------------------------------------------------------------------
 * Markdown
 */

static void markdown_row(void *ctx, const struct describe_row *r)
{
	struct buf *out = ctx, line = { 0 };

	indent(out, 2 * r->depth);
	buf__text(out, "- ");
	buf__printf(&line, "`%s` (%s)%s%s", r->row->name, r->facts, r->row->doc ? ": " : "",
		    r->row->doc ? r->row->doc : "");
	struct buf wrapped = { 0 };
	describe__wrap(describe__line(&line, out), 2 * r->depth + 2, "", &wrapped);
	/* The dash took the first line's indentation. */
	const char *rest = describe__line(&wrapped, out);
	buf__text(out, rest + strspn(rest, " "));
	buf__fini(&wrapped);
	buf__fini(&line);
}

static void markdown_enter(void *ctx, const struct describe_row *r, const char *intro)
{
	if (!intro[0])
		return;
	buf__byte(ctx, '\n');
	describe__wrap(intro, 2 * r->depth + 2, "", ctx);
	buf__byte(ctx, '\n');
}

void describe__markdown(const struct describe_subject *s, struct buf *out)
{
	struct describe_form form = { markdown_row, markdown_enter, nothing, out, out, s->of_program };

	buf__printf(out, "### %s\n\n", s->title);
	describe__wrap(s->summary ? s->summary : "", 0, "", out);
	buf__byte(out, '\n');
	walk_all(s, &form);
}

/* ------------------------------------------------------------------------------------------------
 * man(7)
 */

/* Text in which roff sees no macro, escape or hyphenation: groff_char(7). */
static void roff(const char *text, struct buf *out)
{
	bool line_begins = true;

	for (; *text; text++) {
		if (line_begins && (*text == '.' || *text == '\''))
			buf__text(out, "\\&");
		if (*text == '\\')
			buf__text(out, "\\e");
		else if (*text == '-')
			buf__text(out, "\\-");
		else if (*text == '"')
			buf__text(out, "\\(dq");
		else
			buf__byte(out, (uint8_t)*text);
		line_begins = *text == '\n';
	}
}

static void man_row(void *ctx, const struct describe_row *r)
{
	struct buf *out = ctx;

	buf__text(out, ".TP\n\\fB");
	roff(r->row->name, out);
	buf__text(out, "\\fR (");
	roff(r->facts, out);
	buf__text(out, ")\n");
	roff(r->row->doc ? r->row->doc : "", out);
	buf__byte(out, '\n');
}

static void man_enter(void *ctx, const struct describe_row *r, const char *intro)
{
	(void)r;
	if (intro[0])
		buf__printf(ctx, ".br\n%s\n", intro);
	buf__text(ctx, ".RS\n");
}

static void man_leave(void *ctx, const struct describe_row *r)
{
	(void)r;
	buf__text(ctx, ".RE\n");
}

void describe__man(const struct describe_subject *s, struct buf *out)
{
	struct describe_form form = { man_row, man_enter, man_leave, out, out, s->of_program };

	buf__text(out, ".SS ");
	roff(s->title, out);
	buf__byte(out, '\n');
	roff(s->summary ? s->summary : "", out);
	buf__byte(out, '\n');
	walk_all(s, &form);
}

/* ------------------------------------------------------------------------------------------------
 * JSON
 */

struct json {
	struct buf *out;
	bool comma; /* before the next row */
};

static void member(struct buf *out, const char *name, const char *text)
{
	if (!text)
		return;
	buf__printf(out, ",\"%s\":", name);
	buf__json(out, str__of(text));
}

static void json_row(void *ctx, const struct describe_row *r)
{
	const struct dcm_option *row = r->row;
	struct json *j = ctx;
	char type[48];

	buf__text(j->out, j->comma ? ",{\"name\":" : "{\"name\":");
	buf__json(j->out, str__of(row->name));
	member(j->out, "type", table__type_text(row, type));
	member(j->out, "default", row->def);
	member(j->out, "min", row->min);
	member(j->out, "max", row->max);
	member(j->out, "unit", row->unit);
	if (row->choices) {
		buf__text(j->out, ",\"choices\":[");
		for (size_t i = 0; row->choices[i]; i++) {
			buf__text(j->out, i ? "," : "");
			buf__json(j->out, str__of(row->choices[i]));
		}
		buf__byte(j->out, ']');
	}
	if (row->flags & DCM_OPT_REQUIRED)
		buf__text(j->out, ",\"required\":true");
	if (row->flags & DCM_OPT_RESTART)
		buf__text(j->out, ",\"restart\":true");
	if (row->flags & DCM_OPT_ONE_IS_LIST)
		buf__text(j->out, ",\"one_is_list\":true");
	member(j->out, "doc", row->doc);
	j->comma = true;
	if (!r->has_inner)
		buf__byte(j->out, '}');
}

static void json_enter(void *ctx, const struct describe_row *r, const char *intro)
{
	struct json *j = ctx;

	(void)r;
	(void)intro;
	buf__text(j->out, ",\"options\":[");
	j->comma = false;
}

static void json_leave(void *ctx, const struct describe_row *r)
{
	struct json *j = ctx;

	(void)r;
	buf__text(j->out, "]}");
	j->comma = true;
}

void describe__json(const struct describe_subject *s, struct buf *out)
{
	struct json j = { .out = out };
	struct describe_form form = { json_row, json_enter, json_leave, &j, out, s->of_program };

	buf__text(out, "{\"title\":");
	buf__json(out, str__of(s->title));
	member(out, "summary", s->summary);
	buf__text(out, ",\"options\":[");
	walk_all(s, &form);
	buf__text(out, "]}");
}
