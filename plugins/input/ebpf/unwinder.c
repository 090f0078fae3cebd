/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwinder.c - tells the unwind tables of processes, and unwinds what was
 * deferred
 *
 * Of each announced image it keeps a reference to the maps that were announced, so that new ones
 * are told apart by their address.
 */
#include "plugins/input/ebpf/unwinder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "plugins/input/ebpf/announced.h"
#include "plugins/input/ebpf/files.h"
#include "plugins/input/ebpf/maps.h"

enum {
	BUCKETS = 4096,
	KEEP_ENDED = 3, /* windows: one more than process.h keeps the process */
	KEEP_IDLE = 31,
	WAITING_MAX = 512,
	ROUNDS = 128, /* files that one stack may have to be opened for */
};
#define WAITING_BYTES_MAX (8u << 20)
#define WAIT_NS		  5000000000ll

struct known {
	struct known *next;
	struct tables_image image;
	struct maps *maps; /* as announced */
	struct announced announced;
	uint32_t last_window;
	bool ended;
	bool turns; /* files have changed places in it, and its executable pages were as many as before */
	bool is_cut; /* there were more mappings than are announced */
	bool opened; /* every file of these maps, because a stack went on where no copy of it reaches */
};

/* A deferred sample. */
struct waiting {
	const struct sampler_raw *raw; /* in the list: a copy with its stack */
	int64_t since_ns;	       /* mono */
	struct maps *maps;	       /* under which it was taken, a reference; NULL: not known */
	bool certain;		       /* that these are the ones */
};

struct unwinder {
	struct unwinder_parts parts;
	struct known *buckets[BUCKETS];
	VEC(struct waiting) waiting; /* oldest first */
	size_t waiting_bytes;
	uint64_t changes; /* of the tables, when the waiting were last tried: what came later is news */
	uint64_t n_announced;
	int64_t looked_ns; /* mono: at the rings, last */
	uint32_t window;
	uint64_t page_bytes;
	struct unwinder_stat stat;
	uint64_t frames[SAMPLER_FRAMES];
	VEC(struct tables_range) ranges; /* of one announcement */
};

struct unwinder *unwinder__new(const struct unwinder_parts *parts)
{
	struct unwinder *u = NEW(struct unwinder);

	if (u) {
		u->parts = *parts;
		u->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	}
	return u;
}

static void waiting_fini(struct waiting *w, bool is_copy)
{
	maps__unref(w->maps);
	if (is_copy)
		free((void *)(uintptr_t)w->raw);
}

static void known_free(struct unwinder *u, struct known *k)
{
	tables__gone(u->parts.tables, &k->image);
	maps__unref(k->maps);
	announced__fini(&k->announced);
	free(k);
}

void unwinder__free(struct unwinder *u)
{
	if (!u)
		return;
	for (uint32_t b = 0; b < BUCKETS; b++)
		while (u->buckets[b]) {
			struct known *k = u->buckets[b];

			u->buckets[b] = k->next;
			known_free(u, k);
		}
	for (size_t i = 0; i < u->waiting.n; i++)
		waiting_fini(&u->waiting.v[i], true);
	vec__fini(&u->waiting);
	vec__fini(&u->ranges);
	free(u);
}

/* ------------------------------------------------------------------------------------------------
 * Images
 */

static struct known **bucket_of(struct unwinder *u, uint32_t pid)
{
	return &u->buckets[hash__mix(0, pid) % BUCKETS];
}

/* The image of a process, made when it is new and may be; else NULL, also when memory ran out. */
static struct known *known_of(struct unwinder *u, const struct process *p, bool may_make)
{
	struct known **bucket = bucket_of(u, p->id.pid), *k;

	for (k = *bucket; k; k = k->next)
		if (k->image.pid == p->id.pid && k->image.start_ns == p->start_ns &&
		    k->image.exec_id == p->exec_id)
			return k;
	k = may_make ? NEW(struct known) : NULL;
	if (!k)
		return NULL;
	k->image = (struct tables_image){ p->id.pid, p->start_ns, p->exec_id };
	k->next = *bucket;
	*bucket = k;
	return k;
}

