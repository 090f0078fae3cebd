/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/no_proxy.c - which hosts are reached without the proxy
 *
 * Source: httpproxy's config.init() and useProxy(). Addresses are compared in IPv6's form, so that
 * ::ffff:10.0.0.1 and 10.0.0.1 are the same.
 */
#include "core/net/no_proxy.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ITEM_MAX = 256 };

struct address {
	uint8_t b[16];
	bool is_v4;
};

static bool read_address(const char *text, struct address *ret)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (inet_pton(AF_INET, text, ret->b + 12) == 1) {
		memcpy(ret->b, mapped, sizeof(mapped));
		ret->is_v4 = true;
		return true;
	}
	if (inet_pton(AF_INET6, text, ret->b) != 1)
		return false;
	ret->is_v4 = memcmp(ret->b, mapped, sizeof(mapped)) == 0;
	return true;
}

static bool is_loopback(const struct address *a)
{
	static const uint8_t one[16] = { [15] = 1 };

	return a->is_v4 ? a->b[12] == 127 : memcmp(a->b, one, sizeof(one)) == 0;
}

/* "10.0.0.0/8": 1 and it holds the address, 0 and it does not, -1: no network. */
static int in_network(const char *item, const struct address *host)
{
	const char *slash = strchr(item, '/');
	char text[ITEM_MAX], *end;
	struct address net;
	unsigned long bits;

	if (!slash || slash[1] < '0' || slash[1] > '9')
		return -1;
	snprintf(text, sizeof(text), "%.*s", (int)(slash - item), item);
	bits = strtoul(slash + 1, &end, 10);
	if (*end || !read_address(text, &net))
		return -1;
	/* "::ffff:10.0.0.0/104" is written with IPv6's bits. */
	bool as_v4 = net.is_v4 && !strchr(text, ':');
	if (bits > (as_v4 ? 32u : 128u))
		return -1;
	if (!host || host->is_v4 != net.is_v4)
		return 0;
	bits += as_v4 ? 96 : 0;
	for (unsigned i = 0; i < 16; i++) {
		unsigned n = bits > 8 * i ? (unsigned)bits - 8 * i : 0;
		uint8_t mask = n >= 8 ? 0xff : (uint8_t)(0xff00 >> n);

		if ((net.b[i] ^ host->b[i]) & mask)
			return 0;
	}
	return 1;
}

/* Takes ":PORT" off the item and says where it is; NULL: none. [ADDRESS] is an address only with one. */
static const char *split_port(char **item)
{
	char *s = *item, *end = strrchr(s, ']'), *colon = strrchr(s, ':');

	if (s[0] == '[') {
		if (!end || end[1] != ':')
			return NULL;
		*item = s + 1;
		*end = '\0';
		return end + 2;
	}
	if (!colon || strchr(s, ':') != colon)
		return NULL;
	*colon = '\0';
	return colon + 1;
}

static bool is_beneath(const char *host, const char *name)
{
	bool itself = true;
	size_t n_host = strlen(host), n;

	if (strncmp(name, "*.", 2) == 0)
		name++;
	if (name[0] == '.') {
		itself = false;
		name++;
	}
	n = strlen(name);
	if (n == 0)
		return false;
	if (itself && strcasecmp(host, name) == 0)
		return true;
	return n_host > n && host[n_host - n - 1] == '.' && strcasecmp(host + n_host - n, name) == 0;
}

/* item: without spaces around it, ours to cut. */
static bool item_matches(char *item, const char *host, const struct address *a, const char *port)
{
	int network = in_network(item, a);
	struct address other;

	if (network >= 0)
		return network;
	const char *wanted = split_port(&item);
	if (wanted && wanted[0] && strcmp(wanted, port) != 0)
		return false;
	if (read_address(item, &other))
		return a && memcmp(other.b, a->b, sizeof(other.b)) == 0;
	return !a && item[0] && is_beneath(host, item);
}

bool no_proxy__matches(const char *list, const char *host, const char *port)
{
	static const char spaces[] = " \t\r\n";
	struct address address;
	const struct address *a = read_address(host, &address) ? &address : NULL;
	bool found = strcasecmp(host, "localhost") == 0 || (a && is_loopback(a));

	while (!found && list && *list) {
		size_t n = strcspn(list, ",");
		char item[ITEM_MAX];
		const char *next = list + n + (list[n] == ',');

		while (n > 0 && strchr(spaces, *list)) {
			list++;
			n--;
		}
		while (n > 0 && strchr(spaces, list[n - 1]))
			n--;
		if (n > 0 && n < sizeof(item)) {
			memcpy(item, list, n);
			item[n] = '\0';
			found = strcmp(item, "*") == 0 || item_matches(item, host, a, port);
		}
		list = next;
	}
	return found;
}
