/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_writer.c - groups, retries, losses, and a plugin that does not come back
 */
#include "core/pipeline/writer.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "core/batch/batch.h"
#include "tests/unit/fake_destination.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

struct setup {
	struct queue_pool *pool;
	struct stats *stats;
	struct fake fake;
	struct queue *queue;
	struct writer *writer;
	uint64_t rows; /* of one batch */
	_Atomic int n_acks, last_ack, n_trouble, last_trouble;
};

static int64_t in_ms(int64_t ms)
{
	return clock__mono(&clock__system) + ms * 1000000;
}

static void acked(void *ctx, int status)
{
	struct setup *s = ctx;

	s->last_ack = status;
	s->n_acks++;
}

static void troubled(void *ctx, int code, const char *sentence)
{
	struct setup *s = ctx;

	assert_true((code == 0) == (sentence[0] == '\0'));
	s->last_trouble = code;
	s->n_trouble++;
}

static void begin(struct setup *s)
{
	struct queue_config config = { .name = "dest",
				       .policy = QUEUE_DROP_OLDEST,
				       .reserve_bytes = 64 << 20 };

	memset(s, 0, sizeof(*s));
	fake__init(&s->fake);
	assert_int_equal(stats__new(NULL, &s->stats), 0);
	s->pool = queue_pool__new(0);
	config.stats = s->stats;
	assert_int_equal(queue__new(s->pool, &config, &s->queue), 0);
	queue__ref(s->queue);
}

enum kind { OUTPUT, STORAGE, GROUPING_OUTPUT };

static void start(struct setup *s, enum kind kind, int64_t give_up_ns)
{
	struct writer_config config = {
		.name = "dest",
		.handle = &s->fake,
		.give_up_ns = give_up_ns,
		.trouble = troubled,
		.trouble_ctx = s,
	};

	if (kind == STORAGE)
		config.storage = &fake__storage;
	else
		config.output = kind == OUTPUT ? &fake__output : &fake__grouping_output;
	assert_int_equal(writer__start(&config, s->queue, &s->writer, NULL), 0);
}

static void push(struct setup *s, uint64_t sequence)
{
	struct arena *arena;
	struct dcm_batch *b = random_batch__new(1, RANDOM_ONE_PROFILE), *o = batch__overlay(b, &arena);
	struct ack *ack = ack__new(acked, s);

	batch__account(o);
	s->rows = batch__n_rows(o);
	o->id.sequence = sequence;
	assert_int_equal(queue__push(s->queue, o, ack), 0);
	ack__unref(ack, 0);
	batch__unref(o);
	batch__unref(b);
}

static uint64_t lost(struct setup *s, const char *reason)
{
	return (uint64_t)stats__value(s->stats, "decima_dropped_total",
				      STATS_LABELS({ "instance", "dest" }, { "reason", reason }));
}

static void end(struct setup *s)
{
	queue__unref(s->queue);
	queue_pool__unref(s->pool);
	stats__free(s->stats);
	fake__fini(&s->fake);
}

static void an_output_gets_them_in_order(void **state)
{
	static struct setup s;

	(void)state;
	begin(&s);
	start(&s, OUTPUT, 0);
	for (uint64_t i = 1; i <= 50; i++)
		push(&s, i);
	assert_int_equal(writer__stop(s.writer, in_ms(10000), 0), 0);
	fake__assert_taken(&s.fake, 1, 50);
	assert_int_equal(s.n_acks, 50);
	assert_int_equal(s.last_ack, 0);
	end(&s);
}

