/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/query/flametree.c - a flame tree's columns, one section after the other
 *
 * Functions are numbered as they first come in the tree, so that the heavy ones, which come often, have the short
 * numbers; those that no node has are left out.
 */
#include "core/query/flametree.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/intern.h"
#include "core/base/le.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/symbolize/symbols.h"

#define TAG(a, b, c, d)                                                                            \
	((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

struct why {
	uint32_t build_id, unnamed, reason;
};

/* A text of the frames, which share them, and its id. */
struct known {
	const char *p;
	uint32_t n, id;
};

/* A section, and where it is in out. */
struct entry {
	uint32_t tag, codec;
	size_t at, n;
};

struct writer {
	const struct flame *f;
	struct buf *out;
	size_t start; /* of the tree in out */
	struct entry entries[FLAMETREE_MAX_SECTIONS];
	uint32_t n_sections;
	int64_t scale;
	uint32_t *id; /* [frames->n] of the function, or UINT32_MAX */
	uint32_t *of; /* [n_functions] its frame */
	struct function *functions;
	uint32_t n_functions;
	/* Id 0 is the empty text in each. */
	struct intern files, binaries, build_ids, reasons;
	struct why why; /* of the last function without a name: the next one is often of the same file */
	struct known last_file, last_binary, last_build_id; /* likewise */
	const int64_t *self;				    /* whose column is written */
};

/* What the sections say of a frame, side by side: each of them passes over all functions. */
struct function {
	struct dcm_str name;
	uint64_t line, address;
	uint32_t file, binary, build_id, reason; /* texts */
	uint32_t flags;
};

/* ------------------------------------------------------------------------------------------------
 * Sections
 */

static void put_entry(struct writer *w, uint32_t tag, enum flametree_codec codec, size_t at)
{
	w->entries[w->n_sections++] = (struct entry){ tag, codec, at, w->out->n - at };
}

/* So many numbers get their room at once, each as much as it may need. */
enum { NUMBERS_AT_ONCE = 1024, NUMBER_BYTES_MAX = 10 };

static uint64_t zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (v < 0 ? UINT64_MAX : 0);
}

/*
 * The numbers of [first, end), as varints. Inlined with `number`: this is where a tree of a million
 * nodes spends its time.
 */
static inline __attribute__((always_inline)) void put_column(
	struct writer *w, uint32_t tag, enum flametree_codec codec, uint32_t first, uint32_t end,
	uint64_t (*number)(const struct writer *, uint32_t))
{
	const size_t at = w->out->n;

	for (uint32_t i = first; i < end;) {
		const uint32_t last = end - i < NUMBERS_AT_ONCE ? end : i + NUMBERS_AT_ONCE;
		uint8_t *to = buf__reserve(w->out, (size_t)(last - i) * NUMBER_BYTES_MAX);

		if (!to)
			return;
		for (; i < last; i++) {
			uint64_t v = number(w, i);

			for (; v >= 0x80; v >>= 7)
				*to++ = (uint8_t)(v | 0x80);
			*to++ = (uint8_t)v;
		}
		w->out->n = (size_t)(to - w->out->data);
	}
	put_entry(w, tag, codec, at);
}

/* A number of each function. */
static inline __attribute__((always_inline)) void put_numbers(struct writer *w, uint32_t tag,
							      uint64_t (*number)(const struct writer *,
										 uint32_t))
{
	put_column(w, tag, FLAMETREE_VARINT, 0, w->n_functions, number);
}

/* Lengths, then all texts in one. */
static void put_texts(struct writer *w, uint32_t lengths, uint32_t bytes, const struct intern *t)
{
	size_t at = w->out->n;

	for (uint32_t i = 0; i < t->n; i++)
		buf__varint(w->out, intern__text(t, i).n);
	put_entry(w, lengths, FLAMETREE_VARINT, at);
	at = w->out->n;
	for (uint32_t i = 0; i < t->n; i++)
		buf__str(w->out, intern__text(t, i));
	put_entry(w, bytes, FLAMETREE_RAW, at);
}

/* ------------------------------------------------------------------------------------------------
 * Functions
 */

/* The reason's text, or INTERN_NONE. */
static uint32_t reason_of(struct writer *w, const struct frame *f, uint32_t build_id)
{
	const struct why *last = &w->why;
	char text[512];

	if (!f->is_unnamed)
		return 0;
	if (last->reason == 0 || last->build_id != build_id || last->unnamed != f->unnamed) {
		const uint32_t n = symbols__why_of(f->unnamed, f->build_id, text, sizeof(text));

		w->why = (struct why){ build_id, f->unnamed,
				       intern__add(&w->reasons, (struct dcm_str){ text, n }) };
	}
	return w->why.reason;
}

/*
 * How much of a name need not be written: "+0x1f" of "libfoo.so+0x1f", which stands in the column of
 * addresses. Where names are missing, this is most of what a tree would have of texts.
 */
static uint32_t address_bytes(const struct frame *f)
{
	const uint32_t digits = f->address ? (67 - (uint32_t)__builtin_clzll(f->address)) / 4 : 1;
	const uint32_t n = 3 + digits;

	return f->is_unnamed && f->name.n >= n && f->name.p[f->name.n - n] == '+' ? n : 0;
}

/* What is written of a name: nothing where it is that of the binary, as it nearly always is. */
static struct dcm_str written_name(const struct frame *f)
{
	const uint32_t n = address_bytes(f);
	const struct dcm_str name = { f->name.p, f->name.n - n };

	return n && str__eq(name, frames__base_name(f->binary)) ? STR("") : name;
}

static uint32_t flags_of(const struct frame *f)
{
	return (f->kind == FRAME_LABEL ? FLAMETREE_LABEL : f->kind) |
	       (f->always_inlined ? FLAMETREE_INLINED : 0u) | (f->is_unnamed ? FLAMETREE_UNNAMED : 0u) |
	       (address_bytes(f) ? FLAMETREE_AT_ADDRESS : 0u);
}

/* The text's id; the last one's is known when it comes again. */
static uint32_t id_of(struct intern *texts, struct known *last, struct dcm_str s)
{
	if (last->p != s.p || last->n != s.n)
		*last = (struct known){ s.p, s.n, intern__add(texts, s) };
	return last->id;
}

static int take_function(struct writer *w, uint32_t i)
{
	const struct frame *f = &w->f->frames->v[w->of[i]];
	const uint32_t build_id = id_of(&w->build_ids, &w->last_build_id, f->build_id);
	const struct function fn = { .name = written_name(f),
				     .line = f->line > 0 ? (uint64_t)f->line : 0,
				     .address = f->address,
				     .file = id_of(&w->files, &w->last_file, f->file),
				     .binary = id_of(&w->binaries, &w->last_binary, f->binary),
				     .build_id = build_id,
				     .reason = reason_of(w, f, build_id),
				     .flags = flags_of(f) };

	if (fn.file == INTERN_NONE || fn.binary == INTERN_NONE || fn.build_id == INTERN_NONE ||
	    fn.reason == INTERN_NONE)
		return -ENOMEM;
	w->functions[i] = fn;
	return 0;
}

/* Which frames there are, in the order in which they come; `of` has them. */
static int number_functions(struct writer *w)
{
	const struct flame *f = w->f;
	const uint32_t n = f->frames->n;

	w->id = mem__zalloc(n + 1, sizeof(*w->id));
	w->of = mem__zalloc(n + 1, sizeof(*w->of));
	w->functions = mem__zalloc(n + 1, sizeof(*w->functions));
	if (!w->id || !w->of || !w->functions)
		return -ENOMEM;
	memset(w->id, 0xff, n * sizeof(*w->id));
	for (uint32_t i = 1; i < f->n; i++) {
		uint32_t *id = &w->id[f->frame[i]];

		if (*id != UINT32_MAX)
			continue;
		*id = w->n_functions;
		w->of[w->n_functions++] = f->frame[i];
	}
	return 0;
}

#define NUMBER_OF(column)                                                                          \
	static uint64_t column##_of_function(const struct writer *w, uint32_t i)                   \
	{                                                                                          \
		return w->functions[i].column;                                                     \
	}
NUMBER_OF(file)
NUMBER_OF(binary)
NUMBER_OF(build_id)
NUMBER_OF(reason)
NUMBER_OF(line)
NUMBER_OF(flags)
NUMBER_OF(address)

static uint64_t name_bytes_of_function(const struct writer *w, uint32_t i)
{
	return w->functions[i].name.n;
}

/* Names are not interned: functions that share one differ in something else. */
static void put_names(struct writer *w)
{
	size_t at, n = 0;

	put_numbers(w, TAG('N', 'L', 'E', 'N'), name_bytes_of_function);
	at = w->out->n;
	for (uint32_t i = 0; i < w->n_functions; i++)
		n += w->functions[i].name.n;
	buf__reserve(w->out, n);
	for (uint32_t i = 0; i < w->n_functions; i++)
		buf__str(w->out, w->functions[i].name);
	put_entry(w, TAG('N', 'B', 'L', 'B'), FLAMETREE_RAW, at);
}

static int put_functions(struct writer *w)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < w->n_functions; i++)
		r = take_function(w, i);
	if (r < 0)
		return r;
	put_names(w);
	put_texts(w, TAG('F', 'L', 'E', 'N'), TAG('F', 'B', 'L', 'B'), &w->files);
	put_texts(w, TAG('M', 'L', 'E', 'N'), TAG('M', 'B', 'L', 'B'), &w->binaries);
	put_texts(w, TAG('B', 'L', 'E', 'N'), TAG('B', 'B', 'L', 'B'), &w->build_ids);
	put_texts(w, TAG('W', 'L', 'E', 'N'), TAG('W', 'B', 'L', 'B'), &w->reasons);
	put_numbers(w, TAG('F', 'F', 'I', 'L'), file_of_function);
	put_numbers(w, TAG('F', 'M', 'A', 'P'), binary_of_function);
	put_numbers(w, TAG('F', 'B', 'I', 'D'), build_id_of_function);
	put_numbers(w, TAG('F', 'W', 'H', 'Y'), reason_of_function);
	put_numbers(w, TAG('F', 'L', 'I', 'N'), line_of_function);
	put_numbers(w, TAG('F', 'F', 'L', 'G'), flags_of_function);
	put_numbers(w, TAG('F', 'A', 'D', 'R'), address_of_function);
	return w->out->error;
}

