/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/power_cut.c - what a disk holds after the power was cut, by a log of its writes
 *
 *	power_cut LOG DISK CUT OF
 *
 * LOG is what QEMU noted of a guest's disk (`tests/kernels/run -w`): each write and each flush, one
 * after the other. DISK is a copy of the disk as the guest found it, and becomes what it was at the
 * CUT-th (from 1) of OF moments, one by chance in each OF-th part of the log. The same arguments
 * make the same disk.
 *
 * A disk has what was written before the last flush, and of what came later any sectors: none of
 * them in one cut of four, all in another, else each by chance. Half of the moments are the last
 * ones before a flush, when most is at stake. A sector has 4096 bytes, as the guest was told.
 *
 * Prints the numbers that the input ledger (tests/plugins/ledger.c) had marked on the disk by then,
 * one a line; and where it was and what was kept to standard error. Ends with 1 when it cannot.
 *
 * The log's format is that of Linux' dm-log-writes (drivers/md/dm-log-writes.c), its numbers are
 * little-endian: a sector with a head; then for each entry a sector, and the sectors that it wrote.
 * QEMU notes a write before the guest hears that it is done, and a flush when it is done. So what
 * the guest knew to be written when it asked for a flush stands before that, with some of what was
 * under way then: a disk may have flushed that as well.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/fd.h"
#include "core/base/le.h"
#include "core/base/vec.h"
#include "tests/unit/random.h"

enum {
	SECTOR = 4096,
	LOG_MAX_BYTES = 1 << 30,
	FLUSH = 1, /* an entry's flag; others are not met: a guest of QEMU's flushes by itself */
};

static const uint64_t magic = 0x6a736677736872u;
static const char mark[] = "decima-mark ";

/* A write; without sectors, a flush. */
struct entry {
	uint64_t sector, n_sectors;
	const uint8_t *data;
};

struct log {
	struct buf bytes;
	VEC(struct entry) entries;
};

/* How many of two sectors that were not flushed a cut keeps. */
enum kept { KEPT_NONE, KEPT_SOME, KEPT_ALL };

struct cut {
	struct random random;
	enum kept kept;
	size_t flushed, end; /* entries: before the last flush; before the cut */
	uint64_t n_kept, n_lost, n_marks;
};

static bool fail(const char *what, const char *fault)
{
	fprintf(stderr, "power_cut: %s: %s\n", what, fault);
	return false;
}

/* False: a sentence was printed. */
static bool read_log(struct log *l, const char *path)
{
	int r = fd__read_path(AT_FDCWD, path, LOG_MAX_BYTES, &l->bytes);

	if (r < 0)
		return fail(path, strerror(-r));
	const uint8_t *p = l->bytes.data;
	uint64_t n = l->bytes.n / SECTOR, at = 1;

	if (n == 0 || le__get64(p) != magic || le__get64(p + 8) != 1 || le__get32(p + 24) != SECTOR)
		return fail(path, "this is no log of version 1 with sectors of 4096 bytes");
	/* The head counts those up to a flush. */
	for (uint64_t left = le__get64(p + 16); left; left--) {
		const uint8_t *head = p + at * SECTOR;
		struct entry e;

		if (at >= n)
			return fail(path, "the log ends too early");
		e = (struct entry){ le__get64(head), le__get64(head + 8), head + SECTOR };
		if (le__get64(head + 16) != (e.n_sectors ? 0 : FLUSH))
			return fail(path, "an entry is neither a write nor a flush");
		if (e.n_sectors >= n - at)
			return fail(path, "a write ends too early");
		if (!vec__push(&l->entries, e))
			return fail(path, "out of memory");
		at += 1 + e.n_sectors;
	}
	return l->entries.n > 0 || fail(path, "the log is empty");
}

static bool is_flush(const struct log *l, size_t i)
{
	return l->entries.v[i].n_sectors == 0;
}

static void choose(struct cut *c, const struct log *l, uint64_t cut, uint64_t of)
{
	static const enum kept kept[] = { KEPT_SOME, KEPT_NONE, KEPT_SOME, KEPT_ALL };
	uint64_t n = l->entries.n, from = n * (cut - 1) / of, to = n * cut / of;

	*c = (struct cut){ .random = { of << 32 | cut }, .kept = kept[cut % 4] };
	c->end = (size_t)(from + (to > from ? random__below(&c->random, to - from) : 0));
	if (random__below(&c->random, 2))
		while (c->end < n && !is_flush(l, c->end))
			c->end++;
	for (size_t i = 0; i < c->end; i++)
		if (is_flush(l, i))
			c->flushed = i;
}

static bool write_entry(int disk, const struct entry *e, struct cut *c, enum kept kept)
{
	for (uint64_t i = 0; i < e->n_sectors; i++) {
		if (random__below(&c->random, 2) >= (uint64_t)kept) {
			c->n_lost++;
			continue;
		}
		c->n_kept++;
		if (pwrite(disk, e->data + i * SECTOR, SECTOR, (off_t)((e->sector + i) * SECTOR)) != SECTOR)
			return fail("the disk", "it cannot be written");
	}
	return true;
}

/* Prints the number of an entry that is a mark. */
static void tell(const struct entry *e, struct cut *c)
{
	const char *text = (const char *)e->data;

	if (e->n_sectors != 1 || memcmp(text, mark, strlen(mark)) != 0)
		return;
	printf("%llu\n", strtoull(text + strlen(mark), NULL, 10));
	c->n_marks++;
}

static bool make(int disk, const struct log *l, struct cut *c)
{
	for (size_t i = 0; i < c->flushed; i++)
		if (!write_entry(disk, &l->entries.v[i], c, KEPT_ALL))
			return false;
	c->n_kept = 0;
	for (size_t i = c->flushed; i < c->end; i++)
		if (!write_entry(disk, &l->entries.v[i], c, c->kept))
			return false;
	for (size_t i = 0; i < c->end; i++)
		tell(&l->entries.v[i], c);
	return true;
}

static bool run(struct log *l, char **words)
{
	uint64_t number = strtoull(words[3], NULL, 10), of = strtoull(words[4], NULL, 10);
	struct cut c;
	bool good;
	int disk;

	if (number == 0 || number > of)
		return fail(words[3], "it is none of the cuts");
	if (!read_log(l, words[1]))
		return false;
	disk = open(words[2], O_WRONLY | O_CLOEXEC);
	if (disk < 0)
		return fail(words[2], "it cannot be opened");
	choose(&c, l, number, of);
	good = make(disk, l, &c);
	fprintf(stderr, "cut %" PRIu64 "/%" PRIu64 ": before entry %zu of %zu, %" PRIu64 " marks",
		number, of, c.end, l->entries.n, c.n_marks);
	fprintf(stderr, "; of %" PRIu64 " sectors since the last flush %" PRIu64 " kept\n",
		c.n_kept + c.n_lost, c.n_kept);
	return close(disk) == 0 && good;
}

int main(int argc, char **argv)
{
	struct log l = { 0 };
	bool good;

	if (argc != 5) {
		fprintf(stderr, "usage: power_cut LOG DISK CUT OF\n");
		return 2;
	}
	good = run(&l, argv);
	vec__fini(&l.entries);
	buf__fini(&l.bytes);
	return good && fflush(stdout) == 0 ? 0 : 1;
}
