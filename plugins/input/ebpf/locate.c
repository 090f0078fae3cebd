/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/locate.c - addresses of a window become locations of a batch
 *
 * A caller's address is its return address minus one, so that it lies in the call even when the
 * call is the last instruction of its function; the leaf's is the instruction's own.
 */
#include "plugins/input/ebpf/locate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/input/ebpf/kernel.h"
#include "plugins/input/ebpf/maps.h"

#define SPACE_KERNEL                                                                               \
	1ull /* other spaces are addresses of objects, or an image's number with a bit */
#define SPACE_IMAGE (1ull << 63)

/* What lies at a user address. */
enum where {
	WHERE_FILE,    /* in a file with an identity */
	WHERE_LOST,    /* in a file that could not be opened */
	WHERE_RUNTIME, /* in memory: JIT code */
	WHERE_UNKNOWN, /* nobody knows the mappings */
	WHERE_NOWHERE, /* certainly not in code */
};
struct place {
	enum where where;
	const struct maps_range *range;
	struct file *file; /* of WHERE_FILE and WHERE_LOST; the range's, which may have another soon */
	uint64_t address;
	enum dcm_unnamed why;
};

int locate__init(struct locate *l, const struct dcm_host *host, struct files *files,
		 const struct aggregate *window, struct dcm_builder *builder)
{
	*l = (struct locate){ .host = host, .files = files, .window = window, .builder = builder };
	l->processes = mem__zalloc(window->images.n, sizeof(*l->processes));
	if (!l->processes)
		return -ENOMEM;
	memset(l->processes, 0xff, window->images.n * sizeof(*l->processes));
	return 0;
}

void locate__fini(struct locate *l)
{
	hindex__fini(&l->index);
	vec__fini(&l->entries);
	free(l->processes);
	l->processes = NULL;
}

const char *locate__unnamed_text(enum dcm_unnamed why)
{
	static const char *const texts[DCM_UNNAMED_N] = {
		[DCM_UNNAMED_NOT_TRIED] = "not tried",
		[DCM_UNNAMED_STRIPPED] = "no symbol there",
		[DCM_UNNAMED_NO_BUILD_ID] = "file without build id is gone",
		[DCM_UNNAMED_FILE_GONE] = "process or file ended before it could be read",
		[DCM_UNNAMED_NO_PERMISSION] = "not readable by Decima",
		[DCM_UNNAMED_BAD_FILE] = "not an ELF file",
		[DCM_UNNAMED_JIT_NO_MAP] = "JIT code without a perf map",
		[DCM_UNNAMED_JIT_NOT_IN_MAP] = "JIT code that the perf map does not list",
		[DCM_UNNAMED_JIT_MAP_CUT] = "JIT code, and only the end of the perf map is read",
		[DCM_UNNAMED_KALLSYMS] = "kernel symbols are hidden",
		[DCM_UNNAMED_NOT_HERE] = "file not known here",
		[DCM_UNNAMED_NOT_ANSWERED] = "file not opened in time",
	};

	return why < DCM_UNNAMED_N && texts[why] ? texts[why] : "unknown";
}

/* ------------------------------------------------------------------------------------------------
 * Locations, each made once
 */

static struct locate_entry *find(struct locate *l, uint64_t space, uint64_t address)
{
	uint64_t h = hash__mix(hash__mix(0, space), address);
	uint32_t row, at;

	for (at = hindex__first(&l->index, h, &row); row != HINDEX_NONE;
	     at = hindex__next(&l->index, h, at, &row))
		if (l->entries.v[row].space == space && l->entries.v[row].address == address)
			return &l->entries.v[row];
	return NULL;
}

/* A new entry, or NULL with l->error set. Valid until the next one is made. */
static struct locate_entry *add(struct locate *l, uint64_t space, uint64_t address)
{
	struct locate_entry e = { .space = space, .address = address, .location = DCM_NONE };
	uint64_t h = hash__mix(hash__mix(0, space), address);

	if (!vec__push(&l->entries, e) || hindex__insert(&l->index, h, (uint32_t)(l->entries.n - 1)) < 0) {
		l->error = -ENOMEM;
		return NULL;
	}
	return &l->entries.v[l->entries.n - 1];
}

static uint32_t add_string(struct locate *l, struct dcm_str s)
{
	return l->host->add_string(l->builder, s);
}

static struct dcm_line line_of(struct locate *l, struct dcm_str name, struct dcm_str system_name,
			       struct dcm_str file, int64_t line)
{
	struct dcm_function fn = {
		.name = add_string(l, name),
		.system_name = add_string(l, system_name),
		.file = add_string(l, file),
	};

