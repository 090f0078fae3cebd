/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/legacy.c - which of the older formats it is, and the way from there to profile.proto
 */
#include "core/codec/legacy.h"

#include <errno.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/codec/legacy_profile.h"

/* Comments and empty lines before the first that says something: as far as one looks. */
#define HEAD_BYTES	   ((size_t)64 << 10)
#define BYTES_PER_SAMPLE   32
#define BYTES_PER_LOCATION 16
#define ENTRIES_MIN	   4096

typedef int (*read_fn)(struct legacy_profile *p, struct legacy_lines *l);

/* "goroutine profile: total 7" */
static bool is_count(struct dcm_str line)
{
	const struct dcm_str word = STR(" profile: total ");
	uint32_t n = 0;
	int64_t total;

	while (n < line.n && (line.p[n] > ' ' && line.p[n] <= '~'))
		n++;
	struct dcm_str rest = { line.p + n, line.n - n };
	if (n == 0 || !str__starts(rest, word))
		return false;
	rest = (struct dcm_str){ rest.p + word.n, rest.n - word.n };
	return legacy_lines__take_int(&rest, &total) == LEGACY_NUMBER && rest.n == 0;
}

/* NULL: a line that none of them begins with. */
static read_fn reader_of(struct dcm_str line)
{
	static const struct {
		struct dcm_str begins;
		read_fn read;
	} kinds[] = {
		{ STR("heap profile:"), legacy_heap__read },
		{ STR("heap_v2/"), legacy_jemalloc__read },
		{ STR("--- contentionz "), legacy_contention__read },
		{ STR("--- contention:"), legacy_contention__read },
		{ STR("--- mutex:"), legacy_contention__read },
		{ STR("--- threadz "), legacy_threads__read },
		{ STR("--- Thread "), legacy_threads__read },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (str__starts(line, kinds[i].begins))
			return kinds[i].read;
	return is_count(line) ? legacy_count__read : NULL;
}

static bool is_symbols(struct dcm_str line)
{
	return str__eq(line, STR("--- symbol"));
}

bool legacy__is(const uint8_t *data, size_t n)
{
	const char *text = (const char *)data;
	struct legacy_lines l = { .p = text, .end = n ? text + (n < HEAD_BYTES ? n : HEAD_BYTES) : text };

	if (legacy_cpu__is(data, n))
		return true;
	return legacy_lines__next_said(&l) && (is_symbols(l.text) || reader_of(l.text));
}

/* Of a profile behind symbols: the line that says what comes, and no more. */
static bool is_marker(struct dcm_str line)
{
	return str__eq(line, STR("--- heap")) || str__eq(line, STR("--- growth")) ||
	       str__eq(line, STR("--- contention"));
}

/* What the lines from the one now on are; or the bytes behind "--- profile". */
static int read_lines(struct legacy_profile *p, struct legacy_lines *l)
{
	bool has_symbols = is_symbols(l->text);
	int r = has_symbols ? legacy_symbols__read(p, l) : 0;

	if (r < 0)
		return r;
	if (has_symbols)
		legacy_lines__next_said(l);
	if (has_symbols && str__eq(l->text, STR("--- profile")))
		return legacy_cpu__read(p, (const uint8_t *)l->p, (size_t)(l->end - l->p));
	if (has_symbols && is_marker(l->text))
		legacy_lines__next_said(l);
	read_fn read = reader_of(l->text);
	return read ? read(p, l)
		    : legacy_profile__fault(p, l,
					    "no profile is behind the symbols; give both, the "
					    "symbols first");
}

static int read_any(struct legacy_profile *p, const uint8_t *data, size_t n)
{
	struct legacy_lines l = { .p = (const char *)data, .end = (const char *)data + n };

	if (legacy_cpu__is(data, n))
		return legacy_cpu__read(p, data, n);
	legacy_lines__next_said(&l);
	return read_lines(p, &l);
}

int legacy__convert(const uint8_t *data, size_t n, uint64_t max_bytes, struct buf *out,
		    struct legacy_facts *ret, struct dcm_error *err)
{
	struct legacy_profile p = {
		.what = "symbols",
		.err = err,
		.max_bytes = max_bytes,
		.max_samples = ENTRIES_MIN + max_bytes / BYTES_PER_SAMPLE,
		.max_locations = ENTRIES_MIN + max_bytes / BYTES_PER_LOCATION,
	};

	int r = read_any(&p, data, n);
	if (r == 0)
		r = legacy_profile__write(&p, out);
	if (r == 0)
		*ret = (struct legacy_facts){ p.name, p.is_delta, p.is_total, p.has_mean_sizes };
	legacy_profile__fini(&p);
	return r;
}
