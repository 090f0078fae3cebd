/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/contract.c - is what a plugin says of itself fit to be used?
 *
 * Read in the order in which each thing may be trusted: magic, then versions, then sizes, and only
 * then the pointers. Every struct of theirs is copied into a zeroed one of ours by the smaller of
 * the two sizes.
 */
#include "core/plugin/contract.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/config/table.h"

static const char *const kind_names[] = {
	[DCM_INPUT] = "input",
	[DCM_STORAGE] = "storage",
	[DCM_OUTPUT] = "output",
};
#define N_KINDS (sizeof(kind_names) / sizeof(kind_names[0]))

const char *plugin__kind_name(enum dcm_kind kind)
{
	return (unsigned)kind < N_KINDS ? kind_names[kind] : "unknown";
}

int plugin__kind_parse(struct dcm_str text, enum dcm_kind *ret)
{
	for (size_t i = 0; i < N_KINDS; i++) {
		if (str__eq(text, str__of(kind_names[i]))) {
			*ret = (enum dcm_kind)i;
			return 0;
		}
	}
	return -EINVAL;
}

/* The smallest size that each struct ever had, which is that of version 1.0. */
#define SIZE_1_0(type, last_member)                                                                \
	((uint32_t)(offsetof(struct type, last_member) + sizeof(((struct type *)0)->last_member)))

static int bad(struct dcm_error *err, const char *path, const char *fault)
{
	return error__set(err, -ENOEXEC, "%s: %s; rebuild the plugin with <decima/plugin.h>", path, fault);
}

/*
 * Copies *theirs, of the size that it begins with, into *ours [size]. Both begin with a uint32_t
 * size.
 */
static int copy_sized(const char *path, const char *what, const void *theirs, void *ours,
		      uint32_t size, uint32_t least, struct dcm_error *err)
{
	uint32_t n;

	if (!theirs)
		return error__set(err, -ENOEXEC, "%s: has no %s, which its kind needs", path, what);
	memcpy(&n, theirs, sizeof(n));
	if (n < least || n > 64 * 1024)
		return error__set(err, -ENOEXEC,
				  "%s: its %s says it has %u bytes, and cannot have fewer than %u; "
				  "set .size = sizeof(...)",
				  path, what, n, least);
	memset(ours, 0, size);
	memcpy(ours, theirs, n < size ? n : size);
	memcpy(ours, &size, sizeof(size));
	return 0;
}

/* Magic, version and size: what makes the rest readable. */
static int check_head(const struct dcm_plugin *theirs, const char *path, struct dcm_error *err)
{
	if (!theirs)
		return error__set(
			err, -ENOEXEC,
			"%s: %s() returned NULL; have it return the plugin, or remove the file",
			path, DCM_ENTRY_SYMBOL);
	if (theirs->magic != DCM_ABI_MAGIC)
		return bad(err, path, "what " DCM_ENTRY_SYMBOL "() returned is no plugin (wrong magic number)");
	if (theirs->abi_major != DCM_ABI_MAJOR || theirs->abi_minor > DCM_ABI_MINOR)
		return error__set(err, -EPROTO,
				  "%s: was built for version %u.%u of the plugin interface, and "
				  "this decima has %u.%u; %s",
				  path, theirs->abi_major, theirs->abi_minor, DCM_ABI_MAJOR, DCM_ABI_MINOR,
				  theirs->abi_major < DCM_ABI_MAJOR
					  ? "rebuild the plugin"
					  : "use a newer decima, or "
					    "build the plugin with this one's <decima/plugin.h>");
	if (theirs->size < SIZE_1_0(dcm_plugin, output))
		return bad(err, path, "its description is shorter than any version's");
	return 0;
}

/* Names become keys, metrics and files: [a-z][a-z0-9_]*, at most 32 bytes. */
static bool is_name(const char *s)
{
	size_t n = s ? strnlen(s, 33) : 0;

	return n > 0 && n <= 32 && s[0] >= 'a' && s[0] <= 'z' &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == n;
}

static int check_texts(const struct dcm_plugin *p, const char *path, struct dcm_error *err)
{
	if (p->kind >= N_KINDS)
		return error__set(err, -ENOEXEC,
				  "%s: kind %u is none of input (0), storage (1), output (2)", path,
				  p->kind);
	if (!is_name(p->name))
		return bad(err, path, "its name is not of the form [a-z][a-z0-9_]*, at most 32 bytes");
	if (!p->version || !p->summary || !*p->summary)
		return bad(err, path, "it has no version or no summary");
	return 0;
}

