/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_stats.c - the registry, the ledger of losses, and the text format
 *
 * The text is read back by a small parser of format 0.0.4 and compared with what was counted.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/vec.h"
#include "core/stats/stats.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/unit.h"

static struct stats *new_stats(const struct stats_limits *limits)
{
	struct stats *s = NULL;

	assert_int_equal(stats__new(limits, &s), 0);
	return s;
}

static char *text_of(struct stats *s)
{
	struct buf b = { 0 };
	size_t n;

	assert_int_equal(stats__write_prometheus(s, &b), 0);
	return (char *)buf__take(&b, &n);
}

static void test_handles(void **state)
{
	struct stats *s = new_stats(NULL);
	struct stats_metric *a, *b, *c;

	(void)state;
	a = stats__counter(s, "decima_x_total", "X.", STATS_LABELS({ "a", "1" }, { "b", "2" }));
	b = stats__counter(s, "decima_x_total", "other", STATS_LABELS({ "b", "2" }, { "a", "1" }));
	c = stats__counter(s, "decima_x_total", "X.", STATS_LABELS({ "a", "1" }, { "b", "3" }));
	assert_non_null(a);
	assert_ptr_equal(a, b);
	assert_ptr_not_equal(a, c);
	stats__counter_add(a, 40);
	stats__counter_add(b, 2);
	assert_true(stats__value(s, "decima_x_total", STATS_LABELS({ "b", "2" }, { "a", "1" })) == 42);

	/* A label's text cannot pretend to be two labels. */
	a = stats__gauge(s, "decima_y", "", STATS_LABELS({ "a", "1\",b=\"2" }));
	b = stats__gauge(s, "decima_y", "", STATS_LABELS({ "a", "1" }, { "b", "2" }));
	assert_ptr_not_equal(a, b);
	stats__gauge_set(a, 1.5);
	stats__gauge_add(a, -4);
	assert_true(stats__value(s, "decima_y", STATS_LABELS({ "a", "1\",b=\"2" })) == -2.5);
	stats__free(s);
}

static void test_wrong_kind_does_nothing(void **state)
{
	struct stats *s = new_stats(NULL);
	struct stats_metric *c = stats__counter(s, "decima_c_total", "", STATS_NO_LABELS);
	struct stats_metric *g = stats__gauge(s, "decima_g", "", STATS_NO_LABELS);

	(void)state;
	stats__gauge_set(c, 7);
	stats__gauge_add(c, 7);
	stats__histogram_observe(c, 7);
	stats__counter_add(g, 7);
	stats__histogram_observe(g, 7);
	assert_true(stats__value(s, "decima_c_total", STATS_NO_LABELS) == 0);
	assert_true(stats__value(s, "decima_g", STATS_NO_LABELS) == 0);
	stats__counter_add(NULL, 1);
	stats__gauge_set(NULL, 1);
	stats__gauge_add(NULL, 1);
	stats__histogram_observe(NULL, 1);
	stats__unregister(s, NULL);
	stats__free(s);
	stats__free(NULL);
}

static double count_refused(struct stats *s, const char *reason)
{
	return stats__value(s, "decima_stats_refused_total", STATS_LABELS({ "reason", reason }));
}

static void test_refused(void **state)
{
	static const char *const names[] = { "", "9x", "a-b", "a b", "\xc3\xa4", NULL };
	struct stats_def histogram = { .kind = STATS_HISTOGRAM, .name = "decima_h" };
	struct stats_buckets wide = { .first = 1, .n = 32, .log2_factor = 3, .per_unit = 1 };
	struct stats *s = new_stats(NULL);
	double n = 0;

	(void)state;
	for (int i = 0; names[i]; i++, n++)
		assert_null(stats__counter(s, names[i], "", STATS_NO_LABELS));
	assert_null(stats__counter(s, "decima_x", "", STATS_LABELS({ "a-b", "1" })));
	assert_null(stats__counter(s, "decima_x", "", STATS_LABELS({ "__name__", "1" })));
	assert_null(stats__counter(s, "decima_x", "", STATS_LABELS({ "a", "1" }, { "a", "2" })));
	assert_null(stats__register(s, &histogram, STATS_NO_LABELS));
	histogram.buckets = &wide; /* bounds beyond 2^64 */
	assert_null(stats__register(s, &histogram, STATS_NO_LABELS));
	histogram.buckets = &stats__seconds;
	assert_null(stats__register(s, &histogram, STATS_LABELS({ "le", "1" })));
	assert_non_null(stats__register(s, &histogram, STATS_NO_LABELS));
	histogram.buckets = &stats__bytes;
	assert_null(stats__register(s, &histogram, STATS_NO_LABELS));
	assert_null(stats__gauge(s, "decima_h", "", STATS_NO_LABELS));
	assert_true(count_refused(s, "invalid") == n + 8);
	stats__free(s);
}

