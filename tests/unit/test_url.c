/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_url.c - addresses that can be asked; what we let through curl understands too
 */
#include "core/base/str.h"
#include "core/base/url.h"

#include <string.h>

#include <curl/curl.h>

#include "tests/unit/random.h"
#include "tests/unit/unit.h"

static bool curl_understands(const char *url)
{
	CURLU *u = curl_url();
	bool does = curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK;

	curl_url_cleanup(u);
	return does;
}

static void folders(void **state)
{
	static const char *const of[][2] = {
		{ "http://a:1/debug/pprof/heap", "http://a:1/debug/pprof/" },
		{ "http://a:1/debug/pprof/heap?x=/y", "http://a:1/debug/pprof/" },
		{ "http://a/", "http://a/" },
		{ "http://a/?/", "http://a/" },
		{ "http://a", "" },
		{ "http://a?b=/c/d", "" },
		{ "unix:/run/x.sock:/pprof/heap", "unix:/run/x.sock:/pprof/" },
		{ "/", "" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct dcm_str folder = url__folder(str__of(of[i][0]));

		if (!str__eq(folder, str__of(of[i][1])))
			fail_msg("%s: %.*s", of[i][0], STR_ARG(folder));
	}
}

static void sentences_have_no_secrets(void **state)
{
	static const char *const of[][2] = {
		{ "http://me:hush@a:1/b", "http://a:1/b" },
		{ "https://hush@[::1]/b?c=hush#hush", "https://[::1]/b" },
		{ "http://me:hu@sh@a", "http://a" },
		{ "http://a/b@c", "http://a/b@c" },
		{ "unix:/run/x.sock:/b", "unix:/run/x.sock:/b" },
		{ "me:hush@a", "a" },
		{ "", "" },
	};
	char to[64];

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		assert_string_equal(url__shown(of[i][0], to, sizeof(to)), of[i][1]);
	/* "\xc3\xa4" is one character. */
	for (size_t n = 1; n < 16; n++) {
		const char *whole = "http://a/\xc3\xa4/b";

		url__shown("http://me:hush@a/\xc3\xa4/b", to, n);
		assert_int_equal(strlen(to), n == 11		 ? 9
					     : strlen(whole) < n ? strlen(whole)
								 : n - 1);
		assert_memory_equal(to, whole, strlen(to));
	}
}

static void good_and_bad_ones(void **state)
{
	static const char *const good[] = {
		"http://a",
		"https://debuginfod.debian.net",
		"HTTPS://A.B:443/x/y?z#w",
		"http://127.0.0.1:9",
		"http://[::1]:65535/",
		"http://user:pa:ss@host:80/",
		"http://under_score",
		"unix:/run/x.sock:",
		"unix:/run/x.sock:/a/b",
	};
	static const char *const bad[] = {
		"",
		"nonsense",
		"host:80",
		"//host",
		"ftp://x",
		"file:///etc",
		"http:/x",
		"http://",
		"http:///x",
		"http://:80",
		"http://a:",
		"http://a:0",
		"http://a:65536",
		"http://a:99999999999999999999",
		"http://a:x",
		"http://a b",
		"http://a/b c",
		"http://a\n",
		"http://[::1",
		"http://[]",
		"http://[::1]x",
		"http://::1",
		"http://@",
		"unix:/run/x.sock",
		"unix:relative:/",
		"unix:/:/",
		"unix:/a:b",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!url__is_askable(good[i]))
			fail_msg("refused: %s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (url__is_askable(bad[i]))
			fail_msg("let through: %s", bad[i]);
}

/* Pieces of addresses in any order: an option that was accepted must not fail for its form later. */
static void curl_takes_what_we_take(void **state)
{
	static const char *const pieces[] = { "http://", "https://", "a", "b.c", ":", "80",
					      "0",	 "/",	     "?", "#",	 "@", "[::1]",
					      "[",	 "]",	     "x", " ",	 "%", "-" };
	unsigned n_taken = 0;

	(void)state;
	struct random r = { 1 };
	for (unsigned i = 0; i < 200000; i++) {
		char url[128];
		uint64_t n = 1 + random__below(&r, 6);
		int used = snprintf(url, sizeof(url), "%s", pieces[random__below(&r, 2)]);

		for (uint64_t k = 0; k < n; k++)
			used += snprintf(url + used, sizeof(url) - (size_t)used, "%s",
					 pieces[random__below(&r, sizeof(pieces) / sizeof(pieces[0]))]);
		if (!url__is_askable(url))
			continue;
		n_taken++;
		if (!curl_understands(url))
			fail_msg("curl does not understand %s", url);
	}
	assert_true(n_taken > 1000);
}

/* Every byte there is, as curl has it. */
static void escapes_as_curl_does(void **state)
{
	char all[256];
	struct buf b = { 0 };

	(void)state;
	for (unsigned i = 0; i < sizeof(all); i++)
		all[i] = (char)i;
	url__escape(&b, (struct dcm_str){ all, sizeof(all) });
	char *want = curl_easy_escape(NULL, all, sizeof(all));
	assert_string_equal((const char *)b.data, want);
	curl_free(want);
	buf__fini(&b);
}

/* What escapes say, as curl has it; what is none stays. */
static void unescapes_as_curl_does(void **state)
{
	static const char *const as_they_are[] = { "%",	  "a%",	 "a%2", "100 % of it",
						   "%zz", "%2g", "%g2%" };
	char all[256];
	struct buf b = { 0 }, back = { 0 };
	int n;

	(void)state;
	for (unsigned i = 0; i < sizeof(all); i++)
		all[i] = (char)i;
	url__escape(&b, (struct dcm_str){ all, sizeof(all) });
	buf__text(&b, "%c3%A9");
	url__unescape(&back, buf__view(&b));
	char *want = curl_easy_unescape(NULL, (const char *)b.data, (int)b.n, &n);
	assert_int_equal(back.n, n);
	assert_memory_equal(back.data, want, (size_t)n);
	curl_free(want);
	for (size_t i = 0; i < sizeof(as_they_are) / sizeof(as_they_are[0]); i++) {
		buf__reset(&back);
		url__unescape(&back, str__of(as_they_are[i]));
		buf__byte(&back, 0);
		assert_string_equal((const char *)back.data, as_they_are[i]);
	}
	buf__fini(&b);
	buf__fini(&back);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folders),
		cmocka_unit_test(sentences_have_no_secrets),
		cmocka_unit_test(good_and_bad_ones),
		cmocka_unit_test(curl_takes_what_we_take),
		cmocka_unit_test(escapes_as_curl_does),
		cmocka_unit_test(unescapes_as_curl_does),
	};
	return cmocka_run_group_tests_name("url", tests, NULL, NULL);
}
