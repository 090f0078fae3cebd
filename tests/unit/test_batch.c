/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_batch.c - references, overlays, the content hash, identity
 *
 * The layouts of docs/FORMATS.md are written here a second time, byte by byte, and hashed with
 * libxxhash itself. The pinned numbers were computed by a third implementation, in Python with its
 * xxhash module.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <xxhash.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/batch/copy.h"
#include "core/batch/identity.h"
#include "tests/unit/batch_judge.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

enum { N_SEEDS = 60 };

static unsigned flags_of(uint64_t seed)
{
	return seed % 2 ? RANDOM_NASTY : 0;
}

/* ------------------------------------------------------------------------------------------------
 * Identity, a second time
 */

static struct dcm_hash hash_of(const struct buf *b)
{
	XXH128_hash_t h = XXH3_128bits(b->data, b->n);

	assert_int_equal(b->error, 0);
	return (struct dcm_hash){ h.low64, h.high64 };
}

static void put_hash(struct buf *b, struct dcm_hash h)
{
	buf__le64(b, h.lo);
	buf__le64(b, h.hi);
}

static void put_text_hash(struct buf *b, struct dcm_str s)
{
	XXH128_hash_t h = XXH3_128bits(s.p, s.n);

	put_hash(b, (struct dcm_hash){ h.low64, h.high64 });
}

static struct dcm_hash expected_mapping(const struct dcm_batch *b, uint32_t id)
{
	const struct dcm_mapping *m = &b->mappings[id];
	bool by_id = b->strings[m->build_id].n > 0;
	struct buf bytes = { 0 };

	buf__le32(&bytes, 1);
	buf__le32(&bytes, by_id ? 1 : 2);
	buf__le32(&bytes, by_id ? 0 : m->kind);
	buf__le32(&bytes, 0);
	put_text_hash(&bytes, b->strings[by_id ? m->build_id : m->file]);
	struct dcm_hash h = hash_of(&bytes);
	buf__fini(&bytes);
	return h;
}

static struct dcm_hash expected_function(const struct dcm_batch *b, uint32_t id)
{
	const struct dcm_function *f = &b->functions[id];
	struct buf bytes = { 0 };

	buf__le32(&bytes, 2);
	buf__le32(&bytes, 0);
	buf__le64(&bytes, (uint64_t)f->start_line);
	put_text_hash(&bytes, b->strings[f->name]);
	put_text_hash(&bytes, b->strings[f->system_name ? f->system_name : f->name]);
	put_text_hash(&bytes, b->strings[f->file]);
	struct dcm_hash h = hash_of(&bytes);
	buf__fini(&bytes);
	return h;
}

static bool has_build_id(const struct dcm_batch *b, const struct dcm_location *l)
{
	return l->mapping != DCM_NONE && b->strings[b->mappings[l->mapping].build_id].n > 0;
}

static struct dcm_hash expected_location(const struct dcm_batch *b, uint32_t id)
{
	const struct dcm_location *l = &b->locations[id];
	bool named_later = l->kind == DCM_FRAME_NATIVE && l->addr_kind != DCM_ADDR_NONE &&
			   has_build_id(b, l);
	bool in_process = l->process != DCM_NONE;
	struct dcm_process p = in_process ? b->processes[l->process] : (struct dcm_process){ 0 };
	struct dcm_hash none = { 0 };
	struct buf bytes = { 0 };

	buf__le32(&bytes, 3);
	buf__byte(&bytes, l->kind);
	buf__byte(&bytes, l->addr_kind);
	buf__append(&bytes, "\0", 2);
	buf__le64(&bytes, l->address);
	put_hash(&bytes, l->mapping == DCM_NONE ? none : expected_mapping(b, l->mapping));
	buf__le64(&bytes, p.start_ns);
	buf__le32(&bytes, p.pid);
	buf__le32(&bytes, p.generation);
	buf__le32(&bytes, in_process);
	buf__le32(&bytes, named_later ? 0 : l->n_lines);
	for (uint32_t i = 0; i < l->n_lines && !named_later; i++) {
		const struct dcm_line *line = &b->lines[l->line_off + i];
		put_hash(&bytes,
			 line->function == DCM_NONE ? none : expected_function(b, line->function));
		buf__le64(&bytes, (uint64_t)line->line);
		buf__le32(&bytes, line->column);
		buf__le32(&bytes, 0);
	}
	struct dcm_hash h = hash_of(&bytes);
	buf__fini(&bytes);
	return h;
}

