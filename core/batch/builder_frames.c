/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/batch/builder_frames.c - adding what a stack is made of: strings to stacks
 *
 * Strings, mappings, functions, processes, locations, stacks, in the order in which they refer to
 * each other. Single-threaded, like the builder.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/batch/builder_private.h"
#include "core/batch/check.h"

/* -------------------------------------------------------------------------------------------------
 * Strings, mappings, functions, processes
 */

/* Adds text that is not well-formed, with U+FFFD for each byte that belongs to no character. */
static uint32_t add_repaired(struct dcm_builder *b, struct dcm_str s)
{
	char *text = malloc((size_t)s.n * 3);
	if (!text) {
		builder__fail_nomem(b);
		return INTERN_NONE;
	}
	uint32_t n = 0;
	for (uint32_t i = 0; i < s.n;) {
		unsigned len = str__utf8_len(s.p + i, s.n - i);
		memcpy(text + n, len ? s.p + i : "\xef\xbf\xbd", len ? len : 3);
		n += len ? len : 3;
		i += len ? len : 1;
	}
	uint32_t id = intern__add(&b->t.strings, (struct dcm_str){ text, n });
	free(text);
	return id;
}

static bool is_ascii(struct dcm_str s)
{
	uint32_t i = 0;

	for (; i + 8 <= s.n; i += 8) {
		uint64_t eight;
		memcpy(&eight, s.p + i, sizeof(eight));
		if (eight & 0x8080808080808080u)
			return false;
	}
	for (; i < s.n; i++)
		if (s.p[i] & 0x80)
			return false;
	return true;
}

uint32_t builder__string(struct dcm_builder *b, struct dcm_str s)
{
	return unlikely(b->code) ? 0 : builder__string_fetched(b, s, intern__hash(&b->t.strings, s));
}

uint64_t builder__fetch_string(const struct dcm_builder *b, struct dcm_str s)
{
	if (unlikely(b->code))
		return 0;
	uint64_t h = intern__hash(&b->t.strings, s);
	hindex__prefetch(&b->t.strings.index, h);
	return h;
}

uint32_t builder__string_fetched(struct dcm_builder *b, struct dcm_str s, uint64_t h)
{
	if (unlikely(b->code))
		return 0;
	uint32_t id = intern__find_hashed(&b->t.strings, s, h);
	if (id != INTERN_NONE)
		return id;

	if (s.n > STRING_MAX_BYTES) {
		builder__fail(b, -E2BIG, "string %u: %u bytes, more than the limit of %u",
			      b->t.strings.n, s.n, (unsigned)STRING_MAX_BYTES);
		return 0;
	}
	if (s.n >= builder__bytes_left(b) || b->t.strings.n >= ENTRIES_MAX) {
		builder__fail_full(b);
		return 0;
	}
	if (is_ascii(s) || str__is_utf8(s))
		id = intern__add_new(&b->t.strings, s, h);
	else
		id = add_repaired(b, s);
	if (id == INTERN_NONE)
		builder__fail_nomem(b);
	else if (builder__bytes(b) > b->max_bytes)
		builder__fail_full(b);
	return b->code ? 0 : id;
}

static bool mapping_is(const struct tables *t, uint32_t row, const void *key)
{
	const struct dcm_mapping *a = &t->mappings.v[row], *m = key;

	return a->start == m->start && a->limit == m->limit && a->offset == m->offset &&
	       a->file == m->file && a->build_id == m->build_id && a->kind == m->kind;
}

uint32_t builder__mapping(struct dcm_builder *b, const struct dcm_mapping *m)
{
	const uint64_t key[] = { m->start, m->limit, m->offset, m->file, m->build_id, m->kind };
	uint64_t h = hash__bytes(key, sizeof(key), b->seed);
	struct tables *t = &b->t;

	if (unlikely(b->code))
		return 0;
	uint32_t row = find(b, IX_MAPPINGS, h, mapping_is, m);
	if (row != HINDEX_NONE)
		return row;
	if (!builder__passed(b, check__mapping(t, m, &b->error)) || !ROOM(b, &t->mappings, 1) ||
	    !builder__enter(b, IX_MAPPINGS, h, t->mappings.n))
		return 0;
	t->mappings.v[t->mappings.n] = *m;
	return (uint32_t)t->mappings.n++;
}

