/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_selfprofile.c - this process's own CPU time, by threads whose stacks are known
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/sanitizer.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/selfprofile/objects.h"
#include "core/selfprofile/selfprofile.h"
#include "core/selfprofile/ticks.h"
#include "core/symbolize/symbols.h"
#include "tests/unit/unit.h"

#define SECOND INT64_C(1000000000)

static _Atomic bool ends;
static volatile uint64_t sink;

__attribute__((noinline)) static void burn_inner(void)
{
	for (int i = 0; i < 100000; i++)
		sink += (uint64_t)i;
}

__attribute__((noinline)) static void burn_outer(void)
{
	while (!atomic_load(&ends))
		burn_inner();
	sink++; /* no tail call above */
}

static void *burn(void *name)
{
	pthread_setname_np(pthread_self(), name);
	burn_outer();
	return NULL;
}

static pthread_t begin_burning(const char *name)
{
	pthread_t t;

	atomic_store(&ends, false);
	assert_int_equal(pthread_create(&t, NULL, burn, (void *)(uintptr_t)name), 0);
	return t;
}

static void end_burning(pthread_t t)
{
	atomic_store(&ends, true);
	pthread_join(t, NULL);
}

static struct dcm_batch *must_record(int64_t duration_ns, struct symbols *symbols)
{
	struct selfprofile *s = selfprofile__new();
	struct selfprofile_ask ask = { .clock = &clock__system,
				       .duration_ns = duration_ns,
				       .symbols = symbols };
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *batch = NULL;

	assert_non_null(s);
	if (selfprofile__record(s, &ask, &batch, &err) < 0)
		fail_msg("%s", err.text);
	selfprofile__free(s);
	return batch;
}

/* CPU nanoseconds of rows with that thread name; "": all. */
static int64_t cpu_of(const struct dcm_batch *b, const char *thread)
{
	int64_t sum = 0;

	for (uint64_t r = 0; r < b->n_rows; r++) {
		struct dcm_span set = b->label_sets[b->row_labels[r]];
		struct dcm_str name = set.n ? b->strings[b->labels[set.off].str] : STR("");

		if (!thread[0] || str__eq(name, str__of(thread)))
			sum += b->values[2 * r + 1];
	}
	return sum;
}

static bool has_function(const struct dcm_batch *b, uint32_t location, const char *function)
{
	const struct dcm_location *l = &b->locations[location];

	for (uint32_t i = 0; i < l->n_lines; i++)
		if (str__eq(b->strings[b->functions[b->lines[l->line_off + i].function].name],
			    str__of(function)))
			return true;
	return false;
}

/* CPU nanoseconds of stacks where `inner` is called by `outer`, which is called by `outermost`. */
static int64_t cpu_of_chain(const struct dcm_batch *b, const char *const chain[3])
{
	int64_t sum = 0;

	for (uint64_t r = 0; r < b->n_rows; r++) {
		struct dcm_span s = b->stacks[b->row_stacks[r]];
		uint32_t k = 0;

		for (uint32_t i = 0; i < s.n && k < 3; i++)
			k += has_function(b, b->stack_locations[s.off + i], chain[k]);
		sum += k == 3 ? b->values[2 * r + 1] : 0;
	}
	return sum;
}

static void a_busy_thread_is_seen_with_its_callers(void **state)
{
	static const char *const chain[] = { "burn_inner", "burn_outer", "burn" };
	struct symbols_config config = { 0 };
	struct symbols *symbols = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	pthread_t t = begin_burning("burner");
	struct timespec cpu[2];
	clockid_t clock;
	struct dcm_batch *b;
	int64_t used;

	(void)state;
	assert_int_equal(symbols__new(&config, &symbols, &err), 0);
	assert_int_equal(pthread_getcpuclockid(t, &clock), 0);
	clock_gettime(clock, &cpu[0]);
	b = must_record(SECOND, symbols);
	clock_gettime(clock, &cpu[1]);
	end_burning(t);
	used = (cpu[1].tv_sec - cpu[0].tv_sec) * SECOND + cpu[1].tv_nsec - cpu[0].tv_nsec;
	assert_int_equal(b->n_profiles, 1);
	assert_int_equal(b->profiles[0].n_types, 2);
	/* The clock is the oracle; a tick of the kernel may be 10 ms, and making the batch took some. */
	assert_true(cpu_of(b, "burner") <= used + 2 * TICKS_PERIOD_NS);
	if (cpu_of(b, "burner") < used / 2 - 5 * TICKS_PERIOD_NS)
		fail_msg("%lld ns of %lld seen", (long long)cpu_of(b, "burner"), (long long)used);
	/* TSan holds a signal back until the thread calls something. */
	if (!SANITIZER_THREAD)
		assert_true(cpu_of_chain(b, chain) >= cpu_of(b, "burner") * 9 / 10);
	batch__unref(b);
	symbols__free(symbols);
}

static void *begin_late(void *ctx)
{
	const struct timespec moment = { .tv_nsec = 300000000 };

	(void)ctx;
	nanosleep(&moment, NULL);
	return burn((void *)(uintptr_t) "late");
}

static void a_thread_that_begins_meanwhile_is_seen(void **state)
{
	pthread_t t;
	struct dcm_batch *b;

	(void)state;
	atomic_store(&ends, false);
	assert_int_equal(pthread_create(&t, NULL, begin_late, NULL), 0);
	b = must_record(SECOND, NULL);
	end_burning(t);
	assert_true(cpu_of(b, "late") > 0);
	batch__unref(b);
}

static void who_sleeps_costs_nothing(void **state)
{
	struct dcm_batch *b;

	(void)state;
	b = must_record(SECOND / 2, NULL);
	assert_true(cpu_of(b, "") <= 10 * TICKS_PERIOD_NS);
	batch__unref(b);
}

