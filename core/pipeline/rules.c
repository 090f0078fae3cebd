/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/rules.c - compiled relabelling rules, and the labels that they run over
 *
 * Each action follows relabel() in Prometheus' model/relabel/relabel.go, v3. A label whose value
 * becomes "" is gone.
 */
#include "core/pipeline/rules.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <nettle/md5.h>
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/batch/limits.h"
#include "core/config/regex.h"

enum {
	TEXT_MAX = 64 * 1024, /* of what one rule may make */
	/*
	 * Labels on the way: each labelmap may double them, and each is looked for among all. What
	 * comes in, LABELS_MAX of the series and of the sample, and the external ones, has room.
	 */
	MAP_MAX = 4 * LABELS_MAX,
};

struct rule {
	enum dcm_relabel_action action;
	struct dcm_str *sources; /* [n_sources] */
	uint32_t n_sources;
	struct dcm_str separator, target, replacement;
	struct dcm_regex *regex;
	uint64_t modulus;
	locale_t letters;	   /* of lowercase and uppercase: which letters belong together */
	bool matches_all;	   /* the default regex: no need to ask it */
	bool target_is_template;   /* a $ is in it */
	bool replacement_is_value; /* "$1" behind the default regex: the value itself */
};

struct rules {
	struct arena arena;
	struct rule *v; /* [n] */
	uint32_t n;
};

/* ---- the map ---- */

void label_map__fini(struct label_map *m)
{
	vec__fini(&m->v);
	arena__fini(&m->arena);
	buf__fini(&m->scratch);
	buf__fini(&m->name);
}

void label_map__reset(struct label_map *m)
{
	m->v.n = 0;
	m->n_undecided = 0;
	arena__reset(&m->arena);
}

int label_map__put(struct label_map *m, struct dcm_str name, struct dcm_str value)
{
	return vec__push(&m->v, (struct label_entry){ .name = name, .value = value }) ? 0 : -ENOMEM;
}

static int by_name(const void *a, const void *b)
{
	return str__cmp(((const struct label_entry *)a)->name, ((const struct label_entry *)b)->name);
}

void label_map__sort(struct label_map *m)
{
	if (m->v.n > 1)
		qsort(m->v.v, m->v.n, sizeof(m->v.v[0]), by_name);
}

static struct label_entry *find(const struct label_map *m, struct dcm_str name)
{
	for (size_t i = 0; i < m->v.n; i++)
		if (str__eq(m->v.v[i].name, name))
			return &m->v.v[i];
	return NULL;
}

struct dcm_str label_map__get(const struct label_map *m, struct dcm_str name)
{
	const struct label_entry *e = find(m, name);

	return e && !e->is_removed ? e->value : STR("");
}

static void remove_entry(struct label_map *m, struct label_entry *e)
{
	size_t i = (size_t)(e - m->v.v);

	memmove(e, e + 1, (m->v.n - i - 1) * sizeof(*e));
	m->v.n--;
}

static int push(struct label_map *m, struct label_entry e)
{
	if (m->v.n >= MAP_MAX)
		return -EFBIG;
	return vec__push(&m->v, e) ? 0 : -ENOMEM;
}

/* A sample label leaves a trace, because one that the map was not given may have to go too. */
static int map_remove(struct label_map *m, struct dcm_str name)
{
	struct label_entry *e = find(m, name);
	struct label_entry gone = { .is_removed = true };

	if (e)
		remove_entry(m, e);
	if (!str__starts(name, STR(RULES_SAMPLE_PREFIX)))
		return 0;
	gone.name = arena__str(&m->arena, name);
	return gone.name.p ? push(m, gone) : -ENOMEM;
}

/*
 * As labels.Builder does: a changed label moves behind the original ones, one that was added stays
 * where it is.
 */
static int map_set(struct label_map *m, struct dcm_str name, struct dcm_str value)
{
	struct label_entry *e, new = { .is_added = true };

	if (value.n == 0)
		return map_remove(m, name);
	new.name = arena__str(&m->arena, name);
	new.value = arena__str(&m->arena, value);
	if (!new.name.p || !new.value.p)
		return -ENOMEM;
	e = find(m, name);
	if (e && e->is_added) {
		*e = new;
		return 0;
	}
	if (e)
		remove_entry(m, e);
	return push(m, new);
}

/* ---- compiling ---- */

