/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/plugins/faulty.c - another storage plugin with one fault, or with the manners of a remote
 * one
 *
 *	DECIMA_FAULTY_INNER=.../storage_memory.so conformance --options '{ fault: drops_late, ... }' storage_faulty.so
 *
 * Proves that tests/storage/conformance sees what it is there for: each fault must be reported, and
 * each of the manners (`slow`, `journal`) must not be. The options are the inner plugin's and
 * `fault`; everything is passed on but what the fault says. Faults come at fixed counts, so that
 * the same run shows the same one.
 *
 * `journal` keeps batches in a file before it acknowledges them, so that there is a store that
 * survives SIGKILL to try the suite on.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <decima/plugin.h>

enum fault {
	/* manners, not faults */
	NONE,
	SLOW,	 /* one write at a time, acknowledged by another thread after it was taken */
	JOURNAL, /* kept in a file first */
	/* writing */
	FORGETS,
	STORES_RETRIES,
	DROPS_LATE,
	TEARS,
	HALVES,
	ACKS_TWICE,
	ACKS_NEVER,
	ACKS_EARLY,
	ENDS_BADLY,
	REFUSES,
	/* answering */
	TO_INCLUSIVE,
	FROM_EXCLUSIVE,
	FORGETS_MATCHER,
	NE_WANTS_LABEL,
	UNSORTED,
	COUNTS_SERIES,
	LOSES_POINT,
	LOSES_DURATION,
	LOSES_PERIOD,
	LOSES_ROW,
	OFF_BY_ONE,
	SWAPS_SIDES,
	SIDE_MISCOUNTS,
	ONE_GROUP,
	FORGETS_BEFORE,
	LIST_GOES_ON,
	TAKES_NO_TYPE,
	/* bounds */
	IGNORES_CANCEL,
	IGNORES_DEADLINE,
	SHORT_ANSWER,
	/* life */
	RETAINS_MORE,
	RETAIN_MISCOUNTS,
	REMOVES_ALL,
	REMOVES_NOTHING,
	REMOVES_EVER,
	BACKUP_LACKS,
	FORGETS_IDS,
	MAINTAIN_LOSES,
	STAT_ROWS,
	STAT_LAST,
	CHECK_FINDS,
	/* killed */
	JOURNAL_LATE,
	JOURNAL_TORN,
};
static const char *const faults[] = {
	[NONE] = "none",
	[SLOW] = "slow",
	[JOURNAL] = "journal",
	[FORGETS] = "forgets",
	[STORES_RETRIES] = "stores_retries",
	[DROPS_LATE] = "drops_late",
	[TEARS] = "tears",
	[HALVES] = "halves",
	[ACKS_TWICE] = "acks_twice",
	[ACKS_NEVER] = "acks_never",
	[ACKS_EARLY] = "acks_early",
	[ENDS_BADLY] = "ends_badly",
	[REFUSES] = "refuses",
	[TO_INCLUSIVE] = "to_inclusive",
	[FROM_EXCLUSIVE] = "from_exclusive",
	[FORGETS_MATCHER] = "forgets_matcher",
	[NE_WANTS_LABEL] = "ne_wants_label",
	[UNSORTED] = "unsorted",
	[COUNTS_SERIES] = "counts_series",
	[LOSES_POINT] = "loses_point",
	[LOSES_DURATION] = "loses_duration",
	[LOSES_PERIOD] = "loses_period",
	[LOSES_ROW] = "loses_row",
	[OFF_BY_ONE] = "off_by_one",
	[SWAPS_SIDES] = "swaps_sides",
	[SIDE_MISCOUNTS] = "side_miscounts",
	[ONE_GROUP] = "one_group",
	[FORGETS_BEFORE] = "forgets_before",
	[LIST_GOES_ON] = "list_goes_on",
	[TAKES_NO_TYPE] = "takes_no_type",
	[IGNORES_CANCEL] = "ignores_cancel",
	[IGNORES_DEADLINE] = "ignores_deadline",
	[SHORT_ANSWER] = "short_answer",
	[RETAINS_MORE] = "retains_more",
	[RETAIN_MISCOUNTS] = "retain_miscounts",
	[REMOVES_ALL] = "removes_all",
	[REMOVES_NOTHING] = "removes_nothing",
	[REMOVES_EVER] = "removes_ever",
	[BACKUP_LACKS] = "backup_lacks",
	[FORGETS_IDS] = "forgets_ids",
	[MAINTAIN_LOSES] = "maintain_loses",
	[STAT_ROWS] = "stat_rows",
	[STAT_LAST] = "stat_last",
	[CHECK_FINDS] = "check_finds",
	[JOURNAL_LATE] = "journal_late",
	[JOURNAL_TORN] = "journal_torn",
	NULL,
};

