/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/fake_destination.h - a storage and an output whose behaviour a test chooses
 *
 * Both remember what they were given. A gate holds a write() until it is opened: that is how a test
 * hangs one.
 */
#ifndef DECIMA_TESTS_UNIT_FAKE_DESTINATION_H
#define DECIMA_TESTS_UNIT_FAKE_DESTINATION_H

#include <pthread.h>
#include <stdatomic.h>

#include <decima/plugin.h>

struct fake {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool is_closed;	       /* the gate: write() waits inside */
	int answer;	       /* of write(); 0: fine */
	unsigned n_answers;    /* after so many writes `answer` is 0 again; 0: never */
	uint64_t bad_sequence; /* refused by -EINVAL, and groups with it; 0: none */
	unsigned max_group;    /* an output has no room for larger ones (-EAGAIN); 0: any */
	unsigned max_done;     /* an output takes so many of a group, the first ones; 0: all */
	uint32_t wrong_done; /* what an output says that it has done of a group, UINT32_MAX for 0; 0: the truth */
	bool keeps_done; /* a storage: `done` only by fake__settle() */

	unsigned n_calls, n_inside;
	_Atomic int64_t called_ns; /* the last call, CLOCK_MONOTONIC */
	uint64_t sequences[4096];  /* [n_taken] */
	unsigned n_taken;
	uint64_t n_rows;
	struct dcm_batch *last; /* a reference */
	struct {
		dcm_done_fn fn;
		void *ctx;
	} owed[64];
	unsigned n_owed;
};

void fake__init(struct fake *f);
void fake__fini(struct fake *f);
void fake__close_gate(struct fake *f);
void fake__open_gate(struct fake *f);
/* What write() answers from now on; where a writer may be in it, set it by this. */
void fake__set_answer(struct fake *f, int answer);
/* Until a write is inside: true; false after 10 s. */
bool fake__wait_inside(struct fake *f);
/* Until n batches were taken: true; false after 10 s. */
bool fake__wait_taken(struct fake *f, unsigned n);
/* Fails the test unless just n batches were taken, in order, the first of them with that sequence. */
void fake__assert_taken(const struct fake *f, uint64_t first, unsigned n);
/* Calls each `done` that is owed. */
void fake__settle(struct fake *f, int status);

extern const struct dcm_storage_ops fake__storage;
extern const struct dcm_output_ops fake__output;
extern const struct dcm_output_ops fake__grouping_output; /* with write_group */

#endif
