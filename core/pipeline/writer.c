/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/writer.c - the thread between a queue and one storage or output
 *
 * The thread and the owner each hold a reference; the last one frees. The mutex guards what both
 * look at; the plugin is never called with it. After writer__stop() has given up on a thread
 * (`is_abandoned`), that thread touches nothing but the writer and its queue, which was orphaned:
 * everything else may be gone.
 */
#include "core/pipeline/writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/cond.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/batch/batch.h"

#define GROUP_BYTES	 ((uint64_t)16 << 20)
#define REQUEST_BYTES	 ((uint64_t)4 << 20) /* of an output's group: a server reads it as a whole */
#define GROW_AFTER	 8 /* groups that went well: what fails for its size is not to wait each time */
#define RETRY_FIRST_NS	 ((int64_t)100 * 1000000)
#define RETRY_LAST_NS	 ((int64_t)10 * 1000000000)
#define WRITE_TIMEOUT_NS ((int64_t)30 * 1000000000)
#define STUCK_NS	 ((int64_t)5 * 1000000000) /* as the doc of write_timeout says */
#define VIEWS_NS                                                                                   \
	((int64_t)1000000000) /* that the first of a group waits for the names of the others */
/* What a thread may need outside the plugin: names are waited for. */
#define OWN_WORK_NS ((int64_t)10 * 1000000000)

struct writer {
	struct writer_config config;
	/* Copies: a thread that is left behind outlives the plugin's description. */
	struct dcm_storage_ops storage;
	struct dcm_output_ops output;
	char *name;
	struct queue *queue;
	pthread_t thread;

	pthread_mutex_t mutex;
	pthread_cond_t changed; /* it ended, or went into the plugin */
	uint32_t refs;
	bool has_ended, is_abandoned;
	bool leaves;			       /* what is not written is put back */
	int64_t stop_at_ns;		       /* INT64_MAX: not stopping */
	int64_t writing_since_ns, retry_at_ns; /* as in writer_view */
	char trouble[256];
	int trouble_code; /* 0: well */

	/* The thread's own: how many batches an output is given at once, and how often so many have gone well. */
	uint32_t together, n_well;
};

/* Batches that went to the plugin together, until it says what became of them. */
struct group {
	struct writer *writer; /* a reference */
	uint32_t n;
	struct queue_item items[];
};

/* Batches that an output is to have, in their order. */
struct lot {
	struct queue_item *items;
	struct dcm_batch **views; /* as the output wants them, where they were made by now; else NULL */
	uint32_t n;
};

static int64_t now_ns(void)
{
	return clock__mono(&clock__system);
}

/* ---- life ---- */

static void unref(struct writer *w)
{
	uint32_t left;

	pthread_mutex_lock(&w->mutex);
	left = --w->refs;
	pthread_mutex_unlock(&w->mutex);
	if (left > 0)
		return;
	queue__unref(w->queue);
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->mutex);
	free(w->name);
	free(w);
}

static bool is_abandoned(struct writer *w)
{
	bool is;

	pthread_mutex_lock(&w->mutex);
	is = w->is_abandoned;
	pthread_mutex_unlock(&w->mutex);
	return is;
}

static int64_t stop_at(struct writer *w)
{
	int64_t at;

	pthread_mutex_lock(&w->mutex);
	at = w->stop_at_ns;
	pthread_mutex_unlock(&w->mutex);
	return at;
}

/* ---- telling ---- */

/* With the mutex. */
static void set_trouble(struct writer *w, int code, const char *sentence)
{
	if (w->is_abandoned || (code == w->trouble_code && strcmp(w->trouble, sentence) == 0))
		return;
	w->trouble_code = code;
	snprintf(w->trouble, sizeof(w->trouble), "%s", sentence);
	w->trouble[str__utf8_cut(w->trouble, strlen(w->trouble))] = '\0';
	if (w->config.trouble)
		w->config.trouble(w->config.trouble_ctx, code, w->trouble);
}