	return (struct dcm_line){ .function = l->host->add_function(l->builder, &fn), .line = line };
}

uint32_t locate__note(struct dcm_builder *b, const struct dcm_host *host, const char *text)
{
	struct dcm_function fn = { .name = host->add_string(b, str__of(text)) };
	struct dcm_line line = { .function = host->add_function(b, &fn) };
	struct dcm_location note = {
		.mapping = DCM_NONE,
		.process = DCM_NONE,
		.addr_kind = DCM_ADDR_NONE,
		.kind = DCM_FRAME_NOTE,
	};

	return host->add_location(b, &note, &line, 1);
}

static uint32_t kernel_mapping(struct locate *l, struct dcm_str module)
{
	char build_id[129], name[80];
	struct dcm_mapping m = { .kind = module.n ? DCM_MAPPING_MODULE : DCM_MAPPING_KERNEL };

	kernel__build_id(module, build_id);
	snprintf(name, sizeof(name), "[%.*s]", module.n ? (int)module.n : 6,
		 module.n ? module.p : "kernel");
	m.file = add_string(l, str__of(name));
	m.build_id = add_string(l, str__of(build_id));
	return l->host->add_mapping(l->builder, &m);
}

/* One mapping per module; their addresses are kept in the same table, in a space of their own. */
static uint32_t kernel_mapping_once(struct locate *l, struct dcm_str module)
{
	uint64_t key = hash__bytes(module.p, module.n, 0);
	struct locate_entry *e = find(l, 0, key);

	if (!e) {
		uint32_t id = kernel_mapping(l, module);

		e = add(l, 0, key);
		if (!e)
			return DCM_NONE;
		e->location = id;
	}
	return e->location;
}

/* What the kernel has told of an address counts more than a list that was read some time ago. */
static int kernel_symbol(struct locate *l, uint64_t address, char room[static KSYMBOLS_NAME],
			 struct dcm_str *ret_name, struct dcm_str *ret_module)
{
	if (!ksymbols__find(l->symbols, address, l->window->start_mono_ns, room))
		return l->host->kernel_symbol(l->host, address, ret_name, ret_module);
	*ret_name = str__of(room);
	*ret_module = STR("bpf");
	return 0;
}

static const struct locate_entry *kernel_frame(struct locate *l, uint64_t address)
{
	struct dcm_str name = STR(""), module = STR("");
	struct dcm_location loc = {
		.process = DCM_NONE,
		.address = address,
		.addr_kind = DCM_ADDR_VADDR,
		.kind = DCM_FRAME_KERNEL,
	};
	struct locate_entry *e = find(l, SPACE_KERNEL, address);
	char room[KSYMBOLS_NAME];
	struct dcm_line line;
	uint32_t id;
	int r;

	if (e)
		return e;
	r = kernel_symbol(l, address, room, &name, &module);
	if (r < 0) {
		bool has_list = r == -ENOENT || r == -ENOMEM || r == -ENOSYS;

		l->kallsyms_error = has_list ? l->kallsyms_error : r;
		loc.unnamed = has_list ? DCM_UNNAMED_STRIPPED : DCM_UNNAMED_KALLSYMS;
		loc.mapping = kernel_mapping_once(l, STR(""));
		id = l->host->add_location(l->builder, &loc, NULL, 0);
	} else {
		loc.mapping = kernel_mapping_once(l, module);
		line = line_of(l, name, STR(""), STR(""), 0);
		id = l->host->add_location(l->builder, &loc, &line, 1);
	}
	e = add(l, SPACE_KERNEL, address);
	if (e) {
		e->location = id;
		e->unnamed = loc.unnamed;
	}
	return e;
}

/* ------------------------------------------------------------------------------------------------
 * User frames
 */

static struct place place_of(const struct locate *l, const struct aggregate_stack *s, uint32_t i)
{
	const struct aggregate_image *image = &l->window->images.v[s->image];
	uint64_t pc = s->frames[s->n_kernel + i] - (i > 0);
	struct place p = { .where = WHERE_UNKNOWN, .address = pc, .why = image->why };

	if (!image->maps)
		return p;
	if (maps__is_wrong(image->maps)) {
		p.why = DCM_UNNAMED_FILE_GONE;
		return p;
	}
	p.range = maps__find(image->maps, pc);
	if (!p.range) {
		p.where = s->maps_certain && i > 0 ? WHERE_NOWHERE : WHERE_RUNTIME;
		return p;
	}
	p.file = maps_range__file(p.range);
	if (!p.file || p.file->why == DCM_UNNAMED_BAD_FILE) {
		p.where = WHERE_RUNTIME;
	} else {
		p.where = p.file->is_code ? WHERE_FILE : WHERE_LOST;
		p.address = pc - p.range->start + p.range->offset;
		p.why = p.file->why;
	}
	return p;
}

