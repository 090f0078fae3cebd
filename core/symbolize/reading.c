/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/reading.c - a file on its way into the symbol store
 *
 * Separate debuginfo is looked for where the file lacks symbols or lines: in the directories of the
 * configuration first, among the kept files second.
 * Threads: any; only what is constant in the store is used. Limits: those of elf.h.
 */
#include "core/symbolize/reading.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/symbolize/debuginfo.h"
#include "core/symbolize/store.h"

/* Files that belong together, by enum frames_file. */
struct parts {
	int fds[FRAMES_MAX_FILES];
	bool is_kept[FRAMES_MAX_FILES]; /* it is on disk already */
	bool is_unanswered;		/* nobody says whether another one is there */
	char found[PATH_MAX];		/* where the separate debuginfo is */
};

static const struct parts no_parts = { .fds = { -1, -1, -1, -1 } };

/* What was found, or else the file that is kept as the separate debuginfo of that build id. */
static void take_or_kept(struct symbols *s, struct parts *p, enum frames_file part, int fd,
			 const char *build_id)
{
	int kept = fd < 0 && s->depot ? depot__open(s->depot, build_id, DEPOT_DEBUG) : -ENOENT;

	p->is_unanswered |= fd == -ETIMEDOUT;
	p->is_kept[part] = kept >= 0;
	p->fds[part] = kept >= 0 ? kept : fd;
}

/* Opens what dwz moved out of the file of these facts, which lies there. */
static void find_alt(struct symbols *s, const struct debuginfo_dirs *dirs,
		     const struct debuginfo_facts *facts, struct dcm_str path, struct parts *p)
{
	char at[PATH_MAX] = "";

	if (!facts->has_dwarf || !facts->alt[0])
		return;
	if (path.n < sizeof(at))
		memcpy(at, path.p, path.n);
	take_or_kept(s, p, FRAMES_ALT, debuginfo__open_alt(dirs, facts, at), facts->alt_build_id);
}

/* Opens what was split off, where the file lacks symbols or lines. */
static void find_split(struct symbols *s, const struct debuginfo_dirs *dirs,
		       const struct debuginfo_facts *facts, struct dcm_str path, struct parts *p,
		       struct reading *ret)
{
	ret->why = DCM_UNNAMED_STRIPPED;
	if ((facts->has_dwarf && facts->has_symtab) || (dirs->n == 0 && !s->depot))
		return;
	ret->searched = true;
	take_or_kept(s, p, FRAMES_DEBUG, debuginfo__open(dirs, facts, path, p->found), facts->build_id);
	ret->found = p->fds[FRAMES_DEBUG] >= 0;
	if (!ret->found && !facts->has_symtab)
		ret->why = p->fds[FRAMES_DEBUG] == -EBADMSG ? DCM_UNNAMED_DEBUGINFO_BAD
							    : DCM_UNNAMED_NO_DEBUGINFO;
}

/* The files that belong to this one, as far as they are needed and there. */
static void find_parts(struct symbols *s, const struct debuginfo_facts *facts, struct dcm_str path,
		       struct parts *p, struct reading *ret)
{
	struct debuginfo_dirs dirs = { s->debug_dirs, s->n_debug_dirs, s->config.broker };
	struct debuginfo_facts split;

	find_split(s, &dirs, facts, path, p, ret);
	if (ret->found && debuginfo__facts(p->fds[FRAMES_DEBUG], &split) == 0 && split.has_dwarf)
		find_alt(s, &dirs, &split, str__of(p->found), p);
	else
		find_alt(s, &dirs, facts, path, p);
}

/* Hands over what is worth keeping on disk, and did not come from there. */
static void hand_over(struct symbols *s, const struct debuginfo_facts *facts, int fd,
		      struct dcm_str path, const struct parts *p)
{
	struct keeper_file file = { DEPOT_ELF, fd, facts->build_id, path };

