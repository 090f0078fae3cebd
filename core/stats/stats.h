/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/stats/stats.h - what Decima counts about itself: counters, gauges, histograms and losses
 *
 * One registry per process, made by core/main and handed down. A metric is registered once by
 * (name, labels) and from then on updated through its handle:
 *
 *	struct stats_metric *m = stats__counter(s, "decima_rows_total", "Rows that were written.",
 *						STATS_LABELS({ "instance", name }));
 *	stats__counter_add(m, n);
 *
 * Threads: every function may be called from any thread. Updates are relaxed atomics without a
 * lock; registering, reading and stats__unregister() take the registry's mutex.
 *
 * Limits: series are counted and bounded, so that labels from outside cannot eat memory. What is
 * refused (the limit, a bad name, a name that has another kind already, no memory) yields NULL,
 * which every update accepts, and is counted in decima_stats_refused_total{reason}.
 *
 * Names follow Prometheus: decima_*, base units in the name (_seconds, _bytes), counters end in
 * _total (https://prometheus.io/docs/practices/naming/).
 */
#ifndef DECIMA_STATS_STATS_H
#define DECIMA_STATS_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/log.h"

struct stats;
struct stats_metric;

enum stats_kind { STATS_COUNTER, STATS_GAUGE, STATS_HISTOGRAM };

enum {
	STATS_LABELS_MAX = 8,
	STATS_NAME_MAX = 128,  /* bytes of a metric's or a label's name */
	STATS_VALUE_MAX = 256, /* bytes of a label's value; longer ones are cut */
	STATS_BUCKETS_MAX = 32,
};

/* Both NUL-terminated. Names are [a-zA-Z_][a-zA-Z0-9_]*; values any text (NULL reads as empty). */
struct stats_label {
	const char *name, *value;
};
/* The two last arguments of the functions below. */
#define STATS_LABELS(...)                                                                          \
	(const struct stats_label[]){ __VA_ARGS__ },                                               \
		sizeof((const struct stats_label[]){ __VA_ARGS__ }) / sizeof(struct stats_label)
#define STATS_NO_LABELS NULL, 0

/* ------------------------------------------------------------------------------------------------
 * The registry
 */

struct stats_limits {
	uint32_t max_series; /* 0: 16384. One name may have a quarter of them. */
	uint32_t max_drops;  /* pairs of (instance, reason); 0: 512 */
};

/* `limits` may be NULL. 0 or -ENOMEM. */
int stats__new(const struct stats_limits *limits, struct stats **ret);
/* Every handle dies with it. NULL is fine. */
void stats__free(struct stats *s);

/* ------------------------------------------------------------------------------------------------
 * Registering
 *
 * The same name and labels (in any order) again yield the same handle, and count one more owner.
 * Texts are copied. The help text of a name is that of its first registration.
 */

/* Upper bounds first, first * factor, first * factor^2, ...: n of them, and +Inf. */
struct stats_buckets {
	uint64_t first;	     /* > 0, in the unit that is observed */
	uint8_t n;	     /* 1 to STATS_BUCKETS_MAX */
	uint8_t log2_factor; /* 1: doubling; 2: times four */
	uint32_t per_unit;   /* observed units in a shown one: 1000000000 for ns shown as seconds */
};
extern const struct stats_buckets stats__seconds; /* observed in ns; 100 us to 26 s, times four */
extern const struct stats_buckets stats__bytes;	  /* 256 B to 4 GiB, times four */

/* Called under the registry's mutex by whoever reads: quick, and calls nothing of stats.h. */
typedef double (*stats_read_fn)(void *ctx);

struct stats_def {
	enum stats_kind kind;
	const char *name, *help;
	const struct stats_buckets *buckets; /* of a histogram; static storage */
	stats_read_fn read; /* not NULL: asked at each reading (not for histograms) ... */
	void *ctx;	    /* ... with this, until stats__unregister() */
};

struct stats_metric *stats__register(struct stats *s, const struct stats_def *def,
				     const struct stats_label *labels, size_t n_labels);
struct stats_metric *stats__counter(struct stats *s, const char *name, const char *help,
				    const struct stats_label *labels, size_t n_labels);
struct stats_metric *stats__gauge(struct stats *s, const char *name, const char *help,
				  const struct stats_label *labels, size_t n_labels);

/*
 * One owner less; after the last the series is gone and the handle is dead. When it returns, its
 * `read` is not running and will not be called again. NULL is fine.
 */
void stats__unregister(struct stats *s, struct stats_metric *m);

/* ------------------------------------------------------------------------------------------------
 * Updating: no lock, and NULL handles are fine. A call that does not fit the kind does nothing.
 */

void stats__counter_add(struct stats_metric *m, uint64_t n);
void stats__gauge_set(struct stats_metric *m, double v);
void stats__gauge_add(struct stats_metric *m, double v); /* may be negative */
void stats__histogram_observe(struct stats_metric *m, uint64_t v);

/* ------------------------------------------------------------------------------------------------
 * Losses: decima_dropped_total{instance, reason}
 */

/*
 * n things are lost. Lock-free once (instance, reason) was seen. n may be 0: it makes the series
 * appear. When there is no room for a further pair, {instance="other", reason="other"} takes the
 * count: the sum is always right. Texts are cut at 64 bytes.
 */
void stats__drop(struct stats *s, const char *instance, const char *reason, uint64_t n);

struct stats_loss {
	const char *instance, *reason;
	uint64_t n;	/* lost since the last report */
	uint64_t total; /* lost since the start */
};
typedef void (*stats_loss_fn)(void *ctx, const struct stats_loss *loss);

/*
 * Calls fn for every pair that lost something since its last report, at most once per pair in 10 s;
 * `flush` reports what is left regardless, for the end of the program. Meant for a thread that
 * otherwise sleeps: thus neither the threads that lose data nor a flood of losses writes log lines.
 * fn is called without a lock. now_ns is monotonic. Returns when what was held back is due;
 * INT64_MAX: nothing was.
 */
int64_t stats__report_losses(struct stats *s, int64_t now_ns, bool flush, stats_loss_fn fn, void *ctx);

/* The same, as one warning each: "ebpf: lost 12 (ring_full), 40 since the start". */
int64_t stats__log_losses(struct stats *s, int64_t now_ns, bool flush, const struct log *log);

/*
 * fn is called by a thread that loses something when the next report would not know of the pair:
 * once, until there was one. It must be quick, and call nothing of the registry. To be said before
 * there are other threads.
 */
void stats__on_loss(struct stats *s, void (*fn)(void *ctx), void *ctx);

/* ------------------------------------------------------------------------------------------------
 * Reading
 */

struct stats_view {
	const char *name, *help;
	enum stats_kind kind;
	const struct stats_label *labels; /* [n_labels], ordered by name */
	size_t n_labels;
	const char *labels_text; /* the same as the text format writes them: a="x",b="y" */
	double value;		 /* counter, gauge; of a histogram the sum, in the shown unit */
	uint64_t count; /* of a histogram how many; of a counter its exact value, if is_exact */
	bool is_exact;	/* a counter that is added to, not one that is read by a function */
	const struct stats_buckets *layout; /* histogram, else NULL */
	const uint64_t *buckets;	    /* [layout->n + 1], each by itself, the last to +Inf */
};
typedef void (*stats_view_fn)(void *ctx, const struct stats_view *view);

/*
 * Every series, ordered by name and then labels. The view lives for the call; fn calls nothing of
 * stats.h.
 */
void stats__each(struct stats *s, stats_view_fn fn, void *ctx);

/* The counter's or gauge's value, 0 when there is none: for tests and summaries. */
double stats__value(struct stats *s, const char *name, const struct stats_label *labels, size_t n_labels);

/*
 * Prometheus' text format 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/), for
 * the content type "text/plain; version=0.0.4; charset=utf-8". Appends; returns b->error.
 */
int stats__write_prometheus(struct stats *s, struct buf *b);

/* Upper bound i of a histogram in the shown unit, i < layout->n. */
double stats__bound(const struct stats_buckets *layout, unsigned i);

/*
 * Registers the usual process_* series about this process (CPU seconds, memory, descriptors,
 * start), read from /proc/self. Kept until stats__free(). 0 or -ENOMEM.
 */
int stats__add_process(struct stats *s);

#endif
