/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/symbol_metrics.h - the counters of the symbol store and its workers among the others
 */
#ifndef DECIMA_MAIN_SYMBOL_METRICS_H
#define DECIMA_MAIN_SYMBOL_METRICS_H

#include "core/broker/worker.h"
#include "core/stats/stats.h"
#include "core/symbolize/symbols.h"

struct symbol_metrics;

/*
 * All outlive what is returned; workers NULL: there are none. NULL when memory ran out, which
 * free() accepts.
 */
struct symbol_metrics *symbol_metrics__new(struct symbols *symbols, struct workers *workers,
					   struct stats *stats);
void symbol_metrics__free(struct symbol_metrics *m);

#endif
