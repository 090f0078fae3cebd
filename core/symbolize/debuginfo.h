/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/debuginfo.h - where a file's debug information is; private to this folder
 *
 * In the file itself, or in one that was split off: DIR/.build-id/ab/cdef.debug for each directory
 * of the configuration, and what .gnu_debuglink names, beside the file, in .debug/ beside it, and
 * below each directory. A file is taken only if it has the same build id, or, found by link, the
 * checksum that the link tells. What dwz moved out of several files (.gnu_debugaltlink) is found
 * in the same way.
 */
#ifndef DECIMA_SYMBOLIZE_DEBUGINFO_H
#define DECIMA_SYMBOLIZE_DEBUGINFO_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/broker/broker.h"
#include "core/symbolize/elf.h"

struct debuginfo_dirs {
	const char *const *v; /* [n] */
	uint32_t n;
	/*
	 * Opens what a file or its process names, so that nobody here waits for a server that is
	 * dead; NULL: this process itself.
	 */
	struct broker *broker;
};

/* What a file has, and what it points at. */
struct debuginfo_facts {
	bool has_symtab, has_dwarf, has_go;
	char build_id[ELF_BUILD_ID_TEXT]; /* hex; "": none */
	char link[NAME_MAX + 1];	  /* .gnu_debuglink; "": none */
	uint32_t link_crc;
	char alt[PATH_MAX]; /* .gnu_debugaltlink; "": none */
	char alt_build_id[ELF_BUILD_ID_TEXT];
};

/* 0, -ENOEXEC (no ELF file), -EIO, -ENOMEM. */
int debuginfo__facts(int fd, struct debuginfo_facts *ret);

/*
 * Opens what was split off the file; path: the file's own, for the link ("" where it is not known).
 * The caller closes it. ret_path: where it was found. -ENOENT: nowhere; -EBADMSG: what is there
 * belongs to another file; -ETIMEDOUT: where it may be, nobody answers now.
 */
int debuginfo__open(const struct debuginfo_dirs *dirs, const struct debuginfo_facts *facts,
		    struct dcm_str path, char ret_path[static PATH_MAX]);

/* Opens what dwz moved out of the file of these facts, which lies at `path`. Errors as above. */
int debuginfo__open_alt(const struct debuginfo_dirs *dirs, const struct debuginfo_facts *facts,
			const char *path);

/*
 * Opens the package of what -gsplit-dwarf split off: PATH.dwp beside the file. Its units are found
 * by ids, so that another file's tell nothing. broker: as above. A descriptor, -ENOENT or
 * -ETIMEDOUT.
 */
int debuginfo__open_package(struct broker *broker, struct dcm_str path);

/* Is there a file where the debuginfo of that build id would be? Nothing of it is read. */
bool debuginfo__has(const struct debuginfo_dirs *dirs, const char *build_id);

/*
 * DIR/.build-id/ab/cdef.debug; false when it does not fit, or the id is no hex of two bytes or
 * more.
 */
bool debuginfo__build_id_path(const char *dir, const char *build_id, char ret[static PATH_MAX]);

#endif
