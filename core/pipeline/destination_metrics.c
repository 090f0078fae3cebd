/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/destination_metrics.c - what a destination counts
 */
#include "core/pipeline/destination_private.h"

/* Of the queue before its spool, where it has one, and its own: as if they were one. */
static void add_queue(struct queue_view *to, const struct queue_view *before)
{
	to->bytes += before->bytes;
	to->n_batches += before->n_batches;
	to->n_popped += before->n_popped;
	to->n_lost_batches += before->n_lost_batches;
	to->n_lost_rows += before->n_lost_rows;
	to->n_retries += before->n_retries;
	to->n_in = before->n_in;
	to->reserve_bytes = before->reserve_bytes;
	to->max_bytes = before->max_bytes;
	if (before->oldest_mono_ns && (!to->oldest_mono_ns || before->oldest_mono_ns < to->oldest_mono_ns))
		to->oldest_mono_ns = before->oldest_mono_ns;
}

struct queue_view destination__counts(const struct destination *d)
{
	struct queue_view v;

	queue__view(d->queue, &v);
	if (d->spooler) {
		struct spooler_view spooler;

		spooler__view(d->spooler, &spooler);
		add_queue(&v, &spooler.queue);
	}
	return v;
}

static double read_bytes(void *ctx)
{
	return (double)destination__counts(ctx).bytes;
}

static double read_batches(void *ctx)
{
	struct queue_view v = destination__counts(ctx);

	return (double)(v.n_batches + v.n_popped);
}

static double read_oldest(void *ctx)
{
	const struct destination *d = ctx;
	struct queue_view v = destination__counts(d);

	return v.oldest_mono_ns ? (double)(clock__mono(d->env.clock) - v.oldest_mono_ns) / 1e9 : 0;
}

static double read_written_batches(void *ctx)
{
	return (double)destination__counts(ctx).n_out;
}

static double read_written_rows(void *ctx)
{
	return (double)destination__counts(ctx).n_out_rows;
}

static double read_retries(void *ctx)
{
	return (double)destination__counts(ctx).n_retries;
}

static double read_filtered(void *ctx)
{
	return (double)((struct destination *)ctx)->n_profiles_filtered;
}

static struct spool_view spool_of(const struct destination *d)
{
	struct spooler_view v;

	spooler__view(d->spooler, &v);
	return v.spool;
}

static double read_spool_bytes(void *ctx)
{
	return (double)spool_of(ctx).bytes;
}

static double read_spool_batches(void *ctx)
{
	return (double)spool_of(ctx).n_batches;
}

static double read_spool_oldest(void *ctx)
{
	const struct destination *d = ctx;
	int64_t oldest = spool_of(d).oldest_real_ns;

	return oldest ? (double)(clock__real(d->env.clock) - oldest) / 1e9 : 0;
}

static double read_set_aside(void *ctx)
{
	return (double)spool_of(ctx).n_aside;
}

static double read_undecided(void *ctx)
{
	return (double)((struct destination *)ctx)->n_rows_undecided;
}

void destination__add_metrics(struct destination *d)
{
	const struct stats_def defs[] = {
		{ STATS_GAUGE, "decima_queue_bytes",
		  "Memory of the batches that wait or are being written.", NULL, read_bytes, d },
		{ STATS_GAUGE, "decima_queue_batches", "Batches that wait or are being written.",
		  NULL, read_batches, d },
		{ STATS_GAUGE, "decima_queue_oldest_seconds",
		  "How long the oldest of them has waited.", NULL, read_oldest, d },
		{ STATS_COUNTER, "decima_written_batches_total", "Batches that were written.", NULL,
		  read_written_batches, d },
		{ STATS_COUNTER, "decima_written_rows_total", "Rows that were written.", NULL,
		  read_written_rows, d },
		{ STATS_COUNTER, "decima_write_retries_total",
		  "Writes that were put off to a later try.", NULL, read_retries, d },
		{ STATS_COUNTER, FILTERED_NAME, FILTERED_HELP, NULL, read_filtered, d },
		{ STATS_COUNTER, UNDECIDED_NAME, UNDECIDED_HELP, NULL, read_undecided, d },
		/* From here on, those of a spool. */
		{ STATS_GAUGE, "decima_spool_bytes", "Bytes of the batches in the spool.", NULL,
		  read_spool_bytes, d },
		{ STATS_GAUGE, "decima_spool_batches",
		  "Batches in the spool: the other side does not have them yet.", NULL,
		  read_spool_batches, d },
		{ STATS_GAUGE, "decima_spool_oldest_seconds",
		  "How long the oldest of them has been there.", NULL, read_spool_oldest, d },
		{ STATS_GAUGE, "decima_spool_set_aside_batches",
		  "Refused batches in the spool's directory `aside`, to be looked at.", NULL,
		  read_set_aside, d },
	};
	const struct stats_label label = { "instance", d->name };
	const size_t n = sizeof(defs) / sizeof(defs[0]) - (d->spooler ? 0 : 4);

	for (size_t i = 0; d->env.stats && i < n; i++)
		d->metrics[d->n_metrics++] = stats__register(d->env.stats, &defs[i], &label, 1);
}

void destination__remove_metrics(struct destination *d)
{
	while (d->n_metrics > 0)
		stats__unregister(d->env.stats, d->metrics[--d->n_metrics]);
}
