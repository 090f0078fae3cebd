/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/bench_pprof.c - how fast pprof is read and written
 *
 * One JSON line a figure: the median of several turns on one core, and the best of them, in MB of
 * uncompressed pprof a second. Reading ends with a sealed batch. Two profiles: of a process, as a
 * scrape of ten seconds brings it (5,000 different stacks, 6,000 addresses, 4,000 functions), and
 * of a large C++ server, which no cache holds (100,000 stacks, 30,000 addresses, 20,000 functions).
 * Stacks are paths of a random call tree, about 30 deep, in no order; a fifth of the addresses has
 * inlined calls; functions have names and files; there are two values a sample, and a thread's name
 * on half of them. What a figure is compared with was measured in the same run on the
 * same bytes.
 *
 * What "decoding" means is ours to say: from plain bytes in memory to a sealed batch, that is with
 * the checks of everything, and with the content hashes of all locations and stacks, which are a
 * fifth of the time. The figure for gzip counts the unpacked bytes too, and unpacking is in it.
 *
 * What was added since the scrape before (difference) is counted in the same bytes, which were read before.
 *
 *	bench_pprof [TURNS [FILE]]
 *
 * FILE: where the server's profile is left, for other programs to read.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/fd.h"
#include "core/base/hash.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/batch/revalue.h"
#include "core/deflate/deflate.h"
#include "core/codec/pprof.h"
#include "plugins/input/pprof_scrape/delta.h"
#include "tests/unit/random.h"

enum {
	MAX_FUNCTIONS = 20000,
	MAX_LOCATIONS = 30000,
	MAX_STACKS = 100000,
	N_FILES = 60,
	N_SETS = 40,
	DEPTH_MAX = 128,
	TURNS_MAX = 1000,
};

struct shape {
	const char *name;
	uint32_t n_functions, n_locations, n_stacks;
};

static const struct shape shapes[] = {
	{ "", 4000, 6000, 5000 },
	{ "_server", MAX_FUNCTIONS, MAX_LOCATIONS, MAX_STACKS },
};

static uint32_t text_of(struct dcm_builder *b, const char *text)
{
	return builder__string(b, (struct dcm_str){ text, (uint32_t)strlen(text) });
}

static void add_functions(struct dcm_builder *b, struct random *r, const struct shape *shape,
			  uint32_t *ids)
{
	static const char *const words[] = { "Storage",	  "Handler",   "Request", "Allocate",
					     "Buffer",	  "Stream",    "Merge",	  "Compress",
					     "Iterator",  "Commit",    "Index",	  "Scan",
					     "Transform", "Serialize", "Queue" };
	enum { N_WORDS = sizeof(words) / sizeof(words[0]) };

	for (uint32_t i = 0; i < shape->n_functions; i++) {
		char name[160], file[96];
		snprintf(name, sizeof(name), "server::%s::%s%s<%s>::do%s%u", words[i % N_WORDS],
			 words[random__below(r, N_WORDS)], words[random__below(r, N_WORDS)],
			 words[random__below(r, N_WORDS)], words[random__below(r, N_WORDS)], i);
		snprintf(file, sizeof(file), "/build/server/src/%s/%s%u.cc", words[i % N_WORDS],
			 words[i / 7 % N_WORDS], i / 20);
		ids[i] = builder__function(
			b, &(struct dcm_function){ .name = text_of(b, name),
						   .file = text_of(b, file),
						   .start_line = (int64_t)random__below(r, 2000) });
	}
}

static void add_locations(struct dcm_builder *b, struct random *r, const struct shape *shape,
			  uint32_t *ids)
{
	static uint32_t functions[MAX_FUNCTIONS];
	uint32_t mappings[N_FILES];

	add_functions(b, r, shape, functions);
	for (uint32_t i = 0; i < N_FILES; i++) {
		char text[64];
		snprintf(text, sizeof(text), "/usr/lib/libserver%u.so", i);
		uint32_t file = text_of(b, text);
		snprintf(text, sizeof(text), "%040" PRIx64, hash__bytes(&i, sizeof(i), 0));
		mappings[i] = builder__mapping(
			b, &(struct dcm_mapping){ .file = file, .build_id = text_of(b, text) });
	}
	for (uint32_t i = 0; i < shape->n_locations; i++) {
		struct dcm_line lines[3];
		uint32_t n_lines = i % 5 ? 1 : 2 + (uint32_t)random__below(r, 2);
		for (uint32_t k = 0; k < n_lines; k++)
			lines[k] = (struct dcm_line){ functions[random__below(r, shape->n_functions)],
						      0, (int64_t)(1 + random__below(r, 3000)) };
		ids[i] = builder__location(
			b,
			&(struct dcm_location){ .mapping = mappings[random__below(r, N_FILES)],
						.process = DCM_NONE,
						.address = 0x1000 + i * 64u,
						.addr_kind = DCM_ADDR_FILE_OFFSET },
			lines, n_lines);
	}
}

/*
 * A call tree, as a program would walk it: returns a few frames, calls a few; each step ends a
 * stack.
 */
