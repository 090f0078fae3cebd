/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/mosaic.h - profiles in as many pieces as can be, as a storage that is only asked
 *
 * Three eras of two minutes, each with a dictionary of its own, streams in memory, and blocks into
 * which these are sealed again and again: pieces overlap, replace each other's states, and speak
 * different numbers. What is removed stays where it is, behind a filter. One thread.
 */
#ifndef DECIMA_TESTS_STORAGE_MOSAIC_H
#define DECIMA_TESTS_STORAGE_MOSAIC_H

#include "core/base/buf.h"
#include "core/base/vec.h"
#include "plugins/storage/answer/ask.h"
#include "plugins/storage/answer/crew.h"
#include "plugins/storage/answer/stock.h"
#include "plugins/storage/local/block.h"
#include "plugins/storage/streams/streams.h"
#include "tests/contract/storage_host.h"

enum { MOSAIC_ERAS = 3 };

struct mosaic_block {
	uint32_t era;
	uint32_t first_filter;
	struct buf bytes;
	struct block block;
	bool hidden; /* as if it was not there */
};

struct mosaic {
	struct ask ask; /* first */
	struct stock stock;
	struct crew crew;	/* nobody, until it is resized; a thread for each row */
	struct storage storage; /* its ops answer; the host is the one that questions see */
	struct dict *dicts[MOSAIC_ERAS];
	struct streams streams[MOSAIC_ERAS];
	VEC(struct mosaic_block *) blocks; /* in the order in which they were sealed */
	VEC(struct dcm_select) filters;
	_Atomic uint64_t n_unreadable; /* pieces of which a question said so */
	struct view *view;	       /* of the question at hand */
	uint64_t n_shared;	       /* questions that several threads answered */
};

struct mosaic *mosaic__new(void);
void mosaic__free(struct mosaic *m);

void mosaic__write(struct mosaic *m, const struct dcm_batch *b);
/* What one era has in memory becomes a block. */
void mosaic__seal(struct mosaic *m, uint32_t era, int zstd_level);
/*
 * Seals everything, and filters it from now on. The selection's texts and regexes must outlive the
 * mosaic.
 */
void mosaic__remove(struct mosaic *m, const struct dcm_select *sel);

#endif
