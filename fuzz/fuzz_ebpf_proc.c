/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_ebpf_proc.c - what the sampler reads of a process: its mappings, its control group, its
 * name
 *
 * A process may map files of any name, and its comm is any 15 bytes. The first byte chooses the
 * reader and, for mappings, the size of the pieces. What comes out must keep what its users rely
 * on.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "plugins/input/ebpf/cgroup.h"
#include "plugins/input/ebpf/cpus.h"
#include "plugins/input/ebpf/labels.h"
#include "plugins/input/ebpf/maps.h"
#include "plugins/input/ebpf/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void maps(const char *text, size_t n, size_t piece)
{
	struct maps_parser p;
	struct maps *m = NULL;

	if (maps__parse_begin(&p) < 0)
		return;
	for (size_t at = 0; at < n; at += piece)
		maps__parse(&p, text + at, n - at < piece ? n - at : piece);
	if (maps__parse_end(&p, &m) < 0)
		return;
	for (uint32_t i = 0; i < m->n; i++) {
		if (m->ranges[i].start >= m->ranges[i].end ||
		    (i && m->ranges[i - 1].end > m->ranges[i].start) ||
		    maps__find(m, m->ranges[i].start) != &m->ranges[i] ||
		    maps__find(m, m->ranges[i].end - 1) != &m->ranges[i])
			abort();
	}
	maps__unref(m);
}

static void names(struct dcm_str text)
{
	char comm[16] = { 0 }, label[16];
	struct dcm_str path = cgroup__path(text), name;

	if (path.n && (path.p < text.p || path.p + path.n > text.p + text.n || path.p[0] != '/'))
		abort();
	name = cgroup__container(path);
	if (name.n && (name.p < path.p || name.p + name.n > path.p + path.n))
		abort();
	cgroup__runtime(path);
	cgroup__slice(path);
	name = cgroup__unit(text);
	if (name.n && (name.p < text.p || name.p + name.n > text.p + text.n))
		abort();
	memcpy(comm, text.p, text.n < sizeof(comm) ? text.n : sizeof(comm));
	for (int kthread = 0; kthread < 2; kthread++) {
		name = labels__comm(comm, kthread, label);
		if (name.n > sizeof(label) || !str__is_utf8(name))
			abort();
		labels__service(path, text, name, kthread);
	}
	labels__without_deleted(text);
}

static void records(const uint8_t *data, size_t size)
{
	const struct sampler_sample *sample;
	const struct sampler_event *event;
	const uint64_t *frames;
	/* Aligned, and of just this size. */
	uint64_t *copy = malloc(size ? size : 1), sum = 0;

	if (!copy)
		return;
	memcpy(copy, data, size);
	if (record__sample(copy, size, &sample, &frames) == 0)
		for (unsigned i = 0; i < (unsigned)sample->n_kernel + sample->n_user; i++)
			sum += frames[i];
	if (record__event(copy, size, &event) == 0)
		sum += event->head.time_ns;
	/* Keeps the reads. */
	if (sum == 1)
		copy[0]++;
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cpus set;
	struct dcm_str text;

	if (size == 0)
		return 0;
	text = (struct dcm_str){ (const char *)data + 1, (uint32_t)(size - 1) };
	switch (data[0] % 4) {
	case 0:
		maps(text.p, text.n, 1 + data[0] / 4);
		break;
	case 1:
		names(text);
		break;
	case 2:
		records(data + 1, size - 1);
		break;
	case 3:
		if (cpus__parse(text, &set) == 0 && cpus__highest(&set) >= CPUS_MAX)
			abort();
		break;
	}
	return 0;
}
