/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_store_manifest.c - manifests of the local store that anybody wrote
 *
 * The input is the file, and once more one copy of the content whose length and check are put
 * right. What is read can be written, and read again, and is the same; and its first copy is
 * enough.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/le.h"
#include "plugins/storage/local/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD_BYTES = 88, PAGE = 4096 };
#define CHECK_SEED 0x646563696d616d66u

static void check(const uint8_t *p, size_t n)
{
	struct manifest m = { .generation = 0 }, again = { .generation = 0 };
	struct buf b = { .n = 0 }, c = { .n = 0 };
	bool damaged;
	int rc = manifest__decode(&m, p, n, &damaged, NULL);

	if (rc == -EUCLEAN || rc == -EPROTONOSUPPORT)
		return;
	if (rc)
		abort();
	for (size_t i = 0; i < m.blocks.n; i++)
		if (manifest__find(&m, m.blocks.v[i].number) != (ptrdiff_t)i)
			abort();
	manifest__encode(&m, &b);
	if (b.error || manifest__decode(&again, b.data, b.n, &damaged, NULL) || damaged)
		abort();
	manifest__encode(&again, &c);
	if (c.error || b.n != c.n || memcmp(b.data, c.data, b.n) != 0)
		abort();
	b.data[b.n / 2 + 20] ^= 1;
	manifest__fini(&again);
	memset(&again, 0, sizeof(again));
	if (manifest__decode(&again, b.data, b.n, &damaged, NULL) || !damaged)
		abort();
	manifest__fini(&m);
	manifest__fini(&again);
	buf__fini(&b);
	buf__fini(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t half = (size + PAGE - 1) / PAGE * PAGE;
	uint8_t *file;

	check(data, size);
	if (size < HEAD_BYTES || size > 1 << 20)
		return 0;
	file = calloc(2, half);
	if (!file)
		return 0;
	memcpy(file, data, size);
	memcpy(file, "DCMMANI\n", 8);
	le__put64(file + 16, size);
	le__put64(file + 80, hash__bytes(file + HEAD_BYTES, size - HEAD_BYTES,
					 hash__bytes(file, 80, CHECK_SEED)));
	memcpy(file + half, file, half);
	check(file, 2 * half);
	free(file);
	return 0;
}
