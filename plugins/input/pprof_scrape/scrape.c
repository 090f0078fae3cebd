/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/scrape.c - asking one target, and what becomes of its answer
 *
 * A fetch is what is under way. Its answer is copied on the client's thread and posted to the loop,
 * where the fetch finds its target, or that there is none any more. Bodies have their room together (room.h): one that
 * has to give way counts as failed for want of memory.
 */
#include "plugins/input/pprof_scrape/scrape.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/url.h"
#include "plugins/input/pprof_scrape/arrival.h"

#define PATIENCE      5 /* failures in a row until turns are left out */
#define MAX_TURNS     6
#define MAX_TURNS_NS  ((int64_t)600000000000) /* of more than one */
#define OFF_TURNS     30 /* between looks at a profile that a target does not have */
#define OFF_TURNS_NS  ((int64_t)1800000000000)
#define UNASKED_NAMES 30 /* profiles between questions for names to a program that says none */

enum question {
	ASK_PROFILE,
	ASK_INDEX, /* the list of profiles, to learn why there is none */
	ASK_NAMES, /* of the addresses in a profile */
};

struct fetch {
	struct loop_item item; /* first */
	struct job *asker;     /* by whose client; the target may have another job meanwhile */
	struct loop *loop;
	struct memory *memory;
	struct target *target; /* NULL: it has gone. The loop's thread */
	uint64_t call;
	enum question question;
	struct fetch *profile; /* that waits for names, with ASK_NAMES */
	struct names names;    /* of a profile's addresses */
	int fault, status;
	struct room_piece body; /* of a 2xx */
	uint8_t said[256];	/* [n_said] of another: its beginning */
	size_t n_said;
	uint64_t wire_bytes;
	int64_t duration_ns;
	char sentence[300], content_type[80];
};

static void fetch_free(struct fetch *f)
{
	if (f->profile)
		fetch_free(f->profile);
	room__free(&f->memory->answers, &f->body);
	names__fini(&f->names);
	free(f);
}

/* ---- failures ---- */

__attribute__((format(printf, 3, 4))) static void fail(struct target *t, enum scrape_failure why,
						       const char *fmt, ...)
{
	struct job *j = t->job;
	char sentence[320];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&j->lock);
	target__set_error(t, sentence);
	t->state.health = DCM_HEALTH_DOWN;
	t->state.n_failed++;
	t->state.n_failures++;
	pthread_mutex_unlock(&j->lock);
	meters__failed(&j->meters, why);
}

/* The client's sentence begins with the URL, which a target's has beside it anyway. */
static const char *without_url(const char *sentence, struct dcm_str url)
{
	size_t n = strlen(sentence);

	return n > url.n + 2 && memcmp(sentence, url.p, url.n) == 0 &&
			       memcmp(sentence + url.n, ": ", 2) == 0
		       ? sentence + url.n + 2
		       : sentence;
}

static void fail_by_fault(struct target *t, const struct fetch *f)
{
	enum scrape_failure why = f->fault == -ETIMEDOUT ? SCRAPE_TIMEOUT
				  : f->fault == -EFBIG	 ? SCRAPE_LIMIT
				  : f->fault == -ENOMEM	 ? SCRAPE_MEMORY
							 : SCRAPE_CONNECT;

	fail(t, why, "%s",
	     f->sentence[0] ? without_url(f->sentence, text__str(t->url)) : strerror(-f->fault));
}

/* The first line of what the target says, which is often the reason. */
static void fail_by_status(struct target *t, const struct fetch *f)
{
	size_t n = 0;

	while (n < f->n_said && n < 120 && f->said[n] >= ' ' && f->said[n] < 0x7f)
		n++;
	fail(t, SCRAPE_STATUS, "answered with status %d%s%.*s; %s", f->status, n ? ": " : "",
	     (int)n, (const char *)f->said,
	     f->status == 401 || f->status == 403 ? "give the job credentials"
	     : f->status == 404			  ? "is the path right?"
						  : "what does its log say?");
}

