/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/store_subject.h - the local store, as the checkers of crashes and faults drive a
 * store
 *
 * A number is a batch: its sequence, and one profile whose time, stack, label and value follow from
 * it, an hour after the one before, so that a few dozen of them lie in several eras. Numbers that
 * come back otherwise are complaints, as are reports of the store's.
 */
#ifndef DECIMA_TESTS_STORAGE_STORE_SUBJECT_H
#define DECIMA_TESTS_STORAGE_STORE_SUBJECT_H

#include "tests/storage/tiny_store.h"

extern const struct subject store_subject;

#endif
