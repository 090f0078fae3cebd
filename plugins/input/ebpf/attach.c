/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/attach.c - one timer event per CPU, with the sampling program on it
 *
 * An event of a CPU that went offline stays dead when the CPU is back, so it is closed and opened
 * anew; also when the CPU was back before we looked (pulse.h). Source: perf_event_open(2).
 */
#include "plugins/input/ebpf/attach.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/base/vec.h"
#include "plugins/input/ebpf/pulse.h"

struct event {
	uint32_t cpu;
	int fd;
	bool on;
	struct pulse pulse;
};

struct attach {
	const struct dcm_host *host;
	pthread_mutex_t lock; /* over all below: control thread and reader */
	int program;
	uint64_t period_ns;
	bool running; /* every event that there was at first has been started */
	VEC(struct event) events;
	struct cpus attached;
};

static int open_event(const struct dcm_host *host, uint32_t cpu, uint64_t period_ns)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns,
		.read_format = PULSE_READ_FORMAT,
		.disabled = 1,
		.exclude_idle = 1,
	};

	return host->perf_event(host, &attr, cpu);
}

/* Opens, attaches and, when the others run, starts the event of one CPU. */
static int add_cpu(struct attach *a, uint32_t cpu, const char **ret_what)
{
	struct event e = { .cpu = cpu, .on = a->running };
	int r;

	*ret_what = "open a perf event";
	e.fd = open_event(a->host, cpu, a->period_ns);
	if (e.fd < 0)
		return e.fd;
	*ret_what = "attach the program to a perf event";
	if (ioctl(e.fd, PERF_EVENT_IOC_SET_BPF, a->program) < 0 ||
	    (a->running && ioctl(e.fd, PERF_EVENT_IOC_ENABLE, 0) < 0)) {
		r = -errno;
		fd__close(e.fd);
		return r;
	}
	if (!vec__push(&a->events, e)) {
		fd__close(e.fd);
		return -ENOMEM;
	}
	a->attached.bits[cpu / 64] |= 1ull << (cpu % 64);
	return 0;
}

int attach__open(const struct dcm_host *host, int program, uint64_t period_ns, struct attach **ret,
		 const char **ret_what)
{
	CLEANUP(attach__freep) struct attach *a = NEW(struct attach);
	struct cpus online;
	int r;

	*ret_what = "read which CPUs are online";
	if (!a)
		return -ENOMEM;
	pthread_mutex_init(&a->lock, NULL);
	a->host = host;
	a->program = program;
	a->period_ns = period_ns;
	r = cpus__read("online", &online);
	if (r < 0)
		return r;
	for (uint32_t cpu = 0; cpu <= cpus__highest(&online); cpu++) {
		if (!cpus__has(&online, cpu))
			continue;
		r = add_cpu(a, cpu, ret_what);
		/* It went away in between. */
		if (r < 0 && r != -ENODEV)
			return r;
	}
	*ret = take_ptr(a);
	return 0;
}

void attach__free(struct attach *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->events.n; i++)
		fd__close(a->events.v[i].fd);
	vec__fini(&a->events);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

uint32_t attach__start_next(struct attach *a)
{
	uint32_t n_off = 0;

	pthread_mutex_lock(&a->lock);
	for (size_t i = 0; i < a->events.n; i++) {
		struct event *e = &a->events.v[i];

		if (e->on)
			continue;
		/* It fails for a CPU that has gone: attach__update() will find that out. */
		if (n_off++ == 0) {
			ioctl(e->fd, PERF_EVENT_IOC_ENABLE, 0);
			e->on = true;
		}
	}
	if (n_off)
		n_off--;
	a->running = n_off == 0;
	pthread_mutex_unlock(&a->lock);
	return n_off;
}

void attach__stop(struct attach *a)
{
	pthread_mutex_lock(&a->lock);
	a->running = false;
	for (size_t i = 0; i < a->events.n; i++) {
		ioctl(a->events.v[i].fd, PERF_EVENT_IOC_DISABLE, 0);
		a->events.v[i].on = false;
	}
	pthread_mutex_unlock(&a->lock);
}

void attach__set_period(struct attach *a, uint64_t period_ns)
{
	pthread_mutex_lock(&a->lock);
	a->period_ns = period_ns;
	for (size_t i = 0; i < a->events.n; i++)
		ioctl(a->events.v[i].fd, PERF_EVENT_IOC_PERIOD, &period_ns);
	pthread_mutex_unlock(&a->lock);
}

/* Takes the CPUs out of the set whose events have died. */
static void without_dead(struct attach *a, struct cpus *set)
{
	for (size_t i = 0; i < a->events.n; i++) {
		struct event *e = &a->events.v[i];

		if (e->on && !pulse__beats(&e->pulse, e->fd))
			cpus__remove(set, e->cpu);
	}
}

static void remove_gone(struct attach *a, const struct cpus *online)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->events.n; i++) {
		struct event e = a->events.v[i];

		if (cpus__has(online, e.cpu)) {
			a->events.v[kept++] = e;
			continue;
		}
		fd__close(e.fd);
		cpus__remove(&a->attached, e.cpu);
	}
	a->events.n = kept;
}

uint32_t attach__update(struct attach *a, const struct cpus *online, bool feel, int *ret_error)
{
	struct cpus alive = *online;
	const char *what;
	uint32_t n;

	*ret_error = 0;
	pthread_mutex_lock(&a->lock);
	if (feel)
		without_dead(a, &alive);
	if (memcmp(&alive, &a->attached, sizeof(alive)) != 0) {
		remove_gone(a, &alive);
		for (uint32_t cpu = 0; cpu <= cpus__highest(online); cpu++)
			if (cpus__has(online, cpu) && !cpus__has(&a->attached, cpu)) {
				int r = add_cpu(a, cpu, &what);

				if (r < 0)
					*ret_error = r;
			}
	}
	n = (uint32_t)a->events.n;
	pthread_mutex_unlock(&a->lock);
	return n;
}

void attach__read(struct attach *a, attach_read_fn each, void *ctx)
{
	pthread_mutex_lock(&a->lock);
	for (size_t i = 0; i < a->events.n; i++) {
		uint64_t enabled_ns, counted_ns;

		if (pulse__read(a->events.v[i].fd, &enabled_ns, &counted_ns))
			each(ctx, a->events.v[i].cpu, enabled_ns, counted_ns);
	}
	pthread_mutex_unlock(&a->lock);
}
