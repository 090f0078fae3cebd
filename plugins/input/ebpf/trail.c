/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/trail.c - what processes have done lately: exec, fork, executable mappings
 *
 * What is mapped (path, inode) is kept once for all processes that map it: a step is small, and an
 * exec of a known program allocates nothing but its steps. On a machine that compiles, thousands of
 * records a second come from processes that end at once, so those that were forgotten are kept for
 * the next ones, and nothing here walks over all of them.
 */
#include "plugins/input/ebpf/trail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/vec.h"

enum {
	PID_BUCKETS = 8192,
	OBJECT_BUCKETS = 1024,
	STEPS_OF_PID = TRAIL_MAPPINGS + 32, /* and its forks and execs */
	STEPS_DROPPED = 1024,		    /* at once, when a process has too many */
	STEPS_MORE = 16,		    /* at once: a program that begins has a dozen */
	STEPS_MAX = 131072,
	SPARES = 256,	  /* processes that were forgotten, for those to come */
	SPARE_STEPS = 32, /* with room for so many steps at most: 400 KiB together */
};
#define KEEP_ENDED_NS 2000000000ll

/* A mapped thing; the address range is the step's. */
struct object {
	struct object *next; /* in the bucket */
	uint32_t refs;
	struct maps_range what; /* start, end, offset and time_ns are 0 */
};

enum step_kind { STEP_EXEC, STEP_FORK, STEP_MAP };

struct step {
	int64_t time_ns;
	enum step_kind kind;
	uint32_t ppid;	       /* of STEP_FORK */
	struct object *object; /* of STEP_MAP, with a reference */
	uint64_t start, end, offset;
};

struct of_pid {
	struct of_pid *next;	      /* in the bucket; of the spare ones */
	struct of_pid *newer, *older; /* by when something was noted last, or by its end */
	uint32_t pid;
	int64_t last_ns;
	int64_t cut_ns; /* mappings until then may be missing */
	bool ended;
	VEC(struct step) steps; /* ascending by time */
};

struct order {
	struct of_pid *newest, *oldest;
};

struct trail {
	struct of_pid *pids[PID_BUCKETS];
	struct object *objects[OBJECT_BUCKETS];
	struct order alive, ended; /* of_pid.ended says in which of the two it is */
	struct of_pid *spares;
	uint32_t n_spares;
	int64_t lost_ns;    /* records until then may be missing, of any process */
	int64_t evicted_ns; /* the same, of processes that are not there */
	struct trail_stat stat;
};

struct trail *trail__new(void)
{
	return NEW(struct trail);
}

/* ------------------------------------------------------------------------------------------------
 * Objects
 */

static uint64_t object_hash(const struct maps_range *r)
{
	return hash__bytes(r->name.p, r->name.n, hash__mix(r->ino, r->generation));
}

static bool same_object(const struct maps_range *a, const struct maps_range *b)
{
	return a->ino == b->ino && a->major == b->major && a->minor == b->minor &&
	       a->generation == b->generation && a->kind == b->kind &&
	       a->is_counted == b->is_counted && str__eq(a->name, b->name);
}

/* The object equal to `r`, with a reference; NULL when memory ran out. */
static struct object *object_of(struct trail *t, const struct maps_range *r)
{
	struct object **bucket = &t->objects[object_hash(r) % OBJECT_BUCKETS];
	struct object *o;

	for (o = *bucket; o; o = o->next)
		if (same_object(&o->what, r)) {
			o->refs++;
			return o;
		}
	o = NEW(struct object);
	if (!o)
		return NULL;
	o->what = *r;
	o->what.start = o->what.end = o->what.offset = 0;
	o->what.time_ns = 0;
	o->what.name.p = mem__dup_str(r->name.p, r->name.n);
	if (!o->what.name.p) {
		free(o);
		return NULL;
	}
	o->refs = 1;
	o->next = *bucket;
	*bucket = o;
	return o;
}

static void object_unref(struct trail *t, struct object *o)
{
	struct object **at;

	if (!o || --o->refs > 0)
		return;
	at = &t->objects[object_hash(&o->what) % OBJECT_BUCKETS];
	while (*at != o)
		at = &(*at)->next;
	*at = o->next;
	free((char *)(uintptr_t)o->what.name.p);
	free(o);
}

/* ------------------------------------------------------------------------------------------------
 * Processes
 */

static struct of_pid **bucket_of(struct trail *t, uint32_t pid)
{
	return &t->pids[hash__mix(0, pid) % PID_BUCKETS];
}

static struct of_pid *find(const struct trail *t, uint32_t pid)
{
	struct of_pid *p = t->pids[hash__mix(0, pid) % PID_BUCKETS];

	while (p && p->pid != pid)
		p = p->next;
	return p;
}

static void leave_order(struct trail *t, struct of_pid *p)
{
	struct order *o = p->ended ? &t->ended : &t->alive;

	*(p->newer ? &p->newer->older : &o->newest) = p->older;
	*(p->older ? &p->older->newer : &o->oldest) = p->newer;
}