static bool function_is(const struct tables *t, uint32_t row, const void *key)
{
	const struct dcm_function *a = &t->functions.v[row], *f = key;

	return a->name == f->name && a->system_name == f->system_name && a->file == f->file &&
	       a->start_line == f->start_line;
}

/* A system_name equal to the name is none. */
static uint32_t system_name_of(const struct dcm_function *f)
{
	return f->system_name == f->name ? 0 : f->system_name;
}

static uint64_t function_hash(const struct dcm_builder *b, const struct dcm_function *f)
{
	const uint64_t key[] = { f->name, system_name_of(f), f->file, (uint64_t)f->start_line };

	return hash__bytes(key, sizeof(key), b->seed);
}

uint32_t builder__function(struct dcm_builder *b, const struct dcm_function *f)
{
	return builder__function_fetched(b, f, function_hash(b, f));
}

uint64_t builder__fetch_function(const struct dcm_builder *b, const struct dcm_function *f)
{
	uint64_t h = function_hash(b, f);

	hindex__prefetch(&b->indexes[IX_FUNCTIONS], h);
	return h;
}

uint32_t builder__function_fetched(struct dcm_builder *b, const struct dcm_function *given, uint64_t h)
{
	struct dcm_function f = *given;
	struct tables *t = &b->t;

	if (unlikely(b->code))
		return 0;
	f.system_name = system_name_of(given);
	uint32_t row = find(b, IX_FUNCTIONS, h, function_is, &f);
	if (row != HINDEX_NONE)
		return row;
	if (!builder__passed(b, check__function(t, &f, &b->error)) || !ROOM(b, &t->functions, 1) ||
	    !builder__enter(b, IX_FUNCTIONS, h, t->functions.n))
		return 0;
	t->functions.v[t->functions.n] = f;
	return (uint32_t)t->functions.n++;
}

static bool process_is(const struct tables *t, uint32_t row, const void *key)
{
	const struct dcm_process *a = &t->processes.v[row], *p = key;

	return a->pid == p->pid && a->generation == p->generation && a->start_ns == p->start_ns;
}

uint32_t builder__process(struct dcm_builder *b, const struct dcm_process *p)
{
	const uint64_t key[] = { p->pid, p->generation, p->start_ns };
	uint64_t h = hash__bytes(key, sizeof(key), b->seed);
	struct tables *t = &b->t;

	if (unlikely(b->code))
		return 0;
	uint32_t row = find(b, IX_PROCESSES, h, process_is, p);
	if (row != HINDEX_NONE)
		return row;
	if (!ROOM(b, &t->processes, 1) || !builder__enter(b, IX_PROCESSES, h, t->processes.n))
		return 0;
	t->processes.v[t->processes.n] = *p;
	return (uint32_t)t->processes.n++;
}

/* -------------------------------------------------------------------------------------------------
 * Locations and stacks
 */

struct location_key {
	const struct dcm_location *l;
	const struct dcm_line *lines;
	uint32_t n_lines;
};

static bool location_is(const struct tables *t, uint32_t row, const void *key)
{
	const struct location_key *k = key;
	const struct dcm_location *a = &t->locations.v[row], *l = k->l;

	return a->address == l->address && a->mapping == l->mapping && a->process == l->process &&
	       a->addr_kind == l->addr_kind && a->kind == l->kind && a->n_lines == k->n_lines &&
	       (k->n_lines == 0 ||
		memcmp(&t->lines.v[a->line_off], k->lines, k->n_lines * sizeof(*k->lines)) == 0);
}

