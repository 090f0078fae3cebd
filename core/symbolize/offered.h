/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/offered.h - files that inputs offered, kept open a while for who wants to send them; private to this folder
 *
 * A program may end, and be in a root of its own, before anybody comes to its file. So while somebody wants them,
 * the last OFFERED_MAX files stay open for OFFERED_NS: no longer, since an open file keeps its disk space and its
 * file system. Any thread.
 */
#ifndef DECIMA_SYMBOLIZE_OFFERED_H
#define DECIMA_SYMBOLIZE_OFFERED_H

#include <limits.h>

#include <decima/plugin.h>

enum { OFFERED_MAX = 512 };
#define OFFERED_NS INT64_C(600000000000)

struct offered;

struct offered *offered__new(void); /* NULL: no memory */
void offered__free(struct offered *o);

/* How many want them, more or fewer; when nobody does, all are closed. */
void offered__want(struct offered *o, int by);
/* fd and texts are borrowed; a file of the same build id is replaced. Nothing, when nobody wants them. */
void offered__add(struct offered *o, struct dcm_str build_id, struct dcm_str path, int fd, int64_t now_ns);
/* A descriptor of its own, and where its process sees the file (""); -ENOENT, or of duplicating. */
int offered__open(struct offered *o, struct dcm_str build_id, char ret_path[static PATH_MAX]);
/* Closes those that were open long enough; cheap. */
void offered__tend(struct offered *o, int64_t now_ns);

#endif
