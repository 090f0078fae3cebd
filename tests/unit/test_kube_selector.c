/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_kube_selector.c - selectors of Kubernetes that are some, and that are none
 *
 * The verdicts are those of k8s.io/apimachinery v0.31.3 (labels.Parse, fields.ParseSelector), which agreed on 60,000 texts made of
 * the grammar's pieces at random, too.
 */
#include <string.h>

#include "plugins/input/pprof_scrape/kube_selector.h"
#include "tests/unit/unit.h"

static const struct {
	const char *text;
	bool of_labels, of_fields;
} cases[] = {
	{ "app=web", true, true },
	{ "a in (b,c)", true, false },
	{ "!a", true, false },
	{ "a", true, false },
	{ "a>1", true, false },
	{ "a<x", false, false },
	{ "a notin (b)", true, false },
	{ "a=", true, true },
	{ "a==b", true, true },
	{ "a!=b", true, true },
	{ "status.phase=Running", true, true },
	{ "metadata.status-Running", true, false },
	{ "a in ()", true, false },
	{ "a in (,b)", true, false },
	{ "a in (b", false, false },
	{ "(a)", false, false },
	{ "a b", false, false },
	{ "", true, true },
	{ "in", true, false },
	{ "in in (in)", true, false },
	{ "a=b,", false, true },
	{ "a,,b", false, false },
	{ ",", false, true },
	{ "a = b , c", true, false },
	{ "a=b\\,c", false, true },
	{ "a=b\\", false, false },
	{ "x/y/z=1", false, true },
	{ "a>-1", false, false },
	{ "a>+1", false, false },
	{ "a>9223372036854775807", true, false },
	{ "a>9223372036854775808", false, false },
	{ "a=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", true, true },
	{ "a=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", false, true },
	{ "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", true, false },
	{ "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", false, false },
	{ "EX.com/a", false, false },
	{ "ex.com/A=B", true, true },
	{ "a!=b,c=d", true, true },
	{ "!a=b", false, true },
	{ "! a", true, false },
	{ "a in(b)", true, false },
	{ "a notin(b),c", true, false },
	{ "a  in\t(b ,c )", true, false },
	{ "a=b c", false, true },
	{ "x=a\\\\b", false, true },
	{ "x=a\\b", false, false },
	{ "x=a=b", false, false },
	{ "x==a", true, true },
	{ "x!==a", false, false },
	{ "x=!=a", false, false },
	{ "=a", false, true },
	{ "!=a", false, true },
};

static void test_verdicts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (kube_selector__is_of_labels(cases[i].text) != cases[i].of_labels)
			fail_msg("labels: %s", cases[i].text);
		if (kube_selector__is_of_fields(cases[i].text) != cases[i].of_fields)
			fail_msg("fields: %s", cases[i].text);
	}
}

/* Names of 63 characters, domains of 253. */
static void test_lengths(void **state)
{
	char text[600];

	(void)state;
	for (size_t n = 60; n < 70; n++) {
		memset(text, 'x', n);
		text[n] = '\0';
		assert_int_equal(kube_selector__is_of_labels(text), n <= 63);
		text[1] = '=';
		assert_int_equal(kube_selector__is_of_labels(text), n - 2 <= 63);
	}
	for (size_t n = 251; n < 257; n++) {
		memset(text, 'x', n);
		memcpy(text + n, "/a", 3);
		assert_int_equal(kube_selector__is_of_labels(text), n <= 253);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_verdicts),
					    cmocka_unit_test(test_lengths) };

	return cmocka_run_group_tests_name("kube_selector", tests, NULL, NULL);
}
