/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/memory/backup.c - writes and reads the directory
 */
#include "plugins/storage/memory/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/storage/answer/stream_piece.h"
#include "plugins/storage/memory/look.h"

#define MANIFEST_HEAD "decima-memory-store 1"

/* A file holds about so much, unless one profile alone is larger. */
enum { CHUNK_ROWS = 1 << 18, CHUNK_FRAMES = 1 << 23 };
#define BUILDER_MAX_BYTES  ((uint64_t)4 << 30)
#define MANIFEST_MAX_BYTES ((size_t)256 << 20) /* all that may be seen take some 80 MB */
#define FILE_MAX_BYTES	   ((size_t)8 << 30)

/* "DIR/NAME" for the caller to free; NULL when memory ran out. */
static char *path_of(const char *dir, const char *name)
{
	size_t n = strlen(dir) + strlen(name) + 2;
	char *path = malloc(n);

	if (path)
		snprintf(path, n, "%s/%s", dir, name);
	return path;
}

static int write_file(const char *dir, const char *name, const void *p, size_t n, struct dcm_error *err)
{
	CLEANUP(mem__freep) char *path = path_of(dir, name);

	return path ? fd__replace(path, 0600, p, n, err) : error__nomem(err);
}

/* -------------------------------------------------------------------------------------------------
 * Writing
 */

struct writer {
	const struct dcm_host *host;
	const char *dir;
	struct view view;
	struct buf manifest;
	uint32_t n_files;
	/* the chunk under way */
	struct dcm_builder *builder;
	struct dict_export ex;
	uint64_t rows, frames;
};

static int begin_chunk(struct writer *w)
{
	w->rows = w->frames = 0;
	w->builder = w->host->builder_new(w->host, BUILDER_MAX_BYTES);
	if (!w->builder)
		return -ENOMEM;
	const struct dict_counts counts = view__counts(&w->view);
	return dict_export__init(&w->ex, w->view.dict, &counts, w->host, w->builder);
}

static int end_chunk(struct writer *w, struct dcm_error *err)
{
	struct dcm_batch *batch = NULL;
	CLEANUP(mem__freep) uint8_t *data = NULL;
	size_t n = 0;
	char name[32];
	int r = w->host->seal(w->builder, &batch, err);

	if (r == 0)
		r = w->host->encode(w->host, batch, DCM_NONE, "batch", &data, &n, err);
	w->host->batch_unref(batch);
	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "%06u.batch", w->n_files++);
	buf__printf(&w->manifest, "batch %s %zu %016" PRIx64 "\n", name, n, hash__bytes(data, n, 0));
	return write_file(w->dir, name, data, n, err);
}

static void drop_chunk(struct writer *w)
{
	dict_export__fini(&w->ex);
	w->host->builder_free(w->builder);
	w->builder = NULL;
}

static int add_profile(struct writer *w, const struct view_stream *st, const struct profile *p)
{
	int r = 0;
	struct dcm_type type = dict_export__type(&w->ex, st->type);
	struct dcm_profile head = {
		.series = dict_export__series(&w->ex, st->series, &r),
		.duration_ns = p->duration_ns,
		.period = p->period,
	};

	if (__builtin_mul_overflow(p->time_ms, (int64_t)1000000, &head.time_ns))
		head.time_ns = p->time_ms < 0 ? INT64_MIN : INT64_MAX;
	w->host->add_profile(w->builder, &head, &type, 1);
	for (uint32_t i = 0; r == 0 && i < p->n_rows; i++) {
		const struct row row = profile__row(p, i);
		uint32_t stack = dict_export__stack(&w->ex, row.stack, &r);
		uint32_t labels = dict_export__label_set(&w->ex, row.labels, &r);

		w->host->add_row(w->builder, stack, labels, &row.value);
		w->frames += dict__stack_at(w->view.dict, row.stack)->n;
	}
	w->rows += p->n_rows + 1;
	return r;
}

static int write_profiles(struct writer *w, struct dcm_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < w->view.streams.n; i++) {
		const struct view_stream *st = &w->view.streams.v[i];
		const struct stream_piece *of = stream_piece__of(&w->view.pieces.v[st->first].piece);

		for (uint32_t j = 0; r == 0 && j < of->n; j++) {
			if (!w->builder)
				r = begin_chunk(w);
			if (r == 0)
				r = add_profile(w, st, of->v[j]);
			if (r < 0)
				return error__nomem(err);
			if (w->rows < CHUNK_ROWS && w->frames < CHUNK_FRAMES)
				continue;
			r = end_chunk(w, err);
			drop_chunk(w);
		}
	}
	if (r == 0 && w->builder)
		r = end_chunk(w, err);
	return r;
}

