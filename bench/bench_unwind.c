/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/bench_unwind.c - how fast unwind tables are made
 *
 *	bench_unwind [TURNS [ELF_FILE]...]
 *
 * One JSON line a file and one for all: CPU time of a row of the finished table, reading the file
 * included, the best of several turns, beside libdw's answers for as many rows (frame address,
 * frame pointer and return address of each of its own rows, once) in the same run. Without files:
 * the 30 largest programs and libraries that are installed.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/mem.h"
#include "plugins/input/ebpf/unwind/rows.h"

enum { FILES = 30 };

struct candidate {
	char *path;
	uint64_t inode;
	int64_t bytes;
};

/* What one file, or all of them, took. */
struct cost {
	uint64_t rows, table_bytes, libdw_rows;
	int64_t ns, libdw_ns;
};

/* CPU time of this thread: other work on the machine is not ours. */
static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Memory they hold. */
static uint64_t table_bytes(const struct unwind_rows *r)
{
	return sizeof(*r) + r->n * (sizeof(*r->at) + sizeof(*r->rule)) +
	       r->n_rules * sizeof(*r->rules) + r->n_segments * sizeof(*r->segments);
}

static bool ours(int fd, int turns, struct cost *c)
{
	for (int i = 0; i < turns; i++) {
		CLEANUP(unwind_rows__freep) struct unwind_rows *r = NULL;
		int64_t from = now(), took;

		if (unwind__compile_fd(fd, NULL, &r, NULL) || r->n_fdes == 0)
			return false;
		took = now() - from;
		c->ns = c->ns == 0 || took < c->ns ? took : c->ns;
		c->rows = r->n;
		c->table_bytes = table_bytes(r);
	}
	return true;
}

/* libdw's rows of one function: their number. */
static uint64_t function_rows(Dwarf_CFI *cfi, Dwarf_Addr at, Dwarf_Addr end)
{
	uint64_t n = 0;

	while (at < end) {
		Dwarf_Frame *frame;
		Dwarf_Op mem[3], *ops;
		Dwarf_Addr start, next;
		size_t n_ops;
		bool is_signal;

		if (dwarf_cfi_addrframe(cfi, at, &frame))
			break;
		dwarf_frame_cfa(frame, &ops, &n_ops);
		dwarf_frame_register(frame, 6, mem, &ops, &n_ops);
		dwarf_frame_register(frame, 16, mem, &ops, &n_ops);
		dwarf_frame_info(frame, &start, &next, &is_signal);
		free(frame);
		if (next <= at)
			break;
		at = next;
		n++;
	}
	return n;
}

/* Asks libdw for what the table answers: from each of its rows to the next. */
static void theirs(int fd, struct cost *c)
{
	CLEANUP(unwind_rows__freep) struct unwind_rows *r = NULL;
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	Dwarf_CFI *cfi = elf ? dwarf_getcfi_elf(elf) : NULL;
	int64_t from;

	if (cfi && unwind__compile_fd(fd, NULL, &r, NULL) == 0) {
		from = now();
		for (uint32_t i = 0; i + 1 < r->n; i++)
			c->libdw_rows += function_rows(cfi, r->base + r->at[i], r->base + r->at[i + 1]);
		c->libdw_ns = now() - from;
	}
	if (cfi)
		dwarf_cfi_end(cfi);
	elf_end(elf);
}

static void figure(const char *what, const struct cost *c)
{
	printf("{\"bench\":\"unwind_table\",\"file\":\"%s\",\"rows\":%" PRIu64
	       ",\"ms\":%.3g,\"value\":%.4g,\"unit\":\"ns a "
	       "row\",\"bytes_a_row\":%.3g,\"target\":60,"
	       "\"compared_with\":{\"what\":\"libdw, per row asked\",\"value\":%.4g,\"unit\":\"ns "
	       "a row\"}}\n",
	       what, c->rows, (double)c->ns / 1e6, (double)c->ns / (double)c->rows,
	       (double)c->table_bytes / (double)c->rows,
	       c->libdw_rows ? (double)c->libdw_ns / (double)c->libdw_rows : 0.0);
}

static void bench_file(const char *path, int turns, struct cost *all)
{
	CLEANUP(fd__closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct cost c = { 0 };

	if (fd < 0 || !ours(fd, turns, &c))
		return;
	theirs(fd, &c);
	figure(path, &c);
	all->rows += c.rows;
	all->table_bytes += c.table_bytes;
	all->libdw_rows += c.libdw_rows;
	all->ns += c.ns;
	all->libdw_ns += c.libdw_ns;
}

/* Keeps the FILES largest of different inodes, the largest first. */
static void offer(struct candidate *best, const FTSENT *e)
{
	struct candidate c = { .inode = e->fts_statp->st_ino, .bytes = e->fts_statp->st_size };
	unsigned at = FILES;

	while (at > 0 && best[at - 1].bytes < c.bytes)
		at--;
	if (at == FILES || (at > 0 && best[at - 1].inode == c.inode))
		return;
	free(best[FILES - 1].path);
	memmove(&best[at + 1], &best[at], (FILES - 1 - at) * sizeof(*best));
	c.path = mem__dup_str(e->fts_path, e->fts_pathlen);
	best[at] = c;
}

static bool is_program(const FTSENT *e)
{
	char head[18] = { 0 };
	CLEANUP(fd__closep) int fd = -1;

	if (e->fts_info != FTS_F || e->fts_statp->st_size < (1 << 20))
		return false;
	fd = open(e->fts_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	/* ET_EXEC or ET_DYN */
	return fd >= 0 && !fd__pread_full(fd, head, sizeof(head), 0) &&
	       !memcmp(head, "\177ELF\2\1", 6) && (head[16] == 2 || head[16] == 3);
}

static void bench_largest(int turns, struct cost *all)
{
	char *const folders[] = { "/usr/bin", "/usr/lib", NULL };
	struct candidate best[FILES] = { 0 };
	FTS *tree = fts_open(folders, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	FTSENT *e;

	while (tree && (e = fts_read(tree)))
		if (is_program(e))
			offer(best, e);
	if (tree)
		fts_close(tree);
	for (unsigned i = 0; i < FILES; i++) {
		if (best[i].path)
			bench_file(best[i].path, turns, all);
		free(best[i].path);
	}
}

int main(int argc, char **argv)
{
	int turns = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 3;
	struct cost all = { 0 };

	elf_version(EV_CURRENT);
	for (int i = 2; i < argc; i++)
		bench_file(argv[i], turns, &all);
	if (argc <= 2)
		bench_largest(turns, &all);
	if (all.rows)
		figure("all", &all);
	return 0;
}
