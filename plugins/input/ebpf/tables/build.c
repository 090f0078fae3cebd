/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/tables/build.c - files become code pages: the thread, the budget, what gives
 * way
 *
 * The thread is a batch job, but not at low priority: on a busy machine samples would wait for it
 * that the kernel can defer only so many of. When the heap is full, the thread takes the tables of
 * files that no walk has met for two epochs (20 s), waits until their memory has rested, and tries
 * once more; a file that still finds no room is left for a minute. It does the same, once a minute
 * at most, when little room is left for rules.
 */
#include "plugins/input/ebpf/tables/state.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/mem.h"
#include "plugins/input/ebpf/thread.h"

enum {
	UNUSED_EPOCHS = 2, /* after which tables may be taken away */
	REFUSED_EPOCHS = 6, /* after which a file without room, or that was not read, is tried again */
	KEEP_EPOCHS = 30, /* that a file is remembered which no image has, beyond */
	KEEP_FILES = 4096,
	KEEP_OPEN = 400, /* files of which the descriptor is kept, to compile them again */
	ROUNDING = 64,
	/*
	 * Of a table that is kept on disk: fewer are compiled as fast as read, while there is a
	 * descriptor to compile from.
	 */
	KEPT_ROWS = 2048,
	CROWDED = 8,	    /* less than that part of all rules' numbers, or of the heap, is left */
	COLLECT_EPOCHS = 6, /* between two looks for rules that nobody has any more */
};
#define REST_NS	   1100000000ll	  /* a little more than memory has to rest */
#define MEMORY_MAX (512ull << 20) /* of one compilation */

/* ------------------------------------------------------------------------------------------------
 * Files
 */

uint32_t tables_file__word(const struct tables_file *f)
{
	switch (f->state) {
	case TABLES_FILE_READY:
		return f->pages.table;
	case TABLES_FILE_OVER_BUDGET:
		return TABLES_IS_OVER_BUDGET;
	case TABLES_FILE_FAILED:
	case TABLES_FILE_NOT_READ:
		return TABLES_IS_UNKNOWN;
	default:
		return TABLES_IS_PENDING;
	}
}

static struct tables_file **file_bucket(struct tables *t, const char *build_id)
{
	return &t->files[hash__bytes(build_id, strlen(build_id), 0) % TABLES_FILE_BUCKETS];
}

struct tables_file *tables_file__ref(struct tables_file *f)
{
	f->refs++;
	return f;
}

static void take_tables(struct tables *t, struct tables_file *f)
{
	if (f->state == TABLES_FILE_READY) {
		t->stat.n_ready--;
		t->stat.n_rows -= f->pages.n_rows;
	}
	pages__release(&f->pages, t->heap, thread__mono_ns());
	free(f->numbers);
	f->numbers = NULL;
	f->n_numbers = 0;
}

void tables_file__unref(struct tables *t, struct tables_file *f)
{
	if (!f)
		return;
	f->refs--;
	f->left_epoch = *t->memory.epoch;
}

void tables__sweep_files(struct tables *t, bool all)
{
	for (uint32_t b = 0; b < TABLES_FILE_BUCKETS; b++)
		for (struct tables_file **at = &t->files[b]; *at;) {
			struct tables_file *f = *at;

			if (!all && (f->refs || t->stat.n_files <= KEEP_FILES ||
				     *t->memory.epoch - f->left_epoch < KEEP_EPOCHS)) {
				at = &f->next;
				continue;
			}
			*at = f->next;
			take_tables(t, f);
			fd__close(f->fd);
			free(f);
			t->stat.n_files--;
		}
}

static void append(struct tables *t, struct tables_file *f)
{
	f->state = TABLES_FILE_QUEUED;
	f->queued = NULL;
	*t->queue_end = tables_file__ref(f);
	t->queue_end = &f->queued;
	pthread_cond_broadcast(&t->bg.changed);
}

