/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_options_random.c - what is filled in, dumped as YAML and filled in again is the
 * same
 *
 * For random tables (every type, three levels deep, with rows that lend or stand for) and random
 * structs of them. The dumped text is also the oracle for comparing: structs are equal when their
 * texts are.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/config/effective.h"
#include "core/config/options.h"
#include "core/config/table.h"
#include "tests/unit/unit.h"

struct random {
	uint64_t seed;
	struct arena *arena;
};

static uint32_t next(struct random *r)
{
	r->seed = r->seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(r->seed >> 33);
}

static uint32_t below(struct random *r, uint32_t n)
{
	return next(r) % n;
}

static const char *random_text(struct random *r)
{
	static const char *const parts[] = { "a", "B",	  "0",	" ",	": ",	    "#",
					     "'", "\"",	  "\\", "\n",	"\t",	    ",",
					     "[", "}",	  "${", "$",	"$$",	    "null",
					     "~", "true", "-",	"\x7f", "\xc3\xa4", "\xe2\x80\xa9",
					     "%" };
	char text[64] = "";
	size_t n = 0;

	for (uint32_t k = below(r, 6); k > 0; k--) {
		const char *part = parts[below(r, sizeof(parts) / sizeof(parts[0]))];
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", part);
	}
	return arena__printf(r->arena, "%s", text);
}

static const char *const random_choices[] = { "no", "null", "x y", "B", NULL };
static const char *const random_regexes[] = { "a|b", "(.*)", "${1}", "[a-z]+: x", "" };

static const char *const random_json[] = {
	"{}",	   "[]",     "true",
	"-1.5e+7", "\"01\"", "{\"a ${b\": [1, null, \"true\"], \"\": {\"c\\\"\": \"\"}}"
};

static struct dcm_table *random_table(struct random *r, unsigned depth, bool is_union);

static enum dcm_option_type random_type(struct random *r, bool element, unsigned depth)
{
	for (;;) {
		enum dcm_option_type t = (enum dcm_option_type)below(r, DCM_OPT_SHARED);
		bool holds = t == DCM_OPT_LIST || t == DCM_OPT_MAP;
		bool nests = holds || t == DCM_OPT_STRUCT || t == DCM_OPT_UNION;

		if (!(element && holds) && !(depth == 0 && nests))
			return t;
	}
}

/* A default that reads; texts must survive the expansion, so there is no `${` in them. */
static const char *random_default(struct random *r, const struct dcm_option *row)
{
	if (below(r, 2))
		return NULL;
	switch (row->type) {
	case DCM_OPT_BOOL:
		return "true";
	case DCM_OPT_INT:
	case DCM_OPT_FLOAT:
		return "17";
	case DCM_OPT_DURATION:
		return "3s";
	case DCM_OPT_SIZE:
		return "3KiB";
	case DCM_OPT_CHOICE:
		return "x y";
	case DCM_OPT_STRING:
		return "some $text: ";
	default:
		return NULL;
	}
}

static struct dcm_table *random_table(struct random *r, unsigned depth, bool is_union)
{
	struct dcm_table *t = arena__zalloc(r->arena, 1, sizeof(*t));
	uint32_t n = 1 + below(r, 6), offset = 0;
	struct dcm_option *rows = arena__zalloc(r->arena, n, sizeof(*rows));
	/* One in eight stands for its only value, one row in eight lends its keys to the table. */
	bool transparent = !is_union && n == 1 && below(r, 2);

	for (uint32_t i = 0; i < n; i++) {
		struct dcm_option *row = &rows[i];
		row->type = random_type(r, false, depth);
		bool holds = row->type == DCM_OPT_LIST || row->type == DCM_OPT_MAP;
		row->element = holds ? random_type(r, true, depth) : DCM_OPT_BOOL;
		enum dcm_option_type of = holds ? row->element : row->type;
		if (transparent && row->type == DCM_OPT_STRUCT)
			transparent = false;
		bool lends = !is_union && row->type == DCM_OPT_STRUCT && below(r, 8) == 0;
		row->name = transparent || lends
				    ? ""
				    : arena__printf(r->arena, "r%u_%u", i, below(r, 1u << 30));
		row->offset = offset;
		row->doc = "Doc.";
		row->choices = of == DCM_OPT_CHOICE ? random_choices : NULL;
		row->unit = (of == DCM_OPT_INT || of == DCM_OPT_FLOAT) && below(r, 2) ? "Hz" : NULL;
		row->flags = (below(r, 8) == 0 ? DCM_OPT_NO_ENV : 0) |
			     (below(r, 8) == 0 ? DCM_OPT_RESTART : 0);
		if (of == DCM_OPT_STRUCT || of == DCM_OPT_UNION)
			row->table = random_table(r, depth - 1, of == DCM_OPT_UNION);
		if (lends && table__is_transparent(row->table, &(struct dcm_option){ 0 }))
			row->name = "lent";
		row->def = is_union ? NULL : random_default(r, row);
		offset += ((uint32_t)table__size_of(row) + 7) & ~7u;
	}
	*t = (struct dcm_table){ .size = sizeof(*t),
				 .option_size = sizeof(*rows),
				 .struct_size = is_union ? 0 : offset,
				 .n_options = n,
				 .options = rows };
	return t;
}

static void random_struct(struct random *r, const struct dcm_table *t, char *to);

