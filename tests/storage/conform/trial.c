/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/conform/trial.c - two stores, what is told to both, and what is compared
 */
#include "tests/storage/conform/trial.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/cond.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "tests/unit/shell.h"

/* One write, for as long as the subject may call back. */
struct ack {
	struct trial *trial;
	int n, expected, status;
};

bool trial__fail(struct trial *t, const char *fmt, ...)
{
	va_list ap;

	if (t->why.n)
		return false;
	va_start(ap, fmt);
	buf__vprintf(&t->why, fmt, ap);
	va_end(ap);
	return false;
}

/* -------------------------------------------------------------------------------------------------
 * Opening and closing
 */

static bool open_at(struct storage *s, const char *plugin, const char *yaml, const char *dir)
{
	const char *at = strstr(yaml, "{DIR}");
	char text[2048];

	if (!at)
		return storage__open(s, plugin, yaml);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - yaml), yaml, dir, at + strlen("{DIR}"));
	return storage__open(s, plugin, text);
}

bool trial__open(struct trial *t)
{
	if (!open_at(&t->subject, t->o->plugin, t->o->yaml, t->store))
		return trial__fail(t, "%s cannot be opened with %s", t->o->plugin, t->o->yaml);
	atomic_store(&t->subject.real_ns, TRIAL_LATEST_NS);
	return true;
}

void trial__stop(struct trial *t)
{
	storage__close(&t->subject);
}

static void remove_root(const struct trial *t)
{
	if (shell("rm -rf '%s'", t->root) != 0)
		fprintf(stderr, "%s could not be removed\n", t->root);
}

struct trial *trial__new(const struct trial_options *o)
{
	struct trial *t = calloc(1, sizeof(*t));
	const char *tmp = getenv("TMPDIR");

	if (!t)
		return NULL;
	t->o = o;
	pthread_mutex_init(&t->mutex, NULL);
	cond__init(&t->acked);
	snprintf(t->root, sizeof(t->root), "%s/decima-conform-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(t->root) || !storage__open(&t->reference, o->reference, o->reference_yaml)) {
		fprintf(stderr, "%s: no directory, or no reference\n", t->root);
		free(t);
		return NULL;
	}
	snprintf(t->store, sizeof(t->store), "%s/store", t->root);
	trial__open(t);
	return t;
}

bool trial__end(struct trial *t, struct buf *ret_why)
{
	storage__close(&t->subject);
	storage__close(&t->reference);
	for (size_t i = 0; i < t->acks.n; i++) {
		if (t->acks.v[i]->n != t->acks.v[i]->expected)
			trial__fail(t, "write %zu was acknowledged %d times, not %d", i,
				    t->acks.v[i]->n, t->acks.v[i]->expected);
		free(t->acks.v[i]);
	}
	for (size_t i = 0; i < t->batches.n; i++)
		batch__unref(t->batches.v[i]);
	vec__fini(&t->acks);
	vec__fini(&t->batches);
	vec__fini(&t->times_ms);
	pthread_cond_destroy(&t->acked);
	pthread_mutex_destroy(&t->mutex);
	remove_root(t);
	bool good = t->why.n == 0;
	*ret_why = t->why;
	free(t);
	return good;
}

bool trial__copy(struct trial *t, struct storage *ret_copy)
{
	struct dcm_error err = DCM_ERROR_INIT;
	char dir[330];

	snprintf(dir, sizeof(dir), "%s/copy-%u", t->root, t->n_copies++);
	int r = t->subject.ops->backup(t->subject.instance, dir, &err);
	if (r < 0)
		return trial__fail(t, "backup: %d: %s", r, err.text);
	if (!open_at(ret_copy, t->o->plugin, t->o->copy_yaml, dir))
		return trial__fail(t, "a backup cannot be opened with %s", t->o->copy_yaml);
	atomic_store(&ret_copy->real_ns, atomic_load(&t->subject.real_ns));
	atomic_store(&ret_copy->mono_ns, atomic_load(&t->subject.mono_ns));
	return true;
}