static void gets_groups(enum kind kind)
{
	static struct setup s;
	struct queue_view v;

	begin(&s);
	fake__close_gate(&s.fake);
	start(&s, kind, 0);
	push(&s, 1);
	assert_true(fake__wait_inside(&s.fake));
	for (uint64_t i = 2; i <= 101; i++)
		push(&s, i);
	fake__open_gate(&s.fake);
	assert_true(fake__wait_taken(&s.fake, 101));
	/* 1, then 64 and 36 together. */
	assert_int_equal(s.fake.n_calls, 3);
	assert_int_equal(writer__stop(s.writer, in_ms(10000), 0), 0);
	queue__view(s.queue, &v);
	assert_int_equal(v.bytes, 0);
	assert_int_equal(s.n_acks, 101);
	fake__assert_taken(&s.fake, 1, 101);
	end(&s);
}

static void they_get_groups(void **state)
{
	(void)state;
	gets_groups(STORAGE);
	gets_groups(GROUPING_OUTPUT);
}

/* Of 85: 64, 32 and 16 in vain; then eight times 8, and twice as many. */
static void a_group_that_fails_is_halved(void **state)
{
	static struct setup s;

	(void)state;
	begin(&s);
	s.fake.answer = -EAGAIN;
	s.fake.n_answers = 3;
	for (uint64_t i = 1; i <= 85; i++)
		push(&s, i);
	start(&s, GROUPING_OUTPUT, 0);
	assert_true(fake__wait_taken(&s.fake, 85));
	assert_int_equal(writer__stop(s.writer, in_ms(10000), 0), 0);
	fake__assert_taken(&s.fake, 1, 85);
	assert_int_equal(s.n_acks, 85);
	/* As 16 there are then, and the five that are left of what was gathered next. */
	assert_int_equal(s.fake.n_calls, 3 + 8 + 2);
	assert_int_equal(s.last_ack, 0);
	end(&s);
}

/* Whoever is refused together goes alone; and fewer go together then, so that fewer do at the next bad one. */
static void after_a_refusal_groups_are_smaller(void **state)
{
	static struct setup s;

	(void)state;
	begin(&s);
	s.fake.bad_sequence = 5;
	for (uint64_t i = 1; i <= 2 * (uint64_t)DCM_GROUP_MAX; i++)
		push(&s, i);
	start(&s, GROUPING_OUTPUT, 0);
	assert_true(fake__wait_taken(&s.fake, 2 * DCM_GROUP_MAX - 1));
	assert_int_equal(writer__stop(s.writer, in_ms(10000), 0), 0);
	/* Together, each alone, and the others in two halves. */
	assert_int_equal(s.fake.n_calls, 1 + DCM_GROUP_MAX + 2);
	assert_int_equal(s.n_acks, 2 * DCM_GROUP_MAX);
	end(&s);
}

/* One that takes fewer at once: what it leaves comes next, in its order, and is no failure. */
static void what_a_group_leaves_comes_next(void **state)
{
	static struct setup s;

	(void)state;
	begin(&s);
	s.fake.max_done = 3;
	for (uint64_t i = 1; i <= 64; i++)
		push(&s, i);
	start(&s, GROUPING_OUTPUT, 0);
	assert_true(fake__wait_taken(&s.fake, 64));
	assert_int_equal(writer__stop(s.writer, in_ms(10000), 0), 0);
	fake__assert_taken(&s.fake, 1, 64);
	/* 21 times 3, and the last alone. */
	assert_int_equal(s.fake.n_calls, 22);
	assert_int_equal(s.n_acks, 64);
	assert_int_equal(s.n_trouble, 0);
	end(&s);
}

/* However many wait; larger groups are tried now and then. */
static void what_passes_alone_only_does_pass(void **state)
{
	static struct setup s;

	(void)state;
	begin(&s);
	s.fake.max_group = 1;
	for (uint64_t i = 1; i <= 16; i++)
		push(&s, i);
	start(&s, GROUPING_OUTPUT, 0);
	assert_true(fake__wait_taken(&s.fake, 16));
	assert_int_equal(writer__stop(s.writer, in_ms(10000), 0), 0);
	fake__assert_taken(&s.fake, 1, 16);
	assert_int_equal(s.n_acks, 16);
	assert_int_equal(s.last_ack, 0);
	end(&s);
}

