/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_golden_answers.c - whole stores that an earlier version left answer as they did
 *
 * tests/golden/whole-1 is a directory with all that the local store can leave in one: blocks of
 * every level in several eras, batches in several segments of the log, late ones and states that
 * were replaced, removals that no block knows of yet, what was lost and set aside, and each extra of
 * the manifest that a store of few senders has (test_seen.c has the others). Its log has whole
 * batches, and that of tests/golden/whole-2 rows; nothing else tells the two apart. tests/golden/memory-1 is a backup of `memory`, which was told the same; and
 * tests/golden/answers-1.txt is what `memory` answered then. None of them is ever changed: a program
 * that answers otherwise reads somebody's data wrongly. After a new version of a format
 *
 *	test_golden_answers make DIR
 *
 * makes DIR/whole, DIR/memory and DIR/answers.txt, the next three. A question that is added below
 * needs them too: the ones that are kept are asked what they were.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "plugins/storage/local/age.h"
#include "plugins/storage/local/block_file.h"
#include "plugins/storage/local/extras.h"
#include "plugins/storage/local/losses.h"
#include "plugins/storage/local/quarantine.h"
#include "plugins/storage/local/removal.h"
#include "plugins/storage/local/rework.h"
#include "plugins/storage/local/upkeep.h"
#include "tests/contract/storage_random.h"
#include "tests/unit/folder.h"
#include "tests/unit/paths.h"
#include "tests/unit/random_batch.h"

#define LOCAL_FILE  TEST_BUILDDIR "/plugins/.libs/storage_local.so"
#define MEMORY_FILE TEST_BUILDDIR "/plugins/.libs/storage_memory.so"
#define GOLDEN	    TEST_SRCDIR "/tests/golden"
#define BASE_MS	    (RANDOM_BASE_NS / 1000000)
#define HOUR_MS	    INT64_C(3600000)
#define BOUNDS	    "max_bytes: 1GiB, retention: 0"

DEFINE_FOLDER(dir, "golden", 0700);

/* -------------------------------------------------------------------------------------------------
 * What is written, and when
 */

enum { LOST, STEADY = 13, N_BATCHES, LOST_SEED = 7, N_STEADY = 60, MAX_BYTES = 1 << 22 };

/*
 * Hours after the base at which each batch is. The border of two eras is between 25 and 26, that of
 * two days between 1 and 2.
 */
static const int64_t hours[N_BATCHES] = {
	[LOST] = -240, 0, 0, 0, 0, 20, 20, 48, 48, 20, 48, 0, 49, [STEADY] = 20
};

/*
 * Profile i of a series: ten seconds after the one before, but where there are none; it lasts about
 * that long, and what its numbers are not whole in differs with `odd`.
 */
static struct dcm_profile steady_profile(uint32_t i, bool odd, int64_t base_ns)
{
	const int64_t window = i + i / 7 * 3 + i / 20 * 2;

	return (struct dcm_profile){
		.time_ns = base_ns + (window * 10000 + i % 3) * 1000000,
		.duration_ns = 10000000000 + (i % 11) * (odd ? 1234567 : 1000000),
		.period = odd ? 52631578 + i % 2 : 52631578,
	};
}

/* As a sampler makes them: one series with spans of whole ms, and one with none. */
static struct dcm_batch *make_steady(int64_t base_ns)
{
	struct dcm_builder *b = builder__new(0);
	struct dcm_batch *batch = NULL;

	assert_non_null(b);
	builder__set_source(b, (struct dcm_hash){ 1, 2 }, STEADY);
	const uint32_t cpu = builder__string(b, STR("cpu")),
		       ns = builder__string(b, STR("nanoseconds"));
	const struct dcm_type type = {
		builder__string(b, STR("process_cpu")), cpu, ns, cpu, ns, DCM_DELTA
	};
	const struct dcm_location l = {
		.mapping = DCM_NONE, .process = DCM_NONE, .address = 0x2000, .addr_kind = DCM_ADDR_RUNTIME
	};
	const uint32_t location = builder__location(b, &l, NULL, 0);
	const uint32_t stacks[] = { builder__stack(b, NULL, 0), builder__stack(b, &location, 1) };

