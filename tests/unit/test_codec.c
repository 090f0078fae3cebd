/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_codec.c - formats by name and by their bytes, gzip and zlib, names of frames
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/codec/codec.h"
#include "core/deflate/deflate.h"
#include "core/codec/encode.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/pb_text.h"
#include "tests/unit/random.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

static void test_names(void **state)
{
	(void)state;
	static const struct {
		const char *name, *format;
	} cases[] = {
		{ "x.pb.gz", "pprof" },
		{ "/a/b.c/x.pb", "pprof" },
		{ "cpu.pprof", "pprof" },
		{ "a.folded", "folded" },
		{ "a.txt", "folded" },
		{ "a.speedscope.json", "speedscope" },
		{ "a.perf", "perf" },
		{ "a.dcm", "batch" },
		{ ".folded", NULL },
		{ "folded", NULL },
		{ "a.gz", NULL },
		{ "", NULL },
		{ "-", NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *got = codec__format_of_name(cases[i].name);
		assert_string_equal(got ? got : "none", cases[i].format ? cases[i].format : "none");
	}
}

static void test_sniff(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t n;
		const char *format;
	} cases[] = {
#define CASE(s, format) { s, sizeof(s) - 1, format }
		CASE("", NULL),
		CASE("\x1f\x8b\x08", "pprof"),
		CASE("\x78\x9c\x00", "pprof"),
		CASE("x 5", "folded"),
		CASE("\x0a\x04\x08\x01", "pprof"),
		CASE("main;work 5\n", "folded"),
		CASE("{\"a\":1}", "speedscope"),
		CASE(" \n {}", "speedscope"),
		CASE("app 1 2.5: cycles: \n\t    12ab f (/a)\n", "perf"),
		CASE("         swapper 0 [000] 1.5: cycles: ffff f (x)\n", "perf"),
		CASE("DCMB\x01\x00", "batch"),
		CASE("app 1 2.5: cycles: \n", "perf"),
		CASE("app 1 [001]: cycles: \n\t  ffff f (x)\n", "perf"),
		CASE("a", "folded"),
		CASE(" ;main 5\n", "folded"),
		CASE("a;v1.5:x 5\n", "folded"),
		CASE("\n", "folded"),
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *got = codec__sniff((const uint8_t *)cases[i].bytes, cases[i].n);
		assert_string_equal(got ? got : "none", cases[i].format ? cases[i].format : "none");
	}
}

/* Every pair of letters that zlib of any window could begin with: (root);main, hbase, x 5, .. */
static void test_text_like_zlib(void **state)
{
	(void)state;
	unsigned n_tried = 0;

	for (unsigned pair = 0; pair < 0x10000; pair++) {
		uint8_t text[] = "..;main 5\n";
		text[0] = (uint8_t)(pair >> 8);
		text[1] = (uint8_t)pair;
		if ((text[0] & 0x0f) != 8 || pair % 31 || text[0] < ' ' || text[1] < ' ')
			continue;
		CLEANUP(batch__unrefp) struct dcm_batch *got = NULL;
		struct dcm_error err = DCM_ERROR_INIT;
		n_tried++;
		if (codec__decode(NULL, text, sizeof(text) - 1, &got, &err) < 0)
			fail_msg("%02x%02x: %s", text[0], text[1], err.text);
		assert_int_equal(got->n_rows, 1);
	}
	assert_true(n_tried > 30);

	/* More than sniffing reads. */
	struct buf long_text = { 0 };
	for (int i = 0; i < 3000; i++)
		buf__text(&long_text, "(root);main 5\n");
	assert_string_equal(codec__sniff(long_text.data, long_text.n), "folded");
	buf__fini(&long_text);
}

