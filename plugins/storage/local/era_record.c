/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/era_record.c - what a dictionary has gained, as bytes, and back
 *
 * One table describes each kind of entry: how to make a row of numbers of an entry, and of its
 * items (the lines of a location, the labels of a label set), and how to add an entry made of them.
 * Writing and reading are then the same for all kinds: columns of rows, columns of items, text
 * last. Ids are written plus 1 where they may be absent.
 */
#include "plugins/storage/local/era_record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/le.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/storage/local/pfor.h"

enum { COLUMNS_MAX = 8, RECORD_VERSION = 1 };

/* In this order, because later kinds refer to earlier ones. */
enum kind {
	STRINGS,
	MAPPINGS,
	FUNCTIONS,
	PROCESSES,
	LOCATIONS,
	NODES,
	STACKS,
	LABEL_SETS,
	SERIES,
	TYPES,
	LEARNT, /* more about older locations */
	N_KINDS,
};

/* What a record is read with. */
struct loader {
	struct dict *d;
	struct dict_counts now; /* of d, with what the record adds: ids must be below */
	const uint32_t *had; /* [N_KINDS] entries below are there already, and not to be compared; NULL: none */
	bool names_only; /* but for is_name() tables are stepped over */
	const uint8_t *text, *text_end;
	uint32_t id; /* of the entry at hand */
};

struct table {
	unsigned n_columns;	 /* of a row; with items, the last one counts them */
	unsigned n_item_columns; /* 0: there are none */
	void (*get)(const struct dict *d, uint32_t id, uint64_t *ret);
	void (*get_item)(const struct dict *d, uint32_t id, uint32_t k, uint64_t *ret);
	/*
	 * Its number, or DCM_NONE: memory ran out, or (with *err = -EBADMSG) the row is impossible.
	 */
	uint32_t (*add)(struct loader *l, const uint64_t *row, const uint64_t *items, int *err);
};

static uint64_t plus_one(uint32_t id)
{
	return (uint64_t)(uint32_t)(id + 1);
}

/* An id below n; with `absent`, plus 1, and 0 is DCM_NONE. */
static uint32_t id_of(uint64_t v, uint32_t n, bool absent, int *err)
{
	if (absent && v == 0)
		return DCM_NONE;
	v -= absent;
	if (v >= n)
		*err = -EBADMSG;
	return (uint32_t)v;
}

static uint32_t small(uint64_t v, uint32_t limit, int *err)
{
	if (v >= limit)
		*err = -EBADMSG;
	return (uint32_t)v;
}

/* -------------------------------------------------------------------------------------------------
 * Each kind
 */

static void get_string(const struct dict *d, uint32_t id, uint64_t *ret)
{
	ret[0] = dict__str(d, id).n;
}

static uint32_t add_string(struct loader *l, const uint64_t *row, const uint64_t *items, int *err)
{
	(void)items;
	if (row[0] > (uint64_t)(l->text_end - l->text)) {
		*err = -EBADMSG;
		return DCM_NONE;
	}
	const struct dcm_str s = { (const char *)l->text, (uint32_t)row[0] };

	l->text += row[0];
	return dict__string(l->d, s);
}

static void get_mapping(const struct dict *d, uint32_t id, uint64_t *ret)
{
	const struct dcm_mapping *m = POOL_AT(&d->mappings, struct dcm_mapping, id);

	ret[0] = m->start;
	ret[1] = m->limit - m->start;
	ret[2] = m->offset;
	ret[3] = m->file;
	ret[4] = m->build_id;
	ret[5] = m->kind;
}

static uint32_t add_mapping(struct loader *l, const uint64_t *row, const uint64_t *items, int *err)
{
	const struct dcm_mapping m = {
		.start = row[0],
		.limit = row[0] + row[1],
		.offset = row[2],
		.file = id_of(row[3], l->now.strings, false, err),
		.build_id = id_of(row[4], l->now.strings, false, err),
		.kind = small(row[5], DCM_MAPPING_ANON + 1, err),
	};

	(void)items;
	return *err ? DCM_NONE : dict__mapping(l->d, &m);
}

