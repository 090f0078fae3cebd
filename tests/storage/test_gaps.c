/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_gaps.c - a block's file is cut off while it is read
 *
 * Nothing ends, what else there is is answered, and the answer says what it lacks: during the
 * question, after it, when the block has been set aside, and after a restart.
 *
 * One thread: not run under TSan.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/plugin/mapped.h"
#include "plugins/storage/local/backup.h"
#include "plugins/storage/local/block_piece.h"
#include "plugins/storage/local/inspect.h"
#include "plugins/storage/local/look.h"
#include "plugins/storage/local/removal.h"
#include "plugins/storage/local/rework.h"
#include "plugins/storage/local/upkeep.h"
#include "tests/contract/storage_host.h"
#include "tests/storage/counter.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

enum { BLOCKS = 6, BROKEN = 2, LARGE = 300 };
#define HOUR_MS INT64_C(3600000)

struct told {
	struct dcm_gap gap;
	char what[64], why[80];
	unsigned n;
};

static void note_gap(void *ctx, const struct dcm_gap *gap)
{
	struct told *t = ctx;

	t->n++;
	t->gap = *gap;
	snprintf(t->what, sizeof(t->what), "%.*s", STR_ARG(gap->what));
	snprintf(t->why, sizeof(t->why), "%.*s", STR_ARG(gap->why));
}

struct sentence {
	const char *path;
	char text[400];
};

static void note_sentence(void *ctx, enum dcm_log_level level, const char *sentence)
{
	struct sentence *s = ctx;

	if (level == DCM_LOG_ERROR && strstr(sentence, s->path))
		snprintf(s->text, sizeof(s->text), "%s", sentence);
}

struct bench {
	struct storage storage;
	char dir[64];
	struct vfs *vfs;
	struct store *store;
	size_t n_blocks;
	struct manifest_block broken;
	char name[BLOCK_PATH_BYTES], path[128]; /* its file */
};

static int map_file(const struct dcm_host *host, int fd, size_t n, const uint8_t **ret)
{
	(void)host;
	return mapped__add(fd, n, ret);
}

static void unmap_file(const struct dcm_host *host, const uint8_t *p, size_t n)
{
	(void)host;
	mapped__remove(p, n);
}

static uint64_t n_lost_pages(const struct dcm_host *host)
{
	(void)host;
	return mapped__n_lost();
}

static void open_store(struct bench *b)
{
	const struct store_options o = {
		.seal_ms = 3600000, .head_max_bytes = 64 << 20, .segment_bytes = 1 << 20, .align = 4096
	};
	struct commit_found found;

	assert_int_equal(store__open(&b->storage.host, b->vfs, &o, &found, &b->store, NULL), 0);
}

static void write_batch(struct bench *b, uint64_t sequence, uint64_t seed, int64_t time_ns)
{
	struct dcm_batch *batch = random_batch__of((struct dcm_hash){ 1, 5 }, sequence, seed, 0, time_ns);

	assert_non_null(batch);
	assert_int_equal(store__write(b->store, &batch, 1, NULL, NULL, NULL), 0);
	batch__unref(batch);
}

static void write_block(struct bench *b, uint64_t sequence)
{
	write_batch(b, sequence, sequence, RANDOM_BASE_NS + (int64_t)sequence * HOUR_MS * 1000000);
	assert_int_equal(upkeep__seal(b->store, NULL), 0);
}

