/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/reader.c - the thread that empties the rings and fills windows
 */
#include "plugins/input/ebpf/reader.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/base/resident.h"
#include "core/base/str.h"
#include "plugins/input/ebpf/audit.h"
#include "plugins/input/ebpf/budget.h"
#include "plugins/input/ebpf/cpus.h"
#include "plugins/input/ebpf/labels.h"
#include "plugins/input/ebpf/meters.h"
#include "plugins/input/ebpf/pace.h"
#include "plugins/input/ebpf/process.h"
#include "plugins/input/ebpf/pulse.h"
#include "plugins/input/ebpf/silence.h"
#include "plugins/input/ebpf/thread.h"
#include "plugins/input/ebpf/unwinder.h"
#include "plugins/input/ebpf/watch.h"

#define SECOND_NS      1000000000ll
#define REST_NS	       5000000000ll /* between looks at the budgets, or at counters that hardly move */
#define FINISH_NS      10000000000ll
#define TABLES_NS      3000000000ll /* of these, for tables that are being made */
#define TIMER_SLACK_NS 20000000ul   /* the kernel may join our wake-ups with others */

struct reader {
	struct reader_parts parts;
	const struct dcm_host *host; /* of parts */
	struct watch *watch;
	struct identities *identities;
	struct processes *processes;
	struct unwinder *unwinder; /* NULL: without tables */
	struct meters meters;
	struct audit *audit;
	struct aggregate *window; /* NULL: memory ran out */
	uint32_t n_windows;
	int64_t window_end_ns, second_ns; /* mono */
	/* Until the next look at the rings (pace.h); 0: one of them woke us, or is not empty. */
	int64_t wait_ns;
	int64_t looked_ns;	    /* mono: at the rings, last */
	int64_t show_ns, budget_ns; /* mono: when counters are shown, and budgets looked at, anyway */
	uint64_t n_shown;	    /* records, when counters were shown */
	int64_t pulse_ns;	    /* mono: of the next look whether events live */
	int online_fd;		    /* the list of CPUs; -1: not open */
	/* CPUs are started one after the other: when the next one is (mono), and how far apart. */
	int64_t start_ns, spread_ns;
	bool all_started;
	uint64_t n_filtered; /* samples that filter.cgroups leaves out */
	uint64_t n_doubted;  /* whose stacks were cut, since they were walked by other mappings */
	uint64_t n_records, n_taken; /* samples and events; samples in the last drain */
	uint64_t n_cut;		     /* drains that left something in the rings */
	uint64_t n_unaccounted;	     /* sampler__unaccounted(), the most of any window */
	/* Since the last window that went its way, and what had been counted by then: */
	uint64_t lost[AGGREGATE_LOSS_N];
	struct sampler_stats at_start;
	uint64_t records_at_start; /* of the side-band, lost */
	int64_t cpu_ns;		   /* of the thread */
	int attach_error;	   /* the last one told */
	int cache_error;	   /* the same */
	struct silence silence;

	_Atomic int64_t window_ns, period_ns, cpu_budget, memory_budget;
	struct budget budget;
	uint32_t told_halvings; /* of the budget's, that the state says */
	int64_t applied_ns;	/* period that is set, longer while over the budget */
	uint32_t n_cpus;
	_Atomic bool with_pid, with_tid, with_thread_name, with_cpu;

	pthread_t thread;
	bool started;
	int poll_fd, wake_fd;
	_Atomic bool stopping;
};

/* ------------------------------------------------------------------------------------------------
 * A sample
 */

/*
 * Opens the files of a stack that this window has not seen, and tells the symbol sources when it
 * runs code that they may be asked about; false when an address lies in no mapping.
 */
static bool look(struct reader *r, struct process *p, const struct maps *maps,
		 const struct aggregate_stack *stack)
{
	bool covered = true;

	for (uint32_t i = 0; i < stack->n_user; i++) {
		uint64_t pc = stack->frames[stack->n_kernel + i] - (i > 0);
		struct maps_range *range = maps ? maps__find(maps, pc) : NULL;
		struct file *file = range ? processes__file(r->processes, p, range) : NULL;

		if (!file || file->why == DCM_UNNAMED_BAD_FILE)
			processes__tell(r->processes, p);
		covered = covered && range;
	}
	return covered;
}

