/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_shares.c - what each client has, against a count by hand; who is a client; who is forgotten
 */
#include "core/net/shares.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit.h"

static struct address at(const char *text)
{
	struct address a = { .is_v4 = false };

	assert_true(address__read(text, &a));
	return a;
}

static struct share *enter(struct shares *s, const char *text, uint64_t most)
{
	const struct address a = at(text);

	return shares__enter(s, &a, 0, most);
}

static void test_who_is_a_client(void **state)
{
	struct shares s;
	struct share *v4, *v6, *user;

	(void)state;
	assert_int_equal(shares__init(&s, 1), 0);
	v4 = enter(&s, "10.0.0.1", 9);
	assert_ptr_equal(enter(&s, "::ffff:10.0.0.1", 9), v4);
	assert_ptr_not_equal(enter(&s, "10.0.0.2", 9), v4);
	/* A machine chooses the second half of its address. */
	v6 = enter(&s, "2001:db8::1", 9);
	assert_ptr_equal(enter(&s, "2001:db8::ffff:1", 9), v6);
	assert_ptr_not_equal(enter(&s, "2001:db8:0:1::1", 9), v6);
	/* This one does not: it would be ::'s. */
	assert_ptr_not_equal(enter(&s, "::1", 9), enter(&s, "::2", 9));
	user = shares__enter(&s, NULL, 7, 9);
	assert_ptr_equal(shares__enter(&s, NULL, 7, 9), user);
	assert_ptr_not_equal(shares__enter(&s, NULL, 8, 9), user);
	shares__fini(&s);
}

static void test_bounds(void **state)
{
	struct shares s;
	struct share *c;

	(void)state;
	assert_int_equal(shares__init(&s, 1), 0);
	c = enter(&s, "10.0.0.1", 2);
	assert_non_null(enter(&s, "10.0.0.1", 2));
	assert_null(enter(&s, "10.0.0.1", 2));
	/* Who has none may have one that is larger. */
	assert_true(share__take(c, SHARE_BODIES, 100, 0, 10));
	assert_false(share__take(c, SHARE_BODIES, 1, 0, 10));
	share__give(c, SHARE_BODIES, 95);
	assert_true(share__take(c, SHARE_BODIES, 5, 0, 10));
	assert_false(share__take(c, SHARE_BODIES, 1, 0, 10));
	assert_false(share__take(c, SHARE_BODIES, UINT64_MAX, 0, 10));
	/* Who has nothing but one may have that one larger. */
	assert_true(share__take(c, SHARE_BODIES, 50, 10, 10));
	assert_false(share__take(c, SHARE_BODIES, 50, 10, 10));
	share__give(c, SHARE_BODIES, 50);
	/* Of something else it may. */
	assert_true(share__take(c, SHARE_FILES, 1, 0, 10));
	share__give(c, SHARE_CONNECTIONS, 1);
	assert_non_null(enter(&s, "10.0.0.1", 2));
	assert_true(share__take(NULL, SHARE_BODIES, 100, 0, 10));
	share__give(NULL, SHARE_BODIES, 100);
	assert_int_equal(share__most(4), 3);
	assert_int_equal(share__most(1), 1);
	shares__fini(&s);
}

/* Many clients come and go in any order; who has nothing left begins anew, and the leak checker sees the others. */
static void test_coming_and_going(void **state)
{
	enum { CLIENTS = 300, TURNS = 20000, MOST = 3 };
	struct share *clients[CLIENTS] = { NULL };
	uint64_t n[CLIENTS] = { 0 };
	struct shares s;

	(void)state;
	srand(1);
	assert_int_equal(shares__init(&s, 64), 0);
	for (int turn = 0; turn < TURNS; turn++) {
		int i = rand() % CLIENTS;
		char text[32];

		snprintf(text, sizeof(text), "10.0.%d.%d", i / 200, i % 200);
		if (rand() % 2) {
			struct share *c = enter(&s, text, MOST);

			assert_true((c != NULL) == (n[i] < MOST));
			assert_true(n[i] == 0 || !c || c == clients[i]);
			clients[i] = c ? c : clients[i];
			n[i] += c != NULL;
		} else if (n[i] > 0) {
			share__give(clients[i], SHARE_CONNECTIONS, 1);
			n[i]--;
		}
	}
	for (int i = 0; i < CLIENTS; i++)
		share__give(clients[i], SHARE_CONNECTIONS, n[i]);
	for (uint32_t i = 0; i < s.n_buckets; i++)
		assert_null(s.buckets[i]);
	shares__fini(&s);
}

/* Against inet_pton() and arithmetic on IPv4's 32 bits. */
static void test_networks(void **state)
{
	struct network net;
	struct address a;
	char text[64];

	(void)state;
	srand(1);
	for (int i = 0; i < 20000; i++) {
		uint32_t first = (uint32_t)rand() * 2654435761U, bits = (uint32_t)rand() % 33;
		uint32_t other = rand() % 2 ? first ^ 1U << rand() % 32 : (uint32_t)rand() * 2654435761U;
		uint32_t mask = bits ? UINT32_MAX << (32 - bits) : 0;
		struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(other) };

		snprintf(text, sizeof(text), "%s%u.%u.%u.%u/%u", i % 2 ? "::ffff:" : "", first >> 24,
			 first >> 16 & 255, first >> 8 & 255, first & 255, bits + (i % 2 ? 96 : 0));
		assert_true(network__read(text, &net));
		assert_true(address__of((const struct sockaddr *)&sin, &a));
		assert_int_equal(network__holds(&net, &a), ((first ^ other) & mask) == 0);
	}
	assert_true(network__read("fd00::/8", &net));
	a = at("fd12::1");
	assert_true(network__holds(&net, &a));
	a = at("fe12::1");
	assert_false(network__holds(&net, &a));
	assert_true(network__read("10.1.2.3", &net));
	a = at("10.1.2.3");
	assert_true(network__holds(&net, &a));
	a = at("10.1.2.4");
	assert_false(network__holds(&net, &a));
	assert_true(network__read("::/0", &net));
	assert_false(network__holds(&net, &a)); /* IPv4 has a 0.0.0.0/0 of its own */
	static const char *const none[] = { "",	      "x",	  "10.0.0.0/",	"10.0.0.0/33",
					    "::/129", "10.0.0/8", "1.2.3.4:5",	"10.0.0.0/-1",
					    "/8",     "[::1]/8",  "10.0.0.0/8x" };
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_false(network__read(none[i], &net));
	assert_false(address__of(&(const struct sockaddr){ .sa_family = AF_UNIX }, &a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_is_a_client),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_coming_and_going),
		cmocka_unit_test(test_networks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