static struct dcm_hash expected_stack(const struct dcm_batch *b, uint32_t id)
{
	struct buf bytes = { 0 };

	buf__le32(&bytes, 4);
	buf__le32(&bytes, b->stacks[id].n);
	for (uint32_t i = 0; i < b->stacks[id].n; i++)
		put_hash(&bytes, expected_location(b, b->stack_locations[b->stacks[id].off + i]));
	struct dcm_hash h = hash_of(&bytes);
	buf__fini(&bytes);
	return h;
}

static struct dcm_hash expected_series(const struct dcm_batch *b, uint32_t id)
{
	struct buf bytes = { 0 };

	buf__le32(&bytes, 5);
	buf__le32(&bytes, b->series[id].n);
	for (uint32_t i = 0; i < b->series[id].n; i++) {
		const struct dcm_pair *p = &b->pairs[b->series[id].off + i];
		put_text_hash(&bytes, b->strings[p->name]);
		put_text_hash(&bytes, b->strings[p->value]);
	}
	struct dcm_hash h = hash_of(&bytes);
	buf__fini(&bytes);
	return h;
}

static void assert_hash_equal(struct dcm_hash a, struct dcm_hash b)
{
	assert_true(a.lo == b.lo && a.hi == b.hi);
}

static void hashes_follow_the_written_layout(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
		struct dcm_batch *b = random_batch__new(seed, flags_of(seed));
		assert_non_null(b);
		for (uint32_t i = 0; i < b->n_locations; i++)
			assert_hash_equal(b->location_hashes[i], expected_location(b, i));
		for (uint32_t i = 0; i < b->n_stacks; i++)
			assert_hash_equal(identity__stack(b, i), expected_stack(b, i));
		for (uint32_t i = 0; i < b->n_series; i++) {
			assert_hash_equal(b->series_hashes[i], expected_series(b, i));
			assert_hash_equal(b->series_hashes[i], identity__series(b, i));
		}
		batch__unref(b);
	}
}

/* An answer has none; what the builder makes after it does. */
static void hashes_may_be_left_out(void **state)
{
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	CLEANUP(batch__unrefp) struct dcm_batch *without = NULL, *with = NULL;
	(void)state;

	builder__leave_hashes(b);
	random_batch__fill(b, 5, 0, 0);
	assert_int_equal(builder__seal(b, &without, NULL), 0);
	assert_true(without->n_locations && without->n_stacks && without->n_series);
	assert_null(without->location_hashes);
	assert_null(without->series_hashes);
	random_batch__fill(b, 5, 0, 0);
	assert_int_equal(builder__seal(b, &with, NULL), 0);
	assert_int_equal(with->n_locations, without->n_locations);
	for (uint32_t i = 0; i < with->n_locations; i++)
		assert_hash_equal(with->location_hashes[i], expected_location(with, i));
}

