/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/names.c - what a program itself says that its functions are called
 */
#include "plugins/input/pprof_scrape/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/base/url.h"

void names__fini(struct names *n)
{
	vec__fini(&n->addresses);
	vec__fini(&n->said);
	*n = (struct names){ 0 };
}

#define NAME_MAX_BYTES (64U << 10) /* nothing that is longer is a name */

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* NULL: nobody asked for it. */
static struct dcm_str *find(struct names *n, uint64_t address)
{
	const uint64_t *at = n->said.n ? bsearch(&address, n->addresses.v, n->addresses.n,
						 sizeof(*n->addresses.v), by_value)
				       : NULL;

	return at ? &n->said.v[at - n->addresses.v] : NULL;
}

struct dcm_str names__of(void *ctx, uint64_t address)
{
	struct names *n = ctx;
	const struct dcm_str *said;

	if (n->said.n) {
		said = find(n, address);
		return said ? *said : STR("");
	}
	n->is_beyond |= n->addresses.n == NAMES_MAX;
	n->no_memory |= !n->is_beyond && !vec__push(&n->addresses, address);
	return STR("");
}

/* ---- the question ---- */

bool names__url(struct dcm_str profile_url, struct buf *to)
{
	struct dcm_str folder = url__folder(profile_url);

	if (!folder.n)
		return false;
	buf__str(to, folder);
	buf__str(to, (struct dcm_str){ "symbol", sizeof("symbol") }); /* with its NUL */
	return !to->error;
}

static void drop_doubles(struct names *n)
{
	size_t kept = 0;

	if (n->addresses.n)
		qsort(n->addresses.v, n->addresses.n, sizeof(*n->addresses.v), by_value);
	for (size_t i = 0; i < n->addresses.n; i++)
		if (!kept || n->addresses.v[i] != n->addresses.v[kept - 1])
			n->addresses.v[kept++] = n->addresses.v[i];
	n->addresses.n = kept;
}

int names__question(struct names *n, struct buf *to)
{
	drop_doubles(n);
	for (size_t i = 0; i < n->addresses.n && !to->error; i++)
		buf__printf(to, "%s0x%llx", i ? "+" : "", (unsigned long long)n->addresses.v[i]);
	return n->no_memory || to->error ? -ENOMEM : 0;
}

/* ---- the answer ---- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* "0x401136 main" in two. False: it is something else. */
static bool split(struct dcm_str line, uint64_t *ret_address, struct dcm_str *ret_name)
{
	uint64_t address = 0;
	uint32_t i = 2;

	line = str__trim(line);
	if (line.n < 3 || line.p[0] != '0' || (line.p[1] | 0x20) != 'x')
		return false;
	for (int digit; i < line.n && (digit = str__hex_digit(line.p[i])) >= 0; i++) {
		if (address >> 60)
			return false;
		address = address << 4 | (uint64_t)digit;
	}
	if (i == 2 || i == line.n || !is_blank(line.p[i]))
		return false;
	*ret_address = address;
	*ret_name = str__trim((struct dcm_str){ line.p + i, line.n - i });
	return true;
}

/* What addr2line, which many a program asks for it, says of what it does not know; or the address again. */
static bool is_name(struct dcm_str name)
{
	return name.n && name.n <= NAME_MAX_BYTES && !str__starts(name, STR("??")) &&
	       !str__starts(name, STR("0x"));
}

int64_t names__answer(struct names *n, struct dcm_str answer)
{
	int64_t named = 0;

	n->said.n = 0;
	for (size_t i = 0; i < n->addresses.n; i++)
		if (!vec__push(&n->said, STR("")))
			return -ENOMEM;
	while (answer.n) {
		const char *end = memchr(answer.p, '\n', answer.n);
		struct dcm_str line = { answer.p, end ? (uint32_t)(end - answer.p) : answer.n }, name;
		uint32_t used = end ? line.n + 1 : line.n;
		struct dcm_str *said;
		uint64_t address;

		answer = (struct dcm_str){ answer.p + used, answer.n - used };
		if (!split(line, &address, &name) || !is_name(name) || !(said = find(n, address)))
			continue;
		named += said->n == 0;
		*said = name;
	}
	return named;
}
