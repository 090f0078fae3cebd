/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/manifest.c - reads and writes the list of what counts
 *
 * Fields are written and read in one order by a pair of functions per entry. Decoding checks the
 * sum first and the bounds of every count all the same, since a sum over bytes says nothing about
 * who wrote them.
 */
#include "plugins/storage/local/manifest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/le.h"
#include "core/base/mem.h"

int manifest_block__compare(const struct manifest_block *a, const struct manifest_block *b)
{
	if (a->last_lsn != b->last_lsn)
		return a->last_lsn < b->last_lsn ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

static const uint8_t magic[8] = { 'D', 'C', 'M', 'M', 'A', 'N', 'I', '\n' };
enum {
	VERSION = 1,
	HEAD_BYTES = 88,
	BLOCK_BYTES = 104,
	ERA_BYTES = 24,
	EXTRA_BYTES = 8,
	EXTRA_LOG = 5, /* log_lsn, which is no bytes of somebody else's */
	EXTRA_LOG_BYTES = 8,
	COPY_ALIGN = 4096,
};
#define CHECK_SEED     ((uint64_t)0x646563696d616d66)
#define COUNT_MAX      ((uint64_t)1 << 61)
#define GENERATION_MAX ((uint64_t)1 << 40)

/* Offsets in the head. */
enum {
	AT_VERSION = 8,
	AT_BYTES = 16, /* of one copy without its padding, head included */
	AT_STORE_LO = 24,
	AT_STORE_HI = 32,
	AT_GENERATION = 40,
	AT_SEALED = 48,
	AT_NEXT_BLOCK = 56,
	AT_N_BLOCKS = 64,
	AT_N_ERAS = 68,
	AT_N_EXTRAS = 72,
	AT_CHECK = 80, /* of everything else */
};

void manifest__fini(struct manifest *m)
{
	for (size_t i = 0; i < m->extras.n; i++)
		free(m->extras.v[i].bytes);
	vec__fini(&m->blocks);
	vec__fini(&m->eras);
	vec__fini(&m->extras);
}

int manifest__copy(struct manifest *to, const struct manifest *m)
{
	struct manifest copy = {
		.store_hi = m->store_hi,
		.store_lo = m->store_lo,
		.generation = m->generation,
		.sealed_lsn = m->sealed_lsn,
		.next_block = m->next_block,
		.log_lsn = m->log_lsn,
	};
	bool ok = true;

	for (size_t i = 0; ok && i < m->blocks.n; i++)
		ok = vec__push(&copy.blocks, m->blocks.v[i]);
	for (size_t i = 0; ok && i < m->eras.n; i++)
		ok = vec__push(&copy.eras, m->eras.v[i]);
	for (size_t i = 0; ok && i < m->extras.n; i++)
		ok = manifest__set_extra(&copy, m->extras.v[i].type, m->extras.v[i].bytes,
					 m->extras.v[i].n) == 0;
	if (!ok) {
		manifest__fini(&copy);
		return -ENOMEM;
	}
	*to = copy;
	return 0;
}

/* Position of the first block with that number or a larger one. */
static size_t lower_bound(const struct manifest *m, uint64_t number)
{
	size_t low = 0, high = m->blocks.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->blocks.v[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

ptrdiff_t manifest__find(const struct manifest *m, uint64_t number)
{
	size_t at = lower_bound(m, number);

	return at < m->blocks.n && m->blocks.v[at].number == number ? (ptrdiff_t)at : -1;
}

int manifest__add_block(struct manifest *m, const struct manifest_block *b)
{
	size_t at = lower_bound(m, b->number);

	if (at < m->blocks.n && m->blocks.v[at].number == b->number)
		return -EEXIST;
	if (!vec__reserve(&m->blocks, 1))
		return -ENOMEM;
	memmove(m->blocks.v + at + 1, m->blocks.v + at, (m->blocks.n - at) * sizeof(*b));
	m->blocks.v[at] = *b;
	m->blocks.n++;
	return 0;
}

int manifest__remove_block(struct manifest *m, uint64_t number)
{
	ptrdiff_t at = manifest__find(m, number);

	if (at < 0)
		return -ENOENT;
	m->blocks.n--;
	memmove(m->blocks.v + at, m->blocks.v + at + 1,
		(m->blocks.n - (size_t)at) * sizeof(m->blocks.v[0]));
	return 0;
}

int manifest__set_extra(struct manifest *m, uint32_t type, const void *p, size_t n)
{
	size_t at = 0;
	uint8_t *copy = NULL;

	while (at < m->extras.n && m->extras.v[at].type < type)
		at++;
	bool there = at < m->extras.n && m->extras.v[at].type == type;
	if (n > MANIFEST_MAX_BYTES / 4)
		return -EFBIG;
	if (n) {
		copy = mem__dup(p, n);
		if (!copy || (!there && !vec__reserve(&m->extras, 1))) {
			free(copy);
			return -ENOMEM;
		}
	}
	if (there) {
		free(m->extras.v[at].bytes);
		m->extras.n--;
		memmove(m->extras.v + at, m->extras.v + at + 1,
			(m->extras.n - at) * sizeof(m->extras.v[0]));
	}
	if (n) {
		memmove(m->extras.v + at + 1, m->extras.v + at,
			(m->extras.n - at) * sizeof(m->extras.v[0]));
		m->extras.v[at] = (struct manifest_extra){ .type = type, .n = (uint32_t)n, .bytes = copy };
		m->extras.n++;
	}
	return 0;
}

const struct manifest_extra *manifest__extra(const struct manifest *m, uint32_t type)
{
	for (size_t i = 0; i < m->extras.n; i++)
		if (m->extras.v[i].type == type)
			return &m->extras.v[i];
	return NULL;
}

/* ---- bytes ---- */

static void put_block(uint8_t *to, const struct manifest_block *b)
{
	le__put64(to, b->number);
	memcpy(to + 8, b->id, sizeof(b->id));
	le__put64(to + 24, b->bytes);
	le__put64(to + 32, b->check);
	le__put64(to + 40, (uint64_t)b->first_ms);
	le__put64(to + 48, (uint64_t)b->last_ms);
	le__put64(to + 56, b->n_rows);
	le__put64(to + 64, b->n_profiles);
	le__put64(to + 72, b->n_chunks);
	le__put32(to + 80, b->era);
	le__put32(to + 84, b->flags);
	le__put64(to + 88, b->level);
	le__put64(to + 96, b->last_lsn);
}

static bool get_block(const uint8_t *p, struct manifest_block *b)
{
	*b = (struct manifest_block){
		.number = le__get64(p),
		.bytes = le__get64(p + 24),
		.check = le__get64(p + 32),
		.first_ms = (int64_t)le__get64(p + 40),
		.last_ms = (int64_t)le__get64(p + 48),
		.n_rows = le__get64(p + 56),
		.n_profiles = le__get64(p + 64),
		.n_chunks = le__get64(p + 72),
		.era = le__get32(p + 80),
		.flags = le__get32(p + 84),
		.level = p[88],
		.last_lsn = le__get64(p + 96),
	};
	memcpy(b->id, p + 8, sizeof(b->id));
	return le__get64(p + 88) <= UINT8_MAX && b->first_ms <= b->last_ms && b->bytes <= INT64_MAX;
}

static void put_era(uint8_t *to, const struct manifest_era *e)
{
	le__put32(to, e->number);
	le__put32(to + 4, e->flags);
	le__put64(to + 8, (uint64_t)e->begin_ms);
	le__put64(to + 16, e->n_records);
}

static struct manifest_era get_era(const uint8_t *p)
{
	return (struct manifest_era){
		.number = le__get32(p),
		.flags = le__get32(p + 4),
		.begin_ms = (int64_t)le__get64(p + 8),
		.n_records = le__get64(p + 16),
	};
}

static size_t padded(size_t n, size_t align)
{
	return (n + align - 1) & ~(align - 1);
}

static size_t copy_bytes(const struct manifest *m)
{
	size_t n = HEAD_BYTES + m->blocks.n * BLOCK_BYTES + m->eras.n * ERA_BYTES;

	for (size_t i = 0; i < m->extras.n; i++)
		n += EXTRA_BYTES + padded(m->extras.v[i].n, 8);
	return n + (m->log_lsn ? EXTRA_BYTES + EXTRA_LOG_BYTES : 0);
}

/* The sum of a copy of n bytes: of what is before the field and of what is behind it. */
static uint64_t check_of(const uint8_t *p, size_t n)
{
	uint64_t head = hash__bytes(p, AT_CHECK, CHECK_SEED);

	return hash__bytes(p + AT_CHECK + 8, n - AT_CHECK - 8, head);
}

static uint8_t *put_extra(uint8_t *to, uint32_t type, const uint8_t *bytes, uint32_t n)
{
	le__put32(to, type);
	le__put32(to + 4, n);
	memcpy(to + EXTRA_BYTES, bytes, n);
	return to + EXTRA_BYTES + padded(n, 8);
}

static void put_extras(uint8_t *to, const struct manifest *m)
{
	uint8_t lsn[EXTRA_LOG_BYTES];
	size_t i = 0;

	le__put64(lsn, m->log_lsn);
	for (; i < m->extras.n && m->extras.v[i].type < EXTRA_LOG; i++)
		to = put_extra(to, m->extras.v[i].type, m->extras.v[i].bytes, m->extras.v[i].n);
	if (m->log_lsn)
		to = put_extra(to, EXTRA_LOG, lsn, sizeof(lsn));
	for (; i < m->extras.n; i++)
		to = put_extra(to, m->extras.v[i].type, m->extras.v[i].bytes, m->extras.v[i].n);
}

static void put_copy(uint8_t *to, const struct manifest *m, size_t n)
{
	uint8_t *at = to + HEAD_BYTES;

	memcpy(to, magic, sizeof(magic));
	le__put32(to + AT_VERSION, VERSION);
	le__put64(to + AT_BYTES, n);
	le__put64(to + AT_STORE_LO, m->store_lo);
	le__put64(to + AT_STORE_HI, m->store_hi);
	le__put64(to + AT_GENERATION, m->generation);
	le__put64(to + AT_SEALED, m->sealed_lsn);
	le__put64(to + AT_NEXT_BLOCK, m->next_block);
	le__put32(to + AT_N_BLOCKS, (uint32_t)m->blocks.n);
	le__put32(to + AT_N_ERAS, (uint32_t)m->eras.n);
	le__put32(to + AT_N_EXTRAS, (uint32_t)m->extras.n + (m->log_lsn != 0));
	for (size_t i = 0; i < m->blocks.n; i++, at += BLOCK_BYTES)
		put_block(at, &m->blocks.v[i]);
	for (size_t i = 0; i < m->eras.n; i++, at += ERA_BYTES)
		put_era(at, &m->eras.v[i]);
	put_extras(at, m);
	le__put64(to + AT_CHECK, check_of(to, n));
}

void manifest__encode(const struct manifest *m, struct buf *b)
{
	size_t n = copy_bytes(m), size = padded(n, COPY_ALIGN);
	uint8_t *to;

	if (m->blocks.n > UINT32_MAX || m->eras.n > UINT32_MAX || size > MANIFEST_MAX_BYTES / 2) {
		b->error = -EFBIG;
		return;
	}
	to = buf__reserve(b, 2 * size);
	if (!to)
		return;
	memset(to, 0, size);
	put_copy(to, m, n);
	memcpy(to + size, to, size);
	b->n += 2 * size;
	b->data[b->n] = '\0';
}

static int get_extra(struct manifest *m, uint32_t type, const uint8_t *p, uint32_t n)
{
	if (type != EXTRA_LOG) {
		int rc = manifest__set_extra(m, type, p, n);

		return rc == -EFBIG ? -EUCLEAN : rc;
	}
	m->log_lsn = n < EXTRA_LOG_BYTES ? 0 : le__get64(p);
	return m->log_lsn && m->log_lsn < COUNT_MAX ? 0 : -EUCLEAN;
}

static int get_extras(struct manifest *m, const uint8_t *p, const uint8_t *end, uint32_t n_extras)
{
	int64_t before = -1;

	for (uint32_t i = 0; i < n_extras; i++) {
		if (end - p < EXTRA_BYTES)
			return -EUCLEAN;
		const uint32_t type = le__get32(p), n = le__get32(p + 4);
		p += EXTRA_BYTES;
		if (n == 0 || padded(n, 8) > (size_t)(end - p) || type <= before)
			return -EUCLEAN;
		int rc = get_extra(m, type, p, n);
		if (rc)
			return rc;
		before = type;
		p += padded(n, 8);
	}
	return p == end ? 0 : -EUCLEAN;
}

/* The entries of a copy whose head and sum are right. -EUCLEAN when they break a rule. */
static int get_entries(struct manifest *m, const uint8_t *p, size_t n)
{
	uint64_t n_blocks = le__get32(p + AT_N_BLOCKS), n_eras = le__get32(p + AT_N_ERAS);
	uint32_t n_extras = le__get32(p + AT_N_EXTRAS);
	const uint8_t *end = p + n;

	p += HEAD_BYTES;
	if (n_blocks * BLOCK_BYTES + n_eras * ERA_BYTES > (uint64_t)(end - p))
		return -EUCLEAN;
	if (!vec__reserve(&m->blocks, n_blocks) || !vec__reserve(&m->eras, n_eras))
		return -ENOMEM;
	for (; m->blocks.n < n_blocks; p += BLOCK_BYTES) {
		struct manifest_block b;

		if (!get_block(p, &b) || b.number >= m->next_block ||
		    (m->blocks.n && b.number <= m->blocks.v[m->blocks.n - 1].number))
			return -EUCLEAN;
		m->blocks.v[m->blocks.n++] = b;
	}
	for (; m->eras.n < n_eras; p += ERA_BYTES) {
		struct manifest_era e = get_era(p);

		if (m->eras.n && e.number <= m->eras.v[m->eras.n - 1].number)
			return -EUCLEAN;
		m->eras.v[m->eras.n++] = e;
	}
	return get_extras(m, p, end, n_extras);
}

static int get_copy(struct manifest *m, const uint8_t *p, size_t room)
{
	uint64_t n;
	int rc;

	if (room < HEAD_BYTES || memcmp(p, magic, sizeof(magic)) != 0)
		return -EUCLEAN;
	n = le__get64(p + AT_BYTES);
	if (n < HEAD_BYTES || n > room || padded((size_t)n, COPY_ALIGN) != room ||
	    le__get64(p + AT_CHECK) != check_of(p, (size_t)n))
		return -EUCLEAN;
	if (le__get32(p + AT_VERSION) != VERSION)
		return -EPROTONOSUPPORT;
	m->store_lo = le__get64(p + AT_STORE_LO);
	m->store_hi = le__get64(p + AT_STORE_HI);
	m->generation = le__get64(p + AT_GENERATION);
	m->sealed_lsn = le__get64(p + AT_SEALED);
	m->next_block = le__get64(p + AT_NEXT_BLOCK);
	if (m->generation >= GENERATION_MAX || m->sealed_lsn >= COUNT_MAX || m->next_block >= COUNT_MAX)
		return -EUCLEAN;
	rc = get_entries(m, p, (size_t)n);
	if (rc) {
		manifest__fini(m);
		*m = (struct manifest){ .generation = 0 };
	}
	return rc;
}

int manifest__decode(struct manifest *m, const uint8_t *p, size_t n, bool *ret_damaged,
		     struct dcm_error *err)
{
	struct manifest got = { .generation = 0 };
	bool damaged = false;
	int rc = get_copy(&got, p, n / 2);

	if (rc == -EUCLEAN) {
		damaged = true;
		rc = get_copy(&got, p + n / 2, n - n / 2);
	} else if (!rc) {
		damaged = n % 2 || memcmp(p, p + n / 2, n / 2) != 0;
	}
	if (rc == -EUCLEAN)
		return error__set(err, rc,
				  MANIFEST_PATH
				  ": both copies in it are damaged; restore it from a backup");
	if (rc == -EPROTONOSUPPORT)
		return error__set(err, rc,
				  MANIFEST_PATH
				  ": written by a later version of Decima; open it with that one");
	if (rc)
		return error__nomem(err);
	*m = got;
	*ret_damaged = damaged;
	return 0;
}

static int say_unreadable(int code, struct dcm_error *err)
{
	const char *reason = strerrordesc_np(-code);

	if (code == -ELOOP)
		return error__set(err, code,
				  MANIFEST_PATH ": is a symbolic link; put the file itself there");
	return error__set(err, code, MANIFEST_PATH ": cannot read: %s; %s",
			  reason ? reason : "Unknown error", vfs__remedy(code));
}

int manifest__read(struct manifest *m, struct vfs *v, bool *ret_damaged, struct dcm_error *err)
{
	struct buf b = { .limit = MANIFEST_MAX_BYTES };
	int rc = vfs__read_file(v, MANIFEST_PATH, MANIFEST_MAX_BYTES, &b);

	if (rc)
		say_unreadable(rc, err);
	else
		rc = manifest__decode(m, b.data, b.n, ret_damaged, err);
	buf__fini(&b);
	return rc;
}

static int write_tmp(struct vfs *v, const struct buf *b)
{
	CLEANUP(vfs__closep) struct vfs_file *f = NULL;
	int rc = vfs__unlink(v, MANIFEST_TMP_PATH); /* a new file, never one whose sync failed */

	if (!rc || rc == -ENOENT)
		rc = vfs__open(v, MANIFEST_TMP_PATH, VFS_WRITE | VFS_CREATE | VFS_NEW, &f);
	if (!rc)
		rc = vfs__write(f, b->data, b->n, 0);
	return rc ? rc : vfs__sync(f);
}

int manifest__write(const struct manifest *m, struct vfs *v, bool *ret_replaced, struct dcm_error *err)
{
	struct buf b = { .limit = MANIFEST_MAX_BYTES };
	int rc;

	*ret_replaced = false;
	manifest__encode(m, &b);
	rc = b.error;
	if (!rc)
		rc = write_tmp(v, &b);
	buf__fini(&b);
	if (rc) {
		vfs__unlink(v, MANIFEST_TMP_PATH);
		return error__sys(err, rc, MANIFEST_TMP_PATH ": cannot write");
	}
	*ret_replaced = true; /* a rename that fails may have been done */
	rc = vfs__rename(v, MANIFEST_TMP_PATH, MANIFEST_PATH);
	if (rc)
		return error__sys(err, rc, MANIFEST_PATH ": cannot replace");
	rc = vfs__sync_dir(v, ".");
	return rc ? error__sys(err, rc, MANIFEST_PATH ": replaced, but the directory cannot be synced")
		  : 0;
}
