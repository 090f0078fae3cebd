/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/sim_disk.c - a disk in memory that keeps what was promised and no more
 *
 * Files are few and names short, so names are searched one by one. The bytes of unsynced writes lie
 * in one buffer that is emptied at each restart; a file's state is copied when it is synced, only
 * where it changed.
 */
#include "tests/storage/sim_disk.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/vec.h"

enum { SECTOR = 512, NAME_BYTES = 48 };

enum write_kind { WRITE_BYTES, WRITE_SIZE };
struct unsynced {
	enum write_kind kind;
	size_t offset, n; /* of WRITE_SIZE: n is the size */
	size_t at;	  /* in sim.bytes */
};

struct content {
	uint8_t *p;
	size_t n, cap;
};

struct inode {
	struct content seen, kept;
	VEC(struct unsynced) writes;
	size_t noted; /* to here it was written, and synced */
	bool locked;
	struct inode *next;
};

struct name {
	char path[NAME_BYTES];
	struct inode *inode; /* NULL: a directory */
};

enum change_kind { CHANGE_ADD, CHANGE_REMOVE, CHANGE_MOVE };
struct change {
	enum change_kind kind;
	char path[NAME_BYTES], to[NAME_BYTES];
	struct inode *inode;
};

typedef VEC(struct name) names;

struct sim {
	struct vfs vfs;
	enum sim_model model;
	struct random random;
	struct inode *inodes;
	names seen, kept;
	VEC(struct change) changes; /* of names, not synced, in their order */
	struct buf bytes;	    /* of unsynced writes */
	uint64_t n_calls, fail_at, cut_at, abort_at, n_shared;
	enum sim_fault fault;
	bool persistent, failed, vanished, read_only;
	char away[NAME_BYTES];	      /* a directory in it that is not there; "": none */
	char failed_path[NAME_BYTES]; /* of the first call that failed */
	unsigned skip, n_open;
	struct vfs_room room;
	bool vouched; /* a segment was synced since the last restart */
};

struct sim_file {
	struct vfs_file file;
	struct inode *inode;
	char path[NAME_BYTES];
	bool writable;
};

static struct sim *of(struct vfs *v)
{
	return (struct sim *)v;
}

static struct sim_file *sim_file(struct vfs_file *f)
{
	return (struct sim_file *)f;
}

static bool coin(struct sim *s)
{
	return random__next(&s->random) & 1;
}

/* ---- faults ---- */

static bool is_aborted(const struct sim *s)
{
	return s->abort_at && s->n_calls >= s->abort_at;
}

static const int fault_codes[N_FAULTS] = {
	[FAULT_EIO] = -EIO,
	[FAULT_ENOSPC] = -ENOSPC,
	[FAULT_EROFS] = -EROFS,
	[FAULT_EINTR] = -EINTR,
};

/*
 * What this call has to return; 0 when it is to be done. FAULT_SHORT is the caller's: *ret_short.
 */
static int gate(struct sim *s, const char *path, bool *ret_short)
{
	uint64_t n = ++s->n_calls;

	if (s->cut_at && n >= s->cut_at)
		return -EIO;
	if (is_aborted(s))
		s->failed = s->read_only = true;
	if (s->fault == FAULT_NONE || !s->fail_at || n < s->fail_at || (n > s->fail_at && !s->persistent))
		return 0;
	if (!s->failed)
		snprintf(s->failed_path, sizeof(s->failed_path), "%s", path);
	s->failed = true;
	if (s->fault == FAULT_SHORT && ret_short)
		*ret_short = true;
	return fault_codes[s->fault];
}

bool sim__is_cut(const struct sim *s)
{
	return s->cut_at && s->n_calls >= s->cut_at;
}

/* ---- content ---- */

static int reserve(struct content *c, size_t n)
{
	size_t cap = n + n / 2 + 256;
	uint8_t *p;

	if (n <= c->cap)
		return 0;
	p = realloc(c->p, cap);
	if (!p)
		return -ENOMEM;
	c->p = p;
	c->cap = cap;
	return 0;
}

static int resize(struct content *c, size_t n)
{
	if (reserve(c, n))
		return -ENOMEM;
	if (n > c->n)
		memset(c->p + c->n, 0, n - c->n);
	c->n = n;
	return 0;
}

