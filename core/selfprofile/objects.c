/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/selfprofile/objects.c - which file of this process an address of code lies in
 *
 * What the dynamic linker says, and the notes in memory: no file is read, which might be another one by now.
 */
#include "core/selfprofile/objects.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "core/base/str.h"

/* A build id is 20 bytes; whoever wrote more of it wrote something else. */
enum { BUILD_ID_MAX = 64 };

static struct dcm_str hex(struct arena *a, const uint8_t *bytes, uint32_t n)
{
	char text[2 * BUILD_ID_MAX + 1];

	for (uint32_t i = 0; i < n; i++) {
		text[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
		text[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
	}
	return arena__str(a, (struct dcm_str){ text, 2 * n });
}

/* In the notes of one segment, which are padded to its alignment. */
static struct dcm_str build_id_in(struct arena *a, const uint8_t *notes, size_t n, size_t align)
{
	size_t pad = align == 8 ? 8 : 4;

	for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= n;) {
		ElfW(Nhdr) head;
		size_t name, desc;

		memcpy(&head, notes + at, sizeof(head));
		name = at + sizeof(head);
		desc = name + ((head.n_namesz + pad - 1) & ~(pad - 1));
		if (desc > n || head.n_descsz > n - desc)
			break;
		if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 &&
		    memcmp(notes + name, "GNU", 4) == 0 && head.n_descsz <= BUILD_ID_MAX)
			return hex(a, notes + desc, head.n_descsz);
		at = desc + ((head.n_descsz + pad - 1) & ~(pad - 1));
	}
	return STR("");
}

static struct dcm_str build_id_of(struct arena *a, const struct dl_phdr_info *info)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		struct dcm_str id;

		if (p->p_type != PT_NOTE)
			continue;
		id = build_id_in(a, (const uint8_t *)(info->dlpi_addr + p->p_vaddr), p->p_memsz,
				 p->p_align);
		if (id.n || !id.p)
			return id;
	}
	return STR("");
}

/* The program itself has no name here. */
static struct dcm_str path_of(struct arena *a, const struct dl_phdr_info *info, bool is_first)
{
	char path[PATH_MAX];
	ssize_t n;

	if (info->dlpi_name && info->dlpi_name[0])
		return arena__str(a, str__of(info->dlpi_name));
	n = is_first ? readlink("/proc/self/exe", path, sizeof(path)) : 0;
	return n > 0 ? arena__str(a, (struct dcm_str){ path, (uint32_t)n }) : STR("");
}

static int add(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct objects *o = ctx;
	struct object new = { .base = info->dlpi_addr };

	(void)size;
	new.path = path_of(&o->arena, info, o->v.n == 0);
	new.build_id = build_id_of(&o->arena, info);
	if (!new.path.p || !new.build_id.p)
		return -ENOMEM;
	new.is_vdso = str__starts(new.path, STR("linux-vdso"));
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		new.start = info->dlpi_addr + p->p_vaddr;
		new.limit = new.start + p->p_memsz;
		new.offset = p->p_offset;
		if (!vec__push(&o->v, new))
			return -ENOMEM;
	}
	return 0;
}

int objects__load(struct objects *o)
{
	*o = (struct objects){ 0 };
	return dl_iterate_phdr(add, o);
}

void objects__fini(struct objects *o)
{
	vec__fini(&o->v);
	arena__fini(&o->arena);
}

uint32_t objects__find(const struct objects *o, uint64_t pc)
{
	for (size_t i = 0; i < o->v.n; i++)
		if (pc >= o->v.v[i].start && pc < o->v.v[i].limit)
			return (uint32_t)i;
	return DCM_NONE;
}