	for (unsigned odd = 0; odd < 2; odd++) {
		const struct dcm_pair pair = { builder__string(b, STR("service_name")),
					       builder__string(b, odd ? STR("odd") : STR("even")) };
		const uint32_t series = builder__series(b, &pair, 1);

		for (uint32_t i = 0; i < N_STEADY; i++) {
			struct dcm_profile p = steady_profile(i, odd, base_ns);

			p.series = series;
			builder__profile(b, &p, &type, 1);
			for (uint32_t k = 0; k < i % 3; k++)
				builder__row(b, stacks[k], 0, &(int64_t){ 52631578 * (i % 5 + 1) });
		}
	}
	assert_int_equal(builder__seal(b, &batch, NULL), 0);
	builder__free(b);
	return batch;
}

static struct dcm_batch *make_batch(uint32_t i)
{
	const int64_t base_ns = RANDOM_BASE_NS + hours[i] * HOUR_MS * 1000000;
	struct random r = { i + 1 };
	struct dcm_batch *b;

	if (i == STEADY)
		b = make_steady(base_ns);
	else if (i == LOST)
		b = random_batch__of((struct dcm_hash){ 3, 4 }, i, LOST_SEED, RANDOM_DELTA_ONLY, base_ns);
	else
		b = storage_random__batch(&r, i, 0, base_ns);
	assert_non_null(b);
	return b;
}

/* What goes: rows of a type by a sample label, and all of a service for a while. */
struct removals {
	struct dcm_matcher matchers[3];
	struct dcm_select v[2];
};

static void removals__init(struct removals *r, const struct dcm_host *host)
{
	*r = (struct removals){
		.matchers = { { .op = DCM_RE, .name = STR("thread_name"), .value = STR("work.*") },
			      { .op = DCM_NE, .name = STR("node"), .value = STR("n1") },
			      { .op = DCM_EQ, .name = STR("service_name"), .value = STR("web") } },
		.v = { { .size = sizeof(struct dcm_select),
			 .type = STR("process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta"),
			 .matchers = r->matchers,
			 .n_matchers = 2,
			 .from_ms = BASE_MS - HOUR_MS,
			 .to_ms = INT64_MAX },
		       { .size = sizeof(struct dcm_select),
			 .matchers = r->matchers + 2,
			 .n_matchers = 1,
			 .from_ms = BASE_MS,
			 .to_ms = BASE_MS + 30 * HOUR_MS } },
	};
	struct dcm_regex *regex = NULL;
	assert_int_equal(host->regex_new(host, r->matchers[0].value, &regex, NULL), 0);
	r->matchers[0].regex = regex;
}

static void removals__fini(struct removals *r, const struct dcm_host *host)
{
	host->regex_free((struct dcm_regex *)r->matchers[0].regex);
}

/* -------------------------------------------------------------------------------------------------
 * What is asked
 */

#define CPU	"process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta"
#define SAMPLES "process_cpu:samples:count:cpu:nanoseconds:delta"
#define ALLOC	"memory:alloc_space:bytes:space:bytes"
#define INUSE	"memory:inuse_space:bytes:space:bytes"

static const struct dcm_matcher api[] = {
	{ .op = DCM_EQ, .name = { "service_name", 12 }, .value = { "api", 3 } }
};
static const struct dcm_matcher of_threads[] = {
	{ .op = DCM_NE, .name = { "thread_name", 11 }, .value = { "main", 4 } },
	{ .op = DCM_NE, .name = { "service_name", 12 }, .value = { "batch", 5 } },
};
static const struct dcm_str service = { "service_name", 12 };
static const struct dcm_str several[] = { { "node", 4 }, { "thread_name", 11 }, { "bytes", 5 } };

#define SEL(type_, from, to)                                                                       \
	{                                                                                          \
		.size = sizeof(struct dcm_select), .type = { type_, sizeof(type_) - 1 },           \
		.from_ms = (from), .to_ms = (to)                                                   \
	}