/* What a sample was taken under. */
struct taken {
	const struct sampler_sample *sample;
	const uint64_t *frames;
	bool is_deferred;  /* then these are known already: */
	struct maps *maps; /* NULL: not known */
	bool maps_certain;
};

/* Cuts a stack of which not all is to be believed. */
static void judge(const struct reader *r, const struct process *p, const struct taken *taken,
		  const struct maps *maps, struct aggregate_stack *stack)
{
	struct unwinder_verdict v;

	if (!r->unwinder || taken->is_deferred)
		return;
	v = unwinder__judge(r->unwinder, p, taken->sample, maps, taken->frames);
	stack->n_user = v.n_user;
	stack->outcome = v.outcome;
}

/* The window's stack of a sample, which may be judged twice: by mappings that were read again. 0, or -ENOMEM. */
static int settle(struct reader *r, struct process *p, const struct taken *taken,
		  struct aggregate_stack *stack, uint32_t *ret_stack)
{
	struct maps *maps = taken->maps, *before, *held;
	int error;

	if (stack->n_user && !taken->is_deferred)
		maps = processes__maps(r->processes, p, taken->sample, false, &stack->maps_certain);
	do {
		judge(r, p, taken, maps, stack);
		held = maps;
		error = aggregate__hold(r->window, p, stack->frames + stack->n_kernel,
					stack->n_user, &held);
		*ret_stack = AGGREGATE_OVERFLOW;
		if (error == -ENOSPC)
			return 0;
		if (error == 0 && stack->n_user)
			error = aggregate__image(r->window, p, held, &stack->image);
		if (error < 0)
			return error;
		if (aggregate__find_stack(r->window, stack, ret_stack))
			return 0;
		before = maps;
		if (!look(r, p, held, stack) && !taken->is_deferred)
			maps = processes__maps(r->processes, p, taken->sample, true, &stack->maps_certain);
	} while (maps != before);
	return aggregate__add_stack(r->window, stack, ret_stack);
}

/* The same, from what it was taken under. */
static int stack_of(struct reader *r, struct process *p, const struct taken *taken, uint32_t *ret_stack)
{
	const struct sampler_sample *sample = taken->sample;
	struct aggregate_stack stack = {
		.frames = taken->frames,
		.n_kernel = sample->n_kernel,
		.n_user = sample->n_user,
		.outcome = (uint8_t)sample->outcome,
		.kernel_cut = sample->head.flags & SAMPLER_KERNEL_CUT,
		.maps_certain = taken->maps_certain,
	};
	int error = settle(r, p, taken, &stack, ret_stack);

	r->n_doubted += stack.outcome == SAMPLER_OUTCOME_CHANGED && stack.outcome != sample->outcome;
	return error;
}

static int series_of(struct reader *r, struct process *p, const struct sampler_sample *sample,
		     uint32_t *ret_series)
{
	char text[SAMPLER_COMM];
	struct dcm_str comm = labels__comm(sample->leader_comm, p->kthread, text);
	int error = processes__tag(r->processes, p);
	struct dcm_str service = str__of(p->identity.service);

	if (error < 0)
		return error;
	if (p->kthread)
		service = STR("kernel");
	else if (service.n == 0)
		service = comm;
	return aggregate__series(r->window, comm, service, buf__view(&p->identity.series), ret_series);
}

static int add_sample(struct reader *r, const struct taken *taken)
{
	const struct sampler_sample *sample = taken->sample;
	struct process *p = processes__of(r->processes, sample, r->window->window);
	struct aggregate_row row = { .n_samples = 1, .cpu_ns = sample->period_ns };
	char text[SAMPLER_COMM];
	int error;

	if (!p)
		return processes__full(r->processes) ? -ENOSPC : -ENOMEM;
	if (p->is_filtered) {
		r->n_filtered++;
		return 0;
	}
	if (r->unwinder)
		unwinder__see(r->unwinder, p);
	error = series_of(r, p, sample, &row.series);
	if (error == 0)
		error = stack_of(r, p, taken, &row.stack);
	if (error < 0)
		return error;
	if (r->with_thread_name)
		row.thread_name = intern__add(&r->window->texts, labels__comm(sample->comm, false, text));
	row.tags = intern__add(&r->window->texts, buf__view(&p->identity.sample));
	if (row.thread_name == INTERN_NONE || row.tags == INTERN_NONE)
		return -ENOMEM;
	row.pid = r->with_pid || r->with_tid ? sample->head.pid : 0;
	row.tid = r->with_tid ? sample->head.tid : 0;
	row.cpu = r->with_cpu ? sample->cpu : 0;
	return aggregate__add(r->window, &row);
}

