/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/batch/excerpt.c - what a kept builder's profiles use of it, as a batch of its own
 *
 * Table by table, from the rows down to the strings: each asks the next for the entries that it refers to, and gets
 * their ids in the new batch. A table's choice is a list of the builder's ids, in the order of the new ones, and a map
 * back, which is zero again when the batch is made: what it costs depends on what is used, not on what is kept.
 */
#include "core/batch/excerpt.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/batch/builder_private.h"
#include "core/batch/identity.h"
#include "core/batch/tables.h"

enum choice_of {
	STRINGS,
	MAPPINGS,
	FUNCTIONS,
	PROCESSES,
	LOCATIONS,
	STACKS,
	SERIES,
	LABEL_SETS,
	N_CHOICES
};

struct choice {
	uint32_t *ids;	  /* [room]: the new id of each entry plus 1; 0: it is not chosen */
	uint32_t *chosen; /* [room], of which n are: the builder's id of each new one */
	size_t room;
	uint32_t n;
};

struct excerpt {
	struct dcm_builder *from;
	uint64_t origin; /* nobody else's */
	struct identity *identity;
	struct choice choices[N_CHOICES];
};

/* ---- life ---- */

struct excerpt *excerpt__new(struct dcm_builder *from)
{
	static _Atomic uint64_t n_origins;
	CLEANUP(excerpt__freep) struct excerpt *x = NEW(struct excerpt);

	if (!x)
		return NULL;
	x->from = from;
	x->origin = atomic_fetch_add(&n_origins, 1) + 1;
	x->identity = identity__new();
	return x->identity ? take_ptr(x) : NULL;
}

void excerpt__free(struct excerpt *x)
{
	if (!x)
		return;
	for (unsigned i = 0; i < N_CHOICES; i++) {
		free(x->choices[i].ids);
		free(x->choices[i].chosen);
	}
	identity__free(x->identity);
	free(x);
}

uint64_t excerpt__bytes(const struct excerpt *x)
{
	const struct tables *t = &x->from->t;
	uint64_t bytes = sizeof(*x) + (t->mappings.cap + t->functions.cap) * sizeof(struct dcm_hash);

	for (unsigned i = 0; i < N_CHOICES; i++)
		bytes += 2 * x->choices[i].room * sizeof(uint32_t);
	return bytes;
}

/* ---- choosing ---- */

static inline uint32_t choose(struct choice *c, uint32_t id)
{
	uint32_t *at = &c->ids[id];

	if (!*at) {
		c->chosen[c->n++] = id;
		*at = c->n;
	}
	return *at - 1;
}

static inline uint32_t choose_or_none(struct choice *c, uint32_t id)
{
	return id == DCM_NONE ? id : choose(c, id);
}

/* None of n is chosen. */
static bool prepare(struct choice *c, size_t n)
{
	if (n <= c->room)
		return true;
	size_t room = n + n / 2;
	uint32_t *ids = mem__zalloc(room, sizeof(*ids));
	uint32_t *chosen = mem__resize(c->chosen, room, sizeof(*chosen));
	if (chosen)
		c->chosen = chosen;
	if (!ids || !chosen) {
		free(ids);
		return false;
	}
	free(c->ids);
	c->ids = ids;
	c->room = room;
	return true;
}

static bool prepare_all(struct excerpt *x)
{
	const struct tables *t = &x->from->t;
	struct choice *c = x->choices;

	if (!prepare(&c[STRINGS], t->strings.n) || !prepare(&c[MAPPINGS], t->mappings.n) ||
	    !prepare(&c[FUNCTIONS], t->functions.n) || !prepare(&c[PROCESSES], t->processes.n) ||
	    !prepare(&c[LOCATIONS], t->locations.n) || !prepare(&c[STACKS], t->stacks.n) ||
	    !prepare(&c[SERIES], t->series.n) || !prepare(&c[LABEL_SETS], t->label_sets.n))
		return false;
	/* "" and the empty set are 0 in every batch. */
	choose(&c[STRINGS], 0);
	choose(&c[LABEL_SETS], 0);
	return true;
}

