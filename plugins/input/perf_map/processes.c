/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/perf_map/processes.c - the processes that were seen, each with its perf map and its
 * jitdump
 *
 * Entries are reference-counted: the table holds one reference, each caller at work another, so an
 * entry may leave the table while a large map is being read. Those that ended are swept out by
 * later events; those whose end was missed are found by a look at /proc once a minute.
 *
 * Threads: any; see processes.h. Limits: PROCESSES_MAX, PROCESSES_MAX_ROOTS, max_map_bytes each,
 * max_bytes together (the map that was not asked for the longest time is forgotten and read anew
 * when it is asked for).
 */
#include "plugins/input/perf_map/processes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/errands.h"
#include "plugins/input/perf_map/proc.h"
#include "plugins/input/perf_map/source.h"

enum {
	BUCKETS = 1024,
	DUMP_PAUSE_S = 64,  /* at most, between looks for a jitdump among a process's mappings */
	SWEEP_S = 1,	    /* between looks for those that ended */
	ALIVE_S = 60,	    /* between looks for those whose end was missed */
	START_SLACK_MS = 20 /* start times are counted in clock ticks */
};
static const int64_t SECOND_NS = 1000000000;

enum { NOTES_MAX = 8, NOTES_S = 60 }; /* so many in so long */

/* Sentences that wait for somebody who may call the host. Its lock is taken last of all. */
struct notes {
	pthread_mutex_t lock;
	char texts[NOTES_MAX][PROCESSES_NOTE_BYTES];
	uint32_t n, n_since; /* that wait; that were noted since: */
	int64_t since_ns;
};

/* A root directory that is not ours. Under the table's lock. */
struct root {
	struct root *next;
	uint32_t refs;
	struct proc_root id;
	int fd; /* O_PATH */
};

struct process {
	_Atomic uint32_t refs;
	struct process *next; /* in its bucket; under the table's lock, as are: */
	int64_t ended_ns;     /* mono; 0: lives */
	int64_t heard_ns;
	bool listed;

	/* Constant. */
	struct dcm_process id;
	struct proc_info info;
	struct root *root; /* NULL: ours */
	int root_error;	   /* why the process's own root cannot be looked into, or 0 */

	pthread_mutex_t lock; /* guards: */
	struct source sources[SOURCE_FORMATS];
	int64_t looked_ns;		/* mono; 0: never */
	int64_t dump_ns, dump_pause_ns; /* mono of the next look for a jitdump; grows while there is none */
	char *dump_path;		/* NULL: none was found */
	uint32_t map_dir, map_pid; /* dirs[map_dir]/perf-map_pid.map is the one that is open */
	int result;		   /* of that look */
	bool told_no_file;	   /* said already: what has a map's name is no file */
	bool told_hung;		   /* likewise: its file system does not answer */
	_Atomic int64_t asked_ns;
	_Atomic uint64_t bytes;
};

struct processes {
	struct processes_config config;
	struct errands *errands;
	int own_root_fd; /* O_PATH */
	struct proc_root own_root;

	pthread_mutex_t lock;
	struct process *buckets[BUCKETS];
	struct root *roots;
	uint32_t n_processes, n_roots;
	int64_t swept_ns, checked_ns;

	_Atomic uint64_t bytes, n_lines, n_skipped, n_forgotten, n_rewrites, n_cut, n_unread;
	struct notes notes;
};

/* --- roots, under the table's lock --- */

static bool same_root(const struct proc_root *a, const struct proc_root *b)
{
	return a->mount_ns == b->mount_ns && a->dev == b->dev && a->ino == b->ino;
}

/* The process's root: NULL when it is ours, or cannot be had (*ret_error). */
static struct root *root_of(struct processes *t, uint32_t pid, int *ret_error)
{
	struct proc_root id;
	struct root *r;

