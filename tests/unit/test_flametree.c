/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_flametree.c - trees as bytes, read back by a reader that knows docs/FORMATS.md alone
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"
#include "core/base/le.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/query/flametree.h"
#include "core/symbolize/symbols.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/naive_rows.h"
#include "tests/unit/random_batch.h"

struct section {
	const uint8_t *p, *end;
	uint32_t codec;
};

static const uint8_t *tree;
static size_t tree_bytes;

static bool find_section(const char *tag, struct section *ret)
{
	uint32_t n = le__get32(tree + 28);

	assert_true(n <= FLAMETREE_MAX_SECTIONS);
	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *entry = tree + 64 + (size_t)i * 24;
		uint64_t offset = le__get64(entry + 8), length = le__get64(entry + 16);

		assert_true(offset >= 64 + n * 24u && offset <= tree_bytes &&
			    length <= tree_bytes - offset);
		if (memcmp(entry, tag, 4) != 0)
			continue;
		*ret = (struct section){ tree + offset, tree + offset + length, le__get32(entry + 4) };
		return true;
	}
	return false;
}

static struct section section(const char *tag)
{
	struct section s;

	if (!find_section(tag, &s))
		fail_msg("no section %s", tag);
	return s;
}

static int64_t number(struct section *s)
{
	uint64_t v = 0;
	unsigned shift = 0;

	do {
		assert_true(s->p < s->end && shift < 64);
		v |= (uint64_t)(*s->p & 0x7f) << shift;
		shift += 7;
	} while (*s->p++ & 0x80);
	if (s->codec == 2)
		return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
	assert_int_equal(s->codec, 1);
	return (int64_t)v;
}

/* The i-th number of a column. */
static int64_t cell(const char *column, uint32_t i)
{
	struct section s = section(column);

	while (i-- > 0)
		number(&s);
	return number(&s);
}

static struct dcm_str text(const char *lengths, const char *bytes, uint32_t i)
{
	struct section n = section(lengths), b = section(bytes);

	for (; i > 0; i--)
		b.p += number(&n);
	int64_t len = number(&n);
	assert_true(b.p + len <= b.end);
	return (struct dcm_str){ (const char *)b.p, (uint32_t)len };
}

static void assert_text(struct dcm_str got, struct dcm_str want)
{
	assert_int_equal(got.n, want.n);
	if (want.n)
		assert_memory_equal(got.p, want.p, want.n);
}

/* Of a function without a name the address comes behind what is written of it. */
static void assert_name(uint32_t id, struct dcm_str want)
{
	struct dcm_str got = text("NLEN", "NBLB", id);
	char whole[1024];
	int n;

	if (!(cell("FFLG", id) & 32)) {
		assert_text(got, want);
		return;
	}
	if (got.n == 0) {
		const char *slash;

		got = text("MLEN", "MBLB", (uint32_t)cell("FMAP", id));
		slash = memrchr(got.p, '/', got.n);
		got.n -= slash ? (uint32_t)(slash + 1 - got.p) : 0;
		got.p = slash ? slash + 1 : got.p;
		assert_true(got.n > 0);
	}
	n = snprintf(whole, sizeof(whole), "%.*s+0x%" PRIx64, STR_ARG(got), (uint64_t)cell("FADR", id));
	assert_text((struct dcm_str){ whole, (uint32_t)n }, want);
}

static void check_function(uint32_t id, const struct frame *f)
{
	char why[512];
	uint32_t n = f->is_unnamed ? symbols__why_of(f->unnamed, f->build_id, why, sizeof(why)) : 0;
	uint32_t flags = (uint32_t)cell("FFLG", id);

	assert_name(id, f->name);
	assert_text(text("FLEN", "FBLB", (uint32_t)cell("FFIL", id)), f->file);
	assert_text(text("MLEN", "MBLB", (uint32_t)cell("FMAP", id)), f->binary);
	assert_text(text("BLEN", "BBLB", (uint32_t)cell("FBID", id)), f->build_id);
	assert_text(text("WLEN", "WBLB", (uint32_t)cell("FWHY", id)), (struct dcm_str){ why, n });
	assert_int_equal(cell("FLIN", id), f->line > 0 ? f->line : 0);
	assert_int_equal(cell("FADR", id), f->address);
	assert_int_equal(flags & 7, f->kind == FRAME_LABEL ? 7 : f->kind);
	assert_int_equal(!!(flags & 8), f->always_inlined);
	assert_int_equal(!!(flags & 16), f->is_unnamed);
	assert_int_equal(!!(flags & 32), f->is_unnamed);
}