static void forget(struct choice *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		c->ids[c->chosen[i]] = 0;
	c->n = 0;
}

/* ---- tables: false when there is no memory ---- */

/* The column with as many elements, which the caller writes; an empty one has no memory. */
#define MAKE(column, count)                                                                        \
	((count) == 0 || (((column)->v = mem__resize(NULL, (count), sizeof(*(column)->v))) &&      \
			  ((column)->n = (column)->cap = (count))))

static void take_hashes(struct dcm_hash *to, const struct dcm_hash *from, const struct choice *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		to[i] = from[c->chosen[i]];
}

static size_t sum_of_lengths(const struct dcm_span *spans, const struct choice *c)
{
	size_t n = 0;

	for (uint32_t i = 0; i < c->n; i++)
		n += spans[c->chosen[i]].n;
	return n;
}

/* The rows change hands, and their ids become the new ones. */
static void move_rows(struct excerpt *x, struct tables *to)
{
	struct tables *t = &x->from->t;
	struct choice *stacks = &x->choices[STACKS], *label_sets = &x->choices[LABEL_SETS];

#define MOVE(column)                                                                               \
	do {                                                                                       \
		x->from->bytes -= t->column.cap * sizeof(*t->column.v);                            \
		memcpy(&to->column, &t->column, sizeof(to->column));                               \
		memset(&t->column, 0, sizeof(t->column));                                          \
	} while (0)
	MOVE(profiles);
	MOVE(types);
	MOVE(row_stacks);
	MOVE(row_labels);
	MOVE(values);
#undef MOVE
	for (size_t i = 0; i < to->row_stacks.n; i++)
		to->row_stacks.v[i] = choose(stacks, to->row_stacks.v[i]);
	for (size_t i = 0; i < to->row_labels.n; i++)
		to->row_labels.v[i] = choose(label_sets, to->row_labels.v[i]);
	for (size_t i = 0; i < to->profiles.n; i++)
		to->profiles.v[i].series = choose(&x->choices[SERIES], to->profiles.v[i].series);
	for (size_t i = 0; i < to->types.n; i++) {
		struct dcm_type *type = &to->types.v[i];
		struct choice *strings = &x->choices[STRINGS];
		type->name = choose(strings, type->name);
		type->sample_type = choose(strings, type->sample_type);
		type->sample_unit = choose(strings, type->sample_unit);
		type->period_type = choose(strings, type->period_type);
		type->period_unit = choose(strings, type->period_unit);
	}
}

static bool take_stacks(struct excerpt *x, struct tables *to)
{
	const struct tables *t = &x->from->t;
	const struct choice *c = &x->choices[STACKS];
	struct choice *locations = &x->choices[LOCATIONS];
	uint32_t at = 0;

	if (!MAKE(&to->stacks, c->n) || !MAKE(&to->stack_origins, c->n) ||
	    !MAKE(&to->stack_locations, sum_of_lengths(t->stacks.v, c)))
		return false;
	for (uint32_t i = 0; i < c->n; i++) {
		struct dcm_span span = t->stacks.v[c->chosen[i]];
		to->stacks.v[i] = (struct dcm_span){ at, span.n };
		for (uint32_t k = 0; k < span.n; k++)
			to->stack_locations.v[at++] = choose(locations,
							     t->stack_locations.v[span.off + k]);
	}
	if (c->n)
		memcpy(to->stack_origins.v, c->chosen, c->n * sizeof(c->chosen[0]));
	return true;
}

static bool take_lines(struct excerpt *x, struct tables *to)
{
	const struct tables *t = &x->from->t;
	const struct choice *c = &x->choices[LOCATIONS];
	size_t n = 0;
	uint32_t at = 0;

	for (uint32_t i = 0; i < c->n; i++)
		n += t->locations.v[c->chosen[i]].n_lines;
	if (!MAKE(&to->lines, n))
		return false;
	for (uint32_t i = 0; i < c->n; i++) {
		const struct dcm_location *l = &t->locations.v[c->chosen[i]];
		to->locations.v[i].line_off = at;
		for (uint32_t k = 0; k < l->n_lines; k++) {
			struct dcm_line line = t->lines.v[l->line_off + k];
			line.function = choose_or_none(&x->choices[FUNCTIONS], line.function);
			to->lines.v[at++] = line;
		}
	}
	return true;
}

