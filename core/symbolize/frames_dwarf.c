/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/frames_dwarf.c - functions, inlined functions and lines from DWARF
 *
 * libdw reads the forms, the ranges and the line tables; the walk is our own. libdw's lookups by
 * address go through .debug_aranges, which clang does not write, and do not leave a unit, which
 * gcc's LTO needs. So every unit is asked for its ranges, and those that hold a wanted address are
 * walked: functions, and inside of the right one whatever was inlined around the address. Units
 * that tell no range come last, if anything is left. Only the functions that hold an address are
 * entered; if one is still missing in a unit that claims it, the unit is walked once more, whole
 * (functions inside of functions: GNU C, Ada).
 *
 * A range counts only if it begins in the file's code: functions that the linker threw away stay
 * behind at 0 and would claim what lies there.
 *
 * Threads: none shared. Limits: the deadline, MAX_NESTING, FRAMES_MAX_DEPTH, max_bytes of sections.
 * Sources: DWARF 5 sections 2.17, 3.3, 3.3.8. Split units come from a package that was handed over
 * (frames_package.h); without one libdw opens what the skeleton names, where the process may.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/symbolize/elf_open.h"
#include "core/symbolize/frames_find.h"
#include "core/symbolize/frames_package.h"

enum { MAX_NESTING = 128, MAX_RANGES = 1 << 20, N_FILES = 3 };

struct segment {
	uint64_t start, end;
};

struct walk {
	struct frames_find *find;
	Dwarf *dwarf;
	VEC(struct segment) code; /* executable segments */
	Dwarf_Die cu;		  /* of the line table */
	Elf *elf;
	const struct elf_open *files[N_FILES]; /* [n_files], which texts come from */
	unsigned n_files;
	struct frames_package *package; /* of split units; NULL: none */
	uint64_t bias; /* what the entries' addresses are lower than the file's (frames_package.h) */
	uint32_t unit;	   /* number of the unit, from 1 */
	uint32_t n_wanted; /* targets of the unit that are not done */
	bool deep;	   /* enter every function */
};

/* --- ranges --- */

static bool is_code(const struct walk *w, uint64_t start)
{
	if (start == 0)
		return false;
	for (size_t i = 0; i < w->code.n; i++) {
		if (start >= w->code.v[i].start && start < w->code.v[i].end)
			return true;
	}
	return false;
}

/* Calls `each` for every range of the entry. Returns whether it has any. */
static bool each_range(struct walk *w, Dwarf_Die *die,
		       void (*each)(struct walk *w, Dwarf_Die *die, uint64_t start, uint64_t end))
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	unsigned n = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0 && n < MAX_RANGES) {
		n++;
		if (frames_find__late(w->find))
			break;
		if (start < end && is_code(w, start + w->bias))
			each(w, die, start + w->bias, end + w->bias);
	}
	return n > 0;
}

/* The unit claims these addresses. */
static void claim(struct walk *w, Dwarf_Die *die, uint64_t start, uint64_t end)
{
	uint32_t last, i = frames_find__range(w->find, start, end, &last);

	(void)die;
	for (; i < last; i++) {
		struct frames_target *t = &w->find->targets[i];

		if (t->state != FRAMES_NOTHING || t->unit == w->unit)
			continue;
		t->unit = w->unit;
		w->n_wanted++;
	}
}

/* --- one address --- */

/* The entries around an address, from the function inwards. */
struct chain {
	Dwarf_Die dies[FRAMES_MAX_DEPTH];
	uint32_t n;
};

static bool has_ranges(Dwarf_Die *die)
{
	return dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges);
}

static void descend(struct walk *w, Dwarf_Die *parent, uint64_t address, struct chain *c, unsigned depth)
{
	Dwarf_Die die;
	uint32_t n = c->n;

	if (depth >= MAX_NESTING || dwarf_child(parent, &die) != 0)
		return;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_inlined_subroutine:
			if (dwarf_haspc(&die, address - w->bias) <= 0 || c->n >= FRAMES_MAX_DEPTH)
				break;
			c->dies[c->n++] = die;
			descend(w, &die, address, c, depth + 1);
			return;
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
		case DW_TAG_with_stmt:
			if (!has_ranges(&die) || dwarf_haspc(&die, address - w->bias) > 0)
				descend(w, &die, address, c, depth + 1);
			break;
		default:
			break;
		}
	} while (c->n == n && !frames_find__late(w->find) && dwarf_siblingof(&die, &die) == 0);
}

/* NULL as well for a text that has no end. */
static const char *text_of(const struct walk *w, Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	const char *text = dwarf_attr_integrate(die, name, &attr) ? dwarf_formstring(&attr) : NULL;

	for (unsigned i = 0; i < w->n_files && text; i++)
		if (!elf_open__text_ends(w->files[i], text))
			text = NULL;
	return text;
}