static void begin(struct bench *b)
{
	*b = (struct bench){ .store = NULL };
	snprintf(b->dir, sizeof(b->dir), "%s/decima-gaps.XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(b->dir));
	storage__host(&b->storage);
	b->storage.host.map_file = map_file;
	b->storage.host.unmap_file = unmap_file;
	b->storage.host.n_lost_pages = n_lost_pages;
	b->storage.real_ns = RANDOM_BASE_NS + INT64_C(10) * 86400 * 1000000000;
	assert_int_equal(vfs_posix__new(b->dir, true, &b->vfs, NULL), 0);
	vfs_posix__map_by(b->vfs, &b->storage.host);
	open_store(b);
}

static void choose_broken(struct bench *b, size_t at)
{
	assert_true(b->store->blocks.n > at);
	b->n_blocks = b->store->blocks.n;
	b->broken = b->store->blocks.v[at]->entry;
	commit__block_path(b->name, b->broken.number);
	snprintf(b->path, sizeof(b->path), "%s/%s", b->dir, b->name);
}

static void bench__init(struct bench *b)
{
	begin(b);
	for (uint64_t i = 0; i < BLOCKS; i++)
		write_block(b, i);
	choose_broken(b, BROKEN);
}

/* One block, of chunks with many pages. */
static void bench__init_large(struct bench *b)
{
	begin(b);
	for (uint64_t i = 0; i < LARGE; i++)
		write_batch(b, i, 7, RANDOM_BASE_NS + (int64_t)i * 1000000000);
	assert_int_equal(upkeep__seal(b->store, NULL), 0);
	choose_broken(b, 0);
}

static void bench__fini(struct bench *b)
{
	char path[128];

	store__close(b->store);
	snprintf(path, sizeof(path), "%s/quarantine", b->dir);
	backup__discard(b->vfs, path);
	backup__discard(b->vfs, b->dir);
	assert_int_equal(access(b->dir, F_OK), -1);
	vfs_posix__free(b->vfs);
}

static int ignore_rows(void *ctx, const struct piece_rows *rows)
{
	(void)ctx;
	(void)rows;
	return 0;
}

/* Everything of a piece is read. */
static int read_piece(struct view *v, const struct view_piece *p)
{
	void *reader = view__reader(v, p->piece.ops);
	struct piece_numbers numbers;
	int r;

	assert_non_null(reader);
	r = p->piece.ops->numbers(reader, &p->piece, PIECE_STACKS | PIECE_LABEL_SETS, &numbers);
	return r ? r : p->piece.ops->rows(reader, &p->piece, 0, p->piece.n_profiles, ignore_rows, NULL);
}

struct amount {
	uint64_t n_read, n_damaged; /* profiles */
};

/* Looks at all there is; `cut` is cut off when the blocks are mapped and nothing is read yet. */
static struct amount ask_type(struct bench *b, const char *type, int64_t from_ms, int64_t to_ms,
			      const char *cut, struct told *told)
{
	struct dcm_budget budget = { .gap = note_gap, .gap_ctx = told };
	const struct dcm_select sel = { .size = sizeof(sel),
					.type = str__of(type),
					.from_ms = from_ms,
					.to_ms = to_ms,
					.budget = &budget };
	struct amount sum = { 0 };
	struct view v;

	*told = (struct told){ .n = 0 };
	view__init(&v, &b->storage.host, &sel, 1);
	assert_int_equal(look__take(&v, b->store), 0);
	if (cut)
		assert_int_equal(truncate(cut, 0), 0);
	for (size_t i = 0; i < v.pieces.n; i++) {
		struct view_piece *p = &v.pieces.v[i];
		int r = read_piece(&v, p);

		assert_true(r == 0 || r == -EBADMSG);
		if (r == 0) {
			sum.n_read += p->piece.n_profiles;
			continue;
		}
		sum.n_damaged += p->piece.n_profiles;
		view__leave_out(&v, p, r);
	}
	assert_int_equal(told->n, 0); /* not before the end */
	view__fini(&v);
	return sum;
}

static struct amount ask(struct bench *b, int64_t from_ms, int64_t to_ms, const char *cut,
			 struct told *told)
{
	return ask_type(b, "", from_ms, to_ms, cut, told);
}

static struct sigaction ours; /* what the first mapping installed */

/* cmocka sets a handler of its own before each test. */
static void use_ours(void)
{
	assert_int_equal(sigaction(SIGBUS, &ours, NULL), 0);
}

static void assert_gap(const struct bench *b, const struct told *t)
{
	assert_int_equal(t->n, 1);
	assert_string_equal(t->what, b->name);
	assert_int_equal(t->gap.from_ms, b->broken.first_ms);
	assert_int_equal(t->gap.to_ms, b->broken.last_ms + 1);
	assert_int_equal(t->gap.n_profiles, b->broken.n_profiles);
}

static void test_a_block_is_cut_off_during_a_question(void **state)
{
	struct amount all, left;
	struct told told;
	struct bench b;
	(void)state;

	use_ours();
	bench__init(&b);
	all = ask(&b, INT64_MIN, INT64_MAX, NULL, &told);
	assert_int_equal(told.n, 0);
	assert_int_equal(all.n_damaged, 0);

	left = ask(&b, INT64_MIN, INT64_MAX, b.path, &told);
	assert_gap(&b, &told);
	assert_int_equal(left.n_read, all.n_read - b.broken.n_profiles);
	assert_int_equal(left.n_damaged, b.broken.n_profiles);

	/* The next one finds that its directory is gone. */
	left = ask(&b, INT64_MIN, INT64_MAX, NULL, &told);
	assert_gap(&b, &told);
	assert_int_equal(left.n_read, all.n_read - b.broken.n_profiles);

	/* Set aside, it is missing all the same; who asks for another time is told nothing. */
	assert_int_equal(rework__rescue(b.store, NULL, NULL), 1);
	assert_int_equal(b.store->blocks.n, b.n_blocks - 1);
	for (int i = 0; i < 2; i++) {
		left = ask(&b, INT64_MIN, INT64_MAX, NULL, &told);
		assert_gap(&b, &told);
		assert_int_equal(left.n_read, all.n_read - b.broken.n_profiles);
		assert_int_equal(left.n_damaged, 0);
		ask(&b, b.broken.last_ms + 1, INT64_MAX, NULL, &told);
		assert_int_equal(told.n, 0);
		ask(&b, b.broken.last_ms, b.broken.last_ms + 1, NULL, &told);
		assert_gap(&b, &told);
		store__close(b.store);
		open_store(&b);
	}

	/* When its time has expired, the next block that is written anew forgets it. */
	const struct dcm_select last = { .size = sizeof(last),
					 .from_ms = b.broken.last_ms + 1,
					 .to_ms = INT64_MAX };
	uint64_t n = 0;

	b.store->options.retention_ms = 1;
	assert_int_equal(removal__select(b.store, &last, &n, NULL), 0);
	assert_true(n > 0);
	assert_int_equal(removal__drain(b.store, NULL), 0);
	ask(&b, INT64_MIN, INT64_MAX, NULL, &told);
	assert_int_equal(told.n, 0);
	bench__fini(&b);
}

static const struct vfs_ops *real_ops;
static const char *refused_path;
static int refused_with;

static int open_or_refuse(struct vfs *v, const char *path, unsigned flags, struct vfs_file **ret)
{
	return strcmp(path, refused_path) == 0 ? refused_with : real_ops->open(v, path, flags, ret);
}

/* Who may not read a block is told that, and what to do, by the answer and by the check. */
static void test_a_block_that_cannot_be_opened_says_why(void **state)
{
	static const struct {
		int code;
		const char *why, *remedy;
	} cases[] = {
		{ -EACCES, "permission denied: let the user that runs decima read it",
		  "Permission denied; let the user that runs decima read it" },
		{ -EPERM, "permission denied: let the user that runs decima read it",
		  "not permitted; let the user that runs decima read it" },
		{ -ENOENT, "its file is missing", "directory; look at the disk, or restore" },
		{ -EIO, "it cannot be read", "error; look at the disk, or restore" },
	};
	struct vfs_ops ops;
	struct bench b;
	(void)state;

	use_ours();
	bench__init(&b);
	real_ops = b.vfs->ops;
	ops = *real_ops;
	ops.open = open_or_refuse;
	refused_path = b.name;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sentence s = { .path = b.name };
		struct told told;

		store__close(b.store);
		b.vfs->ops = real_ops;
		open_store(&b);
		b.vfs->ops = &ops;
		refused_with = cases[i].code;
		ask(&b, INT64_MIN, INT64_MAX, NULL, &told);
		assert_gap(&b, &told);
		assert_string_equal(told.why, cases[i].why);
		assert_int_equal(
			inspect__check(b.store,
				       &(struct inspect_how){ .report = note_sentence, .ctx = &s }, NULL),
			1);
		if (!strstr(s.text, cases[i].remedy))
			fail_msg("%s", s.text);
	}
	b.vfs->ops = real_ops;
	bench__fini(&b);
}

