/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/offered.c - files that inputs offered, kept open a while: a ring, oldest first
 */
#include "core/symbolize/offered.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/base/str.h"

struct offer {
	char *build_id; /* NULL: none is here */
	char *path;
	int fd;
	int64_t until_ns; /* mono */
};

struct offered {
	pthread_mutex_t lock;
	int n_wanted;
	uint32_t first, n; /* of the ring */
	struct offer v[OFFERED_MAX];
};

struct offered *offered__new(void)
{
	struct offered *o = NEW(struct offered);

	if (o)
		pthread_mutex_init(&o->lock, NULL);
	return o;
}

static void forget(struct offer *x)
{
	if (x->build_id)
		fd__close(x->fd);
	free(x->build_id);
	free(x->path);
	*x = (struct offer){ .fd = -1 };
}

/* Those that are old, and what was replaced before them. Under the lock. */
static void shorten(struct offered *o, int64_t now_ns)
{
	while (o->n > 0) {
		struct offer *x = &o->v[o->first];

		if (x->build_id && x->until_ns > now_ns)
			return;
		forget(x);
		o->first = (o->first + 1) % OFFERED_MAX;
		o->n--;
	}
}

void offered__free(struct offered *o)
{
	if (!o)
		return;
	shorten(o, INT64_MAX);
	pthread_mutex_destroy(&o->lock);
	free(o);
}

void offered__want(struct offered *o, int by)
{
	pthread_mutex_lock(&o->lock);
	o->n_wanted += by;
	if (o->n_wanted == 0)
		shorten(o, INT64_MAX);
	pthread_mutex_unlock(&o->lock);
}

/* Under the lock. */
static struct offer *find(struct offered *o, struct dcm_str build_id)
{
	for (uint32_t i = 0; i < o->n; i++) {
		struct offer *x = &o->v[(o->first + i) % OFFERED_MAX];

		if (x->build_id && str__eq(str__of(x->build_id), build_id))
			return x;
	}
	return NULL;
}

/* Under the lock. */
static void add(struct offered *o, struct dcm_str build_id, struct dcm_str path, int fd, int64_t now_ns)
{
	struct offer x = { .build_id = mem__dup_str(build_id.p, build_id.n),
			   .path = mem__dup_str(path.p, path.n),
			   .fd = fcntl(fd, F_DUPFD_CLOEXEC, 3),
			   .until_ns = now_ns + OFFERED_NS };
	struct offer *before = find(o, build_id);

	if (!x.build_id || x.fd < 0) {
		fd__close(x.fd);
		free(x.build_id);
		free(x.path);
		return;
	}
	if (before)
		forget(before);
	if (o->n == OFFERED_MAX) {
		forget(&o->v[o->first]);
		o->first = (o->first + 1) % OFFERED_MAX;
		o->n--;
	}
	o->v[(o->first + o->n++) % OFFERED_MAX] = x;
}

void offered__add(struct offered *o, struct dcm_str build_id, struct dcm_str path, int fd, int64_t now_ns)
{
	pthread_mutex_lock(&o->lock);
	shorten(o, now_ns);
	if (o->n_wanted > 0)
		add(o, build_id, path, fd, now_ns);
	pthread_mutex_unlock(&o->lock);
}

int offered__open(struct offered *o, struct dcm_str build_id, char ret_path[static PATH_MAX])
{
	struct offer *x;
	int fd = -ENOENT;

	pthread_mutex_lock(&o->lock);
	x = find(o, build_id);
	if (x) {
		fd = fcntl(x->fd, F_DUPFD_CLOEXEC, 3);
		if (fd < 0)
			fd = -errno;
		if (!x->path || strlen(x->path) >= PATH_MAX)
			ret_path[0] = '\0';
		else
			memcpy(ret_path, x->path, strlen(x->path) + 1);
	}
	pthread_mutex_unlock(&o->lock);
	return fd;
}

void offered__tend(struct offered *o, int64_t now_ns)
{
	pthread_mutex_lock(&o->lock);
	shorten(o, now_ns);
	pthread_mutex_unlock(&o->lock);
}
