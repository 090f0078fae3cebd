/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/random_batch.c - valid batches out of a seed
 *
 * Tables are filled in the order in which they refer to each other; each entry picks what it refers
 * to at random.
 */
#include "tests/unit/random_batch.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "tests/unit/random.h"

enum {
	N_MAPPINGS = 8,
	N_FUNCTIONS = 24,
	N_PROCESSES = 4,
	N_LOCATIONS = 80,
	N_STACKS = 40,
	N_SERIES = 5,
	N_SETS = 12
};

/* Ids in the builder, to pick from. */
struct maker {
	struct random random;
	unsigned flags;
	struct dcm_builder *b;
	int64_t base_ns;
	uint32_t mappings[N_MAPPINGS], functions[N_FUNCTIONS], processes[N_PROCESSES];
	uint32_t locations[N_LOCATIONS], stacks[N_STACKS], series[N_SERIES], sets[N_SETS];
};

static bool has(const struct maker *m, unsigned flag)
{
	return m->flags & flag;
}

static bool one_in(struct maker *m, unsigned n)
{
	return random__below(&m->random, n) == 0;
}

static uint32_t text(struct maker *m, const char *s)
{
	return builder__string(m->b, str__of(s));
}

#define PICK(m, array) ((array)[random__below(&(m)->random, sizeof(array) / sizeof((array)[0]))])

static const char *const plain_names[] = { "main",   "run",    "std::sort", "malloc",
					   "memcpy", "_start", "run<T>",    "a.b.c",
					   "größe",  "λ",      "x",	    "f" };
static const char *const odd_names[] = { "operator new(unsigned long)",
					 "a;b",
					 "two\nlines",
					 "tab\there",
					 "\"quoted\"",
					 "{closure#0}",
					 "back\\slash",
					 " ",
					 "-",
					 "\x7f",
					 "\xf0\x9f\x94\xa5",
					 "%s%n",
					 "<script>",
					 "[unknown]" };

static uint32_t some_name(struct maker *m)
{
	if (has(m, RANDOM_NASTY) && one_in(m, 40)) {
		char big[3000];
		size_t n = 1 + random__below(&m->random, sizeof(big));
		memset(big, 'n', n);
		return builder__string(m->b, (struct dcm_str){ big, (uint32_t)n });
	}
	if (!has(m, RANDOM_PLAIN_TEXT) && one_in(m, 4))
		return text(m, PICK(m, odd_names));
	return text(m, PICK(m, plain_names));
}

static void make_mappings(struct maker *m)
{
	static const char *const files[] = { "/usr/bin/app", "/usr/lib/libc.so.6",
					     "/opt/x y/lib.so", "/a" };
	static const char *const ids[] = { "", "0123456789abcdef0123456789abcdef01234567", "00ff",
					   "abcdef12" };
	static const char *const special[] = { "", "[kernel]", "[xfs]", "[vdso]", "//anon" };

	for (unsigned i = 0; i < N_MAPPINGS; i++) {
		/* The first has a build id and is a file, so that every wish can be met. */
		uint32_t kind = i == 0 || has(m, RANDOM_FILES_ONLY)
					? DCM_MAPPING_FILE
					: (uint32_t)random__below(&m->random, 5);
		const char *id = i == 0 ? ids[1] : PICK(m, ids);
		uint64_t start = random__below(&m->random, 8) << 20;
		if (has(m, RANDOM_STAND_INS) && i && one_in(m, 3))
			id = "~0123456789abcdef";
		struct dcm_mapping mapping = {
			.start = start,
			.limit = start + (random__below(&m->random, 4) << 16),
			.offset = random__below(&m->random, 3) << 12,
			.file = text(m, kind == DCM_MAPPING_FILE ? PICK(m, files) : special[kind]),
			.build_id = text(m, id),
			.kind = kind,
		};
		if (has(m, RANDOM_NASTY) && one_in(m, 4))
			mapping.limit = UINT64_MAX;
		m->mappings[i] = builder__mapping(m->b, &mapping);
	}
}

