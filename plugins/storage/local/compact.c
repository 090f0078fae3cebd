/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/compact.c - a merge of chunks by series, list of types, and time
 *
 * Directories are sorted by series, so one step takes all chunks of the smallest series that is
 * left, and cuts them into parts (compact_parts.h). Each becomes a stream (compact_stream.h);
 * streams of one list of types are merged into output chunks.
 */
#include "plugins/storage/local/compact.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/vec.h"
#include "plugins/storage/local/compact_parts.h"
#include "plugins/storage/local/compact_stream.h"

enum {
	CHUNK_PROFILES_MAX = 1 << 18, /* of an output chunk */
	PROFILE_ROWS_MAX = 1u << 26,  /* more than any profile has */
};

struct compact {
	struct compact_job job;
	uint64_t *at;	 /* [n_blocks] the next chunk of each */
	uint32_t series; /* at hand */
	bool began;
	struct compact_parts parts;	    /* of the series */
	VEC(struct compact_stream) streams; /* [parts.n] */
	size_t first, end;		    /* those that make the chunk at hand */
	struct compact_rows rows;
	struct chunk_source source; /* the chunk, when has_chunk: in no block yet */
	bool has_chunk;
	struct compact_reader *pool;
	uint32_t bad_block;
};

/* -------------------------------------------------------------------------------------------------
 * Profiles
 */

static struct compact_place place_of(const struct compact *c, const struct compact_stream *s)
{
	return (struct compact_place){
		.era = c->job.blocks[s->part->block]->info.era,
		.block = s->part->block,
		.chunk = &s->part->chunk,
		.type = s->part->columns[0],
		.time_ms = s->time_ms,
		.stack = DCM_NONE,
	};
}

/*
 * Moves the rows that stay together, of the n behind those that are counted; the stream has one
 * type. *ret_n: how many stay. Returns whether the profile does, or a negative errno.
 */
static int sift(struct compact *c, const struct compact_stream *s, uint32_t n, uint32_t *ret_n)
{
	const struct compact_filter *f = c->job.filter;
	struct compact_place p = place_of(c, s);
	struct compact_rows *g = &c->rows;
	size_t to = g->n;

	if (n == 0) {
		int verdict = f->row(f->ctx, &p);

		*ret_n = 0;
		return verdict < 0 ? verdict : verdict != COMPACT_DROP;
	}
	for (size_t i = g->n; i < g->n + n; i++) {
		p.stack = g->stacks[i];
		p.label_set = g->labels[i];
		int verdict = f->row(f->ctx, &p);

		if (verdict < 0)
			return verdict;
		if (verdict == COMPACT_DROP)
			continue;
		g->stacks[to] = g->stacks[i];
		g->labels[to] = g->labels[i];
		g->values[to] = g->values[i];
		to++;
	}
	*ret_n = (uint32_t)(to - g->n);
	return *ret_n > 0;
}

static int keep_profile(struct compact *c, const struct compact_stream *s, int verdict)
{
	const struct chunk_profiles *p = &s->reader->profiles;
	uint32_t n = p->n_rows[s->profile];
	int r = compact_stream__copy(s, &c->rows, n);

	if (r == 0 && verdict == COMPACT_ASK) {
		r = sift(c, s, n, &n);
		if (r <= 0)
			return r;
	}
	if (r < 0)
		return r;
	if (!vec__push(&c->rows.profiles, (struct chunk_profile){ .time_ms = s->time_ms,
								  .duration_ns = p->duration_ns[s->profile],
								  .period = p->period[s->profile],
								  .n_rows = n }))
		return -ENOMEM;
	c->rows.n += n;
	return 0;
}

static int take_profile(struct compact *c, struct compact_stream *s)
{
	const struct chunk_profiles *p = &s->reader->profiles;
	int verdict = COMPACT_KEEP, r = 0;

	if (p->n_rows[s->profile] > PROFILE_ROWS_MAX)
		return -EBADMSG;
	if (s->part->ask) {
		const struct compact_place place = place_of(c, s);

		verdict = c->job.filter->profile(c->job.filter->ctx, &place);
	}
	if (verdict < 0)
		return verdict;
	if (verdict != COMPACT_DROP)
		r = keep_profile(c, s, verdict);
	if (r < 0)
		return r;
	s->row += p->n_rows[s->profile];
	if (++s->profile == p->n)
		compact_stream__end(s, &c->pool);
	else
		s->time_ms = p->time_ms[s->profile];
	return 0;
}

