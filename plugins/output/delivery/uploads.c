/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/delivery/uploads.c - what names the addresses that were sent: debuginfo to the server that wants it
 *
 * A build id goes into the queue when it is met first, and is asked for, made and sent by one of the threads. Until when
 * it needs no further thought stands in `known`, by the id's hash: for cache_duration after an answer, and for RETRY_NS
 * after failures that may pass. A server that cannot be reached, or has no time, lets all threads pause, twice as long
 * each time; a file is given up after TRIES of its own. A server that has no such service is left alone for
 * cache_duration.
 *
 * Threads: max_parallel of its own; answers come on the host's client thread. `lock` guards all that changes; no call
 * into the host is made under it but of clocks and metrics. Limits: queue_size, KNOWN_MAX, max_bytes of a file on its
 * way, which lies twice on the disk meanwhile and not in memory.
 */
#include "plugins/output/delivery/uploads.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/cleanup.h"
#include "core/base/cond.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/grpc_head.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/protobuf.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/base/url.h"
#include "core/debuginfo/sending.h"
#include "plugins/output/delivery/delivery.h"

#define SECOND	 INT64_C(1000000000)
#define RETRY_NS (300 * SECOND)

enum {
	KNOWN_SLOTS = 1 << 15,
	KNOWN_MAX = KNOWN_SLOTS / 2,
	TRIES = 8,
	PAUSE_MAX_S = 64,
	ANSWER_BYTES = 1 << 16,
	WORDS_MAX = 199, /* bytes of a server's reason */
	MAX_PARALLEL = 64,
	ID_MIN = 16, /* digits: the shortest ids that linkers make have 8 bytes */
	ID_MAX = 128
};

/* ---- options ---- */

#define AT(member) offsetof(struct uploads_config, member)
static const struct dcm_option rows[] = {
	{ .name = "enabled",
	  .type = DCM_OPT_BOOL,
	  .offset = AT(enabled),
	  .def = "false",
	  .doc = "Sends what names functions and lines of the programs that are met, reduced, to a "
		 "server that says it "
		 "wants it. The server learns what runs here, and gets symbols of it." },
	{ .name = "max_parallel",
	  .type = DCM_OPT_INT,
	  .offset = AT(max_parallel),
	  .def = "4",
	  .min = "1",
	  .max = "64",
	  .doc = "Files on their way at once. One at a time is reduced." },
	{ .name = "timeout",
	  .type = DCM_OPT_DURATION,
	  .offset = AT(timeout_ns),
	  .def = "2m",
	  .min = "1s",
	  .max = "1h",
	  .doc = "How long the sending of one file may take. Nobody waits for it." },
	{ .name = "max_bytes",
	  .type = DCM_OPT_SIZE,
	  .offset = AT(max_bytes),
	  .def = "256MiB",
	  .min = "1KiB",
	  .max = "4GiB",
	  .doc = "The most that one file may have when it is reduced; larger ones are not sent, "
		 "which is told. Each on its way "
		 "takes twice that room on the disk at most." },
	{ .name = "cache_duration",
	  .type = DCM_OPT_DURATION,
	  .offset = AT(cache_duration_ns),
	  .def = "1h",
	  .min = "1s",
	  .max = "7d",
	  .doc = "For how long an answer of the server's holds, and that a file cannot be sent; "
		 "then it is asked once more when "
		 "the build id is met." },
	{ .name = "queue_size",
	  .type = DCM_OPT_INT,
	  .offset = AT(queue_size),
	  .def = "4096",
	  .min = "1",
	  .max = "16384",
	  .doc = "Build ids that may wait. What comes beyond is met again with a later batch, and "
		 "counted." },
};
#undef AT
const struct dcm_table uploads__options = DCM_TABLE(struct uploads_config, rows);

/* ---- state ---- */

struct wanted {
	struct wanted *next;
	char build_id[ID_MAX + 1];
	char *path; /* "" when nobody knows */
	uint32_t tries;
};

