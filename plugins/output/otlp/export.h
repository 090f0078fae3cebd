/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/otlp/export.h - profiles of batches as an ExportProfilesServiceRequest
 *
 * What a profile becomes:
 *   resource    labels of the series (names.h); of profiles of one series that follow each other it is one
 *   scope       the labels otel_scope_name and _version, else "decima"
 *   profiles    from 1.8 on one for each type, as OTLP has it; without a row whose value is not 0 there is none. Their ids
 *               follow from the batch's: the same at each try.
 *   samples     stack, attributes, value; all are of the profile's time, and none has a timestamp or a link
 *   attributes  labels of the sample, a number with its unit (until 1.7 without)
 *   lost        the first part of the type (process_cpu); whether values are differences or states (from 1.9; until 1.8 it is
 *               told of differences and of what counts up); why a location has no name; which process an address is of.
 *
 * Memory: the request twice while it is taken, and a word for each location, function, stack and label set of a batch. One
 * thread at a time.
 */
#ifndef DECIMA_OUTPUT_OTLP_EXPORT_H
#define DECIMA_OUTPUT_OTLP_EXPORT_H

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "plugins/output/otlp/numbering.h"

struct export;

/* The batch is borrowed. NULL: no memory. */
struct export *export__new(const struct numbering *as, const struct dcm_batch *b);
void export__free(struct export *e); /* NULL works */

/* What is added from now on is of another batch, borrowed likewise. As export__add(). */
int export__turn(struct export *e, const struct dcm_batch *b);

/* Adds a profile of the batch. 0 or -ENOMEM; nothing but export__free() may follow that. */
int export__add(struct export *e, uint32_t profile);

/* How many of OTLP's profiles there are, and about how many bytes they take: a little more than they will. */
uint32_t export__n_profiles(const struct export *e);
size_t export__n_bytes(const struct export *e);

/* Ends it: the request, appended to out, or out's error. Nothing but export__free() may follow. */
void export__take(struct export *e, struct buf *out);

#endif
