/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_versions.c - what each peer's requests of OTLP were of, and who is forgotten
 */
#include "plugins/input/receive/versions.h"

#include <string.h>

#include "core/base/str.h"
#include "tests/unit/unit.h"

static uint64_t counts[VERSIONS_N];

static struct dcm_metric *metric_of(const struct dcm_host *host, enum dcm_metric_kind kind,
				    const char *name, const char *help,
				    const struct dcm_label_text *labels, uint32_t n)
{
	static const char *const names[VERSIONS_N] = { "1.10", "1.9", "1.8", "1.7", "1.5" };

	(void)host;
	(void)help;
	assert_int_equal(kind, DCM_COUNTER);
	assert_string_equal(name, "receive_otlp_requests_total");
	assert_int_equal(n, 1);
	for (size_t i = 0; i < VERSIONS_N; i++)
		if (str__eq(labels[0].value, str__of(names[i])))
			return (struct dcm_metric *)&counts[i];
	fail();
	return NULL;
}

static void metric_add(struct dcm_metric *m, uint64_t n)
{
	*(uint64_t *)m += n;
}

static const struct dcm_host host = { .size = sizeof(host), .metric_of = metric_of, .metric_add = metric_add };

static struct dcm_request request_of(const char *peer, const struct dcm_field *agent)
{
	return (struct dcm_request){ .size = sizeof(struct dcm_request),
				     .headers = agent,
				     .n_headers = agent != NULL,
				     .peer = str__of(peer) };
}

static void note(struct versions *v, const struct dcm_request *q, const char *version, bool told)
{
	versions__note(v, q,
		       &(struct dcm_found){ .size = sizeof(struct dcm_found),
					    .version = version,
					    .is_version_told = told });
}

static void test_peers(void **state)
{
	static const struct dcm_field go = { STR("user-agent"), STR("go") },
				      java = { STR("user-agent"), STR("java") };
	const struct dcm_request a = request_of("10.0.0.1", &go),
				 same_host = request_of("10.0.0.1", &java),
				 b = request_of("10.0.0.2", NULL);
	static struct versions v;

	(void)state;
	versions__init(&v, &host);
	assert_null(versions__likely(&v, &a));
	note(&v, &a, "1.10", false);
	assert_null(versions__likely(&v, &a)); /* what nothing told tells nothing */
	note(&v, &a, "1.9", true);
	assert_string_equal(versions__likely(&v, &a), "1.9");
	assert_null(versions__likely(&v, &same_host));
	assert_null(versions__likely(&v, &b));
	note(&v, &b, "1.8", true);
	note(&v, &a, "1.9", false);
	note(&v, &a, "1.10", true);
	assert_string_equal(versions__likely(&v, &a), "1.10");
	assert_string_equal(versions__likely(&v, &b), "1.8");
	assert_int_equal(counts[0], 2);
	assert_int_equal(counts[1], 2);
	assert_int_equal(counts[2], 1);
	versions__fini(&v);
}

/* More than there is room for: who is asked for has his own version, or none. */
static void test_many_peers(void **state)
{
	enum { N = 3 * VERSIONS_PEERS_MAX };
	static const char *const names[] = { "1.10", "1.9", "1.8" };
	static struct versions v;
	unsigned n_known = 0;
	char peer[32];

	(void)state;
	versions__init(&v, &host);
	for (int i = 0; i < N; i++) {
		snprintf(peer, sizeof(peer), "10.0.%d.%d", i / 250, i % 250);
		const struct dcm_request q = request_of(peer, NULL);
		note(&v, &q, names[i % 3], true);
	}
	for (int i = 0; i < N; i++) {
		snprintf(peer, sizeof(peer), "10.0.%d.%d", i / 250, i % 250);
		const struct dcm_request q = request_of(peer, NULL);
		const char *likely = versions__likely(&v, &q);

		assert_true(!likely || strcmp(likely, names[i % 3]) == 0);
		n_known += likely != NULL;
	}
	assert_in_range(n_known, VERSIONS_PEERS_MAX / 2, VERSIONS_PEERS_MAX);
	versions__fini(&v);
}

static void test_protocols(void **state)
{
	struct dcm_found found = { .size = sizeof(found) };

	(void)state;
	assert_string_equal(versions__protocol(&found), "otlp");
	found.version = "1.10";
	assert_string_equal(versions__protocol(&found), "otlp");
	found.version = "1.5";
	assert_string_equal(versions__protocol(&found), "otlp 1.5");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_peers),
		cmocka_unit_test(test_many_peers),
		cmocka_unit_test(test_protocols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
