/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/groups.h - target groups as files and servers write them
 *
 *	[{"targets": ["10.0.0.1:6060", ..], "labels": {"env": "production", ..}}, ..]
 *
 * in JSON or YAML (prometheus.io: file_sd_config, http_sd_config). Bytes are anybody's: at most
 * GROUPS_MAX_BYTES of them, and what they say is checked as Prometheus does.
 */
#ifndef DECIMA_PPROF_SCRAPE_GROUPS_H
#define DECIMA_PPROF_SCRAPE_GROUPS_H

#include <decima/plugin.h>

#include "core/base/arena.h"
#include "core/base/vec.h"

enum {
	GROUPS_MAX_BYTES = 64 << 20,
	GROUPS_MAX_LABELS = 256,      /* of a target */
	GROUPS_MAX_ENTRIES = 4 << 20, /* labels of all targets of one source together: 128 MiB */
};

struct group_labels {
	struct dcm_label_text *v; /* [n] */
	uint32_t n;
};

/*
 * Labels of one target after the other, with __address__ among them, the first of a name counting.
 * Texts are in the arena. While they are looked for only: what is known then is in labels.h.
 */
struct groups {
	struct arena arena;
	uint32_t n_entries;
	VEC(struct group_labels) v;
};
void groups__fini(struct groups *g);

/* Adds one target: its address, and labels [n] beside. 0, -E2BIG (GROUPS_MAX_ENTRIES) or -ENOMEM. */
int groups__add(struct groups *g, struct dcm_str address, const struct dcm_label_text *labels,
		uint32_t n);

/* A label that all targets get, also those that have another of that name. As groups__add(). */
int groups__label_all(struct groups *g, struct dcm_str name, struct dcm_str value);

/* What the bytes say is added. 0; -EINVAL with a sentence that names the entry; -E2BIG; -ENOMEM. */
int groups__read_json(struct groups *g, const char *text, size_t n, struct dcm_error *err);
int groups__read_yaml(struct groups *g, const char *text, size_t n, struct dcm_error *err);

#endif
