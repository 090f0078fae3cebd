/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_process_room.c - how many processes are known, who makes room for others, and what windows have of
 * those that they have no room for
 */
#include "tests/unit/unit.h"

#include <unistd.h>

#include "plugins/input/ebpf/aggregate.h"
#include "plugins/input/ebpf/procfs.h"
#include "tests/unit/ebpf_processes.h"

#define MS 1000000ll

/* A full table refuses what it does not know, says so, and takes it when others have gone. */
static void test_full(void **state)
{
	struct fixture *f = *state;
	uint32_t n = 0, nobody = 5000000; /* beyond any pid_max */
	struct sampler_sample s = { .head = { .flags = SAMPLER_KTHREAD, .exec_id = 1 } }, first = s;

	first.head.pid = first.head.tid = nobody;
	for (; !processes__full(f->processes); n++) {
		s.head.pid = s.head.tid = nobody + n;
		assert_non_null(processes__of(f->processes, &s, 1));
	}
	assert_int_equal(n, 32768);
	s.head.pid = s.head.tid = nobody + n;
	assert_null(processes__of(f->processes, &s, 2));
	assert_non_null(processes__of(f->processes, &first, 2));
	processes__sweep(f->processes, 32);
	assert_int_equal(processes__stat(f->processes).n, 1);
	assert_false(processes__full(f->processes));
	assert_non_null(processes__of(f->processes, &s, 32));
}

/* Of a storm of short ones those go that have been gone for longest, whether anybody heard of their ends or not. */
static void test_full_of_ended(void **state)
{
	enum { N = 32768, ENDED = 5000, MORE = 4000 };
	struct fixture *f = *state;
	uint32_t nobody = 5000000;
	struct sampler_sample s = { .head = { .exec_id = 1, .start_ns = 1 } };
	struct process *p;

	for (uint32_t i = 0; i < N + MORE; i++) {
		struct sampler_event e;

		/* A thread of the kernel is there for good. */
		s.head.flags = i < ENDED ? 0 : SAMPLER_KTHREAD;
		s.head.pid = s.head.tid = nobody + i;
		f->host.mono_ns = (i + 1) * MS;
		assert_non_null(processes__of(f->processes, &s, 1));
		e = event_of(&s, SAMPLER_EXIT, s.head.exec_id, (i + 1) * MS);
		if (i < ENDED && i % 2)
			processes__event(f->processes, &e);
	}
	assert_in_range(processes__stat(f->processes).n, N - 2048, N);
	/* The last ones to end are known yet, and the first ones are not. */
	s.head.flags = 0;
	s.head.pid = s.head.tid = nobody + ENDED - 1;
	p = processes__of(f->processes, &s, 1);
	assert_int_equal(p->missing_ns, ENDED * MS);
	assert_int_equal(p->ended_ns, ENDED * MS);
	for (uint32_t i = 0; i < 2; i++) {
		s.head.pid = s.head.tid = nobody + i;
		p = processes__of(f->processes, &s, 1);
		assert_int_equal(p->missing_ns, (N + MORE) * MS);
		assert_int_equal(p->ended_ns, 0);
	}
	/* Who is there is not thrown out. */
	s.head.flags = SAMPLER_KTHREAD;
	for (uint32_t i = 0; i < ENDED; i++) {
		s.head.pid = s.head.tid = nobody + 10 * N + i;
		if (!processes__of(f->processes, &s, 1))
			break;
	}
	assert_true(processes__full(f->processes));
	assert_null(processes__of(f->processes, &s, 1));
}

/* It was sampled and ended between two looks, and its end was read first: it is not kept as one that is there. */
static void test_ended_before_its_sample_came(void **state)
{
	struct fixture *f = *state;
	struct sampler_sample s = { .head = { .pid = 5000000, .tid = 5000000, .exec_id = 1, .start_ns = 1 } };
	struct sampler_event e = event_of(&s, SAMPLER_EXIT, s.head.exec_id, MS);
	uint64_t start_ns;

	processes__event(f->processes, &e);
	assert_non_null(processes__of(f->processes, &s, 1));
	processes__sweep(f->processes, 3);
	assert_int_equal(processes__stat(f->processes).n, 1);
	processes__sweep(f->processes, 4);
	assert_int_equal(processes__stat(f->processes).n, 0);
	/* One that is there stays. */
	assert_int_equal(procfs__start((uint32_t)getpid(), &start_ns), 0);
	s.head.start_ns = start_ns;
	s.head.pid = s.head.tid = (uint32_t)getpid();
	assert_int_equal(processes__of(f->processes, &s, 4)->missing_ns, 0);
	processes__sweep(f->processes, 8);
	assert_int_equal(processes__stat(f->processes).n, 1);
}

/* Of the mappings of p that this function lies in, as a window has them where it has no room for all. */
static struct maps *hold_few(struct aggregate *a, struct process *p, uint64_t address)
{
	struct maps *held = p->maps;
	uint32_t image;

	p->held_window = a->window;
	assert_int_equal(aggregate__hold(a, p, &address, 1, &held), 0);
	assert_ptr_not_equal(held, p->maps);
	assert_int_equal(aggregate__image(a, p, held, &image), 0);
	return a->images.v[image].maps;
}

/* What windows have of the new image's mappings is as wrong as these, whatever they kept last. */
static void test_exec_before_windows_held_few(void **state)
{
	struct fixture *f = *state;
	struct aggregate *a = aggregate__new(1, (struct aggregate_limits){ .maps_bytes = 64 << 10 });
	struct sampler_sample s = { .head = { .exec_id = 3 } };
	struct maps *first, *second;
	struct sampler_event e;
	uint64_t start_ns;
	struct process *p;

	assert_int_equal(procfs__start((uint32_t)getpid(), &start_ns), 0);
	s.head.start_ns = start_ns;
	s.head.pid = s.head.tid = (uint32_t)getpid();
	f->host.mono_ns = 1000 * MS;
	p = processes__of(f->processes, &s, 1);
	a->maps_bytes = a->limits.maps_bytes;
	first = hold_few(a, p, (uintptr_t)test_exec_before_windows_held_few);
	second = hold_few(a, p, (uintptr_t)getpid);
	assert_ptr_not_equal(first, second);
	assert_false(maps__is_wrong(first) || maps__is_wrong(second));
	e = event_of(&s, SAMPLER_EXEC, s.head.exec_id, 900 * MS);
	e.head.exec_id = 4;
	processes__event(f->processes, &e);
	assert_true(maps__is_wrong(first) && maps__is_wrong(second));
	assert_null(p->few);
	aggregate__free(a);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_full),
		TEST(test_full_of_ended),
		TEST(test_ended_before_its_sample_came),
		TEST(test_exec_before_windows_held_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
