/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_golden.c - files that an earlier version wrote are still read, to the last
 * number
 *
 * tests/golden/store-N is the directory of a small store as version N of the formats was when it
 * was settled, and tests/golden/store-N.txt says what is in it. Neither is ever changed: a program
 * that reads them differently loses somebody's data. After a new version of a format
 *
 *	test_golden make tests/golden/store-N > tests/golden/store-N.txt; rm tests/golden/store-N/LOCK
 *
 * makes the next pair, whose text is compared by eye with make_store() below.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/le.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/storage/local/block_file.h"
#include "plugins/storage/local/commit.h"
#include "plugins/storage/local/era_record.h"
#include "plugins/storage/local/log_file.h"
#include "core/disk/numbered.h"
#include "tests/storage/block_rows.h"
#include "tests/storage/sim_disk.h"
#include "tests/unit/paths.h"

enum { ERA_KIND = 2, ERA = 1, EXTRA = 9, MAX_BYTES = 1 << 20, N_STACKS = 300 };
static const int64_t begin_ms = 1700000000000;
static const char *const dirs[] = { ".", "wal", "blocks", "eras" };

/* Ends the test, or the making. */
#define MUST(call)                                                                                 \
	do {                                                                                       \
		int must_ = (call);                                                                \
		if (must_ < 0)                                                                     \
			fail_msg("%s: %s", #call, strerror(-must_));                               \
	} while (0)

static const char *era_log(char to[static 40])
{
	return numbered__path(to, 40, ERAS_DIR, ERA, ".log");
}

/* -------------------------------------------------------------------------------------------------
 * What is in a store, as text
 */

static void dump_frame_of(struct buf *out, const struct dict *d, const struct dict_location *l)
{
	const struct dict_lines *lines = l->lines;

	buf__printf(out, " %#" PRIx64, l->address);
	for (uint32_t i = 0; lines && i < lines->n; i++) {
		const struct dcm_function *f = POOL_AT(&d->functions, struct dcm_function,
						       lines->v[i].function);

		buf__printf(out, "=%.*s:%" PRId64, STR_ARG(dict__str(d, f->name)), lines->v[i].line);
	}
}

static void dump_stack(struct buf *out, const struct dict *d, uint32_t id)
{
	const struct dict_stack *stack = dict__stack_at(d, id);
	uint32_t locations[8];

	assert_true(stack->n <= 8);
	dict__stack_locations(d, stack, locations);
	buf__printf(out, "  stack %u:", id);
	for (uint32_t i = 0; i < stack->n; i++)
		dump_frame_of(out, d, dict__location_at(d, locations[i]));
	buf__text(out, "\n");
}

static void dump_dict(struct buf *out, const struct dict *d)
{
	const struct dict_counts n = dict__counts(d);

	for (uint32_t i = 0; i < n.stacks; i++)
		dump_stack(out, d, i);
	for (uint32_t i = 0; i < n.label_sets; i++) {
		const struct dict_label_set *set = dict__label_set_at(d, i);

		buf__printf(out, "  label set %u:", i);
		for (uint32_t k = 0; k < set->n; k++)
			buf__printf(out, " %.*s=%.*s/%" PRId64,
				    STR_ARG(dict__str(d, set->labels[k].name)),
				    STR_ARG(dict__str(d, set->labels[k].str)), set->labels[k].num);
		buf__text(out, "\n");
	}
	for (uint32_t i = 0; i < n.series; i++) {
		const struct dict_series *series = dict__series_at(d, i);

		buf__printf(out, "  series %u:", i);
		for (uint32_t k = 0; k < series->n; k++)
			buf__printf(out, " %.*s=%.*s", STR_ARG(dict__str(d, series->pairs[k].name)),
				    STR_ARG(dict__str(d, series->pairs[k].value)));
		buf__text(out, "\n");
	}
	for (uint32_t i = 0; i < n.types; i++)
		buf__printf(out, "  type %u: %.*s\n", i, STR_ARG(dict__type_at(d, i)->text));
}

static int take_record(void *ctx, const struct frame *f)
{
	uint64_t n_lost = 0;
	int r = era_record__decode(ctx, f->payload, f->n, &n_lost);

	assert_int_equal(n_lost, 0);
	return r;
}

static void dump_era(struct buf *out, struct vfs *v, const struct manifest_era *e)
{
	struct dict *d = dict__new();
	struct vfs_map image;
	struct log_found found;
	char path[40];

	assert_non_null(d);
	buf__printf(out, "era %u from %" PRId64 ", %" PRIu64 " records\n", e->number, e->begin_ms,
		    e->n_records);
	MUST(vfs__map(v, era_log(path), LOG_FILE_MAX_BYTES, &image));
	MUST(log_file__read_map(&image, path, ERA_KIND, take_record, d, &found, NULL));
	vfs_map__fini(&image);
	assert_true(found.n_records == e->n_records && found.n_lost == 0);
	dump_dict(out, d);
	dict__unref(d);
}

static void dump_profile(struct buf *out, const struct plain_profile *p)
{
	buf__printf(out, "  at %" PRId64 " series %u, %" PRId64 " ns, period %" PRId64 "\n",
		    p->time_ms, p->series, p->duration_ns, p->period);
	for (uint32_t i = 0; i < p->n_rows; i++) {
		buf__printf(out, "    stack %u label set %u:", p->rows[i].stack, p->rows[i].label_set);
		for (uint32_t t = 0; t < p->n_types; t++)
			buf__printf(out, " type %u %" PRId64, p->types[t], p->rows[i].values[t]);
		buf__text(out, "\n");
	}
}

static void dump_block(struct buf *out, struct vfs *v, const struct manifest_block *b)
{
	struct dcm_error err = DCM_ERROR_INIT;
	plain_profiles profiles = { 0 };
	struct block_map map;
	uint64_t first;

	buf__printf(out, "block %" PRIu64 " of era %u, level %u, up to frame %" PRIu64 "\n",
		    b->number, b->era, b->level, b->last_lsn);
	if (block_map__open(&map, v, b, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(block__verify(&map.block, NULL, NULL, &first), 0);
	assert_true(map.block.info.n_rows == b->n_rows && map.block.info.n_profiles == b->n_profiles);
	assert_true(map.block.info.first_ms == b->first_ms && map.block.info.last_ms == b->last_ms);
	plain__read(&profiles, &map.block, 0);
	for (size_t i = 0; i < profiles.n; i++)
		dump_profile(out, &profiles.v[i]);
	plain__fini(&profiles);
	block_map__close(&map);
}

static int dump_frame(void *ctx, const struct frame *f)
{
	buf__printf(ctx, "frame %" PRIu64 " of type %u: %.*s\n", f->lsn, (unsigned)f->type,
		    (int)f->n, (const char *)f->payload);
	return 0;
}

static void complain(void *ctx, enum dcm_log_level level, const char *sentence)
{
	(void)level;
	buf__printf(ctx, "complaint: %s\n", sentence);
}

/* Opens the store as the plugin does. 0, or what commit__open() returns with its sentence. */
static int dump(struct vfs *v, struct buf *out, struct dcm_error *err)
{
	const struct commit_options o = { .wal = { .segment_bytes = 1 << 16,
						   .pending_max_bytes = 1 << 20,
						   .align = 512,
						   .report = complain,
						   .report_ctx = out },
					  .each = dump_frame,
					  .ctx = out };
	struct commit_found found;
	struct commit *c;
	int r = commit__open(v, &o, &found, &c, err);

	if (r < 0)
		return r;
	const struct manifest *m = commit__manifest(c);
	const struct manifest_extra *extra = manifest__extra(m, EXTRA);

	buf__printf(out, "sealed up to frame %" PRIu64 "\n", m->sealed_lsn);
	for (size_t i = 0; i < m->eras.n; i++)
		dump_era(out, v, &m->eras.v[i]);
	for (size_t i = 0; i < m->blocks.n; i++)
		dump_block(out, v, &m->blocks.v[i]);
	if (extra)
		buf__printf(out, "extra: %.*s\n", (int)extra->n, (const char *)extra->bytes);
	commit__close(c);
	assert_int_equal(out->error, 0);
	return 0;
}

/* -------------------------------------------------------------------------------------------------
 * A store to be kept
 */

static uint32_t make_location(struct dict *d, const char *function, uint64_t address)
{
	const struct dcm_function f = {
		.name = dict__string(d, (struct dcm_str){ function, (uint32_t)strlen(function) })
	};
	const struct dcm_line line = { .function = dict__function(d, &f), .line = 7 };
	const struct dcm_location l = {
		.mapping = DCM_NONE, .process = DCM_NONE, .address = address, .n_lines = 1
	};

	return dict__location(d, address, &l, &line);
}

static void make_type(struct dict *d, struct dcm_str name, struct dcm_str unit, uint32_t temporality)
{
	const uint32_t n = dict__string(d, name), u = dict__string(d, unit);

	dict__type(d, &(struct dcm_type){ .name = n,
					  .sample_type = n,
					  .sample_unit = u,
					  .period_type = n,
					  .period_unit = u,
					  .temporality = temporality });
}

/* N_STACKS stacks, label sets 0 and 1, series 0 and 1, types 0 to 3. */
static struct dict *make_dict(void)
{
	struct dict *d = dict__new();

	assert_non_null(d);
	const uint32_t names[] = { make_location(d, "main", 0x1000), make_location(d, "work", 0x2000),
				   make_location(d, "idle", 0xffffffff81000000) };

	for (uint32_t i = 0; i < 3; i++)
		dict__stack(d, (const uint32_t[]){ names[i], names[0] }, i ? 2 : 1);
	for (uint32_t i = 3; i < N_STACKS; i++)
		dict__stack(d, (const uint32_t[]){ make_location(d, "work", 0x2000 + i), names[0] }, 2);
	const uint32_t tid = dict__string(d, STR("tid"));
	dict__label_set(d, &(struct dcm_label){ .name = tid, .num = 41, .unit = 0 }, 1);
	const uint32_t service = dict__string(d, STR("service_name"));
	dict__series(d, &(struct dcm_pair){ service, dict__string(d, STR("api")) }, 1);
	dict__series(d, &(struct dcm_pair){ service, dict__string(d, STR("batch")) }, 1);
	make_type(d, STR("cpu"), STR("nanoseconds"), DCM_DELTA);
	make_type(d, STR("space"), STR("bytes"), DCM_GAUGE);
	make_type(d, STR("objects"), STR("count"), DCM_GAUGE);
	make_type(d, STR("wall"), STR("nanoseconds"), DCM_DELTA);
	return d;
}

static int sync_log(void *ctx, struct dcm_error *err)
{
	return log_file__sync(ctx, err);
}

static int list_era(struct manifest *next)
{
	const struct manifest_era e = { .number = ERA, .begin_ms = begin_ms - 1000, .n_records = 1 };

	if (next->eras.n == 0 && !vec__push(&next->eras, e))
		return -ENOMEM;
	return manifest__set_extra(next, EXTRA, "of somebody", 11);
}

static int edit(void *ctx, struct manifest *next, struct dcm_error *err)
{
	(void)ctx;
	(void)err;
	return list_era(next);
}

/* More rows than a page, with a few large numbers among small ones. */
static int write_page(struct block_writer *w, int64_t from_ms)
{
	const struct chunk_profile profile = { from_ms, 1, 1, N_STACKS };
	uint32_t stacks[N_STACKS];
	int64_t values[N_STACKS];

	for (uint32_t i = 0; i < N_STACKS; i++) {
		stacks[i] = i;
		values[i] = i % 100 ? 1000 * (i % 7 + 1) : 1000000000;
	}
	return block_writer__chunk(w, &(struct chunk_source){ .series = 1,
							      .n_types = 1,
							      .types = { 3 },
							      .n_profiles = 1,
							      .profiles = &profile,
							      .n_rows = N_STACKS,
							      .stacks = stacks,
							      .values = values });
}

/* Two series of CPU time, and of one heap, with two types, every kind of number, and label sets. */
static int write_chunks(struct block_writer *w, int64_t from_ms)
{
	const struct chunk_profile cpu[] = { { from_ms, 10000000000, 52631578, 2 },
					     { from_ms + 10000, 10000000000, 52631578, 1 },
					     { from_ms + 20000, 10000000000, 52631578, 0 } };
	const struct chunk_profile heap[] = { { from_ms + 5, 0, 524288, 3 }, { from_ms + 5, 1, 512, 1 } };
	struct chunk_source s = { .series = 0,
				  .n_types = 1,
				  .types = { 0 },
				  .n_profiles = 3,
				  .profiles = cpu,
				  .n_rows = 3,
				  .stacks = (const uint32_t[]){ 1, 2, 2 },
				  .labels = (const uint32_t[]){ 1, 0, 1 },
				  .values = (const int64_t[]){ 52631578, 105263156, 52631578 } };
	int r = block_writer__chunk(w, &s);

	s.series = 1;
	s.labels = NULL;
	s.values = (const int64_t[]){ 1, INT64_MAX, INT64_MAX }; /* wide */
	if (r == 0)
		r = block_writer__chunk(w, &s);
	s.n_types = 2;
	s.types[0] = 1;
	s.types[1] = 2;
	s.n_profiles = 2;
	s.profiles = heap;
	s.n_rows = 4;
	s.stacks = (const uint32_t[]){ 0, 1, 2, 1 };
	s.values = (const int64_t[]){ 4096, -8192, 0, 12288, 1, 2, 3, 0 };
	if (r == 0)
		r = block_writer__chunk(w, &s);
	return r < 0 ? r : write_page(w, from_ms);
}

struct making {
	uint64_t number;
	int zstd_level;
};

static int write_block(void *ctx, struct vfs_file *f, struct manifest_block *entry, struct dcm_error *err)
{
	const struct making *m = ctx;
	struct block_options o = { .era = ERA, .level = m->zstd_level > 0, .zstd_level = m->zstd_level };
	struct block_file out = { .file = f };
	struct block_writer *w;
	struct block_info info;
	int r = 0;

	(void)err;
	memset(o.id, (int)m->number, sizeof(o.id));
	w = block_writer__new(&o, block_file__put, &out);
	assert_non_null(w);
	r = write_chunks(w, begin_ms + (int64_t)m->number * 3600000);
	if (r == 0)
		r = block_writer__finish(w, &info);
	if (r == 0)
		r = block_file__end(&out);
	block_writer__free(w);
	block_file__fini(&out);
	block_file__describe(&info, entry);
	entry->last_lsn = m->number;
	return r;
}

/* An era with a record, two blocks, frames that are in them, and two that are not. */
static void make_store(struct vfs *v)
{
	const struct dict_counts none = { .strings = 1, .label_sets = 1 };
	const struct commit_options o = {
		.wal = { .segment_bytes = 4096, .pending_max_bytes = 1 << 20, .align = 512 }, .each = dump_frame
	};
	struct dict *d = make_dict();
	struct manifest_block entry;
	struct buf record = { .n = 0 };
	struct commit_found found;
	struct log_found log_found;
	struct log_file *log;
	struct commit *c;
	char path[40];
	uint64_t lsn;

	MUST(commit__open(v, &o, &found, &c, NULL));
	MUST(log_file__open(v, era_log(path), ERA_KIND, take_record, d, &log_found, &log, NULL));
	MUST(era_record__encode(d, &none, NULL, 0, &record));
	MUST(log_file__append(log, 1, record.data, record.n, &lsn, NULL));
	for (uint64_t i = 1; i <= 2; i++) {
		struct making m = { i, i == 2 };

		MUST(wal__append(commit__wal(c), 1, "this is in a block", 18, &lsn, NULL));
		MUST(wal__sync(commit__wal(c), lsn, NULL));
		lsn = wal__cut(commit__wal(c));
		MUST(commit__write_block(c, write_block, &m, &entry, NULL));
		MUST(commit__apply(c,
				   &(struct commit_change){ .add = &entry,
							    .n_add = 1,
							    .sealed_lsn = lsn,
							    .sync = sync_log,
							    .edit = edit,
							    .ctx = log },
				   NULL));
	}
	MUST(wal__append(commit__wal(c), 1, "this is not", 11, &lsn, NULL));
	MUST(wal__append(commit__wal(c), 1, "nor is this", 11, &lsn, NULL));
	MUST(wal__sync(commit__wal(c), lsn, NULL));
	log_file__close(log);
	commit__close(c);
	buf__fini(&record);
	dict__unref(d);
}

/* -------------------------------------------------------------------------------------------------
 * Tests
 */

struct copying {
	struct vfs *from, *to;
	const char *dir;
};

static int copy_file(void *ctx, const char *name)
{
	const struct copying *c = ctx;
	struct buf bytes = { .n = 0 };
	struct vfs_file *f;
	char path[80];

	snprintf(path, sizeof(path), "%s%s%s", strcmp(c->dir, ".") ? c->dir : "",
		 strcmp(c->dir, ".") ? "/" : "", name);
	if (vfs__read_file(c->from, path, MAX_BYTES, &bytes) < 0) {
		buf__fini(&bytes);
		return 0; /* a directory */
	}
	MUST(vfs__open(c->to, path, VFS_WRITE | VFS_CREATE, &f));
	MUST(vfs__write(f, bytes.data, bytes.n, 0));
	vfs__close(f);
	buf__fini(&bytes);
	return 0;
}

/* The golden store on a simulated disk: opening one changes it. */
static struct sim *copy_of(const char *dir)
{
	struct sim *sim = sim__new(1, SIM_PREFIX);
	struct copying c = { .to = sim__vfs(sim) };
	struct dcm_error err = DCM_ERROR_INIT;

	if (vfs_posix__new(dir, true, &c.from, &err) < 0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		c.dir = dirs[i];
		if (i)
			MUST(vfs__mkdir(c.to, dirs[i]));
		MUST(vfs__list(c.from, dirs[i], copy_file, &c));
	}
	vfs_posix__free(c.from);
	return sim;
}

/* What make_store() means, as text. */
static void read_expected(struct buf *ret)
{
	struct vfs *golden;

	MUST(vfs_posix__new(TEST_SRCDIR "/tests/golden", true, &golden, NULL));
	MUST(vfs__read_file(golden, "store-1.txt", MAX_BYTES, ret));
	vfs_posix__free(golden);
}

static void version_1_is_read(void **state)
{
	(void)state;
	struct sim *sim = copy_of(TEST_SRCDIR "/tests/golden/store-1");
	struct buf got = { .n = 0 }, expected = { .n = 0 };
	struct dcm_error err = DCM_ERROR_INIT;

	read_expected(&expected);
	if (dump(sim__vfs(sim), &got, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(expected.n > 1000);
	assert_string_equal((const char *)got.data, (const char *)expected.data);
	buf__fini(&got);
	buf__fini(&expected);
	sim__free(sim);
}

/* What is made today is read today: the text above is what make_store() means. */
static void todays_version_is_read(void **state)
{
	(void)state;
	struct sim *sim = sim__new(1, SIM_PREFIX);
	struct buf got = { .n = 0 }, expected = { .n = 0 };
	struct dcm_error err = DCM_ERROR_INIT;

	read_expected(&expected);
	make_store(sim__vfs(sim));
	sim__restart(sim, true);
	MUST(dump(sim__vfs(sim), &got, &err));
	assert_string_equal((const char *)got.data, (const char *)expected.data);
	buf__fini(&got);
	buf__fini(&expected);
	sim__free(sim);
}

/* A store of a later version is refused with a sentence, and nothing of it is touched. */
static void later_versions_are_refused(void **state)
{
	(void)state;
	struct sim *sim = copy_of(TEST_SRCDIR "/tests/golden/store-1");
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf out = { .n = 0 };
	size_t n, again;

	uint8_t *p = sim__peek(sim, MANIFEST_PATH, &n);
	for (uint8_t *copy = p; copy < p + n; copy += n / 2) {
		const size_t used = (size_t)le__get64(copy + 16);

		le__put32(copy + 8, 2);
		le__put64(copy + 80, hash__bytes(copy + 88, used - 88,
						 hash__bytes(copy, 80, 0x646563696d616d66)));
	}
	uint8_t *before = mem__dup(p, n);
	assert_int_equal(dump(sim__vfs(sim), &out, &err), -EPROTONOSUPPORT);
	assert_non_null(strstr(err.text, "later version of Decima"));
	p = sim__peek(sim, MANIFEST_PATH, &again);
	assert_true(n == again && before);
	assert_memory_equal(p, before, n);
	free(before);
	buf__fini(&out);
	sim__free(sim);
}

static int make(const char *dir)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf out = { .n = 0 };
	struct vfs *v;

	if (vfs_posix__new(dir, false, &v, &err) < 0) {
		fprintf(stderr, "test_golden: %s\n", err.text);
		return 1;
	}
	make_store(v);
	struct sim *sim = copy_of(dir);
	MUST(dump(sim__vfs(sim), &out, &err));
	sim__free(sim);
	fwrite(out.data, 1, out.n, stdout);
	buf__fini(&out);
	vfs_posix__free(v);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version_1_is_read),
		cmocka_unit_test(todays_version_is_read),
		cmocka_unit_test(later_versions_are_refused),
	};

	if (argc == 3 && strcmp(argv[1], "make") == 0)
		return make(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
