/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_jitdump.c - jitdumps of anybody
 *
 * The input is the file, fed in pieces whose size its first byte gives, and once whole: both must
 * come to the same counts. Names and places are text, memory stays within the bound, and work within
 * what the file's bytes pay for.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "plugins/input/perf_map/dump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void feed(struct dump *d, struct map *names, const uint8_t *data, size_t size, size_t piece)
{
	size_t at = 0, have = 0, used;

	while (at < size) {
		have = have + piece < size - at ? have + piece : size - at;
		if (dump__feed(d, names, data + at, have, &used) || used > have)
			abort();
		if (at + have == size && used == 0)
			break;
		at += used;
		have -= used;
	}
	if (map__settle(names) || dump__settle(d))
		abort();
	if (d->work > DUMP_MAX_WORK + size * DUMP_WORK_PER_BYTE)
		abort();
	if (map__bytes(names) > (4u << 20) || dump__bytes(d) > (4u << 20) || d->n_skipped > d->n_records)
		abort();
}

static void check_texts(const struct map *m)
{
	struct map_piece piece = { .end = 0 };

	while (map__next(m, piece.end, UINT64_MAX, &piece))
		if (piece.start >= piece.end || !str__is_utf8(piece.name))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dump whole, pieces;
	struct map whole_names, pieces_names;

	dump__init(&whole, 64 << 10);
	dump__init(&pieces, 64 << 10);
	map__init(&whole_names, 64 << 10);
	map__init(&pieces_names, 64 << 10);
	feed(&whole, &whole_names, data, size, size);
	feed(&pieces, &pieces_names, data, size, size ? (size_t)data[size - 1] * 3 + 1 : 1);
	if (whole.n_records != pieces.n_records || whole.n_skipped != pieces.n_skipped)
		abort();
	check_texts(&whole_names);
	check_texts(&whole.lines);
	dump__fini(&whole);
	dump__fini(&pieces);
	map__fini(&whole_names);
	map__fini(&pieces_names);
	return 0;
}