/* Behind the inner plugin's own options. */
struct extra {
	int32_t fault;
	const char *journal; /* file */
};

struct faulty {
	const struct dcm_host *host;
	void *instance; /* of the inner plugin */
	enum fault fault;
	bool from_backup;
	uint64_t n_writes, n_ids, n_maintained;
	int64_t newest_ns;
	struct dcm_batch *held; /* taken, and not passed on yet */
	_Atomic uint64_t n_answers;
	int journal; /* descriptor, or -1 */

	/* SLOW: one write that its thread has still to do */
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct dcm_batch **batches;
	uint32_t n_batches;
	dcm_done_fn done;
	void *done_ctx;
	bool end;
};

/* The plugin behind this one, and its options with ours; set at the first dcm_plugin_entry(). */
static const struct dcm_plugin *inner;
static struct dcm_option *rows;
static struct dcm_table table = { .size = sizeof(table), .option_size = sizeof(struct dcm_option) };
static uint32_t extra_offset;

/* -------------------------------------------------------------------------------------------------
 * Writing
 */

static int pass_on(struct faulty *f, struct dcm_batch *const *batches, uint32_t n, struct dcm_error *err)
{
	return inner->storage->write(f->instance, batches, n, NULL, NULL, err);
}

/* Passes on what was held back. */
static void flush(struct faulty *f)
{
	struct dcm_error err = DCM_ERROR_INIT;

	if (f->held && pass_on(f, &f->held, 1, &err) < 0)
		abort();
	f->host->batch_unref(f->held);
	f->held = NULL;
}

/* A batch like it that may be changed, under an id of its own. */
static struct dcm_batch *copy_of(struct faulty *f, const struct dcm_batch *batch)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *copy = NULL;
	uint8_t *data;
	size_t n;

	if (f->host->encode(f->host, batch, DCM_NONE, "batch", &data, &n, &err) < 0 ||
	    f->host->decode(f->host, "batch", data, n, &copy, &err) < 0)
		abort();
	free(data);
	copy->id.source.lo ^= ++f->n_ids << 32;
	return copy;
}

static int pass_copy(struct faulty *f, const struct dcm_batch *batch, uint32_t from, uint32_t n,
		     struct dcm_error *err)
{
	struct dcm_batch *copy = copy_of(f, batch);

	copy->profiles += from;
	copy->n_profiles = n;
	int r = pass_on(f, &copy, 1, err);
	f->host->batch_unref(copy);
	return r;
}

/* One half; and the other when somebody has had an answer in between, or nobody asks. */
static int pass_halves(struct faulty *f, const struct dcm_batch *batch, struct dcm_error *err)
{
	uint32_t half = batch->n_profiles / 2;
	uint64_t before = atomic_load(&f->n_answers);
	int r = pass_copy(f, batch, 0, half, err);

	for (unsigned i = 0; i < 200 && atomic_load(&f->n_answers) < before + 2; i++)
		usleep(1000);
	return r < 0 ? r : pass_copy(f, batch, half, batch->n_profiles - half, err);
}

