/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/bare.c - which functions without a description make a frame record
 *
 * What a section calls data is none of it: linkers before -z separate-code put constants, and the
 * unwind tables themselves, into the executable segment. All other code without a description is read
 * twice, in pieces: once for what it calls, wherever the bytes of a call are (what looks like one and
 * is none leads to code about never), and once for the instructions from where something is called to
 * the next such place. Where functions begin is kept as a bit for each byte, so that a file's own idea
 * of it decides neither the memory nor the time.
 */
#include "plugins/input/ebpf/unwind/bare.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/le.h"
#include "core/base/mem.h"
#include "plugins/input/ebpf/unwind/x86.h"

enum {
	/* What limits.max_bytes is divided by (of 512 MiB: 64, 32 and 4 MiB): */
	READ_PART = 8,	     /* such code: where there is more, nobody knows what it does */
	JUDGE_PART = 16,     /* the same of what has to be decoded */
	FUNCTION_PART = 128, /* and of one function, which is in memory twice */
	ROW_BYTES = 8,	     /* of what is decoded, for each row that it may get */
	ROWS_FREE = 4096,    /* rows that it may get besides */
	PIECE = 64 << 10,    /* that is read at once */
	CALL_WORK = 64,	     /* work, of a call, whose gap is searched for */
	DECODE_WORK = 8,     /* of a byte that is decoded */
	CALL = 5,	     /* bytes of call rel32 */
	RECORD = 3,	     /* of mov %rsp,%rbp */
	ALIGNED = 16,	     /* where functions begin, mostly */
	BITS = 64,	     /* of a word */
	PUSH = 0x55,
	POP = 0x5d,
	LEAVE = 0xc9,
};

/* A stretch without a description, or of data. */
struct gap {
	uint32_t start, end;
	uint32_t first; /* number of its first byte among those of all gaps */
};

struct bare {
	struct build *build;
	VEC(struct gap) data; /* what of executable segments is no code; ascending, disjoint */
	VEC(struct gap) gaps; /* ascending */
	uint64_t *functions;  /* a bit for each byte of the gaps: one begins there */
	uint8_t *code;	      /* [room]: what of a gap was read last, [code_at, code_end) */
	uint8_t *places;      /* [room]: enum place */
	uint32_t room, code_at, code_end;
	size_t n_before, rows_max; /* rows of the gaps before; and with those of this one at most */
	uint32_t left, whole; /* bytes that may yet be decoded, of how many; and at most in one function: */
	uint32_t function_max;
	/* Rules: by frame pointer, and for much code; by sp, before the push and behind it; none. */
	uint16_t framed, ruled, leaf, pushed, frameless;
};

static int add_piece(struct bare *bare, uint32_t start, uint32_t end)
{
	if (end <= start || end - start <= BUILD_GAP)
		return 0;
	return vec__push(&bare->gaps, (struct gap){ .start = start, .end = end }) ? 0 : -ENOMEM;
}