static void acks_come_with_done_even_after_the_writer(void **state)
{
	static struct setup s;
	struct queue_view v;

	(void)state;
	begin(&s);
	s.fake.keeps_done = true;
	start(&s, STORAGE, 0);
	push(&s, 1);
	assert_true(fake__wait_taken(&s.fake, 1));
	assert_int_equal(s.n_acks, 0);
	queue__view(s.queue, &v);
	assert_int_equal(v.n_popped, 1);
	assert_true(v.bytes > 0);
	assert_int_equal(writer__stop(s.writer, in_ms(1000), 0), 0);
	fake__settle(&s.fake, -EIO);
	assert_int_equal(s.n_acks, 1);
	assert_int_equal(s.last_ack, -EIO);
	assert_true(lost(&s, "rejected") > 0);
	queue__view(s.queue, &v);
	assert_int_equal(v.bytes, 0);
	end(&s);
}

static void one_bad_batch_goes_alone(enum kind kind)
{
	static struct setup s;

	begin(&s);
	fake__close_gate(&s.fake);
	start(&s, kind, 0);
	push(&s, 1);
	assert_true(fake__wait_inside(&s.fake));
	s.fake.bad_sequence = 5;
	for (uint64_t i = 2; i <= 10; i++)
		push(&s, i);
	fake__open_gate(&s.fake);
	assert_true(fake__wait_taken(&s.fake, 9));
	assert_int_equal(writer__stop(s.writer, in_ms(10000), 0), 0);
	assert_int_equal(s.fake.n_taken, 9);
	for (unsigned i = 0; i < 9; i++)
		assert_int_not_equal(s.fake.sequences[i], 5);
	assert_int_equal(s.n_acks, 10);
	assert_int_equal(lost(&s, "rejected"), s.rows);
	/* The first, the others together, and each of these. */
	assert_int_equal(s.fake.n_calls, 11);
	end(&s);
}

static void one_bad_batch_of_a_group_goes_alone(void **state)
{
	(void)state;
	one_bad_batch_goes_alone(STORAGE);
	one_bad_batch_goes_alone(GROUPING_OUTPUT);
}

static void a_passing_error_is_tried_again(void **state)
{
	static const struct {
		enum kind kind;
		int code;
	} cases[] = { { OUTPUT, -EAGAIN },
		      { OUTPUT, -ENOMEM },
		      { STORAGE, -EAGAIN },
		      { STORAGE, -ENOSPC },
		      { STORAGE, -EIO } };

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static struct setup s;

		begin(&s);
		s.fake.answer = cases[i].code;
		s.fake.n_answers = 2;
		start(&s, cases[i].kind, 0);
		push(&s, 1);
		assert_true(fake__wait_taken(&s.fake, 1));
		assert_int_equal(writer__stop(s.writer, in_ms(10000), 0), 0);
		assert_int_equal(s.fake.n_calls, 3);
		assert_int_equal(s.last_ack, 0);
		assert_int_equal(s.n_trouble, 2);
		assert_int_equal(s.last_trouble, 0);
		end(&s);
	}
}

/* All that one server has turned away do not come back together: each waits up to a quarter less. */
static void retries_are_spread(void **state)
{
	static struct setup s;
	int64_t least = INT64_MAX;

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		struct writer_view v = { 0 };

		begin(&s);
		s.fake.answer = -EAGAIN;
		push(&s, 1);
		start(&s, OUTPUT, 0);
		int64_t called_ns = 0;
		while (v.retry_at_mono_ns == 0) {
			poll(NULL, 0, 1);
			called_ns = s.fake.called_ns;
			writer__view(s.writer, &v);
		}
		/* Called before that was looked at; where it was called again in between, the wait looks longer. */
		const int64_t wait = v.retry_at_mono_ns - called_ns;
		assert_true(wait >= 75 * INT64_C(1000000));
		least = wait < least ? wait : least;
		assert_int_equal(writer__stop(s.writer, 0, 0), 0);
		end(&s);
	}
	/* Of twenty that wait 75 to 100 ms, by chance. */
	assert_true(least < 98 * INT64_C(1000000));
}

