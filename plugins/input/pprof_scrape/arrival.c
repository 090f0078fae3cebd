/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/arrival.c - the bytes of a profile become a batch of the target's, and go on
 */
#include "plugins/input/pprof_scrape/arrival.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/input/pprof_scrape/job.h"

/* A target whose clock is further from ours has its profiles at our time. */
#define CLOCKS_APART_NS ((int64_t)300 * 1000000000)

enum { TYPES_MAX = 16 };

/*
 * What becomes of one profile: the changes, and the memory behind them. What was added since the last time is of the time
 * since then, and what is in use of now: these are two profiles.
 */
struct change {
	struct dcm_revalue to[2];
	uint32_t n;
	uint32_t temporality[2][TYPES_MAX];
	uint32_t columns; /* that stay */
	int64_t *values;  /* of all columns; and behind these, those of `to`, one after the other */
	size_t n_values;
	int64_t time_ns, duration_ns;	   /* of what stays as it was counted */
	int64_t added_ns, added_during_ns; /* of what was added: since when, and how long */
	bool is_needed;
	struct delta next; /* takes the place of the target's once this is on its way */
	bool has_next, is_reset;
	bool is_named;	     /* the stacks are told apart by names that the program said */
	bool has_mean_sizes; /* as struct dcm_found has it */
};

static int decode(struct arrival *a, struct dcm_found *found, struct dcm_batch **ret,
		  struct dcm_error *err)
{
	struct target *t = a->target;
	const struct dcm_host *host = t->job->host;
	struct dcm_label_text *labels = mem__zalloc(t->labels->n + 1, sizeof(*labels));
	struct dcm_decode how = {
		.size = sizeof(how),
		.format = "pprof",
		.name = text__str(t->name),
		.labels = labels,
		.n_labels = t->labels->n,
		.time_ns = t->state.asked_real_ns,
		.max_bytes = job_options__max_bytes(t->job->options),
		.found = found,
		.name_of = a->names ? names__of : NULL,
		.name_ctx = a->names,
	};
	int r;

	if (!labels)
		return error__nomem(err);
	labels__view(t->labels, NULL, labels);
	r = host->decode_as(host, &how, a->data, a->n, ret, err);
	free(labels);
	if (r < 0 && r != -ENOMEM && a->content_type[0] &&
	    !memmem(a->content_type, strlen(a->content_type), "octet-stream", 12)) {
		struct dcm_error why = *err;

		error__set(err, r, "%s (it is said to be %s)", why.text, a->content_type);
	}
	return r;
}

/* ---- which columns stay, and as what ---- */

static bool is_kept(const struct profile_plan *plan, const struct dcm_batch *b,
		    const struct dcm_type *type)
{
	for (uint32_t i = 0; i < plan->n_keep; i++) {
		const struct sample_type_options *k = &plan->keep[i];

		if (str__eq(b->strings[type->sample_type], str__of(k->type)) &&
		    (!k->unit || str__eq(b->strings[type->sample_unit], str__of(k->unit))))
			return true;
	}
	return plan->n_keep == 0;
}

/* Columns that stay. */
static uint32_t choose(const struct target *t, const struct dcm_batch *b, const struct dcm_profile *p)
{
	uint32_t kept = 0;

	for (uint32_t c = 0; c < p->n_types; c++)
		if (is_kept(t->plan, b, &b->types[p->type_off + c]))
			kept |= 1u << c;
	return kept;
}

static bool is_bytes(const struct dcm_batch *b, const struct dcm_type *type)
{
	return str__eq(b->strings[type->sample_unit], STR("bytes"));
}

/*
 * Of the columns that stay those that count up, and *ret_steady: of them those that never decrease (delta.h). Estimates
 * of objects that stay have their bytes beside them, which may go.
 */