	*ret_error = proc__root(t->config.host, t->config.proc, pid, &id);
	if (*ret_error || same_root(&id, &t->own_root))
		return NULL;
	for (r = t->roots; r; r = r->next) {
		if (same_root(&r->id, &id)) {
			r->refs++;
			return r;
		}
	}
	r = t->n_roots < PROCESSES_MAX_ROOTS ? NEW(struct root) : NULL;
	if (r)
		r->fd = proc__open_root(t->config.host, t->config.proc, pid);
	if (!r || r->fd < 0) {
		*ret_error = r ? r->fd : -EMFILE;
		free(r);
		return NULL;
	}
	r->refs = 1;
	r->id = id;
	r->next = t->roots;
	t->roots = r;
	t->n_roots++;
	return r;
}

static void root_unref(struct processes *t, struct root *r)
{
	struct root **at = &t->roots;

	if (!r || --r->refs)
		return;
	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	t->n_roots--;
	close(r->fd);
	free(r);
}

/* --- entries --- */

static struct process **bucket_of(struct processes *t, uint32_t pid)
{
	return &t->buckets[hash__mix(0, pid) % BUCKETS];
}

static bool same_id(const struct dcm_process *a, const struct dcm_process *b)
{
	return a->pid == b->pid && a->generation == b->generation && a->start_ns == b->start_ns;
}

/* Not under the table's lock. */
static void process_unref(struct processes *t, struct process *p)
{
	if (atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1)
		return;
	atomic_fetch_sub(&t->bytes, atomic_load(&p->bytes));
	pthread_mutex_lock(&t->lock);
	root_unref(t, p->root);
	pthread_mutex_unlock(&t->lock);
	for (int i = 0; i < SOURCE_FORMATS; i++)
		source__fini(&p->sources[i]);
	free(p->dump_path);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static struct process *find(struct processes *t, const struct dcm_process *id)
{
	for (struct process *p = *bucket_of(t, id->pid); p; p = p->next) {
		if (same_id(&p->id, id)) {
			atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
			return p;
		}
	}
	return NULL;
}

/*
 * Takes an entry out of the table and puts it on *list, whose entries the caller unrefs without the
 * lock.
 */
static void unlist(struct processes *t, struct process **at, struct process **list)
{
	struct process *p = *at;

	*at = p->next;
	p->next = *list;
	p->listed = false;
	*list = p;
	t->n_processes--;
}

static void unref_all(struct processes *t, struct process *list)
{
	while (list) {
		struct process *p = list;

		list = p->next;
		process_unref(t, p);
	}
}

static bool is_gone(const struct processes *t, uint32_t pid)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%" PRIu32, t->config.proc, pid);
	return access(path, F_OK) < 0 && errno == ENOENT;
}

/* Removes those that ended long ago, and the one heard of least recently when the table is full. */
static struct process *sweep(struct processes *t, int64_t now_ns)
{
	bool check = now_ns - t->checked_ns >= ALIVE_S * SECOND_NS,
	     full = t->n_processes >= PROCESSES_MAX;
	struct process *list = NULL, **oldest = NULL;

	if (!full && now_ns - t->swept_ns < SWEEP_S * SECOND_NS)
		return NULL;
	t->swept_ns = now_ns;
	if (check)
		t->checked_ns = now_ns;
	for (uint32_t i = 0; i < BUCKETS; i++) {
		for (struct process **at = &t->buckets[i]; *at;) {
			struct process *p = *at;

			if (check && !p->ended_ns && is_gone(t, p->id.pid))
				p->ended_ns = now_ns;
			if (p->ended_ns && now_ns - p->ended_ns > t->config.keep_ns) {
				unlist(t, at, &list);
				continue;
			}
			if (!oldest || p->heard_ns < (*oldest)->heard_ns)
				oldest = at;
			at = &p->next;
		}
	}
	/* `oldest` may point into an entry that left after it: only used when none did. */
	if (full && !list && oldest)
		unlist(t, oldest, &list);
	return list;
}

