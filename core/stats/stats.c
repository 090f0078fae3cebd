/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/stats/stats.c - the registry: registering, updating, walking
 *
 * A series is found by the text of its sorted labels, which is also what the text format prints.
 * Counts are relaxed atomics: each is right by itself, and nothing is concluded from two of them.
 */
#include "core/stats/stats.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/stats/registry.h"

enum { SERIES_MAX = 16384, DROPS_MAX = 512, LIMIT_MAX = 1 << 20 };

const struct stats_buckets stats__seconds = {
	.first = 100000,
	.n = 10,
	.log2_factor = 2,
	.per_unit = 1000000000,
};
const struct stats_buckets stats__bytes = {
	.first = 256,
	.n = 13,
	.log2_factor = 2,
	.per_unit = 1,
};

DEFINE_CLEANUP(struct stats *, stats__free);

static void metric_free(struct stats_metric *m)
{
	if (!m)
		return;
	free(m->key);
	free(m->labels);
	free(m);
}

static void family_free(struct stats_family *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->series.n; i++)
		metric_free(f->series.v[i]);
	vec__fini(&f->series);
	free(f->name);
	free(f->help);
	free(f);
}

static struct stats_metric *refused(struct stats *s, const char *reason)
{
	return stats__counter(s, "decima_stats_refused_total", "Series that were not registered.",
			      STATS_LABELS({ "reason", reason }));
}

int stats__new(const struct stats_limits *limits, struct stats **ret)
{
	CLEANUP(stats__freep) struct stats *s = NEW(struct stats);
	uint32_t max_drops = limits && limits->max_drops ? limits->max_drops : DROPS_MAX;
	uint32_t max_series = limits && limits->max_series ? limits->max_series : SERIES_MAX;

	if (!s)
		return -ENOMEM;
	if (pthread_mutex_init(&s->mutex, NULL)) {
		free(take_ptr(s));
		return -ENOMEM;
	}
	s->max_series = LIMIT_MAX; /* what the registry itself needs is never refused */
	s->refused_invalid = refused(s, "invalid");
	s->refused_limit = refused(s, "limit");
	s->refused_memory = refused(s, "memory");
	if (!s->refused_invalid || !s->refused_limit || !s->refused_memory)
		return -ENOMEM;
	if (drops__init(s, max_drops < LIMIT_MAX ? max_drops : LIMIT_MAX))
		return -ENOMEM;
	s->max_series = max_series < LIMIT_MAX ? max_series : LIMIT_MAX;
	*ret = take_ptr(s);
	return 0;
}

void stats__free(struct stats *s)
{
	if (!s)
		return;
	drops__fini(s);
	for (size_t i = 0; i < s->families.n; i++)
		family_free(s->families.v[i]);
	vec__fini(&s->families);
	pthread_mutex_destroy(&s->mutex);
	free(s);
}

/* ---- finding --------------------------------------------------------------------------------- */

/* Where the text stands among n that are sorted, or would stand; at(list, i) is the i-th. */
static size_t find_text(const void *list, size_t n, const char *(*at)(const void *list, size_t i),
			const char *text, bool *ret_found)
{
	size_t low = 0, high = n;

	*ret_found = false;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = strcmp(at(list, mid), text);

		if (order == 0) {
			*ret_found = true;
			return mid;
		}
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static const char *family_name(const void *families, size_t i)
{
	return ((struct stats_family *const *)families)[i]->name;
}

static const char *series_key(const void *series, size_t i)
{
	return ((struct stats_metric *const *)series)[i]->key;
}

static size_t find_family(const struct stats *s, const char *name, bool *ret_found)
{
	return find_text(s->families.v, s->families.n, family_name, name, ret_found);
}

static size_t find_series(const struct stats_family *f, const char *key, bool *ret_found)
{
	return find_text(f->series.v, f->series.n, series_key, key, ret_found);
}

/* ---- labels ---------------------------------------------------------------------------------- */

static bool is_name(const char *name, bool colon)
{
	size_t n = strnlen(name, STATS_NAME_MAX + 1);

	if (n == 0 || n > STATS_NAME_MAX || (name[0] >= '0' && name[0] <= '9'))
		return false;
	for (size_t i = 0; i < n; i++) {
		char c = name[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      c == '_' || (colon && c == ':')))
			return false;
	}
	return true;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct stats_label *)a)->name, ((const struct stats_label *)b)->name);
}