static void get_function(const struct dict *d, uint32_t id, uint64_t *ret)
{
	const struct dcm_function *f = POOL_AT(&d->functions, struct dcm_function, id);

	ret[0] = f->name;
	ret[1] = f->system_name;
	ret[2] = f->file;
	ret[3] = zigzag__of(f->start_line);
}

static uint32_t add_function(struct loader *l, const uint64_t *row, const uint64_t *items, int *err)
{
	const struct dcm_function f = {
		.name = id_of(row[0], l->now.strings, false, err),
		.system_name = id_of(row[1], l->now.strings, false, err),
		.file = id_of(row[2], l->now.strings, false, err),
		.start_line = zigzag__back(row[3]),
	};

	(void)items;
	return *err ? DCM_NONE : dict__function(l->d, &f);
}

static void get_process(const struct dict *d, uint32_t id, uint64_t *ret)
{
	const struct dcm_process *p = POOL_AT(&d->processes, struct dcm_process, id);

	ret[0] = p->pid;
	ret[1] = p->generation;
	ret[2] = p->start_ns;
}

static uint32_t add_process(struct loader *l, const uint64_t *row, const uint64_t *items, int *err)
{
	const struct dcm_process p = {
		.pid = small(row[0], UINT32_MAX, err),
		.generation = small(row[1], UINT32_MAX, err),
		.start_ns = row[2],
	};

	(void)items;
	return *err ? DCM_NONE : dict__process(l->d, &p);
}

static const struct dict_lines *lines_of(const struct dict *d, uint32_t id)
{
	return atomic_load_explicit(&dict__location_at(d, id)->lines, memory_order_acquire);
}

static void get_location(const struct dict *d, uint32_t id, uint64_t *ret)
{
	const struct dict_location *l = dict__location_at(d, id);
	const struct dict_lines *lines = lines_of(d, id);

	ret[0] = l->hash;
	ret[1] = l->address;
	ret[2] = plus_one(l->mapping);
	ret[3] = plus_one(l->process);
	ret[4] = l->addr_kind;
	ret[5] = l->kind;
	ret[6] = atomic_load_explicit(&l->unnamed, memory_order_relaxed);
	ret[7] = lines ? lines->n : 0;
}

static void get_line(const struct dict *d, uint32_t id, uint32_t k, uint64_t *ret)
{
	const struct dcm_line *line = &lines_of(d, id)->v[k];

	ret[0] = plus_one(line->function);
	ret[1] = line->column;
	ret[2] = zigzag__of(line->line);
}

/* Into fresh memory, which the caller frees; NULL when there are none, or on failure. */
static struct dcm_line *make_lines(const struct loader *l, const uint64_t *items, uint64_t n, int *err)
{
	struct dcm_line *lines = n ? mem__zalloc(n, sizeof(*lines)) : NULL;

	if (n && !lines)
		*err = -ENOMEM;
	for (uint64_t i = 0; lines && i < n; i++, items += 3)
		lines[i] = (struct dcm_line){
			.function = id_of(items[0], l->now.functions, true, err),
			.column = small(items[1], UINT32_MAX, err),
			.line = zigzag__back(items[2]),
		};
	return lines;
}

static uint32_t add_location(struct loader *l, const uint64_t *row, const uint64_t *items, int *err)
{
	CLEANUP(mem__freep) struct dcm_line *lines = make_lines(l, items, row[7], err);
	const struct dcm_location location = {
		.address = row[1],
		.mapping = id_of(row[2], l->now.mappings, true, err),
		.process = id_of(row[3], l->now.processes, true, err),
		.addr_kind = (uint8_t)small(row[4], DCM_ADDR_RUNTIME + 1, err),
		.kind = (uint8_t)small(row[5], DCM_FRAME_NOTE + 1, err),
		.unnamed = (uint8_t)small(row[6], DCM_UNNAMED_N, err),
		.n_lines = (uint32_t)row[7],
	};

	return *err ? DCM_NONE : dict__location(l->d, row[0], &location, lines);
}

/* What was learnt about a location that an earlier record has. */
static uint32_t add_learnt(struct loader *l, const uint64_t *row, const uint64_t *items, int *err)
{
	CLEANUP(mem__freep) struct dcm_line *lines = make_lines(l, items, row[2], err);
	const uint32_t id = id_of(row[0], l->now.locations, false, err);
	const uint8_t unnamed = (uint8_t)small(row[1], DCM_UNNAMED_N, err);

	if (!*err)
		*err = dict__learn(l->d, id, unnamed, lines, (uint32_t)row[2]);
	return id;
}

