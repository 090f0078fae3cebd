/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_destination.c - what waits for a plugin that comes, goes, hangs, and gets a spool or loses it
 */
#include "core/pipeline/destination.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/cond.h"
#include "core/batch/batch.h"
#include "tests/unit/fake_destination.h"
#include "tests/unit/folder.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

DEFINE_FOLDER(dir, "destination", 0700);

enum { N_LOG = 16384 };

struct rig {
	struct queue_pool *pool;
	struct stats *stats;
	struct log log;
	struct destination_env env;
	struct fake fake;
	struct destination *d;
	char spool[128];
};

/* ---- a disk that hangs: core/disk asks for this one ---- */

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool is_closed;
	unsigned n_inside;
} disk = { .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

int fdatasync(int fd)
{
	pthread_mutex_lock(&disk.mutex);
	disk.n_inside++;
	pthread_cond_broadcast(&disk.changed);
	while (disk.is_closed)
		pthread_cond_wait(&disk.changed, &disk.mutex);
	disk.n_inside--;
	pthread_cond_broadcast(&disk.changed);
	pthread_mutex_unlock(&disk.mutex);
	return (int)syscall(SYS_fdatasync, fd);
}

static void hang_disk(bool hangs)
{
	pthread_mutex_lock(&disk.mutex);
	disk.is_closed = hangs;
	pthread_cond_broadcast(&disk.changed);
	pthread_mutex_unlock(&disk.mutex);
}

/* Until so many threads are in the disk; by the test's time limit when they do not come. */
static void wait_in_disk(unsigned n)
{
	pthread_mutex_lock(&disk.mutex);
	while (disk.n_inside != n)
		pthread_cond_wait(&disk.changed, &disk.mutex);
	pthread_mutex_unlock(&disk.mutex);
}

/* ---- the rig ---- */

static int64_t in_ms(int64_t ms)
{
	return clock__mono(&clock__system) + ms * 1000000;
}

static void begin(struct rig *r)
{
	static unsigned n;

	memset(r, 0, sizeof(*r));
	fake__init(&r->fake);
	assert_int_equal(stats__new(NULL, &r->stats), 0);
	r->pool = queue_pool__new(0);
	r->log = (struct log){ .fd = memfd_create("log", MFD_CLOEXEC), .level = DCM_LOG_INFO };
	r->env = (struct destination_env){
		.pool = r->pool, .log = &r->log, .stats = r->stats, .clock = &clock__system
	};
	snprintf(r->spool, sizeof(r->spool), "%s/%u/spool", dir, n++);
}

static void end(struct rig *r)
{
	close(r->log.fd);
	queue_pool__unref(r->pool);
	stats__free(r->stats);
	fake__fini(&r->fake);
}

/* The output `fake` behind a spool, or without. */
static struct destination_config config_of(struct rig *r, struct fake *fake, bool has_spool)
{
	struct destination_config c = {
		.name = "out",
		.output = &fake__output,
		.handle = fake,
		.policy = QUEUE_DROP_OLDEST,
		.write_timeout_ns = 100000000,
	};

	if (has_spool)
		c.spool = (struct spool_place){ .directory = r->spool,
						.max_bytes = 1 << 20,
						.max_age_ns = INT64_C(3600000000000) };
	return c;
}

static void start(struct rig *r, bool has_spool)
{
	struct destination_config c = config_of(r, &r->fake, has_spool);

	assert_int_equal(destination__new(&r->env, &c, &r->d, NULL), 0);
}

static void reconnect(struct rig *r, struct fake *fake, bool has_spool)
{
	struct destination_config c = config_of(r, fake, has_spool);

	assert_int_equal(destination__connect(r->d, &c, NULL), 0);
}

static void stop(struct rig *r)
{
	assert_int_equal(destination__end(r->d, in_ms(5000)), 0);
}

static struct dcm_batch *several(void)
{
	struct dcm_batch *b = NULL;

	for (uint64_t seed = 1; !b || b->n_profiles < 3 || b->profiles[1].n_rows == 0; seed++) {
		batch__unref(b);
		b = random_batch__new(seed, 0);
	}
	return b;
}

static void route_one(struct rig *r, uint64_t sequence, struct ack *ack)
{
	struct arena *arena;
	struct dcm_batch *b = several(), *o = batch__overlay(b, &arena);

	batch__account(o);
	o->id.sequence = sequence;
	destination__route(r->d, o, ack);
	batch__unref(o);
	batch__unref(b);
}

static void route(struct rig *r, uint64_t first, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		route_one(r, first + i, NULL);
}

static uint64_t lost(const struct rig *r, const char *reason)
{
	return (uint64_t)stats__value(r->stats, "decima_dropped_total",
				      STATS_LABELS({ "instance", "out" }, { "reason", reason }));
}

static uint64_t lost_all(const struct rig *r)
{
	static const char *const reasons[] = { "queue_full",	"too_large",   "rejected",
					       "gave_up",	"spool_full",  "spool_expired",
					       "spool_damaged", "not_running", "abandoned",
					       "shutdown",	"no_memory" };
	uint64_t n = 0;

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		n += lost(r, reasons[i]);
	return n;
}

static void read_spool(void *ctx, const struct pipeline_view *v)
{
	struct spool_view *ret = ctx;

	if (v->spooler)
		*ret = v->spooler->spool;
}

static struct spool_view spool_of(struct rig *r)
{
	struct spool_view v = { 0 };

	destination__look(r->d, read_spool, &v);
	return v;
}

/* Until so many batches are in the spool; by the test's time limit when they never are. */
static void wait_spooled(struct rig *r, uint64_t n)
{
	while (spool_of(r).n_batches != n)
		poll(NULL, 0, 5);
}

static bool has_logged(const struct rig *r, const char *sentence)
{
	static char text[N_LOG];
	ssize_t n = pread(r->log.fd, text, sizeof(text) - 1, 0);

	assert_true(n >= 0);
	text[n] = '\0';
	return strstr(text, sentence);
}

/* ---- without a spool ---- */

static void what_is_away_is_kept_or_lost(void **state)
{
	static struct rig r;
	struct destination_config c;
	struct dcm_batch *b = several();
	uint64_t rows = batch__n_rows(b);

	(void)state;
	begin(&r);
	c = config_of(&r, NULL, false);
	c.is_away = true;
	assert_int_equal(destination__new(&r.env, &c, &r.d, NULL), 0);
	route(&r, 1, 2);
	destination__keep(r.d, false);
	assert_int_equal(lost(&r, "not_running"), 2 * rows);
	route(&r, 3, 1);
	assert_int_equal(lost(&r, "not_running"), 3 * rows);
	destination__keep(r.d, true);
	route(&r, 4, 2);
	reconnect(&r, &r.fake, false);
	stop(&r);
	fake__assert_taken(&r.fake, 4, 2);
	assert_int_equal(lost_all(&r), 3 * rows);
	batch__unref(b);
	end(&r);
}

static void count_acks(void *ctx, int status)
{
	int *n = ctx;

	n[0]++;
	n[1] += status < 0;
}

/* Who keeps it for good says so: an output alone says nothing. */
static void who_keeps_it_acknowledges(void **state)
{
	static struct rig r;

	(void)state;
	for (int has_spool = 0; has_spool < 2; has_spool++) {
		int n_acks[2] = { 0 };
		struct ack *ack = ack__new(count_acks, n_acks);

		begin(&r);
		fake__close_gate(&r.fake);
		start(&r, has_spool);
		route_one(&r, 1, ack);
		if (has_spool)
			wait_spooled(&r, 1);
		fake__wait_inside(&r.fake);
		ack__unref(ack, 0);
		assert_int_equal(n_acks[0], 1);
		assert_int_equal(n_acks[1], 0);
		fake__open_gate(&r.fake);
		stop(&r);
		fake__assert_taken(&r.fake, 1, 1);
		end(&r);
	}
}

/* ---- with one ---- */

static void a_spool_is_there_for_the_next_start(void **state)
{
	static struct rig r;

	(void)state;
	begin(&r);
	fake__set_answer(&r.fake, -EAGAIN);
	start(&r, true);
	route(&r, 1, 3);
	wait_spooled(&r, 3);
	/* What is tried in vain keeps nobody: 5 s are allowed, and the batches are safe. */
	stop(&r);
	assert_true(has_logged(&r, r.spool));
	assert_true(has_logged(&r, "3 batches"));
	fake__set_answer(&r.fake, 0);
	start(&r, true);
	assert_int_equal(destination__flush(r.d, in_ms(5000)), 0);
	stop(&r);
	fake__assert_taken(&r.fake, 1, 3);
	assert_int_equal(lost_all(&r), 0);
	end(&r);
}

/*
 * What is read back goes no faster than it may, the first one at once; what memory still has goes as it comes. Only that it
 * takes as long is asked for: a slow machine takes longer.
 */
static void what_is_read_back_keeps_the_rate(void **state)
{
	static struct rig r;
	struct destination_config c;
	enum { N = 9 };

	(void)state;
	begin(&r);
	fake__set_answer(&r.fake, -EAGAIN);
	start(&r, true);
	route(&r, 1, N);
	wait_spooled(&r, N);
	const uint64_t bytes = spool_of(&r).bytes;
	stop(&r);
	fake__set_answer(&r.fake, 0);
	c = config_of(&r, &r.fake, true);
	c.spool.bytes_per_s = 2 * bytes;
	const int64_t begun = in_ms(0);
	assert_int_equal(destination__new(&r.env, &c, &r.d, NULL), 0);
	assert_int_equal(destination__flush(r.d, in_ms(20000)), 0);
	assert_true(in_ms(0) - begun >= 1000000 * (500 * (N - 1) / N - 1));
	fake__assert_taken(&r.fake, 1, N);
	stop(&r);
	assert_int_equal(lost_all(&r), 0);
	end(&r);
}

static void a_reload_takes_it_and_gives_it_again(void **state)
{
	static struct rig r;

	(void)state;
	begin(&r);
	fake__set_answer(&r.fake, -EAGAIN);
	start(&r, true);
	route(&r, 1, 2);
	wait_spooled(&r, 2);
	assert_false(has_logged(&r, "stay here"));
	assert_int_equal(destination__disconnect(r.d, in_ms(5000)), 0);
	route(&r, 3, 1);
	wait_spooled(&r, 3);
	reconnect(&r, &r.fake, false);
	assert_true(has_logged(&r, "3 batches"));
	route(&r, 4, 1);
	fake__set_answer(&r.fake, 0);
	assert_int_equal(destination__flush(r.d, in_ms(5000)), 0);
	fake__assert_taken(&r.fake, 4, 1);
	assert_int_equal(destination__disconnect(r.d, in_ms(5000)), 0);
	reconnect(&r, &r.fake, true);
	assert_true(fake__wait_taken(&r.fake, 4));
	for (unsigned i = 1; i < 4; i++)
		assert_int_equal(r.fake.sequences[i], i);
	assert_int_equal(destination__flush(r.d, in_ms(5000)), 0);
	stop(&r);
	assert_int_equal(lost_all(&r), 0);
	end(&r);
}

/* A spool is often turned off because there is something wrong with its disk. */
static void what_waits_for_a_spool_that_goes_is_not_lost(void **state)
{
	static struct rig r;
	char path[160];
	int fd;

	(void)state;
	begin(&r);
	snprintf(path, sizeof(path), "%.*s", (int)(strrchr(r.spool, '/') - r.spool), r.spool);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	start(&r, true);
	route(&r, 1, 5);
	while (!has_logged(&r, path))
		poll(NULL, 0, 5);
	assert_int_equal(destination__disconnect(r.d, in_ms(5000)), 0);
	route(&r, 6, 1);
	reconnect(&r, &r.fake, false);
	stop(&r);
	fake__assert_taken(&r.fake, 1, 6);
	assert_int_equal(lost_all(&r), 0);
	end(&r);
}

/* What one that hangs has taken is on the disk all the same, and the next one gets it. */
static void one_that_hangs_keeps_nothing_of_a_spool(void **state)
{
	static struct rig r;
	static struct fake next;

	(void)state;
	begin(&r);
	fake__init(&next);
	fake__close_gate(&r.fake);
	start(&r, true);
	route(&r, 1, 2);
	assert_true(fake__wait_inside(&r.fake));
	wait_spooled(&r, 2);
	assert_int_equal(destination__disconnect(r.d, in_ms(50)), -ETIMEDOUT);
	reconnect(&r, &next, true);
	route(&r, 3, 1);
	assert_true(fake__wait_taken(&next, 3));
	assert_int_equal(destination__flush(r.d, in_ms(5000)), 0);
	fake__open_gate(&r.fake);
	assert_true(fake__wait_taken(&r.fake, 1));
	stop(&r);
	fake__assert_taken(&next, 1, 3);
	assert_int_equal(lost_all(&r), 0);
	fake__fini(&next);
	end(&r);
}

static void one_that_hangs_at_the_end_leaves_it_on_the_disk(void **state)
{
	static struct rig r;
	static struct fake next;

	(void)state;
	begin(&r);
	fake__init(&next);
	fake__close_gate(&r.fake);
	start(&r, true);
	route(&r, 1, 2);
	assert_true(fake__wait_inside(&r.fake));
	wait_spooled(&r, 2);
	assert_int_equal(destination__end(r.d, in_ms(50)), -ETIMEDOUT);
	assert_true(has_logged(&r, "2 batches"));
	assert_int_equal(lost_all(&r), 0);
	struct destination_config c = config_of(&r, &next, true);
	assert_int_equal(destination__new(&r.env, &c, &r.d, NULL), 0);
	assert_true(fake__wait_taken(&next, 2));
	stop(&r);
	fake__assert_taken(&next, 1, 2);
	fake__open_gate(&r.fake);
	assert_true(fake__wait_taken(&r.fake, 1));
	fake__fini(&next);
	end(&r);
}

/* ---- its disk hangs ---- */

static void *look(void *arg)
{
	struct rig *r = arg;

	spool_of(r);
	route(r, 100, 1);
	return NULL;
}

/* While what comes is being written. */
static void hang_in_append(struct rig *r)
{
	hang_disk(true);
	route(r, 2, 1);
}

/* While segments are given up, of which there must be two. */
static void hang_in_settle(struct rig *r)
{
	uint64_t n = 0;

	fake__close_gate(&r->fake);
	do {
		route(r, 2 + n, 10);
		n += 10;
		wait_spooled(r, n);
	} while (spool_of(r).bytes < 300000);
	hang_disk(true);
	fake__open_gate(&r->fake);
}

/* Nobody waits for a disk that does not come back: neither who looks, nor who routes, nor the end. */
static void nobody_waits(void (*hang)(struct rig *r))
{
	static struct rig r;
	struct timespec until;
	pthread_t thread;
	int64_t began;

	begin(&r);
	start(&r, true);
	route(&r, 1, 1);
	assert_true(fake__wait_taken(&r.fake, 1));
	wait_spooled(&r, 0);
	hang(&r);
	wait_in_disk(1);
	assert_int_equal(pthread_create(&thread, NULL, look, &r), 0);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 10;
	assert_int_equal(pthread_timedjoin_np(thread, NULL, &until), 0);
	began = clock__mono(&clock__system);
	destination__end(r.d, in_ms(50));
	assert_true(clock__mono(&clock__system) - began < INT64_C(30000000000));
	assert_true(lost(&r, "shutdown") + lost(&r, "abandoned") > 0);
	hang_disk(false);
	wait_in_disk(0);
	end(&r);
}

static void a_disk_that_hangs_in_an_append_holds_up_nobody(void **state)
{
	(void)state;
	nobody_waits(hang_in_append);
}

static void a_disk_that_hangs_in_a_settle_holds_up_nobody(void **state)
{
	(void)state;
	nobody_waits(hang_in_settle);
}

/* ---- what the other side refuses ---- */

/* An output that never takes the second profile of a batch. */
static struct {
	_Atomic unsigned n_writes, n_taken;
	uint32_t n_done;
} picky;

static int picky_write(void *instance, struct dcm_batch *batch, int64_t deadline_mono_ns,
		       struct dcm_error *err)
{
	(void)instance;
	(void)deadline_mono_ns;
	picky.n_writes++;
	if (picky.n_done < 1)
		picky.n_done = 1;
	if (picky.n_done == 1) {
		snprintf(err->text, sizeof(err->text), "not the second one");
		return -EBADMSG;
	}
	picky.n_done = 0;
	picky.n_taken += batch->n_profiles - 1;
	return 0;
}

static int picky_pass_over(void *instance, struct dcm_batch *batch, uint32_t *ret_profile)
{
	(void)instance;
	(void)batch;
	if (picky.n_done != 1)
		return -ENOENT;
	*ret_profile = picky.n_done++;
	return 0;
}

static const struct dcm_output_ops picky_output = { .size = sizeof(picky_output),
						    .write = picky_write,
						    .pass_over = picky_pass_over };

static void one_profile_is_refused_and_the_others_are_not(void **state)
{
	static struct rig r;
	struct dcm_batch *b = several();
	char path[256], words[64] = "";
	int fd;

	(void)state;
	for (int has_spool = 0; has_spool < 2; has_spool++) {
		begin(&r);
		memset(&picky, 0, sizeof(picky));
		struct destination_config c = config_of(&r, NULL, has_spool);
		c.output = &picky_output;
		c.n_refusals = 2;
		assert_int_equal(destination__new(&r.env, &c, &r.d, NULL), 0);
		route(&r, 1, 1);
		assert_int_equal(destination__flush(r.d, in_ms(5000)), 0);
		assert_int_equal(picky.n_writes, 3);
		assert_int_equal(picky.n_taken, b->n_profiles - 1);
		assert_int_equal(lost(&r, "rejected"), b->profiles[1].n_rows);
		assert_int_equal(lost_all(&r), b->profiles[1].n_rows);
		assert_int_equal(stats__value(r.stats, "decima_written_rows_total",
					      STATS_LABELS({ "instance", "out" })),
				 batch__n_rows(b) - b->profiles[1].n_rows);
		assert_int_equal(spool_of(&r).n_aside, has_spool);
		stop(&r);
		if (has_spool) {
			snprintf(path, sizeof(path), "%s/aside/00000000000000000001-1.txt", r.spool);
			fd = open(path, O_RDONLY | O_CLOEXEC);
			assert_true(read(fd, words, sizeof(words) - 1) > 0);
			close(fd);
			assert_string_equal(words, "not the second one");
		}
		end(&r);
	}
	batch__unref(b);
}

/* One that names the same profile for ever, or one that is not there, is believed so often at most. */
static int liar_write(void *instance, struct dcm_batch *batch, int64_t deadline_mono_ns,
		      struct dcm_error *err)
{
	(void)instance;
	(void)batch;
	(void)deadline_mono_ns;
	snprintf(err->text, sizeof(err->text), "no");
	return -EBADMSG;
}

static int liar_pass_over(void *instance, struct dcm_batch *batch, uint32_t *ret_profile)
{
	(void)batch;
	*ret_profile = *(uint32_t *)instance;
	return 0;
}

static const struct dcm_output_ops liar_output = { .size = sizeof(liar_output),
						   .write = liar_write,
						   .pass_over = liar_pass_over };

static void a_batch_has_an_end(void **state)
{
	static struct rig r;
	static uint32_t profiles[] = { 0, DCM_NONE };

	(void)state;
	for (int i = 0; i < 2; i++) {
		begin(&r);
		struct destination_config c = config_of(&r, NULL, true);
		c.output = &liar_output;
		c.handle = &profiles[i];
		assert_int_equal(destination__new(&r.env, &c, &r.d, NULL), 0);
		route(&r, 1, 1);
		assert_int_equal(destination__flush(r.d, in_ms(5000)), 0);
		assert_true(lost(&r, "rejected") > 0);
		stop(&r);
		end(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_away_is_kept_or_lost),
		cmocka_unit_test(who_keeps_it_acknowledges),
		cmocka_unit_test(a_spool_is_there_for_the_next_start),
		cmocka_unit_test(what_is_read_back_keeps_the_rate),
		cmocka_unit_test(a_reload_takes_it_and_gives_it_again),
		cmocka_unit_test(what_waits_for_a_spool_that_goes_is_not_lost),
		cmocka_unit_test(one_that_hangs_keeps_nothing_of_a_spool),
		cmocka_unit_test(one_that_hangs_at_the_end_leaves_it_on_the_disk),
		cmocka_unit_test(a_disk_that_hangs_in_an_append_holds_up_nobody),
		cmocka_unit_test(a_disk_that_hangs_in_a_settle_holds_up_nobody),
		cmocka_unit_test(one_profile_is_refused_and_the_others_are_not),
		cmocka_unit_test(a_batch_has_an_end),
	};

	return cmocka_run_group_tests_name("destination", tests, make_dir, remove_dir);
}