static uint32_t process_of(struct locate *l, uint32_t image)
{
	if (l->processes[image] == DCM_NONE)
		l->processes[image] = l->host->add_process(l->builder,
							   &l->window->images.v[image].process);
	return l->processes[image];
}

static const struct locate_entry *file_frame(struct locate *l, const struct place *p)
{
	struct file *file = p->file;
	/* A file that could not be opened has no identity but the mapping. */
	const void *object = p->where == WHERE_FILE ? (const void *)file : p->range;
	struct locate_entry *e = find(l, (uint64_t)(uintptr_t)object, p->address);
	struct dcm_mapping m = { .kind = p->range->kind };
	struct dcm_location loc = {
		.process = DCM_NONE,
		.address = p->address,
		.addr_kind = DCM_ADDR_FILE_OFFSET,
		.kind = DCM_FRAME_NATIVE,
		.unnamed = (uint8_t)p->why,
	};

	if (e)
		return e;
	files__offer(l->files, file);
	/*
	 * start, limit and offset stay 0: they differ from process to process, and the address does
	 * not count in them.
	 */
	m.file = add_string(l, p->where == WHERE_FILE ? str__of(file->path) : p->range->name);
	m.build_id = add_string(l, str__of(file->build_id));
	loc.mapping = l->host->add_mapping(l->builder, &m);
	e = add(l, (uint64_t)(uintptr_t)object, p->address);
	if (e) {
		e->location = l->host->add_location(l->builder, &loc, NULL, 0);
		e->unnamed = loc.unnamed;
	}
	return e;
}

/* The location of a runtime address; `lines` as many as there are names. */
static void runtime_location(struct locate *l, uint32_t image, const struct place *p,
			     const struct dcm_line *line, enum dcm_unnamed why)
{
	struct dcm_location loc = {
		.mapping = DCM_NONE,
		.process = process_of(l, image),
		.address = p->address,
		.addr_kind = DCM_ADDR_RUNTIME,
		.kind = line || p->range ? DCM_FRAME_JIT : DCM_FRAME_NATIVE,
		.unnamed = (uint8_t)(line ? DCM_UNNAMED_NOT_TRIED : why),
	};
	struct locate_entry *e;

	if (p->range) {
		struct dcm_mapping m = { .kind = DCM_MAPPING_ANON };

		m.file = add_string(l, p->range->name.n ? p->range->name : STR("[anon]"));
		loc.mapping = l->host->add_mapping(l->builder, &m);
	}
	e = add(l, SPACE_IMAGE | image, p->address);
	if (e) {
		e->location = l->host->add_location(l->builder, &loc, line, line ? 1 : 0);
		e->unnamed = loc.unnamed;
	}
}

static const struct locate_entry *user_frame(struct locate *l, const struct aggregate_stack *s,
					     const struct place *p)
{
	const struct locate_entry *e;

	if (p->where == WHERE_FILE || p->where == WHERE_LOST)
		return file_frame(l, p);
	e = find(l, SPACE_IMAGE | s->image, p->address);
	if (!e) {
		runtime_location(l, s->image, p, NULL, p->why);
		e = find(l, SPACE_IMAGE | s->image, p->address);
	}
	return e;
}

/* ------------------------------------------------------------------------------------------------
 * Names of JIT code
 */

struct runtime {
	uint32_t image;
	struct place place;
};

/* One question to the symbol sources. */
struct question {
	struct locate *l;
	const struct runtime *asked;
	bool *named;
};

static void answer(void *ctx, uint32_t i, const struct dcm_symbol *symbol)
{
	struct question *q = ctx;
	struct dcm_line line = line_of(q->l, symbol->name, symbol->system_name, symbol->file,
				       symbol->line);

	if (q->named[i])
		return;
	q->named[i] = true;
	runtime_location(q->l, q->asked[i].image, &q->asked[i].place, &line, 0);
}