/* A thread, and the call that it waits for. */
struct uploader {
	struct uploads *u;
	pthread_t thread;
	pthread_cond_t answered;
	uint64_t call_id; /* 0: none */
	bool is_answered;
	int64_t deadline_ns;
	int rc; /* of the last call */
	struct buf *answer;
	struct dcm_error why;
};

enum count {
	ASKED,
	SENT,
	SENT_BYTES,
	KNOWN,
	NOT_WANTED,
	NOT_FOUND,
	NAMELESS,
	TOO_LARGE,
	UNREADABLE,
	REFUSED,
	FAILED,
	QUEUE_FULL,
	N_COUNTS
};

static const struct {
	const char *name, *help;
} counts[N_COUNTS] = {
	[ASKED] = { "debuginfo_asked_total",
		    "Answers of the server to whether it wants the debuginfo of a build id." },
	[SENT] = { "debuginfo_sent_total", "Files with debuginfo that the server took." },
	[SENT_BYTES] = { "debuginfo_sent_bytes_total", "Bytes of these files." },
	[KNOWN] = { "debuginfo_known_total", "Build ids whose debuginfo the server had." },
	[NOT_WANTED] = { "debuginfo_not_wanted_total",
			 "Build ids whose debuginfo the server did not want for another reason." },
	[NOT_FOUND] = { "debuginfo_not_found_total",
			"Not sent: the file was not to be had any more." },
	[NAMELESS] = { "debuginfo_nameless_total",
		       "Not sent: nothing in the file names an address." },
	[TOO_LARGE] = { "debuginfo_too_large_total",
			"Not sent: reduced, the file was larger than debuginfo.max_bytes." },
	[UNREADABLE] = { "debuginfo_unreadable_total",
			 "Not sent: the file could not be reduced, or not in time." },
	[REFUSED] = { "debuginfo_refused_total", "Not sent: the server refused it." },
	[FAILED] = { "debuginfo_failed_total", "Not sent: given up after several tries." },
	[QUEUE_FULL] = { "debuginfo_queue_full_total",
			 "Build ids that had no room in the queue when they were met." },
};

struct known {
	uint64_t key;	  /* of the build id; 0: free */
	int64_t until_ns; /* INT64_MAX: it is in the queue, or on its way */
};

struct uploads {
	const struct dcm_host *host;
	struct uploads_config config;
	char *url;
	struct dcm_http_client *client, *plain; /* plain: without credentials, for signed URLs */
	struct dcm_metric *metrics[N_COUNTS], *n_waiting;
	struct uploader *threads; /* [n_threads] */
	uint32_t n_threads;
	bool is_wanting; /* the host was told */

	pthread_mutex_t lock; /* guards: */
	pthread_cond_t work;  /* on CLOCK_MONOTONIC */
	bool stop;
	struct wanted *first, **last;
	uint32_t n_queued;
	uint32_t n_away;	/* tries in a row that found nobody */
	int64_t pause_until_ns; /* the server is away */
	int64_t off_until_ns;	/* the server has no such service */
	struct known *known;	/* [KNOWN_SLOTS] */
	uint32_t n_known;
	char note[UPLOADS_NOTE];
};

static int64_t now_of(const struct uploads *u)
{
	return u->host->mono_ns(u->host);
}

static void count(struct uploads *u, enum count what, uint64_t n)
{
	u->host->metric_add(u->metrics[what], n);
}

/* ---- what is known; under the lock ---- */

static uint64_t key_of(struct dcm_str build_id)
{
	uint64_t key = hash__bytes(build_id.p, build_id.n, 0);

	return key ? key : 1;
}

/* The id's slot, or the free one where it goes: there always is one. */
static struct known *slot_of(struct known *table, uint64_t key)
{
	uint32_t i = (uint32_t)key % KNOWN_SLOTS;

	while (table[i].key && table[i].key != key)
		i = (i + 1) % KNOWN_SLOTS;
	return &table[i];
}

