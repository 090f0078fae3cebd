/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/fake_destination.c - a storage and an output whose behaviour a test chooses
 */
#include "tests/unit/fake_destination.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/cond.h"
#include "core/batch/batch.h"
#include "tests/unit/unit.h"

#define PATIENCE_NS ((int64_t)10 * 1000000000)

void fake__init(struct fake *f)
{
	memset(f, 0, sizeof(*f));
	pthread_mutex_init(&f->mutex, NULL);
	cond__init(&f->changed);
}

void fake__fini(struct fake *f)
{
	batch__unref(f->last);
	pthread_cond_destroy(&f->changed);
	pthread_mutex_destroy(&f->mutex);
}

static void set_gate(struct fake *f, bool is_closed)
{
	pthread_mutex_lock(&f->mutex);
	f->is_closed = is_closed;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->mutex);
}

void fake__close_gate(struct fake *f)
{
	set_gate(f, true);
}

void fake__open_gate(struct fake *f)
{
	set_gate(f, false);
}

void fake__set_answer(struct fake *f, int answer)
{
	pthread_mutex_lock(&f->mutex);
	f->answer = answer;
	pthread_mutex_unlock(&f->mutex);
}

/* With the mutex: until the count reaches n. */
static bool wait_for(struct fake *f, const unsigned *count, unsigned n)
{
	int64_t at = clock__mono(&clock__system) + PATIENCE_NS;
	struct timespec ts = { .tv_sec = at / 1000000000, .tv_nsec = at % 1000000000 };
	int r = 0;

	while (*count < n && r == 0)
		r = pthread_cond_timedwait(&f->changed, &f->mutex, &ts);
	return *count >= n;
}

bool fake__wait_inside(struct fake *f)
{
	bool ok;

	pthread_mutex_lock(&f->mutex);
	ok = wait_for(f, &f->n_inside, 1);
	pthread_mutex_unlock(&f->mutex);
	return ok;
}

bool fake__wait_taken(struct fake *f, unsigned n)
{
	bool ok;

	pthread_mutex_lock(&f->mutex);
	ok = wait_for(f, &f->n_taken, n);
	pthread_mutex_unlock(&f->mutex);
	return ok;
}

/* Through the gate, then the answer. With the mutex. */
static int enter(struct fake *f)
{
	int r;

	f->called_ns = clock__mono(&clock__system);
	f->n_calls++;
	f->n_inside++;
	pthread_cond_broadcast(&f->changed);
	while (f->is_closed)
		pthread_cond_wait(&f->changed, &f->mutex);
	f->n_inside--;
	r = f->answer;
	if (f->n_answers > 0 && --f->n_answers == 0)
		f->answer = 0;
	return r;
}

static void take(struct fake *f, struct dcm_batch *b)
{
	f->sequences[f->n_taken % 4096] = b->id.sequence;
	f->n_taken++;
	for (uint32_t i = 0; i < b->n_profiles; i++)
		f->n_rows += b->profiles[i].n_rows;
	batch__unref(f->last);
	f->last = batch__ref(b);
	pthread_cond_broadcast(&f->changed);
}

static int output_write(void *instance, struct dcm_batch *batch, int64_t deadline_mono_ns,
			struct dcm_error *err)
{
	struct fake *f = instance;
	int r;

	(void)deadline_mono_ns;
	(void)err;
	pthread_mutex_lock(&f->mutex);
	r = enter(f);
	if (r == 0 && f->bad_sequence && batch->id.sequence == f->bad_sequence)
		r = -EINVAL;
	if (r == 0)
		take(f, batch);
	pthread_mutex_unlock(&f->mutex);
	return r;
}

/* With the mutex. */
static int take_group(struct fake *f, struct dcm_batch *const *batches, uint32_t n)
{
	int r = enter(f);

	for (uint32_t i = 0; r == 0 && f->bad_sequence && i < n; i++)
		if (batches[i]->id.sequence == f->bad_sequence)
			r = -EINVAL;
	for (uint32_t i = 0; r == 0 && i < n; i++)
		take(f, batches[i]);
	return r;
}

static int output_write_group(void *instance, struct dcm_batch *const *batches, uint32_t n,
			      uint32_t *ret_n_done, int64_t deadline_mono_ns, struct dcm_error *err)
{
	struct fake *f = instance;
	int r;

	(void)deadline_mono_ns;
	(void)err;
	pthread_mutex_lock(&f->mutex);
	if (f->max_done && n > f->max_done)
		*ret_n_done = n = f->max_done;
	r = f->max_group && n > f->max_group ? -EAGAIN : take_group(f, batches, n);
	if (f->wrong_done)
		*ret_n_done = f->wrong_done == UINT32_MAX ? 0 : f->wrong_done;
	pthread_mutex_unlock(&f->mutex);
	return r;
}

static int storage_write(void *instance, struct dcm_batch *const *batches, uint32_t n,
			 dcm_done_fn done, void *ctx, struct dcm_error *err)
{
	struct fake *f = instance;
	int r;

	(void)err;
	pthread_mutex_lock(&f->mutex);
	r = take_group(f, batches, n);
	if (r == 0 && f->keeps_done) {
		f->owed[f->n_owed].fn = done;
		f->owed[f->n_owed++].ctx = ctx;
		done = NULL;
	}
	pthread_mutex_unlock(&f->mutex);
	if (r == 0 && done)
		done(ctx, 0);
	return r;
}

void fake__assert_taken(const struct fake *f, uint64_t first, unsigned n)
{
	assert_int_equal(f->n_taken, n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(f->sequences[i], first + i);
}

void fake__settle(struct fake *f, int status)
{
	for (unsigned i = 0; i < f->n_owed; i++)
		f->owed[i].fn(f->owed[i].ctx, status);
	f->n_owed = 0;
}

const struct dcm_storage_ops fake__storage = { .size = sizeof(fake__storage), .write = storage_write };
const struct dcm_output_ops fake__output = { .size = sizeof(fake__output), .write = output_write };
const struct dcm_output_ops fake__grouping_output = { .size = sizeof(fake__grouping_output),
						      .write = output_write,
						      .write_group = output_write_group };
