/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/loader.c - the plugin path, the dynamic linker, and what was loaded
 *
 * A plugin is known by kind and name; the first directory that has the file decides, also when the
 * file is then refused (a broken plugin must not be replaced silently by another of the same name
 * further down). Refusals are not remembered: the next loader__get() looks again, so a file that
 * was repaired loads without a restart.
 */
#include "core/plugin/loader.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/config/suggest.h"
#include "core/plugin/trust.h"

enum {
	PATH_DIRS_MAX = 32,
	DIR_FILES_MAX = 4096, /* entries of a directory that are looked at */
};

struct loader {
	char *text;			 /* the path, cut into NUL-terminated directories */
	const char *dirs[PATH_DIRS_MAX]; /* [n_dirs] */
	uint32_t n_dirs;
	bool strict;
	VEC(struct plugin *) plugins; /* loaded; never freed */
};

static int split_path(struct loader *l, struct dcm_error *err)
{
	char *rest = l->text, *dir;

	while ((dir = strsep(&rest, ":"))) {
		if (!*dir)
			continue;
		if (*dir != '/')
			return error__set(err, -EINVAL,
					  "plugin_path: \"%s\" is not absolute; begin it with /", dir);
		if (l->n_dirs == PATH_DIRS_MAX)
			return error__set(err, -EINVAL, "plugin_path: more than %d directories",
					  PATH_DIRS_MAX);
		l->dirs[l->n_dirs++] = dir;
	}
	if (l->n_dirs == 0)
		return error__set(err, -EINVAL,
				  "plugin_path: names no directory; write absolute paths, with "
				  "colons between them");
	return 0;
}

int loader__new(const char *path, bool strict, struct loader **ret, struct dcm_error *err)
{
	CLEANUP(loader__freep) struct loader *l = NEW(struct loader);
	int r;

	if (!l)
		return error__nomem(err);
	l->strict = strict;
	l->text = mem__dup_str(path, strlen(path));
	if (!l->text)
		return error__nomem(err);
	r = split_path(l, err);
	if (r < 0)
		return r;
	*ret = take_ptr(l);
	return 0;
}

void loader__free(struct loader *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->plugins.n; i++)
		plugin__free(l->plugins.v[i]);
	vec__fini(&l->plugins);
	free(l->text);
	free(l);
}

/* ---- one file ---- */

/*
 * A name for the dynamic linker that leads to the descriptor and was never used before. glibc knows
 * a library by each name it was ever opened with, and a descriptor's number comes back; so the bits
 * of a counter are written between the slashes, "/." for a one and "/" for a zero, which changes
 * the text and not the file. The counter is the process's, because the linker's memory is.
 */
static void fresh_name(int fd, char name[static 128])
{
	static _Atomic uint32_t n_names;
	uint32_t bits = atomic_fetch_add(&n_names, 1);
	int n = snprintf(name, 128, "/proc/self/fd");

	for (; bits > 0; bits >>= 1)
		n += snprintf(name + n, 128 - (size_t)n, "%s", bits & 1 ? "/." : "/");
	snprintf(name + n, 128 - (size_t)n, "/%d", fd);
}

/* dlerror()'s text begins with the name we gave, which says nothing to people. */
static const char *linker_says(const char *name)
{
	const char *text = dlerror();
	size_t n = strlen(name);

	if (!text)
		return "the dynamic linker gave no reason";
	if (strncmp(text, name, n) == 0 && strncmp(text + n, ": ", 2) == 0)
		return text + n + 2;
	return text;
}

/*
 * Of a file that was cut short the dynamic linker maps what is not there, and to touch that ends
 * the process (SIGBUS). Whatever else is wrong with a file it says itself. elf(5)
 */
static int check_whole(int fd, const char *path, struct dcm_error *err)
{
	ElfW(Ehdr) head;
	ElfW(Phdr) part;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error__sys(err, -errno, "%s: cannot be looked at", path);
	if (fd__pread_full(fd, &head, sizeof(head), 0) < 0 ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_phentsize != sizeof(part))
		return 0;
	for (unsigned i = 0; i < head.e_phnum; i++) {
		if (fd__pread_full(fd, &part, sizeof(part), head.e_phoff + i * sizeof(part)) < 0)
			part = (ElfW(Phdr)){ .p_type = PT_LOAD, .p_filesz = UINT64_MAX };
		if (part.p_type == PT_LOAD && (part.p_filesz > (uint64_t)st.st_size ||
					       part.p_offset > (uint64_t)st.st_size - part.p_filesz))
			return error__set(
				err, -ENOEXEC,
				"%s: is cut short: %lld bytes are there, its code and data "
				"need more; build or install it anew",
				path, (long long)st.st_size);
	}
	return 0;
}