/* Names [n] addresses of one image, and makes locations of those that stay unnamed too. */
static void ask(struct locate *l, const struct runtime *asked, uint32_t n)
{
	enum dcm_unnamed why = DCM_UNNAMED_JIT_NO_MAP;
	uint64_t *addresses = mem__zalloc(n, sizeof(*addresses));
	bool *named = mem__zalloc(n, sizeof(*named));
	struct question q = { .l = l, .asked = asked, .named = named };

	if (!addresses || !named) {
		l->error = -ENOMEM;
	} else {
		for (uint32_t i = 0; i < n; i++)
			addresses[i] = asked[i].place.address;
		l->host->resolve_runtime(l->host, &l->window->images.v[asked->image].process,
					 addresses, n, answer, &q, &why);
		for (uint32_t i = 0; i < n; i++)
			if (!named[i])
				runtime_location(l, asked[i].image, &asked[i].place, NULL,
						 asked[i].place.range ? why : DCM_UNNAMED_FILE_GONE);
	}
	free(addresses);
	free(named);
}

static int by_image_and_address(const void *pa, const void *pb)
{
	const struct runtime *a = pa, *b = pb;

	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	if (a->place.address != b->place.address)
		return a->place.address < b->place.address ? -1 : 1;
	return 0;
}

void locate__prepare(struct locate *l)
{
	VEC(struct runtime) all = { 0 };
	uint32_t n = 0;

	for (size_t s = 1; s < l->window->stacks.n && !l->error; s++) {
		const struct aggregate_stack *stack = &l->window->stacks.v[s];

		for (uint32_t i = 0; i < stack->n_user; i++) {
			struct runtime r = { stack->image, place_of(l, stack, i) };

			if (r.place.where == WHERE_NOWHERE)
				break;
			if (r.place.where == WHERE_RUNTIME && !vec__push(&all, r))
				l->error = -ENOMEM;
		}
	}
	if (all.n)
		qsort(all.v, all.n, sizeof(*all.v), by_image_and_address);
	for (size_t i = 0; i < all.n; i++)
		if (n == 0 || by_image_and_address(&all.v[n - 1], &all.v[i]) != 0)
			all.v[n++] = all.v[i];
	for (uint32_t from = 0, to; from < n && !l->error; from = to) {
		for (to = from + 1; to < n && all.v[to].image == all.v[from].image;)
			to++;
		ask(l, all.v + from, to - from);
	}
	vec__fini(&all);
}

/* ------------------------------------------------------------------------------------------------
 * Stacks
 */

static void push(struct locate *l, struct locate_stack *ret, const struct locate_entry *e)
{
	if (!e || l->error)
		return;
	ret->locations[ret->n++] = e->location;
	if (e->unnamed != DCM_UNNAMED_NOT_TRIED)
		ret->unnamed |= 1u << e->unnamed;
}

static void push_note(struct locate *l, struct locate_stack *ret, const char *text)
{
	char note[128];

	snprintf(note, sizeof(note), "[truncated: %s]", text);
	ret->locations[ret->n++] = locate__note(l->builder, l->host, note);
	ret->truncated = text;
}

void locate__stack(struct locate *l, uint32_t stack, struct locate_stack *ret)
{
	static const char *const outcomes[SAMPLER_OUTCOME_N] = {
#define SAMPLER_X(name, metric, note) note,
		SAMPLER_OUTCOMES(SAMPLER_X)
#undef SAMPLER_X
	};
	const struct aggregate_stack *s = &l->window->stacks.v[stack];
	const char *why = outcomes[s->outcome];

	ret->n = ret->unnamed = 0;
	ret->truncated = NULL;
	if (stack == AGGREGATE_OVERFLOW) {
		ret->locations[ret->n++] = locate__note(l->builder, l->host, "[overflow]");
		ret->truncated = "more different stacks than a window holds";
		return;
	}
	for (uint32_t i = 0; i < s->n_kernel; i++)
		push(l, ret, kernel_frame(l, s->frames[i] - (i > 0)));
	if (s->kernel_cut)
		push_note(l, ret,
			  s->n_kernel < SAMPLER_KERNEL_FRAMES
				  ? "kernel stack deeper than kernel.perf_event_max_stack"
				  : "kernel stack deeper than 127");
	/*
	 * What interrupts may strike was called by the code that enters the kernel, so one frame is
	 * no whole stack. Retpolines are such places: arch/x86/lib/retpoline.S says to the kernel's
	 * unwinder that nothing is known there (UNWIND_HINT_UNDEFINED, up to 6.18 at least).
	 */
	if (s->n_kernel == 1 && !s->kernel_cut)
		push_note(l, ret, "the kernel's unwinder ends here");
	for (uint32_t i = 0; i < s->n_user; i++) {
		struct place p = place_of(l, s, i);

		if (p.where == WHERE_NOWHERE) {
			why = outcomes[SAMPLER_OUTCOME_BAD_RA];
			break;
		}
		push(l, ret, user_frame(l, s, &p));
	}
	if (why)
		push_note(l, ret, why);
}
