/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_aggregate.c - a window's sums against a list that is searched from end to
 * end
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "plugins/input/ebpf/aggregate.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"

enum { SAMPLES = 20000, FRAMES = 6, STACKS = 40 };

/* Adds a sample with the stack found or made. */
static int add(struct aggregate *a, const struct aggregate_stack *stack, struct aggregate_row row)
{
	int r = 0;

	if (!aggregate__find_stack(a, stack, &row.stack))
		r = aggregate__add_stack(a, stack, &row.stack);
	return r < 0 ? r : aggregate__add(a, &row);
}

static bool same_key(const struct aggregate_row *a, const struct aggregate_row *b)
{
	return a->series == b->series && a->pid == b->pid && a->tid == b->tid && a->cpu == b->cpu &&
	       a->thread_name == b->thread_name;
}

static void test_against_a_list(void **state)
{
	struct random rnd = { 5 };
	struct aggregate *a = aggregate__new(1, (struct aggregate_limits){ 0 });
	uint64_t frames[STACKS][FRAMES];
	struct {
		struct aggregate_row row;
		unsigned stack;
		uint64_t n, ns;
	} *list = calloc(SAMPLES, sizeof(*list));
	size_t n_list = 0;

	(void)state;
	for (unsigned s = 0; s < STACKS; s++)
		for (unsigned i = 0; i < FRAMES; i++)
			frames[s][i] = random__below(&rnd, 3); /* many that differ in their last frame only */
	for (unsigned i = 0; i < SAMPLES; i++) {
		unsigned pick = (unsigned)random__below(&rnd, STACKS);
		struct aggregate_stack stack = { .frames = frames[pick],
						 .n_kernel = (uint16_t)(pick % 3),
						 .n_user = (uint16_t)(FRAMES - pick % 3) };
		struct aggregate_row row = { .pid = 1 + (uint32_t)random__below(&rnd, 3),
					     .tid = (uint32_t)random__below(&rnd, 5),
					     .cpu = (uint32_t)random__below(&rnd, 2),
					     .n_samples = 1,
					     .cpu_ns = 1 + random__below(&rnd, 9) };
		size_t k;

		assert_int_equal(add(a, &stack, row), 0);
		for (k = 0; k < n_list; k++)
			if (same_key(&list[k].row, &row) && list[k].stack % 3 == pick % 3 &&
			    memcmp(frames[list[k].stack], frames[pick], sizeof(frames[pick])) == 0)
				break;
		if (k == n_list) {
			n_list++;
			list[k].row = row;
			list[k].stack = pick;
		}
		list[k].n++;
		list[k].ns += row.cpu_ns;
	}
	assert_int_equal(a->rows.n, n_list);
	assert_int_equal(a->n_samples, SAMPLES);
	/* Both make their rows in the order in which they were first met. */
	for (size_t k = 0; k < n_list; k++) {
		const struct aggregate_row *row = &a->rows.v[k];
		const struct aggregate_stack *s = &a->stacks.v[row->stack];

		assert_true(same_key(row, &list[k].row));
		assert_int_equal(row->n_samples, list[k].n);
		assert_int_equal(row->cpu_ns, list[k].ns);
		assert_memory_equal(s->frames, frames[list[k].stack], sizeof(frames[0]));
	}
	aggregate__free(a);
	free(list);
}

static void test_what_tells_stacks_apart(void **state)
{
	struct aggregate *a = aggregate__new(1, (struct aggregate_limits){ 0 });
	const uint64_t frames[] = { 1, 2, 3 };
	const struct aggregate_stack base = { .frames = frames, .n_kernel = 1, .n_user = 2 };
	struct aggregate_stack other[] = { base, base, base, base, base };
	uint32_t id, first;

	(void)state;
	other[0].n_kernel = 2;
	other[0].n_user = 1;
	other[1].outcome = SAMPLER_OUTCOME_ROOT;
	other[2].kernel_cut = true;
	other[3].image = 1;
	other[4].n_user = 1;
	assert_int_equal(aggregate__add_stack(a, &base, &first), 0);
	assert_int_not_equal(first, AGGREGATE_OVERFLOW);
	for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++) {
		assert_false(aggregate__find_stack(a, &other[i], &id));
		assert_int_equal(aggregate__add_stack(a, &other[i], &id), 0);
	}
	assert_true(aggregate__find_stack(a, &base, &id));
	assert_int_equal(id, first);
	aggregate__free(a);
}