/* -------------------------------------------------------------------------------------------------
 * Before the range
 */

#define OTHER "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta"

static int64_t hour_ms(int64_t i)
{
	return RANDOM_BASE_NS / 1000000 + i * HOUR_MS;
}

/* A block of one counter, and of something else that does not count up. */
static void write_counter(struct bench *b, int64_t i)
{
	CLEANUP(builder__freep) struct dcm_builder *to = builder__new(0);
	CLEANUP(batch__unrefp) struct dcm_batch *batch = NULL;
	const uint32_t cpu = builder__string(to, STR("cpu")),
		       ns = builder__string(to, STR("nanoseconds"));
	const struct dcm_type other = {
		builder__string(to, STR("process_cpu")), cpu, ns, cpu, ns, DCM_DELTA
	};
	const struct dcm_profile head = { .series = builder__series(to, NULL, 0),
					  .time_ns = hour_ms(i) * 1000000 };
	const int64_t value = 100 + i;

	counter__fill(to, head.time_ns, builder__stack(to, NULL, 0), value);
	builder__profile(to, &head, &other, 1);
	builder__row(to, builder__stack(to, NULL, 0), 0, &value);
	assert_int_equal(builder__seal(to, &batch, NULL), 0);
	assert_int_equal(store__write(b->store, &batch, 1, NULL, NULL, NULL), 0);
	assert_int_equal(upkeep__seal(b->store, NULL), 0);
}

