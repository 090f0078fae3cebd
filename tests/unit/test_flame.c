/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_flame.c - flame trees against paths added up one by one
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/query/flame.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/naive_rows.h"
#include "tests/unit/random.h"
#include "tests/unit/random_batch.h"

/* A path from the root as one text, and what it weighs. */
struct path {
	char *text;
	int64_t self[2], total[2];
};
struct paths {
	struct path *v;
	uint32_t n, cap;
};

static void paths__free(struct paths *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		free(p->v[i].text);
	free(p->v);
}

static void paths__push(struct paths *p, char *text, const int64_t *self, const int64_t *total)
{
	if (p->n == p->cap) {
		p->cap = p->cap ? p->cap * 2 : 64;
		p->v = realloc(p->v, p->cap * sizeof(*p->v));
	}
	p->v[p->n++] = (struct path){ text, { self[0], self[1] }, { total[0], total[1] } };
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(((const struct path *)a)->text, ((const struct path *)b)->text);
}

/* Sorts, and adds up equal ones. */
static void paths__settle(struct paths *p)
{
	uint32_t n = 0;

	if (p->n == 0)
		return;
	qsort(p->v, p->n, sizeof(*p->v), compare_paths);
	for (uint32_t i = 1; i < p->n; i++) {
		if (strcmp(p->v[n].text, p->v[i].text) != 0) {
			p->v[++n] = p->v[i];
			continue;
		}
		for (unsigned s = 0; s < 2; s++) {
			p->v[n].self[s] += p->v[i].self[s];
			p->v[n].total[s] += p->v[i].total[s];
		}
		free(p->v[i].text);
	}
	p->n = n + 1;
}

/* Every prefix of the keys [n] weighs the values, and the whole has them as its own. */
static void paths__add(struct paths *p, const char *const *keys, uint32_t n, const int64_t values[2])
{
	static const int64_t none[2];
	struct buf text = { 0 };

	for (uint32_t i = 0; i <= n; i++) {
		if (i > 0) {
			buf__text(&text, keys[i - 1]);
			buf__byte(&text, 2);
		}
		buf__append(&text, "", 0);
		char *copy = calloc(1, text.n + 1);
		if (text.n)
			memcpy(copy, text.data, text.n);
		paths__push(p, copy, i == n ? values : none, values);
	}
	buf__fini(&text);
}

static struct paths expected_paths(const struct naive_rows *rows, const struct flame_options *o,
				   int64_t filtered[2])
{
	struct paths p = { 0 };
	static const int64_t none[2];

	paths__push(&p, calloc(1, 1), none, none);
	for (uint32_t i = 0; i < rows->n; i++) {
		const struct naive_row *row = &rows->v[i];
		const char **keys = calloc(row->n + 1, sizeof(*keys));
		uint32_t n = 0, at = 0;
		bool out = row->filtered;
		char function[512];

		snprintf(function, sizeof(function), "%.*s", STR_ARG(o->function));
		while (o->side != FLAME_WHOLE && at < row->n &&
		       strcmp(row->frames[at].name, function) != 0)
			at++;
		out |= o->side != FLAME_WHOLE && at == row->n;
		if (out) {
			for (unsigned s = 0; s < 2; s++)
				filtered[s] += row->values[s];
			free(keys);
			continue;
		}
		if (o->side == FLAME_CALLERS)
			for (uint32_t k = at + 1; k > 0; k--)
				keys[n++] = row->frames[k - 1].key;
		else if (o->invert)
			for (uint32_t k = row->n; k > 0; k--)
				keys[n++] = row->frames[k - 1].key;
		else
			for (uint32_t k = at; k < row->n; k++)
				keys[n++] = row->frames[k].key;
		paths__add(&p, keys, n, row->values);
		free(keys);
	}
	paths__settle(&p);
	return p;
}

static struct paths paths_of(const struct flame *f)
{
	struct paths p = { 0 };
	char **texts = calloc(f->n, sizeof(*texts));

