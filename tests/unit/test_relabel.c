/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_relabel.c - relabelling against a naive oracle, Prometheus' own examples, and no
 * memory
 *
 * The oracle takes a batch apart row by row: labels in a flat list, each rule as its documentation
 * reads, a new batch built by the builder. No cache, no overlay, no sharing. batch__content()
 * compares what comes out.
 */
#include "core/pipeline/outcome.h"
#include "core/pipeline/relabel.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <locale.h>
#include <nettle/md5.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/batch/copy.h"
#include "core/config/regex.h"
#include "core/pipeline/rules.h"
#include "tests/unit/batch_judge.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/hopeless.h"
#include "tests/unit/random.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

/* ---- rules, written shortly ---- */

static struct dcm_relabel_rule rule(enum dcm_relabel_action action, const char *regex, const char *target,
				    const char *replacement, const char **sources, uint32_t n)
{
	return (struct dcm_relabel_rule){
		.action = (int32_t)action,
		.regex = regex,
		.target_label = target,
		.replacement = replacement,
		.separator = ";",
		.modulus = 7,
		.source_labels = { .items = sources, .n = n },
	};
}

/* ---- the oracle ---- */

enum { FLAT_MAX = 64, TEXT_SIZE = 4096 };

struct flat {
	struct flat_label {
		char name[TEXT_SIZE], value[TEXT_SIZE];
		bool is_added;
	} v[FLAT_MAX];
	unsigned n;
};

static void copy(char *to, const char *from)
{
	snprintf(to, TEXT_SIZE, "%s", from);
}

static int flat_find(const struct flat *f, const char *name)
{
	for (unsigned i = 0; i < f->n; i++)
		if (strcmp(f->v[i].name, name) == 0)
			return (int)i;
	return -1;
}

static const char *flat_get(const struct flat *f, const char *name)
{
	int i = flat_find(f, name);

	return i < 0 ? "" : f->v[i].value;
}

static void flat_del(struct flat *f, const char *name)
{
	int i = flat_find(f, name);

	if (i < 0)
		return;
	for (f->n--; (unsigned)i < f->n; i++)
		f->v[i] = f->v[i + 1];
}

static void flat_set(struct flat *f, const char *name, const char *value)
{
	int i = flat_find(f, name);

	if (!*value) {
		flat_del(f, name);
		return;
	}
	if (i < 0 || !f->v[i].is_added) {
		flat_del(f, name);
		assert_true(f->n < FLAT_MAX);
		i = (int)f->n++;
	}
	copy(f->v[i].name, name);
	copy(f->v[i].value, value);
	f->v[i].is_added = true;
}

static int by_name(const void *a, const void *b)
{
	return str__cmp(str__of(((const struct flat_label *)a)->name),
			str__of(((const struct flat_label *)b)->name));
}

/* What a template becomes; false when the regex does not match. */
static bool fill_in(const char *regex, const char *text, const char *template, char out[TEXT_SIZE])
{
	struct dcm_regex *re = NULL;
	struct buf b = { 0 };
	int r;

	assert_int_equal(regex__new(str__of(regex), 0, &re, NULL), 0);
	r = regex__replace(re, str__of(text), str__of(template), &b);
	snprintf(out, TEXT_SIZE, "%.*s", STR_ARG(buf__view(&b)));
	buf__fini(&b);
	regex__free(re);
	return r == 1;
}

static bool oracle_names(struct flat *f, const struct dcm_relabel_rule *r)
{
	static struct flat before;
	char made[TEXT_SIZE];

	before = *f;
	for (unsigned i = 0; i < before.n; i++) {
		const struct flat_label *l = &before.v[i];
		bool match = fill_in(r->regex, l->name, r->replacement ? r->replacement : "", made);

		if (r->action == DCM_RELABEL_LABELMAP && match && *made)
			flat_set(f, made, l->value);
		if ((r->action == DCM_RELABEL_LABELDROP && match) ||
		    (r->action == DCM_RELABEL_LABELKEEP && !match))
			flat_del(f, l->name);
	}
	return true;
}

/* The C library's own way through multibyte text. */
static void oracle_case(const char *text, bool lower, char made[TEXT_SIZE])
{
	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0), old = uselocale(utf8);
	const char *end = text + strlen(text);
	size_t at = 0;

	while (text < end && at + MB_LEN_MAX < TEXT_SIZE) {
		mbstate_t in = { 0 }, out = { 0 };
		wchar_t c;
		size_t n = mbrtowc(&c, text, (size_t)(end - text), &in);

		if (n > (size_t)(end - text)) {
			made[at++] = *text++;
			continue;
		}
		wint_t turned = lower ? towlower((wint_t)c) : towupper((wint_t)c);
		at += wcrtomb(made + at, (wchar_t)turned, &out);
		text += n;
	}
	made[at] = '\0';
	uselocale(old);
	freelocale(utf8);
}

