/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/bare.c - which functions without a description make a frame record
 *
 * All code without a description is read twice: once for what it calls, wherever the bytes of a call
 * are (what looks like one and is none leads to code about never), and once for the instructions from
 * where something is called to the next such place.
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
	READ_BYTES = 64 << 20,	/* of such code: where there is more, nobody knows what it does */
	JUDGE_BYTES = 32 << 20, /* the same of what has to be decoded */
	CALL = 5,		/* bytes of call rel32 */
	ALIGNED = 16,		/* where functions begin, mostly */
	PUSH = 0x55,
	POP = 0x5d,
	LEAVE = 0xc9,
};

/* A stretch without a description. */
struct gap {
	uint32_t start, end;
};

struct bare {
	struct build *build;
	VEC(struct gap) gaps;	 /* ascending */
	VEC(uint32_t) functions; /* where they begin, ascending */
	/* of one gap */
	uint8_t *code;
	uint8_t *places; /* [bytes]: enum place */
	size_t n_before; /* rows of the gaps before */
	uint32_t left;	 /* bytes that may yet be decoded */
	/* Rules: by frame pointer; by sp, before the push and behind it; none. */
	uint16_t framed, leaf, pushed, frameless;
};

static int add_gap(struct bare *bare, uint32_t start, uint32_t end)
{
	if (end <= start || end - start <= BUILD_GAP)
		return 0;
	return vec__push(&bare->gaps, (struct gap){ start, end }) ? 0 : -ENOMEM;
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

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int gap_compare(const void *a, const void *b)
{
	return compare(&((const struct gap *)a)->start, &((const struct gap *)b)->start);
}

/* Is it in a gap, so that its function may begin there? */
static bool in_gaps(const struct bare *bare, uint32_t at)
{
	size_t low = 0, high = bare->gaps.n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (bare->gaps.v[mid].end <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low < bare->gaps.n && bare->gaps.v[low].start <= at;
}

static int read_code(struct bare *bare, const struct gap *g)
{
	struct build *b = bare->build;

	if (image__read(b->image, b->base + g->start, bare->code, g->end - g->start))
		return b->image->work->error ? b->image->work->error : -ENOENT;
	return 0;
}

/* What a gap's code calls, and its own beginning. */
static int find_functions(struct bare *bare, const struct gap *g)
{
	const uint8_t *end = bare->code + (g->end - g->start), *at = bare->code;

	if (!vec__push(&bare->functions, g->start))
		return -ENOMEM;
	for (; end - at >= CALL && (at = memchr(at, 0xe8, (size_t)(end - at - (CALL - 1)))); at++) {
		uint32_t to = g->start + (uint32_t)(at - bare->code) + CALL + le__get32(at + 1);

		if (in_gaps(bare, to) && !vec__push(&bare->functions, to))
			return -ENOMEM;
	}
	return 0;
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

static uint64_t alignment(const struct walk *w, const uint8_t *p)
{
	return (w->bare->build->base + w->gap->start + (uint64_t)(p - w->bare->code)) % ALIGNED;
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

	if (w->p == w->bare->code)
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
	return vec__push(&b->bare,
			 (struct build_row){ w->gap->start + (uint32_t)(w->p - bare->code), rule })
		       ? 0
		       : -ENOMEM;
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
			  .start = bare->code + (at - g->start),
			  .stop = bare->code + (end - g->start),
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
			if (w.p > w.start || w.p == bare->code)
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

/* mov %rsp,%rbp, wherever it is. */
static bool has_record(const uint8_t *code, size_t n)
{
	static const uint8_t store[] = { 0x48, 0x89, 0xe5 }, load[] = { 0x48, 0x8b, 0xec };

	return memmem(code, n, store, sizeof(store)) || memmem(code, n, load, sizeof(load));
}

/* Where the function ends that has a number. */
static uint32_t end_of(const struct bare *bare, const struct gap *g, size_t i)
{
	return i + 1 < bare->functions.n && bare->functions.v[i + 1] < g->end
		       ? bare->functions.v[i + 1]
		       : g->end;
}

/* Much code that mostly makes records does so by rules of its own: V8's builtins share one. */
static bool is_ruled(const struct bare *bare, const struct gap *g, size_t first, size_t next)
{
	size_t n = 0;

	if (g->end - g->start < BUILD_MUCH_CODE)
		return false;
	for (size_t i = first; i < next; i++) {
		uint32_t at = bare->functions.v[i];

		n += has_record(bare->code + (at - g->start), end_of(bare, g, i) - at);
	}
	return 2 * n >= next - first;
}

/* Whoever has not looked must not follow a frame pointer through it. */
static int leave_unjudged(const struct bare *bare, const struct gap *g)
{
	return vec__push(&bare->build->bare, (struct build_row){ g->start, bare->frameless }) ? 0 : -ENOMEM;
}

/* The functions of one gap, from `first` on, with a row wherever the rule changes. */
static int judge(struct bare *bare, const struct gap *g, size_t first, size_t *ret_next)
{
	size_t next = first;
	int rc = 0;

	while (next < bare->functions.n && bare->functions.v[next] < g->end)
		next++;
	*ret_next = next;
	if (is_ruled(bare, g, first, next))
		return 0;
	if (g->end - g->start > bare->left)
		return leave_unjudged(bare, g);
	bare->left -= g->end - g->start;
	bare->n_before = bare->build->bare.n;
	for (size_t i = first; i < next && !rc; i++) {
		rc = build__tick(bare->build);
		if (!rc)
			rc = add_functions(bare, g, bare->functions.v[i], end_of(bare, g, i));
	}
	return rc;
}

static int judge_all(struct bare *bare)
{
	size_t n = 0, next = 0;
	int rc = 0;

	for (size_t i = 0; i < bare->gaps.n && !rc; i++) {
		rc = read_code(bare, &bare->gaps.v[i]);
		if (!rc)
			rc = find_functions(bare, &bare->gaps.v[i]);
	}
	if (rc)
		return rc;
	qsort(bare->functions.v, bare->functions.n, sizeof(*bare->functions.v), compare);
	for (size_t i = 0; i < bare->functions.n; i++)
		if (n == 0 || bare->functions.v[n - 1] != bare->functions.v[i])
			bare->functions.v[n++] = bare->functions.v[i];
	bare->functions.n = n;
	for (size_t i = 0; i < bare->gaps.n && !rc; i++) {
		rc = read_code(bare, &bare->gaps.v[i]);
		if (!rc)
			rc = judge(bare, &bare->gaps.v[i], next, &next);
	}
	return rc;
}

static int make_rules(struct bare *bare)
{
	struct build *b = bare->build;
	int framed = build__frame_pointer(b, UNWIND_CFA_FRAME_POINTER);
	int frameless = rules__index(&b->rules, (struct unwind_rule){ .cfa = UNWIND_CFA_FRAMELESS });
	int leaf = rules__index(&b->rules, (struct unwind_rule){ .cfa = UNWIND_CFA_SP, .cfa_off = 8 });
	int pushed = rules__index(
		&b->rules, (struct unwind_rule){ .cfa = UNWIND_CFA_SP,
						 .saved = unwind_saved(UNWIND_FP_CFA, UNWIND_RA_WORD),
						 .off = -16,
						 .cfa_off = 16 });

	if (framed < 0 || frameless < 0 || leaf < 0 || pushed < 0)
		return -ENOMEM;
	bare->framed = (uint16_t)framed;
	bare->frameless = (uint16_t)frameless;
	bare->leaf = (uint16_t)leaf;
	bare->pushed = (uint16_t)pushed;
	return 0;
}

/* All gaps in order, their bytes, and the longest one's: -EFBIG where they are not to be judged. */
static int find_gaps(struct bare *bare, uint64_t *ret_bytes, uint32_t *ret_longest)
{
	const struct image *im = bare->build->image;
	uint32_t end = 0;
	int rc = 0;

	for (uint32_t i = 0; i < im->n_segments && !rc; i++)
		rc = gaps_of(bare, &im->segments[i]);
	if (rc || bare->gaps.n == 0)
		return rc;
	qsort(bare->gaps.v, bare->gaps.n, sizeof(*bare->gaps.v), gap_compare);
	for (size_t i = 0; i < bare->gaps.n; i++) {
		const struct gap *g = &bare->gaps.v[i];

		/* Segments that overlap are nobody's; what they hold stays a guess. */
		if (g->start < end)
			return -EFBIG;
		end = g->end;
		*ret_bytes += g->end - g->start;
		if (g->end - g->start > *ret_longest)
			*ret_longest = g->end - g->start;
	}
	return 0;
}

static int work(struct bare *bare)
{
	uint64_t bytes = 0;
	uint32_t longest = 0;
	int rc = find_gaps(bare, &bytes, &longest);

	if (rc || longest == 0)
		return rc;
	rc = make_rules(bare);
	for (size_t i = 0; bytes > READ_BYTES && i < bare->gaps.n && !rc; i++)
		rc = leave_unjudged(bare, &bare->gaps.v[i]);
	if (rc || bytes > READ_BYTES)
		return rc;
	bare->code = malloc(longest);
	bare->places = malloc(longest);
	return bare->code && bare->places ? judge_all(bare) : -ENOMEM;
}

int bare__add(struct build *b)
{
	struct bare bare = { .build = b, .left = JUDGE_BYTES };
	int rc;

	if (b->image->machine != EM_X86_64)
		return 0;
	rc = work(&bare);
	vec__fini(&bare.gaps);
	vec__fini(&bare.functions);
	free(bare.code);
	free(bare.places);
	/* What cannot be judged keeps the rule for code that nobody describes. */
	return rc == -ENOENT || rc == -EFBIG ? 0 : rc;
}