void tables_file__enqueue(struct tables *t, struct tables_file *f)
{
	if (f->state == TABLES_FILE_EVICTED)
		append(t, f);
}

struct tables_file *tables_file__find(struct tables *t, const char *build_id)
{
	struct tables_file *f;

	for (f = *file_bucket(t, build_id); f; f = f->next)
		if (strcmp(f->build_id, build_id) == 0)
			break;
	return f;
}

static int file_add(struct tables *t, const char *build_id, int fd)
{
	struct tables_file **bucket = file_bucket(t, build_id);
	struct tables_file *f = NEW(struct tables_file);

	if (!f)
		return -ENOMEM;
	f->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	strncpy(f->build_id, build_id, sizeof(f->build_id) - 1);
	f->left_epoch = *t->memory.epoch;
	f->next = *bucket;
	*bucket = f;
	t->stat.n_files++;
	append(t, f);
	return 0;
}

int tables__file(struct tables *t, const char *build_id, int fd)
{
	struct tables_file *f;
	int r = 0;

	pthread_mutex_lock(&t->bg.lock);
	f = tables_file__find(t, build_id);
	if (!f)
		r = file_add(t, build_id, fd);
	else if (f->fd < 0 && (f->state == TABLES_FILE_EVICTED || f->state == TABLES_FILE_OVER_BUDGET))
		f->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	pthread_mutex_unlock(&t->bg.lock);
	return r;
}

/* ------------------------------------------------------------------------------------------------
 * The budget
 */

static uint32_t last_used(const struct tables *t, const struct tables_file *f)
{
	const struct tables_head *head = heap__at(t->heap, f->pages.table);

	return __atomic_load_n(&head->used, __ATOMIC_RELAXED);
}

/* The file whose tables have not been used for longest, if that is long enough. */
static struct tables_file *least_used(struct tables *t)
{
	uint32_t epoch = *t->memory.epoch, oldest = epoch;
	struct tables_file *best = NULL;

	for (uint32_t b = 0; b < TABLES_FILE_BUCKETS; b++)
		for (struct tables_file *f = t->files[b]; f; f = f->next) {
			uint32_t used;

			if (f->state != TABLES_FILE_READY)
				continue;
			used = last_used(t, f);
			if (epoch - used >= UNUSED_EPOCHS && (!best || used < oldest)) {
				oldest = used;
				best = f;
			}
		}
	return best;
}

static void evict_one(struct tables *t, struct tables_file *f)
{
	t->stat.evictions++;
	take_tables(t, f);
	f->state = TABLES_FILE_EVICTED;
	tables__republish(t, f);
}

bool tables__evict(struct tables *t, uint64_t bytes)
{
	uint64_t freed = heap__stat(t->heap).resting_bytes;

	while (freed < bytes) {
		struct tables_file *f = least_used(t);

		if (!f)
			return false;
		freed += f->pages.bytes;
		evict_one(t, f);
	}
	return true;
}

void tables__forgive(struct tables *t)
{
	const struct heap_stat heap = heap__stat(t->heap);
	const bool has_room = heap.slab_bytes - heap.used_bytes >= heap.slab_bytes / CROWDED ||
			      least_used(t);

	for (uint32_t b = 0; b < TABLES_FILE_BUCKETS; b++)
		for (struct tables_file *f = t->files[b]; f; f = f->next)
			if ((f->state == TABLES_FILE_NOT_READ ||
			     (f->state == TABLES_FILE_OVER_BUDGET && has_room)) &&
			    *t->memory.epoch - f->refused_epoch >= REFUSED_EPOCHS) {
				f->state = TABLES_FILE_EVICTED;
				tables__republish(t, f);
			}
}

/* ------------------------------------------------------------------------------------------------
 * Compiling
 */

static bool stopped(void *arg)
{
	return atomic_load(&((struct tables *)arg)->cancelled);
}

/* Only what this kernel runs. */
static bool is_ours(const struct unwind_rows *rows)
{
#ifdef __x86_64__
	return rows->machine == EM_X86_64;
#else
	return rows->machine == EM_AARCH64;
#endif
}

