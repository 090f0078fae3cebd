/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_window.c - how long windows are, and what becomes of full ones
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/str.h"
#include "plugins/input/ebpf/thread.h"
#include "plugins/input/ebpf/window.h"
#include "tests/unit/ebpf_host.h"

#define S 1000000000ll

static void test_lengths(void **state)
{
	(void)state;
	assert_int_equal(window__length_ns(1, 10 * S), 1 * S);
	assert_int_equal(window__length_ns(2, 10 * S), 2 * S);
	assert_int_equal(window__length_ns(3, 10 * S), 5 * S);
	assert_int_equal(window__length_ns(4, 10 * S), 10 * S);
	assert_int_equal(window__length_ns(UINT32_MAX, 10 * S), 10 * S);
	assert_int_equal(window__length_ns(3, 2 * S), 2 * S);
	assert_int_equal(window__length_ns(1, S / 2), S / 2);
}

struct fixture {
	struct ebpf_host host;
	struct files *files;
	struct windows *windows;
	struct settings settings;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	ebpf_host__init(&f->host);
	f->settings.frequency = 19;
	f->files = files__new(&f->host.host);
	f->windows = windows__new(&f->host.host, f->files, &f->settings);
	assert_non_null(f->windows);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	windows__free(f->windows);
	files__free(f->files);
	ebpf_host__fini(&f->host);
	free(f);
	return 0;
}

static struct aggregate *make(uint32_t n)
{
	struct aggregate *a = aggregate__new(n, (struct aggregate_limits){ 0 });
	struct aggregate_row row = { .n_samples = n, .cpu_ns = n };

	assert_int_equal(aggregate__series(a, STR("c"), STR("s"), STR(""), &row.series), 0);
	assert_int_equal(aggregate__add(a, &row), 0);
	return a;
}

static int64_t in(int64_t ns)
{
	return thread__mono_ns() + ns;
}

static void test_out(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(windows__start(f->windows), 0);
	for (uint32_t i = 1; i <= 3; i++) {
		assert_true(windows__push(f->windows, make(i)));
		assert_int_equal(windows__drain(f->windows, in(10 * S)), 0);
		assert_int_equal(f->host.n_emitted, i);
	}
	assert_int_equal(f->host.n_dropped, 0);
}

/* Before the thread runs nothing moves, so the third window finds no room. */
static void test_behind(void **state)
{
	struct fixture *f = *state;
	struct aggregate *third = make(4);

	assert_true(windows__push(f->windows, make(1)));
	assert_true(windows__push(f->windows, make(2)));
	assert_false(windows__push(f->windows, third));
	aggregate__free(third);
	assert_int_equal(windows__drain(f->windows, in(0)), -ETIMEDOUT);
	windows__free(f->windows);
	f->windows = NULL;
	assert_int_equal(f->host.n_dropped, 3);
	assert_string_equal(f->host.last_drop, "samples_at_stop");
}

static void test_host_full(void **state)
{
	struct fixture *f = *state;

	f->host.emit_answer = -EAGAIN;
	assert_int_equal(windows__start(f->windows), 0);
	/* Four batches are held; the fifth and sixth push out the first and second. */
	for (uint32_t i = 1; i <= 6; i++)
		while (1) {
			struct aggregate *a = make(i);

			if (windows__push(f->windows, a))
				break;
			aggregate__free(a);
			windows__drain(f->windows, in(S / 100));
		}
	while (f->host.n_dropped < 1 + 2)
		windows__drain(f->windows, in(S / 100));
	assert_string_equal(f->host.last_drop, "samples_queue_full");
	assert_int_equal(windows__drain(f->windows, in(S / 100)), -ETIMEDOUT);
	/* There is room again: what was held goes out by itself. */
	f->host.emit_answer = 0;
	assert_int_equal(windows__drain(f->windows, in(10 * S)), 0);
	assert_int_equal(f->host.n_emitted, 4);
	assert_int_equal(f->host.n_dropped, 3);
}

static void test_host_refuses(void **state)
{
	struct fixture *f = *state;

	f->host.emit_answer = -ESHUTDOWN;
	assert_int_equal(windows__start(f->windows), 0);
	assert_true(windows__push(f->windows, make(5)));
	assert_int_equal(windows__drain(f->windows, in(10 * S)), 0);
	assert_int_equal(f->host.n_dropped, 5);
	assert_string_equal(f->host.last_drop, "samples_refused");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths), TEST(test_out),		 TEST(test_behind),
		TEST(test_host_full),		TEST(test_host_refuses),
	};

	return cmocka_run_group_tests_name("ebpf_window", tests, NULL, NULL);
}
