/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/target.c - one profile of one address: its labels, its URL, how it goes
 *
 * Sources: Prometheus' scrape/target.go (PopulateLabels) and Parca's pkg/scrape/target.go, whose
 * order is kept: labels of the job come where discovery has none, rules run, then the port is added,
 * __meta_ labels go, and instance is the address where nothing else said it.
 */
#include "plugins/input/pprof_scrape/target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/url.h"
#include "core/base/units.h"
#include "core/base/vec.h"

#define SECOND_NS   ((int64_t)1000000000)
#define SECONDS_MAX ((int64_t)86400)

struct dcm_str labels__get(const struct labels *l, struct dcm_str name)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (str__eq(l->v[i].name, name))
			return l->v[i].value;
	return STR("");
}

void target__free(struct target *t)
{
	if (!t)
		return;
	delta__fini(&t->delta);
	arena__fini(&t->arena);
	free(t);
}

/* ---- the labels before the rules ---- */

struct list {
	struct arena *arena;
	VEC(struct dcm_label_text) v;
	int error;
};

static bool has(const struct list *l, struct dcm_str name)
{
	for (size_t i = 0; i < l->v.n; i++)
		if (str__eq(l->v.v[i].name, name))
			return true;
	return false;
}

/* Copied; what is there already, or empty, is not added. */
static void add(struct list *l, struct dcm_str name, struct dcm_str value)
{
	struct dcm_label_text label;

	if (value.n == 0 || has(l, name))
		return;
	label.name = arena__str(l->arena, name);
	label.value = arena__str(l->arena, value);
	if (!label.name.p || !label.value.p || !vec__push(&l->v, label))
		l->error = -ENOMEM;
}

static void add_duration(struct list *l, struct dcm_str name, int64_t ns)
{
	char text[48];

	add(l, name, str__of(units__format_duration(ns, text)));
}

static void add_params(struct list *l, const struct dcm_map *params)
{
	for (uint32_t i = 0; i < params->n; i++) {
		const struct values_options *values = (const struct values_options *)params->items + i;
		const char *name = arena__printf(l->arena, "__param_%s", params->keys[i]);

		if (!name)
			l->error = -ENOMEM;
		else if (values->v.n)
			add(l, str__of(name), str__of(((const char *const *)values->v.items)[0]));
	}
}

/* "/debug" and "/pprof/heap" with exactly one slash between. */
static struct dcm_str join_path(struct arena *a, const char *prefix, const char *path)
{
	size_t n = prefix ? strlen(prefix) : 0;

	while (n && prefix[n - 1] == '/')
		n--;
	return str__of(arena__printf(a, "%s%.*s%s%s", n && prefix[0] != '/' ? "/" : "", (int)n,
				     prefix ? prefix : "", path[0] == '/' ? "" : "/", path));
}

static int before_rules(const struct target_source *from, struct target *t, struct list *l)
{
	const struct job_options *o = from->options;
	struct dcm_str path = join_path(&t->arena, o->profiling.path_prefix, from->plan->path);

	for (uint32_t i = 0; i < from->n_labels; i++)
		add(l, from->labels[i].name, from->labels[i].value);
	add(l, STR("job"), str__of(o->job_name));
	add(l, STR("service_name"), str__of(o->job_name));
	add(l, STR("__scheme__"), str__of(o->scheme == SCHEME_HTTPS ? "https" : "http"));
	add(l, STR("__name__"), str__of(from->plan->name));
	add(l, STR("__profile_path__"), path);
	add_duration(l, STR("__scrape_interval__"), from->interval_ns);
	add_duration(l, STR("__scrape_timeout__"), from->timeout_ns);
	add_params(l, &o->params);
	return l->error;
}

/* ---- the rules ---- */

struct kept {
	struct arena *arena;
	struct labels *to;
	int error;
};

