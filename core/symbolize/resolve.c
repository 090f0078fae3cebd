/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/resolve.c - names for a batch's locations, as an overlay
 *
 * A view is taken of each mapping that has a location without a name: the file's state, and a
 * reference to its table. Then each location is asked of the remembered names first, and of the
 * table second, where the answer is demangled and remembered. The overlay shares everything with
 * the batch but four columns: strings, functions and lines, which begin with the batch's own, and
 * locations.
 *
 * Addresses: ELF virtual addresses as they are; file offsets, and runtime addresses of a mapping
 * whose range is known (pprof from other tools), go through the file's segments. The address itself
 * is never changed: it is identity.
 *
 * Threads: any; the tables are constant, the remembered names are locked for one location at a
 * time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/cond.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/batch/batch.h"
#include "core/symbolize/kept.h"
#include "core/symbolize/lookup.h"

/* --- which locations, and where --- */

bool lookup__can_be_named(const struct dcm_batch *b, const struct dcm_location *l)
{
	const struct dcm_mapping *m;

	if (l->n_lines || l->mapping == DCM_NONE || l->kind != DCM_FRAME_NATIVE ||
	    l->addr_kind == DCM_ADDR_NONE)
		return false;
	m = &b->mappings[l->mapping];
	if (m->kind != DCM_MAPPING_FILE && m->kind != DCM_MAPPING_VDSO)
		return false;
	return l->addr_kind != DCM_ADDR_RUNTIME || (l->address >= m->start && l->address < m->limit);
}

struct learned_key lookup__key(const struct lookup *l, const struct dcm_location *loc)
{
	const struct dcm_mapping *m = &l->batch->mappings[loc->mapping];
	const struct view *v = &l->views[loc->mapping];
	struct learned_key key = { v->build_id, v->hash, loc->address, loc->addr_kind };

	if (loc->addr_kind == DCM_ADDR_RUNTIME) {
		key.address = loc->address - m->start + m->offset;
		key.addr_kind = DCM_ADDR_FILE_OFFSET;
	}
	return key;
}

/* --- views --- */

static void release_views(struct lookup *l)
{
	for (uint32_t i = 0; l->views && i < l->batch->n_mappings; i++) {
		symbol_table__unref(l->views[i].table);
		debug_source__unref(l->views[i].source);
		names__unref(l->views[i].names);
	}
	free(l->views);
	l->views = NULL;
}

/*
 * Waits until the file has been read, or the deadline. Under the lock; *ret_late is set at the
 * deadline.
 */
static struct file_entry *settled(struct lookup *l, const struct view *v,
				  const struct timespec *deadline, bool *ret_late)
{
	struct symbols *s = l->s;
	struct file_entry *e = file_table__find(&s->files, v->build_id, v->hash);

	while (e && e->state == FILE_QUEUED && !e->table && deadline && !*ret_late && !s->stop) {
		if (pthread_cond_timedwait(&s->done, &s->lock, deadline) == ETIMEDOUT)
			*ret_late = true;
		e = file_table__find(&s->files, v->build_id, v->hash);
	}
	return e;
}

static void take_view(struct view *v, const struct file_entry *e)
{
	v->known = e != NULL;
	v->why = DCM_UNNAMED_NOT_HERE;
	if (e)
		v->names = names__ref(e->names);
	if (!e || e->state == FILE_EVICTED)
		return;
	v->why = e->state == FILE_FAILED ? e->why : DCM_UNNAMED_NOT_TRIED;
	if (e->table) {
		v->table = symbol_table__ref(e->table);
		v->rank = elf__count(e->table->elf);
		v->is_kept = e->is_kept;
		v->source = debug_source__ref(e->source);
		v->why = e->why;
	}
}

/* Marks the mappings that matter; returns whether there are any. */
static bool mark_wanted(struct lookup *l)
{
	const struct dcm_batch *b = l->batch;
	bool any = false;

	for (uint32_t i = 0; i < b->n_locations; i++) {
		const struct dcm_location *loc = &b->locations[i];

		if (!lookup__can_be_named(b, loc) || l->views[loc->mapping].wanted)
			continue;
		struct view *v = &l->views[loc->mapping];

		v->wanted = any = true;
		v->build_id = b->strings[b->mappings[loc->mapping].build_id];
		v->hash = hash__bytes(v->build_id.p, v->build_id.n, 0);
		v->why = DCM_UNNAMED_NO_BUILD_ID;
	}
	return any;
}

