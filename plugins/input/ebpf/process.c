/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/process.c - the processes that were sampled, and what /proc said about them
 *
 * A state of mappings is immutable and shared with the windows; another one is made when a sample
 * needs it, not when a record comes: a program that maps and unmaps in a loop costs one state for
 * each of its samples at most, and the same state again is the same object.
 */
#include "plugins/input/ebpf/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/cleanup.h"
#include "core/base/fd.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "plugins/input/ebpf/cgroup.h"
#include "plugins/input/ebpf/cgroups.h"
#include "plugins/input/ebpf/cost.h"
#include "plugins/input/ebpf/guarded.h"
#include "plugins/input/ebpf/labels.h"
#include "plugins/input/ebpf/thread.h"

enum {
	BUCKETS = 4096,
	PROCESSES_MAX = 32768,
	KEEP_ENDED = 2, /* windows */
	KEEP_IDLE = 30,
	ROOM_MADE = 2048,   /* images that a full table forgets at once */
	MANY_RANGES = 2048, /* from which on a new state costs enough to be counted too */
	ANCESTORS_MAX = 8,  /* forks without exec that are followed back */
};
#define PAUSE_FIRST_NS 20000000ll /* a program that begins maps its libraries one by one */
#define PAUSE_MAX_NS   60000000000ll
#define ROOM_AGAIN_NS  100000000ll
#define ASK_AGAIN_NS   1000000000ll /* whoever did not answer */

struct processes {
	const struct dcm_host *host;
	struct files *files;
	struct identities *identities;
	const struct trail *trail;
	struct cgroups *cgroups;
	struct errands *errands; /* reads what a process may keep locked */
	struct arena texts;
	VEC(struct dcm_str) only;   /* control groups that are wanted; empty: all */
	struct trail_mappings told; /* the answer to the last question to the trail */
	struct process *buckets[BUCKETS];
	struct processes_stat stat;
	uint64_t page_bytes;
	uint32_t window;
	int64_t room_again_ns; /* a full table looks for room again */
	int dir; /* of /proc that was opened last, kept for the files that are asked for next */
	const struct process *dir_of;
};

static int64_t now_ns(const struct processes *t)
{
	return t->host->mono_ns(t->host);
}

static struct process **bucket_of(struct processes *t, uint32_t pid)
{
	return &t->buckets[hash__mix(0, pid) % BUCKETS];
}

static struct process *find(struct processes *t, uint32_t pid, uint64_t start_ns, uint64_t exec_id)
{
	struct process *p;

	for (p = *bucket_of(t, pid); p; p = p->next)
		if (p->id.pid == pid && p->start_ns == start_ns && p->exec_id == exec_id)
			break;
	return p;
}

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
	for (uint32_t i = 0; i < BUCKETS; i++)
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

/* ------------------------------------------------------------------------------------------------
 * States of mappings
 */

/* A state equal to `maps` that is known already, or itself. Takes and returns a reference. */
static struct maps *known_state(const struct process *p, struct maps *maps)
{
	struct maps *same = NULL;