	for (uint32_t i = 0; i < f->n; i++) {
		struct buf text = { 0 };
		int64_t self[2] = { f->self[0][i], f->n_values > 1 ? f->self[1][i] : 0 };
		int64_t total[2] = { f->total[0][i], f->n_values > 1 ? f->total[1][i] : 0 };

		if (i > 0) {
			char *key = naive_rows__key_of(&f->frames->v[f->frame[i]], f->frames->group);
			buf__text(&text, texts[f->parent[i]]);
			buf__text(&text, key);
			buf__byte(&text, 2);
			free(key);
		}
		texts[i] = calloc(1, text.n + 1);
		if (text.n)
			memcpy(texts[i], text.data, text.n);
		paths__push(&p, strdup(texts[i]), self, total);
		buf__fini(&text);
	}
	for (uint32_t i = 0; i < f->n; i++)
		free(texts[i]);
	free(texts);
	qsort(p.v, p.n, sizeof(*p.v), compare_paths);
	return p;
}

/* Side B covers `times` the time of side A. */
static int64_t times = 1;

static void set_times(struct frames *frames, uint64_t seed)
{
	times = 1 + (int64_t)seed % 4;
	frames->compare = (struct compare){
		.by = COMPARE_RATES,
		.side = { { .to_ms = 1000 }, { .from_ms = 500, .to_ms = 500 + 1000 * times } }
	};
}

static int64_t both(int64_t *const v[2], const struct flame *f, uint32_t i)
{
	return times * v[0][i] + (f->n_values > 1 ? v[1][i] : 0);
}

/* Preorder, ends, depths, the order of siblings, and the sums that every node must keep. */
static void check_shape(const struct flame *f)
{
	uint32_t max_depth = 0;
	int64_t *sums = calloc(f->n, sizeof(*sums));

	assert_int_equal(f->frame[0], FLAME_ROOT);
	assert_int_equal(f->end[0], f->n);
	for (uint32_t i = 1; i < f->n; i++) {
		assert_true(f->parent[i] < i && f->end[f->parent[i]] >= f->end[i] && f->end[i] > i);
		assert_int_equal(f->depth[i], f->depth[f->parent[i]] + 1);
		max_depth = f->depth[i] > max_depth ? f->depth[i] : max_depth;
		assert_true(f->frame[i] < f->frames->n);
		/* The sibling before ends where this one begins, and weighs no less. */
		uint32_t before = f->parent[i] + 1;
		while (before != i && f->end[before] != i)
			before = f->end[before];
		if (before != i) {
			assert_true(both(f->total, f, before) >= both(f->total, f, i));
			if (both(f->total, f, before) == both(f->total, f, i))
				assert_true(f->frame[before] < f->frame[i]);
		}
	}
	assert_int_equal(f->max_depth, max_depth);
	for (uint32_t s = 0; s < f->n_values; s++) {
		memset(sums, 0, f->n * sizeof(*sums));
		for (uint32_t i = 1; i < f->n; i++)
			sums[f->parent[i]] += f->total[s][i];
		for (uint32_t i = 0; i < f->n; i++)
			assert_int_equal(f->total[s][i], f->self[s][i] + sums[i] +
								 (f->trimmed[s] ? f->trimmed[s][i] : 0));
	}
	free(sums);
}

static void compare_tree(const struct flame *f, const struct paths *expected)
{
	struct paths got = paths_of(f);

	for (uint32_t i = 0; i < got.n && i < expected->n; i++) {
		assert_string_equal(got.v[i].text, expected->v[i].text);
		for (uint32_t s = 0; s < f->n_values; s++) {
			assert_int_equal(got.v[i].self[s], expected->v[i].self[s]);
			assert_int_equal(got.v[i].total[s], expected->v[i].total[s]);
		}
	}
	assert_int_equal(got.n, expected->n);
	paths__free(&got);
}