/* Inlined mixing instead of xxh3: this is asked once for each frame of each sample. */
static uint64_t location_hash(const struct dcm_builder *b, const struct location_key *k)
{
	uint64_t h = hash__mix(b->seed, k->l->mapping | (uint64_t)k->l->process << 32);

	h = hash__mix(h, k->l->address);
	h = hash__mix(h, k->l->addr_kind | (uint64_t)k->l->kind << 8 | (uint64_t)k->n_lines << 32);
	_Static_assert(sizeof(struct dcm_line) == 16,
		       "lines have no holes and may be hashed as bytes");
	return k->n_lines ? hash__bytes(k->lines, k->n_lines * sizeof(*k->lines), h) : h;
}

uint32_t builder__location(struct dcm_builder *b, const struct dcm_location *l,
			   const struct dcm_line *lines, uint32_t n_lines)
{
	uint64_t h = location_hash(b, &(struct location_key){ l, lines, n_lines });

	return builder__location_fetched(b, l, lines, n_lines, h);
}

uint64_t builder__fetch_location(const struct dcm_builder *b, const struct dcm_location *l,
				 const struct dcm_line *lines, uint32_t n_lines)
{
	uint64_t h = location_hash(b, &(struct location_key){ l, lines, n_lines });

	hindex__prefetch(&b->indexes[IX_LOCATIONS], h);
	return h;
}

uint32_t builder__location_fetched(struct dcm_builder *b, const struct dcm_location *l,
				   const struct dcm_line *lines, uint32_t n_lines, uint64_t h)
{
	const struct location_key key = { l, lines, n_lines };
	struct tables *t = &b->t;

	if (unlikely(b->code))
		return 0;
	uint32_t row = find(b, IX_LOCATIONS, h, location_is, &key);
	if (row != HINDEX_NONE) {
		if (n_lines == 0 && t->locations.v[row].unnamed == DCM_UNNAMED_NOT_TRIED &&
		    l->unnamed < DCM_UNNAMED_N)
			t->locations.v[row].unnamed = l->unnamed;
		return row;
	}
	if (!builder__passed(b, check__location(t, l, lines, n_lines, &b->error)) ||
	    !ROOM(b, &t->locations, 1) || !ROOM_BOUNDED(b, &t->lines, n_lines) ||
	    !builder__enter(b, IX_LOCATIONS, h, t->locations.n))
		return 0;
	struct dcm_location *new = &t->locations.v[t->locations.n];
	*new = *l;
	new->unnamed = n_lines ? DCM_UNNAMED_NOT_TRIED : l->unnamed;
	new->line_off = (uint32_t)t->lines.n;
	new->n_lines = n_lines;
	if (n_lines)
		memcpy(&t->lines.v[t->lines.n], lines, n_lines * sizeof(*lines));
	t->lines.n += n_lines;
	return (uint32_t)t->locations.n++;
}

struct stack_key {
	const uint32_t *locations;
	uint32_t n;
};

static bool stack_is(const struct tables *t, uint32_t row, const void *key)
{
	const struct stack_key *k = key;
	struct dcm_span span = t->stacks.v[row];

	return span.n == k->n && (k->n == 0 || memcmp(&t->stack_locations.v[span.off], k->locations,
						      k->n * sizeof(*k->locations)) == 0);
}

/* An empty stack may be NULL. */
static uint64_t stack_hash(const struct dcm_builder *b, const uint32_t *locations, uint32_t n)
{
	return n ? hash__bytes(locations, n * sizeof(*locations), b->seed) : b->seed;
}

/* Makes a stack of the n locations behind those of all others. */
static uint32_t append_stack(struct dcm_builder *b, uint32_t n, uint64_t h)
{
	struct tables *t = &b->t;

	if (!ROOM(b, &t->stacks, 1) || !builder__enter(b, IX_STACKS, h, t->stacks.n))
		return 0;
	t->stacks.v[t->stacks.n] = (struct dcm_span){ (uint32_t)t->stack_locations.n, n };
	t->stack_locations.n += n;
	return (uint32_t)t->stacks.n++;
}

