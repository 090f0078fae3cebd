/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/query/frames.c - reads each line of each location once, interns frames by key, numbers them
 * by text
 *
 * Texts are compared as numbers: every distinct text of the batch gets one first. What is not part
 * of a frame's key (system name, build id, first line) is the smallest that came, so that order
 * does not matter. Many are put into order by a thread that lives no longer than that, while stacks
 * are read: it reads the frames as they came, which nobody changes, and writes what nobody reads
 * before frames__settle().
 */
#include "core/query/frames.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/batch/batch.h"
#include "core/query/selector.h"
#include "core/query/text_sort.h"
#include "core/symbolize/symbols.h"

enum { FALLBACK_MAX_BYTES = 512 };
#define SLOTS_MAX ((uint64_t)1 << 31)
/* In key.kind: the name is made of the address. */
#define BY_ADDRESS 0x100u

/*
 * What makes two frames one; texts by number. A name that is made of the address is known by what
 * stands before that in it, so that it is written once.
 */
struct key {
	uint32_t name, file, binary, kind;
	int64_t line;
	uint64_t address;
};

/* Which frame a function had last, in code of which mapping and kind. */
struct known {
	uint32_t frame_1; /* and 1; 0: none */
	uint32_t mapping, kind;
};

/* The number of what stands before an address, in code of that kind. */
struct known_place {
	uint32_t kind_1; /* and 1; 0: not yet */
	uint32_t number;
};

struct maker {
	struct frames *out;
	struct known *known;	    /* [n_functions], where frames are functions; else NULL */
	struct known_place *places; /* [n_mappings] */
	uint32_t *texts; /* [n_strings] string -> number of its text, DCM_NONE: not yet */
	VEC(struct dcm_str) by_number;
	struct hindex text_index;
	VEC(struct key) keys; /* [frames.n] */
	VEC(struct frame) frames;
	struct hindex key_index;
	struct dcm_span *locations;
	struct frame_slot *slots;
};

static void maker__fini(struct maker *m)
{
	free(m->texts);
	free(m->known);
	free(m->places);
	vec__fini(&m->by_number);
	hindex__fini(&m->text_index);
	vec__fini(&m->keys);
	vec__fini(&m->frames);
	hindex__fini(&m->key_index);
}

struct frames *frames__ref(struct frames *f)
{
	atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
	return f;
}

static void order__free(struct frames_order *o);

void frames__unref(struct frames *f)
{
	if (!f || atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) > 1)
		return;
	order__free(f->order);
	batch__unref(f->batch);
	arena__fini(&f->arena);
	free(f);
}

struct dcm_str frames__base_name(struct dcm_str path)
{
	uint32_t at = path.n;

	while (at > 0 && path.p[at - 1] != '/')
		at--;
	return (struct dcm_str){ path.p + at, path.n - at };
}

const char *frames__kind_name(unsigned kind)
{
	static const char *const names[] = {
		[DCM_FRAME_NATIVE] = "native", [DCM_FRAME_KERNEL] = "kernel",
		[DCM_FRAME_JIT] = "jit",       [DCM_FRAME_INTERPRETED] = "interpreted",
		[DCM_FRAME_NOTE] = "note",
	};

	if (kind == FRAME_LABEL)
		return "label";
	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "unknown";
}

bool frames__group_is_coarse(enum frames_group group)
{
	return group == FRAMES_BINARY || group == FRAMES_FILE;
}

int frames__parse_group(struct dcm_str text, enum frames_group *ret, struct dcm_error *err)
{
	static const char *const names[] = {
		[FRAMES_FUNCTION] = "function", [FRAMES_LINE] = "line", [FRAMES_BINARY] = "binary",
		[FRAMES_ADDRESS] = "address",	[FRAMES_FILE] = "file",
	};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (str__eq(text, str__of(names[i]))) {
			*ret = (enum frames_group)i;
			return 0;
		}
	return error__set(err, -EINVAL, "group \"%.*s\": expected function, line, binary, address or file",
			  STR_ARG(text));
}

/* -------------------------------------------------------------------------------------------------
 * Texts as numbers
 */

