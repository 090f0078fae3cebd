/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/ledger.c - what a store was told and what it promised, number by number
 */
#include "tests/storage/ledger.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int ledger__write(struct ledger *l, void *store, unsigned n)
{
	uint64_t from = l->next_id;
	int rc;

	if (from + n > LEDGER_MAX)
		return -ENOSPC;
	l->next_id += n;
	memset(l->promises + from, MAYBE, n);
	rc = l->subject->write(store, from, n);
	if (rc)
		return rc;
	for (uint64_t id = 0; id < from; id++)
		if (l->promises[id] == MISSING)
			l->promises[id] = GONE;
	memset(l->promises + from, ACKED, n);
	l->n_acked += n;
	return 0;
}

static void fade(void *ctx, uint64_t id)
{
	struct ledger *l = ctx;
	uint8_t *promise = &l->promises[id];

	l->n_expired++;
	if (*promise != GONE && *promise != FADING)
		*promise = LEAVING;
}

static void replace_all(struct ledger *l, uint8_t old, uint8_t promise)
{
	for (uint64_t id = 0; id < l->next_id; id++)
		if (l->promises[id] == old)
			l->promises[id] = promise;
}

static void promise_all(struct ledger *l, unsigned kind, uint8_t promise)
{
	for (uint64_t id = 0; id < l->next_id; id++)
		if (l->subject->removed(kind, id) && l->promises[id] != GONE)
			l->promises[id] = promise;
}

/* What was never acknowledged is there or not as it is, and may come back after a start without it. */
static void doubt_all(struct ledger *l, unsigned kind)
{
	for (uint64_t id = 0; id < l->next_id; id++)
		if (l->subject->removed(kind, id) && l->promises[id] != GONE &&
		    l->promises[id] != MAYBE && l->promises[id] != MISSING)
			l->promises[id] = UNSURE;
}

int ledger__remove(struct ledger *l, void *store, unsigned kind)
{
	int rc;

	doubt_all(l, kind);
	rc = l->subject->remove(store, kind);
	if (!rc)
		promise_all(l, kind, GONE);
	return rc;
}

int ledger__retain(struct ledger *l, void *store)
{
	int rc = l->subject->retain(store, fade, l);

	/* What a failed one leaves, no later success makes durable. */
	replace_all(l, LEAVING, rc ? UNSURE : FADING);
	if (!rc)
		rc = l->subject->settle(store);
	if (!rc)
		replace_all(l, FADING, GONE);
	return rc;
}

static void see(void *ctx, uint64_t id)
{
	struct ledger *l = ctx;

	if (id < l->next_id)
		l->seen[id] += l->seen[id] < 2;
	else
		l->made_up = true;
}

static bool wrong(struct ledger *l, const char *what, uint64_t id)
{
	snprintf(l->fault, sizeof(l->fault), "number %" PRIu64 ": %s", id, what);
	return false;
}

bool ledger__look(struct ledger *l, void *store, bool settled)
{
	memset(l->seen, 0, l->next_id);
	l->subject->ids(store, see, l);
	if (l->made_up)
		return wrong(l, "and up: nobody sent them", l->next_id);
	for (uint64_t id = 0; id < l->next_id; id++) {
		uint8_t *promise = &l->promises[id];

		if (l->seen[id] > 1)
			return wrong(l, "there twice", id);
		if (l->seen[id] == 0 && *promise == ACKED)
			return wrong(l, "acknowledged, and lost", id);
		if (l->seen[id] == 1 && *promise == GONE)
			return wrong(l, "gone, and back again", id);
		l->n_seen += l->seen[id];
		if (settled && l->seen[id])
			*promise = ACKED;
		else if (settled)
			*promise = *promise == MAYBE || *promise == MISSING ? MISSING : GONE;
	}
	return true;
}
