/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_unwind.c - ELF files of anybody: unwind tables
 *
 * The input is an ELF file; or else its first byte chooses a processor and a section, and the rest
 * is that section in an ELF file made here. Whatever it says, the table is sound: rows ascend and
 * end with none, rules are in the dictionary, and looking up finds the row that covers. The work for
 * a section is within WORK_PER_BYTE of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "plugins/input/ebpf/unwind/rows.h"
#include "tests/unwind/elf_maker.h"

/* A CIE of 4 KiB for each description of some 20 bytes, each byte of it 8, twice where rbx is wanted. */
enum { WORK = 1 << 20, WORK_PER_BYTE = 8192, MOST_WORK = 256 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct unwind_rows *r)
{
	if (!r->n || !r->n_rules || r->rule[r->n - 1] != 0 || r->rules[0].cfa != UNWIND_CFA_NONE)
		abort();
	for (uint32_t i = 0; i < r->n; i++) {
		if (r->rule[i] >= r->n_rules)
			abort();
		if (i && (r->at[i] <= r->at[i - 1] || r->rule[i] == r->rule[i - 1]))
			abort();
		if (i + 1 < r->n && unwind_rows__find(r, r->base + r->at[i]) != (int64_t)i)
			abort();
	}
	if (unwind_rows__find(r, r->base + r->at[r->n - 1]) != -1 ||
	    unwind_rows__find(r, r->base - 1) != -1)
		abort();
	if (r->covered_bytes > r->code_bytes)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const sections[] = { ".eh_frame", ".debug_frame", ".gopclntab", ".plt" };
	struct unwind_limits limits = { .max_bytes = 64 << 20, .max_fdes = 1 << 16, .max_rows = 1 << 18 };
	struct buf image = { 0 };
	struct unwind_source source = { .read = elf_maker__read, .arg = &image };
	struct unwind_rows *r = NULL;
	bool is_bound;
	int rc;

	if (size > 4 && !memcmp(data, "\177ELF", 4)) {
		buf__append(&image, data, size);
	} else if (size) {
		struct elf_maker m = { .machine = data[0] & 1 ? EM_AARCH64 : EM_X86_64,
				       .section = sections[data[0] >> 1 & 3],
				       .data = data + 1,
				       .n = size - 1 };

		elf_maker__make(&m, &image);
	}
	source.size = image.n;
	/* What a section inflates to is not the input's, and headers may name all of it many times. */
	is_bound = size && data[0] != 0x7f;
	limits.max_work = is_bound ? WORK + WORK_PER_BYTE * size : MOST_WORK;
	rc = image.error ? -ENOMEM : unwind__compile(&source, &limits, &r, NULL);
	if (rc == -ETIME && is_bound)
		abort();
	if (rc == 0)
		check(r);
	unwind_rows__free(r);
	buf__fini(&image);
	return 0;
}