/* 0; -ESRCH: the process has ended, so that a file that could not be opened through it never will be; else we cannot see it now. */
static int look_for(const struct process *p)
{
	CLEANUP(fd__closep) int dir = procfs__open(&p->via);

	return dir < 0 ? dir : 0;
}

/* Its tables may yet be there, so that nothing is to be guessed; or went, and are known to nobody. */
static bool may_come(const struct file *f, bool went)
{
	return f->why == DCM_UNNAMED_NOT_ANSWERED || (went && f->why == DCM_UNNAMED_FILE_GONE);
}

/*
 * A file that is no ELF file holds what a compiler at run time made, as one in memory does that it maps twice; of
 * another that cannot be opened nobody knows whether its code keeps frame pointers.
 */
static enum tables_code without_tables(const struct maps_range *m)
{
	return m->file->why == DCM_UNNAMED_BAD_FILE || str__starts(m->name, STR("/memfd:"))
		       ? TABLES_MEMORY
		       : TABLES_UNKNOWN;
}

/* went: with the process, and so did what could not be opened. */
static struct tables_range range_of(const struct maps_range *m, bool went)
{
	struct tables_range r = { .start = m->start, .end = m->end, .offset = m->offset };

	if (str__eq(m->name, STR("[stack]"))) {
		r.code = TABLES_STACK;
	} else if (m->kind == DCM_MAPPING_ANON) {
		r.code = TABLES_MEMORY;
	} else if (m->file && !m->file->is_code && !may_come(m->file, went)) {
		r.code = without_tables(m);
	} else if (m->file && m->file->is_code) {
		r.code = TABLES_FILE;
		r.build_id = m->file->build_id;
	}
	return r;
}

static bool lost_files(const struct maps *maps)
{
	for (uint32_t i = 0; i < maps->n; i++)
		if (maps->ranges[i].file && maps->ranges[i].file->why == DCM_UNNAMED_FILE_GONE)
			return true;
	return false;
}

/* Another file lies where one did, and the count of pages does not show it. */
static bool is_turn(const struct maps *now, const struct maps *before)
{
	if (now->exec_bytes != before->exec_bytes)
		return false;
	for (uint32_t i = 0; i < now->n; i++) {
		const struct maps_range *r = &now->ranges[i], *old = maps__find(before, r->start);

		if (r->kind == DCM_MAPPING_FILE && old && old->kind == DCM_MAPPING_FILE &&
		    !maps_range__same_file(r, old))
			return true;
	}
	return false;
}

/* What finds no room now is announced again with the next sample. */
static void announce(struct unwinder *u, struct known *k, const struct process *p, struct maps *maps)
{
	bool went = lost_files(maps) && look_for(p) == -ESRCH;
	uint64_t pages = maps->exec_bytes / u->page_bytes;
	int error = 0;

	k->turns = k->turns || (k->maps && is_turn(maps, k->maps));
	u->ranges.n = 0;
	for (uint32_t i = 0; i < maps->n && error == 0; i++)
		if (!vec__push(&u->ranges, range_of(&maps->ranges[i], went)))
			error = -ENOMEM;
	if (error == 0)
		error = tables__announce(u->parts.tables, &k->image,
					 k->turns ? pages | TABLES_TURNS : pages, u->ranges.v,
					 (uint32_t)u->ranges.n);
	if (error < 0 && error != -E2BIG)
		return;
	u->n_announced++;
	k->is_cut = error == -E2BIG;
	maps__unref(k->maps);
	k->maps = maps__ref(maps);
	k->opened = false;
}

static struct known *see(struct unwinder *u, const struct process *p)
{
	struct known *k = p->kthread ? NULL : known_of(u, p, true);
	int64_t begun_ns;

	if (!k)
		return NULL;
	k->last_window = u->window;
	k->ended |= p->missing_ns != 0; /* the record of its end came before, to nobody */
	if (!p->maps || k->maps == p->maps)
		return k;
	begun_ns = u->parts.host->mono_ns(u->parts.host);
	announce(u, k, p, p->maps);
	if (k->maps == p->maps)
		announced__add(&k->announced, k->maps, begun_ns,
			       u->parts.host->mono_ns(u->parts.host), u->looked_ns);
	return k;
}