static uint32_t choose_counting(const struct target *t, const struct dcm_batch *b,
				const struct dcm_profile *p, const struct change *change,
				uint32_t *ret_steady)
{
	uint32_t counting = 0, bytes = 0, wanted = change->columns;

	for (uint32_t c = 0; c < p->n_types; c++) {
		const struct dcm_type *type = &b->types[p->type_off + c];

		if (type->temporality != DCM_CUMULATIVE)
			continue;
		counting |= 1u << c;
		if (is_bytes(b, type))
			bytes |= 1u << c;
	}
	*ret_steady = change->has_mean_sizes ? bytes : counting;
	if (!(t->plan->compute_delta || t->is_delta) || !(counting & wanted))
		return 0;
	if (change->has_mean_sizes)
		wanted |= bytes;
	return counting & wanted;
}

static int copy_values(const struct dcm_batch *b, const struct dcm_profile *p, struct change *c)
{
	size_t n = (size_t)p->n_rows * p->n_types;

	c->values = mem__resize(NULL, 2 * n + 1, sizeof(*c->values)); /* each is written before it is read */
	if (!c->values)
		return -ENOMEM;
	if (n)
		memcpy(c->values, b->values + p->value_off, n * sizeof(*c->values));
	c->n_values = n;
	return 0;
}

/* The values become what was added. */
static int subtract(struct target *t, const struct delta_scrape *scrape, struct change *c,
		    bool *ret_is_first)
{
	static const struct delta nothing;
	/* A stack with names is another than the same without: nothing can be said of what was added. */
	const struct delta *before = t->state.names_itself == c->is_named ? &t->state.delta : &nothing;
	int r = delta__apply(before, scrape, c->values, &c->next, ret_is_first, &c->is_reset);

	/*
	 * Where names tell stacks apart, one that has another name looks as if the program had begun anew: that all since
	 * its start came to pass in this interval would be worse than to leave the interval out.
	 */
	*ret_is_first |= c->is_named && c->is_reset;
	c->has_next = r == 0;
	return r;
}

/* It has had too much: others get what it had, and it begins anew when there is room for it. */
static void give_up_base(struct target *t)
{
	t->job->memory->n_delta_bytes -= delta__bytes(&t->state.delta);
	delta__fini(&t->state.delta);
	t->state.delta_real_ns = 0;
}

/* May so much be kept for this target? */
static int admit_delta(struct target *t, const struct delta_scrape *scrape, struct dcm_error *err)
{
	const struct memory *m = t->job->memory;
	const uint64_t n_rows = scrape->batch->profiles[0].n_rows;
	const uint64_t bytes = delta__bytes_of(n_rows, (uint32_t)__builtin_popcount(scrape->columns));

	if (bytes > memory__profile_bytes(m)) {
		give_up_base(t);
		return error__set(err, -E2BIG, "%llu samples, and to tell what was added all have to be kept: more than one profile may have of delta_memory (a part in 64); turn compute_delta off for it, or set sample_limit",
				  (unsigned long long)n_rows);
	}
	if (m->n_delta_bytes - delta__bytes(&t->state.delta) + bytes > m->max_delta_bytes) {
		give_up_base(t);
		return error__set(err, -E2BIG, "what it counted has to be kept to tell what is added, and there is no room: all targets together have %llu MiB (delta_memory)",
				  (unsigned long long)(m->max_delta_bytes >> 20));
	}
	return 0;
}

/* What was added since the scrape before; columns of which nothing can be said yet go. */
static int difference(struct target *t, const struct delta_scrape *scrape, struct change *c,
		      struct dcm_error *err)
{
	/* Who makes deltas itself begins with all since its start, of which we know the end alone. */
	bool first = t->state.delta_real_ns == 0;
	int r = t->is_delta ? 0 : admit_delta(t, scrape, err);

	if (r < 0)
		return r;
	if (!t->is_delta && subtract(t, scrape, c, &first) < 0)
		return error__nomem(err);
	if (first) {
		c->columns &= ~scrape->columns;
	} else {
		c->added_ns = t->state.delta_real_ns;
		c->added_during_ns = t->state.asked_real_ns - t->state.delta_real_ns;
	}
	if (c->added_during_ns < 0)
		c->added_during_ns = 0;
	return 0;
}