	if (!s->keeper || !facts->build_id[0])
		return;
	if (!p->is_kept[FRAMES_ELF] &&
	    depot__wants(s->depot, facts->build_id, DEPOT_ELF, keeper__tells(facts)))
		keeper__add(s->keeper, &file);
	file.kind = DEPOT_DEBUG;
	file.fd = p->fds[FRAMES_DEBUG];
	file.path = str__of(p->found);
	if (file.fd >= 0 && !p->is_kept[FRAMES_DEBUG])
		keeper__add(s->keeper, &file);
	file.fd = p->fds[FRAMES_ALT];
	file.path = STR("");
	if (file.fd >= 0 && !p->is_kept[FRAMES_ALT])
		keeper__add(s->keeper, &file);
}

/* Keeps what can tell lines open. */
static struct debug_source *keep_open(struct symbols *s, const struct debuginfo_facts *facts,
				      int fd, struct dcm_str path, struct parts *p)
{
	struct debuginfo_facts split = { 0 };

	if (!s->config.lines)
		return NULL;
	if (p->fds[FRAMES_DEBUG] >= 0 &&
	    (debuginfo__facts(p->fds[FRAMES_DEBUG], &split) || !split.has_dwarf)) {
		close(p->fds[FRAMES_DEBUG]);
		p->fds[FRAMES_DEBUG] = -1;
	}
	if (facts->has_dwarf || facts->has_go)
		p->fds[FRAMES_ELF] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (p->fds[FRAMES_ELF] < 0 && p->fds[FRAMES_DEBUG] < 0)
		return NULL;
	if (facts->has_dwarf)
		p->fds[FRAMES_PACKAGE] = debuginfo__open_package(s->config.broker, path);
	p->is_unanswered |= p->fds[FRAMES_PACKAGE] == -ETIMEDOUT;
	struct debug_source *d = debug_source__new(p->fds);
	for (int i = 0; i < FRAMES_MAX_FILES; i++)
		p->fds[i] = -1;
	return d;
}

int reading__take(struct symbols *s, int fd, struct dcm_str path, enum reading_of what,
		  struct reading *ret)
{
	struct parts p = no_parts;
	struct debuginfo_facts facts;
	struct elf_symbols *elf = NULL;
	int rc = debuginfo__facts(fd, &facts);

	p.is_kept[FRAMES_ELF] = what == READING_KEPT;
	*ret = (struct reading){ .is_kept = what == READING_KEPT };
	if (!rc && what == READING_RIVAL && !keeper__tells(&facts)) {
		hand_over(s, &facts, fd, path, &p);
		rc = -EALREADY;
	}
	if (!rc) {
		memcpy(ret->build_id, facts.build_id, sizeof(ret->build_id));
		find_parts(s, &facts, path, &p, ret);
	}
	if (!rc)
		rc = elf__load(fd, p.fds[FRAMES_DEBUG], NULL, &elf, NULL);
	if (!rc) {
		ret->table = symbol_table__new(elf);
		rc = ret->table ? 0 : -ENOMEM;
	}
	if (!rc) {
		hand_over(s, &facts, fd, path, &p);
		ret->source = keep_open(s, &facts, fd, path, &p);
	}
	ret->is_unanswered = p.is_unanswered;
	ret->is_complete = (facts.has_symtab || ret->found) && (ret->source || !s->config.lines);
	for (int i = 0; i < FRAMES_MAX_FILES; i++)
		fd__close(p.fds[i]);
	return rc;
}

bool reading__is_better(const struct reading *r, const struct symbol_table *table,
			const struct debug_source *source)
{
	uint32_t had = elf__count(table->elf), has = elf__count(r->table->elf);

	return has >= had && (r->source || !source) && (has > had || (r->source && !source));
}

bool reading__is_worse(const struct reading *r, const struct symbol_table *table,
		       const struct debug_source *source)
{
	return elf__count(r->table->elf) < elf__count(table->elf) || (!r->source && source);
}

void reading__fini(struct reading *r)
{
	symbol_table__unref(r->table);
	debug_source__unref(r->source);
	r->table = NULL;
	r->source = NULL;
}
