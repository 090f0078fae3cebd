/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/labels.c - how names of processes become labels
 */
#include "plugins/input/ebpf/labels.h"

#include <string.h>

#include "core/base/str.h"
#include "plugins/input/ebpf/cgroup.h"

enum {
	CONTAINER_ID = 64,	 /* digits; LXC's names are as long as they are */
	SHORT_CONTAINER_ID = 12, /* digits that docker and crictl print */
};

struct dcm_str labels__comm(const char comm[static 16], bool kthread, char ret_text[static 16])
{
	size_t n = strnlen(comm, 16);

	if (kthread)
		for (size_t i = 1; i < n; i++)
			if (comm[i] == '/' || comm[i] == ':')
				n = i;
	memcpy(ret_text, comm, n);
	str__clean(ret_text, n);
	return (struct dcm_str){ ret_text, (uint32_t)n };
}

static struct dcm_str base_name(struct dcm_str path)
{
	for (uint32_t i = path.n; i > 0; i--)
		if (path.p[i - 1] == '/')
			return (struct dcm_str){ path.p + i, path.n - i };
	return path;
}

struct dcm_str labels__service(struct dcm_str cgroup_path, struct dcm_str exe, struct dcm_str comm,
			       bool kthread)
{
	struct dcm_str s;

	if (kthread)
		return STR("kernel");
	s = cgroup__container(cgroup_path);
	if (s.n) {
		if (s.n == CONTAINER_ID)
			s.n = SHORT_CONTAINER_ID;
		return s;
	}
	s = cgroup__unit(cgroup_path);
	if (s.n) {
		s.n -= (uint32_t)strlen(".service");
		return s;
	}
	s = base_name(exe);
	return s.n ? s : comm;
}

struct dcm_str labels__without_deleted(struct dcm_str path)
{
	if (str__ends(path, STR(" (deleted)")))
		path.n -= (uint32_t)strlen(" (deleted)");
	return path;
}