/* What is on its way is not counted again. */
static void settle(struct target *t, struct change *c)
{
	struct job *j = t->job;

	if (!c->has_next)
		return;
	j->memory->n_delta_bytes += delta__bytes(&c->next) - delta__bytes(&t->state.delta);
	delta__replace(&t->state.delta, &c->next);
	t->state.delta_real_ns = t->state.asked_real_ns;
	if (c->is_reset)
		meters__add(&j->meters, METER_RESETS, 1);
}

/* These columns become a profile; `added`: as what was added. */
static void add_profile(const struct dcm_batch *b, uint32_t columns, bool added, struct change *c)
{
	const struct dcm_profile *p = &b->profiles[0];
	uint32_t n = 0, *temporality = c->temporality[c->n];
	int64_t *to = c->values + c->n_values;

	if (!columns)
		return;
	c->to[c->n++] = (struct dcm_revalue){ .size = sizeof(c->to[0]),
					      .columns = columns,
					      .temporality = temporality,
					      .values = to,
					      .time_ns = added ? c->added_ns : c->time_ns,
					      .duration_ns = added ? c->added_during_ns : c->duration_ns };
	for (uint32_t k = 0; k < p->n_types; k++)
		if (columns >> k & 1)
			temporality[n++] = added ? DCM_DELTA : b->types[p->type_off + k].temporality;
	for (uint32_t r = 0; r < p->n_rows; r++)
		for (uint32_t k = 0; k < p->n_types; k++)
			if (columns >> k & 1)
				*to++ = c->values[(size_t)r * p->n_types + k];
	c->n_values = (size_t)(to - c->values);
}

/*
 * net/http/pprof counts twice when it is asked for some seconds of these, and says as their time when it was done
 * (https://pkg.go.dev/net/http/pprof); that of a CPU profile is when it began.
 */
static bool is_told_at_its_end(const struct target *t, const struct dcm_batch *b,
			       const struct dcm_profile *p)
{
	static const char *const kinds[] = { "alloc_objects", "contentions", "goroutine", "threadcreate" };
	const struct dcm_str type = b->strings[b->types[p->type_off].sample_type];

	if (!t->covers_ns)
		return false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (str__eq(type, str__of(kinds[i])))
			return true;
	return false;
}

/* Since when what it says has been so. */
static int64_t begin_of(const struct target *t, const struct dcm_batch *b, const struct dcm_profile *p)
{
	const int64_t apart = p->time_ns - t->state.asked_real_ns;

	if (apart > CLOCKS_APART_NS || apart < -CLOCKS_APART_NS)
		return t->state.asked_real_ns;
	return is_told_at_its_end(t, b, p) ? p->time_ns - p->duration_ns : p->time_ns;
}

static int make_change(struct target *t, const struct dcm_batch *b, struct change *c,
		       struct dcm_error *err)
{
	const struct dcm_profile *p = &b->profiles[0];
	struct delta_scrape scrape = { .batch = b, .by_stack = c->has_mean_sizes };
	uint32_t all = p->n_types < 32 ? (1u << p->n_types) - 1 : ~0u;
	int r = 0;

	c->time_ns = begin_of(t, b, p);
	c->duration_ns = p->duration_ns;
	c->columns = choose(t, b, p);
	scrape.columns = choose_counting(t, b, p, c, &scrape.steady);
	if (!c->columns)
		return error__set(err, -EINVAL, "has none of the sample types in keep_sample_type");
	c->is_needed = c->columns != all || scrape.columns || c->time_ns != p->time_ns;
	if (!c->is_needed)
		return 0;
	if (copy_values(b, p, c) < 0)
		return error__nomem(err);
	if (scrape.columns)
		r = difference(t, &scrape, c, err);
	if (r < 0)
		return r;
	add_profile(b, c->columns & scrape.columns, true, c);
	add_profile(b, c->columns & ~scrape.columns, false, c);
	return 0;
}

