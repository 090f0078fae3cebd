/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin_check/work.c - gives a plugin of any kind a little work, and looks at what comes of
 * it
 *
 * The sample is a CPU profile of 10 stacks with two sample labels, made by the plugin's own host.
 * What a store answers about it is compared with what is known of it.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/plugin_check/cases.h"

#define SECOND	       ((int64_t)1000000000)
#define SAMPLE_TIME_NS (1700000000 * SECOND)
#define SAMPLE_TYPE    "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta"

enum { N_STACKS = 10 };

static uint32_t text(const struct dcm_host *h, struct dcm_builder *b, const char *s)
{
	return h->add_string(b, str__of(s));
}

static uint32_t frame(const struct dcm_host *h, struct dcm_builder *b, const char *name)
{
	struct dcm_function f = { .name = text(h, b, name), .file = text(h, b, "sample.c") };
	struct dcm_line line = { .function = h->add_function(b, &f), .line = 1 };
	struct dcm_location l = { .mapping = DCM_NONE, .process = DCM_NONE, .kind = DCM_FRAME_INTERPRETED };

	return h->add_location(b, &l, &line, 1);
}

static void add_rows(const struct dcm_host *h, struct dcm_builder *b)
{
	struct dcm_label labels[] = {
		{ .name = text(h, b, "thread_name"), .str = text(h, b, "main"), .unit = DCM_NONE },
		{ .name = text(h, b, "pid"), .num = 42, .unit = 0 },
	};
	uint32_t set = h->add_label_set(b, labels, 2);

	for (int64_t i = 0; i < N_STACKS; i++) {
		char name[32];
		uint32_t frames[2];
		int64_t value = 1000 * (i + 1);

		snprintf(name, sizeof(name), "leaf_%" PRId64, i);
		frames[0] = frame(h, b, name);
		frames[1] = frame(h, b, "main");
		h->add_row(b, h->add_stack(b, frames, 2),
			   i % 2 ? set : h->add_label_set(b, NULL, 0), &value);
	}
}

/* NULL when there was no memory. */
static struct dcm_batch *sample(const struct dcm_host *h, struct dcm_error *err)
{
	struct dcm_builder *b = h->builder_new(h, 0);
	struct dcm_batch *batch = NULL;

	if (!b)
		return NULL;
	struct dcm_type type = { text(h, b, "process_cpu"), text(h, b, "cpu"),
				 text(h, b, "nanoseconds"), text(h, b, "cpu"),
				 text(h, b, "nanoseconds"), DCM_DELTA };
	struct dcm_pair pair = { text(h, b, "service_name"), text(h, b, "check") };
	struct dcm_profile head = { .series = h->add_series(b, &pair, 1),
				    .time_ns = SAMPLE_TIME_NS,
				    .duration_ns = 10 * SECOND,
				    .period = 10000000 };

	h->add_profile(b, &head, &type, 1);
	add_rows(h, b);
	h->seal(b, &batch, err);
	h->builder_free(b);
	return batch;
}

/* ---- inputs ---- */

static void ignore(void *ctx, uint32_t i, const struct dcm_symbol *symbol)
{
	(void)ctx;
	(void)i;
	(void)symbol;
}

static int input_once(const struct dcm_input_ops *ops, void *handle, struct dcm_error *err)
{
	const struct dcm_process nobody = { .pid = UINT32_MAX, .start_ns = 1 };
	const uint64_t addresses[] = { 0, 0x1000, UINT64_MAX };
	enum dcm_unnamed why = DCM_UNNAMED_NOT_TRIED;
	int r = 0;

	if (ops->interval_ns && ops->interval_ns(handle) <= 0)
		return error__set(err, -EINVAL, "interval_ns is not above 0");
	if (ops->collect)
		r = ops->collect(handle, err);
	if (r == -EAGAIN)
		return error__set(err, -EINVAL, "collect says -EAGAIN, which means nothing there");
	if (ops->process) {
		ops->process(handle, DCM_PROCESS_SEEN, &nobody);
		ops->process(handle, DCM_PROCESS_EXEC, &nobody);
	}
	if (ops->resolve) {
		int known = ops->resolve(handle, &nobody, addresses, 3, ignore, NULL, &why);

		if (known != 0 && known != -ENOENT)
			return error__set(err, -EINVAL,
					  "resolve says %d, which is neither 0 nor -ENOENT", known);
		ops->resolve(handle, &nobody, addresses, 0, ignore, NULL, &why);
	}
	if (ops->process)
		ops->process(handle, DCM_PROCESS_EXIT, &nobody);
	return r;
}

/* ---- storages ---- */

struct waiter {
	pthread_mutex_t mutex;
	pthread_cond_t told;
	unsigned n;
	int status;
};

static void tell(void *ctx, int status)
{
	struct waiter *w = ctx;

	pthread_mutex_lock(&w->mutex);
	w->n++;
	w->status = status;
	pthread_cond_broadcast(&w->told);
	pthread_mutex_unlock(&w->mutex);
}

/* Writes and waits for `done`; the case's own time limit ends it when that never comes. */
static int store(const struct dcm_storage_ops *ops, void *handle, struct dcm_batch *b,
		 struct dcm_error *err)
{
	struct waiter w = { .mutex = PTHREAD_MUTEX_INITIALIZER, .told = PTHREAD_COND_INITIALIZER };
	int r = ops->write(handle, &b, 1, tell, &w, err);