static void another_error_loses_the_batch(void **state)
{
	static struct setup s;

	(void)state;
	begin(&s);
	s.fake.answer = -EINVAL;
	s.fake.n_answers = 1;
	start(&s, OUTPUT, 0);
	push(&s, 1);
	push(&s, 2);
	assert_true(fake__wait_taken(&s.fake, 1));
	assert_int_equal(writer__stop(s.writer, in_ms(10000), 0), 0);
	assert_int_equal(s.fake.sequences[0], 2);
	assert_int_equal(s.n_acks, 2);
	assert_true(lost(&s, "rejected") > 0);
	end(&s);
}

static void it_gives_up_when_told_to(void **state)
{
	static struct setup s;

	(void)state;
	begin(&s);
	s.fake.answer = -EAGAIN;
	start(&s, OUTPUT, 1);
	push(&s, 1);
	assert_int_equal(queue__flush(s.queue, in_ms(10000)), 0);
	assert_true(lost(&s, "gave_up") > 0);
	assert_int_equal(s.last_ack, -ETIMEDOUT);
	assert_int_equal(writer__stop(s.writer, in_ms(1000), 0), 0);
	end(&s);
}

static void stopping_ends_the_retries(void **state)
{
	static struct setup s;
	int64_t began = clock__mono(&clock__system);

	(void)state;
	begin(&s);
	s.fake.answer = -EAGAIN;
	start(&s, OUTPUT, 0);
	push(&s, 1);
	push(&s, 2);
	assert_int_equal(writer__stop(s.writer, in_ms(200), 5000000000), 0);
	assert_true(clock__mono(&clock__system) - began < 5000000000);
	assert_int_equal(s.n_acks, 2);
	assert_true(lost(&s, "shutdown") > 0);
	end(&s);
}

/* One that hangs in a write, with one more waiting. */
static void hang(struct setup *s, enum kind kind)
{
	begin(s);
	fake__close_gate(&s->fake);
	start(s, kind, 0);
	push(s, 1);
	assert_true(fake__wait_inside(&s->fake));
	push(s, 2);
}

static void a_plugin_that_hangs_is_left_behind(void **state)
{
	static struct setup s;
	struct stats *stats;

	(void)state;
	hang(&s, OUTPUT);
	assert_int_equal(writer__stop(s.writer, in_ms(50), 50000000), -ETIMEDOUT);
	/* What waited is lost and said so, and what the plugin has: nobody waits for it any more. */
	assert_int_equal(s.n_acks, 2);
	assert_int_equal(s.last_ack, -ECANCELED);
	assert_int_equal(lost(&s, "shutdown"), s.rows);
	assert_int_equal(lost(&s, "abandoned"), s.rows);
	/* The owner's things go; the thread comes back later and finds its way out. */
	stats = s.stats;
	stats__free(stats);
	fake__open_gate(&s.fake);
	assert_true(fake__wait_taken(&s.fake, 1));
	assert_int_equal(queue__flush(s.queue, in_ms(10000)), 0);
	assert_int_equal(stats__new(NULL, &s.stats), 0);
	end(&s);
}

/* What one writer cannot write, the next one does, and in the same order. */
static void what_one_leaves_the_next_one_writes(void **state)
{
	static struct setup s;

	(void)state;
	for (enum kind kind = OUTPUT; kind <= GROUPING_OUTPUT; kind++) {
		begin(&s);
		queue__ref(s.queue);
		s.fake.answer = -EAGAIN;
		for (uint64_t i = 1; i <= 100; i++)
			push(&s, i);
		start(&s, kind, 0);
		while (s.n_trouble == 0)
			poll(NULL, 0, 1);
		assert_int_equal(writer__leave(s.writer, in_ms(10000)), 0);
		assert_int_equal(s.n_acks, 0);
		push(&s, 101);
		s.fake.answer = 0;
		queue__hold(s.queue, false);
		start(&s, kind, 0);
		assert_int_equal(writer__stop(s.writer, in_ms(10000), 0), 0);
		fake__assert_taken(&s.fake, 1, 101);
		assert_int_equal(s.n_acks, 101);
		assert_int_equal(s.last_ack, 0);
		end(&s);
	}
}

