/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unwind/oracle.c - compares the unwind tables of a machine's ELF files with libdw's answers
 *
 *	oracle [--seconds N] [--stride N] [PATH]...
 *
 * Files and folders, these with all below; without any: where programs and libraries are installed.
 * Ends after N seconds of CPU time (default: none), the search not counted, in an order that is the
 * same each time and mixes small files with large ones, so that less time is a sample. Prints
 * counts, one name and number a line, and exits 1 when an answer differs.
 */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/vec.h"
#include "tests/unwind/judge.h"

struct candidate {
	char *path;
	uint64_t order;
};

struct candidates {
	struct candidate *v;
	size_t n, cap;
};

static bool is_elf(const char *path)
{
	char magic[4] = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	bool yes = fd >= 0 && read(fd, magic, sizeof(magic)) == sizeof(magic) &&
		   !memcmp(magic, "\177ELF", sizeof(magic));

	if (fd >= 0)
		close(fd);
	return yes;
}

static void add(struct candidates *c, const char *path)
{
	struct candidate one = { .path = mem__dup_str(path, strlen(path)),
				 .order = hash__bytes(path, strlen(path), 0) };

	if (!one.path || !vec__push(c, one)) {
		fputs("oracle: out of memory\n", stderr);
		exit(2);
	}
}

static void find(struct candidates *c, char *const *paths)
{
	FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	FTSENT *e;

	if (!tree) {
		perror("oracle: fts_open");
		exit(2);
	}
	while ((e = fts_read(tree)))
		if (e->fts_info == FTS_F && e->fts_statp->st_size > 256 && is_elf(e->fts_path))
			add(c, e->fts_path);
	fts_close(tree);
}

static int by_order(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return (x->order > y->order) - (x->order < y->order);
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void report(const struct judge *j, size_t n_found, const uint64_t *skipped)
{
	static const char *const gap[] = {
#define UNWIND_X(name, metric, text) metric,
		UNWIND_GAPS(UNWIND_X)
#undef UNWIND_X
	};

	printf("found %zu\nfiles %" PRIu64 "\nrows %" PRIu64 "\npoints %" PRIu64 "\nequal %" PRIu64 "\n",
	       n_found, j->files, j->rows, j->points, j->equal);
	printf("padding %" PRIu64 "\nwith_rbx %" PRIu64 "\n", j->padding, j->with_rbx);
	printf("without_description %" PRIu64 "\nknown_better %" PRIu64 "\nmissing %" PRIu64 "\n",
	       j->without, j->known_better, j->missing);
	printf("unsupported %" PRIu64 "\nfp_lost %" PRIu64 "\nlibdw_cannot %" PRIu64
	       "\nmismatches %" PRIu64 "\n",
	       j->unsupported, j->fp_lost, j->broken, j->mismatches);
	for (unsigned i = 0; i < UNWIND_GAP_N; i++)
		if (j->gaps[i])
			printf("gap %s %" PRIu64 "\n", gap[i], j->gaps[i]);
	printf("not_for_us %" PRIu64 "\nno_cfi_says_libdw %" PRIu64 "\nfailed %" PRIu64 "\n",
	       skipped[0], skipped[1], skipped[2]);
}

int main(int argc, char **argv)
{
	static char *const everywhere[] = { "/bin", "/lib", "/lib64", "/opt", "/sbin", "/usr", NULL };
	struct judge judge = { .max_lines = 40 };
	struct candidates c = { 0 };
	uint64_t skipped[3] = { 0 };
	double limit = 0;
	int arg = 1;

	for (; arg + 1 < argc && argv[arg][0] == '-'; arg += 2) {
		if (!strcmp(argv[arg], "--seconds"))
			limit = strtod(argv[arg + 1], NULL);
		else if (!strcmp(argv[arg], "--stride"))
			judge.stride = strtoull(argv[arg + 1], NULL, 10);
		else
			return 2;
	}
	find(&c, arg < argc ? argv + arg : everywhere);
	if (c.n)
		qsort(c.v, c.n, sizeof(*c.v), by_order);
	const double began = cpu_seconds();
	for (size_t i = 0; i < c.n && (!limit || cpu_seconds() - began < limit); i++) {
		int fd = open(c.v[i].path, O_RDONLY | O_CLOEXEC);
		int rc = fd < 0 ? -errno : judge__file(&judge, fd, c.v[i].path);

		if (rc && rc != -ENOEXEC && rc != -ENOTSUP)
			fprintf(stderr, "%s: %s\n", c.v[i].path, strerror(-rc));
		if (rc)
			skipped[rc == -ENOEXEC ? 0 : rc == -ENOTSUP ? 1 : 2]++;
		if (fd >= 0)
			close(fd);
	}
	report(&judge, c.n, skipped);
	for (size_t i = 0; i < c.n; i++)
		free(c.v[i].path);
	vec__fini(&c);
	return judge.mismatches || judge.missing || skipped[2];
}
