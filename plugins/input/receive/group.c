/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/group.c - several messages in one body
 */
#include "plugins/input/receive/group.h"

#include "core/base/le.h"

uint32_t group__cut(const uint8_t *body, size_t n, struct group_message ret[static GROUP_MESSAGES_MAX])
{
	enum { HEAD = sizeof(uint32_t) };
	uint32_t k = 0;

	for (; n > 0 && k < GROUP_MESSAGES_MAX; k++) {
		size_t bytes = n < HEAD ? 0 : le__get32(body);

		if (bytes == 0 || bytes > n - HEAD)
			return 0;
		ret[k] = (struct group_message){ body + HEAD, bytes };
		body += HEAD + bytes;
		n -= HEAD + bytes;
	}
	return n ? 0 : k;
}