static void make_functions(struct maker *m)
{
	static const char *const files[] = { "", "main.c", "/src/a/b.cc", "lib.rs" };

	for (unsigned i = 0; i < N_FUNCTIONS; i++) {
		struct dcm_function f = {
			.name = some_name(m),
			.system_name = one_in(m, 2) ? 0 : some_name(m),
			.file = text(m, PICK(m, files)),
			.start_line = (int64_t)random__below(&m->random, 3) * 10,
		};
		m->functions[i] = builder__function(m->b, &f);
	}
}

static void make_processes(struct maker *m)
{
	for (unsigned i = 0; i < N_PROCESSES; i++) {
		struct dcm_process p = {
			.pid = (uint32_t)(100 + random__below(&m->random, 2)),
			.generation = (uint32_t)random__below(&m->random, 2),
			.start_ns = 1000000 * random__below(&m->random, 3),
		};
		m->processes[i] = builder__process(m->b, &p);
	}
}

static uint32_t make_lines(struct maker *m, struct dcm_line *lines, uint32_t max)
{
	uint32_t n = one_in(m, 3) ? 1 + (uint32_t)random__below(&m->random, max) : 1;

	for (uint32_t i = 0; i < n; i++) {
		lines[i] = (struct dcm_line){ .function = PICK(m, m->functions),
					      .line = (int64_t)random__below(&m->random, 100) };
		if (has(m, RANDOM_NASTY) && one_in(m, 10))
			lines[i].function = DCM_NONE;
		if (has(m, RANDOM_NASTY) && one_in(m, 4))
			lines[i].column = (uint32_t)random__below(&m->random, UINT32_MAX);
	}
	return n;
}

/* A native frame in a mapping. Without lines it can be named later, or says why not. */
static void native_frame(struct maker *m, struct dcm_location *l)
{
	l->kind = DCM_FRAME_NATIVE;
	l->mapping = PICK(m, m->mappings);
	l->addr_kind = has(m, RANDOM_FILES_ONLY) || one_in(m, 2) ? DCM_ADDR_VADDR : DCM_ADDR_FILE_OFFSET;
}

static void other_frame(struct maker *m, struct dcm_location *l)
{
	switch (random__below(&m->random, 5)) {
	case 0:
		l->kind = DCM_FRAME_KERNEL;
		l->addr_kind = DCM_ADDR_VADDR;
		l->mapping = PICK(m, m->mappings);
		l->address |= 0xffffffff80000000u;
		break;
	case 1:
		l->kind = DCM_FRAME_INTERPRETED;
		l->addr_kind = DCM_ADDR_NONE;
		l->address = 0;
		break;
	case 2:
		l->kind = DCM_FRAME_NOTE;
		l->addr_kind = DCM_ADDR_NONE;
		l->address = 0;
		break;
	default:
		if (has(m, RANDOM_NO_PROCESSES)) {
			native_frame(m, l);
			break;
		}
		l->kind = one_in(m, 2) ? DCM_FRAME_JIT : DCM_FRAME_NATIVE;
		l->addr_kind = DCM_ADDR_RUNTIME;
		l->process = one_in(m, 8) ? DCM_NONE : PICK(m, m->processes);
		l->mapping = one_in(m, 2) ? DCM_NONE : PICK(m, m->mappings);
		/* The same address in several processes. */
		l->address = 0x7f0000000000 + random__below(&m->random, 3);
	}
}

static void make_locations(struct maker *m)
{
	struct dcm_line lines[40];

	for (unsigned i = 0; i < N_LOCATIONS; i++) {
		struct dcm_location l = {
			.mapping = DCM_NONE,
			.process = DCM_NONE,
			.address = 0x1000 + random__below(&m->random, 60),
		};
		if (has(m, RANDOM_FILES_ONLY) || one_in(m, 2))
			native_frame(m, &l);
		else
			other_frame(m, &l);
		if (has(m, RANDOM_NASTY) && l.addr_kind == DCM_ADDR_VADDR && one_in(m, 10))
			l.address = UINT64_MAX - random__below(&m->random, 2);
		uint32_t n_lines = 0;
		if (has(m, RANDOM_ALL_NAMED) || l.addr_kind == DCM_ADDR_NONE || one_in(m, 2))
			n_lines = make_lines(m, lines, has(m, RANDOM_NASTY) ? 40 : 4);
		else
			l.unnamed = (uint8_t)random__below(&m->random, DCM_UNNAMED_N);
		m->locations[i] = builder__location(m->b, &l, lines, n_lines);
	}
}

