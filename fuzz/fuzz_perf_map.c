/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_perf_map.c - perf maps of anybody
 *
 * The input is the file, fed in pieces whose size its first byte gives. Ranges must come out in
 * order and apart, every line must be counted, and memory must stay within the bound.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "plugins/input/perf_map/map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct map *m)
{
	for (uint32_t i = 0; i < m->young.n_levels; i++) {
		const struct map_level *l = &m->young.levels[i];

		for (uint32_t k = 0; k < l->n; k++) {
			struct dcm_str name;
			uint64_t start;

			if (l->v[k].bytes == 0 ||
			    (k && l->v[k].start - l->v[k - 1].start < l->v[k - 1].bytes))
				abort();
			if (!map__find(m, l->v[k].start, &name, &start) || !str__is_utf8(name))
				abort();
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t piece = size ? (size_t)data[0] * 3 + 1 : 1, at = 0, have = 0, used;
	uint64_t n_lines = 0;
	struct map m;

	map__init(&m, 64 << 10);
	while (at < size) {
		have = have + piece < size - at ? have + piece : size - at;
		if (map__feed(&m, (const char *)data + at, have, &used) || map__settle(&m))
			abort();
		if (map__bytes(&m) > (4u << 20))
			abort();
		check(&m);
		if (at + have == size && used == 0)
			break;
		at += used;
		have -= used;
	}
	for (size_t i = 0; i < at; i++)
		n_lines += data[i] == '\n';
	if (m.n_lines < n_lines || m.n_skipped > m.n_lines)
		abort();
	map__fini(&m);
	return 0;
}
