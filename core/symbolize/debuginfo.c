/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/debuginfo.c - where a file's debug information is
 *
 * Only regular files are opened, and links name a file without directories, so that a link in a
 * stranger's file leads to no device and out of no folder.
 *
 * Threads: none shared. Limits: MAX_CRC_BYTES of a file are checked.
 * Sources: GDB manual, "Separate Debug Files" (build ids, debug links and their checksum); dwz(1).
 */
#include "core/symbolize/debuginfo.h"

#include <elf.h>
#include <errno.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/broker/rights.h"
#include "core/symbolize/elf_file.h"

#define MAX_CRC_BYTES ((int64_t)4 << 30)

enum { CRC_AT_ONCE = 256 << 10 };

/* --- what a file says --- */

/* "NAME\0", padding to 4 bytes, checksum. */
static void read_link(const struct elf_file *f, const struct elf_section *s, struct debuginfo_facts *ret)
{
	char raw[NAME_MAX + 1 + 8] = "";
	size_t n = s->bytes < sizeof(raw) ? (size_t)s->bytes : sizeof(raw), length, at;

	if (s->type == SHT_NOBITS || elf_file__read(f, raw, n, s->offset))
		return;
	length = strnlen(raw, n);
	at = (length + 1 + 3) & ~(size_t)3;
	if (length == 0 || length > NAME_MAX || at + 4 > n || memchr(raw, '/', length) ||
	    strcmp(raw, "..") == 0)
		return;
	memcpy(ret->link, raw, length + 1);
	memcpy(&ret->link_crc, raw + at, 4);
}

/* "PATH\0", build id in bytes to the end. */
static void read_alt(const struct elf_file *f, const struct elf_section *s, struct debuginfo_facts *ret)
{
	char raw[PATH_MAX + ELF_BUILD_ID_MAX] = "";
	size_t n = s->bytes < sizeof(raw) ? (size_t)s->bytes : sizeof(raw), length, n_id;

	if (s->type == SHT_NOBITS || elf_file__read(f, raw, n, s->offset))
		return;
	length = strnlen(raw, n);
	if (length == 0 || length >= PATH_MAX || length + 1 >= n || n - length - 1 > ELF_BUILD_ID_MAX)
		return;
	n_id = n - length - 1;
	memcpy(ret->alt, raw, length + 1);
	for (size_t i = 0; i < n_id; i++)
		snprintf(ret->alt_build_id + 2 * i, 3, "%02x", (unsigned char)raw[length + 1 + i]);
}

static void read_sections(const struct elf_file *f, struct debuginfo_facts *ret)
{
	for (uint32_t i = 0; i < f->n_sections; i++) {
		const struct elf_section *s = &f->sections[i];
		const char *name = elf_file__name(f, s);

		if (s->type == SHT_NOBITS || s->bytes == 0)
			continue;
		if (s->type == SHT_SYMTAB)
			ret->has_symtab = true;
		else if (strcmp(name, ".debug_info") == 0 || strcmp(name, ".zdebug_info") == 0)
			ret->has_dwarf = true;
		else if (strcmp(name, ".gopclntab") == 0 ||
			 strcmp(name, ".data.rel.ro.gopclntab") == 0)
			ret->has_go = true;
		else if (strcmp(name, ".gnu_debuglink") == 0)
			read_link(f, s, ret);
		else if (strcmp(name, ".gnu_debugaltlink") == 0)
			read_alt(f, s, ret);
	}
}

int debuginfo__facts(int fd, struct debuginfo_facts *ret)
{
	struct elf_file f;
	int rc = elf_file__open(&f, fd);

	*ret = (struct debuginfo_facts){ 0 };
	if (!rc) {
		if (elf_file__build_id(&f, ret->build_id))
			ret->build_id[0] = '\0';
		read_sections(&f, ret);
	}
	elf_file__fini(&f);
	return rc;
}

/* --- candidates --- */

/*
 * A regular file, -ENOENT, or -ETIMEDOUT: nobody says whether there is one. broker: NULL for what
 * the configuration names.
 */
static int open_regular(struct broker *broker, const char *path)
{
	int fd = rights__open_named(broker, path);

	return fd < 0 && fd != -ETIMEDOUT ? -ENOENT : fd;
}

/* Opens the file if it has that build id. */
static int open_by_id(struct broker *broker, const char *path, const char *build_id)
{
	char hex[ELF_BUILD_ID_TEXT];
	int fd = open_regular(broker, path);

	if (fd < 0)
		return fd;
	if (elf__build_id(fd, hex) == 0 && strcmp(hex, build_id) == 0)
		return fd;
	close(fd);
	return -EBADMSG;
}

static bool crc_is(int fd, uint32_t want)
{
	CLEANUP(mem__freep) uint8_t *data = malloc(CRC_AT_ONCE);
	uint32_t crc = 0;
	int64_t at = 0;

	while (data && at < MAX_CRC_BYTES) {
		ssize_t n = pread(fd, data, CRC_AT_ONCE, at);

		if (n < 0)
			return false;
		if (n == 0)
			return crc == want;
		crc = libdeflate_crc32(crc, data, (size_t)n);
		at += n;
	}
	return false;
}