/* Callers come before callees, so the way back to the parent is positive; 0 is none. */
static void get_node(const struct dict *d, uint32_t id, uint64_t *ret)
{
	const struct dict_node *node = dict__node_at(d, id);

	ret[0] = node->parent == DCM_NONE ? 0 : id - node->parent;
	ret[1] = node->location;
}

static uint32_t add_node(struct loader *l, const uint64_t *row, const uint64_t *items, int *err)
{
	const uint32_t id = l->id, location = id_of(row[1], l->now.locations, false, err);

	(void)items;
	if (row[0] > id)
		*err = -EBADMSG;
	return *err ? DCM_NONE : dict__node(l->d, row[0] ? id - (uint32_t)row[0] : DCM_NONE, location);
}

static void get_stack(const struct dict *d, uint32_t id, uint64_t *ret)
{
	ret[0] = plus_one(dict__stack_at(d, id)->leaf);
}

static void get_label_set(const struct dict *d, uint32_t id, uint64_t *ret)
{
	ret[0] = dict__label_set_at(d, id)->n;
}

static void get_label(const struct dict *d, uint32_t id, uint32_t k, uint64_t *ret)
{
	const struct dcm_label *label = &dict__label_set_at(d, id)->labels[k];

	ret[0] = label->name;
	ret[1] = label->str;
	ret[2] = zigzag__of(label->num);
	ret[3] = plus_one(label->unit);
}

static uint32_t add_label_set(struct loader *l, const uint64_t *row, const uint64_t *items, int *err)
{
	CLEANUP(mem__freep)
	struct dcm_label *labels = mem__zalloc(row[0] ? row[0] : 1, sizeof(*labels));

	if (!labels)
		return DCM_NONE;
	for (uint64_t i = 0; i < row[0]; i++, items += 4) {
		labels[i].name = id_of(items[0], l->now.strings, false, err);
		labels[i].str = id_of(items[1], l->now.strings, false, err);
		labels[i].num = zigzag__back(items[2]);
		labels[i].unit = id_of(items[3], l->now.strings, true, err);
	}
	return *err ? DCM_NONE : dict__label_set(l->d, labels, (uint32_t)row[0]);
}

static void get_series(const struct dict *d, uint32_t id, uint64_t *ret)
{
	ret[0] = dict__series_at(d, id)->n;
}

static void get_pair(const struct dict *d, uint32_t id, uint32_t k, uint64_t *ret)
{
	ret[0] = dict__series_at(d, id)->pairs[k].name;
	ret[1] = dict__series_at(d, id)->pairs[k].value;
}

static uint32_t add_series(struct loader *l, const uint64_t *row, const uint64_t *items, int *err)
{
	CLEANUP(mem__freep)
	struct dcm_pair *pairs = mem__zalloc(row[0] ? row[0] : 1, sizeof(*pairs));

	if (!pairs)
		return DCM_NONE;
	for (uint64_t i = 0; i < row[0]; i++, items += 2) {
		pairs[i].name = id_of(items[0], l->now.strings, false, err);
		pairs[i].value = id_of(items[1], l->now.strings, false, err);
	}
	return *err ? DCM_NONE : dict__series(l->d, pairs, (uint32_t)row[0]);
}

static void get_type(const struct dict *d, uint32_t id, uint64_t *ret)
{
	const struct dcm_type *t = &dict__type_at(d, id)->parts;

	ret[0] = t->name;
	ret[1] = t->sample_type;
	ret[2] = t->sample_unit;
	ret[3] = t->period_type;
	ret[4] = t->period_unit;
	ret[5] = t->temporality;
}

static uint32_t add_type(struct loader *l, const uint64_t *row, const uint64_t *items, int *err)
{
	const struct dcm_type t = {
		.name = id_of(row[0], l->now.strings, false, err),
		.sample_type = id_of(row[1], l->now.strings, false, err),
		.sample_unit = id_of(row[2], l->now.strings, false, err),
		.period_type = id_of(row[3], l->now.strings, false, err),
		.period_unit = id_of(row[4], l->now.strings, false, err),
		.temporality = small(row[5], DCM_CUMULATIVE + 1, err),
	};

	(void)items;
	return *err ? DCM_NONE : dict__type(l->d, &t);
}

