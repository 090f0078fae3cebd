/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/perf_map/source.c - one process's perf map or jitdump, followed as it grows
 *
 * What is at a path that a process chose is looked at before it is opened (O_PATH), since opening a
 * device does something. Looking may wait for a file system that never answers: the host is asked
 * for it, which waits for a second at most where it has a process for such things.
 *
 * Links are taken as the container sees them, where the kernel can (fd__open_beneath).
 *
 * Threads: the owner's lock. Limits: SOURCE_BYTES_AT_ONCE a call, those of map.h.
 */
#include "plugins/input/perf_map/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/fd.h"

enum {
	BLOCK_BYTES = 256 << 10,
	STALE_SLACK_S = 2 /* between the clocks of files and of processes */
};
_Static_assert(BLOCK_BYTES > 2 * MAP_MAX_LINE, "a block holds a whole line");
_Static_assert(BLOCK_BYTES > 2 * DUMP_MAX_RECORD, "a block holds a whole record");

void source__init(struct source *s, enum source_format format, uint64_t max_bytes)
{
	*s = (struct source){ .format = format, .fd = -1 };
	map__init(&s->map, max_bytes);
	dump__init(&s->dump, max_bytes);
}

void source__fini(struct source *s)
{
	map__fini(&s->map);
	dump__fini(&s->dump);
	fd__close(s->fd);
	s->fd = -1;
}

void source__forget(struct source *s)
{
	s->offset = 0;
	s->n_mark = 0;
	s->skip_line = false;
	s->is_cut = false;
	map__reset(&s->map);
	dump__reset(&s->dump);
}

struct source_stat source__stat(const struct source *s)
{
	return (struct source_stat){
		.n_lines = s->map.n_lines + s->dump.n_records,
		.n_skipped = s->map.n_skipped + s->dump.n_skipped,
		.n_forgotten = s->map.n_forgotten + s->dump.lines.n_forgotten,
		.n_rewrites = s->n_rewrites,
		.n_cut = s->dump.n_cut,
		.n_unread = s->n_unread,
		.bytes = map__bytes(&s->map) + dump__bytes(&s->dump),
	};
}

uint64_t source__n_known(const struct source *s)
{
	return map__n_ranges(&s->map) + map__n_ranges(&s->dump.lines);
}

/* --- opening --- */

static int open_ourselves(int root_fd, const char *path)
{
	CLEANUP(fd__closep) int at = fd__open_beneath(root_fd, path);

	return at < 0 ? at : fd__reopen_regular(at);
}

/*
 * By the host, but for one that has nothing of the kind: what it refuses would have us wait for
 * file systems that it waits for in our place.
 */
static int open_beneath(const struct dcm_host *host, int root_fd, const char *path)
{
	const struct dcm_guarded g = {
		.size = sizeof(g), .what = DCM_GUARDED_NAMES, .dir = root_fd, .path = path
	};
	int fd = host ? host->open_guarded(host, &g) : -ENOSYS;

	if (fd == -ENOSYS)
		return open_ourselves(root_fd, path);
	return fd == -EPERM ? -EACCES : fd;
}

static int acceptable(const struct stat *st, const struct source_owner *owner, int64_t not_before_s)
{
	if (st->st_uid != 0 && st->st_uid != owner->uid && st->st_uid != owner->euid)
		return -EACCES;
	return st->st_mtime + STALE_SLACK_S < not_before_s ? -ESTALE : 0;
}

int source__open(struct source *s, int root_fd, const char *path, const struct source_owner *owner,
		 int64_t not_before_s)
{
	CLEANUP(fd__closep) int fd = open_beneath(owner->host, root_fd, path);
	struct stat st;
	int rc;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	rc = acceptable(&st, owner, not_before_s);
	if (rc)
		return rc;
	if (s->fd >= 0 && s->dev == st.st_dev && s->ino == st.st_ino)
		return 0;
	if (s->fd >= 0) {
		s->n_rewrites++;
		source__forget(s);
	}
	fd__close(s->fd);
	s->told_cut = s->told_skipped = false;
	s->reached = 0;
	s->lines_before = source__stat(s).n_lines;
	s->skipped_before = source__stat(s).n_skipped;
	s->fd = take_fd(fd);
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	return 0;
}

