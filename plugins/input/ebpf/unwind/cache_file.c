/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/cache_file.c - an unwind table as bytes
 */
#include "plugins/input/ebpf/unwind/cache_file.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/mem.h"
#include "plugins/input/ebpf/unwind/bytes.h"
#include "plugins/input/ebpf/unwind/cache.h"
#include "plugins/input/ebpf/unwind/rules.h"
#include "plugins/input/ebpf/unwind/version.h"

/* Arrays are written as they lie in memory. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "unwind tables are for little-endian machines");
_Static_assert(sizeof(struct unwind_segment) == 24, "a segment has no padding");

static const char magic[8] = "DCMUNWND";

enum { HASH = 8, GO = 1 << 16, SEGMENTS = 4096 };

void cache_file__encode(const struct unwind_rows *r, struct buf *b)
{
	size_t start = b->n;

	buf__append(b, magic, sizeof(magic));
	buf__le32(b, CACHE_VERSION);
	buf__le32(b, UNWIND_SOURCES);
	buf__le32(b, r->machine | (r->is_go ? GO : 0));
	buf__le64(b, r->base);
	buf__le64(b, r->covered_bytes);
	buf__le64(b, r->code_bytes);
	buf__le32(b, r->n);
	buf__le32(b, r->n_rules);
	buf__le32(b, r->n_segments);
	buf__le32(b, r->n_fdes);
	buf__le32(b, UNWIND_GAP_N);
	for (unsigned i = 0; i < UNWIND_GAP_N; i++)
		buf__le32(b, r->gaps[i]);
	buf__append(b, r->segments, r->n_segments * sizeof(*r->segments));
	buf__append(b, r->rules, r->n_rules * sizeof(*r->rules));
	buf__append(b, r->at, r->n * sizeof(*r->at));
	buf__append(b, r->rule, r->n * sizeof(*r->rule));
	if (!b->error)
		buf__le64(b, hash__bytes(b->data + start, b->n - start, 0));
}

/* A copy of the next n elements; NULL when they are not there, or memory is short. */
static void *array(struct bytes *b, uint32_t n, size_t size)
{
	const uint8_t *from = bytes__skip(b, (uint64_t)n * size);

	return b->bad ? NULL : mem__dup(from, n * size);
}

/* True when we wrote it, with this compiler. */
static bool is_ours(struct bytes *b)
{
	return bytes__fixed(b, 4) == CACHE_VERSION && bytes__fixed(b, 4) == UNWIND_SOURCES;
}

static bool head(struct bytes *b, struct unwind_rows *r)
{
	uint64_t flags;

	flags = bytes__fixed(b, 4);
	if (flags & ~(uint64_t)(GO | UINT16_MAX))
		return false;
	r->machine = (uint16_t)flags;
	r->is_go = flags & GO;
	r->base = bytes__fixed(b, 8);
	r->covered_bytes = bytes__fixed(b, 8);
	r->code_bytes = bytes__fixed(b, 8);
	r->n = (uint32_t)bytes__fixed(b, 4);
	r->n_rules = (uint32_t)bytes__fixed(b, 4);
	r->n_segments = (uint32_t)bytes__fixed(b, 4);
	r->n_fdes = (uint32_t)bytes__fixed(b, 4);
	if (bytes__fixed(b, 4) != UNWIND_GAP_N)
		return false;
	for (unsigned i = 0; i < UNWIND_GAP_N; i++)
		r->gaps[i] = (uint32_t)bytes__fixed(b, 4);
	return !b->bad && (r->machine == EM_X86_64 || r->machine == EM_AARCH64) && r->n &&
	       r->n_rules && r->n_rules <= RULES_MAX && r->n_segments <= SEGMENTS;
}

/* What a compiled table promises (rows.h). */
static bool is_sound(const struct unwind_rows *r)
{
	uint64_t end = r->base;

	if (r->rules[0].cfa != UNWIND_CFA_NONE || r->rule[r->n - 1] != 0 ||
	    r->base > UINT64_MAX - r->at[r->n - 1])
		return false;
	for (uint32_t i = 0; i < r->n; i++)
		if (r->rule[i] >= r->n_rules || (i && r->at[i] <= r->at[i - 1]))
			return false;
	for (uint32_t i = 0; i < r->n_segments; i++) {
		const struct unwind_segment *s = &r->segments[i];

		if (s->vaddr < end || s->size > UINT64_MAX - s->vaddr)
			return false;
		end = s->vaddr + s->size;
	}
	return true;
}

int cache_file__decode(const uint8_t *data, size_t n, struct unwind_rows **ret_rows)
{
	CLEANUP(unwind_rows__freep) struct unwind_rows *r = NULL;
	struct bytes b = { .p = data, .end = data + n };
	struct bytes hash = b;

	if (n < sizeof(magic) + HASH)
		return -EBADMSG;
	bytes__skip(&hash, n - HASH);
	if (bytes__fixed(&hash, HASH) != hash__bytes(data, n - HASH, 0))
		return -EBADMSG;
	if (memcmp(bytes__skip(&b, sizeof(magic)), magic, sizeof(magic)))
		return -EBADMSG;
	if (!is_ours(&b))
		return -ESTALE;
	r = NEW(struct unwind_rows);
	if (!r)
		return -ENOMEM;
	if (!head(&b, r))
		return -EBADMSG;
	r->segments = array(&b, r->n_segments, sizeof(*r->segments));
	r->rules = array(&b, r->n_rules, sizeof(*r->rules));
	r->at = array(&b, r->n, sizeof(*r->at));
	r->rule = array(&b, r->n, sizeof(*r->rule));
	if (b.bad || bytes__left(&b) != HASH)
		return -EBADMSG;
	if (!r->segments || !r->rules || !r->at || !r->rule)
		return -ENOMEM;
	if (!is_sound(r))
		return -EBADMSG;
	*ret_rows = take_ptr(r);
	return 0;
}