static void test_trees_are_sums_of_paths(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 24; seed++) {
		CLEANUP(batch__unrefp)
		struct dcm_batch *b = naive_rows__answer(seed, seed % 3 ? 0 : RANDOM_ALL_NAMED,
							 1 + seed % 2, 1 + seed / 2 % 2);
		enum frames_group group = (enum frames_group)(seed % 5);
		CLEANUP(frames__unrefp) struct frames *frames = NULL;
		struct naive_rows rows = naive_rows__make(b, group, NULL, 0);

		assert_int_equal(frames__new(b, group, NULL, &frames, NULL), 0);
		set_times(frames, b->profiles[0].n_types > 1 ? seed : 0);
		for (unsigned variant = 0; variant < 4; variant++) {
			CLEANUP(flame__freep) struct flame *f = NULL;
			struct flame_options o = { .invert = variant == 1 };
			int64_t filtered[2] = { 0 };

			if (variant > 1) {
				o.side = variant == 2 ? FLAME_CALLEES : FLAME_CALLERS;
				o.function = STR("malloc");
			}
			if (variant > 1 && frames__group_is_coarse(group))
				/* frames have the binary's or file's name there, rows the function's */
				continue;
			struct paths expected = expected_paths(&rows, &o, filtered);
			assert_int_equal(flame__new(frames, &o, &f, NULL), 0);
			check_shape(f);
			compare_tree(f, &expected);
			for (uint32_t s = 0; s < f->n_values; s++)
				assert_int_equal(f->filtered[s], filtered[s]);
			assert_int_equal(f->n_trimmed, 0);
			paths__free(&expected);
		}
		naive_rows__free(&rows);
	}
}

static void test_labels_lead(void **state)
{
	CLEANUP(batch__unrefp) struct dcm_batch *b = naive_rows__answer(5, 0, 3, 1);
	CLEANUP(frames__unrefp) struct frames *frames = NULL;
	CLEANUP(flame__freep) struct flame *f = NULL;
	struct dcm_str labels[] = { STR("zone"), STR("pod") };
	struct dcm_group_by by = { labels, 2 };
	unsigned n_pods = 0;
	(void)state;

	assert_int_equal(frames__new(b, FRAMES_FUNCTION, &by, &frames, NULL), 0);
	for (unsigned invert = 0; invert < 2; invert++) {
		struct flame_options o = { .invert = invert };

		n_pods = 0;
		flame__free(f);
		f = NULL;
		assert_int_equal(flame__new(frames, &o, &f, NULL), 0);
		check_shape(f);
		assert_int_equal(f->end[1], f->n); /* one zone for all: "" */
		for (uint32_t i = 1; i < f->n; i++) {
			const struct frame *fr = &frames->v[f->frame[i]];

			assert_int_equal(fr->kind == FRAME_LABEL, f->depth[i] <= 2);
			if (f->depth[i] == 1)
				assert_true(str__eq(fr->name, STR("zone=")));
			if (f->depth[i] == 2) {
				assert_true(str__starts(fr->name, STR("pod=p")));
				n_pods++;
			}
		}
		assert_int_equal(n_pods, 3);
	}
}

/* Under each path of a tree: what the tree has there, and the rest is told. */
static void test_under_a_path(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		CLEANUP(batch__unrefp)
		struct dcm_batch *b = naive_rows__answer(seed, 0, 2, 1 + seed % 2);
		CLEANUP(frames__unrefp) struct frames *frames = NULL;
		CLEANUP(flame__freep) struct flame *whole = NULL;
		struct dcm_str pod = STR("pod"), names[64];
		struct dcm_group_by by = { &pod, seed % 3 == 0 };
		struct flame_options o = { .invert = seed % 2 };

		assert_int_equal(frames__new(b, FRAMES_FUNCTION, &by, &frames, NULL), 0);
		assert_int_equal(flame__new(frames, &o, &whole, NULL), 0);
		for (uint32_t i = 1; i < whole->n; i += 1 + whole->n / 40) {
			CLEANUP(flame__freep) struct flame *f = NULL;
			uint32_t depth = whole->depth[i];
			int64_t want = 0;

			if (depth > 64)
				continue;
			for (uint32_t k = i; k > 0; k = whole->parent[k])
				names[whole->depth[k] - 1] = frames->v[whole->frame[k]].name;
			for (uint32_t k = 1; k < whole->n; k++) {
				bool same = whole->depth[k] == depth;

				for (uint32_t up = k; same && up > 0; up = whole->parent[up])
					same = str__eq(frames->v[whole->frame[up]].name,
						       names[whole->depth[up] - 1]);
				want += same ? whole->total[0][k] : 0;
			}
			o.under = names;
			o.n_under = depth;
			assert_int_equal(flame__new(frames, &o, &f, NULL), 0);
			check_shape(f);
			assert_int_equal(f->total[0][0], want);
			assert_int_equal(f->total[0][0] + f->filtered[0], whole->total[0][0]);
			for (uint32_t k = 1; k < f->n; k++)
				if (f->depth[k] <= depth)
					assert_true(str__eq(frames->v[f->frame[k]].name,
							    names[f->depth[k] - 1]));
		}
	}
}

