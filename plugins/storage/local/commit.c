/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/commit.c - the one order in which the store's files change
 *
 * `garbage` are paths that may go once the manifest in memory is durable. What a removal misses (it
 * failed, or the process died) the next open finds, because no manifest lists it.
 */
#include "plugins/storage/local/commit.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/disk/numbered.h"

struct commit {
	struct vfs *vfs;
	struct wal_options options; /* for its report */
	struct wal *wal;
	pthread_mutex_t lock; /* around a change, and next_block */
	struct vfs_file *lock_file;
	struct manifest now;
	uint64_t next_block;
	bool unsettled;		     /* `now` is on the disk, but may not survive a power cut */
	uint64_t settled_generation; /* the last one that does */
	int strange; /* 0, or why the directory that is there now is not ours to change */
	VEC(char *) garbage;
	uint32_t n_holds; /* garbage stays */
};

static const char *const dirs[] = { WAL_DIR, BLOCKS_DIR, ERAS_DIR };
enum { N_DIRS = sizeof(dirs) / sizeof(dirs[0]), SEGMENTS_BITS = 20 };

const char *commit__block_path(char to[static BLOCK_PATH_BYTES], uint64_t number)
{
	return numbered__path(to, BLOCK_PATH_BYTES, BLOCKS_DIR, number, ".blk");
}

static const char *tmp_path(char to[static BLOCK_PATH_BYTES], uint64_t number)
{
	return numbered__path(to, BLOCK_PATH_BYTES, BLOCKS_DIR, number, ".tmp");
}

static void tell(const struct commit *c, enum dcm_log_level level, const char *text)
{
	if (c->options.report)
		c->options.report(c->options.report_ctx, level, text);
}

/* ---- changes ---- */

/* With the lock. */
static int check_ours(const struct commit *c, struct dcm_error *err)
{
	if (!c->strange)
		return 0;
	return error__set(err, c->strange,
			  MANIFEST_PATH ": not this store's; bring the directory back, or restart");
}

/*
 * From its temporary name; a probe may have found another directory in the store's place meanwhile,
 * whose files have the same names.
 */
static int name_block(struct commit *c, const char *tmp, uint64_t number, struct dcm_error *err)
{
	char path[BLOCK_PATH_BYTES];
	int rc;

	pthread_mutex_lock(&c->lock);
	rc = check_ours(c, err);
	if (!rc) {
		rc = vfs__rename(c->vfs, tmp, commit__block_path(path, number));
		if (rc) {
			error__sys(err, rc, "%s: cannot rename", tmp);
			vfs__unlink(c->vfs, path); /* a rename that failed may have been done */
		}
	}
	pthread_mutex_unlock(&c->lock);
	return rc;
}

static void unlink_ours(struct commit *c, const char *path)
{
	pthread_mutex_lock(&c->lock);
	if (!c->strange)
		vfs__unlink(c->vfs, path);
	pthread_mutex_unlock(&c->lock);
}

int commit__write_block(struct commit *c, commit_write_fn write, void *ctx,
			struct manifest_block *ret_entry, struct dcm_error *err)
{
	struct manifest_block entry = { .number = 0 };
	char tmp[BLOCK_PATH_BYTES];
	struct vfs_file *f = NULL;
	int rc;

	pthread_mutex_lock(&c->lock);
	rc = check_ours(c, err);
	entry.number = c->next_block++;
	pthread_mutex_unlock(&c->lock);
	if (rc)
		return rc;
	tmp_path(tmp, entry.number);
	rc = vfs__open(c->vfs, tmp, VFS_WRITE | VFS_CREATE | VFS_NEW, &f);
	if (rc)
		return error__sys(err, rc, "%s: cannot make", tmp);
	rc = write(ctx, f, &entry, err);
	if (!rc) {
		rc = vfs__sync(f);
		if (rc)
			error__sys(err, rc, "%s: cannot sync", tmp);
	}
	vfs__close(f);
	if (!rc)
		rc = name_block(c, tmp, entry.number, err);
	if (rc) {
		unlink_ours(c, tmp);
		return rc;
	}
	*ret_entry = entry;
	return 0;
}

void commit__discard_block(struct commit *c, const struct manifest_block *entry)
{
	char path[BLOCK_PATH_BYTES];

	unlink_ours(c, commit__block_path(path, entry->number));
}

