/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/contract/storage_random.c - batches and questions out of a seed
 */
#include "tests/contract/storage_random.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/str.h"
#include "core/batch/builder.h"
#include "core/config/regex.h"
#include "tests/unit/random_batch.h"

#define BASE_MS (RANDOM_BASE_NS / 1000000)

/* What is made here is valid: only memory can be missing. */
static void give_up(const char *why)
{
	fprintf(stderr, "a random batch or question could not be made: %s\n", why);
	abort();
}

/* -------------------------------------------------------------------------------------------------
 * Batches
 */

/*
 * What a Go program's memory profile looks like: series of states that grow, and now and then start
 * again.
 */
static void fill_growing(struct dcm_builder *b, struct random *r, uint64_t round, int64_t base_ns)
{
	uint32_t stacks[6];
	struct dcm_location l = { .mapping = DCM_NONE, .process = DCM_NONE, .kind = DCM_FRAME_NATIVE };
	struct dcm_type types[] = {
		{ builder__string(b, STR("memory")), builder__string(b, STR("alloc_space")),
		  builder__string(b, STR("bytes")), builder__string(b, STR("space")),
		  builder__string(b, STR("bytes")), DCM_CUMULATIVE },
		{ builder__string(b, STR("memory")), builder__string(b, STR("inuse_space")),
		  builder__string(b, STR("bytes")), builder__string(b, STR("space")),
		  builder__string(b, STR("bytes")), DCM_GAUGE },
	};
	struct dcm_pair pair = { builder__string(b, STR("service_name")), 0 };
	/*
	 * A number; one that the series' label of that name hides; one that stands for a label the
	 * series lacks.
	 */
	struct dcm_label labels[3] = {
		{ .name = builder__string(b, STR("bytes")), .unit = builder__string(b, STR("bytes")) },
		{ .name = builder__string(b, STR("service_name")),
		  .str = builder__string(b, STR("hidden")),
		  .unit = DCM_NONE },
		{ .name = builder__string(b, STR("node")),
		  .str = builder__string(b, STR("n3")),
		  .unit = DCM_NONE },
	};

	for (unsigned i = 0; i < 6; i++) {
		l.address = 0x1000 + i;
		l.addr_kind = DCM_ADDR_RUNTIME;
		uint32_t location = builder__location(b, &l, NULL, 0);
		stacks[i] = builder__stack(b, &location, 1);
	}
	for (unsigned k = 0; k < 2; k++) {
		pair.value = builder__string(b, k ? STR("api") : STR("batch"));
		struct dcm_profile head = {
			.series = builder__series(b, &pair, 1),
			/* Every third one writes over the one before. */
			.time_ns = base_ns + (int64_t)((round - (round % 3 == 2)) * 7000 + k) * 1000000,
			.duration_ns = 0,
			.period = 524288,
		};
		builder__profile(b, &head, types, 2);
		for (unsigned i = 0; i < 6; i++) {
			/*
			 * Grows with the round; every fifth round starts anew, and then some stacks
			 * are missing.
			 */
			uint64_t since = round % 5 + 1;
			int64_t values[] = { (int64_t)(since * 1000 * (i + 1) + since),
					     (int64_t)random__below(r, 1000) - 200 };

			labels[0].num = i % 2 ? 64 : 1024;
			if (round % 5 > 1 || random__below(r, 3))
				builder__row(b, stacks[i], builder__label_set(b, labels, 1 + i % 3),
					     values);
		}
	}
}

struct dcm_batch *storage_random__batch(struct random *r, uint64_t round, unsigned flags, int64_t base_ns)
{
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	struct dcm_batch *batch = NULL;
	struct dcm_error err = DCM_ERROR_INIT;

	builder__set_source(b, (struct dcm_hash){ 1, 2 }, round);
	random_batch__fill(b, random__next(r), flags, base_ns);
	fill_growing(b, r, round, base_ns);
	if (builder__seal(b, &batch, &err) < 0)
		give_up(err.text);
	return batch;
}

/* -------------------------------------------------------------------------------------------------
 * Questions
 */

const char *const storage_random__types[] = {
	"process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta",
	"process_cpu:samples:count:cpu:nanoseconds:delta",
	"decima_quality:samples:count:::delta",
	"memory:alloc_space:bytes:space:bytes",
	"memory:alloc_objects:count:space:bytes",
	"memory:inuse_space:bytes:space:bytes",
	"goroutine:goroutine:count:goroutine:count",
	"memory:alloc_space:bytes:space:bytes",
	"memory:inuse_space:bytes:space:bytes",
	"no:such:type:at:all",
	NULL,
};
#define N_TYPES (sizeof(storage_random__types) / sizeof(storage_random__types[0]) - 1)

static const char *const label_names[] = { "service_name", "node",  "comm", "thread_name", "cpu",
					   "size",	   "bytes", "a.b",  "nowhere" };
/* What makes sense for a name; and, now and then, something else. */
static const struct {
	const char *name;
	const char *values[3], *patterns[3];
} likely[] = {
	{ "service_name", { "api", "db", "web" }, { "a.*", "api|web", "(batch|db)?" } },
	{ "node", { "n1", "n2", "" }, { "n.", "n1|n3", ".*2" } },
	{ "comm", { "java", "", "größe" }, { ".*a.*", "", "gr.+e" } },
	{ "thread_name", { "main", "worker-1", "" }, { "worker-[0-9]", "main|", ".+" } },
	{ "cpu", { "0", "1", "" }, { "[0-9]", "[^0]", "0?" } },
	{ "size", { "0", "3", "" }, { "[12]", "", ".*" } },
	{ "bytes", { "64", "1024", "" }, { "1.*", "64|", "[0-9]{4}" } },
	{ "nowhere", { "", "x", "" }, { "", "x?", "y" } },
};