static void oracle_write(struct flat *f, const struct dcm_relabel_rule *r, char *value)
{
	char target[TEXT_SIZE], made[TEXT_SIZE];
	uint8_t digest[MD5_DIGEST_SIZE];
	struct md5_ctx md5;
	uint64_t n = 0;

	switch (r->action) {
	case DCM_RELABEL_REPLACE:
		if (fill_in(r->regex, value, r->target_label, target) && *target &&
		    fill_in(r->regex, value, r->replacement, made))
			flat_set(f, target, made);
		return;
	case DCM_RELABEL_HASHMOD:
		md5_init(&md5);
		md5_update(&md5, strlen(value), (const uint8_t *)value);
		md5_digest(&md5, sizeof(digest), digest);
		for (unsigned i = 8; i < 16; i++)
			n = n << 8 | digest[i];
		snprintf(made, sizeof(made), "%" PRIu64, n % (uint64_t)r->modulus);
		flat_set(f, r->target_label, made);
		return;
	default:
		oracle_case(value, r->action == DCM_RELABEL_LOWERCASE, made);
		flat_set(f, r->target_label, made);
	}
}

/* False: dropped. */
static bool oracle_rule(struct flat *f, const struct dcm_relabel_rule *r)
{
	const char *const *sources = r->source_labels.items;
	char value[TEXT_SIZE] = "", made[TEXT_SIZE];
	size_t n = 0;

	for (uint32_t i = 0; i < r->source_labels.n; i++)
		n += (size_t)snprintf(value + n, sizeof(value) - n, "%s%s", i ? r->separator : "",
				      flat_get(f, sources[i]));
	switch (r->action) {
	case DCM_RELABEL_KEEP:
		return fill_in(r->regex, value, "", made);
	case DCM_RELABEL_DROP:
		return !fill_in(r->regex, value, "", made);
	case DCM_RELABEL_KEEPEQUAL:
		return strcmp(flat_get(f, r->target_label), value) == 0;
	case DCM_RELABEL_DROPEQUAL:
		return strcmp(flat_get(f, r->target_label), value) != 0;
	case DCM_RELABEL_LABELMAP:
	case DCM_RELABEL_LABELDROP:
	case DCM_RELABEL_LABELKEEP:
		return oracle_names(f, r);
	default:
		oracle_write(f, r, value);
		return true;
	}
}

static void label_text(const struct dcm_batch *b, const struct dcm_label *l, char out[TEXT_SIZE])
{
	if (l->unit == DCM_NONE)
		snprintf(out, TEXT_SIZE, "%.*s", STR_ARG(batch__str(b, l->str)));
	else
		snprintf(out, TEXT_SIZE, "%" PRId64, l->num);
}

/* A row's labels after the rules; false: it is dropped. */
static bool oracle_row(const struct dcm_batch *b, uint32_t series, uint32_t set,
		       const struct relabel_config *config, struct flat *f)
{
	struct dcm_span s = b->series[series], l = b->label_sets[set];

	f->n = 0;
	for (uint32_t i = 0; i < s.n; i++, f->n++) {
		const struct dcm_pair *p = &b->pairs[s.off + i];

		snprintf(f->v[f->n].name, TEXT_SIZE, "%.*s", STR_ARG(batch__str(b, p->name)));
		snprintf(f->v[f->n].value, TEXT_SIZE, "%.*s", STR_ARG(batch__str(b, p->value)));
		f->v[f->n].is_added = false;
	}
	for (uint32_t i = 0; i < config->n_externals; i++)
		if (!*flat_get(f, config->externals[i].name.p) && config->externals[i].value.n > 0) {
			flat_set(f, config->externals[i].name.p, config->externals[i].value.p);
			f->v[f->n - 1].is_added = false;
		}
	for (uint32_t i = 0; i < l.n; i++, f->n++) {
		const struct dcm_label *label = &b->labels[l.off + i];

		snprintf(f->v[f->n].name, TEXT_SIZE, "__sample_%.*s",
			 STR_ARG(batch__str(b, label->name)));
		label_text(b, label, f->v[f->n].value);
		f->v[f->n].is_added = false;
	}
	qsort(f->v, f->n, sizeof(f->v[0]), by_name);
	for (uint32_t i = 0; i < config->n_rules; i++)
		if (!oracle_rule(f, &config->rules[i]))
			return false;
	return true;
}

static uint32_t flat_series(const struct flat *f, struct dcm_builder *to)
{
	struct dcm_pair pairs[FLAT_MAX];
	uint32_t n = 0;

	for (unsigned i = 0; i < f->n; i++)
		if (strncmp(f->v[i].name, "__", 2) != 0)
			pairs[n++] = (struct dcm_pair){ builder__string(to, str__of(f->v[i].name)),
							builder__string(to, str__of(f->v[i].value)) };
	return builder__series(to, pairs, n);
}

/* The sample labels that are left; those that say what they said keep their kind. */
static uint32_t flat_set_of(const struct flat *f, const struct dcm_batch *b, uint32_t set,
			    struct dcm_builder *to)
{
	struct dcm_label labels[FLAT_MAX];
	struct dcm_span l = b->label_sets[set];
	uint32_t n = 0;