static uint64_t weight_of(const struct flame *f, uint32_t i)
{
	uint64_t w = 0;

	for (uint32_t k = i; k < f->end[i]; k++)
		w += (uint64_t)both(f->self, f, k);
	return w;
}

static void test_trimming_is_by_weight_and_told(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 8; seed++) {
		CLEANUP(batch__unrefp)
		struct dcm_batch *b = naive_rows__answer(seed, 0, 1, 1 + seed % 2);
		CLEANUP(frames__unrefp) struct frames *frames = NULL;
		CLEANUP(flame__freep) struct flame *whole = NULL;

		assert_int_equal(frames__new(b, FRAMES_LINE, NULL, &frames, NULL), 0);
		set_times(frames, b->profiles[0].n_types > 1 ? seed : 0);
		assert_int_equal(flame__new(frames, NULL, &whole, NULL), 0);
		uint64_t *weights = calloc(whole->n, sizeof(*weights));
		for (uint32_t i = 0; i < whole->n; i++)
			weights[i] = weight_of(whole, i);
		for (uint64_t max = 1; max < whole->n + 20; max += 1 + max / 3) {
			CLEANUP(flame__freep) struct flame *f = NULL;
			struct flame_options o = { .max_nodes = max };
			uint64_t least = UINT64_MAX, n_kept = 0;

			assert_int_equal(flame__new(frames, &o, &f, NULL), 0);
			check_shape(f);
			assert_true(f->n <= max);
			assert_int_equal(f->n + f->n_trimmed, whole->n);
			assert_int_equal(f->total[0][0], whole->total[0][0]);
			if (f->n == 1)
				continue;
			/* One threshold for the whole tree, and the lowest that has room. */
			for (uint32_t i = 1; i < f->n; i++) {
				uint64_t w = (uint64_t)both(f->total, f, i);
				least = w < least ? w : least;
			}
			for (uint32_t i = 0; i < whole->n; i++)
				n_kept += weights[i] >= least;
			assert_int_equal(n_kept, f->n);
			uint64_t next = 0, n_next = 0;
			for (uint32_t i = 0; i < whole->n; i++)
				if (weights[i] < least && weights[i] > next)
					next = weights[i];
			for (uint32_t i = 0; i < whole->n; i++)
				n_next += weights[i] >= next;
			assert_true(f->n_trimmed == 0 || n_next > max);
		}
		for (unsigned k = 1; k < 6; k++) {
			CLEANUP(flame__freep) struct flame *f = NULL;
			struct flame_options o = { .min_share = k * 0.007 };

			assert_int_equal(flame__new(frames, &o, &f, NULL), 0);
			check_shape(f);
			assert_int_equal(f->n + f->n_trimmed, whole->n);
			for (uint32_t i = 1; i < f->n; i++)
				assert_true((double)both(f->total, f, i) >=
					    o.min_share * (double)weights[0]);
			uint64_t n_kept = 1;
			for (uint32_t i = 1; i < whole->n; i++)
				n_kept += (double)weights[i] >= o.min_share * (double)weights[0];
			assert_int_equal(f->n, n_kept);
		}
		free(weights);
	}
}

