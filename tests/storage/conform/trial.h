/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/conform/trial.h - a storage under test beside the reference, which was told the
 * same
 *
 * Everything that can go wrong returns false and leaves one report: what was asked, what was
 * expected, what came. The first report stays. Functions are for one thread but where they say.
 */
#ifndef DECIMA_TESTS_STORAGE_CONFORM_TRIAL_H
#define DECIMA_TESTS_STORAGE_CONFORM_TRIAL_H

#include <pthread.h>

#include "core/base/vec.h"
#include "tests/contract/storage_random.h"
#include "tests/unit/random_batch.h"

/* What is held against what. Texts are borrowed. */
struct trial_options {
	const char *plugin, *yaml; /* "{DIR}" stands for a directory that is not there yet */
	const char *copy_yaml;	   /* opens a backup, which is {DIR} */
	const char *reference, *reference_yaml;
	bool counts_late;    /* stat() counts what was replaced or removed for a while, as it may */
	bool keeps;	     /* what it acknowledged is there after a stop, and after SIGKILL */
	uint32_t max_series; /* that its options allow; 0: no bound that could be looked at */
	int64_t patience_ns; /* with writes that are not acknowledged, or not taken yet: real time */
};

struct ack;

/*
 * Of all that was written: states, their rows, and series, which stat() may count too much at most.
 */
struct kept_most {
	uint64_t n_states, n_rows, n_series;
};

/* The clock at an opening; no batch is later: a storage may refuse what is of a time to come. */
#define TRIAL_LATEST_NS (RANDOM_BASE_NS + INT64_C(60) * 86400 * 1000000000)

struct trial {
	const struct trial_options *o;
	struct storage subject, reference;
	char root[256];	 /* of all directories of this trial */
	char store[300]; /* {DIR} of the subject */
	unsigned n_copies;
	struct buf why; /* the report; empty while all is well */

	pthread_mutex_t mutex; /* acks */
	pthread_cond_t acked;
	VEC(struct ack *) acks;

	VEC(struct dcm_batch *) batches; /* all that were written */
	VEC(int64_t) times_ms;		 /* of their profiles */
	struct kept_most most;
	uint64_t n_asked, n_empty; /* questions; and those to which the answer was nothing */
};

/*
 * Opens both in fresh directories; NULL only when the reference cannot be had. A report may be in
 * it.
 */
struct trial *trial__new(const struct trial_options *o);
/*
 * Closes both, and looks whether each write was acknowledged once. False: a report is in ret_why.
 */
bool trial__end(struct trial *t, struct buf *ret_why);

/* Makes the report, unless there is one. Returns false. */
bool trial__fail(struct trial *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Writes to both, trying again for as long as the subject says -EAGAIN, and waits until it has
 * acknowledged them. Remembers the batches.
 */
bool trial__write(struct trial *t, struct dcm_batch *const *batches, uint32_t n);
/* The subject alone, whichever process has it open. */
bool trial__write_subject(struct trial *t, struct dcm_batch *const *batches, uint32_t n);
/* The reference alone. */
bool trial__write_reference(struct trial *t, struct dcm_batch *const *batches, uint32_t n);

/* One question to `store` (the subject, or a copy of it) and the reference. */
bool trial__ask(struct trial *t, struct storage *store, const struct asked *a);
/* A random one, about times that were written; now and then with a budget that does not suffice. */
bool trial__ask_random(struct trial *t, struct storage *store, struct random *r);
/* Moves a question's ranges to where profiles begin and end. */
void trial__aim(const struct trial *t, struct question *q, struct random *r);

/* The counts of stat(), with what questions count beside those that may be late; and check(). */
bool trial__compare_stat(struct trial *t, struct storage *store);
bool trial__check(struct trial *t, struct storage *store);

/*
 * Stops the subject and opens it again: the same directory when it keeps data, otherwise a backup.
 */
bool trial__restart(struct trial *t);
/* The two halves of it, for a subject that keeps its data. */
void trial__stop(struct trial *t);
bool trial__open(struct trial *t);
/* A backup under a new name, opened. The caller closes it. */
bool trial__copy(struct trial *t, struct storage *ret_copy);

#endif