static void become_newest(struct trail *t, struct of_pid *p, bool ended)
{
	struct order *o = ended ? &t->ended : &t->alive;

	p->ended = ended;
	p->newer = NULL;
	p->older = o->newest;
	*(o->newest ? &o->newest->newer : &o->oldest) = p;
	o->newest = p;
}

/* Drops the first n steps. */
static void drop_steps(struct trail *t, struct of_pid *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		object_unref(t, p->steps.v[i].object);
	memmove(p->steps.v, p->steps.v + n, (p->steps.n - n) * sizeof(*p->steps.v));
	p->steps.n -= n;
	t->stat.n_steps -= (uint32_t)n;
}

static void spare(struct trail *t, struct of_pid *p)
{
	if (t->n_spares == SPARES || p->steps.cap > SPARE_STEPS) {
		vec__fini(&p->steps);
		free(p);
		return;
	}
	p->next = t->spares;
	t->spares = p;
	t->n_spares++;
}

/* One that nothing is known of, with a room for steps that may be there from another. */
static struct of_pid *take_spare(struct trail *t)
{
	struct of_pid *p = t->spares;

	if (!p)
		return NEW(struct of_pid);
	t->spares = p->next;
	t->n_spares--;
	p->last_ns = 0;
	return p;
}

static void forget(struct trail *t, struct of_pid *p)
{
	struct of_pid **at = bucket_of(t, p->pid);

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	leave_order(t, p);
	if (p->steps.n)
		drop_steps(t, p, p->steps.n);
	spare(t, p);
	t->stat.n_pids--;
}

void trail__free(struct trail *t)
{
	if (!t)
		return;
	while (t->ended.oldest)
		forget(t, t->ended.oldest);
	while (t->alive.oldest)
		forget(t, t->alive.oldest);
	while (t->spares) {
		struct of_pid *p = take_spare(t);

		vec__fini(&p->steps);
		free(p);
	}
	free(t);
}

/* The one that is noted now: alive, and the newest of all. */
static struct of_pid *find_or_add(struct trail *t, uint32_t pid)
{
	struct of_pid **bucket, *p = t->alive.newest;

	/* A process that begins maps its libraries one by one. */
	if (p && p->pid == pid)
		return p;
	p = find(t, pid);
	if (p) {
		leave_order(t, p);
	} else {
		p = take_spare(t);
		if (!p)
			return NULL;
		bucket = bucket_of(t, pid);
		p->pid = pid;
		p->cut_ns = t->evicted_ns;
		p->next = *bucket;
		*bucket = p;
		t->stat.n_pids++;
	}
	become_newest(t, p, false);
	return p;
}

/* Of those that did nothing for longest; NULL: there is only the one that is being written to. */
static struct of_pid *least_wanted(const struct trail *t)
{
	struct of_pid *ended = t->ended.oldest, *alive = t->alive.oldest;

	if (alive == t->alive.newest)
		return ended;
	return ended && ended->last_ns <= alive->last_ns ? ended : alive;
}

static void make_room(struct trail *t)
{
	struct of_pid *p;

	while (t->stat.n_steps >= STEPS_MAX && (p = least_wanted(t))) {
		if (!p->ended) {
			t->stat.n_forgotten += p->steps.n;
			if (p->last_ns > t->evicted_ns)
				t->evicted_ns = p->last_ns;
		}
		forget(t, p);
	}
}

static void shorten(struct trail *t, struct of_pid *p)
{
	if (p->steps.n < STEPS_OF_PID)
		return;
	if (p->steps.v[STEPS_DROPPED - 1].time_ns > p->cut_ns)
		p->cut_ns = p->steps.v[STEPS_DROPPED - 1].time_ns;
	t->stat.n_forgotten += STEPS_DROPPED;
	drop_steps(t, p, STEPS_DROPPED);
}

/* Puts a step behind those that are not later: records of several CPUs come in turns. */
static bool insert(struct trail *t, struct of_pid *p, const struct step *step)
{
	size_t at = p->steps.n;

	if (!vec__reserve(&p->steps, p->steps.n == p->steps.cap ? STEPS_MORE : 1))
		return false;
	while (at > 0 && p->steps.v[at - 1].time_ns > step->time_ns)
		at--;
	memmove(p->steps.v + at + 1, p->steps.v + at, (p->steps.n - at) * sizeof(*p->steps.v));
	p->steps.v[at] = *step;
	p->steps.n++;
	t->stat.n_steps++;
	if (step->time_ns > p->last_ns)
		p->last_ns = step->time_ns;
	return true;
}

static void note_lost(struct trail *t, int64_t time_ns)
{
	if (time_ns > t->lost_ns)
		t->lost_ns = time_ns;
}

static void note(struct trail *t, uint32_t pid, struct step step)
{
	struct of_pid *p = find_or_add(t, pid);

	if (p) {
		make_room(t);
		shorten(t, p);
	}
	if (!p || !insert(t, p, &step)) {
		object_unref(t, step.object);
		note_lost(t, step.time_ns);
	}
}