static const char *name_of(const struct walk *w, Dwarf_Die *die)
{
	const char *name = text_of(w, die, DW_AT_linkage_name);

	if (!name)
		name = text_of(w, die, DW_AT_MIPS_linkage_name);
	return name ? name : text_of(w, die, DW_AT_name);
}

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	if (!dwarf_attr_integrate(die, name, &attr) || dwarf_formudata(&attr, &value) || value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

/* A file's path by its number in the entry's unit; a split unit may have no list of its own. */
static const char *file_of(struct walk *w, Dwarf_Die *die, uint32_t number)
{
	Dwarf_Files *files;
	Dwarf_Die cu;
	size_t n;

	if ((!dwarf_diecu(die, &cu, NULL, NULL) || dwarf_getsrcfiles(&cu, &files, &n) != 0) &&
	    dwarf_getsrcfiles(&w->cu, &files, &n) != 0)
		return NULL;
	return dwarf_filesrc(files, number, NULL, NULL);
}

/* Where the inlined function was called: its caller's place. */
static void call_place(struct walk *w, Dwarf_Die *die, const char **ret_file, uint32_t *ret_line)
{
	*ret_line = number_of(die, DW_AT_call_line);
	*ret_file = dwarf_hasattr(die, DW_AT_call_file)
			    ? file_of(w, die, number_of(die, DW_AT_call_file))
			    : NULL;
}

static void line_place(struct walk *w, uint64_t address, const char **ret_file, uint32_t *ret_line)
{
	Dwarf_Line *line = dwarf_getsrc_die(&w->cu, address);
	int number = 0;

	*ret_file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
	if (line && dwarf_lineno(line, &number) == 0 && number > 0)
		*ret_line = (uint32_t)number;
	else
		*ret_line = 0;
}

/* The number belongs to the unit of the entry that has it, which may be another one (LTO). */
static const char *home_of(struct walk *w, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Word number;
	Dwarf_Die owner;

	if (!dwarf_attr_integrate(die, DW_AT_decl_file, &attr) || dwarf_formudata(&attr, &number) ||
	    number > UINT32_MAX || !dwarf_cu_die(attr.cu, &owner, NULL, NULL, NULL, NULL, NULL, NULL))
		return NULL;
	return file_of(w, &owner, (uint32_t)number);
}

static void resolve(struct walk *w, struct frames_target *t, Dwarf_Die *function)
{
	struct frames_find *f = w->find;
	struct chain c = { .dies = { *function }, .n = 1 };
	const char *file;
	uint32_t line;

	descend(w, function, t->address, &c, 0);
	if (f->late)
		return;
	line_place(w, t->address, &file, &line);
	frames_find__begin(f, t);
	for (uint32_t i = c.n; i-- > 0;) {
		Dwarf_Die *die = &c.dies[i];
		struct frame frame = { name_of(w, die), file, home_of(w, die), line,
				       number_of(die, DW_AT_decl_line) };

		if (i == 0 || f->inlines)
			frames_find__add(f, t, &frame);
		if (i > 0)
			call_place(w, die, &file, &line);
	}
	frames_find__done(f, t);
}

/* --- functions --- */

static void take_range(struct walk *w, Dwarf_Die *die, uint64_t start, uint64_t end)
{
	uint32_t last, i = frames_find__range(w->find, start, end, &last);

	for (; i < last && !w->find->late; i++) {
		struct frames_target *t = &w->find->targets[i];

		if (t->state != FRAMES_NOTHING)
			continue;
		resolve(w, t, die);
		if (t->unit == w->unit && t->state != FRAMES_NOTHING)
			w->n_wanted--;
	}
}

static void walk_scope(struct walk *w, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;

	if (depth >= MAX_NESTING || dwarf_child(parent, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram)
			each_range(w, &die, take_range);
		if (tag == DW_TAG_namespace || tag == DW_TAG_module ||
		    (w->deep && (tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block ||
				 tag == DW_TAG_inlined_subroutine || tag == DW_TAG_class_type ||
				 tag == DW_TAG_structure_type || tag == DW_TAG_union_type)))
			walk_scope(w, &die, depth + 1);
	} while (w->n_wanted && !frames_find__late(w->find) && dwarf_siblingof(&die, &die) == 0);
}

/* --- units --- */

/* What lies in no function still has a line: assembler, and functions of -gmlt's lesser kin. */
static void take_lines(struct walk *w)
{
	for (uint32_t i = 0; i < w->find->n; i++) {
		struct frames_target *t = &w->find->targets[i];
		const char *file;
		uint32_t line;

		if (t->state != FRAMES_NOTHING || t->unit != w->unit)
			continue;
		line_place(w, t->address, &file, &line);
		if (!file)
			continue;
		frames_find__begin(w->find, t);
		frames_find__add(w->find, t, &(struct frame){ .file = file, .line = line });
		frames_find__done(w->find, t);
	}
}

static void walk_unit(struct walk *w, Dwarf_Die *scope)
{
	w->deep = false;
	walk_scope(w, scope, 0);
	if (w->n_wanted && !w->find->late) {
		w->deep = true;
		walk_scope(w, scope, 0);
	}
	if (w->n_wanted && !w->find->late)
		take_lines(w);
}

/* The entry whose children are the unit's functions: of a skeleton, that of the split unit. */
static bool scope_of(Dwarf_Die *cu, uint8_t type, Dwarf_Die *ret)
{
	if (type == DW_UT_skeleton) {
		*ret = (Dwarf_Die){ 0 };
		return dwarf_cu_info(cu->cu, NULL, NULL, NULL, ret, NULL, NULL, NULL) == 0 && ret->cu;
	}
	*ret = *cu;
	return true;
}

/* A skeleton whose split unit is in the package: false when it is not. */
static bool walk_packaged(struct walk *w)
{
	struct frames_unit unit = { 0 };
	Dwarf_Addr low = 0;
	uint64_t id = 0;
	bool found;

	if (!w->package || dwarf_cu_info(w->cu.cu, NULL, NULL, NULL, NULL, &id, NULL, NULL))
		return false;
	dwarf_lowpc(&w->cu, &low);
	found = frames_package__unit(w->package, w->elf, &w->cu, id, low, &unit);
	if (found) {
		w->bias = low;
		walk_unit(w, &unit.die);
		w->bias = 0;
	}
	frames_unit__fini(&unit);
	return found;
}

/* Units that tell their range, or those that do not. */
static void walk_units(struct walk *w, bool with_ranges)
{
	Dwarf_CU *cu = NULL;
	uint8_t type;

	w->unit = 0;
	while (w->find->n_done < w->find->n && !frames_find__late(w->find) &&
	       dwarf_get_units(w->dwarf, cu, &cu, NULL, &type, &w->cu, NULL) == 0) {
		Dwarf_Die scope;

		w->unit++;
		w->n_wanted = 0;
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		if (each_range(w, &w->cu, claim) != with_ranges)
			continue;
		if (!with_ranges)
			claim(w, &w->cu, 0, UINT64_MAX);
		if (w->n_wanted == 0)
			continue;
		if (type == DW_UT_skeleton && walk_packaged(w))
			continue;
		if (scope_of(&w->cu, type, &scope))
			walk_unit(w, &scope);
		else
			take_lines(w);
	}
}

static int read_code(struct walk *w, Elf *elf)
{
	size_t n = 0;

	if (elf_getphdrnum(elf, &n))
		return 0;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr p;

		if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_LOAD || !(p.p_flags & PF_X))
			continue;
		struct segment s = { p.p_vaddr, p.p_vaddr + p.p_memsz };
		if (!vec__push(&w->code, s))
			return -ENOMEM;
	}
	return 0;
}