	for (unsigned i = 0; i < f->n; i++) {
		const char *name = f->v[i].name + 9;
		struct dcm_label new = { .unit = DCM_NONE };

		if (strncmp(f->v[i].name, "__sample_", 9) != 0 || !*name)
			continue;
		new.name = builder__string(to, str__of(name));
		new.str = builder__string(to, str__of(f->v[i].value));
		for (uint32_t k = 0; k < l.n; k++) {
			const struct dcm_label *old = &b->labels[l.off + k];
			char text[TEXT_SIZE];

			label_text(b, old, text);
			if (!str__eq(batch__str(b, old->name), str__of(name)) ||
			    strcmp(text, f->v[i].value) != 0 || old->unit == DCM_NONE)
				continue;
			new.str = 0;
			new.num = old->num;
			new.unit = builder__string(to, batch__str(b, old->unit));
		}
		labels[n++] = new;
	}
	return builder__label_set(to, labels, n);
}

/* All rows of one profile that come to the series that row `first` comes to. */
static void oracle_part(const struct dcm_batch *b, const struct dcm_profile *p, const uint32_t *series,
			const uint32_t *sets, uint32_t first, struct copier *c, struct dcm_builder *to)
{
	struct dcm_type types[16];
	struct dcm_profile head = *p;

	for (uint32_t i = 0; i < p->n_types; i++) {
		const struct dcm_type *t = &b->types[p->type_off + i];

		types[i] = (struct dcm_type){
			copier__string(c, t->name),	   copier__string(c, t->sample_type),
			copier__string(c, t->sample_unit), copier__string(c, t->period_type),
			copier__string(c, t->period_unit), t->temporality
		};
	}
	head.series = series[first];
	builder__profile(to, &head, types, p->n_types);
	for (uint32_t i = first; i < p->n_rows; i++)
		if (series[i] == series[first])
			builder__row(to, copier__stack(c, b->row_stacks[p->row_off + i]), sets[i],
				     b->values + p->value_off + (uint64_t)i * p->n_types);
}

static void oracle_profile(const struct dcm_batch *b, const struct dcm_profile *p,
			   const struct relabel_config *config, struct copier *c, struct dcm_builder *to)
{
	static struct flat f;
	uint32_t *series = calloc(p->n_rows + 1, sizeof(*series)),
		 *sets = calloc(p->n_rows + 1, sizeof(*sets));

	assert_non_null(series);
	assert_non_null(sets);
	for (uint32_t i = 0; i < p->n_rows || i == 0; i++) {
		uint32_t set = p->n_rows ? b->row_labels[p->row_off + i] : 0;

		series[i] = DCM_NONE;
		if (oracle_row(b, p->series, set, config, &f)) {
			series[i] = flat_series(&f, to);
			sets[i] = flat_set_of(&f, b, set, to);
		}
	}
	for (uint32_t i = 0; i < p->n_rows || i == 0; i++) {
		bool is_new = series[i] != DCM_NONE;

		for (uint32_t k = 0; k < i; k++)
			is_new &= series[k] != series[i];
		if (is_new)
			oracle_part(b, p, series, sets, i, c, to);
	}
	free(series);
	free(sets);
}

/* NULL when nothing is left. */
static struct dcm_batch *oracle(const struct dcm_batch *b, const struct relabel_config *config)
{
	struct dcm_builder *to = builder__new(0);
	struct copier *c = copier__new(b, to);
	struct dcm_batch *out = NULL;

	for (uint32_t i = 0; i < b->n_profiles; i++)
		oracle_profile(b, &b->profiles[i], config, c, to);
	assert_int_equal(builder__seal(to, &out, NULL), 0);
	copier__free(c);
	builder__free(to);
	if (out->n_profiles == 0) {
		batch__unref(out);
		return NULL;
	}
	return out;
}

/* ---- comparing ---- */

static void check(struct relabel *r, struct dcm_batch *b, const struct relabel_config *config,
		  uint64_t seed)
{
	struct dcm_batch *want = oracle(b, config), *have = NULL;
	struct dcm_hash x, y;

	assert_int_equal(relabel__apply(r, b, &have, NULL, NULL), 0);
	if (!want != !have)
		print_error("seed %" PRIu64 ": %s\n", seed,
			    want ? "everything was dropped" : "something was left");
	assert_true(!want == !have);
	if (want) {
		const char *fault = batch_judge__fault(have, true);

		if (fault)
			print_error("seed %" PRIu64 ": %s\n", seed, fault);
		assert_null(fault);
		x = batch__content(want);
		y = batch__content(have);
		if (x.lo != y.lo || x.hi != y.hi)
			print_error("seed %" PRIu64 ": other content\n", seed);
		assert_true(x.lo == y.lo && x.hi == y.hi);
	}
	batch__unref(want);
	batch__unref(have);
}