void unwinder__see(struct unwinder *u, const struct process *p)
{
	see(u, p);
}

/* Where a walk that ended in no mapping may have come to one that found no room. */
static uint32_t without_room(const struct known *k, uint32_t outcome)
{
	return outcome == SAMPLER_OUTCOME_NO_MAP && k->is_cut ? SAMPLER_OUTCOME_OVER_BUDGET : outcome;
}

static bool has_same_rule(void *ctx, const struct maps_range *by, const struct maps_range *of,
			  uint64_t address)
{
	const struct file *a = maps_range__file(by), *b = maps_range__file(of);
	struct unwinder *u = ctx;

	return a && b && a->is_code && b->is_code &&
	       tables__same_rule(u->parts.tables, a->build_id, address - by->start + by->offset,
				 b->build_id, address - of->start + of->offset);
}

struct unwinder_verdict unwinder__judge(struct unwinder *u, const struct process *p,
					const struct sampler_sample *sample,
					const struct maps *maps, const uint64_t *frames)
{
	struct known *k = sample->head.flags & SAMPLER_COMPAT ? NULL : known_of(u, p, false);
	struct unwinder_verdict v = { sample->n_user, (uint8_t)sample->outcome };
	struct announced_walk walk = { .time_ns = (int64_t)sample->head.time_ns,
				       .maps = maps,
				       .frames = frames + sample->n_kernel,
				       .n = v.n_user,
				       .same = has_same_rule,
				       .ctx = u };
	uint32_t sure;

	if (!k || v.n_user == 0)
		return v;
	v.outcome = (uint8_t)without_room(k, v.outcome);
	/* Nobody looked for a caller of the last frame. */
	walk.n -= v.outcome == SAMPLER_OUTCOME_DEFERRED_LIMIT;
	sure = maps ? announced__n_sure(&k->announced, &walk) : walk.n;
	/* The frame itself is right; who called it was found by rules that are not its own. */
	if (sure < walk.n)
		v = (struct unwinder_verdict){ (uint16_t)(sure + 1), SAMPLER_OUTCOME_CHANGED };
	return v;
}

void unwinder__event(struct unwinder *u, const struct sampler_event *event)
{
	const struct sampler_head *h = &event->head;

	for (struct known *k = *bucket_of(u, h->pid); k; k = k->next)
		if (k->image.pid == h->pid && (h->kind == SAMPLER_EXIT ? k->image.exec_id == h->exec_id
								       : k->image.exec_id < h->exec_id))
			k->ended = true;
}

void unwinder__sweep(struct unwinder *u, uint32_t window)
{
	u->window = window;
	for (uint32_t b = 0; b < BUCKETS; b++)
		for (struct known **at = &u->buckets[b]; *at;) {
			struct known *k = *at;

			if (k->last_window + (k->ended ? KEEP_ENDED : KEEP_IDLE) >= window) {
				at = &k->next;
				continue;
			}
			*at = k->next;
			known_free(u, k);
		}
}

/* ------------------------------------------------------------------------------------------------
 * Deferred samples
 */

/*
 * Opens the file of the mapping that a walk ended in. 0; -EAGAIN when it is to be waited for;
 * -ESRCH: it went with its process. To guess frame pointers then would be to show callers that were
 * none.
 */
static int open_file(struct unwinder *u, struct process *p, const struct waiting *w,
		     const struct tables_image *image, uint64_t start)
{
	struct maps_range *range = maps__find(w->maps, start);
	struct tables_range now;
	int there;

	if (!range)
		return -EAGAIN;
	processes__file(u->parts.processes, p, range);
	now = range_of(range, true);
	there = now.code == TABLES_PENDING ? look_for(p) : 0;
	if (there < 0)
		return there == -ESRCH ? there : -EAGAIN;
	if (range->file->why == DCM_UNNAMED_NOT_ANSWERED)
		return -EAGAIN;
	/* A file that cannot be opened has code all the same: without rules, that is. */
	if (now.code == TABLES_PENDING)
		now.code = without_tables(range);
	return tables__bind(u->parts.tables, image, start, now.code, now.build_id) ? 0 : -EAGAIN;
}