/* -EAGAIN: it is too late to go into the plugin, see writer__stop(). */
static int begin_write(struct writer *w)
{
	int64_t now = now_ns();
	int r = -EAGAIN;

	pthread_mutex_lock(&w->mutex);
	if (now < w->stop_at_ns) {
		w->writing_since_ns = now;
		w->retry_at_ns = 0;
		pthread_cond_broadcast(&w->changed);
		r = 0;
	}
	pthread_mutex_unlock(&w->mutex);
	return r;
}

static void end_write(struct writer *w, int code, struct dcm_error *why)
{
	if (code < 0 && !why->text[0])
		error__sys(why, code, "write failed");
	pthread_mutex_lock(&w->mutex);
	w->writing_since_ns = 0;
	set_trouble(w, code, code < 0 ? why->text : "");
	pthread_mutex_unlock(&w->mutex);
}

/* Of a group that is refused: what is wrong with which batch is told when each has gone by itself. */
static void end_untold(struct writer *w)
{
	pthread_mutex_lock(&w->mutex);
	w->writing_since_ns = 0;
	pthread_mutex_unlock(&w->mutex);
}

/* ---- trying again ---- */

struct retry {
	int64_t first_ns, wait_ns;
};

/* May a later try go well? A full disk is an output's own affair: it says -EAGAIN. */
static bool is_passing(const struct writer *w, int code)
{
	return code == -EAGAIN || code == -ENOMEM ||
	       (w->config.storage && (code == -ENOSPC || code == -EIO));
}

/* Waits before the next try. false: no more tries; *ret_reason says why. */
static bool wait_for_retry(struct writer *w, struct retry *t, const char **ret_reason)
{
	int64_t now = now_ns(), stop = stop_at(w), at;

	if (t->first_ns == 0)
		t->first_ns = now;
	t->wait_ns = t->wait_ns == 0 ? RETRY_FIRST_NS : t->wait_ns * 2;
	if (t->wait_ns > RETRY_LAST_NS)
		t->wait_ns = RETRY_LAST_NS;
	if (now >= stop || is_abandoned(w)) {
		*ret_reason = "shutdown";
		return false;
	}
	if (w->config.give_up_ns > 0 && now - t->first_ns >= w->config.give_up_ns) {
		*ret_reason = "gave_up";
		return false;
	}
	/* Not together with all others that the same server has turned away. */
	at = now + t->wait_ns -
	     (int64_t)(hash__mix(0, (uint64_t)now ^ (uintptr_t)w) % (uint64_t)(t->wait_ns / 4));
	at = at < stop ? at : stop;
	pthread_mutex_lock(&w->mutex);
	w->retry_at_ns = at;
	pthread_mutex_unlock(&w->mutex);
	queue__pause(w->queue, at);
	return true;
}

/* Another writer will have it, or nobody. */
static void not_written(struct writer *w, struct queue_item *item, const char *reason, int code)
{
	bool leaves;

	pthread_mutex_lock(&w->mutex);
	leaves = w->leaves && !w->is_abandoned;
	pthread_mutex_unlock(&w->mutex);
	if (leaves && strcmp(reason, "shutdown") == 0)
		queue__put_back(w->queue, item);
	else if (strcmp(reason, "rejected") == 0)
		queue__lose(w->queue, item, reason, code);
	else
		queue__lose(w->queue, item, reason,
			    strcmp(reason, "shutdown") == 0 ? -ECANCELED : -ETIMEDOUT);
}

/* ---- an output ---- */

/* The named view, made once for all tries; NULL and a code when it cannot be. -EAGAIN: it is too late for one. */
static int view_for(struct writer *w, struct dcm_batch *batch, struct dcm_batch **ret,
		    struct dcm_error *err)
{
	if (*ret)
		return 0;
	if (w->config.resolved && (is_abandoned(w) || now_ns() >= stop_at(w)))
		return -EAGAIN;
	if (w->config.resolved)
		return w->config.resolved(w->config.resolved_ctx, batch, ret, err);
	*ret = batch__ref(batch);
	return 0;
}

