/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/upload.c - a file that a stranger sent, into the depot, and the names it brings; and what is kept already
 *
 * The file goes to `reduce` first, a process without rights where there is one; what comes back is
 * read like every file that is kept. Then it is compared with what is kept of its build id. Anybody
 * can write a build id into a file: so an upload names what has no name, and adds lines, but what a
 * symbol table has named keeps its name until an administrator says otherwise.
 *
 * Threads: any; one upload at a time. Limits: REDUCE_NS, those of elf.h, and REREAD_NS until the
 * worker has read what is new.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "core/base/cond.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/hash.h"
#include "core/base/str.h"
#include "core/symbolize/debuginfo.h"
#include "core/symbolize/kept.h"

#define REDUCE_NS INT64_C(20000000000)
enum { REREAD_S = 5 };

/* The reduced file, not in its place yet. */
struct candidate {
	struct depot_put put;
	struct debuginfo_facts facts;
	struct elf_symbols *elf;
	unsigned tells; /* DEPOT_SYMTAB, ... */
	enum depot_kind kind;
};

/* How a candidate stands to a file that is kept: from the third on, that one would have to go. */
enum standing { STANDS_FREE, STANDS_KNOWN, STANDS_LESS, STANDS_OTHERWISE };

struct judgement {
	enum standing standing[DEPOT_N_KINDS], worst;
	bool known;
	unsigned tells; /* what has to go */
	enum symbols_upload_fate fate;
};

/* --- what it is --- */

static bool begins_as_elf(int fd)
{
	char head[4];

	return fd__pread_full(fd, head, sizeof(head), 0) == 0 && memcmp(head, "\177ELF", 4) == 0;
}

/* Go's table adds nothing to DWARF. */
static unsigned worth(unsigned tells)
{
	return tells & DEPOT_DWARF ? tells & ~(unsigned)DEPOT_GO : tells;
}

static const char *words_for(unsigned tells)
{
	bool functions = tells & (DEPOT_SYMTAB | DEPOT_GO), lines = tells & (DEPOT_DWARF | DEPOT_GO);

	return functions && lines ? "functions and lines" : functions ? "functions" : "lines";
}

static int reduce(struct symbols *s, const struct symbols_upload *u, struct candidate *c)
{
	const struct keeper_config how = { .reduce = s->config.reduce,
					   .reduce_ctx = s->config.reduce_ctx };

	return keeper__reduce(&how, &(struct symbols_reduction){ u->fd, c->put.fd,
								 u->is_assigned ? u->build_id : NULL,
								 REDUCE_NS, u->stop, u->stop_ctx });
}

static int read_reduced(struct candidate *c)
{
	int rc = debuginfo__facts(c->put.fd, &c->facts);

	if (!rc)
		rc = elf__load(c->put.fd, -1, NULL, &c->elf, NULL);
	if (rc)
		return rc;
	c->tells = keeper__tells(&c->facts);
	c->kind = c->tells & (DEPOT_SYMTAB | DEPOT_DWARF) ? DEPOT_DEBUG : DEPOT_ELF;
	/* What a stripped file exports, it names without being sent. */
	if (!c->tells)
		return -ENOMSG;
	return c->facts.build_id[0] ? 0 : -ENODATA;
}

static int explain(struct symbols *s, int rc, struct dcm_error *err)
{
	struct depot_stat depot;

	switch (rc) {
	case -ENOMEM:
		return error__set(err, rc, "no memory to reduce it: it is too large, or damaged");
	case -ENOEXEC:
		return error__set(err, rc, "not an ELF file that can be read");
	case -EINVAL:
		return error__set(
			err, rc, "neither a program nor a library: its addresses are not final; give the linked file");
	case -ENODATA:
		return error__set(err, rc, "it has no build id; link it with -Wl,--build-id");
	case -ENXIO:
		return error__set(
			err, rc, "its build id is another one than was announced; name the file's own");
	case -ENOMSG:
		return error__set(
			err, rc,
			"nothing in it names an address: it is stripped, or cut off; give the "
			"file with symbols, or its separate debuginfo");
	case -ETIMEDOUT:
		return error__set(
			err, rc, "reducing it took too long; reduce it with `decima debuginfo extract`");
	case -EFBIG:
		return error__set(err, rc,
				  "reduced, it is larger than half of symbols.max_bytes, or its "
				  "symbols need more memory than a file may have");
	case -EPIPE:
		return error__set(err, -EAGAIN,
				  "who reduces files has died; try again, and if that does not "
				  "help, restart decima");
	case -EBUSY:
		return error__set(err, -EAGAIN, "who reduces files has no time; try again in a moment");
	case -EPROTO:
		return error__set(err, rc, "who read it died of it: it is damaged, or hostile");
	case -ECANCELED:
		return error__set(err, rc, "nobody waits for it any more");
	case -EROFS:
		depot__stat(s->depot, &depot);
		return error__set(err, rc, "it cannot be kept: %s", depot.state);
	default:
		return error__sys(err, rc, "it cannot be kept");
	}
}

