/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_labels.c - the index of labels takes the series that looking at each of them
 * takes
 *
 * Dictionaries grow at random, and selections are asked in between; the walk over all series is the
 * oracle.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/str.h"
#include "core/config/regex.h"
#include "plugins/storage/answer/sieve.h"
#include "tests/contract/storage_host.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"

enum { N_NAMES = 7, MAX_MATCHERS = 4 };

/*
 * How many values each name has, and of how many series one has the name: all, most, some, runs,
 * ...
 */
static const uint32_t n_values[N_NAMES] = { 1, 2, 5, 40, 3000, 100000, 3 };

static bool has_name(struct random *r, uint32_t series, uint32_t name)
{
	if (name == 2)
		return random__below(r, 3) > 0;
	if (name == 3)
		return series / 200 % 2;
	if (name == 6)
		return random__below(r, 500) == 0;
	return true;
}

static struct dcm_str name_text(uint32_t name, char buf[static 16])
{
	const int n = snprintf(buf, 16, "name%u", name);

	return (struct dcm_str){ buf, (uint32_t)n };
}

/* "" too, which is a value like any other. */
static struct dcm_str value_text(struct random *r, uint32_t name, char buf[static 32])
{
	const uint64_t v = random__below(r, n_values[name]);
	const int n = v == 1 ? 0
			     : snprintf(buf, 32, "v%llu-%c", (unsigned long long)v, (char)('a' + v % 3));

	return (struct dcm_str){ buf, (uint32_t)n };
}

static void add_series(struct dict *d, struct random *r, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct dcm_pair pairs[N_NAMES];
		uint32_t n_pairs = 0;

		for (uint32_t k = 0; k < N_NAMES; k++) {
			char name[16], value[32];

			if (!has_name(r, d->series.n, k))
				continue;
			pairs[n_pairs++] = (struct dcm_pair){ dict__string(d, name_text(k, name)),
							      dict__string(d, value_text(r, k, value)) };
		}
		assert_int_not_equal(dict__series(d, pairs, n_pairs), DCM_NONE);
	}
}

struct selection {
	struct dcm_select sel;
	struct dcm_matcher matchers[MAX_MATCHERS];
	char names[MAX_MATCHERS][16], values[MAX_MATCHERS][64];
};

static void selection__random(struct selection *s, struct random *r)
{
	static const char *const patterns[] = { "v1.*",	       ".*-a",	  "v(2|3|17)-.*",
						".*",	       "",	  ".+",
						"v[0-9]{2}-b", "nothing", "v4-b|v7-b|" };

	*s = (struct selection){ 0 };
	s->sel = (struct dcm_select){ .size = sizeof(s->sel), .to_ms = INT64_MAX };
	s->sel.matchers = s->matchers;
	s->sel.n_matchers = (uint32_t)random__below(r, MAX_MATCHERS + 1);
	for (uint32_t i = 0; i < s->sel.n_matchers; i++) {
		struct dcm_matcher *m = &s->matchers[i];
		const uint32_t name = (uint32_t)random__below(r, N_NAMES + 1); /* one that nobody has */
		struct dcm_regex *regex = NULL;
		char value[32];

		m->op = (uint32_t)random__below(r, 4);
		m->name = name_text(name, s->names[i]);
		if (m->op == DCM_EQ || m->op == DCM_NE) {
			const struct dcm_str v = value_text(r, name % N_NAMES, value);
			snprintf(s->values[i], sizeof(s->values[i]), "%.*s", (int)v.n, v.p);
		} else {
			const size_t n = sizeof(patterns) / sizeof(patterns[0]);
			snprintf(s->values[i], sizeof(s->values[i]), "%s",
				 patterns[random__below(r, n)]);
			assert_int_equal(regex__new(str__of(s->values[i]), 0, &regex, NULL), 0);
		}
		m->value = str__of(s->values[i]);
		m->regex = regex;
	}
}

static void selection__fini(struct selection *s)
{
	for (uint32_t i = 0; i < s->sel.n_matchers; i++)
		regex__free((struct dcm_regex *)(uintptr_t)s->matchers[i].regex);
}

