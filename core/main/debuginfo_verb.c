/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/debuginfo_verb.c - `decima debuginfo extract FILE..`: ELF files reduced to what names
 * their addresses
 *
 * Without -o, NAME.debug in the current directory. -o names a file for one FILE, or a directory,
 * which then gets .build-id/ab/cdef.debug, the layout that debuggers, debuginfod and
 * symbols.debuginfo look for. A file is written beside its place and renamed when it is whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/main/reduced.h"
#include "core/main/verbs.h"
#include "core/symbolize/debuginfo.h"
#include "core/symbolize/elf.h"
#include "core/symbolize/extract.h"

static bool is_directory(const char *path)
{
	struct stat st;

	return path[strlen(path) - 1] == '/' || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

/* DIR/.build-id/ab/cdef.debug, with its directories. */
static int place_by_id(int fd, const char *dir, char ret[static PATH_MAX], struct dcm_error *err)
{
	char build_id[ELF_BUILD_ID_TEXT], folder[PATH_MAX];
	int r = elf__build_id(fd, build_id);

	if (r == -ENODATA)
		return error__set(
			err, r,
			"it has no build id to be filed under; link it with -Wl,--build-id, "
			"or write it to a file with -o FILE");
	if (r < 0)
		return error__sys(err, r, "not an ELF file");
	if (!debuginfo__build_id_path(dir, build_id, ret))
		return error__set(err, -ENAMETOOLONG, "%s: the path is too long", dir);
	snprintf(folder, sizeof(folder), "%s", ret);
	*strrchr(folder, '/') = '\0';
	r = fd__mkdirs(folder, 0755);
	return r < 0 ? error__sys(err, r, "%s: cannot be made", folder) : 0;
}

static int place_of(int fd, const char *from, const char *to, char ret[static PATH_MAX],
		    struct dcm_error *err)
{
	const char *slash = strrchr(from, '/');

	if (to && is_directory(to))
		return place_by_id(fd, to, ret, err);
	if (to ? snprintf(ret, PATH_MAX, "%s", to) >= PATH_MAX
	       : snprintf(ret, PATH_MAX, "%s.debug", slash ? slash + 1 : from) >= PATH_MAX)
		return error__set(err, -ENAMETOOLONG, "the path is too long");
	return 0;
}

/* Writes beside `to` and renames. */
static int write_reduced(int fd, const char *to, struct extract_report *ret, struct dcm_error *err)
{
	char beside[PATH_MAX];
	mode_t mask = umask(0);
	bool functions, lines;
	int r;

	umask(mask);
	if (snprintf(beside, sizeof(beside), "%s.tmp-XXXXXX", to) >= (int)sizeof(beside))
		return error__set(err, -ENAMETOOLONG, "%s: the path is too long", to);
	CLEANUP(fd__closep) int out = mkostemp(beside, O_CLOEXEC);
	if (out < 0)
		return error__sys(err, -errno, "%s: cannot be made", to);
	r = extract__file(fd, out, EXTRACT_SMALL, ret, err);
	if (r == 0)
		r = reduced__tells(out, &functions, &lines, err);
	if (r == 0 && (fchmod(out, 0666 & ~mask) < 0 || rename(beside, to) < 0))
		r = error__sys(err, -errno, "%s: cannot be put in its place", to);
	if (r < 0)
		unlink(beside);
	return r;
}

static bool is_same_file(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int extract_one(const char *from, const char *to, struct dcm_error *err)
{
	CLEANUP(fd__closep) int fd = open(from, O_RDONLY | O_CLOEXEC);
	struct extract_report report;
	char path[PATH_MAX];
	int r = fd < 0 ? error__sys(err, -errno, "cannot be read") : place_of(fd, from, to, path, err);

	if (r == 0 && is_same_file(fd, path))
		r = error__set(
			err, -EEXIST,
			"%s is this file itself; the reduced one has no code: give it another name",
			path);
	if (r == 0)
		r = write_reduced(fd, path, &report, err);
	if (r == 0)
		printf("%s: %s (%llu of %llu bytes)\n", from, path,
		       (unsigned long long)report.bytes_out, (unsigned long long)report.bytes_in);
	return r;
}

int verb__debuginfo_extract(const struct args *a)
{
	const char *to = args__get(a, "output", NULL);
	int status = EXIT_DONE;

	if (to && (!to[0] || (a->n_operands > 1 && !is_directory(to)))) {
		fprintf(stderr,
			"decima debuginfo extract: -o %s: several files go into a directory; make "
			"it, or end its name in /\n",
			to);
		return EXIT_USAGE;
	}
	for (int i = 0; i < a->n_operands; i++) {
		struct dcm_error err = DCM_ERROR_INIT;

		if (extract_one(a->operands[i], to, &err) < 0) {
			fprintf(stderr, "decima debuginfo extract: %s: %s\n", a->operands[i], err.text);
			status = EXIT_NO;
		}
	}
	return status;
}