static bool take_locations(struct excerpt *x, struct tables *to)
{
	const struct tables *t = &x->from->t;
	const struct choice *c = &x->choices[LOCATIONS];

	if (!MAKE(&to->locations, c->n) || !MAKE(&to->location_hashes, c->n))
		return false;
	for (uint32_t i = 0; i < c->n; i++) {
		struct dcm_location l = t->locations.v[c->chosen[i]];
		l.mapping = choose_or_none(&x->choices[MAPPINGS], l.mapping);
		l.process = choose_or_none(&x->choices[PROCESSES], l.process);
		to->locations.v[i] = l;
	}
	take_hashes(to->location_hashes.v, t->location_hashes.v, c);
	return take_lines(x, to);
}

static bool take_functions(struct excerpt *x, struct tables *to)
{
	const struct choice *c = &x->choices[FUNCTIONS];
	struct choice *strings = &x->choices[STRINGS];

	if (!MAKE(&to->functions, c->n))
		return false;
	for (uint32_t i = 0; i < c->n; i++) {
		struct dcm_function f = x->from->t.functions.v[c->chosen[i]];
		f.name = choose(strings, f.name);
		f.system_name = choose(strings, f.system_name);
		f.file = choose(strings, f.file);
		to->functions.v[i] = f;
	}
	return true;
}

static bool take_mappings(struct excerpt *x, struct tables *to)
{
	const struct choice *c = &x->choices[MAPPINGS];

	if (!MAKE(&to->mappings, c->n))
		return false;
	for (uint32_t i = 0; i < c->n; i++) {
		struct dcm_mapping m = x->from->t.mappings.v[c->chosen[i]];
		m.file = choose(&x->choices[STRINGS], m.file);
		m.build_id = choose(&x->choices[STRINGS], m.build_id);
		to->mappings.v[i] = m;
	}
	return true;
}

static bool take_processes(struct excerpt *x, struct tables *to)
{
	const struct choice *c = &x->choices[PROCESSES];

	if (!MAKE(&to->processes, c->n))
		return false;
	for (uint32_t i = 0; i < c->n; i++)
		to->processes.v[i] = x->from->t.processes.v[c->chosen[i]];
	return true;
}

static bool take_series(struct excerpt *x, struct tables *to)
{
	const struct tables *t = &x->from->t;
	const struct choice *c = &x->choices[SERIES];
	uint32_t at = 0;

	if (!MAKE(&to->series, c->n) || !MAKE(&to->series_hashes, c->n) ||
	    !MAKE(&to->pairs, sum_of_lengths(t->series.v, c)))
		return false;
	for (uint32_t i = 0; i < c->n; i++) {
		struct dcm_span span = t->series.v[c->chosen[i]];
		to->series.v[i] = (struct dcm_span){ at, span.n };
		for (uint32_t k = 0; k < span.n; k++) {
			struct dcm_pair pair = t->pairs.v[span.off + k];
			pair.name = choose(&x->choices[STRINGS], pair.name);
			pair.value = choose(&x->choices[STRINGS], pair.value);
			to->pairs.v[at++] = pair;
		}
	}
	take_hashes(to->series_hashes.v, t->series_hashes.v, c);
	return true;
}

