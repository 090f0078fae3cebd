/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_scrape_room.c - answers that share their room: who gives way, and that nothing is left behind
 */
#include "plugins/input/pprof_scrape/room.h"

#include <string.h>

#include "tests/unit/failmalloc.h"
#include "tests/unit/unit.h"

/* Four times what 64 KiB take while they arrive. */
enum { KIB = 1024, ALL = 4 * 81 * KIB };

static uint8_t bytes[512 * KIB];

/* So many KiB more of it. */
static bool take(struct room *r, struct room_piece *p, size_t kib)
{
	return room__take(r, p, bytes, kib * KIB);
}

static void end(struct room *r, struct room_piece *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		room__free(r, &v[i]);
	assert_true(r->n_bytes == 0);
	assert_null(r->arriving);
	room__fini(r);
}

static void what_comes_is_what_is_there(void **state)
{
	struct room_piece p = { 0 };
	struct room r;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7 + i / 251);
	room__init(&r, ALL);
	for (size_t i = 0; i < 200; i++)
		assert_true(room__take(&r, &p, bytes + i * 1000, 1000));
	assert_true(room__arrived(&r, &p));
	assert_int_equal(p.n, 200000);
	assert_memory_equal(p.data, bytes, p.n);
	assert_true(r.n_bytes == p.n);
	end(&r, &p, 1);
}

/* Four that never end have all of it; whoever begins is heard all the same, and one of the four is not. */
static void the_largest_gives_way(void **state)
{
	struct room_piece v[5] = { 0 };
	struct room r;
	int n_lost = 0;

	(void)state;
	room__init(&r, ALL);
	for (int i = 0; i < 4; i++)
		assert_true(take(&r, &v[i], 64));
	assert_true(r.n_bytes == ALL);
	assert_true(take(&r, &v[4], 16));
	assert_true(room__arrived(&r, &v[4]));
	assert_memory_equal(v[4].data, bytes, 16 * KIB);
	for (int i = 0; i < 4; i++) {
		n_lost += v[i].has_lost;
		assert_true(!v[i].has_lost == (v[i].data != NULL));
	}
	assert_int_equal(n_lost, 1);
	/* It is told so when it goes on. */
	for (int i = 0; i < 4; i++)
		if (v[i].has_lost) {
			assert_false(take(&r, &v[i], 1));
			assert_false(room__arrived(&r, &v[i]));
		}
	end(&r, v, 5);
}

/* Who is as large as the others has to give way itself, not they. */
static void not_to_one_as_large(void **state)
{
	struct room_piece v[5] = { 0 };
	struct room r;

	(void)state;
	room__init(&r, ALL);
	for (int i = 0; i < 4; i++)
		assert_true(take(&r, &v[i], 64));
	assert_false(take(&r, &v[4], 64));
	assert_true(v[4].has_lost);
	for (int i = 0; i < 4; i++)
		assert_false(v[i].has_lost);
	end(&r, v, 5);
}

/* What has arrived stays, however large it is. */
static void not_what_has_arrived(void **state)
{
	struct room_piece v[4] = { 0 };
	struct room r;

	(void)state;
	room__init(&r, ALL);
	assert_true(take(&r, &v[0], 200));
	assert_true(room__arrived(&r, &v[0]));
	assert_int_equal(r.n_bytes, 200 * KIB); /* no more than it needs */
	assert_true(take(&r, &v[1], 120));
	assert_true(room__arrived(&r, &v[1]));
	assert_false(take(&r, &v[2], 16));
	room__free(&r, &v[0]);
	assert_true(take(&r, &v[3], 16));
	end(&r, v, 4);
}

/* What waits for another answer of its target is there only as long as nobody needs the room. */
static void what_waits_gives_way(void **state)
{
	struct room_piece v[3] = { 0 };
	struct room r;

	(void)state;
	room__init(&r, ALL);
	assert_true(take(&r, &v[0], 200));
	assert_true(room__arrived(&r, &v[0]));
	room__waits(&r, &v[0]);
	assert_true(take(&r, &v[1], 50));
	assert_true(room__arrived(&r, &v[1]));
	room__waits(&r, &v[1]);
	assert_true(room__arrived(&r, &v[1]));
	assert_true(take(&r, &v[2], 100));
	assert_true(v[0].has_lost);
	assert_false(room__arrived(&r, &v[0]));
	assert_false(v[1].has_lost);
	room__waits(&r, &v[0]); /* of what is lost there is nothing to wait with */
	assert_ptr_equal(r.arriving, &v[2]);
	end(&r, v, 3);
}

static void more_than_all(void **state)
{
	struct room_piece v[2] = { 0 };
	struct room r;

	(void)state;
	room__init(&r, ALL);
	assert_true(take(&r, &v[0], 16));
	assert_false(take(&r, &v[1], 400));
	assert_false(v[0].has_lost);
	end(&r, v, 2);
}

static void without_memory(void **state)
{
	struct room_piece v[2] = { 0 };
	struct room r;

	(void)state;
	room__init(&r, ALL);
	assert_true(take(&r, &v[0], 16));
	failmalloc__arm(1);
	assert_false(take(&r, &v[1], 16));
	failmalloc__disarm();
	assert_true(v[1].has_lost);
	assert_true(take(&r, &v[0], 1));
	end(&r, v, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_comes_is_what_is_there),
		cmocka_unit_test(the_largest_gives_way),
		cmocka_unit_test(not_to_one_as_large),
		cmocka_unit_test(not_what_has_arrived),
		cmocka_unit_test(what_waits_gives_way),
		cmocka_unit_test(more_than_all),
		cmocka_unit_test(without_memory),
	};

	return cmocka_run_group_tests_name("scrape_room", tests, NULL, NULL);
}