/* What a file is to have, with room for the same in what is kept, so that no sync needs memory. */
static int grow(struct inode *inode, size_t n)
{
	return reserve(&inode->kept, n) ? -ENOMEM : resize(&inode->seen, n);
}

static void must(int rc)
{
	if (rc)
		abort(); /* there was room */
}

/* One unsynced write becomes part of what is kept, wholly. */
static void keep(struct sim *s, struct content *kept, const struct unsynced *w)
{
	if (w->kind == WRITE_SIZE) {
		must(resize(kept, w->n));
		return;
	}
	if (kept->n < w->offset + w->n)
		must(resize(kept, w->offset + w->n));
	memcpy(kept->p + w->offset, s->bytes.data + w->at, w->n);
}

/* The same by chance, sector by sector; `odds` of 4 that one is kept. */
static void keep_some(struct sim *s, struct content *kept, const struct unsynced *w, unsigned odds)
{
	size_t end = w->offset + w->n;

	if (w->kind == WRITE_SIZE) {
		if (random__below(&s->random, 4) < odds)
			must(resize(kept, w->n));
		return;
	}
	if (end > kept->n && random__below(&s->random, 4) < odds)
		must(resize(kept, end));
	for (size_t at = w->offset; at < end;) {
		size_t next = (at / SECTOR + 1) * SECTOR < end ? (at / SECTOR + 1) * SECTOR : end;
		size_t stop = next < kept->n ? next : kept->n;

		if (stop > at && random__below(&s->random, 4) < odds)
			memcpy(kept->p + at, s->bytes.data + w->at + (at - w->offset), stop - at);
		at = next;
	}
}

/*
 * The chance is the same for all that one event decides, so that all and nothing come up as well.
 */
static unsigned odds_of(struct sim *s)
{
	return (unsigned)random__below(&s->random, 5);
}

/* ---- names ---- */

static struct name *find(names *all, const char *path)
{
	for (size_t i = 0; i < all->n; i++)
		if (strcmp(all->v[i].path, path) == 0)
			return &all->v[i];
	return NULL;
}

static void remove_name(names *all, const char *path)
{
	struct name *at = find(all, path);

	if (at)
		*at = all->v[--all->n];
}

static int add_name(names *all, const char *path, struct inode *inode)
{
	struct name name = { .inode = inode };

	remove_name(all, path);
	snprintf(name.path, sizeof(name.path), "%s", path);
	return vec__push(all, name) ? 0 : -ENOMEM;
}

static int change_names(names *all, const struct change *c)
{
	if (c->kind != CHANGE_ADD)
		remove_name(all, c->path);
	if (c->kind != CHANGE_REMOVE)
		return add_name(all, c->kind == CHANGE_MOVE ? c->to : c->path, c->inode);
	return 0;
}

/* Makes a change that is seen, and notes it as one that is not kept yet. */
static int do_change(struct sim *s, enum change_kind kind, const char *path, const char *to,
		     struct inode *inode)
{
	struct change c = { .kind = kind, .inode = inode };

	assert(strlen(path) < NAME_BYTES && strlen(to) < NAME_BYTES);
	snprintf(c.path, sizeof(c.path), "%s", path);
	snprintf(c.to, sizeof(c.to), "%s", to);
	if (!vec__reserve(&s->changes, 1) || !vec__reserve(&s->seen, 1) ||
	    !vec__reserve(&s->kept, s->changes.n + 1))
		return -ENOMEM;
	s->changes.v[s->changes.n++] = c;
	return change_names(&s->seen, &c);
}

/* Is `path` directly in the directory? */
static bool is_in(const char *path, const char *dir)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) : 0;

	return strcmp(dir, ".") == 0 ? !slash : strlen(dir) == n && strncmp(path, dir, n) == 0;
}

/* Its files stay as they are for who has them open. */
static bool is_away(const struct sim *s, const char *path)
{
	const size_t n = strlen(s->away);

	return s->vanished || (n && strncmp(path, s->away, n) == 0 && (path[n] == '/' || !path[n]));
}

static bool has_parent(struct sim *s, const char *path)
{
	const char *slash = strrchr(path, '/');
	char dir[NAME_BYTES];

	if (is_away(s, path))
		return false;
	if (!slash)
		return true;
	snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
	return find(&s->seen, dir) != NULL;
}

