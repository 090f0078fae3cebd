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

/*
 * ID, docker-ID.scope, cri-containerd-ID.scope, crio-ID.scope, libpod-ID.scope,
 * SLICE:cri-containerd:ID
 */
static struct dcm_str container_of(struct dcm_str component)
{
	struct dcm_str id = component;

	if (str__ends(id, STR(".scope")))
		id.n -= (uint32_t)strlen(".scope");
	if (id.n < CONTAINER_DIGITS)
		return STR("");
	id.p += id.n - CONTAINER_DIGITS;
	id.n = CONTAINER_DIGITS;
	if (!is_hex(id))
		return STR("");
	if (id.p > component.p && id.p[-1] != '-' && id.p[-1] != ':')
		return STR("");
	return id;
}

struct dcm_str cgroup__container(struct dcm_str path)
{
	while (path.n > 0) {
		struct dcm_str last, id;

		path = pop(path, &last);
		id = container_of(last);
		if (id.n)
			return id;
	}
	return STR("");
}

struct dcm_str cgroup__unit(struct dcm_str path)
{
	while (path.n > 0) {
		struct dcm_str last;

		path = pop(path, &last);
		if (str__ends(last, STR(".service")) && last.n > strlen(".service") &&
		    !str__starts(last, STR("user@")))
			return last;
	}
	return STR("");
}
