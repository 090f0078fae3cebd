/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/elf_walk.c - fts(3), and four bytes of each file
 */
#include "core/main/elf_walk.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/mem.h"

static int add(struct elf_walk *w, const char *path, bool named, struct dcm_error *err)
{
	if (w->n == ELF_WALK_MAX)
		return error__set(err, -E2BIG, "%s: there are more than %d files; name fewer directories at once",
				  path, ELF_WALK_MAX);
	if (w->n == w->cap) {
		uint32_t cap = w->cap ? 2 * w->cap : 16;
		struct elf_walk_file *v = realloc(w->v, cap * sizeof(*v));

		if (!v)
			return error__nomem(err);
		w->v = v;
		w->cap = cap;
	}
	w->v[w->n] = (struct elf_walk_file){ strdup(path), named };
	if (!w->v[w->n].path)
		return error__nomem(err);
	w->n++;
	return 0;
}

static bool begins_as_elf(const char *path)
{
	CLEANUP(fd__closep) int fd = fd__open_regular(path);
	char head[4];

	return fd >= 0 && fd__pread_full(fd, head, sizeof(head), 0) == 0 &&
	       memcmp(head, "\177ELF", sizeof(head)) == 0;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int take(struct elf_walk *w, const FTSENT *e, struct dcm_error *err)
{
	switch (e->fts_info) {
	case FTS_D:
		w->has_dirs = true;
		return 0;
	case FTS_DP:
	case FTS_DC:
		return 0;
	case FTS_F:
		if (e->fts_level == FTS_ROOTLEVEL || begins_as_elf(e->fts_path))
			return add(w, e->fts_path, e->fts_level == FTS_ROOTLEVEL, err);
		return 0;
	case FTS_DNR:
	case FTS_NS:
	case FTS_ERR:
		return add(w, e->fts_path, true, err);
	default:
		/* Links and devices, of which the command line may name one. */
		return e->fts_level == FTS_ROOTLEVEL ? add(w, e->fts_path, true, err) : 0;
	}
}

int elf_walk__add(struct elf_walk *w, const char *path, struct dcm_error *err)
{
	char *const roots[] = { (char *)path, NULL };
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
	const FTSENT *e;
	int r = 0;

	if (!fts)
		return error__sys(err, -errno, "%s: cannot be looked through", path);
	while (r == 0 && (e = fts_read(fts)))
		r = take(w, e, err);
	fts_close(fts);
	return r;
}

void elf_walk__fini(struct elf_walk *w)
{
	for (uint32_t i = 0; i < w->n; i++)
		free(w->v[i].path);
	free(w->v);
	*w = (struct elf_walk){ 0 };
}