static void lose(struct reader *r, enum aggregate_loss what, const char *reason)
{
	r->lost[what]++;
	r->host->drop(r->host, reason, 1);
}

/* Adds a sample, or counts it as lost. */
static void take(struct reader *r, const struct taken *taken)
{
	int error = r->window ? add_sample(r, taken) : -ENOMEM;

	if (error == -ENOSPC)
		lose(r, AGGREGATE_LOSS_PROCESSES_FULL, "samples_processes_full");
	else if (error < 0)
		lose(r, AGGREGATE_LOSS_NO_MEMORY, "samples_no_memory");
}

static void on_sample(void *ctx, const struct sampler_sample *sample, const uint64_t *frames)
{
	const struct taken taken = { .sample = sample, .frames = frames };
	struct reader *r = ctx;

	r->n_records++;
	r->n_taken++;
	watch__until(r->watch, (int64_t)sample->head.time_ns);
	take(r, &taken);
}

/* A deferred sample that was unwound; it was counted when it came. */
static void on_unwound(void *ctx, const struct sampler_sample *sample, const uint64_t *frames,
		       struct maps *maps, bool certain)
{
	const struct taken taken = { sample, frames, true, maps, certain };

	take(ctx, &taken);
}

static void on_raw(void *ctx, const struct sampler_raw *raw)
{
	struct reader *r = ctx;

	r->n_records++;
	r->n_taken++;
	watch__until(r->watch, (int64_t)raw->sample.head.time_ns);
	if (r->unwinder)
		unwinder__take(r->unwinder, raw, r->n_windows);
}

static void on_opened(void *ctx, const struct file *f, int fd)
{
	struct reader *r = ctx;

	if (tables__file(r->parts.tables, f->build_id, fd) < 0)
		r->host->drop(r->host, "tables_no_memory", 1);
}

static void on_event(void *ctx, const struct sampler_event *event)
{
	struct reader *r = ctx;

	r->n_records++;
	processes__event(r->processes, event);
	if (r->unwinder)
		unwinder__event(r->unwinder, event);
}

static void on_malformed(void *ctx)
{
	lose(ctx, AGGREGATE_LOSS_MALFORMED, "records_malformed");
}

/* ------------------------------------------------------------------------------------------------
 * Windows
 */

static void begin_window(struct reader *r, int64_t now)
{
	r->window = aggregate__new(++r->n_windows, (struct aggregate_limits){ 0 });
	r->window_end_ns = now + window__length_ns(r->n_windows, r->window_ns);
	if (!r->window)
		return;
	r->window->start_mono_ns = now;
	r->window->start_real_ns = r->host->real_ns(r->host);
}

static const char *const reduced_why[] = {
	[BUDGET_NONE] = "",
	[BUDGET_CPU] = "over cpu_budget",
	[BUDGET_MEMORY] = "over memory_budget",
};

/* Samples that the configured frequency would have brought beside those that there are. */
static uint64_t n_reduced(const struct reader *r)
{
	uint64_t cpu_ns = r->window->cpu_ns, period_ns = (uint64_t)r->period_ns;

	return r->budget.halvings ? cpu_ns / period_ns - cpu_ns / (period_ns << r->budget.halvings) : 0;
}

/* Samples that there should have been by the period that was set until now. */
static void find_missed(struct reader *r)
{
	struct balance_missed missed;

	missed = audit__step(r->audit, (uint64_t)r->applied_ns);
	r->lost[AGGREGATE_LOSS_NOT_RUN] += missed.not_run;
	r->lost[AGGREGATE_LOSS_THROTTLED] += missed.throttled;
	meters__missed(&r->meters, &missed);
}

