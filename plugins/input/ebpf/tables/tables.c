/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/tables/tables.c - process images and their mappings, where the kernel reads
 * them
 *
 * An image's slot is in the bucket of its pid; when all slots of a bucket are taken, the one that
 * was not used for longest gives way, and comes back when a deferred sample asks for it. Programs
 * read a slot while it is written: `pid` goes first and comes last.
 */
#include "plugins/input/ebpf/tables/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/mem.h"
#include "plugins/input/ebpf/tables/native.h"
#include "plugins/input/ebpf/tables/state.h"
#include "plugins/input/ebpf/thread.h"

#define EPOCH_NS 10000000000ll

/* ------------------------------------------------------------------------------------------------
 * Slots
 */

static bool same_slot(const struct tables_slot *s, const struct tables_image *key)
{
	return s->pid == key->pid && s->start_ns == key->start_ns && s->exec_id == key->exec_id;
}

/* The image's slot, or NULL. */
static struct tables_slot *slot_find(const struct tables *t, const struct tables_image *key)
{
	struct tables_bucket *b = &t->memory.buckets[tables_bucket_of(key->pid)];

	for (int i = 0; i < TABLES_WAYS; i++)
		if (same_slot(&b->slot[i], key))
			return &b->slot[i];
	return NULL;
}

/* The slot for a new image: the one of its process, else a free one, else the least used. */
static struct tables_slot *slot_take(const struct tables *t, const struct tables_image *key)
{
	struct tables_bucket *b = &t->memory.buckets[tables_bucket_of(key->pid)];
	struct tables_slot *best = &b->slot[0];

	for (int i = 0; i < TABLES_WAYS; i++) {
		if (b->slot[i].pid == key->pid)
			return &b->slot[i];
		if (best->pid && (!b->slot[i].pid || b->slot[i].used < best->used))
			best = &b->slot[i];
	}
	return best;
}

static void slot_clear(struct tables_slot *s)
{
	__atomic_store_n(&s->pid, 0, __ATOMIC_SEQ_CST);
}

static void slot_publish(const struct tables *t, const struct tables_image_entry *e)
{
	struct tables_slot *s = slot_find(t, &e->key);
	uint64_t mappings = (uint64_t)e->n << 32 | e->address;

	if (e->key.pid & TABLES_ASIDE)
		return;
	if (s) {
		__atomic_store_n(&s->mappings, mappings, __ATOMIC_SEQ_CST);
		__atomic_store_n(&s->exec_pages, e->exec_pages, __ATOMIC_SEQ_CST);
		return;
	}
	s = slot_take(t, &e->key);
	slot_clear(s);
	__atomic_store_n(&s->mappings, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&s->start_ns, e->key.start_ns, __ATOMIC_SEQ_CST);
	__atomic_store_n(&s->exec_id, e->key.exec_id, __ATOMIC_SEQ_CST);
	s->exec_pages = e->exec_pages;
	s->used = *t->memory.epoch;
	__atomic_store_n(&s->mappings, mappings, __ATOMIC_SEQ_CST);
	__atomic_store_n(&s->pid, e->key.pid, __ATOMIC_SEQ_CST);
}

/* ------------------------------------------------------------------------------------------------
 * Images
 */

static struct tables_image_entry **image_bucket(struct tables *t, uint32_t pid)
{
	return &t->images[hash__mix(0, pid) % TABLES_IMAGE_BUCKETS];
}

static struct tables_image_entry *image_find(struct tables *t, const struct tables_image *key)
{
	struct tables_image_entry *e;

	for (e = *image_bucket(t, key->pid); e; e = e->next)
		if (e->key.pid == key->pid && e->key.start_ns == key->start_ns &&
		    e->key.exec_id == key->exec_id)
			return e;
	return NULL;
}