static void test_limit(void **state)
{
	struct stats *s = new_stats(&(struct stats_limits){ .max_series = 64 });
	struct stats_metric *m[64] = { 0 };
	char value[32];
	int n = 0;

	(void)state;
	for (int i = 0; i < 64; i++) {
		snprintf(value, sizeof(value), "%d", i);
		m[i] = stats__gauge(s, "decima_one", "", STATS_LABELS({ "i", value }));
		n += m[i] != NULL;
	}
	assert_in_range(n, 16, 17); /* one name has a quarter */
	assert_true(count_refused(s, "limit") == 64 - n);
	/* What is given back can be had again. */
	stats__unregister(s, m[0]);
	assert_non_null(stats__gauge(s, "decima_one", "", STATS_LABELS({ "i", "new" })));
	for (int i = 0; i < 100; i++) {
		m[0] = stats__gauge(s, "decima_passing", "", STATS_NO_LABELS);
		assert_non_null(m[0]);
		stats__unregister(s, m[0]);
	}
	for (int i = 0; i < 64; i++) {
		snprintf(value, sizeof(value), "decima_g%d", i);
		n += stats__gauge(s, value, "", STATS_NO_LABELS) != NULL;
	}
	assert_in_range(n, 50, 64);
	stats__free(s);
}

static double answer(void *ctx)
{
	return *(double *)ctx;
}

static void test_owners_and_functions(void **state)
{
	struct stats *s = new_stats(NULL);
	double v = 0.25;
	struct stats_def def = {
		.kind = STATS_GAUGE, .name = "decima_f", .help = "F.", .read = answer, .ctx = &v
	};
	struct stats_metric *a, *b;
	char *text;

	(void)state;
	a = stats__register(s, &def, STATS_NO_LABELS);
	assert_non_null(a);
	assert_null(stats__register(s, &def, STATS_NO_LABELS)); /* has an owner */
	assert_null(stats__gauge(s, "decima_f", "", STATS_NO_LABELS));
	assert_true(stats__value(s, "decima_f", STATS_NO_LABELS) == 0.25);
	v = 3;
	assert_true(stats__value(s, "decima_f", STATS_NO_LABELS) == 3);
	stats__unregister(s, a);
	text = text_of(s);
	assert_null(strstr(text, "decima_f"));
	free(text);

	a = stats__gauge(s, "decima_f", "", STATS_NO_LABELS);
	b = stats__gauge(s, "decima_f", "", STATS_NO_LABELS);
	stats__gauge_set(b, 5);
	stats__unregister(s, a);
	assert_true(stats__value(s, "decima_f", STATS_NO_LABELS) == 5);
	stats__unregister(s, b);
	assert_true(stats__value(s, "decima_f", STATS_NO_LABELS) == 0);
	stats__free(s);
}

struct seen {
	uint64_t buckets[STATS_BUCKETS_MAX + 1], count;
	double value;
};

static void see_histogram(void *ctx, const struct stats_view *view)
{
	struct seen *seen = ctx;

	if (view->kind != STATS_HISTOGRAM)
		return;
	memcpy(seen->buckets, view->buckets, (view->layout->n + 1u) * sizeof(seen->buckets[0]));
	seen->count = view->count;
	seen->value = view->value;
}