static void take_views(struct lookup *l, int64_t wait_ns)
{
	struct timespec deadline = cond__after(wait_ns > 0 ? wait_ns : 0);
	bool late = false;

	pthread_mutex_lock(&l->s->lock);
	for (uint32_t i = 0; i < l->batch->n_mappings; i++)
		if (l->views[i].wanted && l->views[i].build_id.n)
			kept__want(l->s, l->views[i].build_id, l->views[i].hash);
	for (uint32_t i = 0; i < l->batch->n_mappings; i++) {
		struct view *v = &l->views[i];

		if (v->wanted && v->build_id.n)
			take_view(v, settled(l, v, wait_ns > 0 ? &deadline : NULL, &late));
	}
	pthread_mutex_unlock(&l->s->lock);
	if (late)
		atomic_fetch_add(&l->s->waits_timed_out, 1);
}

/* 0, -ENOMEM, or -ENODATA when the batch has nothing to name. */
static int begin(struct lookup *l, struct symbols *s, const struct dcm_batch *batch, int64_t wait_ns)
{
	l->s = s;
	l->batch = batch;
	l->asked_ns = clock__mono(s->config.clock);
	l->views = mem__zalloc(batch->n_mappings, sizeof(*l->views));
	if (!l->views)
		return -ENOMEM;
	if (!mark_wanted(l)) {
		release_views(l);
		return -ENODATA;
	}
	take_views(l, wait_ns);
	return 0;
}

static void end(struct lookup *l)
{
	atomic_fetch_add(&l->s->hits, l->hits);
	atomic_fetch_add(&l->s->misses, l->misses);
	atomic_fetch_add(&l->s->learned_hits, l->learned_hits);
	release_views(l);
}

/* --- one location --- */

bool lookup__symbol(struct lookup *l, const struct view *v, const struct learned_key *key,
		    struct learned_line *ret)
{
	uint64_t vaddr = key->address;
	struct dcm_str raw;
	uint32_t n;

	*ret = (struct learned_line){ .name = STR("") };
	if (key->addr_kind == DCM_ADDR_FILE_OFFSET && elf__to_vaddr(v->table->elf, key->address, &vaddr))
		return false;
	if (elf__find(v->table->elf, vaddr, &raw))
		return false;
	n = demangle__name(raw, l->human, sizeof(l->human));
	ret->name = (struct dcm_str){ l->human, n };
	/* A raw name that is no text is not worth keeping beside the cleaned one. */
	if (!str__eq(ret->name, raw) && str__is_utf8(raw))
		ret->system_name = raw;
	return n > 0;
}

/* Why an address of the view has no name: what is wrong with its debug information says more. */
static uint8_t why_of(const struct view *v)
{
	uint8_t failed = v->source ? atomic_load(&v->source->failed) : 0;

	return failed ? failed : v->why;
}

/* A symbol of a table that has given way to a better one. Debug information is not worse in any. */
static bool is_outdated(const struct learned *found, const struct view *v)
{
	return found->rank < v->rank && found->asked == 0;
}

/*
 * Is what was written down as good as what the file tells now? A stand-in may be another file's
 * meanwhile. The kept file lacks names of PLT stubs, which the file itself had.
 */
static bool is_usable(const struct lookup *l, const struct view *v, const struct learned *kept)
{
	if (kept->n > 1 && !l->s->config.inlines)
		return false;
	if (!v->table)
		return true;
	if (v->build_id.p[0] == '~')
		return false;
	return kept->asked || kept->rank > v->rank || (kept->rank == v->rank && v->is_kept);
}

bool lookup__known(struct lookup *l, const struct view *v, const struct learned_key *key,
		   struct learned *ret)
{
	bool known = learned__find(&l->s->learned, key, ret);
	struct learned kept;

	if (!v->names || (known && ret->n) || !learned_set__find(&v->names->set, key, &kept) ||
	    !is_usable(l, v, &kept))
		return known;
	learned__add(&l->s->learned, key, &kept);
	*ret = kept;
	return true;
}

static bool is_same(const struct learned *a, const struct learned *b)
{
	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++) {
		struct learned_line x = learned__line(a, i), y = learned__line(b, i);

		if (x.line != y.line || !str__eq(x.name, y.name) || !str__eq(x.file, y.file))
			return false;
	}
	return true;
}

void lookup__learn(struct lookup *l, const struct view *v, const struct learned_key *key,
		   const struct learned *what)
{
	struct learned kept;

	learned__add(&l->s->learned, key, what);
	if (!l->s->scribe || what->n == 0)
		return;
	if (v->names && learned_set__find(&v->names->set, key, &kept) && kept.rank >= what->rank &&
	    kept.asked >= what->asked && is_same(&kept, what))
		return;
	if (v->names && learned_set__has_better(&v->names->set, key, what))
		return;
	scribe__add(l->s->scribe, key, what);
}

/*
 * Under learned_lock, until the caller has used the texts. False: no name, and ret->why says why.
 */