/* Copies the labels into sorted[STATS_LABELS_MAX]; texts stay the caller's. 0 or -EINVAL. */
static int sort_labels(const struct stats_label *labels, size_t n, enum stats_kind kind,
		       struct stats_label *sorted)
{
	if (n > STATS_LABELS_MAX)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (!is_name(labels[i].name, false) || strncmp(labels[i].name, "__", 2) == 0)
			return -EINVAL;
		if (kind == STATS_HISTOGRAM && strcmp(labels[i].name, "le") == 0)
			return -EINVAL;
		sorted[i] = labels[i];
		if (!sorted[i].value)
			sorted[i].value = "";
	}
	if (n)
		qsort(sorted, n, sizeof(*sorted), by_name);
	for (size_t i = 1; i < n; i++)
		if (strcmp(sorted[i - 1].name, sorted[i].name) == 0)
			return -EINVAL;
	return 0;
}

static size_t value_bytes(const char *value)
{
	size_t n = strnlen(value, STATS_VALUE_MAX + 1);

	return n > STATS_VALUE_MAX ? str__utf8_cut(value, STATS_VALUE_MAX) : n;
}

static void escape_value(struct buf *b, const char *value, size_t n)
{
	unsigned len;

	for (size_t i = 0; i < n; i += len) {
		len = str__utf8_len(value + i, n - i);
		if (len == 0) {
			buf__text(b, "\xef\xbf\xbd");
			len = 1;
		} else if (value[i] == '\n') {
			buf__text(b, "\\n");
		} else {
			if (value[i] == '\\' || value[i] == '"')
				buf__byte(b, '\\');
			buf__append(b, value + i, len);
		}
	}
}

/* The labels as the text format writes them between the braces; NULL when memory ran out. */
static char *make_key(const struct stats_label *sorted, size_t n)
{
	struct buf b = { 0 };
	size_t ignored;

	buf__text(&b, "");
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf__byte(&b, ',');
		buf__text(&b, sorted[i].name);
		buf__text(&b, "=\"");
		escape_value(&b, sorted[i].value, value_bytes(sorted[i].value));
		buf__byte(&b, '"');
	}
	if (b.error) {
		buf__fini(&b);
		return NULL;
	}
	return (char *)buf__take(&b, &ignored);
}

/* Labels and their texts in one block. */
static struct stats_label *copy_labels(const struct stats_label *sorted, size_t n)
{
	size_t n_text = 0;
	struct stats_label *copy;
	char *text;

	for (size_t i = 0; i < n; i++)
		n_text += strlen(sorted[i].name) + value_bytes(sorted[i].value) + 2;
	copy = mem__zalloc(1, n * sizeof(*copy) + n_text);
	if (!copy)
		return NULL;
	text = (char *)(copy + n);
	for (size_t i = 0; i < n; i++) {
		size_t n_name = strlen(sorted[i].name), n_value = value_bytes(sorted[i].value);

		copy[i].name = memcpy(text, sorted[i].name, n_name);
		copy[i].value = memcpy(text + n_name + 1, sorted[i].value, n_value);
		text += n_name + n_value + 2;
	}
	return copy;
}

/* ---- registering ----------------------------------------------------------------------------- */

static int check_def(const struct stats_def *def)
{
	const struct stats_buckets *b = def->buckets;
	unsigned shift;

	if (!def->name || !is_name(def->name, true))
		return -EINVAL;
	if (def->kind != STATS_HISTOGRAM)
		return b ? -EINVAL : 0;
	if (!b || def->read || b->first == 0 || b->n == 0 || b->n > STATS_BUCKETS_MAX)
		return -EINVAL;
	if (b->log2_factor == 0 || b->per_unit == 0)
		return -EINVAL;
	shift = (b->n - 1u) * b->log2_factor; /* the largest bound must be a number */
	return shift > 63 || b->first > UINT64_MAX >> shift ? -EINVAL : 0;
}

static struct stats_family *family_new(const struct stats_def *def)
{
	const char *help = def->help ? def->help : "";
	struct stats_family *f = NEW(struct stats_family);

	if (!f)
		return NULL;
	f->kind = def->kind;
	f->buckets = def->buckets;
	f->name = mem__dup_str(def->name, strlen(def->name));
	f->help = mem__dup_str(help, strlen(help));
	if (f->name && f->help)
		return f;
	family_free(f);
	return NULL;
}

static struct stats_metric *metric_new(const struct stats_def *def,
				       const struct stats_label *sorted, size_t n_labels)
{
	size_t n_buckets = def->buckets ? def->buckets->n + 1u : 0;
	struct stats_metric *m;

	m = mem__zalloc(1, sizeof(*m) + n_buckets * sizeof(m->buckets[0]));
	if (!m)
		return NULL;
	m->labels = copy_labels(sorted, n_labels);
	m->key = make_key(sorted, n_labels);
	m->n_labels = n_labels;
	m->read = def->read;
	m->ctx = def->ctx;
	m->n_owners = 1;
	if (m->labels && m->key)
		return m;
	metric_free(m);
	return NULL;
}

