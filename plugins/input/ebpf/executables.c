/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/executables.c - what kind of program an executable file is
 *
 * Every size in the file meets a limit before it is read. Sources: elf(5); Go's
 * src/debug/buildinfo/buildinfo.go for the inline format (1.18 and later); OpenTelemetry's
 * opentelemetry-ebpf-profiler, libpf/fileid.go, for the file id.
 */
#include "plugins/input/ebpf/executables.h"
#include "plugins/input/ebpf/guarded.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"

enum {
	SLOTS = 1024,
	EXECUTABLES_MAX = 4096,
	HEADERS_MAX = 512, /* program or section headers that are looked at */
	COMMENT_BYTES_MAX = 4096,
	NAMES_BYTES_MAX = 64 * 1024, /* of the section names */
	GO_VERSION_AT = 32,	     /* in .go.buildinfo: a length and the text */
	GO_FLAGS_AT = 15,
	GO_FLAG_INLINE = 2,
	ID_BYTES_MAX = 4096, /* of either end of the file, in its id */
};

struct entry {
	struct entry *next;
	uint32_t refs;
	uint64_t dev, ino, size;
	int64_t mtime_ns;
	struct executable executable;
};

struct executables {
	const struct dcm_host *host;
	struct entry *slots[SLOTS];
	uint32_t n;
};

/* ------------------------------------------------------------------------------------------------
 * One file
 */

struct sections {
	uint32_t n;
	Elf64_Shdr headers[HEADERS_MAX];
	char names[NAMES_BYTES_MAX + 1];
};

static bool read_header(int fd, Elf64_Ehdr *ret)
{
	return fd__pread_full(fd, ret, sizeof(*ret), 0) == 0 &&
	       memcmp(ret->e_ident, ELFMAG, SELFMAG) == 0 && ret->e_ident[EI_CLASS] == ELFCLASS64 &&
	       ret->e_ident[EI_DATA] == ELFDATA2LSB;
}

static bool has_interpreter(int fd, const Elf64_Ehdr *e)
{
	Elf64_Phdr ph;

	if (e->e_phentsize != sizeof(ph))
		return false;
	for (uint32_t i = 0; i < e->e_phnum && i < HEADERS_MAX; i++)
		if (fd__pread_full(fd, &ph, sizeof(ph), e->e_phoff + i * sizeof(ph)) == 0 &&
		    ph.p_type == PT_INTERP)
			return true;
	return false;
}

static struct sections *read_sections(int fd, const Elf64_Ehdr *e)
{
	struct sections *s;
	uint64_t n_names;

	if (e->e_shentsize != sizeof(Elf64_Shdr) || e->e_shnum > HEADERS_MAX || e->e_shstrndx >= e->e_shnum)
		return NULL;
	s = NEW(struct sections);
	if (!s)
		return NULL;
	s->n = e->e_shnum;
	if (fd__pread_full(fd, s->headers, s->n * sizeof(*s->headers), e->e_shoff) == 0) {
		n_names = s->headers[e->e_shstrndx].sh_size;
		if (n_names <= NAMES_BYTES_MAX &&
		    fd__pread_full(fd, s->names, n_names, s->headers[e->e_shstrndx].sh_offset) == 0)
			return s;
	}
	free(s);
	return NULL;
}

static const Elf64_Shdr *section(const struct sections *s, const char *name)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->headers[i].sh_name < NAMES_BYTES_MAX &&
		    strcmp(s->names + s->headers[i].sh_name, name) == 0)
			return &s->headers[i];
	return NULL;
}

static bool has_symbols(const struct sections *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->headers[i].sh_type == SHT_SYMTAB)
			return true;
	return false;
}

static void keep_text(char *to, size_t room, const char *text, size_t n)
{
	if (n >= room)
		n = str__utf8_cut(text, room - 1);
	memcpy(to, text, n);
	to[n] = 0;
	str__clean(to, n);
}

/*
 * Linkers collect a line from each object's compiler, the C runtime's own among them, so the most
 * telling one counts: rustc before clang before any other.
 */
static int telling(const char *line)
{
	if (strstr(line, "rustc"))
		return 3;
	if (strstr(line, "clang"))
		return 2;
	return line[0] != 0;
}

