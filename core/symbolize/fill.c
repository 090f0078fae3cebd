/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/fill.c - lines and inlined functions of the locations of a batch
 *
 * Locations that were not asked for yet are put in the order of their files, and each file is asked
 * for a chunk of addresses at once (frames.h), in a process without rights where there is one. The
 * outermost name is the symbol's, so that a function is called the same with and without debug
 * information; the inlined ones come from there. A function's file is the one it is declared in: a
 * line of another file (an inlined header whose range the compiler lost) has no number rather than
 * a wrong file, or else one function would be two in every tree.
 *
 * A file that kills its reader, is damaged, or had MAX_LATE times frames_timeout_ns without an
 * answer, is asked no more: `failed` says why. An asker who waits may leave it less than that at a
 * time, which is added up. Nothing here is lost that a symbol can name.
 *
 * Each question opens the debug information anew, which for a large library is 100 ms of CPU time
 * for a handful of addresses that no window had before. So what is learned unasked lets a file rest
 * for REST_FACTOR times what the last question took; whoever waits for names has the rest asked
 * then.
 *
 * Threads: any; no lock is held while a file is asked. Limits: CHUNK addresses at once,
 * frames_timeout_ns each, frames_bytes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/symbolize/frames.h"
#include "core/symbolize/lookup.h"

enum {
	CHUNK = 256,
	MAX_LATE = 3,
	GRACE_NS = 500000000, /* half a second */
	REST_FACTOR = 1000,
};
#define REST_MAX_NS INT64_C(300000000000)

struct missing {
	uint32_t mapping, location;
};

struct fill {
	struct lookup *l;
	VEC(struct missing) missing;
	struct arena arena;  /* of one address's names */
	int64_t deadline_ns; /* 0: nobody waits */
	int64_t given_ns;    /* to the file that was asked last */
};

/* What a file was asked with: the better the larger. */
static uint8_t quality(const struct debug_source *d)
{
	return d->fds[FRAMES_DEBUG] >= 0 ? 2 : 1;
}

static bool wants(const struct view *v)
{
	return v->source && v->table && !atomic_load(&v->source->failed);
}

/* Nobody waits for the names, and the file was asked not long ago. */
static bool rests(const struct fill *f, const struct debug_source *d)
{
	return !f->deadline_ns && clock__mono(f->l->s->config.clock) < atomic_load(&d->rests_until_ns);
}

static void find_missing(struct fill *f)
{
	struct lookup *l = f->l;

	for (uint32_t i = 0; i < l->batch->n_locations; i++) {
		const struct dcm_location *loc = &l->batch->locations[i];
		const struct view *v;
		struct learned_key key;
		struct learned found;
		bool known;

		if (!lookup__can_be_named(l->batch, loc))
			continue;
		v = &l->views[loc->mapping];
		if (!wants(v) || rests(f, v->source))
			continue;
		key = lookup__key(l, loc);
		pthread_mutex_lock(&l->s->learned_lock);
		known = lookup__known(l, v, &key, &found) && found.asked >= quality(v->source);
		pthread_mutex_unlock(&l->s->learned_lock);
		if (!known && !vec__push(&f->missing, (struct missing){ loc->mapping, i }))
			return; /* the rest is asked another time */
	}
}

static int by_file(const void *a, const void *b)
{
	const struct missing *x = a, *y = b;

	if (x->mapping != y->mapping)
		return x->mapping < y->mapping ? -1 : 1;
	return (x->location > y->location) - (x->location < y->location);
}

/* --- one chunk --- */

static int64_t time_left(const struct fill *f)
{
	int64_t most = f->l->s->config.frames_timeout_ns, left;

	if (!f->deadline_ns)
		return most;
	left = f->deadline_ns - clock__mono(f->l->s->config.clock);
	return left < most ? left : most;
}

static void give_up(struct lookup *l, struct debug_source *d, uint8_t why)
{
	atomic_store(&d->failed, why);
	atomic_fetch_add(&l->s->frames_given_up, 1);
}

/* The file did not answer in the time that it was given. */
static void note_late(struct fill *f, struct debug_source *d)
{
	const int64_t most = MAX_LATE * f->l->s->config.frames_timeout_ns;
	const int64_t before = atomic_fetch_add(&d->late_ns, f->given_ns);

	if (before < most && before + f->given_ns >= most)
		give_up(f->l, d, DCM_UNNAMED_DEBUGINFO_LIMIT);
}