/* Leaves out what is over; where that is too little, all but what is on its way: it is asked for once more, no worse. */
static void sweep(struct uploads *u, int64_t now_ns)
{
	struct known *table = mem__zalloc(KNOWN_SLOTS, sizeof(*table));
	uint32_t n_live = 0, n = 0;

	if (!table)
		return;
	for (uint32_t i = 0; i < KNOWN_SLOTS; i++)
		n_live += u->known[i].key && u->known[i].until_ns > now_ns;
	for (uint32_t i = 0; i < KNOWN_SLOTS; i++) {
		const struct known *k = &u->known[i];

		if (!k->key || k->until_ns <= now_ns ||
		    (n_live > KNOWN_MAX / 2 && k->until_ns != INT64_MAX))
			continue;
		*slot_of(table, k->key) = *k;
		n++;
	}
	free(u->known);
	u->known = table;
	u->n_known = n;
}

/* Until when nobody need think of it. */
static void know(struct uploads *u, uint64_t key, int64_t until_ns)
{
	struct known *k = slot_of(u->known, key);

	u->n_known += k->key == 0;
	*k = (struct known){ key, until_ns };
}

/* ---- the queue ---- */

static void free_wanted(struct wanted *w)
{
	if (w)
		free(w->path);
	free(w);
}

/* Under the lock. */
static void push(struct uploads *u, struct wanted *w)
{
	w->next = NULL;
	*u->last = w;
	u->last = &w->next;
	u->n_queued++;
	u->host->metric_set(u->n_waiting, u->n_queued);
	pthread_cond_signal(&u->work);
}

/* What no linker makes is of another kind: a stand-in ('~'), Go's own ids, what a profile was told. */
static bool is_build_id(struct dcm_str id)
{
	if (id.n < ID_MIN || id.n > ID_MAX || id.n % 2 != 0)
		return false;
	for (uint32_t i = 0; i < id.n; i++)
		if (!memchr("0123456789abcdef", id.p[i], 16))
			return false;
	return true;
}

/* Under the lock. */
static void meet(struct uploads *u, struct dcm_str id, struct dcm_str path, int64_t now_ns)
{
	uint64_t key = key_of(id);
	struct known *k = slot_of(u->known, key);
	struct wanted *w;

	if (k->key && k->until_ns > now_ns)
		return;
	if (u->n_queued >= (uint32_t)u->config.queue_size) {
		count(u, QUEUE_FULL, 1);
		return;
	}
	w = NEW(struct wanted);
	if (!w)
		return; /* it is met again */
	memcpy(w->build_id, id.p, id.n);
	w->path = mem__dup_str(path.p, path.n);
	if (u->n_known >= KNOWN_MAX)
		sweep(u, now_ns);
	if (u->n_known >= KNOWN_MAX) {
		free_wanted(w);
		return;
	}
	know(u, key, INT64_MAX);
	push(u, w);
}

/* The kernel and the vdso have build ids, and no file. */
static bool has_file(const struct dcm_batch *b, const struct dcm_mapping *m)
{
	return m->kind == DCM_MAPPING_FILE && is_build_id(b->strings[m->build_id]) &&
	       !str__starts(b->strings[m->file], STR("["));
}

/* Is there one to think of? Mostly there is none, and then nothing else is looked at. */
static bool has_new(struct uploads *u, const struct dcm_batch *b, int64_t now_ns)
{
	bool found = false;

	pthread_mutex_lock(&u->lock);
	for (uint32_t i = 0; i < b->n_mappings && !found && now_ns >= u->off_until_ns; i++) {
		const struct known *k;

		if (!has_file(b, &b->mappings[i]))
			continue;
		k = slot_of(u->known, key_of(b->strings[b->mappings[i].build_id]));
		found = !k->key || k->until_ns <= now_ns;
	}
	pthread_mutex_unlock(&u->lock);
	return found;
}