static void drop_mappings(struct tables *t, struct tables_image_entry *e)
{
	if (e->address)
		heap__release(t->heap, e->address, e->n * (uint32_t)sizeof(struct tables_mapping),
			      thread__mono_ns());
	for (uint32_t i = 0; i < e->n; i++)
		tables_file__unref(t, e->files[i]);
	free(e->files);
	free(e->unbound);
	e->files = NULL;
	e->unbound = NULL;
	e->address = e->n = 0;
}

static struct tables_mapping *mapping(const struct tables *t, const struct tables_image_entry *e,
				      uint32_t i)
{
	return (struct tables_mapping *)heap__at(t->heap, e->address) + i;
}

/* The index of the mapping that holds an address, or -1. */
static int64_t mapping_find(const struct tables *t, const struct tables_image_entry *e, uint64_t address)
{
	uint32_t lo = 0, hi = e->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (address >= mapping(t, e, mid)->end)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < e->n && address >= mapping(t, e, lo)->start ? (int64_t)lo : -1;
}

/* Says what is known of the mapping, in our memory and in the programs'; false: no such file. */
static bool bind(struct tables *t, struct tables_image_entry *e, uint32_t i, enum tables_code code,
		 const char *build_id)
{
	struct tables_file *file = code == TABLES_FILE ? tables_file__find(t, build_id) : NULL;
	static const uint32_t words[] = {
		[TABLES_PENDING] = TABLES_IS_PENDING, [TABLES_FILE] = TABLES_IS_PENDING,
		[TABLES_MEMORY] = TABLES_IS_MEMORY,   [TABLES_UNKNOWN] = TABLES_IS_UNKNOWN,
		[TABLES_STACK] = TABLES_IS_STACK,
	};
	uint32_t word = words[code];

	if (file)
		word = tables_file__word(tables_file__ref(file));
	tables_file__unref(t, e->files[i]);
	e->files[i] = file;
	e->unbound[i] = word == TABLES_IS_PENDING && !file;
	__atomic_store_n(&mapping(t, e, i)->table, word, __ATOMIC_SEQ_CST);
	return file || code != TABLES_FILE;
}

/* Room for n mappings in the heap; others give way when it is full. */
static int mappings_alloc(struct tables *t, uint32_t n, uint32_t *ret_address)
{
	uint32_t bytes = n * (uint32_t)sizeof(struct tables_mapping);
	int r = heap__alloc(t->heap, bytes, ret_address);

	if (r == -ENOSPC) {
		tables__evict(t, bytes);
		t->stat.no_room++;
	}
	return r;
}

static int fill(struct tables *t, struct tables_image_entry *e, const struct tables_range *ranges,
		uint32_t n)
{
	int r;

	e->files = mem__zalloc(n, sizeof(struct tables_file *));
	e->unbound = mem__zalloc(n, sizeof(*e->unbound));
	if (!e->files || !e->unbound)
		return -ENOMEM;
	if (n == 0)
		return 0;
	r = mappings_alloc(t, n, &e->address);
	if (r < 0)
		return r;
	e->n = n;
	for (uint32_t i = 0; i < n; i++) {
		struct tables_mapping *m = mapping(t, e, i);

		m->start = ranges[i].start;
		m->end = ranges[i].end;
		m->bias = ranges[i].start - ranges[i].offset;
		bind(t, e, i, ranges[i].code, ranges[i].build_id);
	}
	return 0;
}

static struct tables_image_entry *image_add(struct tables *t, const struct tables_image *key)
{
	struct tables_image_entry **bucket = image_bucket(t, key->pid), *e;

	e = NEW(struct tables_image_entry);
	if (!e)
		return NULL;
	e->key = *key;
	e->next = *bucket;
	*bucket = e;
	t->stat.n_images++;
	return e;
}