/* -------------------------------------------------------------------------------------------------
 * Chunks
 */

/* Notes what is lost with a damaged chunk, and goes on without; else the error stays. */
static int lose(struct compact *c, uint32_t block, uint64_t n_profiles, uint64_t n_rows)
{
	struct compact_lost *lost = c->job.lost ? &c->job.lost[block] : NULL;

	if (!lost) {
		c->bad_block = block;
		return -EBADMSG;
	}
	lost->n_chunks++;
	lost->n_profiles += n_profiles;
	lost->n_rows += n_rows;
	return 0;
}

static int lose_rest(struct compact *c, struct compact_stream *s)
{
	const struct chunk_entry *e = s->part->chunk.entry;

	compact_stream__end(s, &c->pool);
	return lose(c, s->part->block, (uint64_t)(e->n_profiles - s->profile) * s->part->n_types,
		    (e->n_rows - s->row) * s->part->n_types);
}

static int lose_chunk(struct compact *c, uint32_t block, const struct chunk_entry *e)
{
	return lose(c, block, (uint64_t)e->n_profiles * e->n_types, e->n_rows * e->n_types);
}

/* Of equal times the stream that comes first. NULL: all have ended. */
static struct compact_stream *earliest(struct compact *c)
{
	struct compact_stream *best = NULL;

	for (size_t i = c->first; i < c->end; i++) {
		struct compact_stream *s = &c->streams.v[i];

		if (!s->ended && (!best || s->time_ms < best->time_ms))
			best = s;
	}
	return best;
}

/*
 * Profiles of one time stay in one chunk: which of them is the later one needs no look at any
 * other.
 */
static bool is_full(const struct compact_rows *g, const struct compact_stream *next)
{
	const size_t row_bytes = sizeof(uint32_t) * 2 + sizeof(int64_t) * g->n_types;
	const size_t n_rows = g->n + next->reader->profiles.n_rows[next->profile];

	return g->profiles.n && g->profiles.v[g->profiles.n - 1].time_ms != next->time_ms &&
	       (g->profiles.n >= CHUNK_PROFILES_MAX || n_rows * row_bytes > COMPACT_CHUNK_BYTES);
}

/* What is to be one chunk, of streams [first, end). No profiles: they have no more. */
static int gather(struct compact *c)
{
	struct compact_rows *g = &c->rows;
	struct compact_stream *s;

	g->profiles.n = g->n = 0;
	g->n_types = c->streams.v[c->first].part->n_types;
	while ((s = earliest(c))) {
		int r = s->reader ? 0 : compact_stream__begin(s, &c->pool);

		if (r == 0 && is_full(g, s))
			break;
		if (r == 0)
			r = take_profile(c, s);
		if (r == -EBADMSG)
			r = lose_rest(c, s);
		if (r < 0)
			return r;
	}
	return 0;
}

static struct chunk_source source_of(const struct compact *c)
{
	const struct compact_rows *g = &c->rows;
	const struct compact_stream *s = &c->streams.v[c->first];
	struct chunk_source source = {
		.series = c->series,
		.n_types = s->part->n_types,
		.n_profiles = (uint32_t)g->profiles.n,
		.profiles = g->profiles.v,
		.n_rows = g->n,
		.stacks = g->stacks,
		.labels = g->labels,
		.values = g->values,
	};

	for (uint32_t t = 0; t < s->part->n_types; t++)
		source.types[t] = compact_part__type(s->part, t);
	for (uint32_t t = 1; t < s->part->n_types; t++)
		memmove(g->values + t * g->n, g->values + t * g->cap, g->n * sizeof(*g->values));
	return source;
}

/* -------------------------------------------------------------------------------------------------
 * Streams of a series
 */

/* Takes chunk at[block] from the directory. */
static int take_chunk(struct compact *c, uint32_t block)
{
	const struct block *b = c->job.blocks[block];
	const uint64_t at = c->at[block]++;
	struct chunk chunk;

	if (block__chunk(b, at, &chunk) < 0)
		return lose_chunk(c, block, &b->chunks[at]);
	return compact_parts__add(&c->parts, c->job.filter, block, &chunk, b->info.era);
}

/*
 * The smallest series that is left. 1, 0 when there is none, or an error: one that lies behind us
 * is damage.
 */