/* Very deep stacks with many inlined frames: no recursion of ours, and every sum holds. */
static void test_deep_stacks(void **state)
{
	CLEANUP(batch__unrefp) struct dcm_batch *b = naive_rows__answer(3, RANDOM_NASTY, 2, 2);
	CLEANUP(frames__unrefp) struct frames *frames = NULL;
	(void)state;

	assert_int_equal(frames__new(b, FRAMES_FUNCTION, NULL, &frames, NULL), 0);
	for (unsigned invert = 0; invert < 2; invert++) {
		CLEANUP(flame__freep) struct flame *f = NULL;
		struct flame_options o = { .invert = invert };

		assert_int_equal(flame__new(frames, &o, &f, NULL), 0);
		assert_true(f->max_depth > 4000);
		check_shape(f);
	}
}

/* Stacks of so many addresses that their frames come into order by a thread. */
static struct dcm_batch *many_frames(uint64_t seed, uint32_t n_stacks)
{
	enum { N_LOCATIONS = 9000, DEPTH_MAX = 12 };
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	struct dcm_batch *batch = NULL;
	struct random r = { seed };
	struct dcm_type type = { .name = builder__string(b, STR("x")),
				 .sample_type = builder__string(b, STR("y")) };
	struct dcm_pair pair = { builder__string(b, STR("pod")), builder__string(b, STR("p")) };
	struct dcm_profile head = { .series = builder__series(b, &pair, 1) };
	uint32_t mappings[3], locations[N_LOCATIONS];

	for (uint32_t i = 0; i < 3; i++) {
		static const char *const files[] = { "/usr/lib/liborders.so",
						     "/usr/lib/liborder.so", "/bin/o" };
		struct dcm_mapping m = { .start = 0,
					 .limit = 1u << 30,
					 .file = builder__string(b, str__of(files[i])),
					 .kind = DCM_MAPPING_FILE };
		mappings[i] = builder__mapping(b, &m);
	}
	for (uint32_t i = 0; i < N_LOCATIONS; i++) {
		struct dcm_location l = { .mapping = mappings[random__below(&r, 3)],
					  .process = DCM_NONE,
					  .address = random__below(&r, 1u << 28),
					  .addr_kind = DCM_ADDR_VADDR,
					  .kind = DCM_FRAME_NATIVE };
		locations[i] = builder__location(b, &l, NULL, 0);
	}
	builder__profile(b, &head, &type, 1);
	for (uint32_t i = 0; i < n_stacks; i++) {
		uint32_t stack[DEPTH_MAX], n = (uint32_t)random__below(&r, DEPTH_MAX + 1);
		const int64_t value = 1 + (int64_t)random__below(&r, 3);

		for (uint32_t k = 0; k < n; k++)
			stack[k] = locations[random__below(&r, k + 3 < n ? N_LOCATIONS : 8)];
		builder__row(b, builder__stack(b, stack, n), 0, &value);
	}
	assert_int_equal(builder__seal(b, &batch, NULL), 0);
	return batch;
}

struct asked {
	unsigned n, until; /* it is over at the `until`th look; 0: never */
};

static int over_at_last(void *ctx, struct dcm_error *err)
{
	struct asked *a = ctx;

	return ++a->n == a->until ? error__set(err, -ECANCELED, "look %u", a->n) : 0;
}

