/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_kallsyms.c - texts that claim to be /proc/kallsyms and /proc/modules
 *
 * The input is both texts, the second behind the first line that begins with '%'.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "tests/unit/kallsyms_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *split = size ? memmem(data, size, "\n%", 2) : NULL;
	struct dcm_str text = { (const char *)data,
				(uint32_t)(split ? split + 1 - data : (ptrdiff_t)size) };
	struct dcm_str modules = STR("");
	struct kallsyms *t = NULL;

	if (split)
		modules = (struct dcm_str){ (const char *)split + 2, (uint32_t)(size - text.n - 1) };
	if (kallsyms_text__read(text, modules, &t, NULL))
		return 0;
	if (kallsyms__bytes(t) > (1u << 20) + 64 * size)
		abort();
	for (unsigned shift = 0; shift < 64; shift++) {
		for (uint64_t low = 0; low < 3; low++) {
			struct kallsyms_symbol s;
			uint64_t address = (1ull << shift) + low - 1;

			if (kallsyms__find(t, address, &s) == 0 && (s.start > address || s.name.n == 0))
				abort();
		}
	}
	kallsyms__free(t);
	return 0;
}
