/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/bench_spool.c - a spool: into it with a sync for each group, and out of it again
 *
 * Batches of a made-up fleet (bench/fleet.h) go in as the writer before a spool gives them, in groups of up to 16 MiB.
 * The same bytes, in as many pieces, are written to a plain file with fdatasync(2) beside it. Then another process's
 * spool reads all of it back.
 *
 *	bench_spool DIRECTORY [MIB]      on the file system that is meant; 256 MiB; what it makes there it removes
 */
#include <fcntl.h>
#include <unistd.h>

#include "bench/figure.h"
#include "bench/source.h"
#include "core/batch/batch.h"
#include "core/base/clock.h"
#include "core/codec/wire.h"
#include "core/disk/vfs.h"
#include "core/pipeline/spool.h"

enum { GROUP_BATCHES = 64, N_HOSTS = 8, N_TICKS = 16 };
#define GROUP_BYTES ((uint64_t)16 << 20)
#define MIB	    (1024.0 * 1024.0)
#define TARGET_MB_S 200

struct run {
	const char *dir;
	uint64_t want_bytes; /* of batches in their encoding, to be had before it ends */
	uint64_t n_bytes, n_batches, n_groups;
	double seconds; /* in append() */
	double slowest; /* of a group */
};

static struct spool *open_spool(const char *dir, struct vfs **ret_vfs)
{
	const struct spool_config c = { .max_bytes = (uint64_t)64 << 30,
					.max_age_ns = INT64_C(1000000) * 1000000000,
					.fed_bytes = (uint64_t)4 << 20,
					.clock = &clock__system };
	struct spool *s = NULL;
	struct dcm_error err = DCM_ERROR_INIT;

	need(vfs_posix__new(dir, false, ret_vfs, &err) == 0, err.text);
	need(spool__open(*ret_vfs, &c, &s, &err) == 0, err.text);
	return s;
}

/* The next group, as bench/source.h gives batches; references. */
static uint32_t gather(struct source *source, uint64_t *tick,
		       struct dcm_batch *group[static GROUP_BATCHES])
{
	uint64_t bytes = 0;
	uint32_t n = 0;

	while (n < GROUP_BATCHES && bytes < GROUP_BYTES) {
		uint32_t host = (uint32_t)(*tick % N_HOSTS);

		group[n] = source->batch(source, host, (uint32_t)(*tick / N_HOSTS % N_TICKS),
					 SOURCE_BASE_NS + (int64_t)*tick * SOURCE_NS_A_SEC);
		need(group[n], "no memory for a batch");
		bytes += group[n++]->bytes;
		++*tick;
	}
	return n;
}

static void append_all(struct source *source, struct run *run)
{
	struct vfs *vfs = NULL;
	struct spool *s = open_spool(run->dir, &vfs);
	uint64_t tick = 0;

	while (run->n_bytes < run->want_bytes) {
		struct dcm_batch *group[GROUP_BATCHES];
		struct spool_view before, after;
		uint32_t n = gather(source, &tick, group);
		double began, took;

		spool__view(s, &before);
		began = seconds_of(CLOCK_MONOTONIC);
		need(spool__append(s, &group, group, n, NULL) == 0, "cannot append");
		took = seconds_of(CLOCK_MONOTONIC) - began;
		spool__view(s, &after);
		run->seconds += took;
		run->slowest = took > run->slowest ? took : run->slowest;
		run->n_bytes += after.bytes - before.bytes;
		run->n_batches += n;
		run->n_groups++;
		for (uint32_t i = 0; i < n; i++)
			batch__unref(group[i]);
	}
	spool__close(s);
	vfs_posix__free(vfs);
}

/* The same bytes by write(2) and fdatasync(2), in as many groups. */
static double write_plain(const struct run *run)
{
	size_t n = (size_t)(run->n_bytes / run->n_groups);
	char *bytes = malloc(n), path[4200];
	double began;
	int fd;

	snprintf(path, sizeof(path), "%s/plain", run->dir);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	need(bytes && fd >= 0, "cannot make a plain file");
	memset(bytes, 0x5a, n);
	began = seconds_of(CLOCK_MONOTONIC);
	for (uint64_t i = 0; i < run->n_groups; i++)
		need(write(fd, bytes, n) == (ssize_t)n && fdatasync(fd) == 0,
		     "cannot write a plain file");
	began = seconds_of(CLOCK_MONOTONIC) - began;
	close(fd);
	unlink(path);
	free(bytes);
	return began;
}

static void read_all(const struct run *run)
{
	struct vfs *vfs = NULL;
	double began = seconds_of(CLOCK_MONOTONIC), opened, took;
	struct spool *s = open_spool(run->dir, &vfs);
	struct spool_item item;
	uint64_t n = 0;

	opened = seconds_of(CLOCK_MONOTONIC) - began;
	began = seconds_of(CLOCK_MONOTONIC);
	while (spool__next(s, &item) == 0) {
		spool__settle(s, &item, 0);
		batch__unref(item.batch);
		n++;
	}
	took = seconds_of(CLOCK_MONOTONIC) - began;
	need(n == run->n_batches, "not all came back");
	figure("spool_read_back", (double)run->n_bytes / 1e6 / took, "MB/s",
	       "batches decoded and settled, thousands a second", (double)n / took / 1e3);
	figure("spool_open", opened, "s", "MB in it", (double)run->n_bytes / 1e6);
	spool__close(s);
	vfs_posix__free(vfs);
}

int main(int argc, char **argv)
{
	const struct source_shape shape = { .n_hosts = N_HOSTS, .n_ticks = N_TICKS };
	struct source *source;
	struct run run = { .want_bytes = (argc > 2 ? strtoull(argv[2], NULL, 10) : 256) << 20 };
	char dir[4096], command[4200];
	double plain;

	need(argc > 1 && run.want_bytes, "usage: bench_spool DIRECTORY [MIB]");
	snprintf(dir, sizeof(dir), "%s/bench_spool.XXXXXX", argv[1]);
	need(mkdtemp(dir), "cannot make a directory there");
	run.dir = dir;
	source = source__again(source__fleet(&shape));
	append_all(source, &run);
	plain = write_plain(&run);
	figure("spool_append", (double)run.n_bytes / 1e6 / run.seconds, "MB/s",
	       "write(2) and fdatasync(2) of the same bytes in as many groups",
	       (double)run.n_bytes / 1e6 / plain);
	figure_at_least("spool_append_target", (double)run.n_bytes / 1e6 / run.seconds, "MB/s",
			TARGET_MB_S, "the disk under it is slower: see spool_append");
	figure("spool_group", run.seconds / (double)run.n_groups * 1e3, "ms", "the slowest",
	       run.slowest * 1e3);
	read_all(&run);
	source->free(source);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command) != 0;
}