#define ALL(type_)	   SEL(type_, 0, INT64_MAX)
#define HOURS(type_, a, b) SEL(type_, BASE_MS + (a)*HOUR_MS, BASE_MS + (b)*HOUR_MS)
#define OF(matchers_)                                                                              \
	.matchers = (matchers_), .n_matchers = sizeof(matchers_) / sizeof((matchers_)[0])
#define BY(labels_) .by = { (labels_), sizeof(labels_) / sizeof((labels_)[0]) }

static const struct asked questions[] = {
	{ .what = ASK_TYPES, .sel = { ALL("") } },
	{ .what = ASK_TYPES, .sel = { HOURS("", 10, 30) } },
	{ .what = ASK_LABELS, .sel = { ALL("") } },
	{ .what = ASK_VALUES, .sel = { ALL("") }, .name = { "service_name", 12 } },
	{ .what = ASK_VALUES, .sel = { ALL("") }, .name = { "thread_name", 11 } },
	{ .what = ASK_VALUES, .sel = { HOURS(CPU, 0, 30) }, .name = { "bytes", 5 } },
	{ .what = ASK_SERIES, .sel = { ALL("") } },
	{ .what = ASK_POINTS, .sel = { ALL(CPU) }, .step_ms = 3600000, .by = { &service, 1 } },
	{ .what = ASK_POINTS, .sel = { ALL(SAMPLES) }, BY(several) },
	{ .what = ASK_POINTS, .sel = { ALL(ALLOC) }, .step_ms = 60000 },
	{ .what = ASK_POINTS, .sel = { HOURS(INUSE, 0, 48) }, .by = { &service, 1 } },
	{ .what = ASK_POINTS, .sel = { ALL("goroutine:goroutine:count:goroutine:count") }, .step_ms = 1000 },
	{ .what = ASK_POINTS, .sel = { ALL("decima_quality:samples:count:::delta") }, .step_ms = 86400000 },
	{ .what = ASK_MERGE, .sel = { ALL(CPU) }, .n_sel = 1, .by = { &service, 1 } },
	{ .what = ASK_MERGE, .sel = { ALL(CPU) }, .n_sel = 1, BY(several) },
	{ .what = ASK_MERGE, .sel = { ALL(ALLOC) }, .n_sel = 1 },
	{ .what = ASK_MERGE, .sel = { HOURS(ALLOC, 20, 50) }, .n_sel = 1, .by = { &service, 1 } },
	{ .what = ASK_MERGE, .sel = { HOURS("memory:alloc_objects:count:space:bytes", 0, 50) }, .n_sel = 1 },
	{ .what = ASK_MERGE, .sel = { ALL(INUSE) }, .n_sel = 1, .by = { several + 2, 1 } },
	{ .what = ASK_MERGE, .sel = { HOURS(SAMPLES, 0, 30), HOURS(SAMPLES, 30, 60) }, .n_sel = 2 },
};
enum { N_QUESTIONS = sizeof(questions) / sizeof(questions[0]) };

/* What is lost began at several times. */
static void count_gap(void *ctx, const struct dcm_gap *gap)
{
	assert_true(gap->from_ms >= BASE_MS + hours[LOST] * HOUR_MS);
	assert_true(gap->to_ms > gap->from_ms + 1 && gap->to_ms < BASE_MS);
	assert_true(gap->n_profiles > 1);
	++*(unsigned *)ctx;
}

/*
 * Who asks for all is told what is lost; of those who ask for later times only they who ask for
 * increases may be, which may have begun in it.
 */
static bool is_told(const struct asked *a, unsigned n_gaps, unsigned n_lost)
{
	if (a->sel[0].from_ms == 0)
		return n_gaps == n_lost;
	return n_gaps == 0 || (n_gaps == n_lost && a->what >= ASK_POINTS &&
			       str__starts(a->sel[0].type, STR("memory:alloc")));
}

