/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/cgroups.c - paths of control groups by the id that samples carry
 *
 * The host finds a directory by its id, which is its handle since 5.5.
 */
#include "plugins/input/ebpf/cgroups.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"

enum {
	SLOTS = 4096,
	ROOT_ID = 1, /* also what every process has where the hierarchy is not in use */
};

struct slot {
	uint64_t id;
	char *path;
};

struct cgroups {
	const struct dcm_host *host;
	int root;	    /* of the unified hierarchy; -1: not mounted */
	char root_path[32]; /* where it is mounted */
	struct slot slots[SLOTS];
};

static int open_root(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;

	if (fd >= 0 && fstatfs(fd, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC)
		return fd;
	fd__close(fd);
	return -1;
}

struct cgroups *cgroups__new(const struct dcm_host *host)
{
	static const char *const places[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	struct cgroups *c = NEW(struct cgroups);

	if (!c)
		return NULL;
	c->host = host;
	c->root = -1;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places) && c->root < 0; i++) {
		c->root = open_root(places[i]);
		snprintf(c->root_path, sizeof(c->root_path), "%s", places[i]);
	}
	return c;
}

void cgroups__free(struct cgroups *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < SLOTS; i++)
		free(c->slots[i].path);
	fd__close(c->root);
	free(c);
}

static struct slot *slot_of(struct cgroups *c, uint64_t id)
{
	return &c->slots[hash__mix(0, id) % SLOTS];
}

/* The name of the directory with that number, or NULL. */
static char *find_path(const struct cgroups *c, uint64_t id)
{
	const struct dcm_guarded g = {
		.size = sizeof(g), .what = DCM_GUARDED_CGROUP, .dir = c->root, .start = id
	};
	char self[32], link[PATH_MAX];
	size_t n_root = strlen(c->root_path);
	ssize_t n;
	int fd;

	fd = c->host->open_guarded(c->host, &g);
	if (fd < 0)
		return NULL;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	n = readlink(self, link, sizeof(link) - 1);
	fd__close(fd);
	if (n <= (ssize_t)n_root || strncmp(link, c->root_path, n_root) != 0 || link[n_root] != '/')
		return NULL;
	link[n] = 0;
	str__clean(link, (size_t)n);
	return mem__dup_str(link + n_root, (size_t)n - n_root);
}

const char *cgroups__path(struct cgroups *c, uint64_t id)
{
	struct slot *s = slot_of(c, id);
	char *path;

	if (id <= ROOT_ID)
		return NULL;
	if (s->path && s->id == id)
		return s->path;
	path = c->root >= 0 ? find_path(c, id) : NULL;
	if (!path)
		return NULL;
	free(s->path);
	*s = (struct slot){ id, path };
	return path;
}

/* The directory of that path has the number, which is that of its inode since 5.5. */
static bool is_path_of(const struct cgroups *c, uint64_t id, const char *path)
{
	struct stat st;

	return c->root >= 0 && path[0] == '/' && path[1] &&
	       fstatat(c->root, path + 1, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == id;
}

void cgroups__learn(struct cgroups *c, uint64_t id, const char *path)
{
	struct slot *s = slot_of(c, id);
	char *copy = NULL;

	if (id > ROOT_ID && path && is_path_of(c, id, path))
		copy = mem__dup_str(path, strlen(path));
	if (!copy)
		return;
	free(s->path);
	*s = (struct slot){ id, copy };
}
