/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/bench_query.c - named answers to flame trees, tables and folded text
 *
 * Two answers (bench/crowd.h): one whose tree has about a million nodes, and one of 10,000 stacks as
 * an ordinary question has them. Milliseconds of one thread, best of three.
 *
 *	bench_query
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/crowd.h"
#include "bench/figure.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/query/flame.h"
#include "core/query/flametree.h"
#include "core/query/render.h"
#include "core/query/top.h"

/* One thread's time; `most` ms is the target, 0: there is none, and it is beside the count. */
static void report(const char *what, const char *size, double ms, double most, uint64_t n, const char *of)
{
	char name[64];

	snprintf(name, sizeof(name), "query_%s_%s", size, what);
	if (most > 0)
		figure_at_most(name, ms, "ms", most, NULL);
	else
		figure(name, ms, "ms", of, (double)n);
}

#define BEST(expression)                                                                           \
	({                                                                                         \
		double best_ = 0;                                                                  \
		for (unsigned i_ = 0; i_ < 3; i_++) {                                              \
			double from_ = thread_seconds();                                           \
			expression;                                                                \
			at_most(&best_, thread_seconds() - from_);                                 \
		}                                                                                  \
		best_ * 1e3;                                                                       \
	})

/* An answer, and what its tree may take; 0: no matter. */
struct size {
	const char *name;
	uint32_t n_stacks;
	double flame_ms, flametree_ms;
};

static void bench(struct dcm_batch *b, const struct size *s)
{
	struct frames *frames = NULL;
	struct flame *f = NULL;
	struct top *t = NULL;
	struct buf out = { 0 };
	struct flame_options all = { .max_nodes = FLAME_MAX_NODES }, inverted = all,
			     trimmed = { .max_nodes = 50000 };
	int r = 0;
	double ms;

	inverted.invert = true;
	ms = BEST({
		frames__unref(frames);
		r |= frames__new(b, FRAMES_FUNCTION, NULL, &frames, NULL);
	});
	report("frames", s->name, ms, 0, b->n_locations, "locations");
	ms = BEST({
		flame__free(f);
		r |= flame__new(frames, &all, &f, NULL);
	});
	report("flame", s->name, ms, s->flame_ms, f->n, "nodes");
	ms = BEST({
		flame__free(f);
		r |= flame__new(frames, &inverted, &f, NULL);
	});
	report("flame_inverted", s->name, ms, 0, f->n, "nodes");
	ms = BEST({
		flame__free(f);
		r |= flame__new(frames, &trimmed, &f, NULL);
	});
	report("flame_of_50000", s->name, ms, 0, f->n, "nodes");
	ms = BEST({
		top__free(t);
		r |= top__new(frames, NULL, &t, NULL);
	});
	report("table", s->name, ms, 0, t->n_all, "functions");
	ms = BEST({
		buf__fini(&out);
		out = (struct buf){ 0 };
		r |= render__folded(frames, NULL, &out, NULL);
	});
	report("folded", s->name, ms, 0, out.n, "bytes");
	flame__free(f);
	r |= flame__new(frames, &all, &f, NULL);
	ms = BEST({
		buf__fini(&out);
		out = (struct buf){ 0 };
		r |= flametree__write(f, STR("{}"), &out);
	});
	report("flametree", s->name, ms, s->flametree_ms, out.n, "bytes");
	if (r < 0)
		exit(1);
	buf__fini(&out);
	top__free(t);
	flame__free(f);
	frames__unref(frames);
}

int main(void)
{
	/* The larger one's tree has a million nodes. */
	static const struct size sizes[] = { { "10000_stacks", 10000, 0, 0 },
					     { "72000_stacks", CROWD_MILLION, 150, 60 } };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct dcm_batch *b = crowd__random("app", 0, sizes[i].n_stacks);

		bench(b, &sizes[i]);
		batch__unref(b);
	}
	return 0;
}
