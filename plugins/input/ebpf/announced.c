/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/announced.c - by which mappings of a process image programs walked, and when
 */
#include "plugins/input/ebpf/announced.h"

#include <string.h>

#define WALK_NS 1000000ll /* from a sample's time to the end of its walk, at most */

/* The same rules hold in what was announced at an address, and in what was there. Where nothing was announced no rule was followed. */
static bool is_same_code(const struct maps_range *by, const struct maps_range *of)
{
	if (!by || !of)
		return !by;
	if (by->kind != DCM_MAPPING_FILE || of->kind != DCM_MAPPING_FILE)
		return by->kind == of->kind;
	return maps_range__same_file(by, of) && by->start - by->offset == of->start - of->offset;
}

/* Where the one has a file the other has it too; may_lack: or nothing. */
static bool keeps_files(const struct maps *of, const struct maps *in, bool may_lack)
{
	for (uint32_t i = 0; i < of->n; i++) {
		const struct maps_range *r = &of->ranges[i], *there;

		if (r->kind != DCM_MAPPING_FILE)
			continue;
		there = maps__find(in, r->start);
		if (!is_same_code(r, there) && (there || !may_lack))
			return false;
	}
	return true;
}

/* Other files are where files were, or were not. What is new where nothing was led no walk astray. */
static bool has_turned(const struct maps *before, const struct maps *now)
{
	return !keeps_files(before, now, false) || !keeps_files(now, before, true);
}

/* One state more than are kept: of the time of the oldest nothing is known any more. */
static void drop_oldest(struct announced *a)
{
	maps__unref(a->states[--a->n].maps);
	a->known_ns = a->states[a->n - 1].since_ns;
}

void announced__add(struct announced *a, struct maps *maps, int64_t begun_ns, int64_t done_ns,
		    int64_t looked_ns)
{
	struct announced_state *s = a->states;
	bool turned = a->n && has_turned(s[0].maps, maps);

	/* For a walk it is the same state, or it followed another one too fast to tell them apart. */
	if (a->n && (!turned || s[0].since_ns >= looked_ns)) {
		if (turned)
			s[0].turned_ns = done_ns;
		if (turned && a->n > 1)
			s[1].until_ns = done_ns;
		maps__unref(s[0].maps);
		s[0].maps = maps__ref(maps);
		return;
	}
	if (a->n == ANNOUNCED_STATES)
		drop_oldest(a);
	memmove(s + 1, s, a->n * sizeof(*s));
	if (a->n)
		s[1].until_ns = done_ns;
	s[0] = (struct announced_state){ maps__ref(maps), begun_ns, INT64_MAX, 0 };
	a->n++;
}

static uint32_t n_agreed(const struct announced_walk *w, const struct maps *announced, uint32_t n)
{
	if (announced == w->maps)
		return n;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t address = w->frames[i] - (i > 0);
		const struct maps_range *by = maps__find(announced, address);
		const struct maps_range *of = maps__find(w->maps, address);

		if (!is_same_code(by, of) && !(w->same && by && of && w->same(w->ctx, by, of, address)))
			return i;
	}
	return n;
}

uint32_t announced__n_sure(const struct announced *a, const struct announced_walk *w)
{
	uint32_t sure = w->time_ns < a->known_ns ? 0 : w->n;

	for (uint32_t i = 0; i < a->n; i++) {
		const struct announced_state *s = &a->states[i];
		bool is_oldest = i == a->n - 1;

		if (w->time_ns > s->until_ns || (w->time_ns + WALK_NS < s->since_ns && !is_oldest))
			continue;
		sure = w->time_ns <= s->turned_ns ? 0 : n_agreed(w, s->maps, sure);
	}
	return sure;
}

void announced__fini(struct announced *a)
{
	for (uint32_t i = 0; i < a->n; i++)
		maps__unref(a->states[i].maps);
	a->n = 0;
}