static int keep_labels(void *ctx, const struct dcm_label_text *labels, uint32_t n)
{
	struct kept *k = ctx;

	k->to->v = arena__zalloc(k->arena, n + 2, sizeof(*k->to->v)); /* and instance, __address__ */
	if (!k->to->v)
		return k->error = -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		k->to->v[i].name = arena__str(k->arena, labels[i].name);
		k->to->v[i].value = arena__str(k->arena, labels[i].value);
		if (!k->to->v[i].name.p || !k->to->v[i].value.p)
			return k->error = -ENOMEM;
	}
	k->to->n = n;
	return 0;
}

/* 1: all labels, those with __ too, are in *ret; 0: dropped. */
static int run_rules(const struct target_source *from, const struct list *l, struct target *t,
		     struct labels *ret)
{
	struct kept kept = { .arena = &t->arena, .to = ret };
	int r = 1;

	if (from->rules)
		r = from->host->rules_run(from->rules, l->v.v, (uint32_t)l->v.n, keep_labels, &kept);
	else
		keep_labels(&kept, l->v.v, (uint32_t)l->v.n);
	return kept.error ? kept.error : r;
}

/* ---- where it is asked ---- */

static bool has_port(struct dcm_str address)
{
	const char *colon = memrchr(address.p, ':', address.n),
		   *bracket = memrchr(address.p, ']', address.n);

	return colon && (!bracket || colon > bracket) &&
	       (bracket || memchr(address.p, ':', address.n) == colon);
}

/* An IPv6 address that stands alone gets its brackets. */
static struct dcm_str with_port(struct arena *a, struct dcm_str address, bool https)
{
	bool bare6 = address.n && address.p[0] != '[' && memchr(address.p, ':', address.n) &&
		     !has_port(address);

	if (has_port(address))
		return address;
	return str__of(arena__printf(a, "%s%.*s%s:%s", bare6 ? "[" : "", STR_ARG(address),
				     bare6 ? "]" : "", https ? "443" : "80"));
}

static bool is_address(struct dcm_str s)
{
	for (uint32_t i = 0; i < s.n; i++)
		if (strchr("/?#@\\ ", s.p[i]) || (unsigned char)s.p[i] < 0x21)
			return false;
	return s.n > 0;
}

static void add_query(struct buf *b, char *sep, struct dcm_str name, struct dcm_str value)
{
	buf__byte(b, (uint8_t)*sep);
	*sep = '&';
	url__escape(b, name);
	buf__byte(b, '=');
	url__escape(b, value);
}

/* Of a parameter with several values, __param_NAME is the first, which rules may change. */
static void add_params_to(struct buf *b, char *sep, const struct target_source *from,
			  const struct labels *all)
{
	const struct dcm_map *params = &from->options->params;

	for (uint32_t i = 0; i < all->n; i++)
		if (str__starts(all->v[i].name, STR("__param_")))
			add_query(b, sep, (struct dcm_str){ all->v[i].name.p + 8, all->v[i].name.n - 8 },
				  all->v[i].value);
	for (uint32_t i = 0; i < params->n; i++) {
		const struct values_options *values = (const struct values_options *)params->items + i;

		for (uint32_t k = 1; k < values->v.n; k++)
			add_query(b, sep, str__of(params->keys[i]),
				  str__of(((const char *const *)values->v.items)[k]));
	}
}

static int make_url(const struct target_source *from, const struct labels *all, struct target *t)
{
	struct dcm_str scheme = labels__get(all, STR("__scheme__"));
	struct dcm_str path = labels__get(all, STR("__profile_path__"));
	struct buf b = { 0 };
	char sep = '?', seconds[24];
	int r;

	buf__printf(&b, "%.*s://%.*s%s%.*s", STR_ARG(scheme), STR_ARG(t->address),
		    path.n && path.p[0] == '/' ? "" : "/", STR_ARG(path));
	if (path.n && memchr(path.p, '?', path.n))
		sep = '&';
	add_params_to(&b, &sep, from, all);
	if (t->covers_ns && labels__get(all, STR("__param_seconds")).n == 0) {
		snprintf(seconds, sizeof(seconds), "%lld", (long long)(t->covers_ns / SECOND_NS));
		add_query(&b, &sep, STR("seconds"), str__of(seconds));
	}
	t->url = arena__str(&t->arena, buf__view(&b));
	r = b.error || !t->url.p ? -ENOMEM : 0;
	buf__fini(&b);
	return r;
}