static int announce(struct tables *t, const struct tables_image *key, uint64_t exec_pages,
		    const struct tables_range *ranges, uint32_t n)
{
	struct tables_image_entry *e = image_find(t, key), made = { .key = *key };
	int r;

	if (!e)
		e = image_add(t, key);
	if (!e)
		return -ENOMEM;
	r = fill(t, &made, ranges, n);
	if (r < 0) {
		drop_mappings(t, &made);
		return r;
	}
	made.next = e->next;
	made.exec_pages = exec_pages;
	/* The new ones first: what a program reads in the meantime is whole, before and after. */
	slot_publish(t, &made);
	drop_mappings(t, e);
	*e = made;
	atomic_fetch_add(&t->changes, 1);
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * More mappings than there is room for
 */

static uint64_t bytes_of(const struct tables_range *r)
{
	return r->end - r->start;
}

/* Copies them; memory that goes on where other memory ends is one. Returns how many there are then. */
static uint32_t join(const struct tables_range *ranges, uint32_t n, struct tables_range *ret)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (k && ret[k - 1].end == ranges[i].start && ranges[i].code == TABLES_MEMORY &&
		    ret[k - 1].code == TABLES_MEMORY)
			ret[k - 1].end = ranges[i].end;
		else
			ret[k++] = ranges[i];
	}
	return k;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/*
 * Keeps files, and the largest pieces of memory: without its libraries no stack would come to its root, and
 * most of what is compiled at run time lies in few pieces. 0 or -ENOMEM.
 */
static int keep_most(struct tables_range *ranges, uint32_t *n)
{
	CLEANUP(mem__freep) uint64_t *sizes = mem__zalloc(*n, sizeof(*sizes));
	uint32_t n_memory = 0, n_files, room, kept = 0, k = 0;
	uint64_t least;

	if (!sizes)
		return -ENOMEM;
	for (uint32_t i = 0; i < *n; i++)
		if (ranges[i].code == TABLES_MEMORY)
			sizes[n_memory++] = bytes_of(&ranges[i]);
	n_files = *n - n_memory;
	room = n_files < TABLES_MAPPINGS ? TABLES_MAPPINGS - n_files : 0;
	qsort(sizes, n_memory, sizeof(*sizes), by_size);
	least = room ? sizes[room - 1] : UINT64_MAX;
	/* Of those that are as large as the smallest one some may be too many. */
	for (uint32_t i = 0; i < room && sizes[i] > least; i++)
		kept++;
	for (uint32_t i = 0; i < *n && k < TABLES_MAPPINGS; i++) {
		uint64_t bytes = bytes_of(&ranges[i]);

		if (ranges[i].code == TABLES_MEMORY &&
		    (bytes < least || (bytes == least && kept++ >= room)))
			continue;
		ranges[k++] = ranges[i];
	}
	*n = k;
	return 0;
}

/* The same, in fewer mappings, which the caller frees: how many were left out, or -ENOMEM. */
static int fit(const struct tables_range *ranges, uint32_t *n, struct tables_range **ret)
{
	CLEANUP(mem__freep) struct tables_range *fewer = mem__zalloc(*n, sizeof(*fewer));
	uint32_t joined;

	if (!fewer)
		return -ENOMEM;
	joined = join(ranges, *n, fewer);
	*n = joined;
	if (joined > TABLES_MAPPINGS && keep_most(fewer, n) < 0)
		return -ENOMEM;
	*ret = take_ptr(fewer);
	return (int)(joined - *n);
}

int tables__announce(struct tables *t, const struct tables_image *image, uint64_t exec_pages,
		     const struct tables_range *ranges, uint32_t n)
{
	CLEANUP(mem__freep) struct tables_range *fewer = NULL;
	int r, left_out = 0;

	/* The vsyscall page is the kernel's, and beyond what programs compare. */
	while (n && ranges[n - 1].end > INT64_MAX)
		n--;
	if (n > TABLES_MAPPINGS)
		left_out = fit(ranges, &n, &fewer);
	if (left_out < 0)
		return left_out;
	pthread_mutex_lock(&t->bg.lock);
	r = announce(t, image, exec_pages, fewer ? fewer : ranges, n);
	if (r == 0 && left_out) {
		t->stat.no_room += (uint64_t)left_out;
		r = -E2BIG;
	}
	pthread_mutex_unlock(&t->bg.lock);
	return r;
}