static const struct table tables[N_KINDS] = {
	[STRINGS] = { 1, 0, get_string, NULL, add_string },
	[MAPPINGS] = { 6, 0, get_mapping, NULL, add_mapping },
	[FUNCTIONS] = { 4, 0, get_function, NULL, add_function },
	[PROCESSES] = { 3, 0, get_process, NULL, add_process },
	[LOCATIONS] = { 8, 3, get_location, get_line, add_location },
	[NODES] = { 2, 0, get_node, NULL, add_node },
	[STACKS] = { 1, 0, get_stack, NULL, NULL }, /* see add_stacks() */
	[LABEL_SETS] = { 1, 4, get_label_set, get_label, add_label_set },
	[SERIES] = { 1, 2, get_series, get_pair, add_series },
	[TYPES] = { 6, 0, get_type, NULL, add_type },
	[LEARNT] = { 3, 3, NULL, get_line, add_learnt },
};

static void spread(const struct dict_counts *c, uint32_t *ret)
{
	const uint32_t n[N_KINDS] = {
		c->strings, c->mappings, c->functions,	c->processes, c->locations,
		c->nodes,   c->stacks,	 c->label_sets, c->series,    c->types,
		0
	};

	memcpy(ret, n, sizeof(n));
}

/* -------------------------------------------------------------------------------------------------
 * Writing
 */

struct encoder {
	const struct dict *d;
	const uint32_t *learnt;
	struct buf *to;
	uint64_t *column; /* as long as the longest one */
};

static uint32_t id_at(const struct encoder *e, enum kind kind, uint32_t first, uint32_t i)
{
	return kind == LEARNT ? e->learnt[i] : first + i;
}

static void get_row(const struct encoder *e, enum kind kind, uint32_t id, uint64_t *ret)
{
	if (kind != LEARNT) {
		tables[kind].get(e->d, id, ret);
		return;
	}
	const struct dict_lines *lines = lines_of(e->d, id);

	ret[0] = id;
	ret[1] = atomic_load_explicit(&dict__location_at(e->d, id)->unnamed, memory_order_relaxed);
	ret[2] = lines ? lines->n : 0;
}

static uint64_t items_of(const struct encoder *e, enum kind kind, uint32_t first, uint32_t n)
{
	uint64_t row[COLUMNS_MAX], n_items = 0;

	for (uint32_t i = 0; tables[kind].n_item_columns && i < n; i++) {
		get_row(e, kind, id_at(e, kind, first, i), row);
		n_items += row[tables[kind].n_columns - 1];
	}
	return n_items;
}

/*
 * Columns are as long as their table: one pass over it for each, which needs no memory but one
 * column.
 */
static void put_table(const struct encoder *e, enum kind kind, uint32_t first, uint32_t n)
{
	const struct table *t = &tables[kind];
	uint64_t row[COLUMNS_MAX], item[COLUMNS_MAX];

	for (unsigned c = 0; c < t->n_columns; c++) {
		for (uint32_t i = 0; i < n; i++) {
			get_row(e, kind, id_at(e, kind, first, i), row);
			e->column[i] = row[c];
		}
		pfor__put(e->to, e->column, n);
	}
	for (unsigned c = 0; c < t->n_item_columns; c++) {
		uint64_t n_items = 0;

		for (uint32_t i = 0; i < n; i++) {
			const uint32_t id = id_at(e, kind, first, i);

			get_row(e, kind, id, row);
			for (uint32_t k = 0; k < row[t->n_columns - 1]; k++) {
				t->get_item(e->d, id, k, item);
				e->column[n_items++] = item[c];
			}
		}
		pfor__put(e->to, e->column, n_items);
	}
}

static void put_header(struct buf *to, const uint32_t *first, const uint32_t *n, const uint64_t *n_items)
{
	buf__le32(to, RECORD_VERSION);
	buf__le32(to, N_KINDS);
	for (unsigned k = 0; k < N_KINDS; k++) {
		buf__le32(to, first[k]);
		buf__le32(to, n[k]);
		buf__le64(to, n_items[k]);
	}
}