/* --- and what is kept --- */

static bool has_same_bytes(int a, int b, uint64_t n)
{
	char x[4096], y[4096];

	for (uint64_t at = 0; at < n; at += sizeof(x)) {
		size_t part = n - at < sizeof(x) ? (size_t)(n - at) : sizeof(x);

		if (fd__pread_full(a, x, part, at) || fd__pread_full(b, y, part, at) ||
		    memcmp(x, y, part) != 0)
			return false;
	}
	return true;
}

/* The same names; files without any by their bytes (what is kept has a trailer behind them). */
static bool says_the_same(const struct candidate *c, int kept_fd, const struct elf_symbols *kept)
{
	struct stat st;

	if (elf__count(c->elf) || elf__count(kept))
		return elf__agrees(c->elf, kept) && elf__agrees(kept, c->elf);
	return fstat(c->put.fd, &st) == 0 && has_same_bytes(c->put.fd, kept_fd, (uint64_t)st.st_size);
}

/* fd: of what is kept. 0 or -ENOMEM. */
static int stand_to(const struct candidate *c, enum depot_kind kind, int fd, unsigned tells,
		    enum standing *ret)
{
	CLEANUP(elf__freep) struct elf_symbols *kept = NULL;
	unsigned mine = worth(c->tells), theirs = worth(tells);
	int rc = elf__load(fd, -1, NULL, &kept, NULL);

	if (rc)
		return rc == -ENOMEM ? rc : 0;
	if (mine == theirs && says_the_same(c, fd, kept))
		*ret = STANDS_KNOWN;
	/* Exported functions go by several names; which is taken depends on what else is there. */
	else if ((theirs & DEPOT_SYMTAB) && (mine & DEPOT_SYMTAB) && !elf__agrees(kept, c->elf))
		*ret = STANDS_OTHERWISE;
	else if (mine == theirs)
		*ret = STANDS_OTHERWISE;
	else if (!(mine & ~theirs) || (kind == c->kind && (theirs & ~mine)))
		*ret = STANDS_LESS;
	return 0;
}

/* 0 or -ENOMEM. */
static int compare(struct symbols *s, const struct candidate *c, enum depot_kind kind,
		   struct judgement *j)
{
	CLEANUP(fd__closep) int fd = depot__open(s->depot, c->facts.build_id, kind);
	int has = fd < 0 ? -1 : depot__tells(s->depot, c->facts.build_id, kind);
	enum standing standing = STANDS_FREE;
	int rc = has < 0 ? 0 : stand_to(c, kind, fd, (unsigned)has, &standing);

	j->standing[kind] = standing;
	if (standing == STANDS_KNOWN)
		j->known = true;
	if (standing >= STANDS_LESS) {
		j->worst = standing > j->worst ? standing : j->worst;
		j->tells = (unsigned)has;
	}
	return fd == -ENOMEM ? fd : rc;
}

static int refuse(const struct candidate *c, const struct judgement *j, struct dcm_error *err)
{
	static const char remedy[] = "it stays unless an administrator has it replaced";

	if (j->worst == STANDS_OTHERWISE)
		return error__set(err, -EEXIST,
				  "another file is kept of build id %s, which names its addresses "
				  "otherwise; %s",
				  c->facts.build_id, remedy);
	return error__set(err, -EEXIST,
			  "what is kept of build id %s tells more: it has %s, this file has %s; %s",
			  c->facts.build_id, words_for(j->tells), words_for(c->tells), remedy);
}

/* 0, -ENOMEM, or -EEXIST. */
static int judge(struct symbols *s, const struct candidate *c, bool replace, struct judgement *ret,
		 struct dcm_error *err)
{
	for (enum depot_kind kind = 0; kind < DEPOT_N_KINDS; kind++) {
		int rc = compare(s, c, kind, ret);

		if (rc)
			return explain(s, rc, err);
	}
	ret->fate = ret->known	 ? SYMBOLS_UPLOAD_KNOWN
		    : ret->worst ? SYMBOLS_UPLOAD_REPLACED
				 : SYMBOLS_UPLOAD_STORED;
	return ret->fate != SYMBOLS_UPLOAD_REPLACED || replace ? 0 : refuse(c, ret, err);
}

/* --- names --- */

/* Until the worker has read it, or a while. Under the lock. */
static void await_reading(struct symbols *s, struct dcm_str id, uint64_t hash)
{
	const struct file_entry *e = file_table__find(&s->files, id, hash);
	const struct timespec until = cond__after(REREAD_S * INT64_C(1000000000));

	while (e && e->state == FILE_QUEUED && !s->stop &&
	       pthread_cond_timedwait(&s->done, &s->lock, &until) != ETIMEDOUT)
		e = file_table__find(&s->files, id, hash);
}