/* ---- the table ---- */

static int sim_open(struct vfs *v, const char *path, unsigned flags, struct vfs_file **ret)
{
	struct sim *s = of(v);
	struct name *name;
	struct sim_file *f;
	int rc = gate(s, path, NULL);

	if (rc)
		return rc;
	if (!has_parent(s, path))
		return -ENOENT;
	name = find(&s->seen, path);
	if (name && (flags & VFS_NEW))
		return -EEXIST;
	if (!name && !(flags & VFS_CREATE))
		return -ENOENT;
	if (s->read_only && flags & VFS_WRITE)
		return -EROFS;
	f = NEW(struct sim_file);
	if (!f)
		return -ENOMEM;
	if (!name) {
		struct inode *inode = NEW(struct inode);

		rc = inode ? do_change(s, CHANGE_ADD, path, "", inode) : -ENOMEM;
		if (rc) {
			free(inode);
			free(f);
			return rc;
		}
		inode->next = s->inodes;
		s->inodes = inode;
		name = find(&s->seen, path);
	}
	f->file.vfs = v;
	f->inode = name->inode;
	f->writable = flags & VFS_WRITE;
	snprintf(f->path, sizeof(f->path), "%s", path);
	s->n_open++;
	*ret = &f->file;
	return 0;
}

static void sim_close(struct vfs_file *file)
{
	of(file->vfs)->n_open--;
	free(file);
}

static int sim_pread(struct vfs_file *file, void *p, size_t n, uint64_t offset, size_t *ret_n)
{
	const struct content *c = &sim_file(file)->inode->seen;
	bool is_short = false;
	int rc = gate(of(file->vfs), sim_file(file)->path, &is_short);

	if (rc)
		return rc;
	if (is_short && n > 1)
		n /= 2;
	if (offset >= c->n)
		n = 0;
	else if (n > c->n - offset)
		n = c->n - (size_t)offset;
	if (n)
		memcpy(p, c->p + offset, n);
	*ret_n = n;
	return 0;
}

static bool is_zero(const uint8_t *p, size_t n)
{
	return n > 0 && p[0] == 0 && memcmp(p, p + 1, n - 1) == 0;
}

static bool is_segment(const char *path)
{
	return strncmp(path, "wal/", 4) == 0;
}

/* Does a write there touch a sector that has more than zeroes before it? */
static bool shares_sector(const struct content *kept, size_t offset)
{
	size_t from = offset / SECTOR * SECTOR;

	return offset > from && offset <= kept->n && !is_zero(kept->p + from, offset - from);
}

static int note_write(struct sim *s, struct inode *inode, const void *p, size_t n, size_t offset)
{
	struct unsynced w = { .kind = WRITE_BYTES, .offset = offset, .n = n, .at = s->bytes.n };

	if (!vec__reserve(&inode->writes, 1) || (inode->seen.n < offset + n && grow(inode, offset + n)))
		return -ENOMEM;
	buf__append(&s->bytes, p, n);
	if (s->bytes.error) {
		s->bytes.error = 0;
		return -ENOMEM;
	}
	memcpy(inode->seen.p + offset, p, n);
	inode->writes.v[inode->writes.n++] = w;
	return 0;
}

static int sim_pwrite(struct vfs_file *file, const void *p, size_t n, uint64_t offset, size_t *ret_n)
{
	struct sim *s = of(file->vfs);
	struct inode *inode = sim_file(file)->inode;
	bool is_short = false;
	int rc = gate(s, sim_file(file)->path, &is_short), failed = rc;

	assert(sim_file(file)->writable);
	if (sim__is_cut(s))
		return rc;
	if (s->read_only)
		return -EROFS;
	if (s->skip & SKIP_ZEROES && is_segment(sim_file(file)->path) && is_zero(p, n)) {
		*ret_n = n;
		return rc;
	}
	if (is_short && n > 1)
		n /= 2;
	s->n_shared += is_segment(sim_file(file)->path) && shares_sector(&inode->kept, (size_t)offset);
	/* A write that fails may have been done in part. */
	if (failed)
		n = failed == -EINTR ? 0 : (size_t)random__below(&s->random, n + 1);
	if (n)
		rc = note_write(s, inode, p, n, (size_t)offset);
	if (!failed && !rc)
		*ret_n = n;
	return failed ? failed : rc;
}

