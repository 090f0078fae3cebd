/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/contract/storage_host.c - host functions, and the way from a file to a started instance
 */
#include "tests/contract/storage_host.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/codec/wire.h"
#include "core/config/options.h"
#include "core/config/problems.h"
#include "core/config/regex.h"
#include "core/config/tree.h"
#include "tests/unit/no_metrics.h"

static struct storage *storage_of(const struct dcm_host *host)
{
	return (struct storage *)host;
}

static void host_log(const struct dcm_host *host, enum dcm_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void host_log(const struct dcm_host *host, enum dcm_log_level level, const char *fmt, ...)
{
	va_list ap;
	(void)host;

	if (level > DCM_LOG_WARNING)
		return;
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static void host_drop(const struct dcm_host *host, const char *reason, uint64_t n)
{
	(void)reason;
	atomic_fetch_add(&storage_of(host)->n_dropped, n);
}

static void host_set_state(const struct dcm_host *host, enum dcm_state state, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void host_set_state(const struct dcm_host *host, enum dcm_state state, const char *fmt, ...)
{
	(void)host;
	(void)state;
	(void)fmt;
}

static int64_t host_mono_ns(const struct dcm_host *host)
{
	return atomic_load(&storage_of(host)->mono_ns);
}

static int64_t host_real_ns(const struct dcm_host *host)
{
	return atomic_load(&storage_of(host)->real_ns);
}

static struct dcm_builder *host_builder_new(const struct dcm_host *host, uint64_t max_bytes)
{
	struct dcm_builder *b = builder__new(max_bytes);
	(void)host;

	return b;
}

static int host_encode(const struct dcm_host *host, const struct dcm_batch *batch, uint32_t profile,
		       const char *format, uint8_t **ret_data, size_t *ret_n, struct dcm_error *err)
{
	struct buf out = { 0 };
	(void)host;

	if (strcmp(format, "batch") != 0 || profile != DCM_NONE)
		return error__set(err, -ENOTSUP, "the test's host encodes whole batches only");
	int r = wire__encode(batch, &out);
	if (r < 0) {
		buf__fini(&out);
		return error__nomem(err);
	}
	*ret_data = buf__take(&out, ret_n);
	return 0;
}

static int host_decode(const struct dcm_host *host, const char *format, const uint8_t *data,
		       size_t n, struct dcm_batch **ret_batch, struct dcm_error *err)
{
	(void)host;
	if (strcmp(format, "batch") != 0)
		return error__set(err, -ENOTSUP, "the test's host decodes batches only");
	return wire__decode(data, n, ret_batch, err);
}

static bool host_regex_matches(const struct dcm_regex *regex, struct dcm_str text)
{
	return regex__matches(regex, text);
}

static int host_regex_new(const struct dcm_host *host, struct dcm_str pattern,
			  struct dcm_regex **ret_regex, struct dcm_error *err)
{
	(void)host;
	return regex__new(pattern, 0, ret_regex, err);
}

void storage__host(struct storage *s)
{
	s->host = (struct dcm_host){
		.size = sizeof(s->host),
		.abi_major = DCM_ABI_MAJOR,
		.abi_minor = DCM_ABI_MINOR,
		.instance = "under-test",
		.node = "test",
		.log = host_log,
		.drop = host_drop,
		.set_state = host_set_state,
		.metric = no_metrics__make,
		.metric_add = no_metrics__add,
		.metric_set = no_metrics__set,
		.mono_ns = host_mono_ns,
		.real_ns = host_real_ns,
		.builder_new = host_builder_new,
		.builder_free = builder__free,
		.add_string = builder__string,
		.add_mapping = builder__mapping,
		.add_function = builder__function,
		.add_process = builder__process,
		.add_location = builder__location,
		.add_stack = builder__stack,
		.add_stacks = builder__stacks,
		.add_series = builder__series,
		.add_label_set = builder__label_set,
		.add_profile = builder__profile,
		.add_row = builder__row,
		.seal = builder__seal,
		.batch_ref = batch__ref,
		.batch_unref = batch__unref,
		.encode = host_encode,
		.decode = host_decode,
		.regex_matches = host_regex_matches,
		.regex_new = host_regex_new,
		.regex_free = regex__free,
	};
}

static void *fill_config(struct storage *s, const struct dcm_table *table, const char *yaml,
			 struct dcm_error *err)
{
	struct problems problems = { 0 };
	struct options_env env = { .arena = &s->arena, .problems = &problems };
	struct tree *tree = NULL;
	void *config = NULL;

	if (tree__load_text("test", str__of(yaml), &tree, err) == 0) {
		config = options__fill_one(&env, "the plugin under test", tree->root, table);
		if (!config)
			problems__first(&problems, err);
	}
	problems__fini(&problems);
	tree__free(tree);
	return config;
}

bool storage__open_plugin(struct storage *s, const struct dcm_plugin *plugin, const char *yaml,
			  struct dcm_error *err)
{
	/* 2023-11-14, a little after the profiles of the random batches. */
	int64_t now = 1700001000000000000;

	*s = (struct storage){ .plugin = plugin, .ops = plugin->storage, .real_ns = now, .mono_ns = 1000000000 };
	storage__host(s);
	void *config = fill_config(s, plugin->options, yaml, err);
	if (!config || plugin->lifecycle->open(&s->host, config, &s->instance, err) < 0) {
		arena__fini(&s->arena);
		return false;
	}
	if (plugin->lifecycle->start && plugin->lifecycle->start(s->instance, err) < 0) {
		storage__close(s);
		return false;
	}
	return true;
}

bool storage__open(struct storage *s, const char *file, const char *yaml)
{
	struct dcm_error err = DCM_ERROR_INIT;
	void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	const struct dcm_plugin *(*entry)(void) = NULL;

	if (handle)
		*(void **)&entry = dlsym(handle, DCM_ENTRY_SYMBOL);
	const struct dcm_plugin *plugin = entry ? entry() : NULL;
	if (!plugin || plugin->kind != DCM_STORAGE) {
		fprintf(stderr, "%s: %s\n", file, handle ? "is no storage plugin" : dlerror());
		return false;
	}
	if (storage__open_plugin(s, plugin, yaml, &err))
		return true;
	fprintf(stderr, "%s\n", err.text);
	return false;
}

void storage__close(struct storage *s)
{
	const struct dcm_lifecycle *life = s->plugin ? s->plugin->lifecycle : NULL;

	if (s->instance && life->drain)
		life->drain(s->instance, s->host.mono_ns(&s->host) + 10000000000);
	if (s->instance)
		life->stop(s->instance);
	s->instance = NULL;
	arena__fini(&s->arena);
}