/* [n_mappings]: which the rows lead to. A batch may share its tables with others, which go elsewhere. NULL: no memory. */
static bool *mappings_in_use(const struct dcm_batch *b)
{
	CLEANUP(mem__freep) bool *stacks = mem__zalloc(b->n_stacks + 1u, sizeof(*stacks));
	bool *used = stacks ? mem__zalloc(b->n_mappings + 1u, sizeof(*used)) : NULL;

	if (!used)
		return NULL;
	for (uint32_t i = 0; i < b->n_profiles; i++)
		for (uint64_t row = 0; row < b->profiles[i].n_rows; row++)
			stacks[b->row_stacks[b->profiles[i].row_off + row]] = true;
	for (uint32_t i = 0; i < b->n_stacks; i++) {
		const struct dcm_span *s = &b->stacks[i];

		for (uint32_t at = 0; stacks[i] && at < s->n; at++) {
			uint32_t mapping = b->locations[b->stack_locations[s->off + at]].mapping;

			if (mapping != DCM_NONE)
				used[mapping] = true;
		}
	}
	return used;
}

void uploads__see(struct uploads *u, const struct dcm_batch *batch)
{
	CLEANUP(mem__freep) bool *used = NULL;
	int64_t now_ns;

	if (!u)
		return;
	now_ns = now_of(u);
	used = has_new(u, batch, now_ns) ? mappings_in_use(batch) : NULL;
	if (!used)
		return;
	pthread_mutex_lock(&u->lock);
	for (uint32_t i = 0; i < batch->n_mappings; i++) {
		const struct dcm_mapping *m = &batch->mappings[i];

		if (used[i] && has_file(batch, m))
			meet(u, batch->strings[m->build_id], batch->strings[m->file], now_ns);
	}
	pthread_mutex_unlock(&u->lock);
}

static bool stops(void *ctx)
{
	struct uploads *u = ctx;
	bool stop;

	pthread_mutex_lock(&u->lock);
	stop = u->stop;
	pthread_mutex_unlock(&u->lock);
	return stop;
}

/* The next one; NULL: it is time to stop. */
static struct wanted *pop(struct uploads *u)
{
	struct wanted *w = NULL;

	pthread_mutex_lock(&u->lock);
	while (!u->stop && !w) {
		int64_t until = u->pause_until_ns;

		if (until > now_of(u)) {
			const struct timespec at = { until / SECOND, until % SECOND };

			pthread_cond_timedwait(&u->work, &u->lock, &at);
		} else if (!u->first) {
			pthread_cond_wait(&u->work, &u->lock);
		} else {
			w = u->first;
			u->first = w->next;
			if (!u->first)
				u->last = &u->first;
			u->n_queued--;
			u->host->metric_set(u->n_waiting, u->n_queued);
		}
	}
	pthread_mutex_unlock(&u->lock);
	return w;
}

/* ---- calls ---- */

static int errno_of_grpc(int64_t status)
{
	static const int errors[] = {
		[1] = -EAGAIN,	[3] = -EINVAL,	[4] = -EAGAIN,	[5] = -ENOENT,	[6] = -EEXIST,
		[7] = -EACCES,	[8] = -EFBIG,	[9] = -EBUSY,	[10] = -EAGAIN, [12] = -ENOSYS,
		[13] = -EAGAIN, [14] = -EAGAIN, [16] = -EACCES,
	};
	const size_t n = sizeof(errors) / sizeof(errors[0]);

	if (status == 0)
		return 0;
	return status > 0 && (size_t)status < n && errors[status] ? errors[status] : -EPROTO;
}

static int errno_of_http(int status)
{
	if (status == 401 || status == 403)
		return -EACCES;
	if (status == 404 || status == 405 || status == 415)
		return -ENOSYS;
	return status == 408 || status == 429 || status >= 500 ? -EAGAIN : -EPROTO;
}

/* Of that name, the last: a trailer stands behind the headers. */
static struct dcm_str header(const struct dcm_http_reply *reply, const char *name)
{
	struct dcm_str found = STR("");

	for (uint32_t i = 0; i < reply->n_headers; i++)
		if (str__eq(reply->headers[i].name, str__of(name)))
			found = reply->headers[i].value;
	return found;
}

/* Somebody's words; the host cleans what it shows. */
static void say(struct dcm_error *err, int rc, struct dcm_str words)
{
	struct buf text = { 0 };
	size_t n;

	url__unescape(&text, words);
	n = str__utf8_cut((const char *)text.data, text.n < WORDS_MAX ? text.n : WORDS_MAX);
	if (n)
		error__set(err, rc, "%.*s", (int)n, (const char *)text.data);
	else
		error__set(err, rc, "the server gives no reason");
	buf__fini(&text);
}

