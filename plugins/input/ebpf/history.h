/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/history.h - what a process image had mapped, and when
 *
 * A state of mappings is immutable and shared with the windows; another one is made when a sample
 * needs it, not when a record comes: a program that maps and unmaps in a loop costs one state for
 * each of its samples at most, and the same state again is the same object. The reader thread's.
 */
#ifndef DECIMA_EBPF_HISTORY_H
#define DECIMA_EBPF_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "plugins/input/ebpf/process.h"

/* Puts a newer state in front of those that samples taken earlier may still need. Takes `maps`. */
void history__keep(struct processes *t, struct process *p, struct maps *maps, int64_t since_ns);

/*
 * Reads the maps in the process's directory of /proc, and says when they may be read again: soon when something had
 * changed, ever later when nothing had. When it fails p->why says why, unless something is known.
 */
void history__read(struct processes *t, struct process *p, int dir);

/* It is not too soon for another reading. */
bool history__is_rested(const struct processes *t, const struct process *p);

/*
 * Brings the newest state up to a moment by what the kernel told until then. False when it is not
 * what it should be: something was missed, or it is too soon for another state of so many mappings
 * and one of the files in it has been replaced.
 */
bool history__advance(struct processes *t, struct process *p, int64_t until_ns);

/*
 * A sample waits in its ring, and meanwhile another one of later brought the state up to its time,
 * or had /proc read, which speaks of now. The state of a moment before is one that is known, and
 * what the kernel told from there on; or the first one of after it, and all that was told until
 * that moment, as far as it is remembered.
 */
void history__look_back(struct processes *t, struct process *p, int64_t time_ns);

/* The state of a moment; the first one known when that is later. */
struct process_state history__at(const struct process *p, int64_t time_ns);

/* As many executable pages are mapped as the process had when it was sampled. NULL: no. */
bool history__fits(const struct processes *t, const struct maps *maps,
		   const struct sampler_sample *sample);

/* The state, new or old, that fits the sample: of several the one of that time, or the first after it. NULL: none. */
struct maps *history__matching(const struct processes *t, const struct process *p,
			       const struct sampler_sample *sample);

/* From so many mappings on, a new state costs enough to be counted too. */
enum { HISTORY_MANY = 2048 };

#endif
