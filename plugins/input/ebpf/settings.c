/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/settings.c - which options make no sense, or none together
 *
 * A filter that no process can pass, or a label that none can have, would be obeyed in silence. An
 * element that is NULL comes from a variable of another machine.
 */
#include "plugins/input/ebpf/settings.h"

#include <errno.h>
#include <linux/types.h>
#include <string.h>

#include "bpf/sampler.h"
#include "core/base/error.h"
#include "core/base/str.h"
#include "core/base/url.h"

enum {
	COMM_MAX_BYTES = 15, /* TASK_COMM_LEN without its NUL */
	ENV_NAME_MAX_BYTES = 200
};

static int check_counts(const struct settings *s, struct dcm_error *err)
{
	const struct {
		const char *path;
		uint32_t n, max;
	} lists[] = {
		{ "filter.pids", s->filter.pids.n, SAMPLER_FILTER },
		{ "filter.comms", s->filter.comms.n, SAMPLER_FILTER },
		{ "filter.cgroups", s->filter.cgroups.n, SAMPLER_FILTER },
		{ "labels.env", s->labels.env.n, SETTINGS_ENV_MAX },
		{ "labels.meta", s->labels.meta.n, SETTINGS_META_MAX },
	};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (lists[i].n > lists[i].max)
			return error__set(err, -EINVAL, "%s: has %u entries; give at most %u",
					  lists[i].path, lists[i].n, lists[i].max);
	return 0;
}

static int check_comm(const char *comm, uint32_t i, struct dcm_error *err)
{
	if (!*comm)
		return error__set(err, -EINVAL,
				  "filter.comms[%u]: is empty; give a name, or take it away", i);
	if (strlen(comm) <= COMM_MAX_BYTES)
		return 0;
	return error__set(
		err, -EINVAL,
		"filter.comms[%u]: \"%.64s\" has %zu bytes, and the kernel keeps %d of a name; "
		"write \"%.15s\"",
		i, comm, strlen(comm), COMM_MAX_BYTES, comm);
}

static int check_cgroup(const char *group, uint32_t i, struct dcm_error *err)
{
	static const char mount[] = "/sys/fs/cgroup";

	if (*group != '/')
		return error__set(
			err, -EINVAL,
			"filter.cgroups[%u]: \"%.200s\" is no path of a control group; begin it "
			"with / as /proc/PID/cgroup does",
			i, group);
	if (str__starts(str__of(group), str__of(mount)))
		return error__set(
			err, -EINVAL,
			"filter.cgroups[%u]: \"%.200s\" begins with the place where groups are "
			"mounted; take %s away",
			i, group, mount);
	return 0;
}

/* It becomes the end of a label's name. */
static bool is_env_name(const char *name)
{
	static const char fit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

	return *name && !name[strspn(name, fit)] && strlen(name) <= ENV_NAME_MAX_BYTES;
}

static int check_env(const struct dcm_list *env, uint32_t i, struct dcm_error *err)
{
	const char *const *names = env->items;

	if (!is_env_name(names[i]))
		return error__set(
			err, -EINVAL,
			"labels.env[%u]: \"%.80s\" is no variable's name that a label can have; "
			"use letters, digits and _, %d at most",
			i, names[i], ENV_NAME_MAX_BYTES);
	for (uint32_t k = 0; k < i; k++)
		if (names[k] && strcmp(names[k], names[i]) == 0)
			return error__set(err, -EINVAL,
					  "labels.env[%u]: \"%s\" stands there twice; keep one", i,
					  names[i]);
	return 0;
}

/* Names that begin otherwise are those of no label that relabelling sees. */
static int check_meta(const char *name, uint32_t i, struct dcm_error *err)
{
	static const char first[] = "__meta_";
	size_t n = strlen(name), star = strcspn(name, "*");

	if (star + 1 < n ||
	    strncmp(name, first, star < sizeof(first) - 1 ? star : sizeof(first) - 1) != 0 ||
	    (star == n && n < sizeof(first)))
		return error__set(
			err, -EINVAL,
			"labels.meta[%u]: \"%.80s\" is no label's name; write __meta_NAME, or its "
			"beginning and '*'",
			i, name);
	return 0;
}

static int check_lists(const struct settings *s, struct dcm_error *err)
{
	const char *const *comms = s->filter.comms.items, *const *cgroups = s->filter.cgroups.items;
	const char *const *env = s->labels.env.items, *const *meta = s->labels.meta.items;
	int r = check_counts(s, err);

	for (uint32_t i = 0; r == 0 && i < s->filter.comms.n; i++)
		r = comms[i] ? check_comm(comms[i], i, err) : 0;
	for (uint32_t i = 0; r == 0 && i < s->filter.cgroups.n; i++)
		r = cgroups[i] ? check_cgroup(cgroups[i], i, err) : 0;
	for (uint32_t i = 0; r == 0 && i < s->labels.env.n; i++)
		r = env[i] ? check_env(&s->labels.env, i, err) : 0;
	for (uint32_t i = 0; r == 0 && i < s->labels.meta.n; i++)
		r = meta[i] ? check_meta(meta[i], i, err) : 0;
	return r;
}

int settings__check(const void *config, struct dcm_error *err)
{
	const struct settings *s = config;
	const char *url = s->kubernetes.url;

	if (!s->kernel_stacks && !s->user_stacks)
		return error__set(err, -EINVAL, "kernel_stacks and user_stacks are both off: turn one on");
	if (url && *url && !url__is_askable(url))
		return error__set(err, -EINVAL,
				  "kubernetes.url: \"%.200s\" is no URL; write https://HOST:PORT", url);
	return check_lists(s, err);
}