/* Of a write that begins now. */
static int64_t deadline_of(struct writer *w)
{
	int64_t deadline = now_ns() + w->config.write_timeout_ns, stop = stop_at(w);

	return deadline < stop ? deadline : stop;
}

static int write_once(struct writer *w, struct dcm_batch *batch, struct dcm_batch **view,
		      struct dcm_error *why)
{
	int64_t deadline = deadline_of(w);
	int r = view_for(w, batch, view, why);

	if (r == 0) {
		r = begin_write(w);
		if (r < 0)
			return r;
		r = w->output.write(w->config.handle, *view, deadline, why);
	}
	if (r > 0)
		r = -EIO;
	end_write(w, r, why);
	return r;
}

/*
 * After a refusal that was one too many: is it one profile alone that goes? Each names another one, so that this ends.
 */
static bool pass_over(struct writer *w, struct queue_item *item, struct dcm_batch *view, uint32_t *n_passed)
{
	uint32_t profile = DCM_NONE;

	if (!view || !w->output.pass_over || *n_passed == view->n_profiles || is_abandoned(w) ||
	    w->output.pass_over(w->config.handle, view, &profile) < 0 || profile >= view->n_profiles)
		return false;
	++*n_passed;
	queue__lose_part(w->queue, item, view->profiles[profile].n_rows, "rejected");
	if (w->config.refused)
		w->config.refused(w->config.trouble_ctx, view, profile);
	return true;
}

static void write_output(struct writer *w, struct queue_item *item, struct dcm_batch **view)
{
	struct retry retry = { 0 };
	const char *reason = "rejected";
	uint32_t n_refusals = 0, n_passed = 0;
	int r;

	do {
		struct dcm_error why = DCM_ERROR_INIT;

		r = write_once(w, item->batch, view, &why);
		if (r == 0 || (!is_passing(w, r) && ++n_refusals >= w->config.n_refusals &&
			       !pass_over(w, item, *view, &n_passed)))
			break;
		/* What comes next in the batch need not wait. */
	} while ((!is_passing(w, r) && n_refusals >= w->config.n_refusals) ||
		 wait_for_retry(w, &retry, &reason));
	if (r == 0)
		queue__release(w->queue, item, 0);
	else
		not_written(w, item, reason, r);
}

/* How many of the first [n] have their views: as many as can be made in a moment, and one. Or, of the first, a negative errno. */
static int view_some(struct writer *w, struct lot lot, uint32_t n, struct dcm_error *why)
{
	const int64_t until = now_ns() + VIEWS_NS;

	for (uint32_t i = 0; i < n; i++) {
		int r = i > 0 && now_ns() > until
				? -ETIME
				: view_for(w, lot.items[i].batch, &lot.views[i], why);

		if (r < 0)
			return i ? (int)i : r;
	}
	return (int)n;
}

/*
 * The first *n, with their names where these are to be found; then *n is how many it was tried with or, of 0, are done.
 * -EALREADY: the first has to go alone.
 */
static int write_together(struct writer *w, struct lot lot, uint32_t *n)
{
	struct dcm_error why = DCM_ERROR_INIT;
	int r = view_some(w, lot, *n, &why);
	int64_t deadline;

	if (r < 0)
		return r;
	*n = (uint32_t)r;
	if (*n == 1)
		return -EALREADY;
	deadline = deadline_of(w);
	r = begin_write(w);
	if (r < 0)
		return r;
	uint32_t n_done = *n;
	r = w->output.write_group(w->config.handle, lot.views, *n, &n_done, deadline, &why);
	if (r > 0 || (r == 0 && (n_done == 0 || n_done > *n)))
		r = -EIO;
	if (r == 0 || is_passing(w, r))
		end_write(w, r, &why);
	else
		end_untold(w);
	if (r == 0)
		*n = n_done;
	return r;
}

