/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/provide.c - what names the addresses of a build id, as a file to be sent
 *
 * What is kept on disk is reduced already. Otherwise it is reduced now: from the file that an input offered, which
 * may be in another root and deleted since, or from its path, if that still leads to the build id; from its separate
 * debuginfo, where that tells more. `reduce` parses it, a process without rights where there is one.
 *
 * Threads: any; one file is reduced at a time. Limits: REDUCE_NS, the wish's max_bytes, the reducer's own.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/broker/rights.h"
#include "core/debuginfo/sending.h"
#include "core/symbolize/debuginfo.h"
#include "core/symbolize/keeper.h"
#include "core/symbolize/offered.h"
#include "core/symbolize/store.h"

#define REDUCE_NS INT64_C(20000000000)

/* A file that could be sent, and what is known of it. */
struct find {
	int fd;
	char path[PATH_MAX];
	struct debuginfo_facts facts;
	unsigned tells; /* DEPOT_SYMTAB, ... */
};

void symbols__want_files(struct symbols *s, bool wanted)
{
	offered__want(s->offered, wanted ? 1 : -1);
}

static int too_large(uint64_t bytes, uint64_t max_bytes, struct dcm_error *err)
{
	char size[48], most[48];

	return error__set(err, -EFBIG, "reduced, it has %s, and %s may be sent",
			  units__format_value((double)bytes, STR("bytes"), size),
			  units__format_value((double)max_bytes, STR("bytes"), most));
}

/* Takes fd on success. */
static int hand_over(int fd, const struct symbols_wish *w, struct symbols_provided *ret,
		     struct dcm_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error__sys(err, -errno, "it cannot be read");
	if (w->max_bytes && (uint64_t)st.st_size > w->max_bytes)
		return too_large((uint64_t)st.st_size, w->max_bytes, err);
	*ret = (struct symbols_provided){ fd, (uint64_t)st.st_size };
	return 0;
}

/* --- what is kept --- */

static int rank(int tells)
{
	return tells < 0 ? -1
			 : (tells & DEPOT_DWARF ? 4 : 0) + (tells & DEPOT_SYMTAB ? 2 : 0) +
				   (tells & DEPOT_GO ? 1 : 0);
}

/* The better one of what is kept; -ENOENT. */
static int open_kept(struct symbols *s, const char *build_id)
{
	enum depot_kind kind;

	if (!s->depot)
		return -ENOENT;
	kind = rank(depot__tells(s->depot, build_id, DEPOT_DEBUG)) >
			       rank(depot__tells(s->depot, build_id, DEPOT_ELF))
		       ? DEPOT_DEBUG
		       : DEPOT_ELF;
	return depot__open(s->depot, build_id, kind);
}

/* --- what is there --- */

static int open_file(struct symbols *s, const struct symbols_wish *w, const char *build_id,
		     struct find *ret, struct dcm_error *err)
{
	ret->fd = offered__open(s->offered, w->build_id, ret->path);
	if (ret->fd >= 0)
		return 0;
	if (w->path.n == 0 || w->path.n >= PATH_MAX || w->path.p[0] != '/')
		return error__set(err, -ENOENT, "no file of it was met here");
	memcpy(ret->path, w->path.p, w->path.n);
	ret->path[w->path.n] = '\0';
	ret->fd = rights__open_named(s->config.broker, ret->path);
	if (ret->fd < 0)
		return error__set(err, -ENOENT, "its file cannot be opened any more: %s",
				  strerror(-ret->fd));
	if (elf__build_id(ret->fd, ret->facts.build_id) < 0 || strcmp(ret->facts.build_id, build_id) != 0)
		return error__set(err, -ENOENT, "another file is at its path by now");
	return 0;
}

