/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_scrape_arrival.c - bytes of a profile in, what goes on to the pipeline out, and what is said
 *
 * The codecs are the real ones; the pipeline is a list of texts. Profiles are of the older format, whose text says
 * what they count: "heap profile: .. @ heapprofile" has objects and bytes allocated, which count up, and in use.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/stats/stats.h"
#include "core/batch/batch.h"
#include "plugins/input/pprof_scrape/arrival.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/scrape_fixture.h"
#include "tests/unit/unit.h"

#define SECOND INT64_C(1000000000)
#define NOW    (INT64_C(1700000000) * SECOND)

struct fixture {
	struct scrape_fixture of;
	struct source source;
	struct target *target;
	struct dcm_error err;
	uint64_t n_rows; /* of the last profile */
	int emits;	 /* what the pipeline says */
	struct buf went; /* a line for each row that went on */
};

static struct fixture *the_fixture;

/* "alloc_space/delta=300 inuse_space/gauge=100 t=10 d=10" of each row; times count from NOW, in seconds. */
static void tell_row(struct buf *to, const struct dcm_batch *b, const struct dcm_profile *p, uint32_t row)
{
	static const char *const words[] = {
		[DCM_DELTA] = "delta", [DCM_GAUGE] = "gauge", [DCM_CUMULATIVE] = "total"
	};

	for (uint32_t i = 0; i < p->n_types; i++) {
		const struct dcm_type *t = &b->types[p->type_off + i];

		buf__printf(to, "%.*s/%s=%lld ", STR_ARG(b->strings[t->sample_type]),
			    words[t->temporality],
			    (long long)b->values[p->value_off + (size_t)row * p->n_types + i]);
	}
	buf__printf(to, "t=%lld d=%lld\n", (long long)((p->time_ns - NOW) / SECOND),
		    (long long)(p->duration_ns / SECOND));
}

static int emit(void *ctx, const struct dcm_host *from, struct dcm_batch *batch, dcm_done_fn done,
		void *done_ctx)
{
	(void)ctx;
	(void)from;
	(void)done;
	(void)done_ctx;
	if (the_fixture->emits < 0)
		return the_fixture->emits;
	for (uint32_t i = 0; i < batch->n_profiles; i++)
		for (uint32_t row = 0; row < batch->profiles[i].n_rows; row++)
			tell_row(&the_fixture->went, batch, &batch->profiles[i], row);
	return 0;
}

static struct stats *stats;

static void adjust(struct host_services *services)
{
	services->emit = emit;
	services->stats = stats;
}

/* A job with one target, of one profile: `profile` is YAML of it, `more` of the job. */
static void open_fixture(struct fixture *f, const char *profile, const char *more)
{
	char yaml[1000];

	*f = (struct fixture){ .err = DCM_ERROR_INIT };
	the_fixture = f;
	snprintf(yaml, sizeof(yaml),
		 "scrape_configs:\n"
		 "- job_name: j\n"
		 "  profiling_config: { pprof_config: { memory: %s, block: { enabled: false }, "
		 "mutex: { enabled: false },\n"
		 "    goroutine: { enabled: false }, process_cpu: { enabled: false } } }\n%s",
		 profile, more);
	scrape_fixture__open(&f->of, yaml, adjust);
	f->target = scrape_fixture__find_one(&f->of, &f->source);
}

static void close_fixture(struct fixture *f)
{
	job__lost(f->of.job, &f->source);
	scrape_fixture__close(&f->of);
	buf__fini(&f->went);
}

static int take(struct fixture *f, const char *text, const char *type, int64_t at_s)
{
	struct arrival a = { .target = f->target,
			     .data = (const uint8_t *)text,
			     .n = strlen(text),
			     .content_type = type };
	int r;

	f->target->state.asked_real_ns = NOW + at_s * SECOND;
	f->err = (struct dcm_error)DCM_ERROR_INIT;
	r = arrival__take(&a, &f->err);
	f->n_rows = a.n_rows;
	return r;
}

/* A heap of one stack: so many allocated in all, of 100 bytes each; one in use. */
static const char *heap(int n)
{
	static char text[200];

	snprintf(text, sizeof(text),
		 "heap profile: 1: 100 [ %d: %d] @ heapprofile\n1: 100 [ %d: %d] @ 0x401136\n", n,
		 n * 100, n, n * 100);
	return text;
}

/* What went on since this was asked last. */
static void expect_went(struct fixture *f, const char *lines)
{
	buf__byte(&f->went, '\0');
	assert_false(f->went.error);
	assert_string_equal((const char *)f->went.data, lines);
	buf__reset(&f->went);
}

