/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/silence.h - whoever opens files for the sampler does not answer
 *
 * The host has a process that opens what needs rights (decima-broker). One that is stopped, or
 * waits for a file system that is dead, leaves what begins meanwhile without names and unwind
 * tables. The host gives up after a second, and at once as long as the answer is owed, so nobody
 * hangs; this says since when it lasts, and asks for something small until there is an answer.
 *
 * The reader thread's.
 */
#ifndef DECIMA_EBPF_SILENCE_H
#define DECIMA_EBPF_SILENCE_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "plugins/input/ebpf/files.h"

#define SILENCE_TOLD_NS INT64_C(3000000000)

struct silence {
	uint64_t n_seen;  /* requests without an answer, at the last look */
	int64_t since_ns; /* mono; 0: it answers */
	bool is_told;
};

/* Once a second. True when what silence__tell() says is another from now on. */
bool silence__second(struct silence *s, const struct dcm_host *host, const struct files *files,
		     int64_t now_ns);

/* Sets the instance's state when it has lasted: true. False when there is nothing to say. */
bool silence__tell(const struct silence *s, const struct dcm_host *host, const struct files *files);

#endif
