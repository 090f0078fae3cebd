/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_sweep.c - whatever call to the disk, or allocation, fails in an operation
 *
 * An operation begins on a store with blocks and a log, of two eras. In the n-th turn its n-th call
 * to the disk, or its n-th allocation, fails, once or for good, until a turn has no n-th. What the
 * store answers then is compared, text by text, with what `memory` answers of the same batches: as
 * before the operation or as after it, and as after it where it said that it was done. What could
 * not be read is missing only from an answer that says so, and an error names the file. When the
 * fault has gone, the same store does the operation, takes more, and has everything after a power
 * cut; in some sweeps the power is cut at once instead.
 *
 * Removals by matchers have sweeps of their own (test_removal.c), and so have sequences of
 * operations (test_store.c).
 *
 * One thread: not run under TSan.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "plugins/storage/answer/ask.h"
#include "plugins/storage/local/expire.h"
#include "plugins/storage/local/inspect.h"
#include "plugins/storage/local/look.h"
#include "plugins/storage/local/reader.h"
#include "plugins/storage/local/removal.h"
#include "plugins/storage/local/rework.h"
#include "plugins/storage/local/upkeep.h"
#include "tests/contract/storage_answers.h"
#include "tests/storage/evict.h"
#include "tests/storage/sim_disk.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/paths.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

#define MEMORY_FILE TEST_BUILDDIR "/plugins/.libs/storage_memory.so"
#define HOUR_MS	    INT64_C(3600000)
#define FIRST_MS    (RANDOM_BASE_NS / 1000000)

/* -------------------------------------------------------------------------------------------------
 * What is written
 */

enum { SHORT_LIVED = 1, FIRST_WRITTEN = 6, N_BATCHES = 9 };

/* Sets of batches, as bits. */
enum {
	OLDEST_BLOCK = 0x3,
	SECOND_BLOCK = 0x4,
	OLD = 0x7,
	FIRST_ERA = 0xf,
	STORED = 0x3f,	/* when an operation begins */
	WRITTEN = 0xc0, /* by the one that writes; the second comes late */
	LAST = 0x100,	/* when the fault has gone */
};

/* When each is; the border of the eras is between the fourth and the fifth. */
static const int64_t minutes[N_BATCHES] = { 0, 1, 10, 1200, 2400, 2401, 2460, 60, 2520 };
static struct dcm_batch *batches[N_BATCHES];

/* A type whose text is NAME:NAME:NAME:NAME:NAME:delta. */
static struct dcm_type type_of(struct dcm_builder *b, const char *name)
{
	const uint32_t text = builder__string(b, str__of(name));

	return (struct dcm_type){ text, text, text, text, text, DCM_DELTA };
}

/* Rows whose stacks other batches have too; every sum of values tells whose they are. */
static void add_rows(struct dcm_builder *b, uint32_t i)
{
	for (uint32_t k = 0; k < 3; k++) {
		const struct dcm_location location = { .mapping = DCM_NONE,
						       .process = DCM_NONE,
						       .addr_kind = DCM_ADDR_RUNTIME,
						       .address = 0x1000 + (i + k) % 4 };
		const uint32_t at = builder__location(b, &location, NULL, 0);
		const struct dcm_label label = { .name = builder__string(b, STR("thread")),
						 .str = builder__string(b, k ? STR("main") : STR("io")),
						 .unit = DCM_NONE };
		const int64_t values[] = { INT64_C(1) << (2 * i + 20 * k), 1 };

		builder__row(b, builder__stack(b, &at, 1), builder__label_set(b, &label, 1), values);
	}
}

static struct dcm_batch *make_batch(uint32_t i)
{
	struct dcm_builder *b = builder__new(0);
	struct dcm_batch *batch = NULL;

	assert_non_null(b);
	builder__set_source(b, (struct dcm_hash){ 1, 5 }, i);
	const struct dcm_pair label = { builder__string(b, STR("service")),
					builder__string(b, i % 2 ? STR("odd") : STR("even")) };
	const struct dcm_type types[] = { type_of(b, i == SHORT_LIVED ? "short" : "cpu"),
					  type_of(b, "count") };
	const struct dcm_profile head = { .series = builder__series(b, &label, 1),
					  .time_ns = (FIRST_MS + minutes[i] * 60000) * 1000000,
					  .duration_ns = 1000 };