/* The checked descriptor becomes code of ours. */
static int link_file(int fd, const char *path, struct plugin **ret, struct dcm_error *err)
{
	typedef const struct dcm_plugin *(*entry_fn)(void);
	char name[128];
	void *handle;
	entry_fn entry;
	int r = check_whole(fd, path, err);

	if (r < 0)
		return r;
	fresh_name(fd, name);
	handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return error__set(err, -ENOEXEC, "%s: cannot be loaded: %s; build or install it anew",
				  path, linker_says(name));
	/*
	 * ISO C has no cast from object to function pointer; POSIX says the two are alike
	 * (dlsym(3)).
	 */
	*(void **)&entry = dlsym(handle, DCM_ENTRY_SYMBOL);
	if (!entry)
		return error__set(err, -ENOEXEC, "%s: is no plugin: it does not export %s(); have it do so as <decima/plugin.h> says, or remove it",
				  path, DCM_ENTRY_SYMBOL);
	return plugin__check(entry(), path, ret, err);
}

/* It is found by the file's name, which must be its own. */
static int check_name(const struct plugin *p, const char *file, struct dcm_error *err)
{
	const char *kind = plugin__kind_name((enum dcm_kind)p->info.kind);
	char own[64];

	snprintf(own, sizeof(own), "%s_%s.so", kind, p->info.name);
	if (strcmp(file, own) == 0)
		return 0;
	return error__set(err, -ENOEXEC, "%s: calls itself %s %s; name the file %s", p->path, kind,
			  p->info.name, own);
}

static int load(const char *dir, const char *file, bool strict, struct plugin **ret, struct dcm_error *err)
{
	CLEANUP(plugin__freep) struct plugin *p = NULL;
	CLEANUP(fd__closep) int fd = -1;
	char path[PATH_MAX];
	int r;

	if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path))
		return error__set(err, -ENAMETOOLONG, "%s: the path is too long", dir);
	r = trust__open(dir, file, strict, &fd, err);
	if (r == 0)
		r = link_file(fd, path, &p, err);
	if (r == 0)
		r = check_name(p, file, err);
	if (r == 0)
		*ret = take_ptr(p);
	return r;
}

int loader__load_file(const char *file, bool strict, struct plugin **ret, struct dcm_error *err)
{
	const char *slash = strrchr(file, '/');
	CLEANUP(mem__freep)
	char *dir = slash ? mem__dup_str(file, slash == file ? 1 : (size_t)(slash - file))
			  : mem__dup_str(".", 1);

	return dir ? load(dir, slash ? slash + 1 : file, strict, ret, err) : error__nomem(err);
}

/* ---- the path ---- */

static const struct plugin *loaded(const struct loader *l, enum dcm_kind kind, const char *name)
{
	for (size_t i = 0; i < l->plugins.n; i++) {
		const struct plugin *p = l->plugins.v[i];

		if (p->info.kind == (uint32_t)kind && strcmp(p->info.name, name) == 0)
			return p;
	}
	return NULL;
}

/* "input_ebpf.so" -> kind and name; false for other files. name points into `file` up to ".so". */
static bool split_file(const char *file, enum dcm_kind *ret_kind, struct dcm_str *ret_name)
{
	struct dcm_str s = str__of(file);
	const char *sep = strchr(file, '_');

	if (!sep || !str__ends(s, STR(".so")) ||
	    plugin__kind_parse((struct dcm_str){ file, (uint32_t)(sep - file) }, ret_kind) < 0)
		return false;
	*ret_name = (struct dcm_str){ sep + 1, s.n - (uint32_t)(sep + 1 - file) - 3 };
	return ret_name->n > 0 && ret_name->n <= 32;
}

struct found {
	enum dcm_kind kind;
	char name[33];
	const char *dir;    /* of the loader */
	const char *before; /* an earlier one that has another file of this name; NULL: none has */
};

struct found_list {
	VEC(struct found) v;
};

/* The one that is used. */
static const struct found *first_of(const struct found_list *list, enum dcm_kind kind, struct dcm_str name)
{
	for (size_t i = 0; i < list->v.n; i++)
		if (list->v.v[i].kind == kind && !list->v.v[i].before &&
		    str__eq(str__of(list->v.v[i].name), name))
			return &list->v.v[i];
	return NULL;
}

static void file_of(const struct found *f, const char *dir, char ret[static PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/%s_%s.so", dir, plugin__kind_name(f->kind), f->name);
}

/* One directory may be in the path by two names. */
static bool is_same_file(const struct found *f, const char *dir)
{
	char a[PATH_MAX], b[PATH_MAX];
	struct stat of_a, of_b;

	file_of(f, f->dir, a);
	file_of(f, dir, b);
	return lstat(a, &of_a) == 0 && lstat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
	       of_a.st_ino == of_b.st_ino;
}

/* Adds the plugins of one directory. A directory that is not there has none. */
static int scan_dir(const char *dir, struct found_list *list)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	unsigned n = 0;
	int r = 0;

	while (r == 0 && d && n++ < DIR_FILES_MAX && (e = readdir(d))) {
		struct found f = { .dir = dir };
		struct dcm_str name;

		if (!split_file(e->d_name, &f.kind, &name))
			continue;
		const struct found *first = first_of(list, f.kind, name);
		if (first && is_same_file(first, dir))
			continue;
		f.before = first ? first->dir : NULL;
		memcpy(f.name, name.p, name.n);
		if (!vec__push(&list->v, f))
			r = -ENOMEM;
	}
	if (d)
		closedir(d);
	return r;
}

