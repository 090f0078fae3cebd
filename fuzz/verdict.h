/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/verdict.h - what a decoder of foreign bytes may answer: a refusal with a sentence, or a batch
 * that keeps its rules
 */
#ifndef DECIMA_FUZZ_VERDICT_H
#define DECIMA_FUZZ_VERDICT_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <decima/plugin.h>

#include "core/batch/batch.h"
#include "tests/unit/batch_judge.h"

/* Ends the program, with what is wrong, unless all is well. */
static inline void verdict__expect(bool fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

/* Of the decoder's answer: true when there is a batch. */
static inline bool verdict__decoded(int answer, const struct dcm_batch *batch, const struct dcm_error *err)
{
	if (answer < 0) {
		verdict__expect(err->text[0] != '\0', "refused without a sentence");
		return false;
	}
	const char *fault = batch_judge__fault(batch, false);
	verdict__expect(!fault, fault);
	return true;
}

/* A store takes the same bytes for a retry: decoded again they have the id and the content of before. */
static inline void verdict__same(const struct dcm_batch *a, const struct dcm_batch *b)
{
	struct dcm_hash x = batch__content(a), y = batch__content(b);

	verdict__expect(x.lo == y.lo && x.hi == y.hi, "it says something else the next time");
	verdict__expect(memcmp(&a->id, &b->id, sizeof(a->id)) == 0,
			"it has another id the next time");
}

#endif