/* Any format may come in gzip; where text could be several, the name decides. */
static void test_gzip_and_names(void **state)
{
	(void)state;
	static const struct {
		const char *file, *text, *format;
	} cases[] = {
		{ NULL, "a;b 5\n", "folded" },
		{ "x.folded", "(root);b 5\n", "folded" },
		{ "x.folded", "{main};b 5\n", "folded" },
		{ "x.folded", "a 2.5: b 5\n", "folded" },
		{ "x.collapsed", "a 2.5: b 5\n", "folded" },
		{ "x.pb.gz", "a;b 5\n", "folded" },
		{ "x.txt", "app 1 2.5: cycles: \n\t 12ab f (/a)\n\n", "perf" },
		{ "-", "app 1 2.5: cycles: \n\t 12ab f (/a)\n\n", "perf" },
	};

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(batch__unrefp) struct dcm_batch *got = NULL;
		struct dcm_error err = DCM_ERROR_INIT;
		struct decode_notes notes = { 0 };
		struct buf packed = { 0 };
		char file[64] = "-";
		const char *text = cases[i / 2].text;
		const struct decode_options o = { .file = file, .notes = &notes };
		if (cases[i / 2].file)
			snprintf(file, sizeof(file), "%s%s", cases[i / 2].file, i % 2 ? ".gz" : "");
		if (i % 2)
			deflate__pack((const uint8_t *)text, strlen(text), 6, &packed);
		else
			buf__text(&packed, text);
		if (codec__decode_with(NULL, packed.data, packed.n, &o, &got, &err) < 0)
			fail_msg("%s: %s: %s", file, text, err.text);
		assert_string_equal(notes.guessed, cases[i / 2].format);
		assert_int_equal(got->n_rows, 1);
		batch__unref(got);
		got = NULL;
		assert_int_equal(codec__decode(cases[i / 2].format, packed.data, packed.n, &got, &err), 0);
		buf__fini(&packed);
	}
}

/* A batch holds whole numbers: what folded text had beyond them is not lost without a word. */
static void test_fractions_are_told(void **state)
{
	static const char text[] = "a;b 3.5\na;c 4.0\na;d 7\na;e -0.25\n";
	struct dcm_error err = DCM_ERROR_INIT;
	struct decode_notes notes = { 0 };
	const struct decode_options o = { .notes = &notes };
	struct dcm_batch *got = NULL;

	(void)state;
	assert_int_equal(
		codec__decode_with("folded", (const uint8_t *)text, strlen(text), &o, &got, &err), 0);
	assert_int_equal(notes.n_rounded, 2);
	batch__unref(got);
}

/* gzip that is cut off, or in gzip, says so; what was guessed is told when it was wrong. */
static void test_gzip_refusals(void **state)
{
	(void)state;
	struct buf once = { 0 }, twice = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	struct decode_notes notes = { 0 };
	const struct decode_options o = { .notes = &notes };
	struct dcm_batch *got = NULL;

	deflate__pack((const uint8_t *)"no profile", 10, 6, &once);
	deflate__pack(once.data, once.n, 6, &twice);
	assert_int_equal(codec__decode(NULL, once.data, once.n - 1, &got, &err), -EINVAL);
	assert_string_equal(err.text, "gzip: its compressed data is damaged or cut off");
	assert_int_equal(codec__decode("folded", once.data, once.n - 1, &got, &err), -EINVAL);
	assert_string_equal(err.text, "folded: its compressed data is damaged or cut off");
	assert_int_equal(codec__decode_with(NULL, twice.data, twice.n, &o, &got, &err), -EINVAL);
	assert_string_equal(err.text, "gzip: what it unpacks to is gzip again; unpack it once");
	assert_null(notes.guessed);
	assert_int_equal(codec__decode_with(NULL, once.data, once.n, &o, &got, &err), -EINVAL);
	assert_string_equal(notes.guessed, "folded");
	assert_int_equal(codec__decode("xml", once.data, once.n, &got, &err), -EINVAL);
	assert_non_null(strstr(err.text, "format \"xml\" is not one"));
	buf__fini(&once);
	buf__fini(&twice);
}

/* What is written is told by its bytes, and read. */
static void test_every_format(void **state)
{
	(void)state;
	static const char *const formats[] = { "pprof", "folded", "speedscope", "batch" };

	for (uint64_t seed = 0; seed < 40; seed++) {
		CLEANUP(batch__unrefp)
		struct dcm_batch *b = random_batch__new(seed, RANDOM_ONE_PROFILE | RANDOM_POSITIVE);
		if (b->n_rows == 0)
			continue;
		for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
			struct buf out = { 0 };
			struct dcm_error err = DCM_ERROR_INIT;
			CLEANUP(batch__unrefp) struct dcm_batch *got = NULL;
			assert_int_equal(codec__encode(b, DCM_NONE, formats[i], &out, &err), 0);
			assert_string_equal(codec__sniff(out.data, out.n), formats[i]);
			if (codec__decode(NULL, out.data, out.n, &got, &err) < 0)
				fail_msg("%s: %s", formats[i], err.text);
			assert_true(got->n_rows > 0);
			if (strcmp(formats[i], "batch") == 0) {
				struct dcm_hash x = batch__content(b), y = batch__content(got);
				assert_true(x.lo == y.lo && x.hi == y.hi);
			}
			buf__fini(&out);
		}
	}
}