static bool take_label_sets(struct excerpt *x, struct tables *to)
{
	const struct tables *t = &x->from->t;
	const struct choice *c = &x->choices[LABEL_SETS];
	struct choice *strings = &x->choices[STRINGS];
	uint32_t at = 0;

	if (!MAKE(&to->label_sets, c->n) || !MAKE(&to->labels, sum_of_lengths(t->label_sets.v, c)))
		return false;
	for (uint32_t i = 0; i < c->n; i++) {
		struct dcm_span span = t->label_sets.v[c->chosen[i]];
		to->label_sets.v[i] = (struct dcm_span){ at, span.n };
		for (uint32_t k = 0; k < span.n; k++) {
			struct dcm_label label = t->labels.v[span.off + k];
			label.name = choose(strings, label.name);
			label.str = choose(strings, label.str);
			label.unit = choose_or_none(strings, label.unit);
			to->labels.v[at++] = label;
		}
	}
	return true;
}

/* In one piece, each with a NUL behind it, as an intern has them. */
static bool take_strings(struct excerpt *x, struct tables *to)
{
	const struct dcm_str *texts = x->from->t.strings.texts;
	const struct choice *c = &x->choices[STRINGS];
	struct intern *strings = &to->strings;
	size_t n = 0;

	for (uint32_t i = 0; i < c->n; i++)
		n += texts[c->chosen[i]].n + 1;
	char *at = arena__alloc(&strings->arena, n);
	strings->texts = mem__resize(NULL, c->n, sizeof(*strings->texts));
	if (!at || !strings->texts)
		return false;
	strings->n = strings->cap = c->n;
	for (uint32_t i = 0; i < c->n; i++) {
		struct dcm_str s = texts[c->chosen[i]];
		memcpy(at, s.p, s.n);
		at[s.n] = '\0';
		strings->texts[i] = (struct dcm_str){ at, s.n };
		at += s.n + 1;
	}
	return true;
}

/* Each after those who ask it. */
static bool take_tables(struct excerpt *x, struct tables *to)
{
	move_rows(x, to);
	return take_stacks(x, to) && take_locations(x, to) && take_functions(x, to) &&
	       take_mappings(x, to) && take_processes(x, to) && take_series(x, to) &&
	       take_label_sets(x, to) && take_strings(x, to);
}

/* ---- the batch ---- */

/* The hashes of what was added since the last time. */
static void extend_hashes(struct excerpt *x)
{
	struct dcm_builder *b = x->from;
	struct tables *t = &b->t;
	const struct identity_from from = { (uint32_t)t->location_hashes.n,
					    (uint32_t)t->series_hashes.n };
	struct dcm_batch view;

	if (!ROOM(b, &t->location_hashes, t->locations.n - from.location) ||
	    !ROOM(b, &t->series_hashes, t->series.n - from.series))
		return;
	builder__view(b, &view);
	if (identity__extend(x->identity, &view, from, t->location_hashes.v, t->series_hashes.v) < 0) {
		builder__fail_nomem(b);
		return;
	}
	t->location_hashes.n = t->locations.n;
	t->series_hashes.n = t->series.n;
}

static struct sealed *make(struct excerpt *x)
{
	struct sealed *s = prepare_all(x) ? NEW(struct sealed) : NULL;

	if (s) {
		s->refs = 1;
		s->pub.size = sizeof(s->pub);
		s->pub.id = x->from->next_id;
		if (take_tables(x, &s->tables)) {
			tables__trim(&s->tables);
			tables__show(&s->tables, &s->pub);
			s->pub.origin = x->origin;
			s->pub.bytes = sizeof(*s) + tables__bytes(&s->tables);
			return s;
		}
		tables__fini(&s->tables);
		free(s);
	}
	builder__fail_nomem(x->from);
	return NULL;
}

int excerpt__make(struct excerpt *x, struct dcm_batch **ret_batch, struct dcm_error *err)
{
	struct dcm_builder *b = x->from;
	struct sealed *s = NULL;

	if (!builder__error(b))
		extend_hashes(x);
	if (!builder__error(b))
		s = make(x);
	for (unsigned i = 0; i < N_CHOICES; i++)
		forget(&x->choices[i]);
	if (!s)
		return error__set(err, b->code, "%s", b->error.text);
	builder__drop_profiles(b);
	*ret_batch = &s->pub;
	return 0;
}