bool tables__bind(struct tables *t, const struct tables_image *image, uint64_t start,
		  enum tables_code code, const char *build_id)
{
	struct tables_image_entry *e;
	bool bound = false;
	int64_t i = -1;

	pthread_mutex_lock(&t->bg.lock);
	e = image_find(t, image);
	if (e)
		i = mapping_find(t, e, start);
	if (i >= 0)
		bound = bind(t, e, (uint32_t)i, code, build_id);
	pthread_mutex_unlock(&t->bg.lock);
	return bound;
}

static void image_free(struct tables *t, struct tables_image_entry *e)
{
	drop_mappings(t, e);
	free(e);
	t->stat.n_images--;
}

void tables__gone(struct tables *t, const struct tables_image *image)
{
	struct tables_image_entry **at;
	struct tables_slot *slot;

	pthread_mutex_lock(&t->bg.lock);
	slot = slot_find(t, image);
	if (slot)
		slot_clear(slot);
	for (at = image_bucket(t, image->pid); *at; at = &(*at)->next) {
		struct tables_image_entry *e = *at;

		if (e->key.pid == image->pid && e->key.start_ns == image->start_ns &&
		    e->key.exec_id == image->exec_id) {
			*at = e->next;
			image_free(t, e);
			break;
		}
	}
	pthread_mutex_unlock(&t->bg.lock);
}

void tables__republish(struct tables *t, const struct tables_file *f)
{
	uint32_t word = tables_file__word(f);
	const uint64_t one = 1;

	for (uint32_t b = 0; b < TABLES_IMAGE_BUCKETS; b++)
		for (struct tables_image_entry *e = t->images[b]; e; e = e->next)
			for (uint32_t i = 0; i < e->n; i++)
				if (e->files[i] == f)
					__atomic_store_n(&mapping(t, e, i)->table, word, __ATOMIC_SEQ_CST);
	atomic_fetch_add(&t->changes, 1);
	if (t->is_awaited)
		fd__write_all(t->wake_fd, &one, sizeof(one));
	t->is_awaited = false;
}

/* ------------------------------------------------------------------------------------------------
 * Walks
 */

/* Where the walk met a mapping without tables: what is to be done about it. */
static void wait_for(struct tables *t, const struct tables_image_entry *e, uint64_t address,
		     struct tables_walk *ret)
{
	int64_t i = mapping_find(t, e, address);

	if (i < 0)
		return;
	ret->pending = mapping(t, e, (uint32_t)i)->start;
	ret->unbound = e->unbound[i];
	if (e->files[i]) {
		tables_file__enqueue(t, e->files[i]);
		t->is_awaited = true;
	}
}

int tables__walk(struct tables *t, const struct tables_image *image, const struct sampler_raw *raw,
		 uint64_t *frames, uint32_t max, struct tables_walk *ret)
{
	struct native_tables native = { .rules = t->rules.rule };
	struct tables_image_entry *e;
	uint64_t address = 0;

	*ret = (struct tables_walk){ 0 };
	pthread_mutex_lock(&t->bg.lock);
	e = image_find(t, image);
	if (e) {
		native.heap = t->heap;
		native.mappings = e->address;
		native.n_mappings = e->n;
		native.epoch = *t->memory.epoch;
		ret->outcome = native__walk(&native, raw, frames, max, &ret->n, &address);
		if (ret->outcome == SAMPLER_OUTCOME_PENDING)
			wait_for(t, e, address, ret);
		if (!slot_find(t, image))
			slot_publish(t, e);
	}
	pthread_mutex_unlock(&t->bg.lock);
	return e ? 0 : -ESRCH;
}

