/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/bench_labels.c - what a label matcher costs over a million series
 *
 * One JSON line a figure: the best of several turns on one core, held against looking at each
 * series in the same run. Series have twelve labels, as an agent on a cluster gives them: 10,000
 * nodes, 300,000 pods and as many control groups, some thousand programs, and so on down to three
 * kinds. The last line is the slowest matcher.
 *
 *	bench_labels [TURNS [SERIES]]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/figure.h"
#include "core/base/str.h"
#include "core/config/regex.h"
#include "plugins/storage/answer/sieve.h"
#include "tests/contract/storage_host.h"
#include "tests/unit/random.h"

enum { N_LABELS = 12, WALK_TURNS = 2 };

/* Of a million series; with fewer there are fewer. */
static const struct {
	const char *name, *value; /* printf: its number */
	uint32_t n;
} labels[N_LABELS] = {
	{ "app", "app-%" PRIu32, 500 },
	{ "build_id", "%08" PRIx32 "c0ffee00", 6000 },
	{ "cgroup", "/kubepods/burstable/pod%08" PRIx32, 300000 },
	{ "comm", "comm-%" PRIu32, 2000 },
	{ "container", "container-%" PRIu32, 2500 },
	{ "exe", "/usr/bin/exe-%" PRIu32, 2500 },
	{ "kind", "kind-%" PRIu32, 3 },
	{ "namespace", "namespace-%" PRIu32, 200 },
	{ "node", "node-%" PRIu32, 10000 },
	{ "pod", "api-%06" PRIx32 "-x7k2p", 300000 },
	{ "region", "region-%" PRIu32, 5 },
	{ "version", "v1.%" PRIu32, 50 },
};

static const struct asked {
	const char *figure;
	uint32_t op;
	const char *name, *value;
} questions[] = {
	{ "labels_eq", DCM_EQ, "node", "node-77" },
	{ "labels_eq_third", DCM_EQ, "kind", "kind-1" },
	{ "labels_eq_none", DCM_EQ, "pod", "no such pod" },
	{ "labels_ne", DCM_NE, "node", "node-77" },
	{ "labels_ne_third", DCM_NE, "kind", "kind-1" },
	{ "labels_re_alternatives", DCM_RE, "comm", "comm-1|comm-2|comm-3" },
	{ "labels_re_third", DCM_RE, "comm", "comm-1.*" },
	{ "labels_re_prefix", DCM_RE, "pod", "api-0[0-7].*" },
	{ "labels_re_suffix", DCM_RE, "pod", ".*ab-x7k2p" },
	{ "labels_re_middle", DCM_RE, "pod", ".*00ab.*" },
	{ "labels_re_classes", DCM_RE, "cgroup", "/kubepods/(burstable|besteffort)/pod[0-9a-f]*[13579bdf]" },
	{ "labels_re_all", DCM_RE, "pod", ".+" },
	{ "labels_nre", DCM_NRE, "pod", "api-0[0-7].*" },
	{ "labels_nre_classes", DCM_NRE, "cgroup",
	  "/kubepods/(burstable|besteffort)/pod[0-9a-f]*[13579bdf]" },
};

static struct dict *make_dict(uint32_t n_series)
{
	struct dict *d = dict__new();
	struct random r = { 7 };
	char text[64];

	need(d, "out of memory");
	while (d->series.n < n_series) {
		struct dcm_pair pairs[N_LABELS];

		for (uint32_t k = 0; k < N_LABELS; k++) {
			const uint64_t share = (uint64_t)labels[k].n * n_series / 1000000;
			const uint32_t most = share > 2 ? (uint32_t)share : 2;

			/* The format stands in the table above. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
			snprintf(text, sizeof(text), labels[k].value, (uint32_t)random__below(&r, most));
#pragma GCC diagnostic pop
			pairs[k] = (struct dcm_pair){ dict__string(d, str__of(labels[k].name)),
						      dict__string(d, str__of(text)) };
		}
		need(dict__series(d, pairs, N_LABELS) != DCM_NONE, "out of memory");
	}
	return d;
}

static uint32_t walk(const struct dict *d, const struct dcm_host *host, const struct dcm_select *sel)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->series.n; i++)
		n += sieve__judge(d, i, host, sel);
	return n;
}

/* Milliseconds. */
static double bench(struct dict *d, const struct dcm_host *host, const struct asked *q, int turns)
{
	struct dcm_regex *regex = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	double best = 0, walked = 0;
	uint32_t n = 0, n_walked = 0;

	if (q->op == DCM_RE || q->op == DCM_NRE)
		need(regex__new(str__of(q->value), 0, &regex, &err) == 0, err.text);
	const struct dcm_matcher m = {
		.op = q->op, .name = str__of(q->name), .value = str__of(q->value), .regex = regex
	};
	const struct dcm_select sel = {
		.size = sizeof(sel), .matchers = &m, .n_matchers = 1, .to_ms = INT64_MAX
	};
	for (int i = 0; i < turns; i++) {
		const double start = thread_seconds();
		struct sieve s;

		need(sieve__init(&s, d, d->series.n, host, &sel) == 0, "out of memory");
		at_most(&best, thread_seconds() - start);
		n = 0;
		for (uint32_t k = sieve__next(&s, 0); k < s.n; k = sieve__next(&s, k + 1))
			n++;
		sieve__fini(&s);
	}
	for (int i = 0; i < WALK_TURNS; i++) {
		const double start = thread_seconds();

		n_walked = walk(d, host, &sel);
		at_most(&walked, thread_seconds() - start);
	}
	need(n == n_walked, "the index and the walk differ");
	figure(q->figure, best * 1e3, "ms", "looking at each series", walked * 1e3);
	regex__free(regex);
	return best * 1e3;
}

int main(int argc, char **argv)
{
	const int turns = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 5;
	const uint32_t n = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1000000;
	struct dict *d = make_dict(n);
	struct storage host;
	double worst = 0;

	storage__host(&host);
	const double start = thread_seconds();
	need(labels__extend(d, n, NULL, NULL) == 0, "out of memory");
	figure_at_most("labels_build", (thread_seconds() - start) * 1e3, "ms", 1000, NULL);
	figure("labels_bytes", (double)labels__bytes(&d->labels) / n, "B a series",
	       "the dictionary", (double)dict__bytes(d) / n);
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		const double ms = bench(d, &host.host, &questions[i], turns);

		worst = ms > worst ? ms : worst;
	}
	figure_at_most("labels_worst", worst, "ms", 50, NULL);
	dict__unref(d);
	return 0;
}