/* The number of a text, which must outlive the frames; DCM_NONE when memory ran out. */
static uint32_t number_of(struct maker *m, struct dcm_str s)
{
	uint64_t h = hash__bytes(s.p, s.n, 0);
	uint32_t row, at = hindex__first(&m->text_index, h, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&m->text_index, h, at, &row))
		if (str__eq(m->by_number.v[row], s))
			return row;
	if (!vec__reserve(&m->by_number, 1) ||
	    hindex__insert(&m->text_index, h, (uint32_t)m->by_number.n) < 0)
		return DCM_NONE;
	m->by_number.v[m->by_number.n] = s;
	return (uint32_t)m->by_number.n++;
}

static uint32_t number_of_string(struct maker *m, uint32_t string)
{
	if (m->texts[string] == DCM_NONE)
		m->texts[string] = number_of(m, m->out->batch->strings[string]);
	return m->texts[string];
}

/* -------------------------------------------------------------------------------------------------
 * One frame
 */

/* The smaller text that says something. */
static struct dcm_str least_text(struct dcm_str a, struct dcm_str b)
{
	if (a.n == 0 || (b.n > 0 && str__cmp(b, a) < 0))
		return b;
	return a;
}

static void combine(struct frame *f, const struct frame *other)
{
	f->system_name = least_text(f->system_name, other->system_name);
	f->build_id = least_text(f->build_id, other->build_id);
	if (f->line == 0 || (other->line > 0 && other->line < f->line))
		f->line = other->line;
	f->always_inlined &= other->always_inlined;
	if (other->unnamed < f->unnamed)
		f->unnamed = other->unnamed;
}

static bool same_key(const struct key *a, const struct key *b)
{
	return a->name == b->name && a->file == b->file && a->binary == b->binary &&
	       a->kind == b->kind && a->line == b->line && a->address == b->address;
}

/* What is written for a frame without a name, in the arena. */
static struct dcm_str name_of_address(struct maker *m, uint32_t location)
{
	char text[FALLBACK_MAX_BYTES];
	const uint32_t n = symbols__fallback_name(m->out->batch, location, text, sizeof(text));

	return arena__str(&m->out->arena, (struct dcm_str){ text, n });
}

/* Appends a frame that is new. */
static uint32_t add_frame(struct maker *m, const struct key *key, uint64_t h,
			  const struct frame *frame, uint32_t location)
{
	struct dcm_str name = key->kind & BY_ADDRESS ? name_of_address(m, location) : frame->name;

	if (!name.p || !vec__reserve(&m->keys, 1) || !vec__reserve(&m->frames, 1) ||
	    hindex__insert(&m->key_index, h, (uint32_t)m->keys.n) < 0)
		return DCM_NONE;
	m->frames.v[m->frames.n] = *frame;
	m->frames.v[m->frames.n++].name = name;
	m->keys.v[m->keys.n] = *key;
	return (uint32_t)m->keys.n++;
}

/* The frame's id before sorting, or DCM_NONE when memory ran out. */
static uint32_t intern_frame(struct maker *m, const struct key *key, const struct frame *frame,
			     uint32_t location)
{
	uint64_t h = hash__mix(hash__mix(hash__mix(key->name, key->file), key->binary), key->kind);
	h = hash__mix(hash__mix(h, (uint64_t)key->line), key->address);
	uint32_t row, at = hindex__first(&m->key_index, h, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&m->key_index, h, at, &row))
		if (same_key(&m->keys.v[row], key)) {
			combine(&m->frames.v[row], frame);
			return row;
		}
	return add_frame(m, key, h, frame, location);
}

/* Reading one line of one location: the frame, and its key. */
struct reading {
	const struct dcm_location *location;
	const struct dcm_function *function; /* NULL: not named */
	int64_t line;
	struct frame f;
	struct key k;
};

