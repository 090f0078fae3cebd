/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/senders.c - which hosts send profiles here, when they last did, and how their clocks stand
 */
#include "plugins/input/receive/senders.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/base/vec.h"

#define SECOND INT64_C(1000000000)

enum { NODE_MAX = 127, VERSION_MAX = 63, REFUSAL_MAX = 255, N_LABELS = 3 };

struct sender {
	char node[NODE_MAX + 1];
	const char *protocol;
	char version[VERSION_MAX + 1];
	bool tells_time;
	int64_t skew_ns; /* how far its clock is ahead of ours, the way of a request less */
	int64_t last_real_ns, interval_ns;
	uint64_t bytes, rows, n_requests, n_refused;
	char refusal[REFUSAL_MAX + 1]; /* of the last one; "": it was taken */
};

struct senders {
	const struct dcm_host *host;
	int64_t silent_ns;
	pthread_mutex_t lock;
	VEC(struct sender) all;
	struct dcm_metric *forgotten;
};

struct senders *senders__new(const struct dcm_host *host, int64_t silent_ns)
{
	struct senders *s = NEW(struct senders);

	if (!s)
		return NULL;
	s->host = host;
	s->silent_ns = silent_ns;
	s->forgotten = host->metric(
		host, DCM_COUNTER,
		"receive_senders_forgotten_total", "Senders that the list of targets shows no more, as more have come since than it has room for.");
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

void senders__free(struct senders *s)
{
	if (!s)
		return;
	pthread_mutex_destroy(&s->lock);
	vec__fini(&s->all);
	free(s);
}

static void copy(char *to, size_t size, struct dcm_str from)
{
	snprintf(to, size, "%.*s", (int)(from.n < size ? from.n : size - 1), from.p);
	to[str__utf8_cut(to, strlen(to))] = '\0';
}

/* With the lock. NULL: no memory. */
static struct sender *find_or_add(struct senders *s, const char *node, const char *protocol)
{
	struct sender *longest = NULL;

	for (size_t i = 0; i < s->all.n; i++) {
		struct sender *e = &s->all.v[i];

		if (e->protocol == protocol && strcmp(e->node, node) == 0)
			return e;
		if (!longest || e->last_real_ns < longest->last_real_ns)
			longest = e;
	}
	if (s->all.n < SENDERS_MAX)
		longest = vec__reserve(&s->all, 1) ? &s->all.v[s->all.n++] : NULL;
	else
		s->host->metric_add(s->forgotten, 1);
	if (longest) {
		*longest = (struct sender){ .protocol = protocol };
		snprintf(longest->node, sizeof(longest->node), "%s", node);
	}
	return longest;
}

void senders__note(struct senders *s, const struct sending *sending)
{
	char node[NODE_MAX + 1];
	struct sender *e;

	if (sending->node.n == 0)
		return;
	copy(node, sizeof(node), sending->node);
	pthread_mutex_lock(&s->lock);
	e = find_or_add(s, node, sending->protocol);
	if (e) {
		copy(e->version, sizeof(e->version), sending->version);
		e->tells_time = sending->sent_real_ns != 0;
		e->skew_ns = e->tells_time ? sending->sent_real_ns - sending->arrived_real_ns : 0;
		if (e->last_real_ns)
			e->interval_ns = sending->arrived_real_ns - e->last_real_ns;
		e->last_real_ns = sending->arrived_real_ns;
		e->bytes = sending->bytes;
		e->rows = sending->rows;
		e->n_requests++;
		e->n_refused += sending->refusal != NULL;
		snprintf(e->refusal, sizeof(e->refusal), "%s", sending->refusal ? sending->refusal : "");
		e->refusal[str__utf8_cut(e->refusal, strlen(e->refusal))] = '\0';
	}
	pthread_mutex_unlock(&s->lock);
}

/* ---- as targets ---- */

static int tell(const struct senders *s, const struct sender *e, dcm_target_fn each, void *ctx)
{
	int64_t silent_ns = s->host->real_ns(s->host) - e->last_real_ns;
	char silence[48], error[sizeof(e->refusal)], skew[32];
	struct dcm_label_text labels[N_LABELS] = { { STR("node"), str__of(e->node) } };
	struct dcm_target t = { .size = sizeof(t),
				.health = DCM_HEALTH_UP,
				.job = str__of(e->protocol),
				.url = str__of(e->node),
				.labels = labels,
				.n_labels = 1,
				.interval_ns = e->interval_ns > 0 ? e->interval_ns : 0,
				.last_real_ns = e->last_real_ns,
				.bytes = e->bytes,
				.samples = e->rows,
				.n_asked = e->n_requests,
				.n_failed = e->n_refused };

	if (e->version[0])
		labels[t.n_labels++] = (struct dcm_label_text){ STR("version"), str__of(e->version) };
	if (e->tells_time) {
		snprintf(skew, sizeof(skew), "%" PRId64, e->skew_ns / 1000000);
		labels[t.n_labels++] = (struct dcm_label_text){ STR("clock_skew_ms"), str__of(skew) };
	}
	snprintf(error, sizeof(error), "%s", e->refusal);
	if (silent_ns > s->silent_ns) {
		units__format_duration(silent_ns - silent_ns % SECOND, silence);
		snprintf(error, sizeof(error),
			 "nothing has come for %s; does it run, and reach this server?", silence);
	}
	t.error = str__of(error);
	if (t.error.n)
		t.health = DCM_HEALTH_DOWN;
	return each(ctx, &t);
}

void senders__each(struct senders *s, dcm_target_fn each, void *ctx)
{
	int r = 0;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; r == 0 && i < s->all.n; i++)
		r = tell(s, &s->all.v[i], each, ctx);
	pthread_mutex_unlock(&s->lock);
}