static bool is_late(struct faulty *f, const struct dcm_batch *batch)
{
	bool late = false;

	for (uint32_t i = 0; i < batch->n_profiles; i++) {
		int64_t t = batch->profiles[i].time_ns;

		late = late || t < f->newest_ns - (int64_t)3600 * 1000000000;
		f->newest_ns = t > f->newest_ns ? t : f->newest_ns;
	}
	return late;
}

static void journal_write(struct faulty *f, const struct dcm_batch *batch)
{
	struct dcm_error err = DCM_ERROR_INIT;
	uint8_t *data;
	size_t n;

	if (f->host->encode(f->host, batch, DCM_NONE, "batch", &data, &n, &err) < 0 ||
	    write(f->journal, &n, sizeof(n)) != sizeof(n) || write(f->journal, data, n) != (ssize_t)n)
		abort();
	free(data);
}

/* Every whole record; one that was cut short goes. */
static void journal_read(struct faulty *f)
{
	struct dcm_error err = DCM_ERROR_INIT;
	off_t at = 0;
	size_t n;

	while (pread(f->journal, &n, sizeof(n), at) == sizeof(n)) {
		struct dcm_batch *batch;
		uint8_t *data = malloc(n);

		if (!data || pread(f->journal, data, n, at + (off_t)sizeof(n)) != (ssize_t)n) {
			free(data);
			break;
		}
		if (f->host->decode(f->host, "batch", data, n, &batch, &err) < 0 ||
		    pass_on(f, &batch, 1, &err) < 0)
			abort();
		f->host->batch_unref(batch);
		free(data);
		at += (off_t)(sizeof(n) + n);
	}
	if (ftruncate(f->journal, at) < 0 || lseek(f->journal, 0, SEEK_END) < 0)
		abort();
}

static void journal_halves(struct faulty *f, const struct dcm_batch *batch)
{
	for (unsigned k = 0; k < 2; k++) {
		struct dcm_batch *copy = copy_of(f, batch);
		uint32_t half = copy->n_profiles / 2;

		copy->profiles += k ? half : 0;
		copy->n_profiles = k ? copy->n_profiles - half : half;
		journal_write(f, copy);
		f->host->batch_unref(copy);
		usleep(1000);
	}
}

/* One batch of a call. Returns 0 when the fault has dealt with it, 1 to pass it on. */
static int spoil(struct faulty *f, struct dcm_batch *batch, struct dcm_error *err)
{
	uint64_t n = ++f->n_writes;

	switch (f->fault) {
	case FORGETS:
		return n % 7 != 0;
	case STORES_RETRIES:
		return pass_copy(f, batch, 0, batch->n_profiles, err);
	case FORGETS_IDS:
		return f->from_backup ? pass_copy(f, batch, 0, batch->n_profiles, err) : 1;
	case DROPS_LATE:
		return !is_late(f, batch);
	case TEARS:
		return n % 5 ? 1 : pass_copy(f, batch, 0, batch->n_profiles - 1, err);
	case HALVES:
		return pass_halves(f, batch, err);
	case ACKS_EARLY:
		flush(f);
		f->held = f->host->batch_ref(batch);
		return 0;
	case JOURNAL:
		journal_write(f, batch);
		return 1;
	case JOURNAL_LATE:
		if (f->held)
			journal_write(f, f->held);
		flush(f);
		f->held = f->host->batch_ref(batch);
		return 0;
	case JOURNAL_TORN:
		journal_halves(f, batch);
		return 1;
	default:
		return 1;
	}
}

static int take_slowly(struct faulty *f, struct dcm_batch *const *batches, uint32_t n,
		       dcm_done_fn done, void *ctx)
{
	int r = -EAGAIN;

	pthread_mutex_lock(&f->mutex);
	if (!f->batches) {
		f->batches = calloc(n, sizeof(batches[0]));
		for (uint32_t i = 0; i < n; i++)
			f->batches[i] = f->host->batch_ref(batches[i]);
		f->n_batches = n;
		f->done = done;
		f->done_ctx = ctx;
		pthread_cond_signal(&f->changed);
		r = 0;
	}
	pthread_mutex_unlock(&f->mutex);
	return r;
}

