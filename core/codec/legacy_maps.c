/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/legacy_maps.c - the mappings behind a profile of an older format
 *
 * Two forms, in which blanks separate:
 *
 *	00400000-00fcb000 r-xp 00001000 08:01 1234 /usr/bin/server     /proc/PID/maps
 *	00400000-00fcb000: /usr/bin/server (@1000) abc123              with build id, the last two may be missing
 *
 * What can not be executed is left out. "build=/path" says what "$build" means in the files' names
 * from there on; all other lines are passed over. Then come the guesses of Go's reader: neighbours of
 * one file are one mapping, the program is the first, one that should begin at 0x400000 does.
 *
 * Otherwise than Go's reader: a range needs its '-' or blank (Go makes one of any two hexadecimal
 * digits), a file's name of the first form goes to the line's end and loses " (deleted)" (Go's ends
 * at the first blank), a build id is a whole word, a shared mapping ("r-xs") is one as others are,
 * and either headline stands behind any format. An address that two mappings claim is in the one
 * that says so itself before it is in one that must be longer than it says, whatever addresses came
 * before (Go's answer depends on these), and one that is in none has no mapping (Go's: one of all
 * addresses).
 *
 * Time: n log n in the mappings, log n for an address; Go's is the product.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/codec/legacy_profile.h"
#include "core/codec/pprof_input.h"

/* Of names with variables, together, beside what the limit of bytes allows. */
#define EXPANDED_BYTES_MAX ((uint64_t)4 << 20)
enum { VARIABLES_MAX = 32 };

struct variable {
	struct dcm_str name, value;
};

struct variables {
	struct variable v[VARIABLES_MAX];
	uint32_t n;
};