/* Returns how many are taken. */
static uint32_t compare(const struct sieve *s, struct dict *d, uint32_t n,
			const struct dcm_host *host, const struct dcm_select *sel)
{
	uint32_t n_taken = 0, next = sieve__next(s, 0);

	for (uint32_t i = 0; i < n; i++) {
		const bool expected = sieve__judge(d, i, host, sel);

		if (sieve__takes(s, i) != expected)
			fail_msg("series %u of %u: the index says %d", i, n, !expected);
		n_taken += expected;
		assert_int_equal(next == i, expected);
		if (expected)
			next = sieve__next(s, i + 1);
	}
	assert_int_equal(next, n);
	return n_taken;
}

static void ask(struct dict *d, uint32_t n, const struct dcm_host *host, struct random *r, uint64_t *n_some)
{
	struct selection sel;
	struct sieve s;

	selection__random(&sel, r);
	assert_int_equal(sieve__init(&s, d, n, host, &sel.sel), 0);
	const uint32_t taken = compare(&s, d, n, host, &sel.sel);
	*n_some += taken > 0 && taken < n;
	sieve__fini(&s);
	selection__fini(&sel);
}

static void test_the_index_takes_what_the_walk_takes(void **state)
{
	struct storage host;
	uint64_t n_some = 0, n_asked = 0;
	(void)state;

	storage__host(&host);
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct random r = { seed };
		struct dict *d = dict__new();

		assert_non_null(d);
		for (unsigned round = 0; round < 12; round++) {
			add_series(d, &r, (uint32_t)random__below(&r, round == 6 ? 4000 : 300));
			for (unsigned i = 0; i < 25; i++, n_asked++) {
				/*
				 * Now and then of fewer than there are: what came since is not
				 * looked at.
				 */
				const uint32_t n = random__below(&r, 3)
							   ? d->series.n
							   : (uint32_t)random__below(&r, d->series.n + 1);

				ask(d, n, &host.host, &r, &n_some);
			}
		}
		assert_true(labels__bytes(&d->labels) > 0);
		dict__unref(d);
	}
	assert_true(n_some > n_asked / 3);
}

static struct dcm_select one_matcher(struct dcm_matcher *m)
{
	return (struct dcm_select){
		.size = sizeof(struct dcm_select), .matchers = m, .n_matchers = 1, .to_ms = INT64_MAX
	};
}

/* Of two labels of one name the first counts, as for the walk; of what is lost nobody knows whether it is wanted. */
static void test_a_damaged_dictionary_is_read_alike(void **state)
{
	struct storage host;
	struct dict *d = dict__new();
	(void)state;

	storage__host(&host);
	assert_non_null(d);
	const uint32_t a = dict__string(d, STR("a")), b = dict__string(d, STR("b"));
	const struct dcm_pair twice[] = { { a, a }, { a, b } }, once[] = { { a, b } };
	dict__series(d, twice, 2);
	dict__series(d, once, 1);
	struct dict_counts more = dict__counts(d);
	more.strings += 3;
	more.series += 2;
	uint64_t n_lost;
	assert_int_equal(dict__fill(d, &more, &n_lost), 0);
	const struct dcm_pair lost[] = { { a, more.strings - 1 } },
			      nameless[] = { { more.strings - 1, a } };
	dict__series(d, lost, 1);
	dict__series(d, nameless, 1);
	for (uint32_t op = DCM_EQ; op <= DCM_NE; op++)
		for (unsigned i = 0; i < 9; i++) {
			static const struct dcm_str texts[] = { { "a", 1 }, { "b", 1 }, { "", 0 } };
			struct dcm_matcher m = { .op = op, .name = texts[i / 3], .value = texts[i % 3] };
			const struct dcm_select sel = one_matcher(&m);
			struct sieve s;

			assert_int_equal(sieve__init(&s, d, d->series.n, &host.host, &sel), 0);
			compare(&s, d, d->series.n, &host.host, &sel);
			for (uint32_t k = 2; k < 6; k++)
				assert_true(sieve__takes(&s, k));
			sieve__fini(&s);
		}
	dict__unref(d);
}