static int copy_text(struct rules *r, const char *text, struct dcm_str *ret)
{
	*ret = arena__str(&r->arena, str__of(text));
	return ret->p ? 0 : -ENOMEM;
}

/*
 * What the Parca agent calls labels of the sampler that are samples' here, so that its rules read
 * them.
 */
static const char *own_name(const char *name)
{
	static const char *const names[][2] = {
		{ "__meta_thread_comm", RULES_SAMPLE_PREFIX "thread_name" },
		{ "__meta_thread_id", RULES_SAMPLE_PREFIX "tid" },
		{ "__meta_cpu", RULES_SAMPLE_PREFIX "cpu" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i][0]) == 0)
			return names[i][1];
	return name;
}

static int copy_sources(struct rules *r, const struct dcm_list *from, struct rule *to)
{
	const char *const *names = from->items;

	to->sources = arena__zalloc(&r->arena, from->n, sizeof(to->sources[0]));
	if (from->n > 0 && !to->sources)
		return -ENOMEM;
	to->n_sources = from->n;
	for (uint32_t i = 0; i < from->n; i++)
		if (copy_text(r, own_name(names[i]), &to->sources[i]) < 0)
			return -ENOMEM;
	return 0;
}

static bool needs_target(enum dcm_relabel_action a)
{
	return a != DCM_RELABEL_KEEP && a != DCM_RELABEL_DROP && a != DCM_RELABEL_LABELMAP &&
	       a != DCM_RELABEL_LABELDROP && a != DCM_RELABEL_LABELKEEP;
}

/*
 * Whatever locale the machine has: that of glibc is Unicode's simple case mapping, which is Go's.
 */
static int find_letters(locale_t *ret)
{
	*ret = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	return *ret ? 0 : -errno;
}

static int compile(struct rules *r, const struct dcm_relabel_rule *from, uint32_t i, struct dcm_error *err)
{
	struct rule *to = &r->v[i];
	struct dcm_str pattern = str__of(from->regex ? from->regex : "(.*)");
	int ret;

	if ((uint32_t)from->action > DCM_RELABEL_UPPERCASE)
		return error__set(err, -EINVAL, "relabel rule %u: action %d is unknown", i + 1,
				  from->action);
	to->action = (enum dcm_relabel_action)from->action;
	if (to->action == DCM_RELABEL_HASHMOD && from->modulus <= 0)
		return error__set(err, -EINVAL, "relabel rule %u: hashmod needs a modulus above 0",
				  i + 1);
	if (needs_target(to->action) && (!from->target_label || !*from->target_label))
		return error__set(err, -EINVAL, "relabel rule %u: needs a target_label", i + 1);
	to->modulus = (uint64_t)from->modulus;
	if (copy_sources(r, &from->source_labels, to) < 0 ||
	    copy_text(r, from->separator, &to->separator) < 0 ||
	    copy_text(r, from->target_label, &to->target) < 0 ||
	    copy_text(r, from->replacement ? from->replacement : "$1", &to->replacement) < 0)
		return error__nomem(err);
	if (to->action == DCM_RELABEL_LOWERCASE || to->action == DCM_RELABEL_UPPERCASE) {
		ret = find_letters(&to->letters);
		if (ret < 0)
			return error__sys(err, ret, "relabel rule %u: the locale C.UTF-8, which tells letters' cases",
					  i + 1);
	}
	ret = regex__new(pattern, 0, &to->regex, err);
	if (ret < 0) {
		error__prefix(err, "relabel rule %u: regex", i + 1);
		return ret;
	}
	to->matches_all = str__eq(pattern, STR("(.*)"));
	to->target_is_template = memchr(to->target.p, '$', to->target.n);
	to->replacement_is_value = to->matches_all && str__eq(to->replacement, STR("$1"));
	return 0;
}

int rules__new(const struct dcm_relabel_rule *rules, uint32_t n, struct rules **ret, struct dcm_error *err)
{
	CLEANUP(rules__freep) struct rules *r = NEW(struct rules);

	if (!r)
		return error__nomem(err);
	r->v = mem__zalloc(n, sizeof(r->v[0]));
	if (!r->v)
		return error__nomem(err);
	while (r->n < n) {
		uint32_t i = r->n++; /* what a refused one has is freed, too */
		int e = compile(r, &rules[i], i, err);

		if (e < 0)
			return e;
	}
	*ret = take_ptr(r);
	return 0;
}