/* What stands before the address where a name is missing: of tens of thousands, a few. */
static uint32_t number_of_place(struct maker *m, uint32_t location)
{
	const struct dcm_location *l = &m->out->batch->locations[location];
	struct known_place *p = l->mapping == DCM_NONE ? NULL : &m->places[l->mapping];

	if (p && p->kind_1 == l->kind + 1u)
		return p->number;
	const uint32_t number = number_of(m, symbols__place(m->out->batch, location));
	if (p)
		*p = (struct known_place){ l->kind + 1u, number };
	return number;
}

/* What stands where a name is missing. */
static void name_by_address(struct maker *m, uint32_t location, struct reading *rd)
{
	rd->f.is_unnamed = true;
	rd->f.unnamed = rd->location->unnamed;
	rd->f.address = rd->k.address = rd->location->address;
	rd->k.kind |= BY_ADDRESS;
	rd->k.name = number_of_place(m, location);
	rd->k.file = number_of_string(m, 0);
}

/* FRAMES_BINARY: the binary's file, or what kind of code it is. */
static void name_by_binary(struct maker *m, struct reading *rd)
{
	rd->f.name = frames__base_name(rd->f.binary);
	if (rd->f.name.n == 0)
		rd->f.name = rd->f.kind == DCM_FRAME_JIT	   ? STR("[jit]")
			     : rd->f.kind == DCM_FRAME_INTERPRETED ? STR("[interpreted]")
			     : rd->f.kind == DCM_FRAME_KERNEL	   ? STR("[kernel]")
								   : STR("[unknown]");
	rd->f.always_inlined = false;
	rd->k.name = number_of(m, rd->f.name);
	rd->k.file = number_of_string(m, 0);
}

/* FRAMES_FILE; false where there is none. */
static bool name_by_file(struct maker *m, struct reading *rd)
{
	const struct dcm_batch *b = m->out->batch;

	if (!rd->function || b->strings[rd->function->file].n == 0)
		return false;
	rd->f.file = b->strings[rd->function->file];
	rd->f.name = frames__base_name(rd->f.file);
	if (rd->f.name.n == 0)
		rd->f.name = rd->f.file;
	rd->f.always_inlined = false;
	rd->k.name = number_of(m, rd->f.name);
	rd->k.file = number_of_string(m, rd->function->file);
	return true;
}

static void name_by_function(struct maker *m, struct reading *rd)
{
	const struct dcm_batch *b = m->out->batch;
	const struct dcm_function *fn = rd->function;
	bool by_line = m->out->group == FRAMES_LINE || m->out->group == FRAMES_ADDRESS;

	rd->f.name = b->strings[fn->name];
	if (!str__eq(b->strings[fn->system_name], rd->f.name))
		rd->f.system_name = b->strings[fn->system_name];
	rd->f.file = b->strings[fn->file];
	rd->f.line = by_line ? rd->line : fn->start_line;
	rd->k.name = number_of_string(m, fn->name);
	rd->k.file = number_of_string(m, fn->file);
	rd->k.line = by_line ? rd->line : 0;
	if (m->out->group == FRAMES_ADDRESS)
		rd->f.address = rd->k.address = rd->location->address;
}

static uint32_t read_frame(struct maker *m, uint32_t location, uint32_t line, bool inlined)
{
	const struct dcm_batch *b = m->out->batch;
	const struct dcm_location *l = &b->locations[location];
	uint32_t function = line == DCM_NONE ? DCM_NONE : b->lines[line].function;
	struct reading rd;

	/* Key and frame apart: a struct that large is zeroed in a way that who reads it next waits for. */
	rd.location = l;
	rd.function = function == DCM_NONE ? NULL : &b->functions[function];
	rd.line = line == DCM_NONE ? 0 : b->lines[line].line;
	rd.f = (struct frame){ .system_name = STR(""),
			       .file = STR(""),
			       .binary = STR(""),
			       .build_id = STR(""),
			       .kind = l->kind,
			       .always_inlined = inlined };
	rd.k = (struct key){ .kind = l->kind, .binary = number_of_string(m, 0) };
	if (l->mapping != DCM_NONE) {
		rd.f.binary = b->strings[b->mappings[l->mapping].file];
		rd.f.build_id = b->strings[b->mappings[l->mapping].build_id];
		rd.k.binary = number_of_string(m, b->mappings[l->mapping].file);
	}
	if (rd.function && b->strings[rd.function->name].n == 0)
		rd.function = NULL;
	if (frames__group_is_coarse(m->out->group) && l->kind != DCM_FRAME_NOTE) {
		if (m->out->group == FRAMES_BINARY || !name_by_file(m, &rd))
			name_by_binary(m, &rd);
	} else if (rd.function) {
		name_by_function(m, &rd);
	} else {
		name_by_address(m, location, &rd);
	}
	if (rd.k.name == DCM_NONE || rd.k.file == DCM_NONE || rd.k.binary == DCM_NONE)
		return DCM_NONE;
	return intern_frame(m, &rd.k, &rd.f, location);
}

