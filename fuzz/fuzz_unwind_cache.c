/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_unwind_cache.c - unwind tables on disk, of anybody's bytes
 *
 * The input is tried as it is, and once more between a head and a checksum that fit. What is taken
 * is as sound as a compiled table, and comes back byte for byte when it is written again.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "plugins/input/ebpf/unwind/cache.h"
#include "plugins/input/ebpf/unwind/cache_file.h"
#include "plugins/input/ebpf/unwind/version.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct unwind_rows *r)
{
	if (!r->n || r->rule[r->n - 1] != 0 || r->rules[0].cfa != UNWIND_CFA_NONE)
		abort();
	for (uint32_t i = 0; i < r->n; i++) {
		if (r->rule[i] >= r->n_rules || (i && r->at[i] <= r->at[i - 1]))
			abort();
		if (i + 1 < r->n && r->base <= UINT64_MAX - r->at[i] &&
		    unwind_rows__find(r, r->base + r->at[i]) != (int64_t)i)
			abort();
	}
}

static void try(const uint8_t *data, size_t size)
{
	struct unwind_rows *r = NULL;
	struct buf again = { 0 };

	if (cache_file__decode(data, size, &r) < 0)
		return;
	check(r);
	cache_file__encode(r, &again);
	if (again.error || again.n < size || memcmp(again.data, data, size) != 0)
		abort();
	buf__fini(&again);
	unwind_rows__free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf file = { 0 };

	try(data, size);
	buf__text(&file, "DCMUNWND");
	buf__le32(&file, CACHE_VERSION);
	buf__le32(&file, UNWIND_SOURCES);
	buf__append(&file, data, size);
	if (!file.error)
		buf__le64(&file, hash__bytes(file.data, file.n, 0));
	if (!file.error)
		try(file.data, file.n);
	buf__fini(&file);
	return 0;
}