static int by_kind_and_name(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return x->kind != y->kind ? (int)x->kind - (int)y->kind : strcmp(x->name, y->name);
}

const char *loader__path(const struct loader *l, char *text, size_t cap)
{
	size_t n = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < l->n_dirs && n < cap; i++)
		n += (size_t)snprintf(text + n, cap - n, "%s%s", i ? ":" : "", l->dirs[i]);
	return text;
}

static int scan(const struct loader *l, struct found_list *list)
{
	for (uint32_t i = 0; i < l->n_dirs; i++) {
		int r = scan_dir(l->dirs[i], list);

		if (r < 0)
			return r;
	}
	if (list->v.n > 1)
		qsort(list->v.v, list->v.n, sizeof(list->v.v[0]), by_kind_and_name);
	return 0;
}

bool loader__nearest(const struct loader *l, enum dcm_kind kind, const char *name, char ret[static 33])
{
	struct found_list list = { 0 };
	struct suggest best = suggest__begin(str__of(name));

	if (scan(l, &list) == 0)
		for (size_t i = 0; i < list.v.n; i++)
			if (list.v.v[i].kind == kind && !list.v.v[i].before)
				suggest__offer(&best, list.v.v[i].name);
	snprintf(ret, 33, "%s", best.best ? best.best : "");
	vec__fini(&list.v);
	return ret[0];
}

/* Where was looked, and the name that comes nearest. */
static int not_found(const struct loader *l, enum dcm_kind kind, const char *name, struct dcm_error *err)
{
	struct buf where = { 0 };
	const char *kind_text = plugin__kind_name(kind);
	char nearest[33];
	bool near = loader__nearest(l, kind, name, nearest);
	int r;

	for (uint32_t i = 0; i < l->n_dirs; i++)
		buf__printf(&where, "%s%s", i ? ":" : "", l->dirs[i]);
	r = error__set(err, -ENOENT, "no %s_%s.so in %.*s; %s%s%s", kind_text, name,
		       STR_ARG(buf__view(&where)),
		       near ? "did you mean \"" : "say where it is with --plugin-path", nearest,
		       near ? "\"?" : "");
	buf__fini(&where);
	return r;
}

static int add(struct loader *l, const char *dir, enum dcm_kind kind, const char *name,
	       struct plugin **ret, struct dcm_error *err)
{
	CLEANUP(plugin__freep) struct plugin *p = NULL;
	char file[64];
	int r;

	snprintf(file, sizeof(file), "%s_%s.so", plugin__kind_name(kind), name);
	if (!vec__reserve(&l->plugins, 1))
		return error__nomem(err);
	r = load(dir, file, l->strict, &p, err);
	if (r < 0)
		return r;
	l->plugins.v[l->plugins.n++] = p;
	*ret = take_ptr(p);
	return 0;
}

int loader__get(struct loader *l, enum dcm_kind kind, const char *name, const struct plugin **ret,
		struct dcm_error *err)
{
	const struct plugin *known = loaded(l, kind, name);
	struct plugin *p = NULL;
	int r;

	if (known) {
		*ret = known;
		return 0;
	}
	if (strlen(name) > 32 || strchr(name, '/'))
		return not_found(l, kind, name, err);
	for (uint32_t i = 0; i < l->n_dirs; i++) {
		r = add(l, l->dirs[i], kind, name, &p, err);
		if (r == -ENOENT)
			continue;
		if (r == 0)
			*ret = p;
		return r;
	}
	return not_found(l, kind, name, err);
}

int loader__each(struct loader *l, loader_each_fn each, void *ctx, struct dcm_error *err)
{
	struct found_list list = { 0 };
	int r = scan(l, &list);

	if (r < 0)
		error__nomem(err);
	for (size_t i = 0; r == 0 && i < list.v.n; i++) {
		struct dcm_error why = DCM_ERROR_INIT;
		const struct found *f = &list.v.v[i];
		const struct plugin *p = NULL;
		char file[PATH_MAX];

		if (f->before)
			continue;
		file_of(f, f->dir, file);
		loader__get(l, f->kind, f->name, &p, &why);
		r = each(ctx, f->kind, f->name, file, p, p ? "" : why.text);
	}
	vec__fini(&list.v);
	return r;
}

int loader__each_shadowed(const struct loader *l, loader_shadowed_fn each, void *ctx,
			  struct dcm_error *err)
{
	struct found_list list = { 0 };
	int r = scan(l, &list);

	if (r < 0)
		error__nomem(err);
	for (size_t i = 0; r == 0 && i < list.v.n; i++) {
		const struct found *f = &list.v.v[i];
		char file[PATH_MAX], before[PATH_MAX];

		if (!f->before)
			continue;
		file_of(f, f->dir, file);
		file_of(f, f->before, before);
		r = each(ctx, f->kind, f->name, file, before);
	}
	vec__fini(&list.v);
	return r;
}
