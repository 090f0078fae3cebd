/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/process.c - the processes that were sampled, and what /proc said about them
 *
 * Source: proc(5). Field 22 of /proc/PID/stat is the start time in ticks of 10 ms, which is how
 * `struct dcm_process` counts it, so the nanoseconds of the records are rounded down to that.
 */
#include "plugins/input/ebpf/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"
#include "core/base/fd.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/input/ebpf/cgroup.h"
#include "plugins/input/ebpf/labels.h"

enum {
	BUCKETS = 4096,
	PROCESSES_MAX = 32768,
	KEEP_ENDED = 2, /* windows */
	KEEP_IDLE = 30,
	TEXT_BYTES_MAX = 64 * 1024, /* of cgroup and stat */
	COST_FACTOR = 500,	    /* reading maps may take 1/500 of the time */
};
#define TICK_NS	       10000000ull /* of USER_HZ, 100 on every architecture that we know */
#define PAUSE_FIRST_NS 20000000ll  /* a program that begins maps its libraries one by one */
#define PAUSE_MAX_NS   60000000000ll

struct processes {
	const struct dcm_host *host;
	struct files *files;
	struct process *buckets[BUCKETS];
	struct processes_stat stat;
	uint64_t page_bytes;
	uint32_t window;
	/*
	 * The directory of /proc that was opened last, kept for the files that are asked for next.
	 */
	int dir;
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

struct processes *processes__new(const struct dcm_host *host, struct files *files)
{
	struct processes *t = NEW(struct processes);

