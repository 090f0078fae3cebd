/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/labels.h - the labels that a request gives to its profiles
 *
 * At most LABELS_MAX of them, each name once; views, nothing is copied. Single-threaded.
 */
#ifndef DECIMA_RECEIVE_LABELS_H
#define DECIMA_RECEIVE_LABELS_H

#include <stdbool.h>

#include <decima/plugin.h>

enum { LABELS_MAX = 128 };

struct labels {
	struct dcm_label_text v[LABELS_MAX];
	uint32_t n;
};

/*
 * 0; -EINVAL with a sentence: the name is empty or there already; -E2BIG. Names that begin with "__", and empty values, are
 * left out.
 */
int labels__put(struct labels *l, struct dcm_str name, struct dcm_str value, struct dcm_error *err);
bool labels__has(const struct labels *l, struct dcm_str name);

/* "NAME=VALUE" cut at the first '='. -EINVAL with a sentence, and as labels__put(). */
int labels__put_pair(struct labels *l, struct dcm_str pair, struct dcm_error *err);

/*
 * "app{name=value,other=value}", as Pyroscope's clients name what they profile: the labels are put, *ret_app is what stands
 * before the brace. Blanks around names and values do not count, values may be in double quotes. Without "{..}" it is all
 * of it. -EINVAL with a sentence, and as labels__put().
 */
int labels__read_app(struct labels *l, struct dcm_str text, struct dcm_str *ret_app,
		     struct dcm_error *err);

#endif