/* Against a scan of the bounds, on random values and on each bound and its neighbours. */
static void check_histogram(const struct stats_buckets *layout)
{
	struct stats *s = new_stats(NULL);
	struct stats_def def = { .kind = STATS_HISTOGRAM, .name = "decima_h", .help = "", .buckets = layout };
	struct stats_metric *m = stats__register(s, &def, STATS_NO_LABELS);
	struct seen seen = { 0 }, want = { 0 };
	uint64_t x = 88172645463325252u, total = 0;

	assert_non_null(m);
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t bound = layout->first << (i % layout->n * layout->log2_factor), v;
		unsigned at = 0;

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		v = i < 400 ? bound + i % 3 - 1 : x >> (16 + x % 48);
		stats__histogram_observe(m, v);
		total += v;
		while (at < layout->n && v > layout->first << (at * layout->log2_factor))
			at++;
		want.buckets[at]++;
		want.count++;
	}
	stats__each(s, see_histogram, &seen);
	assert_memory_equal(seen.buckets, want.buckets, sizeof(want.buckets));
	assert_int_equal(seen.count, want.count);
	assert_true(seen.value == (double)total / layout->per_unit);
	stats__free(s);
}

static void test_histogram(void **state)
{
	struct stats_buckets layouts[] = {
		stats__seconds,
		stats__bytes,
		{ .first = 1, .n = 32, .log2_factor = 1, .per_unit = 1 },
		{ .first = 3, .n = 20, .log2_factor = 3, .per_unit = 1 },
		{ .first = 1000, .n = 1, .log2_factor = 2, .per_unit = 1000 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		check_histogram(&layouts[i]);
}

/* ---- the text format ------------------------------------------------------------------------- */

struct sample {
	char name[160], labels[1024];
	double value;
};

struct samples {
	struct sample *v;
	size_t n, cap;
};

/*
 * Reads NAME[{LABELS}] VALUE; anything else fails the test. Label values come out unescaped,
 * between single quotes.
 */
static struct sample parse_sample(const char *line)
{
	size_t n = strcspn(line, "{ "), at = 0;
	const char *p = line + n;
	struct sample out = { 0 };
	bool quoted = false;
	char *end;

	assert_in_range(n, 1, sizeof(out.name) - 1);
	memcpy(out.name, line, n);
	if (*p == '{') {
		for (p++; quoted || *p != '}'; p++) {
			char c = *p;

			assert_true(c != '\0' && at < sizeof(out.labels) - 1);
			if (c == '"') {
				quoted = !quoted;
				c = '\'';
			} else if (c == '\\') {
				p++;
				assert_true(quoted && (*p == 'n' || *p == '\\' || *p == '"'));
				c = *p == 'n' ? '\n' : *p;
			}
			out.labels[at++] = c;
		}
		p++;
	}
	assert_int_equal(*p, ' ');
	out.value = strtod(p + 1, &end);
	assert_true(end > p + 1);
	assert_int_equal(*end, '\0');
	return out;
}

/* Checks headers (one HELP and TYPE before each family, families once) and collects the samples. */
static void parse_text(char *text, struct samples *out)
{
	char family[160] = "", last_family[160] = "", type[16] = "", *save = NULL;

	assert_true(text[0] == '\0' || text[strlen(text) - 1] == '\n');
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct sample s;

		if (sscanf(line, "# HELP %150s", family) == 1) {
			assert_true(strcmp(last_family, family) < 0);
			memcpy(last_family, family, sizeof(last_family));
			continue;
		}
		if (sscanf(line, "# TYPE %150s %15s", family, type) == 2) {
			assert_string_equal(family, last_family);
			continue;
		}
		s = parse_sample(line);
		assert_int_equal(strncmp(s.name, family, strlen(family)), 0);
		if (strcmp(type, "histogram") != 0)
			assert_string_equal(s.name, family);
		assert_true(vec__push(out, s));
	}
}

static void test_text_escapes(void **state)
{
	struct stats *s = new_stats(NULL);
	char *text;

	(void)state;
	stats__counter_add(stats__counter(s, "decima_z_total", "back\\slash\nline \"q\"",
					  STATS_LABELS({ "v", "a\\b\"c\nd\xff\xc3\xa4" })),
			   UINT64_MAX);
	stats__gauge_set(stats__gauge(s, "decima_a", "", STATS_LABELS({ "k", "nan" })), NAN);
	stats__gauge_set(stats__gauge(s, "decima_a", "", STATS_LABELS({ "k", "inf" })), -INFINITY);
	stats__gauge_set(stats__gauge(s, "decima_a", "", STATS_LABELS({ "k", "third" })), 1.0 / 3);
	stats__gauge_set(stats__gauge(s, "decima_a", "", STATS_LABELS({ "k", "tenth" })), 0.1);
	text = text_of(s);
	assert_non_null(strstr(text, "# HELP decima_z_total back\\\\slash\\nline \"q\"\n"
				     "# TYPE decima_z_total counter\n"
				     "decima_z_total{v=\"a\\\\b\\\"c\\nd\xef\xbf\xbd\xc3\xa4\"} "
				     "18446744073709551615\n"));
	assert_non_null(strstr(text, "# TYPE decima_a gauge\n"
				     "decima_a{k=\"inf\"} -Inf\n"
				     "decima_a{k=\"nan\"} NaN\n"
				     "decima_a{k=\"tenth\"} 0.1\n"
				     "decima_a{k=\"third\"} 0.33333333333333331\n"));
	free(text);
	stats__free(s);
}

static void test_text_reads_back(void **state)
{
	struct stats *s = new_stats(NULL);
	struct stats_def def = { .kind = STATS_HISTOGRAM,
				 .name = "decima_write_seconds",
				 .help = "H",
				 .buckets = &stats__seconds };
	struct stats_metric *h = stats__register(s, &def, STATS_LABELS({ "op", "put\"\n" }));
	struct samples got = { 0 };
	double last = 0, count = -1, inf = -2;
	char *text;

	(void)state;
	assert_int_equal(stats__add_process(s), 0);
	for (uint64_t v = 1; v < UINT64_C(1) << 40; v *= 3)
		stats__histogram_observe(h, v);
	stats__drop(s, "ebpf", "ring_full", 3);
	text = text_of(s);
	parse_text(text, &got);
	for (size_t i = 0; i < got.n; i++) {
		struct sample *p = &got.v[i];

		if (strcmp(p->name, "decima_write_seconds_bucket") == 0) {
			assert_non_null(strstr(p->labels, "op='put\"\n'"));
			assert_true(p->value >= last);
			last = p->value;
			if (strstr(p->labels, "le='+Inf'"))
				inf = p->value;
		} else if (strcmp(p->name, "decima_write_seconds_count") == 0) {
			count = p->value;
		} else if (strcmp(p->name, "process_open_fds") == 0) {
			assert_in_range((int)p->value, 1, 100000);
		} else if (strcmp(p->name, "process_resident_memory_bytes") == 0) {
			assert_true(p->value > 100000);
		} else if (strcmp(p->name, "process_start_time_seconds") == 0) {
			assert_true(fabs(p->value - (double)time(NULL)) < 3600);
		} else if (strcmp(p->name, "process_threads") == 0) {
			assert_true(p->value >= 1);
		}
	}
	assert_true(count == 26 && inf == 26 && last == 26);
	vec__fini(&got);
	free(text);
	stats__free(s);
}

/* ---- losses ---------------------------------------------------------------------------------- */

static double lost(struct stats *s, const char *instance, const char *reason)
{
	return stats__value(s, "decima_dropped_total",
			    STATS_LABELS({ "instance", instance }, { "reason", reason }));
}

static void sum_drops(void *ctx, const struct stats_view *view)
{
	if (strcmp(view->name, "decima_dropped_total") == 0)
		*(uint64_t *)ctx += view->count;
}

static void test_drops_are_bounded(void **state)
{
	struct stats *s = new_stats(&(struct stats_limits){ .max_drops = 20 });
	uint64_t sum = 0, want = 0;
	char reason[200];

	(void)state;
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 100; i++) {
			snprintf(reason, sizeof(reason), "r%u", i);
			stats__drop(s, "in", reason, i);
			want += i;
		}
	}
	assert_true(lost(s, "in", "r7") == 21);
	assert_true(lost(s, "in", "r99") == 0);
	assert_true(lost(s, "other", "other") > 0);
	memset(reason, 'x', sizeof(reason));
	reason[sizeof(reason) - 1] = '\0';
	stats__drop(s, reason, reason, 5);
	stats__each(s, sum_drops, &sum);
	assert_int_equal(sum, want + 5);
	stats__free(s);
}

