/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/elf_symbols.c - chooses among names, flattens, and answers
 *
 * Gathered functions overlap: aliases, nested ranges, labels without a size. They are put in the
 * order of their start; of those with the same range the best name stays (elf_rank, then fewer
 * leading underscores, no suffix behind a dot, the shorter, the first in byte order: the same
 * whatever order the table had). A label without a size ends at the next start or its section's
 * end, and counts only outside of functions that have one. A sweep with a stack of open functions
 * then cuts the ranges so that they do not overlap, the innermost winning. A lookup is one binary
 * search.
 *
 * Threads: a finished table is constant. Limits: struct elf_limits.
 */
#include "core/symbolize/elf.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/symbolize/elf_collect.h"
#include "core/symbolize/elf_file.h"

#define NO_NAME UINT32_MAX

enum {
	DEFAULT_MAX_BYTES = 256 << 20,
	DEFAULT_MAX_SYMBOLS = 16 << 20,
	MAX_COPIES = 4, /* of the bytes of all names */
	SPARE_BYTES = 1 << 20,
};

struct load {
	uint64_t offset, bytes, vaddr;
};

struct elf_symbols {
	uint64_t *starts; /* [n] ascending */
	uint32_t *names;  /* [n] offsets in text, or NO_NAME for a gap */
	uint32_t n, n_named;
	char *text;
	size_t text_bytes;
	struct load *loads; /* [n_loads] executable ones first */
	uint32_t n_loads;
};

/* Where the sweep stands: ranges written so far, and functions that are still open. */
struct sweep {
	VEC(uint64_t) starts;
	VEC(uint32_t) names;
	VEC(struct elf_function) open;
	bool no_memory;
};

/* --- which of two names --- */

static size_t n_underscores(const char *s)
{
	return strspn(s, "_");
}

/* > 0 when a's name is to be preferred. */
static int better(const struct elf_function *a, const struct elf_function *b, const char *text)
{
	const char *x = text + a->name, *y = text + b->name;
	size_t nx, ny;

	if (a->rank != b->rank)
		return a->rank > b->rank ? 1 : -1;
	nx = n_underscores(x);
	ny = n_underscores(y);
	if (nx != ny)
		return nx < ny ? 1 : -1;
	if (!strchr(x, '.') != !strchr(y, '.'))
		return strchr(x, '.') ? -1 : 1;
	nx = strlen(x);
	ny = strlen(y);
	if (nx != ny)
		return nx < ny ? 1 : -1;
	return strcmp(y, x);
}

/*
 * Of those that start together the longest comes first, so that the sweep opens the shorter one
 * inside of it.
 */
static int by_range(const void *a, const void *b)
{
	const struct elf_function *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->end < y->end) - (x->end > y->end);
}

/* One function per range, with the best name. Returns how many are left. */
static size_t merge_aliases(struct elf_function *v, size_t n, const char *text)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (kept == 0 || v[kept - 1].start != v[i].start || v[kept - 1].end != v[i].end)
			v[kept++] = v[i];
		else if (better(&v[i], &v[kept - 1], text) > 0)
			v[kept - 1] = v[i];
	}
	return kept;
}

/* Gives an end to those without: see the head of the file. Returns how many are left. */
static size_t bound_labels(struct elf_function *v, size_t n)
{
	uint64_t covered = 0; /* everything below lies in a function with a size, or before it */
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		struct elf_function fn = v[i];

		if (fn.end == 0) {
			if (fn.start < covered)
				continue;
			fn.end = i + 1 < n && v[i + 1].start < fn.limit ? v[i + 1].start : fn.limit;
		} else if (fn.end > covered) {
			covered = fn.end;
		}
		v[kept++] = fn;
	}
	return kept;
}

/* --- the sweep --- */

static void emit(struct sweep *s, uint64_t start, uint32_t name)
{
	size_t n = s->starts.n;

	if (s->no_memory)
		return; /* one of the two may be longer by one */
	if (n > 0 && s->starts.v[n - 1] == start) {
		s->starts.n--;
		s->names.n--;
		n--;
	}
	if (n > 0 ? s->names.v[n - 1] == name : name == NO_NAME)
		return;
	if (!vec__push(&s->starts, start) || !vec__push(&s->names, name))
		s->no_memory = true;
}

/* Closes what ends at or before `until`, and lets what lies around it go on. */
static void close_until(struct sweep *s, uint64_t until)
{
	while (s->open.n > 0 && s->open.v[s->open.n - 1].end <= until) {
		uint64_t end = s->open.v[s->open.n - 1].end;

		while (s->open.n > 0 && s->open.v[s->open.n - 1].end <= end)
			s->open.n--;
		emit(s, end, s->open.n ? s->open.v[s->open.n - 1].name : NO_NAME);
	}
}