/* Is the last of what was not synced more than zeroes? */
static bool has_frames(const struct sim *s, const struct inode *inode)
{
	const struct unsynced *last = inode->writes.n ? &inode->writes.v[inode->writes.n - 1] : NULL;

	return last && last->kind == WRITE_BYTES && !is_zero(s->bytes.data + last->at, last->n);
}

static bool skipped(struct sim *s, const char *path, const struct inode *inode)
{
	bool segment = is_segment(path), frames = segment && has_frames(s, inode);
	bool first = frames && !s->vouched;

	s->vouched |= frames;
	if (segment)
		return s->skip & SKIP_WAL_SYNC || (first && s->skip & SKIP_VOUCHING);
	if (strncmp(path, "blocks/", 7) == 0)
		return s->skip & SKIP_BLOCK_SYNC;
	if (strncmp(path, "eras/", 5) == 0)
		return s->skip & SKIP_ERA_SYNC;
	return strcmp(path, "MANIFEST.tmp") == 0 && s->skip & SKIP_MANIFEST_SYNC;
}

static void note(struct inode *inode, const struct unsynced *w)
{
	if (w->kind == WRITE_BYTES && inode->noted < w->offset + w->n)
		inode->noted = w->offset + w->n;
}

/* The sync under way when the journal is aborted. False: it knows, for the file has grown. */
static bool keep_noted(struct sim *s, struct inode *inode)
{
	for (size_t i = 0; i < inode->writes.n; i++)
		if (inode->writes.v[i].kind == WRITE_SIZE ||
		    inode->writes.v[i].offset + inode->writes.v[i].n > inode->kept.n)
			return false;
	for (size_t i = 0; i < inode->writes.n; i++) {
		struct unsynced w = inode->writes.v[i];

		if (w.offset + w.n > inode->noted)
			w.n = inode->noted > w.offset ? inode->noted - w.offset : 0;
		keep(s, &inode->kept, &w);
	}
	inode->writes.n = 0;
	return true;
}

static int sim_sync(struct vfs_file *file)
{
	struct sim *s = of(file->vfs);
	struct inode *inode = sim_file(file)->inode;
	int rc = gate(s, sim_file(file)->path, NULL);

	if (sim__is_cut(s))
		return rc;
	if (skipped(s, sim_file(file)->path, inode))
		return rc;
	if (is_aborted(s))
		return s->n_calls == s->abort_at && keep_noted(s, inode) ? 0 : -EROFS;
	unsigned odds = odds_of(s);
	for (size_t i = 0; i < inode->writes.n; i++)
		if (rc)
			keep_some(s, &inode->kept, &inode->writes.v[i], odds);
		else
			keep(s, &inode->kept, &inode->writes.v[i]);
	for (size_t i = 0; !rc && i < inode->writes.n; i++)
		note(inode, &inode->writes.v[i]);
	inode->writes.n = 0;
	return s->skip & SKIP_SYNC_ERRORS ? 0 : rc;
}

static int set_size(struct vfs_file *file, uint64_t bytes, bool grow_only)
{
	struct sim *s = of(file->vfs);
	struct inode *inode = sim_file(file)->inode;
	int rc = gate(s, sim_file(file)->path, NULL);

	if (rc || (grow_only && bytes <= inode->seen.n))
		return rc;
	if (s->read_only)
		return -EROFS;
	if (!vec__reserve(&inode->writes, 1) || grow(inode, (size_t)bytes))
		return -ENOMEM;
	inode->writes.v[inode->writes.n++] = (struct unsynced){ .kind = WRITE_SIZE, .n = (size_t)bytes };
	return 0;
}

static int sim_allocate(struct vfs_file *file, uint64_t bytes)
{
	return set_size(file, bytes, true);
}

static int sim_truncate(struct vfs_file *file, uint64_t bytes)
{
	return set_size(file, bytes, false);
}