/* So many did not: fewer do, perhaps. */
static void note_failure(struct writer *w, uint32_t n)
{
	w->together = n > 1 ? n / 2 : 1;
	w->n_well = 0;
}

/* So many went well together, or one alone. */
static void note_well(struct writer *w, uint32_t n)
{
	if (n < w->together || ++w->n_well < GROW_AFTER)
		return;
	w->together = 2 * n < DCM_GROUP_MAX ? 2 * n : DCM_GROUP_MAX;
	w->n_well = 0;
}

/*
 * The first of the lot, as many as go together; how many are settled then. What fails for its size, a proxy's limit or a
 * full queue over there, goes in ever smaller groups, which grow again as they arrive.
 */
static uint32_t write_some(struct writer *w, struct lot lot)
{
	struct retry retry = { 0 };
	const char *reason = "rejected";
	uint32_t size = lot.n < w->together ? lot.n : w->together;
	int r = -EALREADY;

	while (size > 1) {
		r = write_together(w, lot, &size);
		if (!is_passing(w, r))
			break;
		if (!wait_for_retry(w, &retry, &reason)) {
			size = strcmp(reason, "shutdown") == 0 ? lot.n : size;
			break;
		}
		note_failure(w, size);
		size = w->together;
		r = -EALREADY;
	}
	if (size > 1 && r < 0 && !is_passing(w, r))
		note_failure(w, size);
	if (r == 0 || size == 1)
		note_well(w, size);
	for (uint32_t i = 0; i < size; i++) {
		if (r == 0)
			queue__release(w->queue, &lot.items[i], 0);
		else if (is_passing(w, r))
			not_written(w, &lot.items[i], reason, r);
		else
			write_output(w, &lot.items[i], &lot.views[i]);
		batch__unref(lot.views[i]);
		lot.views[i] = NULL;
	}
	return size;
}

static void write_outputs(struct writer *w, struct queue_item *items, uint32_t n)
{
	struct dcm_batch *views[DCM_GROUP_MAX] = { 0 };

	for (uint32_t at = 0; at < n;)
		at += write_some(w, (struct lot){ items + at, views + at, n - at });
}

/* ---- a storage ---- */

/*
 * From any thread of the plugin, perhaps before its write() returned, perhaps after the writer has
 * ended.
 */
static void group_done(void *ctx, int status)
{
	struct group *g = ctx;
	struct writer *w = g->writer;

	for (uint32_t i = 0; i < g->n; i++) {
		if (status >= 0)
			queue__release(w->queue, &g->items[i], 0);
		else
			queue__lose(w->queue, &g->items[i], "rejected", status);
	}
	unref(w);
	free(g);
}

static int write_group(struct writer *w, struct group *g, struct dcm_error *why)
{
	struct dcm_batch *batches[DCM_GROUP_MAX];
	int r = begin_write(w);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < g->n; i++)
		batches[i] = g->items[i].batch;
	pthread_mutex_lock(&w->mutex);
	w->refs++;
	pthread_mutex_unlock(&w->mutex);
	g->writer = w;
	r = w->storage.write(w->config.handle, batches, g->n, group_done, g, why);
	if (r > 0)
		r = -EIO;
	/* The group may be gone by now when r is 0. */
	if (r < 0)
		unref(w);
	end_write(w, r, why);
	return r;
}

/*
 * Writes [n] items as one group, trying again while that may help. 0: taken over; else the items
 * are still ours.
 */
