/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/aggregate.c - the samples of one window, added up
 *
 * A hash finds candidates and a comparison decides, so that two stacks are never merged by chance.
 */
#include "plugins/input/ebpf/aggregate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

enum {
	STACKS_MAX = 65536,
	ROWS_MAX = 262144,
};
#define FRAME_BYTES_MAX (25ull << 20)
#define MAPS_BYTES_MAX	(16ull << 20)
/* Of a process's first state in a window: so much the table of processes has for each of them anyway. */
#define ORDINARY_BYTES (16ull << 10)

struct aggregate *aggregate__new(uint32_t window, struct aggregate_limits limits)
{
	CLEANUP(aggregate__freep) struct aggregate *a = NEW(struct aggregate);
	struct aggregate_stack overflow = { .frames = NULL };
	struct aggregate_image nobody = { .maps = NULL };

	if (!a || intern__init(&a->texts) < 0)
		return NULL;
	a->window = window;
	a->limits = limits;
	if (!a->limits.stacks)
		a->limits.stacks = STACKS_MAX;
	if (!a->limits.rows)
		a->limits.rows = ROWS_MAX;
	if (!a->limits.frame_bytes)
		a->limits.frame_bytes = FRAME_BYTES_MAX;
	if (!a->limits.maps_bytes)
		a->limits.maps_bytes = MAPS_BYTES_MAX;
	if (!vec__push(&a->stacks, overflow) || !vec__push(&a->images, nobody))
		return NULL;
	return take_ptr(a);
}

void aggregate__free(struct aggregate *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->images.n; i++)
		maps__unref(a->images.v[i].maps);
	maps__unref(a->few);
	vec__fini(&a->images);
	vec__fini(&a->series);
	vec__fini(&a->stacks);
	vec__fini(&a->rows);
	hindex__fini(&a->image_index);
	hindex__fini(&a->series_index);
	hindex__fini(&a->stack_index);
	hindex__fini(&a->row_index);
	arena__fini(&a->frames);
	intern__fini(&a->texts);
	free(a);
}

static bool same_process(const struct dcm_process *a, const struct dcm_process *b)
{
	return a->pid == b->pid && a->generation == b->generation && a->start_ns == b->start_ns;
}

/* A state is known by itself, a few ranges by what they are, and by whether they will be found wrong together. */
static bool same_maps(const struct maps *a, const struct maps *b)
{
	if (a == b)
		return true;
	return a && b && a->judge && a->judge == b->judge && a->wrong == b->wrong && maps__equal(a, b);
}

static uint64_t image_hash(const struct dcm_process *id, const struct maps *maps)
{
	uint64_t of_maps = maps && maps->judge ? maps__hash(maps) : (uintptr_t)maps;

	return hash__mix(hash__mix(of_maps, id->pid), id->generation);
}

/* The image of the process under these maps; 0, which is nobody's: there is none. */
static uint32_t find_image(const struct aggregate *a, const struct dcm_process *id,
			   const struct maps *maps)
{
	uint64_t h = image_hash(id, maps);
	uint32_t row, at;

	for (at = hindex__first(&a->image_index, h, &row); row != HINDEX_NONE;
	     at = hindex__next(&a->image_index, h, at, &row))
		if (same_process(&a->images.v[row].process, id) && same_maps(a->images.v[row].maps, maps))
			return row;
	return 0;
}

/* What an image of this state adds to the window's memory. */
static uint64_t extra_bytes(const struct aggregate *a, const struct process *p, const struct maps *m)
{
	const uint64_t bytes = maps__bytes(m), had = p->held_window == a->window ? 0 : ORDINARY_BYTES;

	return bytes > had ? bytes - had : 0;
}

int aggregate__hold(struct aggregate *a, struct process *p, const uint64_t *frames, uint32_t n,
		    struct maps **maps)
{
	struct maps *few;
	uint32_t row;

	if (!*maps || n == 0 || a->maps_bytes + extra_bytes(a, p, *maps) <= a->limits.maps_bytes ||
	    find_image(a, &p->id, *maps))
		return 0;
	if (!p->few)
		p->few = maps__empty();
	few = p->few ? maps__of_frames(*maps, frames, n, p->few) : NULL;
	if (!few)
		return -ENOMEM;
	maps__unref(a->few);
	a->few = few;
	/* The same ranges again are the same object, and the stack is the same. */
	row = find_image(a, &p->id, few);
	*maps = row ? a->images.v[row].maps : few;
	return row || a->maps_bytes + extra_bytes(a, p, few) <= 2 * a->limits.maps_bytes ? 0 : -ENOSPC;
}

int aggregate__image(struct aggregate *a, struct process *p, struct maps *maps, uint32_t *ret_image)
{
	struct aggregate_image image = { .process = p->id, .maps = maps, .why = p->why };
	uint32_t row = find_image(a, &p->id, maps);

	if (row) {
		*ret_image = row;
		return 0;
	}
	row = (uint32_t)a->images.n;
	if (!vec__push(&a->images, image))
		return -ENOMEM;
	if (hindex__insert(&a->image_index, image_hash(&p->id, maps), row) < 0) {
		a->images.n--;
		return -ENOMEM;
	}
	if (maps) {
		maps__ref(maps);
		a->maps_bytes += extra_bytes(a, p, maps);
		p->held_window = a->window;
	}
	*ret_image = row;
	return 0;
}