static void *write_slowly(void *arg)
{
	struct faulty *f = arg;
	struct dcm_error err = DCM_ERROR_INIT;

	pthread_mutex_lock(&f->mutex);
	while (!f->end || f->batches) {
		if (!f->batches) {
			pthread_cond_wait(&f->changed, &f->mutex);
			continue;
		}
		pthread_mutex_unlock(&f->mutex);
		if (pass_on(f, f->batches, f->n_batches, &err) < 0)
			abort();
		for (uint32_t i = 0; i < f->n_batches; i++)
			f->host->batch_unref(f->batches[i]);
		if (f->done)
			f->done(f->done_ctx, 0);
		/* Whoever was told may come again before this thread is ready: -EAGAIN. */
		usleep(200);
		pthread_mutex_lock(&f->mutex);
		free(f->batches);
		f->batches = NULL;
	}
	pthread_mutex_unlock(&f->mutex);
	return NULL;
}

static int faulty_write(void *instance, struct dcm_batch *const *batches, uint32_t n,
			dcm_done_fn done, void *ctx, struct dcm_error *err)
{
	struct faulty *f = instance;

	if (f->fault == SLOW)
		return take_slowly(f, batches, n, done, ctx);
	if (f->fault == REFUSES && f->n_writes == 8) {
		f->n_writes++;
		snprintf(err->text, sizeof(err->text), "this store refuses its eighth batch");
		return -EIO;
	}
	for (uint32_t i = 0; i < n; i++) {
		int r = spoil(f, batches[i], err);

		if (r > 0)
			r = pass_on(f, &batches[i], 1, err);
		if (r < 0)
			return r;
	}
	if (done && f->fault != ACKS_NEVER)
		done(ctx, f->fault == ENDS_BADLY && f->n_writes % 9 == 0 ? -EIO : 0);
	if (done && f->fault == ACKS_TWICE && f->n_writes % 9 == 0)
		done(ctx, 0);
	return 0;
}

/* -------------------------------------------------------------------------------------------------
 * Answering: the question is bent before, or the answer behind
 */

/* A selection as the fault understands it. */
struct bent {
	struct dcm_select sel;
	struct dcm_matcher matchers[16];
	struct dcm_budget budget;
	struct dcm_budget *asked; /* the asker's */
};

static int see_type(void *ctx, const struct dcm_type_info *info)
{
	*(struct dcm_type_info *)ctx = *info;
	return 1;
}

/* The cumulative profiles before the range are what the first ones in it are compared with. */
static void forget_before(struct faulty *f, struct bent *b)
{
	struct dcm_type_info info = { 0 };

	if (b->sel.type.n && inner->storage->types(f->instance, &b->sel, see_type, &info, NULL) == 1 &&
	    info.temporality == DCM_CUMULATIVE)
		b->sel.from_ms = info.first_ms + 1;
}

static const struct dcm_select *bend(struct faulty *f, struct bent *b, const struct dcm_select *sel)
{
	if (f->fault != ACKS_EARLY && f->fault != JOURNAL_LATE)
		flush(f);
	b->sel = *sel;
	b->asked = sel->budget;
	b->sel.matchers = b->matchers;
	if (sel->n_matchers)
		memcpy(b->matchers, sel->matchers, sel->n_matchers * sizeof(b->matchers[0]));
	if (f->fault == TO_INCLUSIVE)
		b->sel.to_ms += sel->to_ms < INT64_MAX;
	if (f->fault == FROM_EXCLUSIVE)
		b->sel.from_ms++;
	if (f->fault == FORGETS_MATCHER && sel->n_matchers > 1)
		b->sel.n_matchers--;
	for (uint32_t i = 0; f->fault == NE_WANTS_LABEL && i < sel->n_matchers; i++)
		if (sel->matchers[i].op == DCM_NE)
			b->matchers[b->sel.n_matchers++] = (struct dcm_matcher){
				.op = DCM_NE, .name = sel->matchers[i].name, .value = { "", 0 }
			};
	if (f->fault == FORGETS_BEFORE)
		forget_before(f, b);
	if (sel->budget && (f->fault == IGNORES_CANCEL || f->fault == IGNORES_DEADLINE)) {
		b->budget.max_bytes = sel->budget->max_bytes;
		b->budget.cancelled = f->fault == IGNORES_DEADLINE && sel->budget->cancelled;
		b->budget.deadline_mono_ns = f->fault == IGNORES_CANCEL ? sel->budget->deadline_mono_ns
									: 0;
		b->budget.side = sel->budget->side;
		b->budget.side_ctx = sel->budget->side_ctx;
		b->sel.budget = &b->budget;
	}
	return &b->sel;
}

