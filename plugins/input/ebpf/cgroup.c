/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/cgroup.c - what the control group of a process says about what it belongs to
 */
#include "plugins/input/ebpf/cgroup.h"

#include <string.h>

#include "core/base/str.h"

enum { CONTAINER_DIGITS = 64 };

/* Cuts the text at the first `c`: returns what precedes it, and leaves the rest in *text. */
static struct dcm_str cut(struct dcm_str *text, char c)
{
	const char *end = text->n ? memchr(text->p, c, text->n) : NULL;
	struct dcm_str head = { text->p, end ? (uint32_t)(end - text->p) : text->n };
	uint32_t past = head.n + (end ? 1 : 0);

	text->p += past;
	text->n -= past;
	return head;
}

/* Each line reads hierarchy-ID:controller-list:path; v2's is "0::path". */
struct dcm_str cgroup__path(struct dcm_str text)
{
	struct dcm_str unified = STR(""), systemd = STR(""), longest = STR("");

	while (text.n > 0) {
		struct dcm_str line = cut(&text, '\n');
		struct dcm_str id = cut(&line, ':');
		struct dcm_str controllers = cut(&line, ':');

		if (line.n < 2 || line.p[0] != '/')
			continue;
		if (str__eq(id, STR("0")) && controllers.n == 0)
			unified = line;
		else if (str__eq(controllers, STR("name=systemd")))
			systemd = line;
		else if (line.n > longest.n)
			longest = line;
	}
	if (unified.n)
		return unified;
	return systemd.n ? systemd : longest;
}

/* The path without its last component, which goes to *ret_last. */
static struct dcm_str pop(struct dcm_str path, struct dcm_str *ret_last)
{
	uint32_t n = path.n;

	while (n > 0 && path.p[n - 1] != '/')
		n--;
	*ret_last = (struct dcm_str){ path.p + n, path.n - n };
	return (struct dcm_str){ path.p, n ? n - 1 : 0 };
}

static bool is_hex(struct dcm_str s)
{
	for (uint32_t i = 0; i < s.n; i++)
		if (!(s.p[i] >= '0' && s.p[i] <= '9') && !(s.p[i] >= 'a' && s.p[i] <= 'f'))
			return false;
	return true;
}

static struct dcm_str without_suffix(struct dcm_str s, struct dcm_str suffix)
{
	if (str__ends(s, suffix))
		s.n -= suffix.n;
	return s;
}

/* What stands before the digits of a container's id, and who puts it there. */
static const struct {
	const char *prefix, *runtime;
} runtimes[] = {
	{ "docker-", "docker" },
	{ "cri-containerd-", "containerd" },
	{ ":cri-containerd:", "containerd" },
	{ "nerdctl-", "containerd" },
	{ "crio-", "cri-o" },
	{ ":crio:", "cri-o" },
	{ "libpod-", "podman" },
};

/* Ends a component that names LXC's containers below it, or one in the same component. */
static const char *const lxc_parents[] = { "lxc", "lxc.payload" };

struct container {
	struct dcm_str id, runtime; /* runtime: empty when not told */
};

/*
 * ID, docker-ID.scope, cri-containerd-ID.scope, crio-ID.scope, libpod-ID.scope,
 * SLICE:cri-containerd:ID
 */
static struct container by_digits(struct dcm_str component, struct dcm_str parent)
{
	struct container none = { STR(""), STR("") }, c = none;
	struct dcm_str before;

	c.id = without_suffix(component, STR(".scope"));
	if (c.id.n < CONTAINER_DIGITS)
		return none;
	before = (struct dcm_str){ c.id.p, c.id.n - CONTAINER_DIGITS };
	c.id.p += before.n;
	c.id.n = CONTAINER_DIGITS;
	if (!is_hex(c.id) || str__ends(before, STR("conmon-")))
		return none;
	if (before.n && before.p[before.n - 1] != '-' && before.p[before.n - 1] != ':')
		return none;
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(*runtimes); i++)
		if (str__ends(before, str__of(runtimes[i].prefix)))
			c.runtime = str__of(runtimes[i].runtime);
	if (before.n == 0 && str__eq(parent, STR("docker")))
		c.runtime = STR("docker");
	return c;
}

/* /lxc/NAME, /lxc.payload/NAME, /lxc.payload.NAME, /docker/buildkit/ID */
static struct container by_parent(struct dcm_str component, struct dcm_str parent)
{
	struct container c = { STR(""), STR("") };

	for (size_t i = 0; i < sizeof(lxc_parents) / sizeof(*lxc_parents); i++)
		if (str__eq(parent, str__of(lxc_parents[i])))
			c = (struct container){ component, STR("lxc") };
	if (str__starts(component, STR("lxc.payload."))) {
		c = (struct container){ component, STR("lxc") };
		c.id.p += strlen("lxc.payload.");
		c.id.n -= (uint32_t)strlen("lxc.payload.");
	}
	if (str__eq(parent, STR("buildkit")))
		c = (struct container){ component, STR("buildkit") };
	return c;
}

/* The innermost container of a path. */
static struct container container_in(struct dcm_str path)
{
	struct dcm_str last, parent;
	struct container c = { STR(""), STR("") };

	while (path.n > 0 && c.id.n == 0) {
		path = pop(path, &last);
		pop(path, &parent);
		c = by_digits(last, parent);
		if (c.id.n == 0)
			c = by_parent(last, parent);
	}
	return c;
}

struct dcm_str cgroup__container(struct dcm_str path)
{
	return container_in(path).id;
}

struct dcm_str cgroup__runtime(struct dcm_str path)
{
	return container_in(path).runtime;
}

struct dcm_str cgroup__unit(struct dcm_str path)
{
	struct dcm_str container = cgroup__container(path);

	while (path.n > 0) {
		struct dcm_str last;

		path = pop(path, &last);
		if (container.n && path.p + path.n < container.p)
			break;
		if (str__ends(last, STR(".service")) && last.n > strlen(".service") &&
		    !str__starts(last, STR("user@")))
			return last;
	}
	return STR("");
}

bool cgroup__is_within(struct dcm_str path, struct dcm_str group)
{
	while (group.n > 0 && group.p[group.n - 1] == '/')
		group.n--;
	return str__starts(path, group) && (path.n == group.n || path.p[group.n] == '/');
}

struct dcm_str cgroup__slice(struct dcm_str path)
{
	while (path.n > 0) {
		struct dcm_str last;

		path = pop(path, &last);
		if (str__ends(last, STR(".slice")) && last.n > strlen(".slice"))
			return last;
	}
	return STR("");
}
