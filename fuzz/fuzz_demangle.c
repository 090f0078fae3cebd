/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_demangle.c - symbol names of anybody, into rooms of every size
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/symbolize/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dcm_str raw = { (const char *)data, (uint32_t)size };
	char out[DEMANGLE_MAX_OUTPUT];
	size_t cap = size ? (size_t)data[size - 1] * 16 + 1 : 1;
	uint32_t n = demangle__name(raw, out, cap);

	if (n >= cap || out[n] != '\0' || !str__is_utf8((struct dcm_str){ out, n }))
		abort();
	return 0;
}
