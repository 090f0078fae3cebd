/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/file_table.c - files by build id, and their symbol tables within a bound
 *
 * Chains in a fixed number of buckets, because entries go (base's hindex cannot forget), and one
 * list by last use.
 * Threads: the owner's lock. Limits: max_bytes, FILE_TABLE_MAX_FILES.
 */
#include "core/symbolize/file_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/base/str.h"

struct symbol_table *symbol_table__new(struct elf_symbols *elf)
{
	struct symbol_table *t = NEW(struct symbol_table);

	if (!t) {
		elf__free(elf);
		return NULL;
	}
	t->refs = 1;
	t->elf = elf;
	return t;
}

void symbol_table__unref(struct symbol_table *t)
{
	if (!t || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1)
		return;
	elf__free(t->elf);
	free(t);
}

struct debug_source *debug_source__new(const int fds[static FRAMES_MAX_FILES])
{
	struct debug_source *d = NEW(struct debug_source);

	for (int i = 0; i < FRAMES_MAX_FILES; i++) {
		if (d)
			d->fds[i] = fds[i];
		else
			fd__close(fds[i]);
	}
	if (d)
		d->refs = 1;
	return d;
}

void debug_source__unref(struct debug_source *d)
{
	if (!d || atomic_fetch_sub_explicit(&d->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (int i = 0; i < FRAMES_MAX_FILES; i++)
		fd__close(d->fds[i]);
	free(d);
}

int file_table__init(struct file_table *t, uint64_t max_bytes, uint32_t max_sources)
{
	*t = (struct file_table){ .max_bytes = max_bytes, .max_sources = max_sources };
	t->buckets = mem__zalloc(FILE_TABLE_BUCKETS, sizeof(*t->buckets));
	return t->buckets ? 0 : -ENOMEM;
}

void file_table__fini(struct file_table *t)
{
	while (t->newest)
		file_table__remove(t, t->newest);
	free(t->buckets);
	t->buckets = NULL;
}

/* --- the list by last use --- */

static void list_remove(struct file_table *t, struct file_entry *e)
{
	*(e->newer ? &e->newer->older : &t->newest) = e->older;
	*(e->older ? &e->older->newer : &t->oldest) = e->newer;
}

static void list_add(struct file_table *t, struct file_entry *e)
{
	e->newer = NULL;
	e->older = t->newest;
	*(t->newest ? &t->newest->newer : &t->oldest) = e;
	t->newest = e;
}

/* --- entries --- */

static struct file_entry **bucket_of(struct file_table *t, uint64_t hash)
{
	return &t->buckets[hash % FILE_TABLE_BUCKETS];
}

struct file_entry *file_table__find(struct file_table *t, struct dcm_str build_id, uint64_t hash)
{
	for (struct file_entry *e = *bucket_of(t, hash); e; e = e->next) {
		if (e->hash == hash && str__eq((struct dcm_str){ e->build_id, e->build_id_n }, build_id)) {
			list_remove(t, e);
			list_add(t, e);
			return e;
		}
	}
	return NULL;
}

static void drop_table(struct file_table *t, struct file_entry *e)
{
	if (!e->table)
		return;
	symbol_table__unref(e->table);
	e->table = NULL;
	t->bytes -= e->table_bytes;
	e->table_bytes = 0;
	t->n_tables--;
}

static void drop_source(struct file_table *t, struct file_entry *e)
{
	if (e->source)
		t->n_sources--;
	debug_source__unref(e->source);
	e->source = NULL;
}

static void drop_names(struct file_table *t, struct file_entry *e)
{
	if (e->names)
		t->bytes -= e->names->bytes;
	names__unref(e->names);
	e->names = NULL;
}

void file_table__remove(struct file_table *t, struct file_entry *e)
{
	struct file_entry **at = bucket_of(t, e->hash);

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	list_remove(t, e);
	drop_table(t, e);
	drop_source(t, e);
	drop_names(t, e);
	t->n_files--;
	free(e);
}

/* Forgets the entry that was not used for the longest time and that nobody is reading. */
static bool make_room(struct file_table *t)
{
	for (struct file_entry *e = t->oldest; e; e = e->newer) {
		if (e->state != FILE_QUEUED) {
			file_table__remove(t, e);
			return true;
		}
	}
	return false;
}

struct file_entry *file_table__add(struct file_table *t, struct dcm_str build_id, uint64_t hash)
{
	struct file_entry **bucket = bucket_of(t, hash), *e;

	if (t->n_files >= FILE_TABLE_MAX_FILES && !make_room(t))
		return NULL;
	e = mem__zalloc(1, sizeof(*e) + build_id.n);
	if (!e)
		return NULL;
	e->hash = hash;
	e->state = FILE_QUEUED;
	e->build_id_n = build_id.n;
	memcpy(e->build_id, build_id.p, build_id.n);
	e->next = *bucket;
	*bucket = e;
	list_add(t, e);
	t->n_files++;
	return e;
}

/* Makes room, from what was used longest ago. */
static void evict(struct file_table *t, const struct file_entry *keep)
{
	struct file_entry *old;

	for (old = t->oldest; old && t->bytes > t->max_bytes; old = old->newer) {
		if (old == keep || (!old->table && !old->names))
			continue;
		drop_table(t, old);
		drop_source(t, old);
		drop_names(t, old);
		if (old->state == FILE_READY) /* not one that is to be read again */
			old->state = FILE_EVICTED;
		t->n_evicted++;
	}
	for (old = t->oldest; old && t->n_sources > t->max_sources; old = old->newer) {
		if (old != keep)
			drop_source(t, old);
	}
}

void file_table__set(struct file_table *t, struct file_entry *e, struct symbol_table *table,
		     struct debug_source *source)
{
	drop_table(t, e);
	drop_source(t, e);
	e->state = FILE_READY;
	e->table = table;
	e->table_bytes = elf__bytes(table->elf);
	e->source = source;
	t->bytes += e->table_bytes;
	t->n_tables++;
	t->n_sources += source != NULL;
	evict(t, e);
}

void file_table__set_names(struct file_table *t, struct file_entry *e, struct names *names)
{
	drop_names(t, e);
	e->names = names;
	if (names)
		t->bytes += names->bytes;
	evict(t, e);
}