struct node {
	uint32_t parent, location; /* node 0 is the root, and no frame */
};

static void grow_tree(struct random *r, const struct shape *shape, const uint32_t *locations,
		      struct node *nodes, uint32_t *stacks)
{
	uint32_t path[DEPTH_MAX + 1] = { 0 }, depth = 0, n_nodes = 1;

	for (uint32_t i = 0; i < shape->n_stacks; i++) {
		uint32_t up = (uint32_t)random__below(r, depth / 8 + 2);
		uint32_t down = 1 + (uint32_t)random__below(r, depth < 30 ? 6 : 4);
		depth = up < depth ? depth - up : 0;
		for (uint32_t k = 0; k < down && depth < DEPTH_MAX; k++) {
			/* Some functions are everywhere, most are rare. */
			uint64_t some = 1 + random__below(r, shape->n_locations);
			nodes[n_nodes] = (struct node){ path[depth], locations[random__below(r, some)] };
			path[++depth] = n_nodes++;
		}
		stacks[i] = path[depth];
	}
}

/* Samples in no order, as hash tables leave them. */
static void add_rows(struct dcm_builder *b, struct random *r, const struct shape *shape,
		     const uint32_t *locations)
{
	static struct node nodes[MAX_STACKS * 6 + 1];
	static uint32_t stacks[MAX_STACKS];
	uint32_t sets[N_SETS] = { 0 }, stack[DEPTH_MAX], name = text_of(b, "thread_name");

	for (uint32_t i = 1; i < N_SETS; i++) {
		char text[32];
		snprintf(text, sizeof(text), "worker-%u", i);
		sets[i] = builder__label_set(
			b, &(struct dcm_label){ name, text_of(b, text), 0, DCM_NONE }, 1);
	}
	grow_tree(r, shape, locations, nodes, stacks);
	for (uint32_t i = 0; i < shape->n_stacks; i++) {
		uint32_t other = i + (uint32_t)random__below(r, shape->n_stacks - i),
			 at = stacks[other], n = 0;
		stacks[other] = stacks[i];
		for (; at && n < DEPTH_MAX; at = nodes[at].parent)
			stack[n++] = nodes[at].location;
		int64_t n_samples = 1 + (int64_t)random__below(r, 30);
		builder__row(b, builder__stack(b, stack, n), sets[i % 2 ? 0 : random__below(r, N_SETS)],
			     (int64_t[]){ n_samples, n_samples * 10000000 });
	}
}

static struct dcm_batch *make_batch(const struct shape *shape)
{
	static uint32_t locations[MAX_LOCATIONS];
	struct random r = { 7 };
	struct dcm_builder *b = builder__new(0);
	struct dcm_batch *batch = NULL;

	if (!b)
		exit(1);
	add_locations(b, &r, shape, locations);
	uint32_t cpu = text_of(b, "cpu"), ns = text_of(b, "nanoseconds");
	uint32_t name = text_of(b, "process_cpu");
	const struct dcm_type types[] = {
		{ name, text_of(b, "samples"), text_of(b, "count"), cpu, ns, DCM_DELTA },
		{ name, cpu, ns, cpu, ns, DCM_DELTA },
	};
	builder__profile(b,
			 &(struct dcm_profile){ .series = builder__series(b, NULL, 0),
						.time_ns = 1700000000000000000,
						.duration_ns = 60000000000,
						.period = 10000000 },
			 types, 2);
	add_rows(b, &r, shape, locations);
	if (builder__seal(b, &batch, NULL) < 0)
		exit(1);
	builder__free(b);
	return batch;
}

/* What this thread has used of a core: other programs' turns do not count. */
static int64_t used_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* What the turns of one piece of work took. */
struct turns {
	double seconds[TURNS_MAX];
	size_t n;
};