static int answered(struct faulty *f, const struct bent *b, int r)
{
	atomic_fetch_add(&f->n_answers, 1);
	if (b->asked && b->sel.budget == &b->budget) {
		b->asked->done = b->budget.done;
		b->asked->total = b->budget.total;
	}
	return f->fault == SHORT_ANSWER && r == -E2BIG ? 0 : r;
}

/* Between the inner plugin's list and the asker. */
struct relay {
	struct faulty *f;
	union {
		dcm_type_fn type;
		dcm_name_fn name;
		dcm_series_fn series;
		dcm_points_fn points;
	} each;
	void *ctx;
	uint32_t n;
	char first[256]; /* UNSORTED: the first name comes second */
	uint64_t n_series;
};

static int relay_type(void *ctx, const struct dcm_type_info *info)
{
	struct relay *to = ctx;
	int r = to->each.type(to->ctx, info);

	return to->f->fault == LIST_GOES_ON ? 0 : r;
}

static int relay_name(void *ctx, struct dcm_str name, uint64_t n_series)
{
	struct relay *to = ctx;
	int r = 0;

	n_series += to->f->fault == COUNTS_SERIES;
	if (to->f->fault == UNSORTED && to->n++ == 0) {
		snprintf(to->first, sizeof(to->first), "%.*s", (int)name.n, name.p);
		to->n_series = n_series;
		return 0;
	}
	r = to->each.name(to->ctx, name, n_series);
	if (r == 0 && to->n == 2)
		r = to->each.name(to->ctx, (struct dcm_str){ to->first, (uint32_t)strlen(to->first) },
				  to->n_series);
	return to->f->fault == LIST_GOES_ON ? 0 : r;
}

static int relay_points(void *ctx, const struct dcm_points *points)
{
	struct relay *to = ctx;
	struct dcm_points p = *points;
	int64_t *zero = calloc(p.n + 1, sizeof(*zero));

	if (to->f->fault == LOSES_POINT && p.n > 1)
		p.n--;
	if (to->f->fault == LOSES_DURATION)
		p.duration_ns = zero;
	int r = to->each.points(to->ctx, &p);
	free(zero);
	return r;
}

static int faulty_types(void *instance, const struct dcm_select *sel, dcm_type_fn each, void *ctx,
			struct dcm_error *err)
{
	struct faulty *f = instance;
	struct bent b = { 0 };
	struct relay to = { .f = f, .each.type = each, .ctx = ctx };

	bend(f, &b, sel);
	return answered(f, &b, inner->storage->types(f->instance, &b.sel, relay_type, &to, err));
}

static int faulty_labels(void *instance, const struct dcm_select *sel, dcm_name_fn each, void *ctx,
			 struct dcm_error *err)
{
	struct faulty *f = instance;
	struct bent b = { 0 };
	struct relay to = { .f = f, .each.name = each, .ctx = ctx };

	bend(f, &b, sel);
	return answered(f, &b, inner->storage->labels(f->instance, &b.sel, relay_name, &to, err));
}

