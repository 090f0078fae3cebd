/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/window.c - full windows on their way out
 */
#include "plugins/input/ebpf/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/mem.h"
#include "plugins/input/ebpf/thread.h"
#include "plugins/input/ebpf/background.h"

enum {
	WAITING_MAX = 2, /* windows not yet made into batches */
	HELD_MAX = 4,	 /* batches that the host did not take yet */
};
#define SECOND_NS 1000000000ll
#define RETRY_NS  250000000ll

/* A sealed batch that the host has no room for yet. */
struct held {
	struct dcm_batch *batch;
	uint64_t n_samples;
};

struct windows {
	const struct dcm_host *host;
	struct dcm_builder *builder; /* the thread's */
	struct flush flush;	     /* the thread's, but for labels and period: `lock` */
	struct held held[HELD_MAX];  /* oldest first; the thread's */
	uint32_t n_held;
	bool told_kallsyms;

	struct background bg; /* its lock: over all below */
	struct settings_labels labels;
	int64_t period_ns;
	struct aggregate *waiting[WAITING_MAX];
	uint32_t n_waiting;
	bool idle; /* nothing waits, nothing is held */
	int64_t cpu_ns;
};

int64_t window__length_ns(uint32_t n, int64_t configured_ns)
{
	static const int64_t first[] = { 1 * SECOND_NS, 2 * SECOND_NS, 5 * SECOND_NS };
	int64_t length = n >= 1 && n <= 3 ? first[n - 1] : configured_ns;

	return length < configured_ns ? length : configured_ns;
}

struct windows *windows__new(const struct dcm_host *host, struct files *files,
			     const struct settings *settings)
{
	struct windows *w = NEW(struct windows);

	if (!w)
		return NULL;
	background__init(&w->bg);
	w->host = host;
	w->flush.host = host;
	w->flush.files = files;
	w->idle = true;
	windows__configure(w, settings);
	w->builder = host->builder_new(host, 0);
	if (!w->builder) {
		windows__free(w);
		return NULL;
	}
	return w;
}

void windows__use_symbols(struct windows *w, struct ksymbols *symbols)
{
	w->flush.symbols = symbols;
}

void windows__configure(struct windows *w, const struct settings *settings)
{
	pthread_mutex_lock(&w->bg.lock);
	w->labels = settings->labels;
	w->period_ns = (int64_t)settings__period_ns(settings);
	pthread_mutex_unlock(&w->bg.lock);
}

void windows__set_period(struct windows *w, int64_t period_ns)
{
	pthread_mutex_lock(&w->bg.lock);
	w->period_ns = period_ns;
	pthread_mutex_unlock(&w->bg.lock);
}

/* ------------------------------------------------------------------------------------------------
 * The thread
 */

/* Emits what is held, oldest first, until the host takes no more. */
static void emit_held(struct windows *w)
{
	uint32_t n = 0;

	while (n < w->n_held) {
		int r = w->host->emit(w->host, w->held[n].batch, NULL, NULL);

		if (r == -EAGAIN)
			break;
		if (r < 0)
			w->host->drop(w->host, "samples_refused", w->held[n].n_samples);
		w->host->batch_unref(w->held[n].batch);
		n++;
	}
	w->n_held -= n;
	for (uint32_t i = 0; i < w->n_held; i++)
		w->held[i] = w->held[i + n];
}

static void hold(struct windows *w, struct dcm_batch *batch, uint64_t n_samples)
{
	if (w->n_held == HELD_MAX) {
		w->host->drop(w->host, "samples_queue_full", w->held[0].n_samples);
		w->host->batch_unref(w->held[0].batch);
		for (uint32_t i = 1; i < HELD_MAX; i++)
			w->held[i - 1] = w->held[i];
		w->n_held--;
	}
	w->held[w->n_held++] = (struct held){ batch, n_samples };
}

static void tell_kallsyms(const struct dcm_host *host, int error)
{
	if (error == -EACCES)
		host->set_state(
			host, DCM_STATE_DEGRADED,
			"kernel frames have no names: set kernel.kptr_restrict to 0, or to 1 "
			"and give Decima CAP_SYSLOG");
	else if (error == -ENODATA)
		host->set_state(
			host, DCM_STATE_DEGRADED,
			"kernel frames have no names: /proc/kallsyms has no symbols here; a "
			"systemd unit needs ProtectKernelTunables=no");
	else
		host->set_state(host, DCM_STATE_DEGRADED,
				"kernel frames have no names: /proc/kallsyms cannot be read: %s",
				strerror(-error));
}

