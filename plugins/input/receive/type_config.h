/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/type_config.h - what the part "sample_type_config" of a form says of a profile's types
 *
 *	{"inuse_space": {"aggregation": "average", ..}, "alloc_space": {"cumulative": true, ..}, "contentions": {..}, ..}
 *
 * An average is a gauge, what is cumulative counts up, and what is neither is a difference already. JSON's tree takes a hundred
 * times the memory of some texts, so only so long a one is read as clients send. Any thread.
 */
#ifndef DECIMA_RECEIVE_TYPE_CONFIG_H
#define DECIMA_RECEIVE_TYPE_CONFIG_H

#include <decima/plugin.h>

enum { TYPE_CONFIG_TYPES = 16, TYPE_CONFIG_BYTES = 64 << 10 };

struct json_t;

/* Zeroed at first. */
struct type_config {
	struct dcm_temporality_of v[TYPE_CONFIG_TYPES]; /* [n] */
	uint32_t n;
	struct json_t *root; /* has the types' names; NULL: nothing was read */
};

/* 0, or -EINVAL or -E2BIG with a sentence; type_config__fini() in any case. */
int type_config__read(struct type_config *c, const uint8_t *data, size_t n, struct dcm_error *err);
void type_config__fini(struct type_config *c);

#endif