struct heard {
	unsigned lines;
	uint64_t n, total;
};

static void hear(void *ctx, const struct stats_loss *loss)
{
	struct heard *heard = ctx;

	heard->lines++;
	heard->n += loss->n;
	heard->total = loss->total;
}

/* One loss a second for 95 s: ten reports, nothing unheard in the end. */
static void test_losses_are_reported_rarely(void **state)
{
	struct stats *s = new_stats(NULL);
	struct heard heard = { 0 };
	const int64_t second = 1000000000;

	(void)state;
	stats__drop(s, "ebpf", "ring_full", 0);
	stats__report_losses(s, 0, true, hear, &heard);
	assert_int_equal(heard.lines, 0);
	for (int i = 0; i < 95; i++) {
		stats__drop(s, "ebpf", "ring_full", 2);
		stats__report_losses(s, i * second, false, hear, &heard);
		if (i == 0)
			assert_int_equal(heard.lines, 1); /* the first one is heard at once */
	}
	assert_int_equal(heard.lines, 10);
	stats__report_losses(s, 95 * second, true, hear, &heard);
	assert_int_equal(heard.lines, 11);
	assert_int_equal(heard.n, 190);
	assert_int_equal(heard.total, 190);
	stats__report_losses(s, 96 * second, true, hear, &heard);
	assert_int_equal(heard.lines, 11);
	stats__free(s);
}