int era_record__encode(const struct dict *d, const struct dict_counts *since,
		       const uint32_t *learnt, size_t n_learnt, struct buf *to)
{
	const struct dict_counts now = dict__counts(d);
	struct encoder e = { .d = d, .learnt = learnt, .to = to };
	uint32_t first[N_KINDS], n[N_KINDS];
	uint64_t n_items[N_KINDS], longest = 1;
	const size_t began = to->n;

	spread(since, first);
	spread(&now, n);
	n[LEARNT] = (uint32_t)n_learnt;
	for (unsigned k = 0; k < N_KINDS; k++) {
		n[k] -= first[k];
		n_items[k] = items_of(&e, k, first[k], n[k]);
		longest = n[k] > longest ? n[k] : longest;
		longest = n_items[k] > longest ? n_items[k] : longest;
	}
	CLEANUP(mem__freep) uint64_t *column = mem__resize(NULL, longest, sizeof(*column));

	if (!column)
		return -ENOMEM;
	e.column = column;
	put_header(to, first, n, n_items);
	for (unsigned k = 0; k < N_KINDS; k++)
		put_table(&e, k, first[k], n[k]);
	for (uint32_t i = 0; i < n[STRINGS]; i++)
		buf__str(to, dict__str(d, first[STRINGS] + i));
	if (to->error) {
		to->n = began;
		return to->error;
	}
	return 0;
}

/* -------------------------------------------------------------------------------------------------
 * Reading
 */

/* Columns of a table, each [n] and [n_items]. */
struct columns {
	uint64_t *memory;
	uint64_t *rows[COLUMNS_MAX], *items[COLUMNS_MAX];
};

static int get_columns(struct pfor_in *in, const struct table *t, uint32_t n, uint64_t n_items,
		       struct columns *ret)
{
	uint64_t sum = 0, *at;
	int r = pfor__may_hold(in, n) && pfor__may_hold(in, n_items) ? 0 : -EBADMSG;

	if (r < 0)
		return r;
	at = ret->memory = mem__resize(
		NULL, n * (uint64_t)t->n_columns + n_items * t->n_item_columns + 1, sizeof(*at));
	if (!at)
		return -ENOMEM;
	for (unsigned c = 0; r == 0 && c < t->n_columns; c++, at += n)
		r = pfor__get(in, ret->rows[c] = at, n);
	for (unsigned c = 0; r == 0 && c < t->n_item_columns; c++, at += n_items)
		r = pfor__get(in, ret->items[c] = at, n_items);
	for (uint32_t i = 0; r == 0 && t->n_item_columns && i < n; i++) {
		const uint64_t more = ret->rows[t->n_columns - 1][i];

		if (more > n_items - sum)
			return -EBADMSG;
		sum += more;
	}
	return r < 0 || sum != (t->n_item_columns ? n_items : 0) ? -EBADMSG : 0;
}

/* Begins to fetch the caller of a node that is added soon. */
static void fetch_parent(const struct dict *d, uint32_t id, uint64_t way_back)
{
	if (way_back && way_back <= id && id - way_back < d->nodes.n)
		__builtin_prefetch(dict__node_at(d, id - (uint32_t)way_back), 1);
}

static int add_rows(struct loader *l, enum kind kind, uint32_t first, uint32_t n,
		    const struct columns *columns)
{
	enum { AHEAD = 16 };
	const struct table *t = &tables[kind];
	VEC(uint64_t) items = { 0 };
	uint64_t row[COLUMNS_MAX], item_at = 0;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		if (kind == NODES && i + AHEAD < n)
			fetch_parent(l->d, first + i + AHEAD, columns->rows[0][i + AHEAD]);
		for (unsigned c = 0; c < t->n_columns; c++)
			row[c] = columns->rows[c][i];
		const uint64_t n_items = t->n_item_columns ? row[t->n_columns - 1] : 0;

		items.n = 0;
		if (!vec__reserve(&items, n_items * t->n_item_columns + 1)) {
			r = -ENOMEM;
			break;
		}
		for (uint64_t k = 0; k < n_items; k++, item_at++)
			for (unsigned c = 0; c < t->n_item_columns; c++)
				items.v[items.n++] = columns->items[c][item_at];
		if (l->had && kind != LEARNT && first + i < l->had[kind]) {
			l->text += kind == STRINGS ? row[0] : 0;
			continue;
		}
		l->id = first + i;
		const uint32_t id = t->add(l, row, items.v, &r);

		if (r == 0 && id == DCM_NONE)
			r = -ENOMEM;
		/* Twice the same entry, or one that was there, is not what we wrote. */
		if (r == 0 && kind != LEARNT && id != first + i)
			r = -EBADMSG;
	}
	vec__fini(&items);
	return r;
}