static void one_that_hangs_leaves_what_waits(void **state)
{
	static struct setup s;
	struct queue_view v;

	(void)state;
	hang(&s, OUTPUT);
	assert_int_equal(writer__leave(s.writer, in_ms(50)), -ETIMEDOUT);
	fake__open_gate(&s.fake);
	assert_true(fake__wait_taken(&s.fake, 1));
	do
		queue__view(s.queue, &v);
	while (v.n_popped > 0);
	assert_int_equal(v.n_batches, 1);
	assert_int_equal(s.n_acks, 1);
	assert_int_equal(s.fake.n_calls, 1);
	queue__discard(s.queue, "shutdown");
	end(&s);
}

/* Whatever comes of it after that: nobody hears of it, and nothing is counted twice. */
static void what_one_that_hangs_has_is_lost_once(void **state)
{
	static const int answers[] = { 0, -EINVAL, -EAGAIN };
	static struct setup s;
	struct queue_view v;

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(answers) / sizeof(answers[0]); i++) {
		hang(&s, i % 2 ? STORAGE : OUTPUT);
		queue__view(s.queue, &v);
		assert_int_equal(v.n_in, 2);
		s.fake.answer = answers[i / 2];
		queue__ref(s.queue);
		if (i / 2 == 0)
			assert_int_equal(writer__leave(s.writer, in_ms(20)), -ETIMEDOUT);
		else
			assert_int_equal(writer__stop(s.writer, in_ms(10), 10000000), -ETIMEDOUT);
		queue__orphan(s.queue);
		assert_int_equal(lost(&s, "shutdown"), s.rows);
		assert_int_equal(lost(&s, "abandoned"), s.rows);
		assert_int_equal(s.n_acks, 2);
		assert_int_equal(s.last_ack, -ECANCELED);
		fake__open_gate(&s.fake);
		assert_int_equal(queue__flush(s.queue, in_ms(10000)), 0);
		queue__view(s.queue, &v);
		assert_int_equal(v.n_in, 2);
		assert_int_equal(v.n_out, 0);
		assert_int_equal(v.n_lost_batches, 2);
		assert_int_equal(v.n_lost_rows, 2 * s.rows);
		assert_int_equal(v.n_batches, 0);
		assert_int_equal(s.n_acks, 2);
		assert_int_equal(lost(&s, "shutdown") + lost(&s, "abandoned"), 2 * s.rows);
		queue__unref(s.queue);
		end(&s);
	}
}

/* Nobody is inside the plugin: the thread ends when it is told to, however late it is. */
static void one_that_waits_is_never_late(void **state)
{
	static struct setup s;

	(void)state;
	for (int i = 0; i < 20; i++) {
		begin(&s);
		start(&s, i % 2, 0);
		assert_int_equal(writer__stop(s.writer, 0, 0), 0);
		end(&s);
	}
}

/* Names come after the deadline. */
static int resolve_late(void *ctx, struct dcm_batch *batch, struct dcm_batch **ret_batch,
			struct dcm_error *err)
{
	const _Atomic int64_t *until = ctx;

	(void)err;
	while (!*until || clock__mono(&clock__system) < *until)
		poll(NULL, 0, 1);
	*ret_batch = batch__ref(batch);
	return 0;
}