static int place(const struct target_source *from, const struct labels *all, struct target *t,
		 struct dcm_error *err)
{
	struct dcm_str scheme = labels__get(all, STR("__scheme__"));
	struct dcm_str address = labels__get(all, STR("__address__"));
	bool https = str__eq(scheme, STR("https"));

	if (!https && !str__eq(scheme, STR("http")))
		return error__set(err, -EINVAL, "job %s: __scheme__ is \"%.*s\"; it can be http or https",
				  from->options->job_name, STR_ARG(scheme));
	if (!is_address(address))
		return error__set(err, -EINVAL, "job %s: __address__ is \"%.*s\", which is not HOST:PORT; let a rule write it",
				  from->options->job_name, STR_ARG(address));
	t->address = with_port(&t->arena, address, https);
	t->name = labels__get(all, STR("__name__"));
	if (t->name.n == 0)
		t->name = str__of(from->plan->name);
	return t->address.p ? make_url(from, all, t) : -ENOMEM;
}

/* ---- what is kept ---- */

static int check_limits(const struct target_source *from, const struct labels *l, struct dcm_error *err)
{
	const struct job_options *o = from->options;

	if (o->limits.labels && l->n > (uint64_t)o->limits.labels)
		return error__set(err, -EINVAL, "job %s: %u labels, more than label_limit (%lld)",
				  o->job_name, l->n, (long long)o->limits.labels);
	for (uint32_t i = 0; i < l->n; i++) {
		struct dcm_str name = l->v[i].name;

		if ((o->limits.label_name_bytes && name.n > (uint64_t)o->limits.label_name_bytes) ||
		    (o->limits.label_value_bytes && l->v[i].value.n > (uint64_t)o->limits.label_value_bytes))
			return error__set(err, -EINVAL, "job %s: label %.*s is longer than %s allows",
					  o->job_name, STR_ARG(name),
					  o->limits.label_name_bytes && name.n > (uint64_t)o->limits.label_name_bytes
						  ? "label_name_length_limit"
						  : "label_value_length_limit");
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return str__cmp(((const struct dcm_label_text *)a)->name,
			((const struct dcm_label_text *)b)->name);
}

/* Labels with __ go, instance comes; sorted, because the order in a file is no difference. */
static void final_labels(struct target *t, struct labels *all)
{
	bool has_instance = labels__get(all, STR("instance")).n > 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < all->n; i++)
		if (!str__starts(all->v[i].name, STR("__")))
			all->v[n++] = all->v[i];
	if (!has_instance)
		all->v[n++] = (struct dcm_label_text){ STR("instance"), t->address };
	qsort(all->v, n, sizeof(*all->v), by_name);
	all->n = n;
	t->labels = *all;
}

static int identify(struct target *t)
{
	struct buf b = { 0 };
	int r;

	buf__str(&b, t->url);
	buf__byte(&b, 0);
	buf__str(&b, t->name);
	for (uint32_t i = 0; i < t->labels.n; i++) {
		buf__byte(&b, 0);
		buf__str(&b, t->labels.v[i].name);
		buf__byte(&b, 1);
		buf__str(&b, t->labels.v[i].value);
	}
	buf__byte(&b, 0);
	buf__le64(&b, (uint64_t)t->interval_ns);
	buf__le64(&b, (uint64_t)t->timeout_ns);
	t->identity = hash__bytes128(b.data, b.n);
	r = b.error;
	buf__fini(&b);
	return r;
}

/* What a rule or a group wrote is held to what the options may say. */
static int duration_of(const struct target_source *from, const struct labels *all,
		       struct dcm_str name, const char *min, int64_t *ret, struct dcm_error *err)
{
	struct dcm_str text = labels__get(all, name);
	int64_t low = 0, high = 0;