/* Puts a fresh series into its family at `at`; the family stays the registry's. */
static int insert_series(struct stats *s, struct stats_family *f, size_t at, struct stats_metric *m)
{
	if (s->n_series >= s->max_series || f->series.n > s->max_series / 4)
		return -ENOSPC;
	if (!vec__reserve(&f->series, 1))
		return -ENOMEM;
	memmove(f->series.v + at + 1, f->series.v + at, (f->series.n - at) * sizeof(f->series.v[0]));
	f->series.v[at] = m;
	f->series.n++;
	s->n_series++;
	m->family = f;
	return 0;
}

static int insert_family(struct stats *s, size_t at, struct stats_family *f)
{
	if (!vec__reserve(&s->families, 1))
		return -ENOMEM;
	memmove(s->families.v + at + 1, s->families.v + at,
		(s->families.n - at) * sizeof(s->families.v[0]));
	s->families.v[at] = f;
	s->families.n++;
	return 0;
}

static void remove_family_if_empty(struct stats *s, size_t at)
{
	struct stats_family *f = s->families.v[at];

	if (f->series.n > 0)
		return;
	s->families.n--;
	memmove(s->families.v + at, s->families.v + at + 1,
		(s->families.n - at) * sizeof(s->families.v[0]));
	family_free(f);
}

/* The family of this definition, made when new. */
static int family_for(struct stats *s, const struct stats_def *def, size_t *ret_at)
{
	struct stats_family *f;
	bool found;
	size_t at = find_family(s, def->name, &found);
	int rc;

	*ret_at = at;
	if (found) {
		f = s->families.v[at];
		return f->kind == def->kind && f->buckets == def->buckets ? 0 : -EEXIST;
	}
	f = family_new(def);
	if (!f)
		return -ENOMEM;
	rc = insert_family(s, at, f);
	if (rc)
		family_free(f);
	return rc;
}

int registry__add(struct stats *s, const struct stats_def *def, const struct stats_label *labels,
		  size_t n_labels, struct stats_metric **ret)
{
	struct stats_label sorted[STATS_LABELS_MAX];
	struct stats_metric *m, *old;
	struct stats_family *f;
	size_t at_family, at;
	bool found;
	int rc = check_def(def);

	if (!rc)
		rc = sort_labels(labels, n_labels, def->kind, sorted);
	if (rc)
		return rc;
	m = metric_new(def, sorted, n_labels);
	if (!m)
		return -ENOMEM;
	rc = family_for(s, def, &at_family);
	if (rc) {
		metric_free(m);
		return rc;
	}
	f = s->families.v[at_family];
	at = find_series(f, m->key, &found);
	if (found) {
		metric_free(m);
		old = f->series.v[at];
		if (old->read || def->read) /* two owners cannot both be asked */
			return -EEXIST;
		old->n_owners++;
		*ret = old;
		return 0;
	}
	rc = insert_series(s, f, at, m);
	if (rc) {
		metric_free(m);
		remove_family_if_empty(s, at_family);
		return rc;
	}
	*ret = m;
	return 0;
}

struct stats_metric *stats__register(struct stats *s, const struct stats_def *def,
				     const struct stats_label *labels, size_t n_labels)
{
	struct stats_metric *m = NULL;
	int rc;

	pthread_mutex_lock(&s->mutex);
	rc = registry__add(s, def, labels, n_labels, &m);
	pthread_mutex_unlock(&s->mutex);
	if (rc == -ENOMEM)
		stats__counter_add(s->refused_memory, 1);
	else if (rc == -ENOSPC)
		stats__counter_add(s->refused_limit, 1);
	else if (rc)
		stats__counter_add(s->refused_invalid, 1);
	return m;
}

struct stats_metric *stats__counter(struct stats *s, const char *name, const char *help,
				    const struct stats_label *labels, size_t n_labels)
{
	struct stats_def def = { .kind = STATS_COUNTER, .name = name, .help = help };

	return stats__register(s, &def, labels, n_labels);
}

struct stats_metric *stats__gauge(struct stats *s, const char *name, const char *help,
				  const struct stats_label *labels, size_t n_labels)
{
	struct stats_def def = { .kind = STATS_GAUGE, .name = name, .help = help };

	return stats__register(s, &def, labels, n_labels);
}

void stats__unregister(struct stats *s, struct stats_metric *m)
{
	struct stats_family *f;
	size_t at, at_family;
	bool found;

	if (!m)
		return;
	pthread_mutex_lock(&s->mutex);
	assert(m->n_owners > 0);
	if (--m->n_owners == 0) {
		f = m->family;
		at = find_series(f, m->key, &found);
		assert(found);
		f->series.n--;
		memmove(f->series.v + at, f->series.v + at + 1,
			(f->series.n - at) * sizeof(f->series.v[0]));
		s->n_series--;
		metric_free(m);
		at_family = find_family(s, f->name, &found);
		remove_family_if_empty(s, at_family);
	}
	pthread_mutex_unlock(&s->mutex);
}

