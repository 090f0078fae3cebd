/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/later.c - files to be read again, since nobody said whether they have debuginfo
 */
#include "core/symbolize/later.h"

#include <fcntl.h>
#include <stdlib.h>

#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/base/str.h"

void later_file__free(struct later_file *f)
{
	if (!f)
		return;
	fd__close(f->fd);
	free(f->build_id);
	free(f->path);
	free(f);
}

void later__put(struct later *l, struct later_file *f)
{
	struct later_file **at = &l->first;

	while (*at && (*at)->due_ns <= f->due_ns)
		at = &(*at)->next;
	f->next = *at;
	*at = f;
	l->n++;
}

bool later__add(struct later *l, struct dcm_str build_id, struct dcm_str path, int fd, int64_t due_ns)
{
	struct later_file *f = l->n < LATER_MAX_FILES ? NEW(struct later_file) : NULL;

	if (!f)
		return false;
	f->due_ns = due_ns;
	f->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	f->build_id = mem__dup_str(build_id.p, build_id.n);
	f->path = mem__dup_str(path.p, path.n);
	if (f->fd < 0 || !f->build_id || !f->path) {
		later_file__free(f);
		return false;
	}
	later__put(l, f);
	return true;
}

void later__drop(struct later *l, struct dcm_str build_id)
{
	for (struct later_file **at = &l->first; *at; at = &(*at)->next) {
		struct later_file *f = *at;

		if (!str__eq(str__of(f->build_id), build_id))
			continue;
		*at = f->next;
		l->n--;
		later_file__free(f);
		return;
	}
}

struct later_file *later__pop(struct later *l, int64_t now_ns)
{
	struct later_file *f = l->first;

	if (!f || f->due_ns > now_ns)
		return NULL;
	l->first = f->next;
	l->n--;
	return f;
}

void later__fini(struct later *l)
{
	while (l->first)
		later_file__free(later__pop(l, INT64_MAX));
}