/* All, one service, and what two labels are not, one of which is a sample's. n_lost: times. */
static void ask(struct storage *s, const struct asked *question, unsigned n_lost, struct buf *out)
{
	const struct dcm_matcher *const matchers[] = { NULL, api, of_threads };

	for (unsigned k = 0; k < 3; k++) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct buf answer = { .n = 0 };
		struct asked a = *question;
		unsigned n_gaps = 0;
		struct dcm_budget budget = { .gap = count_gap, .gap_ctx = &n_gaps };
		char text[1024];

		for (unsigned i = 0; i < 2; i++) {
			a.sel[i].matchers = matchers[k];
			a.sel[i].n_matchers = k;
		}
		a.sel[0].budget = &budget;
		a.n_sel = a.n_sel ? a.n_sel : 1;
		question__describe(&a, text, sizeof(text));
		buf__printf(out, "%s\n", text);
		if (answers__ask(s, &a, &answer, &err) < 0)
			fail_msg("%s: %s", text, err.text);
		buf__append(out, answer.data, answer.n);
		buf__fini(&answer);
		if (!is_told(&a, n_gaps, n_lost))
			fail_msg("%s: %u gaps were told", text, n_gaps);
	}
}

static void ask_all(struct storage *s, unsigned n_lost, struct buf *out)
{
	for (size_t i = 0; i < N_QUESTIONS; i++)
		ask(s, &questions[i], n_lost, out);
	assert_int_equal(out->error, 0);
}

/* -------------------------------------------------------------------------------------------------
 * A store and a backup to be kept
 */

struct making {
	struct storage memory, local; /* the latter for its host */
	struct vfs *vfs;
	struct store *store;
	char yaml[1024];
};

static void set_clock(struct making *m, int64_t hour)
{
	atomic_store(&m->memory.real_ns, RANDOM_BASE_NS + hour * HOUR_MS * 1000000);
	atomic_store(&m->local.real_ns, RANDOM_BASE_NS + hour * HOUR_MS * 1000000);
}

static void complain(void *ctx, enum dcm_log_level level, const char *sentence)
{
	(void)ctx;
	(void)level;
	print_message("%s\n", sentence);
}

static void open_store(struct making *m)
{
	const struct store_options o = { .seal_ms = HOUR_MS,
					 .head_max_bytes = 64 << 20,
					 .segment_bytes = 1 << 13,
					 .align = 512,
					 .report = complain };
	struct dcm_error err = DCM_ERROR_INIT;
	struct commit_found found;

	if (store__open(&m->local.host, m->vfs, &o, &found, &m->store, &err) < 0)
		fail_msg("%s", err.text);
}

static void note_done(void *ctx, int status)
{
	*(int *)ctx = status;
}

static void write_batch(struct making *m, uint32_t i)
{
	struct dcm_batch *b = make_batch(i);
	int status = -EINPROGRESS;

	assert_int_equal(store__write(m->store, &b, 1, note_done, &status, NULL), 0);
	assert_int_equal(status, 0);
	if (i != LOST)
		assert_int_equal(m->memory.ops->write(m->memory.instance, &b, 1, NULL, NULL, NULL), 0);
	batch__unref(b);
}

static void write_block(struct making *m, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i <= to; i++)
		write_batch(m, i);
	assert_int_equal(upkeep__seal(m->store, NULL), 0);
}

/* A block that nobody can open, of which somebody has told. */
static void lose_the_first_block(struct making *m)
{
	char path[BLOCK_PATH_BYTES];
	struct vfs_file *f = NULL;
	struct vfs_stat st;
	uint8_t byte;

	set_clock(m, -239);
	open_store(m);
	write_block(m, LOST, LOST);
	assert_int_equal(m->store->blocks.n, 1);
	commit__block_path(path, m->store->blocks.v[0]->entry.number);
	store__close(m->store);
	assert_int_equal(vfs__open(m->vfs, path, VFS_WRITE, &f), 0);
	assert_int_equal(vfs__stat(f, &st), 0);
	assert_int_equal(vfs__read(f, &byte, 1, st.bytes - 9), 0);
	byte ^= 4;
	assert_int_equal(vfs__write(f, &byte, 1, st.bytes - 9), 0);
	vfs__close(f);
	open_store(m);
	atomic_store(&m->store->blocks.v[0]->told, true);
	assert_int_equal(rework__rescue(m->store, NULL, NULL), 1);
	assert_int_equal(m->store->blocks.n, 0);
}

