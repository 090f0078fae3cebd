/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/cpu_times.c - for how long CPUs did nothing, as /proc/stat has it
 *
 * Format: proc_stat(5). What a kernel older or newer has in more columns is not looked at.
 */
#include "plugins/input/ebpf/cpu_times.h"

#include <fcntl.h>
#include <stdbool.h>

#include "core/base/buf.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "plugins/input/ebpf/cpus.h"

enum {
	STAT_BYTES_MAX = 4 * 1024 * 1024, /* a line for each CPU, and a number for each interrupt */
	USER = 0,
	NICE,
	SYSTEM,
	IDLE,
	IOWAIT,
	IRQ,
	SOFTIRQ,
	STEAL,
	N_COLUMNS
};

/* The number that the text begins with, which is taken off; false when there is none. */
static bool number(struct dcm_str *at, uint64_t *ret)
{
	uint64_t n = 0;
	uint32_t i = 0;

	while (i < at->n && at->p[i] >= '0' && at->p[i] <= '9' && n < UINT64_MAX / 100)
		n = n * 10 + (uint64_t)(at->p[i++] - '0');
	at->p += i;
	at->n -= i;
	*ret = n;
	return i > 0;
}

/* A line behind its "cpu". */
static void take(struct dcm_str line, cpu_times_fn each, void *ctx)
{
	uint64_t cpu, column[N_COLUMNS];

	if (!number(&line, &cpu) || cpu >= CPUS_MAX)
		return;
	for (int i = 0; i < N_COLUMNS; i++) {
		if (line.n == 0 || *line.p != ' ')
			return;
		line.p++;
		line.n--;
		if (!number(&line, &column[i]) || column[i] > UINT64_MAX / CPU_TIMES_STEP_NS / 2)
			return;
	}
	each(ctx, (uint32_t)cpu,
	     &(struct cpu_times){
		     .idle_ns = (column[IDLE] + column[IOWAIT]) * CPU_TIMES_STEP_NS,
		     .irq_ns = (column[IRQ] + column[SOFTIRQ]) * CPU_TIMES_STEP_NS,
		     .stolen_ns = column[STEAL] * CPU_TIMES_STEP_NS,
	     });
}

void cpu_times__parse(struct dcm_str text, cpu_times_fn each, void *ctx)
{
	while (str__starts(text, STR("cpu"))) {
		const char *end = memchr(text.p, '\n', text.n);
		uint32_t n = end ? (uint32_t)(end - text.p) : text.n;

		take((struct dcm_str){ text.p + 3, n - 3 }, each, ctx);
		n += end != NULL;
		text.p += n;
		text.n -= n;
	}
}

int cpu_times__read(cpu_times_fn each, void *ctx)
{
	struct buf text = { 0 };
	int r = fd__read_path(AT_FDCWD, "/proc/stat", STAT_BYTES_MAX, &text);

	if (r >= 0)
		cpu_times__parse(buf__view(&text), each, ctx);
	buf__fini(&text);
	return r < 0 ? r : 0;
}
