/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/locate.h - addresses of a window become locations of a batch
 *
 * What an address means depends on the image that ran: locate__prepare() looks at every stack once
 * and asks for the names of JIT code, a process at a time; locate__stack() then turns stacks into
 * lists of locations. Belongs to one flush and its thread.
 */
#ifndef DECIMA_EBPF_LOCATE_H
#define DECIMA_EBPF_LOCATE_H

#include <decima/plugin.h>

#include "core/base/hash.h"
#include "core/base/vec.h"
#include "plugins/input/ebpf/aggregate.h"
#include "plugins/input/ebpf/files.h"
#include "plugins/input/ebpf/ksymbols.h"

/* Most locations of one stack: its frames and two notes. */
enum { LOCATE_STACK = SAMPLER_FRAMES + 2 };

struct locate_entry {
	uint64_t space; /* what the address counts in: the kernel, a file, a process */
	uint64_t address;
	uint32_t location;
	uint8_t unnamed; /* enum dcm_unnamed; _NOT_TRIED: named, or somebody can do it later */
};

struct locate {
	const struct dcm_host *host;
	struct files *files;
	struct ksymbols *symbols; /* asked before the host for the kernel's; NULL, as at first: not */
	const struct aggregate *window;
	struct dcm_builder *builder;
	int kallsyms_error; /* why the kernel's symbols are not to be had, or 0: see kernel_symbol() */
	struct hindex index;
	VEC(struct locate_entry) entries;
	uint32_t *processes; /* [images]: the builder's ids; DCM_NONE: not added yet */
	int error;	     /* 0 or -ENOMEM: answers are worthless then */
};

/* What a stack came out as. */
struct locate_stack {
	uint32_t locations[LOCATE_STACK];
	uint32_t n;
	const char *truncated; /* why it does not reach its root, or NULL */
	uint32_t unnamed;      /* bit (1 << enum dcm_unnamed) for each reason met */
};

int locate__init(struct locate *l, const struct dcm_host *host, struct files *files,
		 const struct aggregate *window, struct dcm_builder *builder);
void locate__fini(struct locate *l);

void locate__prepare(struct locate *l);
void locate__stack(struct locate *l, uint32_t stack, struct locate_stack *ret);

/* A location that is a text and no code. */
uint32_t locate__note(struct dcm_builder *b, const struct dcm_host *host, const char *text);

/* "stripped", "no build id", ...: for people. */
const char *locate__unnamed_text(enum dcm_unnamed why);

#endif