static int check_lifecycle(const struct dcm_lifecycle *l, const char *path, struct dcm_error *err)
{
	if (!l->open || !l->start || !l->stop)
		return bad(err, path, "its lifecycle lacks open, start or stop");
	if (!l->prepare != !l->commit || !l->prepare != !l->abort)
		return bad(err, path, "of prepare, commit and abort it has some and not all");
	return 0;
}

static int check_input(const struct dcm_input_ops *ops, const char *path, struct dcm_error *err)
{
	if (!ops->collect != !ops->interval_ns)
		return bad(err, path, "of collect and interval_ns it has one and not the other");
	return 0;
}

static int check_storage(const struct dcm_storage_ops *ops, const char *path, struct dcm_error *err)
{
	if (!ops->write || !ops->types || !ops->labels || !ops->values || !ops->series ||
	    !ops->time_series || !ops->merge || !ops->stat)
		return bad(
			err, path,
			"its storage operations lack one of write, types, labels, values, series, "
			"time_series, merge, stat");
	return 0;
}

/* The functions of the kind that it says it is, and of no other. */
static int check_ops(struct plugin *p, const char *path, struct dcm_error *err)
{
	const struct dcm_plugin *info = &p->info;
	int r = -ENOEXEC;

	if ((info->kind != DCM_INPUT && info->input) || (info->kind != DCM_STORAGE && info->storage) ||
	    (info->kind != DCM_OUTPUT && info->output))
		return bad(err, path, "it has the functions of a kind that it is not");
	switch ((enum dcm_kind)info->kind) {
	case DCM_INPUT:
		r = copy_sized(path, "input operations", info->input, &p->input, sizeof(p->input),
			       SIZE_1_0(dcm_input_ops, resolve), err);
		p->info.input = &p->input;
		return r < 0 ? r : check_input(&p->input, path, err);
	case DCM_STORAGE:
		r = copy_sized(path, "storage operations", info->storage, &p->storage,
			       sizeof(p->storage), SIZE_1_0(dcm_storage_ops, stat), err);
		p->info.storage = &p->storage;
		return r < 0 ? r : check_storage(&p->storage, path, err);
	case DCM_OUTPUT:
		r = copy_sized(path, "output operations", info->output, &p->output,
			       sizeof(p->output), SIZE_1_0(dcm_output_ops, write), err);
		p->info.output = &p->output;
		return r;
	}
	return r;
}

static int check_options(const struct dcm_plugin *info, const char *path, struct dcm_error *err)
{
	struct dcm_error why = DCM_ERROR_INIT;
	int r;

	if (!info->options)
		return 0;
	r = table__check(info->options, &why);
	if (r == -ENOMEM)
		return error__nomem(err);
	if (r < 0)
		return error__set(err, -ENOEXEC, "%s: its table of options is wrong: %s", path, why.text);
	return 0;
}

static int check_all(const struct dcm_plugin *theirs, const char *path, struct plugin *p,
		     struct dcm_error *err)
{
	int r = check_head(theirs, path, err);

	if (r == 0)
		r = copy_sized(path, "description", theirs, &p->info, sizeof(p->info),
			       SIZE_1_0(dcm_plugin, output), err);
	if (r == 0)
		r = check_texts(&p->info, path, err);
	if (r == 0)
		r = copy_sized(path, "lifecycle", p->info.lifecycle, &p->lifecycle,
			       sizeof(p->lifecycle), SIZE_1_0(dcm_lifecycle, stop), err);
	p->info.lifecycle = &p->lifecycle;
	if (r == 0)
		r = check_lifecycle(&p->lifecycle, path, err);
	if (r == 0)
		r = check_ops(p, path, err);
	if (r == 0)
		r = check_options(&p->info, path, err);
	return r;
}

int plugin__check(const struct dcm_plugin *theirs, const char *path, struct plugin **ret,
		  struct dcm_error *err)
{
	CLEANUP(plugin__freep) struct plugin *p = NEW(struct plugin);
	int r;

	if (!p)
		return error__nomem(err);
	p->path = mem__dup_str(path, strlen(path));
	if (!p->path)
		return error__nomem(err);
	r = check_all(theirs, path, p, err);
	if (r < 0)
		return r;
	*ret = take_ptr(p);
	return 0;
}

void plugin__free(struct plugin *p)
{
	if (p)
		free(p->path);
	free(p);
}