/* Depths from the ways up, and each function that is new in this tree against its frame. */
static void check_nodes(const struct flame *f)
{
	struct section ups = section("NUPS"), functions = section("NFUN");
	uint32_t depth = 0, n_seen = 0;

	for (uint32_t i = 1; i < f->n; i++) {
		int64_t up = number(&ups), function = number(&functions);

		assert_true(up >= 0 && up <= depth && function <= n_seen);
		depth = depth + 1 - (uint32_t)up;
		assert_int_equal(depth, f->depth[i]);
		if (function == n_seen)
			check_function(n_seen++, &f->frames->v[f->frame[i]]);
		else if (i % 7 == 0)
			assert_name((uint32_t)function, f->frames->v[f->frame[i]].name);
	}
	assert_int_equal(n_seen, le__get32(tree + 12));
	assert_ptr_equal(ups.p, ups.end);
	assert_ptr_equal(functions.p, functions.end);
}

static void check_weights(const struct flame *f, uint32_t side, int64_t scale)
{
	struct section self = section(side ? "NSLB" : "NSLA");

	for (uint32_t i = 0; i < f->n; i++)
		assert_int_equal(number(&self), f->self[side][i] / scale);
	assert_ptr_equal(self.p, self.end);
}

static void check_trimmed(const struct flame *f)
{
	struct section trimmed;
	uint32_t at = 0;

	assert_int_equal(find_section("NTRM", &trimmed), f->n_trimmed > 0);
	for (uint32_t i = 0; f->n_trimmed && i < f->n; i++) {
		int64_t a = f->trimmed[0] ? f->trimmed[0][i] : 0;
		int64_t b = f->n_values > 1 && f->trimmed[1] ? f->trimmed[1][i] : 0;

		if (!a && !b)
			continue;
		assert_int_equal(number(&trimmed), i - at);
		assert_int_equal(number(&trimmed), a);
		if (f->n_values > 1)
			assert_int_equal(number(&trimmed), b);
		at = i;
	}
	if (f->n_trimmed)
		assert_ptr_equal(trimmed.p, trimmed.end);
}

static double double_at(size_t offset)
{
	uint64_t bits = le__get64(tree + offset);
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

static void check(const struct flame *f, const struct buf *b, size_t start, int64_t scale)
{
	static const char meta[] = "{\"unit\":\"x\"}";

	tree = b->data + start;
	tree_bytes = b->n - start;
	assert_memory_equal(tree, "FTR1", 4);
	assert_int_equal(le__get16(tree + 4), 1);
	assert_int_equal(le__get16(tree + 6), (f->n_values > 1 ? 1 : 0) | (f->n_trimmed ? 2 : 0));
	assert_int_equal(le__get32(tree + 8), f->n);
	assert_int_equal(le__get32(tree + 24), f->max_depth);
	assert_int_equal(le__get64(tree + 56), tree_bytes);
	assert_true(double_at(32) == (double)f->total[0][0]);
	assert_true(double_at(40) == (f->n_values > 1 ? (double)f->total[1][0] : 0));
	assert_true(double_at(48) == (double)scale);
	assert_memory_equal(section("META").p, meta, sizeof(meta) - 1);
	check_nodes(f);
	for (uint32_t s = 0; s < f->n_values; s++)
		check_weights(f, s, scale);
	check_trimmed(f);
}

static void write_and_check(const struct flame *f)
{
	struct buf out = { 0 };

	/* It may follow something else. */
	buf__text(&out, "abc");
	assert_int_equal(flametree__write(f, STR("{\"unit\":\"x\"}"), &out), 0);
	check(f, &out, 3, 1);
	buf__fini(&out);
}

static void test_reads_back(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 16; seed++) {
		CLEANUP(batch__unrefp)
		struct dcm_batch *b = naive_rows__answer(seed, seed % 3 ? 0 : RANDOM_ALL_NAMED, 1,
							 1 + seed % 2);
		struct dcm_str label = STR("pod");
		struct dcm_group_by by = { &label, 1 };
		CLEANUP(frames__unrefp) struct frames *frames = NULL;

		assert_int_equal(frames__new(b, (enum frames_group)(seed % 5),
					     seed % 5 ? NULL : &by, &frames, NULL),
				 0);
		for (uint64_t max = 0; max < 2000; max = max * 5 + 3) {
			CLEANUP(flame__freep) struct flame *f = NULL;
			struct flame_options o = { .max_nodes = max, .invert = seed % 7 == 1 };

			assert_int_equal(flame__new(frames, &o, &f, NULL), 0);
			write_and_check(f);
		}
	}
}

