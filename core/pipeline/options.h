/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/options.h - the options that every storage and output has beside its own
 */
#ifndef DECIMA_PIPELINE_OPTIONS_H
#define DECIMA_PIPELINE_OPTIONS_H

#include <stdint.h>

#include <decima/plugin.h>

#include "core/pipeline/router.h"

struct destination_options {
	const char *selector;		 /* NULL: everything */
	struct dcm_list relabel_configs; /* of struct dcm_relabel_rule */
	int32_t policy;			 /* DESTINATION_DROP_OLDEST or _NEWEST */
	int64_t reserve_bytes, max_bytes;
	int64_t write_timeout_ns, give_up_ns;
	int32_t spool; /* SPOOL_... */
	const char *spool_path;
	int64_t spool_max_bytes, spool_age_ns, spool_rate; /* bytes per second */
	int64_t refusals;
};
enum { DESTINATION_DROP_OLDEST, DESTINATION_DROP_NEWEST };
enum { SPOOL_AUTO, SPOOL_ON, SPOOL_OFF };

/* Rows of the struct above; given to options__fill() as one part of the instance's map. */
extern const struct dcm_table destination_options__table;

/*
 * The route they describe: selector parsed, rules compiled. The caller hands it on or
 * route__fini()s it.
 */
int destination_options__route(const struct destination_options *o, struct route *ret,
			       struct dcm_error *err);

#endif