bool legacy_maps__begin(struct dcm_str line)
{
	static const char *const words[] = { "MAPPED_LIBRARIES:", "--- Memory map: ---" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (line.n && memmem(line.p, line.n, words[i], strlen(words[i])))
			return true;
	return false;
}

/* ------------------------------------------------------------------------------------------------
 * A line
 */

static bool is_made_of(struct dcm_str word, const char *chars)
{
	for (uint32_t i = 0; i < word.n; i++)
		if (!word.p[i] || !strchr(chars, word.p[i]))
			return false;
	return word.n > 0;
}

/* All of a word as a hexadecimal number. */
static bool is_hex(struct dcm_str word, uint64_t *ret)
{
	return legacy_lines__take_hex(&word, ret) == LEGACY_NUMBER && word.n == 0;
}

/* A range and what separates it from the rest. */
static bool take_range(struct dcm_str *s, struct legacy_mapping *m)
{
	struct dcm_str rest = *s;

	if (legacy_lines__take_hex(&rest, &m->start) != LEGACY_NUMBER || rest.n == 0)
		return false;
	if (*rest.p == '-')
		rest = (struct dcm_str){ rest.p + 1, rest.n - 1 };
	else if (!legacy_lines__is_blank(*rest.p))
		return false;
	legacy_lines__skip_blanks(&rest);
	if (legacy_lines__take_hex(&rest, &m->limit) != LEGACY_NUMBER)
		return false;
	legacy_lines__take(&rest, ":");
	if (rest.n && !legacy_lines__is_blank(*rest.p))
		return false;
	*s = rest;
	return true;
}

/* Offset (perhaps), device, inode and file of /proc/PID/maps. */
static bool take_proc(struct dcm_str s, struct legacy_mapping *m)
{
	struct dcm_str device, inode;
	uint64_t offset = 0, half;

	if (!legacy_lines__take_word(&s, &device))
		return false;
	if (is_hex(device, &offset) && !legacy_lines__take_word(&s, &device))
		return false;
	if (legacy_lines__take_hex(&device, &half) != LEGACY_NUMBER ||
	    !legacy_lines__take(&device, ":") || !is_hex(device, &half) ||
	    !legacy_lines__take_word(&s, &inode) || !is_made_of(inode, "0123456789"))
		return false;
	m->offset = offset;
	m->file = legacy_lines__trim(s);
	if (str__ends(m->file, STR(" (deleted)"))) {
		m->file.n -= STR(" (deleted)").n;
		m->file = legacy_lines__trim(m->file);
	}
	return true;
}

static void take_brief(struct dcm_str s, struct legacy_mapping *m)
{
	struct dcm_str word, behind;
	uint64_t number;

	if (!legacy_lines__take_word(&s, &m->file) || !legacy_lines__take_word(&s, &word))
		return;
	behind = word;
	if (legacy_lines__take(&behind, "(@") &&
	    legacy_lines__take_hex(&behind, &number) == LEGACY_NUMBER && str__eq(behind, STR(")"))) {
		m->offset = number;
		if (!legacy_lines__take_word(&s, &word))
			return;
	}
	if (is_made_of(word, "0123456789abcdefABCDEF"))
		m->build_id = word;
}

/* False when it is none. *ret_used: false for what cannot be executed. */
static bool read_mapping(struct dcm_str line, struct legacy_mapping *m, bool *ret_used)
{
	struct dcm_str word, rest;

	*m = (struct legacy_mapping){ .file = STR(""), .build_id = STR("") };
	*ret_used = true;
	if (!take_range(&line, m))
		return false;
	rest = line;
	if (legacy_lines__take_word(&rest, &word) && is_made_of(word, "-rwxps")) {
		*ret_used = memchr(word.p, 'x', word.n) != NULL;
		line = rest;
	}
	if (!take_proc(line, m))
		take_brief(line, m);
	return true;
}

/* Without what a log puts before its lines: "... file.cc:17] ". */
static struct dcm_str without_log(struct dcm_str line)
{
	uint32_t at = 0, digits;

	while (at < line.n && line.p[at] != '[' && line.p[at] != ']')
		at++;
	for (digits = at; digits > 0 && line.p[digits - 1] >= '0' && line.p[digits - 1] <= '9';)
		digits--;
	if (at + 1 < line.n && line.p[at] == ']' && digits < at && digits > 1 &&
	    line.p[digits - 1] == ':' && legacy_lines__is_blank(line.p[at + 1]))
		return (struct dcm_str){ line.p + at + 2, line.n - at - 2 };
	return line;
}

/* ------------------------------------------------------------------------------------------------
 * Variables in names
 */

static void add_variable(struct variables *vars, struct dcm_str line)
{
	const char *equals = line.n ? memchr(line.p, '=', line.n) : NULL;

	if (!equals || vars->n == VARIABLES_MAX)
		return;
	uint32_t n = (uint32_t)(equals - line.p);
	struct variable v = {
		legacy_lines__trim((struct dcm_str){ line.p, n }),
		legacy_lines__trim((struct dcm_str){ equals + 1, line.n - n - 1 }),
	};
	if (v.name.n)
		vars->v[vars->n++] = v;
}

/* The variable whose name the text begins with, the first that was set; NULL: none. */
static const struct variable *variable_at(const struct variables *vars, struct dcm_str text)
{
	for (uint32_t i = 0; i < vars->n; i++)
		if (str__starts(text, vars->v[i].name))
			return &vars->v[i];
	return NULL;
}

static void put_expanded(const struct variables *vars, struct dcm_str file, struct buf *out)
{
	while (file.n) {
		struct dcm_str rest = { file.p + 1, file.n - 1 };
		const struct variable *v = *file.p == '$' ? variable_at(vars, rest) : NULL;
		if (v) {
			buf__str(out, v->value);
			rest = (struct dcm_str){ rest.p + v->name.n, rest.n - v->name.n };
		} else {
			buf__byte(out, (uint8_t)*file.p);
		}
		file = rest;
	}
}

static int expand(struct legacy_profile *p, const struct legacy_lines *l,
		  const struct variables *vars, struct dcm_str *file)
{
	struct buf out = { .limit = EXPANDED_BYTES_MAX - p->expanded_bytes + 1 };
	int r = 0;

	if (vars->n == 0 || file->n == 0 || !memchr(file->p, '$', file->n))
		return 0;
	put_expanded(vars, *file, &out);
	if (out.error == -EFBIG || (!out.error && out.n + p->expanded_bytes > EXPANDED_BYTES_MAX)) {
		r = legacy_profile__fault(p, l, "the variables make more of the files' names than %llu bytes",
					  (unsigned long long)EXPANDED_BYTES_MAX);
	} else if (out.error) {
		r = error__nomem(p->err);
	} else {
		p->expanded_bytes += out.n;
		*file = arena__str(&p->arena, buf__view(&out));
		if (!file->p)
			r = error__nomem(p->err);
	}
	buf__fini(&out);
	return r;
}

/* ------------------------------------------------------------------------------------------------
 * All lines
 */

int legacy_maps__read(struct legacy_profile *p, struct legacy_lines *l)
{
	struct variables vars = { .n = 0 };

	while (legacy_lines__next(l)) {
		struct dcm_str line = legacy_lines__trim(without_log(l->line));
		struct legacy_mapping m;
		bool used;
		if (!read_mapping(line, &m, &used)) {
			add_variable(&vars, line);
			continue;
		}
		if (!used)
			continue;
		if (p->mappings.n == PPROF_MAX_MAPPINGS)
			return error__set(p->err, -E2BIG, "pprof: %s: more than the limit of %d mappings",
					  p->what, PPROF_MAX_MAPPINGS);
		int r = expand(p, l, &vars, &m.file);
		if (r < 0)
			return r;
		if (!vec__push(&p->mappings, m))
			return error__nomem(p->err);
	}
	return 0;
}

int legacy_maps__read_behind(struct legacy_profile *p, struct legacy_lines *l)
{
	while (!legacy_maps__begin(l->line))
		if (!legacy_lines__next(l))
			return 0;
	return legacy_maps__read(p, l);
}

/* ------------------------------------------------------------------------------------------------
 * What they must have been
 */

/* Two parts of one mapping, as far as both say so. */
static bool is_one(const struct legacy_mapping *a, const struct legacy_mapping *b)
{
	if (a->limit != b->start || (a->file.n && b->file.n && !str__eq(a->file, b->file)) ||
	    (a->build_id.n && b->build_id.n && !str__eq(a->build_id, b->build_id)))
		return false;
	return a->offset == 0 || b->offset == 0 || a->offset + (a->limit - a->start) == b->offset;
}

static void join_neighbours(struct legacy_profile *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->mappings.n; i++) {
		struct legacy_mapping m = p->mappings.v[i], *last = n ? &p->mappings.v[n - 1] : NULL;
		if (!last || !is_one(last, &m)) {
			p->mappings.v[n++] = m;
			continue;
		}
		last->limit = m.limit;
		if (m.file.n)
			last->file = m.file;
		if (m.build_id.n)
			last->build_id = m.build_id;
	}
	p->mappings.n = n;
}