	if (t) {
		t->host = host;
		t->files = files;
		t->dir = -1;
		t->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	}
	return t;
}

static void process_free(struct process *p)
{
	if (!p)
		return;
	maps__unref(p->maps);
	for (int i = 0; i < PROCESS_OLDER; i++)
		maps__unref(p->older[i]);
	free(p->exe);
	free(p->cgroup);
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
	free(t);
}

/* ------------------------------------------------------------------------------------------------
 * /proc/PID
 */

/*
 * The state and field 22 of a text of /proc/PID/stat; the name in field 2 may hold anything, ')'
 * too.
 */
static bool parse_stat(struct dcm_str stat, char *ret_state, uint64_t *ret_ticks)
{
	const char *at = stat.n ? memrchr(stat.p, ')', stat.n) : NULL;
	unsigned long long ticks;

	if (!at || sscanf(at, ") %c", ret_state) != 1)
		return false;
	at++;
	for (int field = 3; field <= 22; field++) {
		at = strchr(at, ' ');
		if (!at)
			return false;
		at++;
	}
	if (sscanf(at, "%20llu", &ticks) != 1)
		return false;
	*ret_ticks = ticks;
	return true;
}

static int open_proc(uint32_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u", pid);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/*
 * The directory of another thread, for a leader that ended before its threads: it shows nothing any
 * more. /proc/TID is not listed, but holds what /proc/PID does.
 */
static int open_thread(int leader, uint32_t tid)
{
	CLEANUP(fd__closep) int dir = open_proc(tid);
	char task[32];

	snprintf(task, sizeof(task), "task/%u", tid);
	if (dir < 0 || faccessat(leader, task, F_OK, 0) < 0)
		return -ESRCH;
	return take_fd(dir);
}

/*
 * A descriptor of /proc/PID, checked to be this process's: what is read through it is the process's
 * own, or fails when that has ended. -ESRCH otherwise.
 */
static int open_dir(const struct process *p)
{
	CLEANUP(fd__closep) int dir = open_proc(p->via_pid);
	struct buf text = { 0 };
	uint64_t ticks = 0;
	char state = 0;
	bool same;

	if (dir < 0)
		return -ESRCH;
	same = fd__read_path(dir, "stat", TEXT_BYTES_MAX, &text) == 0 &&
	       parse_stat(buf__view(&text), &state, &ticks) && ticks == p->via_start_ns / TICK_NS;
	buf__fini(&text);
	if (same && state == 'Z' && p->via_tid != p->via_pid)
		return open_thread(dir, p->via_tid);
	return same ? take_fd(dir) : -ESRCH;
}

static char *read_exe(int dir)
{
	char link[4096];
	ssize_t n = readlinkat(dir, "exe", link, sizeof(link));
	struct dcm_str path;
	struct stat st;

	if (n <= 0)
		return NULL;
	path = (struct dcm_str){ link, (uint32_t)n };
	if (fstatat(dir, "exe", &st, 0) == 0 && st.st_nlink == 0)
		path = labels__without_deleted(path);
	str__clean(link, path.n);
	return mem__dup_str(path.p, path.n);
}

static void read_cgroup(struct process *p, int dir)
{
	struct buf text = { 0 };
	struct dcm_str path;
	char *copy;

	if (fd__read_path(dir, "cgroup", TEXT_BYTES_MAX, &text) == 0) {
		path = cgroup__path(buf__view(&text));
		copy = mem__dup_str(path.p, path.n);
		if (copy) {
			str__clean(copy, path.n);
			free(p->cgroup);
			p->cgroup = copy;
		}
	}
	buf__fini(&text);
}

static enum dcm_unnamed why_not(int error)
{
	return error == -EACCES || error == -EPERM ? DCM_UNNAMED_NO_PERMISSION : DCM_UNNAMED_FILE_GONE;
}

/* Puts new maps in front of those that samples taken earlier may still need. */
static void keep_maps(struct process *p, struct maps *maps)
{
	if (p->maps) {
		maps__take_files(maps, p->maps);
		maps__unref(p->older[PROCESS_OLDER - 1]);
		for (int i = PROCESS_OLDER - 1; i > 0; i--)
			p->older[i] = p->older[i - 1];
		p->older[0] = p->maps;
	}
	p->maps = maps;
}

/*
 * Reads the maps and says when they may be read again: soon when something had changed, ever later
 * when nothing had.
 */
static void read_maps(struct processes *t, struct process *p, int dir)
{
	int64_t before = now_ns(t);
	struct maps *maps = NULL;
	int r = maps__read(dir, &maps);
	bool changed = false;

	t->stat.reads++;
	if (r < 0) {
		t->stat.denied += r == -EACCES || r == -EPERM;
		/* What was known stays known. */
		if (!p->maps)
			p->why = why_not(r);
	} else {
		changed = !p->maps || p->maps->exec_bytes != maps->exec_bytes;
		maps->read_ns = now_ns(t);
		keep_maps(p, maps);
	}
	p->read_ns = before;
	p->rest_ns = (now_ns(t) - before) * COST_FACTOR;
	p->pause_ns = changed || !p->pause_ns ? PAUSE_FIRST_NS : p->pause_ns * 2;
	if (p->pause_ns > PAUSE_MAX_NS)
		p->pause_ns = PAUSE_MAX_NS;
}

/*
 * A child that ended before we came and never called exec() was its parent's image still: mappings
 * and program are those of the parent, where that is known.
 */
static void inherit(struct processes *t, struct process *p, uint32_t ppid)
{
	for (struct process *parent = *bucket_of(t, ppid); parent; parent = parent->next) {
		if (parent->id.pid != ppid || parent->exec_id != p->exec_id || !parent->maps ||
		    parent->start_ns > p->start_ns)
			continue;
		p->maps = maps__ref(parent->maps);
		p->via_pid = parent->via_pid;
		p->via_tid = parent->via_tid;
		p->via_start_ns = parent->via_start_ns;
		if (parent->exe)
			p->exe = mem__dup_str(parent->exe, strlen(parent->exe));
		if (parent->cgroup)
			p->cgroup = mem__dup_str(parent->cgroup, strlen(parent->cgroup));
		return;
	}
}

static void read_all(struct processes *t, struct process *p, const struct sampler_sample *sample)
{
	CLEANUP(fd__closep) int dir = open_dir(p);

	if (dir < 0) {
		inherit(t, p, sample->ppid);
		return;
	}
	read_cgroup(p, dir);
	if (p->kthread)
		return;
	read_maps(t, p, dir);
	p->exe = read_exe(dir);
}

/* ------------------------------------------------------------------------------------------------
 * The table
 */

static struct process *process_new(const struct sampler_sample *sample)
{
	struct process *p = NEW(struct process);

	if (!p)
		return NULL;
	p->start_ns = sample->head.start_ns;
	p->exec_id = sample->head.exec_id;
	p->id.pid = sample->head.pid;
	p->via_pid = p->id.pid;
	p->via_tid = sample->head.tid;
	p->via_start_ns = p->start_ns;
	p->id.generation = (uint32_t)sample->head.exec_id;
	p->id.start_ns = p->start_ns / TICK_NS * TICK_NS;
	p->cgroup_id = sample->cgroup_id;
	p->kthread = sample->head.flags & SAMPLER_KTHREAD;
	p->why = DCM_UNNAMED_FILE_GONE;
	return p;
}

/* Reads the path again when the process was moved. */
static void follow_cgroup(struct process *p, uint64_t cgroup_id)
{
	CLEANUP(fd__closep) int dir = -1;

	if (p->cgroup_id == cgroup_id)
		return;
	p->cgroup_id = cgroup_id;
	dir = open_dir(p);
	if (dir >= 0)
		read_cgroup(p, dir);
}

struct process *processes__of(struct processes *t, const struct sampler_sample *sample, uint32_t window)
{
	const struct sampler_head *h = &sample->head;
	struct process **bucket = bucket_of(t, h->pid);
	struct process *p;

	t->window = window;
	for (p = *bucket; p; p = p->next)
		if (p->id.pid == h->pid && p->start_ns == h->start_ns && p->exec_id == h->exec_id)
			break;
	if (p) {
		follow_cgroup(p, sample->cgroup_id);
		p->last_window = window;
		return p;
	}
	p = t->stat.n < PROCESSES_MAX ? process_new(sample) : NULL;
	if (!p)
		return NULL;
	p->last_window = window;
	p->next = *bucket;
	*bucket = p;
	t->stat.n++;
	read_all(t, p, sample);
	if (!p->kthread)
		t->host->process_event(t->host, DCM_PROCESS_SEEN, &p->id);
	return p;
}

/* The older image is gone since then; if /proc was read later, it spoke of the new one. */
static void replaced(struct process *p, int64_t when_ns)
{
	p->replaced_ns = when_ns;
	if (!p->maps || p->maps->read_ns < when_ns)
		return;
	p->maps->wrong = true;
	maps__unref(p->maps);
	p->maps = NULL;
	p->why = DCM_UNNAMED_FILE_GONE;
	free(p->exe);
	p->exe = NULL;
}

void processes__event(struct processes *t, const struct sampler_event *event)
{
	const struct sampler_head *h = &event->head;
	struct dcm_process id = { h->pid, (uint32_t)h->exec_id, h->start_ns / TICK_NS * TICK_NS };
	bool known = false, is_new = true;

	for (struct process *p = *bucket_of(t, h->pid); p; p = p->next) {
		if (p->id.pid != h->pid || p->start_ns != h->start_ns || p->kthread)
			continue;
		known = true;
		if (h->kind == SAMPLER_EXIT && p->exec_id == h->exec_id && !p->ended_ns) {
			p->ended_ns = (int64_t)h->time_ns;
			t->host->process_event(t->host, DCM_PROCESS_EXIT, &p->id);
		}
		if (h->kind == SAMPLER_EXEC && p->exec_id == h->exec_id)
			is_new = false;
		if (h->kind == SAMPLER_EXEC && p->exec_id < h->exec_id && !p->replaced_ns)
			replaced(p, (int64_t)h->time_ns);
	}
	if (h->kind == SAMPLER_EXEC && known && is_new)
		t->host->process_event(t->host, DCM_PROCESS_EXEC, &id);
}

/* The maps, new or old, with as many executable pages as the process had when it was sampled. */
static struct maps *matching(const struct processes *t, const struct process *p, uint64_t exec_pages)
{
	uint64_t bytes = exec_pages * t->page_bytes;

	if (p->maps && p->maps->exec_bytes == bytes)
		return p->maps;
	for (int i = 0; i < PROCESS_OLDER && p->older[i]; i++)
		if (p->older[i]->exec_bytes == bytes)
			return p->older[i];
	return NULL;
}

/* Another reading can say more about this sample, and it is not too soon for one. */
static bool may_read(const struct processes *t, const struct process *p,
		     const struct sampler_sample *sample)
{
	if (p->replaced_ns || p->ended_ns)
		return false;
	if (p->maps && p->maps->read_ns > (int64_t)sample->head.time_ns)
		return false;
	return now_ns(t) - p->read_ns >= (p->pause_ns > p->rest_ns ? p->pause_ns : p->rest_ns);
}

struct maps *processes__maps(struct processes *t, struct process *p,
			     const struct sampler_sample *sample, bool uncovered, bool *ret_certain)
{
	struct maps *maps = matching(t, p, sample->exec_pages);

	if ((!maps || uncovered) && may_read(t, p, sample)) {
		CLEANUP(fd__closep) int dir = open_dir(p);

		if (dir >= 0) {
			read_maps(t, p, dir);
			maps = matching(t, p, sample->exec_pages);
		}
	}
	*ret_certain = maps != NULL;
	return maps ? maps : p->maps;
}

struct file *processes__file(struct processes *t, struct process *p, struct maps_range *range)
{
	if (range->file || range->kind == DCM_MAPPING_ANON)
		return range->file;
	if (t->dir_of != p) {
		processes__rest(t);
		t->dir_of = p;
		t->dir = p->replaced_ns ? -1 : open_dir(p);
	}
	range->file = files__of(t->files, t->dir, range, t->window);
	return range->file;
}

void processes__rest(struct processes *t)
{
	if (t->dir >= 0)
		fd__close(t->dir);
	t->dir = -1;
	t->dir_of = NULL;
}

void processes__sweep(struct processes *t, uint32_t window)
{
	processes__rest(t);
	for (uint32_t i = 0; i < BUCKETS; i++)
		for (struct process **at = &t->buckets[i]; *at;) {
			struct process *p = *at;
			uint32_t keep = p->ended_ns || p->replaced_ns ? KEEP_ENDED : KEEP_IDLE;

			if (p->last_window + keep >= window) {
				at = &p->next;
				continue;
			}
			*at = p->next;
			process_free(p);
			t->stat.n--;
		}
}

struct processes_stat processes__stat(const struct processes *t)
{
	return t->stat;
}