static void flush_one(struct windows *w, const struct aggregate *a)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *batch = NULL;
	int r = flush__batch(&w->flush, a, w->builder, &batch, &err);

	if (r < 0) {
		w->host->log(w->host, DCM_LOG_ERROR, "window not sent: %s", err.text);
		w->host->drop(w->host, "samples_not_sealed", a->n_samples);
	} else if (batch) {
		hold(w, batch, a->n_samples);
	}
	if (w->flush.kallsyms_error && !w->told_kallsyms) {
		w->told_kallsyms = true;
		tell_kallsyms(w->host, w->flush.kallsyms_error);
	}
}

/* Waits for a window, an end, or the time to try again what is held. With the lock. */
static void wait_for_work(struct windows *w)
{
	struct timespec until;

	if (w->n_waiting || w->bg.stopping)
		return;
	w->idle = w->n_held == 0;
	if (w->idle) {
		pthread_cond_broadcast(&w->bg.changed);
		pthread_cond_wait(&w->bg.changed, &w->bg.lock);
	} else {
		until = thread__timespec(thread__mono_ns() + RETRY_NS);
		pthread_cond_timedwait(&w->bg.changed, &w->bg.lock, &until);
	}
}

static void *run(void *arg)
{
	struct windows *w = arg;

	pthread_mutex_lock(&w->bg.lock);
	while (!w->bg.stopping) {
		struct aggregate *a = NULL;

		if (w->n_waiting) {
			a = w->waiting[0];
			w->waiting[0] = w->waiting[1];
			w->n_waiting--;
			w->flush.labels = w->labels;
			w->flush.period_ns = w->period_ns;
		}
		pthread_mutex_unlock(&w->bg.lock);
		if (a)
			flush_one(w, a);
		aggregate__free(a);
		emit_held(w);
		pthread_mutex_lock(&w->bg.lock);
		w->cpu_ns = thread__cpu_ns();
		wait_for_work(w);
	}
	pthread_mutex_unlock(&w->bg.lock);
	return NULL;
}

int windows__start(struct windows *w)
{
	return background__start(&w->bg, "ebpf-flush", run, w);
}

/* ------------------------------------------------------------------------------------------------
 * From other threads
 */

bool windows__push(struct windows *w, struct aggregate *window)
{
	bool taken;

	pthread_mutex_lock(&w->bg.lock);
	taken = w->n_waiting < WAITING_MAX;
	if (taken) {
		w->waiting[w->n_waiting++] = window;
		w->idle = false;
		pthread_cond_broadcast(&w->bg.changed);
	}
	pthread_mutex_unlock(&w->bg.lock);
	return taken;
}

int64_t windows__cpu_ns(struct windows *w)
{
	int64_t ns;

	pthread_mutex_lock(&w->bg.lock);
	ns = w->cpu_ns;
	pthread_mutex_unlock(&w->bg.lock);
	return ns;
}

int windows__drain(struct windows *w, int64_t deadline_mono_ns)
{
	struct timespec until = thread__timespec(deadline_mono_ns);
	int r = 0;

	pthread_mutex_lock(&w->bg.lock);
	while (!w->idle && r == 0)
		r = pthread_cond_timedwait(&w->bg.changed, &w->bg.lock, &until);
	r = w->idle ? 0 : -ETIMEDOUT;
	pthread_mutex_unlock(&w->bg.lock);
	return r;
}

void windows__free(struct windows *w)
{
	if (!w)
		return;
	background__stop(&w->bg);
	for (uint32_t i = 0; i < w->n_held; i++) {
		w->host->drop(w->host, "samples_at_stop", w->held[i].n_samples);
		w->host->batch_unref(w->held[i].batch);
	}
	for (uint32_t i = 0; i < w->n_waiting; i++) {
		w->host->drop(w->host, "samples_at_stop", w->waiting[i]->n_samples);
		aggregate__free(w->waiting[i]);
	}
	if (w->builder)
		w->host->builder_free(w->builder);
	background__fini(&w->bg);
	free(w);
}