static const char *const names[] = { "service_name", "node", "comm",	     "env",
				     "new",	     "a.b",  "__sample_cpu", "__sample_thread_name",
				     "__sample_new", "__tmp" };
static const char *const regexes[] = { "(.*)", "api|db",   "n(1|2)",	"(a|d)(.*)", "",
				       ".+",   "no match", "(.*);(.*)", "[0-9]+" };
static const char *const name_regexes[] = { "comm|node",    "__sample_(.+)",
					    "service_(.*)", "(.).*",
					    "__.*",	    "service_name|node|comm|__sample_cpu" };
static const char *const replacements[] = { "$1", "", "x-$1", "${2}", "fixed", "$1$2" };
static const char *const targets[] = { "new",	       "env",  "service_name", "__sample_new",
				       "__sample_cpu", "t_$1", "__tmp" };

#define PICK(random, array) (array)[random__below(random, sizeof(array) / sizeof((array)[0]))]

struct random_rules {
	struct dcm_relabel_rule v[5];
	const char *sources[5][3];
	uint32_t n;
};

static void make_rules(struct random *random, struct random_rules *r)
{
	r->n = (uint32_t)random__below(random, 6);
	for (uint32_t i = 0; i < r->n; i++) {
		enum dcm_relabel_action action = (enum dcm_relabel_action)random__below(random, 11);
		bool by_names = action >= DCM_RELABEL_LABELMAP && action <= DCM_RELABEL_LABELKEEP;
		const char *target = PICK(random, targets);

		for (unsigned k = 0; k < 3; k++)
			r->sources[i][k] = PICK(random, names);
		/* Keep and drop that match nothing or everything would leave little to look at. */
		if ((action == DCM_RELABEL_KEEP || action == DCM_RELABEL_KEEPEQUAL) &&
		    random__below(random, 3))
			action = DCM_RELABEL_REPLACE;
		if (action != DCM_RELABEL_REPLACE && strchr(target, '$'))
			target = "new";
		r->v[i] = rule(action, by_names ? PICK(random, name_regexes) : PICK(random, regexes),
			       target, PICK(random, replacements), r->sources[i],
			       1 + (uint32_t)random__below(random, 3));
	}
}

static void random_rules_equal_the_oracle(void **state)
{
	const struct dcm_label_text externals[] = { { STR("env"), STR("test") },
						    { STR("node"), STR("n9") },
						    { STR("empty"), STR("") },
						    { STR("__internal"), STR("1") } };
	struct random random = { 42 };
	unsigned n_left = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 250; seed++) {
		struct random_rules rules;
		struct relabel_config config = { .rules = rules.v, .externals = externals };
		struct relabel *r = NULL;

		make_rules(&random, &rules);
		config.n_rules = rules.n;
		config.n_externals = (uint32_t)random__below(&random, 5);
		assert_int_equal(relabel__new(&config, &r, NULL), 0);
		/* Several batches through one object: the second time from the cache. */
		for (uint64_t i = 0; i < 3; i++) {
			struct dcm_batch *b = random_batch__new(seed + i / 2, RANDOM_NO_PROCESSES);

			assert_non_null(b);
			check(r, b, &config, seed);
			n_left += b->n_profiles;
			batch__unref(b);
		}
		relabel__free(r);
	}
	assert_true(n_left > 100);
}

/* ---- single cases, each with a known answer ---- */

/*
 * A batch with one profile: series a=1, b=x and rows with (tid number, name text): (1, "w") (2,
 * "w") (2, "m").
 */
static struct dcm_batch *small(void)
{
	struct dcm_builder *b = builder__new(0);
	struct dcm_pair pairs[] = { { builder__string(b, STR("a")), builder__string(b, STR("1")) },
				    { builder__string(b, STR("b")), builder__string(b, STR("x")) } };
	struct dcm_type type = { .name = builder__string(b, STR("cpu")),
				 .sample_type = builder__string(b, STR("ns")) };
	struct dcm_profile head = { .series = builder__series(b, pairs, 2), .time_ns = 1, .duration_ns = 1 };
	static const struct {
		int64_t tid;
		const char *name;
	} in[] = { { 1, "w" }, { 2, "w" }, { 2, "m" } };
	struct dcm_batch *out = NULL;

	builder__profile(b, &head, &type, 1);
	for (int64_t i = 0; i < 3; i++) {
		struct dcm_label l[] = {
			{ .name = builder__string(b, STR("tid")), .num = in[i].tid, .unit = 0 },
			{ .name = builder__string(b, STR("name")),
			  .str = builder__string(b, str__of(in[i].name)),
			  .unit = DCM_NONE },
		};
		int64_t value = 10 + i;

		builder__row(b, builder__stack(b, NULL, 0), builder__label_set(b, l, 2), &value);
	}
	assert_int_equal(builder__seal(b, &out, NULL), 0);
	builder__free(b);
	return out;
}