/* A new entry with two references, or NULL (*ret_error): there is no such process (any more). */
static struct process *make(struct processes *t, const struct dcm_process *id, int *ret_error)
{
	struct process *p = NEW(struct process);
	int64_t apart_ns;
	int rc = p ? proc__info(t->config.proc, id->pid, &p->info) : -ENOMEM;

	if (!rc) {
		apart_ns = (int64_t)(p->info.start_ns - id->start_ns);
		if (id->start_ns && llabs(apart_ns) > START_SLACK_MS * 1000000)
			rc = -ESRCH; /* the number was given to another one */
	}
	if (rc) {
		free(p);
		*ret_error = rc;
		return NULL;
	}
	for (int i = 0; i < SOURCE_FORMATS; i++)
		source__init(&p->sources[i], (enum source_format)i, t->config.max_map_bytes, t->errands);
	p->refs = 2;
	p->id = *id;
	p->listed = true;
	pthread_mutex_init(&p->lock, NULL);
	return p;
}

/*
 * The entry of that process, made when it is not there. The caller owns a reference. NULL:
 * *ret_error.
 */
static struct process *get(struct processes *t, const struct dcm_process *id, int *ret_error)
{
	int64_t now_ns = clock__mono(t->config.clock);
	struct process *p, *gone, *other;

	pthread_mutex_lock(&t->lock);
	gone = sweep(t, now_ns);
	p = find(t, id);
	if (!p) {
		p = make(t, id, ret_error);
		if (p) {
			p->root = root_of(t, id->pid, &p->root_error);
			/* What had the number before is not there any more. */
			for (other = *bucket_of(t, id->pid); other; other = other->next) {
				if (other->id.pid == id->pid && !other->ended_ns)
					other->ended_ns = now_ns;
			}
			p->next = *bucket_of(t, id->pid);
			*bucket_of(t, id->pid) = p;
			t->n_processes++;
		}
	}
	if (p)
		p->heard_ns = now_ns;
	pthread_mutex_unlock(&t->lock);
	unref_all(t, gone);
	return p;
}

/* --- notes --- */

/* Room for one more, or NULL. With the lock. */
static char *new_note(struct notes *n, int64_t now_ns)
{
	if (n->since_ns == 0 || now_ns - n->since_ns > NOTES_S * SECOND_NS) {
		n->since_ns = now_ns;
		n->n_since = 0;
	}
	if (n->n == NOTES_MAX || n->n_since == NOTES_MAX)
		return NULL;
	n->n_since++;
	return n->texts[n->n++];
}

static void note_path(struct processes *t, const struct process *p, const char *path, const char *fault)
{
	char *text;

	pthread_mutex_lock(&t->notes.lock);
	text = new_note(&t->notes, clock__mono(t->config.clock));
	if (text)
		snprintf(text, PROCESSES_NOTE_BYTES, "%.200s of process %" PRIu32 ": %.260s", path,
			 p->id.pid, fault);
	pthread_mutex_unlock(&t->notes.lock);
}

static void note(struct processes *t, const struct process *p, const struct source *s, const char *fault)
{
	char path[PROC_PATH_MAX];

	if (s->format == SOURCE_PERF_MAP)
		snprintf(path, sizeof(path), "%s/perf-%" PRIu32 ".map", t->config.dirs[p->map_dir],
			 p->map_pid);
	else
		snprintf(path, sizeof(path), "%s", p->dump_path ? p->dump_path : "jitdump");
	note_path(t, p, path, fault);
}

/* A link, a FIFO, a device: what is behind it may be another's, or nobody's. */
static void note_no_file(struct processes *t, struct process *p, const char *path)
{
	if (p->told_no_file)
		return;
	p->told_no_file = true;
	note_path(
		t, p, path,
		"is no regular file, so it is not read and its code has no names; have the runtime "
		"write a file, not a link or a FIFO");
}