/* The manifest as it will be, into a zeroed one. */
static int next_manifest(const struct commit *c, const struct commit_change *change,
			 struct manifest *next, struct dcm_error *err)
{
	int rc = manifest__copy(next, &c->now);

	if (rc)
		return error__nomem(err);
	for (size_t i = 0; !rc && i < change->n_remove; i++) {
		rc = manifest__remove_block(next, change->remove[i]);
		if (rc)
			error__set(err, rc, MANIFEST_PATH ": block %" PRIu64 " is not listed",
				   change->remove[i]);
	}
	for (size_t i = 0; !rc && i < change->n_add; i++) {
		rc = manifest__add_block(next, &change->add[i]);
		if (rc)
			error__sys(err, rc, MANIFEST_PATH ": cannot list block %" PRIu64,
				   change->add[i].number);
	}
	if (!rc && change->edit)
		rc = change->edit(change->ctx, next, err);
	next->generation++;
	next->next_block = c->next_block;
	if (change->sealed_lsn > next->sealed_lsn)
		next->sealed_lsn = change->sealed_lsn;
	return rc;
}

static bool add_garbage(struct commit *c, const char *path)
{
	char *copy = mem__dup_str(path, strlen(path));

	if (copy && vec__push(&c->garbage, copy))
		return true;
	free(copy);
	return false;
}

static void cut_garbage(struct commit *c, size_t n)
{
	while (c->garbage.n > n)
		free(c->garbage.v[--c->garbage.n]);
}

/* Notes what the change makes superfluous. 0, or -ENOMEM and nothing noted. */
static int note_garbage(struct commit *c, const struct commit_change *change)
{
	size_t before = c->garbage.n;
	char path[BLOCK_PATH_BYTES];
	bool ok = true;

	for (size_t i = 0; ok && i < change->n_remove; i++)
		ok = add_garbage(c, commit__block_path(path, change->remove[i]));
	for (size_t i = 0; ok && i < change->n_unlink; i++)
		ok = add_garbage(c, change->unlink[i]);
	if (!ok)
		cut_garbage(c, before);
	return ok ? 0 : -ENOMEM;
}

/* With what to do about it, where that is known. */
static void warn(struct commit *c, int rc, struct dcm_error *err)
{
	error__set(err, rc, "%s%s", err->text, vfs__write_remedy(rc));
	tell(c, DCM_LOG_WARNING, err->text);
}

/* What cannot be removed now, the next open removes. */
static void remove_files(struct commit *c)
{
	struct dcm_error err = DCM_ERROR_INIT;

	for (size_t i = 0; i < c->garbage.n; i++) {
		char *path = c->garbage.v[i];
		size_t n = strlen(path);
		int rc;

		if (n && path[n - 1] == '/') {
			path[n - 1] = '\0';
			rc = c->vfs->ops->rmdir(c->vfs, path);
		} else {
			rc = vfs__unlink(c->vfs, path);
		}
		if (rc && rc != -ENOENT) {
			error__sys(&err, rc, "%s: cannot remove; the next start tries again", path);
			warn(c, rc, &err);
		}
	}
	cut_garbage(c, 0);
}

/* Step 5: the manifest in memory is durable. */
static void remove_garbage(struct commit *c)
{
	struct dcm_error err = DCM_ERROR_INIT;
	int rc;

	if (c->n_holds == 0)
		remove_files(c);
	rc = c->wal ? wal__forget(c->wal, c->now.sealed_lsn, &err) : 0;
	if (rc)
		warn(c, rc, &err);
}

/* Step 3 for the blocks and what they refer to. */
static int sync_references(struct commit *c, const struct commit_change *change, struct dcm_error *err)
{
	int rc = change->n_add ? vfs__sync_dir(c->vfs, BLOCKS_DIR) : 0;

	if (rc)
		return error__sys(err, rc, BLOCKS_DIR ": cannot sync this directory");
	return change->sync ? change->sync(change->ctx, err) : 0;
}

/* So that segments are missed which somebody removes. */
static void name_log(const struct commit *c, struct manifest *next)
{
	struct wal_stat st;

	if (!c->wal)
		return;
	wal__stat(c->wal, &st);
	if (st.proven_lsn > next->log_lsn)
		next->log_lsn = st.proven_lsn;
}

