/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/labelled.c - a batch with labels that somebody else vouches for than who made it
 */
#include "core/pipeline/labelled.h"

#include <errno.h>

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/pipeline/relabel.h"

/* The text as a replacement, where a dollar stands twice; NULL: no memory. */
static const char *literally(struct arena *a, struct dcm_str text)
{
	char *to = arena__alloc(a, 2 * (size_t)text.n + 1), *at = to;

	for (uint32_t i = 0; to && i < text.n; i++) {
		if (text.p[i] == '$')
			*at++ = '$';
		*at++ = text.p[i];
	}
	if (to)
		*at = '\0';
	return to;
}

static int make_rules(struct arena *a, const struct dcm_label_text *labels, uint32_t n,
		      struct relabel_config *ret)
{
	struct dcm_relabel_rule *rules = arena__zalloc(a, n, sizeof(*rules));

	if (!rules)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		rules[i].action = DCM_RELABEL_REPLACE;
		rules[i].regex = "(.*)";
		rules[i].separator = ";";
		rules[i].target_label = literally(a, labels[i].name);
		rules[i].replacement = literally(a, labels[i].value);
		if (!rules[i].target_label || !rules[i].replacement)
			return -ENOMEM;
	}
	*ret = (struct relabel_config){ .rules = rules, .n_rules = n };
	return 0;
}

/* A source of nothing but zeroes stays one: who has no id has none. */
static void change_id(struct dcm_batch_id *id, const struct dcm_label_text *labels, uint32_t n)
{
	struct dcm_hash *source = &id->source;

	if (source->hi == 0 && source->lo == 0)
		return;
	for (uint32_t i = 0; i < n; i++) {
		source->lo = hash__bytes(labels[i].name.p, labels[i].name.n, source->lo);
		source->hi = hash__bytes(labels[i].value.p, labels[i].value.n, source->hi ^ source->lo);
	}
}

static int apply(struct relabel *r, struct dcm_batch *batch, struct dcm_batch **ret, struct dcm_error *err)
{
	struct relabel_counts counts = { 0 };
	int e = relabel__apply(r, batch, ret, &counts, err);

	if (e < 0 || counts.n_rows_lost == 0)
		return e;
	batch__unref(*ret);
	return error__set(
		err, -E2BIG, "with the labels of its token a series has more than 256, or 64 KiB of them");
}

int labelled__make(struct dcm_batch *batch, const struct dcm_label_text *labels, uint32_t n,
		   struct dcm_batch **ret, struct dcm_error *err)
{
	CLEANUP(relabel__freep) struct relabel *r = NULL;
	struct relabel_config config;
	struct dcm_batch *made = NULL;
	struct arena a = { 0 };
	int e = make_rules(&a, labels, n, &config);

	e = e < 0 ? error__nomem(err) : relabel__new(&config, &r, err);
	if (e == 0)
		e = apply(r, batch, &made, err);
	arena__fini(&a);
	if (e < 0)
		return e;
	if (!made) /* it has no profile */
		made = batch__ref(batch);
	else if (made != batch)
		change_id(&made->id, labels, n);
	*ret = made;
	return 0;
}