static void expect_refused(struct fixture *f, int r, int want, const char *sentence)
{
	assert_int_equal(r, want);
	if (!strstr(f->err.text, sentence))
		fail_msg("\"%s\" is not in: %s", sentence, f->err.text);
	expect_went(f, "");
}

static double counted_resets(void)
{
	return stats__value(stats, "decima_scrape_resets_total",
			    STATS_LABELS({ "instance", "scrape" }, { "scrape_job", "j" }));
}

#define ALL "{}"

static void test_added(void **state)
{
	struct fixture f;

	(void)state;
	assert_int_equal(stats__new(NULL, &stats), 0);
	open_fixture(&f, ALL, "");
	/* Of the first nothing is known but what is in use. */
	assert_int_equal(take(&f, heap(5), "", 0), 0);
	expect_went(&f, "inuse_objects/gauge=1 inuse_space/gauge=100 t=0 d=0\n");
	assert_int_equal(take(&f, heap(8), "", 10), 0);
	expect_went(&f, "alloc_objects/delta=3 alloc_space/delta=300 t=0 d=10\n"
			"inuse_objects/gauge=1 inuse_space/gauge=100 t=10 d=0\n");
	assert_true(counted_resets() == 0);
	/* It has begun anew. */
	assert_int_equal(take(&f, heap(2), "", 20), 0);
	expect_went(&f, "alloc_objects/delta=2 alloc_space/delta=200 t=10 d=10\n"
			"inuse_objects/gauge=1 inuse_space/gauge=100 t=20 d=0\n");
	assert_true(counted_resets() == 1);
	close_fixture(&f);
	stats__free(stats);
	stats = NULL;
}

/* What finds no room is lost, told and counted; what was added meanwhile comes with the next. */
static void test_no_room(void **state)
{
	struct fixture f;

	(void)state;
	assert_int_equal(stats__new(NULL, &stats), 0);
	open_fixture(&f, ALL, "");
	assert_int_equal(take(&f, heap(5), "", 0), 0);
	expect_went(&f, "inuse_objects/gauge=1 inuse_space/gauge=100 t=0 d=0\n");
	f.emits = -ENOBUFS;
	expect_refused(&f, take(&f, heap(8), "", 10), -ENOMEM,
		       "no room for its samples (queue_full): what was added counts with the next");
	/* The row of what is in use does not come again. */
	assert_true(
		stats__value(stats, "decima_dropped_total",
			     STATS_LABELS({ "instance", "scrape" }, { "reason", "queue_full" })) == 1);
	f.emits = 0;
	assert_int_equal(take(&f, heap(9), "", 20), 0);
	expect_went(&f, "alloc_objects/delta=4 alloc_space/delta=400 t=0 d=20\n"
			"inuse_objects/gauge=1 inuse_space/gauge=100 t=20 d=0\n");
	close_fixture(&f);
	stats__free(stats);
	stats = NULL;
}

/* Who makes deltas itself says nothing of them: not in the types, and not for how long. */
static void test_makes_deltas_itself(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f, "{ path: /debug/pprof/delta_heap }", "");
	assert_int_equal(take(&f, heap(500), "", 0), 0);
	expect_went(&f, "inuse_objects/gauge=1 inuse_space/gauge=100 t=0 d=0\n");
	assert_int_equal(take(&f, heap(3), "", 10), 0);
	expect_went(&f, "alloc_objects/delta=3 alloc_space/delta=300 t=0 d=10\n"
			"inuse_objects/gauge=1 inuse_space/gauge=100 t=10 d=0\n");
	assert_int_equal(take(&f, heap(5), "", 20), 0);
	expect_went(&f, "alloc_objects/delta=5 alloc_space/delta=500 t=10 d=10\n"
			"inuse_objects/gauge=1 inuse_space/gauge=100 t=20 d=0\n");
	close_fixture(&f);
}

/* Whoever wrote the path: a rule, here of what an annotation says. */
static void test_makes_deltas_where_a_rule_says(void **state)
{
	static const struct {
		const char *path;
		bool is_delta;
	} cases[] = { { "/x/delta_heap?gc=1", true },
		      { "delta_heap", true },
		      { "/delta_x/heap", false },
		      { "/heap?x=/delta_", false } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fixture f;
		char rule[200];

		snprintf(rule, sizeof(rule), "  relabel_configs: [ { target_label: __profile_path__, replacement: '%s' } ]\n",
			 cases[i].path);
		open_fixture(&f, ALL, rule);
		assert_int_equal(take(&f, heap(100), "", 0), 0);
		buf__reset(&f.went);
		assert_int_equal(take(&f, heap(110), "", 10), 0);
		expect_went(&f,
			    cases[i].is_delta
				    ? "alloc_objects/delta=110 alloc_space/delta=11000 t=0 d=10\n"
				      "inuse_objects/gauge=1 inuse_space/gauge=100 t=10 d=0\n"
				    : "alloc_objects/delta=10 alloc_space/delta=1000 t=0 d=10\n"
				      "inuse_objects/gauge=1 inuse_space/gauge=100 t=10 d=0\n");
		close_fixture(&f);
	}
}

