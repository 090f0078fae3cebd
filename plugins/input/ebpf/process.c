/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/process.c - the processes that were sampled, and what /proc said about them
 */
#include "plugins/input/ebpf/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "plugins/input/ebpf/cgroup.h"
#include "plugins/input/ebpf/cgroups.h"
#include "plugins/input/ebpf/guarded.h"
#include "plugins/input/ebpf/history.h"
#include "plugins/input/ebpf/process_image.h"
#include "plugins/input/ebpf/process_table.h"

enum {
	PROCESSES_MAX = 32768,
	KEEP_ENDED = 2, /* windows */
	KEEP_IDLE = 30,
	ROOM_MADE = 2048, /* images that a full table forgets at once */
};
#define ROOM_AGAIN_NS 100000000ll

struct processes *processes__new(const struct dcm_host *host, struct files *files,
				 struct identities *identities, const struct trail *trail)
{
	struct processes *t = NEW(struct processes);

	if (!t)
		return NULL;
	t->host = host;
	t->files = files;
	t->identities = identities;
	t->trail = trail;
	t->dir = -1;
	t->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	t->cgroups = cgroups__new(host);
	t->errands = errands__new("ebpf-maps", MAPS_PATIENCE_NS);
	if (!t->cgroups || !t->errands) {
		processes__free(t);
		return NULL;
	}
	return t;
}

static void process_free(struct process *p)
{
	if (!p)
		return;
	maps__unref(p->maps);
	maps__unref(p->few);
	for (int i = 0; i < PROCESS_OLDER; i++)
		maps__unref(p->older[i].maps);
	identity__fini(&p->identity);
	free(p);
}

void processes__free(struct processes *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < PROCESS_BUCKETS; i++)
		while (t->buckets[i]) {
			struct process *p = t->buckets[i];

			t->buckets[i] = p->next;
			process_free(p);
		}
	processes__rest(t);
	cgroups__free(t->cgroups);
	errands__free(t->errands);
	vec__fini(&t->only);
	arena__fini(&t->texts);
	free(t);
}

int processes__only(struct processes *t, const struct dcm_list *cgroups)
{
	const char *const *paths = cgroups->items;

	for (uint32_t i = 0; i < cgroups->n; i++) {
		struct dcm_str path = arena__str(&t->texts, str__of(paths[i]));

		if (!path.p || !vec__push(&t->only, path))
			return -ENOMEM;
	}
	return 0;
}

void processes__tell(struct processes *t, struct process *p)
{
	if (p->is_told || p->kthread)
		return;
	p->is_told = true;
	t->host->process_event(t->host, DCM_PROCESS_SEEN, &p->id);
}

void process_table__tell_silence(struct processes *t, const struct process *p)
{
	char path[32];
	int n = snprintf(path, sizeof(path), "/proc/%u", p->id.pid);

	files__tell_silence(t->files, (struct dcm_str){ path, (uint32_t)n });
}

/* ------------------------------------------------------------------------------------------------
 * A new process
 */

static struct process *process_new(const struct sampler_sample *sample)
{
	struct process *p = NEW(struct process);

	if (!p)
		return NULL;
	p->start_ns = sample->head.start_ns;
	p->exec_id = sample->head.exec_id;
	p->id.pid = p->identity.pid = sample->head.pid;
	p->identity.ppid = sample->ppid;
	p->via = (struct procfs_id){ p->id.pid, sample->head.tid, p->start_ns };
	p->id.generation = (uint32_t)sample->head.exec_id;
	p->id.start_ns = procfs__whole_ticks(p->start_ns);
	p->cgroup_id = sample->cgroup_id;
	p->kthread = sample->head.flags & SAMPLER_KTHREAD;
	p->why = DCM_UNNAMED_FILE_GONE;
	return p;
}

static int64_t gone_ns(const struct process *p)
{
	return p->ended_ns ? p->ended_ns : p->replaced_ns ? p->replaced_ns : p->missing_ns;
}

