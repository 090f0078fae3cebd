/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/options.c - a destination's selector, rules and queue, as options and as a route
 */
#include "core/pipeline/options.h"

#include <errno.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/query/selector.h"

static const char *const policies[] = { "drop_oldest", "drop_newest", NULL };
static const char *const spools[] = { "auto", "on", "off", NULL };

static const struct dcm_option rows[] = {
	{ .name = "selector",
	  .type = DCM_OPT_SELECTOR,
	  .offset = offsetof(struct destination_options, selector),
	  .doc = "Only profiles that this selects, by type and series labels: "
		 "{env=\"production\"}. Default: all." },
	{ .name = "relabel_configs",
	  .type = DCM_OPT_SHARED,
	  .shared = DCM_SHARED_RELABEL_RULES,
	  .flags = DCM_OPT_NO_ENV,
	  .offset = offsetof(struct destination_options, relabel_configs),
	  .doc = "Prometheus' relabelling for what goes here, after the rules for everything." },
	{ .name = "queue_policy",
	  .type = DCM_OPT_CHOICE,
	  .offset = offsetof(struct destination_options, policy),
	  .def = "drop_oldest",
	  .choices = policies,
	  .flags = DCM_OPT_RESTART,
	  .doc = "What is lost (and counted) when the queue is full because the destination is "
		 "slow or away." },
	{ .name = "queue_reserve",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct destination_options, reserve_bytes),
	  .def = "16MiB",
	  .min = "64KiB",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Memory of the queue that no other destination can take; at most queue_max." },
	{ .name = "queue_max",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct destination_options, max_bytes),
	  .def = "0",
	  .min = "0",
	  .flags = DCM_OPT_RESTART,
	  .doc = "The queue's largest size, not below queue_reserve; 0: its reserve and the shared "
		 "rest (pipeline.shared). A batch that is larger is lost (too_large)." },
	{ .name = "write_timeout",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct destination_options, write_timeout_ns),
	  .def = "30s",
	  .min = "100ms",
	  .max = "1h",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Deadline of one write. One that is not back 5 s later is called stuck, and the "
		 "instance shows as degraded until it is." },
	{ .name = "give_up_after",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct destination_options, give_up_ns),
	  .def = "0",
	  .min = "0",
	  .flags = DCM_OPT_RESTART,
	  .doc = "An output that keeps asking for later loses the batch after this long; 0: never, "
		 "the queue's policy decides." },
	{ .name = "spool",
	  .type = DCM_OPT_CHOICE,
	  .offset = offsetof(struct destination_options, spool),
	  .def = "auto",
	  .choices = spools,
	  .flags = DCM_OPT_RESTART,
	  .doc = "Whether what goes here is kept on disk until it was taken, over restarts and "
		 "while the "
		 "other side is away. auto: where the plugin sends to another machine. Batches "
		 "count as "
		 "taken in once they are in the spool." },
	{ .name = "spool_path",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct destination_options, spool_path),
	  .flags = DCM_OPT_RESTART | DCM_OPT_PATH,
	  .doc = "The spool's directory, of this instance alone. Default: NAME/spool in the data "
		 "directory." },
	{ .name = "spool_max",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct destination_options, spool_max_bytes),
	  .def = "1GiB",
	  .min = "1MiB",
	  .flags = DCM_OPT_RESTART,
	  .doc = "What waits in the spool at most; beyond, the oldest is lost (spool_full). The "
		 "directory may "
		 "have 16 MiB more, and 64 MiB of batches that were refused." },
	{ .name = "spool_age",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct destination_options, spool_age_ns),
	  .def = "7d",
	  .min = "1s",
	  .flags = DCM_OPT_RESTART,
	  .doc = "What has waited for longer is lost (spool_expired)." },
	{ .name = "spool_rate",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct destination_options, spool_rate),
	  .def = "16MiB",
	  .min = "0",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Bytes per second at which a spool that has grown beyond memory is sent at most, "
		 "so that who "
		 "comes back is not run over; 0: no bound." },
	{ .name = "refusals",
	  .type = DCM_OPT_INT,
	  .offset = offsetof(struct destination_options, refusals),
	  .def = "3",
	  .min = "1",
	  .max = "1000",
	  .flags = DCM_OPT_RESTART,
	  .doc = "After how many refusals (not: failures) an output loses a batch, or the one "
		 "profile of it that is refused (rejected); with a spool it is set aside there, "
		 "with what the other side said." },
};

/* What is reserved and can never be used is memory that was meant to be. */
static int check(const void *config, struct dcm_error *err)
{
	const struct destination_options *o = config;

	if (o->max_bytes == 0 || o->max_bytes >= o->reserve_bytes)
		return 0;
	return error__set(
		err, -EINVAL,
		"queue_max: %lld bytes are less than the %lld of queue_reserve; raise it, or "
		"lower queue_reserve, which is 16MiB unless it is set",
		(long long)o->max_bytes, (long long)o->reserve_bytes);
}

const struct dcm_table destination_options__table = {
	.size = sizeof(struct dcm_table),
	.option_size = sizeof(struct dcm_option),
	.struct_size = sizeof(struct destination_options),
	.n_options = sizeof(rows) / sizeof(rows[0]),
	.options = rows,
	.check = check,
};

static bool wants(void *selector, const struct dcm_batch *batch, uint32_t profile)
{
	return selector__takes(selector, batch, profile);
}

static uint64_t n_undecided(const void *selector)
{
	return selector__n_undecided(selector);
}

static void free_selector(void *selector)
{
	selector__free(selector);
}

int destination_options__route(const struct destination_options *o, struct route *ret,
			       struct dcm_error *err)
{
	struct route route = { 0 };
	struct selector *selector = NULL;
	int r = 0;

	if (o->selector && o->selector[0])
		r = selector__parse(str__of(o->selector), SELECTOR_TYPE_OPTIONAL, &selector, err);
	if (r == 0 && selector)
		route = (struct route){ .wants = wants,
					.selector_free = free_selector,
					.n_undecided = n_undecided,
					.selector = selector };
	if (r == 0 && o->relabel_configs.n > 0)
		r = relabel__new(&(struct relabel_config){ .rules = o->relabel_configs.items,
							   .n_rules = o->relabel_configs.n },
				 &route.relabel, err);
	if (r < 0) {
		route__fini(&route);
		return r;
	}
	*ret = route;
	return 0;
}
