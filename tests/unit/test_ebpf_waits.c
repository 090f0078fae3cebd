/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_waits.c - who has samples to unwind does not wait while tables are being made
 *
 * A slab of memory for tables takes the kernel as long as it likes here: what the reader does meanwhile must
 * come back before that.
 */
#include "tests/unit/ebpf_memory.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "plugins/input/ebpf/tables/heap.h"

enum { PATIENCE_SECONDS = 5 };

struct slow {
	struct ebpf_memory memory;
	struct heap_source source; /* that the slabs come from in the end */
	uint32_t held;		   /* number of the slab that is made slowly */
	sem_t asked, go;
	_Atomic bool is_late; /* nobody said go */
};

static int make_slowly(void *ctx, uint32_t slab, void **ret_memory)
{
	struct slow *s = ctx;

	if (slab == s->held) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += PATIENCE_SECONDS;
		sem_post(&s->asked);
		if (sem_timedwait(&s->go, &until) < 0)
			s->is_late = true;
	}
	return s->source.make(s->source.ctx, slab, ret_memory);
}

static void unmake(void *ctx, uint32_t slab, void *memory)
{
	struct slow *s = ctx;

	s->source.unmake(s->source.ctx, slab, memory);
}

static struct slow *slow_new(uint32_t held, struct tables_memory *ret)
{
	struct slow *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	*ret = ebpf_memory__of(&s->memory);
	s->source = ret->heap;
	s->held = held;
	sem_init(&s->asked, 0, 0);
	sem_init(&s->go, 0, 0);
	ret->heap.make = make_slowly;
	ret->heap.unmake = unmake;
	ret->heap.ctx = s;
	return s;
}

static void slow_free(struct slow *s)
{
	sem_destroy(&s->asked);
	sem_destroy(&s->go);
	free(s);
}

static struct tables_stat built(struct tables *t)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	struct tables_stat stat = tables__stat(t);

	for (int i = 0; i < 60000 && stat.builds == 0; i++) {
		nanosleep(&ms, NULL);
		stat = tables__stat(t);
	}
	return stat;
}

static void test_nobody_waits_for_tables(void **state)
{
	const struct tables_image image = { 1, 1, 1 };
	struct sampler_raw *raw = calloc(1, sizeof(*raw));
	struct tables_memory memory;
	struct slow *s = slow_new(0, &memory);
	struct tables *t = tables__new(&memory, 64 << 20);
	struct tables_walk walk;
	struct tables_stat stat;
	uint64_t frame;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_non_null(raw);
	assert_non_null(t);
	assert_true(fd >= 0);
	assert_int_equal(tables__start(t), 0);
	assert_int_equal(tables__file(t, "self", fd), 0);
	sem_wait(&s->asked);

	assert_int_equal(tables__announce(t, &image, 0, NULL, 0), 0);
	assert_int_equal(tables__walk(t, &image, raw, &frame, 1, &walk), 0);
	assert_int_equal(tables__file(t, "self", fd), 0);
	tables__tick(t);
	assert_int_equal(tables__stat(t).n_images, 1);
	tables__gone(t, &image);
	assert_false(s->is_late);

	sem_post(&s->go);
	stat = built(t);
	assert_int_equal(stat.builds, 1);
	assert_int_equal(stat.n_ready, 1);
	assert_true(stat.heap.used_bytes > 0);
	close(fd);
	tables__free(t);
	slow_free(s);
	free(raw);
}

static void *alloc_chunk(void *heap)
{
	uint32_t address;

	return heap__alloc(heap, TABLES_CHUNK_BYTES, &address) == 0 ? heap : NULL;
}

/* What fits into the slabs that are there does not wait for the next one; what does not, has that. */
static void test_room_is_there_while_a_slab_is_made(void **state)
{
	struct tables_memory memory;
	struct slow *s = slow_new(1, &memory);
	struct heap *h = heap__new(&memory.heap, 64 << 20);
	pthread_t threads[2];
	uint32_t address;
	void *answer;

	(void)state;
	assert_non_null(h);
	assert_int_equal(heap__alloc(h, 64, &address), 0);
	for (int i = 1; i < TABLES_SLAB_CHUNKS; i++)
		assert_int_equal(heap__alloc(h, TABLES_CHUNK_BYTES, &address), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, alloc_chunk, h), 0);
	sem_wait(&s->asked);

	assert_int_equal(heap__alloc(h, 64, &address), 0);
	assert_int_equal(heap__release(h, address, 64, 0), 0);
	assert_true(heap__recycle(h, 2000000000));
	assert_int_equal(heap__stat(h).slab_bytes, 1 << 20);
	assert_false(s->is_late);

	sem_post(&s->go);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pthread_join(threads[i], &answer), 0);
		assert_non_null(answer);
	}
	assert_int_equal(heap__stat(h).slab_bytes, 2 << 20);
	heap__free(h);
	slow_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody_waits_for_tables),
		cmocka_unit_test(test_room_is_there_while_a_slab_is_made),
	};

	return cmocka_run_group_tests_name("ebpf_waits", tests, NULL, NULL);
}
