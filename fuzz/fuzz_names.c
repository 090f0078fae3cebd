/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_names.c - a log of what was resolved that anybody wrote
 *
 * The input is a log, once as it is and once with its checks put right, so that what stands behind
 * them is reached too. Whatever it says, it is read; what was read, written as one frame, is read
 * again and is the same.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/le.h"
#include "core/base/str.h"
#include "core/symbolize/frames.h"
#include "core/symbolize/names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ID STR("0123456789abcdef")

/* Writes the checks that frames should have, where a mark stands and its length fits. */
static void put_right(uint8_t *p, size_t n)
{
	for (size_t at = 0; at + NAMES_HEAD_BYTES <= n; at++) {
		uint8_t *head = p + at;
		uint32_t length = le__get32(head + 8);

		if (memcmp(head, "dcmnam1\n", 8) != 0 || length > n - at - NAMES_HEAD_BYTES)
			continue;
		le__put64(head + 16, hash__bytes(head + NAMES_HEAD_BYTES, length,
						 hash__bytes(head, 16, hash__bytes(ID.p, ID.n, 0))));
	}
}

static struct names *read_log(const uint8_t *p, size_t n, struct names_found *found)
{
	struct names *names = NULL;

	if (names__read(p, n, ID, &names, found))
		abort();
	return names;
}

static struct learned_key key_of(const struct learned_entry *e)
{
	return (struct learned_key){ ID, hash__bytes(ID.p, ID.n, 0), e->address, e->addr_kind };
}

static void check_same(const struct learned *a, const struct learned *b)
{
	if (a->n != b->n || a->n == 0 || a->n > FRAMES_MAX_DEPTH || a->rank != b->rank ||
	    a->asked != b->asked)
		abort();
	for (uint32_t i = 0; i < a->n; i++) {
		struct learned_line x = learned__line(a, i), y = learned__line(b, i);

		if (!str__is_utf8(x.name) || !str__eq(x.name, y.name) || !str__eq(x.file, y.file) ||
		    !str__eq(x.system_name, y.system_name) || x.line != y.line ||
		    x.start_line != y.start_line)
			abort();
	}
}

static void check(const uint8_t *p, size_t n)
{
	struct names_found found, again;
	struct names *names = read_log(p, n, &found), *second;
	uint32_t *rows = calloc(names->set.entries.n + 1, sizeof(*rows));
	struct buf out = { 0 };

	if (!rows || found.n_bad_bytes > n || found.first_bytes > n ||
	    (found.n_frames > 0) != (found.first_bytes > 0))
		abort();
	for (uint32_t i = 0; i < names->set.entries.n; i++)
		rows[i] = i;
	names__write(&names->set, rows, names->set.entries.n, ID, &out);
	if (out.error)
		abort();
	second = read_log(out.data, out.n, &again);
	if (again.n_frames != 1 || again.n_bad_bytes || second->set.entries.n != names->set.entries.n)
		abort();
	for (uint32_t i = 0; i < names->set.entries.n; i++) {
		struct learned_key key = key_of(&names->set.entries.v[i]);
		struct learned a, b;

		if (!learned_set__find(&names->set, &key, &a) ||
		    !learned_set__find(&second->set, &key, &b))
			abort();
		check_same(&a, &b);
	}
	free(rows);
	buf__fini(&out);
	names__unref(names);
	names__unref(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *right = malloc(size + 1);

	if (!right)
		abort();
	if (size)
		memcpy(right, data, size);
	put_right(right, size);
	check(data, size);
	check(right, size);
	free(right);
	return 0;
}