uint32_t builder__stack(struct dcm_builder *b, const uint32_t *locations, uint32_t n)
{
	const struct stack_key key = { locations, n };
	struct tables *t = &b->t;

	if (unlikely(b->code))
		return 0;
	uint64_t h = stack_hash(b, locations, n);
	uint32_t row = find(b, IX_STACKS, h, stack_is, &key);
	if (row != HINDEX_NONE)
		return row;
	if (!builder__passed(b, check__stack(t, locations, n, &b->error)) ||
	    !ROOM_BOUNDED(b, &t->stack_locations, n))
		return 0;
	if (n)
		memcpy(&t->stack_locations.v[t->stack_locations.n], locations, n * sizeof(*locations));
	return append_stack(b, n, h);
}

uint32_t builder__stacks(struct dcm_builder *b, const uint32_t *locations,
			 const uint32_t *n_locations, uint32_t n)
{
	struct tables *t = &b->t;
	const size_t first = t->stacks.n;

	if (unlikely(b->code) || !ROOM_BOUNDED(b, &t->stacks, n))
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t k = n_locations[i];

		if (!builder__passed(b, check__stack(t, locations, k, &b->error)) ||
		    !ROOM_BOUNDED(b, &t->stack_locations, k))
			return 0;
		if (k)
			memcpy(&t->stack_locations.v[t->stack_locations.n], locations,
			       k * sizeof(*locations));
		t->stacks.v[t->stacks.n++] = (struct dcm_span){ (uint32_t)t->stack_locations.n, k };
		t->stack_locations.n += k;
		locations += k;
	}
	return (uint32_t)first;
}

/* Where the stacks that wait begin, or would begin. */
static uint32_t *end_of_stacks(const struct dcm_builder *b)
{
	return b->t.stack_locations.n ? b->t.stack_locations.v + b->t.stack_locations.n
				      : b->t.stack_locations.v;
}

uint32_t *builder__stack_begin(struct dcm_builder *b, uint32_t max)
{
	uint32_t n = b->waiting.n_locations;

	if (unlikely(b->code) || !ROOM_BOUNDED(b, &b->t.stack_locations, n + max))
		return NULL;
	return end_of_stacks(b) + n;
}

/* Adds the oldest of those that wait. Should it be known, what is behind it moves up. */
static uint32_t add_oldest(struct dcm_builder *b, uint32_t n_behind)
{
	struct waiting_stacks *w = &b->waiting;
	const struct stack_key key = { end_of_stacks(b), w->v[w->oldest].n };
	uint64_t h = w->v[w->oldest].hash;

	w->oldest = (w->oldest + 1) % BUILDER_STACKS_AHEAD;
	w->n--;
	w->n_locations -= key.n;
	uint32_t row = find(b, IX_STACKS, h, stack_is, &key);
	if (row == HINDEX_NONE)
		return append_stack(b, key.n, h);
	memmove(end_of_stacks(b), end_of_stacks(b) + key.n, n_behind * sizeof(*key.locations));
	return row;
}

uint32_t builder__stack_end(struct dcm_builder *b, uint32_t n)
{
	struct waiting_stacks *w = &b->waiting;
	uint32_t row = DCM_NONE;

	if (unlikely(b->code))
		return DCM_NONE;
	uint64_t h = stack_hash(b, end_of_stacks(b) + w->n_locations, n);
	hindex__prefetch(&b->indexes[IX_STACKS], h);
	if (w->n == BUILDER_STACKS_AHEAD)
		row = add_oldest(b, w->n_locations - w->v[w->oldest].n + n);
	uint32_t at = (w->oldest + w->n++) % BUILDER_STACKS_AHEAD;
	w->v[at].hash = h;
	w->v[at].n = n;
	w->n_locations += n;
	return row;
}

uint32_t builder__stack_last(struct dcm_builder *b)
{
	struct waiting_stacks *w = &b->waiting;

	if (w->n == 0 || unlikely(b->code))
		return DCM_NONE;
	return add_oldest(b, w->n_locations - w->v[w->oldest].n);
}