/* Opens the file if it is the one that the link means: by build id where both have one. */
static int open_by_link(struct broker *broker, const char *path, const struct debuginfo_facts *facts)
{
	char hex[ELF_BUILD_ID_TEXT];
	int fd = open_regular(broker, path);

	if (fd < 0)
		return fd;
	if (facts->build_id[0] && elf__build_id(fd, hex) == 0 ? strcmp(hex, facts->build_id) == 0
							      : crc_is(fd, facts->link_crc))
		return fd;
	close(fd);
	return -EBADMSG;
}

bool debuginfo__build_id_path(const char *dir, const char *build_id, char ret[static PATH_MAX])
{
	size_t n = strlen(build_id);
	const char *slash = str__ends(str__of(dir), STR("/")) ? "" : "/";

	return n > 2 && strspn(build_id, "0123456789abcdef") == n &&
	       snprintf(ret, PATH_MAX, "%s%s.build-id/%.2s/%s.debug", dir, slash, build_id,
			build_id + 2) < PATH_MAX;
}

/* Which of two failures says more: it may yet be there; something was there, but another file's. */
static int worse(int a, int b)
{
	return a == -ETIMEDOUT || (a == -EBADMSG && b != -ETIMEDOUT) ? a : b;
}

static int by_build_id(const struct debuginfo_dirs *dirs, const char *build_id,
		       char ret_path[static PATH_MAX])
{
	int rc = -ENOENT;

	for (uint32_t i = 0; i < dirs->n; i++) {
		int fd = debuginfo__build_id_path(dirs->v[i], build_id, ret_path)
				 ? open_by_id(NULL, ret_path, build_id)
				 : -ENOENT;

		if (fd >= 0)
			return fd;
		rc = worse(rc, fd);
	}
	return rc;
}

/* A folder where a linked file may be: ABOVE OF_FILE/MIDDLE. */
struct link_folder {
	struct broker *broker; /* who opens what is there */
	const char *above;
	struct dcm_str of_file;
	const char *middle;
};

static int try_link(const struct debuginfo_facts *facts, const struct link_folder *in,
		    char ret_path[static PATH_MAX])
{
	if (snprintf(ret_path, PATH_MAX, "%s%.*s/%s%s", in->above, STR_ARG(in->of_file), in->middle,
		     facts->link) >= PATH_MAX)
		return -ENOENT;
	return open_by_link(in->broker, ret_path, facts);
}

bool debuginfo__has(const struct debuginfo_dirs *dirs, const char *build_id)
{
	char path[PATH_MAX];
	bool has = false;

	for (uint32_t i = 0; i < dirs->n && !has; i++)
		has = debuginfo__build_id_path(dirs->v[i], build_id, path) && access(path, F_OK) == 0;
	return has;
}

static int by_link(const struct debuginfo_dirs *dirs, const struct debuginfo_facts *facts,
		   struct dcm_str path, char ret_path[static PATH_MAX])
{
	const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
	struct link_folder in = { .broker = dirs->broker, .above = "", .middle = "" };
	int fd, rc;

	if (!slash || path.p[0] != '/')
		return -ENOENT;
	in.of_file = (struct dcm_str){ path.p, (uint32_t)(slash - path.p) };
	fd = try_link(facts, &in, ret_path);
	rc = fd;
	if (fd < 0) {
		in.middle = ".debug/";
		fd = try_link(facts, &in, ret_path);
		rc = worse(rc, fd);
	}
	in.middle = "";
	in.broker = NULL;
	for (uint32_t i = 0; i < dirs->n && fd < 0; i++) {
		in.above = dirs->v[i];
		fd = try_link(facts, &in, ret_path);
		rc = worse(rc, fd);
	}
	return fd >= 0 ? fd : rc;
}

int debuginfo__open(const struct debuginfo_dirs *dirs, const struct debuginfo_facts *facts,
		    struct dcm_str path, char ret_path[static PATH_MAX])
{
	int fd = facts->build_id[0] ? by_build_id(dirs, facts->build_id, ret_path) : -ENOENT, rc = fd;

	if (fd < 0 && facts->link[0]) {
		fd = by_link(dirs, facts, path, ret_path);
		rc = worse(rc, fd);
	}
	return fd >= 0 ? fd : rc;
}

int debuginfo__open_alt(const struct debuginfo_dirs *dirs, const struct debuginfo_facts *facts,
			const char *path)
{
	char found[PATH_MAX];
	const char *slash = strrchr(path, '/');
	int fd = by_build_id(dirs, facts->alt_build_id, found);

	if (fd >= 0)
		return fd;
	if (facts->alt[0] == '/')
		return open_by_id(dirs->broker, facts->alt, facts->alt_build_id);
	if (slash && snprintf(found, sizeof(found), "%.*s/%s", (int)(slash - path), path,
			      facts->alt) < (int)sizeof(found))
		return open_by_id(dirs->broker, found, facts->alt_build_id);
	return fd;
}

int debuginfo__open_package(struct broker *broker, struct dcm_str path)
{
	char beside[PATH_MAX];

	if (path.n == 0 || path.p[0] != '/' ||
	    snprintf(beside, sizeof(beside), "%.*s.dwp", STR_ARG(path)) >= (int)sizeof(beside))
		return -ENOENT;
	return open_regular(broker, beside);
}
