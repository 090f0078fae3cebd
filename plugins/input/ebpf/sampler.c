/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/sampler.c - the BPF programs: loaded, configured, read
 *
 * libbpf's own messages are switched off for the process, because they are not written for users;
 * what the kernel's verifier said goes into our error.
 */
#include "plugins/input/ebpf/sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/sampler.skel.h"

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/input/ebpf/accounts.h"
#include "plugins/input/ebpf/family.h"
#include "plugins/input/ebpf/procfs.h"
#include "plugins/input/ebpf/thread.h"

enum {
	LOG_BYTES = 256 * 1024, /* of the verifier */
	N_LINKS = 4,
	RECORD_BYTES = 512, /* an average one: 45 frames */
	RING_SECONDS = 2,
	SLAB_BYTES = TABLES_CHUNK_BYTES * TABLES_SLAB_CHUNKS,
	RULES_BYTES = TABLES_RULES * sizeof(struct unwind_rule),
	BUCKETS_BYTES = TABLES_BUCKETS * sizeof(struct tables_bucket),
};
#define RING_MIN (1ull << 20)
#define RING_MAX (16ull << 20)
#define RAW_MAX	 (4ull << 20) /* of the ring for deferred samples */

struct sampler {
	const struct dcm_host *host; /* makes more slabs; from sampler__tables() */
	struct sampler_bpf *bpf;
	struct bpf_link *links[N_LINKS];
	struct ring_buffer *samples, *raws, *events;
	const volatile struct sampler_stats *stats; /* [n_cpus], mapped */
	uint64_t n_not_followed; /* beside what is in these, when it was opened */
	size_t stats_bytes;
	struct unwind_rule *rules;     /* [TABLES_RULES], mapped */
	struct tables_bucket *buckets; /* [TABLES_BUCKETS], mapped */
	uint32_t n_cpus;
	uint64_t map_bytes;
	const struct sampler_sink *sink; /* during sampler__drain() */
	int64_t until_ns;		 /* mono, of the ring at hand */
	bool is_cut;
};

/* Bytes of the ring for samples: `wanted`, or by CPUs and frequency when 0; a power of two. */
static uint64_t ring_bytes(uint64_t wanted, uint32_t n_cpus, uint64_t frequency)
{
	uint64_t need = wanted, bytes = 4096;

	if (!need) {
		need = frequency * n_cpus * RECORD_BYTES * RING_SECONDS;
		need = need < RING_MIN ? RING_MIN : need > RING_MAX ? RING_MAX : need;
	}
	while (bytes < need)
		bytes *= 2;
	return bytes;
}

/* ------------------------------------------------------------------------------------------------
 * Loading
 */

/* The verifier's last words before its statistics, as one line in place. */
static const char *last_line(char *log)
{
	char *end = strstr(log, "\nprocessed ");
	char *start;

	if (!end)
		end = log + strlen(log);
	while (end > log && end[-1] == '\n')
		end--;
	*end = 0;
	start = strrchr(log, '\n');
	start = start ? start + 1 : log;
	str__clean(start, strlen(start));
	return start;
}

/* Tables are for x86-64 only so far. */
static bool with_tables(const struct settings *s)
{
#ifdef __x86_64__
	return s->user_stacks && s->unwind != SETTINGS_UNWIND_FRAME_POINTERS;
#else
	(void)s;
	return false;
#endif
}

/* How many frames of its own stack the kernel gives. Source: Linux, kernel/bpf/stackmap.c. */
static uint32_t kernel_frames(const struct probe *p)
{
	return p->max_stack > 0 && p->max_stack < SAMPLER_KERNEL_FRAMES ? (uint32_t)p->max_stack
									: SAMPLER_KERNEL_FRAMES;
}

static void configure(struct sampler_bpf *bpf, const struct settings *s, const struct probe *probe,
		      uint32_t n_cpus, bool typed)
{
	uint64_t ring = ring_bytes((uint64_t)s->ring_size_bytes, n_cpus, (uint64_t)s->frequency);
	bool follow = s->filter.pids.n && s->filter.children;

	bpf->rodata->self_pid = (uint32_t)getpid();
	bpf->rodata->max_depth = (uint32_t)s->max_depth;
	bpf->rodata->kernel_frames = kernel_frames(probe);
	bpf->rodata->with_kernel_stack = s->kernel_stacks;
	bpf->rodata->with_user_stack = s->user_stacks;
	bpf->rodata->with_tables = with_tables(s);
	bpf->rodata->with_pid_filter = s->filter.pids.n > 0;
	bpf->rodata->with_comm_filter = s->filter.comms.n > 0;
	bpf->rodata->wakeup_bytes = ring / 2;
	bpf_map__set_max_entries(bpf->maps.samples, (uint32_t)ring);
	bpf_map__set_max_entries(bpf->maps.raws, (uint32_t)(ring < RAW_MAX ? ring : RAW_MAX));
	bpf_map__set_max_entries(bpf->maps.stats, n_cpus);
	if (follow)
		bpf_map__set_max_entries(bpf->maps.filter_pids, SAMPLER_FOLLOWED);
	bpf_program__set_autoload(bpf->progs.process_exec, typed);
	bpf_program__set_autoload(bpf->progs.process_exit, typed);
	bpf_program__set_autoload(bpf->progs.process_fork, typed && follow);
	bpf_program__set_autoload(bpf->progs.process_free, typed && follow);
	bpf_program__set_autoload(bpf->progs.process_exec_raw, !typed);
	bpf_program__set_autoload(bpf->progs.process_exit_raw, !typed);
	bpf_program__set_autoload(bpf->progs.process_fork_raw, !typed && follow);
	bpf_program__set_autoload(bpf->progs.process_free_raw, !typed && follow);
}