static int flatten(struct sweep *s, const struct elf_function *v, size_t n)
{
	for (size_t i = 0; i < n && !s->no_memory; i++) {
		close_until(s, v[i].start);
		if (!vec__push(&s->open, v[i]))
			s->no_memory = true;
		emit(s, v[i].start, v[i].name);
	}
	close_until(s, UINT64_MAX);
	return s->no_memory ? -ENOMEM : 0;
}

/* --- from gathered functions to the table --- */

/*
 * Copies the names that are used, and points the ranges at the copies. A function that goes on
 * behind one that lies in it has a copy for each part: a few, unless the file is made to have many.
 */
static int keep_names(struct elf_symbols *t, struct sweep *s, const struct elf_collect *c)
{
	const char *text = c->names.data ? (const char *)c->names.data : "";
	const size_t many = MAX_COPIES * c->names.n + SPARE_BYTES;
	const size_t most = many < c->limits.max_bytes ? many : c->limits.max_bytes;
	size_t bytes = 0, at = 0;
	uint32_t last = NO_NAME, last_copy = 0;

	for (size_t i = 0; i < s->names.n && bytes <= most; i++)
		bytes += s->names.v[i] == NO_NAME ? 0 : strlen(text + s->names.v[i]) + 1;
	if (bytes > most || bytes >= NO_NAME)
		return -EFBIG;
	t->text = malloc(bytes + 1);
	if (!t->text)
		return -ENOMEM;
	for (size_t i = 0; i < s->names.n; i++) {
		uint32_t name = s->names.v[i];
		size_t n;

		if (name == NO_NAME)
			continue;
		t->n_named++;
		if (name != last) {
			n = strlen(text + name) + 1;
			memcpy(t->text + at, text + name, n);
			last = name;
			last_copy = (uint32_t)at;
			at += n;
		}
		s->names.v[i] = last_copy;
	}
	t->text_bytes = at;
	return 0;
}

/* A table keeps exactly what it needs; a shrink that fails keeps the larger block. */
static void *shrink(void *p, size_t n, size_t size)
{
	void *q = n ? mem__resize(p, n, size) : NULL;

	return q ? q : p;
}

static int finish(struct elf_symbols *t, struct elf_collect *c)
{
	struct sweep s = { 0 };
	const char *text = c->names.data ? (const char *)c->names.data : "";
	size_t n = c->functions.n;
	int rc;

	if (n > 1)
		qsort(c->functions.v, n, sizeof(*c->functions.v), by_range);
	n = merge_aliases(c->functions.v, n, text);
	n = bound_labels(c->functions.v, n);
	rc = flatten(&s, c->functions.v, n);
	if (!rc && s.starts.n >= NO_NAME)
		rc = -EFBIG;
	if (!rc)
		rc = keep_names(t, &s, c);
	if (!rc) {
		t->n = (uint32_t)s.starts.n;
		t->starts = shrink(s.starts.v, s.starts.n, sizeof(*s.starts.v));
		t->names = shrink(s.names.v, s.names.n, sizeof(*s.names.v));
		t->text = shrink(t->text, t->text_bytes, 1);
	} else {
		vec__fini(&s.starts);
		vec__fini(&s.names);
	}
	vec__fini(&s.open);
	return rc;
}

static int collect_symtabs(struct elf_collect *c, const struct elf_file *f, uint32_t *ret_n)
{
	int rc = 0;

	for (uint32_t i = 0; i < f->n_sections && !rc; i++) {
		if (f->sections[i].type == SHT_SYMTAB)
			rc = elf_symtab__collect(c, f, &f->sections[i], ret_n);
	}
	return rc;
}

/* What was split off names the same addresses. If it is damaged, the file is as good as without. */
static int collect_debug(struct elf_collect *c, int debug_fd, uint32_t *ret_n)
{
	struct elf_file f;
	int rc = elf_file__open(&f, debug_fd);

	if (!rc)
		rc = collect_symtabs(c, &f, ret_n);
	elf_file__fini(&f);
	return rc == -ENOMEM || rc == -EFBIG ? rc : 0;
}