static int by_number(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void must(int r)
{
	if (r < 0)
		exit(1);
}

/* One profile in all of its forms. */
struct forms {
	const struct dcm_batch *batch;
	struct buf raw, packed;
};

static void decode_bytes(const struct buf *bytes)
{
	struct dcm_batch *got = NULL;

	must(pprof__decode(bytes->data, bytes->n, NULL, &got, NULL));
	batch__unref(got);
}

static void decode(const struct forms *f)
{
	decode_bytes(&f->raw);
}

static void decode_gzip(const struct forms *f)
{
	decode_bytes(&f->packed);
}

static void copy(const struct forms *f)
{
	struct buf out = { 0 };

	buf__append(&out, f->raw.data, f->raw.n);
	buf__fini(&out);
}

static void inflate(const struct forms *f)
{
	struct buf out = { 0 };

	must(deflate__unpack(f->packed.data, f->packed.n, DECODE_MAX_BYTES, &out, NULL));
	buf__fini(&out);
}

static void encode(const struct forms *f)
{
	struct buf out = { 0 };

	must(pprof__encode(f->batch, DCM_NONE, &out, NULL));
	buf__fini(&out);
}

static void pack(const struct forms *f)
{
	struct buf out = { 0 };

	must(deflate__pack(f->raw.data, f->raw.n, 1, &out));
	buf__fini(&out);
}

/*
 * What the scraper does with values that count up: the last scrape's are known by stack, all have grown since, and a batch
 * of the differences is made. The batch was read before.
 */
static void difference(const struct forms *f)
{
	static struct delta base;
	static int64_t grown;
	const struct dcm_profile *p = &f->batch->profiles[0];
	const size_t n = (size_t)p->n_rows * p->n_types;
	const uint32_t temporality[] = { DCM_DELTA, DCM_DELTA };
	const struct delta_scrape scrape = { .batch = f->batch, .columns = 3, .steady = 3 };
	int64_t *values = malloc(n * sizeof(*values));
	struct dcm_batch *got = NULL;
	struct delta next;
	bool first, reset;

	if (!values)
		exit(1);
	grown++;
	for (size_t i = 0; i < n; i++)
		values[i] = f->batch->values[p->value_off + i] + grown;
	must(delta__apply(&base, &scrape, values, &next, &first, &reset));
	must(batch__revalued((struct dcm_batch *)(uintptr_t)f->batch,
			     &(struct dcm_revalue){ .size = sizeof(struct dcm_revalue),
						    .columns = 3,
						    .temporality = temporality,
						    .values = values,
						    .time_ns = p->time_ns,
						    .duration_ns = p->duration_ns },
			     1, &got, NULL));
	delta__replace(&base, &next);
	batch__unref(got);
	free(values);
}

/* What is printed together: a piece of work, and what it is compared with. */
static const struct figure {
	const char *name;
	void (*work)(const struct forms *f);
	const char *other_name;
	void (*other)(const struct forms *f);
	double least; /* MB/s that are wanted; 0: none */
} figures[] = {
	{ "pprof_decode", decode, "copying the bytes", copy, 400 },
	{ "pprof_decode_gzip", decode_gzip, "unpacking them by libdeflate", inflate, 0 },
	{ "pprof_encode_gzip", encode, "packing them by libdeflate, level 1", pack, 0 },
	{ "pprof_difference", difference, "reading it", decode, 200 },
};
enum { N_FIGURES = sizeof(figures) / sizeof(figures[0]) };

/*
 * Twice in a row, and the second time counts: what another piece of work left in the caches is not
 * its cost.
 */
static void take_turn(void (*work)(const struct forms *f), const struct forms *f, struct turns *t)
{
	int64_t start;

	work(f);
	start = used_ns();
	work(f);
	t->seconds[t->n++] = (double)(used_ns() - start) / 1e9;
}

static void print(const struct figure *figure, const struct shape *shape, double mb,
		  struct turns *t, struct turns *other)
{
	double value;

	qsort(t->seconds, t->n, sizeof(t->seconds[0]), by_number);
	qsort(other->seconds, other->n, sizeof(other->seconds[0]), by_number);
	value = mb / t->seconds[t->n / 2];
	printf("{\"bench\":\"%s%s\",\"value\":%.4g,\"best\":%.4g,\"unit\":\"MB/s\","
	       "\"compared_with\":{\"what\":\"%s\",\"value\":%.4g,\"best\":%.4g,\"unit\":\"MB/"
	       "s\"}",
	       figure->name, shape->name, value, mb / t->seconds[0], figure->other_name,
	       mb / other->seconds[other->n / 2], mb / other->seconds[0]);
	if (figure->least > 0)
		printf(",\"target\":\">= %.4g\",\"met\":%s", figure->least,
		       value >= figure->least ? "true" : "false");
	puts("}");
}

static void measure(const struct shape *shape, long n_turns, const char *path)
{
	static struct turns turns[N_FIGURES], others[N_FIGURES];
	struct dcm_batch *batch = make_batch(shape);
	struct forms f = { .batch = batch };

	must(pprof__encode_raw(batch, DCM_NONE, &f.raw, NULL));
	must(pprof__encode(batch, DCM_NONE, &f.packed, NULL));
	if (path)
		must(fd__replace(path, 0644, f.packed.data, f.packed.n, NULL));
	for (int i = 0; i < N_FIGURES; i++)
		turns[i].n = others[i].n = 0;
	for (long n = 0; n == 0 || (n < n_turns && n < TURNS_MAX); n++)
		for (int i = 0; i < N_FIGURES; i++) {
			take_turn(figures[i].work, &f, &turns[i]);
			take_turn(figures[i].other, &f, &others[i]);
		}
	for (int i = 0; i < N_FIGURES; i++)
		print(&figures[i], shape, (double)f.raw.n / 1e6, &turns[i], &others[i]);
	fprintf(stderr, "%.1f MB of pprof, %.1f MB in gzip\n", (double)f.raw.n / 1e6,
		(double)f.packed.n / 1e6);
	buf__fini(&f.raw);
	buf__fini(&f.packed);
	batch__unref(batch);
}

int main(int argc, char **argv)
{
	long n_turns = argc > 1 ? strtol(argv[1], NULL, 10) : 15;

	measure(&shapes[0], n_turns * 10, NULL);
	measure(&shapes[1], n_turns, argc > 2 ? argv[2] : NULL);
	return 0;
}
