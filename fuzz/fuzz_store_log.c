/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_store_log.c - segments of the local store's log that anybody wrote
 *
 * The input is the segment wal/1.wal, once as it is and once with its checks put right, so that
 * what stands behind them is reached too; where it holds a second head, the rest is wal/2.wal. The
 * log opens, hands over each LSN once and ascending, takes a frame, and after a restart has the
 * same frames and that one. So does the first segment as a log of one file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/le.h"
#include "plugins/storage/local/log_file.h"
#include "core/disk/wal.h"
#include "tests/storage/sim_disk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEAD_SEED 0x646563696d616c67u

struct seen {
	uint64_t n, last_lsn, hash;
};

static int see(void *ctx, const struct frame *f)
{
	struct seen *s = ctx;

	if (f->lsn <= s->last_lsn || f->synced_lsn >= f->lsn || f->n == 0)
		abort();
	s->n++;
	s->last_lsn = f->lsn;
	s->hash = hash__mix(s->hash, hash__bytes(f->payload, f->n, f->lsn ^ f->type));
	return 0;
}

/* Writes the checks that head and frames should have, as far as there is room for them. */
static void put_right(uint8_t *p, size_t n)
{
	uint64_t salt;

	if (n < FRAMES_HEAD_BYTES)
		return;
	le__put64(p + 56, hash__bytes(p, 56, HEAD_SEED));
	salt = le__get64(p + 24);
	for (size_t at = FRAMES_HEAD_BYTES; at + FRAME_HEAD_BYTES <= n; at += FRAME_ALIGN) {
		uint32_t length = le__get32(p + at + 4);

		if (le__get32(p + at) != 0x4d524644)
			continue;
		if (length <= n - at - FRAME_HEAD_BYTES)
			le__put32(p + at + 24, (uint32_t)hash__bytes(p + at + FRAME_HEAD_BYTES, length,
								     salt ^ le__get64(p + at + 8)));
		le__put32(p + at + 28, (uint32_t)hash__bytes(p + at, 28, salt));
	}
}

static void put_file(struct vfs *v, uint64_t number, const uint8_t *p, size_t n)
{
	char path[WAL_PATH_BYTES];
	struct vfs_file *f;

	if (vfs__open(v, wal__path(path, number), VFS_WRITE | VFS_CREATE, &f) || vfs__write(f, p, n, 0))
		abort();
	vfs__close(f);
}

static int open_log(struct vfs *v, struct wal **ret, struct seen *seen)
{
	struct wal_options o = {
		.segment_bytes = 4096, .pending_max_bytes = 1 << 20, .align = 512, .first_number = 9
	};
	struct wal_found found;

	*seen = (struct seen){ .n = 0 };
	return wal__open(v, &o, 0, see, seen, &found, ret, NULL);
}

/* Opens, appends, opens again. */
static void check(struct vfs *v)
{
	struct wal *w = NULL;
	struct seen first, second;
	uint64_t lsn;
	int rc = open_log(v, &w, &first);

	if (rc == -EUCLEAN || rc == -EPROTONOSUPPORT)
		return;
	if (rc)
		abort();
	rc = wal__append(w, 3, "fuzz", 4, &lsn, NULL);
	if (rc == -EOVERFLOW) { /* its numbers are used up */
		wal__close(w);
		return;
	}
	if (rc || wal__sync(w, lsn, NULL) || lsn <= first.last_lsn)
		abort();
	wal__close(w);
	if (open_log(v, &w, &second) || second.n != first.n + 1 || second.last_lsn != lsn)
		abort();
	if (second.hash != hash__mix(first.hash, hash__bytes("fuzz", 4, lsn ^ 3)))
		abort();
	wal__close(w);
}

/* The same with a log of one file. */
static void check_file(struct vfs *v, const char *path)
{
	struct seen first = { .n = 0 }, second = { .n = 0 };
	struct log_found found;
	struct log_file *l;
	uint64_t lsn;
	int rc = log_file__open(v, path, WAL_KIND, see, &first, &found, &l, NULL);

	if (rc == -EUCLEAN || rc == -EPROTONOSUPPORT)
		return;
	if (rc || found.n_records != first.n)
		abort();
	rc = log_file__append(l, 3, "fuzz", 4, &lsn, NULL);
	if (rc == -EOVERFLOW) {
		log_file__close(l);
		return;
	}
	if (rc || log_file__sync(l, NULL) || lsn <= first.last_lsn)
		abort();
	log_file__close(l);
	if (log_file__open(v, path, WAL_KIND, see, &second, &found, &l, NULL) ||
	    second.n != first.n + 1 || second.last_lsn != lsn)
		abort();
	log_file__close(l);
}

static void try(const uint8_t *data, size_t size, bool right)
{
	struct sim *sim = sim__new(1, SIM_PREFIX);
	uint8_t *copy = malloc(size + 1);
	size_t cut = size;

	if (!sim || !copy || vfs__mkdir(sim__vfs(sim), WAL_DIR))
		abort();
	if (size)
		memcpy(copy, data, size);
	for (size_t at = 8; at + 8 <= size && cut == size; at += 8)
		if (memcmp(copy + at, "DCMLOG\r\n", 8) == 0)
			cut = at;
	if (right) {
		put_right(copy, cut);
		put_right(copy + cut, size - cut);
	}
	put_file(sim__vfs(sim), 1, copy, cut);
	if (cut < size)
		put_file(sim__vfs(sim), 2, copy + cut, size - cut);
	free(copy);
	char path[WAL_PATH_BYTES];
	if (sim__vfs(sim)->ops->link(sim__vfs(sim), wal__path(path, 1), "wal/log"))
		abort();
	check(sim__vfs(sim));
	check_file(sim__vfs(sim), "wal/log");
	sim__free(sim);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 64 << 10)
		return 0;
	try(data, size, false);
	try(data, size, true);
	return 0;
}