/* What a call of gRPC came to. With the lock. */
static void judge(struct uploader *t, const struct dcm_http_reply *reply)
{
	struct dcm_str status = header(reply, "grpc-status");
	int64_t v = -1;

	if (status.n && units__parse_int(status, "", &v) == 0 && v >= 0)
		t->rc = errno_of_grpc(v);
	else if (reply->fault)
		t->rc = reply->fault == -ECANCELED ? -ECANCELED : -EAGAIN;
	else
		t->rc = errno_of_http(reply->status);
	if (v > 0)
		say(&t->why, t->rc, header(reply, "grpc-message"));
	else if (t->rc < 0 && reply->fault)
		error__set(&t->why, t->rc, "%s", reply->sentence);
	else if (t->rc < 0)
		error__set(&t->why, t->rc, "the server answered %d, without a status of gRPC",
			   reply->status);
	if (t->rc == 0 && reply->n > GRPC_HEAD_BYTES)
		buf__append(t->answer, reply->data + GRPC_HEAD_BYTES, reply->n - GRPC_HEAD_BYTES);
}

static void finish_call(struct uploader *t)
{
	t->is_answered = true;
	pthread_cond_signal(&t->answered);
}

/* Client thread. */
static void called(void *ctx, const struct dcm_http_reply *reply)
{
	struct uploader *t = ctx;

	pthread_mutex_lock(&t->u->lock);
	judge(t, reply);
	finish_call(t);
	pthread_mutex_unlock(&t->u->lock);
}

/* Client thread: what has a file at a signed URL. */
static void put_there(void *ctx, const struct dcm_http_reply *reply)
{
	struct uploader *t = ctx;

	pthread_mutex_lock(&t->u->lock);
	t->rc = reply->fault == -ECANCELED ? -ECANCELED
		: reply->fault		   ? -EAGAIN
		: reply->status / 100 == 2 ? 0
					   : errno_of_http(reply->status);
	if (t->rc < 0 && reply->fault)
		error__set(&t->why, t->rc, "%s", reply->sentence);
	else if (t->rc < 0)
		error__set(&t->why, t->rc, "what the server named for the file answered %d",
			   reply->status);
	finish_call(t);
	pthread_mutex_unlock(&t->u->lock);
}

/* Has the call made, and waits for its end; stopping ends it. */
static int make(struct uploader *t, struct dcm_http_client *client,
		const struct dcm_http_call *call, struct dcm_error *err)
{
	struct uploads *u = t->u;
	uint64_t id = 0;
	bool too_late;
	int r;

	t->is_answered = false;
	t->why = (struct dcm_error)DCM_ERROR_INIT;
	r = u->host->http_start(client, call, &id, err);
	if (r < 0)
		return r == -ESHUTDOWN ? -ECANCELED : r;
	pthread_mutex_lock(&u->lock);
	t->call_id = id;
	too_late = u->stop;
	pthread_mutex_unlock(&u->lock);
	if (too_late)
		u->host->http_cancel(client, id);
	pthread_mutex_lock(&u->lock);
	/* The call has a deadline of its own: it always ends. */
	while (!t->is_answered)
		pthread_cond_wait(&t->answered, &u->lock);
	t->call_id = 0;
	r = t->rc;
	pthread_mutex_unlock(&u->lock);
	return r < 0 ? error__set(err, r, "%s", t->why.text) : 0;
}

