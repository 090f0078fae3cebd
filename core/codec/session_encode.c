/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/session_encode.c - the sender's side of a session
 *
 * A builder is kept. Each batch is copied into it, which gives what it uses the numbers that were sent before, or new
 * ones at the tables' ends; what is beyond what was sent goes into the message, with the rows, which are then dropped.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/batch/builder.h"
#include "core/batch/copy.h"
#include "core/codec/session.h"
#include "core/codec/wire_write.h"

struct dcm_session {
	struct dcm_hash name;	  /* random: nobody else has it */
	uint64_t era;		  /* counts beginnings */
	uint32_t n_messages;	  /* of this era */
	struct dcm_builder *kept; /* NULL: nothing was sent in this era */
	struct wire_sent sent;
};

int session__new(struct dcm_session **ret, struct dcm_error *err)
{
	struct dcm_session *s = NEW(struct dcm_session);

	if (!s)
		return error__nomem(err);
	/* It waits until there is some, once after boot, and never gives less of so little. */
	if (getrandom(&s->name, sizeof(s->name), 0) != sizeof(s->name)) {
		free(s);
		return error__sys(err, -errno, "no random number is to be had");
	}
	*ret = s;
	return 0;
}

void session__free(struct dcm_session *s)
{
	if (!s)
		return;
	builder__free(s->kept);
	free(s);
}

void session__anew(struct dcm_session *s)
{
	builder__free(s->kept);
	s->kept = NULL;
}

bool session__is_under_way(const struct dcm_session *s)
{
	return s->kept != NULL;
}

static int begin(struct dcm_session *s, struct dcm_error *err)
{
	s->kept = builder__new(SESSION_MAX_BYTES);
	if (!s->kept)
		return error__nomem(err);
	s->era++;
	s->n_messages = 0;
	s->sent = (struct wire_sent){ .strings = 1 };
	return 0;
}

/* The batch's profiles are in the builder then, and nothing else's. */
static int copy(struct dcm_session *s, const struct dcm_batch *batch, struct dcm_error *err)
{
	CLEANUP(copier__freep) struct copier *c = copier__new(batch, s->kept);

	if (!c)
		return error__nomem(err);
	for (uint32_t i = 0; i < batch->n_profiles && !builder__error(s->kept); i++)
		copier__profile(c, i);
	return builder__error(s->kept) ? error__set(err, builder__error(s->kept),
						    "session format: the batch cannot be copied")
				       : 0;
}

static int take_up(struct dcm_session *s, const struct dcm_batch *batch, struct dcm_error *err)
{
	int r = s->kept ? 0 : begin(s, err);

	if (r == 0)
		r = copy(s, batch, err);
	if (r < 0)
		session__anew(s);
	return r;
}

static int put(struct dcm_session *s, const struct dcm_batch *batch, struct buf *out)
{
	size_t start = wire_write__begin(out);
	struct dcm_batch all;

	builder__view(s->kept, &all);
	buf__le64(out, s->name.lo);
	buf__le64(out, s->name.hi);
	buf__varint(out, s->era);
	buf__varint(out, s->n_messages);
	wire_write__id(out, &batch->id);
	wire_write__entries(out, &all, &s->sent);
	wire_write__profiles(out, &all);
	s->sent = (struct wire_sent){
		.strings = all.n_strings,
		.mappings = all.n_mappings,
		.functions = all.n_functions,
		.processes = all.n_processes,
		.locations = all.n_locations,
		.stacks = all.n_stacks,
		.series = all.n_series,
		.label_sets = all.n_label_sets,
	};
	return wire_write__end(out, start, &wire__session_header);
}

int session__encode(struct dcm_session *s, const struct dcm_batch *batch, struct buf *out,
		    struct dcm_error *err)
{
	bool had_others;
	int r;

	if (s->kept && s->n_messages >= SESSION_MAX_MESSAGES)
		session__anew(s);
	had_others = s->kept;
	r = take_up(s, batch, err);
	/* There may be room for it alone. */
	if (r == -E2BIG && had_others)
		r = take_up(s, batch, err);
	if (r < 0)
		return r;
	r = put(s, batch, out);
	if (r < 0) {
		session__anew(s);
		return r == -ENOMEM ? error__nomem(err)
				    : error__set(err, r, "session format: the message is too large");
	}
	builder__drop_profiles(s->kept);
	s->n_messages++;
	return 0;
}

int session__encode_bytes(struct dcm_session *s, const struct dcm_batch *batch, uint8_t **ret_data,
			  size_t *ret_n, struct dcm_error *err)
{
	CLEANUP(buf__fini) struct buf out = { 0 };
	int r = session__encode(s, batch, &out, err);

	if (r == 0)
		*ret_data = buf__take(&out, ret_n);
	return r;
}
