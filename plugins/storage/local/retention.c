/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/retention.c - until when each type of profile is kept, by the store's options
 */
#include "plugins/storage/local/retention.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/storage/local/age.h"

static bool is_of(struct dcm_str type, const char *rule)
{
	const struct dcm_str r = str__of(rule);

	return str__starts(type, r) && (type.n == r.n || type.p[r.n] == ':');
}

/* Of the rules that a type has the longest counts. than: NULL, or the longest so far. */
static bool fits_closer(struct dcm_str type, const char *rule, const char *than)
{
	return is_of(type, rule) && (!than || strlen(rule) > strlen(than));
}

static const struct retention_age *find_age(const struct retention *r, struct dcm_str type)
{
	const struct retention_age *found = NULL;

	for (size_t i = 0; i < r->ages.n; i++) {
		const struct retention_age *a = &r->ages.v[i];

		if (fits_closer(type, a->rule, found ? found->rule : NULL))
			found = a;
	}
	return found;
}

static struct retention_bound *find_bound(const struct retention *r, struct dcm_str type)
{
	struct retention_bound *found = NULL;

	for (size_t i = 0; i < r->bounds.n; i++) {
		struct retention_bound *b = &r->bounds.v[i];

		if (fits_closer(type, b->rule, found ? found->rule : NULL))
			found = b;
	}
	return found;
}

int64_t retention__cutoff(const struct retention *r, struct dcm_str type)
{
	const struct retention_age *a = find_age(r, type);
	const struct retention_bound *b = find_bound(r, type);
	const int64_t ms = a ? a->cutoff_ms : r->default_ms;

	return b && b->cutoff_ms > ms ? b->cutoff_ms : ms;
}

/* -------------------------------------------------------------------------------------------------
 * The rules
 */

static int add_age(struct retention *r, const char *rule, int64_t cutoff_ms)
{
	const struct retention_age a = { mem__dup_str(rule, strlen(rule)), cutoff_ms };

	if (!a.rule || !vec__push(&r->ages, a)) {
		free(a.rule);
		return -ENOMEM;
	}
	r->first_ms = cutoff_ms < r->first_ms ? cutoff_ms : r->first_ms;
	r->last_ms = cutoff_ms > r->last_ms ? cutoff_ms : r->last_ms;
	return 0;
}

static int add_bound(struct retention *r, const char *rule, int64_t max_bytes)
{
	const struct retention_bound b = { .rule = mem__dup_str(rule, strlen(rule)),
					   .max_bytes = (uint64_t)max_bytes,
					   .cutoff_ms = INT64_MIN };

	if (b.rule && vec__push(&r->bounds, b))
		return 0;
	free(b.rule);
	return -ENOMEM;
}

int retention__take(struct retention *r, struct store *s)
{
	const struct dcm_map *kept = &s->options.retention_by_type,
			     *bounds = &s->options.max_bytes_by_type;
	const int64_t *ns = kept->items, *bytes = bounds->items;
	int e = 0;

	age__note(s);
	const int64_t cutoff_ms = age__cutoff(s, s->options.retention_ms);
	*r = (struct retention){ .default_ms = cutoff_ms, .first_ms = cutoff_ms, .last_ms = cutoff_ms };
	for (uint32_t i = 0; e == 0 && i < kept->n; i++)
		e = add_age(r, kept->keys[i], age__cutoff(s, ns[i] / 1000000));
	for (uint32_t i = 0; e == 0 && i < bounds->n; i++)
		e = add_bound(r, bounds->keys[i], bytes[i]);
	return e;
}

void retention__fini(struct retention *r)
{
	for (size_t i = 0; i < r->ages.n; i++)
		free(r->ages.v[i].rule);
	for (size_t i = 0; i < r->bounds.n; i++) {
		free(r->bounds.v[i].rule);
		vec__fini(&r->bounds.v[i].portions);
	}
	vec__fini(&r->ages);
	vec__fini(&r->bounds);
}

/* -------------------------------------------------------------------------------------------------
 * Bounds
 */

int retention__add(struct retention *r, struct dcm_str type, const struct manifest_block *block,
		   uint64_t bytes)
{
	struct retention_bound *b = find_bound(r, type);
	const struct retain_portion p = { block->first_ms, block->last_ms, bytes };

	return !b || vec__push(&b->portions, p) ? 0 : -ENOMEM;
}

void retention__end(struct retention *r)
{
	for (size_t i = 0; i < r->bounds.n; i++) {
		struct retention_bound *b = &r->bounds.v[i];

		b->cutoff_ms = retain__bound(b->portions.v, b->portions.n, b->max_bytes);
		r->last_ms = b->cutoff_ms > r->last_ms ? b->cutoff_ms : r->last_ms;
	}
}
