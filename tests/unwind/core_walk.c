/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unwind/core_walk.c - walks the threads of a core dump with the step that the kernel uses
 *
 *	core_walk CORE
 *
 * For each thread a line "TID N", a line with each frame's address in hex, innermost first, and a
 * line "end OUTCOME". Tables are made of the files that the dump says were mapped, as they are now;
 * memory and registers are the dump's. x86-64. Exits 2 when the dump cannot be read.
 *
 * Source: Linux's fs/binfmt_elf.c (notes of a core file).
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <time.h>
#include <unistd.h>

#include "bpf/arch.bpf.h"
#include "core/base/fd.h"
#include "core/base/le.h"
#include "plugins/input/ebpf/tables/tables.h"
#include "tests/unit/ebpf_memory.h"

#ifdef __x86_64__

enum {
	RANGES = 256,
	THREADS = 256,
	FRAMES = 2048,
	STACK_BYTES = 4 << 20, /* of a thread, looked at */
	LIMIT_BYTES = 64 << 20,
};

struct core {
	const uint8_t *data; /* [size] */
	uint64_t size;
	const Elf64_Phdr *segments; /* [n_segments] */
	uint32_t n_segments;
	const uint8_t *files; /* [n_files]: the note that lists mapped files */
	uint64_t n_files;
	struct elf_prstatus threads[THREADS]; /* copies: notes are aligned to 4 */
	uint32_t n_threads;
};

static void die(const char *what)
{
	fprintf(stderr, "core_walk: %s\n", what);
	exit(2);
}

/* ------------------------------------------------------------------------------------------------
 * The dump
 */

static void read_notes(struct core *c, const uint8_t *p, const uint8_t *end)
{
	while ((size_t)(end - p) >= sizeof(Elf64_Nhdr)) {
		const Elf64_Nhdr *note = (const void *)p;
		uint64_t name = (note->n_namesz + 3u) & ~3u, n = (note->n_descsz + 3u) & ~3u;
		const uint8_t *body = p + sizeof(*note) + name;

		if ((uint64_t)(end - p) < sizeof(*note) + name + n)
			die("a note is cut off");
		if (note->n_type == NT_PRSTATUS && n >= sizeof(struct elf_prstatus) && c->n_threads < THREADS)
			memcpy(&c->threads[c->n_threads++], body, sizeof(struct elf_prstatus));
		if (note->n_type == NT_FILE) {
			c->files = body;
			c->n_files = note->n_descsz;
		}
		p = body + n;
	}
}

static void open_core(struct core *c, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	const Elf64_Ehdr *head;

	if (fd < 0 || fstat(fd, &st) || st.st_size < (off_t)sizeof(*head))
		die("cannot open the dump");
	c->size = (uint64_t)st.st_size;
	head = mmap(NULL, c->size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (head == MAP_FAILED || memcmp(head->e_ident, ELFMAG, SELFMAG) || head->e_type != ET_CORE)
		die("no dump");
	c->data = (const void *)head;
	if (head->e_phoff > c->size || head->e_phnum > (c->size - head->e_phoff) / sizeof(Elf64_Phdr))
		die("cut off");
	c->segments = (const void *)(c->data + head->e_phoff);
	c->n_segments = head->e_phnum;
	for (uint32_t i = 0; i < c->n_segments; i++) {
		const Elf64_Phdr *s = &c->segments[i];

		if (s->p_offset > c->size || s->p_filesz > c->size - s->p_offset)
			die("cut off");
		if (s->p_type == PT_NOTE)
			read_notes(c, c->data + s->p_offset, c->data + s->p_offset + s->p_filesz);
	}
}

/* The bytes from an address on that the dump has, and how many; NULL: none. */
static const uint8_t *memory_at(const struct core *c, uint64_t address, uint64_t *ret_n)
{
	for (uint32_t i = 0; i < c->n_segments; i++) {
		const Elf64_Phdr *s = &c->segments[i];
		uint64_t at = address - s->p_vaddr;

		if (s->p_type == PT_LOAD && at < s->p_filesz) {
			*ret_n = s->p_filesz - at;
			return c->data + s->p_offset + at;
		}
	}
	return NULL;
}

/*
 * The file that was mapped at an address, and the offset there: NULL when there was none. The note:
 * count, page size, (start, end, offset in pages) [count], names.
 */
static const char *file_at(const struct core *c, uint64_t address, uint64_t *ret_offset)
{
	uint64_t n = c->n_files >= 16 ? le__get64(c->files) : 0;
	const char *name, *end = (const char *)c->files + c->n_files;

	if (n > c->n_files / 24)
		return NULL;
	const uint8_t *words = (const uint8_t *)c->files + 16;
	const uint64_t page_bytes = le__get64((const uint8_t *)c->files + 8);

	name = (const char *)words + 24 * n;
	for (uint64_t i = 0; i < n && name < end; i++, name += strnlen(name, (size_t)(end - name)) + 1) {
		const uint8_t *m = words + 24 * i;
		const uint64_t start = le__get64(m), end_address = le__get64(m + 8);

		if (address - start < end_address - start) {
			*ret_offset = le__get64(m + 16) * page_bytes + (address - start);
			return memchr(name, 0, (size_t)(end - name)) ? name : NULL;
		}
	}
	return NULL;
}

/* ------------------------------------------------------------------------------------------------
 * Tables
 */

/* What is mapped at the segment: a file, or the vDSO, whose image is in the dump. */
static int open_code(const struct core *c, const Elf64_Phdr *s, struct tables_range *range)
{
	const char *path = file_at(c, s->p_vaddr, &range->offset);
	int fd;

	if (path) {
		range->build_id = path;
		return open(path, O_RDONLY | O_CLOEXEC);
	}
	if (s->p_filesz < SELFMAG || memcmp(c->data + s->p_offset, ELFMAG, SELFMAG))
		return -1;
	range->build_id = "vdso";
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd >= 0 && fd__write_all(fd, c->data + s->p_offset, s->p_filesz))
		die("cannot copy the vDSO");
	return fd;
}