/* From the disk, or else compiled, and kept there from min_kept rows on. Without the lock. */
static int compile(struct tables *t, const struct tables_file *f, uint32_t min_kept,
		   struct unwind_rows **ret)
{
	const struct unwind_limits limits = { .max_bytes = MEMORY_MAX, .stop = stopped, .stop_arg = t };
	CLEANUP(unwind_rows__freep) struct unwind_rows *rows = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	int r;

	if (t->cache && unwind_cache__load(t->cache, f->build_id, &rows) == 0) {
		if (!is_ours(rows))
			return -ENOEXEC;
		*ret = take_ptr(rows);
		return 0;
	}
	r = f->fd < 0 ? -ENOSPC : unwind__compile_fd(f->fd, &limits, &rows, &err);
	if (r < 0)
		return r;
	if (!is_ours(rows))
		return -ENOEXEC;
	if (t->cache && rows->n >= min_kept)
		unwind_cache__store(t->cache, f->build_id, rows);
	*ret = take_ptr(rows);
	return 0;
}

/*
 * With the lock, which it gives up while pages are made: that takes long where this thread gets little CPU, and the
 * reader, which would wait, has rings to empty.
 */
static int place(struct tables *t, struct tables_file *f, const struct unwind_rows *rows)
{
	CLEANUP(mem__freep) uint16_t *numbers = mem__zalloc(rows->n_rules, sizeof(*numbers));
	struct tables_head *head;
	struct pages pages;
	int r;

	if (!numbers)
		return -ENOMEM;
	r = dictionary__numbers(&t->rules, rows->rules, rows->n_rules, numbers);
	if (r < 0)
		return r;
	pthread_mutex_unlock(&t->bg.lock);
	r = pages__build(t->heap, rows, numbers, thread__mono_ns(), &pages);
	pthread_mutex_lock(&t->bg.lock);
	if (r < 0)
		return r;
	f->pages = pages;
	f->numbers = take_ptr(numbers);
	f->n_numbers = rows->n_rules;
	head = heap__at(t->heap, f->pages.table);
	head->used = *t->memory.epoch;
	t->stat.no_room += f->pages.n_overfull;
	return 0;
}

/* What the pages will take, about. */
static uint64_t estimate(const struct unwind_rows *rows)
{
	return (uint64_t)rows->n * sizeof(uint32_t) +
	       rows->code_bytes / TABLES_PAGE_BYTES * (sizeof(struct tables_page) + ROUNDING);
}

/* Until what was given back has rested. With the lock, which it gives up meanwhile. */
static void rest(struct tables *t)
{
	struct timespec until = thread__timespec(thread__mono_ns() + REST_NS);

	while (!t->bg.stopping && pthread_cond_timedwait(&t->bg.changed, &t->bg.lock, &until) == 0)
		;
	heap__recycle(t->heap, thread__mono_ns());
}

/* The numbers of rules that no file's tables have any more are given anew. */
static void collect(struct tables *t)
{
	CLEANUP(mem__freep) bool *is_used = mem__zalloc(t->rules.capacity, sizeof(*is_used));

	for (uint32_t b = 0; b < TABLES_FILE_BUCKETS && is_used; b++)
		for (const struct tables_file *f = t->files[b]; f; f = f->next)
			for (uint32_t i = 0; i < f->n_numbers; i++)
				is_used[f->numbers[i]] = true;
	/* Whoever still reads rules of withdrawn tables sees this before another's in their place. */
	__atomic_fetch_add(t->memory.heap.recycled, 1, __ATOMIC_SEQ_CST);
	if (is_used)
		dictionary__keep(&t->rules, is_used);
}

/*
 * Some rules of the file found no room, and little is left for anybody's: tables that nobody has
 * used lately go, and their rules, and the file is placed once more. With the lock, as above.
 */
