/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/executables.h - what kind of program an executable file is
 *
 * Read from the file once: build id, file id, the compiler that it names in .comment or in Go's
 * build info, whether it is static or stripped; and which language's runtime it is, by its name or
 * that build info. Files are remembered by device, inode, modification time and size; beyond 4,096
 * of them those go that no process runs.
 *
 * The reader thread's.
 */
#ifndef DECIMA_EBPF_EXECUTABLES_H
#define DECIMA_EBPF_EXECUTABLES_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/cleanup.h"
#include "plugins/input/ebpf/files.h"

struct executable {
	char build_id[129]; /* lower-case hex, or "" */
	char file_id[33]; /* as OpenTelemetry's profilers and the Parca agent have it, in hex; or "" */
	char compiler[64]; /* "GCC: (Debian 12.2.0-14) 12.2.0", "rustc version 1.63.0", "go1.22.1"; or "" */
	char runtime[16]; /* "python", "nodejs", "java", ...; "" for code that is native all through */
	bool is_elf;	  /* 64-bit: otherwise the next two say nothing */
	bool is_static, is_stripped;
};

struct executables;

/* host's build_id is used. NULL when memory ran out. */
struct executables *executables__new(const struct dcm_host *host);
void executables__free(struct executables *t); /* NULL is fine */
DEFINE_CLEANUP(struct executables *, executables__free);

/*
 * Of the process with this directory of /proc, whose program is exe_fd (opened as
 * DCM_GUARDED_EXE_PATH, or an error) and has that path, with a reference: 0; a negative errno when
 * it cannot be read (-ETIMEDOUT: yet), or 4,096 others run.
 */
int executables__of(struct executables *t, int proc_dir, int exe_fd, struct dcm_str path,
		    const struct executable **ret);

/*
 * The same for a process that has ended: by its file, as far as that was met before, else by another
 * file of that build id; NULL when neither was.
 */
const struct executable *executables__known(struct executables *t, const struct file *f);
/* And by a descriptor that can be read. */
int executables__of_fd(struct executables *t, int fd, struct dcm_str path, const struct executable **ret);

/* Before the table is freed. NULL is fine. */
void executables__unref(const struct executable *e);

/* Reads an open file. For executables__of() and its tests; never fails. */
void executable__read(int fd, struct dcm_str path, struct executable *ret);

#endif