static void test_refusals(void **state)
{
	(void)state;
	CLEANUP(batch__unrefp) struct dcm_batch *b = random_batch__new(1, RANDOM_ONE_PROFILE);
	struct buf out = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *got = NULL;
	const uint8_t bytes[] = "main;work 5\n";

	assert_int_equal(codec__encode(b, 0, "perf", &out, &err), -EINVAL);
	assert_string_equal(err.text, "format \"perf\" is not one that can be written: pprof, "
				      "folded, speedscope, html, batch");
	assert_int_equal(codec__encode(b, 0, "xml", &out, &err), -EINVAL);
	assert_int_equal(codec__decode("xml", bytes, 5, &got, &err), -EINVAL);
	assert_string_equal(err.text, "format \"xml\" is not one that can be read: pprof, folded, "
				      "speedscope, perf, batch");
	assert_int_equal(codec__decode(NULL, bytes, 0, &got, &err), -EINVAL);
	assert_string_equal(err.text,
			    "the 0 bytes look like none of pprof, folded, speedscope, perf, batch");
	out.limit = 4;
	assert_int_equal(codec__encode(b, 0, "batch", &out, &err), -EFBIG);
	assert_string_equal(err.text, "batch: it takes more than the limit of 4 bytes");
	const struct decode_options small = { .max_bytes = 4 };
	const char *const formats[] = { "pprof", "folded", "speedscope", "perf", "batch" };
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(codec__decode_with(formats[i], bytes, sizeof(bytes) - 1, &small,
						    &got, &err),
				 -E2BIG);
		assert_non_null(strstr(err.text, "limit"));
	}
	assert_null(got);
	buf__fini(&out);
}

/* --- gzip and zlib --- */

static void fill(struct buf *b, size_t n)
{
	struct random r = { n };

	for (size_t i = 0; i < n; i++)
		buf__byte(b, (uint8_t)(random__below(&r, 4) + (i >> 8)));
}

static void test_zlib(void **state)
{
	(void)state;
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(6);
	struct buf plain = { 0 }, out = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;

	fill(&plain, 300000);
	size_t bound = libdeflate_zlib_compress_bound(c, plain.n);
	uint8_t *packed = malloc(bound);
	size_t n = libdeflate_zlib_compress(c, plain.data, plain.n, packed, bound);
	assert_true(deflate__is_compressed(packed, n));
	assert_int_equal(deflate__unpack(packed, n, plain.n, &out, &err), 0);
	assert_int_equal(out.n, plain.n);
	assert_memory_equal(out.data, plain.data, plain.n);
	buf__reset(&out);
	assert_int_equal(deflate__unpack(packed, n, plain.n - 1, &out, &err), -E2BIG);
	buf__reset(&out);
	assert_int_equal(deflate__unpack(packed, n - 1, 10 * plain.n, &out, &err), -EINVAL);
	buf__reset(&out);
	packed[n / 2] ^= 1;
	assert_int_equal(deflate__unpack(packed, n, 10 * plain.n, &out, &err), -EINVAL);
	free(packed);
	libdeflate_free_compressor(c);
	buf__fini(&plain);
	buf__fini(&out);
}

/*
 * Go's CPU profiles begin with their time (0x48), whose lowest bits may be what zlib's header goes on
 * with. Whatever they are, it is a profile, in gzip and without.
 */