static int faulty_values(void *instance, const struct dcm_select *sel, struct dcm_str name,
			 dcm_name_fn each, void *ctx, struct dcm_error *err)
{
	struct faulty *f = instance;
	struct bent b = { 0 };
	struct relay to = { .f = f, .each.name = each, .ctx = ctx };

	bend(f, &b, sel);
	return answered(f, &b, inner->storage->values(f->instance, &b.sel, name, relay_name, &to, err));
}

static int faulty_series(void *instance, const struct dcm_select *sel, dcm_series_fn each,
			 void *ctx, struct dcm_error *err)
{
	struct faulty *f = instance;
	struct bent b = { 0 };

	bend(f, &b, sel);
	return answered(f, &b, inner->storage->series(f->instance, &b.sel, each, ctx, err));
}

static int faulty_time_series(void *instance, const struct dcm_select *sel, int64_t step_ms,
			      const struct dcm_group_by *by, dcm_points_fn each, void *ctx,
			      struct dcm_error *err)
{
	struct faulty *f = instance;
	struct bent b = { 0 };
	struct relay to = { .f = f, .each.points = each, .ctx = ctx };

	bend(f, &b, sel);
	return answered(f, &b,
			inner->storage->time_series(f->instance, &b.sel, step_ms, by, relay_points,
						    &to, err));
}

/* The builder's functions get no context: one question at a time and thread. */
static _Thread_local struct {
	struct faulty *f;
	uint32_t n_types;
	uint64_t n_rows;
} merging;

static int64_t merge_mono_ns(const struct dcm_host *host)
{
	(void)host;
	return merging.f->host->mono_ns(merging.f->host);
}

static uint32_t merge_add_profile(struct dcm_builder *b, const struct dcm_profile *head,
				  const struct dcm_type *types, uint32_t n_types)
{
	struct dcm_profile changed = *head;

	if (merging.f->fault == LOSES_PERIOD)
		changed.period = 0;
	merging.n_types = n_types;
	return merging.f->host->add_profile(b, &changed, types, n_types);
}

static void merge_add_row(struct dcm_builder *b, uint32_t stack, uint32_t labels, const int64_t *values)
{
	int64_t changed[16];

	memcpy(changed, values, merging.n_types * sizeof(changed[0]));
	if (++merging.n_rows % 5 == 0) {
		if (merging.f->fault == LOSES_ROW)
			return;
		changed[0] ^= merging.f->fault == OFF_BY_ONE;
	}
	merging.f->host->add_row(b, stack, labels, changed);
}

static void merge_side(void *ctx, uint32_t sel, uint64_t n, int64_t duration_ns, int64_t period)
{
	const struct dcm_budget *asked = ctx;

	asked->side(asked->side_ctx, sel, n + sel, duration_ns, period);
}

static int faulty_merge(void *instance, const struct dcm_select *sel, uint32_t n_sel,
			const struct dcm_group_by *by, const struct dcm_host *host,
			struct dcm_builder *answer, struct dcm_error *err)
{
	struct faulty *f = instance;
	struct bent b[2] = { 0 };
	struct dcm_select bent[2] = { 0 };
	struct dcm_host changed = *host;

	if (n_sel < 1 || n_sel > 2)
		return inner->storage->merge(f->instance, sel, n_sel, by, host, answer, err);
	for (uint32_t i = 0; i < n_sel; i++)
		bent[i] = *bend(f, &b[i], &sel[f->fault == SWAPS_SIDES ? n_sel - 1 - i : i]);
	for (uint32_t i = 0;
	     f->fault == SIDE_MISCOUNTS && i < n_sel && sel[i].budget && sel[i].budget->side; i++) {
		b[i].budget.side = merge_side;
		b[i].budget.side_ctx = sel[i].budget;
		bent[i].budget = &b[i].budget;
	}
	if (f->fault == TAKES_NO_TYPE && sel[0].type.n == 0)
		return 0;
	merging.f = f;
	merging.n_rows = 0;
	changed.mono_ns = merge_mono_ns;
	changed.add_profile = merge_add_profile;
	changed.add_row = merge_add_row;
	return answered(f, &b[0],
			inner->storage->merge(f->instance, bent, n_sel,
					      f->fault == ONE_GROUP && by->n < 2 ? NULL : by,
					      &changed, answer, err));
}