static void read_comment(int fd, const Elf64_Shdr *comment, struct executable *ret)
{
	char text[COMMENT_BYTES_MAX + 1] = "";
	size_t n = comment->sh_size < COMMENT_BYTES_MAX ? comment->sh_size : COMMENT_BYTES_MAX;
	int best = 0;

	if (comment->sh_type == SHT_NOBITS || fd__pread_full(fd, text, n, comment->sh_offset) < 0)
		return;
	for (size_t at = 0; at < n; at += strlen(text + at) + 1)
		if (telling(text + at) > best) {
			best = telling(text + at);
			keep_text(ret->compiler, sizeof(ret->compiler), text + at, strlen(text + at));
		}
}

static void read_go(int fd, const Elf64_Shdr *info, struct executable *ret)
{
	uint8_t head[GO_VERSION_AT + 1 + sizeof(ret->compiler)] = { 0 };
	size_t n = info->sh_size < sizeof(head) ? info->sh_size : sizeof(head);

	memcpy(ret->runtime, "go", sizeof("go"));
	if (n <= GO_VERSION_AT || fd__pread_full(fd, head, n, info->sh_offset) < 0 ||
	    memcmp(head, "\xff Go buildinf:", 14) != 0 || !(head[GO_FLAGS_AT] & GO_FLAG_INLINE))
		return;
	/* A length of 128 and more would take another byte; versions are shorter. */
	if (head[GO_VERSION_AT] > n - GO_VERSION_AT - 1)
		return;
	keep_text(ret->compiler, sizeof(ret->compiler), (const char *)head + GO_VERSION_AT + 1,
		  head[GO_VERSION_AT]);
}

/* Runtimes by the name of their program, which may go on with a version. */
static void name_runtime(struct dcm_str path, struct executable *ret)
{
	static const struct {
		const char *name, *runtime;
	} programs[] = {
		{ "python", "python" }, { "pypy", "python" },	{ "node", "nodejs" },
		{ "java", "java" },	{ "ruby", "ruby" },	{ "perl", "perl" },
		{ "php", "php" },	{ "beam", "erlang" },	{ "luajit", "lua" },
		{ "lua", "lua" },	{ "dotnet", "dotnet" }, { "deno", "deno" },
		{ "bun", "bun" },	{ "Rscript", "r" },	{ "julia", "julia" },
	};

	while (path.n > 0) {
		const char *slash = memchr(path.p, '/', path.n);

		if (!slash)
			break;
		path.n -= (uint32_t)(slash + 1 - path.p);
		path.p = slash + 1;
	}
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		size_t n = strlen(programs[i].name);

		if (path.n < n || memcmp(path.p, programs[i].name, n) != 0)
			continue;
		if (path.n > n && !strchr("0123456789.-", path.p[n]))
			continue;
		keep_text(ret->runtime, sizeof(ret->runtime), programs[i].runtime,
			  strlen(programs[i].runtime));
		return;
	}
}

/*
 * Half of the SHA-256 of: the first 4 KiB, the last 4 KiB (of a smaller file, all of it twice), and
 * its length with the high byte first.
 */
static void read_file_id(int fd, char ret[static 33])
{
	uint8_t end[ID_BYTES_MAX], hash[SHA256_DIGEST_SIZE];
	struct sha256_ctx sha;
	struct stat st;
	uint64_t size;
	size_t n;

	if (fstat(fd, &st) || st.st_size <= 0)
		return;
	size = (uint64_t)st.st_size;
	n = size < sizeof(end) ? size : sizeof(end);
	sha256_init(&sha);
	if (fd__pread_full(fd, end, n, 0))
		return;
	sha256_update(&sha, n, end);
	if (fd__pread_full(fd, end, n, size - n))
		return;
	sha256_update(&sha, n, end);
	for (unsigned i = 0; i < 8; i++)
		end[i] = (uint8_t)(size >> (56 - 8 * i));
	sha256_update(&sha, 8, end);
	sha256_digest(&sha, sizeof(hash), hash);
	for (unsigned i = 0; i < 16; i++)
		snprintf(ret + 2 * (size_t)i, 3, "%02x", hash[i]);
}

void executable__read(int fd, struct dcm_str path, struct executable *ret)
{
	const Elf64_Shdr *comment, *go;
	struct sections *s;
	Elf64_Ehdr e;

	*ret = (struct executable){ .build_id = "" };
	name_runtime(path, ret);
	read_file_id(fd, ret->file_id);
	if (!read_header(fd, &e))
		return;
	ret->is_elf = true;
	ret->is_static = !has_interpreter(fd, &e);
	ret->is_stripped = true;
	s = read_sections(fd, &e);
	if (!s)
		return;
	ret->is_stripped = !has_symbols(s);
	comment = section(s, ".comment");
	if (comment)
		read_comment(fd, comment, ret);
	go = section(s, ".go.buildinfo");
	if (go)
		read_go(fd, go, ret);
	free(s);
}