/* Nothing but its server's end, or its answer, lets go of the thread that waits. */
static void note_hung(struct processes *t, struct process *p, const struct source *s)
{
	char fault[256];

	if (!s->has_hung || p->told_hung)
		return;
	p->told_hung = true;
	snprintf(fault, sizeof(fault),
		 "its file system does not answer (%" PRIu32
		 " reads hang; from %d on no file is read); new code has no names, as long as that "
		 "lasts; mend "
		 "or unmount it, or take its directory out of directories",
		 errands__stat(t->errands).n_stuck, ERRANDS_STUCK_MAX);
	note(t, p, s, fault);
}

bool processes__take_note(struct processes *t, char ret[static PROCESSES_NOTE_BYTES])
{
	struct notes *n = &t->notes;
	bool any;

	pthread_mutex_lock(&n->lock);
	any = n->n > 0;
	if (any)
		memcpy(ret, n->texts[--n->n], PROCESSES_NOTE_BYTES);
	pthread_mutex_unlock(&n->lock);
	return any;
}

/* A line that was being written is nothing to speak of; a tenth of them is. */
static void note_faults(struct processes *t, const struct process *p, struct source *s)
{
	struct source_stat stat = source__stat(s);
	uint64_t lines = stat.n_lines - s->lines_before, skipped = stat.n_skipped - s->skipped_before;
	char fault[256];

	if (s->is_cut && !s->told_cut) {
		s->told_cut = true;
		snprintf(fault, sizeof(fault),
			 "only its last %" PRIu64
			 " bytes are read, and code that the rest lists has no "
			 "names; raise max_file_size",
			 t->config.max_file_bytes);
		note(t, p, s, fault);
	}
	if (skipped && skipped >= lines / 10 && !s->told_skipped) {
		s->told_skipped = true;
		snprintf(fault, sizeof(fault),
			 "%" PRIu64 " of %" PRIu64
			 " %s are not understood and name nothing; have the "
			 "runtime write it anew, or remove it",
			 skipped, lines, s->format == SOURCE_PERF_MAP ? "lines" : "records");
		note(t, p, s, fault);
	}
}

/* --- the map of one process, under its lock --- */

/* What one failed look says more than another. */
static int more_telling(int a, int b)
{
	return a == -EACCES || b == -ENOENT ? a : b;
}

/*
 * Opens the map in one of the directories beneath a root. One from before the process was is
 * another's. One from before its last exec would be, too, but when that was /proc does not say, and
 * whoever tells of it may do so only once there is code to be named.
 */
static int open_in(struct processes *t, struct process *p, int root_fd, uint32_t pid)
{
	struct source_owner owner = { p->info.uid, p->info.euid, t->config.host };
	int result = -ENOENT;

	for (uint32_t i = 0; i < t->config.n_dirs; i++) {
		char path[PATH_MAX];
		int rc;

		snprintf(path, sizeof(path), "%s/perf-%" PRIu32 ".map", t->config.dirs[i], pid);
		rc = source__open(&p->sources[SOURCE_PERF_MAP], root_fd, path, &owner,
				  p->info.start_real_s);
		if (rc == 0) {
			p->map_dir = i;
			p->map_pid = pid;
		}
		if (rc == 0 || rc == -ENOMEM)
			return rc;
		if (rc == -ENOEXEC)
			note_no_file(t, p, path);
		result = more_telling(result, rc);
	}
	return result;
}

/*
 * Where the process itself writes first: beneath its root, by the number that it has there. Then
 * where tools on the host write for it: beneath ours, by the number that it has here.
 */
static int open_map(struct processes *t, struct process *p)
{
	int rc = -ENOENT;

	if (!p->root_error)
		rc = open_in(t, p, p->root ? p->root->fd : t->own_root_fd, p->info.ns_pid);
	if (rc && rc != -ENOMEM && (p->root || p->root_error || p->info.ns_pid != p->id.pid))
		rc = more_telling(rc, open_in(t, p, t->own_root_fd, p->id.pid));
	if (rc == -ENOENT && (p->root_error == -EACCES || p->root_error == -EPERM))
		rc = -EACCES;
	return rc;
}

