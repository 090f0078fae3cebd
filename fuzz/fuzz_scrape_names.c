/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_scrape_names.c - what a program answers at /pprof/symbol: any bytes
 *
 * Two addresses of each line's beginning are asked for, and one more. What is said of an address lies within the answer,
 * and how many there are is what finding each tells.
 */
#include <stdlib.h>
#include <string.h>

#include "plugins/input/pprof_scrape/names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Addresses as strtoull reads them, which stands at no other place here. */
static void ask(struct names *n, const char *text, size_t size)
{
	const char *line = text;

	names__of(n, 0x401136);
	for (size_t i = 0; i < size; i++) {
		if (text[i] != '\n')
			continue;
		names__of(n, strtoull(line, NULL, 16));
		names__of(n, strtoull(line, NULL, 16) + 1);
		line = text + i + 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct names n = { 0 };
	struct buf question = { 0 };
	char *text = malloc(size + 1);
	int64_t named, found = 0;

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	ask(&n, text, size);
	if (names__question(&n, &question) == 0) {
		named = names__answer(&n, (struct dcm_str){ text, (uint32_t)size });
		for (size_t i = 0; i < n.said.n; i++) {
			struct dcm_str said = names__of(&n, n.addresses.v[i]);

			if (said.n && (said.p < text || said.p + said.n > text + size))
				abort();
			found += said.n > 0;
		}
		if (named >= 0 && named != found)
			abort();
	}
	buf__fini(&question);
	names__fini(&n);
	free(text);
	return 0;
}