static void let_rest(struct debug_source *d, int64_t asked_ns, int64_t now_ns)
{
	int64_t rest_ns = now_ns - asked_ns < REST_MAX_NS / REST_FACTOR ? (now_ns - asked_ns) * REST_FACTOR
									: REST_MAX_NS;

	atomic_store(&d->rests_until_ns, now_ns + rest_ns);
}

static bool stopping(void *ctx)
{
	struct symbols *s = ctx;
	bool stop;

	pthread_mutex_lock(&s->lock);
	stop = s->stop;
	pthread_mutex_unlock(&s->lock);
	return stop;
}

/* Has the request answered, and counts failures against the file. */
static int have_answered(struct fill *f, struct debug_source *d,
			 const struct symbols_frames_call *call, struct buf *answer)
{
	const struct symbols_config *c = &f->l->s->config;
	int64_t asked_ns = clock__mono(c->clock);
	int rc = c->frames ? c->frames(c->frames_ctx, call, answer)
			   : frames__answer(call->request, call->n, call->fds, call->n_fds, answer);

	let_rest(d, asked_ns, clock__mono(c->clock));
	if (rc == -ETIMEDOUT)
		note_late(f, d);
	else if (rc && rc != -EAGAIN && rc != -ECANCELED && (c->frames || rc != -ENOMEM))
		give_up(f->l, d, DCM_UNNAMED_DEBUGINFO_LIMIT);
	return rc;
}

/* Asks for the addresses; 0 when there is an answer. */
static int ask_file(struct fill *f, struct debug_source *d, const uint64_t *addresses, uint32_t n,
		    struct frames *ret)
{
	const struct symbols_config *c = &f->l->s->config;
	struct frames_question q = { .addresses = addresses,
				     .n = n,
				     .inlines = c->inlines,
				     .max_bytes = c->frames_bytes,
				     .map = c->frames != NULL };
	struct symbols_frames_call call = { .timeout_ns = time_left(f),
					    .stop = stopping,
					    .stop_ctx = f->l->s };
	struct buf request = { 0 }, answer = { .limit = FRAMES_MAX_ANSWER };
	int fds[FRAMES_MAX_FILES], rc;

	f->given_ns = call.timeout_ns;
	for (uint8_t i = 0; i < FRAMES_MAX_FILES; i++) {
		if (d->fds[i] < 0)
			continue;
		q.files[q.n_files] = i;
		fds[q.n_files++] = d->fds[i];
	}
	/* It shall answer with what it has before it is killed. */
	q.budget_ns = call.timeout_ns > 2 * GRACE_NS ? call.timeout_ns - GRACE_NS : call.timeout_ns / 2;
	rc = call.timeout_ns <= 0 ? -EAGAIN : frames__ask(&q, &request);
	call.request = request.data;
	call.n = request.n;
	call.fds = fds;
	call.n_fds = q.n_files;
	if (!rc)
		rc = have_answered(f, d, &call, &answer);
	if (!rc) {
		rc = frames__read(answer.data, answer.n, n, ret);
		if (rc == -EBADMSG)
			give_up(f->l, d, DCM_UNNAMED_DEBUGINFO_BAD);
	}
	if (!rc)
		atomic_fetch_add(&f->l->s->frames_asked, n);
	buf__fini(&request);
	buf__fini(&answer);
	return rc;
}

static struct dcm_str keep(struct fill *f, struct dcm_str text)
{
	struct dcm_str copy = arena__str(&f->arena, text);

	return copy.p ? copy : STR("");
}

/* A frame as it is remembered: the name for people, and a file that belongs to the function. */
static struct learned_line line_of(struct fill *f, const struct frame *frame)
{
	struct lookup *l = f->l;
	struct dcm_str raw = str__of(frame->name);
	struct learned_line line = { .file = str__of(frame->file),
				     .line = frame->line,
				     .start_line = frame->start_line };

	if (frame->home[0] && strcmp(frame->home, frame->file) != 0) {
		line.file = str__of(frame->home);
		line.line = 0;
	}
	if (!str__is_utf8(line.file))
		line.file = STR("");
	line.name = keep(f, (struct dcm_str){ l->human, demangle__name(raw, l->human, sizeof(l->human)) });
	if (!str__eq(line.name, raw) && str__is_utf8(raw))
		line.system_name = raw;
	return line;
}

