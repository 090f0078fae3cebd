/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/no_proxy.c - which hosts are reached without the proxy
 *
 * Source: httpproxy's config.init() and useProxy().
 */
#include "core/net/no_proxy.h"

#include <string.h>
#include <strings.h>

#include "core/net/address.h"

enum { ITEM_MAX = 256 };

/* "10.0.0.0/8": 1 and it holds the address, 0 and it does not, -1: no network. */
static int in_network(const char *item, const struct address *host)
{
	struct network net;

	if (!strchr(item, '/') || !network__read(item, &net))
		return -1;
	return host && network__holds(&net, host);
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
	if (address__read(item, &other))
		return a && memcmp(other.b, a->b, sizeof(other.b)) == 0;
	return !a && item[0] && is_beneath(host, item);
}

bool no_proxy__matches(const char *list, const char *host, const char *port)
{
	static const char spaces[] = " \t\r\n";
	struct address address;
	const struct address *a = address__read(host, &address) ? &address : NULL;
	bool found = strcasecmp(host, "localhost") == 0 || (a && address__is_loopback(a));

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