/* ------------------------------------------------------------------------------------------------
 * Nodes
 */

static uint64_t ups_of_node(const struct writer *w, uint32_t i)
{
	return w->f->depth[i - 1] + 1 - w->f->depth[i];
}

static uint64_t function_of_node(const struct writer *w, uint32_t i)
{
	return w->id[w->f->frame[i]];
}

static uint64_t self_of_node(const struct writer *w, uint32_t i)
{
	return (uint64_t)w->self[i];
}

static uint64_t signed_self_of_node(const struct writer *w, uint32_t i)
{
	return zigzag(w->self[i]);
}

static uint64_t scaled_self_of_node(const struct writer *w, uint32_t i)
{
	return zigzag(w->self[i] / w->scale);
}

static void put_shape(struct writer *w)
{
	put_column(w, TAG('N', 'U', 'P', 'S'), FLAMETREE_VARINT, 1, w->f->n, ups_of_node);
	put_column(w, TAG('N', 'F', 'U', 'N'), FLAMETREE_VARINT, 1, w->f->n, function_of_node);
}

/* Weights are negative where counters were reset, or of what a diff of states lost. */
static void put_self(struct writer *w, uint32_t tag, const int64_t *self)
{
	const uint32_t n = w->f->n;
	int64_t signs = 0;

	w->self = self;
	for (uint32_t i = 0; i < n; i++)
		signs |= self[i];
	if (w->scale > 1) /* seldom, so that dividing need not be quick */
		put_column(w, tag, FLAMETREE_ZIGZAG, 0, n, scaled_self_of_node);
	else if (signs < 0)
		put_column(w, tag, FLAMETREE_ZIGZAG, 0, n, signed_self_of_node);
	else
		put_column(w, tag, FLAMETREE_VARINT, 0, n, self_of_node);
}

