/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_otlp_response.c - what a server left out of a request, and answers that say nothing, which may be anybody's
 */
#include "plugins/output/otlp/response.h"

#include <libdeflate.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "tests/unit/pb_text.h"
#include "tests/unit/unit.h"

static void reads_as(struct dcm_str bytes, uint32_t n_rejected, const char *message)
{
	const struct response r = response__read(bytes, 5);

	assert_int_equal(r.n_rejected, n_rejected);
	assert_true(str__eq(r.message, str__of(message)));
}

static void text_reads_as(const char *text, uint32_t n_rejected, const char *message)
{
	struct buf bytes = { 0 };

	pb_text__append(&bytes, text);
	reads_as(buf__view(&bytes), n_rejected, message);
	buf__fini(&bytes);
}

static void messages(void **state)
{
	(void)state;
	text_reads_as("1:{1:2 2:'no room'}", 2, "no room");
	text_reads_as("7:9 1:{9:'x' 1:2 2:'no room'}", 2, "no room");
	text_reads_as("1:{1:70000}", 5, "");
	text_reads_as("1:{1:-1}", 0, "");
	text_reads_as("1:{2:'only a warning'}", 0, "only a warning");
	text_reads_as("1:5 2:{1:3}", 0, "");
	reads_as(STR(""), 0, "");
	reads_as(STR("<html>"), 0, "");
	reads_as(STR("\x0a\x05\x08\2"), 0, ""); /* cut */
}

/* A frame of those bytes, in gzip or not. */
static struct buf frame_of(const char *bytes, size_t n, bool gzip)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(6);
	struct buf out = { 0 };

	buf__append(&out, gzip ? "\1\0\0\0\0" : "\0\0\0\0\0", 5);
	if (!gzip)
		buf__append(&out, bytes, n);
	else
		out.n += libdeflate_gzip_compress(c, bytes, n, buf__reserve(&out, n + 100), n + 100);
	libdeflate_free_compressor(c);
	return out;
}

static void frames(void **state)
{
	static char large[65537];
	struct buf b;

	(void)state;
	for (int gzip = 0; gzip < 2; gzip++) {
		b = frame_of("\x0a\2\x08\2", 4, gzip);
		response__unframe(&b);
		reads_as(buf__view(&b), 2, "");
		buf__fini(&b);
	}
	b = frame_of(large, 65536, true);
	response__unframe(&b);
	assert_int_equal(b.n, 65536);
	buf__fini(&b);
	b = frame_of(large, sizeof(large), true);
	response__unframe(&b);
	assert_int_equal(b.n, 0);
	buf__fini(&b);
	b = frame_of("\x0a\2\x08\2", 4, false);
	b.data[0] = 1; /* it says so, and is not */
	response__unframe(&b);
	assert_int_equal(b.n, 0);
	buf__fini(&b);
	b = (struct buf){ 0 };
	response__unframe(&b);
	assert_int_equal(b.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(messages), cmocka_unit_test(frames) };

	return cmocka_run_group_tests_name("otlp_response", tests, NULL, NULL);
}