bool trial__restart(struct trial *t)
{
	int64_t real_ns = atomic_load(&t->subject.real_ns), mono_ns = atomic_load(&t->subject.mono_ns);
	char dir[330];

	if (t->o->keeps) {
		storage__close(&t->subject);
		if (!trial__open(t))
			return false;
	} else {
		struct dcm_error err = DCM_ERROR_INIT;

		snprintf(dir, sizeof(dir), "%s/copy-%u", t->root, t->n_copies++);
		int r = t->subject.ops->backup(t->subject.instance, dir, &err);
		if (r < 0)
			return trial__fail(t, "backup: %d: %s", r, err.text);
		storage__close(&t->subject);
		if (!open_at(&t->subject, t->o->plugin, t->o->copy_yaml, dir))
			return trial__fail(t, "a backup cannot be opened with %s", t->o->copy_yaml);
	}
	atomic_store(&t->subject.real_ns, real_ns);
	atomic_store(&t->subject.mono_ns, mono_ns);
	return true;
}

/* -------------------------------------------------------------------------------------------------
 * Writing
 */

static void on_done(void *ctx, int status)
{
	struct ack *a = ctx;

	pthread_mutex_lock(&a->trial->mutex);
	a->n++;
	a->status = status;
	pthread_cond_broadcast(&a->trial->acked);
	pthread_mutex_unlock(&a->trial->mutex);
}

static struct ack *new_ack(struct trial *t)
{
	struct ack *a = calloc(1, sizeof(*a));

	if (!a || !vec__push(&t->acks, a))
		abort();
	a->trial = t;
	return a;
}

static bool wait_acked(struct trial *t, struct ack *a)
{
	int64_t at = clock__mono(&clock__system) + t->o->patience_ns;
	struct timespec ts = { .tv_sec = at / 1000000000, .tv_nsec = at % 1000000000 };
	int r = 0;

	pthread_mutex_lock(&t->mutex);
	while (a->n == 0 && r == 0)
		r = pthread_cond_timedwait(&t->acked, &t->mutex, &ts);
	int n = a->n, status = a->status;
	pthread_mutex_unlock(&t->mutex);
	if (n == 0)
		return trial__fail(t, "a write was never acknowledged");
	return status == 0 || trial__fail(t, "a write that was taken ended with %d", status);
}

bool trial__write_subject(struct trial *t, struct dcm_batch *const *batches, uint32_t n)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	int64_t until = clock__mono(&clock__system) + t->o->patience_ns;
	struct ack *a = new_ack(t);
	struct dcm_error err = DCM_ERROR_INIT;
	int r;

	/* Only the store knows when it can take more, and it tells nobody: ask again. */
	while ((r = t->subject.ops->write(t->subject.instance, batches, n, on_done, a, &err)) == -EAGAIN &&
	       clock__mono(&clock__system) < until)
		nanosleep(&moment, NULL);
	a->expected = r == 0;
	if (r < 0)
		return trial__fail(t, "write: %d: %s", r, err.text);
	return wait_acked(t, a);
}

static void note_most(struct kept_most *most, const struct dcm_batch *b)
{
	most->n_series += b->n_series;
	for (uint32_t i = 0; i < b->n_profiles; i++) {
		const struct dcm_profile *p = &b->profiles[i];

		for (uint32_t k = 0; k < p->n_types; k++) {
			const bool state = b->types[p->type_off + k].temporality != DCM_DELTA;

			most->n_states += state;
			most->n_rows += state ? p->n_rows : 0;
		}
	}
}

bool trial__write_reference(struct trial *t, struct dcm_batch *const *batches, uint32_t n)
{
	struct dcm_error err = DCM_ERROR_INIT;

	for (uint32_t i = 0; i < n; i++)
		note_most(&t->most, batches[i]);
	int r = t->reference.ops->write(t->reference.instance, batches, n, NULL, NULL, &err);

	return r == 0 || trial__fail(t, "the reference does not take it: %d: %s", r, err.text);
}