/* The example that docs/FORMATS.md shows, with its numbers. */
static void hashes_of_the_written_example(void **state)
{
	(void)state;
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	CLEANUP(batch__unrefp) struct dcm_batch *batch = NULL;

	uint32_t mapping = builder__mapping(
		b, &(struct dcm_mapping){ .start = 0x400000,
					  .limit = 0x500000,
					  .file = builder__string(b, STR("/usr/bin/app")),
					  .build_id = builder__string(b, STR("00ff")) });
	uint32_t function = builder__function(
		b, &(struct dcm_function){ .name = builder__string(b, STR("main")),
					   .file = builder__string(b, STR("main.c")),
					   .start_line = 10 });
	uint32_t locations[3];
	const struct dcm_line line = { .function = function, .line = 12, .column = 3 };
	locations[0] = builder__location(b,
					 &(struct dcm_location){ .mapping = mapping,
								 .process = DCM_NONE,
								 .address = 0x1234,
								 .addr_kind = DCM_ADDR_VADDR },
					 &line, 1);
	uint32_t process = builder__process(
		b, &(struct dcm_process){ .pid = 42, .generation = 1, .start_ns = 5000000000 });
	locations[1] = builder__location(b,
					 &(struct dcm_location){ .mapping = DCM_NONE,
								 .process = process,
								 .address = 0x7f0000001000,
								 .addr_kind = DCM_ADDR_RUNTIME,
								 .kind = DCM_FRAME_JIT },
					 &line, 1);
	locations[2] = builder__location(
		b, &(struct dcm_location){ .mapping = DCM_NONE, .process = DCM_NONE, .kind = DCM_FRAME_NOTE },
		NULL, 0);
	builder__stack(b, locations, 3);
	builder__stack(b, NULL, 0);
	const struct dcm_pair pairs[] = {
		{ builder__string(b, STR("service_name")), builder__string(b, STR("api")) },
		{ builder__string(b, STR("node")), builder__string(b, STR("n1")) },
	};
	builder__series(b, pairs, 2);
	assert_int_equal(builder__seal(b, &batch, NULL), 0);

	static const struct dcm_hash want_locations[3] = {
		{ 0xac9fed86aa6c7781, 0x303278650c6d6e46 },
		{ 0xe2db61aed91465a1, 0xd1309dc167b438d1 },
		{ 0x3f5100bdc7fe9bac, 0x644884976670fdd0 },
	};
	static const struct dcm_hash want_stacks[2] = {
		{ 0x54a4a9e57f4d3e8a, 0x4e253d732c65c6f2 },
		{ 0x7b06e7af258896d2, 0x8c351d2b70cfa458 },
	};
	static const struct dcm_hash want_series = { 0x726ac45cd96a09fe, 0x872a1355760d6e91 };
	for (int i = 0; i < 3; i++)
		assert_hash_equal(batch->location_hashes[i], want_locations[i]);
	for (int i = 0; i < 2; i++)
		assert_hash_equal(identity__stack(batch, (uint32_t)i), want_stacks[i]);
	assert_hash_equal(batch->series_hashes[0], want_series);
}

/* ------------------------------------------------------------------------------------------------
 * The content hash
 */

/* [n] numbers 0 .. n - 1 in random order; the caller frees. */
static uint32_t *shuffled(struct random *r, uint32_t n)
{
	uint32_t *order = mem__zalloc(n, sizeof(*order));

	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	for (uint32_t i = n; i > 1; i--) {
		uint32_t k = (uint32_t)random__below(r, i), last = order[i - 1];
		order[i - 1] = order[k];
		order[k] = last;
	}
	return order;
}

/*
 * Copies a profile with its rows in another order, some of them in two halves, and zero rows
 * between.
 */
static void copy_otherwise(struct copier *c, struct dcm_builder *b, const struct dcm_batch *src,
			   uint32_t id, struct random *r)
{
	const struct dcm_profile *p = &src->profiles[id];
	struct dcm_profile head = *p;
	struct dcm_type types[16];

	for (uint32_t k = 0; k < p->n_types; k++) {
		types[k] = src->types[p->type_off + k];
		types[k].name = copier__string(c, types[k].name);
		types[k].sample_type = copier__string(c, types[k].sample_type);
		types[k].sample_unit = copier__string(c, types[k].sample_unit);
		types[k].period_type = copier__string(c, types[k].period_type);
		types[k].period_unit = copier__string(c, types[k].period_unit);
	}
	head.series = copier__series(c, p->series);
	builder__profile(b, &head, types, p->n_types);

	uint32_t *order = shuffled(r, p->n_rows);
	for (uint32_t i = 0; i < p->n_rows; i++) {
		uint64_t row = p->row_off + order[i];
		const int64_t *v = &src->values[p->value_off + (uint64_t)order[i] * p->n_types];
		uint32_t stack = copier__stack(c, src->row_stacks[row]);
		uint32_t set = copier__label_set(c, src->row_labels[row]);
		int64_t half[16], rest[16], none[16] = { 0 };
		for (uint32_t k = 0; k < p->n_types; k++) {
			half[k] = v[k] / 2;
			rest[k] = v[k] - half[k];
		}
		if (random__below(r, 2)) {
			builder__row(b, stack, set, v);
		} else {
			builder__row(b, stack, set, half);
			builder__row(b, stack, 0, none);
			builder__row(b, stack, set, rest);
		}
	}
	free(order);
}

