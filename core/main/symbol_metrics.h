/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/symbol_metrics.h - the symbol store's counters among the others
 */
#ifndef DECIMA_MAIN_SYMBOL_METRICS_H
#define DECIMA_MAIN_SYMBOL_METRICS_H

#include "core/stats/stats.h"
#include "core/symbolize/symbols.h"

struct symbol_metrics;

/* Both outlive what is returned; NULL when memory ran out, which free() accepts. */
struct symbol_metrics *symbol_metrics__new(struct symbols *symbols, struct stats *stats);
void symbol_metrics__free(struct symbol_metrics *m);

#endif