static void names_that_come_late_are_waited_for(void **state)
{
	static struct setup s;
	static _Atomic int64_t until;
	struct writer_config config = { .name = "dest",
					.output = &fake__output,
					.handle = &s.fake,
					.resolved = resolve_late,
					.resolved_ctx = &until };

	(void)state;
	begin(&s);
	assert_int_equal(writer__start(&config, s.queue, &s.writer, NULL), 0);
	push(&s, 1);
	for (struct queue_view v = { 0 }; v.n_popped == 0; queue__view(s.queue, &v))
		poll(NULL, 0, 1);
	until = in_ms(100);
	assert_int_equal(writer__stop(s.writer, in_ms(10), 0), 0);
	/* It was too late to write. */
	assert_int_equal(s.fake.n_calls, 0);
	assert_int_equal(s.n_acks, 1);
	assert_true(lost(&s, "shutdown") > 0);
	assert_true(lost(&s, "rejected") == 0);
	end(&s);
}

/* Names of a batch, which it may have to wait for, or there is no memory once. */
struct naming {
	_Atomic unsigned n_made;
	unsigned fails_at;
	int64_t takes_ns;
};

static int resolve_once(void *ctx, struct dcm_batch *batch, struct dcm_batch **ret, struct dcm_error *err)
{
	struct naming *n = ctx;
	struct arena *arena;

	(void)err;
	if (n->fails_at && --n->fails_at == 0)
		return -ENOMEM;
	if (n->takes_ns)
		poll(NULL, 0, (int)(n->takes_ns / 1000000));
	*ret = batch__overlay(batch, &arena);
	(*ret)->id = batch->id;
	(*ret)->id.sequence += 1000;
	n->n_made++;
	return 0;
}

static void names_a_group(struct naming *n, unsigned n_batches, unsigned n_calls)
{
	static struct setup s;
	struct writer_config config = { .name = "dest",
					.output = &fake__grouping_output,
					.handle = &s.fake,
					.resolved = resolve_once,
					.resolved_ctx = n };

	begin(&s);
	for (uint64_t i = 1; i <= n_batches; i++)
		push(&s, i);
	assert_int_equal(writer__start(&config, s.queue, &s.writer, NULL), 0);
	assert_true(fake__wait_taken(&s.fake, n_batches));
	assert_int_equal(writer__stop(s.writer, in_ms(10000), 0), 0);
	/* The views, each made once whatever happened to its group. */
	fake__assert_taken(&s.fake, 1001, n_batches);
	assert_int_equal(n->n_made, n_batches);
	assert_int_equal(s.fake.n_calls, n_calls);
	assert_int_equal(s.n_acks, n_batches);
	assert_int_equal(s.last_ack, 0);
	end(&s);
}

static void a_group_goes_with_its_names(void **state)
{
	struct naming at_once = { 0 }, late = { .takes_ns = 1100000000 }, fails = { .fails_at = 3 };

	(void)state;
	names_a_group(&at_once, 16, 1);
	/* Each takes more than a second: none waits for another's. */
	names_a_group(&late, 3, 3);
	/* Those of the first two are there when there is no memory. */
	names_a_group(&fails, 8, 2);
}

/* What waits is put back, and no names are made for it: the next one does that. */
static void no_names_are_made_when_it_is_too_late(void **state)
{
	static struct setup s;
	struct naming n = { 0 };
	struct writer_config config = { .name = "dest",
					.output = &fake__grouping_output,
					.handle = &s.fake,
					.resolved = resolve_once,
					.resolved_ctx = &n };

	(void)state;
	begin(&s);
	s.fake.max_done = 2;
	fake__close_gate(&s.fake);
	for (uint64_t i = 1; i <= 8; i++)
		push(&s, i);
	config.max_group = 4;
	assert_int_equal(writer__start(&config, s.queue, &s.writer, NULL), 0);
	assert_true(fake__wait_inside(&s.fake));
	assert_int_equal(n.n_made, 4);
	/* It hangs, and comes back when nobody waits for it any more. */
	assert_int_equal(writer__stop(s.writer, in_ms(1), 0), -ETIMEDOUT);
	fake__open_gate(&s.fake);
	assert_true(fake__wait_taken(&s.fake, 2));
	for (struct queue_view v = { .n_popped = 1 }; v.n_popped > 0; queue__view(s.queue, &v))
		poll(NULL, 0, 1);
	assert_int_equal(n.n_made, 4);
	end(&s);
}