static struct dcm_batch *told_otherwise(const struct dcm_batch *src, struct random *r)
{
	struct dcm_builder *b = builder__new(0);
	struct dcm_batch *batch = NULL;
	/* Other ids everywhere: entries that nobody uses come first. */
	random_batch__fill(b, random__next(r), RANDOM_ONE_PROFILE, 0);
	struct dcm_batch *other = NULL;
	assert_int_equal(builder__seal(b, &other, NULL), 0);
	struct copier *c = copier__new(other, b);
	for (uint32_t i = 0; i < other->n_stacks; i++)
		copier__stack(c, i);
	for (uint32_t i = 0; i < other->n_label_sets; i++)
		copier__label_set(c, i);
	copier__free(c);

	c = copier__new(src, b);
	uint32_t *order = shuffled(r, src->n_profiles);
	for (uint32_t i = 0; i < src->n_profiles; i++)
		copy_otherwise(c, b, src, order[i], r);
	free(order);
	copier__free(c);
	assert_int_equal(builder__seal(b, &batch, NULL), 0);
	batch__unref(other);
	builder__free(b);
	return batch;
}

static void content_is_equal_however_it_is_told(void **state)
{
	(void)state;
	struct random r = { 7 };

	for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
		struct dcm_batch *batch = random_batch__new(seed, flags_of(seed));
		struct dcm_batch *other = told_otherwise(batch, &r);
		assert_null(batch_judge__fault(other, false));
		assert_hash_equal(batch__content(batch), batch__content(other));
		batch__unref(batch);
		batch__unref(other);
	}
}

/* Everything that a profile can have, once. */
static struct dcm_batch *full_batch(void)
{
	struct dcm_builder *b = builder__new(0);
	struct dcm_batch *batch = NULL;
	uint32_t text = builder__string(b, STR("text")), other = builder__string(b, STR("other"));
	uint32_t mapping = builder__mapping(b, &(struct dcm_mapping){ .limit = 9, .file = text });
	uint32_t function = builder__function(
		b, &(struct dcm_function){ text, builder__string(b, STR("_t")), text, 1 });
	uint32_t process = builder__process(b, &(struct dcm_process){ .pid = 1 });
	uint32_t location = builder__location(b,
					      &(struct dcm_location){ .mapping = mapping,
								      .process = process,
								      .addr_kind = DCM_ADDR_RUNTIME,
								      .kind = DCM_FRAME_JIT },
					      &(struct dcm_line){ .function = function }, 1);
	uint32_t stack = builder__stack(b, (uint32_t[]){ location, location }, 2);
	uint32_t series = builder__series(b, &(struct dcm_pair){ text, text }, 1);
	uint32_t set = builder__label_set(
		b, (struct dcm_label[]){ { text, text, 0, DCM_NONE }, { other, 0, 7, text } }, 2);
	const struct dcm_type types[] = { { text, text, text, text, text, DCM_GAUGE },
					  { text, other, text, text, text, DCM_GAUGE } };
	builder__profile(b, &(struct dcm_profile){ .series = series, .time_ns = 1 }, types, 2);
	builder__row(b, stack, set, (const int64_t[]){ 5, 6 });
	assert_int_equal(builder__seal(b, &batch, NULL), 0);
	builder__free(b);
	return batch;
}

/* An overlay in which all that a change may touch is its own. */
struct open_batch {
	struct dcm_batch *b;
	struct dcm_mapping *mappings;
	struct dcm_function *functions;
	struct dcm_line *lines;
	struct dcm_process *processes;
	struct dcm_location *locations;
	struct dcm_span *stacks;
	struct dcm_pair *pairs;
	struct dcm_label *labels;
	struct dcm_type *types;
	struct dcm_profile *profiles;
	int64_t *values;
};

#define OPEN(o, column, n)                                                                         \
	do {                                                                                       \
		(o)->column = arena__alloc(arena, (n) * sizeof(*(o)->column));                     \
		memcpy((o)->column, (o)->b->column, (n) * sizeof(*(o)->column));                   \
		(o)->b->column = (o)->column;                                                      \
	} while (0)

static struct open_batch open_batch(struct dcm_batch *parent)
{
	struct arena *arena;
	struct open_batch o = { .b = batch__overlay(parent, &arena) };