/* Walks by an announced image as far as it goes today: true when that is all it will ever be. */
static bool walk_image(struct unwinder *u, struct process *p, const struct waiting *w,
		       const struct tables_image *image, struct tables_walk *ret)
{
	uint64_t *frames = u->frames + w->raw->sample.n_kernel;

	for (int i = 0, r; i < ROUNDS; i++) {
		if (tables__walk(u->parts.tables, image, w->raw, frames, u->parts.max_depth, ret) < 0) {
			ret->outcome = SAMPLER_OUTCOME_OVER_BUDGET;
			return true;
		}
		if (ret->outcome != SAMPLER_OUTCOME_PENDING)
			return true;
		r = ret->unbound ? open_file(u, p, w, image, ret->pending) : -EAGAIN;
		if (r == -ESRCH) {
			ret->outcome = SAMPLER_OUTCOME_GONE;
			return true;
		}
		if (r < 0)
			return false;
	}
	return true;
}

/*
 * A copy ended before the stack did, so which files the rest of it lies in is not seen here. All of
 * the process's are opened, once: the program in the kernel walks such stacks whole when they are
 * ready.
 */
static void open_all(struct unwinder *u, struct process *p, const struct waiting *w, struct known *k)
{
	if (k->opened || w->maps != k->maps)
		return;
	k->opened = true;
	for (uint32_t i = 0; i < w->maps->n; i++)
		if (range_of(&w->maps->ranges[i], false).code == TABLES_PENDING)
			open_file(u, p, w, &k->image, w->maps->ranges[i].start);
}

/* The mappings are not those that programs see: announces them for this walk alone. */
static bool walk_aside(struct unwinder *u, struct process *p, const struct waiting *w,
		       struct tables_walk *ret)
{
	struct known aside = { .image = { p->id.pid | TABLES_ASIDE, p->start_ns, p->exec_id } };
	bool done;

	announce(u, &aside, p, w->maps);
	done = walk_image(u, p, w, &aside.image, ret);
	tables__gone(u->parts.tables, &aside.image);
	maps__unref(aside.maps);
	return done;
}

/*
 * Walks the stack as far as it goes today. True when that is all it will ever be; the frames are in
 * u->frames, behind where the kernel's go.
 */
static bool walk(struct unwinder *u, struct waiting *w, struct tables_walk *ret)
{
	struct process *p = processes__of(u->parts.processes, &w->raw->sample, u->window);
	struct known *k = p ? see(u, p) : NULL;
	struct maps *maps;
	bool done = true;

	*ret = (struct tables_walk){ .outcome = SAMPLER_OUTCOME_GONE };
	for (int again = 0; again < 2 && k && w->maps; again++) {
		done = w->maps == k->maps ? walk_image(u, p, w, &k->image, ret)
					  : walk_aside(u, p, w, ret);
		if (ret->outcome != SAMPLER_OUTCOME_NO_MAP)
			break;
		/* Perhaps it was mapped since the mappings were listed. */
		maps = processes__maps(u->parts.processes, p, &w->raw->sample, true, &w->certain);
		if (!maps || maps == w->maps)
			break;
		maps__unref(w->maps);
		w->maps = maps__ref(maps);
		see(u, p);
	}
	if (k)
		ret->outcome = without_room(k, ret->outcome);
	if (ret->outcome == SAMPLER_OUTCOME_COPY_END)
		open_all(u, p, w, k);
	if (ret->n == 0) {
		u->frames[w->raw->sample.n_kernel] = w->raw->pc;
		ret->n = 1;
	}
	return done;
}