/* Each CPU's counters must add up, now and at the end, when nobody samples any more. */
static void find_unaccounted(struct reader *r)
{
	const uint64_t n = sampler__unaccounted(r->parts.sampler, !r->stopping);

	if (n > r->n_unaccounted)
		r->n_unaccounted = n;
	meters__set(&r->meters, METERS_UNACCOUNTED, (double)r->n_unaccounted);
}

/* What has been lost is the window's to tell, with what the programs and the side-band count. */
static void find_lost(struct reader *r)
{
	static const struct {
		enum aggregate_loss loss;
		enum sampler_stat stat;
	} of_programs[] = {
		{ AGGREGATE_LOSS_RING_FULL, SAMPLER_STAT_RING_FULL },
		{ AGGREGATE_LOSS_BUSY, SAMPLER_STAT_BUSY },
		{ AGGREGATE_LOSS_NO_SCRATCH, SAMPLER_STAT_NO_SCRATCH },
		{ AGGREGATE_LOSS_NOT_FOLLOWED, SAMPLER_STAT_FOLLOWED_FULL },
		{ AGGREGATE_LOSS_EVENTS_FULL, SAMPLER_STAT_EVENTS_FULL },
	};
	struct sampler_stats stats;
	uint64_t records = watch__lost(r->watch);

	find_missed(r);
	find_unaccounted(r);
	sampler__stats(r->parts.sampler, &stats);
	for (size_t i = 0; i < sizeof(of_programs) / sizeof(*of_programs); i++)
		r->lost[of_programs[i].loss] += stats.stat[of_programs[i].stat] -
						r->at_start.stat[of_programs[i].stat];
	r->lost[AGGREGATE_LOSS_PROCESS_RECORDS] += records - r->records_at_start;
	r->at_start = stats;
	r->records_at_start = records;
}

static void end_window(struct reader *r, int64_t now)
{
	find_lost(r);
	if (r->window) {
		memcpy(r->window->lost, r->lost, sizeof(r->lost));
		r->window->n_reduced = n_reduced(r);
		r->window->reduced_why = reduced_why[r->budget.reason];
		r->window->reduced_hz = SECOND_NS / r->applied_ns;
		r->window->end_mono_ns = now;
		if (!windows__push(r->parts.windows, r->window)) {
			r->window_end_ns = now + SECOND_NS;
			return;
		}
		r->window = NULL;
		memset(r->lost, 0, sizeof(r->lost));
	}
	begin_window(r, now);
	if (r->unwinder)
		unwinder__sweep(r->unwinder, r->n_windows);
	processes__sweep(r->processes, r->n_windows);
	files__sweep(r->parts.files, r->n_windows);
}

/* ------------------------------------------------------------------------------------------------
 * The thread
 */

/* Tables that cannot be kept on disk are made again after the next start, and nothing else. */
static void tell_cache(struct reader *r, const struct unwind_cache_stat *cache)
{
	if (cache->last_failure == r->cache_error)
		return;
	r->cache_error = cache->last_failure;
	r->host->log(r->host, DCM_LOG_WARNING, "%s/unwind: unwind tables are not kept: %s",
		     r->host->data_dir, strerror(-cache->last_failure));
}

/* Of the threads that have to do with samples. */
static int64_t threads_cpu_ns(const struct reader *r)
{
	return r->cpu_ns + windows__cpu_ns(r->parts.windows) +
	       (int64_t)processes__stat(r->processes).read_cpu_ns;
}