	OPEN(&o, mappings, o.b->n_mappings);
	OPEN(&o, functions, o.b->n_functions);
	OPEN(&o, lines, o.b->n_lines);
	OPEN(&o, processes, o.b->n_processes);
	OPEN(&o, locations, o.b->n_locations);
	OPEN(&o, stacks, o.b->n_stacks);
	OPEN(&o, pairs, o.b->n_pairs);
	OPEN(&o, labels, o.b->n_labels);
	OPEN(&o, types, o.b->n_types);
	OPEN(&o, profiles, o.b->n_profiles);
	OPEN(&o, values, o.b->n_values);
	return o;
}

/*
 * Runs the statement on a fresh overlay `o`; the content must then differ from before, and from all
 * seen.
 */
#define CHANGES(...)                                                                               \
	do {                                                                                       \
		struct open_batch o = open_batch(parent);                                          \
		__VA_ARGS__;                                                                       \
		seen[n_seen] = batch__content(o.b);                                                \
		for (unsigned k = 0; k < n_seen; k++)                                              \
			if (seen[k].lo == seen[n_seen].lo && seen[k].hi == seen[n_seen].hi)        \
				fail_msg("no other content after %s", #__VA_ARGS__);               \
		n_seen++;                                                                          \
		batch__unref(o.b);                                                                 \
	} while (0)

static void content_tells_every_field(void **state)
{
	(void)state;
	CLEANUP(batch__unrefp) struct dcm_batch *parent = full_batch();
	struct dcm_hash seen[64];
	unsigned n_seen = 0;
	uint32_t other = 2; /* the string "other" */
	assert_true(str__eq(parent->strings[other], STR("other")));

	seen[n_seen++] = batch__content(parent);
	CHANGES(o.mappings[0].start = 1);
	CHANGES(o.mappings[0].limit = 10);
	CHANGES(o.mappings[0].offset = 1);
	CHANGES(o.mappings[0].file = other);
	CHANGES(o.mappings[0].build_id = other);
	CHANGES(o.mappings[0].kind = DCM_MAPPING_ANON);
	CHANGES(o.functions[0].name = other);
	CHANGES(o.functions[0].system_name = other);
	CHANGES(o.functions[0].system_name = 0);
	CHANGES(o.functions[0].file = other);
	CHANGES(o.functions[0].start_line = 2);
	CHANGES(o.lines[0].function = DCM_NONE);
	CHANGES(o.lines[0].line = 2);
	CHANGES(o.lines[0].column = 2);
	CHANGES(o.processes[0].pid = 2);
	CHANGES(o.processes[0].generation = 2);
	CHANGES(o.processes[0].start_ns = 2);
	CHANGES(o.locations[0].mapping = DCM_NONE);
	CHANGES(o.locations[0].process = DCM_NONE);
	CHANGES(o.locations[0].address = 1);
	CHANGES(o.locations[0].addr_kind = DCM_ADDR_VADDR);
	CHANGES(o.locations[0].kind = DCM_FRAME_NATIVE);
	CHANGES(o.locations[0].n_lines = 0);
	CHANGES(o.stacks[0].n = 1);
	CHANGES(o.stacks[0].n = 0);
	CHANGES(o.pairs[0].name = other);
	CHANGES(o.pairs[0].value = other);
	CHANGES(o.labels[0].num = 8); /* sorted: "other", a number, comes first */
	CHANGES(o.labels[0].unit = other);
	CHANGES(o.labels[1].str = other);
	CHANGES(o.labels[1].name = other);
	CHANGES(o.types[0].name = other);
	CHANGES(o.types[0].sample_type = other);
	CHANGES(o.types[0].sample_unit = other);
	CHANGES(o.types[0].period_type = other);
	CHANGES(o.types[0].period_unit = other);
	CHANGES(o.types[0].temporality = DCM_DELTA);
	CHANGES(o.profiles[0].time_ns = 2);
	CHANGES(o.profiles[0].duration_ns = 2);
	CHANGES(o.profiles[0].period = 2);
	CHANGES(o.profiles[0].n_types = 1);
	CHANGES(o.profiles[0].n_rows = 0);
	CHANGES(o.values[0] = 6, o.values[1] = 5);
	CHANGES(o.values[0] = -5);
	CHANGES(o.values[0] = INT64_MAX);
	CHANGES(o.values[0] = INT64_MIN);
	CHANGES(o.values[0] = ((int64_t)1 << 61) - 1);
	CHANGES(o.b->n_profiles = 0);
}

static void content_leaves_out_what_cannot_be_asked(void **state)
{
	(void)state;
	CLEANUP(batch__unrefp) struct dcm_batch *parent = full_batch();
	struct dcm_hash before = batch__content(parent);

	struct open_batch o = open_batch(parent);
	o.locations[0].unnamed = DCM_UNNAMED_FILE_GONE;
	o.b->id.sequence = 99;
	assert_hash_equal(batch__content(o.b), before);
	/* Rows that sum up to nothing are as good as none. */
	o.values[0] = o.values[1] = 0;
	struct dcm_hash zero = batch__content(o.b);
	o.profiles[0].n_rows = 0;
	assert_hash_equal(batch__content(o.b), zero);
	batch__unref(o.b);
}

/* ------------------------------------------------------------------------------------------------
 * References and overlays
 */

static void overlay_shares_and_keeps_its_parent(void **state)
{
	(void)state;
	struct dcm_batch *parent = random_batch__new(1, 0);
	struct arena *arena = NULL;
	struct dcm_batch *overlay = batch__overlay(parent, &arena);
	assert_non_null(overlay);
	assert_ptr_equal(overlay->strings, parent->strings);
	assert_ptr_equal(overlay->values, parent->values);
	assert_memory_equal(&overlay->id, &parent->id, sizeof(parent->id));

	struct dcm_pair *pairs = arena__alloc(arena, 100000);
	memcpy(pairs, parent->pairs, parent->n_pairs * sizeof(*pairs));
	overlay->pairs = pairs;
	batch__account(overlay);
	assert_true(overlay->bytes >= parent->bytes + 100000);
	assert_true(overlay->bytes <= parent->bytes + 120000);

	struct dcm_hash before = batch__content(parent);
	batch__unref(parent); /* the overlay keeps it */
	assert_null(batch_judge__fault(overlay, true));
	assert_hash_equal(batch__content(overlay), before);

	/* A long chain is let go without a deep stack. */
	for (int i = 0; i < 100000; i++) {
		struct dcm_batch *next = batch__overlay(overlay, &arena);
		batch__unref(overlay);
		overlay = next;
		batch__account(overlay);
	}
	assert_hash_equal(batch__content(overlay), before);
	batch__unref(overlay);
	batch__unref(NULL);
}

static void *ref_and_unref(void *batch)
{
	for (int i = 0; i < 20000; i++)
		batch__unref(batch__ref(batch));
	batch__unref(batch);
	return NULL;
}

static void references_may_be_taken_by_many_threads(void **state)
{
	(void)state;
	struct dcm_batch *b = random_batch__new(2, 0);
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ref_and_unref, batch__ref(b)), 0);
	batch__unref(b);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static void overlay_survives_failing_memory(void **state)
{
	(void)state;
	struct dcm_batch *parent = random_batch__new(1, 0);

	FAILMALLOC_SWEEP (i) {
		struct arena *arena = NULL;
		struct dcm_batch *overlay = batch__overlay(parent, &arena);
		failmalloc__disarm();
		if (!overlay)
			assert_true(failmalloc__failed());
		batch__unref(overlay);
	}
	batch__unref(parent);
}

static void series_label_is_found(void **state)
{
	(void)state;
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	CLEANUP(batch__unrefp) struct dcm_batch *batch = NULL;
	const struct dcm_pair pair = { builder__string(b, STR("node")),
				       builder__string(b, STR("n1")) };

	builder__series(b, &pair, 1);
	assert_int_equal(builder__seal(b, &batch, NULL), 0);
	assert_true(str__eq(batch__series_label(batch, 0, STR("node")), STR("n1")));
	assert_int_equal(batch__series_label(batch, 0, STR("nod")).n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hashes_follow_the_written_layout),
		cmocka_unit_test(hashes_may_be_left_out),
		cmocka_unit_test(hashes_of_the_written_example),
		cmocka_unit_test(content_is_equal_however_it_is_told),
		cmocka_unit_test(content_tells_every_field),
		cmocka_unit_test(content_leaves_out_what_cannot_be_asked),
		cmocka_unit_test(overlay_shares_and_keeps_its_parent),
		cmocka_unit_test(references_may_be_taken_by_many_threads),
		cmocka_unit_test(overlay_survives_failing_memory),
		cmocka_unit_test(series_label_is_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
