/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_otlp_output.c - what the output otlp writes, in each version, is read again as what it was
 *
 * The reader is core/codec's, which is held against what the versions' published modules write (test_otlp.c). What does not
 * survive stands here a second time, as rules over texts: a batch and what was read must give the same lines.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/protobuf.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/codec/decode.h"
#include "core/codec/otlp.h"
#include "plugins/output/otlp/export.h"
#include "tests/unit/batch_judge.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

/* ---- a batch as lines, each once, with its sum ---- */

struct line {
	char *key;
	uint64_t value; /* may wrap */
};

struct lines {
	const struct dcm_batch *b;
	const struct numbering *as; /* expected: as it will be once it was written so; NULL: as it is */
	VEC(struct line) all;
};

static struct dcm_str str_of(const struct lines *l, uint32_t s)
{
	return l->b->strings[s];
}

static void put(struct buf *out, struct dcm_str s)
{
	buf__printf(out, "%u:", s.n);
	buf__str(out, s);
}

/* The name that a reader finds where none is told. */
static struct dcm_str name_of(const struct lines *l, const struct dcm_profile *p, uint32_t k)
{
	const struct dcm_type *types = &l->b->types[p->type_off];
	struct dcm_str names[16];
	uint32_t first = l->as->is_ranged ? 0 : k, n = l->as->is_ranged ? p->n_types : 1;

	/* A period is told once for all types. */
	if (str__eq(str_of(l, types[first].period_type), STR("cpu")))
		return STR("process_cpu");
	for (uint32_t i = 0; i < n; i++)
		names[i] = str_of(l, types[first + i].sample_type);
	return decode__usual_name(names, n);
}

static bool is_one_of(struct dcm_str s, const char *a, const char *b)
{
	return str__eq(s, str__of(a)) || str__eq(s, str__of(b));
}

static uint32_t temporality_of(const struct lines *l, const struct dcm_profile *p,
			       const struct dcm_type *t)
{
	struct dcm_str s = str_of(l, t->sample_type);

	if (is_one_of(s, "inuse_space", "inuse_objects") || str__eq(s, STR("goroutine")))
		return DCM_GAUGE;
	if (l->as->has_temporality && t->temporality != DCM_GAUGE)
		return t->temporality;
	return is_one_of(s, "alloc_space", "alloc_objects") && p->duration_ns == 0 ? DCM_CUMULATIVE
										   : DCM_DELTA;
}

static void put_type(struct buf *out, const struct lines *l, const struct dcm_profile *p, uint32_t k)
{
	const struct dcm_type *t = &l->b->types[p->type_off + k];

	put(out, l->as ? name_of(l, p, k) : str_of(l, t->name));
	put(out, str_of(l, t->sample_type));
	put(out, str_of(l, t->sample_unit));
	put(out, str_of(l, t->period_type));
	put(out, str_of(l, t->period_unit));
	buf__printf(out, " %u at %lld for %lld each %lld\n",
		    l->as ? temporality_of(l, p, t) : t->temporality, (long long)p->time_ns,
		    (long long)p->duration_ns, (long long)p->period);
}

static struct dcm_str label_of(const struct lines *l, struct dcm_span series, const char *name)
{
	for (uint32_t i = 0; i < series.n; i++)
		if (str__eq(str_of(l, l->b->pairs[series.off + i].name), str__of(name)))
			return str_of(l, l->b->pairs[series.off + i].value);
	return STR("");
}

/* Names that random batches have, in order; `a.b` never has a value. */
static void put_series(struct buf *out, const struct lines *l, struct dcm_span series)
{
	static const char *const names[] = { "comm", "host_name", "node", "otel_scope_name",
					     "service_name" };
	uint32_t n = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct dcm_str value = label_of(l, series, names[i]);

		n += value.n > 0;
		if (l->as && str__eq(str__of(names[i]), STR("host_name")))
			value = label_of(l, series, "node");
		if (l->as && str__eq(str__of(names[i]), STR("otel_scope_name")))
			value = STR("decima");
		if (value.n)
			buf__printf(out, " %s=%.*s", names[i], STR_ARG(value));
	}
	assert_int_equal(n, series.n);
	buf__text(out, "\n");
}