/* Any value of the row's type that a file could give; in_list: it cannot be absent. */
static void random_value(struct random *r, const struct dcm_option *row, char *to, bool must)
{
	struct dcm_option element = table__element(row);
	size_t size = table__size_of(&element);
	uint32_t n = below(r, 4);
	double numbers[] = { 0, -1.5, 1e300, 0.1, 3, 5e-324 };
	int64_t integers[] = { 0, -1, 7, INT64_MAX, INT64_MIN, 3600000000000 };

	switch (row->type) {
	case DCM_OPT_BOOL:
		*(bool *)to = below(r, 2);
		break;
	case DCM_OPT_INT:
	case DCM_OPT_DURATION:
	case DCM_OPT_SIZE:
		*(int64_t *)to = below(r, 2) ? integers[below(r, 6)] : (int64_t)next(r) << below(r, 32);
		break;
	case DCM_OPT_FLOAT:
		*(double *)to = below(r, 2) ? numbers[below(r, 6)]
					    : (double)next(r) / (1 + below(r, 1000));
		break;
	case DCM_OPT_CHOICE:
		*(int32_t *)to = (int32_t)below(r, 4);
		break;
	case DCM_OPT_REGEX:
		*(const char **)to = must || below(r, 4) ? random_regexes[below(r, 5)] : NULL;
		break;
	case DCM_OPT_JSON:
		*(const char **)to = must || below(r, 4) ? random_json[below(r, 6)] : NULL;
		break;
	case DCM_OPT_STRING:
	case DCM_OPT_SECRET:
	case DCM_OPT_SELECTOR:
		*(const char **)to = must || row->def || below(r, 4) ? random_text(r) : NULL;
		break;
	case DCM_OPT_STRUCT:
		random_struct(r, row->table, to);
		break;
	case DCM_OPT_UNION: {
		struct dcm_union *u = (struct dcm_union *)to;
		*u = (struct dcm_union){ -1, NULL };
		if (!must && below(r, 3) == 0)
			break;
		u->which = (int32_t)below(r, row->table->n_options);
		struct dcm_option kind = table__row(row->table, (uint32_t)u->which);
		u->value = arena__zalloc(r->arena, 1, table__size_of(&kind));
		random_value(r, &kind, u->value, true);
		break;
	}
	default: {
		const char **keys = arena__zalloc(r->arena, n, sizeof(*keys));
		char *items = n ? arena__zalloc(r->arena, n, size) : NULL;
		for (uint32_t i = 0; i < n; i++) {
			keys[i] = arena__printf(r->arena, "%s%u", random_text(r), i);
			random_value(r, &element, items + i * size, true);
		}
		if (row->type == DCM_OPT_LIST)
			*(struct dcm_list *)to = (struct dcm_list){ items, n };
		else
			*(struct dcm_map *)to = (struct dcm_map){ keys, items, n };
		break;
	}
	}
}

static void random_struct(struct random *r, const struct dcm_table *t, char *to)
{
	for (uint32_t i = 0; i < t->n_options; i++) {
		struct dcm_option row = table__row(t, i);
		bool must = !row.name[0] && row.type != DCM_OPT_STRUCT;
		random_value(r, &row, to + row.offset, must);
	}
}

/* What the YAML fills, or the test fails with what was said about it. */
static void *fill_again(const struct dcm_table *t, struct arena *arena, struct buf *yaml)
{
	struct problems problems = { 0 };
	struct options_env env = { .arena = arena, .problems = &problems };
	struct dcm_error err = DCM_ERROR_INIT;
	struct tree *tree = NULL;

	if (tree__load_text("dump", buf__view(yaml), &tree, &err))
		fail_msg("%s\n%s", err.text, (const char *)yaml->data);
	void *v = options__fill_one(&env, "", tree->root, t);
	if (!v && problems__first(&problems, &err))
		fail_msg("%s\n%s", err.text, (const char *)yaml->data);
	tree__free(tree);
	problems__fini(&problems);
	return v;
}

/* Returns whether the two structs that were made differ. */
static bool round_trip(uint64_t seed, struct arena *arena)
{
	struct random r = { seed, arena };
	struct dcm_table *t = random_table(&r, 3, false);
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf yaml = { 0 }, other_yaml = { 0 };
	char key[256];

	if (table__check(t, &err))
		fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
	if (table__is_transparent(t, &(struct dcm_option){ 0 }))
		return false; /* is no map, so it cannot stand at the top */
	char *a = arena__zalloc(arena, 1, t->struct_size);
	char *other = arena__zalloc(arena, 1, t->struct_size);
	random_struct(&r, t, a);
	random_struct(&r, t, other);
	effective__yaml(t, a, NULL, EFFECTIVE_SHOW, 0, &yaml);
	effective__yaml(t, other, NULL, EFFECTIVE_SHOW, 0, &other_yaml);
	assert_int_equal(yaml.error | other_yaml.error, 0);

	const void *b = fill_again(t, arena, &yaml);
	if (options__compare(t, a, b, key) != OPTIONS_SAME)
		fail_msg("seed %llu: %s differs\n%s", (unsigned long long)seed, key,
			 (const char *)yaml.data);
	bool same = str__eq(buf__view(&yaml), buf__view(&other_yaml));
	if ((options__compare(t, a, other, key) == OPTIONS_SAME) != same)
		fail_msg("seed %llu: compared wrongly", (unsigned long long)seed);
	buf__fini(&yaml);
	buf__fini(&other_yaml);
	return !same;
}

static void any_struct_survives_dump_and_fill(void **state)
{
	struct arena arena = { 0 };
	unsigned n_different = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 3000; seed++) {
		n_different += round_trip(seed, &arena);
		arena__reset(&arena);
	}
	assert_true(n_different > 2000);
	arena__fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_struct_survives_dump_and_fill),
	};
	return cmocka_run_group_tests_name("options_random", tests, NULL, NULL);
}