static int sim_stat(struct vfs_file *file, struct vfs_stat *ret)
{
	struct sim *s = of(file->vfs);
	struct inode *inode = sim_file(file)->inode;
	int rc = gate(s, sim_file(file)->path, NULL);

	if (rc)
		return rc;
	*ret = (struct vfs_stat){ .bytes = inode->seen.n };
	for (size_t i = 0; !s->vanished && i < s->seen.n; i++)
		ret->n_links += s->seen.v[i].inode == inode;
	return 0;
}

/* The least that is true. */
static int sim_data_end(struct vfs_file *file, uint64_t *ret)
{
	const struct content *c = &sim_file(file)->inode->seen;
	int rc = gate(of(file->vfs), sim_file(file)->path, NULL);

	if (rc)
		return rc;
	*ret = c->n;
	while (*ret > 0 && c->p[*ret - 1] == 0)
		--*ret;
	return 0;
}

static int sim_map(struct vfs_file *file, size_t n, const uint8_t **ret)
{
	const struct content *c = &sim_file(file)->inode->seen;
	int rc = gate(of(file->vfs), sim_file(file)->path, NULL);
	uint8_t *copy;

	if (rc)
		return rc;
	if (n > c->n)
		return -EINVAL;
	copy = mem__dup(c->p, n);
	if (!copy)
		return -ENOMEM;
	*ret = copy;
	return 0;
}

static void sim_unmap(struct vfs *v, const uint8_t *p, size_t n)
{
	(void)v;
	(void)n;
	free((void *)(uintptr_t)p);
}

static int sim_lock(struct vfs_file *file)
{
	return gate(of(file->vfs), sim_file(file)->path, NULL);
}

/* A change that fails may have been made. */
static int change(struct sim *s, enum change_kind kind, const char *path, const char *to)
{
	int rc = gate(s, path, NULL), done;
	struct name *name;

	if (sim__is_cut(s) || rc == -EINTR || (rc && coin(s)))
		return rc;
	name = is_away(s, path) || is_away(s, to) ? NULL : find(&s->seen, path);
	if (!name)
		return rc ? rc : -ENOENT;
	if (s->read_only)
		return -EROFS;
	done = do_change(s, kind, kind == CHANGE_ADD ? to : path, to, name->inode);
	return rc ? rc : done;
}

static int sim_rename(struct vfs *v, const char *from, const char *to)
{
	return change(of(v), CHANGE_MOVE, from, to);
}

static int sim_unlink(struct vfs *v, const char *path)
{
	return change(of(v), CHANGE_REMOVE, path, "");
}

static int sim_link(struct vfs *v, const char *from, const char *to)
{
	return change(of(v), CHANGE_ADD, from, to);
}

static int sim_mkdir(struct vfs *v, const char *path)
{
	struct sim *s = of(v);
	int rc = gate(s, path, NULL);

	if (rc)
		return rc;
	assert(s->vanished || strcmp(path, s->away) != 0); /* in its place, it could not come back */
	if (!has_parent(s, path))
		return -ENOENT;
	if (s->read_only && !find(&s->seen, path))
		return -EROFS;
	return find(&s->seen, path) ? -EEXIST : do_change(s, CHANGE_ADD, path, "", NULL);
}

static int sim_list(struct vfs *v, const char *dir, vfs_name_fn each, void *ctx)
{
	struct sim *s = of(v);
	int rc = gate(s, dir, NULL);

	if (!rc && (is_away(s, dir) || (strcmp(dir, ".") != 0 && !find(&s->seen, dir))))
		return -ENOENT;
	for (size_t i = 0; !rc && i < s->seen.n; i++) {
		const char *path = s->seen.v[i].path, *slash = strrchr(path, '/');

		if (is_in(path, dir))
			rc = each(ctx, slash ? slash + 1 : path);
	}
	return rc;
}

static void keep_change(struct sim *s, size_t i)
{
	must(change_names(&s->kept, &s->changes.v[i]));
}

static bool touches(const struct change *c, const char *dir)
{
	return is_in(c->path, dir) || (c->kind == CHANGE_MOVE && is_in(c->to, dir));
}

