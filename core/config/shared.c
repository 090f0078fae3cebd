/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/shared.c - the option tables that several plugins share
 *
 * What each relabelling action needs and refuses is a row of bits, so that the twelve sentences
 * come from one place. Prometheus v3 checks the same (model/relabel, Config.Validate).
 */
#include "core/config/shared.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "core/base/error.h"
#include "core/config/shared_http.h"

#define DEFAULT_SEPARATOR   ";"
#define DEFAULT_REGEX	    "(.*)"
#define DEFAULT_REPLACEMENT "$1"

static const char *const actions[] = {
	[DCM_RELABEL_REPLACE] = "replace",     [DCM_RELABEL_KEEP] = "keep",
	[DCM_RELABEL_DROP] = "drop",	       [DCM_RELABEL_KEEPEQUAL] = "keepequal",
	[DCM_RELABEL_DROPEQUAL] = "dropequal", [DCM_RELABEL_HASHMOD] = "hashmod",
	[DCM_RELABEL_LABELMAP] = "labelmap",   [DCM_RELABEL_LABELDROP] = "labeldrop",
	[DCM_RELABEL_LABELKEEP] = "labelkeep", [DCM_RELABEL_LOWERCASE] = "lowercase",
	[DCM_RELABEL_UPPERCASE] = "uppercase", NULL,
};

enum need {
	TARGET = 1,	      /* target_label must be a label's name */
	TARGET_TEMPLATE = 2,  /* target_label must be a name, in which $1 may stand */
	MODULUS = 4,	      /* modulus must be given */
	NAME_REPLACEMENT = 8, /* replacement makes a label's name */
	NO_REPLACEMENT = 16,  /* replacement has no meaning */
	NO_REGEX = 32,	      /* nor has regex, separator, modulus */
	NO_SOURCE = 64,	      /* nor have source_labels, target_label, separator, modulus */
};

static const uint8_t needs[] = {
	[DCM_RELABEL_REPLACE] = TARGET_TEMPLATE,
	[DCM_RELABEL_KEEP] = 0,
	[DCM_RELABEL_DROP] = 0,
	[DCM_RELABEL_KEEPEQUAL] = TARGET | NO_REPLACEMENT | NO_REGEX,
	[DCM_RELABEL_DROPEQUAL] = TARGET | NO_REPLACEMENT | NO_REGEX,
	[DCM_RELABEL_HASHMOD] = TARGET | MODULUS,
	[DCM_RELABEL_LABELMAP] = NAME_REPLACEMENT,
	[DCM_RELABEL_LABELDROP] = NO_SOURCE | NO_REPLACEMENT,
	[DCM_RELABEL_LABELKEEP] = NO_SOURCE | NO_REPLACEMENT,
	[DCM_RELABEL_LOWERCASE] = TARGET | NO_REPLACEMENT,
	[DCM_RELABEL_UPPERCASE] = TARGET | NO_REPLACEMENT,
};

static bool is_word(char c, bool first)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       (!first && c >= '0' && c <= '9');
}

/* Bytes of "$1", "${name}" at s; 0 when none begins there. */
static size_t variable_length(const char *s)
{
	size_t n = 1;
	bool brace = s[0] == '$' && s[1] == '{';

	if (s[0] != '$')
		return 0;
	n += brace;
	size_t from = n;
	while (is_word(s[n], false))
		n++;
	if (n == from || (brace && s[n] != '}'))
		return 0;
	return n + brace;
}

/* A label's name; with templates, $1 and ${1} may stand anywhere in it. */
static bool is_label_name(const char *s, bool templates)
{
	if (!s || !s[0])
		return false;
	for (size_t i = 0; s[i];) {
		size_t variable = templates ? variable_length(s + i) : 0;

		if (!variable && !is_word(s[i], i == 0))
			return false;
		i += variable ? variable : 1;
	}
	return true;
}

bool shared__is_label_name(const char *s)
{
	return is_label_name(s, false);
}

static bool differs(const char *s, const char *from)
{
	return s && strcmp(s, from) != 0;
}

/* The option that is set although the action does not use it, or NULL. */
static const char *useless_option(const struct dcm_relabel_rule *r, unsigned need)
{
	unsigned none = NO_REGEX | NO_SOURCE;

	if ((need & NO_SOURCE) && r->source_labels.n)
		return "source_labels";
	if ((need & NO_SOURCE) && differs(r->target_label, ""))
		return "target_label";
	if ((need & NO_REGEX) && differs(r->regex, DEFAULT_REGEX))
		return "regex";
	if ((need & none) && differs(r->separator, DEFAULT_SEPARATOR))
		return "separator";
	if ((need & none) && r->modulus)
		return "modulus";
	if ((need & NO_REPLACEMENT) && differs(r->replacement, DEFAULT_REPLACEMENT))
		return "replacement";
	return NULL;
}