void rules__free(struct rules *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->n; i++) {
		regex__free(r->v[i].regex);
		if (r->v[i].letters)
			freelocale(r->v[i].letters);
	}
	free(r->v);
	arena__fini(&r->arena);
	free(r);
}

/* ---- running ---- */

/* The sources' values, joined, in the map's scratch. */
static int join(const struct rule *rule, struct label_map *m, struct dcm_str *ret)
{
	buf__reset(&m->scratch);
	m->scratch.limit = TEXT_MAX;
	for (uint32_t i = 0; i < rule->n_sources; i++) {
		if (i > 0)
			buf__str(&m->scratch, rule->separator);
		buf__str(&m->scratch, label_map__get(m, rule->sources[i]));
	}
	*ret = buf__view(&m->scratch);
	return m->scratch.error;
}

/* What a regex says, for who takes "nobody can tell" for no match: that is counted. */
static int decided(struct label_map *m, int r)
{
	if (r >= 0 || r == -ENOMEM)
		return r;
	m->n_undecided++;
	return 0;
}

/* 1, 0 or -ENOMEM. */
static int matches(const struct rule *rule, struct label_map *m, struct dcm_str text)
{
	return rule->matches_all ? 1 : decided(m, regex__match(rule->regex, text));
}

/* A template filled in from the match, into `out`. 1, 0 (no match), or negative. */
static int expand(const struct rule *rule, struct label_map *m, struct dcm_str text,
		  struct dcm_str template, struct buf *out)
{
	int r;

	buf__reset(out);
	out->limit = TEXT_MAX;
	r = decided(m, regex__replace(rule->regex, text, template, out));
	return out->error ? out->error : r;
}

static int replace(const struct rule *rule, struct label_map *m, struct dcm_str value)
{
	struct dcm_str target = rule->target;
	struct buf made = { 0 };
	int r;

	if (rule->target_is_template) {
		r = expand(rule, m, value, rule->target, &m->name);
		if (r <= 0)
			return r;
		target = buf__view(&m->name);
		if (!str__is_label_name(target))
			return 0;
	}
	if (rule->replacement_is_value)
		return map_set(m, target, value);
	r = expand(rule, m, value, rule->replacement, &made);
	if (r > 0)
		r = map_set(m, target, buf__view(&made));
	buf__fini(&made);
	return r;
}

static int hashmod(const struct rule *rule, struct label_map *m, struct dcm_str value)
{
	uint8_t digest[MD5_DIGEST_SIZE];
	struct md5_ctx md5;
	uint64_t n = 0;
	char text[24];

	md5_init(&md5);
	md5_update(&md5, value.n, (const uint8_t *)value.p);
	md5_digest(&md5, sizeof(digest), digest);
	for (unsigned i = 8; i < 16; i++)
		n = n << 8 | digest[i];
	snprintf(text, sizeof(text), "%" PRIu64, n % rule->modulus);
	return map_set(m, rule->target, str__of(text));
}

/* As Go's strings.ToLower() and ToUpper(), letter by letter; bytes that are no UTF-8 stay. */
static int set_case(const struct rule *rule, struct label_map *m, struct dcm_str value)
{
	/* No letter's other case takes more than twice its bytes. */
	char *start = arena__alloc(&m->arena, 2 * (size_t)value.n + 4), *to = start;

	if (!start)
		return -ENOMEM;
	for (uint32_t i = 0; i < value.n;) {
		unsigned n = str__utf8_len(value.p + i, value.n - i);

		if (n == 0) {
			*to++ = value.p[i++];
			continue;
		}
		wint_t c = str__utf8_char(value.p + i, n);
		c = rule->action == DCM_RELABEL_LOWERCASE ? towlower_l(c, rule->letters)
							  : towupper_l(c, rule->letters);
		to += str__utf8_put(c, to);
		i += n;
	}
	return map_set(m, rule->target, (struct dcm_str){ start, (uint32_t)(to - start) });
}