/* `now` is what was written; rc is 0 when it is durable. */
static void settled(struct commit *c, int rc)
{
	c->unsettled = rc != 0;
	if (rc)
		return;
	c->settled_generation = c->now.generation;
	if (c->wal)
		wal__noted(c->wal, c->now.log_lsn);
}

/*
 * Step 4, with the lock. `next` becomes `now` when the rename may have been done, whether it is
 * durable or not.
 */
static int replace(struct commit *c, struct manifest *next, struct dcm_error *err)
{
	bool replaced;
	int rc;

	name_log(c, next);
	rc = manifest__write(next, c->vfs, &replaced, err);
	if (replaced) {
		struct manifest old = c->now;

		c->now = *next;
		*next = old;
		settled(c, rc);
	}
	return replaced ? 0 : rc;
}

/*
 * The same again, with the lock. Only numbers of `now` change, so that who makes changes may look
 * at it meanwhile.
 */
static int rewrite(struct commit *c, struct dcm_error *err)
{
	const bool was_unsettled = c->unsettled;
	struct manifest next = c->now;
	bool replaced;
	int rc;

	next.generation++;
	name_log(c, &next);
	rc = manifest__write(&next, c->vfs, &replaced, err);
	if (replaced) {
		c->now.generation = next.generation;
		c->now.log_lsn = next.log_lsn;
		settled(c, rc);
	}
	if (!rc && was_unsettled)
		remove_garbage(c);
	return rc;
}

/* With the lock. */
static int settle(struct commit *c, struct dcm_error *err)
{
	int rc = check_ours(c, err);

	return rc || !c->unsettled ? rc : rewrite(c, err);
}

int commit__note_log(struct commit *c, struct dcm_error *err)
{
	struct wal_stat st;
	int rc = 0;

	wal__stat(c->wal, &st);
	if (!st.unnoted)
		return 0;
	pthread_mutex_lock(&c->lock);
	wal__stat(c->wal, &st); /* somebody else may have been faster */
	if (st.unnoted)
		rc = check_ours(c, err);
	if (!rc && st.unnoted)
		rc = rewrite(c, err);
	pthread_mutex_unlock(&c->lock);
	return rc;
}

int commit__apply(struct commit *c, const struct commit_change *change, struct dcm_error *err)
{
	struct manifest next = { .generation = 0 };
	struct dcm_error own = DCM_ERROR_INIT;
	size_t n_garbage;
	int rc;

	pthread_mutex_lock(&c->lock);
	rc = settle(c, err); /* so that never more than one change is in doubt */
	n_garbage = c->garbage.n;
	if (!rc)
		rc = next_manifest(c, change, &next, err);
	if (!rc && note_garbage(c, change))
		rc = error__nomem(err);
	if (!rc)
		rc = sync_references(c, change, err);
	if (!rc) {
		rc = replace(c, &next, &own);
		if (rc)
			error__set(err, rc, "%s", own.text);
		else if (c->unsettled)
			tell(c, DCM_LOG_WARNING, own.text);
	}
	if (rc)
		cut_garbage(c, n_garbage);
	else if (!c->unsettled)
		remove_garbage(c);
	manifest__fini(&next);
	pthread_mutex_unlock(&c->lock);
	for (size_t i = 0; rc && i < change->n_add; i++)
		commit__discard_block(c, &change->add[i]);
	return rc;
}

int commit__settle(struct commit *c, struct dcm_error *err)
{
	int rc;

	pthread_mutex_lock(&c->lock);
	rc = settle(c, err);
	pthread_mutex_unlock(&c->lock);
	return rc;
}

void commit_moment__fini(struct commit_moment *m)
{
	manifest__fini(&m->manifest);
	wal_extents__fini(&m->log);
}

/* One lock for both: what a seal has brought into blocks the log may not have. */
int commit__hold(struct commit *c, struct commit_moment *ret, struct dcm_error *err)
{
	int rc;

	pthread_mutex_lock(&c->lock);
	rc = check_ours(c, err);
	if (!rc && (manifest__copy(&ret->manifest, &c->now) || wal__hold(c->wal, &ret->log)))
		rc = error__nomem(err);
	c->n_holds += !rc;
	pthread_mutex_unlock(&c->lock);
	if (rc)
		commit_moment__fini(ret);
	return rc;
}

