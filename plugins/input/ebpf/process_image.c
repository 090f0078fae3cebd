/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/process_image.c - what a process image began with, as far as the kernel told
 */
#include "plugins/input/ebpf/process_image.h"

#include <stdlib.h>

#include "core/base/cleanup.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "plugins/input/ebpf/guarded.h"
#include "plugins/input/ebpf/history.h"
#include "plugins/input/ebpf/labels.h"
#include "plugins/input/ebpf/process_table.h"

enum { ANCESTORS_MAX = 8 }; /* forks without exec that are followed back */

void process_image__fini(struct process_image *image)
{
	maps__unref(image->maps);
	file__unref(image->program.file);
	free(image->exe);
}

/* The image of a pid at a moment, from its exec or fork on; empty when that was not heard. */
static struct process_image replay(struct processes *t, const struct process *of, uint32_t pid,
				   int64_t time_ns, uint32_t n_forks);

/* The parent as it is known under that exec id, which a child begins with. */
static struct process *find_parent(struct processes *t, const struct process *of, uint32_t ppid)
{
	struct process *p;

	for (p = *process_table__bucket(t, ppid); p; p = p->next)
		if (p->id.pid == ppid && p->exec_id == of->exec_id && p->maps && p->start_ns <= of->start_ns)
			break;
	return p;
}

struct process *process_image__read_parent(struct processes *t, const struct process *of,
					   const struct trail_origin *fork)
{
	struct sampler_sample sample = {
		.head = { .pid = fork->ppid, .tid = fork->ppid, .exec_id = of->exec_id }
	};
	CLEANUP(fd__closep) int dir = -1, exe = -1;
	struct process *p;
	uint64_t start_ns;

	if (trail__replaced(t->trail, fork->ppid, fork->time_ns) ||
	    procfs__start(fork->ppid, &start_ns) < 0)
		return NULL;
	sample.head.start_ns = start_ns;
	p = process_table__find(t, fork->ppid, start_ns, of->exec_id);
	if (!p)
		p = process_table__add(t, &sample);
	if (!p || p->replaced_ns || !history__is_rested(t, p))
		return NULL;
	dir = procfs__open(&p->via);
	if (dir < 0)
		return NULL;
	history__read(t, p, dir);
	exe = guarded__open(t->host, dir, DCM_GUARDED_EXE_PATH);
	free(p->identity.exe);
	p->identity.exe = procfs__exe(exe);
	return p->maps ? p : NULL;
}

/*
 * The image that a process forked from its parent: of what is known of that, or of what was told.
 */
static struct process_image of_parent(struct processes *t, const struct process *of,
				      const struct trail_origin *fork, uint32_t n_forks)
{
	struct process_image image = { 0 };
	struct process_state state = { 0 };
	struct process *p = find_parent(t, of, fork->ppid);

	if (p && history__advance(t, p, fork->time_ns))
		state = history__at(p, fork->time_ns);
	/* What it had mapped by then may still be told when what is known is younger. */
	if (!state.maps || state.since_ns > fork->time_ns)
		image = replay(t, of, fork->ppid, fork->time_ns, n_forks + 1);
	if (image.maps)
		return image;
	if (!state.maps) {
		p = process_image__read_parent(t, of, fork);
		state.maps = p ? p->maps : NULL;
	}
	if (!state.maps)
		return image;
	process_image__fini(&image);
	return (struct process_image){
		.maps = maps__ref(state.maps),
		.since_ns = fork->time_ns,
		.exe = process_table__copy(p->identity.exe),
	};
}

/* The program is what is mapped first after an exec. */
static void take_first_file(struct process_image *image, const struct trail_mappings *told)
{
	for (uint32_t i = 0; i < told->n && !image->exe; i++) {
		struct dcm_str name = told->v[i].name;

		if (told->v[i].kind != DCM_MAPPING_FILE)
			continue;
		if (str__starts(name, STR("/memfd:")))
			name = labels__without_deleted(name);
		image->exe = mem__dup_str(name.p, name.n);
		if (image->exe)
			str__clean(image->exe, name.n);
		image->program = told->v[i];
	}
}

/* Sampled in its exec(), before it had anything mapped: what it mapped then is its program. */
static void look_ahead(struct processes *t, struct process_image *image, uint32_t pid, int64_t time_ns)
{
	if (!image->exe && !trail__replaced(t->trail, pid, time_ns) &&
	    trail__mappings(t->trail, pid, time_ns, INT64_MAX, &t->told) == 0)
		take_first_file(image, &t->told);
}

static struct process_image replay(struct processes *t, const struct process *of, uint32_t pid,
				   int64_t time_ns, uint32_t n_forks)
{
	struct trail_origin origin = { .kind = TRAIL_UNKNOWN };
	struct process_image image = { 0 };
	struct maps *maps = NULL;

	if (t->trail && n_forks < ANCESTORS_MAX)
		origin = trail__origin(t->trail, pid, time_ns);
	if (origin.kind == TRAIL_UNKNOWN)
		return image;
	if (origin.kind == TRAIL_FORK)
		image = of_parent(t, of, &origin, n_forks);
	if (origin.kind == TRAIL_FORK && !image.maps)
		return image;
	image.since_ns = origin.time_ns;
	if (trail__mappings(t->trail, pid, origin.time_ns, time_ns, &t->told) == 0) {
		if (origin.kind == TRAIL_EXEC)
			take_first_file(&image, &t->told);
		if (t->told.n > 0) {
			image.since_ns = t->told.last_ns;
			maps__apply(image.maps, t->told.v, t->told.n, &maps);
		} else {
			maps = take_ptr(image.maps);
		}
		if (origin.kind == TRAIL_EXEC)
			look_ahead(t, &image, pid, time_ns);
	}
	maps__unref(image.maps);
	image.maps = maps;
	return image;
}

struct process_image process_image__of(struct processes *t, const struct process *of, int64_t time_ns)
{
	return replay(t, of, of->id.pid, time_ns, 0);
}