/* ---- on its way ---- */

static uint64_t count_rows(const struct dcm_batch *b, bool of_differences)
{
	uint64_t n_rows = 0;

	for (uint32_t i = 0; i < b->n_profiles; i++)
		if (of_differences || b->types[b->profiles[i].type_off].temporality != DCM_DELTA)
			n_rows += b->profiles[i].n_rows;
	return n_rows;
}

/*
 * 0; else the rows are lost, and counted; not those of a difference, for its base stays: what was added comes with the
 * next one.
 */
static int emit(struct target *t, struct dcm_batch *batch, const struct change *c, struct dcm_error *err)
{
	const struct dcm_host *host = t->job->host;
	const uint64_t n_rows = count_rows(batch, true);
	uint64_t n_lost;
	const char *why;
	bool comes_again;
	int r;

	if (n_rows == 0)
		return 0;
	r = host->emit(host, batch, NULL, NULL);
	if (r == 0)
		return 0;
	why = r == -ESHUTDOWN ? "shutdown" : r == -ENOMEM ? "no_memory" : "queue_full";
	comes_again = c->has_next && r != -ESHUTDOWN;
	n_lost = count_rows(batch, !comes_again);
	if (n_lost)
		host->drop(host, why, n_lost);
	if (comes_again)
		return error__set(err, -ENOMEM, "there was no room for its samples (%s): what was added counts with the next",
				  why);
	return error__set(err, -ENOMEM, "its samples are lost, there was no room for them (%s)", why);
}

/* Whether it has names that the program said, as far as it has anything to name. */
static bool is_named(const struct arrival *a)
{
	if (!a->names)
		return false;
	return a->names->said.n || (a->names->addresses.n == 0 && a->target->state.names_itself);
}

static int change_and_emit(const struct arrival *a, struct dcm_batch *batch, bool has_mean_sizes,
			   struct dcm_error *err)
{
	struct target *t = a->target;
	const struct dcm_host *host = t->job->host;
	struct dcm_batch *changed = NULL;
	struct change c = { .is_named = is_named(a), .has_mean_sizes = has_mean_sizes };
	int r = make_change(t, batch, &c, err);

	if (r == 0 && !c.is_needed) {
		r = emit(t, batch, &c, err);
	} else if (r == 0 && c.n) {
		r = host->revalued(host, batch, c.to, c.n, &changed, err);
		if (r == 0)
			r = emit(t, changed, &c, err);
		host->batch_unref(changed);
	}
	/* What it says the next time is of the time since now, whatever became of this. */
	if (t->is_delta)
		t->state.delta_real_ns = t->state.asked_real_ns;
	if (r == 0) {
		settle(t, &c);
		t->state.names_itself = c.is_named;
	}
	delta__fini(&c.next);
	free(c.values);
	return r;
}

int arrival__take(struct arrival *a, struct dcm_error *err)
{
	struct target *t = a->target;
	const struct dcm_host *host = t->job->host;
	struct dcm_found found = { .size = sizeof(found) };
	struct dcm_batch *batch = NULL;
	int r = decode(a, &found, &batch, err);

	if (r < 0)
		return r;
	a->n_rows = batch->n_rows;
	if (a->names && !a->names->said.n && a->names->addresses.n && batch->n_lines == 0)
		r = ARRIVAL_UNNAMED;
	else if (batch->n_profiles != 1)
		r = error__set(err, -EINVAL, "the answer has %u profiles; one was asked for",
			       batch->n_profiles);
	else if (t->job->options->limits.samples &&
		 batch->n_rows > (uint64_t)t->job->options->limits.samples)
		r = error__set(err, -E2BIG, "%llu samples, more than sample_limit (%lld)",
			       (unsigned long long)batch->n_rows,
			       (long long)t->job->options->limits.samples);
	else
		r = change_and_emit(a, batch, found.has_mean_sizes, err);
	host->batch_unref(batch);
	return r;
}