/* The first of these, which ascend, that ends behind an offset; their number when none does. */
static size_t first_behind(const struct gap *v, size_t n, uint32_t at)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (v[mid].end <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* What of [start, end) is code. */
static int add_gap(struct bare *bare, uint32_t start, uint32_t end)
{
	int rc = 0;

	for (size_t i = first_behind(bare->data.v, bare->data.n, start);
	     i < bare->data.n && bare->data.v[i].start < end && !rc; i++) {
		rc = build__tick(bare->build);
		if (!rc)
			rc = add_piece(bare, start, bare->data.v[i].start);
		start = bare->data.v[i].end;
	}
	return rc ? rc : add_piece(bare, start, end);
}

static int gaps_of(struct bare *bare, const struct image_segment *s)
{
	struct build *b = bare->build;
	uint32_t at, end;
	int rc = 0;

	if (!s->executable || !build__range(b, s->vaddr, s->file_bytes, &at, &end))
		return 0;
	for (size_t k = build__first(b, at); k < b->table.n && b->table.v[k].start < end && !rc; k++) {
		rc = build__tick(b);
		if (!rc)
			rc = add_gap(bare, at, b->table.v[k].start);
		at = b->table.v[k].end;
	}
	return rc ? rc : add_gap(bare, at, end);
}

static int gap_compare(const void *a, const void *b)
{
	const struct gap *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* The gap that it is in, so that a function may begin there; or NULL. */
static const struct gap *gap_of(const struct bare *bare, uint32_t at)
{
	size_t i = first_behind(bare->gaps.v, bare->gaps.n, at);

	return i < bare->gaps.n && bare->gaps.v[i].start <= at ? &bare->gaps.v[i] : NULL;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Room for n bytes of code. */
static int make_room(struct bare *bare, uint32_t n)
{
	if (n <= bare->room)
		return 0;
	free(bare->code);
	free(bare->places);
	bare->code = malloc(n);
	bare->places = malloc(n);
	bare->room = bare->code && bare->places ? n : 0;
	bare->code_at = bare->code_end = 0;
	return bare->room ? 0 : -ENOMEM;
}

/* The bytes [at, end) of a gap, and what else of it fits into a piece: bare->code. */
static int read_code(struct bare *bare, const struct gap *g, uint32_t at, uint32_t end)
{
	struct build *b = bare->build;
	int rc;

	if (bare->code_at <= at && end <= bare->code_end)
		return 0;
	rc = make_room(bare, end - at > PIECE ? end - at : PIECE);
	if (rc)
		return rc;
	bare->code_at = at;
	bare->code_end = end - at < PIECE ? at + least(PIECE, g->end - at) : end;
	if (!image__read(b->image, b->base + at, bare->code, bare->code_end - at))
		return 0;
	bare->code_end = at;
	return b->image->work->error ? b->image->work->error : -ENOENT;
}

static void set_function(struct bare *bare, const struct gap *g, uint32_t at)
{
	uint32_t bit = g->first + (at - g->start);

	bare->functions[bit / BITS] |= UINT64_C(1) << bit % BITS;
}

/* Where the next function of a gap begins from `at` on; its end when none does. */
static uint32_t next_function(const struct bare *bare, const struct gap *g, uint32_t at)
{
	const uint32_t last = g->first + (g->end - g->start);

	for (uint32_t bit = g->first + (at - g->start); bit < last; bit = (bit / BITS + 1) * BITS) {
		uint64_t word = bare->functions[bit / BITS] >> bit % BITS;

		if (word)
			return g->start + least(bit + (uint32_t)__builtin_ctzll(word), last) - g->first;
	}
	return g->end;
}

/* What the calls that begin in [at, end) lead to; CALL - 1 bytes more have been read. */
static int find_called(struct bare *bare, uint32_t at, uint32_t end)
{
	const uint8_t *code = bare->code + (at - bare->code_at), *stop = code + (end - at), *p = code;
	int rc = 0;

	for (; !rc && p < stop && (p = memchr(p, 0xe8, (size_t)(stop - p))); p++) {
		uint32_t to = at + (uint32_t)(p - code) + CALL + le__get32(p + 1);
		const struct gap *of = gap_of(bare, to);

		if (of)
			set_function(bare, of, to);
		rc = image__work(bare->build->image, CALL_WORK);
	}
	return rc;
}

/* What a gap's code calls, and its own beginning. */
static int find_functions(struct bare *bare, const struct gap *g)
{
	int rc = 0;

	set_function(bare, g, g->start);
	for (uint32_t at = g->start, end; g->end - at >= CALL && !rc; at = end) {
		end = at + least(PIECE - (CALL - 1), g->end - at - (CALL - 1));
		rc = read_code(bare, g, at, end + (CALL - 1));
		if (!rc)
			rc = find_called(bare, at, end);
	}
	return rc;
}

/* ------------------------------------------------------------------------------------------------
 * One function
 *
 * Instructions in the order in which they lie, with what is known of the frame at each: from the one
 * before, or from jumps that lead there.
 */

/* At an instruction. JUMPED besides: a jump leads there. */
enum place {
	UNSEEN,
	AT_START, /* nothing has moved the stack pointer: the return address is where it points to */
	PUSHED,	  /* and the frame pointer above which it is has been pushed */
	FRAMED,	  /* frame pointer and record */
	REALIGNED, /* the return address was pushed again, on a stack that was aligned */
	REPUSHED,  /* and the frame pointer */
	FRAMELESS, /* none of these */
	JUMPED = 128,
};

struct walk {
	struct bare *bare;
	const struct gap *gap;
	const uint8_t *start, *stop, *p;
	struct x86_insn i; /* at p; length 0: none */
	enum place place;
	bool is_behind_end, is_behind_call, is_behind_filling;
	bool is_framed; /* there was a record in this function */
	bool has_table; /* and a jump that may lead anywhere */
};

static uint32_t offset(const struct walk *w, const uint8_t *p)
{
	return w->bare->code_at + (uint32_t)(p - w->bare->code);
}

static uint64_t alignment(const struct walk *w, const uint8_t *p)
{
	return (w->bare->build->base + offset(w, p)) % ALIGNED;
}

/* The instruction at p; what is none leads on to where code is aligned. The bytes up to the next. */
static size_t fetch(struct walk *w)
{
	if (x86__decode(w->p, (size_t)(w->stop - w->p), &w->i))
		return w->i.length;
	w->i = (struct x86_insn){ 0 };
	return ALIGNED - alignment(w, w->p);
}

/* Where a jump leads within these bytes, or NULL. */
static uint8_t *target(const struct walk *w)
{
	int64_t to = w->p - w->bare->code + w->i.length + w->i.rel;

	if (!w->i.length || !x86__is_jump(&w->i) || to < w->start - w->bare->code ||
	    to >= w->stop - w->bare->code)
		return NULL;
	return &w->bare->places[to];
}

static void mark_jumps(struct walk *w)
{
	size_t n;

	memset(w->bare->places + (w->start - w->bare->code), UNSEEN, (size_t)(w->stop - w->start));
	for (w->p = w->start; w->p < w->stop;
	     w->p += n < (size_t)(w->stop - w->p) ? n : (size_t)(w->stop - w->p)) {
		uint8_t *to;

		n = fetch(w);
		to = target(w);
		if (to)
			*to = JUMPED;
	}
}

static bool is_one_byte(const struct x86_insn *i, uint8_t op)
{
	return i->map == X86_ONE_BYTE && !i->is_vex && i->op == op && !(i->rex & 1);
}

static bool is_endbr(const uint8_t *p, const uint8_t *stop)
{
	return stop - p >= 4 && !memcmp(p, "\xf3\x0f\x1e\xfa", 4);
}

/* mov %rsp,%rbp, in either of its two forms. */
static bool is_record(const struct x86_insn *i)
{
	return i->rex == 0x48 && ((is_one_byte(i, 0x89) && i->modrm == 0xe5) ||
				  (is_one_byte(i, 0x8b) && i->modrm == 0xec));
}

/* push -8(%r10), or of another register that has the stack pointer from before it was aligned */
static bool is_repush(const struct walk *w)
{
	return w->i.length == 4 && w->p[0] == 0x41 && w->p[1] == 0xff && (w->p[2] & 0xf8) == 0x70 &&
	       w->p[3] == 0xf8;
}

/*
 * Does a function begin here, that nobody calls by its address? Aligned, behind one that has ended, and
 * nothing before jumps there; a jump by a table is not seen, and leads to no prologue.
 */
static bool begins(const struct walk *w)
{
	bool has_prologue = w->i.length && (is_one_byte(&w->i, PUSH) || is_endbr(w->p, w->stop));

	if (offset(w, w->p) == w->gap->start)
		return has_prologue;
	return alignment(w, w->p) == 0 && !(w->bare->places[w->p - w->bare->code] & JUMPED) &&
	       (w->is_behind_end || (w->is_behind_call && w->is_behind_filling)) &&
	       (!w->has_table || has_prologue);
}

/* What is known at p, before its instruction. */
static void arrive(struct walk *w)
{
	enum place seen = w->bare->places[w->p - w->bare->code] & ~JUMPED;

	if (begins(w)) {
		w->place = AT_START;
		w->is_framed = w->has_table = false;
	} else if (!w->i.length) {
		w->place = FRAMELESS;
	} else if (w->is_behind_end) {
		w->place = seen ? seen : w->is_framed ? FRAMED : FRAMELESS;
	} else if (seen && seen != w->place) {
		w->place = FRAMELESS;
	}
}

static enum place moved(const struct walk *w)
{
	switch (w->place) {
	case AT_START:
		return is_one_byte(&w->i, PUSH) ? PUSHED : FRAMELESS;
	case PUSHED:
		return is_one_byte(&w->i, POP) ? AT_START : FRAMELESS;
	case FRAMED:
		return is_one_byte(&w->i, POP) || is_one_byte(&w->i, LEAVE) ? AT_START : FRAMED;
	case REALIGNED:
		return is_one_byte(&w->i, PUSH) ? REPUSHED : FRAMELESS;
	default:
		return is_repush(w) ? REALIGNED : FRAMELESS;
	}
}

/* What its instruction does. */
static void leave(struct walk *w)
{
	uint8_t *to = target(w);

	if (to && to > &w->bare->places[w->p - w->bare->code]) {
		enum place seen = *to & ~JUMPED;

		*to = JUMPED | (seen && seen != w->place ? FRAMELESS : w->place);
	}
	w->has_table |= x86__is_indirect(&w->i) && !(w->is_framed && w->place == AT_START);
	if (is_record(&w->i) && (w->place == PUSHED || w->place == REPUSHED)) {
		w->place = FRAMED;
		w->is_framed = true;
	} else if (x86__moves_sp(&w->i)) {
		w->place = moved(w);
	}
	w->is_behind_end = x86__is_end(&w->i);
	w->is_behind_call = x86__is_call(&w->i);
	w->is_behind_filling = false;
}

/* From the current instruction on. */
static int add_row(const struct walk *w)
{
	struct bare *bare = w->bare;
	struct build *b = bare->build;
	uint16_t rule = w->place == AT_START ? bare->leaf
			: w->place == PUSHED ? bare->pushed
			: w->place == FRAMED ? bare->framed
					     : bare->frameless;

	if (b->bare.n > bare->n_before && b->bare.v[b->bare.n - 1].rule == rule)
		return 0;
	if (b->bare.n >= bare->rows_max)
		return -E2BIG;
	return vec__push(&b->bare, (struct build_row){ offset(w, w->p), rule }) ? 0 : -ENOMEM;
}

/* Between functions, and zeroes, between sections: its bytes, or 0 when it is none. */
static size_t filling(const struct walk *w, size_t n)
{
	if (!w->is_behind_end && !w->is_behind_call)
		return 0;
	return *w->p == 0 ? 1 : w->i.length && x86__is_filling(&w->i) ? n : 0;
}

/* What is between two functions that are called may be several. */
static int add_functions(struct bare *bare, const struct gap *g, uint32_t at, uint32_t end)
{
	struct walk w = { .bare = bare,
			  .gap = g,
			  .start = bare->code + (at - bare->code_at),
			  .stop = bare->code + (end - bare->code_at),
			  .place = at > g->start ? AT_START : FRAMELESS,
			  .is_behind_end = at == g->start };
	int rc = 0;

	mark_jumps(&w);
	for (w.p = w.start; w.p < w.stop && !rc;) {
		size_t n = fetch(&w), skipped = filling(&w, n);

		if (skipped) {
			n = skipped;
			w.is_behind_filling = true;
			rc = w.p == w.start ? add_row(&w) : 0;
		} else {
			if (w.p > w.start || at == g->start)
				arrive(&w);
			rc = add_row(&w);
			leave(&w);
		}
		w.p += n < (size_t)(w.stop - w.p) ? n : (size_t)(w.stop - w.p);
	}
	return rc;
}

/* ------------------------------------------------------------------------------------------------
 * All of them
 */

/* mov %rsp,%rbp, wherever in [at, end) of a gap it is. */
static int has_record(struct bare *bare, const struct gap *g, uint32_t at, uint32_t end, bool *ret)
{
	static const uint8_t store[RECORD] = { 0x48, 0x89, 0xe5 }, load[RECORD] = { 0x48, 0x8b, 0xec };
	int rc = 0;

	*ret = false;
	for (uint32_t stop; !rc && !*ret && end - at >= RECORD; at = stop - (RECORD - 1)) {
		stop = at + least(PIECE, end - at);
		rc = read_code(bare, g, at, stop);
		if (!rc) {
			const uint8_t *code = bare->code + (at - bare->code_at);

			*ret = memmem(code, stop - at, store, RECORD) ||
			       memmem(code, stop - at, load, RECORD);
		}
	}
	return rc;
}

/* Much code that mostly makes records does so by rules of its own: V8's builtins share one. */
static int is_ruled(struct bare *bare, const struct gap *g, bool *ret)
{
	size_t n = 0, n_framed = 0;
	int rc = 0;

	*ret = false;
	if (g->end - g->start < BUILD_MUCH_CODE)
		return 0;
	for (uint32_t at = g->start, end; at < g->end && !rc; at = end) {
		bool is_framed = false;

		end = next_function(bare, g, at + 1);
		rc = build__tick(bare->build);
		if (!rc)
			rc = has_record(bare, g, at, end, &is_framed);
		n++;
		n_framed += is_framed;
	}
	*ret = 2 * n_framed >= n;
	return rc;
}

/* Whoever has not looked must not follow a frame pointer through it. */
static int leave_unjudged(struct bare *bare, uint32_t at)
{
	bare->build->gaps[UNWIND_GAP_UNJUDGED]++;
	return vec__push(&bare->build->bare, (struct build_row){ at, bare->frameless }) ? 0 : -ENOMEM;
}

/* What is called at a place of a gap, up to the next such place. */
static int judge_function(struct bare *bare, const struct gap *g, uint32_t at, uint32_t end)
{
	int rc;

	if (end - at > bare->function_max)
		return bare->build->bare.n >= bare->rows_max ? -E2BIG : leave_unjudged(bare, at);
	rc = image__work(bare->build->image, (uint64_t)(end - at) * DECODE_WORK);
	if (!rc)
		rc = build__tick(bare->build);
	if (!rc)
		rc = read_code(bare, g, at, end);
	return rc ? rc : add_functions(bare, g, at, end);
}

/* The functions of one gap, with a row wherever the rule changes. */
static int judge(struct bare *bare, const struct gap *g)
{
	struct build *b = bare->build;
	bool ruled;
	int rc = is_ruled(bare, g, &ruled);

	if (rc)
		return rc;
	/* Before it, behind data, there may be code that is not. */
	if (ruled)
		return vec__push(&b->bare, (struct build_row){ g->start, bare->ruled }) ? 0 : -ENOMEM;
	if (g->end - g->start > bare->left)
		return leave_unjudged(bare, g->start);
	bare->left -= g->end - g->start;
	bare->n_before = b->bare.n;
	bare->rows_max = ROWS_FREE + (bare->whole - bare->left) / ROW_BYTES;
	for (uint32_t at = g->start, end; at < g->end && !rc; at = end) {
		end = next_function(bare, g, at + 1);
		rc = judge_function(bare, g, at, end);
	}
	if (rc != -E2BIG)
		return rc;
	b->bare.n = bare->n_before;
	return leave_unjudged(bare, g->start);
}

static int judge_all(struct bare *bare)
{
	int rc = 0;

	for (size_t i = 0; i < bare->gaps.n && !rc; i++)
		rc = find_functions(bare, &bare->gaps.v[i]);
	for (size_t i = 0; i < bare->gaps.n && !rc; i++)
		rc = judge(bare, &bare->gaps.v[i]);
	return rc;
}

static int make_rules(struct bare *bare)
{
	struct build *b = bare->build;
	int framed = build__frame_pointer(b, UNWIND_CFA_FRAME_POINTER);
	int ruled = build__frame_pointer(b, UNWIND_CFA_FRAME_RECORDS);
	int frameless = rules__index(&b->rules, (struct unwind_rule){ .cfa = UNWIND_CFA_FRAMELESS });
	int leaf = rules__index(&b->rules, (struct unwind_rule){ .cfa = UNWIND_CFA_SP, .cfa_off = 8 });
	int pushed = rules__index(
		&b->rules, (struct unwind_rule){ .cfa = UNWIND_CFA_SP,
						 .saved = unwind_saved(UNWIND_FP_CFA, UNWIND_RA_WORD),
						 .off = -16,
						 .cfa_off = 16 });

	if (framed < 0 || ruled < 0 || frameless < 0 || leaf < 0 || pushed < 0)
		return -ENOMEM;
	bare->framed = (uint16_t)framed;
	bare->ruled = (uint16_t)ruled;
	bare->frameless = (uint16_t)frameless;
	bare->leaf = (uint16_t)leaf;
	bare->pushed = (uint16_t)pushed;
	return 0;
}

static bool is_data(const struct image_section *s)
{
	return s->flags & SHF_ALLOC && !(s->flags & SHF_EXECINSTR) && s->type != SHT_NOBITS;
}

/* What the sections call data, in executable segments. */
static int find_data(struct bare *bare)
{
	struct build *b = bare->build;
	size_t n = 0;
	int rc = 0;

	for (uint32_t i = 0; i < b->image->n_sections && !rc; i++) {
		const struct image_section *s = &b->image->sections[i];
		struct gap d = { 0 };

		if (!is_data(s) || !build__range(b, s->vaddr, s->bytes, &d.start, &d.end))
			continue;
		rc = build__tick(b);
		if (!rc && !vec__push(&bare->data, d))
			rc = -ENOMEM;
	}
	if (rc || bare->data.n == 0)
		return rc;
	qsort(bare->data.v, bare->data.n, sizeof(*bare->data.v), gap_compare);
	for (size_t i = 1; i < bare->data.n; i++) {
		struct gap *last = &bare->data.v[n], d = bare->data.v[i];

		if (d.start > last->end)
			bare->data.v[++n] = d;
		else if (d.end > last->end)
			last->end = d.end;
	}
	bare->data.n = n + 1;
	return 0;
}

/* All gaps in order, and their bytes: -EFBIG where they are not to be judged. */
static int find_gaps(struct bare *bare, uint64_t *ret_bytes)
{
	const struct image *im = bare->build->image;
	uint32_t end = 0;
	int rc = find_data(bare);

	for (uint32_t i = 0; i < im->n_segments && !rc; i++)
		rc = gaps_of(bare, &im->segments[i]);
	if (rc || bare->gaps.n == 0)
		return rc;
	qsort(bare->gaps.v, bare->gaps.n, sizeof(*bare->gaps.v), gap_compare);
	for (size_t i = 0; i < bare->gaps.n; i++) {
		struct gap *g = &bare->gaps.v[i];

		/* Segments that overlap are nobody's; what they hold stays a guess. */
		if (g->start < end)
			return -EFBIG;
		end = g->end;
		g->first = (uint32_t)*ret_bytes;
		*ret_bytes += g->end - g->start;
	}
	return 0;
}

static int work(struct bare *bare)
{
	const uint64_t limit = bare->build->limits.max_bytes;
	const uint32_t max_bytes = limit < UINT32_MAX ? (uint32_t)limit : UINT32_MAX;
	uint64_t bytes = 0;
	int rc = find_gaps(bare, &bytes);

	if (rc || bytes == 0)
		return rc;
	rc = make_rules(bare);
	if (rc)
		return rc;
	if (bytes > max_bytes / READ_PART) {
		for (size_t i = 0; i < bare->gaps.n && !rc; i++)
			rc = leave_unjudged(bare, bare->gaps.v[i].start);
		return rc;
	}
	bare->left = bare->whole = max_bytes / JUDGE_PART;
	bare->function_max = max_bytes / FUNCTION_PART;
	bare->functions = mem__zalloc(bytes / BITS + 1, sizeof(*bare->functions));
	return bare->functions ? judge_all(bare) : -ENOMEM;
}

int bare__add(struct build *b)
{
	struct bare bare = { .build = b };
	int rc;

	if (b->image->machine != EM_X86_64)
		return 0;
	rc = work(&bare);
	vec__fini(&bare.data);
	vec__fini(&bare.gaps);
	free(bare.functions);
	free(bare.code);
	free(bare.places);
	/* What cannot be judged keeps the rule for code that nobody describes. */
	return rc == -ENOENT || rc == -EFBIG ? 0 : rc;
}
