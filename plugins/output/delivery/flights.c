/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/delivery/flights.c - several profiles of a batch on their way at once
 */
#include "plugins/output/delivery/flights.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/error.h"

/* One write(). */
struct departure {
	struct flights *fs;
	const struct dcm_batch *batch;
	const struct flights_ops *ops;
	void *ctx;
	int64_t deadline_mono_ns;
	struct dcm_error *err;
	int rc; /* of the first that was not taken, in the batch's order; 0: all were, so far */
};

static void forget(struct flights *fs)
{
	for (uint32_t i = 0; i < FLIGHTS_MAX; i++)
		fs->taken[i] = fs->tried[i] = DCM_NONE;
}

int flights__open(struct flights *fs, struct sender *s, struct dcm_error *err)
{
	*fs = (struct flights){ .sender = s };
	forget(fs);
	for (uint32_t i = 0; i < FLIGHTS_MAX; i++) {
		fs->v[i].place = i;
		fs->v[i].delivery = delivery__new(s->host, s->client);
		if (!fs->v[i].delivery)
			return error__nomem(err);
		delivery__share_patience(fs->v[i].delivery, fs->v[0].delivery);
	}
	return 0;
}

static void unload(struct flight *f)
{
	buf__fini(&f->url);
	buf__fini(&f->message);
	free(f->data);
	f->data = NULL;
}

void flights__close(struct flights *fs)
{
	for (uint32_t i = FLIGHTS_MAX; i-- > 0;)
		delivery__free(fs->v[i].delivery);
}

/* ---- one flight ---- */

static void make_and_begin(struct departure *d, struct flight *f)
{
	f->err = (struct dcm_error)DCM_ERROR_INIT;
	f->request = (struct delivery_request){ .url = NULL };
	f->rc = d->ops->make(d->ctx, f, d->batch, &f->err);
	if (f->rc == 0)
		f->rc = delivery__begin(f->delivery, &f->request, d->deadline_mono_ns, &f->err);
	f->is_up = f->rc == 0;
	if (!f->is_up)
		unload(f);
}

static void launch(struct departure *d, uint32_t profile)
{
	struct flights *fs = d->fs;
	const uint32_t place = profile % FLIGHTS_MAX;
	struct flight *f = &fs->v[place];

	f->profile = profile;
	f->is_again = fs->tried[place] == profile;
	f->is_up = false;
	f->rc = 0;
	if (fs->taken[place] != profile)
		make_and_begin(d, f);
}

/* What became of it, with all of its parts. */
static int land(struct departure *d, struct flight *f)
{
	bool has_more = f->is_up;

	while (has_more) {
		f->rc = delivery__end(f->delivery, &f->err);
		unload(f);
		has_more = f->rc == 0 && d->ops->took && d->ops->took(d->ctx, f, d->batch);
		f->is_again = has_more;
		if (has_more)
			make_and_begin(d, f);
		has_more = has_more && f->is_up;
	}
	f->is_up = false;
	return f->rc;
}

/* ---- all of them ---- */

/* The first that is not taken ends it: what is behind it keeps for itself how it went. */
static void settle(struct departure *d, struct flight *f, int rc)
{
	struct sender *s = d->fs->sender;
	const uint32_t place = f->place;

	if (rc == -EILSEQ && d->rc == 0)
		s->host->drop(s->host, "not_encoded", d->batch->profiles[f->profile].n_rows);
	if (rc == 0 && d->fs->taken[place] != f->profile)
		s->host->metric_add(s->sent, 1);
	if (rc == 0)
		d->fs->taken[place] = f->profile;
	d->fs->tried[place] = rc < 0 ? f->profile : DCM_NONE;
	if (d->rc < 0)
		return;
	if (rc == 0 || rc == -EILSEQ) {
		resume__note(&s->resume, f->profile + 1);
		return;
	}
	d->rc = rc;
	if (rc != -EAGAIN) {
		s->refused = f->profile;
		d->rc = -EBADMSG;
	}
	error__set(d->err, d->rc, "%s", f->err.text);
}

/* Somebody asked for patience: that holds for all. */
static int check_patience(struct flights *fs, struct dcm_error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < FLIGHTS_MAX; i++)
		r = delivery__check_patience(fs->v[i].delivery, err);
	return r;
}

static int fly(struct departure *d, uint32_t from)
{
	uint32_t next = from;

	for (uint32_t i = from; i < next || (d->rc == 0 && i < d->batch->n_profiles); i++) {
		for (; d->rc == 0 && next < d->batch->n_profiles && next - i < FLIGHTS_MAX; next++)
			launch(d, next);
		struct flight *f = &d->fs->v[i % FLIGHTS_MAX];
		settle(d, f, land(d, f));
	}
	return d->rc;
}

int flights__write(struct flights *fs, struct dcm_batch *batch, const struct flights_ops *ops,
		   void *ctx, int64_t deadline_mono_ns, struct dcm_error *err)
{
	struct dcm_error own = DCM_ERROR_INIT; /* the state needs a sentence, whether the caller does or not */
	struct departure d = { .fs = fs,
			       .batch = batch,
			       .ops = ops,
			       .ctx = ctx,
			       .deadline_mono_ns = deadline_mono_ns,
			       .err = err ? err : &own };
	uint32_t at = sender__begin(fs->sender, batch);
	int r;

	if (!fs->sender->is_again)
		forget(fs);
	r = check_patience(fs, d.err);
	return sender__settle(fs->sender, r < 0 ? r : fly(&d, at), d.err);
}