static void show(struct reader *r, const struct sampler_stats *stats)
{
	struct processes_stat known = processes__stat(r->processes);
	int64_t cpu_ns = threads_cpu_ns(r);
	uint64_t map_bytes = sampler__map_bytes(r->parts.sampler);

	meters__programs(&r->meters, stats);
	meters__set(&r->meters, METERS_PROCESSES, known.n);
	meters__set(&r->meters, METERS_FILES, files__count(r->parts.files));
	meters__set(&r->meters, METERS_MAPS_READ, (double)known.reads);
	meters__set(&r->meters, METERS_MAPS_HUNG, (double)known.hung);
	meters__set(&r->meters, METERS_MAPS_REFUSED, (double)known.refused);
	meters__set(&r->meters, METERS_RECORDS, (double)r->n_records);
	meters__set(&r->meters, METERS_ROUNDS_CUT, (double)r->n_cut);
	meters__set(&r->meters, METERS_FILTERED_CGROUP, (double)r->n_filtered);
	meters__set(&r->meters, METERS_DOUBTED, (double)r->n_doubted);
	meters__set(&r->meters, METERS_CPU_SECONDS, (double)cpu_ns / 1e9);
	meters__set(&r->meters, METERS_UNANSWERED, (double)files__silence(r->parts.files)->n);
	if (r->unwinder) {
		struct tables_stat tables = tables__stat(r->parts.tables);
		struct unwinder_stat unwinder = unwinder__stat(r->unwinder);

		meters__unwinder(&r->meters, &tables, &unwinder);
		map_bytes += tables.heap.slab_bytes;
		tell_cache(r, &tables.cache);
	}
	meters__set(&r->meters, METERS_MAP_BYTES, (double)map_bytes);
}

/* The file stays open, and is opened anew when it cannot be read. */
static int read_online(struct reader *r, struct cpus *ret)
{
	int error;

	if (r->online_fd < 0)
		r->online_fd = cpus__open("online");
	if (r->online_fd < 0)
		return r->online_fd;
	error = cpus__read_from(r->online_fd, ret);
	if (error < 0) {
		fd__close(r->online_fd);
		r->online_fd = -1;
	}
	return error;
}

/* The worst of what there is to say. */
static void tell_state(const struct reader *r)
{
	const long long hz = SECOND_NS / r->period_ns;
	char reduced[96];

	snprintf(reduced, sizeof(reduced), "sampling at %lld of %lld Hz until there is room: %s",
		 hz >> r->budget.halvings, hz, reduced_why[r->budget.reason]);
	if (silence__tell(&r->silence, r->host, r->parts.files))
		return;
	if (r->attach_error)
		probe__tell_cpu(r->parts.probe, r->host, r->attach_error);
	else
		probe__tell_state(r->parts.probe, r->host, hz, r->budget.halvings ? reduced : NULL);
}

static void follow_cpus(struct reader *r, int64_t now)
{
	bool feel = now >= r->pulse_ns;
	struct cpus online;
	int error;

	if (feel)
		r->pulse_ns = now + PULSE_EVERY_NS;
	error = read_online(r, &online);
	if (error == 0) {
		watch__cpus(r->watch, &online, feel);
		r->n_cpus = attach__update(r->parts.attach, &online, feel, &error);
	}
	meters__set(&r->meters, METERS_CPUS, r->n_cpus);
	if (error == r->attach_error)
		return;
	r->attach_error = error;
	tell_state(r);
}

static void follow_silence(struct reader *r, int64_t now)
{
	if (silence__second(&r->silence, r->host, r->parts.files, now))
		tell_state(r);
	meters__set(&r->meters, METERS_SILENCE,
		    r->silence.since_ns ? (double)(now - r->silence.since_ns) / 1e9 : 0);
}

/* The frequency has changed, from the configured one / 2^before. */
static void tell_budget(const struct reader *r, uint32_t before, const struct budget_reading *reading)
{
	long long full = SECOND_NS / r->period_ns, now = full >> r->budget.halvings;

	if (r->budget.halvings < before)
		r->host->log(r->host, DCM_LOG_INFO, "%s again: %lld Hz of %lld",
			     r->budget.halvings ? "there is room" : "within the budgets", now, full);
	else if (r->budget.reason == BUDGET_CPU)
		r->host->log(r->host, DCM_LOG_WARNING,
			     "sampling took %.1f %% of the host, more than cpu_budget (%d %%): "
			     "%lld Hz of %lld until there is room",
			     100 * r->budget.share, (int)reading->percent, now, full);
	else
		r->host->log(r->host, DCM_LOG_WARNING,
			     "decima takes %llu MiB of memory, more than memory_budget (%llu MiB): "
			     "%lld Hz of %lld until there is room",
			     (unsigned long long)(reading->memory_bytes >> 20),
			     (unsigned long long)(reading->memory_max >> 20), now, full);
}