	builder__profile(b, &head, types, i == SHORT_LIVED ? 1 : 2);
	add_rows(b, i);
	assert_int_equal(builder__seal(b, &batch, NULL), 0);
	builder__free(b);
	return batch;
}

/* -------------------------------------------------------------------------------------------------
 * What is asked: everything of all times, in every way
 */

static const struct dcm_str service = { "service", 7 };

#define ALL_OF(type_)                                                                              \
	.sel = { {                                                                                 \
		.size = sizeof(struct dcm_select),                                                 \
		.type = { type_, sizeof(type_) - 1 },                                              \
		.to_ms = INT64_MAX,                                                                \
	} },                                                                                       \
	.n_sel = 1, .by = { &service, 1 }

static const struct asked questions[] = {
	{ .what = ASK_TYPES, ALL_OF("") },
	{ .what = ASK_LABELS, ALL_OF("") },
	{ .what = ASK_VALUES, ALL_OF(""), .name = { "thread", 6 } },
	{ .what = ASK_SERIES, ALL_OF("") },
	{ .what = ASK_POINTS, ALL_OF("cpu:cpu:cpu:cpu:cpu:delta"), .step_ms = 3600000 },
	{ .what = ASK_MERGE, ALL_OF("cpu:cpu:cpu:cpu:cpu:delta") },
	{ .what = ASK_MERGE, ALL_OF("short:short:short:short:short:delta") },
};
enum { N_QUESTIONS = sizeof(questions) / sizeof(questions[0]) };

/* Appends the answer; the error of an answer's text counts as one of the question. */
static int ask(struct storage *s, unsigned i, struct dcm_budget *budget, struct buf *out,
	       struct dcm_error *err)
{
	struct asked a = questions[i];

	a.sel[0].budget = budget;
	const int r = answers__ask(s, &a, out, err);
	return r ? r : out->error;
}

/* The same texts from `memory`, by sets of batches. */
static struct {
	unsigned set;
	struct buf answers[N_QUESTIONS];
} expected[16];
static size_t n_expected;

static const struct buf *expect(unsigned set)
{
	struct storage memory;

	for (size_t i = 0; i < n_expected; i++)
		if (expected[i].set == set)
			return expected[i].answers;
	assert_true(n_expected < sizeof(expected) / sizeof(expected[0]));
	assert_true(storage__open(&memory, MEMORY_FILE, "{ max_bytes: 1GiB, retention: 0 }"));
	for (unsigned i = 0; i < N_BATCHES; i++)
		if (set & (1U << i))
			assert_int_equal(
				memory.ops->write(memory.instance, &batches[i], 1, NULL, NULL, NULL), 0);
	expected[n_expected].set = set;
	for (unsigned i = 0; i < N_QUESTIONS; i++)
		assert_int_equal(ask(&memory, i, NULL, &expected[n_expected].answers[i], NULL), 0);
	storage__close(&memory);
	return expected[n_expected++].answers;
}

static bool same(const struct buf *a, const struct buf *b)
{
	return a->n == b->n && (a->n == 0 || memcmp(a->data, b->data, a->n) == 0);
}

/* -------------------------------------------------------------------------------------------------
 * The store under test
 */

struct bench {
	struct ask ask;		/* first: what questions know of an instance */
	struct storage storage; /* its host, and its ops, which are the local store's questions */
	struct sim *sim;
	struct store *store;
	struct store_options options;
	struct dcm_budget budget;
	unsigned question; /* of an operation that asks */
	struct buf answer; /* to it */
	int written;	   /* what the write was told; 0 when there was none */
	unsigned n_gaps, n_complaints;
};

static const struct dcm_storage_ops ops = {
	.size = sizeof(ops),
	ASK_OPS,
};

static int take(void *instance, struct view *v)
{
	return look__take(v, ((struct bench *)instance)->store);
}

static void note_gap(void *ctx, const struct dcm_gap *gap)
{
	(void)gap;
	((struct bench *)ctx)->n_gaps++;
}

static void complain(void *ctx, enum dcm_log_level level, const char *sentence)
{
	(void)sentence;
	((struct bench *)ctx)->n_complaints += level == DCM_LOG_ERROR;
}

static int open_store(struct bench *b, struct dcm_error *err)
{
	struct commit_found found;

	return store__open(&b->storage.host, sim__vfs(b->sim), &b->options, &found, &b->store, err);
}

