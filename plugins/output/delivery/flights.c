/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/delivery/flights.c - several profiles of a batch, and of those behind it, on their way at once
 */
#include "plugins/output/delivery/flights.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/error.h"
#include "core/base/hash.h"

/*
 * Of a group: after so long no further batch is begun. What was taken is said soon, so that little comes twice when this side ends, and a
 * stop waits for little.
 */
#define GROUP_NS INT64_C(250000000)
/* Where some were taken and the next one was not, it comes no sooner: it is for the writer to wait, as where none was. */
#define PAUSE_NS INT64_C(100000000)

/* One write(), or write_group(). */
struct departure {
	struct flights *fs;
	struct dcm_batch *const *batches; /* [n] */
	uint32_t n;
	const struct flights_ops *ops;
	void *ctx;
	int64_t deadline_mono_ns;
	struct dcm_error *err;
	uint32_t n_done;	  /* of the batches: all before are settled */
	uint32_t n_profiles_done; /* of the next one */
	int rc; /* of the first that was not taken, in the order of all; 0: all were, so far */
};

int flights__open(struct flights *fs, struct sender *s, struct dcm_error *err)
{
	*fs = (struct flights){ .sender = s, .sentence = DCM_ERROR_INIT };
	for (uint32_t i = 0; i < FLIGHTS_MAX; i++) {
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

/* ---- what is known of those that come again ---- */

/* 0: of a batch without an id nothing is remembered. */
static uint64_t key_of(const struct dcm_batch *b, uint32_t profile)
{
	const uint64_t parts[] = { b->id.source.lo, b->id.source.hi, b->id.sequence, profile };

	return b->id.source.lo || b->id.source.hi ? hash__bytes(parts, sizeof(parts), 0) | 1 : 0;
}

static struct flight_memory *find(struct flights *fs, uint64_t key)
{
	for (uint32_t i = 0; key && i < 2 * FLIGHTS_MAX; i++)
		if (fs->kept[i].key == key)
			return &fs->kept[i];
	return NULL;
}

static void keep(struct flights *fs, const struct flight *f, bool is_taken)
{
	struct flight_memory *m = find(fs, f->key);

	if (!f->key)
		return;
	if (!m)
		m = &fs->kept[fs->n_kept++ % (2 * FLIGHTS_MAX)];
	*m = (struct flight_memory){ f->key, is_taken, f->note };
}

static void forget(struct flights *fs, uint64_t key)
{
	struct flight_memory *m = find(fs, key);

	if (m)
		*m = (struct flight_memory){ 0 };
}

/* ---- one flight ---- */

static void make_and_begin(struct departure *d, struct flight *f)
{
	f->err = (struct dcm_error)DCM_ERROR_INIT;
	f->request = (struct delivery_request){ .url = NULL };
	f->rc = d->ops->make(d->ctx, f, d->batches[f->batch], &f->err);
	if (f->rc == 0)
		f->rc = delivery__begin(f->delivery, &f->request, d->deadline_mono_ns, &f->err);
	f->is_up = f->rc == 0;
	if (!f->is_up)
		unload(f);
}

static void launch(struct departure *d, struct flight *f, uint32_t batch, uint32_t profile)
{
	const struct flight_memory *m;

	f->batch = batch;
	f->profile = profile;
	f->key = key_of(d->batches[batch], profile);
	m = find(d->fs, f->key);
	f->note = m ? m->note : (struct flight_note){ 0 };
	f->next = (struct flight_note){ 0 };
	f->is_known = m && m->is_taken;
	f->is_up = false;
	f->rc = 0;
	if (!f->is_known)
		make_and_begin(d, f);
}

/* The request that is on its way ends. True: another part is up. */
static bool land_one(struct departure *d, struct flight *f)
{
	f->rc = delivery__end(f->delivery, &f->err);
	unload(f);
	f->is_up = false;
	if (f->rc < 0)
		return false;
	f->note = f->next;
	if (d->ops->has_more && d->ops->has_more(d->ctx, f, d->batches[f->batch]))
		make_and_begin(d, f);
	return f->is_up;
}

/* What became of it, with all of its parts. */
static int land(struct departure *d, struct flight *f)
{
	while (f->is_up && land_one(d, f))
		;
	return f->rc;
}

/* ---- all of them ---- */

/* It is the next one, and settled. */
static void advance(struct departure *d, const struct flight *f)
{
	forget(d->fs, f->key);
	d->fs->n_settled++;
	d->n_done = f->batch;
	d->n_profiles_done = f->profile + 1;
	if (d->n_profiles_done == d->batches[f->batch]->n_profiles) {
		d->n_done++;
		d->n_profiles_done = 0;
	}
}

/* The first that is not taken ends it: what is behind it is remembered. */
static void settle(struct departure *d, struct flight *f, int rc)
{
	struct sender *s = d->fs->sender;
	const bool is_next = d->rc == 0;

	if (rc == 0 && !f->is_known)
		s->host->metric_add(s->sent, 1);
	if (is_next && rc == -EILSEQ && f->err.text[0])
		sender__warn(s, "%s", f->err.text);
	if (is_next && rc == -EILSEQ)
		s->host->drop(s->host, "not_encoded", d->batches[f->batch]->profiles[f->profile].n_rows);
	if (is_next && (rc == 0 || rc == -EILSEQ)) {
		advance(d, f);
		return;
	}
	keep(d->fs, f, rc == 0);
	if (!is_next)
		return;
	d->rc = rc;
	if (rc != -EAGAIN) {
		s->refused = f->profile;
		d->rc = -EBADMSG;
	}
	error__set(d->err, d->rc, "%s", f->err.text);
}

/* Is another profile to be launched, and where is it: *batch, *profile? Time that is over ends with a batch that has begun. */
static bool has_next(const struct departure *d, int64_t until_ns, uint32_t *batch, uint32_t *profile)
{
	const struct dcm_host *host = d->fs->sender->host;

	for (; *batch < d->n && *profile == d->batches[*batch]->n_profiles; ++*batch)
		*profile = 0;
	return d->rc == 0 && *batch < d->n &&
	       (*batch == 0 || *profile > 0 || host->mono_ns(host) < until_ns);
}

/*
 * From the profile on that the first batch goes on with. A profile has its place until it is settled: what the place's delivery
 * knows of its failures holds.
 */
static void fly(struct departure *d, int64_t until_ns)
{
	struct flights *fs = d->fs;
	uint32_t batch = 0, profile = d->n_profiles_done;
	const uint64_t first = fs->n_settled;
	uint64_t n_landed = 0, n_launched = 0;

	do {
		for (; n_launched - n_landed < FLIGHTS_MAX && has_next(d, until_ns, &batch, &profile);
		     profile++)
			launch(d, &fs->v[(first + n_launched++) % FLIGHTS_MAX], batch, profile);
		if (n_landed < n_launched) {
			struct flight *f = &fs->v[(first + n_landed++) % FLIGHTS_MAX];
			settle(d, f, land(d, f));
		}
	} while (n_landed < n_launched || has_next(d, until_ns, &batch, &profile));
	if (d->rc == 0)
		d->n_done = batch;
}

/* What the first of the batches came to when it was the next one, behind others: it waits, or has to go alone. */
static int check_before(struct departure *d)
{
	struct flights *fs = d->fs;
	const struct dcm_host *host = fs->sender->host;
	const uint64_t key = key_of(d->batches[0], 0);

	if (fs->alone && fs->alone == key && d->n > 1)
		return error__set(d->err, -EBADMSG, "%s", fs->sentence.text);
	fs->alone = 0;
	/* Said once: the writer waits then. */
	if (host->mono_ns(host) < fs->not_before_ns) {
		fs->not_before_ns = 0;
		return error__set(d->err, -EAGAIN, "%s", fs->sentence.text);
	}
	for (uint32_t i = 0; i < FLIGHTS_MAX; i++) {
		int r = delivery__check_patience(fs->v[i].delivery, d->err);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Some batches went, and the next one did not: that is said when it comes as the first. */
static int part(struct departure *d)
{
	struct flights *fs = d->fs;
	const struct dcm_host *host = fs->sender->host;

	sender__begin(fs->sender, d->batches[d->n_done]);
	resume__note(&fs->sender->resume, d->n_profiles_done);
	error__set(&fs->sentence, d->rc, "%s", d->err->text);
	if (d->rc == -EAGAIN)
		fs->not_before_ns = host->mono_ns(host) + PAUSE_NS;
	else
		fs->alone = key_of(d->batches[d->n_done], 0);
	return 0;
}

static int depart(struct departure *d)
{
	struct sender *s = d->fs->sender;

	d->n_profiles_done = sender__begin(s, d->batches[0]);
	d->rc = check_before(d);
	if (d->rc == 0)
		fly(d, s->host->mono_ns(s->host) + GROUP_NS);
	if (d->rc < 0 && d->n_done > 0)
		return part(d);
	resume__note(&s->resume, d->n_profiles_done);
	return sender__settle(s, d->rc, d->err);
}

int flights__write(struct flights *fs, struct dcm_batch *batch, const struct flights_ops *ops,
		   void *ctx, int64_t deadline_mono_ns, struct dcm_error *err)
{
	uint32_t n_done;

	return flights__write_group(fs, &batch, 1, ops, ctx, &n_done, deadline_mono_ns, err);
}

int flights__write_group(struct flights *fs, struct dcm_batch *const *batches, uint32_t n,
			 const struct flights_ops *ops, void *ctx, uint32_t *ret_n_done,
			 int64_t deadline_mono_ns, struct dcm_error *err)
{
	struct dcm_error own = DCM_ERROR_INIT; /* the state needs a sentence, whether the caller does or not */
	struct departure d = { .fs = fs,
			       .batches = batches,
			       .n = n,
			       .ops = ops,
			       .ctx = ctx,
			       .deadline_mono_ns = deadline_mono_ns,
			       .err = err ? err : &own };
	int r = depart(&d);

	*ret_n_done = d.n_done;
	return r;
}

int flights__pass_over(struct flights *fs, const struct dcm_batch *batch, uint32_t *ret_profile)
{
	int r = sender__pass_over(fs->sender, batch, ret_profile);

	fs->n_settled += r == 0;
	return r;
}