static void test_the_budget_ends_it(void **state)
{
	struct storage host;
	struct random r = { 3 };
	struct dict *d = dict__new();
	struct dcm_regex *regex = NULL;
	struct dcm_budget budget = { .cancelled = 1 };
	struct sieve s;
	(void)state;

	storage__host(&host);
	assert_non_null(d);
	add_series(d, &r, 3000);
	assert_int_equal(regex__new(STR("v1.*"), 0, &regex, NULL), 0);
	struct dcm_matcher m = { .op = DCM_RE, .name = STR("name5"), .value = STR("v1.*"), .regex = regex };
	struct dcm_select sel = one_matcher(&m);
	sel.budget = &budget;
	assert_int_equal(sieve__init(&s, d, d->series.n, &host.host, &sel), -ECANCELED); /* bringing series in */
	sel.budget = NULL;
	assert_int_equal(sieve__init(&s, d, d->series.n, &host.host, &sel), 0);
	sieve__fini(&s);
	sel.budget = &budget;
	assert_int_equal(sieve__init(&s, d, d->series.n, &host.host, &sel), -ECANCELED); /* judging values */
	budget = (struct dcm_budget){ .deadline_mono_ns = 1 };
	atomic_store(&host.mono_ns, 2);
	assert_int_equal(sieve__init(&s, d, d->series.n, &host.host, &sel), -ETIMEDOUT);
	regex__free(regex);
	dict__unref(d);
}

/* What came in before memory ran out stays, and is not counted twice when the rest follows. */
static void test_without_memory(void **state)
{
	struct storage host;
	struct selection sel;
	struct random r = { 8 };
	(void)state;

	storage__host(&host);
	do {
		selection__random(&sel, &r);
	} while (sel.sel.n_matchers < 3 && (selection__fini(&sel), true));
	FAILMALLOC_SWEEP (i) {
		struct random same = { 5 };
		struct sieve s = { 0 };

		failmalloc__disarm();
		struct dict *d = dict__new();
		assert_non_null(d);
		add_series(d, &same, 700);
		failmalloc__arm_once(i);
		const int e = sieve__init(&s, d, d->series.n, &host.host, &sel.sel);
		if (failmalloc__disarm())
			assert_int_equal(e, -ENOMEM);
		if (e < 0)
			assert_int_equal(sieve__init(&s, d, d->series.n, &host.host, &sel.sel), 0);
		compare(&s, d, d->series.n, &host.host, &sel.sel);
		sieve__fini(&s);
		dict__unref(d);
	}
	selection__fini(&sel);
}

/* -------------------------------------------------------------------------------------------------
 * Questions beside a writer
 */

struct shared {
	struct storage host;
	struct dict *dict;
	pthread_mutex_t lock; /* the store's */
	_Atomic bool done;
};

static void *keep_asking(void *ctx)
{
	struct shared *sh = ctx;
	struct random r = { 77 };
	uint64_t n_some = 0;

	while (!atomic_load(&sh->done)) {
		pthread_mutex_lock(&sh->lock);
		const uint32_t n = sh->dict->series.n;
		pthread_mutex_unlock(&sh->lock);
		ask(sh->dict, n, &sh->host.host, &r, &n_some);
	}
	return NULL;
}

static void test_questions_beside_a_writer(void **state)
{
	struct shared sh = { .dict = dict__new(), .lock = PTHREAD_MUTEX_INITIALIZER };
	struct random r = { 4 };
	pthread_t askers[2];
	(void)state;

	assert_non_null(sh.dict);
	storage__host(&sh.host);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&askers[i], NULL, keep_asking, &sh), 0);
	for (unsigned i = 0; i < 300; i++) {
		pthread_mutex_lock(&sh.lock);
		add_series(sh.dict, &r, 5);
		pthread_mutex_unlock(&sh.lock);
	}
	atomic_store(&sh.done, true);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(askers[i], NULL);
	uint64_t n_some = 0;
	for (unsigned i = 0; i < 20; i++)
		ask(sh.dict, sh.dict->series.n, &sh.host.host, &r, &n_some);
	dict__unref(sh.dict);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_index_takes_what_the_walk_takes),
		cmocka_unit_test(test_a_damaged_dictionary_is_read_alike),
		cmocka_unit_test(test_the_budget_ends_it),
		cmocka_unit_test(test_without_memory),
		cmocka_unit_test(test_questions_beside_a_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
