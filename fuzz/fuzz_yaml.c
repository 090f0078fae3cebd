/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_yaml.c - any bytes as a configuration: tree, overrides, options, dump, description
 *
 * Lines "#set KEY=VALUE" at the beginning are overrides. Whatever fills the sample table without a
 * fault must survive being dumped and filled in again, and compare as equal.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/config/describe.h"
#include "core/config/dump.h"
#include "core/config/effective.h"
#include "core/config/options.h"
#include "core/config/section.h"
#include "tests/unit/config_sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *variable(void *ctx, const char *name)
{
	(void)ctx;
	return name[0] == 'S' ? "19" : NULL;
}

/* The target opens no file. */
static int read_secret(void *ctx, const char *path, struct buf *out)
{
	(void)ctx;
	if (path[0] == '/')
		return -ENOENT;
	buf__text(out, path);
	buf__byte(out, '\n');
	return out->error;
}

static void override(struct tree *t, const char *p, size_t n)
{
	static const char mark[] = "#set ";

	while (n > sizeof(mark) && memcmp(p, mark, sizeof(mark) - 1) == 0) {
		const char *end = memchr(p, '\n', n);
		size_t line = end ? (size_t)(end - p) : n;
		char *z = strndup(p + sizeof(mark) - 1, line - (sizeof(mark) - 1));
		struct dcm_error err = DCM_ERROR_INIT;

		if (z && tree__set(t, z, &err) && !err.text[0])
			abort();
		free(z);
		if (!end)
			return;
		n -= line + 1;
		p = end + 1;
	}
}

static void dump_and_fill(const struct options_env *env, const struct sample *a)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct tree *t = NULL;
	struct buf yaml = { 0 };
	char key[256];

	effective__yaml(&sample__table, a, NULL, EFFECTIVE_SHOW, 0, &yaml);
	if (yaml.error || tree__load_text("dump", buf__view(&yaml), &t, &err))
		abort();
	const struct sample *b = options__fill_one(env, "dump", t->root, &sample__table);
	if (!b || options__compare(&sample__table, a, b, key) != OPTIONS_SAME)
		abort();
	tree__free(t);
	buf__fini(&yaml);
}

static void use(struct tree *t)
{
	static const struct dcm_table *const tables[] = { &sample__table };
	struct describe_subject subject = { "sample", "", tables, 1, false };
	struct arena arena = { 0 };
	struct problems problems = { 0 };
	struct options_env env = { .arena = &arena,
				   .problems = &problems,
				   .get_variable = variable,
				   .read_secret = read_secret };
	struct section_instance *instances;
	struct buf out = { 0 };
	uint32_t n;

	const struct sample *s = options__fill_one(&env, "sample", t->root, &sample__table);
	if (!s != (problems.n_errors > 0))
		abort();
	if (s)
		dump_and_fill(&env, s);
	describe__yaml(&subject, t->root, 0, &out);
	section__list(&env, &section__all[DCM_INPUT], t->root, &instances, &n);
	problems__text(&problems, &out);
	problems__json(&problems, &out);
	buf__fini(&out);
	problems__fini(&problems);
	arena__fini(&arena);
}

/* A tree that was dumped reads as the same tree: its dump is the same text. */
static void dump_and_load(const struct tree *t)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct tree *again = NULL;
	struct buf a = { 0 }, b = { 0 };

	dump__node(t->root, 0, &a);
	if (a.error || tree__load_text("dump", buf__view(&a), &again, &err))
		abort();
	dump__node(again->root, 0, &b);
	if (!str__eq(buf__view(&a), buf__view(&b)))
		abort();
	tree__free(again);
	buf__fini(&a);
	buf__fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dcm_str text = { (const char *)data, (uint32_t)size };
	struct dcm_error err = DCM_ERROR_INIT;
	struct tree *t = NULL;

	if (size > 1 << 16)
		return 0;
	if (tree__load_text("fuzz.yaml", text, &t, &err)) {
		if (!err.text[0])
			abort();
		return 0;
	}
	override(t, (const char *)data, size);
	/* Aliases make much of little: what is large is bounded, and tested elsewhere. */
	if (t->n_nodes < 20000) {
		dump_and_load(t);
		use(t);
	}
	tree__free(t);
	return 0;
}