/*
 * The frame of line `line` of the location (DCM_NONE: it has none); `inlined`: into the next one. A function has many
 * locations, and all that makes its frame is alike in those of one mapping and kind: only the first is looked up.
 */
static uint32_t frame_of(struct maker *m, uint32_t location, uint32_t line, bool inlined)
{
	const struct dcm_batch *b = m->out->batch;
	const struct dcm_location *l = &b->locations[location];
	const uint32_t function = line == DCM_NONE ? DCM_NONE : b->lines[line].function;
	uint32_t frame;

	if (!m->known || function == DCM_NONE || b->strings[b->functions[function].name].n == 0)
		return read_frame(m, location, line, inlined);
	struct known *k = &m->known[function];
	if (k->frame_1 && k->mapping == l->mapping && k->kind == l->kind) {
		m->frames.v[k->frame_1 - 1].always_inlined &= inlined;
		return k->frame_1 - 1;
	}
	frame = read_frame(m, location, line, inlined);
	*k = (struct known){ frame + 1, l->mapping, l->kind };
	return frame;
}

/* -------------------------------------------------------------------------------------------------
 * All of them
 */

/* Room for as many frames as there can well be. */
static int expect_frames(struct maker *m)
{
	const struct dcm_batch *b = m->out->batch;
	uint64_t n = b->n_functions;

	if (frames__group_is_coarse(m->out->group))
		return 0;
	for (uint32_t i = 0; i < b->n_locations; i++)
		n += b->locations[i].n_lines == 0;
	if (n > SLOTS_MAX)
		return -E2BIG;
	return vec__reserve(&m->keys, n) && vec__reserve(&m->frames, n)
		       ? hindex__reserve(&m->key_index, (uint32_t)n)
		       : -ENOMEM;
}

static int make_slots(struct maker *m)
{
	struct frames *out = m->out;
	const struct dcm_batch *b = out->batch;
	uint64_t n = 0;

	for (uint32_t i = 0; i < b->n_locations; i++)
		n += b->locations[i].n_lines ? b->locations[i].n_lines : 1;
	if (n > SLOTS_MAX)
		return -E2BIG;
	if (out->group == FRAMES_FUNCTION) {
		m->known = mem__zalloc(b->n_functions ? b->n_functions : 1, sizeof(*m->known));
		if (!m->known)
			return -ENOMEM;
	}
	m->places = mem__zalloc(b->n_mappings ? b->n_mappings : 1, sizeof(*m->places));
	if (!m->places)
		return -ENOMEM;
	m->locations = arena__alloc(&out->arena, b->n_locations * sizeof(*m->locations));
	m->slots = arena__alloc(&out->arena, n * sizeof(*m->slots));
	if (!m->locations || !m->slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->n_locations; i++) {
		const struct dcm_location *l = &b->locations[i];
		uint32_t n_lines = l->n_lines ? l->n_lines : 1;

		m->locations[i] = (struct dcm_span){ out->n_slots, n_lines };
		for (uint32_t k = 0; k < n_lines; k++) {
			uint32_t line = l->n_lines ? l->line_off + k : DCM_NONE;
			uint32_t frame = frame_of(m, i, line, k + 1 < n_lines);

			if (frame == DCM_NONE)
				return -ENOMEM;
			m->slots[out->n_slots++] = (struct frame_slot){ frame, i, line };
		}
	}
	out->locations = m->locations;
	out->slots = m->slots;
	return 0;
}

