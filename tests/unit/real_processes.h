/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/real_processes.h - the perf maps of this machine's processes
 */
#ifndef DECIMA_TESTS_UNIT_REAL_PROCESSES_H
#define DECIMA_TESTS_UNIT_REAL_PROCESSES_H

#include "plugins/input/perf_map/processes.h"
#include "tests/unit/unit.h"

/* Maps of up to a MiB in the folder *dir, which outlives what is returned. */
static inline struct processes *real_processes__new(const char *const *dir, int64_t patience_ns)
{
	const struct processes_config c = { .proc = "/proc",
					    .root = "/",
					    .dirs = dir,
					    .n_dirs = 1,
					    .max_file_bytes = 1 << 20,
					    .max_map_bytes = 1 << 20,
					    .max_bytes = 1 << 20,
					    .keep_ns = INT64_C(60000000000),
					    .patience_ns = patience_ns,
					    .clock = &clock__system };
	struct dcm_error err = DCM_ERROR_INIT;
	struct processes *t = NULL;

	if (processes__new(&c, &t, &err))
		fail_msg("%s", err.text);
	return t;
}

#endif