/* ---- what there is to a profile that a target does not have ---- */

/* Go's /debug/pprof/ has a link "NAME?debug=1" for each profile that it knows, in quotes. */
static bool lists(const struct fetch *f, const struct target *t)
{
	struct dcm_str url = text__str(t->url), page = STR("?debug=");
	struct dcm_str path = url__without_query(url), folder = url__folder(url);
	struct dcm_str name = { path.p + folder.n, path.n - folder.n };

	for (const uint8_t *at = f->body.data, *end = at + f->body.n; at < end; at++) {
		at = memmem(at, (size_t)(end - at), page.p, page.n);
		if (!at)
			break;
		if ((size_t)(at - f->body.data) >= name.n && memcmp(at - name.n, name.p, name.n) == 0 &&
		    (at - name.n == f->body.data || strchr("/'\"=", at[-(ptrdiff_t)name.n - 1])))
			return true;
	}
	return false;
}

static void judge_index(struct target *t, const struct fetch *f)
{
	if (f->fault || f->status != 200 || !f->body.n ||
	    !memmem(f->body.data, f->body.n, "?debug=", 7) || lists(f, t)) {
		fail(t, SCRAPE_STATUS, "answered with status 404; is the path right?");
		return;
	}
	pthread_mutex_lock(&t->job->lock);
	t->state.health = DCM_HEALTH_OFF;
	t->state.n_failures = 0;
	target__set_error(
		t, "the target does not have this profile: its /debug/pprof/ does not list it");
	pthread_mutex_unlock(&t->job->lock);
}

/* ---- answers ---- */

static void succeed(struct target *t, const struct fetch *f, uint64_t n_rows)
{
	pthread_mutex_lock(&t->job->lock);
	t->state.health = DCM_HEALTH_UP;
	target__set_error(t, NULL);
	t->state.n_failures = 0;
	t->state.bytes = f->wire_bytes;
	t->state.samples = n_rows;
	pthread_mutex_unlock(&t->job->lock);
	meters__add(&t->job->meters, METER_SAMPLES, n_rows);
}

static void note_lost(struct fetch *f)
{
	f->fault = -ENOMEM;
	snprintf(f->sentence,
		 sizeof(f->sentence), "no room for the answer: all that were not read yet have %d MiB, and the largest give way",
		 (int)(MEMORY_ANSWERS_BYTES >> 20));
}

/* Of a 2xx; the profile that waits for names may have to give way meanwhile. False: it had to, which is told. */
static bool is_there(struct target *t, struct fetch *f)
{
	if (room__arrived(&f->memory->answers, &f->body))
		return true;
	note_lost(f);
	fail_by_fault(t, f);
	return false;
}

/* 0, or ARRIVAL_UNNAMED, where nothing is decided yet; what went wrong is told. `names` as struct arrival has it. */
static int take_profile(struct target *t, struct fetch *f, struct names *names)
{
	struct arrival a = { .target = t, .content_type = f->content_type, .names = names };
	struct dcm_error err = DCM_ERROR_INIT;
	int r;

	if (!is_there(t, f))
		return 0;
	a.data = f->body.data;
	a.n = f->body.n;
	r = arrival__take(&a, &err);

	if (r == ARRIVAL_UNNAMED)
		return r;
	if (r == 0)
		succeed(t, f, a.n_rows);
	else
		fail(t,
		     r == -ENOMEM		  ? SCRAPE_MEMORY
		     : r == -E2BIG || r == -EFBIG ? SCRAPE_LIMIT
						  : SCRAPE_FORMAT,
		     "%s", err.text);
	return 0;
}

static void note_answer(struct target *t, const struct fetch *f)
{
	struct job *j = t->job;

	pthread_mutex_lock(&j->lock);
	t->state.duration_ns = f->duration_ns;
	pthread_mutex_unlock(&j->lock);
	meters__add(&j->meters, METER_DURATION, (uint64_t)f->duration_ns);
	meters__add(&j->meters, METER_BYTES, f->wire_bytes);
}

