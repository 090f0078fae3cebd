/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/address.h - IP addresses and networks of them
 *
 * All are in IPv6's form (RFC 4291, 2.5.5.2), so that ::ffff:10.0.0.1 and 10.0.0.1 are the same.
 */
#ifndef DECIMA_NET_ADDRESS_H
#define DECIMA_NET_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

struct sockaddr;

struct address {
	uint8_t b[16];
	bool is_v4;
};

/* The addresses whose first n_bits are these. */
struct network {
	struct address first;
	unsigned n_bits; /* of 128 */
};

enum { ADDRESS_TEXT = 46 };

/* False: the text is none; without brackets and port. */
bool address__read(const char *text, struct address *ret);
/* False: it is of another family. */
bool address__of(const struct sockaddr *from, struct address *ret);
/* As it is written; one of IPv4 with its dots. Returns the length. */
uint32_t address__format(const struct address *a, char ret[static ADDRESS_TEXT]);
bool address__is_loopback(const struct address *a);

/* "10.0.0.0/8", "fd00::/8", or an address, which is alone in its own; false: the text is none. */
bool network__read(const char *text, struct network *ret);
bool network__holds(const struct network *net, const struct address *a);

#endif