static bool ask(struct lookup *l, const struct dcm_location *loc, struct learned *ret)
{
	const struct view *v = &l->views[loc->mapping];
	struct learned_key key = lookup__key(l, loc);
	struct learned found = { 0 };

	*ret = (struct learned){ .why = why_of(v), .rank = v->rank };
	if (v->build_id.n == 0)
		return false;
	if (lookup__known(l, v, &key, &found) && (!v->table || (found.n && !is_outdated(&found, v)))) {
		*ret = found;
		l->learned_hits += found.n > 0;
		return found.n > 0;
	}
	if (!v->table)
		return false;
	ret->asked = found.asked;
	if (lookup__symbol(l, v, &key, &l->line)) {
		ret->lines = &l->line;
		ret->n = 1;
	}
	lookup__learn(l, v, &key, ret);
	return ret->n > 0;
}

void resolve__learn(struct symbols *s, struct dcm_batch *batch)
{
	struct lookup l = { 0 };

	if (begin(&l, s, batch, 0))
		return;
	fill__lookup(&l, 0);
	for (uint32_t i = 0; i < batch->n_locations; i++) {
		struct learned what;
		bool named;

		if (!lookup__can_be_named(batch, &batch->locations[i]))
			continue;
		pthread_mutex_lock(&s->learned_lock);
		named = ask(&l, &batch->locations[i], &what);
		pthread_mutex_unlock(&s->learned_lock);
		*(named ? &l.hits : &l.misses) += 1;
	}
	end(&l);
}

/* --- the overlay --- */

struct naming {
	struct dcm_batch *overlay;
	struct arena *arena;
	VEC(struct dcm_str) strings;	    /* behind the batch's own */
	VEC(struct dcm_function) functions; /* likewise */
	VEC(struct dcm_line) lines;	    /* likewise */
	struct hindex index;		    /* of the new functions, by their texts */
	struct dcm_location *locations;
	bool changed;
};

/* Returns the new string's id, or 0 when memory ran out ("" needs no new string). */
static uint32_t add_string(struct naming *n, struct dcm_str text)
{
	struct dcm_str copy = arena__str(n->arena, text);

	if (!copy.p || !vec__push(&n->strings, copy))
		return 0;
	return n->overlay->n_strings + (uint32_t)n->strings.n - 1;
}

static struct dcm_str new_string(const struct naming *n, uint32_t id)
{
	return id ? n->strings.v[id - n->overlay->n_strings] : STR("");
}

static bool same_function(const struct naming *n, const struct dcm_function *fn,
			  const struct learned_line *line)
{
	return fn->start_line == line->start_line && str__eq(new_string(n, fn->name), line->name) &&
	       str__eq(new_string(n, fn->system_name), line->system_name) &&
	       str__eq(new_string(n, fn->file), line->file);
}

/*
 * That function among the new ones, made when it is not there. DCM_NONE: out of memory.
 */
static uint32_t add_function(struct naming *n, const struct learned_line *line)
{
	uint64_t h = hash__bytes(line->system_name.p, line->system_name.n,
				 hash__bytes(line->name.p, line->name.n,
					     hash__bytes(line->file.p, line->file.n, line->start_line)));
	struct dcm_function fn = { .start_line = line->start_line };
	uint32_t row, at = hindex__first(&n->index, h, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&n->index, h, at, &row)) {
		if (same_function(n, &n->functions.v[row], line))
			return n->overlay->n_functions + row;
	}
	fn.name = add_string(n, line->name);
	fn.system_name = line->system_name.n ? add_string(n, line->system_name) : 0;
	fn.file = line->file.n ? add_string(n, line->file) : 0;
	if (!fn.name || (line->system_name.n && !fn.system_name) || (line->file.n && !fn.file) ||
	    !vec__push(&n->functions, fn) ||
	    hindex__insert(&n->index, h, (uint32_t)(n->functions.n - 1)))
		return DCM_NONE;
	return n->overlay->n_functions + (uint32_t)(n->functions.n - 1);
}

static int set_lines(struct naming *n, uint32_t location, const struct learned *what)
{
	struct dcm_location *loc = &n->locations[location];
	size_t first = n->lines.n;

	for (uint32_t i = 0; i < what->n; i++) {
		struct learned_line known = learned__line(what, i);
		struct dcm_line line = { .function = add_function(n, &known), .line = known.line };

		if (line.function == DCM_NONE || !vec__push(&n->lines, line))
			return -ENOMEM;
	}
	loc->line_off = n->overlay->n_lines + (uint32_t)first;
	loc->n_lines = what->n;
	loc->unnamed = DCM_UNNAMED_NOT_TRIED;
	n->changed = true;
	return 0;
}

