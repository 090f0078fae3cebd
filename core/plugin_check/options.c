/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin_check/options.c - does the plugin's table refuse what it says it refuses?
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/config/options.h"
#include "core/config/table.h"
#include "core/plugin_check/cases.h"

/* Fills the options from a YAML text. 0, or an error with the first sentence. */
static int try(const struct check *c, const char *yaml, struct dcm_error *err)
{
	struct problems problems = { 0 };
	struct options_env env = { .problems = &problems };
	struct settings *s = NULL;
	struct tree *tree = NULL;
	int r = tree__load_text("test", str__of(yaml), &tree, err);

	if (r == 0)
		r = settings__new(c->plugin, &env, c->plugin->info.name, tree->root, NULL, 0, &s);
	if (r < 0 && problems.n_errors > 0) {
		struct buf text = { 0 };

		/*
		 * All of them: a required option that is missing comes first and is not the point.
		 */
		problems__text(&problems, &text);
		snprintf(err->text, sizeof(err->text), "%.*s", STR_ARG(buf__view(&text)));
		buf__fini(&text);
	}
	settings__free(s);
	tree__free(tree);
	problems__fini(&problems);
	return r;
}

void case__unknown_key(const struct check *c)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_option only;

	if (c->plugin->info.options && table__is_transparent(c->plugin->info.options, &only))
		verdict__skip(c, "any key may stand in this table");
	if (try(c, "no_such_option_as_this: 1\n", &err) != -EINVAL)
		verdict__fail(c, "an option that is in no table was accepted");
	if (!strstr(err.text, "no_such_option_as_this"))
		verdict__fail(c, "the error does not name the option: %s", err.text);
}

/* A row's value must be refused with the row's name. */
static void refuse(const struct check *c, const struct dcm_option *row, const char *value)
{
	struct dcm_error err = DCM_ERROR_INIT;
	char yaml[512];

	snprintf(yaml, sizeof(yaml), "%s: %s\n", row->name, value);
	if (try(c, yaml, &err) != -EINVAL)
		verdict__fail(c, "option %s: the value %s was accepted", row->name, value);
	if (!strstr(err.text, row->name))
		verdict__fail(c, "option %s: the error for the value %s does not name it: %s",
			      row->name, value, err.text);
}

/* One below the least, and one above the largest. */
static void beyond_bounds(const struct check *c, const struct dcm_option *row,
			  int (*parse)(const struct dcm_option *row, const char *text, int64_t *ret),
			  const char *(*format)(int64_t v, char buf[static 48]))
{
	char text[48];
	int64_t v;

	if (row->min && parse(row, row->min, &v) == 0 && v > INT64_MIN &&
	    (v > 0 || row->type == DCM_OPT_INT))
		refuse(c, row, format(v - 1, text));
	if (row->max && parse(row, row->max, &v) == 0 && v < INT64_MAX)
		refuse(c, row, format(v + 1, text));
}

static int parse_int(const struct dcm_option *row, const char *text, int64_t *ret)
{
	return units__parse_int(str__of(text), row->unit ? row->unit : "", ret);
}

static int parse_duration(const struct dcm_option *row, const char *text, int64_t *ret)
{
	(void)row;
	return units__parse_duration(str__of(text), ret);
}

static int parse_size(const struct dcm_option *row, const char *text, int64_t *ret)
{
	(void)row;
	return units__parse_size(str__of(text), ret);
}

static const char *format_int(int64_t v, char buf[static 48])
{
	snprintf(buf, 48, "%" PRId64, v);
	return buf;
}

static void bad_values_of(const struct check *c, const struct dcm_option *row)
{
	switch (row->type) {
	case DCM_OPT_BOOL:
		refuse(c, row, "perhaps");
		break;
	case DCM_OPT_INT:
		refuse(c, row, "some");
		beyond_bounds(c, row, parse_int, format_int);
		break;
	case DCM_OPT_FLOAT:
		refuse(c, row, "some");
		break;
	case DCM_OPT_CHOICE:
		refuse(c, row, "no_such_choice_as_this");
		break;
	case DCM_OPT_DURATION:
		refuse(c, row, "10 fortnights");
		beyond_bounds(c, row, parse_duration, units__format_duration);
		break;
	case DCM_OPT_SIZE:
		refuse(c, row, "10 bags");
		beyond_bounds(c, row, parse_size, format_int);
		break;
	case DCM_OPT_REGEX:
		refuse(c, row, "'('");
		break;
	case DCM_OPT_STRING:
	case DCM_OPT_SECRET:
	case DCM_OPT_SELECTOR:
		refuse(c, row, "[a, list]");
		break;
	case DCM_OPT_JSON:
		break; /* takes all */
	case DCM_OPT_STRUCT:
	case DCM_OPT_LIST:
	case DCM_OPT_MAP:
	case DCM_OPT_UNION:
	case DCM_OPT_SHARED:
		refuse(c, row, "a_scalar");
		break;
	}
}

void case__bad_values(const struct check *c)
{
	const struct dcm_table *table = c->plugin->info.options;
	uint32_t n = 0;

	for (uint32_t i = 0; table && i < table->n_options; i++) {
		struct dcm_option row = table__row(table, i);

		if (!row.name[0])
			continue;
		bad_values_of(c, &row);
		n++;
	}
	verdict__pass(c, "%u options", n);
}
