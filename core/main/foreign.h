/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/foreign.h - configuration files of Prometheus and Parca, read as they are
 *
 * A file with `scrape_configs` or `scrape_config_files` at its top is one of theirs. It becomes what Decima writes so:
 *
 *	scrape_configs; global.scrape_interval, scrape_timeout, limits  inputs.pprof_scrape
 *	scrape_config_files: the scrape_configs of these                behind them
 *	global.external_labels                                          labels
 *	object_storage, storage.tsdb, remote_write, alerting, ...       nothing, and a warning each
 *
 * and profiles are kept as they are without a file. Keys of Decima's own (server, log, outputs) may
 * stand beside. Sources: prometheus.io, configuration; Parca's pkg/config.
 */
#ifndef DECIMA_MAIN_FOREIGN_H
#define DECIMA_MAIN_FOREIGN_H

#include "core/config/problems.h"
#include "core/config/tree.h"

/*
 * Rewrites the tree's top when it is such a file, and leaves others alone. `storage`: YAML of the
 * default storage section. Faults and warnings go to problems; 0, -EINVAL or -ENOMEM. Other files are found beside the
 * tree's own.
 */
int foreign__translate(struct tree *t, const char *storage, struct problems *problems);

#endif