static struct dcm_batch *apply_one(struct dcm_batch *b, const struct dcm_relabel_rule *rules,
				   uint32_t n, struct relabel_counts *counts)
{
	struct relabel *r = NULL;
	struct dcm_batch *out = NULL;

	assert_int_equal(
		relabel__new(&(struct relabel_config){ .rules = rules, .n_rules = n }, &r, NULL), 0);
	assert_int_equal(relabel__apply(r, b, &out, counts, NULL), 0);
	relabel__free(r);
	return out;
}

static void unchanged_is_the_same_batch(void **state)
{
	struct dcm_batch *b = small(), *out;
	const char *source[] = { "a" };
	struct dcm_relabel_rule keep = rule(DCM_RELABEL_KEEP, "1", NULL, NULL, source, 1);

	(void)state;
	out = apply_one(b, &keep, 1, NULL);
	assert_ptr_equal(out, b);
	batch__unref(out);
	batch__unref(b);
}

static void rows_are_shared_when_only_series_change(void **state)
{
	struct dcm_batch *b = small(), *out;
	struct dcm_relabel_rule r = rule(DCM_RELABEL_LABELDROP, "b", NULL, NULL, NULL, 0);

	(void)state;
	out = apply_one(b, &r, 1, NULL);
	assert_ptr_not_equal(out, b);
	assert_ptr_equal(out->values, b->values);
	assert_ptr_equal(out->row_stacks, b->row_stacks);
	assert_int_equal(out->series[0].n, 1);
	assert_true(out->bytes > b->bytes);
	batch__unref(b);
	batch__unref(out);
}

static void promoting_splits_the_profile(void **state)
{
	const char *source[] = { "__sample_name" };
	struct dcm_relabel_rule r[] = {
		rule(DCM_RELABEL_REPLACE, "(.*)", "thread", "$1", source, 1),
		rule(DCM_RELABEL_LABELDROP, "__sample_name", NULL, NULL, NULL, 0),
	};
	struct dcm_batch *b = small(), *out = apply_one(b, r, 2, NULL);

	(void)state;
	assert_int_equal(out->n_profiles, 2);
	assert_int_equal(out->profiles[0].n_rows, 2);
	assert_int_equal(out->profiles[1].n_rows, 1);
	assert_true(str__eq(batch__series_label(out, out->profiles[0].series, STR("thread")), STR("w")));
	assert_true(str__eq(batch__series_label(out, out->profiles[1].series, STR("thread")), STR("m")));
	assert_int_equal(out->values[out->profiles[1].value_off], 12);
	/* What is left of the sample labels is the number. */
	assert_int_equal(out->label_sets[out->row_labels[out->profiles[1].row_off]].n, 1);
	batch__unref(b);
	batch__unref(out);
}

/* A rule of the Parca agent's reads a sample label by the name that it has there. */
static void the_parca_agents_names_are_read(void **state)
{
	static const struct {
		const char *theirs, *ours;
	} pairs[] = { { "__meta_thread_comm", "__sample_thread_name" },
		      { "__meta_thread_id", "__sample_tid" },
		      { "__meta_cpu", "__sample_cpu" } };

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		const char *source[] = { pairs[i].theirs };
		struct dcm_relabel_rule r = rule(DCM_RELABEL_REPLACE, "(.*)", "x", "$1", source, 1);
		struct rules *compiled = NULL;

		assert_int_equal(rules__new(&r, 1, &compiled, NULL), 0);
		assert_true(rules__may_read_samples(compiled));
		assert_int_equal(rules__use(compiled, str__of(pairs[i].ours)), RULES_READ_VALUE);
		rules__free(compiled);
	}
}

static void dropping_rows_is_filtered_and_counted(void **state)
{
	const char *source[] = { "__sample_tid" };
	struct dcm_relabel_rule r = rule(DCM_RELABEL_DROP, "2", NULL, NULL, source, 1);
	struct relabel_counts counts = { 0 };
	struct dcm_batch *b = small(), *out = apply_one(b, &r, 1, &counts);

	(void)state;
	assert_int_equal(out->n_profiles, 1);
	assert_int_equal(out->profiles[0].n_rows, 1);
	assert_int_equal(counts.n_rows_filtered, 2);
	assert_int_equal(counts.n_profiles_filtered, 0);
	batch__unref(out);
	r = rule(DCM_RELABEL_DROP, "1|2", NULL, NULL, source, 1);
	out = apply_one(b, &r, 1, &counts);
	assert_null(out);
	assert_int_equal(counts.n_profiles_filtered, 1);
	assert_int_equal(counts.n_rows_filtered, 5);
	batch__unref(b);
}