static void count_wake(void *ctx)
{
	++*(unsigned *)ctx;
}

/* Whoever reports may sleep: the first loss wakes it, and what it held back has its time. */
static void test_losses_wake_once(void **state)
{
	struct stats *s = new_stats(NULL);
	struct heard heard = { 0 };
	const int64_t second = 1000000000;
	unsigned n_wakes = 0;

	(void)state;
	stats__on_loss(s, count_wake, &n_wakes);
	assert_true(stats__report_losses(s, 0, false, hear, &heard) == INT64_MAX);
	stats__drop(s, "ebpf", "ring_full", 0);
	assert_int_equal(n_wakes, 0);
	for (int i = 0; i < 100; i++)
		stats__drop(s, "ebpf", "ring_full", 1);
	assert_int_equal(n_wakes, 1);
	assert_true(stats__report_losses(s, 3 * second, false, hear, &heard) == INT64_MAX);
	assert_int_equal(heard.n, 100);
	/* Too soon for another report, but not for another pair. */
	stats__drop(s, "ebpf", "ring_full", 1);
	assert_int_equal(n_wakes, 2);
	assert_true(stats__report_losses(s, 4 * second, false, hear, &heard) == 13 * second);
	for (int i = 0; i < 100; i++)
		stats__drop(s, "ebpf", "ring_full", 1);
	assert_int_equal(n_wakes, 2);
	stats__drop(s, "ebpf", "other", 1);
	assert_int_equal(n_wakes, 3);
	assert_true(stats__report_losses(s, 5 * second, false, hear, &heard) == 13 * second);
	assert_int_equal(heard.lines, 2);
	assert_true(stats__report_losses(s, 13 * second, false, hear, &heard) == INT64_MAX);
	assert_int_equal(heard.n, 202);
	stats__drop(s, "ebpf", "other", 1);
	assert_int_equal(n_wakes, 4);
	stats__free(s);
}