static void test_time_first(void **state)
{
	(void)state;

	for (unsigned t = 1; t < 256; t++) {
		CLEANUP(batch__unrefp) struct dcm_batch *plain = NULL, *unpacked = NULL;
		struct dcm_error err = DCM_ERROR_INIT;
		struct buf raw = { 0 }, packed = { 0 };
		char time[16];

		snprintf(time, sizeof(time), "9:%u ", t);
		pb_text__append(&raw, time);
		pb_text__append(&raw, "1:{1:1 2:2} 2:{1:1 2:7} 4:{1:1 3:64 4:{1:1}} 5:{1:1 2:3} "
				      "6:'' 6:'cpu' 6:'nanoseconds' 6:'work' ");
		assert_int_equal(raw.data[0], 0x48);
		if (codec__decode("pprof", raw.data, raw.n, &plain, &err) < 0)
			fail_msg("%02x%02x: %s", raw.data[0], raw.data[1], err.text);
		assert_int_equal(plain->profiles[0].time_ns, t);
		assert_int_equal(deflate__pack(raw.data, raw.n, 6, &packed), 0);
		if (codec__decode(NULL, packed.data, packed.n, &unpacked, &err) < 0)
			fail_msg("gzip of %02x%02x: %s", raw.data[0], raw.data[1], err.text);
		const struct dcm_hash a = batch__content(plain), b = batch__content(unpacked);
		assert_true(a.lo == b.lo && a.hi == b.hi);
		buf__fini(&raw);
		buf__fini(&packed);
	}
}

/* Sizes around the steps in which room grows, behind something that is there already. */
static void test_gzip_sizes(void **state)
{
	(void)state;
	static const size_t sizes[] = { 0, 1, 65535, 65536, 65537, 200000, 1000000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct buf plain = { 0 }, packed = { 0 }, out = { 0 };
		fill(&plain, sizes[i]);
		buf__text(&out, "before");
		assert_int_equal(deflate__pack(plain.data, plain.n, 1, &packed), 0);
		assert_int_equal(deflate__pack(plain.data, plain.n, 9, &packed), 0);
		assert_int_equal(deflate__unpack(packed.data, packed.n, 2 * plain.n, &out, NULL), 0);
		assert_int_equal(out.n, 6 + 2 * plain.n);
		assert_memory_equal(out.data, "before", 6);
		if (plain.n) {
			assert_memory_equal(out.data + 6, plain.data, plain.n);
			assert_memory_equal(out.data + 6 + plain.n, plain.data, plain.n);
		}
		buf__fini(&plain);
		buf__fini(&packed);
		buf__fini(&out);
	}
}

static void test_looks(void **state)
{
	(void)state;
	assert_false(deflate__is_compressed((const uint8_t *)"\x1f", 1));
	assert_false(deflate__is_compressed((const uint8_t *)"\x0a\x04", 2));
	assert_false(deflate__is_compressed((const uint8_t *)"\x78\x9d", 2));
	assert_true(deflate__is_compressed((const uint8_t *)"\x78\x01", 2));
	assert_false(deflate__is_compressed(NULL, 0));
}

/* --- what a frame reads --- */

