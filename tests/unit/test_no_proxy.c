/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_no_proxy.c - which hosts are reached without the proxy: as Go does
 *
 * tests/data/http/no_proxy.txt has Go's own verdicts.
 */
#include "core/net/no_proxy.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/paths.h"
#include "tests/unit/unit.h"

static void agrees_with_go(void **state)
{
	FILE *f = fopen(TEST_SRCDIR "/tests/data/http/no_proxy.txt", "r");
	char line[256];
	unsigned n = 0, n_direct = 0;

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		char *rest = line, *list = strsep(&rest, "\t"), *host = strsep(&rest, "\t"),
		     *port = strsep(&rest, "\t");
		bool direct = strcmp(rest, "direct\n") == 0;

		if (no_proxy__matches(list, host, port) != direct)
			fail_msg("\"%s\" and %s port %s: Go says %s", list, host, port, rest);
		n++;
		n_direct += direct;
	}
	fclose(f);
	assert_true(n > 1000 && n_direct > 200);
}

static void without_a_list_only_this_machine(void **state)
{
	(void)state;
	assert_true(no_proxy__matches(NULL, "localhost", "80"));
	assert_true(no_proxy__matches(NULL, "::1", "80"));
	assert_false(no_proxy__matches(NULL, "example.com", "80"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_go),
		cmocka_unit_test(without_a_list_only_this_machine),
	};
	return cmocka_run_group_tests_name("no_proxy", tests, NULL, NULL);
}