static void test_losses_in_the_log(void **state)
{
	struct stats *s = new_stats(NULL);
	struct log log = { .format = LOG_KERNEL, .level = DCM_LOG_INFO };
	char line[256] = "";
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	log.fd = fds[1];
	stats__drop(s, "file", "queue_full", 12);
	stats__log_losses(s, 1, false, &log);
	assert_true(read(fds[0], line, sizeof(line) - 1) > 0);
	assert_string_equal(line, "<4>file: lost 12 (queue_full), 12 since the start\n");
	close(fds[0]);
	close(fds[1]);
	stats__free(s);
}

/* ---- threads --------------------------------------------------------------------------------- */

enum { N_THREADS = 4, N_ROUNDS = 20000, N_REASONS = 40 };

static void *work(void *arg)
{
	struct stats *s = arg;
	struct stats_metric *c = NULL, *g, *h;
	struct stats_def def = {
		.kind = STATS_HISTOGRAM, .name = "decima_t_seconds", .help = "", .buckets = &stats__seconds
	};
	char reason[32];

	c = stats__counter(s, "decima_t_total", "", STATS_NO_LABELS);
	g = stats__gauge(s, "decima_t", "", STATS_NO_LABELS);
	h = stats__register(s, &def, STATS_NO_LABELS);
	for (unsigned i = 0; i < N_ROUNDS; i++) {
		stats__counter_add(c, 1);
		stats__gauge_add(g, 0.5);
		stats__histogram_observe(h, i * 1000);
		snprintf(reason, sizeof(reason), "r%u", i % N_REASONS);
		stats__drop(s, "t", reason, 1);
	}
	return NULL;
}

static void ignore(void *ctx, const struct stats_loss *loss)
{
	*(uint64_t *)ctx += loss->n;
}

static void test_threads(void **state)
{
	struct stats *s = new_stats(NULL);
	pthread_t threads[N_THREADS];
	uint64_t sum = 0, reported = 0;
	char *text;

	(void)state;
	for (int i = 0; i < N_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, s), 0);
	for (int i = 0; i < 50; i++) {
		text = text_of(s);
		free(text);
		stats__report_losses(s, i, true, ignore, &reported);
	}
	for (int i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	stats__report_losses(s, 0, true, ignore, &reported);
	stats__each(s, sum_drops, &sum);
	assert_int_equal(sum, N_THREADS * N_ROUNDS);
	assert_int_equal(reported, sum);
	assert_true(stats__value(s, "decima_t_total", STATS_NO_LABELS) == N_THREADS * N_ROUNDS);
	assert_true(stats__value(s, "decima_t", STATS_NO_LABELS) == N_THREADS * N_ROUNDS / 2.0);
	assert_true(lost(s, "t", "r3") == N_THREADS * N_ROUNDS / N_REASONS);
	stats__free(s);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void test_no_memory(void **state)
{
	struct stats *s;

	(void)state;
	FAILMALLOC_SWEEP (i) {
		int rc = stats__new(NULL, &s);

		if (!failmalloc__disarm())
			assert_int_equal(rc, 0);
		else
			assert_int_equal(rc, -ENOMEM);
		if (rc == 0)
			stats__free(s);
	}
	s = new_stats(NULL);
	FAILMALLOC_SWEEP (i) {
		struct stats_metric *m = stats__counter(s, "decima_m_total", "M.",
							STATS_LABELS({ "a", "b" }));

		assert_int_equal(m == NULL, failmalloc__disarm());
		stats__unregister(s, m);
	}
	assert_true(count_refused(s, "memory") > 3);
	FAILMALLOC_SWEEP (i) {
		stats__drop(s, "no", "memory", 1); /* counted, here or under "other" */
		failmalloc__disarm();
	}
	assert_true(lost(s, "no", "memory") == 1);
	assert_true(lost(s, "other", "other") > 2);
	stats__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handles),
		cmocka_unit_test(test_wrong_kind_does_nothing),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_owners_and_functions),
		cmocka_unit_test(test_histogram),
		cmocka_unit_test(test_text_escapes),
		cmocka_unit_test(test_text_reads_back),
		cmocka_unit_test(test_drops_are_bounded),
		cmocka_unit_test(test_losses_are_reported_rarely),
		cmocka_unit_test(test_losses_wake_once),
		cmocka_unit_test(test_losses_in_the_log),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
