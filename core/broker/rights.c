/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/broker/rights.c - what takes rights: done here, or by the broker for a process that has none
 */
#include "core/broker/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/fd.h"
#include "core/broker/broker.h"
#include "core/broker/direct.h"

int rights__open(struct broker *b, const struct dcm_guarded *g)
{
	struct broker_request q = { .what = g->what, .args = { g->start, g->end } };
	bool has_path = g->what == DCM_GUARDED_CODE || g->what == DCM_GUARDED_NAMES;

	if (has_path && (!g->path || strlen(g->path) >= BROKER_PATH_MAX))
		return g->path ? -ENAMETOOLONG : -EINVAL;
	if (!b)
		return direct__open(g);
	if (has_path)
		memcpy(q.data, g->path, strlen(g->path));
	return broker__ask(b, BROKER_OPEN, &q, &g->dir, 1);
}

int rights__open_named(struct broker *b, const char *path)
{
	struct dcm_guarded g = { .size = sizeof(g), .what = DCM_GUARDED_CODE, .path = path };
	CLEANUP(fd__closep) int root = -1;

	if (!b)
		return fd__open_regular(path);
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	g.dir = root;
	return rights__open(b, &g);
}

int rights__perf_event(struct broker *b, const struct perf_event_attr *attr, uint32_t cpu)
{
	struct broker_request q = { .args = { cpu } };
	int r;

	if (!b)
		return direct__perf_event(attr, cpu);
	memcpy(q.data, attr, sizeof(*attr));
	r = broker__ask(b, BROKER_PERF_EVENT, &q, NULL, 0);
	/*
	 * Debian's and Ubuntu's kernel.perf_event_paranoid of 3 and more asks for CAP_SYS_ADMIN,
	 * which the broker never keeps, but root has until it gives its rights up.
	 */
	return r == -EACCES ? direct__perf_event(attr, cpu) : r;
}

int rights__bpf_array(struct broker *b, uint32_t value_bytes, uint32_t n)
{
	const struct broker_request q = { .args = { value_bytes, n } };

	return b ? broker__ask(b, BROKER_BPF_ARRAY, &q, NULL, 0) : direct__bpf_array(value_bytes, n);
}

int rights__bpf_put(struct broker *b, int array_of_maps, uint32_t index, int array)
{
	const struct broker_request q = { .args = { index } };
	const int fds[] = { array_of_maps, array };

	return b ? broker__ask(b, BROKER_BPF_PUT, &q, fds, 2)
		 : direct__bpf_put(array_of_maps, index, array);
}

int rights__open_kallsyms(struct broker *b)
{
	const struct broker_request q = { 0 };

	return b ? broker__ask(b, BROKER_KALLSYMS, &q, NULL, 0) : direct__open_kallsyms();
}
