/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/conform/conformance.c - does a storage plugin answer as `memory` does?
 *
 *	conformance [OPTION..] [PLUGIN.so]
 *
 * Drives any storage plugin through nothing but <decima/plugin.h>, with random batches, questions,
 * removals and restarts, beside the reference, and prints a line for each case. A failure ends with
 * the shortest list of steps found that still fails; --seed repeats it. Without a plugin the
 * reference is held against itself.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/storage/conform/conform.h"
#include "tests/storage/conform/steps.h"
#include "tests/unit/paths.h"

#define MEMORY_FILE TEST_BUILDDIR "/plugins/.libs/storage_memory.so"

struct options {
	struct trial_options trial;
	const char *only;
	uint64_t seed;
	uint32_t n_plans, n_steps, n_shrinks, n_kills;
};

static const char help[] =
	"conformance [OPTION..] [PLUGIN.so]\n"
	"  --options YAML     of the plugin; {DIR} becomes a directory of its own\n"
	"  --from-backup YAML opens what its backup wrote as {DIR} (default: --options)\n"
	"  --counts-late      its stat() counts what was replaced or removed for a while\n"
	"  --keeps            what it acknowledged is there after a stop and after SIGKILL\n"
	"  --bound N          series that its options allow (default: it is not looked at)\n"
	"  --reference SO     the plugin that is right (default: memory of this build)\n"
	"  --only CASE        answers, bound, moments, recorded, refusals or kills\n"
	"  --seed N           the first plan's seed (default 1)\n"
	"  --plans N          how many of them (default 30, or CONFORMANCE_PLANS)\n"
	"  --steps N          of each (default 60)\n"
	"  --kills N          (default 25)\n"
	"  --patience SEC     for a write to be acknowledged (default 60)\n"
	"  --shrinks N        walks to make a failing plan small (default 300)\n";

static const struct option option_names[] = {
	{ "options", 1, NULL, 'o' },	 { "from-backup", 1, NULL, 'b' },
	{ "keeps", 0, NULL, 'k' },	 { "bound", 1, NULL, 'x' },
	{ "reference", 1, NULL, 'r' },	 { "only", 1, NULL, 'c' },
	{ "seed", 1, NULL, 's' },	 { "plans", 1, NULL, 'p' },
	{ "steps", 1, NULL, 'n' },	 { "kills", 1, NULL, 'i' },
	{ "shrinks", 1, NULL, 'h' },	 { "patience", 1, NULL, 'w' },
	{ "counts-late", 0, NULL, 'l' }, { 0 },
};

static bool parse(struct options *o, int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "", option_names, NULL)) != -1) {
		uint64_t number = optarg ? strtoull(optarg, NULL, 10) : 0;

		switch (c) {
		case 'o':
			o->trial.yaml = optarg;
			break;
		case 'b':
			o->trial.copy_yaml = optarg;
			break;
		case 'k':
			o->trial.keeps = true;
			break;
		case 'l':
			o->trial.counts_late = true;
			break;
		case 'x':
			o->trial.max_series = (uint32_t)number;
			break;
		case 'r':
			o->trial.reference = optarg;
			break;
		case 'c':
			o->only = optarg;
			break;
		case 's':
			o->seed = number;
			break;
		case 'p':
			o->n_plans = (uint32_t)number;
			break;
		case 'n':
			o->n_steps = (uint32_t)number;
			break;
		case 'i':
			o->n_kills = (uint32_t)number;
			break;
		case 'w':
			o->trial.patience_ns = (int64_t)number * 1000000000;
			break;
		case 'h':
			o->n_shrinks = (uint32_t)number;
			break;
		default:
			return false;
		}
	}
	if (argc - optind > 1)
		return false;
	o->trial.plugin = optind < argc ? argv[optind] : o->trial.reference;
	if (!o->trial.copy_yaml)
		o->trial.copy_yaml = o->trial.yaml;
	return true;
}

