/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/audit.c - all CPUs' samples held against what the kernel says of their time
 *
 * The order of the readings: idle time first, then the event's, runs last. What comes in between
 * makes too few samples due rather than too many.
 */
#include "plugins/input/ebpf/audit.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/vec.h"
#include "plugins/input/ebpf/cpu_times.h"

struct cpu {
	struct balance balance;
	struct cpu_times times;
	bool is_listed; /* times are of now */
};

struct audit {
	struct attach *attach;
	const struct sampler *sampler;
	VEC(struct cpu) cpus;
	/* During a step: */
	uint64_t period_ns;
	struct balance_missed missed;
};

struct audit *audit__new(struct attach *attach, const struct sampler *sampler)
{
	struct audit *a = NEW(struct audit);

	if (!a)
		return NULL;
	a->attach = attach;
	a->sampler = sampler;
	return a;
}

void audit__free(struct audit *a)
{
	if (!a)
		return;
	vec__fini(&a->cpus);
	free(a);
}

/* NULL when memory ran out: what is not known of a CPU is asked again with the next step. */
static struct cpu *cpu_of(struct audit *a, uint32_t cpu)
{
	while (a->cpus.n <= cpu)
		if (!vec__push(&a->cpus, (struct cpu){ 0 }))
			return NULL;
	return &a->cpus.v[cpu];
}

static void on_times(void *ctx, uint32_t cpu, const struct cpu_times *times)
{
	struct cpu *c = cpu_of(ctx, cpu);

	if (!c)
		return;
	c->times = *times;
	c->is_listed = true;
}

static void on_event(void *ctx, uint32_t cpu, uint64_t enabled_ns, uint64_t counted_ns)
{
	struct audit *a = ctx;
	struct cpu *c = cpu_of(a, cpu);

	if (!c || !c->is_listed)
		return;
	const struct balance_reading now = {
		.enabled_ns = enabled_ns,
		.counted_ns = counted_ns,
		.entries = sampler__entries(a->sampler, cpu),
		.times = c->times,
	};

	balance__step(&c->balance, &now, a->period_ns, &a->missed);
}

struct balance_missed audit__step(struct audit *a, uint64_t period_ns)
{
	a->period_ns = period_ns;
	a->missed = (struct balance_missed){ 0 };
	for (size_t i = 0; i < a->cpus.n; i++)
		a->cpus.v[i].is_listed = false;
	if (cpu_times__read(on_times, a) == 0)
		attach__read(a->attach, on_event, a);
	return a->missed;
}
