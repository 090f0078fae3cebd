/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/pprof_labels.c - the labels of a pprof's samples
 *
 * A label set has each name once, and a name that the series has would be hidden by it: names that
 * come again, or that are the series', get others (pprof.h). Labels that are byte for byte those of
 * a sample before, with the same first length, are the same labels, and are not read again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/batch/builder.h"
#include "core/codec/pprof_input.h"

static bool is_series_label(const struct pprof_input *in, struct dcm_str name)
{
	for (uint32_t i = 0; i < in->n_labels; i++)
		if (in->labels[i].value.n && str__eq(in->labels[i].name, name))
			return true;
	return false;
}

/*
 * "exported_" before a name that the series has; control characters, which no name may have, are
 * '_'.
 */
static uint32_t make_label_name(struct pprof_input *in, struct dcm_str text)
{
	static const char prefix[] = "exported_";
	CLEANUP(mem__freep) char *name = malloc(sizeof(prefix) + text.n);
	if (!name) {
		builder__fail(in->b, -ENOMEM, "out of memory");
		return 0;
	}
	uint32_t n = 0;
	if (is_series_label(in, text)) {
		n = sizeof(prefix) - 1;
		memcpy(name, prefix, n);
	}
	for (uint32_t i = 0; i < text.n; i++)
		name[n++] = (uint8_t)text.p[i] < 0x20 || text.p[i] == 0x7f ? '_' : text.p[i];
	return builder__string(in->b, (struct dcm_str){ name, n });
}

static int label_name(struct pprof_input *in, struct pprof_place at, uint64_t key, uint32_t *ret)
{
	struct dcm_str text;

	int r = pprof_input__text(in, at, "label.key", key, &text);
	if (r < 0)
		return r;
	if (text.n == 0)
		return pprof_input__fault(in, at, "label.key is empty");
	if (!in->label_names) {
		in->label_names = mem__zalloc(in->strings.n, sizeof(*in->label_names));
		if (!in->label_names)
			return error__nomem(in->err);
	}
	if (in->label_names[key] == 0)
		in->label_names[key] = make_label_name(in, text);
	*ret = in->label_names[key];
	return 0;
}

/* A label, and the string that its name is of. */
struct keyed_label {
	struct dcm_label label;
	uint32_t renamed; /* the builder's string, when the name came before; else 0 */
	uint64_t key;
};

static int read_label(struct pprof_input *in, struct pprof_place at, struct pprof_piece piece,
		      struct keyed_label *ret)
{
	static const char *const names[] = { NULL, "label.key", "label.str", "label.num",
					     "label.num_unit" };
	uint64_t v[5];
	uint32_t present;

	int r = pprof_input__numbers(in, at, piece, names, 4, v, &present);
	if (r < 0)
		return r;
	ret->key = v[1];
	ret->renamed = 0;
	ret->label = (struct dcm_label){ .unit = DCM_NONE };
	r = label_name(in, at, v[1], &ret->label.name);
	if (r < 0)
		return r;
	/* A number 0 that is written out is one; a label with neither is an empty string. */
	if (v[2] == 0 && (present & (1u << 3 | 1u << 4))) {
		ret->label.num = (int64_t)v[3];
		return pprof_input__string(in, at, names[4], v[4], &ret->label.unit);
	}
	return pprof_input__string(in, at, names[2], v[2], &ret->label.str);
}

static int by_name(const void *a, const void *b)
{
	const struct keyed_label *x = a, *y = b;

	return x->label.name < y->label.name ? -1 : x->label.name > y->label.name;
}

/*
 * Names that come again become NAME_2, NAME_3, ... (those that are free): a label set has each
 * once. labels are sorted, and stay so.
 */
static void rename_doubles(struct pprof_input *in, struct keyed_label *labels, uint32_t n)
{
	CLEANUP(mem__freep) char *text = NULL;
	uint32_t first = 0, suffix = 1;

	for (uint32_t i = 1; i < n; i++) {
		if (labels[i].label.name != labels[first].label.name) {
			first = i;
			suffix = 1;
			continue;
		}
		struct pprof_piece key = in->strings.v[labels[i].key];
		struct keyed_label new;
		do {
			free(text);
			text = NULL;
			if (asprintf(&text, "%.*s_%u", (int)key.n, (const char *)in->data + key.off,
				     ++suffix) < 0) {
				text = NULL;
				builder__fail(in->b, -ENOMEM, "out of memory");
				return;
			}
			new.label.name = make_label_name(in, str__of(text));
		} while (bsearch(&new, labels, n, sizeof(*labels), by_name));
		labels[i].renamed = new.label.name;
	}
}

static int make_label_set(struct pprof_input *in, struct pprof_place at,
			  const struct pprof_labels *list, uint32_t *ret_set)
{
	struct keyed_label keyed[LABELS_MAX];
	struct dcm_label labels[LABELS_MAX];
	bool doubled = false;

	for (uint32_t i = 0; i < list->n; i++) {
		int r = read_label(in, at, list->pieces[i], &keyed[i]);
		if (r < 0)
			return r;
	}
	qsort(keyed, list->n, sizeof(keyed[0]), by_name);
	for (uint32_t i = 1; i < list->n; i++)
		doubled |= keyed[i].label.name == keyed[i - 1].label.name;
	if (doubled && builder__error(in->b) == 0)
		rename_doubles(in, keyed, list->n);
	for (uint32_t i = 0; i < list->n; i++) {
		labels[i] = keyed[i].label;
		if (keyed[i].renamed)
			labels[i].name = keyed[i].renamed;
	}
	*ret_set = builder__label_set(in->b, labels, list->n);
	return 0;
}

int pprof_labels__set(struct pprof_input *in, struct pprof_place at, struct pprof_labels *labels,
		      uint32_t *ret)
{
	const struct pprof_piece *first = &labels->pieces[0], *last = &labels->pieces[labels->n - 1];
	struct pprof_label_memo new = {
		.bytes = in->data + first->off,
		.n_bytes = last->off + last->n - first->off,
		.n_first = first->n,
	};
	uint64_t h = hash__bytes(new.bytes, new.n_bytes, 0);
	struct pprof_label_memo *memo = &labels->memos[h % PPROF_LABEL_MEMOS];

	if (!memo->bytes || memo->n_bytes != new.n_bytes || memo->n_first != new.n_first ||
	    memcmp(memo->bytes, new.bytes, new.n_bytes) != 0) {
		int r = make_label_set(in, at, labels, &new.label_set);
		if (r < 0)
			return r;
		*memo = new;
	}
	*ret = memo->label_set;
	return 0;
}