/* What a target is asked. */
struct asking {
	enum question question;
	const char *url;
	struct dcm_str text;   /* that is sent; "": nothing is, by GET */
	struct fetch *profile; /* that waits for the answer, which then owns it; NULL: none */
};
static int ask(struct target *t, const struct asking *what);

/* ---- names that the program says itself ---- */

/*
 * Its profile came, and its names did not. A program that says them at other times is not believed to have other stacks
 * now: the scrape failed. One that never did is left alone for a while.
 */
static void take_without_names(struct target *t, struct fetch *profile, const struct fetch *f)
{
	/* One that answers and knows no name may be reading them; for a while. */
	bool is_mute = f->status / 100 == 2 &&
		       (!t->state.names_itself || t->state.n_failures >= PATIENCE);
	bool is_nowhere = !f->fault &&
			  (f->status == 404 || f->status == 405 || f->status == 501 || is_mute);

	meters__add(&t->job->meters, METER_NAME_FAILURES, 1);
	if (t->state.names_itself && !is_nowhere) {
		if (f->fault)
			fail_by_fault(t, f);
		else if (f->status / 100 == 2)
			fail(t, SCRAPE_STATUS,
			     "its /symbol names none of the addresses, as it did before");
		else
			fail_by_status(t, f);
		return;
	}
	t->state.unasked_names = UNASKED_NAMES;
	take_profile(t, profile, NULL);
}

static void take_names(struct target *t, const struct fetch *f)
{
	struct fetch *profile = f->profile;
	bool is_answer = !f->fault && f->status / 100 == 2;
	int64_t n = is_answer ? names__answer(&profile->names,
					      (struct dcm_str){ (const char *)f->body.data,
								(uint32_t)f->body.n })
			      : 0;

	if (n < 0) {
		fail(t, SCRAPE_MEMORY, "out of memory");
	} else if (n == 0) {
		take_without_names(t, profile, f);
	} else {
		meters__add(&t->job->meters, METER_NAMES, (uint64_t)n);
		take_profile(t, profile, &profile->names);
	}
}

/* True: the profile is the question's. False: it is decided, without names or as a failure. */
static bool ask_names(struct target *t, struct fetch *profile)
{
	struct buf url = { 0 }, text = { 0 };
	bool is_asked = false;

	if (profile->names.is_beyond || !names__url(text__str(t->url), &url))
		take_profile(t, profile, NULL);
	else if (names__question(&profile->names, &text) < 0)
		fail(t, SCRAPE_MEMORY, "out of memory");
	else
		is_asked = ask(t, &(struct asking){ .question = ASK_NAMES,
						    .url = (const char *)url.data,
						    .text = buf__view(&text),
						    .profile = profile }) == 0;
	buf__fini(&url);
	buf__fini(&text);
	return is_asked;
}

/* True: it waits for names, and is the question's. */
static bool take_or_ask(struct target *t, struct fetch *f)
{
	bool may_ask = t->state.unasked_names == 0;

	if (!may_ask)
		t->state.unasked_names--;
	return take_profile(t, f, may_ask ? &f->names : NULL) == ARRIVAL_UNNAMED && ask_names(t, f);
}

/*
 * Parca's and Go's paths have the list one level up: of "/x/debug/pprof/heap", "/x/debug/pprof/". False:
 * the path has none. A failure is told already.
 */
static bool ask_index(struct target *t)
{
	struct dcm_str folder = url__folder(text__str(t->url));
	char url[1024];

	if (!folder.n || folder.n >= sizeof(url))
		return false;
	snprintf(url, sizeof(url), "%.*s", STR_ARG(folder));
	ask(t, &(struct asking){ .question = ASK_INDEX, .url = url });
	return true;
}