static void test_not_computed(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f, "{ compute_delta: false }", "");
	assert_int_equal(take(&f, heap(5), "", 0), 0);
	expect_went(&f, "alloc_objects/total=5 alloc_space/total=500 inuse_objects/gauge=1 "
			"inuse_space/gauge=100 t=0 d=0\n");
	close_fixture(&f);
}

static void test_kept_types(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f, "{ keep_sample_type: [ { type: inuse_space, unit: bytes } ] }", "");
	assert_int_equal(take(&f, heap(5), "", 0), 0);
	expect_went(&f, "inuse_space/gauge=100 t=0 d=0\n");
	assert_int_equal(f.n_rows, 1);
	close_fixture(&f);
	open_fixture(&f, "{ keep_sample_type: [ { type: inuse_space, unit: count } ] }", "");
	expect_refused(&f, take(&f, heap(5), "", 0), -EINVAL,
		       "has none of the sample types in keep_sample_type");
	close_fixture(&f);
}

static void test_limits(void **state)
{
	static const char two[] = "heap profile: 2: 200 [ 2: 200] @ heapprofile\n"
				  "1: 100 [ 1: 100] @ 0x401136\n1: 100 [ 1: 100] @ 0x401140\n";
	struct fixture f;

	(void)state;
	open_fixture(&f, ALL, "  sample_limit: 1\n");
	assert_int_equal(take(&f, heap(1), "", 0), 0);
	expect_went(&f, "inuse_objects/gauge=1 inuse_space/gauge=100 t=0 d=0\n");
	expect_refused(&f, take(&f, two, "", 10), -E2BIG, "2 samples, more than sample_limit (1)");
	close_fixture(&f);
	open_fixture(&f, ALL, "  body_size_limit: 64B\n");
	expect_refused(&f, take(&f, heap(1), "", 0), -E2BIG, "more than the limit of 64");
	close_fixture(&f);
}

static void test_no_profile(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f, ALL, "");
	expect_refused(&f, take(&f, "<html><body>Log in</body></html>", "text/html; charset=utf-8", 0),
		       -EINVAL, "(it is said to be text/html; charset=utf-8)");
	expect_refused(&f, take(&f, "<html><body>Log in</body></html>", "", 0), -EINVAL, "pprof");
	assert_null(strstr(f.err.text, "said to be"));
	expect_refused(&f, take(&f, "", "application/octet-stream", 0), -EINVAL, "pprof");
	close_fixture(&f);
}

/* A clock that is far from ours has our time; one that is a little wrong has its own. */
static void test_clocks(void **state)
{
	/* profile.proto: a sample type, no sample is needed but one value; time_nanos is field 9. */
	static const struct {
		int64_t apart_s, told_s;
	} cases[] = { { 0, 0 },	  { 299, 299 }, { -299, -299 },
		      { 301, 0 }, { -301, 0 },	{ -1000000, 0 } };
	struct fixture f;

	(void)state;
	open_fixture(&f, ALL, "");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf text = { 0 };
		uint64_t time_ns = (uint64_t)(NOW + cases[i].apart_s * SECOND);
		char want[100];
		struct arrival a = { .target = f.target, .content_type = "" };

		/* sample_type {1, 2}; sample { location 1, value 7 }; location 1 at 0x10; texts "", "space", "bytes" */
		buf__str(&text,
			 (struct dcm_str){
				 "\x0a\x04\x08\x01\x10\x02\x12\x06\x0a\x01\x01\x12\x01\x07"
				 "\x22\x04\x08\x01\x18\x10\x32\x00\x32\x0binuse_space\x32\x05"
				 "bytes\x48",
				 43 });
		buf__varint(&text, time_ns);
		a.data = text.data;
		a.n = text.n;
		f.target->state.asked_real_ns = NOW;
		f.err = (struct dcm_error)DCM_ERROR_INIT;
		if (arrival__take(&a, &f.err) < 0)
			fail_msg("%s", f.err.text);
		snprintf(want, sizeof(want), "inuse_space/gauge=7 t=%lld d=0\n",
			 (long long)cases[i].told_s);
		expect_went(&f, want);
		buf__fini(&text);
	}
	close_fixture(&f);
}