	if (maps->n > MANY_RANGES)
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

void processes__tell(struct processes *t, struct process *p)
{
	if (p->is_told || p->kthread)
		return;
	p->is_told = true;
	t->host->process_event(t->host, DCM_PROCESS_SEEN, &p->id);
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

/* Puts a newer state in front of those that samples taken earlier may still need. Takes `maps`. */
static void keep_maps(struct processes *t, struct process *p, struct maps *maps, int64_t since_ns)
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

static enum dcm_unnamed why_not(int error)
{
	if (error == -ETIMEDOUT)
		return DCM_UNNAMED_NOT_ANSWERED;
	return error == -EACCES || error == -EPERM ? DCM_UNNAMED_NO_PERMISSION : DCM_UNNAMED_FILE_GONE;
}

/* Whoever opens files for us has not answered about this process. */
static void tell_silence(struct processes *t, const struct process *p)
{
	char path[32];
	int n = snprintf(path, sizeof(path), "/proc/%u", p->id.pid);

	files__tell_silence(t->files, (struct dcm_str){ path, (uint32_t)n });
}

/*
 * Reads the maps and says when they may be read again: soon when something had changed, ever later
 * when nothing had.
 */
static void read_maps(struct processes *t, struct process *p, int dir)
{
	int64_t before = now_ns(t), cpu_before = thread__cpu_ns();
	struct maps *maps = NULL;
	struct maps_reader reader = { .errands = t->errands, .pid = p->id.pid, .time_ns = before };
	int r = maps__read(t->host, dir, &reader, &maps);
	bool changed = false;

	t->stat.reads++;
	p->read_ns = before;
	p->read_end_ns = now_ns(t);
	if (r < 0) {
		t->stat.denied += r == -EACCES || r == -EPERM;
		/* What was known stays known. */
		if (!p->maps)
			p->why = why_not(r);
		if (r == -ETIMEDOUT)
			tell_silence(t, p);
	} else {
		changed = !p->maps || p->maps->exec_bytes != maps->exec_bytes;
		if (p->maps)
			maps__take_files(maps, p->maps);
		/* It is of some moment between the two; what was before may have been another all the same. */
		keep_maps(t, p, maps, p->read_end_ns);
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
	if (r == -ETIMEDOUT)
		p->pause_ns = ASK_AGAIN_NS;
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

/*
 * Brings the newest state up to a moment by what the kernel told until then. False when it is not
 * what it should be: something was missed, or it is too soon for another state of so many mappings
 * and one of the files in it has been replaced.
 */
static bool advance(struct processes *t, struct process *p, int64_t until_ns)
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
	before = now_ns(t);
	if (p->maps->n > MANY_RANGES && before - p->applied_ns < p->apply_rest_ns)
		return !p->has_missed && !covers_files(t, p->maps);
	cpu_before = thread__cpu_ns();
	if (maps__apply(p->maps, t->told.v, t->told.n, &maps) < 0)
		return false;
	keep_maps(t, p, maps, t->told.last_ns > p->since_ns ? t->told.last_ns : p->since_ns);
	p->known_ns = t->told.last_ns;
	p->applied_ns = before;
	p->apply_rest_ns = cost__rest(now_ns(t) - before, thread__cpu_ns() - cpu_before);
	t->stat.applied++;
	return !p->has_missed;
}

/* The state of a moment; the first one known when that is later. */
static struct process_state state_at(const struct process *p, int64_t time_ns)
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

/*
 * A sample waits in its ring, and meanwhile another one of later brought the state up to its time,
 * or had /proc read, which speaks of now. The state of a moment before is one that is known, and
 * what the kernel told from there on; or the first one of after it, and all that was told until
 * that moment, as far as it is remembered.
 */
static void look_back(struct processes *t, struct process *p, int64_t time_ns)
{
	struct process_state from = state_at(p, time_ns);
	int64_t after_ns = from.since_ns;
	struct maps *maps = NULL;

	if (!t->trail || !from.maps || from.maps->n > MANY_RANGES ||
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
	for (uint32_t i = 0; i < BUCKETS; i++)
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

	for (uint32_t i = 0; i < BUCKETS && times; i++)
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

/* A new entry of the table; NULL when memory ran out, or it is full of processes that are there. */
static struct process *add_process(struct processes *t, const struct sampler_sample *sample)
{
	struct process **bucket = bucket_of(t, sample->head.pid);
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

/* What it runs, as far as the kernel told: nothing of it was read. */
struct image {
	struct maps *maps; /* NULL: not known */
	int64_t since_ns;
	char *exe;
	struct maps_range program; /* as it was told; its `file` is a reference. end 0: it was not */
};

static struct image replay(struct processes *t, const struct process *of, uint32_t pid,
			   int64_t time_ns, uint32_t n_forks);

static char *copy_of(const char *text)
{
	return text ? mem__dup_str(text, strlen(text)) : NULL;
}

/* The parent as it is known under that exec id, which a child begins with. */
static struct process *find_parent(struct processes *t, const struct process *of, uint32_t ppid)
{
	struct process *p;

	for (p = *bucket_of(t, ppid); p; p = p->next)
		if (p->id.pid == ppid && p->exec_id == of->exec_id && p->maps && p->start_ns <= of->start_ns)
			break;
	return p;
}

/* It is not too soon for another reading of its maps. */
static bool is_rested(const struct processes *t, const struct process *p)
{
	return now_ns(t) - p->read_ns >= (p->pause_ns > p->rest_ns ? p->pause_ns : p->rest_ns);
}

/*
 * A parent that was never sampled itself, such as a shell that waits: read once for all the
 * children that it will have. NULL when it has ended, has exec'ed since the fork, or may not be
 * read, which is not tried for each child.
 */
static struct process *read_parent(struct processes *t, const struct process *of,
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
	p = find(t, fork->ppid, start_ns, of->exec_id);
	if (!p)
		p = add_process(t, &sample);
	if (!p || p->replaced_ns || !is_rested(t, p))
		return NULL;
	dir = procfs__open(&p->via);
	if (dir < 0)
		return NULL;
	read_maps(t, p, dir);
	exe = guarded__open(t->host, dir, DCM_GUARDED_EXE_PATH);
	free(p->identity.exe);
	p->identity.exe = procfs__exe(exe);
	return p->maps ? p : NULL;
}

/*
 * The image that a process forked from its parent: of what is known of that, or of what was told.
 */
static struct image of_parent(struct processes *t, const struct process *of,
			      const struct trail_origin *fork, uint32_t n_forks)
{
	struct image image = { 0 };
	struct process_state state = { 0 };
	struct process *p = find_parent(t, of, fork->ppid);

	if (p && advance(t, p, fork->time_ns))
		state = state_at(p, fork->time_ns);
	/* What it had mapped by then may still be told when what is known is younger. */
	if (!state.maps || state.since_ns > fork->time_ns)
		image = replay(t, of, fork->ppid, fork->time_ns, n_forks + 1);
	if (image.maps)
		return image;
	if (!state.maps) {
		p = read_parent(t, of, fork);
		state.maps = p ? p->maps : NULL;
	}
	if (!state.maps)
		return image;
	free(image.exe);
	return (struct image){
		.maps = maps__ref(state.maps),
		.since_ns = fork->time_ns,
		.exe = copy_of(p->identity.exe),
	};
}

/* The program is what is mapped first after an exec. */
static void take_first_file(struct image *image, const struct trail_mappings *told)
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
static void look_ahead(struct processes *t, struct image *image, uint32_t pid, int64_t time_ns)
{
	if (!image->exe && !trail__replaced(t->trail, pid, time_ns) &&
	    trail__mappings(t->trail, pid, time_ns, INT64_MAX, &t->told) == 0)
		take_first_file(image, &t->told);
}

/* The image of a pid at a moment, from its exec or fork on; empty when that was not heard. */
static struct image replay(struct processes *t, const struct process *of, uint32_t pid,
			   int64_t time_ns, uint32_t n_forks)
{
	struct trail_origin origin = { .kind = TRAIL_UNKNOWN };
	struct image image = { 0 };
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

static bool is_filtered(const struct processes *t, const struct process *p)
{
	struct dcm_str path = str__of(p->identity.cgroup);

	for (size_t i = 0; i < t->only.n; i++)
		if (cgroup__is_within(path, t->only.v[i]))
			return false;
	return t->only.n > 0;
}

/*
 * A child that ended before we came and never called exec() was its parent's image still: mappings
 * and program are those of the parent, where that is known.
 */
static void inherit(struct processes *t, struct process *p, uint32_t ppid)
{
	for (struct process *parent = *bucket_of(t, ppid); parent; parent = parent->next) {
		if (parent->id.pid != ppid || parent->start_ns > p->start_ns)
			continue;
		if (!p->identity.cgroup && parent->cgroup_id == p->cgroup_id)
			p->identity.cgroup = copy_of(parent->identity.cgroup);
		p->is_filtered = is_filtered(t, p);
		if (parent->exec_id != p->exec_id || !parent->maps)
			continue;
		if (!p->maps)
			p->maps = maps__ref(parent->maps);
		p->via = parent->via;
		if (!p->identity.exe)
			p->identity.exe = copy_of(parent->identity.exe);
		return;
	}
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
static struct maps_range *program_range(const struct process *p, struct image *image)
{
	for (uint32_t i = 0; p->maps && p->identity.exe && i < p->maps->n; i++) {
		struct maps_range *r = &p->maps->ranges[i];

		if (r->kind == DCM_MAPPING_FILE && str__eq(r->name, str__of(p->identity.exe)))
			return r;
	}
	return image->program.end ? &image->program : NULL;
}

/* The program of a process that has ended, by the file that it mapped. */
static void find_program(struct processes *t, struct process *p, struct image *image)
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
	p->unanswered_ns = r < 0 ? now_ns(t) : 0;
	if (r < 0)
		tell_silence(t, p);
}

/* Texts of processes that did not come in time. An exec since then has made others of them. */
static void take_late(struct processes *t)
{
	struct texts_answer answer;

	while (t->identities && identities__late(t->identities, &answer)) {
		const struct texts_question *q = &answer.question;
		struct process *p = find(t, q->process.pid, q->process.start_ns, q->exec_id);

		if (p && !p->replaced_ns)
			identity__take(&p->identity, &answer);
		texts_answer__fini(&answer);
	}
}

int processes__tag(struct processes *t, struct process *p)
{
	return identities__tag(t->identities, &p->identity);
}

static bool fits(const struct processes *t, const struct maps *maps, const struct sampler_sample *sample)
{
	return maps && maps->exec_bytes == sample->exec_pages * t->page_bytes;
}

/*
 * What /proc says now is another program's when the process has exec'ed since, or of the next one
 * with that pid: then only what the kernel told counts.
 */
static void find_image(struct processes *t, struct process *p, const struct sampler_sample *sample)
{
	int64_t time_ns = (int64_t)sample->head.time_ns;
	bool replaced = t->trail && trail__replaced(t->trail, p->id.pid, time_ns);
	CLEANUP(fd__closep) int dir = replaced ? -1 : procfs__open(&p->via), exe = -1;
	struct image image = { 0 };

	find_cgroup(t, p);
	if (p->kthread)
		return;
	image = replay(t, p, p->id.pid, time_ns, 0);
	if (dir >= 0)
		exe = guarded__open(t->host, dir, DCM_GUARDED_EXE_PATH);
	/* It ended meanwhile. */
	if (exe == -ENOENT || exe == -ESRCH) {
		fd__close(dir);
		dir = -1;
	}
	p->missing_ns = dir < 0 ? now_ns(t) : 0;
	p->identity.exe = procfs__exe(exe);
	if (dir >= 0 && !fits(t, image.maps, sample))
		read_maps(t, p, dir);
	if (image.maps && !p->maps) {
		keep_maps(t, p, take_ptr(image.maps), image.since_ns);
		p->known_ns = image.since_ns;
		t->stat.replayed++;
	}
	if (!p->identity.exe)
		p->identity.exe = take_ptr(image.exe);
	if (dir < 0)
		inherit(t, p, sample->ppid);
	if (dir >= 0)
		find_identity(t, p, dir, exe);
	if (t->identities && !p->identity.executable && !p->unanswered_ns)
		find_program(t, p, &image);
	maps__unref(image.maps);
	file__unref(image.program.file);
	free(image.exe);
}

/* What the program is, when nobody told of it in time. */
static void ask_again(struct processes *t, struct process *p, const struct sampler_sample *sample)
{
	CLEANUP(fd__closep) int dir = -1, exe = -1;
	char *path;

	if (!p->unanswered_ns || p->replaced_ns || now_ns(t) - p->unanswered_ns < ASK_AGAIN_NS ||
	    (t->trail && trail__replaced(t->trail, p->id.pid, (int64_t)sample->head.time_ns)))
		return;
	dir = procfs__open(&p->via);
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
	struct process *p = find(t, h->pid, h->start_ns, h->exec_id);

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
	p = add_process(t, sample);
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
	for (struct process *p = *bucket_of(t, h->pid); p; p = p->next)
		if (p->id.pid == h->pid && p->start_ns == h->start_ns && p->is_told)
			return true;
	return false;
}

void processes__event(struct processes *t, const struct sampler_event *event)
{
	const struct sampler_head *h = &event->head;
	struct dcm_process id = { h->pid, (uint32_t)h->exec_id, procfs__whole_ticks(h->start_ns) };
	bool told = was_told(t, h), is_new = true;

	for (struct process *p = *bucket_of(t, h->pid); p; p = p->next) {
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

/*
 * The state, new or old, with as many executable pages as the process had when it was sampled: of
 * several the one of that time, or the first after it.
 */
static struct maps *matching(const struct processes *t, const struct process *p,
			     const struct sampler_sample *sample)
{
	int64_t time_ns = (int64_t)sample->head.time_ns;
	struct maps *best = fits(t, p->maps, sample) ? p->maps : NULL;

	if (best && p->since_ns <= time_ns)
		return best;
	for (int i = 0; i < PROCESS_OLDER && p->older[i].maps; i++) {
		if (!fits(t, p->older[i].maps, sample))
			continue;
		best = p->older[i].maps;
		if (p->older[i].since_ns <= time_ns)
			break;
	}
	return best;
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
	return is_rested(t, p);
}

struct maps *processes__maps(struct processes *t, struct process *p,
			     const struct sampler_sample *sample, bool uncovered, bool *ret_certain)
{
	int64_t time_ns = (int64_t)sample->head.time_ns;
	bool advanced = advance(t, p, time_ns);
	struct maps *maps;

	look_back(t, p, time_ns);
	maps = matching(t, p, sample);
	if ((!advanced || !maps || uncovered) && may_read(t, p, sample)) {
		CLEANUP(fd__closep) int dir = procfs__open(&p->via);

		if (dir >= 0) {
			read_maps(t, p, dir);
			look_back(t, p, time_ns);
			advanced = true;
			maps = matching(t, p, sample);
		}
	}
	*ret_certain = advanced && maps;
	if (!advanced && p->maps && p->maps->n > MANY_RANGES)
		return NULL;
	return maps ? maps : state_at(p, time_ns).maps;
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
	return t->stat;
}
