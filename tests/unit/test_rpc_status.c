/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_rpc_status.c - google.rpc.Status as servers send it, and bytes that are none
 */
#include "plugins/output/delivery/rpc_status.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/protobuf.h"
#include "core/base/str.h"
#include "tests/unit/pb_text.h"
#include "tests/unit/unit.h"

#define SECOND INT64_C(1000000000)
#define RETRY  "type.googleapis.com/google.rpc.RetryInfo"

static void reads_as(const char *text, bool has_retry, int64_t ns, const char *message)
{
	struct buf bytes = { 0 };

	pb_text__append(&bytes, text);
	const struct rpc_status s = rpc_status__read(buf__view(&bytes));
	assert_int_equal(s.has_retry, has_retry);
	assert_int_equal(s.retry_ns, ns);
	assert_true(str__eq(s.message, str__of(message)));
	buf__fini(&bytes);
}

static void what_is_told(void **state)
{
	(void)state;
	reads_as("1:8 2:'busy' 3:{1:'" RETRY "' 2:{1:{1:2 2:500000000}}}", true, 5 * SECOND / 2, "busy");
	reads_as("1:8 3:{1:'type.googleapis.com/google.rpc.DebugInfo' 2:{2:'x'}} 3:{1:'" RETRY
		 "' 2:{1:{1:1}}}",
		 true, SECOND, "");
	reads_as("1:8 2:'x' 3:{1:'type.googleapis.com/google.rpc.QuotaFailure'}", false, 0, "x");
	reads_as("3:{1:'" RETRY "'}", true, 0, ""); /* at once */
	reads_as("3:{1:'" RETRY "' 2:{1:{1:-5}}}", true, 0, "");
	reads_as("3:{1:'" RETRY "' 2:{1:{2:4000000000}}}", true, 0, "");
	reads_as("3:{1:'" RETRY "' 2:{1:{1:9223372036854775807}}}", true, 3600 * SECOND, "");
	reads_as("3:5 2:7", false, 0, "");
}

static void trailers(void **state)
{
	/* As Python's base64 has the first message above, but for its text. */
	struct dcm_str all = STR(
		"CAgaNgoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxIKCggIAhCAyrXuAQ==");
	struct rpc_status s = rpc_status__of_trailer(all);

	(void)state;
	assert_true(s.has_retry);
	assert_int_equal(s.retry_ns, 5 * SECOND / 2);
	all.n -= 2; /* as grpc-go has it: without padding */
	assert_int_equal(rpc_status__of_trailer(all).retry_ns, 5 * SECOND / 2);
	for (uint32_t n = 0; n < all.n - 8; n++)
		rpc_status__of_trailer((struct dcm_str){ all.p, n });
	assert_false(rpc_status__of_trailer(STR("!!!!")).has_retry);
	assert_false(rpc_status__of_trailer(STR("")).has_retry);
}

static bool is_read(const char *bytes, size_t n, struct pb_field *ret)
{
	struct pb_reader reader = pb__reader((const uint8_t *)bytes, n);

	return pb__next(&reader, ret) && reader.p == reader.end;
}

static void fields(void **state)
{
	struct pb_field f;

	(void)state;
	assert_true(is_read("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, &f));
	assert_true(f.number == 1 && f.value == UINT64_MAX);
	assert_true(is_read("\x11\1\2\3\4\5\6\7\x08", 9, &f));
	assert_true(f.number == 2 && f.type == PB_FIXED64 && f.value == UINT64_C(0x0807060504030201));
	assert_true(is_read("\x1d\1\0\0\x80", 5, &f));
	assert_true(f.number == 3 && f.type == PB_FIXED32 && f.value == 0x80000001);
	assert_true(is_read("\x22\2ab", 4, &f));
	assert_true(f.number == 4 && str__eq(pb__str(&f), STR("ab")));
	assert_false(is_read("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11, &f)); /* 65 bits */
	assert_false(is_read("\x22\3ab", 4, &f));
	assert_false(is_read("\x22\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, &f));
	assert_false(is_read("\x11\1\2", 3, &f));
	assert_false(is_read("\x0b\x0c", 2, &f)); /* a group */
	assert_false(is_read("\x00\1", 2, &f));
	assert_false(is_read("\x80", 1, &f));
	assert_false(is_read("", 0, &f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_told),
		cmocka_unit_test(trailers),
		cmocka_unit_test(fields),
	};

	return cmocka_run_group_tests_name("rpc_status", tests, NULL, NULL);
}