/* It is not the target's fault, and no scrape of it failed. */
static void refuse_by_limit(struct target *t)
{
	struct job *j = t->job;

	pthread_mutex_lock(&j->lock);
	target__set_error(t, j->trouble);
	t->state.health = DCM_HEALTH_DOWN;
	pthread_mutex_unlock(&j->lock);
}

/* On the loop's thread. */
static void answered(struct loop_item *item)
{
	struct fetch *f = (struct fetch *)item;
	struct target *t = f->target;

	f->asker->n_calls--;
	if (!t) {
		fetch_free(f);
		return;
	}
	t->state.fetch = NULL;
	if (f->fault == -ECANCELED) {
		/* The instance stops: nobody failed. What came already goes its way. */
		if (f->profile)
			take_profile(t, f->profile, NULL);
	} else if (f->question == ASK_INDEX) {
		judge_index(t, f);
	} else if (f->question == ASK_NAMES) {
		take_names(t, f);
	} else {
		note_answer(t, f);
		if (f->fault)
			fail_by_fault(t, f);
		else if (f->status == 404 && t->plan->is_usual && ask_index(t))
			;
		else if (f->status != 200)
			fail_by_status(t, f);
		else if (take_or_ask(t, f))
			return;
	}
	fetch_free(f);
	if (t->job->is_over_limit)
		refuse_by_limit(t);
}

/* ---- the client's thread ---- */

static void copy_header(struct fetch *f, const struct dcm_http_reply *reply)
{
	for (uint32_t i = 0; i < reply->n_headers; i++)
		if (str__eq(reply->headers[i].name, STR("content-type")))
			snprintf(f->content_type, sizeof(f->content_type), "%.*s",
				 STR_ARG(reply->headers[i].value));
}

static bool take(void *ctx, const uint8_t *data, size_t n)
{
	struct fetch *f = ctx;

	return room__take(&f->memory->answers, &f->body, data, n);
}

static void done(void *ctx, const struct dcm_http_reply *reply)
{
	struct fetch *f = ctx;

	f->fault = reply->fault;
	f->status = reply->status;
	f->wire_bytes = reply->wire_bytes;
	f->duration_ns = reply->duration_ns;
	snprintf(f->sentence, sizeof(f->sentence), "%s", reply->sentence ? reply->sentence : "");
	copy_header(f, reply);
	if (!f->fault) {
		f->n_said = reply->n < sizeof(f->said) ? reply->n : sizeof(f->said);
		memcpy(f->said, f->n_said ? reply->data : (const uint8_t *)"", f->n_said);
	}
	/* Whoever had to give way and then failed otherwise failed so. */
	if (!room__arrived(&f->memory->answers, &f->body) && (!f->fault || f->fault == -ECANCELED))
		note_lost(f);
	loop__post(f->loop, &f->item);
}

/* ---- turns ---- */

/* A profile of N seconds takes them before its answer begins. */
static int64_t deadline_of(const struct target *t)
{
	return t->covers_ns + t->timeout_ns;
}

/* 0; else what went wrong is told, and the profile that waits is still the caller's. */
static int ask(struct target *t, const struct asking *what)
{
	static const struct dcm_http_header bytes = { STR("content-type"),
						      STR("application/octet-stream") };
	struct job *j = t->job;
	struct fetch *f = NEW(struct fetch);
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_http_call call = {
		.size = sizeof(call),
		.method = what->text.n ? "POST" : NULL,
		.url = what->url,
		.headers = &bytes,
		.n_headers = what->text.n ? 1 : 0,
		.body = what->text.p,
		.n_body = what->text.n,
		.timeout_ns = what->question == ASK_PROFILE ? deadline_of(t) : t->timeout_ns,
		.max_bytes = job_options__max_bytes(j->options),
		.take = take,
		.done = done,
		.ctx = f,
	};
	int r;

	if (!f) {
		fail(t, SCRAPE_MEMORY, "out of memory");
		return -ENOMEM;
	}
	f->item.fn = answered;
	f->asker = j;
	f->loop = j->loop;
	f->memory = j->memory;
	f->target = t;
	f->question = what->question;
	f->profile = what->profile;
	f->body.expected = what->question == ASK_PROFILE ? t->state.bytes : 0;
	t->state.fetch = f;
	if (f->profile)
		room__waits(&f->memory->answers, &f->profile->body);
	j->n_calls++;
	r = j->host->http_start(j->client, &call, &f->call, &err);
	if (r == 0)
		return 0;
	j->n_calls--;
	t->state.fetch = NULL;
	free(f);
	if (r != -ESHUTDOWN)
		fail(t, r == -ENOMEM ? SCRAPE_MEMORY : SCRAPE_CONNECT, "%s", err.text);
	return r;
}