/* -------------------------------------------------------------------------------------------------
 * The life of what is stored
 */

static int faulty_retain(void *instance, int64_t cutoff_ms, uint64_t max_bytes,
			 uint64_t *ret_n_profiles, struct dcm_error *err)
{
	struct faulty *f = instance;

	flush(f);
	if (f->fault == RETAINS_MORE && cutoff_ms < INT64_MAX)
		cutoff_ms++;
	int r = inner->storage->retain(f->instance, cutoff_ms, max_bytes, ret_n_profiles, err);
	*ret_n_profiles += f->fault == RETAIN_MISCOUNTS;
	return r;
}

static int faulty_remove(void *instance, const struct dcm_select *sel, uint64_t *ret_n_profiles,
			 struct dcm_error *err)
{
	struct faulty *f = instance;
	struct dcm_select changed = *sel;

	flush(f);
	if (f->fault == REMOVES_ALL)
		changed.n_matchers = 0;
	if (f->fault == REMOVES_EVER) {
		changed.from_ms = INT64_MIN;
		changed.to_ms = INT64_MAX;
	}
	if (f->fault == REMOVES_NOTHING) {
		*ret_n_profiles = 0;
		return 0;
	}
	return inner->storage->remove(f->instance, &changed, ret_n_profiles, err);
}

static void lose_oldest(struct faulty *f)
{
	struct dcm_store_stat st = { .size = sizeof(st) };
	uint64_t n;

	inner->storage->stat(f->instance, &st);
	inner->storage->retain(f->instance, st.first_ms + 1, 0, &n, NULL);
}

static int faulty_maintain(void *instance, int64_t budget_ns, struct dcm_error *err)
{
	struct faulty *f = instance;

	flush(f);
	if (f->fault == MAINTAIN_LOSES && ++f->n_maintained % 3 == 0)
		lose_oldest(f);
	return inner->storage->maintain(f->instance, budget_ns, err);
}

static int faulty_backup(void *instance, const char *dir, struct dcm_error *err)
{
	struct faulty *f = instance;

	flush(f);
	return inner->storage->backup(f->instance, dir, err);
}

static int faulty_check(void *instance, dcm_report_fn report, void *ctx, struct dcm_error *err)
{
	struct faulty *f = instance;

	if (f->fault != CHECK_FINDS)
		return inner->storage->check(f->instance, report, ctx, err);
	snprintf(err->text, sizeof(err->text), "something is wrong, or so it is said");
	return -EUCLEAN;
}

static void faulty_stat(void *instance, struct dcm_store_stat *ret)
{
	struct faulty *f = instance;

	if (f->fault != ACKS_EARLY)
		flush(f);
	inner->storage->stat(f->instance, ret);
	ret->n_rows += f->fault == STAT_ROWS;
	ret->last_ms += f->fault == STAT_LAST;
}

/* -------------------------------------------------------------------------------------------------
 * Lifecycle, and the options that are made of two tables
 */

static void faulty_stop(void *instance)
{
	struct faulty *f = instance;

	pthread_mutex_lock(&f->mutex);
	f->end = true;
	pthread_cond_signal(&f->changed);
	pthread_mutex_unlock(&f->mutex);
	if (f->fault == SLOW)
		pthread_join(f->thread, NULL);
	f->host->batch_unref(f->held);
	inner->lifecycle->stop(f->instance);
	if (f->journal >= 0)
		close(f->journal);
	pthread_cond_destroy(&f->changed);
	pthread_mutex_destroy(&f->mutex);
	free(f);
}

static int faulty_open(const struct dcm_host *host, const void *config, void **ret_instance,
		       struct dcm_error *err)
{
	const struct extra *x = (const void *)((const char *)config + extra_offset);
	struct faulty *f = calloc(1, sizeof(*f));
	int r = f ? inner->lifecycle->open(host, config, &f->instance, err) : -ENOMEM;