static int check_rule(const void *config, struct dcm_error *err)
{
	const struct dcm_relabel_rule *r = config;
	const char *action = actions[r->action];
	unsigned need = needs[r->action];

	if ((need & (TARGET | TARGET_TEMPLATE)) && !differs(r->target_label, ""))
		return error__set(err, -EINVAL, "action %s needs a target_label", action);
	if (((need & TARGET) && !is_label_name(r->target_label, false)) ||
	    ((need & TARGET_TEMPLATE) && !is_label_name(r->target_label, true)))
		return error__set(
			err, -EINVAL,
			"target_label \"%s\" is not a label's name for action %s; use letters, "
			"digits and _",
			r->target_label, action);
	if ((need & MODULUS) && r->modulus == 0)
		return error__set(err, -EINVAL, "action %s needs a modulus above 0", action);
	if ((need & NAME_REPLACEMENT) && !is_label_name(r->replacement, true))
		return error__set(
			err, -EINVAL,
			"replacement \"%s\" does not make a label's name for action %s; use "
			"letters, digits, _ and $1",
			r->replacement, action);
	const char *useless = useless_option(r, need);
	if (useless)
		return error__set(err, -EINVAL, "%s has no meaning for action %s; take it away",
				  useless, action);
	return 0;
}

#define AT(member) offsetof(struct dcm_relabel_rule, member)

static const struct dcm_option relabel_options[] = {
	{ .name = "action",
	  .type = DCM_OPT_CHOICE,
	  .offset = AT(action),
	  .def = "replace",
	  .choices = actions,
	  .doc = "What to do with what matches. keep and drop decide about the whole; keepequal "
		 "and dropequal compare with target_label; labelmap, labeldrop and labelkeep work "
		 "on names." },
	{ .name = "source_labels",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRING,
	  .offset = AT(source_labels),
	  .doc = "Labels whose values, joined by the separator, are matched. A missing one counts "
		 "as \"\"." },
	{ .name = "separator",
	  .type = DCM_OPT_STRING,
	  .offset = AT(separator),
	  .def = DEFAULT_SEPARATOR,
	  .doc = "Stands between the joined values." },
	{ .name = "regex",
	  .type = DCM_OPT_REGEX,
	  .offset = AT(regex),
	  .def = DEFAULT_REGEX,
	  .doc = "Must match the whole of the joined values, or of the label's name for labelmap, "
		 "labeldrop and labelkeep." },
	{
		.name = "target_label",
		.type = DCM_OPT_STRING,
		.offset = AT(target_label),
		.doc = "The label that is written, or compared. $1 stands for the first group of "
		       "the regex.",
	},
	{ .name = "replacement",
	  .type = DCM_OPT_STRING,
	  .offset = AT(replacement),
	  .def = DEFAULT_REPLACEMENT,
	  .doc = "The value that is written; $1, ${1} and ${name} stand for groups. An empty "
		 "result takes the label away." },
	{ .name = "modulus",
	  .type = DCM_OPT_INT,
	  .offset = AT(modulus),
	  .def = "0",
	  .min = "0",
	  .doc = "hashmod writes the hash of the joined values modulo this." },
};

const struct dcm_table shared__relabel_rule = {
	.size = sizeof(struct dcm_table),
	.option_size = sizeof(struct dcm_option),
	.struct_size = sizeof(struct dcm_relabel_rule),
	.n_options = sizeof(relabel_options) / sizeof(relabel_options[0]),
	.options = relabel_options,
	.check = check_rule,
};

bool shared__resolve(enum dcm_shared which, struct dcm_option *row)
{
	if (which == DCM_SHARED_HTTP_CLIENT) {
		row->type = DCM_OPT_STRUCT;
		row->table = &shared_http__options;
		return true;
	}
	if (which != DCM_SHARED_RELABEL_RULES)
		return false;
	row->type = DCM_OPT_LIST;
	row->element = DCM_OPT_STRUCT;
	row->table = &shared__relabel_rule;
	row->flags |= DCM_OPT_NO_ENV;
	return true;
}