	if (r < 0) {
		if (w.n > 0)
			return error__set(err, -EINVAL, "write failed and called done all the same");
		return r;
	}
	pthread_mutex_lock(&w.mutex);
	while (w.n == 0)
		pthread_cond_wait(&w.told, &w.mutex);
	pthread_mutex_unlock(&w.mutex);
	if (w.n > 1)
		return error__set(err, -EINVAL, "done was called %u times for one write", w.n);
	return w.status;
}

static int count_types(void *ctx, const struct dcm_type_info *info)
{
	unsigned *n = ctx;

	(void)info;
	(*n)++;
	return 0;
}

/* Sum of all values of the sample's type over its time. */
static int total(const struct dcm_storage_ops *ops, void *handle, const struct dcm_host *h,
		 int64_t *ret, struct dcm_error *err)
{
	struct dcm_select sel = { .size = sizeof(sel),
				  .type = STR(SAMPLE_TYPE),
				  .from_ms = SAMPLE_TIME_NS / 1000000,
				  .to_ms = SAMPLE_TIME_NS / 1000000 + 1 };
	struct dcm_group_by by = { 0 };
	struct dcm_builder *b = h->builder_new(h, 0);
	struct dcm_batch *answer = NULL;
	int r;

	if (!b)
		return -ENOMEM;
	r = ops->merge(handle, &sel, 1, &by, h, b, err);
	if (r == 0)
		r = h->seal(b, &answer, err);
	h->builder_free(b);
	if (r < 0)
		return r;
	*ret = 0;
	for (uint64_t i = 0; i < answer->n_values; i++)
		*ret += answer->values[i];
	h->batch_unref(answer);
	return 0;
}

static int storage_once(const struct dcm_storage_ops *ops, void *handle, const struct dcm_host *h,
			struct dcm_batch *b, struct dcm_error *err)
{
	struct dcm_select all = { .size = sizeof(all), .from_ms = INT64_MIN, .to_ms = INT64_MAX };
	struct dcm_store_stat stat = { .size = sizeof(stat) };
	int64_t before = 0, after = 0, again = 0;
	unsigned n_types = 0;
	int r = total(ops, handle, h, &before, err);

	if (r == 0)
		r = store(ops, handle, b, err);
	if (r == 0)
		r = total(ops, handle, h, &after, err);
	if (r == 0)
		r = store(ops, handle, b, err);
	if (r == 0)
		r = total(ops, handle, h, &again, err);
	if (r == 0)
		r = ops->types(handle, &all, count_types, &n_types, err);
	if (r < 0)
		return r;
	ops->stat(handle, &stat);
	if (after - before != 1000 * N_STACKS * (N_STACKS + 1) / 2)
		return error__set(err, -EINVAL,
				  "a profile of 55000 ns was written, and merge says %" PRId64,
				  after - before);
	if (again != after)
		return error__set(err, -EINVAL, "a batch that was written twice counts twice");
	if (n_types == 0 || stat.n_profiles == 0)
		return error__set(err, -EINVAL, "a profile was written, and types or stat know none");
	return 0;
}

/* ---- outputs ---- */

/* Refusing a group is no fault: its batches would come to write() one by one. */
static int output_group(const struct dcm_output_ops *ops, void *handle, const struct dcm_host *h,
			struct dcm_error *err)
{
	struct dcm_batch *two[] = { sample(h, err), sample(h, err) };
	uint32_t n_done = 2;
	int r = -ENOMEM;

	if (two[0] && two[1])
		r = ops->write_group(handle, two, 2, &n_done,
				     clock__mono(&clock__system) + 5 * SECOND, err);
	batch__unref(two[0]);
	batch__unref(two[1]);
	if (r > 0)
		return error__set(err, -EINVAL, "write_group says %d; errors are negative", r);
	if (r < 0 && !err->text[0])
		return error__set(err, -EINVAL, "write_group says %d without a sentence", r);
	if (r == 0 && (n_done == 0 || n_done > 2))
		return error__set(err, -EINVAL,
				  "write_group says 0, and that %u of 2 batches are done", n_done);
	return r == -EAGAIN || r == -ENOMEM ? r : 0;
}

static int output_once(const struct dcm_output_ops *ops, void *handle, const struct dcm_host *h,
		       struct dcm_batch *b, struct dcm_error *err)
{
	int r;

	if (!ops->write)
		return 0;
	r = ops->write(handle, b, clock__mono(&clock__system) + 5 * SECOND, err);
	if (r > 0)
		return error__set(err, -EINVAL, "write says %d; errors are negative", r);
	if (r < 0 && !err->text[0])
		return error__set(err, -EINVAL, "write says %d without a sentence", r);
	return r == 0 && ops->write_group ? output_group(ops, handle, h, err) : r;
}

int work__once(const struct check *c, struct instance *i, struct dcm_error *err)
{
	const struct dcm_host *h = instance__host(i);
	void *handle = instance__handle(i);
	struct dcm_batch *b;
	int r = 0;

	if (c->plugin->info.kind == DCM_INPUT)
		return input_once(&c->plugin->input, handle, err);
	b = sample(h, err);
	if (!b)
		return -ENOMEM;
	if (c->plugin->info.kind == DCM_STORAGE)
		r = storage_once(&c->plugin->storage, handle, h, b, err);
	else
		r = output_once(&c->plugin->output, handle, h, b, err);
	batch__unref(b);
	return r;
}