static int place_again(struct tables *t, struct tables_file *f, const struct unwind_rows *rows)
{
	t->collected_epoch = *t->memory.epoch;
	t->stat.no_room -= f->pages.n_overfull;
	for (struct tables_file *other; (other = least_used(t));)
		evict_one(t, other);
	take_tables(t, f);
	rest(t);
	if (t->bg.stopping)
		return -ECANCELED;
	collect(t);
	return place(t, f, rows);
}

static bool is_crowded(const struct tables *t)
{
	return dictionary__room(&t->rules) < t->rules.capacity / CROWDED &&
	       (!t->collected_epoch || *t->memory.epoch - t->collected_epoch >= COLLECT_EPOCHS);
}

/* With the lock, which it gives up while pages are made, and while memory rests. */
static int place_or_evict(struct tables *t, struct tables_file *f, const struct unwind_rows *rows)
{
	uint64_t n_refused = t->rules.n_refused;
	int r = place(t, f, rows);

	if (r == 0 && t->rules.n_refused > n_refused && is_crowded(t)) {
		t->rules.n_refused = n_refused;
		return place_again(t, f, rows);
	}
	if (r != -ENOSPC || !tables__evict(t, estimate(rows)))
		return r;
	rest(t);
	return t->bg.stopping ? -ECANCELED : place(t, f, rows);
}

/* What the file itself is to blame for; the rest is the system's, which may do better another time. */
static bool is_lasting(int error)
{
	return error == -ENOEXEC || error == -EFBIG || error == -ETIME || error == -E2BIG;
}

/* With the lock, before and after. */
static void build(struct tables *t, struct tables_file *f)
{
	CLEANUP(unwind_rows__freep) struct unwind_rows *rows = NULL;
	const bool is_last = t->stat.n_files > KEEP_OPEN; /* that the descriptor is there */
	int64_t begin;
	int r;

	pthread_mutex_unlock(&t->bg.lock);
	begin = thread__cpu_ns();
	r = compile(t, f, is_last ? 0 : KEPT_ROWS, &rows);
	pthread_mutex_lock(&t->bg.lock);
	if (t->cache)
		t->stat.cache = t->cache->stat;
	if (r == 0)
		r = place_or_evict(t, f, rows);
	if (r == 0) {
		f->state = TABLES_FILE_READY;
		t->stat.n_ready++;
		t->stat.n_rows += f->pages.n_rows;
		if (is_last) {
			fd__close(f->fd);
			f->fd = -1;
		}
	} else if (r == -ENOSPC || r == -ENOMEM) {
		f->state = TABLES_FILE_OVER_BUDGET;
		f->refused_epoch = *t->memory.epoch;
		t->stat.over_budget++;
	} else {
		f->state = is_lasting(r) ? TABLES_FILE_FAILED : TABLES_FILE_NOT_READ;
		f->refused_epoch = *t->memory.epoch;
		t->stat.build_failures++;
		t->stat.too_long += r == -ETIME;
	}
	t->stat.builds++;
	t->stat.build_ns += (uint64_t)(thread__cpu_ns() - begin);
	tables__republish(t, f);
}

struct tables_file *tables_file__take_queued(struct tables *t)
{
	struct tables_file *f = t->queue;

	t->queue = f->queued;
	if (!t->queue)
		t->queue_end = &t->queue;
	return f;
}

void *tables__build_thread(void *arg)
{
	const struct sched_param zero = { 0 };
	struct tables *t = arg;

	sched_setscheduler(0, SCHED_BATCH, &zero);
	pthread_mutex_lock(&t->bg.lock);
	while (!t->bg.stopping) {
		struct tables_file *f;

		if (!t->queue) {
			pthread_cond_wait(&t->bg.changed, &t->bg.lock);
			continue;
		}
		f = tables_file__take_queued(t);
		build(t, f);
		tables_file__unref(t, f);
	}
	pthread_mutex_unlock(&t->bg.lock);
	return NULL;
}