/* What finds no room loses its stack, and not its time. */
static void test_limits(void **state)
{
	struct aggregate_limits limits = { .stacks = 4, .rows = 8 };
	struct aggregate *a = aggregate__new(1, limits);
	uint64_t total = 0, shown = 0;

	(void)state;
	for (uint64_t i = 0; i < 100; i++) {
		struct aggregate_stack stack = { .frames = &i, .n_user = 1 };
		struct aggregate_row row = { .series = (uint32_t)(i % 2),
					     .pid = 1,
					     .tid = (uint32_t)i,
					     .n_samples = 1,
					     .cpu_ns = i };

		assert_int_equal(add(a, &stack, row), 0);
		total += i;
	}
	assert_int_equal(a->stacks.n, limits.stacks);
	assert_true(a->rows.n <= limits.rows + 2);
	assert_int_equal(a->n_samples, 100);
	assert_int_equal(a->n_overflow, 97);
	for (size_t i = 0; i < a->rows.n; i++)
		shown += a->rows.v[i].cpu_ns;
	assert_int_equal(shown, total);
	aggregate__free(a);

	limits = (struct aggregate_limits){ .frame_bytes = 8192 };
	a = aggregate__new(1, limits);
	for (uint64_t i = 0; i < 10000; i++) {
		uint64_t frames[4] = { i, i, i, i };
		struct aggregate_stack stack = { .frames = frames, .n_user = 4 };

		assert_int_equal(add(a, &stack, (struct aggregate_row){ .n_samples = 1 }), 0);
	}
	assert_true(a->frames.total_bytes <= limits.frame_bytes);
	assert_true(a->n_overflow > 9000);
	aggregate__free(a);
}

static void test_images_and_series(void **state)
{
	struct aggregate *a = aggregate__new(3, (struct aggregate_limits){ 0 });
	struct process p = { .id = { 42, 1, 1 } };
	uint32_t one, two, again;

	(void)state;
	assert_int_equal(aggregate__image(a, &p, p.maps, &one), 0);
	assert_int_not_equal(one, 0);
	assert_int_equal(aggregate__image(a, &p, p.maps, &again), 0);
	assert_int_equal(again, one);
	/* Other maps make another image of it. */
	p.maps = calloc(1, sizeof(*p.maps));
	p.maps->refs = 1;
	assert_int_equal(aggregate__image(a, &p, p.maps, &two), 0);
	assert_int_not_equal(two, one);
	assert_int_equal(p.maps->refs, 2);
	assert_int_equal(aggregate__series(a, STR("a"), STR("b"), STR("c"), &one), 0);
	assert_int_equal(aggregate__series(a, STR("a"), STR("c"), STR("b"), &two), 0);
	assert_int_equal(aggregate__series(a, STR("a"), STR("b"), STR("c"), &again), 0);
	assert_int_equal(one, again);
	assert_int_not_equal(one, two);
	aggregate__free(a);
	assert_int_equal(p.maps->refs, 1);
	maps__unref(p.maps);
}

static int fill(struct aggregate **ret)
{
	struct aggregate *a = aggregate__new(1, (struct aggregate_limits){ 0 });
	struct process p = { .id = { 42, 1, 1 } };
	uint32_t image, series;
	int r = a ? 0 : -ENOMEM;

	*ret = a;
	for (uint64_t i = 0; i < 50 && r == 0; i++) {
		struct aggregate_stack stack = { .frames = &i, .n_user = 1 };
		char name[16];
		int n = snprintf(name, sizeof(name), "c%u", (unsigned)i);

		p.id.pid = (uint32_t)i;
		r = aggregate__image(a, &p, p.maps, &image);
		if (r == 0)
			r = aggregate__series(a, (struct dcm_str){ name, (uint32_t)n }, STR("e"),
					      STR("g"), &series);
		if (r == 0)
			r = add(a, &stack,
				(struct aggregate_row){
					.series = series, .pid = (uint32_t)i, .n_samples = 1 });
	}
	return r;
}

static void test_no_memory(void **state)
{
	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct aggregate *a;
		int r = fill(&a);

		failmalloc__disarm();
		if (r < 0)
			assert_int_equal(r, -ENOMEM);
		else
			assert_int_equal(a->n_samples, 50);
		aggregate__free(a);
	}
}

