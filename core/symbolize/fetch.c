/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/fetch.c - debuginfo from debuginfod servers
 *
 * GET URL/buildid/HEX/debuginfo of each server in turn, until one has it. What comes is written
 * beside its place and renamed, then the oldest files go until the directory is within its bound.
 * Whether it is the right file is for the reader to tell, by its build id.
 *
 * That no server has the file is an answer. Everything else (a server that is down, a disk that is
 * full) is not, so the file waits, with those that nobody asked for yet, and is asked for again.
 *
 * Threads: one. Limits: MAX_WAITING files wait, each with a descriptor; the fetch function holds
 * size and time of one answer, debuginfod_bytes the directory.
 * Sources: debuginfod(8), "WEBAPI".
 */
#include "core/symbolize/fetch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "core/base/cond.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/broker/sandbox.h"
#include "core/symbolize/debuginfo.h"
#include "core/symbolize/store.h"

enum {
	MAX_WAITING = 256,
	MAX_DOUBLINGS = 6, /* of the time until a file is asked for again: an hour, by default */
};

struct wish {
	struct wish *next;
	char build_id[ELF_BUILD_ID_TEXT];
	char *offered; /* the id that the store knows the file by */
	char *path;
	int fd;
	int64_t due_ns; /* not before; of the monotonic clock */
	uint8_t n_failed;
};

struct fetcher {
	struct symbols *s;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct wish *first; /* that is due first */
	uint32_t n;
	_Atomic bool stop;
};

static void free_wish(struct wish *w)
{
	if (!w)
		return;
	fd__close(w->fd);
	free(w->offered);
	free(w->path);
	free(w);
}

/* --- the directory's bound --- */

struct cached {
	char path[PATH_MAX];
	int64_t time, bytes;
};
typedef VEC(struct cached) cached_list;

static int oldest_first(const void *a, const void *b)
{
	const struct cached *x = a, *y = b;

	return (x->time > y->time) - (x->time < y->time);
}

