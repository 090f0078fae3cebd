/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/go_table.c - what Go's runtime keeps for its own tracebacks
 *
 * The table stays in every program, stripped or not. Its four layouts (Go 1.2, 1.16, 1.18, 1.20)
 * differ in the width of the entries and in where the parts begin:
 *
 *	1.2   header, nfunc, [pc, offset]..; a function's record and its name are offsets from the table's start
 *	1.16  header, nfunc, nfiles, 5 offsets of parts; names and records have parts of their own
 *	1.18  the same with textStart before the offsets; pcs are 32-bit offsets from there
 *	1.20  the same as 1.18, and a record has the function's first line
 *
 * Threads: none shared. Limits: MAX_TABLE_BYTES, struct elf_limits.
 * Sources: Go's src/runtime/symtab.go (pcHeader, moduledata), src/debug/gosym/pclntab.go.
 */
#include "core/symbolize/go_table.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"

enum {
	MAX_TABLE_BYTES = 128 << 20, /* the largest Go programs have some 40 MiB */
	MAX_NAME = 64 << 10
};

/* --- numbers in the table; false outside of it --- */

bool go_table__get(const struct go_table *t, uint64_t at, unsigned bytes, uint64_t *ret)
{
	*ret = 0;
	if (at > t->n || t->n - at < bytes)
		return false;
	memcpy(ret, t->data + at, bytes);
	return true;
}

static bool get_word(const struct go_table *t, unsigned index, uint64_t *ret)
{
	return go_table__get(t, 8 + (uint64_t)index * t->pointer, t->pointer, ret);
}

/* --- the header --- */

static bool read_version(struct go_table *t)
{
	uint64_t magic;

	if (!go_table__get(t, 0, 4, &magic) || t->n < 16 || t->data[4] || t->data[5])
		return false;
	t->quantum = t->data[6];
	t->pointer = t->data[7];
	switch (magic) {
	case 0xfffffffb:
		t->version = GO_1_2;
		break;
	case 0xfffffffa:
		t->version = GO_1_16;
		break;
	case 0xfffffff0:
		t->version = GO_1_18;
		break;
	case 0xfffffff1:
		t->version = GO_1_20;
		break;
	default:
		return false;
	}
	return t->pointer == 4 || t->pointer == 8;
}

/* Where the parts begin; false when the table is too short for them. */
static bool read_header(struct go_table *t)
{
	bool good = get_word(t, 0, &t->n_functions);

	switch (t->version) {
	case GO_1_2:
		t->names = 0;
		t->functions = 8 + t->pointer;
		break;
	case GO_1_16:
		good = good && get_word(t, 2, &t->names) && get_word(t, 6, &t->functions);
		break;
	case GO_1_18:
	case GO_1_20:
		good = good && get_word(t, 3, &t->names) && get_word(t, 4, &t->units) &&
		       get_word(t, 5, &t->files) && get_word(t, 6, &t->values) &&
		       get_word(t, 7, &t->functions);
		break;
	}
	return good && t->names < t->n && t->functions < t->n && t->units < t->n &&
	       t->files < t->n && t->values < t->n;
}

/* --- functions --- */

bool go_table__entry(const struct go_table *t, uint64_t i, uint64_t *ret_pc, uint64_t *ret_record)
{
	unsigned width = t->version >= GO_1_18 ? 4 : t->pointer;
	uint64_t at = t->functions + i * 2 * width;

	*ret_record = 0;
	if (!go_table__get(t, at, width, ret_pc) ||
	    (i < t->n_functions && !go_table__get(t, at + width, width, ret_record)))
		return false;
	if (t->version >= GO_1_18)
		*ret_pc += t->text;
	if (t->version != GO_1_2)
		*ret_record += t->functions;
	return true;
}

bool go_table__text(const struct go_table *t, uint64_t part, uint64_t offset, struct dcm_str *ret)
{
	uint64_t max;
	const char *text, *end;

	if (part >= t->n || offset >= t->n - part)
		return false;
	max = t->n - part - offset < MAX_NAME ? t->n - part - offset : MAX_NAME;
	text = (const char *)t->data + part + offset;
	end = memchr(text, 0, max);
	*ret = (struct dcm_str){ text, end ? (uint32_t)(end - text) : 0 };
	return end != NULL && ret->n > 0;
}

bool go_table__name(const struct go_table *t, uint64_t record, struct dcm_str *ret)
{
	unsigned width = t->version >= GO_1_18 ? 4 : t->pointer;
	uint64_t at;

	return record <= t->n && go_table__get(t, record + width, 4, &at) &&
	       go_table__text(t, t->names, at, ret);
}

/* True when the file's entry point is the start of Go's own startup code. */
static bool starts_in_go(const struct go_table *t, uint64_t entry_point)
{
	for (uint64_t i = 0; i < t->n_functions; i++) {
		uint64_t pc, record;
		struct dcm_str name;

		if (!go_table__entry(t, i, &pc, &record))
			return false;
		if (pc == entry_point)
			return go_table__name(t, record, &name) && str__starts(name, STR("_rt0_"));
	}
	return false;
}

static const struct elf_section *find_table(const struct elf_file *f)
{
	const struct elf_section *s = elf_file__section(f, ".gopclntab");

	if (!s)
		s = elf_file__section(f, ".data.rel.ro.gopclntab");
	return s && s->type != SHT_NOBITS && s->bytes <= MAX_TABLE_BYTES &&
			       elf_file__holds(f, s->offset, s->bytes)
		       ? s
		       : NULL;
}

int go_table__open(struct go_table *t, struct elf_collect *c, const struct elf_file *f)
{
	const struct elf_section *s = find_table(f);
	int rc;

	*t = (struct go_table){ 0 };
	if (!s || s->bytes > c->limits.max_bytes)
		return -ENODATA;
	t->data = malloc(s->bytes + 1);
	if (!t->data)
		return -ENOMEM;
	rc = elf_file__read(f, t->data, s->bytes, s->offset);
	if (rc)
		return rc;
	t->n = s->bytes;
	if (!read_version(t) || !read_header(t) || !elf_collect__may_see(c, t->n_functions))
		return -ENODATA;
	if (t->version < GO_1_18)
		return 0;
	rc = t->pointer == 8 ? go_module__find(t, c, f, s) : -ENODATA;
	return rc == 1 ? starts_in_go(t, f->entry) ? 0 : -ENODATA : rc;
}

void go_table__fini(struct go_table *t)
{
	free(t->data);
	t->data = NULL;
}