static void note_mapping(struct trail *t, const struct perf_record *r)
{
	struct maps_range what = maps__range_of(r);
	struct step step = {
		.time_ns = r->time_ns,
		.kind = STEP_MAP,
		.object = object_of(t, &what),
		.start = r->start,
		.end = r->end,
		.offset = r->offset,
	};

	if (step.object)
		note(t, r->pid, step);
	else
		note_lost(t, r->time_ns);
}

void trail__add(struct trail *t, const struct perf_record *r)
{
	struct of_pid *p;

	switch (r->kind) {
	case PERF_RECORD_OF_MMAP:
		note_mapping(t, r);
		break;
	case PERF_RECORD_OF_EXEC:
		note(t, r->pid, (struct step){ .time_ns = r->time_ns, .kind = STEP_EXEC });
		break;
	case PERF_RECORD_OF_FORK:
		if (r->pid != r->ppid)
			note(t, r->pid,
			     (struct step){ .time_ns = r->time_ns, .kind = STEP_FORK, .ppid = r->ppid });
		break;
	case PERF_RECORD_OF_EXIT:
		/*
		 * Threads may outlive their leader: what one of them does brings the process back.
		 */
		p = r->pid == r->tid ? find(t, r->pid) : NULL;
		if (p && p->last_ns <= r->time_ns) {
			leave_order(t, p);
			become_newest(t, p, true);
			p->last_ns = r->time_ns;
		}
		break;
	case PERF_RECORD_OF_LOST:
		note_lost(t, r->time_ns);
		break;
	case PERF_RECORD_OF_SYMBOL:
	case PERF_RECORD_OF_OTHER:
		break;
	}
}

/* ------------------------------------------------------------------------------------------------
 * Questions
 */

/* Index of the first step later than that; they are few, and the late ones are asked for. */
static size_t first_after(const struct of_pid *p, int64_t time_ns)
{
	size_t i = p->steps.n;

	while (i > 0 && p->steps.v[i - 1].time_ns > time_ns)
		i--;
	return i;
}

struct trail_origin trail__origin(const struct trail *t, uint32_t pid, int64_t time_ns)
{
	struct trail_origin origin = { .kind = TRAIL_UNKNOWN };
	const struct of_pid *p = find(t, pid);

	for (size_t i = p ? first_after(p, time_ns) : 0; i > 0; i--) {
		const struct step *s = &p->steps.v[i - 1];

		if (s->kind == STEP_MAP)
			continue;
		origin.kind = s->kind == STEP_EXEC ? TRAIL_EXEC : TRAIL_FORK;
		origin.time_ns = s->time_ns;
		origin.ppid = s->ppid;
		break;
	}
	return origin;
}

bool trail__replaced(const struct trail *t, uint32_t pid, int64_t time_ns)
{
	const struct of_pid *p = find(t, pid);

	for (size_t i = p ? first_after(p, time_ns) : 0; p && i < p->steps.n; i++)
		if (p->steps.v[i].kind != STEP_MAP)
			return true;
	return false;
}

static void give(struct trail_mappings *ret, const struct step *s)
{
	struct maps_range *r = &ret->v[ret->n++];

	*r = s->object->what;
	r->start = s->start;
	r->end = s->end;
	r->offset = s->offset;
	r->time_ns = s->time_ns;
	ret->last_ns = s->time_ns;
}

int trail__mappings(const struct trail *t, uint32_t pid, int64_t after_ns, int64_t until_ns,
		    struct trail_mappings *ret)
{
	const struct of_pid *p = find(t, pid);

	ret->n = 0;
	ret->last_ns = 0;
	if (t->lost_ns > after_ns || (p ? p->cut_ns : t->evicted_ns) > after_ns)
		return -ENODATA;
	for (size_t i = p ? first_after(p, after_ns) : 0; p && i < p->steps.n; i++) {
		const struct step *s = &p->steps.v[i];

		if (s->time_ns > until_ns)
			break;
		if (s->kind != STEP_MAP)
			continue;
		if (ret->n == TRAIL_MAPPINGS)
			return -ENODATA;
		give(ret, s);
	}
	return 0;
}

void trail__latest(const struct trail *t, uint32_t pid, int64_t after_ns, int64_t until_ns,
		   struct trail_mappings *ret)
{
	const struct of_pid *p = find(t, pid);
	size_t end = p ? first_after(p, until_ns) : 0, i = p ? first_after(p, after_ns) : 0;

	ret->n = 0;
	ret->last_ns = 0;
	if (end > i && end - i > TRAIL_MAPPINGS)
		i = end - TRAIL_MAPPINGS;
	for (; i < end; i++)
		if (p->steps.v[i].kind == STEP_MAP)
			give(ret, &p->steps.v[i]);
}

void trail__sweep(struct trail *t, int64_t now_ns)
{
	struct of_pid *p;

	while ((p = t->ended.oldest) && p->last_ns < now_ns - KEEP_ENDED_NS)
		forget(t, p);
}

struct trail_stat trail__stat(const struct trail *t)
{
	return t->stat;
}