static int try_items(struct writer *w, struct queue_item *items, uint32_t n, const char **ret_reason)
{
	struct retry retry = { 0 };
	struct group *g;
	int r;

	do {
		struct dcm_error why = DCM_ERROR_INIT;

		r = -ENOMEM;
		g = malloc(sizeof(*g) + n * sizeof(g->items[0]));
		if (g) {
			g->n = n;
			memcpy(g->items, items, n * sizeof(g->items[0]));
			r = write_group(w, g, &why);
		}
		if (r < 0)
			free(g);
	} while (is_passing(w, r) && wait_for_retry(w, &retry, ret_reason));
	return r;
}

static void write_storage(struct writer *w, struct queue_item *items, uint32_t n)
{
	const char *reason = "rejected";
	int r = try_items(w, items, n, &reason);

	if (r == 0)
		return;
	/* One that can never be stored must not take the others with it. */
	for (uint32_t i = 0; i < n; i++) {
		if (n > 1 && strcmp(reason, "rejected") == 0)
			r = try_items(w, &items[i], 1, &reason);
		if (r < 0)
			not_written(w, &items[i], reason, r);
	}
}

/* More of what waits, without waiting, up to a group. */
static uint32_t gather(struct writer *w, struct queue_item items[static DCM_GROUP_MAX])
{
	const uint64_t most = w->config.storage	      ? GROUP_BYTES
			      : w->output.write_group ? REQUEST_BYTES
						      : 0;
	uint64_t bytes = items[0].bytes;
	uint32_t n = 1;

	while (n < w->config.max_group && bytes < most && queue__pop(w->queue, 0, &items[n]) == 0)
		bytes += items[n++].bytes;
	return n;
}

/* ---- the thread ---- */

/* Is there no time for what still waits, nor another writer? */
static bool is_late(struct writer *w)
{
	bool is;

	pthread_mutex_lock(&w->mutex);
	is = !w->leaves && now_ns() >= w->stop_at_ns;
	pthread_mutex_unlock(&w->mutex);
	return is;
}

static void *run(void *arg)
{
	struct writer *w = arg;
	struct queue_item items[DCM_GROUP_MAX];

	while (queue__pop(w->queue, INT64_MAX, &items[0]) == 0) {
		const uint32_t n = gather(w, items);

		if (w->config.storage)
			write_storage(w, items, n);
		else
			write_outputs(w, items, n);
		if (is_late(w))
			queue__discard(w->queue, "shutdown");
	}
	pthread_mutex_lock(&w->mutex);
	w->has_ended = true;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->mutex);
	unref(w);
	return NULL;
}

static void init_sync(struct writer *w)
{
	cond__init(&w->changed);
	pthread_mutex_init(&w->mutex, NULL);
}

int writer__start(const struct writer_config *config, struct queue *queue, struct writer **ret,
		  struct dcm_error *err)
{
	struct writer *w = NEW(struct writer);
	char short_name[16];
	int r;

	if (w)
		w->name = mem__dup_str(config->name, strlen(config->name));
	if (!w || !w->name) {
		free(w);
		queue__unref(queue);
		return error__nomem(err);
	}
	w->config = *config;
	w->config.name = w->name;
	if (config->storage)
		w->storage = *config->storage;
	else
		w->output = *config->output;
	if (w->config.max_group == 0 || w->config.max_group > DCM_GROUP_MAX)
		w->config.max_group = DCM_GROUP_MAX;
	if (w->config.write_timeout_ns <= 0)
		w->config.write_timeout_ns = WRITE_TIMEOUT_NS;
	if (w->config.stuck_ns <= 0)
		w->config.stuck_ns = STUCK_NS;
	w->queue = queue;
	w->stop_at_ns = INT64_MAX;
	w->together = DCM_GROUP_MAX;
	w->refs = 2;
	init_sync(w);
	r = pthread_create(&w->thread, NULL, run, w);
	if (r > 0) {
		w->refs = 1;
		unref(w);
		return error__sys(err, -r, "%s: no thread for writing", config->name);
	}
	snprintf(short_name, sizeof(short_name), "w:%s", config->name);
	pthread_setname_np(w->thread, short_name);
	*ret = w;
	return 0;
}