/* One attempt, with typed tracepoints or with raw ones. `log` gets the verifier's text. */
static int load(const struct settings *s, const struct probe *probe, uint32_t n_cpus, bool typed,
		char *log, struct sampler_bpf **ret)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = s->btf_path,
		    .kernel_log_buf = log, .kernel_log_size = LOG_BYTES);
	struct sampler_bpf *bpf = sampler_bpf__open_opts(&opts);
	int r;

	if (!bpf)
		return -errno;
	configure(bpf, s, probe, n_cpus, typed);
	log[0] = 0;
	r = sampler_bpf__load(bpf);
	if (r < 0) {
		sampler_bpf__destroy(bpf);
		return r;
	}
	*ret = bpf;
	return 0;
}

static int attach_tracepoints(struct sampler *s)
{
	struct bpf_program *const programs[][2] = {
		{ s->bpf->progs.process_exec, s->bpf->progs.process_exec_raw },
		{ s->bpf->progs.process_exit, s->bpf->progs.process_exit_raw },
		{ s->bpf->progs.process_fork, s->bpf->progs.process_fork_raw },
		{ s->bpf->progs.process_free, s->bpf->progs.process_free_raw },
	};

	for (int i = 0; i < N_LINKS; i++)
		for (int raw = 0; raw < 2; raw++) {
			if (bpf_program__fd(programs[i][raw]) < 0)
				continue;
			s->links[i] = bpf_program__attach(programs[i][raw]);
			if (!s->links[i])
				return -errno;
		}
	return 0;
}

static int fill_filters(struct sampler *s, const struct settings_filter *f)
{
	const int64_t *pids = f->pids.items;
	const char *const *comms = f->comms.items;
	uint64_t named = 0;
	uint8_t one = 1;

	for (uint32_t i = 0; i < f->pids.n; i++) {
		uint32_t pid = (uint32_t)pids[i];

		if (bpf_map__update_elem(s->bpf->maps.filter_pids, &pid, sizeof(pid), &named,
					 sizeof(named), BPF_ANY) < 0)
			return -errno;
	}
	for (uint32_t i = 0; i < f->comms.n; i++) {
		char comm[SAMPLER_COMM] = { 0 };

		memcpy(comm, comms[i], strnlen(comms[i], sizeof(comm) - 1));
		if (bpf_map__update_elem(s->bpf->maps.filter_comms, comm, sizeof(comm), &one,
					 sizeof(one), BPF_ANY) < 0)
			return -errno;
	}
	return 0;
}

/* 1: it was not followed yet. The programs may have come first; as theirs, what has no room counts. */
static int follow(void *ctx, uint32_t pid, bool is_there)
{
	struct sampler *s = ctx;
	struct bpf_map *followed = s->bpf->maps.filter_pids;
	uint64_t named = 0;

	if (!is_there) {
		bpf_map__delete_elem(followed, &pid, sizeof(pid), 0);
		return 0;
	}
	if (bpf_map__update_elem(followed, &pid, sizeof(pid), &named, sizeof(named), BPF_NOEXIST) == 0)
		return 1;
	s->n_not_followed += errno == E2BIG || errno == ENOMEM;
	return errno == EEXIST || errno == E2BIG || errno == ENOMEM ? 0 : -errno;
}

/*
 * Children that the processes forked after this one was started, which may have found them in /proc itself, and before
 * the program was attached that follows them.
 */
static int follow_family(struct sampler *s, const struct settings_filter *f)
{
	uint64_t start_ns;
	int r;

	if (f->pids.n == 0 || !f->children)
		return 0;
	r = procfs__start((uint32_t)getpid(), &start_ns);
	return r < 0 ? r : family__since(f->pids.items, f->pids.n, start_ns, follow, s);
}

/* ------------------------------------------------------------------------------------------------
 * Reading
 */