static void put_labels(struct buf *out, const struct lines *l, struct dcm_span set)
{
	for (uint32_t i = 0; i < set.n; i++) {
		const struct dcm_label *label = &l->b->labels[set.off + i];
		bool is_text = label->unit == DCM_NONE;

		if (is_text && label->str == 0)
			continue;
		put(out, str_of(l, label->name));
		if (is_text)
			put(out, str_of(l, label->str));
		else
			buf__printf(out, "=%lld", (long long)label->num);
		if (!is_text)
			put(out, l->as && l->as->is_ranged ? STR("") : str_of(l, label->unit));
	}
	buf__text(out, "\n");
}

/* A location as it is told. */
struct told {
	uint32_t kind, addr_kind, mapping_kind; /* DCM_NONE: no mapping */
	uint64_t address;
	struct dcm_str file, build_id;
	uint32_t n_lines;
};

static bool says_something(const struct dcm_line *line)
{
	return line->function != DCM_NONE || line->line != 0;
}

static void expect_native(struct told *t, const struct dcm_mapping *m)
{
	bool is_inside;

	if (t->mapping_kind == DCM_NONE) {
		t->addr_kind = t->address ? DCM_ADDR_RUNTIME : DCM_ADDR_NONE;
		return;
	}
	switch (t->mapping_kind) {
	case DCM_MAPPING_KERNEL:
	case DCM_MAPPING_MODULE:
		t->addr_kind = DCM_ADDR_VADDR;
		return;
	case DCM_MAPPING_ANON:
		t->addr_kind = DCM_ADDR_RUNTIME;
		t->file = STR("");
		if (m->limit == 0)
			t->mapping_kind = DCM_NONE;
		return;
	default:
		break;
	}
	if (t->addr_kind != DCM_ADDR_RUNTIME)
		return;
	is_inside = m->start && m->limit != UINT64_MAX && t->address >= m->start && t->address < m->limit;
	if (is_inside) {
		t->addr_kind = DCM_ADDR_FILE_OFFSET;
		t->address = t->address - m->start + m->offset;
	} else {
		t->build_id = STR("");
	}
}

static void expect_kernel(struct told *t)
{
	if (t->mapping_kind == DCM_NONE || t->mapping_kind == DCM_MAPPING_ANON)
		t->file = STR("[kernel]");
	t->mapping_kind = t->mapping_kind == DCM_MAPPING_MODULE ? DCM_MAPPING_MODULE : DCM_MAPPING_KERNEL;
	t->addr_kind = DCM_ADDR_VADDR;
}

static void expect_location(struct told *t, const struct dcm_mapping *m)
{
	bool is_named_only = (t->kind == DCM_FRAME_JIT || t->kind == DCM_FRAME_INTERPRETED) && t->n_lines;

	if ((t->build_id.n && t->build_id.p[0] == '~') || t->mapping_kind == DCM_MAPPING_ANON)
		t->build_id = STR("");
	if (is_named_only || t->kind == DCM_FRAME_NOTE) {
		t->addr_kind = DCM_ADDR_NONE;
		t->address = 0;
		t->mapping_kind = DCM_NONE;
	} else if (t->kind == DCM_FRAME_KERNEL) {
		expect_kernel(t);
	} else {
		expect_native(t, m);
	}
}