/* labelmap, labeldrop, labelkeep: over the labels as they were before the rule. */
static int each_name(const struct rule *rule, struct label_map *m)
{
	size_t n = m->v.n;
	struct label_entry *before = arena__alloc(&m->arena, n * sizeof(*before) + 1);
	int r = 0;

	if (!before)
		return -ENOMEM;
	if (n > 0)
		memcpy(before, m->v.v, n * sizeof(*before));
	for (size_t i = 0; i < n && r >= 0; i++) {
		const struct label_entry *e = &before[i];

		if (e->is_removed)
			continue;
		if (rule->action == DCM_RELABEL_LABELMAP) {
			r = expand(rule, m, e->name, rule->replacement, &m->name);
			if (r > 0 && str__is_label_name(buf__view(&m->name)))
				r = map_set(m, buf__view(&m->name), e->value);
			continue;
		}
		r = matches(rule, m, e->name);
		if (r == (rule->action == DCM_RELABEL_LABELDROP))
			r = map_remove(m, e->name);
	}
	return r;
}

/* 1: go on; 0: dropped; negative: an error. */
static int run_one(const struct rule *rule, struct label_map *m)
{
	struct dcm_str value;
	int r = join(rule, m, &value);

	if (r < 0)
		return r;
	switch (rule->action) {
	case DCM_RELABEL_KEEP:
		return matches(rule, m, value);
	case DCM_RELABEL_DROP:
		r = matches(rule, m, value);
		return r < 0 ? r : !r;
	case DCM_RELABEL_KEEPEQUAL:
		return str__eq(label_map__get(m, rule->target), value);
	case DCM_RELABEL_DROPEQUAL:
		return !str__eq(label_map__get(m, rule->target), value);
	case DCM_RELABEL_REPLACE:
		r = replace(rule, m, value);
		break;
	case DCM_RELABEL_HASHMOD:
		r = hashmod(rule, m, value);
		break;
	case DCM_RELABEL_LOWERCASE:
	case DCM_RELABEL_UPPERCASE:
		r = set_case(rule, m, value);
		break;
	case DCM_RELABEL_LABELMAP:
	case DCM_RELABEL_LABELDROP:
	case DCM_RELABEL_LABELKEEP:
		r = each_name(rule, m);
		break;
	}
	return r < 0 ? r : 1;
}

int rules__run(const struct rules *r, struct label_map *m)
{
	for (uint32_t i = 0; i < r->n; i++) {
		int verdict = run_one(&r->v[i], m);

		if (verdict <= 0)
			return verdict;
	}
	return 1;
}

/* ---- what they depend on ---- */

static bool is_by_name(const struct rule *rule)
{
	return rule->action == DCM_RELABEL_LABELMAP || rule->action == DCM_RELABEL_LABELDROP ||
	       rule->action == DCM_RELABEL_LABELKEEP;
}

bool rules__may_read_samples(const struct rules *r)
{
	for (uint32_t i = 0; i < r->n; i++) {
		const struct rule *rule = &r->v[i];

		if (is_by_name(rule) || str__starts(rule->target, STR(RULES_SAMPLE_PREFIX)))
			return true;
		for (uint32_t k = 0; k < rule->n_sources; k++)
			if (str__starts(rule->sources[k], STR(RULES_SAMPLE_PREFIX)))
				return true;
	}
	return false;
}

/*
 * Of a rule that goes by names. Where nobody can tell, the rule gets to see the name, so that it is
 * counted when it runs.
 */
static enum rules_use use_by_name(const struct rule *rule, struct dcm_str name)
{
	int r = rule->matches_all ? 1 : regex__match(rule->regex, name);

	if (r < 0)
		return RULES_READ_NAME;
	if (rule->action == DCM_RELABEL_LABELMAP)
		return r ? RULES_READ_VALUE : RULES_IGNORE;
	return r == (rule->action == DCM_RELABEL_LABELDROP) ? RULES_READ_NAME : RULES_IGNORE;
}

static enum rules_use use_of(const struct rule *rule, struct dcm_str name)
{
	if (is_by_name(rule))
		return use_by_name(rule, name);
	/* keepequal and dropequal read their target. */
	if (str__eq(rule->target, name))
		return RULES_READ_VALUE;
	for (uint32_t k = 0; k < rule->n_sources; k++)
		if (str__eq(rule->sources[k], name))
			return RULES_READ_VALUE;
	return RULES_IGNORE;
}

enum rules_use rules__use(const struct rules *r, struct dcm_str name)
{
	enum rules_use most = RULES_IGNORE;

	for (uint32_t i = 0; i < r->n && most < RULES_READ_VALUE; i++) {
		enum rules_use use = use_of(&r->v[i], name);

		if (use > most)
			most = use;
	}
	return most;
}
