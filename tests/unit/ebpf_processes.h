/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/ebpf_processes.h - a table of processes beside a sampler's host, for each test of one
 */
#ifndef DECIMA_TESTS_UNIT_EBPF_PROCESSES_H
#define DECIMA_TESTS_UNIT_EBPF_PROCESSES_H

#include <stdlib.h>

#include "plugins/input/ebpf/process.h"
#include "tests/unit/ebpf_host.h"

/* What the kernel tells (trail.h), and what programs are (identity.h), are not there. */
struct fixture {
	struct ebpf_host host;
	struct files *files;
	struct processes *processes;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	ebpf_host__init(&f->host);
	f->files = files__new(&f->host.host);
	f->processes = processes__new(&f->host.host, f->files, NULL, NULL);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	processes__free(f->processes);
	files__free(f->files);
	ebpf_host__fini(&f->host);
	free(f);
	return 0;
}

/* Of the image of that exec id. */
static struct sampler_event event_of(const struct sampler_sample *s, enum sampler_kind kind,
				     uint64_t exec_id, int64_t time_ns)
{
	struct sampler_event e = { .head = s->head };

	e.head.kind = (uint16_t)kind;
	e.head.exec_id = exec_id;
	e.head.time_ns = (uint64_t)time_ns;
	return e;
}

#endif
