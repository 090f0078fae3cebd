/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/identity.h - who a process is: what its labels are made of, and the labels
 *
 * What is read of a process is read once, when it is new; its rows of tags are made anew when the
 * configuration changes or more becomes known. The reader thread's, but for configuring.
 */
#ifndef DECIMA_EBPF_IDENTITY_H
#define DECIMA_EBPF_IDENTITY_H

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"
#include "plugins/input/ebpf/executables.h"
#include "plugins/input/ebpf/kubernetes.h"
#include "plugins/input/ebpf/settings.h"
#include "plugins/input/ebpf/texts.h"

/* Of one process; zeroed when new. */
struct identity {
	uint32_t pid, ppid;
	char *exe, *cgroup; /* paths; NULL when not known */
	const struct executable *executable;
	char *environment; /* [n_environment], texts that end in NUL; NULL: not read */
	uint32_t n_environment;
	char *cmdline;
	uint64_t version;	   /* for which the following were made; 0: not yet */
	struct buf series, sample; /* rows of tags (tags.h) */
	char *service;		   /* "": the comm's */
};

struct identities;

/* host's build_id is used; kubernetes outlives it. NULL when memory ran out. */
struct identities *identities__new(const struct dcm_host *host, struct kubernetes *kubernetes);
void identities__free(struct identities *t); /* NULL is fine */
DEFINE_CLEANUP(struct identities *, identities__free);

/* Which labels there are from now on; lists are borrowed until the next call. Any thread. */
void identities__configure(struct identities *t, const struct settings_labels *labels);

/*
 * Reads what the configured labels need. dir: of /proc, and exe_fd its program, opened as
 * DCM_GUARDED_EXE_PATH. exe and cgroup are set already; `process` and exec_id say who it is.
 * 0; -ETIMEDOUT: the program was not opened in time, and all is to be read again.
 */
struct identity_source {
	int dir, exe_fd;
	const struct procfs_id *process;
	uint64_t exec_id;
};
int identities__read(struct identities *t, struct identity *id, const struct identity_source *from);

/*
 * Of a process that ended before that: the program alone, by what is known of its file, or by a
 * descriptor of it. False when that tells nothing.
 */
bool identities__know(struct identities *t, struct identity *id, const struct file *program);
bool identities__read_program(struct identities *t, struct identity *id, int program_fd);

/* What came late of what was read; false when there is nothing. The caller finds whose it is. */
bool identities__late(struct identities *t, struct texts_answer *ret);
/* Takes the texts of an answer. */
void identity__take(struct identity *id, struct texts_answer *answer);

/* Makes the rows of tags when they are not there or old. 0 or -ENOMEM. */
int identities__tag(struct identities *t, struct identity *id);

/* The cgroup or something else that was given from outside has changed. */
void identity__changed(struct identity *id);

void identity__fini(struct identity *id);

#endif