/* After each record: a negative number ends libbpf's loop over the ring, behind that record. */
static int go_on(struct sampler *s)
{
	if (thread__mono_ns() < s->until_ns)
		return 0;
	s->is_cut = true;
	return -EAGAIN;
}

static int take_sample(void *ctx, void *data, size_t n)
{
	struct sampler *s = ctx;
	const struct sampler_sink *sink = s->sink;
	const struct sampler_sample *sample;
	const uint64_t *frames;

	if (record__sample(data, n, &sample, &frames) == 0)
		sink->sample(sink->ctx, sample, frames);
	else
		sink->malformed(sink->ctx);
	return go_on(s);
}

static int take_raw(void *ctx, void *data, size_t n)
{
	struct sampler *s = ctx;
	const struct sampler_sink *sink = s->sink;
	const struct sampler_raw *raw;

	if (record__raw(data, n, &raw) == 0)
		sink->raw(sink->ctx, raw);
	else
		sink->malformed(sink->ctx);
	return go_on(s);
}

static int take_event(void *ctx, void *data, size_t n)
{
	struct sampler *s = ctx;
	const struct sampler_sink *sink = s->sink;
	const struct sampler_event *event;

	if (record__event(data, n, &event) == 0)
		sink->event(sink->ctx, event);
	else
		sink->malformed(sink->ctx);
	return go_on(s);
}

bool sampler__drain(struct sampler *s, const struct sampler_sink *sink)
{
	struct ring_buffer *const rings[] = { s->events, s->samples, s->raws };

	s->sink = sink;
	s->is_cut = false;
	for (size_t i = 0; i < sizeof(rings) / sizeof(*rings); i++) {
		s->until_ns = thread__mono_ns() + SAMPLER_TURN_NS;
		ring_buffer__consume(rings[i]);
	}
	s->sink = NULL;
	return s->is_cut;
}

void sampler__stats(const struct sampler *s, struct sampler_stats *ret_sum)
{
	struct sampler_stats sum = { .stat = { [SAMPLER_STAT_FOLLOWED_FULL] = s->n_not_followed } };

	for (uint32_t cpu = 0; cpu < s->n_cpus; cpu++) {
		for (int i = 0; i < SAMPLER_STAT_N; i++)
			sum.stat[i] += s->stats[cpu].stat[i];
		for (int i = 0; i < SAMPLER_OUTCOME_N; i++)
			sum.outcome[i] += s->stats[cpu].outcome[i];
	}
	*ret_sum = sum;
}

uint64_t sampler__entries(const struct sampler *s, uint32_t cpu)
{
	return cpu < s->n_cpus ? s->stats[cpu].stat[SAMPLER_STAT_ENTRIES] : 0;
}

uint64_t sampler__unaccounted(const struct sampler *s, bool runs)
{
	return accounts__open(s->stats, s->n_cpus, runs);
}

static size_t whole_pages(size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (n + page - 1) / page * page;
}

/* NULL with errno set. */
static void *map_array(const struct bpf_map *map, size_t bytes, int rights)
{
	void *p = mmap(NULL, bytes, rights, MAP_SHARED, bpf_map__fd(map), 0);

	return p == MAP_FAILED ? NULL : p;
}

/*
 * What the kernel says that a map takes; 0 when it does not say. Source: Linux,
 * kernel/bpf/syscall.c.
 */
static uint64_t bytes_of(int map_fd)
{
	struct buf text = { 0 };
	unsigned long long n = 0;
	const char *at;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", map_fd);
	if (fd__read_path(AT_FDCWD, path, 65536, &text) == 0 && text.n) {
		at = strstr((const char *)text.data, "\nmemlock:");
		if (at)
			sscanf(at + 1, "memlock: %llu", &n);
	}
	buf__fini(&text);
	return n;
}

static void count_bytes(struct sampler *s)
{
	const struct bpf_map *map;

	bpf_object__for_each_map(map, s->bpf->obj) if (bpf_map__fd(map) >= 0)
		s->map_bytes += bytes_of(bpf_map__fd(map));
}

uint64_t sampler__map_bytes(const struct sampler *s)
{
	return s->map_bytes;
}

static int map_all(struct sampler *s)
{
	s->samples = ring_buffer__new(bpf_map__fd(s->bpf->maps.samples), take_sample, s, NULL);
	if (!s->samples)
		return -errno;
	s->raws = ring_buffer__new(bpf_map__fd(s->bpf->maps.raws), take_raw, s, NULL);
	if (!s->raws)
		return -errno;
	s->events = ring_buffer__new(bpf_map__fd(s->bpf->maps.events), take_event, s, NULL);
	if (!s->events)
		return -errno;
	s->stats_bytes = whole_pages(s->n_cpus * sizeof(*s->stats));
	s->stats = map_array(s->bpf->maps.stats, s->stats_bytes, PROT_READ);
	s->rules = map_array(s->bpf->maps.rules, RULES_BYTES, PROT_READ | PROT_WRITE);
	s->buckets = map_array(s->bpf->maps.slots, whole_pages(BUCKETS_BYTES), PROT_READ | PROT_WRITE);
	return s->stats && s->rules && s->buckets ? 0 : -errno;
}

