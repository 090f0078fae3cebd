/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/history.c - what a process image had mapped, and when
 */
#include "plugins/input/ebpf/history.h"

#include <errno.h>

#include "core/base/str.h"
#include "plugins/input/ebpf/cost.h"
#include "plugins/input/ebpf/process_table.h"
#include "plugins/input/ebpf/thread.h"

#define PAUSE_FIRST_NS 20000000ll /* a program that begins maps its libraries one by one */
#define PAUSE_MAX_NS   60000000000ll

/* A state equal to `maps` that is known already, or itself. Takes and returns a reference. */
static struct maps *known_state(const struct process *p, struct maps *maps)
{
	struct maps *same = NULL;

	if (maps->n > HISTORY_MANY)
		return maps;
	if (p->maps && maps__equal(p->maps, maps))
		same = p->maps;
	for (int i = 0; i < PROCESS_OLDER && !same; i++)
		if (p->older[i].maps && maps__equal(p->older[i].maps, maps))
			same = p->older[i].maps;
	if (!same)
		return maps;
	maps__ref(same);
	maps__unref(maps);
	return same;
}

/* Where a JIT's code may be. */
static bool has_memory(const struct maps *maps)
{
	for (uint32_t i = 0; i < maps->n; i++)
		if (maps->ranges[i].kind == DCM_MAPPING_ANON &&
		    !str__eq(maps->ranges[i].name, STR("[vsyscall]")))
			return true;
	return false;
}

/* Puts a state at that place among the older ones, of which the oldest goes. Takes `maps`. */
static void put_older(struct process *p, int at, struct maps *maps, int64_t since_ns)
{
	maps__unref(p->older[PROCESS_OLDER - 1].maps);
	for (int i = PROCESS_OLDER - 1; i > at; i--)
		p->older[i] = p->older[i - 1];
	p->older[at] = (struct process_state){ maps, since_ns };
}

void history__keep(struct processes *t, struct process *p, struct maps *maps, int64_t since_ns)
{
	maps = known_state(p, maps);
	if (maps == p->maps) {
		maps__unref(maps);
		return;
	}
	if (p->maps)
		put_older(p, 0, p->maps, p->since_ns);
	p->maps = maps;
	p->since_ns = since_ns;
	if (has_memory(maps))
		processes__tell(t, p);
}

void history__read(struct processes *t, struct process *p, int dir)
{
	int64_t before = process_table__now_ns(t), cpu_before = thread__cpu_ns();
	struct maps *maps = NULL;
	struct maps_reader reader = { .errands = t->errands,
				      .patience_ns = MAPS_PATIENCE_ALL_NS,
				      .pid = p->id.pid,
				      .time_ns = before };
	int r = maps__read(t->host, dir, &reader, &maps);
	bool changed = false;

	t->stat.reads++;
	p->read_ns = before;
	p->read_end_ns = process_table__now_ns(t);
	if (r < 0) {
		t->stat.denied += r == -EACCES || r == -EPERM;
		/* What was known stays known. */
		if (!p->maps)
			p->why = files__why_not(r);
		if (r == -ETIMEDOUT)
			process_table__tell_silence(t, p);
	} else {
		changed = !p->maps || p->maps->exec_bytes != maps->exec_bytes;
		if (p->maps)
			maps__take_files(maps, p->maps);
		/* It is of some moment between the two; what was before may have been another all the same. */
		history__keep(t, p, maps, p->read_end_ns);
		if (t->trail && p->since_ns < p->read_end_ns) {
			put_older(p, 0, maps__ref(p->maps), p->since_ns);
			p->since_ns = p->read_end_ns;
		}
		p->known_ns = before;
		p->has_missed = false;
	}
	t->stat.read_cpu_ns += (uint64_t)reader.cpu_ns;
	p->rest_ns = cost__rest(p->read_end_ns - before, thread__cpu_ns() - cpu_before + reader.cpu_ns);
	p->pause_ns = changed || !p->pause_ns ? PAUSE_FIRST_NS : p->pause_ns * 2;
	if (p->pause_ns > PAUSE_MAX_NS)
		p->pause_ns = PAUSE_MAX_NS;
	if (r == -ETIMEDOUT || r == -EAGAIN)
		p->pause_ns = ASK_AGAIN_NS;
}

bool history__is_rested(const struct processes *t, const struct process *p)
{
	return process_table__now_ns(t) - p->read_ns >=
	       (p->pause_ns > p->rest_ns ? p->pause_ns : p->rest_ns);
}

