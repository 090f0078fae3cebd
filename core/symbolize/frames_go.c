/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/frames_go.c - functions, inlined functions and lines from Go's own table
 *
 * A function's record names tables of its values by pc (file, line, index of the inlined call),
 * each a list of (difference of the value, bytes of code). An inlined call has a name and
 * `parentPc`, an instruction whose file and line are those of the call and which may itself be
 * inlined. So the chain is walked outwards by asking the same tables at parentPc, as the runtime
 * does.
 *
 * Threads: none shared. Limits: the deadline, FRAMES_MAX_DEPTH; a value's table ends at the part's
 * end whatever it says.
 * Sources: Go's src/runtime/symtab.go (_func, pcvalue, funcfile), symtabinl.go (inlinedCall); Go
 * 1.18 to 1.27.
 */
#include <errno.h>
#include <string.h>

#include "core/base/str.h"
#include "core/symbolize/frames_find.h"
#include "core/symbolize/go_table.h"

enum { PCDATA_INLINED = 2, FUNCDATA_INLINED = 3 };

/* Where things stand in a function's record, and in the record of an inlined call. */
struct layout {
	uint32_t pcfile, pcln, npcdata, unit, start_line, nfuncdata, pcdata;
	uint32_t call_bytes, call_name, call_pc, call_start_line;
};
static const struct layout layouts[2] = {
	{ 20, 24, 28, 32, 0, 39, 40, 20, 12, 16, 0 }, /* 1.18; no start lines */
	{ 20, 24, 28, 32, 36, 43, 44, 16, 4, 8, 12 }, /* 1.20 */
};

struct go_frames {
	struct frames_find *find;
	bool whole; /* see frames_find.h */
	struct elf_file file;
	struct go_table table;
	const struct layout *l;
	struct elf_collect collect;
};

/* The function that an address lies in. */
struct go_function {
	uint64_t entry, record;
	uint32_t unit, n_pcdata, n_funcdata;
};

/* --- values by pc --- */