/* sending_fn; ctx: the thread. */
static int call(void *ctx, const struct sending_call *what, struct buf *answer, struct dcm_error *err)
{
	static const struct dcm_http_header grpc[] = { { { "content-type", 12 },
							 { "application/grpc+proto", 22 } } };
	struct uploader *t = ctx;
	struct uploads *u = t->u;
	int64_t left = t->deadline_ns - now_of(u);
	const struct dcm_http_file file = { .fd = what->fd, .n = what->bytes };
	CLEANUP(mem__freep)
	char *url = what->method ? delivery__url(u->url, what->method)
				 : mem__dup_str(what->url, strlen(what->url));
	struct dcm_http_call c = { .size = sizeof(c), .method = what->method ? "POST" : "PUT", .url = url };
	struct buf frame = { 0 };
	int r;

	if (left <= 0)
		return error__set(err, -EAGAIN, "it took longer than debuginfo.timeout");
	if (what->message) {
		grpc_head__append(&frame, 0, what->message->n);
		buf__append(&frame, what->message->data, what->message->n);
		c.body = frame.data;
		c.n_body = frame.n;
	} else {
		c.file = &file;
	}
	c.headers = what->method ? grpc : NULL;
	c.n_headers = what->method ? 1 : 0;
	c.timeout_ns = left;
	c.max_bytes = ANSWER_BYTES;
	c.grpc = what->method != NULL;
	c.done = what->method ? called : put_there;
	c.ctx = t;
	t->answer = answer;
	r = url && !frame.error ? make(t, what->method ? u->client : u->plain, &c, err) : -ENOMEM;
	buf__fini(&frame);
	return r;
}

/* ---- one file ---- */

/* The state's sentence, and a line in the log. */
static void complain(struct uploads *u, const struct wanted *w, const struct dcm_error *why)
{
	pthread_mutex_lock(&u->lock);
	snprintf(u->note, sizeof(u->note), "; debuginfo of %.60s is not sent: %.110s",
		 w->path && *w->path ? w->path : w->build_id, why->text);
	pthread_mutex_unlock(&u->lock);
	u->host->log(u->host, DCM_LOG_WARNING, "debuginfo of %s (build id %s) is not sent: %s",
		     w->path ? w->path : "", w->build_id, why->text);
}

/* What there is to tell of a file that the host has not; 0: it is tried again. */
static int64_t tell_of_host(struct uploads *u, const struct wanted *w, int rc, const struct dcm_error *why)
{
	enum count what = rc == -ENOENT	   ? NOT_FOUND
			  : rc == -ENODATA ? NAMELESS
			  : rc == -EFBIG   ? TOO_LARGE
					   : UNREADABLE;

	if (rc == -EAGAIN || rc == -ENOMEM)
		return 0;
	count(u, what, 1);
	if (what == TOO_LARGE || what == UNREADABLE)
		complain(u, w, why);
	else
		u->host->log(u->host, DCM_LOG_DEBUG, "debuginfo of %s (build id %s) is not sent: %s",
			     w->path ? w->path : "", w->build_id, why->text);
	return u->config.cache_duration_ns;
}

/* The server said no, or nothing. */
static int64_t tell_of_server(struct uploads *u, const struct wanted *w, int rc,
			      const struct dcm_error *why)
{
	if (rc == -EAGAIN || rc == -ETIMEDOUT || rc == -ENOMEM)
		return 0;
	if (rc == -EEXIST || rc == -EBUSY) { /* the very same; or another agent is sending it */
		count(u, KNOWN, 1);
		return rc == -EEXIST ? u->config.cache_duration_ns : RETRY_NS;
	}
	count(u, REFUSED, 1);
	complain(u, w, why);
	if (rc == -ENOSYS) {
		pthread_mutex_lock(&u->lock);
		u->off_until_ns = now_of(u) + u->config.cache_duration_ns;
		pthread_mutex_unlock(&u->lock);
	}
	return u->config.cache_duration_ns;
}

/* It is wanted. For how long it need not be thought of; 0: it is tried again; -1: it is time to stop. */
static int64_t send_file(struct uploader *t, const struct sending *s, const struct wanted *w,
			 struct dcm_error *why)
{
	struct uploads *u = t->u;
	const struct dcm_debuginfo wish = { .size = sizeof(wish),
					    .build_id = str__of(w->build_id),
					    .path = str__of(w->path ? w->path : ""),
					    .max_bytes = (uint64_t)u->config.max_bytes,
					    .stop = stops,
					    .stop_ctx = u };
	CLEANUP(fd__closep) int fd = -1;
	uint64_t bytes = 0;
	int r = u->host->debuginfo(u->host, &wish, &fd, &bytes, why);

