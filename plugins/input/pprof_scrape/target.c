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

#include "core/base/arena.h"
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

/* What a target is made of, until it is there. */
struct work {
	const struct target_source *from;
	struct target *t;
	struct arena arena;
	struct dcm_label_text *v; /* [n] what rules left, with room for instance */
	uint32_t n;
	struct dcm_str address; /* HOST:PORT */
	int error;
};

static struct dcm_str get(const struct work *w, struct dcm_str name)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (str__eq(w->v[i].name, name))
			return w->v[i].value;
	return STR("");
}

void target__free(struct target *t)
{
	if (!t)
		return;
	delta__fini(&t->state.delta);
	if (t->found) {
		texts__release(t->found->texts, t->name);
		texts__release(t->found->texts, t->url);
	}
	labels__release(t->labels);
	labels__release(t->found);
	free(t->state.error);
	free(t);
}

const char *target__error(const struct target *t)
{
	return t->state.error			    ? t->state.error
	       : t->state.health == DCM_HEALTH_DOWN ? "out of memory"
						    : "";
}

void target__set_error(struct target *t, const char *sentence)
{
	free(t->state.error);
	t->state.error = sentence ? mem__dup_str(sentence, strlen(sentence)) : NULL;
}

/* ---- the labels before the rules ---- */

struct list {
	struct arena arena;
	VEC(struct dcm_label_text) v;
	int error;
};

/* Names and values live as long as the list. */
static void add(struct list *l, struct dcm_str name, struct dcm_str value)
{
	struct dcm_label_text label = { name, value };

	if (!name.p || !value.p || !vec__push(&l->v, label))
		l->error = -ENOMEM;
}

static void add_duration(struct list *l, struct dcm_str name, int64_t ns)
{
	char text[48];

	add(l, name, arena__str(&l->arena, str__of(units__format_duration(ns, text))));
}

static void add_params(struct list *l, const struct dcm_map *params)
{
	for (uint32_t i = 0; i < params->n; i++) {
		const struct values_options *values = (const struct values_options *)params->items + i;
		const char *name = arena__printf(&l->arena, "__param_%s", params->keys[i]);

		if (!name)
			l->error = -ENOMEM;
		else if (values->v.n)
			add(l, str__of(name), str__of(((const char *const *)values->v.items)[0]));
	}
}

/* "/debug" and "/pprof/heap" with exactly one slash between. */
static void add_path(struct list *l, const char *prefix, const char *path)
{
	size_t n = prefix ? strlen(prefix) : 0;
	const char *joined;

	while (n && prefix[n - 1] == '/')
		n--;
	joined = arena__printf(&l->arena, "%s%.*s%s%s", n && prefix[0] != '/' ? "/" : "", (int)n,
			       prefix ? prefix : "", path[0] == '/' ? "" : "/", path);
	if (joined)
		add(l, STR("__profile_path__"), str__of(joined));
	else
		l->error = -ENOMEM;
}

struct labels *target__defaults(const struct target_source *from)
{
	const struct job_options *o = from->options;
	struct labels *labels = NULL;
	struct list l = { 0 };

	add(&l, STR("job"), str__of(o->job_name));
	add(&l, STR("service_name"), str__of(o->job_name));
	add(&l, STR("__scheme__"), str__of(o->scheme == SCHEME_HTTPS ? "https" : "http"));
	add(&l, STR("__name__"), str__of(from->plan->name));
	add_path(&l, o->profiling.path_prefix, from->plan->path);
	add_duration(&l, STR("__scrape_interval__"), from->interval_ns);
	add_duration(&l, STR("__scrape_timeout__"), from->timeout_ns);
	add_params(&l, &o->params);
	if (!l.error)
		labels = labels__new(from->texts, l.v.v, (uint32_t)l.v.n);
	vec__fini(&l.v);
	arena__fini(&l.arena);
	return labels;
}

/* ---- the rules ---- */

