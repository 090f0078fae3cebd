/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/projection.c - label sets that rules cannot tell apart, within one batch
 */
#include "core/pipeline/projection.h"

#include <errno.h>
#include <string.h>

#include "core/base/str.h"
#include "core/pipeline/outcome.h"

#define NOT_ASKED UINT32_MAX

void projections__fini(struct projections *p)
{
	vec__fini(&p->of_set);
	vec__fini(&p->texts);
	arena__fini(&p->arena);
	hindex__fini(&p->index);
	buf__fini(&p->text);
}

int projections__begin(struct projections *p, const struct dcm_batch *batch)
{
	p->of_set.n = p->texts.n = 0;
	arena__reset(&p->arena);
	hindex__clear(&p->index);
	if (!vec__reserve(&p->of_set, batch->n_label_sets))
		return -ENOMEM;
	memset(p->of_set.v, 0xff, batch->n_label_sets * sizeof(p->of_set.v[0]));
	p->of_set.n = batch->n_label_sets;
	return 0;
}

/* The number of the text in p->text. */
static int intern(struct projections *p, uint32_t *ret)
{
	struct dcm_str text = buf__view(&p->text);
	uint64_t h = hash__bytes(text.p, text.n, 0);
	uint32_t row, at = hindex__first(&p->index, h, &row);

	while (row != HINDEX_NONE && !str__eq(p->texts.v[row], text))
		at = hindex__next(&p->index, h, at, &row);
	if (row == HINDEX_NONE) {
		row = (uint32_t)p->texts.n;
		text = arena__str(&p->arena, text);
		if (!text.p || !vec__reserve(&p->texts, 1) || hindex__insert(&p->index, h, row) < 0)
			return -ENOMEM;
		p->texts.v[p->texts.n++] = text;
	}
	*ret = row;
	return 0;
}

int projections__of(struct projections *p, const struct dcm_batch *batch, uint32_t label_set,
		    const uint8_t *use, uint32_t *ret)
{
	uint32_t *known = &p->of_set.v[label_set];

	if (*known == NOT_ASKED) {
		buf__reset(&p->text);
		if (use)
			outcome__project(batch, label_set, use, &p->text);
		if (p->text.error || intern(p, known) < 0)
			return -ENOMEM;
	}
	*ret = *known;
	return 0;
}