static void too_many_labels_are_lost_not_filtered(void **state)
{
	struct dcm_relabel_rule *r = calloc(300, sizeof(*r));
	char(*targets_of)[16] = calloc(300, sizeof(*targets_of));
	const char *source[] = { "a" };
	struct relabel_counts counts = { 0 };
	struct dcm_batch *b = small(), *out;

	(void)state;
	for (unsigned i = 0; i < 300; i++) {
		snprintf(targets_of[i], sizeof(targets_of[i]), "l%u", i);
		r[i] = rule(DCM_RELABEL_REPLACE, "(.*)", targets_of[i], "$1", source, 1);
	}
	out = apply_one(b, r, 300, &counts);
	assert_null(out);
	assert_int_equal(counts.n_rows_lost, 3);
	assert_int_equal(counts.n_profiles_filtered, 0);
	batch__unref(b);
	free(r);
	free(targets_of);
}

/* A profile of the series a=1 with a row each for n values of the sample label "v". */
static struct dcm_batch *with_values(const char *const *values, uint32_t n)
{
	struct dcm_builder *b = builder__new(0);
	struct dcm_pair pair = { builder__string(b, STR("a")), builder__string(b, STR("1")) };
	struct dcm_type type = { .name = builder__string(b, STR("cpu")),
				 .sample_type = builder__string(b, STR("ns")) };
	struct dcm_profile head = { .series = builder__series(b, &pair, 1) };
	struct dcm_batch *out = NULL;

	builder__profile(b, &head, &type, 1);
	for (uint32_t i = 0; i < n; i++) {
		struct dcm_label l = { .name = builder__string(b, STR("v")), .unit = DCM_NONE };
		int64_t value = 1 + i;

		l.str = builder__string(b, str__of(values[i]));
		builder__row(b, builder__stack(b, NULL, 0), builder__label_set(b, &l, 1), &value);
	}
	assert_int_equal(builder__seal(b, &out, NULL), 0);
	builder__free(b);
	return out;
}

static void what_no_regex_can_tell_is_counted(void **state)
{
	static struct hopeless h;
	const char *source[] = { "__sample_v" };
	struct dcm_relabel_rule r = { 0 };
	struct relabel_counts counts = { 0 };

	(void)state;
	hopeless__init(&h);
	struct dcm_batch *b = with_values((const char *[]){ h.text, "x", "zz" }, 3), *out;
	/* Nobody can say that the first row had to go: it is lost. The others are filtered. */
	r = rule(DCM_RELABEL_KEEP, h.pattern, NULL, NULL, source, 1);
	out = apply_one(b, &r, 1, &counts);
	assert_null(out);
	assert_int_equal(counts.n_rows_undecided, 1);
	assert_int_equal(counts.n_rows_undecided_lost, 1);
	assert_int_equal(counts.n_rows_filtered, 2);
	/* No match, so it stays. */
	r = rule(DCM_RELABEL_DROP, h.pattern, NULL, NULL, source, 1);
	out = apply_one(b, &r, 1, &counts);
	assert_int_equal(out->profiles[0].n_rows, 3);
	assert_int_equal(counts.n_rows_undecided, 2);
	assert_int_equal(counts.n_rows_undecided_lost, 1);
	batch__unref(out);
	batch__unref(b);

	/* It is told that this matches, but not where. */
	h.text[3000] = 'c';
	h.text[3001] = '\0';
	b = with_values((const char *[]){ h.text }, 1);
	r = rule(DCM_RELABEL_REPLACE, "(?:a|aa)+b|(a+)c", "x", "$1", source, 1);
	out = apply_one(b, &r, 1, &counts);
	assert_int_equal(out->profiles[0].n_rows, 1);
	assert_int_equal(out->series[0].n, 1);
	assert_int_equal(counts.n_rows_undecided, 3);
	assert_int_equal(counts.n_rows_undecided_lost, 1);
	batch__unref(out);
	batch__unref(b);
}

/* Whole profiles: unchanged, filtered, and out of the memory of outcomes. */
static void undecided_profiles_are_counted_each_time(void **state)
{
	static struct hopeless h;
	const char *source[] = { "b" };
	struct dcm_label_text external = { .name = STR("b") };

	(void)state;
	hopeless__init(&h);
	external.value = str__of(h.text);
	for (unsigned is_drop = 0; is_drop < 2; is_drop++) {
		struct dcm_relabel_rule v = rule(is_drop ? DCM_RELABEL_DROP : DCM_RELABEL_KEEP,
						 h.pattern, NULL, NULL, source, 1);
		struct relabel_config config = { &v, 1, &external, 1, 0 };
		struct dcm_batch *b = with_values((const char *[]){ "x", "y" }, 2), *out = NULL;
		struct relabel_counts counts = { 0 };
		struct relabel *r = NULL;

		assert_int_equal(relabel__new(&config, &r, NULL), 0);
		for (unsigned turn = 1; turn < 4; turn++) {
			assert_int_equal(relabel__apply(r, b, &out, &counts, NULL), 0);
			assert_int_equal(counts.n_rows_undecided, 2 * turn);
			assert_int_equal(counts.n_rows_undecided_lost, is_drop ? 0 : 2 * turn);
			assert_int_equal(counts.n_profiles_filtered + counts.n_rows_filtered, 0);
			/* With the external label once, and then as it comes. */
			if (is_drop && turn == 1)
				batch__unref(b), b = batch__ref(out);
			batch__unref(take_ptr(out));
		}
		relabel__free(r);
		batch__unref(b);
	}
}