	units__parse_duration(str__of(min), &low);
	units__parse_duration(str__of(DURATION_MAX), &high);
	if (text.n == 0 || (units__parse_duration(text, ret) == 0 && *ret >= low && *ret <= high))
		return 0;
	return error__set(err, -EINVAL, "job %s: %.*s is \"%.*s\"; write a duration from %s to %s",
			  from->options->job_name, STR_ARG(name), STR_ARG(text), min, DURATION_MAX);
}

static int times(const struct target_source *from, const struct labels *all, struct target *t,
		 struct dcm_error *err)
{
	struct dcm_str said = labels__get(all, STR("__param_seconds"));
	int64_t seconds = from->plan->seconds;
	int r = duration_of(from, all, STR("__scrape_interval__"), INTERVAL_MIN, &t->interval_ns, err);

	if (r == 0)
		r = duration_of(from, all, STR("__scrape_timeout__"), TIMEOUT_MIN, &t->timeout_ns, err);
	if (r < 0)
		return r;
	if (seconds == 0)
		seconds = t->interval_ns / SECOND_NS > 1 ? t->interval_ns / SECOND_NS - 1 : 1;
	if (!from->plan->delta)
		seconds = 0;
	/* Whatever is no number there is the target's to refuse; it is asked as it stands. */
	if (said.n && (units__parse_int(said, "s", &seconds) < 0 || seconds < 0 || seconds > SECONDS_MAX))
		seconds = 0;
	t->covers_ns = seconds * SECOND_NS;
	return 0;
}

static int complete(const struct target_source *from, struct target *t, struct labels *all,
		    struct dcm_error *err)
{
	int r;

	t->interval_ns = from->interval_ns;
	t->timeout_ns = from->timeout_ns;
	r = times(from, all, t, err);
	if (r == 0)
		r = place(from, all, t, err);
	if (r < 0)
		return r;
	final_labels(t, all);
	r = check_limits(from, &t->labels, err);
	return r < 0 ? r : identify(t);
}

int target__new(const struct target_source *from, struct target **ret, struct dcm_error *err)
{
	CLEANUP(target__freep) struct target *t = NEW(struct target);
	struct labels all = { 0 };
	struct list l;
	int r;

	if (!t)
		return error__nomem(err);
	t->job = from->job;
	t->plan = from->plan;
	l = (struct list){ .arena = &t->arena };
	r = before_rules(from, t, &l);
	if (r == 0)
		r = run_rules(from, &l, t, &all);
	if (r >= 0) {
		t->discovered.v = arena__zalloc(&t->arena, l.v.n + 1, sizeof(*t->discovered.v));
		t->discovered.n = (uint32_t)l.v.n;
		if (t->discovered.v)
			memcpy(t->discovered.v, l.v.v, l.v.n * sizeof(*l.v.v));
		else
			r = -ENOMEM;
	}
	vec__fini(&l.v);
	if (r == 0) {
		t->is_dropped = true;
		t->health = DCM_HEALTH_DROPPED;
	} else if (r == 1) {
		r = complete(from, t, &all, err);
	}
	if (r == -ENOMEM)
		return error__nomem(err);
	if (r == -EFBIG)
		return error__set(err, -EINVAL, "job %s: relabel_configs make too much of a target's labels, or take too long",
				  from->options->job_name);
	if (r < 0)
		return r;
	*ret = take_ptr(t);
	return 0;
}

/* As Prometheus' target.offset(): aligned to the clock, so that a restart changes nothing. */
int64_t target__next_ns(const struct target *t, int64_t now_real_ns)
{
	int64_t offset = (int64_t)(t->identity.lo % (uint64_t)t->interval_ns);
	int64_t next = now_real_ns - now_real_ns % t->interval_ns + offset;

	return next > now_real_ns ? next : next + t->interval_ns;
}