static void list_folder(const char *folder, cached_list *ret)
{
	DIR *d = opendir(folder);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		struct cached c;
		struct stat st;

		if (e->d_name[0] == '.' ||
		    snprintf(c.path, sizeof(c.path), "%s/%s", folder, e->d_name) >= (int)sizeof(c.path) ||
		    lstat(c.path, &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		c.time = st.st_mtime;
		c.bytes = st.st_size;
		if (!vec__push(ret, c))
			break;
	}
	if (d)
		closedir(d);
}

/* Removes the oldest files until the rest fits. */
static void prune(const char *dir, uint64_t max_bytes)
{
	char root[PATH_MAX], folder[PATH_MAX];
	cached_list files = { 0 };
	uint64_t total = 0;
	struct dirent *e;
	DIR *d;

	snprintf(root, sizeof(root), "%s/.build-id", dir);
	d = opendir(root);
	while (d && (e = readdir(d))) {
		if (e->d_name[0] != '.' &&
		    snprintf(folder, sizeof(folder), "%s/%s", root, e->d_name) < (int)sizeof(folder))
			list_folder(folder, &files);
	}
	if (d)
		closedir(d);
	for (size_t i = 0; i < files.n; i++)
		total += (uint64_t)files.v[i].bytes;
	if (files.n > 1)
		qsort(files.v, files.n, sizeof(*files.v), oldest_first);
	for (size_t i = 0; i + 1 < files.n && total > max_bytes; i++) {
		if (unlink(files.v[i].path) == 0)
			total -= (uint64_t)files.v[i].bytes;
	}
	vec__fini(&files);
}

/* --- one build id --- */

static bool stops(void *ctx)
{
	const struct fetcher *f = ctx;

	return atomic_load(&f->stop);
}

/* Asks the servers in turn; 0 when one had it, -ENOENT when all said that they have not. */
static int ask_servers(struct fetcher *f, const char *build_id, int fd)
{
	const struct symbols_config *c = &f->s->config;
	int rc = -ENOENT;

	for (uint32_t i = 0; i < c->n_debuginfod && !stops(f); i++) {
		int answer;
		char url[PATH_MAX];
		size_t n = strlen(c->debuginfod[i]);

		while (n && c->debuginfod[i][n - 1] == '/')
			n--;
		if (snprintf(url, sizeof(url), "%.*s/buildid/%s/debuginfo", (int)n,
			     c->debuginfod[i], build_id) >= (int)sizeof(url))
			continue;
		if (lseek(fd, 0, SEEK_SET) < 0 || ftruncate(fd, 0) < 0)
			return -errno;
		answer = c->fetch(c->fetch_ctx, &(struct symbols_fetch){ url, fd, stops, f });
		if (answer == 0)
			return 0;
		if (answer != -ENOENT)
			rc = answer;
	}
	return rc;
}

static int fetch(struct fetcher *f, const char *build_id)
{
	const char *dir = f->s->config.debuginfod_dir;
	char path[PATH_MAX], beside[PATH_MAX + 16], *slash;
	int rc;

	if (!debuginfo__build_id_path(dir, build_id, path))
		return -ENAMETOOLONG;
	slash = strrchr(path, '/');
	*slash = '\0';
	rc = fd__mkdirs(path, 0755);
	*slash = '/';
	if (rc)
		return rc;
	snprintf(beside, sizeof(beside), "%s.tmp-XXXXXX", path);
	CLEANUP(fd__closep) int fd = mkostemp(beside, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = ask_servers(f, build_id, fd);
	if (!rc && rename(beside, path) < 0)
		rc = -errno;
	if (rc)
		unlink(beside);
	else
		prune(dir, f->s->config.debuginfod_bytes);
	return rc;
}

/* --- the thread --- */

/* Behind those that are due before it, or at the same time. With the lock. */
static void put(struct fetcher *f, struct wish *w)
{
	struct wish **at = &f->first;

	while (*at && (*at)->due_ns <= w->due_ns)
		at = &(*at)->next;
	w->next = *at;
	*at = w;
	f->n++;
	pthread_cond_signal(&f->work);
}

/* Waits until one is due; NULL when it is time to stop. */
static struct wish *pop(struct fetcher *f)
{
	struct wish *w = NULL;

	pthread_mutex_lock(&f->lock);
	while (!stops(f) && (!f->first || f->first->due_ns > clock__mono(&clock__system))) {
		const int64_t due_ns = f->first ? f->first->due_ns : 0;
		const struct timespec until = { due_ns / 1000000000, due_ns % 1000000000 };

		if (f->first)
			pthread_cond_timedwait(&f->work, &f->lock, &until);
		else
			pthread_cond_wait(&f->work, &f->lock);
	}
	if (!stops(f)) {
		w = f->first;
		f->first = w->next;
		f->n--;
	}
	pthread_mutex_unlock(&f->lock);
	return w;
}

/* Has it asked for again, each time later. False when too many wait. */
static bool put_off(struct fetcher *f, struct wish *w)
{
	bool room;

	w->due_ns = clock__mono(&clock__system) + (f->s->config.debuginfod_retry_ns << w->n_failed);
	if (w->n_failed < MAX_DOUBLINGS)
		w->n_failed++;
	pthread_mutex_lock(&f->lock);
	room = f->n < MAX_WAITING;
	if (room)
		put(f, w);
	pthread_mutex_unlock(&f->lock);
	return room;
}

/* No other answer is to be had by asking again. */
static bool is_final(int rc)
{
	return rc == 0 || rc == -ENOENT || rc == -EFBIG || rc == -ENAMETOOLONG;
}

static void *run(void *ctx)
{
	struct fetcher *f = ctx;
	struct wish *w;

	/* It is made before the process gives its rights up, and talks to the world. */
	sandbox__keep_capabilities(0);
	while ((w = pop(f))) {
		int rc = fetch(f, w->build_id);
		bool again = !stops(f) && !is_final(rc) && put_off(f, w);

		if (!stops(f))
			store__fetched(f->s, str__of(w->offered), str__of(w->path), w->fd, rc, again);
		if (!again)
			free_wish(w);
	}
	return NULL;
}

bool fetcher__add(struct fetcher *f, const char *build_id, struct dcm_str id_offered,
		  struct dcm_str path, int fd)
{
	struct wish *w = NEW(struct wish);
	bool added = false;

	if (!w)
		return false;
	w->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	w->offered = mem__dup_str(id_offered.p, id_offered.n);
	w->path = mem__dup_str(path.p, path.n);
	snprintf(w->build_id, sizeof(w->build_id), "%s", build_id);
	pthread_mutex_lock(&f->lock);
	if (w->fd >= 0 && w->offered && w->path && f->n < MAX_WAITING) {
		put(f, w);
		added = true;
	}
	pthread_mutex_unlock(&f->lock);
	if (!added)
		free_wish(w);
	return added;
}

static void destroy(struct fetcher *f)
{
	while (f->first) {
		struct wish *w = f->first;

		f->first = w->next;
		free_wish(w);
	}
	pthread_cond_destroy(&f->work);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

int fetcher__new(struct symbols *s, struct fetcher **ret)
{
	struct fetcher *f = NEW(struct fetcher);
	int rc;

	if (!f)
		return -ENOMEM;
	f->s = s;
	pthread_mutex_init(&f->lock, NULL);
	cond__init(&f->work);
	rc = -pthread_create(&f->thread, NULL, run, f);
	if (rc) {
		destroy(f);
		return rc;
	}
	pthread_setname_np(f->thread, "debuginfod");
	*ret = f;
	return 0;
}

void fetcher__free(struct fetcher *f)
{
	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	atomic_store(&f->stop, true);
	pthread_cond_signal(&f->work);
	pthread_mutex_unlock(&f->lock);
	pthread_join(f->thread, NULL);
	destroy(f);
}
