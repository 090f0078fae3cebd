/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/family.c - what processes have forked since a moment
 */
#include "plugins/input/ebpf/family.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include "core/base/str.h"
#include "core/base/units.h"
#include "core/base/vec.h"
#include "plugins/input/ebpf/procfs.h"

enum { LOOKS_MAX = 16 }; /* who forks all the time is followed by the program */

struct member {
	uint32_t pid, parent;
	uint64_t start_ns;
	bool belongs;
};

struct family {
	VEC(struct member)
	members; /* ascending; those that were named, and all that is young enough */
};

static int by_pid(const void *a, const void *b)
{
	uint32_t x = ((const struct member *)a)->pid, y = ((const struct member *)b)->pid;

	return (x > y) - (x < y);
}

/* Nothing of one that has ended meanwhile, or is hidden from us. */
static int read_one(struct family *f, struct dcm_str name, uint64_t since_ns)
{
	struct member m = { 0 };
	int64_t pid;
	int r;

	if (units__parse_int(name, "", &pid) < 0)
		return 0;
	m.pid = (uint32_t)pid;
	r = procfs__parent(m.pid, &m.parent, &m.start_ns);
	if (r == -ESRCH || r == -EACCES || r == -EPERM)
		return 0;
	if (r == 0 && m.start_ns >= since_ns && !vec__push(&f->members, m))
		r = -ENOMEM;
	return r;
}

static int read_young(struct family *f, uint64_t since_ns)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	int r = 0;

	if (!proc)
		return -errno;
	do {
		errno = 0;
		e = readdir(proc);
		r = e ? read_one(f, str__of(e->d_name), since_ns) : -errno;
	} while (e && r == 0);
	closedir(proc);
	return r;
}

/* A process that was named and is young is there twice. */
static bool parent_belongs(const struct family *f, uint32_t parent)
{
	const struct member key = { .pid = parent }, *at;

	at = f->members.n ? bsearch(&key, f->members.v, f->members.n, sizeof(key), by_pid) : NULL;
	if (!at)
		return false;
	return at->belongs || (at > f->members.v && by_pid(at - 1, &key) == 0 && at[-1].belongs) ||
	       (at + 1 < f->members.v + f->members.n && by_pid(at + 1, &key) == 0 && at[1].belongs);
}

static bool is_there(const struct member *m)
{
	uint64_t start_ns;
	int r = procfs__start(m->pid, &start_ns);

	return r == 0 ? start_ns == m->start_ns : r != -ESRCH;
}

/* Most parents come before their children: more than one turn is rare. */
static int take_all(struct family *f, family_fn *take, void *ctx, bool *ret_news)
{
	for (bool joined = true; joined;) {
		joined = false;
		for (size_t i = 0; i < f->members.n; i++) {
			struct member *m = &f->members.v[i];
			int r;

			if (m->belongs || !parent_belongs(f, m->parent))
				continue;
			m->belongs = joined = true;
			r = take(ctx, m->pid, true);
			if (r > 0 && !is_there(m))
				r = take(ctx, m->pid, false);
			if (r < 0)
				return r;
			*ret_news |= r > 0;
		}
	}
	return 0;
}

static int look(const int64_t *pids, uint32_t n, uint64_t since_ns, family_fn *take, void *ctx,
		bool *ret_news)
{
	struct family f = { 0 };
	int r = 0;

	for (uint32_t i = 0; i < n && r == 0; i++)
		if (!vec__push(&f.members, (struct member){ .pid = (uint32_t)pids[i], .belongs = true }))
			r = -ENOMEM;
	if (r == 0)
		r = read_young(&f, since_ns);
	if (r == 0 && f.members.n) {
		qsort(f.members.v, f.members.n, sizeof(*f.members.v), by_pid);
		r = take_all(&f, take, ctx, ret_news);
	}
	vec__fini(&f.members);
	return r;
}

int family__since(const int64_t *pids, uint32_t n, uint64_t since_ns, family_fn *take, void *ctx)
{
	bool has_news = true;
	int r = 0;

	for (int i = 0; i < LOOKS_MAX && has_news && r == 0; i++) {
		has_news = false;
		r = look(pids, n, since_ns, take, ctx, &has_news);
	}
	return r;
}