static void write_seen_line(struct writer *w, struct dcm_hash source, struct seen_interval interval)
{
	buf__printf(&w->manifest, "seen %016" PRIx64 " %016" PRIx64 " %" PRIu64 " %" PRIu64 "\n",
		    source.lo, source.hi, interval.first, interval.last);
}

static int write_counting(struct writer *w, const struct seen *seen)
{
	seen_list sources = { 0 };
	int r = seen__list_counting(seen, &sources);

	for (size_t i = 0; i < sources.n; i++)
		for (uint32_t k = 0; k < sources.v[i]->n; k++)
			write_seen_line(w, sources.v[i]->source, sources.v[i]->intervals[k]);
	vec__fini(&sources);
	return r;
}

static void write_once(void *ctx, struct dcm_hash source)
{
	write_seen_line(ctx, source, (struct seen_interval){ DCM_BATCH_ONCE, DCM_BATCH_ONCE });
}

static int write_seen(struct writer *w, struct store *s)
{
	int r;

	pthread_rwlock_rdlock(&s->lock);
	r = write_counting(w, &s->seen);
	seen__each_once(&s->seen, write_once, w);
	pthread_rwlock_unlock(&s->lock);
	return r;
}

static void remove_all(struct writer *w)
{
	for (uint32_t i = 0; i < w->n_files; i++) {
		char name[32];
		snprintf(name, sizeof(name), "%06u.batch", i);
		CLEANUP(mem__freep) char *path = path_of(w->dir, name);
		if (path)
			unlink(path);
	}
	rmdir(w->dir);
}

