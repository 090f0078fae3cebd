/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/keeper.h - the thread that puts files into the depot; private to this folder
 *
 * Reducing a file takes seconds when it is large, so nobody waits for it: what was read is handed
 * over with its descriptors. The same thread writes down what was resolved, and removes from the
 * depot what has to go.
 */
#ifndef DECIMA_SYMBOLIZE_KEEPER_H
#define DECIMA_SYMBOLIZE_KEEPER_H

#include "core/broker/broker.h"
#include "core/symbolize/debuginfo.h"
#include "core/symbolize/depot.h"
#include "core/symbolize/scribe.h"
#include "core/symbolize/symbols.h"

struct keeper;

/* What a file of these facts can tell (DEPOT_SYMTAB, ...). */
unsigned keeper__tells(const struct debuginfo_facts *facts);

struct keeper_config {
	struct depot *depot;	  /* borrowed */
	struct scribe *scribe;	  /* borrowed: flushed by the thread; may be NULL */
	symbols_reduce_fn reduce; /* NULL: reduced in the keeper's thread */
	void *reduce_ctx;
	struct broker *broker; /* opens what waits by its path; NULL: this process itself */
	/* A file of this build id was given up; the next is welcome. Any thread; may be NULL. */
	void (*lost)(void *ctx, const char *build_id);
	void *lost_ctx;
};

/* A file to be kept. */
struct keeper_file {
	enum depot_kind kind;
	int fd;		      /* borrowed */
	const char *build_id; /* its own; copied */
	struct dcm_str path;  /* where it can be opened once more; "": nowhere; copied */
};

/* Starts the thread. 0, -ENOMEM, or of the thread. */
int keeper__new(const struct keeper_config *config, struct keeper **ret);
/* Ends it, and what it is reducing; what waits is dropped; NULL is fine. */
void keeper__free(struct keeper *k);

/*
 * Hands a file over. When many wait already, its path does so in the place of its descriptor, and
 * is opened when its turn comes, which counts only if the build id is the same. Nothing happens
 * when what is kept tells as much. Any thread; takes no lock but its own, the depot's and those of
 * `lost`.
 */
void keeper__add(struct keeper *k, const struct keeper_file *file);

/* Has one file reduced as the configuration says. In the caller's time; any thread. */
int keeper__reduce(const struct keeper_config *config, const struct symbols_reduction *reduction);

struct keeper_stat {
	uint64_t n_dropped; /* not kept: too many waited and it was gone then, or no memory */
	uint64_t n_failed;  /* not kept: they could not be reduced */
	uint32_t n_waiting; /* or being reduced */
};
void keeper__stat(struct keeper *k, struct keeper_stat *ret);

#endif