/* ".so" at the end, or before a version: ".so.6", ".so_1". */
static bool is_library(struct dcm_str file)
{
	if (str__ends(file, STR(".so")))
		return true;
	for (uint32_t i = 0; i + 4 < file.n; i++)
		if (memcmp(file.p + i, ".so", 3) == 0 && (file.p[i + 3] == '.' || file.p[i + 3] == '_') &&
		    file.p[i + 4] >= '0' && file.p[i + 4] <= '9')
			return true;
	return false;
}

static void put_program_first(struct legacy_profile *p)
{
	for (size_t i = 0; i < p->mappings.n; i++) {
		struct legacy_mapping m = p->mappings.v[i];
		if (m.file.n == 0 || *m.file.p == '[' || is_library(m.file))
			continue;
		p->mappings.v[i] = p->mappings.v[0];
		p->mappings.v[0] = m;
		return;
	}
}

/* A program whose text lies in huge pages; one that a linker puts at 4 MiB. */
static void mend_program(struct legacy_profile *p)
{
	const uint64_t usual_start = 0x400000;
	struct legacy_mapping *m = p->mappings.v;

	if (p->mappings.n > 1 && str__starts(m->file, STR("/anon_hugepage")) && m[0].limit == m[1].start) {
		p->mappings.n--;
		memmove(m, m + 1, p->mappings.n * sizeof(*m));
	}
	if (p->mappings.n && m->start - m->offset == usual_start) {
		m->start = usual_start;
		m->offset = 0;
	}
}

/* ------------------------------------------------------------------------------------------------
 * Which one an address is in
 *
 * A sweep over all starts and ends makes segments, each with the first mapping that covers it: a
 * heap holds the mappings that have begun, and those that have ended leave it when they come to its
 * top.
 */

struct edge {
	uint64_t at;
	uint32_t mapping; /* that begins there; DCM_NONE: one ends */
};

struct segment {
	uint64_t start;
	uint32_t mapping; /* DCM_NONE: none */
};