/* --- reading --- */

/* True when the text before the offset is what was read there. */
static bool is_continued(const struct source *s, uint64_t file_bytes)
{
	char now[SOURCE_MARK_BYTES];

	if (file_bytes < s->offset)
		return false;
	return s->n_mark == 0 || (fd__pread_full(s->fd, now, s->n_mark, s->offset - s->n_mark) == 0 &&
				  memcmp(now, s->mark, s->n_mark) == 0);
}

/* Moves on by n bytes of text, keeping their end as the mark. */
static void advance(struct source *s, const char *text, size_t n)
{
	size_t keep = n < SOURCE_MARK_BYTES ? n : SOURCE_MARK_BYTES;

	s->offset += n;
	if (s->offset > s->reached)
		s->reached = s->offset;
	/* A short piece says little of itself; what was before it stays in front of it. */
	if (keep < SOURCE_MARK_BYTES && s->n_mark) {
		size_t old = SOURCE_MARK_BYTES - keep < s->n_mark ? SOURCE_MARK_BYTES - keep : s->n_mark;

		memmove(s->mark, s->mark + s->n_mark - old, old);
		memcpy(s->mark + old, text + n - keep, keep);
		s->n_mark = (uint32_t)(old + keep);
		return;
	}
	memcpy(s->mark, text + n - keep, keep);
	s->n_mark = (uint32_t)keep;
}

/* Of a file that is too large only the end is read, from the first whole line on. */
static void skip_to_end(struct source *s, uint64_t file_bytes, uint64_t max_file_bytes)
{
	uint64_t begin = file_bytes - max_file_bytes;

	if (s->format == SOURCE_JITDUMP || file_bytes - s->offset <= max_file_bytes)
		return;
	if (begin > s->reached) {
		s->n_unread += begin - s->reached;
		s->reached = begin;
	}
	source__forget(s);
	s->offset = begin;
	s->skip_line = true;
	s->is_cut = true;
}

/* Feeds one block; *ret_used 0 means that the rest is no whole line or record yet. */
static int feed(struct source *s, const char *text, size_t n, size_t *ret_used)
{
	size_t skipped = 0;
	int rc;

	if (s->skip_line) {
		const char *end = memchr(text, '\n', n);

		skipped = end ? (size_t)(end + 1 - text) : n;
		s->skip_line = !end;
	}
	if (s->format == SOURCE_JITDUMP)
		rc = dump__feed(&s->dump, &s->map, text, n, ret_used);
	else
		rc = map__feed(&s->map, text + skipped, n - skipped, ret_used);
	*ret_used += skipped;
	if (*ret_used)
		advance(s, text, *ret_used);
	return rc;
}

static int settle(struct source *s)
{
	int rc = map__settle(&s->map);

	return rc ? rc : dump__settle(&s->dump);
}

int source__read(struct source *s, uint64_t max_file_bytes)
{
	CLEANUP(mem__freep) char *block = NULL;
	uint64_t left = SOURCE_BYTES_AT_ONCE;
	struct stat st;
	int rc = 0;

	s->is_behind = false;
	if (s->fd < 0)
		return -ENOENT;
	if (fstat(s->fd, &st) < 0)
		return -errno;
	if (!is_continued(s, (uint64_t)st.st_size)) {
		s->n_rewrites++;
		source__forget(s);
		s->reached = 0;
	}
	skip_to_end(s, (uint64_t)st.st_size, max_file_bytes);
	if (s->offset == (uint64_t)st.st_size)
		return settle(s); /* of a reading that failed in the middle */
	block = malloc(BLOCK_BYTES);
	if (!block)
		return -ENOMEM;
	while (left && !rc) {
		ssize_t n = pread(s->fd, block, BLOCK_BYTES, (off_t)s->offset);
		uint64_t work = s->dump.work;
		size_t used;

		if (n <= 0) {
			rc = n < 0 && errno != EINTR ? -errno : 0;
			if (n == 0 || rc)
				break;
			continue;
		}
		rc = feed(s, block, (size_t)n, &used);
		s->n_reads += used;
		work = s->dump.work - work + used;
		left -= work < left ? work : left;
		if (used == 0)
			break;
	}
	s->is_behind = left == 0;
	return rc ? rc : settle(s);
}