static void compact_all(struct store *s)
{
	int r;

	while ((r = rework__compact(s, NULL, NULL)) > 0)
		;
	assert_int_equal(r, 0);
}

static void remove_some(struct making *m)
{
	struct removals r;

	removals__init(&r, &m->local.host);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t n = 0, n_memory = 0;

		assert_int_equal(removal__select(m->store, &r.v[i], &n, NULL), 0);
		assert_int_equal(m->memory.ops->remove(m->memory.instance, &r.v[i], &n_memory, NULL), 0);
		assert_true(n > 0 && n == n_memory);
	}
	removals__fini(&r, &m->local.host);
}

/* Ends with both closed; what they answer is in `answers`. */
static void make_stores(const char *to, struct buf *answers)
{
	struct making m = { .store = NULL };
	struct dcm_error err = DCM_ERROR_INIT;
	char path[512];

	assert_true(storage__open(&m.memory, MEMORY_FILE, "{ " BOUNDS " }"));
	storage__host(&m.local);
	snprintf(path, sizeof(path), "%s/whole", to);
	assert_int_equal(vfs_posix__new(path, false, &m.vfs, &err), 0);
	lose_the_first_block(&m);
	set_clock(&m, 1);
	write_block(&m, 1, 2);
	write_block(&m, 3, 4);
	set_clock(&m, 24);
	write_block(&m, 5, 5);
	write_block(&m, 6, 6);
	write_block(&m, STEADY, STEADY);
	compact_all(m.store);
	set_clock(&m, 60);
	write_block(&m, 7, 7);
	write_block(&m, 8, 8);
	write_batch(&m, 9);
	write_batch(&m, 10);
	remove_some(&m);
	write_batch(&m, 11);
	write_batch(&m, 12);
	store__close(m.store);
	vfs_posix__free(m.vfs);
	ask_all(&m.memory, 0, answers);
	snprintf(path, sizeof(path), "%s/memory", to);
	assert_int_equal(m.memory.ops->backup(m.memory.instance, path, &err), 0);
	storage__close(&m.memory);
	/* What flock() was asked for; who opens it makes another. */
	assert_int_equal(shell("rm '%s/whole/LOCK'", to), 0);
}

/* -------------------------------------------------------------------------------------------------
 * Tests
 */

static void compare(const struct buf *expected, const struct buf *got, const char *what)
{
	struct buf difference = { .n = 0 };

	assert_true(expected->n > 10000);
	if (answers__differ(expected, got, &difference))
		fail_msg("%s:\n%.*s", what, (int)difference.n, (const char *)difference.data);
	buf__fini(&difference);
}

static void open_dir(struct storage *s, const char *file, const char *path, bool read_only)
{
	char yaml[1024];

	snprintf(yaml, sizeof(yaml), "{ path: \"%s\", " BOUNDS ", read_only: %s }", path,
		 read_only ? "true" : "false");
	assert_true(storage__open(s, file, yaml));
	atomic_store(&s->real_ns, RANDOM_BASE_NS + 60 * HOUR_MS * 1000000);
}

static void find(void *ctx, enum dcm_log_level level, const char *sentence)
{
	(void)level;
	buf__printf(ctx, "%s\n", sentence);
}

/* It is sound, and says what is lost, removed and set aside, all of which is told once. */
static void check(struct storage *s, const char *const *findings, size_t n)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf found = { .n = 0 };

	if (s->ops->check(s->instance, find, &found, &err))
		fail_msg("%s\n%.*s", err.text, (int)found.n, (const char *)found.data);
	for (size_t i = 0; i < n; i++)
		if (!found.n || !strstr((const char *)found.data, findings[i]))
			fail_msg("check says not '%s', but: %.*s", findings[i], (int)found.n,
				 (const char *)found.data);
	buf__fini(&found);
}

static const char *const findings[] = { "1 times in which something was lost",
					"files of 1 damaged blocks", "rows of 2 removals" };