static void put_location(struct buf *out, const struct lines *l, const struct dcm_location *at)
{
	const struct dcm_mapping *m = at->mapping == DCM_NONE ? NULL : &l->b->mappings[at->mapping];
	struct told t = {
		at->kind, at->addr_kind, m ? m->kind : DCM_NONE, at->address, STR(""), STR(""), 0
	};

	for (uint32_t i = 0; i < at->n_lines; i++)
		t.n_lines += says_something(&l->b->lines[at->line_off + i]);
	if (m) {
		t.file = str_of(l, m->file);
		t.build_id = str_of(l, m->build_id);
	}
	if (l->as)
		expect_location(&t, m);
	buf__printf(out, "kind %u addr %u:%llx", t.kind, t.addr_kind, (unsigned long long)t.address);
	if (t.mapping_kind != DCM_NONE) {
		buf__printf(out, " in %u ", t.mapping_kind);
		put(out, t.file);
		put(out, t.build_id);
	}
	for (uint32_t i = 0; i < at->n_lines; i++) {
		const struct dcm_line *line = &l->b->lines[at->line_off + i];
		if (!says_something(line))
			continue;
		buf__printf(out, " line %lld:%u", (long long)line->line, line->column);
		if (line->function == DCM_NONE)
			continue;
		const struct dcm_function *f = &l->b->functions[line->function];
		put(out, str_of(l, f->name));
		put(out, str_of(l, f->system_name));
		put(out, str_of(l, f->file));
		buf__printf(out, " from %lld", (long long)f->start_line);
	}
	buf__text(out, "\n");
}

static void add_row(struct lines *l, const struct dcm_profile *p, uint32_t k, uint64_t i)
{
	int64_t value = l->b->values[p->value_off + i * p->n_types + k];
	struct dcm_span stack = l->b->stacks[l->b->row_stacks[p->row_off + i]];
	struct buf key = { 0 };

	if (value == 0)
		return;
	put_type(&key, l, p, k);
	put_series(&key, l, l->b->series[p->series]);
	put_labels(&key, l, l->b->label_sets[l->b->row_labels[p->row_off + i]]);
	for (uint32_t s = 0; s < stack.n; s++)
		put_location(&key, l, &l->b->locations[l->b->stack_locations[stack.off + s]]);
	buf__byte(&key, 0);
	assert_int_equal(key.error, 0);
	assert_true(vec__push(&l->all, (struct line){ (char *)key.data, (uint64_t)value }));
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->key, ((const struct line *)b)->key);
}

static void add_batch(struct lines *l, const struct dcm_batch *b)
{
	l->b = b;
	for (uint32_t i = 0; i < b->n_profiles; i++)
		for (uint32_t k = 0; k < b->profiles[i].n_types; k++)
			for (uint32_t r = 0; r < b->profiles[i].n_rows; r++)
				add_row(l, &b->profiles[i], k, r);
}

/* Of them all; as NULL: what was decoded. */
static struct lines lines_of(struct dcm_batch *const *batches, uint32_t n_batches,
			     const struct numbering *as)
{
	struct lines l = { .as = as };
	size_t n = 0;

	for (uint32_t i = 0; i < n_batches; i++)
		add_batch(&l, batches[i]);
	if (l.all.n)
		qsort(l.all.v, l.all.n, sizeof(*l.all.v), by_key);
	for (size_t i = 0; i < l.all.n; i++) {
		if (n && strcmp(l.all.v[n - 1].key, l.all.v[i].key) == 0) {
			l.all.v[n - 1].value += l.all.v[i].value;
			free(l.all.v[i].key);
		} else {
			l.all.v[n++] = l.all.v[i];
		}
	}
	l.all.n = n;
	return l;
}

static void lines_fini(struct lines *l)
{
	for (size_t i = 0; i < l->all.n; i++)
		free(l->all.v[i].key);
	vec__fini(&l->all);
}

/* Of two keys: from the line on in which they differ. */
static size_t difference(const char *a, const char *b)
{
	size_t line = 0;

	for (size_t i = 0; a[i] && a[i] == b[i]; i++)
		if (a[i] == '\n')
			line = i + 1;
	return line;
}

static void assert_same_lines(const struct lines *got, const struct lines *want, const char *what)
{
	for (size_t i = 0; i < got->all.n && i < want->all.n; i++) {
		size_t at = difference(got->all.v[i].key, want->all.v[i].key);
		if (strcmp(got->all.v[i].key, want->all.v[i].key) != 0)
			fail_msg("%s: entry %zu is\n%.200s\nnot\n%.200s", what, i,
				 got->all.v[i].key + at, want->all.v[i].key + at);
		if (got->all.v[i].value != want->all.v[i].value)
			fail_msg("%s: %lld, not %lld, of\n%s", what, (long long)got->all.v[i].value,
				 (long long)want->all.v[i].value, want->all.v[i].key);
	}
	if (got->all.n != want->all.n)
		fail_msg("%s: %zu lines, not %zu", what, got->all.n, want->all.n);
}

