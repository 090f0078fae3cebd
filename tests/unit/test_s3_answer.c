/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_s3_answer.c - what servers of objects say when they take none, and bytes that say nothing
 */
#include "plugins/output/s3/answer.h"

#include <errno.h>
#include <string.h>

#include "core/base/str.h"
#include "tests/unit/unit.h"

static void reads_as(int status, const char *body, int want, const char *words)
{
	struct buf out = { 0 };

	assert_int_equal(s3_answer__judge(status, str__of(body), &out), want);
	buf__byte(&out, 0);
	assert_string_equal((const char *)out.data, words);
	buf__fini(&out);
}

static void what_may_be_put_right_comes_again(void **state)
{
	(void)state;
	/* As Amazon has it in its reference of errors. */
	reads_as(
		404,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error>\n  <Code>NoSuchBucket</Code>\n"
		"  <Message>The specified bucket does not exist</Message>\n"
		"  <Resource>/mybucket/myfoto.jpg</Resource>\n  "
		"<RequestId>4442587FB7D0A2F9</RequestId>\n</Error>",
		-EAGAIN, "NoSuchBucket: The specified bucket does not exist; make it, or set bucket");
	reads_as(403, "<Error><Code>SignatureDoesNotMatch</Code><Message>no</Message></Error>",
		 -EAGAIN, "SignatureDoesNotMatch: no; is secret_key right?");
	reads_as(403, "<Error><Code>RequestTimeTooSkewed</Code></Error>", -EAGAIN,
		 "RequestTimeTooSkewed; set the clock of this machine");
	reads_as(400, "<Error><Code>ExpiredToken</Code></Error>", -EAGAIN,
		 "ExpiredToken; renew session_token and its keys");
	reads_as(400, "<Error><Code>RequestTimeout</Code><Message>idle</Message></Error>", -EAGAIN,
		 "RequestTimeout: idle");
	reads_as(503, "<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>",
		 -EAGAIN, "SlowDown: Please reduce your request rate.");
	reads_as(301, "", -EAGAIN, "the bucket is elsewhere: set region, and endpoint, to its own");
	reads_as(307, "<Error><Code>PermanentRedirect</Code></Error>", -EAGAIN,
		 "PermanentRedirect; set region, and endpoint, to the bucket's");
}

static void what_is_wrong_with_the_object_is_refused(void **state)
{
	(void)state;
	reads_as(400, "<Error><Code>EntityTooLarge</Code><Message>5 GiB</Message></Error>",
		 -EBADMSG, "EntityTooLarge: 5 GiB");
	reads_as(400, "<Error><Code>KeyTooLongError</Code></Error>", -EBADMSG,
		 "KeyTooLongError; shorten object_name");
	reads_as(400, "<Error><Code>InvalidArgument</Code></Error>", -EBADMSG, "InvalidArgument");
	reads_as(403, "<Error><Code>Whatever</Code></Error>", -EAGAIN, "Whatever");
	reads_as(400, "<Error><Code>BadDigest</Code></Error>", -EAGAIN, "BadDigest");
	/* A proxy before the server has no code. */
	reads_as(413, "<html>too large</html>", -EBADMSG, "");
	reads_as(413, "<Error><Code>SlowDown</Code></Error>", -EAGAIN, "SlowDown");
	reads_as(400, "<html>plain HTTP sent to an HTTPS port</html>", -EAGAIN, "");
}

static void what_cannot_be_read_says_nothing(void **state)
{
	static const char end[] = "</Message>";
	char long_one[700];

	(void)state;
	reads_as(500, "", -EAGAIN, "");
	reads_as(500, "<Code>SlowDown", -EAGAIN, "");
	reads_as(500, "</Code><Code>", -EAGAIN, "");
	reads_as(500, "<Message>a &amp;lt; &lt;b&gt; &quot;&apos; &unknown; &</Message>", -EAGAIN,
		 "a &lt; <b> \"' &unknown; &");
	/* Cut between characters of UTF-8. */
	memset(long_one, 'x', sizeof(long_one));
	memcpy(long_one, "<Message>", 9);
	memcpy(long_one + 9 + 159, "\xc3\xa4", 2);
	memcpy(long_one + sizeof(long_one) - sizeof(end), end, sizeof(end));
	struct buf out = { 0 };
	s3_answer__judge(500, str__of(long_one), &out);
	assert_int_equal(out.n, 159);
	buf__fini(&out);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_may_be_put_right_comes_again),
		cmocka_unit_test(what_is_wrong_with_the_object_is_refused),
		cmocka_unit_test(what_cannot_be_read_says_nothing),
	};

	return cmocka_run_group_tests_name("s3_answer", tests, NULL, NULL);
}