/*
 * What the input knew (the process was gone, no permission) is better than that nobody brought the
 * file.
 */
static void set_reason(struct naming *n, uint32_t location, uint8_t why)
{
	struct dcm_location *loc = &n->locations[location];

	if (loc->unnamed == why || (loc->unnamed != DCM_UNNAMED_NOT_TRIED &&
				    (why == DCM_UNNAMED_NOT_HERE || why == DCM_UNNAMED_NO_BUILD_ID ||
				     why == DCM_UNNAMED_NOT_TRIED)))
		return;
	loc->unnamed = why;
	n->changed = true;
}

/* With the lock on what was learned. */
static int name_one(struct lookup *l, struct naming *n, uint32_t i)
{
	struct learned what;
	const bool named = ask(l, &l->batch->locations[i], &what);

	*(named ? &l->hits : &l->misses) += 1;
	if (named)
		return set_lines(n, i, &what);
	set_reason(n, i, what.why);
	return 0;
}

/* So many locations are named while others wait for the lock: some microseconds. */
enum { NAMED_TOGETHER = 64 };

static int name_all(struct lookup *l, struct naming *n)
{
	const struct dcm_batch *b = l->batch;
	int rc = 0;

	for (uint32_t i = 0, end; rc == 0 && i < b->n_locations; i = end) {
		end = b->n_locations - i < NAMED_TOGETHER ? b->n_locations : i + NAMED_TOGETHER;
		pthread_mutex_lock(&l->s->learned_lock);
		for (uint32_t k = i; rc == 0 && k < end; k++)
			if (lookup__can_be_named(b, &b->locations[k]))
				rc = name_one(l, n, k);
		pthread_mutex_unlock(&l->s->learned_lock);
	}
	return rc;
}

/* The batch's column with the new rows behind it, in the arena. */
static const void *joined(struct arena *a, const void *old, size_t n_old, const void *new,
			  size_t n_new, size_t size)
{
	char *all = arena__alloc(a, (n_old + n_new) * size);

	if (all) {
		if (n_old)
			memcpy(all, old, n_old * size);
		if (n_new)
			memcpy(all + n_old * size, new, n_new * size);
	}
	return all;
}

static int join_columns(struct naming *n)
{
	struct dcm_batch *o = n->overlay;

	o->locations = n->locations;
	if (n->lines.n) {
		o->strings = joined(n->arena, o->strings, o->n_strings, n->strings.v, n->strings.n,
				    sizeof(*o->strings));
		o->functions = joined(n->arena, o->functions, o->n_functions, n->functions.v,
				      n->functions.n, sizeof(*o->functions));
		o->lines = joined(n->arena, o->lines, o->n_lines, n->lines.v, n->lines.n,
				  sizeof(*o->lines));
		if (!o->strings || !o->functions || !o->lines)
			return -ENOMEM;
		o->n_strings += (uint32_t)n->strings.n;
		o->n_functions += (uint32_t)n->functions.n;
		o->n_lines += (uint32_t)n->lines.n;
	}
	batch__account(o);
	return 0;
}

static int make_overlay(struct lookup *l, struct dcm_batch *batch, struct dcm_batch **ret_batch)
{
	struct naming n = { 0 };
	int rc;

	n.overlay = batch__overlay(batch, &n.arena);
	rc = n.overlay ? 0 : -ENOMEM;
	if (!rc) {
		n.locations = arena__alloc(n.arena, (size_t)batch->n_locations * sizeof(*n.locations));
		rc = n.locations ? 0 : -ENOMEM;
	}
	if (!rc) {
		memcpy(n.locations, batch->locations, batch->n_locations * sizeof(*n.locations));
		rc = name_all(l, &n);
	}
	if (!rc && n.changed)
		rc = join_columns(&n);
	if (!rc)
		*ret_batch = n.changed ? take_ptr(n.overlay) : batch__ref(batch);
	batch__unref(n.overlay);
	vec__fini(&n.strings);
	vec__fini(&n.functions);
	vec__fini(&n.lines);
	hindex__fini(&n.index);
	return rc;
}

int symbols__resolve(struct symbols *s, struct dcm_batch *batch, int64_t wait_ns,
		     struct dcm_batch **ret_batch, struct dcm_error *err)
{
	struct lookup l = { 0 };
	int rc = begin(&l, s, batch, wait_ns);

	if (rc == -ENODATA) {
		*ret_batch = batch__ref(batch);
		return 0;
	}
	if (!rc) {
		fill__lookup(&l, l.asked_ns + (wait_ns > 0 ? wait_ns : 0));
		rc = make_overlay(&l, batch, ret_batch);
		end(&l);
	}
	return rc ? error__nomem(err) : 0;
}