static void close_store(struct bench *b)
{
	store__close(b->store);
	b->store = NULL;
	assert_int_equal(sim__n_open(b->sim), 0);
}

static void note_written(void *ctx, int status)
{
	*(int *)ctx = status;
}

/* Acknowledged. */
static void write_set(struct bench *b, unsigned set)
{
	struct dcm_batch *list[N_BATCHES];
	int status = -EINPROGRESS;
	uint32_t n = 0;

	for (unsigned i = 0; i < N_BATCHES; i++)
		if (set & (1U << i))
			list[n++] = batches[i];
	assert_int_equal(store__write(b->store, list, n, note_written, &status, NULL), 0);
	assert_int_equal(status, 0);
}

/* One era has two blocks of one time and a later one; the other is in the log. */
static void fill(struct bench *b)
{
	static const unsigned blocks[] = { 1 << 0 | 1 << SHORT_LIVED, 1 << 2, 1 << 3 };

	assert_int_equal(open_store(b, NULL), 0);
	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		write_set(b, blocks[i]);
		assert_int_equal(upkeep__seal(b->store, NULL), 0);
	}
	write_set(b, 1 << 4 | 1 << 5);
	close_store(b);
	sim__restart(b->sim, true);
}

/* The end of the second block, without which it cannot be opened: for good. */
static void damage(struct bench *b)
{
	char path[BLOCK_PATH_BYTES];
	struct vfs_file *f = NULL;
	struct vfs_stat st;
	uint8_t byte;

	assert_int_equal(vfs__open(sim__vfs(b->sim), commit__block_path(path, 2), VFS_WRITE, &f), 0);
	assert_int_equal(vfs__stat(f, &st), 0);
	assert_int_equal(vfs__read(f, &byte, 1, st.bytes - 9), 0);
	byte ^= 4;
	assert_int_equal(vfs__write(f, &byte, 1, st.bytes - 9), 0);
	assert_int_equal(vfs__sync(f), 0);
	vfs__close(f);
}

static void bench__init(struct bench *b, uint64_t seed)
{
	*b = (struct bench){ .sim = sim__new(seed, SIM_SUBSET) };
	assert_non_null(b->sim);
	storage__host(&b->storage);
	b->ask = (struct ask){ .host = &b->storage.host, .take = take };
	b->storage.ops = &ops;
	b->storage.instance = b;
	b->storage.real_ns = (FIRST_MS + 100 * HOUR_MS) * 1000000;
	b->budget = (struct dcm_budget){ .gap = note_gap, .gap_ctx = b };
	b->options = (struct store_options){ .seal_ms = HOUR_MS,
					     .head_max_bytes = 64 << 20,
					     .segment_bytes = 1 << 14,
					     .align = 512,
					     .report = complain,
					     .report_ctx = b };
}

static void bench__fini(struct bench *b)
{
	close_store(b);
	sim__free(b->sim);
	buf__fini(&b->answer);
}

/* -------------------------------------------------------------------------------------------------
 * Operations
 */

enum begins { EMPTY, CLOSED, OPEN };

struct operation {
	const char *name;
	enum begins begins; /* without a directory; with one; with a store that has read nothing */
	int (*run)(struct bench *b, struct dcm_error *err);
	unsigned before, after; /* what is there */
	unsigned question;
	void (*configure)(struct store_options *o);
	bool opens, reads_only, may_return; /* what it removed may come back with a power cut */
	bool damaged; /* what is not in `before` is in a block that cannot be opened: a gap in answers */
};

static int run_open_to_read(struct bench *b, struct dcm_error *err)
{
	return reader__open(&b->storage.host, sim__vfs(b->sim), &b->options, &b->store, err);
}

/* Both in one call; one of them belongs to the era that is not in memory. */
static int run_write(struct bench *b, struct dcm_error *err)
{
	b->written = -EINPROGRESS;
	const int r = store__write(b->store, &batches[FIRST_WRITTEN], 2, note_written, &b->written, err);
	if (r)
		b->written = r;
	return r;
}

static int run_seal(struct bench *b, struct dcm_error *err)
{
	return upkeep__seal(b->store, err);
}