/* One that says it has done more than it was given, or none of it, is taken for one that failed. */
static void a_group_that_counts_wrong_is_refused(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		static struct setup s;

		begin(&s);
		s.fake.wrong_done = i ? 1000 : UINT32_MAX;
		for (uint64_t k = 1; k <= 4; k++)
			push(&s, k);
		start(&s, GROUPING_OUTPUT, 0);
		assert_true(fake__wait_taken(&s.fake, 8));
		assert_int_equal(writer__stop(s.writer, in_ms(10000), 0), 0);
		/* Together, and each by itself. */
		assert_int_equal(s.n_acks, 4);
		assert_int_equal(s.last_ack, 0);
		end(&s);
	}
}

static void a_write_that_takes_too_long_is_told(void **state)
{
	static struct setup s;
	struct writer_config config = { .name = "dest",
					.output = &fake__output,
					.handle = &s.fake,
					.write_timeout_ns = 1,
					.stuck_ns = 1,
					.trouble = troubled,
					.trouble_ctx = &s };
	struct writer_view v;

	(void)state;
	begin(&s);
	fake__close_gate(&s.fake);
	assert_int_equal(writer__start(&config, s.queue, &s.writer, NULL), 0);
	push(&s, 1);
	assert_true(fake__wait_inside(&s.fake));
	writer__watch(s.writer);
	writer__view(s.writer, &v);
	assert_true(v.writing_since_mono_ns > 0);
	assert_int_equal(s.n_trouble, 1);
	assert_int_equal(s.last_trouble, -ETIMEDOUT);
	assert_non_null(strstr(v.trouble, "has not come back"));
	/* The same again is no news. */
	writer__watch(s.writer);
	assert_int_equal(s.n_trouble, 1);
	fake__open_gate(&s.fake);
	assert_int_equal(writer__stop(s.writer, in_ms(10000), 0), 0);
	assert_int_equal(s.last_trouble, 0);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_output_gets_them_in_order),
		cmocka_unit_test(they_get_groups),
		cmocka_unit_test(a_group_that_fails_is_halved),
		cmocka_unit_test(after_a_refusal_groups_are_smaller),
		cmocka_unit_test(what_passes_alone_only_does_pass),
		cmocka_unit_test(acks_come_with_done_even_after_the_writer),
		cmocka_unit_test(one_bad_batch_of_a_group_goes_alone),
		cmocka_unit_test(a_passing_error_is_tried_again),
		cmocka_unit_test(retries_are_spread),
		cmocka_unit_test(another_error_loses_the_batch),
		cmocka_unit_test(it_gives_up_when_told_to),
		cmocka_unit_test(stopping_ends_the_retries),
		cmocka_unit_test(a_plugin_that_hangs_is_left_behind),
		cmocka_unit_test(what_one_leaves_the_next_one_writes),
		cmocka_unit_test(one_that_hangs_leaves_what_waits),
		cmocka_unit_test(what_one_that_hangs_has_is_lost_once),
		cmocka_unit_test(one_that_waits_is_never_late),
		cmocka_unit_test(names_that_come_late_are_waited_for),
		cmocka_unit_test(what_a_group_leaves_comes_next),
		cmocka_unit_test(a_group_goes_with_its_names),
		cmocka_unit_test(no_names_are_made_when_it_is_too_late),
		cmocka_unit_test(a_group_that_counts_wrong_is_refused),
		cmocka_unit_test(a_write_that_takes_too_long_is_told),
	};
	return cmocka_run_group_tests_name("writer", tests, NULL, NULL);
}