/* All at once, which is faster. */
static int add_stacks(struct loader *l, uint32_t first, uint32_t n, const struct columns *columns)
{
	const uint32_t skip = l->had && l->had[STACKS] > first ? l->had[STACKS] - first : 0;
	CLEANUP(mem__freep) uint32_t *ids = mem__resize(NULL, (size_t)n * 2 + 1, sizeof(*ids));
	uint32_t *leaves = ids ? ids + n : NULL;
	int r = ids ? 0 : -ENOMEM;

	for (uint32_t i = 0; r == 0 && i < n; i++)
		leaves[i] = id_of(columns->rows[0][i], l->now.nodes, true, &r);
	if (r == 0 && skip < n)
		r = dict__stacks_of_leaves(l->d, leaves + skip, n - skip, ids + skip);
	for (uint32_t i = skip; r == 0 && i < n; i++)
		if (ids[i] != first + i)
			r = -EBADMSG;
	return r;
}

/* The last bytes of a record are the text of its strings. */
static int find_text(struct loader *l, const uint64_t *lengths, uint32_t n, struct pfor_in *in)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (lengths[i] > UINT32_MAX)
			return -EBADMSG;
		bytes += lengths[i];
	}
	if (bytes > (uint64_t)(in->end - in->p))
		return -EBADMSG;
	l->text_end = in->end;
	l->text = in->end -= bytes;
	return 0;
}

/* What series, types and labels are made of. */
static bool is_name(enum kind kind)
{
	return kind == STRINGS || kind == LABEL_SETS || kind == SERIES || kind == TYPES;
}

static int skip_table(enum kind kind, uint32_t n, uint64_t n_items, struct pfor_in *in)
{
	int r = 0;

	for (unsigned c = 0; r == 0 && c < tables[kind].n_columns; c++)
		r = pfor__skip(in, n);
	for (unsigned c = 0; r == 0 && c < tables[kind].n_item_columns; c++)
		r = pfor__skip(in, n_items);
	return r;
}

static int decode_table(struct loader *l, enum kind kind, uint32_t first, uint32_t n,
			uint64_t n_items, struct pfor_in *in)
{
	struct columns columns = { 0 };

	if (l->names_only && !is_name(kind))
		return skip_table(kind, n, n_items, in);
	int r = get_columns(in, &tables[kind], n, n_items, &columns);

	if (r == 0 && kind == STRINGS)
		r = find_text(l, columns.rows[0], n, in);
	if (r == 0)
		r = kind == STACKS ? add_stacks(l, first, n, &columns)
				   : add_rows(l, kind, first, n, &columns);
	free(columns.memory);
	return r;
}

struct header {
	uint32_t first[N_KINDS], n[N_KINDS];
	uint64_t n_items[N_KINDS];
};

static int get_header(struct pfor_in *in, struct header *ret)
{
	if (in->end - in->p >= 4 && le__get32(in->p) > RECORD_VERSION)
		return -EPROTONOSUPPORT;
	if (in->end - in->p < 8 + N_KINDS * 16 || le__get32(in->p) != RECORD_VERSION ||
	    le__get32(in->p + 4) != N_KINDS)
		return -EBADMSG;
	in->p += 8;
	for (unsigned k = 0; k < N_KINDS; k++, in->p += 16) {
		ret->first[k] = le__get32(in->p);
		ret->n[k] = le__get32(in->p + 4);
		ret->n_items[k] = le__get64(in->p + 8);
		if (ret->n[k] > DCM_NONE - 1 - ret->first[k] ||
		    (!tables[k].n_item_columns && ret->n_items[k]))
			return -EBADMSG;
	}
	return ret->first[LEARNT] ? -EBADMSG : 0;
}

