/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/source_fleet.c - batches of a made-up fleet
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/figure.h"
#include "bench/fleet.h"
#include "bench/source.h"
#include "core/base/str.h"
#include "core/batch/builder.h"

enum { N_SERIES = 20, N_STACKS = 40000, DEPTH = 24, N_THREADS = 3 };

struct host {
	struct fleet_series series[N_SERIES];
	uint64_t row[N_SERIES]; /* the next one */
	uint32_t profile[N_SERIES];
	struct dcm_builder *builder;
};

struct fleet_source {
	struct source pub;
	struct host *hosts; /* [pub.shape.n_hosts] */
};

/*
 * Callers are shared as in a tree of which each branch has two; the upper frames are those of all
 * threads.
 */
static uint32_t make_stack(struct dcm_builder *b, uint32_t mapping, uint32_t stack)
{
	uint32_t frames[DEPTH];

	for (uint32_t k = 0; k < DEPTH; k++) {
		const uint64_t path = (uint64_t)k << 32 | (k < 16 ? stack >> k : 0);
		const struct dcm_location l = { .mapping = mapping,
						.process = DCM_NONE,
						.addr_kind = DCM_ADDR_VADDR,
						.address = 0x1000 + path * 0x9e3779b97f4a7c15u % 60000 };

		frames[k] = builder__location(b, &l, NULL, 0);
	}
	return builder__stack(b, frames, DEPTH);
}

static uint32_t make_series(struct dcm_builder *b, uint32_t host, uint32_t at)
{
	char node[32], service[32];

	snprintf(node, sizeof(node), "node-%u", host);
	snprintf(service, sizeof(service), "service-%02u", at);
	const struct dcm_pair pairs[] = {
		{ builder__string(b, STR("node")), builder__string(b, str__of(node)) },
		{ builder__string(b, STR("service_name")), builder__string(b, str__of(service)) },
	};
	return builder__series(b, pairs, 2);
}

static uint32_t make_thread(struct dcm_builder *b, uint32_t series, uint32_t stack)
{
	char text[32];

	snprintf(text, sizeof(text), "worker-%u", series * N_THREADS + stack % N_THREADS);
	const struct dcm_label l = { .name = builder__string(b, STR("thread_name")),
				     .str = builder__string(b, str__of(text)),
				     .unit = DCM_NONE };
	return builder__label_set(b, &l, 1);
}

static void add_profile(struct host *h, uint32_t host, uint32_t at, const struct dcm_profile *head,
			bool labels)
{
	struct dcm_builder *b = h->builder;
	const struct fleet_series *s = &h->series[at];
	const struct dcm_mapping m = { .file = builder__string(b, STR("/usr/bin/app")),
				       .build_id = builder__string(b, STR("0011223344556677")) };
	const uint32_t mapping = builder__mapping(b, &m),
		       nanoseconds = builder__string(b, STR("nanoseconds"));
	const uint32_t cpu = builder__string(b, STR("cpu"));
	const struct dcm_type type = { builder__string(b, STR("process_cpu")),
				       cpu,
				       nanoseconds,
				       cpu,
				       nanoseconds,
				       DCM_DELTA };
	struct dcm_profile p = *head;

	p.series = make_series(b, host, at);
	builder__profile(b, &p, &type, 1);
	for (uint32_t i = s->n_rows[h->profile[at]]; i > 0; i--, h->row[at]++) {
		const uint32_t stack = s->stacks[h->row[at]];

		/* Each host runs programs of its own, but for a third that all have. */
		builder__row(b, make_stack(b, mapping, stack % 3 ? stack + host * N_STACKS : stack),
			     labels ? make_thread(b, at, stack) : 0, &s->values[h->row[at]]);
	}
	h->profile[at]++;
}

static struct dcm_batch *fleet_batch(struct source *s, uint32_t host, uint32_t tick, int64_t time_ns)
{
	struct host *h = &((struct fleet_source *)s)->hosts[host];
	const int64_t due_ms = SOURCE_BASE_NS / 1000000 +
			       ((int64_t)tick + 1) * SOURCE_TICK_S * 1000 - 5000;
	struct dcm_batch *batch = NULL;
	struct dcm_error err = DCM_ERROR_INIT;

	if (tick == 0) {
		memset(h->row, 0, sizeof(h->row));
		memset(h->profile, 0, sizeof(h->profile));
	}
	for (uint32_t k = 0; k < N_SERIES; k++) {
		const struct dcm_profile head = { .time_ns = time_ns,
						  .duration_ns = SOURCE_TICK_S * SOURCE_NS_A_SEC,
						  .period = 52631578 };

		if (h->profile[k] < h->series[k].n_profiles && h->series[k].time_ms[h->profile[k]] < due_ms)
			add_profile(h, host, k, &head, s->shape.labels);
	}
	need(builder__seal(h->builder, &batch, &err) == 0, err.text);
	return batch;
}

static void fleet_free(struct source *s)
{
	struct fleet_source *f = (struct fleet_source *)s;

	for (uint32_t i = 0; i < s->shape.n_hosts; i++) {
		for (uint32_t k = 0; k < N_SERIES; k++)
			fleet_series__fini(&f->hosts[i].series[k]);
		builder__free(f->hosts[i].builder);
	}
	free(f->hosts);
	free(f);
}

struct source *source__fleet(const struct source_shape *shape)
{
	struct fleet_source *f = calloc(1, sizeof(*f));

	need(f, "out of memory");
	f->pub = (struct source){ .shape = *shape, .batch = fleet_batch, .free = fleet_free };
	f->hosts = calloc(shape->n_hosts, sizeof(*f->hosts));
	need(f->hosts, "out of memory");
	f->pub.shape.n_ticks = source__n_ticks(shape, SOURCE_FLEET_ROWS);
	for (uint32_t i = 0; i < shape->n_hosts; i++) {
		const struct fleet of = { N_SERIES, f->pub.shape.n_ticks, N_STACKS, 16, 1.15, i + 1 };

		for (uint32_t k = 0; k < N_SERIES; k++) {
			fleet__series(&of, k, &f->hosts[i].series[k]);
			f->pub.n_rows += f->hosts[i].series[k].n;
		}
		f->hosts[i].builder = builder__new((uint64_t)1 << 30);
		need(f->hosts[i].builder, "out of memory");
		builder__set_source(f->hosts[i].builder, (struct dcm_hash){ i + 1, 0x5eed }, 1);
	}
	return &f->pub;
}