static int collect_tables(struct elf_collect *c, const struct elf_file *f, int debug_fd)
{
	uint32_t n_symtab = 0;
	int rc = collect_symtabs(c, f, &n_symtab);

	for (uint32_t i = 0; i < f->n_sections && !rc; i++) {
		if (f->sections[i].type == SHT_DYNSYM)
			rc = elf_symtab__collect(c, f, &f->sections[i], NULL);
	}
	if (!rc)
		rc = elf_plt__collect(c, f);
	if (!rc && n_symtab == 0 && debug_fd >= 0)
		rc = collect_debug(c, debug_fd, &n_symtab);
	if (!rc && n_symtab == 0)
		rc = elf_pclntab__collect(c, f);
	/* Last: it puts its own sections in the place of the file's. */
	if (!rc && n_symtab == 0)
		rc = elf_minidebug__collect(c, f);
	return rc;
}

static int read_loads(struct elf_symbols *t, const struct elf_file *f)
{
	t->loads = mem__zalloc(f->n_segments + 1u, sizeof(*t->loads));
	if (!t->loads)
		return -ENOMEM;
	for (int executable = 1; executable >= 0; executable--) {
		for (uint32_t i = 0; i < f->n_segments; i++) {
			const struct elf_segment *p = &f->segments[i];

			if (p->type == PT_LOAD && !(p->flags & PF_X) == !executable)
				t->loads[t->n_loads++] = (struct load){ p->offset, p->file_bytes,
									p->vaddr };
		}
	}
	return 0;
}

static int load(int fd, int debug_fd, const struct elf_limits *limits, struct elf_symbols *t)
{
	struct elf_file f;
	struct elf_collect c = { 0 };
	int rc = elf_file__open(&f, fd);

	if (limits)
		c.limits = *limits;
	if (c.limits.max_bytes == 0)
		c.limits.max_bytes = DEFAULT_MAX_BYTES;
	if (c.limits.max_symbols == 0)
		c.limits.max_symbols = DEFAULT_MAX_SYMBOLS;
	if (!rc)
		rc = read_loads(t, &f);
	if (!rc)
		rc = elf_collect__text(&c, &f);
	if (!rc && (f.type == ET_EXEC || f.type == ET_DYN))
		rc = collect_tables(&c, &f, debug_fd);
	if (!rc)
		rc = finish(t, &c);
	elf_collect__fini(&c);
	elf_file__fini(&f);
	return rc;
}

int elf__load(int fd, int debug_fd, const struct elf_limits *limits,
	      struct elf_symbols **ret_symbols, struct dcm_error *err)
{
	CLEANUP(elf__freep) struct elf_symbols *t = NEW(struct elf_symbols);
	int rc = t ? load(fd, debug_fd, limits, t) : -ENOMEM;

	switch (rc) {
	case 0:
		*ret_symbols = take_ptr(t);
		return 0;
	case -ENOMEM:
		return error__nomem(err);
	case -ENOEXEC:
		return error__set(
			err, rc, "not a little-endian ELF file, or a damaged one: no names from it");
	case -EFBIG:
		return error__set(err, rc, "more symbols than are read of one file: no names from it");
	default:
		return error__sys(err, rc, "cannot be read");
	}
}

void elf__free(struct elf_symbols *t)
{
	if (!t)
		return;
	free(t->starts);
	free(t->names);
	free(t->text);
	free(t->loads);
	free(t);
}

int elf__find(const struct elf_symbols *t, uint64_t vaddr, struct dcm_str *ret_name)
{
	uint32_t lo = 0, hi = t->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->starts[mid] <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0 || t->names[lo - 1] == NO_NAME)
		return -ENOENT;
	*ret_name = str__of(t->text + t->names[lo - 1]);
	return 0;
}

int elf__to_vaddr(const struct elf_symbols *t, uint64_t file_offset, uint64_t *ret_vaddr)
{
	for (uint32_t i = 0; i < t->n_loads; i++) {
		const struct load *l = &t->loads[i];

		if (file_offset >= l->offset && file_offset - l->offset < l->bytes) {
			*ret_vaddr = l->vaddr + (file_offset - l->offset);
			return 0;
		}
	}
	return -ENOENT;
}

uint32_t elf__count(const struct elf_symbols *t)
{
	return t->n_named;
}

bool elf__agrees(const struct elf_symbols *a, const struct elf_symbols *b)
{
	struct dcm_str name;

	for (uint32_t i = 0; i < a->n; i++) {
		if (a->names[i] != NO_NAME && (elf__find(b, a->starts[i], &name) ||
					       !str__eq(name, str__of(a->text + a->names[i]))))
			return false;
	}
	return true;
}

size_t elf__bytes(const struct elf_symbols *t)
{
	return sizeof(*t) + t->n * (sizeof(*t->starts) + sizeof(*t->names)) + t->text_bytes +
	       t->n_loads * sizeof(*t->loads);
}