/*
 * What was found before, or not found, counts no more. A file that nobody has asked for yet is read
 * when somebody does.
 */
static void renew(struct symbols *s, const char *build_id, bool afresh)
{
	struct dcm_str id = str__of(build_id);
	uint64_t hash = hash__bytes(id.p, id.n, 0);
	struct file_entry *e;

	if (afresh && s->scribe)
		scribe__forget(s->scribe, build_id);
	pthread_mutex_lock(&s->lock);
	e = file_table__find(&s->files, id, hash);
	if (e && e->state == FILE_QUEUED)
		e->again = afresh ? FILE_READ_AFRESH : FILE_READ_AGAIN;
	else if (e && (afresh || e->state != FILE_READY || !e->is_complete))
		kept__read(s, e, afresh);
	await_reading(s, id, hash);
	pthread_mutex_unlock(&s->lock);
	pthread_mutex_lock(&s->learned_lock);
	learned__doubt(&s->learned, id, afresh);
	pthread_mutex_unlock(&s->learned_lock);
}

/* --- all of it --- */

/* Puts it where it belongs; a file of the other kind that would speak instead of it goes. */
static int put_in_place(struct symbols *s, struct candidate *c, const struct judgement *j)
{
	enum depot_kind other = c->kind == DEPOT_ELF ? DEPOT_DEBUG : DEPOT_ELF;
	int rc = depot__end(s->depot, &c->put, c->facts.build_id, c->kind, c->tells);

	if (!rc && j->standing[other] >= STANDS_LESS)
		depot__remove(s->depot, c->facts.build_id, other);
	return rc;
}

static int take(struct symbols *s, const struct symbols_upload *u, struct candidate *c,
		struct symbols_uploaded *ret, struct dcm_error *err)
{
	struct judgement j = { 0 };
	struct stat st;
	int rc = reduce(s, u, c);

	if (!rc)
		rc = read_reduced(c);
	if (!rc && u->build_id && strcmp(u->build_id, c->facts.build_id) != 0)
		rc = -ENXIO;
	if (!rc && fstat(c->put.fd, &st) < 0)
		rc = -errno;
	/* As extract.h says it: of a stripped file nothing is left. */
	if (rc)
		return explain(s, rc == -ENODATA && !c->elf ? -ENOMSG : rc, err);
	rc = judge(s, c, u->replace, &j, err);
	if (rc)
		return rc;
	if (j.fate != SYMBOLS_UPLOAD_KNOWN)
		rc = put_in_place(s, c, &j);
	if (rc)
		return explain(s, rc, err);
	*ret = (struct symbols_uploaded){ .fate = j.fate,
					  .functions = elf__count(c->elf) > 0,
					  .lines = c->tells & (DEPOT_DWARF | DEPOT_GO),
					  .bytes = (uint64_t)st.st_size };
	memcpy(ret->build_id, c->facts.build_id, sizeof(ret->build_id));
	if (j.fate != SYMBOLS_UPLOAD_KNOWN)
		renew(s, ret->build_id, j.fate == SYMBOLS_UPLOAD_REPLACED);
	return 0;
}

int symbols__upload(struct symbols *s, const struct symbols_upload *upload,
		    struct symbols_uploaded *ret, struct dcm_error *err)
{
	struct candidate c = { .put.fd = -1 };
	int rc;

	if (!s->keeper)
		return error__set(
			err, -ENOTSUP,
			"nothing is kept here: symbols.max_bytes is 0, symbols.files is false, "
			"or there is no data directory that this process writes");
	if (!begins_as_elf(upload->fd))
		return explain(s, -ENOEXEC, err);
	pthread_mutex_lock(&s->uploading);
	rc = depot__begin(s->depot, &c.put);
	rc = rc ? explain(s, rc, err) : take(s, upload, &c, ret, err);
	depot__abort(s->depot, &c.put, rc);
	pthread_mutex_unlock(&s->uploading);
	elf__free(c.elf);
	return rc;
}

int symbols__kept(struct symbols *s, const char *build_id)
{
	unsigned tells = 0;
	bool is_kept = false;

	if (!s->keeper)
		return -ENOTSUP;
	for (enum depot_kind kind = 0; kind < DEPOT_N_KINDS; kind++) {
		int has = depot__tells(s->depot, build_id, kind);

		is_kept = is_kept || has > 0;
		tells |= has > 0 ? (unsigned)has : 0;
	}
	if (!is_kept)
		return -ENOENT;
	return tells & (DEPOT_DWARF | DEPOT_GO) ? SYMBOLS_KEPT_LINES : 0;
}