static void recordings_beside_each_other_see_the_same(void **state)
{
	struct ticks *t[TICKS_MAX_RECORDINGS], *more = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	const struct timespec span = { .tv_nsec = 500000000 };
	pthread_t burner = begin_burning("burner");
	uint64_t n[TICKS_MAX_RECORDINGS] = { 0 };
	struct tick tick;

	(void)state;
	for (int i = 0; i < TICKS_MAX_RECORDINGS; i++)
		assert_int_equal(ticks__begin(&t[i], &err), 0);
	assert_int_equal(ticks__begin(&more, &err), -EBUSY);
	assert_non_null(strstr(err.text, "4 recordings are under way"));
	nanosleep(&span, NULL);
	for (int i = 0; i < TICKS_MAX_RECORDINGS; i++) {
		ticks__end(t[i]);
		ticks__end(t[i]);
		for (uint64_t at = 0; ticks__next(t[i], &at, &tick);)
			n[i] += tick.n_periods;
		ticks__free(t[i]);
		assert_true(n[i] > 0 && n[i] + 5 >= n[0] && n[i] <= n[0] + 5);
	}
	end_burning(burner);
	/* There is room again, and it begins empty. */
	assert_int_equal(ticks__begin(&more, &err), 0);
	ticks__free(more);
}

static void a_signal_that_is_no_timers_counts_for_nothing(void **state)
{
	struct ticks *t = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	struct tick tick;
	uint64_t at = 0;

	(void)state;
	assert_int_equal(ticks__begin(&t, &err), 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(raise(SIGPROF), 0);
	ticks__end(t);
	for (uint64_t n = 0; ticks__next(t, &at, &tick); n++)
		assert_true(n < 20);
	ticks__free(t);
	/* The handler stays: a late one would end the process otherwise. */
	assert_int_equal(raise(SIGPROF), 0);
}

/* A frame pointer that is nonsense: what code without frame pointers has in that register. */
__attribute__((noinline, no_sanitize("address", "thread"))) static void *burn_with(void *fp)
{
	while (!atomic_load(&ends))
#if defined(__x86_64__)
		__asm__ volatile("push %%rbp\n\tmov %0, %%rbp\n\tmov $300000, %%rcx\n1:\tdec "
				 "%%rcx\n\tjnz 1b\n\tpop %%rbp"
				 :
				 : "r"(fp)
				 : "rcx", "memory", "cc");
#else
		burn_inner();
	(void)fp;
#endif
	return NULL;
}

static void frame_pointers_that_are_nonsense_end_a_stack(void **state)
{
	static uint64_t outside[2] = { 16, 4711 };
	void *const values[] = { NULL, (void *)1, (void *)UINTPTR_MAX, (void *)(UINTPTR_MAX - 15),
				 outside };

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		pthread_t t;
		struct dcm_batch *b;

		atomic_store(&ends, false);
		assert_int_equal(pthread_create(&t, NULL, burn_with, values[i]), 0);
		b = must_record(SECOND / 5, NULL);
		end_burning(t);
		assert_true(cpu_of(b, "") > 0);
		batch__unref(b);
	}
}

static void *record_long(void *ctx)
{
	struct selfprofile_ask ask = { .clock = &clock__system, .duration_ns = 600 * SECOND };
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *batch = NULL;

	return (void *)(intptr_t)selfprofile__record(ctx, &ask, &batch, &err);
}

static void a_stop_ends_it_and_so_does_who_asks(void **state)
{
	struct selfprofile *s = selfprofile__new();
	_Atomic int cancelled = 1;
	struct selfprofile_ask ask = { .clock = &clock__system,
				       .duration_ns = 600 * SECOND,
				       .cancelled = &cancelled };
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *batch = NULL;
	void *result;
	pthread_t t;

	(void)state;
	assert_int_equal(selfprofile__record(s, &ask, &batch, &err), -ECANCELED);
	assert_int_equal(pthread_create(&t, NULL, record_long, s), 0);
	selfprofile__stop(s);
	pthread_join(t, &result);
	assert_int_equal((intptr_t)result, -ESHUTDOWN);
	assert_null(batch);
	selfprofile__free(s);
}

static void each_address_has_its_object(void **state)
{
	struct objects o;
	uint32_t mine, libc;

	(void)state;
	assert_int_equal(objects__load(&o), 0);
	mine = objects__find(&o, (uint64_t)(uintptr_t)burn_outer);
	libc = objects__find(&o, (uint64_t)(uintptr_t)nanosleep);
	assert_true(mine != DCM_NONE);
	assert_true(str__ends(o.v.v[mine].path, STR("test_selfprofile")));
	assert_int_equal(o.v.v[mine].build_id.n, 40);
	if (libc != DCM_NONE) /* else a sanitizer's */
		assert_true(o.v.v[libc].path.n > 0);
	assert_int_equal(objects__find(&o, 0), DCM_NONE);
	assert_int_equal(objects__find(&o, UINT64_MAX), DCM_NONE);
	objects__fini(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_busy_thread_is_seen_with_its_callers),
		cmocka_unit_test(a_thread_that_begins_meanwhile_is_seen),
		cmocka_unit_test(who_sleeps_costs_nothing),
		cmocka_unit_test(recordings_beside_each_other_see_the_same),
		cmocka_unit_test(a_signal_that_is_no_timers_counts_for_nothing),
		cmocka_unit_test(frame_pointers_that_are_nonsense_end_a_stack),
		cmocka_unit_test(a_stop_ends_it_and_so_does_who_asks),
		cmocka_unit_test(each_address_has_its_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
