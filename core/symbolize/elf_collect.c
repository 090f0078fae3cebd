/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/elf_collect.c - functions of one ELF file while they are gathered
 *
 * Threads: none shared. Limits: struct elf_limits, checked before each growth.
 */
#include "core/symbolize/elf_collect.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"

void elf_collect__fini(struct elf_collect *c)
{
	vec__fini(&c->functions);
	vec__fini(&c->text);
	buf__fini(&c->names);
}

static int by_start(const void *a, const void *b)
{
	const struct elf_text *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static bool is_plt_name(const char *name)
{
	/* .plt, .plt.sec, .plt.got, .plt.bnd, .iplt */
	return strncmp(name, ".plt", 4) == 0 || strcmp(name, ".iplt") == 0;
}

static int add_text(struct elf_collect *c, uint64_t addr, uint64_t bytes, bool is_plt)
{
	struct elf_text t = { addr, addr + bytes, is_plt };

	if (bytes == 0 || t.end < addr)
		return 0;
	return vec__push(&c->text, t) ? 0 : -ENOMEM;
}

int elf_collect__text(struct elf_collect *c, const struct elf_file *f)
{
	int rc = 0;

	c->text.n = 0;
	for (uint32_t i = 0; i < f->n_sections && !rc; i++) {
		const struct elf_section *s = &f->sections[i];

		if (s->type != SHT_NULL && (s->flags & SHF_ALLOC) && (s->flags & SHF_EXECINSTR))
			rc = add_text(c, s->addr, s->bytes, is_plt_name(elf_file__name(f, s)));
	}
	c->has_sections = c->text.n > 0;
	for (uint32_t i = 0; i < f->n_segments && !rc && !c->has_sections; i++) {
		const struct elf_segment *p = &f->segments[i];

		if (p->type == PT_LOAD && (p->flags & PF_X))
			rc = add_text(c, p->vaddr, p->file_bytes, false);
	}
	if (!rc && c->text.n > 1)
		qsort(c->text.v, c->text.n, sizeof(*c->text.v), by_start);
	return rc;
}

const struct elf_text *elf_collect__text_at(const struct elf_collect *c, uint64_t vaddr)
{
	size_t lo = 0, hi = c->text.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (c->text.v[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo > 0 && vaddr < c->text.v[lo - 1].end ? &c->text.v[lo - 1] : NULL;
}

bool elf_collect__may_see(struct elf_collect *c, uint64_t n)
{
	if (n > c->limits.max_symbols - c->n_seen)
		return false;
	c->n_seen += n;
	return true;
}

int elf_collect__name(struct elf_collect *c, const char *prefix, struct dcm_str name, uint32_t *ret_offset)
{
	uint64_t held = c->functions.n * sizeof(*c->functions.v) + c->names.n;
	size_t at = c->names.n;

	/* Offsets are 32 bits wide; the default limit is far below that. */
	if (held + name.n > c->limits.max_bytes || at + name.n + 64 > UINT32_MAX)
		return -EFBIG;
	buf__text(&c->names, prefix);
	buf__str(&c->names, name);
	buf__byte(&c->names, 0);
	if (c->names.error)
		return c->names.error;
	*ret_offset = (uint32_t)at;
	return 0;
}

int elf_collect__add(struct elf_collect *c, const struct elf_function *fn, const char *prefix,
		     struct dcm_str name)
{
	struct elf_function copy = *fn;
	int rc = elf_collect__name(c, prefix, name, &copy.name);

	if (rc)
		return rc;
	return vec__push(&c->functions, copy) ? 0 : -ENOMEM;
}

int elf_strings__init(struct elf_strings *s, const struct elf_file *f, uint64_t offset,
		      uint64_t bytes, size_t size)
{
	*s = (struct elf_strings){ .file = f, .offset = offset, .bytes = bytes, .size = size };
	if (!elf_file__holds(f, offset, bytes))
		return -ENOEXEC;
	if (bytes < size)
		s->size = bytes ? (size_t)bytes : 1;
	s->data = malloc(s->size);
	return s->data ? 0 : -ENOMEM;
}

void elf_strings__fini(struct elf_strings *s)
{
	free(s->data);
	s->data = NULL;
}

static int move_window(struct elf_strings *s, uint64_t at)
{
	size_t n = s->bytes - at < s->size ? (size_t)(s->bytes - at) : s->size;
	const char *last;
	int rc;

	s->n = 0;
	rc = elf_file__read(s->file, s->data, n, s->offset + at);
	if (rc)
		return rc;
	s->at = at;
	s->n = n;
	last = memrchr(s->data, 0, n);
	s->terminated = last ? at + (uint64_t)(last + 1 - s->data) : at;
	return 0;
}

int elf_strings__get(struct elf_strings *s, uint64_t at, struct dcm_str *ret)
{
	const char *from;

	if (at >= s->bytes)
		return -ENODATA;
	if (at < s->at || at - s->at >= s->n ||
	    (at >= s->terminated && s->at + s->n - at < s->size / 4 && s->at + s->n < s->bytes)) {
		int rc = move_window(s, at);

		if (rc)
			return rc;
	}
	/*
	 * What begins behind the last NUL is too long, or has no end; told without looking at it,
	 * so that a table without a NUL costs one pass and not one for each symbol.
	 */
	if (at >= s->terminated)
		return -ENODATA;
	from = s->data + (at - s->at);
	*ret = (struct dcm_str){ from, (uint32_t)strlen(from) };
	return 0;
}
