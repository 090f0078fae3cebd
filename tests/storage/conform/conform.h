/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/conform/conform.h - the cases of the conformance program beside the random plans
 *
 * Each returns true, or false with a report. They open the stores themselves.
 */
#ifndef DECIMA_TESTS_STORAGE_CONFORM_CONFORM_H
#define DECIMA_TESTS_STORAGE_CONFORM_CONFORM_H

#include "tests/storage/conform/trial.h"

/*
 * While batches are written one after the other, each answer that another thread gets is that of a
 * moment between two batches: of one that had begun to be written, and all before it.
 */
bool conform__moments(const struct trial_options *o, uint64_t seed, struct buf *ret_why);

/*
 * The recorded set of bench/data is what the text beside it says, and answered equally: when it was
 * written, and after a restart.
 */
bool conform__recorded(const struct trial_options *o, struct buf *ret_why);

/* Wrong questions are refused, with a sentence, and lists end when the asker says so. */
bool conform__refusals(const struct trial_options *o, struct buf *ret_why);

/*
 * A process that writes is killed at some moment, again and again: what it was told is stored is
 * there, and nothing is half there. For stores that keep their data.
 */
bool conform__kills(const struct trial_options *o, uint64_t seed, uint32_t n_kills, struct buf *ret_why);

/*
 * A store that may have o->max_series series folds and refuses what is beyond, counts it, and has
 * the same after a restart.
 */
bool conform__bound(const struct trial_options *o, uint64_t seed, struct buf *ret_why);

#endif