static bool wanted(const struct options *o, const char *name)
{
	return !o->only || strcmp(o->only, name) == 0;
}

/* One line to be counted: the report's lines in one. */
static int say(const char *name, bool good, struct buf *why)
{
	for (size_t i = 0; i < why->n; i++)
		if (why->data[i] == '\n')
			why->data[i] = '|';
	if (good)
		printf("ok %s\n", name);
	else
		printf("not ok %s: %.*s\n", name, (int)why->n, (const char *)why->data);
	fflush(stdout);
	buf__fini(why);
	return !good;
}

static void report_plan(struct plan *p, const struct options *o, struct walked *failure)
{
	plan__shrink(p, &o->trial, o->n_shrinks, failure);
	printf("--seed %" PRIu64 " --plans 1 fails; these steps of it do:\n", p->seed);
	for (uint32_t i = 0; i <= failure->n && i < p->n; i++)
		printf("  %u %s\n", p->steps[i].index, steps__name(&p->steps[i]));
}

static int run_answers(const struct options *o)
{
	struct plan *p = calloc(1, sizeof(*p));
	uint64_t n_asked = 0, n_empty = 0;
	struct walked w = { 0 };

	if (!p)
		abort();
	for (uint32_t i = 0; w.why.n == 0 && i < o->n_plans; i++) {
		plan__draw(p, o->seed + i, o->n_steps);
		w = plan__walk(p, &o->trial);
		n_asked += w.n_asked;
		n_empty += w.n_empty;
	}
	if (w.why.n)
		report_plan(p, o, &w);
	else
		printf("%" PRIu64 " questions, of which %" PRIu64 " were answered with nothing\n",
		       n_asked, n_empty);
	free(p);
	/* A comparison of nothing with nothing proves nothing. */
	if (w.why.n == 0 && n_empty * 4 > n_asked * 3)
		buf__text(&w.why, "too many of the answers are empty");
	bool good = w.why.n == 0;
	return say("answers", good, &w.why);
}

int main(int argc, char **argv)
{
	const char *plans = getenv("CONFORMANCE_PLANS");
	struct options o = {
		.trial = { .yaml = "{ max_bytes: 1GiB, retention: 0 }",
			   .reference = MEMORY_FILE,
			   .reference_yaml = "{ max_bytes: 1GiB, retention: 0 }",
			   .patience_ns = (int64_t)60 * 1000000000 },
		.seed = 1,
		.n_plans = plans ? (uint32_t)strtoul(plans, NULL, 10) : 30,
		.n_steps = 60,
		.n_kills = 25,
		.n_shrinks = 300,
	};
	struct buf why = { 0 };
	int failed = 0;

	if (!parse(&o, argc, argv)) {
		fputs(help, stderr);
		return 2;
	}
	if (wanted(&o, "refusals")) {
		bool good = conform__refusals(&o.trial, &why);
		failed += say("refusals", good, &why);
	}
	if (wanted(&o, "answers"))
		failed += run_answers(&o);
	if (wanted(&o, "moments")) {
		bool good = true;
		for (uint64_t i = 0; good && i < 4; i++)
			good = conform__moments(&o.trial, o.seed + i, &why);
		failed += say("moments", good, &why);
	}
	if (wanted(&o, "recorded")) {
		bool good = conform__recorded(&o.trial, &why);
		failed += say("recorded", good, &why);
	}
	if (wanted(&o, "bound") && o.trial.max_series) {
		bool good = true;
		for (uint64_t i = 0; good && i < 4; i++)
			good = conform__bound(&o.trial, o.seed + i, &why);
		failed += say("bound", good, &why);
	}
	if (wanted(&o, "kills") && o.trial.keeps) {
		bool good = conform__kills(&o.trial, o.seed, o.n_kills, &why);
		failed += say("kills", good, &why);
	}
	return failed ? 1 : 0;
}