/* So many pages of memory that is code, and a file above them. */
static struct maps *state_of(uint32_t n)
{
	struct maps_parser p;
	struct maps *m = NULL;
	char line[128];

	assert_int_equal(maps__parse_begin(&p), 0);
	for (uint32_t i = 0; i < n; i++)
		maps__parse(&p, line,
			    (size_t)snprintf(line, sizeof(line), "%x-%x r-xp 00000000 00:00 0 \n",
					     0x100000 + i * 0x2000, 0x101000 + i * 0x2000));
	maps__parse(
		&p, line,
		(size_t)snprintf(line, sizeof(line),
				 "7f0000000000-7f0000100000 r-xp 00001000 08:01 5 /lib/libx.so\n"));
	assert_int_equal(maps__parse_end(&p, &m), 0);
	return m;
}

/* A JIT of many mappings, with other ones for each sample: windows keep whole states up to a bound, then what frames need. */
static void test_states_of_mappings_are_bounded(void **state)
{
	enum { RANGES = 2000, STATES = 400 };
	const uint64_t frames[] = { 0x100500, 0x7f0000000801, 0x7f0000000901, 0x50 };
	struct aggregate *a = aggregate__new(1, (struct aggregate_limits){ .maps_bytes = 4 << 20 });
	struct process p = { .id = { 7, 1, 1 } };
	uint32_t image = 0, last = 0, n_whole = 0;

	(void)state;
	for (uint32_t i = 0; i < STATES; i++) {
		struct maps *whole = state_of(RANGES + i), *held = whole;

		assert_int_equal(aggregate__hold(a, &p, frames, 4, &held), 0);
		n_whole += held == whole;
		assert_int_equal(aggregate__image(a, &p, held, &image), 0);
		/* What is kept names the frames as the whole does, and nothing where that names nothing. */
		for (uint32_t k = 0; k < 4; k++) {
			const struct maps_range *r = maps__find(held, frames[k] - (k > 0)),
						*want = maps__find(whole, frames[k] - (k > 0));

			assert_int_equal(r != NULL, want != NULL);
			if (r)
				assert_true(r->start == want->start && r->end == want->end &&
					    r->offset == want->offset && str__eq(r->name, want->name));
		}
		/* One that is kept is not counted again. */
		held = whole;
		assert_int_equal(aggregate__hold(a, &p, frames, 4, &held), 0);
		assert_int_equal(aggregate__image(a, &p, held, &last), 0);
		assert_int_equal(last, image);
		maps__unref(whole);
	}
	assert_true(n_whole > 0 && n_whole < STATES / 4);
	assert_int_equal(a->images.n, 1 + n_whole + 1);
	assert_true(a->maps_bytes <= 5 << 20);
	/* Other frames each time: until there is no room for those either. */
	for (uint32_t i = 0; i < RANGES; i++) {
		uint64_t other[64];
		struct maps *whole = state_of(RANGES), *held = whole;
		int r;

		for (uint32_t k = 0; k < 64; k++)
			other[k] = 0x100801 + (uint64_t)((i + k * 29) % RANGES) * 0x2000;
		r = aggregate__hold(a, &p, other, 64, &held);
		maps__unref(whole);
		if (r == -ENOSPC)
			break;
		assert_int_equal(r, 0);
		assert_int_equal(aggregate__image(a, &p, held, &image), 0);
	}
	assert_true(a->maps_bytes <= 8 << 20 && a->maps_bytes > 7 << 20);
	maps__unref(p.few);
	aggregate__free(a);
}

/*
 * Stacks that differ, in turns, of processes with many mappings that stay: what one needs is kept once, whichever was
 * last, and none loses its stack.
 */
