/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_http_sign.c - who gets a signature, and which clients give none
 *
 * Whether it is right tests/e2e/s3.sh asks a server that computes it, too.
 */
#include "core/net/http_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/str.h"
#include "tests/unit/http_asking.h"
#include "tests/unit/unit.h"

static const struct dcm_http_signature usual = { .size = sizeof(usual),
						 .region = "eu-test-1",
						 .service = "s3",
						 .access_key.text = "AKID",
						 .secret_key.text = "hush",
						 .token.text = "lent" };

static int sign_with(const struct dcm_http_options *o, const struct dcm_http_signature *how,
		     const char *words)
{
	struct dcm_http_client *c = client_of(o);
	struct dcm_error err = DCM_ERROR_INIT;
	int r = http_pool__client_sign(c, how, &err);

	if (r < 0 && !strstr(err.text, words))
		fail_msg("\"%s\" without \"%s\"", err.text, words);
	http_pool__client_free(c);
	return r;
}

static void what_cannot_be_signed_is_refused(void **state)
{
	struct dcm_http_options bearer = plain, basic = plain, oauth = plain;
	struct dcm_http_signature how = usual;

	(void)state;
	assert_int_equal(sign_with(&plain, &usual, ""), 0);
	bearer.bearer.text = "x";
	assert_int_equal(sign_with(&bearer, &usual, "authorization: requests are signed already"),
			 -EINVAL);
	basic.basic.username = "x";
	assert_int_equal(sign_with(&basic, &usual, "basic_auth: requests are signed already"), -EINVAL);
	oauth.oauth2.client_id = "x";
	oauth.oauth2.token_url = "http://127.0.0.1:1/";
	assert_int_equal(sign_with(&oauth, &usual, "oauth2: requests are signed already"), -EINVAL);
	how.region = "eu:test";
	assert_int_equal(sign_with(&plain, &how, "region: "), -EINVAL);
	how = usual;
	how.secret_key.text = "";
	assert_int_equal(sign_with(&plain, &how, "are missing"), -EINVAL);
}

static void the_first_host_alone_has_it(void **state)
{
	NEEDS_PEER;
	struct dcm_http_client *c = client_of(&plain);
	struct answer a = { 0 };
	char url[400];

	assert_int_equal(http_pool__client_sign(c, &usual, NULL), 0);
	snprintf(url, sizeof(url), "%s/echo", peer__url("http"));
	ask_with(c, (struct dcm_http_call){ .url = url, .method = "PUT", .body = "hello", .n_body = 5 },
		 &a);
	expect(&a, 200);
	assert_true(answer__has(&a, "PUT "));
	assert_true(answer__has(&a, "Authorization: AWS4-HMAC-SHA256 Credential=AKID/"));
	assert_true(answer__has(&a, "/eu-test-1/s3/aws4_request"));
	assert_true(answer__has(&a, "X-Amz-Security-Token: lent\n"));
	/* sha256sum of "hello" */
	assert_true(answer__has(
		&a, "X-Amz-Content-Sha256: "
		    "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"));
	assert_false(answer__has(&a, "hush"));

	snprintf(url, sizeof(url), "%s/redirect?to=%s/echo", peer__url("http"), peer__url("http2"));
	ask_with(c, (struct dcm_http_call){ .url = url }, &a);
	expect(&a, 200);
	assert_false(answer__has(&a, "Authorization"));
	assert_false(answer__has(&a, "X-Amz-Security-Token"));
	answer__fini(&a);
	http_pool__client_free(c);
}

static void put_key(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fd__write_all(fd, text, strlen(text)), 0);
	close(fd);
}

static void a_file_that_is_no_key_is_told(void **state)
{
	NEEDS_PEER;
	struct dcm_http_signature how = usual;
	struct answer a = { 0 };
	char path[200], url[200];

	snprintf(path, sizeof(path), "%s/key", dir);
	snprintf(url, sizeof(url), "%s/echo", peer__url("http"));
	how.secret_key = (struct dcm_http_secret){ .file = path };
	static const struct {
		const char *text, *words;
	} cases[] = { { "two\nlines", "control characters" }, { " \n", "is empty" } };
	for (size_t i = 0; i < 2; i++) {
		struct dcm_http_client *c = client_of(&plain);

		put_key(path, cases[i].text);
		assert_int_equal(http_pool__client_sign(c, &how, NULL), 0);
		ask_with(c, (struct dcm_http_call){ .url = url }, &a);
		expect_fault(&a, -EACCES, cases[i].words);
		expect_fault(&a, -EACCES, path);
		http_pool__client_free(c);
	}
	answer__fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_be_signed_is_refused),
		cmocka_unit_test(the_first_host_alone_has_it),
		cmocka_unit_test(a_file_that_is_no_key_is_told),
	};
	return cmocka_run_group_tests_name("http_sign", tests, begin, end);
}
