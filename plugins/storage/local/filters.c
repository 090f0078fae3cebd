/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/filters.c - filters, and their bytes in the manifest
 *
 * A new filter is written as a record and read back, as every later start reads it.
 */
#include "plugins/storage/local/filters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/le.h"
#include "core/base/mem.h"
#include "plugins/storage/local/extras.h"

enum { HEAD_BYTES = 8, RECORD_BYTES = 56, MATCHER_BYTES = 16 };

void filter__unref(struct filter *f)
{
	if (!f || atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (uint32_t i = 0; f->matchers && i < f->select.n_matchers; i++)
		f->host->regex_free((struct dcm_regex *)f->matchers[i].regex);
	free(f->matchers);
	free(f->record);
	free(f->blocks);
	free(f);
}
DEFINE_CLEANUP(struct filter *, filter__unref);

/* -------------------------------------------------------------------------------------------------
 * Records
 */

static size_t padded(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

static size_t text_bytes(const struct dcm_select *sel)
{
	size_t n = sel->type.n;

	for (uint32_t i = 0; i < sel->n_matchers; i++)
		n += (size_t)sel->matchers[i].name.n + sel->matchers[i].value.n;
	return n;
}

static void put_record(struct buf *b, const struct filter_parts *p)
{
	static const uint8_t zeros[8];
	const struct dcm_select *sel = p->select;
	const size_t n = text_bytes(sel);

	buf__le64(b, p->lsn);
	buf__le64(b, p->before_block);
	buf__le64(b, (uint64_t)p->made_ms);
	buf__le64(b, (uint64_t)sel->from_ms);
	buf__le64(b, (uint64_t)sel->to_ms);
	buf__le32(b, sel->type.n);
	buf__le32(b, sel->n_matchers);
	buf__le32(b, (uint32_t)n);
	buf__le32(b, p->n_blocks);
	for (uint32_t i = 0; i < sel->n_matchers; i++) {
		buf__le32(b, sel->matchers[i].op);
		buf__le32(b, sel->matchers[i].name.n);
		buf__le32(b, sel->matchers[i].value.n);
		buf__le32(b, 0);
	}
	buf__str(b, sel->type);
	for (uint32_t i = 0; i < sel->n_matchers; i++) {
		buf__str(b, sel->matchers[i].name);
		buf__str(b, sel->matchers[i].value);
	}
	buf__append(b, zeros, padded(n) - n);
	for (uint32_t i = 0; i < p->n_blocks; i++)
		buf__le64(b, p->blocks[i]);
}

/* How long the record is; 0 when its head breaks a rule. */
static size_t record_size(const uint8_t *p, size_t n)
{
	size_t size = RECORD_BYTES;

	if (n < RECORD_BYTES || le__get32(p + 44) > FILTER_MATCHERS_MAX ||
	    le__get32(p + 48) > FILTER_TEXT_MAX)
		return 0;
	size += le__get32(p + 44) * (size_t)MATCHER_BYTES + padded(le__get32(p + 48)) +
		le__get32(p + 52) * (size_t)8;
	return size <= n ? size : 0;
}

/* The next n bytes of the texts; false when there are fewer. */
static bool take_text(struct dcm_str *texts, uint32_t n, struct dcm_str *ret)
{
	if (n > texts->n)
		return false;
	*ret = (struct dcm_str){ texts->p, n };
	texts->p += n;
	texts->n -= n;
	return true;
}

static int get_matcher(struct filter *f, uint32_t i, struct dcm_str *texts, struct dcm_error *err)
{
	const uint8_t *p = f->record + RECORD_BYTES + (size_t)i * MATCHER_BYTES;
	struct dcm_matcher *m = &f->matchers[i];
	struct dcm_regex *regex = NULL;
	int r = 0;

	m->op = le__get32(p);
	if (m->op > DCM_NRE || !take_text(texts, le__get32(p + 4), &m->name) ||
	    !take_text(texts, le__get32(p + 8), &m->value))
		return error__set(err, -EUCLEAN, "a filter's matcher is not one");
	if (m->op == DCM_RE || m->op == DCM_NRE)
		r = f->host->regex_new(f->host, m->value, &regex, err);
	m->regex = regex;
	return r;
}

static int get_blocks(struct filter *f, const uint8_t *p, struct dcm_error *err)
{
	f->blocks = mem__zalloc(f->n_blocks ? f->n_blocks : 1, sizeof(*f->blocks));
	if (!f->blocks)
		return error__nomem(err);
	for (uint32_t i = 0; i < f->n_blocks; i++) {
		f->blocks[i] = le__get64(p + (size_t)i * 8);
		if (f->blocks[i] >= f->before_block || (i && f->blocks[i] <= f->blocks[i - 1]))
			return error__set(err, -EUCLEAN, "a filter's list of blocks is not one");
	}
	return 0;
}

/* Takes a record over that has the size it says. */
static int from_record(const struct dcm_host *host, uint8_t *record, size_t n, struct filter **ret,
		       struct dcm_error *err)
{
	CLEANUP(filter__unrefp) struct filter *f = NEW(struct filter);
	const uint8_t *p = record;

	if (!f) {
		free(record);
		return error__nomem(err);
	}
	f->refs = 1;
	f->host = host;
	f->record = record;
	f->n_record = n;
	f->lsn = le__get64(p);
	f->before_block = le__get64(p + 8);
	f->made_ms = (int64_t)le__get64(p + 16);
	f->n_blocks = le__get32(p + 52);
	const uint32_t n_matchers = le__get32(p + 44);
	f->matchers = mem__zalloc(n_matchers ? n_matchers : 1, sizeof(*f->matchers));
	if (!f->matchers)
		return error__nomem(err);
	f->select = (struct dcm_select){ .size = sizeof(f->select),
					 .matchers = f->matchers,
					 .n_matchers = n_matchers,
					 .from_ms = (int64_t)le__get64(p + 24),
					 .to_ms = (int64_t)le__get64(p + 32) };
	p += RECORD_BYTES + n_matchers * (size_t)MATCHER_BYTES;
	struct dcm_str texts = { (const char *)p, le__get32(record + 48) };
	p += padded(texts.n);
	int r = take_text(&texts, le__get32(record + 40), &f->select.type)
			? 0
			: error__set(err, -EUCLEAN, "a filter's type is not one");
	for (uint32_t i = 0; r == 0 && i < n_matchers; i++)
		r = get_matcher(f, i, &texts, err);
	if (r == 0)
		r = get_blocks(f, p, err);
	if (r == 0)
		*ret = take_ptr(f);
	return r;
}

int filter__new(const struct dcm_host *host, const struct filter_parts *parts, struct filter **ret,
		struct dcm_error *err)
{
	struct buf b = { 0 };
	size_t n;

	if (parts->select->n_matchers > FILTER_MATCHERS_MAX || text_bytes(parts->select) > FILTER_TEXT_MAX)
		return error__set(err, -E2BIG, "a removal with more than %d matchers, or %d KiB of text, is too long",
				  FILTER_MATCHERS_MAX, FILTER_TEXT_MAX >> 10);
	put_record(&b, parts);
	if (b.error) {
		buf__fini(&b);
		return error__nomem(err);
	}
	uint8_t *record = buf__take(&b, &n);
	return from_record(host, record, n, ret, err);
}

/* -------------------------------------------------------------------------------------------------
 * Sets
 */

struct filters *filters__ref(struct filters *s)
{
	if (s)
		atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

void filters__unref(struct filters *s)
{
	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (uint32_t i = 0; i < s->n; i++)
		filter__unref(s->v[i]);
	free(s->selects);
	free(s);
}

struct filters *filters__of(struct filter *const *v, uint32_t n)
{
	struct filters *s = n ? mem__zalloc(1, sizeof(*s) + n * sizeof(s->v[0])) : NULL;

	if (!s)
		return NULL;
	s->refs = 1;
	s->selects = mem__zalloc(n, sizeof(*s->selects));
	if (!s->selects) {
		free(s);
		return NULL;
	}
	for (; s->n < n; s->n++) {
		atomic_fetch_add_explicit(&v[s->n]->refs, 1, memory_order_relaxed);
		s->v[s->n] = v[s->n];
		s->selects[s->n] = v[s->n]->select;
	}
	return s;
}

uint32_t filters__first(const struct filters *s, uint64_t block)
{
	uint32_t i = 0;

	while (i < filters__n(s) && s->v[i]->before_block <= block)
		i++;
	return i;
}

static int compare_numbers(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

bool filter__lists(const struct filter *f, uint64_t block)
{
	return bsearch(&block, f->blocks, f->n_blocks, sizeof(block), compare_numbers);
}

bool filters__list(const struct filters *s, uint64_t block)
{
	for (uint32_t i = filters__first(s, block); i < filters__n(s); i++)
		if (filter__lists(s->v[i], block))
			return true;
	return false;
}

/* -------------------------------------------------------------------------------------------------
 * The extra
 */

int filters__write(struct manifest *m, const struct filters *s)
{
	struct buf b = { .limit = MANIFEST_MAX_BYTES / 4 };

	if (!filters__n(s))
		return manifest__set_extra(m, EXTRA_FILTERS, NULL, 0);
	buf__le32(&b, s->n);
	buf__le32(&b, 0);
	for (uint32_t i = 0; i < s->n; i++)
		buf__append(&b, s->v[i]->record, s->v[i]->n_record);
	int r = b.error ? b.error : manifest__set_extra(m, EXTRA_FILTERS, b.data, b.n);
	buf__fini(&b);
	return r;
}

struct reading {
	const struct dcm_host *host;
	struct filter *v[FILTERS_MAX];
	uint32_t n;
};

static int read_record(struct reading *g, const uint8_t **p, size_t *n, struct dcm_error *err)
{
	const size_t size = record_size(*p, *n);
	struct filter *f = NULL;

	if (!size)
		return error__set(err, -EUCLEAN, "a filter is cut short");
	uint8_t *record = mem__dup(*p, size);
	int r = record ? from_record(g->host, record, size, &f, err) : error__nomem(err);
	if (r)
		return r;
	g->v[g->n++] = f;
	*p += size;
	*n -= size;
	if (g->n > 1 && (f->before_block < g->v[g->n - 2]->before_block || f->lsn < g->v[g->n - 2]->lsn))
		return error__set(err, -EUCLEAN, "filters are out of order");
	return 0;
}

int filters__read(const struct manifest *m, const struct dcm_host *host, struct filters **ret,
		  struct dcm_error *err)
{
	const struct manifest_extra *extra = manifest__extra(m, EXTRA_FILTERS);
	struct reading g = { .host = host };
	struct dcm_error own = DCM_ERROR_INIT;
	struct filters *s = NULL;
	int r = 0;

	if (!extra)
		return 0;
	const uint32_t n_filters = extra->n < HEAD_BYTES ? 0 : le__get32(extra->bytes);
	const uint8_t *p = extra->bytes + HEAD_BYTES;
	size_t n = extra->n < HEAD_BYTES ? 0 : extra->n - HEAD_BYTES;

	if (n_filters == 0 || n_filters > FILTERS_MAX)
		r = error__set(&own, -EUCLEAN, "%u filters", n_filters);
	while (r == 0 && g.n < n_filters)
		r = read_record(&g, &p, &n, &own);
	if (r == 0 && n)
		r = error__set(&own, -EUCLEAN, "bytes behind the last filter");
	if (r == 0 && !(s = filters__of(g.v, g.n)))
		r = error__nomem(&own);
	for (uint32_t i = 0; i < g.n; i++)
		filter__unref(g.v[i]);
	if (r)
		return error__set(err, r == -ENOMEM ? r : -EUCLEAN,
				  MANIFEST_PATH
				  ": what was removed cannot be told: %s; restore it from a backup",
				  own.text);
	*ret = s;
	return 0;
}