static int keep_labels(void *ctx, const struct dcm_label_text *labels, uint32_t n)
{
	struct work *w = ctx;

	w->v = arena__zalloc(&w->arena, n + 1, sizeof(*w->v));
	if (!w->v)
		return w->error = -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		w->v[i].name = arena__str(&w->arena, labels[i].name);
		w->v[i].value = arena__str(&w->arena, labels[i].value);
		if (!w->v[i].name.p || !w->v[i].value.p)
			return w->error = -ENOMEM;
	}
	w->n = n;
	return 0;
}

/* 1: all labels, those with __ too, are there; 0: dropped. */
static int run_rules(struct work *w, const struct labels *found)
{
	const struct target_source *from = w->from;
	const size_t most = (size_t)found->n + from->defaults->n;
	struct dcm_label_text *all = arena__zalloc(&w->arena, most + 1, sizeof(*all));
	uint32_t n = all ? labels__view(found, from->defaults, all) : 0;
	int r = 1;

	if (!all)
		return -ENOMEM;
	if (from->rules)
		r = from->host->rules_run(from->rules, all, n, keep_labels, w);
	else
		keep_labels(w, all, n);
	return w->error ? w->error : r;
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

/* ---- parameters of the URL: as Prometheus has them, those that were written, of whose values a label has the first's place ---- */

static const struct values_options *written_param(const struct work *w, struct dcm_str name)
{
	const struct dcm_map *params = &w->from->options->params;

	for (uint32_t i = 0; i < params->n; i++)
		if (str__eq(str__of(params->keys[i]), name))
			return (const struct values_options *)params->items + i;
	return NULL;
}

/* The first value: of the label __param_NAME, or as it was written; "": neither. */
static struct dcm_str get_param(const struct work *w, struct dcm_str name)
{
	const struct values_options *written = written_param(w, name);

	for (uint32_t i = 0; i < w->n; i++)
		if (w->v[i].name.n == name.n + 8 && str__starts(w->v[i].name, STR("__param_")) &&
		    str__ends(w->v[i].name, name))
			return w->v[i].value;
	return written && written->v.n ? str__of(*(const char *const *)written->v.items) : STR("");
}

static void add_query(struct buf *b, char *sep, struct dcm_str name, struct dcm_str value)
{
	buf__byte(b, (uint8_t)*sep);
	*sep = '&';
	url__escape(b, name);
	buf__byte(b, '=');
	url__escape(b, value);
}

static void add_params_to(struct buf *b, char *sep, const struct work *w)
{
	const struct dcm_map *params = &w->from->options->params;

	for (uint32_t i = 0; i < params->n; i++) {
		const struct values_options *values = (const struct values_options *)params->items + i;
		const struct dcm_str name = str__of(params->keys[i]);

		for (uint32_t k = 0; k < values->v.n; k++)
			add_query(b, sep, name,
				  k ? str__of(((const char *const *)values->v.items)[k])
				    : get_param(w, name));
	}
	for (uint32_t i = 0; i < w->n; i++) {
		if (!str__starts(w->v[i].name, STR("__param_")))
			continue;
		const struct dcm_str name = { w->v[i].name.p + 8, w->v[i].name.n - 8 };

		if (!written_param(w, name))
			add_query(b, sep, name, w->v[i].value);
	}
}

/* As godeltaprof and Parca have them: "/debug/pprof/delta_heap", whoever wrote it. */
static bool is_delta_path(struct dcm_str path)
{
	const char *query = path.n ? memchr(path.p, '?', path.n) : NULL;
	const uint32_t n = query ? (uint32_t)(query - path.p) : path.n;
	const char *slash = n ? memrchr(path.p, '/', n) : NULL;
	const uint32_t at = slash ? (uint32_t)(slash + 1 - path.p) : 0;

	return str__starts((struct dcm_str){ path.p + at, n - at }, STR("delta_"));
}

static int make_url(struct work *w)
{
	struct dcm_str scheme = get(w, STR("__scheme__"));
	struct dcm_str path = get(w, STR("__profile_path__"));
	struct buf b = { 0 };
	char sep = '?', seconds[24];
	int r;

	buf__printf(&b, "%.*s://%.*s%s%.*s", STR_ARG(scheme), STR_ARG(w->address),
		    path.n && path.p[0] == '/' ? "" : "/", STR_ARG(path));
	if (path.n && memchr(path.p, '?', path.n))
		sep = '&';
	add_params_to(&b, &sep, w);
	if (w->t->covers_ns && get_param(w, STR("seconds")).n == 0) {
		snprintf(seconds, sizeof(seconds), "%lld", (long long)(w->t->covers_ns / SECOND_NS));
		add_query(&b, &sep, STR("seconds"), str__of(seconds));
	}
	if (!b.error)
		w->t->url = texts__hold(w->from->texts, buf__view(&b));
	r = w->t->url ? 0 : -ENOMEM;
	buf__fini(&b);
	return r;
}

static int place(struct work *w, struct dcm_error *err)
{
	struct dcm_str scheme = get(w, STR("__scheme__"));
	struct dcm_str address = get(w, STR("__address__"));
	struct dcm_str name = get(w, STR("__name__"));
	bool https = str__eq(scheme, STR("https"));

	if (!https && !str__eq(scheme, STR("http")))
		return error__set(err, -EINVAL, "job %s: __scheme__ is \"%.*s\"; it can be http or https",
				  w->from->options->job_name, STR_ARG(scheme));
	if (!is_address(address))
		return error__set(err, -EINVAL, "job %s: __address__ is \"%.*s\", which is not HOST:PORT; let a rule write it",
				  w->from->options->job_name, STR_ARG(address));
	w->address = with_port(&w->arena, address, https);
	w->t->is_delta = is_delta_path(get(w, STR("__profile_path__")));
	w->t->name = texts__hold(w->from->texts, name.n ? name : str__of(w->from->plan->name));
	return w->address.p && w->t->name ? make_url(w) : -ENOMEM;
}

/* ---- what is kept ---- */

static int check_limits(const struct work *w, struct dcm_error *err)
{
	const struct job_options *o = w->from->options;

	if (o->limits.labels && w->n > (uint64_t)o->limits.labels)
		return error__set(err, -EINVAL, "job %s: %.*s: %u labels, more than label_limit (%lld)",
				  o->job_name, STR_ARG(w->address), w->n, (long long)o->limits.labels);
	for (uint32_t i = 0; i < w->n; i++) {
		struct dcm_str name = w->v[i].name;

		if ((o->limits.label_name_bytes && name.n > (uint64_t)o->limits.label_name_bytes) ||
		    (o->limits.label_value_bytes && w->v[i].value.n > (uint64_t)o->limits.label_value_bytes))
			return error__set(err, -EINVAL,
					  "job %s: %.*s: label %.*s is longer than %s allows",
					  o->job_name, STR_ARG(w->address), STR_ARG(name),
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
static void keep_final(struct work *w)
{
	bool has_instance = get(w, STR("instance")).n > 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->n; i++)
		if (!str__starts(w->v[i].name, STR("__")))
			w->v[n++] = w->v[i];
	if (!has_instance)
		w->v[n++] = (struct dcm_label_text){ STR("instance"), w->address };
	qsort(w->v, n, sizeof(*w->v), by_name);
	w->n = n;
}

static int identify(struct work *w)
{
	const char *node = w->from->host->node ? w->from->host->node : "";
	struct target *t = w->t;
	struct buf b = { 0 };
	int r;

	buf__str(&b, text__str(t->url));
	buf__byte(&b, 0);
	buf__str(&b, text__str(t->name));
	for (uint32_t i = 0; i < w->n; i++) {
		buf__byte(&b, 0);
		buf__str(&b, w->v[i].name);
		buf__byte(&b, 1);
		buf__str(&b, w->v[i].value);
	}
	buf__byte(&b, 0);
	buf__le64(&b, (uint64_t)t->interval_ns);
	buf__le64(&b, (uint64_t)t->timeout_ns);
	t->identity = hash__bytes128(b.data, b.n);
	t->spread = hash__bytes(node, strlen(node), t->identity.lo);
	r = b.error;
	buf__fini(&b);
	return r;
}

/* What a rule or a group wrote is held to what the options may say. */
static int duration_of(const struct work *w, struct dcm_str name, const char *min, int64_t *ret,
		       struct dcm_error *err)
{
	struct dcm_str text = get(w, name);
	int64_t low = 0, high = 0;

	units__parse_duration(str__of(min), &low);
	units__parse_duration(str__of(DURATION_MAX), &high);
	if (text.n == 0 || (units__parse_duration(text, ret) == 0 && *ret >= low && *ret <= high))
		return 0;
	return error__set(err, -EINVAL, "job %s: %.*s: %.*s is \"%.*s\"; write a duration from %s to %s",
			  w->from->options->job_name, STR_ARG(get(w, STR("__address__"))),
			  STR_ARG(name), STR_ARG(text), min, DURATION_MAX);
}

static int times(const struct work *w, struct dcm_error *err)
{
	const struct profile_plan *plan = w->from->plan;
	struct target *t = w->t;
	struct dcm_str said = get_param(w, STR("seconds"));
	int64_t seconds = plan->seconds;
	int r;

	t->interval_ns = w->from->interval_ns;
	t->timeout_ns = w->from->timeout_ns;
	r = duration_of(w, STR("__scrape_interval__"), INTERVAL_MIN, &t->interval_ns, err);
	if (r == 0)
		r = duration_of(w, STR("__scrape_timeout__"), TIMEOUT_MIN, &t->timeout_ns, err);
	if (r < 0)
		return r;
	if (seconds == 0)
		seconds = t->interval_ns / SECOND_NS > 1 ? t->interval_ns / SECOND_NS - 1 : 1;
	if (!plan->delta)
		seconds = 0;
	/* Whatever is no number there is the target's to refuse; it is asked as it stands. */
	if (said.n && (units__parse_int(said, "s", &seconds) < 0 || seconds < 0 || seconds > SECONDS_MAX))
		seconds = 0;
	t->covers_ns = seconds * SECOND_NS;
	return 0;
}

static int complete(struct work *w, struct dcm_error *err)
{
	int r = times(w, err);

	if (r == 0)
		r = place(w, err);
	if (r < 0)
		return r;
	keep_final(w);
	r = check_limits(w, err);
	if (r < 0)
		return r;
	w->t->labels = labels__new(w->from->texts, w->v, w->n);
	return w->t->labels ? identify(w) : -ENOMEM;
}

static int fill(struct target *t, const struct target_source *from, struct dcm_error *err)
{
	struct work w = { .from = from, .t = t };
	int r = run_rules(&w, t->found);

	if (r == 1) {
		r = complete(&w, err);
		r = r < 0 ? r : 1;
	}
	arena__fini(&w.arena);
	if (r == -ENOMEM)
		return error__nomem(err);
	if (r == -EFBIG)
		return error__set(err, -EINVAL, "job %s: relabel_configs make too much of a target's labels, or take too long",
				  from->options->job_name);
	return r;
}

int target__new(const struct target_source *from, struct labels *found, struct target **ret,
		struct dcm_error *err)
{
	CLEANUP(target__freep) struct target *t = NEW(struct target);
	int r;

	if (!t)
		return error__nomem(err);
	t->job = from->job;
	t->plan = from->plan;
	t->found = labels__hold(found);
	r = fill(t, from, err);
	if (r == 1)
		*ret = take_ptr(t);
	return r;
}

/* As Prometheus' target.offset(): aligned to the clock, so that a restart of the same node changes nothing. */
int64_t target__next_ns(const struct target *t, int64_t now_real_ns)
{
	int64_t offset = (int64_t)(t->spread % (uint64_t)t->interval_ns);
	int64_t next = now_real_ns - now_real_ns % t->interval_ns + offset;

	return next > now_real_ns ? next : next + t->interval_ns;
}