bool commit__is_held(struct commit *c)
{
	pthread_mutex_lock(&c->lock);
	const bool held = c->n_holds > 0;
	pthread_mutex_unlock(&c->lock);
	return held;
}

void commit__release(struct commit *c, struct commit_moment *m)
{
	pthread_mutex_lock(&c->lock);
	c->n_holds--;
	wal__release(c->wal);
	if (!c->unsettled)
		remove_garbage(c);
	pthread_mutex_unlock(&c->lock);
	commit_moment__fini(m);
}

/* ---- the directory ---- */

static int make_dirs(struct vfs *v, struct dcm_error *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < N_DIRS; i++) {
		rc = vfs__mkdir(v, dirs[i]);
		if (rc)
			error__sys(err, rc, "%s: cannot make this directory", dirs[i]);
	}
	return rc;
}

/* Whose pid stands in the lock file; 0 when none does. */
static long holder_of(struct vfs_file *f)
{
	char text[24] = "";
	struct vfs_stat st;

	if (vfs__stat(f, &st) || st.bytes >= sizeof(text) || vfs__read(f, text, (size_t)st.bytes, 0))
		return 0;
	return strtol(text, NULL, 10);
}

static void say_held(struct vfs_file *f, struct dcm_error *err)
{
	long holder = holder_of(f);

	if (holder == getpid())
		error__set(err, -EBUSY,
			   LOCK_PATH
			   ": another storage of this decima has this store open; name another "
			   "directory for one of them");
	else
		error__set(err, -EBUSY,
			   LOCK_PATH
			   ": process %ld has this store open; stop it, or name another directory",
			   holder);
}

static int take_lock(struct vfs *v, struct vfs_file **ret, struct dcm_error *err)
{
	struct vfs_file *f;
	char text[24];
	int rc = vfs__open(v, LOCK_PATH, VFS_WRITE | VFS_CREATE, &f);

	if (rc)
		return error__sys(err, rc, LOCK_PATH ": cannot open");
	rc = v->ops->lock(f);
	if (rc == -EBUSY)
		say_held(f, err);
	else if (rc)
		error__sys(err, rc, LOCK_PATH ": cannot lock");
	if (rc) {
		vfs__close(f);
		return rc;
	}
	/* The pid is for people: without it the lock is as good. */
	snprintf(text, sizeof(text), "%10ld\n", (long)getpid());
	if (vfs__truncate(f, 0) == 0)
		vfs__write(f, text, strlen(text), 0);
	*ret = f;
	return 0;
}

int commit__look(struct vfs *v, struct dcm_error *err)
{
	struct vfs_file *f;
	int rc = vfs__open(v, LOCK_PATH, VFS_READ, &f);

	if (rc == -ENOENT)
		return 0;
	if (rc)
		return error__sys(err, rc, LOCK_PATH ": cannot open");
	rc = v->ops->lock(f);
	if (rc == -EBUSY)
		say_held(f, err);
	vfs__close(f);
	return rc == -EBUSY ? rc : 0;
}

/* What lies in blocks/ against what the manifest lists. */
struct inventory {
	struct commit *c;
	const char *dir;
	VEC(bool) there; /* [now.blocks.n] */
	VEC(char *) strays;
	bool any; /* a block or a segment, whether listed or not */
};

static int note_block(void *ctx, const char *name)
{
	struct inventory *inv = ctx;
	int64_t number = numbered__parse(name, ".blk");
	char path[BLOCK_PATH_BYTES], *copy;
	ptrdiff_t at;

	if (number < 0 && numbered__parse(name, ".tmp") < 0)
		return 0; /* nobody of ours */
	inv->any |= number >= 0;
	at = number < 0 ? -1 : manifest__find(&inv->c->now, (uint64_t)number);
	if (at >= 0) {
		inv->there.v[at] = true;
		return 0;
	}
	snprintf(path, sizeof(path), BLOCKS_DIR "/%s", name);
	copy = mem__dup_str(path, strlen(path));
	if (copy && vec__push(&inv->strays, copy))
		return 0;
	free(copy);
	return -ENOMEM;
}

static int note_any(void *ctx, const char *name)
{
	struct inventory *inv = ctx;

	(void)name;
	inv->any = true;
	return 0;
}

static void fini_inventory(struct inventory *inv)
{
	for (size_t i = 0; i < inv->strays.n; i++)
		free(inv->strays.v[i]);
	vec__fini(&inv->strays);
	vec__fini(&inv->there);
}