/* A file that may be read from now lies where one of the mappings just told is. */
static bool covers_files(const struct processes *t, const struct maps *maps)
{
	for (uint32_t i = 0; i < t->told.n; i++) {
		const struct maps_range *r = maps__find_from(maps, t->told.v[i].start);

		for (; r && r < maps->ranges + maps->n && r->start < t->told.v[i].end; r++)
			if (r->kind == DCM_MAPPING_FILE)
				return true;
	}
	return false;
}

bool history__advance(struct processes *t, struct process *p, int64_t until_ns)
{
	int64_t before, cpu_before;
	struct maps *maps = NULL;

	if (!t->trail || !p->maps || until_ns <= p->known_ns || until_ns < p->since_ns)
		return true;
	if (trail__mappings(t->trail, p->id.pid, p->known_ns, until_ns, &t->told) < 0) {
		p->has_missed = true;
		trail__latest(t->trail, p->id.pid, p->known_ns, until_ns, &t->told);
	}
	if (t->told.n == 0)
		return !p->has_missed;
	before = process_table__now_ns(t);
	if (p->maps->n > HISTORY_MANY && before - p->applied_ns < p->apply_rest_ns)
		return !p->has_missed && !covers_files(t, p->maps);
	cpu_before = thread__cpu_ns();
	if (maps__apply(p->maps, t->told.v, t->told.n, &maps) < 0)
		return false;
	history__keep(t, p, maps, t->told.last_ns > p->since_ns ? t->told.last_ns : p->since_ns);
	p->known_ns = t->told.last_ns;
	p->applied_ns = before;
	p->apply_rest_ns = cost__rest(process_table__now_ns(t) - before, thread__cpu_ns() - cpu_before);
	t->stat.applied++;
	return !p->has_missed;
}

struct process_state history__at(const struct process *p, int64_t time_ns)
{
	struct process_state state = { p->maps, p->since_ns };

	for (int i = 0; state.since_ns > time_ns && i < PROCESS_OLDER && p->older[i].maps; i++)
		state = p->older[i];
	return state;
}

/* A state of before what is known last. Takes `maps`. */
static void put_between(struct process *p, struct maps *maps, int64_t since_ns)
{
	int at = 0;

	/* What is known last was so before, too. */
	if (since_ns > p->since_ns) {
		put_older(p, 0, maps__ref(p->maps), p->since_ns);
		p->since_ns = p->known_ns;
	}
	while (at < PROCESS_OLDER && p->older[at].maps && p->older[at].since_ns > since_ns)
		at++;
	/* Samples that were deferred come behind others, and one behind the other. */
	put_older(p, at < PROCESS_OLDER ? at : PROCESS_OLDER - 1, maps, since_ns);
}

void history__look_back(struct processes *t, struct process *p, int64_t time_ns)
{
	struct process_state from = history__at(p, time_ns);
	int64_t after_ns = from.since_ns;
	struct maps *maps = NULL;

	if (!t->trail || !from.maps || from.maps->n > HISTORY_MANY ||
	    (time_ns >= p->known_ns && time_ns >= p->since_ns))
		return;
	if (after_ns > time_ns)
		after_ns = trail__origin(t->trail, p->id.pid, time_ns).time_ns;
	trail__latest(t->trail, p->id.pid, after_ns, time_ns, &t->told);
	if (t->told.n == 0 || maps__apply(from.maps, t->told.v, t->told.n, &maps) < 0)
		return;
	t->stat.applied++;
	maps = known_state(p, maps);
	if (maps == from.maps && from.since_ns <= time_ns)
		maps__unref(maps);
	else
		put_between(p, maps, t->told.last_ns);
}

bool history__fits(const struct processes *t, const struct maps *maps, const struct sampler_sample *sample)
{
	return maps && maps->exec_bytes == sample->exec_pages * t->page_bytes;
}

struct maps *history__matching(const struct processes *t, const struct process *p,
			       const struct sampler_sample *sample)
{
	int64_t time_ns = (int64_t)sample->head.time_ns;
	struct maps *best = history__fits(t, p->maps, sample) ? p->maps : NULL;

	if (best && p->since_ns <= time_ns)
		return best;
	for (int i = 0; i < PROCESS_OLDER && p->older[i].maps; i++) {
		if (!history__fits(t, p->older[i].maps, sample))
			continue;
		best = p->older[i].maps;
		if (p->older[i].since_ns <= time_ns)
			break;
	}
	return best;
}