static struct dict_counts counts_of(const uint32_t *n)
{
	return (struct dict_counts){
		.strings = n[STRINGS],
		.mappings = n[MAPPINGS],
		.functions = n[FUNCTIONS],
		.processes = n[PROCESSES],
		.locations = n[LOCATIONS],
		.nodes = n[NODES],
		.stacks = n[STACKS],
		.label_sets = n[LABEL_SETS],
		.series = n[SERIES],
		.types = n[TYPES],
	};
}

/* What there is behind the record. */
static struct dict_counts end_of(const struct header *h)
{
	uint32_t end[N_KINDS];

	for (unsigned k = 0; k < N_KINDS; k++)
		end[k] = h->first[k] + h->n[k];
	return counts_of(end);
}

/* Behind the header, into a dictionary that has all that is before. */
static int decode_tables(struct loader *l, const struct header *h, struct pfor_in *in)
{
	int r = 0;

	l->now = end_of(h);
	for (unsigned k = 0; r == 0 && k < N_KINDS; k++)
		r = decode_table(l, k, h->first[k], h->n[k], h->n_items[k], in);
	return r == 0 && in->p != in->end ? -EBADMSG : r;
}

int era_record__decode(struct dict *d, const uint8_t *p, size_t n, uint64_t *ret_lost)
{
	struct pfor_in in = { p, p + n };
	struct loader l = { .d = d };
	struct header h;
	int r = get_header(&in, &h);

	if (r < 0)
		return r;
	const struct dict_counts first = counts_of(h.first);

	r = dict__fill(d, &first, ret_lost);
	return r ? r : decode_tables(&l, &h, &in);
}

int era_record__decode_names(struct dict *d, const uint8_t *p, size_t n, struct dict_counts *have,
			     uint64_t *ret_lost)
{
	struct pfor_in in = { p, p + n };
	struct loader l = { .d = d, .names_only = true };
	uint32_t had[N_KINDS], names[N_KINDS] = { 0 };
	uint64_t lost = 0;
	struct header h;
	int r = get_header(&in, &h);

	spread(have, had);
	for (unsigned k = 0; r == 0 && k < LEARNT; k++) {
		if (is_name(k))
			names[k] = h.first[k];
		else if (h.first[k] < had[k])
			r = -EBADMSG;
		else
			lost += h.first[k] - had[k];
	}
	if (r < 0)
		return r;
	const struct dict_counts first = counts_of(names);

	r = dict__fill(d, &first, ret_lost);
	if (r < 0)
		return r;
	*ret_lost += lost;
	*have = end_of(&h);
	return decode_tables(&l, &h, &in);
}

void era_record__put_counts(struct buf *to, const struct dict_counts *c)
{
	uint32_t n[N_KINDS];

	spread(c, n);
	for (unsigned k = 0; k < LEARNT; k++)
		buf__le32(to, n[k]);
}

struct dict_counts era_record__get_counts(const uint8_t *p)
{
	uint32_t n[N_KINDS] = { 0 };

	for (unsigned k = 0; k < LEARNT; k++)
		n[k] = le__get32(p + k * sizeof(uint32_t));
	return counts_of(n);
}

int era_record__first(const uint8_t *p, size_t n, struct dict_counts *ret)
{
	struct pfor_in in = { p, p + n };
	struct header h;
	int r = get_header(&in, &h);

	if (r == 0)
		*ret = counts_of(h.first);
	return r;
}

int era_record__end(const uint8_t *p, size_t n, struct dict_counts *ret)
{
	struct pfor_in in = { p, p + n };
	struct header h;
	int r = get_header(&in, &h);

	if (r == 0)
		*ret = end_of(&h);
	return r;
}

int era_record__merge(struct dict *d, const uint8_t *p, size_t n)
{
	const struct dict_counts counts = dict__counts(d);
	struct pfor_in in = { p, p + n };
	struct loader l = { .d = d };
	uint32_t had[N_KINDS];
	struct header h;
	int r = get_header(&in, &h);

	if (r < 0)
		return r;
	spread(&counts, had);
	for (unsigned k = 0; k < N_KINDS; k++)
		if (h.first[k] > had[k])
			return -EBADMSG;
	/* What stands in a gap is never found. */
	if (d->has_gaps)
		l.had = had;
	return decode_tables(&l, &h, &in);
}