int aggregate__series(struct aggregate *a, struct dcm_str comm, struct dcm_str service,
		      struct dcm_str tags, uint32_t *ret_series)
{
	struct aggregate_series key = {
		.comm = intern__add(&a->texts, comm),
		.service = intern__add(&a->texts, service),
		.tags = intern__add(&a->texts, tags),
	};
	uint64_t h = hash__bytes(&key, sizeof(key), 0);
	uint32_t row, at;

	if (key.comm == INTERN_NONE || key.service == INTERN_NONE || key.tags == INTERN_NONE)
		return -ENOMEM;
	for (at = hindex__first(&a->series_index, h, &row); row != HINDEX_NONE;
	     at = hindex__next(&a->series_index, h, at, &row))
		if (memcmp(&a->series.v[row], &key, sizeof(key)) == 0) {
			*ret_series = row;
			return 0;
		}
	row = (uint32_t)a->series.n;
	if (!vec__push(&a->series, key))
		return -ENOMEM;
	if (hindex__insert(&a->series_index, h, row) < 0) {
		a->series.n--;
		return -ENOMEM;
	}
	*ret_series = row;
	return 0;
}

static size_t frame_bytes(const struct aggregate_stack *s)
{
	return ((size_t)s->n_kernel + s->n_user) * sizeof(*s->frames);
}

static uint64_t stack_hash(const struct aggregate_stack *s)
{
	uint64_t seed = hash__mix(hash__mix(s->image, s->outcome), s->n_kernel);

	return hash__bytes(s->frames, frame_bytes(s), seed);
}

static bool stack_equal(const struct aggregate_stack *a, const struct aggregate_stack *b)
{
	return a->image == b->image && a->n_kernel == b->n_kernel && a->n_user == b->n_user &&
	       a->outcome == b->outcome && a->kernel_cut == b->kernel_cut &&
	       (frame_bytes(a) == 0 || memcmp(a->frames, b->frames, frame_bytes(a)) == 0);
}

bool aggregate__find_stack(const struct aggregate *a, const struct aggregate_stack *key, uint32_t *ret_stack)
{
	uint64_t h = stack_hash(key);
	uint32_t row, at;

	for (at = hindex__first(&a->stack_index, h, &row); row != HINDEX_NONE;
	     at = hindex__next(&a->stack_index, h, at, &row))
		if (stack_equal(&a->stacks.v[row], key)) {
			*ret_stack = row;
			return true;
		}
	return false;
}

int aggregate__add_stack(struct aggregate *a, const struct aggregate_stack *stack, uint32_t *ret_stack)
{
	struct aggregate_stack s = *stack;
	uint64_t *frames;

	if (a->stacks.n >= a->limits.stacks ||
	    a->frames.total_bytes + frame_bytes(stack) > a->limits.frame_bytes) {
		*ret_stack = AGGREGATE_OVERFLOW;
		return 0;
	}
	frames = arena__alloc(&a->frames, frame_bytes(stack));
	if (!frames)
		return -ENOMEM;
	if (frame_bytes(stack))
		memcpy(frames, stack->frames, frame_bytes(stack));
	s.frames = frames;
	if (!vec__push(&a->stacks, s))
		return -ENOMEM;
	if (hindex__insert(&a->stack_index, stack_hash(&s), (uint32_t)(a->stacks.n - 1)) < 0) {
		a->stacks.n--;
		return -ENOMEM;
	}
	*ret_stack = (uint32_t)(a->stacks.n - 1);
	return 0;
}

/* The row of an equal key; NULL when there is none. */
static struct aggregate_row *find_row(struct aggregate *a, const struct aggregate_row *key, uint64_t h)
{
	uint32_t row, at;

	for (at = hindex__first(&a->row_index, h, &row); row != HINDEX_NONE;
	     at = hindex__next(&a->row_index, h, at, &row)) {
		struct aggregate_row *r = &a->rows.v[row];

		if (r->series == key->series && r->stack == key->stack && r->pid == key->pid &&
		    r->tid == key->tid && r->thread_name == key->thread_name &&
		    r->cpu == key->cpu && r->tags == key->tags)
			return r;
	}
	return NULL;
}

static uint64_t row_hash(const struct aggregate_row *r)
{
	uint64_t h = hash__mix((uint64_t)r->series << 32 | r->stack, (uint64_t)r->pid << 32 | r->tid);

	return hash__mix(hash__mix(h, (uint64_t)r->thread_name << 32 | r->cpu), r->tags);
}

int aggregate__add(struct aggregate *a, const struct aggregate_row *row)
{
	struct aggregate_row key = *row;
	struct aggregate_row *r = find_row(a, &key, row_hash(&key));

	if (!r && a->rows.n >= a->limits.rows) {
		key.stack = AGGREGATE_OVERFLOW;
		key.pid = key.tid = key.thread_name = key.cpu = key.tags = 0;
		r = find_row(a, &key, row_hash(&key));
	}
	if (!r) {
		/* Beyond the limit only one row for each series is made. */
		key.n_samples = key.cpu_ns = 0;
		if (!vec__push(&a->rows, key))
			return -ENOMEM;
		if (hindex__insert(&a->row_index, row_hash(&key), (uint32_t)(a->rows.n - 1)) < 0) {
			a->rows.n--;
			return -ENOMEM;
		}
		r = &a->rows.v[a->rows.n - 1];
	}
	if (r->stack == AGGREGATE_OVERFLOW)
		a->n_overflow += row->n_samples;
	r->n_samples += row->n_samples;
	r->cpu_ns += row->cpu_ns;
	a->n_samples += row->n_samples;
	a->cpu_ns += row->cpu_ns;
	return 0;
}