static int sim_sync_dir(struct vfs *v, const char *dir)
{
	struct sim *s = of(v);
	int rc = gate(s, dir, NULL);
	size_t left = 0;

	if (sim__is_cut(s))
		return rc;
	if (is_away(s, dir) || (strcmp(dir, ".") != 0 && !find(&s->seen, dir)))
		return rc ? rc : -ENOENT;
	if (is_aborted(s))
		return -EROFS;
	if ((strcmp(dir, "wal") == 0 && s->skip & SKIP_WAL_DIR_SYNC) ||
	    (strcmp(dir, "blocks") == 0 && s->skip & SKIP_BLOCK_DIR_SYNC) ||
	    (strcmp(dir, "eras") == 0 && s->skip & SKIP_ERA_DIR_SYNC) ||
	    (strcmp(dir, ".") == 0 && s->skip & SKIP_ROOT_DIR_SYNC))
		return rc;
	if (s->model == SIM_PREFIX) {
		left = rc ? (size_t)random__below(&s->random, s->changes.n + 1) : s->changes.n;
		for (size_t i = 0; i < left; i++)
			keep_change(s, i);
		s->changes.n = 0;
		return s->skip & SKIP_SYNC_ERRORS ? 0 : rc;
	}
	for (size_t i = 0; i < s->changes.n; i++) {
		if (!touches(&s->changes.v[i], dir))
			s->changes.v[left++] = s->changes.v[i];
		else if (!rc || coin(s))
			keep_change(s, i);
	}
	s->changes.n = left;
	return s->skip & SKIP_SYNC_ERRORS ? 0 : rc;
}

static int sim_random(struct vfs *v, uint64_t *ret)
{
	*ret = random__next(&of(v)->random) | 1;
	return 0;
}

static int sim_room(struct vfs *v, struct vfs_room *ret)
{
	if (of(v)->room.bytes == 0)
		return -EOPNOTSUPP;
	*ret = of(v)->room;
	return 0;
}

static int sim_revive(struct vfs *v)
{
	struct sim *s = of(v);
	int rc = gate(s, ".", NULL);

	return rc ? rc : s->vanished ? -ENOENT : 0;
}

static const struct vfs_ops sim_ops = {
	.open = sim_open,
	.close = sim_close,
	.pread = sim_pread,
	.pwrite = sim_pwrite,
	.sync = sim_sync,
	.allocate = sim_allocate,
	.truncate = sim_truncate,
	.stat = sim_stat,
	.data_end = sim_data_end,
	.map = sim_map,
	.unmap = sim_unmap,
	.lock = sim_lock,
	.rename = sim_rename,
	.unlink = sim_unlink,
	.link = sim_link,
	.mkdir = sim_mkdir,
	.rmdir = sim_unlink,
	.list = sim_list,
	.sync_dir = sim_sync_dir,
	.random = sim_random,
	.room = sim_room,
	.revive = sim_revive,
};

/* ---- for tests ---- */

struct sim *sim__new(uint64_t seed, enum sim_model model)
{
	struct sim *s = NEW(struct sim);

	if (!s)
		return NULL;
	s->vfs.ops = &sim_ops;
	s->random.state = seed;
	s->model = model;
	return s;
}

static void free_inode(struct inode *inode)
{
	free(inode->seen.p);
	free(inode->kept.p);
	vec__fini(&inode->writes);
	free(inode);
}

void sim__free(struct sim *s)
{
	if (!s)
		return;
	while (s->inodes) {
		struct inode *next = s->inodes->next;

		free_inode(s->inodes);
		s->inodes = next;
	}
	vec__fini(&s->seen);
	vec__fini(&s->kept);
	vec__fini(&s->changes);
	buf__fini(&s->bytes);
	free(s);
}

struct vfs *sim__vfs(struct sim *s)
{
	return &s->vfs;
}

void sim__fail(struct sim *s, uint64_t n, enum sim_fault fault, bool persistent)
{
	s->n_calls = 0;
	s->fail_at = n;
	s->fault = n ? fault : FAULT_NONE;
	s->persistent = persistent;
	s->failed = false;
}

void sim__abort_at(struct sim *s, uint64_t n)
{
	s->n_calls = 0;
	s->abort_at = n;
}

void sim__cut_at(struct sim *s, uint64_t n)
{
	s->n_calls = 0;
	s->cut_at = n;
}

void sim__skip(struct sim *s, unsigned skip)
{
	s->skip = skip;
}