/* Odd texts, thousands of levels. */
static void test_nasty(void **state)
{
	CLEANUP(batch__unrefp)
	struct dcm_batch *b = naive_rows__answer(3, RANDOM_NASTY | RANDOM_POSITIVE, 2, 1);
	CLEANUP(frames__unrefp) struct frames *frames = NULL;
	CLEANUP(flame__freep) struct flame *f = NULL;
	struct flame_options o = { .max_nodes = 6000 };

	(void)state;
	assert_int_equal(frames__new(b, FRAMES_FUNCTION, NULL, &frames, NULL), 0);
	assert_int_equal(flame__new(frames, &o, &f, NULL), 0);
	struct buf out = { 0 };
	assert_int_equal(flametree__write(f, STR("{\"unit\":\"x\"}"), &out), 0);
	tree = out.data;
	check(f, &out, 0, (int64_t)double_at(48));
	buf__fini(&out);
}

/* A tree of one stack, with these values of rows. */
static struct flame *tree_of(const int64_t *values, uint32_t n)
{
	CLEANUP(builder__freep) struct dcm_builder *builder = builder__new(0);
	CLEANUP(batch__unrefp) struct dcm_batch *b = NULL;
	CLEANUP(frames__unrefp) struct frames *frames = NULL;
	struct dcm_type type = { .name = builder__string(builder, STR("x")),
				 .sample_type = builder__string(builder, STR("y")),
				 .sample_unit = builder__string(builder, STR("count")) };
	struct flame *f = NULL;

	builder__profile(builder, &(struct dcm_profile){ .series = builder__series(builder, NULL, 0) },
			 &type, 1);
	for (uint32_t i = 0; i < n; i++) {
		struct dcm_location l = { .mapping = DCM_NONE,
					  .process = DCM_NONE,
					  .addr_kind = DCM_ADDR_VADDR,
					  .address = i + 1 };
		uint32_t location = builder__location(builder, &l, NULL, 0);

		builder__row(builder, builder__stack(builder, &location, 1), 0, &values[i]);
	}
	assert_int_equal(builder__seal(builder, &b, NULL), 0);
	assert_int_equal(frames__new(b, FRAMES_FUNCTION, NULL, &frames, NULL), 0);
	assert_int_equal(flame__new(frames, NULL, &f, NULL), 0);
	return f;
}

/* Readers have doubles: no weight is beyond 2^53, and what they are worth is said. */
static void test_large_and_negative(void **state)
{
	static const struct {
		int64_t values[2];
		int64_t scale;
	} cases[] = {
		{ { 0, 0 }, 1 },
		{ { (int64_t)1 << 53, 0 }, 1 },
		{ { (int64_t)1 << 53, 1 << 10 }, 2 },
		{ { (int64_t)1 << 53, (int64_t)1 << 53 }, 2 },
		{ { INT64_MAX, 0 }, 1024 },
		{ { -5, 7 }, 1 },
		{ { INT64_MIN, 7 }, 1024 },
		{ { INT64_MIN, INT64_MAX }, 1024 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(flame__freep) struct flame *f = tree_of(cases[i].values, 2);
		struct buf out = { 0 };

		assert_int_equal(flametree__write(f, STR("{\"unit\":\"x\"}"), &out), 0);
		check(f, &out, 0, cases[i].scale);
		buf__fini(&out);
	}
}

/* So many functions that a thread writes them beside the nodes. */
static void test_many_functions(void **state)
{
	enum { N = 4200 };
	static int64_t values[N];
	struct buf out = { 0 };
	(void)state;

	for (uint32_t i = 0; i < N; i++)
		values[i] = 1 + (i * 7919) % 101;
	CLEANUP(flame__freep) struct flame *f = tree_of(values, N);
	assert_int_equal(f->n, N + 1);
	assert_int_equal(flametree__write(f, STR("{\"unit\":\"x\"}"), &out), 0);
	check(f, &out, 0, 1);
	buf__fini(&out);
}

static void test_nothing(void **state)
{
	CLEANUP(flame__freep) struct flame *f = tree_of(NULL, 0);

	(void)state;
	write_and_check(f);
}

static void test_no_memory(void **state)
{
	CLEANUP(batch__unrefp) struct dcm_batch *b = naive_rows__answer(4, 0, 1, 2);
	CLEANUP(frames__unrefp) struct frames *frames = NULL;
	CLEANUP(flame__freep) struct flame *f = NULL;

	(void)state;
	assert_int_equal(frames__new(b, FRAMES_FUNCTION, NULL, &frames, NULL), 0);
	assert_int_equal(flame__new(frames, NULL, &f, NULL), 0);
	FAILMALLOC_SWEEP (i) {
		struct buf out = { 0 };
		int r = flametree__write(f, STR("{}"), &out);

		failmalloc__disarm();
		assert_int_equal(r, failmalloc__failed() ? -ENOMEM : 0);
		buf__fini(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_back),
		cmocka_unit_test(test_nasty),
		cmocka_unit_test(test_large_and_negative),
		cmocka_unit_test(test_many_functions),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests_name("flametree", tests, NULL, NULL);
}