void question__fini(struct question *q)
{
	for (uint32_t i = 0; i < q->n_regexes; i++)
		regex__free(q->regexes[i]);
}

#define PICK(r, array) ((array)[random__below((r), sizeof(array) / sizeof((array)[0]))])

static void some_matchers(struct question *q, struct random *r, uint32_t side)
{
	struct dcm_select *sel = &q->asked.sel[side];

	sel->matchers = q->matchers[side];
	sel->n_matchers = random__below(r, 4) == 0 ? 3 : (uint32_t)random__below(r, 2);
	for (uint32_t i = 0; i < sel->n_matchers; i++) {
		struct dcm_matcher *m = &q->matchers[side][i];
		uint32_t op = (uint32_t)random__below(r, 4);
		bool regex = op == DCM_RE || op == DCM_NRE;
		size_t n_likely = sizeof(likely) / sizeof(likely[0]);
		size_t name = random__below(r, n_likely);
		size_t value = random__below(r, 10) ? name : random__below(r, n_likely);

		*m = (struct dcm_matcher){ .op = op,
					   .name = str__of(likely[name].name),
					   .value = str__of(regex ? PICK(r, likely[value].patterns)
								  : PICK(r, likely[value].values)) };
		if (!regex)
			continue;
		if (regex__new(m->value, 0, &q->regexes[q->n_regexes], NULL) < 0)
			give_up("a regex does not compile");
		m->regex = q->regexes[q->n_regexes++];
	}
}

static void some_range(struct dcm_select *sel, struct random *r)
{
	sel->from_ms = BASE_MS + (int64_t)random__below(r, 300000) - 20000;
	sel->to_ms = sel->from_ms + (int64_t)random__below(r, 300000);
	if (random__below(r, 3) == 0) {
		sel->from_ms = 0;
		sel->to_ms = INT64_MAX;
	}
}

void question__random(struct question *q, struct random *r)
{
	static const int64_t steps[] = { 0, 1, 1000, 10000, 60000, 3600000 };
	struct asked *a = &q->asked;

	*q = (struct question){ 0 };
	a->what = random__below(r, ASK_N + 2) % ASK_N;
	if (random__below(r, 3) == 0)
		a->what = ASK_MERGE;
	a->n_sel = a->what == ASK_MERGE && random__below(r, 2) ? 2 : 1;
	a->step_ms = PICK(r, steps);
	a->name = str__of(PICK(r, label_names));
	for (uint32_t i = 0; i < a->n_sel; i++) {
		a->sel[i].size = sizeof(a->sel[i]);
		some_range(&a->sel[i], r);
		some_matchers(q, r, i);
		a->sel[i].type = str__of(storage_random__types[random__below(r, N_TYPES)]);
		if (a->what < ASK_POINTS && random__below(r, 3))
			a->sel[i].type = STR("");
	}
	a->by.labels = a->by_labels;
	if (a->what >= ASK_POINTS)
		a->by.n = (uint32_t)random__below(r, 4);
	for (uint32_t i = 0; i < a->by.n; i++) /* distinct ones */
		a->by_labels[i] = str__of(label_names[(random__below(r, 3) * 3 + i) % 9]);
	for (uint32_t i = 1; i < a->by.n; i++)
		for (uint32_t k = 0; k < i; k++)
			if (str__eq(a->by_labels[i], a->by_labels[k]))
				a->by.n = i;
}

/* Ranges may begin and end anywhere. */
static int64_t since_base(int64_t ms)
{
	return (int64_t)((uint64_t)ms - (uint64_t)BASE_MS);
}

void question__describe(const struct asked *a, char *text, size_t cap)
{
	static const char *const names[] = { "types",  "labels", "values",
					     "series", "points", "merge" };
	static const char *const ops[] = { "=", "!=", "=~", "!~" };
	struct buf b = { 0 };

	buf__printf(&b, "%s name=%.*s step=%" PRId64 " by=", names[a->what], STR_ARG(a->name), a->step_ms);
	for (uint32_t i = 0; i < a->by.n; i++)
		buf__printf(&b, "%.*s,", STR_ARG(a->by.labels[i]));
	for (uint32_t i = 0; i < a->n_sel; i++) {
		buf__printf(&b, " %.*s{", STR_ARG(a->sel[i].type));
		for (uint32_t k = 0; k < a->sel[i].n_matchers; k++)
			buf__printf(&b, "%.*s%s\"%.*s\",", STR_ARG(a->sel[i].matchers[k].name),
				    ops[a->sel[i].matchers[k].op],
				    STR_ARG(a->sel[i].matchers[k].value));
		buf__printf(&b, "} [%" PRId64 ",%" PRId64 ")", since_base(a->sel[i].from_ms),
			    since_base(a->sel[i].to_ms));
	}
	snprintf(text, cap, "%.*s", (int)b.n, (const char *)b.data);
	buf__fini(&b);
}
