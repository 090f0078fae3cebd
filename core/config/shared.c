/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/shared.c - the option tables that several plugins share
 *
 * What each relabelling action needs and refuses is a row of bits, so that the sentences come from one place. Prometheus v3
 * checks the same (model/relabel, Config.Validate), and like it takes any UTF-8 as a label's name.
 */
#include "core/config/shared.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/str.h"
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
	TARGET = 1,  /* target_label must be a label's name; for replace $1 may stand in it */
	MODULUS = 2, /* modulus must be given */
	NAME_REPLACEMENT = 4, /* replacement makes a label's name */
	NO_REPLACEMENT = 8,   /* replacement has no meaning */
	NO_REGEX = 16,	      /* nor has regex, separator, modulus */
	NO_SOURCE = 32,	      /* nor have source_labels, target_label, separator, modulus */
};

static const uint8_t needs[] = {
	[DCM_RELABEL_REPLACE] = TARGET,
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

bool shared__is_label_name(const char *s)
{
	return s && str__is_label_name(str__of(s));
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

	if ((need & TARGET) && !differs(r->target_label, ""))
		return error__set(err, -EINVAL, "action %s needs a target_label", action);
	if ((need & TARGET) && !shared__is_label_name(r->target_label))
		return error__set(err, -EINVAL, "target_label is not UTF-8, as a label's name is");
	if ((need & MODULUS) && r->modulus == 0)
		return error__set(err, -EINVAL, "action %s needs a modulus above 0", action);
	if ((need & NAME_REPLACEMENT) && !shared__is_label_name(r->replacement))
		return error__set(
			err, -EINVAL, "replacement makes no label's name, which is UTF-8 and not empty");
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