void sim__set_room(struct sim *s, uint64_t bytes, uint64_t free_bytes)
{
	s->room = (struct vfs_room){ bytes, free_bytes };
}

uint64_t sim__n_calls(const struct sim *s)
{
	return s->n_calls;
}

bool sim__failed(const struct sim *s)
{
	return s->failed;
}

const char *sim__failed_path(const struct sim *s)
{
	return s->failed ? s->failed_path : "";
}

void sim__vanish(struct sim *s, bool vanished)
{
	s->vanished = vanished;
}

void sim__take_away(struct sim *s, const char *dir)
{
	assert(strlen(dir) < NAME_BYTES);
	snprintf(s->away, sizeof(s->away), "%s", dir);
}

void sim__set_read_only(struct sim *s, bool read_only)
{
	s->read_only = read_only;
}

static void cut_names(struct sim *s)
{
	size_t n = s->changes.n;
	unsigned odds = odds_of(s);

	if (s->model == SIM_PREFIX)
		n = (size_t)random__below(&s->random, n + 1);
	for (size_t i = 0; i < n; i++)
		if (s->model == SIM_PREFIX || random__below(&s->random, 4) < odds)
			keep_change(s, i);
	s->changes.n = 0;
	s->seen.n = 0;
	for (size_t i = 0; i < s->kept.n; i++)
		must(vec__push(&s->seen, s->kept.v[i]) ? 0 : -ENOMEM);
}

static bool has_name(const struct sim *s, const struct inode *inode)
{
	for (size_t i = 0; i < s->seen.n; i++)
		if (s->seen.v[i].inode == inode)
			return true;
	return false;
}

static void cut_files(struct sim *s)
{
	unsigned odds = odds_of(s);
	struct inode **at = &s->inodes;

	while (*at) {
		struct inode *inode = *at;

		if (!has_name(s, inode)) {
			*at = inode->next;
			free_inode(inode);
			continue;
		}
		for (size_t i = 0; i < inode->writes.n; i++)
			keep_some(s, &inode->kept, &inode->writes.v[i], odds);
		inode->writes.n = 0;
		must(resize(&inode->seen, inode->kept.n));
		if (inode->kept.n)
			memcpy(inode->seen.p, inode->kept.p, inode->kept.n);
		at = &inode->next;
	}
	buf__reset(&s->bytes);
}

void sim__restart(struct sim *s, bool power_cut)
{
	assert(s->n_open == 0);
	if (power_cut || is_aborted(s)) {
		cut_names(s);
		cut_files(s);
	}
	s->n_calls = s->cut_at = s->fail_at = s->abort_at = 0;
	s->fault = FAULT_NONE;
	s->failed = s->vanished = s->read_only = s->vouched = false;
	s->away[0] = '\0';
}

static void enter(names *all, const char *dir)
{
	const size_t skip = strlen(dir) + 1;
	const bool there = find(all, dir) != NULL;
	size_t n = 0;

	for (size_t i = 0; there && i < all->n; i++) {
		struct name name = all->v[i];

		if (strncmp(name.path, dir, skip - 1) != 0 || name.path[skip - 1] != '/')
			continue;
		memmove(name.path, name.path + skip, sizeof(name.path) - skip);
		all->v[n++] = name;
	}
	all->n = n;
}

void sim__enter(struct sim *s, const char *dir)
{
	assert(s->changes.n == 0);
	enter(&s->seen, dir);
	enter(&s->kept, dir);
}

uint64_t sim__n_shared(const struct sim *s)
{
	return s->n_shared;
}

unsigned sim__n_open(const struct sim *s)
{
	return s->n_open;
}

uint64_t sim__bytes(const struct sim *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->seen.n; i++)
		n += s->seen.v[i].inode ? s->seen.v[i].inode->seen.n : 0;
	return n;
}

size_t sim__n_names(const struct sim *s, const char *dir)
{
	size_t n = 0;

	for (size_t i = 0; i < s->seen.n; i++)
		n += is_in(s->seen.v[i].path, dir);
	return n;
}

uint8_t *sim__peek(struct sim *s, const char *path, size_t *ret_n)
{
	struct name *name = find(&s->seen, path);

	if (!name || !name->inode)
		return NULL;
	*ret_n = name->inode->seen.n;
	return name->inode->seen.p;
}