static void labels_on_the_way_are_bounded(void **state)
{
	struct dcm_relabel_rule r[11];
	char texts[11][16];
	struct rules *rules = NULL;
	struct label_map m = { 0 };

	(void)state;
	for (unsigned i = 0; i < 11; i++) {
		snprintf(texts[i], sizeof(texts[i]), "l%u_$1", i);
		r[i] = rule(DCM_RELABEL_LABELMAP, "(.*)", NULL, texts[i], NULL, 0);
	}
	for (uint32_t n = 10; n < 12; n++) {
		assert_int_equal(rules__new(r, n, &rules, NULL), 0);
		label_map__reset(&m);
		assert_int_equal(label_map__put(&m, STR("a"), STR("1")), 0);
		assert_int_equal(rules__run(rules, &m), n == 10 ? 1 : -EFBIG);
		assert_int_equal(m.v.n, 1024);
		rules__free(rules);
	}
	label_map__fini(&m);
}

/* What was found once is found again: the same outcome, until the cache has grown too large. */
static void a_series_met_before_is_looked_up(void **state)
{
	const char *source[] = { "a" };
	struct dcm_relabel_rule r1 = rule(DCM_RELABEL_REPLACE, "(.*)", "c", "$1", source, 1);
	struct outcome_cache cache = { .max_bytes = UINT64_MAX };
	struct rules *rules = NULL;
	struct outcome *first = NULL;

	(void)state;
	assert_int_equal(rules__new(&r1, 1, &rules, NULL), 0);
	cache.rules = rules;
	for (unsigned i = 0; i < 5; i++) {
		struct dcm_batch *b = small();
		struct outcome *o = NULL;

		outcome_cache__trim(&cache);
		assert_int_equal(outcome_cache__get(&cache, b, b->profiles[0].series, 0, NULL, &o), 0);
		if (i > 0)
			assert_ptr_equal(o, first);
		first = o;
		batch__unref(b);
	}
	assert_int_equal(cache.outcomes.n, 1);
	cache.max_bytes = 1;
	outcome_cache__trim(&cache);
	assert_int_equal(cache.outcomes.n, 0);
	outcome_cache__fini(&cache);
	rules__free(rules);
}

static void one_that_forgets_answers_the_same(void **state)
{
	const char *source[] = { "a" };
	struct dcm_relabel_rule r1 = rule(DCM_RELABEL_REPLACE, "(.*)", "c", "$1", source, 1);
	struct relabel_config config = { .rules = &r1, .n_rules = 1, .cache_bytes = 1 };
	struct relabel *r = NULL;

	(void)state;
	assert_int_equal(relabel__new(&config, &r, NULL), 0);
	for (uint64_t i = 0; i < 20; i++) {
		struct dcm_batch *b = random_batch__new(i, 0);

		check(r, b, &config, i);
		batch__unref(b);
	}
	relabel__free(r);
}

/*
 * Prometheus' own table, model/relabel/relabel_test.go (TestRelabel), where one series is enough.
 */
static void prometheus_examples(void **state)
{
	const char *a[] = { "a" }, *ab[] = { "a", "b" };
	static const struct {
		const char *regex, *target, *replacement;
		bool both;
		const char *name, *want;
	} cases[] = {
		{ "1(.*)", "d", "ch${1}-ch${1}", false, "d", "ch-ch" },
		{ "(1);(x)", "a", "$2-$1", true, "a", "x-1" },
		{ "no", "d", "${1}", false, "d", "" },
		{ "(.*)", "b", "", false, "b", "" },
		{ "(.).*", "${1}", "v", false, "1", "v" },
		{ "(.*)", "d", "$$x", false, "d", "$x" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dcm_relabel_rule r = rule(DCM_RELABEL_REPLACE, cases[i].regex,
						 cases[i].target, cases[i].replacement,
						 cases[i].both ? ab : a, cases[i].both ? 2 : 1);
		struct dcm_batch *b = small(), *out = apply_one(b, &r, 1, NULL);
		struct dcm_str value = batch__series_label(out, out->profiles[0].series,
							   str__of(cases[i].name));

		if (!str__eq(value, str__of(cases[i].want)))
			print_error("case %zu: %.*s\n", i, STR_ARG(value));
		assert_true(str__eq(value, str__of(cases[i].want)));
		batch__unref(out);
		batch__unref(b);
	}
}

/*
 * hashmod's numbers as Prometheus prints them: md5("foo;bar") and its like, last 8 bytes, modulo.
 */
static void hashmod_is_md5(void **state)
{
	static const struct {
		const char *text, *hex;
	} vectors[] = { { "", "d41d8cd98f00b204e9800998ecf8427e" },
			{ "abc", "900150983cd24fb0d6963f7d28e17f72" },
			{ "message digest", "f96b697d7cb7938d525a2f31aaf161d0" },
			{ "123456789012345678901234567890123456789012345678901234567890123456789012"
			  "34567890",
			  "57edf4a22be3c955ac49da2e2107b67a" } };

	const char *source[] = { "text" };

	(void)state;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		struct dcm_relabel_rule rules[] = {
			rule(DCM_RELABEL_REPLACE, "", "text", vectors[i].text, NULL, 0),
			rule(DCM_RELABEL_HASHMOD, NULL, "hash", NULL, source, 1),
		};
		const uint64_t last_half = strtoull(vectors[i].hex + 16, NULL, 16);
		struct dcm_batch *b = small(), *out;
		struct dcm_str value;
		char want[24];

		rules[1].modulus = INT64_MAX;
		snprintf(want, sizeof(want), "%" PRIu64, last_half % INT64_MAX);
		out = apply_one(b, rules, 2, NULL);
		value = batch__series_label(out, out->profiles[0].series, STR("hash"));
		assert_true(str__eq(value, str__of(want)));
		batch__unref(out);
		batch__unref(b);
	}
}