static void announce(const struct core *c, struct tables *t, const struct tables_image *image)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	struct tables_range ranges[RANGES];
	struct tables_stat stat;
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->n_segments && n < RANGES; i++) {
		const Elf64_Phdr *s = &c->segments[i];
		struct tables_range *range = &ranges[n];
		int fd;

		if (s->p_type != PT_LOAD || !(s->p_flags & PF_X))
			continue;
		*range = (struct tables_range){ .start = s->p_vaddr,
						.end = s->p_vaddr + s->p_memsz,
						.code = TABLES_MEMORY };
		fd = open_code(c, s, range);
		if (fd >= 0 && tables__file(t, range->build_id, fd) == 0)
			range->code = TABLES_FILE;
		fd__close(fd);
		n++;
	}
	if (tables__announce(t, image, 0, ranges, n))
		die("cannot announce the mappings");
	do {
		nanosleep(&ms, NULL);
		stat = tables__stat(t);
	} while (stat.builds < stat.n_files);
}

/* ------------------------------------------------------------------------------------------------
 * Threads
 */

/* The code around pc, of the dump or the file: dumps leave out what files have. */
static bool read_code(const struct core *c, uint64_t pc, uint8_t *code)
{
	uint64_t n, offset;
	const uint8_t *p = memory_at(c, pc - ARCH_CODE_BEFORE, &n);
	const char *path;
	int fd;
	bool good;

	if (p && n >= ARCH_CODE_BYTES) {
		memcpy(code, p, ARCH_CODE_BYTES);
		return true;
	}
	path = file_at(c, pc - ARCH_CODE_BEFORE, &offset);
	fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	good = fd >= 0 && pread(fd, code, ARCH_CODE_BYTES, (off_t)offset) == (ssize_t)ARCH_CODE_BYTES;
	fd__close(fd);
	return good;
}

/* As the sampling program would have deferred it, but for the size of the stack. */
static void capture(const struct core *c, const struct elf_prstatus *thread, struct sampler_raw *raw)
{
	struct user_regs_struct regs;
	uint64_t n = 0;
	const uint8_t *stack;

	memcpy(&regs, thread->pr_reg, sizeof(regs));
	memset(raw, 0, sizeof(*raw));
	arch_dwarf_regs(raw->regs, &regs);
	raw->pc = regs.rip;
	raw->has_code = read_code(c, raw->pc, raw->code);
	raw->start = regs.rsp - SAMPLER_RED_BYTES;
	stack = memory_at(c, raw->start, &n);
	if (!stack) {
		raw->start = regs.rsp;
		stack = memory_at(c, raw->start, &n);
	}
	raw->n_bytes = (uint32_t)(n < STACK_BYTES ? n : STACK_BYTES);
	if (stack)
		memcpy(raw + 1, stack, raw->n_bytes);
}

static void print_walk(struct tables *t, const struct tables_image *image, const struct sampler_raw *raw)
{
	static const char *const outcomes[SAMPLER_OUTCOME_N] = {
#define SAMPLER_X(name, metric, note) metric,
		SAMPLER_OUTCOMES(SAMPLER_X)
#undef SAMPLER_X
	};
	uint64_t frames[FRAMES];
	struct tables_walk walk;

	if (tables__walk(t, image, raw, frames, FRAMES, &walk))
		die("no such image");
	for (uint32_t i = 0; i < walk.n; i++)
		printf("%" PRIx64 "\n", frames[i]);
	printf("end %s\n", outcomes[walk.outcome]);
}

int main(int argc, char **argv)
{
	static struct ebpf_memory memory;
	struct tables_memory views = ebpf_memory__of(&memory);
	const struct tables_image image = { 1, 1, 1 };
	struct tables *t = tables__new(&views, LIMIT_BYTES);
	struct sampler_raw *raw = malloc(sizeof(*raw) + STACK_BYTES);
	struct core c = { 0 };

	if (argc != 2 || !t || !raw || tables__start(t))
		die("one argument, and memory");
	open_core(&c, argv[1]);
	announce(&c, t, &image);
	for (uint32_t i = 0; i < c.n_threads; i++) {
		capture(&c, &c.threads[i], raw);
		printf("TID %d\n", (int)c.threads[i].pr_pid);
		print_walk(t, &image, raw);
	}
	free(raw);
	tables__free(t);
	return 0;
}

#else

int main(void)
{
	fputs("core_walk: tables are for x86-64\n", stderr);
	return 2;
}

#endif
