/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_elf.c - ELF files of anybody: symbols, build id, segments, minidebuginfo
 *
 * The input is the file. Whatever it says, ranges are answered within it, names end, and memory
 * stays within the limits.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/symbolize/demangle.h"
#include "core/symbolize/elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct elf_symbols *t, uint64_t address)
{
	char human[256];
	struct dcm_str name;
	uint64_t vaddr;

	if (elf__to_vaddr(t, address, &vaddr) == 0 && elf__find(t, vaddr, &name) == 0)
		demangle__name(name, human, sizeof(human));
	if (elf__find(t, address, &name) == 0 && strnlen(name.p, name.n + 1u) != name.n)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_limits limits = { .max_bytes = 8 << 20, .max_symbols = 1 << 16 };
	struct elf_symbols *t = NULL;
	char hex[ELF_BUILD_ID_TEXT];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || fd__write_all(fd, data, size))
		abort();
	if (elf__build_id(fd, hex) == 0 && (strlen(hex) < 2 || strlen(hex) % 2))
		abort();
	if (elf__load(fd, -1, &limits, &t, NULL) == 0) {
		if (elf__bytes(t) > (64u << 20))
			abort();
		for (uint64_t i = 0; i < 64; i++)
			ask(t, i * 0x40);
		for (size_t i = 0; i + 8 <= size && i < 4096; i += 8) {
			uint64_t address;

			memcpy(&address, data + i, sizeof(address));
			ask(t, address);
		}
		elf__free(t);
	}
	close(fd);
	return 0;
}