static void bad_rules_are_refused_by_number(void **state)
{
	const char *source[] = { "a" };
	struct dcm_relabel_rule good = rule(DCM_RELABEL_REPLACE, "(.*)", "c", "$1", source, 1);
	struct dcm_relabel_rule bad[3] = { good, good, good };
	static const char *const wants[] = { "rule 2: regex", "rule 2: needs a target_label",
					     "rule 2: hashmod" };

	(void)state;
	bad[0].regex = "(";
	bad[1].target_label = "";
	bad[2].action = DCM_RELABEL_HASHMOD;
	bad[2].modulus = 0;
	for (unsigned i = 0; i < 3; i++) {
		struct dcm_relabel_rule rules[] = { good, bad[i] };
		struct dcm_error err = DCM_ERROR_INIT;
		struct relabel *r = NULL;

		assert_int_equal(relabel__new(&(struct relabel_config){ .rules = rules, .n_rules = 2 },
					      &r, &err),
				 -EINVAL);
		assert_null(r);
		assert_non_null(strstr(err.text, wants[i]));
	}
}

static void every_allocation_may_fail(void **state)
{
	const char *source[] = { "__sample_name", "a" };
	struct dcm_relabel_rule rules[] = {
		rule(DCM_RELABEL_REPLACE, "(.*);(.*)", "thread", "$1-$2", source, 2),
		rule(DCM_RELABEL_REPLACE, "(.*)", "__sample_new", "v", source, 1),
		rule(DCM_RELABEL_LABELMAP, "(b)", NULL, "map_$1", NULL, 0),
		rule(DCM_RELABEL_LABELDROP, "__sample_name", NULL, NULL, NULL, 0),
		rule(DCM_RELABEL_HASHMOD, "(.*)", "shard", NULL, source, 1),
		rule(DCM_RELABEL_UPPERCASE, "(.*)", "up", NULL, source, 1),
	};
	const struct dcm_label_text external = { STR("env"), STR("test") };
	struct relabel_config config = {
		.rules = rules, .n_rules = 6, .externals = &external, .n_externals = 1
	};
	struct dcm_batch *b = small();

	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct relabel *r = NULL;
		struct dcm_batch *out = NULL;
		int e = relabel__new(&config, &r, NULL);

		if (e == 0)
			e = relabel__apply(r, b, &out, NULL, NULL);
		failmalloc__disarm();
		if (e < 0)
			assert_int_equal(e, -ENOMEM);
		else
			assert_null(batch_judge__fault(out, true));
		/* It works again afterwards. */
		if (r && e < 0)
			check(r, b, &config, i);
		batch__unref(out);
		relabel__free(r);
	}
	batch__unref(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_rules_equal_the_oracle),
		cmocka_unit_test(unchanged_is_the_same_batch),
		cmocka_unit_test(rows_are_shared_when_only_series_change),
		cmocka_unit_test(promoting_splits_the_profile),
		cmocka_unit_test(the_parca_agents_names_are_read),
		cmocka_unit_test(dropping_rows_is_filtered_and_counted),
		cmocka_unit_test(too_many_labels_are_lost_not_filtered),
		cmocka_unit_test(what_no_regex_can_tell_is_counted),
		cmocka_unit_test(undecided_profiles_are_counted_each_time),
		cmocka_unit_test(labels_on_the_way_are_bounded),
		cmocka_unit_test(a_series_met_before_is_looked_up),
		cmocka_unit_test(one_that_forgets_answers_the_same),
		cmocka_unit_test(prometheus_examples),
		cmocka_unit_test(hashmod_is_md5),
		cmocka_unit_test(bad_rules_are_refused_by_number),
		cmocka_unit_test(every_allocation_may_fail),
	};
	return cmocka_run_group_tests_name("relabel", tests, NULL, NULL);
}