static bool has_trimmed(const struct flame *f, uint32_t i)
{
	return (f->trimmed[0] && f->trimmed[0][i]) ||
	       (f->n_values > 1 && f->trimmed[1] && f->trimmed[1][i]);
}

/* For each node that something was dropped below: how far behind the last such one, and the weights. */
static void put_trimmed(struct writer *w)
{
	const struct flame *f = w->f;
	size_t at = w->out->n;
	uint32_t last = 0;

	for (uint32_t i = 0; i < f->n; i++) {
		if (!has_trimmed(f, i))
			continue;
		buf__zigzag(w->out, i - last);
		last = i;
		for (uint32_t s = 0; s < f->n_values; s++)
			buf__zigzag(w->out, f->trimmed[s] ? f->trimmed[s][i] / w->scale : 0);
	}
	put_entry(w, TAG('N', 'T', 'R', 'M'), FLAMETREE_ZIGZAG, at);
}

static void put_nodes(struct writer *w)
{
	const struct flame *f = w->f;

	put_shape(w);
	put_self(w, TAG('N', 'S', 'L', 'A'), f->self[0]);
	if (f->n_values > 1)
		put_self(w, TAG('N', 'S', 'L', 'B'), f->self[1]);
	if (f->n_trimmed)
		put_trimmed(w);
}

/* ------------------------------------------------------------------------------------------------
 * The whole
 */

static void put_double(uint8_t *p, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	le__put64(p, bits);
}