/* Removes what interrupted changes left, and reports blocks that are missing. */
static int take_stock(struct commit *c, struct commit_found *found, struct dcm_error *err)
{
	struct inventory inv = { .c = c };
	char path[BLOCK_PATH_BYTES], text[128];
	int rc = vec__reserve(&inv.there, c->now.blocks.n + 1) ? 0 : -ENOMEM;

	if (!rc) {
		memset(inv.there.v, 0, c->now.blocks.n * sizeof(inv.there.v[0]));
		rc = vfs__list(c->vfs, BLOCKS_DIR, note_block, &inv);
	}
	if (rc) {
		fini_inventory(&inv);
		return error__sys(err, rc, BLOCKS_DIR ": cannot list");
	}
	/* An older manifest may need them, and may come back while this one is not durable. */
	for (size_t i = 0; !c->unsettled && i < inv.strays.n; i++)
		found->n_removed += vfs__unlink(c->vfs, inv.strays.v[i]) == 0;
	for (size_t i = 0; i < c->now.blocks.n; i++) {
		if (inv.there.v[i])
			continue;
		found->n_missing++;
		snprintf(text, sizeof(text),
			 "%s: missing; restore it from a backup, or do without its data",
			 commit__block_path(path, c->now.blocks.v[i].number));
		tell(c, DCM_LOG_ERROR, text);
	}
	fini_inventory(&inv);
	return 0;
}

/* The first manifest, in a directory without data. */
static int make_store(struct commit *c, struct dcm_error *err)
{
	struct inventory inv = { .c = c };
	struct manifest first = { .generation = 1, .next_block = 1 };
	const char *dir = BLOCKS_DIR;
	int rc = vfs__list(c->vfs, dir, note_block, &inv);

	if (!rc) {
		dir = WAL_DIR;
		rc = vfs__list(c->vfs, dir, note_any, &inv);
	}
	if (!rc && inv.any)
		rc = error__set(err, -EUCLEAN,
				MANIFEST_PATH ": missing, and there is data; restore it from a "
					      "backup, or name an empty directory");
	else if (rc)
		error__sys(err, rc, "%s: cannot list", dir);
	fini_inventory(&inv);
	if (!rc) {
		rc = c->vfs->ops->random(c->vfs, &first.store_lo);
		if (!rc)
			rc = c->vfs->ops->random(c->vfs, &first.store_hi);
		if (rc)
			error__sys(err, rc, "the system has no random number");
	}
	if (!rc)
		rc = replace(c, &first, err);
	return rc ? rc : settle(c, err);
}

/*
 * The manifest is written again at each start: the process that wrote this one may have died, or
 * been refused, before its rename was durable. A disk that takes no writes does not keep the store
 * from being read.
 */
static int read_manifest(struct commit *c, struct commit_found *found, struct dcm_error *err)
{
	struct dcm_error own = DCM_ERROR_INIT;
	bool damaged = false;
	int rc = manifest__read(&c->now, c->vfs, &damaged, err);

	if (rc == -ENOENT) {
		found->new_store = true;
		return make_store(c, err);
	}
	if (rc)
		return rc;
	if (damaged)
		tell(c, DCM_LOG_WARNING,
		     MANIFEST_PATH ": one of its two copies is damaged; look at the disk");
	c->settled_generation = c->now.generation;
	c->unsettled = true;
	if (settle(c, &own))
		tell(c, DCM_LOG_WARNING, own.text);
	else
		found->manifest_healed = damaged;
	return 0;
}

static int open_all(struct commit *c, const struct commit_options *o, struct commit_found *found,
		    struct dcm_error *err)
{
	struct wal_options wal = o->wal;
	int rc = make_dirs(c->vfs, err);

	if (!rc)
		rc = take_lock(c->vfs, &c->lock_file, err);
	if (!rc)
		rc = read_manifest(c, found, err);
	if (!rc) {
		c->next_block = c->now.next_block;
		rc = take_stock(c, found, err);
	}
	if (!rc && o->loaded)
		rc = o->loaded(o->ctx, &c->now, err);
	/* Each start has a generation of its own, and so numbers that no process before had. */
	wal.first_number = c->now.generation << SEGMENTS_BITS;
	wal.used_lsn = o->used_lsn ? *o->used_lsn : 0;
	wal.noted_lsn = c->now.log_lsn;
	if (!rc)
		rc = wal__open(c->vfs, &wal, c->now.sealed_lsn, o->each, o->ctx, &found->wal,
			       &c->wal, err);
	if (!rc)
		commit__note_log(c, NULL); /* what fails is told when something is written */
	return rc;
}

