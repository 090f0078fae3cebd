/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/perf_map/source.c - one process's perf map or jitdump, followed as it grows
 *
 * What is at a path that a process chose is looked at before it is opened (O_PATH), since opening a
 * device does something. Looking may wait for a file system that never answers: the host is asked
 * for it, which waits for a second at most where it has a process for such things. What is done with
 * the descriptor then is an errand.
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
#include "core/base/clock.h"
#include "core/base/fd.h"

enum {
	BLOCK_BYTES = 256 << 10,
	STALE_SLACK_S = 2 /* between the clocks of files and of processes */
};
_Static_assert(BLOCK_BYTES > 2 * MAP_MAX_LINE, "a block holds a whole line");
_Static_assert(BLOCK_BYTES > 2 * DUMP_MAX_RECORD, "a block holds a whole record");

void source__init(struct source *s, enum source_format format, uint64_t max_bytes, struct errands *errands)
{
	*s = (struct source){ .format = format, .errands = errands, .fd = -1 };
	map__init(&s->map, max_bytes);
	dump__init(&s->dump, max_bytes);
}

void source__fini(struct source *s)
{
	map__fini(&s->map);
	dump__fini(&s->dump);
	errands__close(s->errands, s->fd);
	s->fd = -1;
}

void source__forget(struct source *s)
{
	s->offset = 0;
	s->n_mark = 0;
	s->skip_line = false;
	s->is_cut = false;
	s->rest = (struct source_rest){ 0 };
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

static ssize_t make(struct source *s, struct errand **errand, int *fd)
{
	ssize_t rc = errands__make(s->errands, errand, fd);

	s->has_hung |= rc == -ETIMEDOUT;
	return rc;
}

static void close_of(struct source *s, int fd)
{
	s->has_hung |= errands__close(s->errands, fd) == -ETIMEDOUT;
}

static int look(struct source *s, int *fd, struct stat *ret)
{
	CLEANUP(mem__freep) struct errand *errand = errand__new(0);
	ssize_t rc;

	if (!errand)
		return -ENOMEM;
	errand->kind = ERRAND_STAT;
	rc = make(s, &errand, fd);
	if (rc == 0)
		*ret = errand->st;
	return (int)rc;
}

/* The file is this one now; the descriptor is the source's. */
static void take_up(struct source *s, int fd, const struct stat *st)
{
	if (s->dev != st->st_dev || s->ino != st->st_ino) {
		/* The inode 0 is no file's. */
		if (s->ino) {
			s->n_rewrites++;
			source__forget(s);
		}
		s->told_cut = s->told_skipped = false;
		s->reached = 0;
		s->lines_before = source__stat(s).n_lines;
		s->skipped_before = source__stat(s).n_skipped;
	}
	close_of(s, s->fd);
	s->fd = fd;
	s->dev = st->st_dev;
	s->ino = st->st_ino;
}

int source__open(struct source *s, int root_fd, const char *path, const struct source_owner *owner,
		 int64_t not_before_s)
{
	struct stat st;
	int fd, rc;

	/* Who opens it would wait, too, and has others to serve. */
	if (s->ino && errands__is_stuck_at(s->errands, s->dev))
		return -EBUSY;
	fd = open_beneath(owner->host, root_fd, path);
	if (fd < 0)
		return fd;
	rc = look(s, &fd, &st);
	if (!rc)
		rc = acceptable(&st, owner, not_before_s);
	if (!rc && (s->fd < 0 || s->dev != st.st_dev || s->ino != st.st_ino))
		take_up(s, fd, &st);
	else
		close_of(s, fd);
	return rc;
}

/* --- reading --- */

/* Reads n bytes, or up to the file's end. */
static ssize_t read_at(struct source *s, struct errand **errand, uint64_t offset, size_t n)
{
	(*errand)->kind = ERRAND_READ;
	(*errand)->offset = offset;
	(*errand)->n = n;
	return make(s, errand, &s->fd);
}

/* 1 when the text before the offset is what was read there, 0 when not, or a negative errno. */
static int is_continued(struct source *s, uint64_t file_bytes, struct errand **errand)
{
	ssize_t n;

	if (file_bytes < s->offset)
		return 0;
	if (s->n_mark == 0)
		return 1;
	n = read_at(s, errand, s->offset - s->n_mark, s->n_mark);
	if (n == -ETIMEDOUT || n == -EBUSY || n == -EAGAIN)
		return (int)n;
	return n == s->n_mark && memcmp((*errand)->data, s->mark, s->n_mark) == 0;
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

/* Feeds what is new, block by block. */
static int read_new(struct source *s, struct errand **block)
{
	uint64_t left = SOURCE_BYTES_AT_ONCE;

	while (left) {
		ssize_t n = read_at(s, block, s->offset, BLOCK_BYTES);
		uint64_t work = s->dump.work;
		size_t used;
		int rc;

		if (n <= 0)
			return (int)n;
		rc = feed(s, (*block)->data, (size_t)n, &used);
		s->n_reads += used;
		work = s->dump.work - work + used;
		left -= work < left ? work : left;
		if (rc || used == 0)
			return rc;
	}
	s->is_behind = true;
	return 0;
}

/* What follows the last newline, as long as the file stands still. What grows is half a line. */
static int take_rest(struct source *s, const struct stat *st, struct errand **block, int64_t now_ns)
{
	struct source_rest *rest = &s->rest;
	const uint64_t size = (uint64_t)st->st_size;

	if (s->format != SOURCE_PERF_MAP || s->is_behind || s->skip_line || s->offset >= size) {
		*rest = (struct source_rest){ 0 };
		return 0;
	}
	if (rest->file_bytes != size || rest->mtime.tv_sec != st->st_mtim.tv_sec ||
	    rest->mtime.tv_nsec != st->st_mtim.tv_nsec)
		*rest = (struct source_rest){ size, st->st_mtim, now_ns, false };
	if (rest->is_taken || now_ns - rest->since_ns < SOURCE_STILL_NS)
		return 0;
	ssize_t n = read_at(s, block, s->offset, BLOCK_BYTES);
	if (n < 0)
		return (int)n;
	/* It grew meanwhile. */
	if ((uint64_t)n != size - s->offset)
		return 0;
	rest->is_taken = true;
	return map__feed_last(&s->map, (*block)->data, (size_t)n);
}

int source__read(struct source *s, uint64_t max_file_bytes)
{
	CLEANUP(mem__freep) struct errand *block = NULL;
	struct stat st;
	int rc;

	s->is_behind = false;
	if (s->fd < 0)
		return -ENOENT;
	rc = look(s, &s->fd, &st);
	if (rc)
		return rc;
	block = errand__new(BLOCK_BYTES);
	if (!block)
		return -ENOMEM;
	rc = is_continued(s, (uint64_t)st.st_size, &block);
	if (rc < 0)
		return rc;
	if (rc == 0) {
		s->n_rewrites++;
		source__forget(s);
		s->reached = 0;
	}
	skip_to_end(s, (uint64_t)st.st_size, max_file_bytes);
	rc = 0;
	if (s->offset != (uint64_t)st.st_size)
		rc = read_new(s, &block);
	if (rc == 0)
		rc = take_rest(s, &st, &block, clock__mono(&clock__system));
	return rc ? rc : settle(s); /* also of a reading that failed in the middle */
}