/* With the lock. 0: none. */
static uint32_t rule_of(struct tables *t, const char *build_id, uint64_t offset, uint32_t *ret_flags)
{
	const struct native_tables native = { .heap = t->heap,
					      .rules = t->rules.rule,
					      .epoch = *t->memory.epoch };
	const struct tables_file *f = tables_file__find(t, build_id);

	return f && f->state == TABLES_FILE_READY
		       ? native__rule(&native, f->pages.table, offset, ret_flags)
		       : 0;
}

bool tables__same_rule(struct tables *t, const char *a_build_id, uint64_t a_offset,
		       const char *b_build_id, uint64_t b_offset)
{
	uint32_t a, b, a_flags = 0, b_flags = 0;

	pthread_mutex_lock(&t->bg.lock);
	a = rule_of(t, a_build_id, a_offset, &a_flags);
	b = rule_of(t, b_build_id, b_offset, &b_flags);
	pthread_mutex_unlock(&t->bg.lock);
	return a && a == b && a_flags == b_flags;
}

/* ------------------------------------------------------------------------------------------------
 * Life
 */

struct tables *tables__new(const struct tables_memory *memory, uint64_t limit_bytes)
{
	CLEANUP(tables__freep) struct tables *t = NEW(struct tables);

	if (!t)
		return NULL;
	background__init(&t->bg);
	t->memory = *memory;
	t->wake_fd = -1;
	t->queue_end = &t->queue;
	*t->memory.epoch = 1;
	t->epoch_ns = thread__mono_ns();
	dictionary__init(&t->rules, memory->rules, TABLES_RULES);
	t->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	t->heap = heap__new(&memory->heap, limit_bytes);
	return t->heap && t->wake_fd >= 0 ? take_ptr(t) : NULL;
}

void tables__keep_in(struct tables *t, struct unwind_cache *cache)
{
	t->cache = cache;
	t->stat.cache = cache->stat;
}

int tables__start(struct tables *t)
{
	return background__start(&t->bg, "ebpf-tables", tables__build_thread, t);
}

void tables__free(struct tables *t)
{
	if (!t)
		return;
	atomic_store(&t->cancelled, true);
	background__stop(&t->bg);
	while (t->queue)
		tables_file__unref(t, tables_file__take_queued(t));
	for (uint32_t b = 0; b < TABLES_IMAGE_BUCKETS; b++)
		while (t->images[b]) {
			struct tables_image_entry *e = t->images[b];

			t->images[b] = e->next;
			image_free(t, e);
		}
	tables__sweep_files(t, true);
	heap__free(t->heap);
	dictionary__fini(&t->rules);
	fd__close(t->wake_fd);
	background__fini(&t->bg);
	free(t);
}

void tables__tick(struct tables *t)
{
	int64_t now = thread__mono_ns();

	pthread_mutex_lock(&t->bg.lock);
	heap__recycle(t->heap, now);
	if (now - t->epoch_ns >= EPOCH_NS) {
		t->epoch_ns = now;
		*t->memory.epoch += 1;
		tables__sweep_files(t, false);
		tables__forgive(t);
	}
	pthread_mutex_unlock(&t->bg.lock);
}

uint64_t tables__changes(const struct tables *t)
{
	return atomic_load(&t->changes);
}

int tables__wake_fd(const struct tables *t)
{
	return t->wake_fd;
}

void tables__woken(struct tables *t)
{
	uint64_t n;

	while (read(t->wake_fd, &n, sizeof(n)) < 0 && errno == EINTR)
		;
}

struct tables_stat tables__stat(struct tables *t)
{
	struct tables_stat stat;

	pthread_mutex_lock(&t->bg.lock);
	stat = t->stat;
	stat.heap = heap__stat(t->heap);
	stat.n_rules = t->rules.n - t->rules.n_free;
	stat.rules_refused = t->rules.n_refused;
	pthread_mutex_unlock(&t->bg.lock);
	return stat;
}