/* ------------------------------------------------------------------------------------------------
 * The table
 */

struct executables *executables__new(const struct dcm_host *host)
{
	struct executables *t = NEW(struct executables);

	if (t)
		t->host = host;
	return t;
}

void executables__free(struct executables *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < SLOTS; i++)
		while (t->slots[i]) {
			struct entry *e = t->slots[i];

			t->slots[i] = e->next;
			free(e);
		}
	free(t);
}

static struct entry *entry_of(const struct executable *e)
{
	return (struct entry *)((uintptr_t)e - offsetof(struct entry, executable));
}

static const struct executable *ref(struct entry *e)
{
	if (!e)
		return NULL;
	e->refs++;
	return &e->executable;
}

void executables__unref(const struct executable *e)
{
	if (e)
		entry_of(e)->refs--;
}

static void forget_unused(struct executables *t)
{
	for (uint32_t i = 0; i < SLOTS; i++)
		for (struct entry **at = &t->slots[i]; *at;) {
			struct entry *e = *at;

			if (e->refs) {
				at = &e->next;
				continue;
			}
			*at = e->next;
			free(e);
			t->n--;
		}
}

static int64_t mtime_ns(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static struct entry **slot_of(struct executables *t, uint64_t dev, uint64_t ino)
{
	return &t->slots[hash__mix(dev, ino) % SLOTS];
}

static struct entry *find(struct executables *t, uint64_t dev, uint64_t ino, uint64_t size, int64_t mtime)
{
	struct entry *e = *slot_of(t, dev, ino);

	while (e && (e->dev != dev || e->ino != ino || e->size != size || e->mtime_ns != mtime))
		e = e->next;
	return e;
}

static struct entry *find_stat(struct executables *t, const struct stat *st)
{
	return find(t, st->st_dev, st->st_ino, (uint64_t)st->st_size, mtime_ns(st));
}

static struct entry *add(struct executables *t, const struct stat *st, int fd, struct dcm_str path)
{
	struct entry **slot = slot_of(t, st->st_dev, st->st_ino), *e;

	if (t->n >= EXECUTABLES_MAX)
		forget_unused(t);
	e = t->n < EXECUTABLES_MAX ? NEW(struct entry) : NULL;
	if (!e)
		return NULL;
	e->dev = st->st_dev;
	e->ino = st->st_ino;
	e->size = (uint64_t)st->st_size;
	e->mtime_ns = mtime_ns(st);
	executable__read(fd, path, &e->executable);
	if (t->host->build_id(t->host, fd, e->executable.build_id) < 0)
		e->executable.build_id[0] = 0;
	e->next = *slot;
	*slot = e;
	t->n++;
	return e;
}

int executables__of(struct executables *t, int proc_dir, int exe_fd, struct dcm_str path,
		    const struct executable **ret)
{
	CLEANUP(fd__closep) int fd = -1;
	struct entry *e;
	struct stat st;

	if (exe_fd < 0)
		return exe_fd;
	if (fstat(exe_fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -ENOEXEC;
	e = find_stat(t, &st);
	if (!e) {
		fd = guarded__open(t->host, proc_dir, DCM_GUARDED_EXE);
		if (fd < 0)
			return fd;
		e = add(t, &st, fd, path);
	}
	*ret = ref(e);
	return e ? 0 : -ENOMEM;
}

int executables__of_fd(struct executables *t, int fd, struct dcm_str path, const struct executable **ret)
{
	struct entry *e;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	e = find_stat(t, &st);
	if (!e)
		e = add(t, &st, fd, path);
	*ret = ref(e);
	return e ? 0 : -ENOMEM;
}

const struct executable *executables__known(struct executables *t, const struct file *f)
{
	struct entry *e = find(t, f->dev, f->ino, f->size, f->mtime_ns);

	for (uint32_t i = 0; !e && i < SLOTS && f->build_id[0]; i++)
		for (e = t->slots[i]; e && strcmp(e->executable.build_id, f->build_id) != 0; e = e->next)
			;
	return ref(e);
}