	if (r < 0) {
		free(f);
		return r;
	}
	f->host = host;
	f->fault = (enum fault)x->fault;
	for (uint32_t i = 0; i < inner->options->n_options; i++)
		if (strcmp(rows[i].name, "path") == 0)
			f->from_backup = *(char *const *)((const char *)config + rows[i].offset) != NULL;
	if (f->fault == BACKUP_LACKS && f->from_backup)
		lose_oldest(f);
	pthread_mutex_init(&f->mutex, NULL);
	pthread_cond_init(&f->changed, NULL);
	f->journal = x->journal ? open(x->journal, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	if (f->journal >= 0)
		journal_read(f);
	*ret_instance = f;
	return 0;
}

static int faulty_start(void *instance, struct dcm_error *err)
{
	struct faulty *f = instance;

	if (f->fault == SLOW && pthread_create(&f->thread, NULL, write_slowly, f) != 0)
		abort();
	return inner->lifecycle->start ? inner->lifecycle->start(f->instance, err) : 0;
}

static const struct dcm_lifecycle lifecycle = {
	.size = sizeof(lifecycle),
	.open = faulty_open,
	.start = faulty_start,
	.stop = faulty_stop,
};
static const struct dcm_storage_ops storage = {
	.size = sizeof(storage),
	.write = faulty_write,
	.types = faulty_types,
	.labels = faulty_labels,
	.values = faulty_values,
	.series = faulty_series,
	.time_series = faulty_time_series,
	.merge = faulty_merge,
	.retain = faulty_retain,
	.remove = faulty_remove,
	.maintain = faulty_maintain,
	.backup = faulty_backup,
	.check = faulty_check,
	.stat = faulty_stat,
};
static const struct dcm_plugin plugin = {
	DCM_PLUGIN_HEAD,
	.kind = DCM_STORAGE,
	.name = "faulty",
	.version = "1",
	.summary = "Another storage with a fault.",
	.options = &table,
	.lifecycle = &lifecycle,
	.storage = &storage,
};

static const struct dcm_option extra_rows[] = {
	{ .name = "fault",
	  .type = DCM_OPT_CHOICE,
	  .offset = offsetof(struct extra, fault),
	  .def = "none",
	  .choices = faults,
	  .doc = "What is wrong with it." },
	{ .name = "journal",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct extra, journal),
	  .doc = "File in which batches are kept." },
};
enum { N_EXTRA = sizeof(extra_rows) / sizeof(extra_rows[0]) };

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_inner(void)
{
	const char *file = getenv("DECIMA_FAULTY_INNER");
	void *handle = file ? dlopen(file, RTLD_NOW | RTLD_LOCAL) : NULL;
	const struct dcm_plugin *(*entry)(void) = NULL;

	if (handle)
		*(void **)&entry = dlsym(handle, DCM_ENTRY_SYMBOL);
	if (!entry || entry()->kind != DCM_STORAGE) {
		fprintf(stderr, "DECIMA_FAULTY_INNER: give the file of a storage plugin\n");
		return;
	}
	const struct dcm_table *t = entry()->options;
	extra_offset = (t->struct_size + 15) / 16 * 16;
	rows = calloc(t->n_options + N_EXTRA, sizeof(rows[0]));
	if (!rows)
		return;
	memcpy(rows, t->options, t->n_options * sizeof(rows[0]));
	memcpy(rows + t->n_options, extra_rows, sizeof(extra_rows));
	for (uint32_t i = 0; i < N_EXTRA; i++)
		rows[t->n_options + i].offset += extra_offset;
	table.struct_size = extra_offset + (uint32_t)sizeof(struct extra);
	table.n_options = t->n_options + N_EXTRA;
	table.options = rows;
	table.check = t->check;
	inner = entry();
}

const struct dcm_plugin *dcm_plugin_entry(void)
{
	pthread_once(&once, find_inner);
	return inner ? &plugin : NULL;
}