/* In the place of a file that lacks symbols or lines, what was split off it, where that tells more. */
static int prefer_split(struct symbols *s, struct find *f)
{
	const struct debuginfo_dirs dirs = { s->debug_dirs, s->n_debug_dirs, s->config.broker };
	CLEANUP(mem__freep) struct debuginfo_facts *split = NULL;
	CLEANUP(fd__closep) int fd = -1;
	char found[PATH_MAX];

	if (f->facts.has_symtab && f->facts.has_dwarf)
		return 0;
	fd = debuginfo__open(&dirs, &f->facts, str__of(f->path), found);
	if (fd < 0)
		return 0;
	split = NEW(struct debuginfo_facts);
	if (!split)
		return -ENOMEM;
	if (debuginfo__facts(fd, split) < 0 || rank((int)keeper__tells(split)) <= rank((int)f->tells))
		return 0;
	/* What is found by a link may have no build id of its own, and could not be told apart. */
	if (strcmp(split->build_id, f->facts.build_id) != 0)
		return 0;
	fd__close(f->fd);
	f->fd = take_fd(fd);
	f->tells = keeper__tells(split);
	return 0;
}

static int look(struct symbols *s, struct find *f, struct dcm_error *err)
{
	int rc = debuginfo__facts(f->fd, &f->facts);

	if (rc)
		return error__sys(err, rc, "it cannot be read");
	f->tells = keeper__tells(&f->facts);
	if (prefer_split(s, f))
		return error__nomem(err);
	if (!f->tells)
		return error__set(
			err, -ENODATA,
			"nothing in it names an address: it is stripped, and its separate "
			"debuginfo is not in symbols.debuginfo");
	return 0;
}

static int explain(int rc, struct dcm_error *err)
{
	switch (rc) {
	case -ENODATA:
		return error__set(err, rc, "nothing in it names an address");
	case -EFBIG:
		return error__set(err, rc, "reduced, it is larger than half of symbols.max_bytes");
	case -ETIMEDOUT:
		return error__set(err, rc, "reducing it took too long");
	case -ECANCELED:
		return error__set(err, rc, "nobody waits for it any more");
	case -EPIPE:
	case -EBUSY:
		return error__set(err, -EAGAIN, "who reduces files has no time");
	case -EPROTO:
		return error__set(err, -ENOEXEC, "who read it died of it: it is damaged, or hostile");
	default:
		return error__sys(err, rc, "it cannot be reduced");
	}
}

static int reduce(struct symbols *s, const struct symbols_wish *w, int in_fd,
		  struct symbols_provided *ret, struct dcm_error *err)
{
	const struct keeper_config how = { .reduce = s->config.reduce,
					   .reduce_ctx = s->config.reduce_ctx };
	CLEANUP(fd__closep) int out = sending__open_nameless(s->config.temporary_dir, err);
	int rc;

	if (out < 0)
		return out;
	pthread_mutex_lock(&s->providing);
	rc = w->stop && w->stop(w->stop_ctx)
		     ? -ECANCELED
		     : keeper__reduce(&how, &(struct symbols_reduction){ in_fd, out, NULL, REDUCE_NS,
									 w->stop, w->stop_ctx });
	pthread_mutex_unlock(&s->providing);
	rc = rc ? explain(rc, err) : hand_over(out, w, ret, err);
	if (rc == 0)
		take_fd(out);
	return rc;
}

static int provide(struct symbols *s, const struct symbols_wish *w, const char *build_id,
		   struct symbols_provided *ret, struct dcm_error *err)
{
	CLEANUP(mem__freep) struct find *f = NEW(struct find);
	CLEANUP(fd__closep) int kept = open_kept(s, build_id);
	int rc;

	if (!f)
		return error__nomem(err);
	f->fd = -1;
	if (kept >= 0) {
		rc = hand_over(kept, w, ret, err);
		if (rc == 0)
			take_fd(kept);
		return rc;
	}
	rc = open_file(s, w, build_id, f, err);
	if (rc == 0)
		rc = look(s, f, err);
	if (rc == 0)
		rc = reduce(s, w, f->fd, ret, err);
	fd__close(f->fd);
	return rc;
}

int symbols__provide(struct symbols *s, const struct symbols_wish *w, struct symbols_provided *ret,
		     struct dcm_error *err)
{
	char build_id[ELF_BUILD_ID_TEXT];

	if (w->build_id.n == 0 || w->build_id.n >= sizeof(build_id) || w->build_id.p[0] == '~')
		return error__set(err, -ENOENT, "it has no build id");
	memcpy(build_id, w->build_id.p, w->build_id.n);
	build_id[w->build_id.n] = '\0';
	return provide(s, w, build_id, ret, err);
}