/* The frame "name=value" of a group's label: which "=" that is, the quotes say of a name that has one. */
static uint32_t label_frame(struct maker *m, struct dcm_str name, struct dcm_str value, struct buf *scratch)
{
	buf__reset(scratch);
	selector__put_name(name, scratch);
	buf__byte(scratch, '=');
	buf__str(scratch, value);
	struct dcm_str text = scratch->error ? (struct dcm_str){ 0 }
					     : arena__str(&m->out->arena, buf__view(scratch));
	if (!text.p)
		return DCM_NONE;
	struct frame f = {
		.name = text,
		.system_name = STR(""),
		.file = STR(""),
		.binary = STR(""),
		.build_id = STR(""),
		.kind = FRAME_LABEL,
	};
	struct key key = { .name = number_of(m, f.name), .file = number_of_string(m, 0), .kind = FRAME_LABEL };
	key.binary = key.file;
	if (key.name == DCM_NONE || key.file == DCM_NONE)
		return DCM_NONE;
	return intern_frame(m, &key, &f, DCM_NONE);
}

static int make_labels(struct maker *m, const struct dcm_group_by *by, uint32_t **ret_labels)
{
	const struct dcm_batch *b = m->out->batch;
	uint32_t *labels = arena__alloc(&m->out->arena,
					((size_t)b->n_profiles * by->n + 1) * sizeof(*labels));

	struct buf scratch = { 0 };
	int r = labels ? 0 : -ENOMEM;

	for (uint32_t p = 0; r == 0 && p < b->n_profiles; p++)
		for (uint32_t i = 0; r == 0 && i < by->n; i++) {
			const struct dcm_str value = batch__series_label(b, b->profiles[p].series,
									 by->labels[i]);
			const uint32_t frame = label_frame(m, by->labels[i], value, &scratch);

			labels[(size_t)p * by->n + i] = frame;
			r = frame == DCM_NONE ? -ENOMEM : 0;
		}
	buf__fini(&scratch);
	*ret_labels = labels;
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * Numbering by text
 */

struct frames_order {
	struct frame *by_key; /* [n], as they came; ours */
	uint32_t n;
	struct text_row *rows; /* [n] */
	uint32_t *rank;	       /* [n] where each has come to stand */
	struct frame *sorted;  /* [n], of the table's arena */
	struct frame_slot *slots;
	uint32_t *labels; /* [n_labels] */
	size_t n_labels;
	pthread_t thread;
	bool is_threaded, is_settled;
	int error;
};

static void order__free(struct frames_order *o)
{
	if (!o)
		return;
	if (o->is_threaded)
		pthread_join(o->thread, NULL);
	free(o->by_key);
	free(o->rows);
	free(o->rank);
	free(o);
}

static struct dcm_str text_of(const void *order, uint32_t frame)
{
	const struct frames_order *o = order;

	return o->by_key[frame].name;
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_frames(const void *a, const void *b, void *order)
{
	const struct text_row *x = a, *y = b;
	const struct frames_order *o = order;
	const struct frame *f = &o->by_key[x->row], *g = &o->by_key[y->row];
	int c = str__cmp(f->name, g->name);

	if (c == 0)
		c = str__cmp(f->file, g->file);
	if (c == 0)
		c = str__cmp(f->binary, g->binary);
	if (c == 0)
		c = compare_u64(f->kind, g->kind);
	if (c == 0)
		c = f->line < g->line ? -1 : f->line > g->line;
	if (c == 0)
		c = compare_u64(f->address, g->address);
	return c ? c : (int)f->is_unnamed - (int)g->is_unnamed;
}

/* A thread's work, or ours. */
static void *sort_frames(void *order)
{
	struct frames_order *o = order;
	const struct text_sort sort = { text_of, compare_frames, o };

	o->error = text_sort__run(&sort, o->rows, o->n);
	for (uint32_t i = 0; o->error == 0 && i < o->n; i++) {
		o->rank[o->rows[i].row] = i;
		o->sorted[i] = o->by_key[o->rows[i].row];
	}
	return NULL;
}

/* Fewer are in order before a thread has begun. */
enum { WORTH_A_THREAD = 4096 };

/* Takes what the maker has; the frames are seen as they came until frames__settle(). */
static int begin_order(struct maker *m, uint32_t *labels, size_t n_labels)
{
	struct frames *out = m->out;
	struct frames_order *o = out->order = NEW(struct frames_order);
	const size_t n = m->frames.n ? m->frames.n : 1;

	if (!o)
		return -ENOMEM;
	o->rows = mem__resize(NULL, n, sizeof(*o->rows));
	o->rank = mem__resize(NULL, n, sizeof(*o->rank));
	o->sorted = arena__alloc(&out->arena, n * sizeof(*o->sorted));
	if (!o->rows || !o->rank || !o->sorted)
		return -ENOMEM;
	o->n = out->n = (uint32_t)m->frames.n;
	out->v = o->by_key = m->frames.v;
	m->frames.v = NULL;
	m->frames.n = m->frames.cap = 0;
	o->slots = m->slots;
	o->labels = labels;
	o->n_labels = n_labels;
	for (uint32_t i = 0; i < o->n; i++)
		o->rows[i].row = i;
	o->is_threaded = o->n >= WORTH_A_THREAD && pthread_create(&o->thread, NULL, sort_frames, o) == 0;
	return 0;
}

int frames__settle(struct frames *f, const uint32_t **ret_rank)
{
	struct frames_order *o = f->order;

	*ret_rank = NULL;
	if (!o || o->is_settled)
		return 0;
	if (o->is_threaded)
		pthread_join(o->thread, NULL);
	else
		sort_frames(o);
	o->is_threaded = false;
	if (o->error)
		return o->error;
	for (uint32_t i = 0; i < f->n_slots; i++)
		o->slots[i].frame = o->rank[o->slots[i].frame];
	for (size_t i = 0; i < o->n_labels; i++)
		o->labels[i] = o->rank[o->labels[i]];
	f->v = o->sorted;
	free(o->by_key);
	o->by_key = NULL;
	o->is_settled = true;
	*ret_rank = o->rank;
	return 0;
}

static int make(struct maker *m, const struct dcm_group_by *by)
{
	const struct dcm_batch *b = m->out->batch;
	uint32_t *labels = NULL;
	int r;

	m->texts = mem__resize(NULL, b->n_strings ? b->n_strings : 1, sizeof(*m->texts));
	if (!m->texts)
		return -ENOMEM;
	memset(m->texts, 0xff, b->n_strings * sizeof(*m->texts));
	r = expect_frames(m);
	if (r == 0)
		r = make_slots(m);
	if (r == 0 && by && by->n) {
		r = make_labels(m, by, &labels);
		m->out->labels = labels;
		m->out->n_by = by->n;
	}
	if (r == 0)
		r = begin_order(m, labels, labels ? (size_t)b->n_profiles * by->n : 0);
	return r;
}

int frames__new(struct dcm_batch *batch, enum frames_group group, const struct dcm_group_by *by,
		struct frames **ret, struct dcm_error *err)
{
	CLEANUP(frames__unrefp) struct frames *f = NULL;
	const uint32_t *rank;
	int r = frames__begin(batch, group, by, &f, err);

	if (r < 0)
		return r;
	if (frames__settle(f, &rank) < 0)
		return error__nomem(err);
	*ret = take_ptr(f);
	return 0;
}

int frames__begin(struct dcm_batch *batch, enum frames_group group, const struct dcm_group_by *by,
		  struct frames **ret, struct dcm_error *err)
{
	CLEANUP(frames__unrefp) struct frames *out = NEW(struct frames);
	struct maker m = { .out = out };

	if (!out)
		return error__nomem(err);
	out->refs = 1;
	out->batch = batch__ref(batch);
	out->group = group;
	int r = make(&m, by);
	maker__fini(&m);
	if (r == -E2BIG)
		return error__set(err, r, "the answer has too many frames; ask for a shorter range");
	if (r < 0)
		return error__nomem(err);
	*ret = take_ptr(out);
	return 0;
}