/* Of the programs as they measured it, the interrupts around them, and our threads. */
static uint64_t cpu_ns(const struct reader *r, const struct sampler_stats *stats)
{
	return (uint64_t)threads_cpu_ns(r) + stats->stat[SAMPLER_STAT_RUN_NS] +
	       stats->stat[SAMPLER_STAT_ENTRIES] * BUDGET_INTERRUPT_NS;
}

/* A change of options has set the windows' to the configured one. */
static void set_period(struct reader *r, int64_t period_ns)
{
	windows__set_period(r->parts.windows, period_ns);
	if (r->applied_ns == period_ns)
		return;
	find_missed(r);
	sampler__set_period(r->parts.sampler, (uint64_t)period_ns);
	attach__set_period(r->parts.attach, (uint64_t)period_ns);
	r->applied_ns = period_ns;
}

/* What was configured meanwhile counts as what is to be reduced. */
static void keep_budget(struct reader *r, const struct sampler_stats *stats, int64_t now)
{
	const struct budget_reading reading = {
		.now_ns = now,
		.cpu_ns = cpu_ns(r, stats),
		.n_cpus = r->n_cpus,
		.percent = (uint32_t)r->cpu_budget,
		.memory_bytes = resident__private(getpid()),
		.memory_max = (uint64_t)r->memory_budget,
	};
	uint32_t before = r->budget.halvings;
	enum budget_change change = budget__step(&r->budget, &reading);
	int64_t period_ns = r->period_ns << r->budget.halvings;

	set_period(r, period_ns);
	if (change == BUDGET_CHANGE)
		tell_budget(r, before, &reading);
	else if (change == BUDGET_TRIM)
		malloc_trim(0);
	if (r->budget.halvings != r->told_halvings)
		tell_state(r);
	r->told_halvings = r->budget.halvings;
	meters__set(&r->meters, METERS_FREQUENCY, (double)SECOND_NS / (double)period_ns);
	meters__set(&r->meters, METERS_SHARE, r->budget.share);
	meters__set(&r->meters, METERS_MEMORY, (double)reading.memory_bytes);
}

/* CPUs start one after the other, spread over one period. */
static void start_cpus(struct reader *r, int64_t now)
{
	uint32_t left;

	if (r->all_started || now < r->start_ns)
		return;
	left = attach__start_next(r->parts.attach);
	r->all_started = left == 0;
	if (r->start_ns == 0)
		r->spread_ns = r->period_ns / (left + 1);
	r->start_ns = now + r->spread_ns;
}

/* True when something was left in the rings, because it was time for what else there is to do. */
static bool drain(struct reader *r)
{
	const struct sampler_sink sink = {
		.sample = on_sample,
		.raw = on_raw,
		.event = on_event,
		.malformed = on_malformed,
		.ctx = r,
	};
	int64_t now = r->host->mono_ns(r->host), waited_ns = now - r->looked_ns;
	bool is_cut;

	r->looked_ns = now;
	r->n_taken = 0;
	is_cut = sampler__drain(r->parts.sampler, &sink);
	if (r->unwinder)
		unwinder__retry(r->unwinder, r->n_windows, false);
	processes__rest(r->processes);
	watch__until(r->watch, INT64_MAX);
	r->wait_ns = is_cut ? 0 : pace__next(r->wait_ns, waited_ns, r->n_taken);
	r->n_cut += is_cut;
	return is_cut;
}

/* Milliseconds until there is something to do. */
static int timeout_ms(const struct reader *r, int64_t now)
{
	int64_t ns = r->wait_ns;

	if (r->window_end_ns - now < ns)
		ns = r->window_end_ns - now;
	if (!r->all_started && r->start_ns - now < ns)
		ns = r->start_ns - now;
	return ns > 0 ? (int)((ns + 999999) / 1000000) : 0;
}

/* Counters and budgets, where something has moved or the last look is old. */
static void account(struct reader *r, int64_t now)
{
	bool shows = now >= r->show_ns || r->n_records - r->n_shown > PACE_FEW;
	bool keeps = now >= r->budget_ns;
	struct sampler_stats stats;

	if (!shows && !keeps)
		return;
	r->cpu_ns = thread__cpu_ns();
	sampler__stats(r->parts.sampler, &stats);
	if (keeps) {
		r->budget_ns = now + REST_NS;
		keep_budget(r, &stats, now);
	}
	if (shows) {
		r->show_ns = now + REST_NS;
		r->n_shown = r->n_records;
		show(r, &stats);
	}
}