static void put_head(const struct writer *w)
{
	const struct flame *f = w->f;
	uint8_t *head = w->out->data + w->start;

	le__put32(head, TAG('F', 'T', 'R', '1'));
	le__put16(head + 4, 1);
	le__put16(head + 6, (uint16_t)((f->n_values > 1 ? FLAMETREE_IS_DIFF : 0) |
				       (f->n_trimmed ? FLAMETREE_IS_TRIMMED : 0)));
	le__put32(head + 8, f->n);
	le__put32(head + 12, w->n_functions);
	le__put32(head + 16, w->files.n);
	le__put32(head + 20, w->binaries.n);
	le__put32(head + 24, f->max_depth);
	le__put32(head + 28, w->n_sections);
	put_double(head + 32, (double)f->total[0][0]);
	put_double(head + 40, f->n_values > 1 ? (double)f->total[1][0] : 0);
	put_double(head + 48, (double)w->scale);
	le__put64(head + 56, w->out->n - w->start);
}

static uint64_t magnitude(int64_t v)
{
	return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* A power of two by which the largest of the weights fits. */
static int64_t scale_of(const struct flame *f)
{
	uint64_t most = 0;
	int64_t scale = 1;

	for (uint32_t s = 0; s < f->n_values; s++)
		for (uint32_t i = 0; i < f->n; i++)
			most = larger(most, larger(magnitude(f->total[s][i]), magnitude(f->self[s][i])));
	while (most / (uint64_t)scale > (uint64_t)FLAMETREE_MAX_VALUE)
		scale *= 2;
	return scale;
}

static int init_texts(struct writer *w)
{
	int r = 0;

	r |= intern__init(&w->files);
	r |= intern__init(&w->binaries);
	r |= intern__init(&w->build_ids);
	r |= intern__init(&w->reasons);
	return r ? -ENOMEM : 0;
}

/* With so many functions it pays to write them beside the nodes. */
enum { WORTH_A_THREAD = 4096 };

/* Functions, written into a buffer of their own by a writer that has a copy of what both read. */
struct apart {
	struct writer w;
	struct buf out;
	int error;
};

static void *write_apart(void *apart)
{
	struct apart *a = apart;

	a->error = put_functions(&a->w);
	return NULL;
}

/* Behind what is there; and the texts, which are freed with the whole. */
static int join_apart(struct writer *w, struct apart *a)
{
	const size_t at = w->out->n;

	w->files = a->w.files;
	w->binaries = a->w.binaries;
	w->build_ids = a->w.build_ids;
	w->reasons = a->w.reasons;
	if (a->error == 0)
		buf__append(w->out, a->out.data, a->out.n);
	for (uint32_t i = 0; i < a->w.n_sections; i++) {
		w->entries[w->n_sections] = a->w.entries[i];
		w->entries[w->n_sections++].at += at;
	}
	buf__fini(&a->out);
	return a->error;
}

/* Nodes have the ids of functions, functions their texts: neither looks at what the other writes. */
static int put_all(struct writer *w)
{
	struct apart apart = { .w = *w };
	pthread_t thread;

	apart.w.out = &apart.out;
	apart.w.n_sections = 0;
	if (w->n_functions < WORTH_A_THREAD || pthread_create(&thread, NULL, write_apart, &apart) != 0) {
		put_nodes(w);
		return put_functions(w);
	}
	put_nodes(w);
	pthread_join(thread, NULL);
	return join_apart(w, &apart);
}

static void put_table(const struct writer *w)
{
	uint8_t *entry = w->out->data + w->start + FLAMETREE_HEAD_BYTES;

	for (uint32_t i = 0; i < w->n_sections; i++, entry += FLAMETREE_SECTION_BYTES) {
		le__put32(entry, w->entries[i].tag);
		le__put32(entry + 4, w->entries[i].codec);
		le__put64(entry + 8, w->entries[i].at - w->start);
		le__put64(entry + 16, w->entries[i].n);
	}
}

int flametree__write(const struct flame *f, struct dcm_str meta, struct buf *out)
{
	size_t room = FLAMETREE_HEAD_BYTES + FLAMETREE_MAX_SECTIONS * FLAMETREE_SECTION_BYTES;
	struct writer w = { .f = f, .out = out, .start = out->n, .scale = scale_of(f) };
	int r = init_texts(&w);
	uint8_t *head = r == 0 ? buf__reserve(out, room) : NULL;

	if (head) {
		memset(head, 0, room);
		out->n += room;
		r = number_functions(&w);
	}
	if (head && r == 0) {
		size_t at = out->n;

		buf__str(out, meta);
		put_entry(&w, TAG('M', 'E', 'T', 'A'), FLAMETREE_RAW, at);
		r = put_all(&w);
		if (r == 0 && out->error == 0) {
			put_head(&w);
			put_table(&w);
		}
	}
	intern__fini(&w.files);
	intern__fini(&w.binaries);
	intern__fini(&w.build_ids);
	intern__fini(&w.reasons);
	free(w.functions);
	free(w.of);
	free(w.id);
	return r < 0 ? r : out->error;
}