/* The file's DWARF, whose texts end; NULL: it has none that can be read. */
static Dwarf *begin(struct walk *w, struct elf_open *file)
{
	Dwarf *dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);

	if (dwarf && elf_open__end_texts(file)) {
		dwarf_end(dwarf);
		return NULL;
	}
	w->files[w->n_files++] = file;
	return dwarf;
}

static enum frames_state state_of(int rc)
{
	return rc == -EFBIG || rc == -ENOMEM ? FRAMES_TOO_LARGE : FRAMES_DAMAGED;
}

void frames_dwarf__find(struct frames_find *f, int fd, int alt_fd, int package_fd)
{
	struct elf_open file, alt_file = { 0 };
	struct frames_package package = { 0 };
	struct walk w = { .find = f };
	Dwarf *alt = NULL;
	int rc = elf_open__begin(&file, fd, f->map, f->max_bytes);

	if (!rc && file.has_info) {
		rc = read_code(&w, file.elf);
		w.elf = file.elf;
		w.dwarf = rc ? NULL : begin(&w, &file);
		if (!rc && !w.dwarf)
			rc = -ENOEXEC;
	}
	if (w.dwarf && alt_fd >= 0 && elf_open__begin(&alt_file, alt_fd, f->map, f->max_bytes) == 0)
		alt = begin(&w, &alt_file);
	if (w.dwarf && package_fd >= 0 &&
	    frames_package__open(&package, package_fd, f->map, f->max_bytes)) {
		w.package = &package;
		w.files[w.n_files++] = &package.file;
	}
	for (uint32_t i = 0; i < f->n; i++)
		f->targets[i].unit = 0;
	if (w.dwarf) {
		if (alt)
			dwarf_setalt(w.dwarf, alt);
		walk_units(&w, true);
		walk_units(&w, false);
		dwarf_end(w.dwarf);
	}
	dwarf_end(alt);
	frames_package__fini(&package);
	elf_open__fini(&alt_file);
	elf_open__fini(&file);
	vec__fini(&w.code);
	if (rc)
		frames_find__rest(f, state_of(rc));
}