/* ---- there and back ---- */

static struct buf request_of(const struct numbering *as, const struct dcm_batch *b, uint32_t first,
			     uint32_t end)
{
	struct buf out = { 0 };
	struct export *e = export__new(as, b);

	assert_non_null(e);
	for (uint32_t i = first; i < end; i++)
		assert_int_equal(export__add(e, i), 0);
	size_t said = export__n_bytes(e);
	export__take(e, &out);
	assert_int_equal(out.error, 0);
	/* What a limit is held against: the resources and a few bytes beside. */
	assert_in_range(out.n, 0, said + 64 + 200 * (end - first));
	export__free(e);
	return out;
}

/* All of the batches in one. */
static struct buf request_of_all(const struct numbering *as, struct dcm_batch *const *batches, uint32_t n)
{
	struct buf out = { 0 };
	struct export *e = export__new(as, batches[0]);

	assert_non_null(e);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(i ? export__turn(e, batches[i]) : 0, 0);
		for (uint32_t k = 0; k < batches[i]->n_profiles; k++)
			assert_int_equal(export__add(e, k), 0);
	}
	export__take(e, &out);
	assert_int_equal(out.error, 0);
	export__free(e);
	return out;
}

static void check_batches(const struct numbering *as, struct dcm_batch *const *batches, uint32_t n,
			  const char *what)
{
	struct buf request = request_of_all(as, batches, n);
	struct decode_notes notes = { 0 };
	const struct decode_options o = { .notes = &notes };
	struct dcm_error err = DCM_ERROR_INIT;
	CLEANUP(batch__unrefp) struct dcm_batch *got = NULL;
	struct lines want = lines_of(batches, n, as);

	if (otlp__decode(request.data, request.n, &o, &got, &err) < 0)
		fail_msg("%s: %s", what, err.text);
	assert_null(batch_judge__fault(got, false));
	struct lines have = lines_of(&got, 1, NULL);
	assert_same_lines(&have, &want, what);
	if (want.all.n)
		assert_string_equal(notes.old_version ? notes.old_version : "1.10", as->name);
	lines_fini(&have);
	lines_fini(&want);
	buf__fini(&request);
}

static void test_round_trip(void **state)
{
	static const unsigned flags[] = { 0, RANDOM_FILES_ONLY, RANDOM_NASTY, RANDOM_STAND_INS,
					  RANDOM_ALL_NAMED };
	char what[64];

	(void)state;
	for (size_t v = 0; v < N_NUMBERINGS; v++)
		for (size_t f = 0; f < sizeof(flags) / sizeof(flags[0]); f++)
			for (uint64_t seed = 1; seed <= 12; seed++) {
				CLEANUP(batch__unrefp)
				struct dcm_batch *b = random_batch__new(seed, flags[f]);

				snprintf(what, sizeof(what), "%s, flags %u, seed %llu",
					 numberings[v].name, flags[f], (unsigned long long)seed);
				check_batches(&numberings[v], &b, 1, what);
			}
}

/* What they have in common is there once: of one that comes twice, nothing but its samples is added. */
static void test_several_batches(void **state)
{
	struct dcm_batch *b[8];
	char what[64];

	(void)state;
	for (uint32_t i = 0; i < 8; i++)
		b[i] = random_batch__new(100 + i, i % 2 ? RANDOM_NASTY : 0);
	for (size_t v = 0; v < N_NUMBERINGS; v++) {
		struct dcm_batch *const twice[] = { b[0], b[0] };
		struct buf one = request_of_all(&numberings[v], b, 1),
			   two = request_of_all(&numberings[v], twice, 2);

		snprintf(what, sizeof(what), "%s, eight batches", numberings[v].name);
		check_batches(&numberings[v], b, 8, what);
		snprintf(what, sizeof(what), "%s, one twice", numberings[v].name);
		check_batches(&numberings[v], twice, 2, what);
		assert_true(numberings[v].has_tables_in_profile || two.n < 2 * one.n);
		buf__fini(&one);
		buf__fini(&two);
	}
	for (uint32_t i = 0; i < 8; i++)
		batch__unref(b[i]);
}