/*
 * Its jitdump lies where the runtime was told to put it: the process's mappings say. They are read
 * when names are asked for, less and less often while there is none; a process that goes has none.
 */
static int open_dump(struct processes *t, struct process *p, int64_t now_ns, bool look)
{
	struct source_owner owner = { p->info.uid, p->info.euid, t->config.host };
	char path[PROC_PATH_MAX];
	int rc;

	if (look && !p->dump_path && now_ns >= p->dump_ns) {
		p->dump_pause_ns = p->dump_pause_ns ? 2 * p->dump_pause_ns : t->config.reread_ns;
		if (p->dump_pause_ns > DUMP_PAUSE_S * SECOND_NS)
			p->dump_pause_ns = DUMP_PAUSE_S * SECOND_NS;
		p->dump_ns = now_ns + p->dump_pause_ns;
		rc = proc__jitdump(t->config.host, t->errands, t->config.proc, p->id.pid, path);
		if (rc)
			return rc;
		p->dump_path = strdup(path);
		if (!p->dump_path)
			return -ENOMEM;
	}
	if (!p->dump_path)
		return -ENOENT;
	if (p->root_error)
		return p->root_error;
	return source__open(&p->sources[SOURCE_JITDUMP], p->root ? p->root->fd : t->own_root_fd,
			    p->dump_path, &owner, p->info.start_real_s);
}

static struct source_stat stat_of(const struct process *p)
{
	struct source_stat sum = { 0 };

	for (int i = 0; i < SOURCE_FORMATS; i++) {
		struct source_stat one = source__stat(&p->sources[i]);

		sum.n_lines += one.n_lines;
		sum.n_skipped += one.n_skipped;
		sum.n_forgotten += one.n_forgotten;
		sum.n_rewrites += one.n_rewrites;
		sum.n_cut += one.n_cut;
		sum.n_unread += one.n_unread;
		sum.bytes += one.bytes;
	}
	return sum;
}

/* Adds what happened in the files since `before` to the table's counts. */
static void account(struct processes *t, struct process *p, const struct source_stat *before)
{
	struct source_stat now = stat_of(p);
	uint64_t old = atomic_exchange(&p->bytes, now.bytes);

	atomic_fetch_add(&t->bytes, now.bytes - old);
	atomic_fetch_add(&t->n_lines, now.n_lines - before->n_lines);
	atomic_fetch_add(&t->n_skipped, now.n_skipped - before->n_skipped);
	atomic_fetch_add(&t->n_forgotten, now.n_forgotten - before->n_forgotten);
	atomic_fetch_add(&t->n_rewrites, now.n_rewrites - before->n_rewrites);
	atomic_fetch_add(&t->n_cut, now.n_cut - before->n_cut);
	atomic_fetch_add(&t->n_unread, now.n_unread - before->n_unread);
}

/* Reads on in one file, when it is open; rc is what opening it gave. 0 when it tells something. */
static int read_on(const struct processes *t, struct source *s, int rc, bool read)
{
	if (s->fd >= 0 && rc != -ENOMEM)
		rc = read ? source__read(s, t->config.max_file_bytes) : 0;
	/* What was read of one that hangs, or that nobody can ask, stays true. */
	if ((rc == -ETIMEDOUT || rc == -EBUSY || rc == -EAGAIN) && source__n_known(s))
		return 0;
	/* A descriptor that cannot be read now has told something before. */
	return rc == -ENOMEM || rc == -EACCES ? rc : s->fd >= 0 ? 0 : rc;
}

