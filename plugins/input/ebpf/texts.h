/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/texts.h - environment and arguments of processes, read by a thread that may
 * hang
 *
 * /proc/PID/environ and cmdline lie in the process's own memory: reading them waits for a lock that
 * a stuck process may hold for ever, and for pages from wherever they are. So a thread reads them,
 * and who asks waits 2 ms for the answer, which is nearly always enough. A later answer is fetched
 * with texts__late(). While the thread hangs nobody waits, and at most 256 questions queue up.
 */
#ifndef DECIMA_EBPF_TEXTS_H
#define DECIMA_EBPF_TEXTS_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/cleanup.h"
#include "plugins/input/ebpf/procfs.h"

struct texts;

struct texts_question {
	struct procfs_id process;
	uint64_t exec_id; /* for the caller, to know it again */
	bool with_environment, with_cmdline;
};

/* The texts are the caller's to free; NULL when they could not be read or were not asked for. */
struct texts_answer {
	struct texts_question question;
	char *environment; /* [n_environment]: texts NAME=value, each with its NUL */
	uint32_t n_environment;
	char *cmdline;
};

/* Begins with the first question. Losses go to host->drop(). NULL when memory ran out. */
struct texts *texts__new(const struct dcm_host *host);
/* A thread that hangs is left behind, with what it needs. NULL is fine. */
void texts__free(struct texts *t);
DEFINE_CLEANUP(struct texts *, texts__free);

/* True with the answer; false when it comes later, or never because the queue is full (counted). */
bool texts__ask(struct texts *t, const struct texts_question *question, struct texts_answer *ret);

/* An answer that came late; false when there is none. */
bool texts__late(struct texts *t, struct texts_answer *ret);

void texts_answer__fini(struct texts_answer *a);

#endif
