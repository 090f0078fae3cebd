/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/selfprofile/objects.h - which file of this process an address of code lies in
 */
#ifndef DECIMA_SELFPROFILE_OBJECTS_H
#define DECIMA_SELFPROFILE_OBJECTS_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/arena.h"
#include "core/base/vec.h"

/* One executable segment of the program, a library, a plugin or the vDSO. */
struct object {
	uint64_t start, limit, offset; /* of the segment: addresses, and where it is in the file */
	uint64_t base;		       /* taken from an address it is the file's own (p_vaddr) */
	struct dcm_str path, build_id; /* build id in lower-case hex, "" for none */
	bool is_vdso;
};

struct objects {
	struct arena arena;
	VEC(struct object) v;
};

/* What is loaded now. 0 or -ENOMEM; objects__fini() in any case. Any thread. */
int objects__load(struct objects *o);
void objects__fini(struct objects *o);
/* Its index, or DCM_NONE. */
uint32_t objects__find(const struct objects *o, uint64_t pc);

#endif