/* A look at the files, at most every reread_ns. 0 when there is one, be it an older one. */
static int refresh(struct processes *t, struct process *p, bool read)
{
	int64_t now_ns = clock__mono(t->config.clock);
	struct source_stat before = stat_of(p);
	int map, dump;

	if (p->looked_ns && now_ns - p->looked_ns < t->config.reread_ns)
		return p->result;
	p->looked_ns = now_ns;
	map = read_on(t, &p->sources[SOURCE_PERF_MAP], open_map(t, p), read);
	dump = read_on(t, &p->sources[SOURCE_JITDUMP], open_dump(t, p, now_ns, read), read);
	account(t, p, &before);
	for (int i = 0; i < SOURCE_FORMATS; i++) {
		note_faults(t, p, &p->sources[i]);
		note_hung(t, p, &p->sources[i]);
	}
	if (map == -ENOMEM || dump == -ENOMEM)
		p->result = -ENOMEM;
	else
		p->result = map == 0 || dump == 0 ? 0 : more_telling(map, dump);
	/* What this look did not come to is gone on with at the next question. */
	for (int i = 0; i < SOURCE_FORMATS; i++)
		if (p->sources[i].is_behind)
			p->looked_ns = 0;
	return p->result;
}

/* --- the bound on all maps together --- */

/* The map that was not asked for the longest time, but for p's; with a reference. */
static struct process *idlest(struct processes *t, const struct process *p)
{
	struct process *best = NULL;

	pthread_mutex_lock(&t->lock);
	for (uint32_t i = 0; i < BUCKETS; i++) {
		for (struct process *q = t->buckets[i]; q; q = q->next) {
			if (q != p && atomic_load(&q->bytes) &&
			    (!best || atomic_load(&q->asked_ns) < atomic_load(&best->asked_ns)))
				best = q;
		}
	}
	if (best)
		atomic_fetch_add_explicit(&best->refs, 1, memory_order_relaxed);
	pthread_mutex_unlock(&t->lock);
	return best;
}

static void make_room(struct processes *t, const struct process *p)
{
	/* Each turn empties one map, unless its owner is at work: then the next question will. */
	for (unsigned turn = 0; turn < 64 && atomic_load(&t->bytes) > t->config.max_bytes; turn++) {
		struct process *q = idlest(t, p);
		bool busy;

		if (!q)
			return;
		busy = pthread_mutex_trylock(&q->lock) != 0;
		if (!busy) {
			struct source_stat before = stat_of(q);

			for (int i = 0; i < SOURCE_FORMATS; i++) {
				atomic_fetch_add(&t->n_forgotten, source__n_known(&q->sources[i]));
				source__forget(&q->sources[i]);
			}
			q->looked_ns = 0;
			account(t, q, &before);
			pthread_mutex_unlock(&q->lock);
		}
		process_unref(t, q);
		if (busy)
			return;
	}
}

/* --- what the plugin asks --- */

/* The process is going: its file is opened now, and read when somebody has ever asked for it. */
static void last_look(struct processes *t, struct process *p)
{
	if (pthread_mutex_trylock(&p->lock))
		return; /* somebody is reading it right now */
	p->looked_ns = 0;
	refresh(t, p, atomic_load(&p->asked_ns) != 0);
	if (!atomic_load(&p->asked_ns))
		p->looked_ns = 0;
	pthread_mutex_unlock(&p->lock);
}

void processes__event(struct processes *t, enum dcm_process_event event, const struct dcm_process *id)
{
	struct process *p;
	int error;

	if (event != DCM_PROCESS_EXIT) {
		p = get(t, id, &error);
		if (p)
			process_unref(t, p);
		return;
	}
	pthread_mutex_lock(&t->lock);
	p = find(t, id);
	if (p)
		p->ended_ns = clock__mono(t->config.clock);
	pthread_mutex_unlock(&t->lock);
	if (p) {
		last_look(t, p);
		process_unref(t, p);
	}
}

/* A jitdump knows lines, so it is asked first. Under p->lock. */
static int answer_one(const struct process *p, uint64_t address, struct arena *arena,
		      struct processes_answer *ret)
{
	const struct source *dump = &p->sources[SOURCE_JITDUMP];
	struct dcm_str name, file;