static bool varint(const struct go_table *t, uint64_t *at, uint32_t *ret)
{
	*ret = 0;
	for (unsigned shift = 0; shift < 35; shift += 7) {
		uint64_t byte;

		if (!go_table__get(t, (*at)++, 1, &byte))
			return false;
		*ret |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/* The value at a pc; false when the table does not reach that far, or is 0 (there is none). */
static bool value_at(struct go_frames *g, const struct go_function *fn, uint64_t table, uint64_t pc,
		     int32_t *ret)
{
	const struct go_table *t = &g->table;
	uint64_t at = t->values + table, reached = fn->entry;
	uint32_t value = UINT32_MAX, step, bytes;

	if (table == 0)
		return false;
	for (bool first = true; !frames_find__late(g->find); first = false) {
		if (!varint(t, &at, &step) || (step == 0 && !first) || !varint(t, &at, &bytes))
			return false;
		value += step & 1 ? ~(step >> 1) : step >> 1;
		reached += (uint64_t)bytes * t->quantum;
		if (pc < reached) {
			*ret = (int32_t)value;
			return true;
		}
	}
	return false;
}

static uint32_t field(const struct go_frames *g, const struct go_function *fn, uint32_t offset,
		      unsigned bytes)
{
	uint64_t value;

	return go_table__get(&g->table, fn->record + offset, bytes, &value) ? (uint32_t)value : 0;
}

static void place_at(struct go_frames *g, const struct go_function *fn, uint64_t pc,
		     struct dcm_str *ret_file, uint32_t *ret_line)
{
	const struct go_table *t = &g->table;
	uint64_t file;
	int32_t value;

	*ret_line = value_at(g, fn, field(g, fn, g->l->pcln, 4), pc, &value) && value > 0
			    ? (uint32_t)value
			    : 0;
	*ret_file = STR("");
	if (value_at(g, fn, field(g, fn, g->l->pcfile, 4), pc, &value) && value >= 0 &&
	    go_table__get(t, t->units + ((uint64_t)fn->unit + (uint32_t)value) * 4, 4, &file) &&
	    file != UINT32_MAX)
		go_table__text(t, t->files, file, ret_file);
}

/* --- inlined calls --- */

/* The function has a tree: its offset. */
static bool has_tree(const struct go_frames *g, const struct go_function *fn, uint32_t *ret_offset)
{
	if (fn->n_funcdata <= FUNCDATA_INLINED)
		return false;
	*ret_offset = field(g, fn, g->l->pcdata + 4 * (fn->n_pcdata + FUNCDATA_INLINED), 4);
	return *ret_offset != UINT32_MAX;
}

struct inlined {
	struct dcm_str name;
	uint32_t pc, start_line;
};

/* The call that is inlined at a pc; false when none is. */
static bool inlined_at(struct go_frames *g, const struct go_function *fn, uint64_t tree,
		       uint64_t pc, struct inlined *ret)
{
	uint8_t raw[20];
	uint32_t name;
	int32_t index;

	if (!tree || fn->n_pcdata <= PCDATA_INLINED ||
	    !value_at(g, fn, field(g, fn, g->l->pcdata + 4 * PCDATA_INLINED, 4), pc, &index) ||
	    index < 0 ||
	    elf_file__read_at(&g->file, raw, g->l->call_bytes, tree + (uint64_t)index * g->l->call_bytes))
		return false;
	memcpy(&name, raw + g->l->call_name, 4);
	memcpy(&ret->pc, raw + g->l->call_pc, 4);
	ret->start_line = 0;
	if (g->l->call_start_line)
		memcpy(&ret->start_line, raw + g->l->call_start_line, 4);
	return go_table__text(&g->table, g->table.names, name, &ret->name);
}

static void resolve(struct go_frames *g, struct frames_target *t, const struct go_function *fn)
{
	struct frames_find *f = g->find;
	uint64_t tree, pc = t->address;
	struct dcm_str file, name;
	struct inlined call;
	uint32_t line, offset = 0;
	bool inlines = has_tree(g, fn, &offset);

	if (!go_table__name(&g->table, fn->record, &name) || (inlines && !g->table.gofunc && g->whole))
		return;
	tree = inlines && g->table.gofunc ? g->table.gofunc + offset : 0;
	frames_find__begin(f, t);
	place_at(g, fn, pc, &file, &line);
	while (t->n < FRAMES_MAX_DEPTH - 1 && inlined_at(g, fn, tree, pc, &call)) {
		if (f->inlines)
			frames_find__add(f, t,
					 &(struct frame){ call.name.p, file.p, NULL, line,
							  call.start_line });
		pc = fn->entry + call.pc;
		place_at(g, fn, pc, &file, &line);
		if (frames_find__late(f))
			return;
	}
	frames_find__add(f, t,
			 &(struct frame){ name.p, file.p, NULL, line,
					  g->l->start_line ? field(g, fn, g->l->start_line, 4) : 0 });
	if (!f->late)
		frames_find__done(f, t);
}

/* --- functions --- */

/* The last entry at or below the address, whose next one lies above it. */
static bool find_function(const struct go_frames *g, uint64_t address, struct go_function *ret)
{
	const struct go_table *t = &g->table;
	uint64_t lo = 0, hi = t->n_functions, pc, record, next;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (!go_table__entry(t, mid, &pc, &record))
			return false;
		if (pc <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0 || !go_table__entry(t, lo - 1, &ret->entry, &ret->record) ||
	    !go_table__entry(t, lo, &next, &record) || address < ret->entry || address >= next)
		return false;
	ret->unit = field(g, ret, g->l->unit, 4);
	ret->n_pcdata = field(g, ret, g->l->npcdata, 4);
	ret->n_funcdata = field(g, ret, g->l->nfuncdata, 1);
	return ret->n_pcdata < 64;
}

void frames_go__find(struct frames_find *f, int fd, bool whole)
{
	struct go_frames g = { .find = f,
			       .whole = whole,
			       .collect.limits = { .max_bytes = f->max_bytes, .max_symbols = UINT32_MAX } };
	int rc = elf_file__open(&g.file, fd);

	if (!rc)
		rc = elf_collect__text(&g.collect, &g.file);
	if (!rc)
		rc = go_table__open(&g.table, &g.collect, &g.file);
	if (!rc && g.table.version >= GO_1_18) {
		g.l = &layouts[g.table.version == GO_1_20];
		for (uint32_t i = 0; i < f->n && !frames_find__late(f); i++) {
			struct go_function fn;

			if (f->targets[i].state == FRAMES_NOTHING &&
			    find_function(&g, f->targets[i].address, &fn))
				resolve(&g, &f->targets[i], &fn);
		}
	}
	if (rc == -ENOMEM)
		f->no_memory = true;
	go_table__fini(&g.table);
	elf_collect__fini(&g.collect);
	elf_file__fini(&g.file);
}