static void test_stacks_in_turns(void **state)
{
	enum { STABLE = 2000, PROCESSES_N = 3, DIFFERENT = 4, TURNS = 5000 };
	struct aggregate *a = aggregate__new(1, (struct aggregate_limits){ .maps_bytes = 256 << 10 });
	struct process p[PROCESSES_N] = { { .id = { 7, 1, 1 } },
					  { .id = { 8, 1, 1 } },
					  { .id = { 9, 1, 1 } } };
	struct maps *whole[PROCESSES_N];
	uint32_t images[PROCESSES_N][DIFFERENT] = { 0 }, image = 0;

	(void)state;
	for (uint32_t i = 0; i < PROCESSES_N; i++)
		whole[i] = state_of(STABLE + i);
	for (uint32_t i = 0; i < TURNS; i++) {
		const uint32_t of = i % PROCESSES_N, turn = i / PROCESSES_N % DIFFERENT;
		const uint64_t frames[] = { 0x100500 + turn * 0x2000, 0x7f0000000801 };
		struct maps *held = whole[of];

		assert_int_equal(aggregate__hold(a, &p[of], frames, 2, &held), 0);
		assert_int_equal(aggregate__image(a, &p[of], held, &image), 0);
		assert_non_null(maps__find(held, frames[0]));
		if (!images[of][turn])
			images[of][turn] = image;
		assert_int_equal(image, images[of][turn]);
		/* A whole state is one for all of them. */
		if (held != whole[of])
			for (uint32_t k = 0; k < DIFFERENT; k++)
				assert_int_equal(images[of][k] == image, k == turn);
	}
	assert_true(a->images.n <= 1 + PROCESSES_N * DIFFERENT);
	for (uint32_t i = 0; i < PROCESSES_N; i++) {
		maps__unref(whole[i]);
		maps__unref(p[i].few);
	}
	aggregate__free(a);
}

/* What was known to be wrong when a sample came is not what others of the same ranges are named by. */
static void test_wrong_ranges_are_apart(void **state)
{
	struct aggregate *a = aggregate__new(1, (struct aggregate_limits){ .maps_bytes = 64 << 10 });
	struct process p = { .id = { 7, 1, 1 }, .held_window = 1 }, anew = p;
	struct maps *whole = state_of(20), *right = whole, *wrong = whole, *third = whole;
	const uint64_t frame = 0x100500;
	uint32_t one, two;

	(void)state;
	a->maps_bytes = a->limits.maps_bytes;
	assert_int_equal(aggregate__hold(a, &p, &frame, 1, &right), 0);
	assert_int_equal(aggregate__image(a, &p, right, &one), 0);
	whole->wrong = true;
	assert_int_equal(aggregate__hold(a, &p, &frame, 1, &wrong), 0);
	assert_int_equal(aggregate__image(a, &p, wrong, &two), 0);
	assert_int_not_equal(one, two);
	assert_true(maps__is_wrong(wrong) && !maps__is_wrong(right));
	/* Of an entry that was forgotten and made again nobody would say what becomes of the older ones. */
	whole->wrong = false;
	assert_int_equal(aggregate__hold(a, &anew, &frame, 1, &third), 0);
	assert_int_equal(aggregate__image(a, &anew, third, &two), 0);
	assert_int_not_equal(one, two);
	anew.few->wrong = true;
	assert_true(maps__is_wrong(third) && !maps__is_wrong(right));
	maps__unref(whole);
	maps__unref(p.few);
	maps__unref(anew.few);
	aggregate__free(a);
}

/* However many processes there are: the state of each that it has in the table counts for nothing. */
static void test_processes_have_a_state_each(void **state)
{
	enum { PROCESSES = 20000 };
	struct aggregate *a = aggregate__new(1, (struct aggregate_limits){ .maps_bytes = 1 << 20 });
	struct maps *m = state_of(20);
	const uint64_t frame = 0x100500;
	uint32_t image;

	(void)state;
	for (uint32_t i = 1; i <= PROCESSES; i++) {
		struct process p = { .id = { i, 1, 1 } };
		struct maps *held = m;

		assert_int_equal(aggregate__hold(a, &p, &frame, 1, &held), 0);
		assert_ptr_equal(held, m);
		assert_int_equal(aggregate__image(a, &p, held, &image), 0);
		assert_int_equal(image, i);
	}
	assert_int_equal(a->maps_bytes, 0);
	maps__unref(m);
	aggregate__free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_a_list),
		cmocka_unit_test(test_what_tells_stacks_apart),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_images_and_series),
		cmocka_unit_test(test_states_of_mappings_are_bounded),
		cmocka_unit_test(test_stacks_in_turns),
		cmocka_unit_test(test_wrong_ranges_are_apart),
		cmocka_unit_test(test_processes_have_a_state_each),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests_name("ebpf_aggregate", tests, NULL, NULL);
}