static unsigned n_gaps(struct bench *b, const char *type, int64_t from_ms, int64_t to_ms)
{
	struct told told;

	ask_type(b, type, from_ms, to_ms, NULL, &told);
	if (told.n)
		assert_string_equal(told.what, b->name);
	return told.n;
}

/*
 * A counter grows from the profile before the range on. When that may have been lost, the answer
 * says so; when a later one is there, what was lost changes nothing.
 */
static void test_a_gap_before_the_range_is_told_where_it_matters(void **state)
{
	struct bench b;
	(void)state;

	use_ours();
	begin(&b);
	for (int64_t i = 0; i < 5; i++)
		write_counter(&b, i);
	choose_broken(&b, 1);
	assert_int_equal(n_gaps(&b, COUNTER_TYPE, hour_ms(2), INT64_MAX), 0);
	store__close(b.store);
	assert_int_equal(truncate(b.path, 100), 0);
	open_store(&b);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(n_gaps(&b, COUNTER_TYPE, hour_ms(2), INT64_MAX), 1);
		assert_int_equal(n_gaps(&b, COUNTER_TYPE, hour_ms(2), hour_ms(3)), 1);
		assert_int_equal(n_gaps(&b, COUNTER_TYPE, hour_ms(1), hour_ms(2)), 1);
		assert_int_equal(n_gaps(&b, COUNTER_TYPE, hour_ms(3), INT64_MAX), 0);
		assert_int_equal(n_gaps(&b, COUNTER_TYPE, INT64_MIN, hour_ms(1)), 0);
		assert_int_equal(n_gaps(&b, COUNTER_TYPE, hour_ms(0), hour_ms(1)), 0);
		/* There is nothing whose increase is asked for. */
		assert_int_equal(n_gaps(&b, COUNTER_TYPE, hour_ms(9), INT64_MAX), 0);
		assert_int_equal(n_gaps(&b, OTHER, hour_ms(2), INT64_MAX), 0);
		assert_int_equal(n_gaps(&b, "", hour_ms(2), INT64_MAX), 0);
		/* Set aside, and started again: it is missing all the same. */
		if (i == 0)
			assert_int_equal(rework__rescue(b.store, NULL, NULL), 1);
		store__close(b.store);
		open_store(&b);
	}
	bench__fini(&b);
}

/* What has been given out of a piece, and when the file is cut off. */
struct reading {
	const char *path;
	unsigned n_calls, cut_at; /* 0: never */
	uint64_t n_rows;
	int64_t sum; /* of values and where they stand */
};

static void cut_off(struct reading *g)
{
	if (++g->n_calls == g->cut_at)
		assert_int_equal(truncate(g->path, 0), 0);
}

static int add_rows(void *ctx, const struct piece_rows *rows)
{
	struct reading *g = ctx;

	for (uint32_t i = 0; i < rows->n; i++)
		g->sum += rows->values[i] * (int64_t)(rows->stacks[i] + 2 * ++g->n_rows);
	cut_off(g);
	return 0;
}

static int add_sums(void *ctx, const struct piece_sums *sums)
{
	struct reading *g = ctx;

	for (uint32_t i = 0; i < sums->n; i++)
		g->sum += sums->values[i] * (int64_t)(sums->stacks[i] + 2 * ++g->n_rows);
	cut_off(g);
	return 0;
}

/* The piece with the most rows, by rows or added up. */
static int read_largest(struct view *v, bool sums, struct reading *g)
{
	const struct view_piece *p = &v->pieces.v[0];
	struct piece_span span = { .first = 0 };

	for (size_t i = 1; i < v->pieces.n; i++)
		if (v->pieces.v[i].piece.n_rows > p->piece.n_rows)
			p = &v->pieces.v[i];
	void *reader = view__reader(v, p->piece.ops);
	assert_non_null(reader);
	span.n = p->piece.n_profiles;
	return sums ? p->piece.ops->sums(reader, &p->piece, &span, add_sums, g)
		    : p->piece.ops->rows(reader, &p->piece, 0, span.n, add_rows, g);
}