bool trial__write(struct trial *t, struct dcm_batch *const *batches, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!vec__push(&t->batches, batch__ref(batches[i])))
			abort();
		for (uint32_t k = 0; k < batches[i]->n_profiles; k++)
			if (!vec__push(&t->times_ms, batches[i]->profiles[k].time_ns / 1000000))
				abort();
	}
	return trial__write_subject(t, batches, n) && trial__write_reference(t, batches, n);
}

/* -------------------------------------------------------------------------------------------------
 * Asking
 */

/*
 * A budget may end a question with the error that belongs to it; whatever is answered without one
 * is the whole answer.
 */
static bool same_answer(struct trial *t, const struct asked *a, int excuse, int r,
			const struct dcm_error *err, const struct buf *got)
{
	struct buf expected = { 0 }, difference = { 0 };
	struct dcm_error ref_err = DCM_ERROR_INIT;
	char text[1024];
	bool same = true;

	question__describe(a, text, sizeof(text));
	int e = answers__ask(&t->reference, a, &expected, &ref_err);
	if (r < 0 && r == excuse)
		same = err->text[0] || trial__fail(t, "%s\n failed with %d and no sentence", text, r);
	else if (r != e)
		same = trial__fail(t, "%s\n expected: %d (%s)\n answered: %d (%s)", text, e,
				   ref_err.text, r, err->text);
	else if (r == 0 && answers__differ(&expected, got, &difference))
		same = trial__fail(t, "%s\n%s", text, (const char *)difference.data);
	t->n_asked++;
	t->n_empty += r == 0 && got->n == 0;
	buf__fini(&expected);
	buf__fini(&difference);
	return same;
}

bool trial__ask(struct trial *t, struct storage *store, const struct asked *a)
{
	struct buf got = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	int r = answers__ask(store, a, &got, &err);
	bool same = same_answer(t, a, 0, r, &err, &got);

	buf__fini(&got);
	return same;
}

void trial__aim(const struct trial *t, struct question *q, struct random *r)
{
	for (uint32_t i = 0; i < q->asked.n_sel; i++) {
		struct dcm_select *sel = &q->asked.sel[i];

		if (t->times_ms.n == 0 || random__below(r, 3) == 0)
			continue;
		/*
		 * On a profile's time and beside it: both ends of the range are half of its
		 * meaning.
		 */
		sel->from_ms = t->times_ms.v[random__below(r, t->times_ms.n)] +
			       (int64_t)random__below(r, 2);
		sel->to_ms = t->times_ms.v[random__below(r, t->times_ms.n)] +
			     (int64_t)random__below(r, 2);
		if (sel->to_ms < sel->from_ms) {
			int64_t from_ms = sel->to_ms;

			sel->to_ms = sel->from_ms;
			sel->from_ms = from_ms;
		}
	}
}

/* With a budget that is too small in one way, or in none. */
static bool ask_bounded(struct trial *t, struct storage *store, struct asked *a, struct random *r)
{
	struct dcm_budget budget = { 0 };
	struct buf got = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	int excuse = 0;

	switch (random__below(r, 4)) {
	case 0:
		budget.cancelled = 1;
		excuse = -ECANCELED;
		break;
	case 1:
		budget.deadline_mono_ns = atomic_load(&store->mono_ns) - 1;
		excuse = -ETIMEDOUT;
		break;
	case 2:
		budget.max_bytes = (uint64_t)1 << random__below(r, 24);
		excuse = -E2BIG;
		break;
	default:
		budget.max_bytes = (uint64_t)1 << 40;
		budget.deadline_mono_ns = INT64_MAX;
	}
	for (uint32_t i = 0; i < a->n_sel; i++)
		a->sel[i].budget = &budget;
	int e = answers__ask(store, a, &got, &err);
	uint64_t done = budget.done, total = budget.total;
	for (uint32_t i = 0; i < a->n_sel; i++)
		a->sel[i].budget = NULL;
	bool same = same_answer(t, a, excuse, e, &err, &got);
	char text[1024];
	question__describe(a, text, sizeof(text));
	if (same && e == 0 && done != total)
		same = trial__fail(t, "%s\n ended with %" PRIu64 " of %" PRIu64 " done", text, done,
				   total);
	if (same && e == 0 && got.n && (excuse == -ECANCELED || excuse == -ETIMEDOUT))
		same = trial__fail(t, "%s\n was %s and answered all the same", text,
				   excuse == -ECANCELED ? "cancelled" : "out of time");
	buf__fini(&got);
	return same;
}

