/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/address.c - IP addresses and networks of them
 */
#include "core/net/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { V4_BITS = 32, V6_BITS = 128 };

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

bool address__read(const char *text, struct address *ret)
{
	if (inet_pton(AF_INET, text, ret->b + sizeof(mapped)) == 1)
		memcpy(ret->b, mapped, sizeof(mapped));
	else if (inet_pton(AF_INET6, text, ret->b) != 1)
		return false;
	ret->is_v4 = memcmp(ret->b, mapped, sizeof(mapped)) == 0;
	return true;
}

bool address__of(const struct sockaddr *from, struct address *ret)
{
	if (from->sa_family == AF_INET) {
		memcpy(ret->b, mapped, sizeof(mapped));
		memcpy(ret->b + sizeof(mapped), &((const struct sockaddr_in *)from)->sin_addr, 4);
	} else if (from->sa_family == AF_INET6) {
		memcpy(ret->b, &((const struct sockaddr_in6 *)from)->sin6_addr, sizeof(ret->b));
	} else {
		return false;
	}
	ret->is_v4 = memcmp(ret->b, mapped, sizeof(mapped)) == 0;
	return true;
}

uint32_t address__format(const struct address *a, char ret[static ADDRESS_TEXT])
{
	inet_ntop(a->is_v4 ? AF_INET : AF_INET6, a->is_v4 ? a->b + sizeof(mapped) : a->b, ret,
		  ADDRESS_TEXT);
	return (uint32_t)strlen(ret);
}

bool address__is_loopback(const struct address *a)
{
	static const uint8_t one[16] = { [15] = 1 };

	return a->is_v4 ? a->b[12] == 127 : memcmp(a->b, one, sizeof(one)) == 0;
}

bool network__read(const char *text, struct network *ret)
{
	const char *slash = strchr(text, '/');
	char address[INET6_ADDRSTRLEN], *end;
	unsigned long bits;

	if (!slash) {
		ret->n_bits = V6_BITS;
		return address__read(text, &ret->first);
	}
	if ((size_t)(slash - text) >= sizeof(address) || slash[1] < '0' || slash[1] > '9')
		return false;
	snprintf(address, sizeof(address), "%.*s", (int)(slash - text), text);
	bits = strtoul(slash + 1, &end, 10);
	if (*end || !address__read(address, &ret->first))
		return false;
	/* "::ffff:10.0.0.0/104" is written with IPv6's bits. */
	bool as_v4 = ret->first.is_v4 && !strchr(address, ':');
	if (bits > (as_v4 ? V4_BITS : V6_BITS))
		return false;
	ret->n_bits = (unsigned)bits + (as_v4 ? V6_BITS - V4_BITS : 0);
	return true;
}

bool network__holds(const struct network *net, const struct address *a)
{
	if (net->first.is_v4 != a->is_v4)
		return false;
	for (unsigned i = 0; i < sizeof(a->b); i++) {
		unsigned n = net->n_bits > 8 * i ? net->n_bits - 8 * i : 0;
		uint8_t mask = n >= 8 ? 0xff : (uint8_t)(0xff00 >> n);

		if ((net->first.b[i] ^ a->b[i]) & mask)
			return false;
	}
	return true;
}