int backup__write(struct store *s, const struct dcm_host *host, const char *dir, struct dcm_error *err)
{
	struct writer w = { .host = host, .dir = dir };
	struct dcm_select all = { .size = sizeof(all), .from_ms = INT64_MIN, .to_ms = INT64_MAX };
	int r;

	if (mkdir(dir, 0700) < 0) {
		r = -errno;
		if (r == -EEXIST)
			return error__set(err, r,
					  "backup: %s: is there already; name a directory that is "
					  "not, in one that is",
					  dir);
		return error__sys(err, r, "backup: %s", dir);
	}
	/*
	 * Ids first: a batch written in between is then stored again by a retry rather than lost by
	 * one.
	 */
	buf__printf(&w.manifest, MANIFEST_HEAD "\n");
	r = write_seen(&w, s);
	view__init(&w.view, host, &all, 1);
	if (r == 0)
		r = look__take(&w.view, s, NULL);
	if (r < 0)
		error__nomem(err);
	else
		r = write_profiles(&w, err);
	drop_chunk(&w);
	view__fini(&w.view);
	buf__printf(&w.manifest, "end %016" PRIx64 "\n", hash__bytes(w.manifest.data, w.manifest.n, 0));
	if (r == 0 && w.manifest.error)
		r = error__nomem(err);
	if (r == 0)
		r = write_file(dir, BACKUP_MANIFEST, w.manifest.data, w.manifest.n, err);
	buf__fini(&w.manifest);
	if (r < 0) {
		remove_all(&w);
		error__prefix(err, "backup: %s", dir);
	}
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * Reading
 */

struct reader {
	struct store *store;
	const struct dcm_host *host;
	const char *dir;
	int dirfd;
	struct store_news news;
	struct seen seen;
};

static int damaged(const struct reader *rd, const char *name, const char *what, struct dcm_error *err)
{
	return error__set(err, -EUCLEAN, "%s/%s: %s; restore the directory from where it came",
			  rd->dir, name, what);
}

/* Of a file alone: a pipe in its place would keep us waiting for ever. */
static int read_file(const struct reader *rd, const char *name, size_t max_bytes, struct buf *b)
{
	return fd__read_regular(rd->dirfd, name, 0, max_bytes, b);
}

/* NAME BYTES HASH of a line that says where a batch is. */
static int read_batch(struct reader *rd, const char *name, size_t n, uint64_t hash, struct dcm_error *err)
{
	struct buf data = { 0 };
	struct dcm_batch *batch = NULL;
	int r = read_file(rd, name, n, &data);

	if (r < 0 && r != -EFBIG)
		r = error__sys(err, r, "%s/%s", rd->dir, name);
	else if (r < 0 || data.n != n || hash__bytes(data.data, data.n, 0) != hash)
		r = damaged(rd, name, "is not what was written", err);
	if (r == 0) {
		r = rd->host->decode(rd->host, "batch", data.data, data.n, &batch, err);
		if (r < 0)
			error__prefix(err, "%s/%s", rd->dir, name);
	}
	buf__fini(&data);
	if (r == 0 && store__write(rd->store, &batch, 1, INT64_MAX, &rd->news) < 0)
		r = error__nomem(err);
	rd->host->batch_unref(batch);
	return r;
}

static bool is_batch_name(const char *name)
{
	return strspn(name, "0123456789") == 6 && strcmp(name + 6, ".batch") == 0;
}

static int read_line(struct reader *rd, const char *line, struct dcm_error *err)
{
	struct dcm_hash source;
	struct seen_interval interval;
	char name[32];
	size_t n;
	uint64_t hash;
	int end = 0;

	if (sscanf(line, "batch %31s %zu %" SCNx64 "%n", name, &n, &hash, &end) == 3 && !line[end]) {
		if (!is_batch_name(name) || n > FILE_MAX_BYTES)
			return damaged(rd, BACKUP_MANIFEST, "names a file that no backup has", err);
		return read_batch(rd, name, n, hash, err);
	}
	if (sscanf(line, "seen %" SCNx64 " %" SCNx64 " %" SCNu64 " %" SCNu64 "%n", &source.lo,
		   &source.hi, &interval.first, &interval.last, &end) == 4 &&
	    !line[end] && interval.first <= interval.last) {
		if (seen__reserve(&rd->seen, 1))
			return error__nomem(err);
		seen__add_interval(&rd->seen, source, interval);
		return 0;
	}
	return damaged(rd, BACKUP_MANIFEST, "has a line that cannot be read", err);
}

/* Checks head and end and cuts them off: what is left is lines. */
static int open_manifest(struct reader *rd, struct buf *text, char **ret_lines, struct dcm_error *err)
{
	static const char head[] = MANIFEST_HEAD "\n";
	int r = read_file(rd, BACKUP_MANIFEST, MANIFEST_MAX_BYTES, text);
	uint64_t hash;

	if (r == -ENOENT)
		return error__set(err, r,
				  "%s: has no manifest, so it is no backup of a memory store; "
				  "name a directory that `decima store backup` made of one",
				  rd->dir);
	if (r < 0)
		return error__set(err, r,
				  "%s/" BACKUP_MANIFEST ": cannot be read: %s; let the "
				  "daemon's user read the backup",
				  rd->dir, strerror(-r));
	const size_t tail = sizeof("end 0123456789abcdef\n") - 1;
	char *p = (char *)text->data;
	if (text->n < sizeof(head) - 1 + tail || memcmp(p, head, sizeof(head) - 1) != 0 ||
	    memchr(p, '\0', text->n))
		return damaged(rd, BACKUP_MANIFEST, "is not the manifest of a memory store", err);
	char *end = p + text->n - tail;
	if (end[-1] != '\n' || sscanf(end, "end %16" SCNx64, &hash) != 1 ||
	    hash != hash__bytes(p, (size_t)(end - p), 0))
		return damaged(rd, BACKUP_MANIFEST, "is cut off or changed", err);
	*end = '\0';
	*ret_lines = p + sizeof(head) - 1;
	return 0;
}

static int open_directory(struct reader *rd, struct dcm_error *err)
{
	int code;

	rd->dirfd = open(rd->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	code = -errno;
	return rd->dirfd >= 0
		       ? 0
		       : error__set(err, code,
				    "%s: cannot be opened: %s; name a directory that `decima "
				    "store backup` made of a memory store",
				    rd->dir, strerror(-code));
}

int backup__look(const char *dir, struct dcm_error *err)
{
	struct buf text = { 0 };
	char *line;
	CLEANUP(mem__freep) struct reader *rd = NEW(struct reader);
	int r;

	if (!rd)
		return error__nomem(err);
	rd->dir = dir;
	r = open_directory(rd, err);
	if (r < 0)
		return r;
	r = open_manifest(rd, &text, &line, err);
	seen__fini(&rd->seen);
	buf__fini(&text);
	fd__close(rd->dirfd);
	return r;
}

int backup__read(struct store *s, const struct dcm_host *host, const char *dir,
		 struct store_news *news, struct dcm_error *err)
{
	struct buf text = { 0 };
	char *line = NULL;
	CLEANUP(mem__freep) struct reader *rd = NEW(struct reader); /* too large for a stack */
	if (!rd)
		return error__nomem(err);
	*rd = (struct reader){ .store = s, .host = host, .dir = dir };
	int r = open_directory(rd, err);
	if (r < 0)
		return r;
	r = open_manifest(rd, &text, &line, err);
	while (r == 0 && *line) {
		char *newline = strchr(line, '\n');

		*newline = '\0'; /* the text before `end` ends in one */
		r = read_line(rd, line, err);
		line = newline + 1;
	}
	if (r == 0) {
		pthread_rwlock_wrlock(&s->lock);
		seen__fini(&s->seen);
		s->seen = rd->seen;
		rd->seen = (struct seen){ 0 };
		pthread_rwlock_unlock(&s->lock);
		*news = rd->news;
	}
	seen__fini(&rd->seen);
	buf__fini(&text);
	fd__close(rd->dirfd);
	return r;
}