struct sweep {
	struct edge *edges; /* [2 n] */
	size_t n_edges;
	uint32_t *heap; /* [n] mappings; none is before the one at half its index */
	size_t n_heap;
	struct segment *segments; /* [2 n] */
	size_t n_segments;
};

static void sweep_fini(struct sweep *s)
{
	free(s->edges);
	free(s->heap);
	free(s->segments);
}

static int by_place(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static void heap_push(struct sweep *s, uint32_t mapping)
{
	size_t i = s->n_heap++;

	for (; i > 0 && s->heap[(i - 1) / 2] > mapping; i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = mapping;
}

static void heap_pop(struct sweep *s)
{
	uint32_t last = s->heap[--s->n_heap];
	size_t i = 0;

	for (size_t below; (below = 2 * i + 1) < s->n_heap; i = below) {
		if (below + 1 < s->n_heap && s->heap[below + 1] < s->heap[below])
			below++;
		if (s->heap[below] >= last)
			break;
		s->heap[i] = s->heap[below];
	}
	s->heap[i] = last;
}

/* The range that a mapping says it has, or the one that must be before it. */
static void range_of(const struct legacy_mapping *m, bool before, uint64_t *ret_start, uint64_t *ret_limit)
{
	*ret_start = before ? m->start - m->offset : m->start;
	*ret_limit = before ? m->start : m->limit;
}

static void add_edges(struct sweep *s, const struct legacy_profile *p, bool before)
{
	for (size_t i = 0; i < p->mappings.n; i++) {
		uint64_t start, limit;
		range_of(&p->mappings.v[i], before, &start, &limit);
		if (start >= limit)
			continue;
		s->edges[s->n_edges++] = (struct edge){ start, (uint32_t)i };
		s->edges[s->n_edges++] = (struct edge){ limit, DCM_NONE };
	}
	qsort(s->edges, s->n_edges, sizeof(*s->edges), by_place);
}

static int sweep_init(struct sweep *s, const struct legacy_profile *p, bool before)
{
	size_t n = p->mappings.n + 1;

	*s = (struct sweep){
		.edges = mem__resize(NULL, 2 * n, sizeof(*s->edges)),
		.heap = mem__resize(NULL, n, sizeof(*s->heap)),
		.segments = mem__resize(NULL, 2 * n, sizeof(*s->segments)),
	};
	if (!s->edges || !s->heap || !s->segments)
		return error__nomem(p->err);
	add_edges(s, p, before);
	for (size_t i = 0; i < s->n_edges;) {
		uint64_t at = s->edges[i].at, start, limit;
		for (; i < s->n_edges && s->edges[i].at == at; i++)
			if (s->edges[i].mapping != DCM_NONE)
				heap_push(s, s->edges[i].mapping);
		for (; s->n_heap; heap_pop(s)) {
			range_of(&p->mappings.v[s->heap[0]], before, &start, &limit);
			if (limit > at)
				break;
		}
		s->segments[s->n_segments++] = (struct segment){ at, s->n_heap ? s->heap[0] : DCM_NONE };
	}
	return 0;
}

static uint32_t mapping_at(const struct sweep *s, uint64_t address)
{
	size_t low = 0, high = s->n_segments;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (s->segments[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? s->segments[low - 1].mapping : DCM_NONE;
}

int legacy_maps__place(struct legacy_profile *p, uint32_t *ret)
{
	struct sweep said = { 0 }, before = { 0 };

	join_neighbours(p);
	put_program_first(p);
	mend_program(p);
	int r = sweep_init(&said, p, false);
	if (r == 0)
		r = sweep_init(&before, p, true);
	for (size_t i = 0; r == 0 && i < p->addresses.n; i++) {
		uint64_t address = p->addresses.v[i];
		ret[i] = address ? mapping_at(&said, address) : DCM_NONE;
		if (ret[i] != DCM_NONE || address == 0)
			continue;
		/* Some writers leave the first part of a split mapping out: it is longer than it says. */
		ret[i] = mapping_at(&before, address);
		if (ret[i] != DCM_NONE) {
			struct legacy_mapping *m = &p->mappings.v[ret[i]];
			m->start -= m->offset;
			m->offset = 0;
		}
	}
	sweep_fini(&said);
	sweep_fini(&before);
	return r;
}
