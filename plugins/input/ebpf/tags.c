/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/tags.c - the labels that a process gives its series and its samples
 *
 * The `__meta_` names are those of the Parca agent, so that its relabel_configs work here.
 */
#include "plugins/input/ebpf/tags.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "core/base/str.h"
#include "plugins/input/ebpf/cgroup.h"

/* ------------------------------------------------------------------------------------------------
 * Rows
 */

/* What stands before the next NUL; *at moves behind that. */
static struct dcm_str cut(struct dcm_str *at)
{
	struct dcm_str s = { at->p, (uint32_t)strnlen(at->p, at->n) };
	uint32_t past = s.n < at->n ? s.n + 1 : s.n;

	at->p += past;
	at->n -= past;
	return s;
}

bool tags__next(struct dcm_str *at, struct dcm_str *ret_name, struct dcm_str *ret_value)
{
	if (at->n == 0)
		return false;
	*ret_name = cut(at);
	*ret_value = cut(at);
	return true;
}

struct dcm_str tags__value(struct dcm_str rows, struct dcm_str name)
{
	struct dcm_str n, value;

	while (tags__next(&rows, &n, &value))
		if (str__eq(n, name))
			return value;
	return STR("");
}

static void clean_name(char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool letter = (p[i] >= 'a' && p[i] <= 'z') || (p[i] >= 'A' && p[i] <= 'Z') || p[i] == '_';
		bool digit = p[i] >= '0' && p[i] <= '9';

		if (!letter && !(digit && i > 0))
			p[i] = '_';
	}
}

static bool has_room(struct dcm_str rows, struct dcm_str name)
{
	struct dcm_str n, value;
	uint32_t count = 0;

	while (tags__next(&rows, &n, &value)) {
		if (str__eq(n, name))
			return false;
		count++;
	}
	return count < TAGS_MAX;
}

void tags__add(struct buf *rows, struct dcm_str name, struct dcm_str value)
{
	char legal[256];

	value.n = (uint32_t)strnlen(value.p, value.n);
	if (value.n == 0 || name.n == 0)
		return;
	if (name.n > sizeof(legal))
		name.n = sizeof(legal);
	memcpy(legal, name.p, name.n);
	clean_name(legal, name.n);
	name.p = legal;
	if (!has_room(buf__view(rows), name))
		return;
	if (value.n > TAGS_VALUE_BYTES)
		value.n = (uint32_t)str__utf8_cut(value.p, TAGS_VALUE_BYTES);
	buf__str(rows, name);
	buf__byte(rows, 0);
	buf__str(rows, value);
	if (!rows->error)
		str__clean((char *)rows->data + rows->n - value.n, value.n);
	buf__byte(rows, 0);
}

static void add_text(struct buf *rows, struct dcm_str name, const char *value)
{
	tags__add(rows, name, str__of(value));
}

static void add_flag(struct buf *rows, struct dcm_str name, bool value)
{
	tags__add(rows, name, value ? STR("true") : STR("false"));
}

static struct dcm_str base_name(struct dcm_str path)
{
	for (uint32_t i = path.n; i > 0; i--)
		if (path.p[i - 1] == '/')
			return (struct dcm_str){ path.p + i, path.n - i };
	return path;
}

/* ------------------------------------------------------------------------------------------------
 * The environment
 */

/* The value of NAME among the texts NAME=value that end in NUL. */
static struct dcm_str variable(struct dcm_str environment, struct dcm_str name)
{
	while (environment.n > 0) {
		struct dcm_str line = cut(&environment);

		if (line.n > name.n && line.p[name.n] == '=' && memcmp(line.p, name.p, name.n) == 0)
			return (struct dcm_str){ line.p + name.n + 1, line.n - name.n - 1 };
	}
	return STR("");
}

static void add_environment(struct buf *rows, const struct settings_labels *on,
			    struct dcm_str environment, const char *prefix)
{
	const char *const *names = on->env.items;
	char label[256];

	for (uint32_t i = 0; i < on->env.n; i++) {
		snprintf(label, sizeof(label), "%s%s", prefix, names[i]);
		tags__add(rows, str__of(label), variable(environment, str__of(names[i])));
	}
}

/* ------------------------------------------------------------------------------------------------
 * Labels that relabelling sees, and that are gone after it
 */

/* A name that `meta` lists, by itself or by a beginning and '*'. */
static bool is_wanted(const struct settings_labels *on, struct dcm_str name)
{
	const char *const *patterns = on->meta.items;

	for (uint32_t i = 0; i < on->meta.n; i++) {
		struct dcm_str pattern = str__of(patterns[i]);

		if (str__ends(pattern, STR("*"))) {
			pattern.n--;
			if (str__starts(name, pattern))
				return true;
		} else if (str__eq(name, pattern)) {
			return true;
		}
	}
	return false;
}