/* Every batch once more, as whoever heard of no acknowledgement sends it. */
static void write_again(struct storage *s)
{
	for (uint32_t i = 0; i < N_BATCHES; i++) {
		struct dcm_batch *b = make_batch(i);
		int status = -EINPROGRESS;

		assert_int_equal(s->ops->write(s->instance, &b, 1, note_done, &status, NULL), 0);
		assert_int_equal(status, 0);
		batch__unref(b);
	}
}

/* Opens it, asks, and holds the answers against what is expected. */
static void answers_as(const char *file, const char *path, const struct buf *expected,
		       const char *what, struct storage *ret_open)
{
	struct buf got = { .n = 0 };

	open_dir(ret_open, file, path, false);
	ask_all(ret_open, strcmp(file, LOCAL_FILE) == 0, &got);
	compare(expected, &got, what);
	buf__fini(&got);
}

/* All that can be written anew is; an open store's own thread may have begun with it. */
static void renew(const char *path)
{
	struct making m = { .store = NULL };

	storage__host(&m.local);
	set_clock(&m, 100);
	assert_int_equal(vfs_posix__new(path, false, &m.vfs, NULL), 0);
	open_store(&m);
	assert_int_equal(upkeep__seal(m.store, NULL), 0);
	assert_int_equal(removal__drain(m.store, NULL), 0);
	compact_all(m.store);
	assert_int_equal(filters__n(m.store->filters), 0);
	store__close(m.store);
	vfs_posix__free(m.vfs);
}

/* The local store, in a directory that this may change. */
static void local_answers(const char *path, const struct buf *expected)
{
	struct buf got = { .n = 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	struct storage s;
	char copy[512];

	snprintf(copy, sizeof(copy), "%s-copy", path);
	open_dir(&s, LOCAL_FILE, path, true);
	ask_all(&s, 1, &got);
	compare(expected, &got, "read beside its writer");
	buf__fini(&got);
	check(&s, findings, 3);
	storage__close(&s);

	answers_as(LOCAL_FILE, path, expected, "opened", &s);
	write_again(&s);
	assert_int_equal(s.ops->backup(s.instance, copy, &err), 0);
	storage__close(&s);
	answers_as(LOCAL_FILE, path, expected, "after retries", &s);
	storage__close(&s);
	answers_as(LOCAL_FILE, copy, expected, "a backup of it", &s);
	storage__close(&s);

	renew(path);
	answers_as(LOCAL_FILE, path, expected, "written anew", &s);
	check(&s, findings, 2);
	write_again(&s);
	storage__close(&s);
	answers_as(LOCAL_FILE, path, expected, "written anew, after retries", &s);
	storage__close(&s);
}

static void memory_answers(const char *path, const struct buf *expected)
{
	struct storage s;

	answers_as(MEMORY_FILE, path, expected, "memory", &s);
	/* But what was lost was never there. */
	for (uint32_t i = LOST + 1; i < N_BATCHES; i++) {
		struct dcm_batch *b = make_batch(i);

		assert_int_equal(s.ops->write(s.instance, &b, 1, NULL, NULL, NULL), 0);
		batch__unref(b);
	}
	struct buf got = { .n = 0 };
	ask_all(&s, 0, &got);
	compare(expected, &got, "memory, after retries");
	buf__fini(&got);
	storage__close(&s);
}

/* What its chunks are made in ways of; bits of enum chunk_flag. */
static unsigned chunk_flags(struct vfs *v, const struct manifest_block *entry)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct block_map map;
	unsigned flags = 0;

	if (block_map__open(&map, v, entry, &err) < 0)
		fail_msg("%s", err.text);
	for (uint64_t i = 0; i < map.block.info.n_chunks; i++)
		flags |= map.block.chunks[i].flags;
	block_map__close(&map);
	return flags;
}