/*
 * Waits for the end of the thread; false at the deadline, which is `own_ns` later while the thread
 * is not in the plugin. With the mutex.
 */
static bool wait_for_end(struct writer *w, int64_t deadline_ns, int64_t own_ns)
{
	while (!w->has_ended) {
		int64_t until = w->writing_since_ns ? deadline_ns : deadline_ns + own_ns;
		struct timespec ts = { .tv_sec = until / 1000000000, .tv_nsec = until % 1000000000 };

		if (now_ns() >= until)
			break;
		pthread_cond_timedwait(&w->changed, &w->mutex, &ts);
	}
	return w->has_ended;
}

/* The thread is joined, or left to itself; with the mutex, which is let go. The writer is gone. */
static bool end_thread(struct writer *w)
{
	bool has_ended = w->has_ended;

	w->is_abandoned = !has_ended;
	pthread_mutex_unlock(&w->mutex);
	if (has_ended)
		pthread_join(w->thread, NULL);
	else
		pthread_detach(w->thread);
	unref(w);
	return has_ended;
}

int writer__leave(struct writer *w, int64_t deadline_mono_ns)
{
	pthread_mutex_lock(&w->mutex);
	w->leaves = true;
	w->stop_at_ns = now_ns();
	pthread_mutex_unlock(&w->mutex);
	queue__hold(w->queue, true);
	pthread_mutex_lock(&w->mutex);
	wait_for_end(w, deadline_mono_ns, OWN_WORK_NS);
	return end_thread(w) ? 0 : -ETIMEDOUT;
}

int writer__stop(struct writer *w, int64_t deadline_mono_ns, int64_t grace_ns)
{
	struct queue *queue = queue__ref(w->queue);
	int64_t now = now_ns();
	bool has_ended;

	if (deadline_mono_ns < now)
		deadline_mono_ns = now;
	pthread_mutex_lock(&w->mutex);
	w->stop_at_ns = deadline_mono_ns;
	pthread_mutex_unlock(&w->mutex);
	queue__close(w->queue);

	pthread_mutex_lock(&w->mutex);
	if (!wait_for_end(w, deadline_mono_ns, 0)) {
		/* What is queued cannot be written any more; what is being written may still be. */
		pthread_mutex_unlock(&w->mutex);
		queue__discard(w->queue, "shutdown");
		queue__wake(w->queue);
		pthread_mutex_lock(&w->mutex);
		wait_for_end(w, deadline_mono_ns + grace_ns, OWN_WORK_NS);
	}
	has_ended = end_thread(w);
	if (!has_ended)
		queue__orphan(queue);
	queue__unref(queue);
	return has_ended ? 0 : -ETIMEDOUT;
}

void writer__watch(struct writer *w)
{
	char sentence[128], took[48];
	int64_t since, now = now_ns();

	pthread_mutex_lock(&w->mutex);
	since = w->writing_since_ns;
	if (since > 0 && now - since > w->config.write_timeout_ns + w->config.stuck_ns) {
		int64_t s = (now - since) / 1000000000;

		/* From ten seconds on to the ten, so that the sentence does not change all the time. */
		units__format_duration((s < 10 ? s : s - s % 10) * 1000000000, took);
		snprintf(sentence, sizeof(sentence),
			 "has not come back from a write for %s; what it writes to may hang", took);
		set_trouble(w, -ETIMEDOUT, sentence);
	}
	pthread_mutex_unlock(&w->mutex);
}

void writer__view(struct writer *w, struct writer_view *ret)
{
	pthread_mutex_lock(&w->mutex);
	*ret = (struct writer_view){ .writing_since_mono_ns = w->writing_since_ns,
				     .retry_at_mono_ns = w->retry_at_ns };
	memcpy(ret->trouble, w->trouble, sizeof(ret->trouble));
	pthread_mutex_unlock(&w->mutex);
}
