/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/effective.c - the values that hold, as YAML: what was said, and every default
 *
 * The same recursion over rows as filling, with the node that was read beside the value.
 */
#include "core/config/effective.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/base/units.h"
#include "core/config/dump.h"
#include "core/config/table.h"

struct writer {
	struct buf *out;
	bool hides;
	bool no_env; /* of the row, or one around it: ${NAME} is not replaced there */
};

/* For values that stand in one that was said: they are of it, whatever they are. */
static const struct node of_what_was_said = { .kind = NODE_SCALAR };

static void end_line(const struct writer *w, const struct node *said)
{
	buf__text(w->out, said ? "\n" : "  # default\n");
}

static void spaces(const struct writer *w, unsigned n)
{
	buf__printf(w->out, "%*s", (int)n, "");
}

/* ------------------------------------------------------------------------------------------------
 * Scalars
 */

/* Such that what expands ${NAME} gives the text back. */
static void escape(const struct writer *w, const char *text, size_t n, struct buf *to)
{
	for (size_t i = 0; i < n; i++) {
		if (!w->no_env && str__starts((struct dcm_str){ text + i, (uint32_t)(n - i) }, STR("${")))
			buf__byte(to, '$');
		buf__byte(to, (uint8_t)text[i]);
	}
}

/* How many bytes of a text come before one of `ends`; in JSON, before the string's own end too. */
static size_t span(const char *text, const char *ends, bool is_json)
{
	size_t n = 0;

	while (text[n] && !strchr(ends, text[n]) && !(is_json && text[n] == '"'))
		n += is_json && text[n] == '\\' && text[n + 1] ? 2 : 1;
	return n;
}

/*
 * A text with its URLs' secrets hidden: what stands before the host, where a user's name may be a
 * token, and the query. SCHEME://USER:PASSWORD@HOST/PATH?QUERY#..: RFC 3986, 3.2.1 and 3.4.
 */
static void escape_urls(const struct writer *w, const char *text, bool is_json, struct buf *to)
{
	const char *host, *at, *query;

	while ((host = strstr(text, "://"))) {
		host += 3;
		escape(w, text, (size_t)(host - text), to);
		at = memrchr(host, '@', span(host, "/?# ", is_json));
		if (at && at > host)
			buf__text(to, EFFECTIVE_HIDDEN);
		text = at ? at : host;
		query = text + span(text, "?# ", is_json);
		if (*query != '?' || span(query + 1, "# ", is_json) == 0 ||
		    memmem(text, (size_t)(query - text), "://", 3))
			continue; /* none, or another URL's */
		escape(w, text, (size_t)(query - text) + 1, to);
		buf__text(to, EFFECTIVE_HIDDEN);
		text = query + span(query, "# ", is_json);
	}
	escape(w, text, strlen(text), to);
}

static void write_text(const struct writer *w, const char *text)
{
	struct buf shown = { 0 };

	if (w->hides)
		escape_urls(w, text, false, &shown);
	else
		escape(w, text, strlen(text), &shown);
	if (shown.error)
		w->out->error = shown.error;
	else
		dump__scalar(buf__view(&shown), w->out);
	buf__fini(&shown);
}

/* JSON is YAML in one line. */
static void write_json(const struct writer *w, const char *text)
{
	if (w->hides)
		escape_urls(w, text, true, w->out);
	else
		escape(w, text, strlen(text), w->out);
}

/* The fewest digits that read back as the same number. */
static void write_number(const struct writer *w, double v, const char *unit)
{
	char digits[40];

	for (int precision = 6; precision <= 17; precision++) {
		snprintf(digits, sizeof(digits), "%.*g", precision, v);
		if (strtod(digits, NULL) == v)
			break;
	}
	buf__printf(w->out, "%s%s", digits, unit ? unit : "");
}

static bool is_text(enum dcm_option_type type)
{
	return type == DCM_OPT_STRING || type == DCM_OPT_SECRET || type == DCM_OPT_REGEX ||
	       type == DCM_OPT_SELECTOR || type == DCM_OPT_JSON;
}

static void write_scalar(const struct writer *w, const struct dcm_option *row, const void *at)
{
	const int64_t *integer = at;
	char digits[48];

	switch (row->type) {
	case DCM_OPT_BOOL:
		buf__text(w->out, *(const bool *)at ? "true" : "false");
		break;
	case DCM_OPT_INT:
		buf__printf(w->out, "%" PRId64 "%s", *integer, row->unit ? row->unit : "");
		break;
	case DCM_OPT_FLOAT:
		write_number(w, *(const double *)at, row->unit);
		break;
	case DCM_OPT_DURATION:
		buf__text(w->out, units__format_duration(*integer, digits));
		break;
	case DCM_OPT_SIZE:
		buf__text(w->out, units__format_size(*integer, digits));
		break;
	case DCM_OPT_CHOICE:
		dump__scalar(str__of(row->choices[*(const int32_t *)at]), w->out);
		break;
	case DCM_OPT_JSON:
		write_json(w, *(const char *const *)at);
		break;
	case DCM_OPT_SECRET:
		if (w->hides) {
			buf__text(w->out, EFFECTIVE_HIDDEN);
			break;
		}
		/* fall through */
	default:
		write_text(w, *(const char *const *)at);
		break;
	}
}

/* ------------------------------------------------------------------------------------------------
 * Rows
 */

static void write_value(struct writer *w, const struct dcm_option *row, const void *at,
			const struct node *said, unsigned indent);
