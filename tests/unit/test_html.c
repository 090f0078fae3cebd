/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_html.c - the page holds the profile whole, and nothing of it gets out of its
 * element
 *
 * The oracle is the speedscope codec: what stands in the page's data element is the same JSON.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/codec/codec.h"
#include "core/codec/folded.h"
#include "core/codec/html.h"
#include "core/codec/speedscope.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

static const char open_tag[] = "<script type=\"application/json\" id=\"data\">",
		  close_tag[] = "</script>";

static struct dcm_batch *folded_batch(const char *text)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *b = NULL;

	if (folded__decode((const uint8_t *)text, strlen(text), NULL, &b, &err))
		fail_msg("%s", err.text);
	return b;
}

static char *page_of(const struct dcm_batch *b)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf out = { 0 };
	size_t n;

	if (codec__encode(b, DCM_NONE, "html", &out, &err))
		fail_msg("%s", err.text);
	buf__byte(&out, 0);
	return (char *)buf__take(&out, &n);
}

/* The text of the page's data element. */
static struct dcm_str data_of(const char *page)
{
	const char *at = strstr(page, open_tag), *end;

	assert_non_null(at);
	at += strlen(open_tag);
	end = strchr(at, '<');
	assert_non_null(end);
	assert_int_equal(strncmp(end, close_tag, strlen(close_tag)), 0);
	return (struct dcm_str){ at, (uint32_t)(end - at) };
}

static unsigned count(const char *text, const char *what)
{
	unsigned n = 0;

	for (const char *at = text; (at = strstr(at, what)); at += strlen(what))
		n++;
	return n;
}

static void test_the_page_holds_the_profile(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct dcm_batch *b = random_batch__new(seed, seed % 2 ? RANDOM_NASTY : 0);
		struct buf direct = { 0 };

		assert_non_null(b);
		if (b->n_profiles) {
			CLEANUP(mem__freep) char *page = page_of(b);
			struct dcm_str data = data_of(page);
			json_t *got = json_loadb(data.p, data.n, 0, NULL), *want;

			assert_int_equal(speedscope__encode(b, DCM_NONE, &direct, NULL), 0);
			want = json_loadb((const char *)direct.data, direct.n, 0, NULL);
			assert_non_null(got);
			assert_true(json_equal(got, want));
			json_decref(got);
			json_decref(want);
		}
		batch__unref(b);
		buf__fini(&direct);
	}
}

static void test_names_cannot_leave_their_element(void **state)
{
	struct dcm_batch *plain = folded_batch("main;work 3\n");
	struct dcm_batch *hostile = folded_batch("</script><script>alert(1)</script>;<!--;]]> 3\n");
	CLEANUP(mem__freep) char *a = page_of(plain);
	CLEANUP(mem__freep) char *b = page_of(hostile);

	(void)state;
	assert_int_equal(count(a, "<script"), count(b, "<script"));
	assert_int_equal(count(a, "</script"), count(b, "</script"));
	assert_int_equal(count(a, "<!--"), count(b, "<!--"));
	/* Nothing is loaded from anywhere. */
	assert_null(strstr(a, "src="));
	assert_null(strstr(a, "href="));
	assert_non_null(strstr(a, "default-src 'none'"));
	batch__unref(plain);
	batch__unref(hostile);
}

static void test_limits_and_failing_allocations(void **state)
{
	struct dcm_batch *b = folded_batch("main;work 3\n");
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf small = { .limit = 1000 };
	struct dcm_batch *none = NULL;

	(void)state;
	assert_int_equal(html__encode(b, DCM_NONE, &small, &err), -EFBIG);
	buf__fini(&small);
	assert_int_equal(html__encode(b, 7, &small, &err), -EINVAL);
	assert_int_equal(codec__decode("html", (const uint8_t *)"x", 1, &none, &err), -EINVAL);
	FAILMALLOC_SWEEP (i) {
		struct buf out = { 0 };
		int rc = html__encode(b, DCM_NONE, &out, &err);

		failmalloc__disarm();
		buf__fini(&out);
		if (rc)
			assert_int_equal(rc, -ENOMEM);
	}
	batch__unref(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_page_holds_the_profile),
		cmocka_unit_test(test_names_cannot_leave_their_element),
		cmocka_unit_test(test_limits_and_failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
