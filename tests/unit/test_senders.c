/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_senders.c - who sends, how its clock stands, who is silent, and who is forgotten
 */
#include "plugins/input/receive/senders.h"

#include <string.h>

#include "core/base/str.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/no_metrics.h"
#include "tests/unit/unit.h"

#define SECOND	  INT64_C(1000000000)
#define SILENT_NS (300 * SECOND)

static int64_t now_ns;

static int64_t real_ns(const struct dcm_host *host)
{
	(void)host;
	return now_ns;
}

static uint64_t n_forgotten;

static void count(struct dcm_metric *m, uint64_t n)
{
	(void)m;
	n_forgotten += n;
}

static const struct dcm_host host = {
	.size = sizeof(host), .real_ns = real_ns, .metric = no_metrics__make, .metric_add = count
};

/* What one target says, as text. */
struct seen {
	uint32_t n;
	char last[512];
};

static int see(void *ctx, const struct dcm_target *t)
{
	struct seen *s = ctx;
	size_t n;

	s->n++;
	n = (size_t)snprintf(s->last, sizeof(s->last), "%.*s %.*s %s asked=%d failed=%d",
			     (int)t->job.n, t->job.p, (int)t->url.n, t->url.p,
			     t->health == DCM_HEALTH_UP ? "up" : "down", (int)t->n_asked,
			     (int)t->n_failed);
	for (uint32_t i = 0; i < t->n_labels; i++)
		n += (size_t)snprintf(s->last + n, sizeof(s->last) - n, " %.*s=%.*s",
				      (int)t->labels[i].name.n, t->labels[i].name.p,
				      (int)t->labels[i].value.n, t->labels[i].value.p);
	snprintf(s->last + n, sizeof(s->last) - n, " %.*s", (int)t->error.n, t->error.p);
	return 0;
}

static void note(struct senders *s, const char *node, int64_t skew_ns, const char *refusal)
{
	senders__note(s, &(struct sending){ .node = str__of(node),
					    .protocol = "decima",
					    .version = STR("decima/1"),
					    .sent_real_ns = now_ns + skew_ns,
					    .arrived_real_ns = now_ns,
					    .refusal = refusal });
}

static void assert_says(struct senders *s, const char *expected)
{
	struct seen seen = { 0 };

	senders__each(s, see, &seen);
	assert_int_equal(seen.n, 1);
	assert_string_equal(seen.last, expected);
}

static void version_and_clock(void **state)
{
	struct senders *s = senders__new(&host, SILENT_NS);

	(void)state;
	now_ns = 1000 * SECOND;
	note(s, "a", -2500000, NULL);
	assert_says(s, "decima a up asked=1 failed=0 node=a version=decima/1 clock_skew_ms=-2 ");
	note(s, "a", 61 * SECOND, NULL);
	assert_says(s, "decima a up asked=2 failed=0 node=a version=decima/1 clock_skew_ms=61000 ");
	senders__note(s, &(struct sending){
				 .node = STR("a"), .protocol = "decima", .arrived_real_ns = now_ns });
	assert_says(s, "decima a up asked=3 failed=0 node=a ");
	senders__free(s);
}

static void refused_and_silent(void **state)
{
	struct senders *s = senders__new(&host, SILENT_NS);

	(void)state;
	now_ns = 1000 * SECOND;
	note(s, "a", 0, "the store is full");
	assert_says(s, "decima a down asked=1 failed=1 node=a version=decima/1 clock_skew_ms=0 the "
		       "store is full");
	note(s, "a", 0, NULL);
	now_ns += 300 * SECOND;
	assert_says(s, "decima a up asked=2 failed=1 node=a version=decima/1 clock_skew_ms=0 ");
	now_ns += 1;
	assert_says(s, "decima a down asked=2 failed=1 node=a version=decima/1 clock_skew_ms=0 "
		       "nothing has come for "
		       "5m; does it run, and reach this server?");
	senders__free(s);
}

static void without_a_name_is_nobody(void **state)
{
	struct senders *s = senders__new(&host, SILENT_NS);
	struct seen seen = { 0 };

	(void)state;
	note(s, "", 0, NULL);
	senders__each(s, see, &seen);
	assert_int_equal(seen.n, 0);
	senders__free(s);
}

struct sought {
	const char *node;
	uint32_t n, n_found;
};

static int seek(void *ctx, const struct dcm_target *t)
{
	struct sought *s = ctx;

	s->n++;
	s->n_found += str__eq(t->url, str__of(s->node));
	return 0;
}

static bool has(struct senders *s, const char *node)
{
	struct sought sought = { .node = node };

	senders__each(s, seek, &sought);
	assert_int_equal(sought.n, SENDERS_MAX);
	assert_true(sought.n_found <= 1);
	return sought.n_found == 1;
}

static void the_longest_silent_is_forgotten(void **state)
{
	struct senders *s = senders__new(&host, SILENT_NS);
	char name[16];

	(void)state;
	now_ns = 1000 * SECOND;
	for (int i = 0; i < SENDERS_MAX; i++, now_ns++) {
		snprintf(name, sizeof(name), "n%d", i);
		note(s, name, 0, NULL);
	}
	/* It speaks again: the second one is the one who goes. */
	note(s, "n0", 0, NULL);
	assert_int_equal(n_forgotten, 0);
	note(s, "new", 0, NULL);
	assert_int_equal(n_forgotten, 1);
	assert_true(has(s, "n0") && has(s, "new") && has(s, "n2"));
	assert_false(has(s, "n1"));
	senders__free(s);
}

/* Whatever a stranger calls itself. */
static void long_names_are_cut(void **state)
{
	struct senders *s = senders__new(&host, SILENT_NS);
	char name[400], expected[512];

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	note(s, name, 0, NULL);
	name[127] = '\0';
	snprintf(expected, sizeof(expected),
		 "decima %s up asked=1 failed=0 node=%s version=decima/1 clock_skew_ms=0 ", name, name);
	assert_says(s, expected);
	senders__free(s);
}

static void without_memory_it_is_nobody(void **state)
{
	struct senders *s = senders__new(&host, SILENT_NS);
	struct seen seen = { 0 };

	(void)state;
	failmalloc__arm(1);
	note(s, "a", 0, NULL);
	failmalloc__disarm();
	senders__each(s, see, &seen);
	assert_int_equal(seen.n, 0);
	note(s, "a", 0, NULL);
	senders__each(s, see, &seen);
	assert_int_equal(seen.n, 1);
	senders__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version_and_clock),
		cmocka_unit_test(refused_and_silent),
		cmocka_unit_test(without_a_name_is_nobody),
		cmocka_unit_test(the_longest_silent_is_forgotten),
		cmocka_unit_test(long_names_are_cut),
		cmocka_unit_test(without_memory_it_is_nobody),
	};

	return cmocka_run_group_tests_name("senders", tests, NULL, NULL);
}