static void write_rows(struct writer *w, const struct dcm_table *table, const char *base,
		       const struct node *said, unsigned indent);

/* Nothing stands behind its key, which reads as nothing again. */
static bool is_absent(const struct dcm_option *row, const void *at)
{
	if (row->type == DCM_OPT_UNION)
		return !((const struct dcm_union *)at)->value;
	return is_text(row->type) && !*(const char *const *)at;
}

/* Of a map by its key; of a list, for which a single value may stand alone, by its index. */
static const struct node *said_of_item(const struct node *said, const char *key, uint32_t i)
{
	const struct node *item = NULL;

	if (!said)
		return NULL;
	if (key)
		item = tree__get(said, key);
	else if (said->kind == NODE_LIST && i < said->n)
		item = said->items[i];
	return item ? item : &of_what_was_said;
}

/* Elements of a map, or of a list, which has no keys. */
static void write_items(struct writer *w, const struct dcm_option *row, const char *const *keys,
			const void *items, uint32_t n, const struct node *said, unsigned indent)
{
	const struct dcm_option element = table__element(row);
	const size_t size = table__size_of(&element);

	if (n == 0)
		buf__text(w->out, row->type == DCM_OPT_MAP ? " {}" : " []");
	end_line(w, said);
	for (uint32_t i = 0; i < n; i++) {
		const char *key = row->type == DCM_OPT_MAP ? keys[i] : NULL;

		spaces(w, indent);
		if (key)
			dump__scalar(str__of(key), w->out);
		buf__byte(w->out, key ? ':' : '-');
		write_value(w, &element, (const char *)items + i * size, said_of_item(said, key, i),
			    indent + 2);
	}
}

static void write_union(struct writer *w, const struct dcm_option *row, const struct dcm_union *u,
			const struct node *said, unsigned indent)
{
	const struct dcm_option kind = table__row(row->table, (uint32_t)u->which);

	end_line(w, said);
	spaces(w, indent);
	buf__printf(w->out, "%s:", kind.name);
	write_value(w, &kind, u->value, said_of_item(said, kind.name, 0), indent + 2);
}

static bool lacks_required(const struct dcm_table *table, const char *base)
{
	for (uint32_t i = 0; i < table->n_options; i++) {
		const struct dcm_option row = table__row(table, i);

		if ((row.flags & DCM_OPT_REQUIRED) && is_absent(&row, base + row.offset))
			return true;
	}
	return false;
}

static void write_struct(struct writer *w, const struct dcm_table *table, const char *base,
			 const struct node *said, unsigned indent)
{
	struct dcm_option only;

	if (table__is_transparent(table, &only)) {
		write_value(w, &only, base + only.offset, said, indent);
	} else if (!said && lacks_required(table, base)) {
		/* With a row below its key it would be there, and refused. */
		end_line(w, said);
	} else {
		end_line(w, said);
		write_rows(w, table, base, said, indent);
	}
}

static void write_value(struct writer *w, const struct dcm_option *row, const void *at,
			const struct node *said, unsigned indent)
{
	const struct dcm_list *list = at;
	const struct dcm_map *map = at;
	const bool no_env = w->no_env;

	w->no_env |= (row->flags & DCM_OPT_NO_ENV) != 0;
	if (is_absent(row, at)) {
		end_line(w, said);
	} else if (row->type == DCM_OPT_STRUCT) {
		write_struct(w, row->table, at, said, indent);
	} else if (row->type == DCM_OPT_LIST) {
		write_items(w, row, NULL, list->items, list->n, said, indent);
	} else if (row->type == DCM_OPT_MAP) {
		write_items(w, row, map->keys, map->items, map->n, said, indent);
	} else if (row->type == DCM_OPT_UNION) {
		write_union(w, row, at, said, indent);
	} else {
		buf__byte(w->out, ' ');
		write_scalar(w, row, at);
		end_line(w, said);
	}
	w->no_env = no_env;
}

/* A secret is also said by its NAME_file, unless that is a row of its own. */
static const struct node *said_of_row(const struct node *said, const struct dcm_option *row)
{
	const struct node *n = tree__get(said, row->name);
	char key[128];

	if (!n && row->type == DCM_OPT_SECRET && !(row->flags & TABLE_OWN_FILE)) {
		snprintf(key, sizeof(key), "%s_file", row->name);
		n = tree__get(said, key);
	}
	return n && !node__is_null(n) ? n : NULL;
}

static void write_rows(struct writer *w, const struct dcm_table *table, const char *base,
		       const struct node *said, unsigned indent)
{
	for (uint32_t i = 0; i < table->n_options; i++) {
		const struct dcm_option row = table__row(table, i);
		const bool no_env = w->no_env;

		if (row.name[0]) {
			spaces(w, indent);
			buf__printf(w->out, "%s:", row.name);
			write_value(w, &row, base + row.offset, said_of_row(said, &row), indent + 2);
			continue;
		}
		w->no_env |= (row.flags & DCM_OPT_NO_ENV) != 0;
		write_rows(w, row.table, base + row.offset, said, indent);
		w->no_env = no_env;
	}
}

void effective__yaml(const struct dcm_table *table, const void *value, const struct node *said,
		     enum effective_secrets secrets, unsigned indent, struct buf *out)
{
	struct writer w = { .out = out, .hides = secrets == EFFECTIVE_HIDE };

	write_rows(&w, table, value, said, indent);
}
