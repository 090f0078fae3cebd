/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/kernel.c - which kernel, and which modules, the kernel's frames are of
 *
 * Sources: elf(5) for notes; Documentation/ABI/testing/sysfs-kernel-notes and sysfs-module.
 */
#include "plugins/input/ebpf/kernel.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/fd.h"
#include "core/base/str.h"

enum { BUILD_ID_BYTES_MAX = 64, NOTES_BYTES_MAX = 64 * 1024 };

static size_t padded(uint32_t n)
{
	return ((size_t)n + 3) & ~(size_t)3;
}

static void hex(const uint8_t *p, size_t n, char *ret)
{
	for (size_t i = 0; i < n; i++)
		snprintf(ret + 2 * i, 3, "%02x", p[i]);
}

static void find_build_id(const uint8_t *p, size_t n, char ret_hex[static 129])
{
	while (n >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr h; /* the same in 32-bit files */
		size_t size;

		memcpy(&h, p, sizeof(h));
		size = sizeof(h) + padded(h.n_namesz) + padded(h.n_descsz);
		if (size > n)
			return;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 &&
		    memcmp(p + sizeof(h), "GNU", 4) == 0 && h.n_descsz <= BUILD_ID_BYTES_MAX) {
			hex(p + sizeof(h) + 4, h.n_descsz, ret_hex);
			return;
		}
		p += size;
		n -= size;
	}
}

/* The GNU build id in a file of ELF notes; "" when there is none. */
static void read_notes(const char *path, char ret_hex[static 129])
{
	struct buf notes = { 0 };

	ret_hex[0] = 0;
	if (fd__read_path(AT_FDCWD, path, NOTES_BYTES_MAX, &notes) == 0)
		find_build_id(notes.data, notes.n, ret_hex);
	buf__fini(&notes);
}

void kernel__build_id(struct dcm_str module, char ret_hex[static 129])
{
	char path[128];

	if (module.n == 0) {
		read_notes("/sys/kernel/notes", ret_hex);
		return;
	}
	ret_hex[0] = 0;
	if (module.n > 64 || memchr(module.p, '/', module.n))
		return;
	snprintf(path, sizeof(path), "/sys/module/%.*s/notes/.note.gnu.build-id", STR_ARG(module));
	read_notes(path, ret_hex);
}