static void hand_on(struct unwinder *u, const struct waiting *w, const struct tables_walk *walk)
{
	struct sampler_sample sample = w->raw->sample;

	memcpy(u->frames, w->raw->kernel, sample.n_kernel * sizeof(*u->frames));
	sample.head.kind = SAMPLER_SAMPLE;
	sample.head.size = (uint32_t)(sizeof(sample) + (sample.n_kernel + walk->n) * sizeof(uint64_t));
	sample.n_user = (uint16_t)walk->n;
	sample.outcome = walk->outcome == SAMPLER_OUTCOME_PENDING ? SAMPLER_OUTCOME_DEFERRED
								  : walk->outcome;
	u->stat.outcomes[sample.outcome]++;
	u->stat.n_given_up += sample.outcome == SAMPLER_OUTCOME_DEFERRED;
	u->parts.sample(u->parts.ctx, &sample, u->frames, w->maps, w->certain);
}

/* Hands on the oldest that waits, whatever is known of it. */
static void give_up(struct unwinder *u)
{
	struct waiting w = u->waiting.v[0];
	struct tables_walk result;

	walk(u, &w, &result);
	hand_on(u, &w, &result);
	u->waiting_bytes -= w.raw->sample.head.size;
	waiting_fini(&w, true);
	u->waiting.n--;
	memmove(u->waiting.v, u->waiting.v + 1, u->waiting.n * sizeof(*u->waiting.v));
}

/* Keeps a copy; false when memory ran out. */
static bool keep(struct unwinder *u, struct waiting *w)
{
	uint32_t bytes = w->raw->sample.head.size;
	struct waiting copy = *w;

	while (u->waiting.n &&
	       (u->waiting.n >= WAITING_MAX || u->waiting_bytes + bytes > WAITING_BYTES_MAX))
		give_up(u);
	copy.raw = mem__dup(w->raw, bytes);
	if (!copy.raw)
		return false;
	if (!vec__push(&u->waiting, copy)) {
		free((void *)(uintptr_t)copy.raw);
		return false;
	}
	u->waiting_bytes += bytes;
	u->stat.n_waited++;
	return true;
}

void unwinder__take(struct unwinder *u, const struct sampler_raw *raw, uint32_t window)
{
	struct waiting w = { .raw = raw, .since_ns = u->parts.host->mono_ns(u->parts.host) };
	struct process *p = processes__of(u->parts.processes, &raw->sample, window);
	struct tables_walk result;

	u->window = window;
	u->stat.n_taken++;
	if (p)
		w.maps = processes__maps(u->parts.processes, p, &raw->sample, false, &w.certain);
	if (w.maps)
		maps__ref(w.maps);
	if (!walk(u, &w, &result)) {
		if (keep(u, &w))
			return;
		/* Others may have been walked meanwhile. */
		walk(u, &w, &result);
	}
	hand_on(u, &w, &result);
	waiting_fini(&w, false);
}

void unwinder__retry(struct unwinder *u, uint32_t window, bool finish)
{
	const uint64_t changes = tables__changes(u->parts.tables), announced = u->n_announced;
	int64_t now = u->parts.host->mono_ns(u->parts.host);
	size_t n = 0;

	u->window = window;
	while (u->waiting.n && (finish || now - u->waiting.v[0].since_ns > WAIT_NS))
		give_up(u);
	for (size_t i = 0; changes != u->changes && i < u->waiting.n; i++) {
		struct waiting w = u->waiting.v[i];
		struct tables_walk result;

		if (!walk(u, &w, &result)) {
			u->waiting.v[n++] = w;
			continue;
		}
		hand_on(u, &w, &result);
		u->waiting_bytes -= w.raw->sample.head.size;
		waiting_fini(&w, true);
	}
	if (changes != u->changes)
		u->waiting.n = n;
	/* Announcements made on the way are no news; a table that has become ready meanwhile is. */
	u->changes = changes + (u->n_announced - announced);
	/* What is announced from here on programs see until the next look. */
	u->looked_ns = u->parts.host->mono_ns(u->parts.host);
}

struct unwinder_stat unwinder__stat(const struct unwinder *u)
{
	struct unwinder_stat stat = u->stat;

	stat.n_waiting = (uint32_t)u->waiting.n;
	return stat;
}
