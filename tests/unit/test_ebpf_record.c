/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_record.c - the records of the rings: where each field lies, and what is
 * refused
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/input/ebpf/record.h"

/*
 * The layout is an agreement with programs that the kernel runs: a change here is a change there.
 */
#define AT(type, member, offset, bytes)                                                            \
	_Static_assert(offsetof(struct type, member) == (offset), #type "." #member);              \
	_Static_assert(sizeof(((struct type *)0)->member) == (bytes), #type "." #member)

AT(sampler_head, size, 0, 4);
AT(sampler_head, kind, 4, 2);
AT(sampler_head, flags, 6, 2);
AT(sampler_head, pid, 8, 4);
AT(sampler_head, tid, 12, 4);
AT(sampler_head, start_ns, 16, 8);
AT(sampler_head, exec_id, 24, 8);
AT(sampler_head, time_ns, 32, 8);
_Static_assert(sizeof(struct sampler_head) == 40, "no hole at the end");
AT(sampler_event, head, 0, 40);
_Static_assert(sizeof(struct sampler_event) == 40, "no hole at the end");
AT(sampler_sample, head, 0, 40);
AT(sampler_sample, cgroup_id, 40, 8);
AT(sampler_sample, exec_pages, 48, 8);
AT(sampler_sample, period_ns, 56, 8);
AT(sampler_sample, cpu, 64, 4);
AT(sampler_sample, n_kernel, 68, 2);
AT(sampler_sample, n_user, 70, 2);
AT(sampler_sample, outcome, 72, 4);
AT(sampler_sample, ppid, 76, 4);
AT(sampler_sample, comm, 80, 16);
AT(sampler_sample, leader_comm, 96, 16);
_Static_assert(sizeof(struct sampler_sample) == 112, "no hole at the end");
AT(sampler_raw, sample, 0, 112);
AT(sampler_raw, regs, 112, 128);
AT(sampler_raw, pc, 240, 8);
AT(sampler_raw, code, 248, 8);
AT(sampler_raw, n_bytes, 256, 4);
AT(sampler_raw, has_code, 260, 4);
AT(sampler_raw, start, 264, 8);
AT(sampler_raw, kernel, 272, 1016);
_Static_assert(sizeof(struct sampler_raw) == 1288, "no hole at the end");
_Static_assert(sizeof(struct sampler_stats) == 512, "an element of a mapped array");
_Static_assert(sizeof(struct sampler_stats) % 64 == 0, "CPUs do not share a cache line");

/*
 * A sample with as many frames, in a block of exactly its size, so that a read beyond it is found.
 */
static struct sampler_sample *make(uint16_t n_kernel, uint16_t n_user, size_t *ret_n)
{
	size_t n = sizeof(struct sampler_sample) + 8 * ((size_t)n_kernel + n_user);
	struct sampler_sample *s = calloc(1, n);

	assert_non_null(s);
	s->head.size = (uint32_t)n;
	s->head.kind = SAMPLER_SAMPLE;
	s->n_kernel = n_kernel;
	s->n_user = n_user;
	for (uint64_t i = 0; i < (uint64_t)n_kernel + n_user; i++)
		memcpy((char *)(s + 1) + 8 * i, &i, 8);
	*ret_n = n;
	return s;
}

static void test_takes_whole_samples(void **state)
{
	const uint16_t sizes[][2] = { { 0, 0 }, { 3, 0 }, { 0, 1 }, { 127, 1000 } };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		const struct sampler_sample *got;
		const uint64_t *frames;
		size_t n;
		struct sampler_sample *s = make(sizes[i][0], sizes[i][1], &n);

		assert_int_equal(record__sample(s, n, &got, &frames), 0);
		assert_ptr_equal(got, s);
		for (uint64_t k = 0; k < (uint64_t)got->n_kernel + got->n_user; k++)
			assert_int_equal(frames[k], k);
		free(s);
	}
}

static void test_refuses_broken_samples(void **state)
{
	const struct sampler_sample *got;
	const uint64_t *frames;
	size_t n;
	struct sampler_sample *s = make(2, 3, &n);

	(void)state;
	for (size_t cut = 0; cut < n; cut++)
		assert_int_equal(record__sample(s, cut, &got, &frames), -EBADMSG);
#define REFUSED(field, value)                                                                      \
	do {                                                                                       \
		__typeof__(s->field) before = s->field;                                            \
		s->field = (value);                                                                \
		assert_int_equal(record__sample(s, n, &got, &frames), -EBADMSG);                   \
		s->field = before;                                                                 \
	} while (0)
	REFUSED(head.size, (uint32_t)n + 8);
	REFUSED(head.kind, SAMPLER_EXIT);
	REFUSED(n_kernel, 3);
	REFUSED(n_kernel, SAMPLER_KERNEL_FRAMES + 1);
	REFUSED(n_user, SAMPLER_USER_FRAMES + 1);
	REFUSED(n_user, UINT16_MAX);
	REFUSED(outcome, SAMPLER_OUTCOME_N);
	assert_int_equal(record__sample(s, n, &got, &frames), 0);
	free(s);
}

static void test_events(void **state)
{
	struct sampler_event e = { .head = { .size = sizeof(e), .kind = SAMPLER_EXEC, .pid = 7 } };
	const struct sampler_event *got;

	(void)state;
	assert_int_equal(record__event(&e, sizeof(e), &got), 0);
	assert_int_equal(got->head.pid, 7);
	e.head.kind = SAMPLER_EXIT;
	assert_int_equal(record__event(&e, sizeof(e), &got), 0);
	assert_int_equal(record__event(&e, sizeof(e) - 1, &got), -EBADMSG);
	e.head.kind = SAMPLER_SAMPLE;
	assert_int_equal(record__event(&e, sizeof(e), &got), -EBADMSG);
	e.head.kind = SAMPLER_EXEC;
	e.head.size = 48;
	assert_int_equal(record__event(&e, sizeof(e), &got), -EBADMSG);
}

/*
 * The note of an outcome and the names of metrics are unique: two rows of the list are never the
 * same.
 */
static void test_lists_have_no_twins(void **state)
{
	const char *const names[] = {
#define SAMPLER_X(name, metric, help) "stat " metric,
		SAMPLER_STATS(SAMPLER_X)
#undef SAMPLER_X
#define SAMPLER_X(name, metric, note) "outcome " metric,
			SAMPLER_OUTCOMES(SAMPLER_X)
#undef SAMPLER_X
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(names[i], names[k]);
}

/* A deferred sample with as much stack, in a block of exactly its size. */
static struct sampler_raw *make_raw(uint32_t n_bytes, size_t *ret_n)
{
	size_t n = sizeof(struct sampler_raw) + n_bytes;
	struct sampler_raw *r = calloc(1, n);

	assert_non_null(r);
	r->sample.head.size = (uint32_t)n;
	r->sample.head.kind = SAMPLER_RAW;
	r->sample.outcome = SAMPLER_OUTCOME_DEFERRED;
	r->sample.n_kernel = SAMPLER_KERNEL_FRAMES;
	r->n_bytes = n_bytes;
	*ret_n = n;
	return r;
}

static void test_deferred_samples(void **state)
{
	const struct sampler_raw *got;
	const struct sampler_sample *sample;
	const uint64_t *frames;
	struct sampler_raw *r;
	size_t n;

	(void)state;
	r = make_raw(SAMPLER_RAW_BYTES, &n);
	assert_int_equal(record__raw(r, n, &got), 0);
	assert_ptr_equal(got, r);
	/* Neither is taken for the other. */
	assert_int_equal(record__sample(r, n, &sample, &frames), -EBADMSG);
	for (size_t cut = 1; cut <= n; cut += 7)
		assert_int_equal(record__raw(r, n - cut, &got), -EBADMSG);
	r->sample.n_kernel++;
	assert_int_equal(record__raw(r, n, &got), -EBADMSG);
	r->sample.n_kernel--;
	r->sample.n_user = 1;
	assert_int_equal(record__raw(r, n, &got), -EBADMSG);
	r->sample.n_user = 0;
	r->n_bytes--;
	assert_int_equal(record__raw(r, n, &got), -EBADMSG);
	r->n_bytes++;
	r->sample.outcome = SAMPLER_OUTCOME_ROOT;
	assert_int_equal(record__raw(r, n, &got), -EBADMSG);
	free(r);
	r = make_raw(SAMPLER_RAW_BYTES + 8, &n);
	assert_int_equal(record__raw(r, n, &got), -EBADMSG);
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deferred_samples),
		cmocka_unit_test(test_takes_whole_samples),
		cmocka_unit_test(test_refuses_broken_samples),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_lists_have_no_twins),
	};

	return cmocka_run_group_tests_name("ebpf_record", tests, NULL, NULL);
}
