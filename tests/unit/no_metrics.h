/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/no_metrics.h - a host's functions for metrics, of which there are none
 */
#ifndef DECIMA_TESTS_UNIT_NO_METRICS_H
#define DECIMA_TESTS_UNIT_NO_METRICS_H

#include <decima/plugin.h>

static inline struct dcm_metric *no_metrics__make(const struct dcm_host *host, enum dcm_metric_kind kind,
						  const char *name, const char *help)
{
	(void)host, (void)kind, (void)name, (void)help;
	return NULL;
}

static inline void no_metrics__add(struct dcm_metric *m, uint64_t n)
{
	(void)m, (void)n;
}

static inline void no_metrics__set(struct dcm_metric *m, double value)
{
	(void)m, (void)value;
}

#endif