static int find_series(struct compact *c, uint32_t *ret)
{
	int found = 0;

	for (uint32_t i = 0; i < c->job.n_blocks; i++) {
		const struct block *b = c->job.blocks[i];

		while (c->at[i] < b->info.n_chunks && c->began && b->chunks[c->at[i]].series <= c->series) {
			int r = lose_chunk(c, i, &b->chunks[c->at[i]++]);

			if (r < 0)
				return r;
		}
		if (c->at[i] == b->info.n_chunks)
			continue;
		if (!found || b->chunks[c->at[i]].series < *ret)
			*ret = b->chunks[c->at[i]].series;
		found = 1;
	}
	return found;
}

static int begin_streams(struct compact *c)
{
	int r = compact_parts__cut(&c->parts);

	c->streams.n = c->first = c->end = 0;
	if (r < 0 || !vec__reserve(&c->streams, c->parts.parts.n))
		return -ENOMEM;
	for (size_t i = 0; i < c->parts.parts.n; i++) {
		const struct compact_part *part = &c->parts.parts.v[i];

		c->streams.v[c->streams.n++] =
			(struct compact_stream){ .part = part, .time_ms = part->chunk.entry->first_ms };
	}
	return 0;
}

/* The streams of the next series. 1, 0 when there is none, or an error. */
static int next_series(struct compact *c)
{
	uint32_t series = 0;
	int r = find_series(c, &series);

	if (r <= 0)
		return r;
	c->series = series;
	c->began = true;
	compact_parts__reset(&c->parts);
	for (uint32_t i = 0; i < c->job.n_blocks; i++) {
		const struct block *b = c->job.blocks[i];

		while (c->at[i] < b->info.n_chunks && b->chunks[c->at[i]].series == c->series) {
			r = take_chunk(c, i);
			if (r < 0)
				return r;
		}
	}
	r = begin_streams(c);
	return r < 0 ? r : 1;
}

/* Makes c->source the next chunk of the output. 1, 0 when there is none, or an error. */
static int next_chunk(struct compact *c)
{
	while (!c->has_chunk) {
		int r;

		if (c->job.cancelled && c->job.cancelled(c->job.ctx))
			return -ECANCELED;
		if (c->first == c->streams.n) {
			r = next_series(c);
			if (r <= 0)
				return r;
			continue;
		}
		for (c->end = c->first + 1; c->end < c->streams.n; c->end++)
			if (compact_part__compare(c->streams.v[c->first].part,
						  c->streams.v[c->end].part) != 0)
				break;
		r = gather(c);
		if (r < 0)
			return r;
		if (c->rows.profiles.n == 0) {
			c->first = c->end;
			continue;
		}
		c->source = source_of(c);
		c->has_chunk = true;
	}
	return 1;
}

/* -------------------------------------------------------------------------------------------------
 * Blocks
 */

struct compact *compact__new(const struct compact_job *job)
{
	struct compact *c = NEW(struct compact);

	if (!c)
		return NULL;
	c->job = *job;
	c->at = mem__zalloc(job->n_blocks, sizeof(*c->at));
	if (c->at)
		return c;
	compact__free(c);
	return NULL;
}

void compact__free(struct compact *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->streams.n; i++)
		compact_stream__end(&c->streams.v[i], &c->pool);
	vec__fini(&c->streams);
	compact_parts__fini(&c->parts);
	compact_readers__fini(c->pool);
	compact_rows__fini(&c->rows);
	free(c->at);
	free(c);
}

/* Fills the block. 1: the chunk at hand is for another one; 0: there is none. */
static int write_chunks(struct compact *c, struct block_writer *w)
{
	uint64_t n_rows = 0;
	int r;

	for (;;) {
		r = next_chunk(c);
		if (r <= 0)
			return r;
		if (c->source.n_rows > BLOCK_ROWS_MAX - n_rows ||
		    block_writer__waiting(w) > COMPACT_WAITING_BYTES)
			return 1;
		n_rows += c->source.n_rows;
		r = block_writer__chunk(w, &c->source);
		if (r < 0)
			return r;
		c->has_chunk = false;
	}
}

int compact__write(struct compact *c, const struct block_options *o, block_put_fn put, void *ctx,
		   struct block_info *ret)
{
	struct block_writer *w = block_writer__new(o, put, ctx);
	int more = w ? write_chunks(c, w) : -ENOMEM;
	int r = more < 0 ? more : block_writer__finish(w, ret);

	block_writer__free(w);
	return r < 0 ? r : more;
}

uint32_t compact__bad_block(const struct compact *c)
{
	return c->bad_block;
}