/* The directory has all that a store can have: a golden one that lacks it says nothing of it. */
static void has_everything(const char *path)
{
	static const uint32_t extras[] = { EXTRA_STORE, EXTRA_LOSSES, EXTRA_FILTERS, EXTRA_AGE };
	struct manifest m = { 0 };
	unsigned levels = 0, flags = 0;
	struct vfs *v;
	bool damaged;

	assert_int_equal(vfs_posix__new(path, true, &v, NULL), 0);
	assert_int_equal(manifest__read(&m, v, &damaged, NULL), 0);
	assert_false(damaged);
	for (size_t i = 0; i < sizeof(extras) / sizeof(extras[0]); i++)
		assert_non_null(manifest__extra(&m, extras[i]));
	assert_true(m.log_lsn > m.sealed_lsn);
	assert_in_range(age__of(&m), BASE_MS - 240 * HOUR_MS, BASE_MS + 60 * HOUR_MS);
	assert_true(m.eras.n >= 2 && m.blocks.n >= 4);
	for (size_t i = 0; i < m.blocks.n; i++) {
		levels |= 1U << m.blocks.v[i].level;
		flags |= chunk_flags(v, &m.blocks.v[i]);
	}
	assert_int_equal(levels, 7);
	assert_int_equal(flags, CHUNK_LABELS | CHUNK_DURATIONS | CHUNK_PERIODS |
					CHUNK_DURATIONS_MS | CHUNK_STEPS);
	manifest__fini(&m);
	vfs_posix__free(v);
	assert_int_equal(
		shell("test $(ls '%s/wal' | wc -l) -ge 2 && ls '%s/quarantine' | grep -q blk", path, path),
		0);
}

static void read_expected(struct buf *ret)
{
	struct vfs *golden;

	assert_int_equal(vfs_posix__new(GOLDEN, true, &golden, NULL), 0);
	assert_int_equal(vfs__read_file(golden, "answers-1.txt", MAX_BYTES, ret), 0);
	vfs_posix__free(golden);
}

/* A copy that may be written to, also of a distribution that may not. */
static void copy_golden(const char *name)
{
	assert_int_equal(shell("cp -R '%s/%s' '%s/%s' && chmod -R u+w '%s/%s'", GOLDEN, name, dir,
			       name, dir, name),
			 0);
}

static void whole_store_answers(const char *name)
{
	struct buf expected = { .n = 0 };
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", GOLDEN, name);
	has_everything(path);
	read_expected(&expected);
	copy_golden(name);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	local_answers(path, &expected);
	buf__fini(&expected);
}

static void test_a_whole_store_of_version_1(void **state)
{
	(void)state;
	whole_store_answers("whole-1");
}

static void test_a_whole_store_of_version_2(void **state)
{
	(void)state;
	whole_store_answers("whole-2");
}

static void test_a_backup_of_memory(void **state)
{
	struct buf expected = { .n = 0 };
	char path[256];
	(void)state;

	read_expected(&expected);
	copy_golden("memory-1");
	snprintf(path, sizeof(path), "%s/memory-1", dir);
	memory_answers(path, &expected);
	buf__fini(&expected);
}

/* What is made today is read today, so that the next golden store will be. */
static void test_what_is_made_today(void **state)
{
	struct buf expected = { .n = 0 };
	char path[256];
	(void)state;

	make_stores(dir, &expected);
	snprintf(path, sizeof(path), "%s/memory", dir);
	memory_answers(path, &expected);
	snprintf(path, sizeof(path), "%s/whole", dir);
	has_everything(path);
	local_answers(path, &expected);
	buf__fini(&expected);
}

static int make(const char *to)
{
	struct buf answers = { .n = 0 };
	char path[512];

	make_stores(to, &answers);
	snprintf(path, sizeof(path), "%s/answers.txt", to);
	FILE *f = fopen(path, "w");
	const bool ok = f && fwrite(answers.data, 1, answers.n, f) == answers.n;
	buf__fini(&answers);
	return f && fclose(f) == 0 && ok ? 0 : 1;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_whole_store_of_version_1),
		cmocka_unit_test(test_a_whole_store_of_version_2),
		cmocka_unit_test(test_a_backup_of_memory),
		cmocka_unit_test(test_what_is_made_today),
	};

	if (argc == 3 && strcmp(argv[1], "make") == 0)
		return make(argv[2]);
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