bool trial__ask_random(struct trial *t, struct storage *store, struct random *r)
{
	struct question q;
	bool same;

	question__random(&q, r);
	trial__aim(t, &q, r);
	if (random__below(r, 4) == 0)
		same = ask_bounded(t, store, &q.asked, r);
	else
		same = trial__ask(t, store, &q.asked);
	question__fini(&q);
	return same;
}

static bool between(uint64_t n, uint64_t least, uint64_t more)
{
	return n >= least && n - least <= more;
}

/*
 * Late counts may be too large, by no more than there was to count; what questions count is
 * compared beside them.
 */
static bool same_counts(struct trial *t, struct storage *store, const struct dcm_store_stat *got,
			const struct dcm_store_stat *expected)
{
	const struct asked all = {
		.what = ASK_TYPES,
		.sel = { { .size = sizeof(all.sel[0]), .from_ms = INT64_MIN, .to_ms = INT64_MAX } },
		.n_sel = 1,
	};

	if (!t->o->counts_late)
		return got->n_profiles == expected->n_profiles && got->n_rows == expected->n_rows &&
		       got->n_series == expected->n_series;
	return between(got->n_profiles, expected->n_profiles, t->most.n_states) &&
	       between(got->n_rows, expected->n_rows, t->most.n_rows) &&
	       got->n_series <= t->most.n_series && trial__ask(t, store, &all);
}

/* What was removed may count until the store has had time for its housekeeping. */
bool trial__compare_stat(struct trial *t, struct storage *store)
{
	struct dcm_store_stat got = { .size = sizeof(got) }, expected = { .size = sizeof(expected) };
	struct dcm_error err = DCM_ERROR_INIT;

	t->reference.ops->stat(t->reference.instance, &expected);
	for (int i = 0; i < 2; i++) {
		store->ops->stat(store->instance, &got);
		if (same_counts(t, store, &got, &expected) && got.first_ms == expected.first_ms &&
		    got.last_ms == expected.last_ms)
			return true;
		if (i == 0 && store->ops->maintain && store->ops->maintain(store->instance, 0, &err) < 0)
			return trial__fail(t, "maintain: %s", err.text);
	}
	return trial__fail(t,
			   "stat\n expected: %" PRIu64 " profiles, %" PRIu64 " rows, %" PRIu64
			   " series, [%" PRId64 ", %" PRId64 "]\n answered: %" PRIu64
			   " profiles, %" PRIu64 " rows, %" PRIu64 " series, [%" PRId64 ", %" PRId64 "]",
			   expected.n_profiles, expected.n_rows, expected.n_series,
			   expected.first_ms, expected.last_ms, got.n_profiles, got.n_rows,
			   got.n_series, got.first_ms, got.last_ms);
}

bool trial__check(struct trial *t, struct storage *store)
{
	struct dcm_error err = DCM_ERROR_INIT;
	int r = store->ops->check ? store->ops->check(store->instance, NULL, NULL, &err) : 0;

	return r == 0 || trial__fail(t, "check: %d: %s", r, err.text);
}