int commit__open(struct vfs *v, const struct commit_options *options,
		 struct commit_found *ret_found, struct commit **ret, struct dcm_error *err)
{
	struct commit_found found = { .n_missing = 0 };
	struct commit *c = NEW(struct commit);
	int rc;

	if (!c)
		return error__nomem(err);
	c->vfs = v;
	c->options = options->wal;
	pthread_mutex_init(&c->lock, NULL);
	rc = open_all(c, options, &found, err);
	if (rc) {
		commit__close(c);
		return rc;
	}
	*ret_found = found;
	*ret = c;
	return 0;
}

void commit__close(struct commit *c)
{
	if (!c)
		return;
	wal__close(c->wal);
	vfs__close(c->lock_file);
	cut_garbage(c, 0);
	vec__fini(&c->garbage);
	manifest__fini(&c->now);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

struct wal *commit__wal(struct commit *c)
{
	return c->wal;
}

const struct manifest *commit__manifest(const struct commit *c)
{
	return &c->now;
}

/* When the lock file that is held is not the directory's any more: the one that is. */
static int take_lock_again(struct commit *c, struct dcm_error *err)
{
	struct vfs_file *f;
	struct vfs_stat st;
	int rc = vfs__stat(c->lock_file, &st);

	if (rc)
		return error__sys(err, rc, LOCK_PATH ": cannot look at it");
	if (st.n_links > 0)
		return 0;
	rc = take_lock(c->vfs, &f, err);
	if (rc)
		return rc;
	vfs__close(c->lock_file);
	c->lock_file = f;
	return 0;
}

/*
 * Is the directory this store, as this process left it? A rename whose sync failed may have been
 * undone.
 */
static int same_store(const struct commit *c, struct dcm_error *err)
{
	struct manifest m = { .generation = 0 };
	bool damaged, same;
	int rc = manifest__read(&m, c->vfs, &damaged, err);

	if (rc)
		return rc;
	same = m.store_lo == c->now.store_lo && m.store_hi == c->now.store_hi &&
	       m.generation >= c->settled_generation && m.generation <= c->now.generation;
	manifest__fini(&m);
	if (!same)
		return error__set(err, -ESTALE,
				  MANIFEST_PATH ": not the one that this process wrote last; bring "
						"that directory back, or restart");
	return 0;
}

static int stop_walk(void *ctx, const char *name)
{
	(void)ctx;
	(void)name;
	return 1;
}

/*
 * A directory that has gone is not made anew: it may have been renamed, and could not come back.
 * What is open in it can still be written, where nobody would look for it after a crash; so the log
 * begins a segment, which fails.
 */
static int find_dirs(struct commit *c, struct dcm_error *err)
{
	for (size_t i = 0; i < N_DIRS; i++) {
		const int rc = vfs__list(c->vfs, dirs[i], stop_walk, NULL);

		if (rc != -ENOENT && rc != -ENOTDIR)
			continue; /* other faults are told by who meets them */
		if (strcmp(dirs[i], WAL_DIR) == 0)
			wal__cut(c->wal);
		return error__set(err, -ENOENT, "%s/ has gone; bring it back, or restart", dirs[i]);
	}
	return 0;
}

bool commit__is_whole(struct commit *c)
{
	return find_dirs(c, NULL) == 0;
}

int commit__probe(struct commit *c, struct dcm_error *err)
{
	int rc;

	pthread_mutex_lock(&c->lock);
	rc = c->vfs->ops->revive(c->vfs);
	if (rc)
		error__sys(err, rc, "the store's directory was removed; bring it back");
	if (!rc)
		rc = c->strange = same_store(c, err);
	if (!rc)
		rc = find_dirs(c, err);
	if (!rc)
		rc = take_lock_again(c, err);
	if (!rc)
		rc = settle(c, err);
	if (!rc)
		rc = wal__probe(c->wal, err);
	pthread_mutex_unlock(&c->lock);
	return rc;
}
