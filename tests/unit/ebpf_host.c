/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/ebpf_host.c - a host for the pieces of plugins/input/ebpf
 */
#include "tests/unit/ebpf_host.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/broker/rights.h"
#include "core/symbolize/elf.h"
#include "tests/unit/no_metrics.h"

static struct ebpf_host *self(const struct dcm_host *host)
{
	return (struct ebpf_host *)(uintptr_t)host;
}

static void log_line(const struct dcm_host *host, enum dcm_log_level level, const char *fmt, ...)
{
	(void)host;
	(void)level;
	(void)fmt;
}

static void drop(const struct dcm_host *host, const char *reason, uint64_t n)
{
	snprintf(self(host)->last_drop, sizeof(self(host)->last_drop), "%s", reason);
	/* Who waits for the count reads the reason then. */
	self(host)->n_dropped += n;
}

static void set_state(const struct dcm_host *host, enum dcm_state state, const char *fmt, ...)
{
	(void)state;
	(void)fmt;
	self(host)->n_states++;
}

static int64_t mono_ns(const struct dcm_host *host)
{
	int64_t fake = self(host)->mono_ns;

	return fake ? fake : clock__mono(&clock__system);
}

static int64_t real_ns(const struct dcm_host *host)
{
	(void)host;
	return clock__real(&clock__system);
}

static struct dcm_builder *builder_new(const struct dcm_host *host, uint64_t max_bytes)
{
	(void)host;
	return builder__new(max_bytes);
}

static int emit(const struct dcm_host *host, struct dcm_batch *batch, dcm_done_fn done, void *ctx)
{
	struct ebpf_host *h = self(host);

	if (h->emit_answer)
		return h->emit_answer;
	h->n_emitted++;
	batch__unref(h->emitted);
	h->emitted = batch__ref(batch);
	if (done)
		done(ctx, 0);
	return 0;
}

static void offer_file(const struct dcm_host *host, struct dcm_str build_id, struct dcm_str path, int fd)
{
	(void)build_id;
	(void)path;
	(void)fd;
	self(host)->n_offered++;
}

static int build_id(const struct dcm_host *host, int fd, char ret_hex[static 129])
{
	(void)host;
	return elf__build_id(fd, ret_hex);
}

static int kernel_symbol(const struct dcm_host *host, uint64_t address, struct dcm_str *ret_name,
			 struct dcm_str *ret_module)
{
	static char name[32];
	uint64_t page = address >> 12 & 0xff;

	if (self(host)->kernel_answer)
		return self(host)->kernel_answer;
	snprintf(name, sizeof(name), "kf%u", (unsigned)page);
	*ret_name = (struct dcm_str){ name, (uint32_t)strlen(name) };
	*ret_module = page & 1 ? (struct dcm_str){ "mod", 3 } : (struct dcm_str){ "", 0 };
	return 0;
}

static void process_event(const struct dcm_host *host, enum dcm_process_event event,
			  const struct dcm_process *process)
{
	struct ebpf_host *h = self(host);
	size_t n = strlen(h->events);

	if (n + 1 < sizeof(h->events))
		h->events[n] = event == DCM_PROCESS_SEEN   ? 's'
			       : event == DCM_PROCESS_EXEC ? 'e'
							   : 'x';
	h->last_process = *process;
}

static void resolve_runtime(const struct dcm_host *host, const struct dcm_process *process,
			    const uint64_t *addresses, uint32_t n, dcm_symbol_fn each, void *ctx,
			    enum dcm_unnamed *ret_why)
{
	char name[32];

	(void)process;
	if (self(host)->jit_names)
		*ret_why = DCM_UNNAMED_JIT_NOT_IN_MAP;
	for (uint32_t i = 0; self(host)->jit_names && i < n; i++) {
		struct dcm_symbol s = { .name = { name, 0 } };

		if (addresses[i] >> 12 & 1)
			continue;
		s.name.n = (uint32_t)snprintf(name, sizeof(name), "j%u",
					      (unsigned)(addresses[i] >> 12 & 0xff));
		each(ctx, i, &s);
	}
}

static int open_guarded(const struct dcm_host *host, const struct dcm_guarded *g)
{
	(void)host;
	return rights__open(NULL, g);
}

const struct dcm_host ebpf_host__rights = { .size = sizeof(struct dcm_host),
					    .open_guarded = open_guarded };

void ebpf_host__init(struct ebpf_host *h)
{
	memset(h, 0, sizeof(*h));
	h->host = (struct dcm_host){
		.size = sizeof(h->host),
		.abi_major = DCM_ABI_MAJOR,
		.abi_minor = DCM_ABI_MINOR,
		.instance = "ebpf",
		.node = "test",
		.log = log_line,
		.drop = drop,
		.set_state = set_state,
		.metric = no_metrics__make,
		.metric_add = no_metrics__add,
		.metric_set = no_metrics__set,
		.mono_ns = mono_ns,
		.real_ns = real_ns,
		.builder_new = builder_new,
		.builder_free = builder__free,
		.add_string = builder__string,
		.add_mapping = builder__mapping,
		.add_function = builder__function,
		.add_process = builder__process,
		.add_location = builder__location,
		.add_stack = builder__stack,
		.add_stacks = builder__stacks,
		.add_series = builder__series,
		.add_label_set = builder__label_set,
		.add_profile = builder__profile,
		.add_row = builder__row,
		.seal = builder__seal,
		.batch_ref = batch__ref,
		.batch_unref = batch__unref,
		.emit = emit,
		.offer_file = offer_file,
		.build_id = build_id,
		.kernel_symbol = kernel_symbol,
		.process_event = process_event,
		.resolve_runtime = resolve_runtime,
		.open_guarded = open_guarded,
	};
}

void ebpf_host__fini(struct ebpf_host *h)
{
	batch__unref(h->emitted);
	h->emitted = NULL;
}
