/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/selfprofile/selfprofile.c - what this process's own CPU time went into, as a batch
 *
 * A recording waits on a condition with a deadline, and looks for new threads each time that it
 * wakes. What was loaded is asked of the dynamic linker at the end: code of a plugin that went
 * meanwhile has its address alone.
 */
#include "core/selfprofile/selfprofile.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/cond.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/selfprofile/leaf.h"
#include "core/selfprofile/objects.h"
#include "core/selfprofile/ticks.h"
#include "core/symbolize/symbols.h"

#define LOOK_NS	 INT64_C(100000000)
#define NAMES_NS INT64_C(2000000000) /* that files may take to be read, for their names */

struct selfprofile {
	pthread_mutex_t lock;
	pthread_cond_t stops;
	bool is_stopped;
};

struct selfprofile *selfprofile__new(void)
{
	struct selfprofile *s = NEW(struct selfprofile);

	if (!s)
		return NULL;
	pthread_mutex_init(&s->lock, NULL);
	cond__init(&s->stops);
	return s;
}

void selfprofile__free(struct selfprofile *s)
{
	if (!s)
		return;
	pthread_cond_destroy(&s->stops);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

void selfprofile__stop(struct selfprofile *s)
{
	pthread_mutex_lock(&s->lock);
	s->is_stopped = true;
	pthread_cond_broadcast(&s->stops);
	pthread_mutex_unlock(&s->lock);
}

/* ---- the time ---- */

static bool is_cancelled(const struct selfprofile_ask *ask)
{
	return ask->cancelled && atomic_load(ask->cancelled);
}

/* Until the time, or earlier. False: the program stops. */
static bool wait_until(struct selfprofile *s, int64_t mono_ns)
{
	struct timespec t = { .tv_sec = mono_ns / 1000000000, .tv_nsec = mono_ns % 1000000000 };
	bool is_stopped;

	pthread_mutex_lock(&s->lock);
	if (!s->is_stopped)
		pthread_cond_timedwait(&s->stops, &s->lock, &t);
	is_stopped = s->is_stopped;
	pthread_mutex_unlock(&s->lock);
	return !is_stopped;
}

static int wait_for_end(struct selfprofile *s, const struct selfprofile_ask *ask, struct dcm_error *err)
{
	int64_t end = clock__mono(&clock__system) + ask->duration_ns, now;

	while ((now = clock__mono(&clock__system)) < end) {
		if (!wait_until(s, end - now < LOOK_NS ? end : now + LOOK_NS))
			return error__set(err, -ESHUTDOWN, "decima is stopping");
		if (is_cancelled(ask))
			return error__set(err, -ECANCELED, "cancelled");
		ticks__look();
	}
	return 0;
}

/* ---- the batch ---- */

struct making {
	struct dcm_builder *b;
	struct objects objects;
	uint32_t *mappings; /* [objects.v.n], DCM_NONE: not needed yet */
	uint32_t process;
};

static uint32_t text(struct making *m, const char *s)
{
	return builder__string(m->b, str__of(s));
}

static uint32_t mapping_of(struct making *m, uint32_t i)
{
	const struct object *o = &m->objects.v.v[i];
	struct dcm_mapping new = {
		.start = o->start,
		.limit = o->limit,
		.offset = o->offset,
		.file = builder__string(m->b, o->is_vdso ? STR("[vdso]") : o->path),
		.build_id = builder__string(m->b, o->build_id),
		.kind = o->is_vdso ? DCM_MAPPING_VDSO : DCM_MAPPING_FILE,
	};

	if (m->mappings[i] == DCM_NONE)
		m->mappings[i] = builder__mapping(m->b, &new);
	return m->mappings[i];
}

static uint32_t location_of(struct making *m, uint64_t pc)
{
	uint32_t i = objects__find(&m->objects, pc);
	struct dcm_location l = { .mapping = DCM_NONE,
				  .process = m->process,
				  .address = pc,
				  .addr_kind = DCM_ADDR_RUNTIME,
				  .kind = DCM_FRAME_NATIVE };

	if (i != DCM_NONE) {
		l.mapping = mapping_of(m, i);
		l.process = DCM_NONE;
		l.address = pc - m->objects.v.v[i].base;
		l.addr_kind = DCM_ADDR_VADDR;
	}
	return builder__location(m->b, &l, NULL, 0);
}

static void add_row(struct making *m, uint32_t stack, const char *thread, uint64_t n_periods)
{
	struct dcm_label label = { .name = text(m, "thread_name"), .str = text(m, thread), .unit = DCM_NONE };
	int64_t values[] = { (int64_t)n_periods, (int64_t)n_periods * TICKS_PERIOD_NS };

	builder__row(m->b, stack, builder__label_set(m->b, &label, thread[0] ? 1 : 0), values);
}

/* What found no room is a stack of its own: the sum is right, and everybody sees why. */
static void add_lost(struct making *m, uint64_t n_periods)
{
	struct dcm_function f = { .name = text(m, "[lost: the recording was full]") };
	struct dcm_line line = { .function = builder__function(m->b, &f) };
	struct dcm_location l = { .mapping = DCM_NONE,
				  .process = DCM_NONE,
				  .addr_kind = DCM_ADDR_NONE,
				  .kind = DCM_FRAME_NOTE };
	uint32_t location = builder__location(m->b, &l, &line, 1);

	if (n_periods)
		add_row(m, builder__stack(m->b, &location, 1), "", n_periods);
}

static void add_rows(struct making *m, const struct ticks *t)
{
	uint32_t locations[TICKS_MAX_DEPTH + 1];
	struct tick tick;
	char thread[16];

	for (uint64_t at = 0; ticks__next(t, &at, &tick);) {
		uint32_t n = 0;

		for (uint32_t i = 0; i < tick.n; i++) {
			locations[n++] = location_of(m, tick.pcs[i]);
			if (i == 0 && leaf__returns_to(&m->objects, tick.pcs[0], tick.top))
				locations[n++] = location_of(m, tick.top - 1);
		}
		ticks__thread_name(t, tick.tid, thread);
		add_row(m, builder__stack(m->b, locations, n), thread, tick.n_periods);
	}
	if (ticks__n_lost(t))
		add_lost(m, ticks__n_lost(t));
}

static void add_head(struct making *m, int64_t time_ns, int64_t duration_ns)
{
	uint32_t cpu = text(m, "cpu"), nanoseconds = text(m, "nanoseconds");
	struct dcm_type types[] = {
		{ .sample_type = text(m, "samples"), .sample_unit = text(m, "count") },
		{ .sample_type = cpu, .sample_unit = nanoseconds },
	};
	struct dcm_profile head = { .series = builder__series(m->b, NULL, 0),
				    .time_ns = time_ns,
				    .duration_ns = duration_ns,
				    .period = TICKS_PERIOD_NS };

	for (size_t i = 0; i < 2; i++) {
		types[i].name = text(m, "process_cpu");
		types[i].period_type = cpu;
		types[i].period_unit = nanoseconds;
		types[i].temporality = DCM_DELTA;
	}
	builder__profile(m->b, &head, types, 2);
	m->process = builder__process(m->b, &(struct dcm_process){ .pid = (uint32_t)getpid() });
}

/* The files are here: their names can be had at once, not only when the sampler comes by. */
static void offer_files(const struct making *m, struct symbols *symbols)
{
	for (size_t i = 0; i < m->objects.v.n; i++) {
		const struct object *o = &m->objects.v.v[i];
		char path[4096];
		int fd;

		if (m->mappings[i] == DCM_NONE || o->is_vdso || !o->build_id.n ||
		    o->path.n >= sizeof(path))
			continue;
		memcpy(path, o->path.p, o->path.n);
		path[o->path.n] = '\0';
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		if (fd < 0)
			continue;
		symbols__offer(symbols, o->build_id, o->path, fd);
		close(fd);
	}
}

static int make(struct making *m, const struct ticks *t, const struct selfprofile_ask *ask,
		int64_t began_real_ns, struct dcm_batch **ret, struct dcm_error *err)
{
	CLEANUP(batch__unrefp) struct dcm_batch *batch = NULL;
	int r = objects__load(&m->objects);

	m->b = builder__new(0);
	m->mappings = mem__zalloc(m->objects.v.n + 1, sizeof(*m->mappings));
	if (r < 0 || !m->b || !m->mappings)
		return error__nomem(err);
	memset(m->mappings, 0xff, m->objects.v.n * sizeof(*m->mappings));
	add_head(m, began_real_ns, ask->duration_ns);
	add_rows(m, t);
	r = builder__seal(m->b, &batch, err);
	if (r < 0 || !ask->symbols) {
		*ret = r < 0 ? *ret : take_ptr(batch);
		return r;
	}
	offer_files(m, ask->symbols);
	return symbols__resolve(ask->symbols, batch, NAMES_NS, ret, err);
}

int selfprofile__record(struct selfprofile *s, const struct selfprofile_ask *ask,
			struct dcm_batch **ret, struct dcm_error *err)
{
	int64_t began = clock__real(ask->clock);
	struct making m = { 0 };
	struct ticks *t = NULL;
	int r = ticks__begin(&t, err);

	if (r == 0)
		r = wait_for_end(s, ask, err);
	ticks__end(t);
	if (r == 0)
		r = make(&m, t, ask, began, ret, err);
	builder__free(m.b);
	free(m.mappings);
	objects__fini(&m.objects);
	ticks__free(t);
	return r;
}