static void make_stacks(struct maker *m)
{
	uint32_t locations[4096];

	for (unsigned i = 0; i < N_STACKS; i++) {
		uint32_t n = 1 + (uint32_t)random__below(&m->random, 30);
		if (has(m, RANDOM_NASTY) && one_in(m, 10))
			n = one_in(m, 2) ? 0 : one_in(m, 8) ? 4096 : 300;
		for (uint32_t k = 0; k < n; k++)
			locations[k] = PICK(m, m->locations);
		m->stacks[i] = builder__stack(m->b, locations, n);
	}
}

static void make_series(struct maker *m)
{
	static const char *const services[] = { "api", "db", "web" };
	static const char *const nodes[] = { "n1", "n2" };
	static const char *const comms[] = { "", "java", "größe", "a b\"c\\d" };

	for (unsigned i = 0; i < N_SERIES; i++) {
		struct dcm_pair pairs[] = {
			{ text(m, "service_name"), text(m, PICK(m, services)) },
			{ text(m, "node"), text(m, PICK(m, nodes)) },
			{ text(m, "comm"), text(m, has(m, RANDOM_PLAIN_TEXT) ? "java" : PICK(m, comms)) },
			{ text(m, "a.b"), text(m, "") },
		};
		/* Also series without any label, where nastiness is wanted. */
		bool empty = has(m, RANDOM_NASTY) && one_in(m, 5);
		m->series[i] = builder__series(
			m->b, pairs, empty ? 0 : (uint32_t)(1 + random__below(&m->random, 4)));
	}
}

static void make_sets(struct maker *m)
{
	static const char *const threads[] = { "main", "worker-1", "worker-2", "" };
	static const char *const units[] = { "", "bytes", "nanoseconds" };

	for (unsigned i = 0; i < N_SETS; i++) {
		struct dcm_label labels[3] = {
			{ .name = text(m, "thread_name"), .str = text(m, PICK(m, threads)), .unit = DCM_NONE },
			{ .name = text(m, "cpu"), .str = text(m, one_in(m, 2) ? "0" : "1"), .unit = DCM_NONE },
		};
		uint32_t n = (uint32_t)random__below(&m->random, 3);
		if (!has(m, RANDOM_NO_UNITS) && one_in(m, 2)) {
			labels[n].name = text(m, "size");
			labels[n].str = 0;
			labels[n].num = (int64_t)random__below(&m->random, 4);
			labels[n].unit = text(m, PICK(m, units));
			if (has(m, RANDOM_NASTY) && one_in(m, 3))
				labels[n].num = one_in(m, 2) ? INT64_MIN : INT64_MAX;
			n++;
		}
		m->sets[i] = builder__label_set(m->b, labels, n);
	}
}

struct kind_of_profile {
	unsigned n;
	struct {
		const char *name, *sample_type, *sample_unit, *period_type, *period_unit;
		enum dcm_temporality temporality;
	} types[4];
};
static const struct kind_of_profile kinds[] = {
	{ 1, { { "process_cpu", "cpu", "nanoseconds", "cpu", "nanoseconds", DCM_DELTA } } },
	{ 1, { { "decima_quality", "samples", "count", "", "", DCM_DELTA } } },
	{ 2,
	  { { "process_cpu", "samples", "count", "cpu", "nanoseconds", DCM_DELTA },
	    { "process_cpu", "cpu", "nanoseconds", "cpu", "nanoseconds", DCM_DELTA } } },
	{ 4,
	  { { "memory", "alloc_objects", "count", "space", "bytes", DCM_CUMULATIVE },
	    { "memory", "alloc_space", "bytes", "space", "bytes", DCM_CUMULATIVE },
	    { "memory", "inuse_objects", "count", "space", "bytes", DCM_GAUGE },
	    { "memory", "inuse_space", "bytes", "space", "bytes", DCM_GAUGE } } },
	{ 1, { { "goroutine", "goroutine", "count", "goroutine", "count", DCM_GAUGE } } },
};