	*ret = (struct processes_answer){ { "", 0 }, { "", 0 }, 0, 0 };
	if (!map__find(&dump->map, address, &name, &ret->start) &&
	    !map__find(&p->sources[SOURCE_PERF_MAP].map, address, &name, &ret->start))
		return 0;
	ret->name = arena__str(arena, name);
	if (!ret->name.p)
		return -ENOMEM;
	if (dump__find(&dump->dump, address, &file, &ret->line)) {
		ret->file = arena__str(arena, file);
		if (!ret->file.p)
			return -ENOMEM;
	}
	return 0;
}

static int answer(const struct process *p, const uint64_t *addresses, uint32_t n,
		  struct arena *arena, struct processes_answer *ret)
{
	int rc = 0;

	for (uint32_t i = 0; i < n && !rc; i++)
		rc = answer_one(p, addresses[i], arena, &ret[i]);
	return rc;
}

int processes__resolve(struct processes *t, const struct dcm_process *id, const uint64_t *addresses,
		       uint32_t n, struct arena *arena, struct processes_answer *ret)
{
	int rc = 0;
	struct process *p = get(t, id, &rc);

	if (!p)
		return rc == -ENOMEM ? rc : -ENOENT;
	pthread_mutex_lock(&p->lock);
	atomic_store(&p->asked_ns, clock__mono(t->config.clock));
	rc = refresh(t, p, true);
	if (rc == 0)
		rc = answer(p, addresses, n, arena, ret);
	if (rc == 0 && p->sources[SOURCE_PERF_MAP].is_cut)
		rc = 1;
	pthread_mutex_unlock(&p->lock);
	make_room(t, p);
	process_unref(t, p);
	if (rc == -EBUSY || rc == -EAGAIN)
		rc = -ETIMEDOUT;
	return rc >= 0 || rc == -EACCES || rc == -ENOMEM || rc == -ETIMEDOUT ? rc : -ENOENT;
}

void processes__stat(struct processes *t, struct processes_stat *ret)
{
	struct errands_stat errands = errands__stat(t->errands);

	*ret = (struct processes_stat){
		.n_lines = atomic_load(&t->n_lines),
		.n_skipped = atomic_load(&t->n_skipped),
		.n_forgotten = atomic_load(&t->n_forgotten),
		.n_rewrites = atomic_load(&t->n_rewrites),
		.n_cut = atomic_load(&t->n_cut),
		.n_unread = atomic_load(&t->n_unread),
		.n_hung = errands.n_hung,
		.n_stuck = errands.n_stuck,
		.bytes = atomic_load(&t->bytes),
	};
	pthread_mutex_lock(&t->lock);
	ret->n_processes = t->n_processes;
	ret->n_roots = t->n_roots;
	pthread_mutex_unlock(&t->lock);
}

int processes__new(const struct processes_config *config, struct processes **ret, struct dcm_error *err)
{
	struct processes *t = NEW(struct processes);
	int rc;

	if (!t)
		return error__nomem(err);
	t->config = *config;
	pthread_mutex_init(&t->lock, NULL);
	pthread_mutex_init(&t->notes.lock, NULL);
	t->own_root_fd = open(config->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	rc = t->own_root_fd < 0 ? -errno : 0;
	t->errands = errands__new("perf-map-reads", config->patience_ns);
	if (!rc && !t->errands)
		rc = -ENOMEM;
	if (rc) {
		processes__free(t);
		return rc == -ENOMEM ? error__nomem(err)
				     : error__sys(err, rc, "%s: cannot be opened", config->root);
	}
	/*
	 * Unknown (no /proc): every process then counts as one with a root of its own, which fails
	 * likewise.
	 */
	proc__root(config->host, config->proc, (uint32_t)getpid(), &t->own_root);
	*ret = t;
	return 0;
}

void processes__free(struct processes *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < BUCKETS; i++) {
		struct process *list = t->buckets[i];

		t->buckets[i] = NULL;
		unref_all(t, list);
	}
	errands__free(t->errands);
	fd__close(t->own_root_fd);
	pthread_mutex_destroy(&t->lock);
	pthread_mutex_destroy(&t->notes.lock);
	free(t);
}