/* Go says of what it counted for some seconds when that ended, and of a CPU profile when it began. */
static void test_of_some_seconds(void **state)
{
	static const struct {
		const char *type;
		int64_t told_s;
	} cases[] = { { "contentions", 0 }, { "alloc_objects", 0 }, { "goroutine", 0 }, { "cpu", 9 } };
	struct fixture f;

	(void)state;
	open_fixture(&f, "{ delta: true }", "  scrape_interval: 10s\n");
	assert_int_equal(f.target->covers_ns, 9 * SECOND);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf text = { 0 };
		struct arrival a = { .target = f.target, .content_type = "" };

		/* As above, and duration_nanos, which is field 10. */
		buf__str(&text, (struct dcm_str){
					"\x0a\x04\x08\x01\x10\x02\x12\x06\x0a\x01\x01\x12\x01\x07"
					"\x22\x04\x08\x01\x18\x10\x32\x00\x32",
					23 });
		buf__varint(&text, strlen(cases[i].type));
		buf__text(&text, cases[i].type);
		buf__text(&text, "\x32\x05"
				 "count\x48");
		buf__varint(&text, (uint64_t)(NOW + 9 * SECOND));
		buf__byte(&text, 0x50);
		buf__varint(&text, (uint64_t)(9 * SECOND));
		a.data = text.data;
		a.n = text.n;
		f.target->state.asked_real_ns = NOW;
		if (arrival__take(&a, &f.err) < 0)
			fail_msg("%s", f.err.text);
		buf__byte(&f.went, '\0');
		if (!strstr((const char *)f.went.data, cases[i].told_s ? "=7 t=9 d=9\n" : "=7 t=0 d=9\n"))
			fail_msg("%s", (const char *)f.went.data);
		buf__reset(&f.went);
		buf__fini(&text);
	}
	close_fixture(&f);
}

/* What is kept to tell what was added has its bounds: of one profile, and of all; what there is no room for fails, and says why. */
static void test_delta_memory(void **state)
{
	struct fixture f;
	struct buf large = { 0 };

	(void)state;
	open_fixture(&f, ALL, "");
	f.of.memory.max_delta_bytes = 64 * 1024;
	buf__text(&large, "heap profile: 60: 6000 [ 120: 12000] @ heapprofile\n");
	for (int i = 0; i < 60; i++)
		buf__printf(&large, "1: 100 [ 2: 200] @ 0x40%04x\n", i * 16);
	buf__byte(&large, '\0');
	expect_refused(&f, take(&f, (const char *)large.data, "", 0), -E2BIG,
		       "60 samples, and to tell what was added all have to be kept");
	assert_int_equal(take(&f, heap(5), "", 10), 0);
	assert_true(f.of.memory.n_delta_bytes > 0);
	buf__reset(&f.went);
	/* Others have it all. */
	f.of.memory.n_delta_bytes += 64 * 1024;
	expect_refused(&f, take(&f, heap(7), "", 20), -E2BIG,
		       "all targets together have 0 MiB (delta_memory)");
	/* It has given up what it had, and begins anew. */
	assert_true(f.of.memory.n_delta_bytes == 64 * 1024);
	f.of.memory.n_delta_bytes = 0;
	assert_int_equal(take(&f, heap(9), "", 30), 0);
	expect_went(&f, "inuse_objects/gauge=1 inuse_space/gauge=100 t=30 d=0\n");
	assert_int_equal(take(&f, heap(12), "", 40), 0);
	expect_went(&f, "alloc_objects/delta=3 alloc_space/delta=300 t=30 d=10\n"
			"inuse_objects/gauge=1 inuse_space/gauge=100 t=40 d=0\n");
	buf__fini(&large);
	close_fixture(&f);
}

static void test_no_memory(void **state)
{
	struct fixture f;
	int n = 5;

	(void)state;
	open_fixture(&f, ALL, "");
	/* Room for what is noted here, which must not fail. */
	for (int i = 0; i < 4096; i++)
		buf__byte(&f.went, ' ');
	assert_int_equal(take(&f, heap(n), "", 0), 0);
	buf__reset(&f.went);
	FAILMALLOC_SWEEP (i) {
		int r = take(&f, heap(n + 1), "", 10);

		failmalloc__disarm();
		if (r == 0) {
			n++;
			/* However often it failed, what was added is counted once. */
			expect_went(&f, "alloc_objects/delta=1 alloc_space/delta=100 t=0 d=10\n"
					"inuse_objects/gauge=1 inuse_space/gauge=100 t=10 d=0\n");
			break;
		}
		assert_int_equal(r, -ENOMEM);
		assert_non_null(strstr(f.err.text, "memory"));
		expect_went(&f, "");
	}
	assert_int_equal(n, 6);
	close_fixture(&f);
}