static int64_t at_most(int64_t turns, int64_t ns, const struct target *t)
{
	const int64_t most = ns / t->interval_ns;

	return turns <= most ? turns : most > 1 ? most : 1;
}

/* How many turns to the next one: a target that keeps failing, or has no such profile, is asked rarely. */
static int64_t turns_of(const struct target *t)
{
	int64_t turns = t->state.n_failures < PATIENCE ? 1 : (int64_t)t->state.n_failures - PATIENCE + 2;

	if (t->state.health == DCM_HEALTH_OFF)
		return at_most(OFF_TURNS, OFF_TURNS_NS, t);
	return at_most(turns < MAX_TURNS ? turns : MAX_TURNS, MAX_TURNS_NS, t);
}

static void set_timer(struct target *t, int64_t turns)
{
	struct job *j = t->job;
	int64_t now = j->host->real_ns(j->host);
	int64_t next = target__next_ns(t, now) + (turns - 1) * t->interval_ns;

	pthread_mutex_lock(&j->lock);
	t->state.next_real_ns = next;
	pthread_mutex_unlock(&j->lock);
	if (loop__set(j->loop, &t->timer, j->host->mono_ns(j->host) + (next - now)) < 0)
		fail(t, SCRAPE_MEMORY, "out of memory: it is not asked any more until a reload");
}

static void turn(void *ctx)
{
	struct target *t = ctx;
	struct job *j = t->job;

	if (j->is_over_limit) {
		refuse_by_limit(t);
	} else if (t->state.fetch) {
		meters__add(&j->meters, METER_SKIPPED, 1);
	} else {
		t->state.asked_real_ns = j->host->real_ns(j->host);
		pthread_mutex_lock(&j->lock);
		t->state.last_real_ns = t->state.asked_real_ns;
		t->state.n_asked++;
		pthread_mutex_unlock(&j->lock);
		meters__add(&j->meters, METER_SCRAPES, 1);
		ask(t, &(struct asking){ .question = ASK_PROFILE, .url = t->url->p });
	}
	set_timer(t, turns_of(t));
}

int scrape__schedule(struct target *t)
{
	t->timer.fn = turn;
	t->timer.ctx = t;
	set_timer(t, 1);
	return t->timer.place ? 0 : -ENOMEM;
}

void scrape__take_over(struct target *t, struct target *old)
{
	struct loop *l = t->job->loop;
	int64_t at = old->timer.at_mono_ns;
	bool was_set = old->timer.place > 0;

	loop__cancel(l, &old->timer);
	t->timer.fn = turn;
	t->timer.ctx = t;
	/* There is room where the old one was. */
	if (was_set)
		loop__set(l, &t->timer, at);
	t->state = old->state;
	old->state = (struct target_state){ 0 };
	if (t->state.fetch)
		t->state.fetch->target = t;
}

void scrape__stop(struct target *t)
{
	loop__cancel(t->job->loop, &t->timer);
	if (!t->state.fetch)
		return;
	if (t->state.fetch->profile)
		take_profile(t, t->state.fetch->profile, NULL);
	t->state.fetch->target = NULL;
	t->job->host->http_cancel(t->state.fetch->asker->client, t->state.fetch->call);
	t->state.fetch = NULL;
}