static void test_frame_names(void **state)
{
	(void)state;
	static const struct {
		int mapping_kind; /* -1: no mapping */
		const char *file;
		unsigned addr_kind, kind;
		const char *text;
	} cases[] = {
		{ DCM_MAPPING_FILE, "/usr/lib/libfoo.so", DCM_ADDR_FILE_OFFSET, DCM_FRAME_NATIVE,
		  "libfoo.so+0x1234" },
		{ DCM_MAPPING_FILE, "", DCM_ADDR_FILE_OFFSET, DCM_FRAME_NATIVE, "[file]+0x1234" },
		{ DCM_MAPPING_FILE, "/dir/", DCM_ADDR_VADDR, DCM_FRAME_NATIVE, "/dir/+0x1234" },
		{ DCM_MAPPING_KERNEL, "[kernel]", DCM_ADDR_VADDR, DCM_FRAME_KERNEL, "[kernel]+0x1234" },
		{ DCM_MAPPING_KERNEL, "", DCM_ADDR_VADDR, DCM_FRAME_KERNEL, "[kernel]+0x1234" },
		{ DCM_MAPPING_MODULE, "[a/b]", DCM_ADDR_VADDR, DCM_FRAME_KERNEL, "[a/b]+0x1234" },
		{ DCM_MAPPING_VDSO, "[vdso]", DCM_ADDR_FILE_OFFSET, DCM_FRAME_NATIVE, "[vdso]+0x1234" },
		{ DCM_MAPPING_ANON, "//anon", DCM_ADDR_RUNTIME, DCM_FRAME_JIT, "[anon]+0x1234" },
		{ -1, "", DCM_ADDR_RUNTIME, DCM_FRAME_NATIVE, "[anon]+0x1234" },
		{ -1, "", DCM_ADDR_VADDR, DCM_FRAME_KERNEL, "[kernel]+0x1234" },
		{ -1, "", DCM_ADDR_NONE, DCM_FRAME_NATIVE, "[unknown]" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(builder__freep) struct dcm_builder *builder = builder__new(0);
		CLEANUP(batch__unrefp) struct dcm_batch *b = NULL;
		struct buf text = { 0 };
		struct dcm_mapping m = { .file = builder__string(builder, str__of(cases[i].file)),
					 .kind = (uint32_t)cases[i].mapping_kind };
		struct dcm_location l = {
			.mapping = cases[i].mapping_kind < 0 ? DCM_NONE : builder__mapping(builder, &m),
			.process = DCM_NONE,
			.address = cases[i].addr_kind == DCM_ADDR_NONE ? 0 : 0x1234,
			.addr_kind = (uint8_t)cases[i].addr_kind,
			.kind = (uint8_t)cases[i].kind,
		};
		builder__location(builder, &l, NULL, 0);
		assert_int_equal(builder__seal(builder, &b, NULL), 0);
		encode__frame_name(b, 0, DCM_NONE, &text);
		assert_string_equal((const char *)text.data, cases[i].text);
		buf__fini(&text);
	}
}

static void test_mapping_kinds(void **state)
{
	(void)state;
	static const struct {
		const char *file;
		enum dcm_mapping_kind kind;
	} cases[] = {
		{ "/usr/bin/app", DCM_MAPPING_FILE },
		{ "app", DCM_MAPPING_FILE },
		{ "", DCM_MAPPING_ANON },
		{ "//anon", DCM_MAPPING_ANON },
		{ "[heap]", DCM_MAPPING_ANON },
		{ "[stack:12]", DCM_MAPPING_ANON },
		{ "[anon:.bss]", DCM_MAPPING_ANON },
		{ "anon_inode:[perf]", DCM_MAPPING_ANON },
		{ "[vdso]", DCM_MAPPING_VDSO },
		{ "[kernel]", DCM_MAPPING_KERNEL },
		{ "[kernel.kallsyms]", DCM_MAPPING_KERNEL },
		{ "[kernel.kallsyms]_stext", DCM_MAPPING_KERNEL },
		{ "[guest.kernel.kallsyms.5]", DCM_MAPPING_KERNEL },
		{ "[kernelish]", DCM_MAPPING_MODULE },
		{ "[xfs]", DCM_MAPPING_MODULE },
		{ "[odd", DCM_MAPPING_FILE },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(decode__mapping_kind(str__of(cases[i].file)), cases[i].kind);
}

static void test_no_memory(void **state)
{
	(void)state;
	CLEANUP(batch__unrefp) struct dcm_batch *b = random_batch__new(3, RANDOM_ONE_PROFILE);

	FAILMALLOC_SWEEP (i) {
		struct dcm_error err = DCM_ERROR_INIT;
		uint8_t *bytes = NULL;
		size_t n = 0;
		int r = codec__encode_bytes(b, 0, "batch", &bytes, &n, &err);
		failmalloc__disarm();
		assert_int_equal(r == 0, bytes && n > 0);
		free(bytes);
		if (r < 0) {
			assert_int_equal(r, -ENOMEM);
			assert_non_null(strstr(err.text, "memory"));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_sniff),
		cmocka_unit_test(test_every_format),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_text_like_zlib),
		cmocka_unit_test(test_gzip_and_names),
		cmocka_unit_test(test_gzip_refusals),
		cmocka_unit_test(test_zlib),
		cmocka_unit_test(test_time_first),
		cmocka_unit_test(test_gzip_sizes),
		cmocka_unit_test(test_looks),
		cmocka_unit_test(test_frame_names),
		cmocka_unit_test(test_mapping_kinds),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_fractions_are_told),
	};

	return cmocka_run_group_tests_name("codec", tests, NULL, NULL);
}