/*
 * A line without any name is no frame. The function itself may get one from the symbol table;
 * what is inlined lacks it where that is in a file that dwz made and nobody has.
 */
static bool is_frame(const struct learned_line *line, bool is_function)
{
	return is_function || line->name.n > 0;
}

static void learn(struct fill *f, const struct view *v, const struct learned_key *key,
		  const struct frames *frames, const struct frames_span *span)
{
	struct lookup *l = f->l;
	struct learned_line lines[FRAMES_MAX_DEPTH], symbol;
	struct learned what = { .lines = lines, .why = v->why, .asked = quality(v->source), .rank = v->rank };
	bool named;

	arena__reset(&f->arena);
	for (uint32_t i = 0; i < span->n; i++) {
		lines[what.n] = line_of(f, &frames->frames[span->off + i]);
		what.n += is_frame(&lines[what.n], i + 1 == span->n);
	}
	named = lookup__symbol(l, v, key, &symbol);
	if (named && what.n == 0)
		lines[what.n++] = symbol;
	else if (named) {
		lines[what.n - 1].name = symbol.name;
		lines[what.n - 1].system_name = symbol.system_name;
	}
	if (what.n && lines[what.n - 1].name.n == 0)
		what.n--;
	pthread_mutex_lock(&l->s->learned_lock);
	lookup__learn(l, v, key, &what);
	pthread_mutex_unlock(&l->s->learned_lock);
}

/* What a state says about the file, not about the address. */
static void judge(struct fill *f, struct debug_source *d, const struct frames *frames)
{
	uint8_t worst = FRAMES_NOTHING;

	for (uint32_t i = 0; i < frames->n; i++) {
		if (frames->spans[i].state > worst)
			worst = frames->spans[i].state;
	}
	if (worst == FRAMES_DAMAGED)
		give_up(f->l, d, DCM_UNNAMED_DEBUGINFO_BAD);
	else if (worst == FRAMES_TOO_LARGE)
		give_up(f->l, d, DCM_UNNAMED_DEBUGINFO_LIMIT);
	else if (worst == FRAMES_LATE)
		note_late(f, d);
}

/* Up to CHUNK locations of one mapping. */
static void fill_chunk(struct fill *f, const struct missing *m, uint32_t n)
{
	struct lookup *l = f->l;
	const struct view *v = &l->views[m[0].mapping];
	struct learned_key keys[CHUNK];
	uint64_t addresses[CHUNK];
	struct frames frames;
	uint32_t n_asked = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct learned_key key = lookup__key(l, &l->batch->locations[m[i].location]);
		uint64_t address = key.address;

		if (key.addr_kind == DCM_ADDR_FILE_OFFSET &&
		    elf__to_vaddr(v->table->elf, key.address, &address))
			continue;
		addresses[n_asked] = address;
		keys[n_asked++] = key;
	}
	if (n_asked == 0 || ask_file(f, v->source, addresses, n_asked, &frames))
		return;
	for (uint32_t i = 0; i < n_asked; i++) {
		if (frames.spans[i].state == FRAMES_FOUND || frames.spans[i].state == FRAMES_NOTHING)
			learn(f, v, &keys[i], &frames, &frames.spans[i]);
	}
	judge(f, v->source, &frames);
	frames__fini(&frames);
}

void fill__lookup(struct lookup *l, int64_t deadline_ns)
{
	struct fill f = { .l = l, .deadline_ns = deadline_ns };

	if (l->s->config.lines)
		find_missing(&f);
	if (f.missing.n > 1)
		qsort(f.missing.v, f.missing.n, sizeof(*f.missing.v), by_file);
	for (size_t i = 0; i < f.missing.n && !stopping(l->s) && time_left(&f) > 0;) {
		const struct missing *m = &f.missing.v[i];
		uint32_t n = 0;

		while (i + n < f.missing.n && n < CHUNK && m[n].mapping == m[0].mapping)
			n++;
		if (wants(&l->views[m->mapping]))
			fill_chunk(&f, m, n);
		i += n;
	}
	vec__fini(&f.missing);
	arena__fini(&f.arena);
}