	if (r == -ECANCELED)
		return -1;
	if (r < 0)
		return tell_of_host(u, w, r, why);
	t->deadline_ns = now_of(u) + u->config.timeout_ns;
	r = sending__file(s, fd, bytes, why);
	if (r == -ECANCELED)
		return -1;
	if (r < 0)
		return tell_of_server(u, w, r, why);
	count(u, SENT, 1);
	count(u, SENT_BYTES, bytes);
	u->host->log(u->host, DCM_LOG_INFO, "debuginfo of %s (build id %s) is sent: %llu bytes",
		     w->path ? w->path : "", w->build_id, (unsigned long long)bytes);
	return u->config.cache_duration_ns;
}

static int64_t treat(struct uploader *t, const struct wanted *w, struct dcm_error *why)
{
	struct uploads *u = t->u;
	const struct sending s = { .call = call,
				   .ctx = t,
				   .build_id = w->build_id,
				   .signed_url = true,
				   .dir = u->host->data_dir_make(u->host, NULL) == 0 ? u->host->data_dir
										     : NULL };
	enum sending_answer answer = SENDING_NOT_WANTED;
	int r;

	t->deadline_ns = now_of(u) + u->config.timeout_ns;
	r = sending__ask(&s, &answer, why);
	if (r == -ECANCELED)
		return -1;
	if (r < 0)
		return tell_of_server(u, w, r, why);
	count(u, ASKED, 1);
	if (answer == SENDING_WANTED)
		return send_file(t, &s, w, why);
	count(u, answer == SENDING_KNOWN ? KNOWN : NOT_WANTED, 1);
	return u->config.cache_duration_ns;
}

/* Later, once more; or, after enough tries, when it is met again. Under the lock. */
static bool put_off(struct uploads *u, struct wanted *w)
{
	int64_t pause_s = u->n_away < 6 ? INT64_C(1) << u->n_away : PAUSE_MAX_S;

	u->n_away++;
	u->pause_until_ns = now_of(u) + pause_s * SECOND;
	if (++w->tries == TRIES)
		return false;
	push(u, w);
	return true;
}

/* What came of it: `for_ns` as of send_file(). Takes w. */
static void settle(struct uploads *u, struct wanted *w, int64_t for_ns, const struct dcm_error *why)
{
	uint64_t key = key_of(str__of(w->build_id));
	bool given_up = false;

	pthread_mutex_lock(&u->lock);
	if (for_ns > 0) {
		u->n_away = 0;
		u->pause_until_ns = 0;
		know(u, key, now_of(u) + for_ns);
	} else if (for_ns == 0 && put_off(u, w)) {
		w = NULL;
	} else {
		given_up = for_ns == 0;
		know(u, key, now_of(u) + RETRY_NS);
	}
	pthread_mutex_unlock(&u->lock);
	if (given_up) {
		count(u, FAILED, 1);
		complain(u, w, why);
	}
	free_wanted(w);
}

static void *run(void *ctx)
{
	struct uploader *t = ctx;
	struct wanted *w;

	while ((w = pop(t->u))) {
		struct dcm_error why = DCM_ERROR_INIT;
		int64_t for_ns = treat(t, w, &why);

		settle(t->u, w, for_ns, &why);
	}
	return NULL;
}

/* ---- lifecycle ---- */

/* Of the same server's network, but nobody's secrets: the URL says who may. */
static int make_plain(struct uploads *u, const struct dcm_http_options *http, struct dcm_error *err)
{
	struct dcm_http_options plain = { .proxy = http->proxy,
					  .follow_redirects = http->follow_redirects,
					  .enable_http2 = http->enable_http2 };

	plain.tls.ca = http->tls.ca;
	plain.tls.ca_file = http->tls.ca_file;
	plain.tls.insecure_skip_verify = http->tls.insecure_skip_verify;
	plain.tls.min_version = http->tls.min_version;
	plain.tls.max_version = http->tls.max_version;
	return u->host->http_client_new(u->host, &plain, &u->plain, err);
}