/* Forgets what has been gone since then, or for longer, and what no window has sampled for long when this one ends. */
static void forget(struct processes *t, int64_t gone_until_ns, uint32_t window)
{
	for (uint32_t i = 0; i < PROCESS_BUCKETS; i++)
		for (struct process **at = &t->buckets[i]; *at;) {
			struct process *p = *at;
			uint32_t keep = gone_ns(p) ? KEEP_ENDED : KEEP_IDLE;

			if ((!gone_ns(p) || gone_ns(p) > gone_until_ns) &&
			    p->last_window + keep >= window) {
				at = &p->next;
				continue;
			}
			*at = p->next;
			process_free(p);
			t->stat.n--;
		}
}

static int by_time(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* A full table forgets at once what has been gone for longest; many, for this looks at all of them, now and then. */
static void make_room(struct processes *t, int64_t now_ns)
{
	if (now_ns < t->room_again_ns)
		return;
	CLEANUP(mem__freep) int64_t *times = mem__zalloc(t->stat.n, sizeof(*times));
	uint32_t n = 0;

	for (uint32_t i = 0; i < PROCESS_BUCKETS && times; i++)
		for (const struct process *p = t->buckets[i]; p; p = p->next)
			if (gone_ns(p))
				times[n++] = gone_ns(p);
	t->room_again_ns = n < ROOM_MADE ? now_ns + ROOM_AGAIN_NS : 0;
	if (n == 0)
		return;
	qsort(times, n, sizeof(*times), by_time);
	processes__rest(t);
	forget(t, times[(n < ROOM_MADE ? n : ROOM_MADE) - 1], 0);
}

struct process *process_table__add(struct processes *t, const struct sampler_sample *sample)
{
	struct process **bucket = process_table__bucket(t, sample->head.pid);
	struct process *p;

	p = processes__full(t) ? NULL : process_new(sample);
	if (!p)
		return NULL;
	p->is_filtered = t->only.n > 0;
	p->last_window = t->window;
	p->next = *bucket;
	*bucket = p;
	t->stat.n++;
	return p;
}

static bool is_filtered(const struct processes *t, const struct process *p)
{
	struct dcm_str path = str__of(p->identity.cgroup);

	for (size_t i = 0; i < t->only.n; i++)
		if (cgroup__is_within(path, t->only.v[i]))
			return false;
	return t->only.n > 0;
}

/* A state of the parent's that the child may have had when it was sampled: who adopted it has other code. */
static bool take_image(const struct processes *t, struct process *p, const struct process *of,
		       const struct sampler_sample *sample)
{
	struct maps *maps = of->exec_id == p->exec_id ? history__matching(t, of, sample) : NULL;

	if (!maps)
		return false;
	if (!p->maps)
		p->maps = maps__ref(maps);
	p->via = of->via;
	if (!p->identity.exe)
		p->identity.exe = process_table__copy(of->identity.exe);
	return true;
}

/*
 * A child that ended before we came and never called exec() was its parent's image still: mappings
 * and program are those of the parent, where that is known. One that nobody has sampled, as it waits for its children, is
 * read: it has called no exec() until the child was sampled, nor has anybody told of one since.
 */
static void inherit(struct processes *t, struct process *p, const struct sampler_sample *sample)
{
	const struct trail_origin then = { .kind = TRAIL_FORK,
					   .ppid = sample->ppid,
					   .time_ns = (int64_t)sample->head.time_ns };
	const struct process *parent;

	for (parent = *process_table__bucket(t, sample->ppid); parent; parent = parent->next) {
		if (parent->id.pid != sample->ppid || parent->start_ns > p->start_ns)
			continue;
		if (!p->identity.cgroup && parent->cgroup_id == p->cgroup_id)
			p->identity.cgroup = process_table__copy(parent->identity.cgroup);
		p->is_filtered = is_filtered(t, p);
		if (take_image(t, p, parent, sample))
			return;
	}
	if (p->maps || !t->trail || !(sample->head.flags & SAMPLER_AS_FORKED))
		return;
	parent = process_image__read_parent(t, p, &then);
	if (parent && parent->start_ns <= p->start_ns)
		take_image(t, p, parent, sample);
}

static void find_cgroup(struct processes *t, struct process *p)
{
	const char *path = cgroups__path(t->cgroups, p->cgroup_id);
	char *copy;

	if (path) {
		copy = mem__dup_str(path, strlen(path));
	} else {
		copy = procfs__cgroup(&p->via);
		if (copy)
			cgroups__learn(t->cgroups, p->cgroup_id, copy);
	}
	if (!copy)
		return;
	free(p->identity.cgroup);
	p->identity.cgroup = copy;
	p->is_filtered = is_filtered(t, p);
	identity__changed(&p->identity);
}

/* Where the program is mapped, or was told to be. */
static struct maps_range *program_range(const struct process *p, struct process_image *image)
{
	for (uint32_t i = 0; p->maps && p->identity.exe && i < p->maps->n; i++) {
		struct maps_range *r = &p->maps->ranges[i];

		if (r->kind == DCM_MAPPING_FILE && str__eq(r->name, str__of(p->identity.exe)))
			return r;
	}
	return image->program.end ? &image->program : NULL;
}

/* The program of a process that has ended, by the file that it mapped. */
static void find_program(struct processes *t, struct process *p, struct process_image *image)
{
	struct maps_range *r = program_range(p, image);
	struct file *f = r ? processes__file(t, p, r) : NULL;
	CLEANUP(fd__closep) int fd = -1;

	if (!f || !f->is_code || identities__know(t->identities, &p->identity, f))
		return;
	fd = files__open_gone(t->files, f, r);
	if (fd >= 0)
		identities__read_program(t->identities, &p->identity, fd);
}

static void find_identity(struct processes *t, struct process *p, int dir, int exe)
{
	const struct identity_source from = {
		.dir = dir, .exe_fd = exe, .process = &p->via, .exec_id = p->exec_id
	};
	int r = exe == -ETIMEDOUT ? exe : 0;

	if (t->identities && identities__read(t->identities, &p->identity, &from) < 0)
		r = -ETIMEDOUT;
	p->unanswered_ns = r < 0 ? process_table__now_ns(t) : 0;
	if (r < 0)
		process_table__tell_silence(t, p);
}

/* Texts of processes that did not come in time. An exec since then has made others of them. */
static void take_late(struct processes *t)
{
	struct texts_answer answer;

	while (t->identities && identities__late(t->identities, &answer)) {
		const struct texts_question *q = &answer.question;
		struct process *p = process_table__find(t, q->process.pid, q->process.start_ns,
							q->exec_id);

		if (p && !p->replaced_ns)
			identity__take(&p->identity, &answer);
		texts_answer__fini(&answer);
	}
}

int processes__tag(struct processes *t, struct process *p)
{
	return identities__tag(t->identities, &p->identity);
}

/* It is there, and we cannot see it: asked again after a second. */
static int open_dir(struct processes *t, struct process *p)
{
	int dir = procfs__open(&p->via);

	if (dir >= 0 || dir == -ESRCH)
		return dir;
	if (!p->maps)
		p->why = files__why_not(dir);
	p->read_ns = process_table__now_ns(t);
	p->pause_ns = ASK_AGAIN_NS;
	if (!p->identity.exe || p->unanswered_ns)
		p->unanswered_ns = p->read_ns;
	return dir;
}

/*
 * What /proc says now is another program's when the process has exec'ed since, or of the next one
 * with that pid: then only what the kernel told counts.
 */
static void find_image(struct processes *t, struct process *p, const struct sampler_sample *sample)
{
	int64_t time_ns = (int64_t)sample->head.time_ns;
	bool replaced = t->trail && trail__replaced(t->trail, p->id.pid, time_ns);
	CLEANUP(fd__closep) int dir = replaced ? -ESRCH : open_dir(t, p), exe = -1;
	struct process_image image = { 0 };

	find_cgroup(t, p);
	if (p->kthread)
		return;
	image = process_image__of(t, p, time_ns);
	if (dir >= 0)
		exe = guarded__open(t->host, dir, DCM_GUARDED_EXE_PATH);
	/* It ended meanwhile. */
	if (exe == -ENOENT || exe == -ESRCH) {
		fd__close(dir);
		dir = -ESRCH;
	}
	p->missing_ns = dir == -ESRCH ? process_table__now_ns(t) : 0;
	p->identity.exe = procfs__exe(exe);
	if (dir >= 0 && !history__fits(t, image.maps, sample))
		history__read(t, p, dir);
	if (image.maps && !p->maps) {
		history__keep(t, p, take_ptr(image.maps), image.since_ns);
		p->known_ns = image.since_ns;
		t->stat.replayed++;
	}
	if (!p->identity.exe)
		p->identity.exe = take_ptr(image.exe);
	if (dir == -ESRCH)
		inherit(t, p, sample);
	if (dir >= 0)
		find_identity(t, p, dir, exe);
	if (t->identities && !p->identity.executable && !p->unanswered_ns)
		find_program(t, p, &image);
	process_image__fini(&image);
}

/* What the program is, when nobody told of it in time. */
static void ask_again(struct processes *t, struct process *p, const struct sampler_sample *sample)
{
	CLEANUP(fd__closep) int dir = -1, exe = -1;
	char *path;

	if (!p->unanswered_ns || p->replaced_ns ||
	    process_table__now_ns(t) - p->unanswered_ns < ASK_AGAIN_NS ||
	    (t->trail && trail__replaced(t->trail, p->id.pid, (int64_t)sample->head.time_ns)))
		return;
	dir = open_dir(t, p);
	if (dir < 0)
		return;
	exe = guarded__open(t->host, dir, DCM_GUARDED_EXE_PATH);
	path = procfs__exe(exe);
	if (path) {
		free(p->identity.exe);
		p->identity.exe = path;
	}
	find_identity(t, p, dir, exe);
	identity__changed(&p->identity);
}

/* ------------------------------------------------------------------------------------------------
 * The table
 */

/* Finds the path again when the process was moved. */
static void follow_cgroup(struct processes *t, struct process *p, uint64_t cgroup_id)
{
	if (p->cgroup_id == cgroup_id)
		return;
	p->cgroup_id = cgroup_id;
	find_cgroup(t, p);
}

bool processes__full(const struct processes *t)
{
	return t->stat.n >= PROCESSES_MAX;
}

struct process *processes__of(struct processes *t, const struct sampler_sample *sample, uint32_t window)
{
	const struct sampler_head *h = &sample->head;
	struct process *p = process_table__find(t, h->pid, h->start_ns, h->exec_id);

	t->window = window;
	if (p) {
		follow_cgroup(t, p, sample->cgroup_id);
		ask_again(t, p, sample);
		p->last_window = window;
		return p;
	}
	/* Here alone: what looks for its ancestors holds some of them. */
	if (processes__full(t))
		make_room(t, (int64_t)h->time_ns);
	p = process_table__add(t, sample);
	if (!p)
		return NULL;
	find_image(t, p, sample);
	return p;
}

/* The older image is gone since then; if /proc was read later, it spoke of the new one. */
static void replaced(struct process *p, int64_t when_ns)
{
	p->replaced_ns = when_ns;
	if (!p->maps || p->read_end_ns < when_ns)
		return;
	p->maps->wrong = true;
	if (p->few)
		p->few->wrong = true;
	maps__unref(take_ptr(p->few));
	maps__unref(p->maps);
	p->maps = NULL;
	p->why = DCM_UNNAMED_FILE_GONE;
	free(p->identity.exe);
	p->identity.exe = NULL;
	identity__changed(&p->identity);
}

/* The symbol sources have heard of one of its images. */
static bool was_told(struct processes *t, const struct sampler_head *h)
{
	for (struct process *p = *process_table__bucket(t, h->pid); p; p = p->next)
		if (p->id.pid == h->pid && p->start_ns == h->start_ns && p->is_told)
			return true;
	return false;
}

void processes__event(struct processes *t, const struct sampler_event *event)
{
	const struct sampler_head *h = &event->head;
	struct dcm_process id = { h->pid, (uint32_t)h->exec_id, procfs__whole_ticks(h->start_ns) };
	bool told = was_told(t, h), is_new = true;

	for (struct process *p = *process_table__bucket(t, h->pid); p; p = p->next) {
		if (p->id.pid != h->pid || p->start_ns != h->start_ns || p->kthread)
			continue;
		if (h->kind == SAMPLER_EXIT && p->exec_id == h->exec_id && !p->ended_ns) {
			p->ended_ns = (int64_t)h->time_ns;
			if (told)
				t->host->process_event(t->host, DCM_PROCESS_EXIT, &p->id);
		}
		if (h->kind == SAMPLER_EXEC && p->exec_id == h->exec_id)
			is_new = false;
		if (h->kind == SAMPLER_EXEC && p->exec_id < h->exec_id && !p->replaced_ns)
			replaced(p, (int64_t)h->time_ns);
	}
	if (h->kind == SAMPLER_EXEC && told && is_new)
		t->host->process_event(t->host, DCM_PROCESS_EXEC, &id);
}

/* Another reading can say more about this sample, and it is not too soon for one. */
static bool may_read(const struct processes *t, const struct process *p,
		     const struct sampler_sample *sample)
{
	int64_t time_ns = (int64_t)sample->head.time_ns;

	if (p->replaced_ns || p->ended_ns || (p->maps && p->read_ns > time_ns))
		return false;
	if (t->trail && trail__replaced(t->trail, p->id.pid, time_ns))
		return false;
	return history__is_rested(t, p);
}

struct maps *processes__maps(struct processes *t, struct process *p,
			     const struct sampler_sample *sample, bool uncovered, bool *ret_certain)
{
	int64_t time_ns = (int64_t)sample->head.time_ns;
	bool advanced = history__advance(t, p, time_ns);
	struct maps *maps;

	history__look_back(t, p, time_ns);
	maps = history__matching(t, p, sample);
	if ((!advanced || !maps || uncovered) && may_read(t, p, sample)) {
		CLEANUP(fd__closep) int dir = open_dir(t, p);

		if (dir >= 0) {
			history__read(t, p, dir);
			history__look_back(t, p, time_ns);
			advanced = true;
			maps = history__matching(t, p, sample);
		}
	}
	*ret_certain = advanced && maps;
	if (!advanced && p->maps && p->maps->n > HISTORY_MANY)
		return NULL;
	return maps ? maps : history__at(p, time_ns).maps;
}

/* The directory of /proc that belongs to the process; -1: it is gone. */
static int dir_of(struct processes *t, const struct process *p)
{
	if (t->dir_of != p) {
		processes__rest(t);
		t->dir_of = p;
		t->dir = p->replaced_ns ? -1 : procfs__open(&p->via);
	}
	return t->dir;
}

struct file *processes__file(struct processes *t, struct process *p, struct maps_range *range)
{
	struct file *old = range->file, *file;

	if (range->kind == DCM_MAPPING_ANON || (old && !files__may_retry(range, t->window)))
		return old;
	file = files__known(t->files, range, t->window);
	if (!file)
		file = files__of(t->files, dir_of(t, p), range, t->window);
	maps_range__set_file(range, file);
	file__unref(old);
	return file;
}

void processes__rest(struct processes *t)
{
	if (t->dir >= 0)
		fd__close(t->dir);
	t->dir = -1;
	t->dir_of = NULL;
	take_late(t);
}

void processes__sweep(struct processes *t, uint32_t window)
{
	processes__rest(t);
	forget(t, 0, window);
}

struct processes_stat processes__stat(const struct processes *t)
{
	struct processes_stat stat = t->stat;
	struct errands_stat errands = errands__stat(t->errands);

	stat.hung = errands.n_hung;
	stat.refused = errands.n_refused;
	return stat;
}