/* What is looked at once a second if there is a wake-up in it, and else with the next one. */
static void each_second(struct reader *r, int64_t now)
{
	if (now < r->second_ns)
		return;
	r->second_ns = now + SECOND_NS;
	follow_cpus(r, now);
	follow_silence(r, now);
	account(r, now);
	watch__second(r->watch, now);
	if (r->parts.tables)
		tables__tick(r->parts.tables);
}

/*
 * Options have changed, or it is over: nothing rests any longer. A change has set the state.
 */
static void on_wake(struct reader *r)
{
	eventfd_t ignored;

	eventfd_read(r->wake_fd, &ignored);
	r->second_ns = r->budget_ns = 0;
	r->silence.is_told = false;
	r->told_halvings = 0;
}

/* Waits for what there is to do; false: no more. */
static bool wait_for_work(struct reader *r)
{
	struct epoll_event events[5];
	int n = epoll_wait(r->poll_fd, events, 5, timeout_ms(r, r->host->mono_ns(r->host)));

	for (int i = 0; i < n; i++) {
		if (events[i].data.fd == r->wake_fd)
			on_wake(r);
		if (events[i].data.fd == sampler__wake_fd(r->parts.sampler) ||
		    events[i].data.fd == sampler__raw_wake_fd(r->parts.sampler))
			r->wait_ns = 0;
		if (r->parts.tables && events[i].data.fd == tables__wake_fd(r->parts.tables))
			tables__woken(r->parts.tables);
	}
	return !r->stopping;
}

static void *run(void *arg)
{
	struct reader *r = arg;
	bool more;

	prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
	do {
		int64_t now;

		more = wait_for_work(r);
		drain(r);
		now = r->host->mono_ns(r->host);
		start_cpus(r, now);
		each_second(r, now);
		if (now >= r->window_end_ns)
			end_window(r, now);
	} while (more);
	return NULL;
}

/* ------------------------------------------------------------------------------------------------
 * Life
 */

/* The ring wakes by an edge: records that were put in without one must not end the wait. */
static int open_poll(struct reader *r)
{
	struct epoll_event ring = { .events = EPOLLIN | EPOLLET }, wake = { .events = EPOLLIN };
	struct epoll_event side = wake, tables = wake;
	struct epoll_event raw = ring;

	ring.data.fd = sampler__wake_fd(r->parts.sampler);
	raw.data.fd = sampler__raw_wake_fd(r->parts.sampler);
	r->wake_fd = wake.data.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (r->wake_fd < 0 || r->poll_fd < 0 ||
	    epoll_ctl(r->poll_fd, EPOLL_CTL_ADD, ring.data.fd, &ring) < 0 ||
	    epoll_ctl(r->poll_fd, EPOLL_CTL_ADD, raw.data.fd, &raw) < 0 ||
	    epoll_ctl(r->poll_fd, EPOLL_CTL_ADD, wake.data.fd, &wake) < 0)
		return -errno;
	if (r->parts.tables) {
		tables.data.fd = tables__wake_fd(r->parts.tables);
		if (epoll_ctl(r->poll_fd, EPOLL_CTL_ADD, tables.data.fd, &tables) < 0)
			return -errno;
	}
	if (r->parts.sideband) {
		side.data.fd = sideband__wake_fd(r->parts.sideband);
		if (epoll_ctl(r->poll_fd, EPOLL_CTL_ADD, side.data.fd, &side) < 0)
			return -errno;
	}
	return 0;
}

static int open_unwinder(struct reader *r, const struct settings *settings)
{
	struct unwinder_parts parts = {
		.host = r->host,
		.tables = r->parts.tables,
		.processes = r->processes,
		.sample = on_unwound,
		.ctx = r,
		.max_depth = (uint32_t)settings->max_depth,
	};

	if (!parts.tables)
		return 0;
	r->unwinder = unwinder__new(&parts);
	if (!r->unwinder)
		return -ENOMEM;
	files__on_open(r->parts.files, on_opened, r);
	return 0;
}