/* ------------------------------------------------------------------------------------------------
 * Memory for unwind tables
 */

/* One map of TABLES_SLAB_CHUNKS chunks, put where programs look for slab number `slab`. */
static int make_slab(void *ctx, uint32_t slab, void **ret_memory)
{
	struct sampler *s = ctx;
	CLEANUP(fd__closep)
	int fd = s->host->bpf_array(s->host, TABLES_CHUNK_BYTES, TABLES_SLAB_CHUNKS);
	void *p;
	int error;

	if (fd < 0)
		return fd;
	p = mmap(NULL, SLAB_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	error = s->host->bpf_put(s->host, bpf_map__fd(s->bpf->maps.slabs), slab, fd);
	if (error < 0) {
		munmap(p, SLAB_BYTES);
		return error;
	}
	*ret_memory = p;
	return 0;
}

/* The map itself goes with the programs. */
static void unmake_slab(void *ctx, uint32_t slab, void *memory)
{
	(void)ctx;
	(void)slab;
	munmap(memory, SLAB_BYTES);
}

bool sampler__tables(struct sampler *s, const struct dcm_host *host, struct tables_memory *ret)
{
	s->host = host;
	*ret = (struct tables_memory){
		.heap = { .make = make_slab,
			  .unmake = unmake_slab,
			  .ctx = s,
			  .recycled = &s->bpf->bss->recycled },
		.rules = s->rules,
		.buckets = s->buckets,
		.epoch = &s->bpf->bss->epoch,
	};
	return s->bpf->rodata->with_tables;
}

/* ------------------------------------------------------------------------------------------------
 * Life
 */

int sampler__open(const struct settings *settings, const struct probe *probe, uint32_t n_cpus,
		  struct sampler **ret, struct dcm_error *err)
{
	CLEANUP(sampler__freep) struct sampler *s = NEW(struct sampler);
	CLEANUP(mem__freep) char *log = mem__zalloc(1, LOG_BYTES);
	int r;

	if (!s || !log)
		return error__nomem(err);
	s->n_cpus = n_cpus;
	libbpf_set_print(NULL);
	r = load(settings, probe, n_cpus, true, log, &s->bpf);
	if (r < 0)
		r = load(settings, probe, n_cpus, false, log, &s->bpf);
	if (r < 0)
		return probe__explain(probe, "load the BPF programs", r, last_line(log), err);
	r = map_all(s);
	if (r < 0)
		return probe__explain(probe, "map the ring buffers", r, NULL, err);
	count_bytes(s);
	r = fill_filters(s, &settings->filter);
	if (r < 0)
		return probe__explain(probe, "fill the filters", r, NULL, err);
	r = attach_tracepoints(s);
	if (r < 0)
		return probe__explain(probe, "attach to exec and exit", r, NULL, err);
	r = follow_family(s, &settings->filter);
	if (r < 0)
		return probe__explain(probe, "follow the children of processes", r, NULL, err);
	sampler__set_period(s, settings__period_ns(settings));
	sampler__set_exclude_self(s, settings->filter.exclude_self);
	*ret = take_ptr(s);
	return 0;
}

void sampler__free(struct sampler *s)
{
	if (!s)
		return;
	for (int i = 0; i < N_LINKS; i++)
		bpf_link__destroy(s->links[i]);
	ring_buffer__free(s->samples);
	ring_buffer__free(s->raws);
	ring_buffer__free(s->events);
	if (s->stats)
		munmap((void *)(uintptr_t)s->stats, s->stats_bytes);
	if (s->rules)
		munmap(s->rules, RULES_BYTES);
	if (s->buckets)
		munmap(s->buckets, whole_pages(BUCKETS_BYTES));
	sampler_bpf__destroy(s->bpf);
	free(s);
}

int sampler__program(const struct sampler *s)
{
	return bpf_program__fd(s->bpf->progs.sample);
}

int sampler__wake_fd(const struct sampler *s)
{
	return bpf_map__fd(s->bpf->maps.samples);
}

int sampler__raw_wake_fd(const struct sampler *s)
{
	return bpf_map__fd(s->bpf->maps.raws);
}

void sampler__set_period(struct sampler *s, uint64_t period_ns)
{
	__atomic_store_n(&s->bpf->data->period_ns, period_ns, __ATOMIC_RELAXED);
}

void sampler__set_exclude_self(struct sampler *s, bool on)
{
	__atomic_store_n(&s->bpf->bss->exclude_self, on, __ATOMIC_RELAXED);
}
