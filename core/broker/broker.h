/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/broker/broker.h - the process that keeps the few capabilities when the others give them up
 *
 * It opens what rights.h names and passes the descriptor. It reads nothing of what it opens but the
 * first four bytes of a file that is to be code. A request that is not exactly one of ours ends it,
 * and so does the end of the process that asks. It refuses:
 *
 *  - perf events that would show more than time: registers, stacks, call chains, memory, or of
 *    other kinds than the CPU clock and the side-band's (EPERM);
 *  - BPF maps of other kinds than arrays that can be mapped, and of more than
 *    BROKER_ARRAY_BYTES_MAX (EPERM);
 *  - files that are neither text of /proc/PID nor code (ELF) nor a perf map or jitdump by name
 *    (ENOEXEC, EPERM), so that who takes over the asker cannot read /etc/shadow through it;
 *  - more than BROKER_BURST requests at once, or BROKER_PER_SECOND for long (EBUSY).
 */
#ifndef DECIMA_BROKER_BROKER_H
#define DECIMA_BROKER_BROKER_H

#include <decima/plugin.h>

#include "core/base/cleanup.h"
#include "core/broker/channel.h"

enum {
	BROKER_PATH_MAX = 4096,
	BROKER_BURST = 20000,
	BROKER_PER_SECOND = 5000,
	BROKER_FDS_MAX = 2,
};
#define BROKER_ARRAY_BYTES_MAX (64u << 20)

enum broker_op {
	BROKER_OPEN = 1,   /* fds: the directory; data: the path and a NUL, for what has one */
	BROKER_PERF_EVENT, /* data: struct perf_event_attr */
	BROKER_BPF_ARRAY,
	BROKER_BPF_PUT, /* fds: array of maps, array */
	BROKER_KALLSYMS,
};

/*
 * The bytes of a request; `what` of its head is the operation. The head of the answer repeats `id`
 * as `what`, so that a late one is not taken for another's.
 */
struct broker_request {
	uint32_t id, what; /* enum dcm_guarded_kind */
	uint64_t args[2];  /* start and end; cpu; value_bytes and n; index */
	uint8_t data[BROKER_PATH_MAX];
};

struct broker;

/* Forks, so: one thread, and early. */
int broker__new(struct broker **ret, struct dcm_error *err);
/* Ends it. NULL is fine. */
void broker__free(struct broker *b);
DEFINE_CLEANUP(struct broker *, broker__free);

/* Readable (hung up) when it has died. */
int broker__watch_fd(const struct broker *b);

/*
 * Asks. A descriptor, or 0 for what yields none, or what the broker answered; -ETIMEDOUT: a file
 * system keeps it waiting; -EPIPE: it has died. Any thread.
 */
int broker__ask(struct broker *b, enum broker_op op, const struct broker_request *q, const int *fds,
		uint32_t n_fds);

/* The capabilities that it keeps of those there are, a bit each. */
extern const uint64_t broker__capabilities;

/*
 * In the broker: checks one request and does it. A descriptor, 0, or a negative errno. -EPROTO: it
 * is none of ours, and whoever sends such must not be served.
 */
int broker__handle(const struct channel_message *m);

#endif