/* At whichever look, each step of it included: it ends with that, at once, and nothing is left. */
static void test_what_nobody_wants_any_more_is_given_up(void **state)
{
	CLEANUP(batch__unrefp) struct dcm_batch *b = many_frames(9, 20000);
	CLEANUP(frames__unrefp) struct frames *frames = NULL;
	CLEANUP(flame__freep) struct flame *whole = NULL;
	struct asked all = { 0 };
	struct flame_options o = { .is_over = over_at_last, .over_ctx = &all };
	(void)state;

	assert_int_equal(frames__new(b, FRAMES_FUNCTION, NULL, &frames, NULL), 0);
	assert_int_equal(flame__new(frames, &o, &whole, NULL), 0);
	/* Reading, sorting and building look once in a few thousand rows, and nodes are put down so. */
	assert_true(b->n_rows > 8192);
	assert_true(all.n >= 2 * (b->n_rows / 4096) + b->n_rows / 8192 + whole->n / 4096);
	for (unsigned until = 1; until <= all.n; until++) {
		struct asked a = { .until = until };
		struct dcm_error err = DCM_ERROR_INIT;
		struct flame *f = NULL;

		o.over_ctx = &a;
		assert_int_equal(flame__new(frames, &o, &f, &err), -ECANCELED);
		assert_null(f);
		assert_int_equal(a.n, until);
		assert_non_null(strstr(err.text, "look "));
	}
}

/* What is made of frames while they come into order is what is made of them in order. */
static void test_order_made_meanwhile(void **state)
{
	const struct dcm_str label = STR("pod");
	const struct dcm_group_by by = { &label, 1 };
	(void)state;

	for (uint64_t seed = 1; seed <= 6; seed++) {
		CLEANUP(batch__unrefp) struct dcm_batch *b = many_frames(seed, 4000);
		CLEANUP(frames__unrefp) struct frames *before = NULL;
		CLEANUP(frames__unrefp) struct frames *meanwhile = NULL;
		CLEANUP(frames__unrefp) struct frames *left = NULL;
		CLEANUP(flame__freep) struct flame *want = NULL;
		CLEANUP(flame__freep) struct flame *got = NULL;
		const struct flame_options o = { .invert = seed % 2 };
		const uint32_t *rank;

		assert_int_equal(frames__new(b, FRAMES_FUNCTION, &by, &before, NULL), 0);
		assert_int_equal(frames__begin(b, FRAMES_FUNCTION, &by, &meanwhile, NULL), 0);
		assert_int_equal(frames__begin(b, FRAMES_FUNCTION, &by, &left, NULL), 0);
		assert_true(before->n > 8000);
		assert_int_equal(flame__new(before, &o, &want, NULL), 0);
		assert_int_equal(flame__new(meanwhile, &o, &got, NULL), 0);
		assert_int_equal(frames__settle(meanwhile, &rank), 0);
		assert_null(rank);
		assert_int_equal(meanwhile->n, before->n);
		for (uint32_t i = 0; i < before->n; i++) {
			assert_true(str__eq(meanwhile->v[i].name, before->v[i].name));
			if (i)
				assert_true(str__cmp(before->v[i - 1].name, before->v[i].name) <= 0);
		}
		assert_memory_equal(meanwhile->slots, before->slots,
				    before->n_slots * sizeof(*before->slots));
		assert_int_equal(got->n, want->n);
		assert_memory_equal(got->frame, want->frame, want->n * sizeof(*want->frame));
		assert_memory_equal(got->depth, want->depth, want->n * sizeof(*want->depth));
		assert_memory_equal(got->total[0], want->total[0], want->n * sizeof(*want->total[0]));
		check_shape(got);
	}
}

static void test_nothing_makes_a_root(void **state)
{
	CLEANUP(builder__freep) struct dcm_builder *builder = builder__new(0);
	CLEANUP(batch__unrefp) struct dcm_batch *b = NULL;
	CLEANUP(frames__unrefp) struct frames *frames = NULL;
	CLEANUP(flame__freep) struct flame *f = NULL;
	(void)state;

	assert_int_equal(builder__seal(builder, &b, NULL), 0);
	assert_int_equal(frames__new(b, FRAMES_FUNCTION, NULL, &frames, NULL), 0);
	assert_int_equal(flame__new(frames, NULL, &f, NULL), 0);
	assert_int_equal(f->n, 1);
	assert_int_equal(f->total[0][0], 0);
	check_shape(f);
}