/* A request of some of the profiles has those, and of the tables what they need. */
static void test_part_of_a_batch(void **state)
{
	struct dcm_batch *b = NULL;

	(void)state;
	for (uint64_t seed = 1; !b || b->n_profiles < 4; seed++) {
		batch__unref(b);
		b = random_batch__new(seed, RANDOM_POSITIVE);
	}
	for (size_t v = 0; v < N_NUMBERINGS; v++) {
		struct buf all = request_of(&numberings[v], b, 0, b->n_profiles);
		struct buf some = request_of(&numberings[v], b, 1, 3),
			   again = request_of(&numberings[v], b, 1, 3);

		assert_true(some.n < all.n);
		assert_int_equal(some.n, again.n);
		assert_memory_equal(some.data, again.data, some.n);
		buf__fini(&all);
		buf__fini(&some);
		buf__fini(&again);
	}
	batch__unref(b);
}

/* ---- what servers check: each table begins with the zero value, and has nothing twice ---- */

static bool is_field(const struct pb_field *f, uint32_t number)
{
	return f->number == number && f->type == PB_BYTES;
}

static void check_table(const struct pb_field *dictionary, uint32_t table)
{
	struct pb_field entries[8192], f;
	size_t n = 0;

	for (struct pb_reader r = pb__reader(dictionary->p, dictionary->n); pb__next(&r, &f);)
		if (is_field(&f, table))
			entries[n++] = f;
	assert_in_range(n, 1, 8192);
	assert_int_equal(entries[0].n, 0);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			assert_false(entries[i].n == entries[k].n &&
				     memcmp(entries[i].p, entries[k].p, entries[i].n) == 0);
}

static void test_tables(void **state)
{
	CLEANUP(batch__unrefp) struct dcm_batch *b = random_batch__new(7, RANDOM_POSITIVE);

	(void)state;
	for (size_t v = 0; v < N_NUMBERINGS && !numberings[v].has_tables_in_profile; v++) {
		struct buf request = request_of(&numberings[v], b, 0, b->n_profiles);
		struct pb_reader r = pb__reader(request.data, request.n);
		struct pb_field f;
		bool is_there = false;

		while (pb__next(&r, &f)) {
			for (uint32_t t = 0; is_field(&f, 2) && t < N_TABLES; t++)
				if (numberings[v].tables[t])
					check_table(&f, numberings[v].tables[t]);
			is_there |= is_field(&f, 2);
		}
		assert_true(is_there);
		buf__fini(&request);
	}
}

/* ---- names ---- */

static bool has(const struct buf *request, const char *what)
{
	return memmem(request->data, request->n, what, strlen(what)) != NULL;
}

static struct dcm_batch *labelled(const char *const (*labels)[2], uint32_t n)
{
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	struct dcm_batch *batch = NULL;
	struct dcm_pair pairs[16];
	const struct dcm_label pid = { .name = builder__string(b, STR("pid")), .num = 42, .unit = 0 };
	const struct dcm_type type = { .name = builder__string(b, STR("x")),
				       .sample_type = builder__string(b, STR("y")) };
	const struct dcm_profile head = { .time_ns = 1 };
	uint32_t set;

	for (uint32_t i = 0; i < n; i++)
		pairs[i] = (struct dcm_pair){ builder__string(b, str__of(labels[i][0])),
					      builder__string(b, str__of(labels[i][1])) };
	struct dcm_profile of = head;
	of.series = builder__series(b, pairs, n);
	set = builder__label_set(b, &pid, 1);
	builder__profile(b, &of, &type, 1);
	builder__row(b, builder__stack(b, NULL, 0), set, &(int64_t){ 5 });
	assert_int_equal(builder__seal(b, &batch, NULL), 0);
	return batch;
}