/* A heap of one stack as it is sampled: of 512 KiB one object is noted, with what is in use; so much is allocated. */
static const char *sampled(int objects, int bytes)
{
	static char text[200];

	snprintf(text, sizeof(text),
		 "heap profile: 0: 0 [ %d: %d] @ heap_v2/524288\n0: 0 [ %d: %d] @ 0x401136\n",
		 objects, bytes, objects, bytes);
	return text;
}

/* What so many noted objects stand for: an object of the mean size is noted with this probability. */
static double probability(int objects, int bytes)
{
	return 1 - exp(-(double)bytes / objects / 524288);
}

/* The mean size is a label of C++'s heaps; that it changes makes of no stack another one. */
static void test_mean_sizes(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f, ALL, "");
	assert_int_equal(take(&f, "heap profile: 1: 100 [ 5: 500] @ heapprofile\n1: 100 [ 5: 500] @ 0x401136\n",
			      "", 0),
			 0);
	expect_went(&f, "inuse_objects/gauge=1 inuse_space/gauge=100 t=0 d=0\n");
	assert_int_equal(take(&f, "heap profile: 2: 300 [ 8: 900] @ heapprofile\n2: 300 [ 8: 900] @ 0x401136\n",
			      "", 10),
			 0);
	expect_went(&f, "alloc_objects/delta=3 alloc_space/delta=400 t=0 d=10\n"
			"inuse_objects/gauge=2 inuse_space/gauge=300 t=10 d=0\n");
	close_fixture(&f);
}

/*
 * One large object among many small ones: those that are noted stand for fewer then, so that there seem to be fewer. The
 * program has not begun anew; when its bytes are fewer, it has, though they are not kept.
 */
static void test_estimates(void **state)
{
	int64_t before = (int64_t)(100000 / probability(1000, 100000));
	int64_t after = (int64_t)(10100000 / probability(1001, 10100000));
	struct fixture f;
	char want[200];

	(void)state;
	open_fixture(&f, ALL, "");
	assert_int_equal(take(&f, sampled(1000, 100000), "", 0), 0);
	expect_went(&f, "");
	assert_int_equal(take(&f, sampled(1001, 10100000), "", 10), 0);
	snprintf(want, sizeof(want), "alloc_objects/delta=0 alloc_space/delta=%lld t=0 d=10\n",
		 (long long)(after - before));
	expect_went(&f, want);
	/* As many as at first again, and a tenth more. */
	before = (int64_t)(1000 / probability(1000, 100000));
	after = (int64_t)(110000 / probability(110000, 21100000));
	assert_true(after > before);
	assert_int_equal(take(&f, sampled(110000, 21100000), "", 20), 0);
	snprintf(want, sizeof(want), "alloc_objects/delta=%lld ", (long long)(after - before));
	buf__byte(&f.went, '\0');
	assert_memory_equal(f.went.data, want, strlen(want));
	buf__reset(&f.went);
	close_fixture(&f);

	open_fixture(&f, "{ keep_sample_type: [ { type: alloc_objects, unit: count } ] }", "");
	assert_int_equal(take(&f, sampled(1000, 100000), "", 0), 0);
	assert_int_equal(take(&f, sampled(1001, 10100000), "", 10), 0);
	expect_went(&f, "");
	assert_int_equal(take(&f, sampled(1, 100), "", 20), 0);
	snprintf(want, sizeof(want), "alloc_objects/delta=%lld t=10 d=10\n",
		 (long long)(1 / probability(1, 100)));
	expect_went(&f, want);
	close_fixture(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_added),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_makes_deltas_itself),
		cmocka_unit_test(test_makes_deltas_where_a_rule_says),
		cmocka_unit_test(test_not_computed),
		cmocka_unit_test(test_kept_types),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_no_profile),
		cmocka_unit_test(test_clocks),
		cmocka_unit_test(test_of_some_seconds),
		cmocka_unit_test(test_mean_sizes),
		cmocka_unit_test(test_estimates),
		cmocka_unit_test(test_delta_memory),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests_name("scrape_arrival", tests, NULL, NULL);
}
