/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/dict/growth.h - what has made a dictionary large, in words
 *
 * Something that is new each time (a label with a request's number in it, code that is compiled
 * anew) shows in what came last: so the newest entries are looked at, whatever there was before.
 */
#ifndef DECIMA_STORAGE_DICT_GROWTH_H
#define DECIMA_STORAGE_DICT_GROWTH_H

#include "plugins/storage/dict/dict.h"

enum { GROWTH_BYTES = 320, GROWTH_NEWEST = 4096 };

/*
 * "NUMBER series (among the newest NUMBER the label NAME has NUMBER values), NUMBER label sets
 * (..), NUMBER stacks", of entries below the counts. Needs no lock. What is in brackets is left out
 * where there is no label, or no memory to find it.
 */
void growth__describe(const struct dict *d, const struct dict_counts *counts,
		      char ret[static GROWTH_BYTES]);

#endif