/* ---- updating -------------------------------------------------------------------------------- */

static double double_of(uint64_t bits)
{
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

static uint64_t bits_of(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits;
}

void stats__counter_add(struct stats_metric *m, uint64_t n)
{
	if (m && m->family->kind == STATS_COUNTER)
		atomic_fetch_add_explicit(&m->value, n, memory_order_relaxed);
}

void stats__gauge_set(struct stats_metric *m, double v)
{
	if (m && m->family->kind == STATS_GAUGE)
		atomic_store_explicit(&m->value, bits_of(v), memory_order_relaxed);
}

void stats__gauge_add(struct stats_metric *m, double v)
{
	uint64_t old;

	if (!m || m->family->kind != STATS_GAUGE)
		return;
	old = atomic_load_explicit(&m->value, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&m->value, &old, bits_of(double_of(old) + v),
						      memory_order_relaxed, memory_order_relaxed))
		;
}

/* The first bucket whose bound is not below v: bounds are first * 2^(log2_factor * i). */
static unsigned bucket_of(const struct stats_buckets *b, uint64_t v)
{
	uint64_t over = v ? (v - 1) / b->first : 0; /* v <= first * 2^k  <=>  over < 2^k */
	unsigned bits = over ? 64 - (unsigned)__builtin_clzll(over) : 0;
	unsigned i = (bits + b->log2_factor - 1) / b->log2_factor;

	return i < b->n ? i : b->n;
}

void stats__histogram_observe(struct stats_metric *m, uint64_t v)
{
	if (!m || m->family->kind != STATS_HISTOGRAM)
		return;
	atomic_fetch_add_explicit(&m->buckets[bucket_of(m->family->buckets, v)], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&m->value, v, memory_order_relaxed);
}

/* ---- reading --------------------------------------------------------------------------------- */

double stats__bound(const struct stats_buckets *layout, unsigned i)
{
	return (double)(layout->first << (i * layout->log2_factor)) / layout->per_unit;
}

/* Fills the view of one series; buckets[] holds STATS_BUCKETS_MAX + 1. */
static void view_of(struct stats_metric *m, uint64_t *buckets, struct stats_view *ret)
{
	const struct stats_family *f = m->family;
	uint64_t raw = atomic_load_explicit(&m->value, memory_order_relaxed);
	struct stats_view view = {
		.name = f->name,
		.help = f->help,
		.kind = f->kind,
		.labels = m->labels,
		.n_labels = m->n_labels,
		.labels_text = m->key,
		.layout = f->buckets,
	};

	if (m->read) {
		view.value = m->read(m->ctx);
	} else if (f->kind == STATS_GAUGE) {
		view.value = double_of(raw);
	} else if (f->kind == STATS_COUNTER) {
		view.value = (double)raw;
		view.count = raw;
		view.is_exact = true;
	} else {
		view.value = (double)raw / f->buckets->per_unit;
		view.buckets = buckets;
		for (unsigned i = 0; i <= f->buckets->n; i++) {
			buckets[i] = atomic_load_explicit(&m->buckets[i], memory_order_relaxed);
			view.count += buckets[i];
		}
	}
	*ret = view;
}

void stats__each(struct stats *s, stats_view_fn fn, void *ctx)
{
	uint64_t buckets[STATS_BUCKETS_MAX + 1];
	struct stats_view view;

	pthread_mutex_lock(&s->mutex);
	for (size_t i = 0; i < s->families.n; i++) {
		const struct stats_family *f = s->families.v[i];

		for (size_t j = 0; j < f->series.n; j++) {
			view_of(f->series.v[j], buckets, &view);
			fn(ctx, &view);
		}
	}
	pthread_mutex_unlock(&s->mutex);
}

double stats__value(struct stats *s, const char *name, const struct stats_label *labels, size_t n_labels)
{
	struct stats_label sorted[STATS_LABELS_MAX];
	uint64_t buckets[STATS_BUCKETS_MAX + 1];
	struct stats_view view = { .value = 0 };
	CLEANUP(mem__freep) char *key = NULL;
	const struct stats_family *f;
	size_t at;
	bool found;

	if (sort_labels(labels, n_labels, STATS_COUNTER, sorted))
		return 0;
	key = make_key(sorted, n_labels);
	if (!key)
		return 0;
	pthread_mutex_lock(&s->mutex);
	at = find_family(s, name, &found);
	if (found) {
		f = s->families.v[at];
		at = find_series(f, key, &found);
		if (found)
			view_of(f->series.v[at], buckets, &view);
	}
	pthread_mutex_unlock(&s->mutex);
	return view.value;
}