int reader__new(const struct reader_parts *parts, const struct settings *settings, struct reader **ret)
{
	struct reader *r = NEW(struct reader);
	int error;

	if (!r)
		return -ENOMEM;
	r->parts = *parts;
	r->host = parts->host;
	r->poll_fd = r->wake_fd = r->online_fd = -1;
	meters__init(&r->meters, r->host);
	r->watch = watch__new(r->host, parts->sideband);
	r->identities = identities__new(r->host, parts->kubernetes);
	r->audit = audit__new(parts->attach, parts->sampler);
	if (r->watch)
		watch__note_symbols(r->watch, parts->symbols);
	if (r->watch && r->identities && r->audit) {
		reader__configure(r, settings);
		r->applied_ns = r->period_ns;
		r->processes = processes__new(r->host, parts->files, r->identities,
					      watch__trail(r->watch));
	}
	error = r->processes ? processes__only(r->processes, &settings->filter.cgroups) : -ENOMEM;
	if (error == 0)
		error = open_unwinder(r, settings);
	if (error == 0)
		error = open_poll(r);
	if (error < 0) {
		reader__free(r);
		return error;
	}
	*ret = r;
	return 0;
}

void reader__configure(struct reader *r, const struct settings *settings)
{
	r->window_ns = settings->window_ns;
	r->period_ns = (int64_t)settings__period_ns(settings);
	r->cpu_budget = settings->cpu_budget;
	r->memory_budget = settings->memory_budget_bytes;
	identities__configure(r->identities, &settings->labels);
	r->with_pid = settings->labels.pid;
	r->with_tid = settings->labels.thread_id;
	r->with_thread_name = settings->labels.thread_name;
	r->with_cpu = settings->labels.cpu;
	if (r->wake_fd >= 0)
		eventfd_write(r->wake_fd, 1);
}

int reader__start(struct reader *r)
{
	int64_t now = r->host->mono_ns(r->host);
	int error;

	begin_window(r, now);
	find_missed(r); /* from here on */
	r->pulse_ns = now + PULSE_EVERY_NS;
	error = thread__start(&r->thread, "ebpf-reader", run, r);
	r->started = error == 0;
	return error;
}

/* What ran for a moment only has ended before the tables of a large file are there: they are waited for a while. */
static void await_tables(struct reader *r)
{
	const int64_t until_ns = r->host->mono_ns(r->host) + TABLES_NS;
	struct pollfd p = { .fd = tables__wake_fd(r->parts.tables), .events = POLLIN };
	int64_t left_ns;

	do {
		tables__woken(r->parts.tables);
		unwinder__retry(r->unwinder, r->n_windows, false);
		left_ns = until_ns - r->host->mono_ns(r->host);
	} while (left_ns > 0 && unwinder__stat(r->unwinder).n_waiting &&
		 poll(&p, 1, (int)(left_ns / 1000000) + 1) > 0);
}

void reader__finish(struct reader *r)
{
	struct sampler_stats stats;

	if (!r->started)
		return;
	r->started = false;
	r->stopping = true;
	eventfd_write(r->wake_fd, 1);
	pthread_join(r->thread, NULL);
	/* Nobody samples any more; but processes come and go as before. */
	const int64_t until_ns = r->host->mono_ns(r->host) + FINISH_NS;
	while (drain(r) && r->host->mono_ns(r->host) < until_ns)
		;
	watch__second(r->watch, r->host->mono_ns(r->host));
	if (r->unwinder) {
		await_tables(r);
		unwinder__retry(r->unwinder, r->n_windows, true);
	}
	sampler__stats(r->parts.sampler, &stats);
	show(r, &stats);
	end_window(r, r->host->mono_ns(r->host));
	/* Two windows were waiting already. */
	if (r->window && r->window->n_samples)
		r->host->drop(r->host, "samples_at_stop", r->window->n_samples);
}

void reader__free(struct reader *r)
{
	if (!r)
		return;
	reader__finish(r);
	aggregate__free(r->window);
	unwinder__free(r->unwinder);
	processes__free(r->processes);
	identities__free(r->identities);
	watch__free(r->watch);
	audit__free(r->audit);
	if (r->parts.files)
		files__on_open(r->parts.files, NULL, NULL);
	fd__close(r->online_fd);
	fd__close(r->poll_fd);
	fd__close(r->wake_fd);
	free(r);
}