static void meta_of_program(struct buf *rows, const struct executable *e)
{
	if (!e)
		return;
	add_text(rows, STR("__meta_process_executable_build_id"), e->build_id);
	add_text(rows, STR("__meta_process_executable_file_id"), e->file_id);
	add_text(rows, STR("__meta_process_executable_compiler"), e->compiler);
	if (!e->is_elf)
		return;
	add_flag(rows, STR("__meta_process_executable_static"), e->is_static);
	add_flag(rows, STR("__meta_process_executable_stripped"), e->is_stripped);
}

static void meta_of_container(struct buf *rows, struct dcm_str cgroup)
{
	static const struct {
		const char *runtime, *label;
	} names[] = {
		{ "docker", "__meta_docker_container_id" },
		{ "containerd", "__meta_containerd_container_id" },
		{ "buildkit", "__meta_docker_build_kit_container_id" },
		{ "lxc", "__meta_lxc_container_id" },
		{ "cri-o", "__meta_crio_container_id" },
		{ "podman", "__meta_podman_container_id" },
	};
	struct dcm_str runtime = cgroup__runtime(cgroup);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (str__eq(runtime, str__of(names[i].runtime)))
			tags__add(rows, str__of(names[i].label), cgroup__container(cgroup));
}

static void all_meta(struct buf *rows, const struct settings_labels *on, const struct tags_facts *f)
{
	char number[16];
	struct utsname kernel;

	snprintf(number, sizeof(number), "%u", f->pid);
	add_text(rows, STR("__meta_process_pid"), number);
	snprintf(number, sizeof(number), "%u", f->ppid);
	add_text(rows, STR("__meta_process_ppid"), number);
	tags__add(rows, STR("__meta_process_cmdline"), f->cmdline);
	tags__add(rows, STR("__meta_process_cgroup"), f->cgroup);
	tags__add(rows, STR("__meta_process_executable_name"), base_name(f->exe));
	meta_of_program(rows, f->executable);
	meta_of_container(rows, f->cgroup);
	if (uname(&kernel) == 0) {
		add_text(rows, STR("__meta_system_kernel_release"), kernel.release);
		add_text(rows, STR("__meta_system_kernel_machine"), kernel.machine);
	}
	add_text(rows, STR("__meta_agent_revision"), SETTINGS_PLUGIN_VERSION);
	add_environment(rows, on, f->environment, "__meta_env_var_");
}

static void add_wanted(struct buf *rows, const struct settings_labels *on, struct dcm_str from)
{
	struct dcm_str name, value;

	while (tags__next(&from, &name, &value))
		if (str__starts(name, STR("__")) && is_wanted(on, name))
			tags__add(rows, name, value);
}

static void add_meta(struct buf *rows, const struct settings_labels *on, const struct tags_facts *f)
{
	struct buf all = { 0 };

	if (on->meta.n == 0)
		return;
	all_meta(&all, on, f);
	add_wanted(rows, on, buf__view(&all));
	add_wanted(rows, on, f->pod);
	if (all.error && !rows->error)
		rows->error = all.error;
	buf__fini(&all);
}

/* ------------------------------------------------------------------------------------------------
 * Labels of series and samples
 */

static void add_program(struct buf *rows, const struct executable *e)
{
	if (!e)
		return;
	add_text(rows, STR("build_id"), e->build_id);
	add_text(rows, STR("compiler"), e->compiler);
	add_text(rows, STR("runtime"), e->runtime);
	if (!e->is_elf)
		return;
	add_flag(rows, STR("static"), e->is_static);
	add_flag(rows, STR("stripped"), e->is_stripped);
}

static void add_pod(struct buf *rows, struct dcm_str pod)
{
	struct dcm_str name, value;

	while (tags__next(&pod, &name, &value))
		if (!str__starts(name, STR("__")))
			tags__add(rows, name, value);
}

void tags__series(const struct settings_labels *on, const struct tags_facts *f, struct buf *ret)
{
	struct utsname kernel;

	if (on->exe)
		tags__add(ret, STR("exe"), f->exe);
	if (on->cgroup)
		tags__add(ret, STR("cgroup"), f->cgroup);
	if (on->systemd) {
		tags__add(ret, STR("systemd_unit"), cgroup__unit(f->cgroup));
		tags__add(ret, STR("systemd_slice"), cgroup__slice(f->cgroup));
	}
	if (on->container) {
		tags__add(ret, STR("container_id"), cgroup__container(f->cgroup));
		tags__add(ret, STR("container_runtime"), cgroup__runtime(f->cgroup));
		add_pod(ret, f->pod);
	}
	if (on->program)
		add_program(ret, f->executable);
	if (on->kernel && uname(&kernel) == 0) {
		add_text(ret, STR("kernel_release"), kernel.release);
		add_text(ret, STR("arch"), kernel.machine);
	}
	add_environment(ret, on, f->environment, "env_");
	add_meta(ret, on, f);
}

void tags__sample(const struct settings_labels *on, const struct tags_facts *f, struct buf *ret)
{
	if (on->cmdline)
		tags__add(ret, STR("cmdline"), f->cmdline);
}
