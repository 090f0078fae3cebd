/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/static_sd.c - targets that stand in the configuration
 */
#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/input/pprof_scrape/discovery.h"
#include "plugins/input/pprof_scrape/options.h"

static const struct dcm_option rows[] = {
	{ .name = "targets",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRING,
	  .offset = offsetof(struct static_options, targets),
	  .doc = "HOST:PORT each." },
	{ .name = "labels",
	  .type = DCM_OPT_MAP,
	  .element = DCM_OPT_STRING,
	  .offset = offsetof(struct static_options, labels),
	  .doc = "Labels that all of these targets have." },
};
const struct dcm_table static_sd__table = DCM_TABLE(struct static_options, rows);

static int add(struct groups *g, const struct static_options *o)
{
	const uint32_t n = o->labels.n; /* at most GROUPS_MAX_LABELS: check_static() */
	const char *const *values = o->labels.items, *const *targets = o->targets.items;
	struct dcm_label_text *labels = arena__zalloc(&g->arena, n + 1, sizeof(*labels));
	int r = labels ? 0 : -ENOMEM;

	/* The options outlive the job. */
	for (uint32_t i = 0; i < n && r == 0; i++)
		labels[i] = (struct dcm_label_text){ str__of(o->labels.keys[i]),
						     str__of(values[i] ? values[i] : "") };
	for (uint32_t i = 0; i < o->targets.n && r == 0; i++)
		r = groups__add(g, str__of(targets[i]), labels, n);
	return r;
}

static void stop(struct discovery *d)
{
	struct source *s = d->state;

	if (s)
		discovery__lost(d, s);
	free(s);
}

static int start(struct discovery *d, struct dcm_error *err)
{
	struct source *s = NEW(struct source);
	struct groups found = { 0 };
	int r;

	if (!s)
		return error__nomem(err);
	d->state = s;
	r = add(&found, d->options);
	if (r < 0) {
		groups__fini(&found);
		return r == -ENOMEM ? error__nomem(err)
				    : error__set(err, r, "static_configs: more than %d labels together",
						 GROUPS_MAX_ENTRIES);
	}
	discovery__found(d, s, &found);
	discovery__well(d);
	return 0;
}

const struct discovery_kind static_sd = {
	.name = "static",
	.start = start,
	.stop = stop,
};