static uint32_t make_types(struct maker *m, struct dcm_type *types)
{
	const struct kind_of_profile *k = has(m, RANDOM_DELTA_ONLY)
						  ? &kinds[random__below(&m->random, 3)]
						  : &PICK(m, kinds);
	uint32_t n = has(m, RANDOM_NASTY) && one_in(m, 4) ? 16 : k->n;

	for (uint32_t i = 0; i < n; i++) {
		unsigned of = i % k->n;
		types[i] = (struct dcm_type){
			.name = text(m, k->types[of].name),
			.sample_type = text(m, k->types[of].sample_type),
			.sample_unit = text(m, k->types[of].sample_unit),
			.period_type = text(m, k->types[of].period_type),
			.period_unit = text(m, k->types[of].period_unit),
			.temporality = k->types[of].temporality,
		};
		if (i >= k->n) {
			char name[32];
			snprintf(name, sizeof(name), "more_%u", i);
			types[i].sample_type = text(m, name);
		}
	}
	return n;
}

static int64_t some_value(struct maker *m)
{
	static const int64_t extremes[] = { INT64_MIN,	   INT64_MAX,	    -1, 0, 1,
					    INT64_MIN + 1, (int64_t)1 << 40 };

	if (has(m, RANDOM_NASTY) && !has(m, RANDOM_POSITIVE) && one_in(m, 6))
		return PICK(m, extremes);
	if (!has(m, RANDOM_POSITIVE) && one_in(m, 10))
		return 0;
	return one_in(m, 2) ? (1 + (int64_t)random__below(&m->random, 20)) * 52631578
			    : 1 + (int64_t)random__below(&m->random, 1000);
}

static void make_profile(struct maker *m)
{
	struct dcm_type types[16];
	uint32_t n_types = make_types(m, types);
	struct dcm_profile head = {
		.series = PICK(m, m->series),
		.time_ns = m->base_ns + (int64_t)random__below(&m->random, 31) * 10000000000 +
			   (int64_t)random__below(&m->random, 3) * 1000000,
		.duration_ns = one_in(m, 5) ? 0 : 10000000000,
		.period = one_in(m, 3) ? 0 : 52631578,
	};
	builder__profile(m->b, &head, types, n_types);

	uint32_t n_rows = one_in(m, 6) ? 0 : (uint32_t)random__below(&m->random, 120);
	for (uint32_t r = 0; r < n_rows; r++) {
		int64_t values[16];
		for (uint32_t k = 0; k < n_types; k++)
			values[k] = some_value(m);
		uint32_t stack = PICK(m, m->stacks);
		uint32_t set = has(m, RANDOM_NO_SAMPLE_LABELS) ? 0 : PICK(m, m->sets);
		builder__row(m->b, stack, set, values);
		if (one_in(m, 10)) /* the same again */
			builder__row(m->b, stack, set, values);
	}
}

void random_batch__fill(struct dcm_builder *b, uint64_t seed, unsigned flags, int64_t base_ns)
{
	struct maker m = { .random = { seed }, .flags = flags, .b = b, .base_ns = base_ns };

	make_mappings(&m);
	make_functions(&m);
	make_processes(&m);
	make_locations(&m);
	make_stacks(&m);
	make_series(&m);
	make_sets(&m);
	uint64_t n = has(&m, RANDOM_ONE_PROFILE) ? 1 : random__below(&m.random, 6);
	for (uint64_t i = 0; i < n; i++)
		make_profile(&m);
}

struct dcm_batch *random_batch__of(struct dcm_hash source, uint64_t sequence, uint64_t seed,
				   unsigned flags, int64_t base_ns)
{
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	struct dcm_batch *batch = NULL;

	if (!b)
		return NULL;
	builder__set_source(b, source, sequence);
	random_batch__fill(b, seed, flags, base_ns);
	return builder__seal(b, &batch, NULL) < 0 ? NULL : batch;
}

struct dcm_batch *random_batch__new(uint64_t seed, unsigned flags)
{
	return random_batch__of((struct dcm_hash){ seed, ~seed }, seed & 0xff, seed, flags,
				RANDOM_BASE_NS);
}
