/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/delivery/sender.c - a batch to the other side, profile by profile
 */
#include "plugins/output/delivery/sender.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/url.h"

int sender__open(struct sender *s, const struct dcm_host *host, const struct sender_config *config,
		 struct dcm_error *err)
{
	int r;

	*s = (struct sender){ .host = host, .refused = DCM_NONE, .why = DCM_ERROR_INIT };
	url__shown(config->url, s->place, sizeof(s->place));
	s->url = delivery__url(config->url, config->path);
	if (!s->url)
		return error__nomem(err);
	r = host->http_client_new(host, config->http, &s->client, err);
	if (r < 0)
		return r;
	s->delivery = delivery__new(host, s->client);
	if (!s->delivery)
		return error__nomem(err);
	s->sent = host->metric(host, DCM_COUNTER, config->metric, "Profiles that the server took.");
	return 0;
}

void sender__close(struct sender *s)
{
	if (s->host) {
		resume__end(&s->resume, s->host);
		s->host->http_client_free(s->client);
	}
	delivery__free(s->delivery);
	free(s->url);
}

void sender__start(struct sender *s)
{
	char note[UPLOADS_NOTE];

	s->host->set_state(s->host, DCM_STATE_OK, "sends to %s%s", s->place,
			   uploads__note(s->uploads, note));
}

/* ---- work ---- */

void sender__warn(struct sender *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->why.text, sizeof(s->why.text), fmt, ap);
	va_end(ap);
}

/* One request, from *at on, which then is where the next begins. 0, or as sender_fn. */
static int send_some(struct sender *s, const struct dcm_batch *batch, sender_fn send, void *ctx,
		     uint32_t *at, int64_t deadline_mono_ns, struct dcm_error *err)
{
	uint32_t end = *at, max = *at < s->alone_until ? 1 : UINT32_MAX;
	int r = send(ctx, batch, *at, max, &end, deadline_mono_ns, err);

	if (r == -EAGAIN)
		return r;
	if (r == -ENOTSUP)
		return -EBADMSG;
	if (r < 0 && r != -EILSEQ && end - *at > 1) {
		s->alone_until = end;
		return 0;
	}
	if (r < 0 && r != -EILSEQ) {
		s->refused = *at;
		return -EBADMSG;
	}
	if (r < 0)
		s->host->drop(s->host, "not_encoded", batch->profiles[*at].n_rows);
	else
		s->host->metric_add(s->sent, end - *at);
	*at = end;
	resume__note(&s->resume, end);
	return 0;
}

/* What was passed over is told until a batch goes through without. */
static void tell(struct sender *s, int r, const struct dcm_error *err)
{
	if (r < 0)
		s->host->set_state(s->host, DCM_STATE_DEGRADED, "%s", err->text);
	else if (s->why.text[0])
		s->host->set_state(s->host, DCM_STATE_DEGRADED, "%s", s->why.text);
	else
		sender__start(s);
}

uint32_t sender__begin(struct sender *s, struct dcm_batch *batch)
{
	s->is_again = resume__is_same(&s->resume, batch);
	s->refused = DCM_NONE;
	if (!s->is_again) {
		s->alone_until = 0;
		s->why.text[0] = '\0';
	}
	return resume__begin(&s->resume, s->host, batch);
}

int sender__settle(struct sender *s, int r, const struct dcm_error *err)
{
	if (r == -EBADMSG)
		error__set(&s->why, r, "%s", err->text);
	tell(s, r, err);
	if (r == 0)
		resume__end(&s->resume, s->host);
	return r;
}

int sender__write(struct sender *s, struct dcm_batch *batch, sender_fn send, void *ctx,
		  int64_t deadline_mono_ns, struct dcm_error *err)
{
	struct dcm_error own = DCM_ERROR_INIT; /* the state needs a sentence, whether the caller does or not */
	uint32_t at = sender__begin(s, batch);
	int r = 0;

	err = err ? err : &own;
	while (r == 0 && at < batch->n_profiles)
		r = send_some(s, batch, send, ctx, &at, deadline_mono_ns, err);
	return sender__settle(s, r, err);
}

int sender__begin_group(struct sender *s, struct dcm_batch *const *batches, uint32_t n,
			struct dcm_error *err)
{
	for (uint32_t i = 0; i < n; i++)
		if (resume__is_same(&s->resume, batches[i]))
			return error__set(err, -ENOTSUP, "one of the batches goes on where it was");
	s->why.text[0] = '\0';
	return 0;
}

int sender__settle_group(struct sender *s, uint32_t n_profiles, int r, const struct dcm_error *err)
{
	if (r == 0)
		s->host->metric_add(s->sent, n_profiles);
	if (r == 0 || r == -EAGAIN)
		tell(s, r, err);
	return r;
}

int sender__write_group(struct sender *s, struct dcm_batch *const *batches, uint32_t n,
			sender_group_fn send, void *ctx, uint32_t *ret_n_done,
			int64_t deadline_mono_ns, struct dcm_error *err)
{
	struct dcm_error own = DCM_ERROR_INIT; /* the state needs a sentence, whether the caller does or not */
	uint32_t n_profiles = 0, n_sent = 0;
	int r;

	err = err ? err : &own;
	if (resume__is_same(&s->resume, batches[0])) {
		*ret_n_done = 0;
		return 0;
	}
	r = sender__begin_group(s, batches, n, err);
	if (r == 0)
		r = send(ctx, batches, n, &n_sent, deadline_mono_ns, err);
	if (r == 0)
		*ret_n_done = n_sent;
	if (r == 0 && n_sent == 0)
		return 0;
	for (uint32_t i = 0; i < n_sent; i++)
		n_profiles += batches[i]->n_profiles;
	return sender__settle_group(s, n_profiles, r, err);
}

int sender__pass_over(struct sender *s, const struct dcm_batch *batch, uint32_t *ret_profile)
{
	if (s->refused == DCM_NONE || !resume__is_same(&s->resume, batch))
		return -ENOENT;
	*ret_profile = s->refused;
	resume__note(&s->resume, s->refused + 1);
	s->refused = DCM_NONE;
	return 0;
}