static int run_compact(struct bench *b, struct dcm_error *err)
{
	int r = 1;

	while (r > 0)
		r = rework__compact(b->store, NULL, err);
	return r;
}

static int run_expire(struct bench *b, struct dcm_error *err)
{
	return expire__now(b->store, NULL, err);
}

static void keep_some_hours(struct store_options *o)
{
	o->retention_ms = 18 * HOUR_MS;
}

static void keep_one_type_an_hour(struct store_options *o)
{
	static const char *types[] = { "short" };
	static int64_t ns[] = { INT64_C(3600000000000) };

	o->retention_by_type = (struct dcm_map){ .keys = types, .items = ns, .n = 1 };
}

/* The oldest block goes. */
static int run_evict(struct bench *b, struct dcm_error *err)
{
	const int r = b->store->blocks.n < 3 ? 0 : evict__oldest(b->store, err);

	return r < 0 ? r : 0;
}

static int run_remove(struct bench *b, struct dcm_error *err)
{
	uint64_t n = 0;

	return removal__before(b->store, FIRST_MS + 10 * HOUR_MS, &n, err);
}

static int run_ask(struct bench *b, struct dcm_error *err)
{
	buf__reset(&b->answer);
	return ask(&b->storage, b->question, &b->budget, &b->answer, err);
}

static void note_finding(void *ctx, enum dcm_log_level level, const char *sentence)
{
	struct dcm_error *err = ctx;
	(void)level;

	if (!*err->text)
		snprintf(err->text, sizeof(err->text), "%s", sentence);
}

static int run_check(struct bench *b, struct dcm_error *err)
{
	const int n = inspect__check(
		b->store, &(struct inspect_how){ .report = note_finding, .ctx = err }, NULL);
	return n < 0 ? error__nomem(err) : n;
}

static int run_rescue(struct bench *b, struct dcm_error *err)
{
	int r = 1;

	while (r > 0)
		r = rework__rescue(b->store, NULL, err);
	return r;
}

static int run_close(struct bench *b, struct dcm_error *err)
{
	(void)err;
	close_store(b);
	return 0;
}

/* -------------------------------------------------------------------------------------------------
 * Faults
 */

struct fault {
	const char *name;
	enum sim_fault fault; /* FAULT_NONE: of an allocation */
	bool persistent;
	bool dies;    /* the power is cut at once */
	bool thinned; /* later ones in growing steps: most of them end where the single ones do */
};

static void arm(struct bench *b, const struct fault *f, uint64_t n)
{
	if (f->fault != FAULT_NONE)
		sim__fail(b->sim, n, f->fault, f->persistent);
	else if (f->persistent)
		failmalloc__arm(n);
	else
		failmalloc__arm_once(n);
}

/* Whether something failed. */
static bool disarm(struct bench *b, const struct fault *f)
{
	const bool failed = f->fault != FAULT_NONE ? sim__failed(b->sim) : failmalloc__disarm();

	sim__fail(b->sim, 0, FAULT_NONE, false);
	return failed;
}

struct turn {
	const struct operation *op;
	const struct fault *fault;
	uint64_t n;
	struct bench b;
	char place[64]; /* of the call that failed first */
};

#define FAIL(t, ...)                                                                                 \
	do {                                                                                         \
		print_message("%s, %s, n = %" PRIu64 ": ", (t)->op->name, (t)->fault->name, (t)->n); \
		fail_msg(__VA_ARGS__);                                                               \
	} while (0)

/* Answers are those of one of the two sets. */
static void must_have(struct turn *t, unsigned set, unsigned or_set)
{
	struct buf answers[N_QUESTIONS] = { { .n = 0 } };
	struct bench *b = &t->b;
	unsigned wrong = N_QUESTIONS, or_wrong = N_QUESTIONS;

	b->n_gaps = 0;
	for (unsigned i = N_QUESTIONS; i-- > 0;) {
		struct dcm_error err = DCM_ERROR_INIT;

		if (ask(&b->storage, i, &b->budget, &answers[i], &err))
			FAIL(t, "question %u: %s", i, err.text);
		wrong = same(&answers[i], &expect(set)[i]) ? wrong : i;
		or_wrong = same(&answers[i], &expect(or_set)[i]) ? or_wrong : i;
	}
	if ((b->n_gaps > 0) != t->op->damaged)
		FAIL(t, "%u gaps", b->n_gaps);
	if (wrong < N_QUESTIONS && or_wrong < N_QUESTIONS)
		FAIL(t, "sets %#x, %#x: question %u:\n%.*s", set, or_set, wrong,
		     (int)answers[wrong].n, answers[wrong].n ? (const char *)answers[wrong].data : "");
	for (unsigned i = 0; i < N_QUESTIONS; i++)
		buf__fini(&answers[i]);
}

