/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/group.h - several messages in one body, each behind its length (docs/FORMATS.md, DCMS)
 */
#ifndef DECIMA_INPUT_RECEIVE_GROUP_H
#define DECIMA_INPUT_RECEIVE_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include <decima/plugin.h>

enum { GROUP_MESSAGES_MAX = DCM_GROUP_MAX };

struct group_message {
	const uint8_t *data; /* in the body; at least a byte */
	size_t n;
};

/* How many there are, up to the body's last byte; 0: lengths that do not fit, too many, or none. Any thread. */
uint32_t group__cut(const uint8_t *body, size_t n, struct group_message ret[static GROUP_MESSAGES_MAX]);

#endif