static void test_names(void **state)
{
	static const char *const pod[][2] = {
		{ "service_name", "a" },
		{ "node", "b" },
		{ "pod", "c" },
		{ "namespace", "d" },
		{ "container", "e" },
		{ "container_id", "f" },
		{ "comm", "g" },
		{ "team", "h" },
		{ "otel_scope_name", "profiler" },
		{ "otel_scope_version", "2.0" },
	};
	static const char *const host[][2] = { { "node", "b" }, { "container", "e" }, { "exe", "/bin/g" } };
	static const char *const both[][2] = { { "node", "b" }, { "host_name", "h" } };
	struct dcm_batch *b = labelled(pod, 10);
	struct buf r = request_of(&numberings[0], b, 0, 1);

	(void)state;
	assert_true(has(&r, "service.name") && has(&r, "k8s.node.name") && has(&r, "k8s.pod.name"));
	assert_true(has(&r, "k8s.namespace.name") && has(&r, "k8s.container.name") &&
		    has(&r, "container.id"));
	assert_true(has(&r, "process.executable.name") && has(&r, "team") && has(&r, "process.pid"));
	assert_true(has(&r, "\x0a\x08profiler\x12\x03"
			    "2.0"));
	assert_false(has(&r, "host.name") || has(&r, "otel_scope") || has(&r, "decima"));
	buf__fini(&r);
	batch__unref(b);
	b = labelled(host, 3);
	r = request_of(&numberings[0], b, 0, 1);
	assert_true(has(&r, "host.name") && has(&r, "container.name") &&
		    has(&r, "process.executable.path"));
	assert_true(has(&r, "\x0a\x06"
			    "decima"));
	assert_false(has(&r, "k8s."));
	buf__fini(&r);
	batch__unref(b);
	b = labelled(both, 2);
	r = request_of(&numberings[0], b, 0, 1);
	assert_true(has(&r, "host.name") && has(&r, "k8s.node.name"));
	buf__fini(&r);
	batch__unref(b);
}

static void test_nothing_to_say(void **state)
{
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	const struct dcm_type type = { .name = builder__string(b, STR("x")),
				       .sample_type = builder__string(b, STR("y")) };
	const struct dcm_profile head = { .series = builder__series(b, NULL, 0), .time_ns = 1 };
	struct dcm_batch *batch = NULL;

	(void)state;
	builder__profile(b, &head, &type, 1);
	assert_int_equal(builder__seal(b, &batch, NULL), 0);
	for (size_t v = 0; v < N_NUMBERINGS; v++) {
		struct export *e = export__new(&numberings[v], batch);

		assert_int_equal(export__add(e, 0), 0);
		assert_int_equal(export__n_profiles(e), 0);
		export__free(e);
	}
	batch__unref(batch);
}

static void test_memory_runs_out(void **state)
{
	CLEANUP(batch__unrefp) struct dcm_batch *b = random_batch__new(5, RANDOM_POSITIVE);
	CLEANUP(batch__unrefp) struct dcm_batch *other = random_batch__new(6, RANDOM_POSITIVE);
	bool is_done = false;

	(void)state;
	for (size_t v = 0; v < N_NUMBERINGS; v++, is_done = false)
		for (uint64_t n = 1; !is_done; n++) {
			struct buf out = { 0 };
			int r = 0;

			failmalloc__arm_once(n);
			struct export *e = export__new(&numberings[v], b);
			for (uint32_t i = 0; e && r == 0 && i < b->n_profiles; i++)
				r = export__add(e, i);
			if (e && r == 0)
				r = export__turn(e, other);
			for (uint32_t i = 0; e && r == 0 && i < other->n_profiles; i++)
				r = export__add(e, i);
			if (e && r == 0)
				export__take(e, &out);
			is_done = !failmalloc__disarm();
			assert_int_equal(is_done, e && r == 0 && !out.error);
			export__free(e);
			buf__fini(&out);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),	cmocka_unit_test(test_several_batches),
		cmocka_unit_test(test_part_of_a_batch), cmocka_unit_test(test_tables),
		cmocka_unit_test(test_names),		cmocka_unit_test(test_nothing_to_say),
		cmocka_unit_test(test_memory_runs_out),
	};

	return cmocka_run_group_tests_name("otlp_output", tests, NULL, NULL);
}