static void restart(struct turn *t)
{
	struct dcm_error err = DCM_ERROR_INIT;

	close_store(&t->b);
	sim__restart(t->b.sim, true);
	t->b.n_complaints = 0;
	if (open_store(&t->b, &err))
		FAIL(t, "cannot open: %s", err.text);
	if (t->b.n_complaints)
		FAIL(t, "%u complaints", t->b.n_complaints);
}

/* Those with blocks. */
static size_t n_needed_eras(const struct store *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->eras.n; i++) {
		size_t k = 0;

		while (k < s->blocks.n && s->blocks.v[k]->era != s->eras.v[i])
			k++;
		n += k < s->blocks.n;
	}
	return n;
}

/* The operation can be done now, more can be written, and all of it is there after a power cut. */
static void goes_on(struct turn *t)
{
	struct dcm_error err = DCM_ERROR_INIT;
	const struct operation *op = t->op;
	struct bench *b = &t->b;

	if (upkeep__recover(b->store, &err))
		FAIL(t, "does not recover: %s", err.text);
	if (b->written == -EINPROGRESS)
		FAIL(t, "who wrote is told nothing");
	if (!op->opens && op->run(b, &err))
		FAIL(t, "still fails: %s", err.text);
	if (!b->store)
		restart(t);
	assert_int_equal(b->written, 0);
	must_have(t, op->after, op->after);
	write_set(b, LAST);
	if (upkeep__seal(b->store, &err))
		FAIL(t, "does not seal: %s", err.text);
	must_have(t, op->after | LAST, op->after | LAST);
	restart(t);
	must_have(t, op->after | LAST, op->after | LAST);
	assert_int_equal(sim__n_names(b->sim, BLOCKS_DIR), b->store->blocks.n);
	assert_int_equal(n_needed_eras(b->store), b->store->eras.n);
	assert_int_equal(sim__n_names(b->sim, QUARANTINE_DIR), op->damaged);
}

/*
 * The sentence names the file whose call failed; where later ones failed too, perhaps one of those.
 * Without memory that of a question may be missing: it may be the test's text that found none.
 */
static void must_say(struct turn *t, const struct dcm_error *err)
{
	const size_t n = strcspn(t->place, ".");

	if (t->fault->fault == FAULT_NONE && t->op->run == run_ask)
		return;
	if (!*err->text)
		FAIL(t, "failed without a word");
	t->place[n] = '\0'; /* a .tmp by the name that it will have */
	if (!t->fault->persistent && !strstr(err->text, t->place))
		FAIL(t, "%s failed: %s", t->place, err->text);
}

/* What the operation returned fits what came of it. */
static void judge(struct turn *t, int r, bool failed, const struct dcm_error *err)
{
	const struct operation *op = t->op;
	struct bench *b = &t->b;

	if (r && (!failed || t->fault->fault == FAULT_SHORT))
		FAIL(t, "returned %d: %s", r, err->text);
	if (r)
		must_say(t, err);
	if (op->run == run_ask && r == 0 && b->n_gaps == 0 &&
	    !same(&b->answer, &expect(op->before)[op->question]))
		FAIL(t, "something is missing, and the answer does not say so");
}

/* True: there was an n-th. */
static bool take_turn(struct turn *t)
{
	struct dcm_error err = DCM_ERROR_INIT;
	const struct operation *op = t->op;
	struct bench *b = &t->b;

	bench__init(b, t->n);
	if (op->begins != EMPTY)
		fill(b);
	if (op->configure)
		op->configure(&b->options);
	if (op->damaged)
		damage(b);
	if (op->begins == OPEN)
		assert_int_equal(open_store(b, NULL), 0);
	if (op->damaged)
		must_have(t, op->before, op->before); /* a question met it */
	b->question = op->question;
	arm(b, t->fault, t->n);
	const int r = op->run(b, &err);
	snprintf(t->place, sizeof(t->place), "%s", sim__failed_path(b->sim));
	const bool failed = disarm(b, t->fault);
	const bool done = r == 0 && b->written == 0;
	judge(t, r, failed, &err);
	if (t->fault->dies || op->reads_only || !b->store)
		restart(t);
	must_have(t, done && !op->may_return ? op->after : op->before, op->after);
	goes_on(t);
	bench__fini(b);
	return failed;
}

