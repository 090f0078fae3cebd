/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/arrow_meta.c - flatbuffers, within their bytes
 */
#include "core/codec/arrow_meta.h"

#include "core/base/str.h"

static bool has(struct fb *b, uint64_t at, uint64_t n)
{
	if (b->fault)
		return false;
	if (at > b->n || n > b->n - at)
		b->fault = "its metadata refers to what is not in it";
	return !b->fault;
}

/* Little endian, signed. */
static int64_t load(struct fb *b, uint64_t at, uint32_t bytes)
{
	uint64_t v = 0;

	if (!has(b, at, bytes))
		return 0;
	for (uint32_t i = 0; i < bytes; i++)
		v |= (uint64_t)b->p[at + i] << 8 * i;
	const uint32_t unused = 64 - 8 * bytes;
	return (int64_t)(v << unused) >> unused;
}

static uint32_t load_u32(struct fb *b, uint64_t at)
{
	return (uint32_t)load(b, at, 4);
}

/* What the reference at `at` refers to. */
static fb_at follow(struct fb *b, uint64_t at)
{
	const uint64_t to = at + load_u32(b, at);

	return has(b, to, 4) ? (fb_at)to : 0;
}

fb_at fb__root(struct fb *b)
{
	return follow(b, 0);
}

/* Where a field is; 0: absent. */
static uint64_t field(struct fb *b, fb_at table, uint32_t slot)
{
	if (table == 0 || b->fault)
		return 0;
	const int64_t vtable = (int64_t)table - load(b, table, 4);
	if (vtable < 0 || !has(b, (uint64_t)vtable, 4)) {
		b->fault = "its metadata refers to what is not in it";
		return 0;
	}
	const uint32_t entry = 4 + 2 * slot;
	if (entry + 2 > (uint16_t)load(b, (uint64_t)vtable, 2))
		return 0;
	const uint16_t off = (uint16_t)load(b, (uint64_t)vtable + entry, 2);
	return off ? (uint64_t)table + off : 0;
}

int64_t fb__int(struct fb *b, fb_at table, uint32_t slot, uint32_t bytes, int64_t usual)
{
	const uint64_t at = field(b, table, slot);

	return at ? load(b, at, bytes) : usual;
}

fb_at fb__ref(struct fb *b, fb_at table, uint32_t slot)
{
	const uint64_t at = field(b, table, slot);

	return at ? follow(b, at) : 0;
}

uint32_t fb__length(struct fb *b, fb_at vector, uint32_t bytes)
{
	if (vector == 0)
		return 0;
	const uint32_t n = load_u32(b, vector);
	return has(b, (uint64_t)vector + 4, (uint64_t)n * bytes) ? n : 0;
}

fb_at fb__table(struct fb *b, fb_at vector, uint32_t i)
{
	return follow(b, (uint64_t)vector + 4 + 4 * (uint64_t)i);
}

int64_t fb__i64(struct fb *b, fb_at vector, uint64_t off)
{
	return load(b, (uint64_t)vector + 4 + off, 8);
}

struct dcm_str fb__str(struct fb *b, fb_at table, uint32_t slot)
{
	const fb_at at = fb__ref(b, table, slot);
	const uint32_t n = fb__length(b, at, 1);

	return n ? (struct dcm_str){ (const char *)b->p + at + 4, n } : STR("");
}