/* Negative values and sums beyond 64 bits: held at the limit, and the tree keeps its shape. */
static void test_extreme_values(void **state)
{
	static const int64_t values[] = { INT64_MAX, INT64_MAX, INT64_MIN, -5, 7 };
	CLEANUP(builder__freep) struct dcm_builder *builder = builder__new(0);
	CLEANUP(batch__unrefp) struct dcm_batch *b = NULL;
	CLEANUP(frames__unrefp) struct frames *frames = NULL;
	CLEANUP(flame__freep) struct flame *f = NULL;
	struct dcm_location l = { .mapping = DCM_NONE, .process = DCM_NONE, .addr_kind = DCM_ADDR_RUNTIME };
	struct dcm_type type = { .name = builder__string(builder, STR("x")),
				 .sample_type = builder__string(builder, STR("y")) };
	struct dcm_profile head = { .series = builder__series(builder, NULL, 0) };
	(void)state;

	builder__profile(builder, &head, &type, 1);
	for (unsigned i = 0; i < 5; i++) {
		l.address = 1 + i / 2;
		uint32_t location = builder__location(builder, &l, NULL, 0);
		builder__row(builder, builder__stack(builder, &location, 1), 0, &values[i]);
	}
	assert_int_equal(builder__seal(builder, &b, NULL), 0);
	assert_int_equal(frames__new(b, FRAMES_FUNCTION, NULL, &frames, NULL), 0);
	assert_int_equal(flame__new(frames, NULL, &f, NULL), 0);
	assert_int_equal(f->n, 4);
	assert_int_equal(f->total[0][1], INT64_MAX);
	assert_int_equal(f->end[0], 4);
}

static void test_wrong_options(void **state)
{
	CLEANUP(batch__unrefp) struct dcm_batch *b = naive_rows__answer(1, 0, 1, 1);
	CLEANUP(frames__unrefp) struct frames *frames = NULL;
	static const struct flame_options wrong[] = {
		{ .side = FLAME_CALLERS },
		{ .side = FLAME_CALLEES, .function = { "f", 1 }, .invert = true },
		{ .min_share = -0.1 },
		{ .min_share = 1.1 },
		{ .min_share = __builtin_nan("") },
	};
	(void)state;

	assert_int_equal(frames__new(b, FRAMES_FUNCTION, NULL, &frames, NULL), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct flame *f = NULL;
		struct dcm_error err = DCM_ERROR_INIT;

		assert_int_equal(flame__new(frames, &wrong[i], &f, &err), -EINVAL);
		assert_true(err.text[0]);
	}
}

static void test_without_memory(void **state)
{
	CLEANUP(batch__unrefp) struct dcm_batch *b = naive_rows__answer(3, 0, 1, 2);
	struct dcm_str pod = STR("pod");
	struct dcm_group_by by = { &pod, 1 };
	(void)state;

	FAILMALLOC_SWEEP (i) {
		struct frames *frames = NULL;
		struct flame *f = NULL;
		struct flame_options o = { .max_nodes = 50 };
		int r = frames__new(b, FRAMES_FUNCTION, &by, &frames, NULL);

		if (r == 0)
			r = flame__new(frames, &o, &f, NULL);
		failmalloc__disarm();
		assert_int_equal(r, failmalloc__failed() ? -ENOMEM : 0);
		flame__free(f);
		frames__unref(frames);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trees_are_sums_of_paths),
		cmocka_unit_test(test_what_nobody_wants_any_more_is_given_up),
		cmocka_unit_test(test_labels_lead),
		cmocka_unit_test(test_under_a_path),
		cmocka_unit_test(test_trimming_is_by_weight_and_told),
		cmocka_unit_test(test_deep_stacks),
		cmocka_unit_test(test_order_made_meanwhile),
		cmocka_unit_test(test_nothing_makes_a_root),
		cmocka_unit_test(test_extreme_values),
		cmocka_unit_test(test_wrong_options),
		cmocka_unit_test(test_without_memory),
	};

	return cmocka_run_group_tests_name("flame", tests, NULL, NULL);
}