/* Wherever it is cut off while a piece is read: what is given out is right, or an error follows. */
static void test_a_block_is_cut_off_within_a_piece(void **state)
{
	const struct dcm_select all = { .size = sizeof(all), .from_ms = INT64_MIN, .to_ms = INT64_MAX };
	unsigned n_errors = 0;
	(void)state;

	use_ours();
	for (int sums = 0; sums < 2; sums++) {
		struct reading whole = { .n_calls = 0 };
		bool more = true;

		for (unsigned at = 0; more; at = at ? at * 2 : 1) {
			struct reading g = { .cut_at = at };
			struct bench b;
			struct view v;

			bench__init_large(&b);
			g.path = b.path;
			view__init(&v, &b.storage.host, &all, 1);
			assert_int_equal(look__take(&v, b.store), 0);
			const int r = read_largest(&v, sums, &g);

			assert_true(r == 0 || (at && r == -EBADMSG));
			if (at == 0)
				whole = g;
			if (r == 0)
				assert_true(g.sum == whole.sum && g.n_rows == whole.n_rows);
			n_errors += r != 0;
			more = at <= whole.n_calls;
			view__fini(&v);
			bench__fini(&b);
		}
	}
	assert_true(n_errors > 0);
}

/* The list of losses is bounded, and says of no time less than was lost. */
static void test_losses_that_are_many_become_few(void **state)
{
	struct manifest m = { .generation = 0 };
	loss_list l = { 0 }, back = { 0 };
	uint64_t n = 0;
	(void)state;

	for (uint64_t i = 0; i < 3 * LOSSES_MAX; i++) {
		const int64_t at = (int64_t)(i * 7919 % 1000) * 100;

		assert_int_equal(losses__add(&l, &(struct loss){ i, at, at + 50, 2 }), 0);
	}
	assert_int_equal(l.n, LOSSES_MAX);
	for (size_t i = 0; i < l.n; i++) {
		assert_true(l.v[i].first_ms <= l.v[i].last_ms);
		assert_true(i == 0 || l.v[i].first_ms >= l.v[i - 1].first_ms);
		n += l.v[i].n_profiles;
	}
	assert_int_equal(n, 2 * 3 * LOSSES_MAX);
	for (uint64_t i = 0; i < 3 * LOSSES_MAX; i++) {
		const int64_t at = (int64_t)(i * 7919 % 1000) * 100;
		bool there = false;

		for (size_t k = 0; !there && k < l.n; k++)
			there = l.v[k].first_ms <= at && l.v[k].last_ms >= at + 50;
		assert_true(there);
	}
	assert_int_equal(losses__write(&m, &l), 0);
	assert_int_equal(losses__read(&m, &back, NULL), 0);
	assert_int_equal(back.n, l.n);
	assert_memory_equal(back.v, l.v, l.n * sizeof(l.v[0]));
	m.extras.v[0].n--;
	assert_int_equal(losses__read(&m, &back, NULL), -EUCLEAN);
	m.extras.v[0].n -= 31;
	m.extras.v[0].bytes[8 + 7] = 0x7f; /* begins after it ends */
	assert_int_equal(losses__read(&m, &back, NULL), -EUCLEAN);
	assert_int_equal(back.n, l.n);
	assert_int_equal(losses__remove(&l, INT64_MIN, 100000000), LOSSES_MAX);
	vec__fini(&l);
	vec__fini(&back);
	manifest__fini(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_block_is_cut_off_during_a_question),
		cmocka_unit_test(test_a_block_that_cannot_be_opened_says_why),
		cmocka_unit_test(test_a_gap_before_the_range_is_told_where_it_matters),
		cmocka_unit_test(test_a_block_is_cut_off_within_a_piece),
		cmocka_unit_test(test_losses_that_are_many_become_few),
	};

	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const uint8_t *p;

	if (fd < 0 || mapped__add(fd, 1, &p) < 0)
		return 1;
	mapped__remove(p, 1);
	close(fd);
	sigaction(SIGBUS, NULL, &ours);
	return cmocka_run_group_tests_name("gaps", tests, NULL, NULL);
}