static const struct operation operations[] = {
	{ "open: a new directory", EMPTY, open_store, .before = 0, .after = 0, .opens = true },
	{ "open", CLOSED, open_store, .before = STORED, .after = STORED, .opens = true },
	{ "open to read", CLOSED, run_open_to_read, .before = STORED, .after = STORED,
	  .opens = true, .reads_only = true },
	{ "write", OPEN, run_write, .before = STORED, .after = STORED | WRITTEN },
	{ "seal", OPEN, run_seal, .before = STORED, .after = STORED },
	{ "compact", OPEN, run_compact, .before = STORED, .after = STORED },
	{ "expire by age", OPEN, run_expire, .before = STORED, .after = STORED & ~FIRST_ERA,
	  .configure = keep_some_hours, .may_return = true },
	{ "expire a type", OPEN, run_expire, .before = STORED, .after = STORED & ~(1 << SHORT_LIVED),
	  .configure = keep_one_type_an_hour, .may_return = true },
	{ "expire by size", OPEN, run_evict, .before = STORED, .after = STORED & ~OLDEST_BLOCK,
	  .may_return = true },
	{ "remove by age", OPEN, run_remove, .before = STORED, .after = STORED & ~OLD },
	{ "rescue", OPEN, run_rescue, .before = STORED & ~SECOND_BLOCK,
	  .after = STORED & ~SECOND_BLOCK, .damaged = true },
	{ "ask for types", OPEN, run_ask, .before = STORED, .after = STORED, .question = 0 },
	{ "ask for labels", OPEN, run_ask, .before = STORED, .after = STORED, .question = 1 },
	{ "ask for values", OPEN, run_ask, .before = STORED, .after = STORED, .question = 2 },
	{ "ask for series", OPEN, run_ask, .before = STORED, .after = STORED, .question = 3 },
	{ "ask for points", OPEN, run_ask, .before = STORED, .after = STORED, .question = 4 },
	{ "ask for a merge", OPEN, run_ask, .before = STORED, .after = STORED, .question = 5 },
	{ "check", OPEN, run_check, .before = STORED, .after = STORED },
	{ "close", OPEN, run_close, .before = STORED, .after = STORED },
};

static uint64_t sweep(const struct fault *f)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		struct turn t = { .op = &operations[i], .fault = f, .n = 1 };

		for (; take_turn(&t); sum++)
			t.n += 1 + (f->thinned ? t.n / 16 : 0);
	}
	return sum;
}

static void test_calls(void **state)
{
	static const struct fault faults[] = {
		{ .name = "EIO once", .fault = FAULT_EIO },
		{ .name = "EIO once and power cut", .fault = FAULT_EIO, .dies = true },
		{ .name = "EIO for good", .fault = FAULT_EIO, .persistent = true },
		{ .name = "EIO for good and power cut", .fault = FAULT_EIO, .persistent = true, .dies = true },
		{ .name = "ENOSPC once", .fault = FAULT_ENOSPC },
		{ .name = "ENOSPC for good", .fault = FAULT_ENOSPC, .persistent = true },
		{ .name = "short once", .fault = FAULT_SHORT },
		{ .name = "short for good", .fault = FAULT_SHORT, .persistent = true, .dies = true },
	};
	(void)state;

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		assert_true(sweep(&faults[i]) > 100);
}

static void test_allocations(void **state)
{
	static const struct fault faults[] = {
		{ .name = "no memory once" },
		{ .name = "no memory from there on", .persistent = true, .thinned = true },
	};
	(void)state;

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		assert_true(sweep(&faults[i]) > 400);
}

static int set_up(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < N_BATCHES; i++)
		batches[i] = make_batch(i);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < N_BATCHES; i++)
		batch__unref(batches[i]);
	for (size_t i = 0; i < n_expected; i++)
		for (unsigned k = 0; k < N_QUESTIONS; k++)
			buf__fini(&expected[i].answers[k]);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_allocations),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