int uploads__new(const struct dcm_host *host, const struct uploads_config *config, const char *url,
		 const struct dcm_http_options *http, struct uploads **ret, struct dcm_error *err)
{
	struct uploads *u;
	int r;

	*ret = NULL;
	if (!config->enabled)
		return 0;
	if (!DCM_HAS(host, debuginfo_wanted))
		return error__set(err, -ENOTSUP, "debuginfo.enabled: this host has no debuginfo to give");
	u = NEW(struct uploads);
	if (!u)
		return error__nomem(err);
	u->host = host;
	u->config = *config;
	u->last = &u->first;
	pthread_mutex_init(&u->lock, NULL);
	cond__init(&u->work);
	u->url = delivery__url(url, "");
	u->known = mem__zalloc(KNOWN_SLOTS, sizeof(*u->known));
	u->threads = mem__zalloc(MAX_PARALLEL, sizeof(*u->threads));
	r = u->url && u->known && u->threads ? host->http_client_new(host, http, &u->client, err)
					     : error__nomem(err);
	if (r == 0)
		r = make_plain(u, http, err);
	if (r < 0) {
		uploads__free(u);
		return r;
	}
	for (int i = 0; i < N_COUNTS; i++)
		u->metrics[i] = host->metric(host, DCM_COUNTER, counts[i].name, counts[i].help);
	u->n_waiting = host->metric(host, DCM_GAUGE_METRIC, "debuginfo_waiting",
				    "Build ids that wait for the server to be asked about them.");
	host->debuginfo_wanted(host, true);
	u->is_wanting = true;
	*ret = u;
	return 0;
}

int uploads__start(struct uploads *u, struct dcm_error *err)
{
	int r = 0;

	while (u && r == 0 && u->n_threads < (uint32_t)u->config.max_parallel) {
		struct uploader *t = &u->threads[u->n_threads];

		t->u = u;
		pthread_cond_init(&t->answered, NULL);
		r = -pthread_create(&t->thread, NULL, run, t);
		if (r == 0) {
			pthread_setname_np(t->thread, "debuginfo-send");
			u->n_threads++;
		} else {
			pthread_cond_destroy(&t->answered);
		}
	}
	return r < 0 ? error__sys(err, r, "debuginfo: a thread cannot be started") : 0;
}

static void end_threads(struct uploads *u)
{
	uint64_t ids[MAX_PARALLEL] = { 0 };

	pthread_mutex_lock(&u->lock);
	u->stop = true;
	pthread_cond_broadcast(&u->work);
	for (uint32_t i = 0; i < u->n_threads; i++)
		ids[i] = u->threads[i].call_id;
	pthread_mutex_unlock(&u->lock);
	/* Ids are never used twice, and each belongs to one of the two. */
	for (uint32_t i = 0; i < u->n_threads; i++) {
		if (!ids[i])
			continue;
		u->host->http_cancel(u->client, ids[i]);
		u->host->http_cancel(u->plain, ids[i]);
	}
	for (uint32_t i = 0; i < u->n_threads; i++) {
		pthread_join(u->threads[i].thread, NULL);
		pthread_cond_destroy(&u->threads[i].answered);
	}
}

void uploads__free(struct uploads *u)
{
	if (!u)
		return;
	end_threads(u);
	if (u->is_wanting)
		u->host->debuginfo_wanted(u->host, false);
	u->host->http_client_free(u->client);
	u->host->http_client_free(u->plain);
	while (u->first) {
		struct wanted *w = u->first;

		u->first = w->next;
		free_wanted(w);
	}
	free(u->known);
	free(u->threads);
	free(u->url);
	pthread_cond_destroy(&u->work);
	pthread_mutex_destroy(&u->lock);
	free(u);
}

const char *uploads__note(struct uploads *u, char text[static UPLOADS_NOTE])
{
	text[0] = '\0';
	if (!u)
		return text;
	pthread_mutex_lock(&u->lock);
	memcpy(text, u->note, UPLOADS_NOTE);
	pthread_mutex_unlock(&u->lock);
	return text;
}
