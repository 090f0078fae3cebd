/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_uploads.c - plugins/output/delivery/uploads.h against a host whose server and clock are ours
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/protobuf.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "plugins/output/delivery/uploads.h"

#define SECOND INT64_C(1000000000)

struct dcm_metric {
	const char *name;
	_Atomic uint64_t n;
};

/* What the server does, and what was asked of it. */
static struct {
	struct dcm_metric metrics[32];
	unsigned n_metrics;
	_Atomic int64_t now_ns, step_ns; /* step: of each look at the clock */
	_Atomic int grpc_status;	 /* of whatever is asked */
	const char *should;		 /* reason; NULL: it is wanted */
	bool hangs;			 /* no answer before it is cancelled */
	int host_rc;			 /* of debuginfo() */
	_Atomic unsigned n_should, n_initiate, n_upload, n_mark, n_wanted, n_files;
	pthread_mutex_t lock;
	struct dcm_http_call hanging;
	_Atomic bool is_hanging;
} w;

/* ---- the host ---- */

static struct dcm_metric *metric(const struct dcm_host *h, enum dcm_metric_kind kind,
				 const char *name, const char *help)
{
	(void)h;
	(void)kind;
	(void)help;
	assert_true(w.n_metrics < 32);
	w.metrics[w.n_metrics].name = name;
	return &w.metrics[w.n_metrics++];
}

static void metric_add(struct dcm_metric *m, uint64_t n)
{
	atomic_fetch_add(&m->n, n);
}

static void metric_set(struct dcm_metric *m, double v)
{
	atomic_store(&m->n, (uint64_t)v);
}

static int64_t mono_ns(const struct dcm_host *h)
{
	(void)h;
	return atomic_fetch_add(&w.now_ns, w.step_ns);
}

static void host_log(const struct dcm_host *h, enum dcm_log_level level, const char *fmt, ...)
{
	(void)h;
	(void)level;
	(void)fmt;
}

static int data_dir_make(const struct dcm_host *h, struct dcm_error *err)
{
	(void)h;
	(void)err;
	return -ENOSYS;
}

static int client_new(const struct dcm_host *h, const struct dcm_http_options *o,
		      struct dcm_http_client **ret, struct dcm_error *err)
{
	(void)h;
	(void)o;
	(void)err;
	*ret = NULL;
	return 0;
}

static void client_free(struct dcm_http_client *c)
{
	(void)c;
}

static bool ends(const char *text, const char *end)
{
	return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

static void put_answer(const struct dcm_http_call *c, struct buf *b)
{
	struct buf inner = { 0 };

	buf__append(b, "\0\0\0\0\0", 5);
	if (ends(c->url, "/ShouldInitiateUpload")) {
		w.n_should++;
		pb__put_varint(b, 1, w.should == NULL);
		pb__put_str(b, 2, str__of(w.should ? w.should : "please"));
	} else if (ends(c->url, "/InitiateUpload")) {
		w.n_initiate++;
		pb__put_str(&inner, 2, STR("an-id"));
		pb__put_varint(&inner, 3, 1);
		pb__put_bytes(b, 1, inner.data, inner.n);
	} else if (ends(c->url, "/Upload")) {
		w.n_upload++;
		assert_non_null(c->file);
		assert_true(c->file->n > 0);
	} else {
		assert_true(ends(c->url, "/MarkUploadFinished"));
		w.n_mark++;
	}
	buf__fini(&inner);
}

static int start(struct dcm_http_client *client, const struct dcm_http_call *c, uint64_t *ret_id,
		 struct dcm_error *err)
{
	char status[16];
	int n = snprintf(status, sizeof(status), "%d", atomic_load(&w.grpc_status));
	const struct dcm_http_header trailer = { STR("grpc-status"), { status, (uint32_t)n } };
	struct dcm_http_reply reply = {
		.size = sizeof(reply), .status = 200, .sentence = "", .headers = &trailer, .n_headers = 1
	};
	struct buf body = { 0 };

	(void)client;
	(void)err;
	*ret_id = 7;
	if (w.hangs) {
		w.hanging = *c;
		w.is_hanging = true;
		return 0;
	}
	if (atomic_load(&w.grpc_status) == 0)
		put_answer(c, &body);
	else
		w.n_should += ends(c->url, "/ShouldInitiateUpload");
	reply.data = body.data;
	reply.n = body.n;
	c->done(c->ctx, &reply);
	buf__fini(&body);
	return 0;
}

static void cancel(struct dcm_http_client *client, uint64_t id)
{
	const struct dcm_http_reply reply = { .size = sizeof(reply),
					      .fault = -ECANCELED,
					      .sentence = "cancelled" };

	(void)client;
	assert_int_equal(id, 7);
	if (atomic_exchange(&w.is_hanging, false))
		w.hanging.done(w.hanging.ctx, &reply);
}

static int debuginfo(const struct dcm_host *h, const struct dcm_debuginfo *wish, int *ret_fd,
		     uint64_t *ret_bytes, struct dcm_error *err)
{
	(void)h;
	assert_true(wish->max_bytes > 0);
	w.n_files++;
	if (w.host_rc)
		return error__set(err, w.host_rc, "why %d", -w.host_rc);
	*ret_fd = memfd_create("reduced", MFD_CLOEXEC);
	assert_int_equal(write(*ret_fd, "reduced", 7), 7);
	*ret_bytes = 7;
	return 0;
}

static void wanted(const struct dcm_host *h, bool is)
{
	(void)h;
	w.n_wanted += is ? 1u : (unsigned)-1;
}

static const struct dcm_host host = { .size = sizeof(host),
				      .instance = "x",
				      .log = host_log,
				      .metric = metric,
				      .metric_add = metric_add,
				      .metric_set = metric_set,
				      .mono_ns = mono_ns,
				      .data_dir_make = data_dir_make,
				      .http_client_new = client_new,
				      .http_client_free = client_free,
				      .http_start = start,
				      .http_cancel = cancel,
				      .debuginfo = debuginfo,
				      .debuginfo_wanted = wanted };

/* ---- helpers ---- */

static int reset(void **state)
{
	(void)state;
	memset(&w, 0, sizeof(w));
	w.now_ns = SECOND;
	return 0;
}

static struct uploads *made_with(int64_t max_parallel, int64_t queue_size)
{
	const struct uploads_config c = { true,	   max_parallel, 100 * SECOND,
					  1 << 20, 100 * SECOND, queue_size };
	const struct dcm_http_options http = { .follow_redirects = true };
	struct uploads *u = NULL;

	assert_int_equal(uploads__new(&host, &c, "http://there:1/", &http, &u, NULL), 0);
	assert_non_null(u);
	return u;
}

static struct uploads *made(int64_t queue_size)
{
	return made_with(2, queue_size);
}

static uint64_t counted(const char *what)
{
	for (unsigned i = 0; i < w.n_metrics; i++)
		if (strstr(w.metrics[i].name, what))
			return w.metrics[i].n;
	fail_msg("%s is not counted", what);
	return 0;
}

/* In the end. */
static void await(const char *what, uint64_t n)
{
	for (int i = 0; i < 2000 && counted(what) != n; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	assert_int_equal(counted(what), n);
	/* And no more. */
	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	assert_int_equal(counted(what), n);
}

/* A batch with a mapping for each id, of which the first n_used have samples. */
static struct dcm_batch *batch_of(const char *const *ids, uint32_t n, uint32_t n_used, uint32_t kind)
{
	struct dcm_builder *b = builder__new(0);
	const struct dcm_type type = { .name = builder__string(b, STR("x")),
				       .sample_type = builder__string(b, STR("y")) };
	const struct dcm_profile head = { .series = builder__series(b, NULL, 0), .time_ns = 1 };
	struct dcm_batch *batch;

	builder__profile(b, &head, &type, 1);
	for (uint32_t i = 0; i < n; i++) {
		const struct dcm_mapping m = { .start = 4096,
					       .limit = 8192,
					       .file = builder__string(b, STR("/bin/x")),
					       .build_id = builder__string(b, str__of(ids[i])),
					       .kind = kind };
		const struct dcm_location l = { .mapping = builder__mapping(b, &m),
						.process = DCM_NONE,
						.address = 16,
						.addr_kind = DCM_ADDR_VADDR };
		uint32_t at = builder__location(b, &l, NULL, 0);
		uint32_t stack = builder__stack(b, &at, 1);

		if (i < n_used)
			builder__row(b, stack, 0, &(int64_t){ 1 });
	}
	assert_int_equal(builder__seal(b, &batch, NULL), 0);
	builder__free(b);
	return batch;
}

static void see(struct uploads *u, const char *id)
{
	struct dcm_batch *b = batch_of(&id, 1, 1, DCM_MAPPING_FILE);

	uploads__see(u, b);
	batch__unref(b);
}

#define A "00112233445566778899aabbccddeeff00112233"
#define B "11112233445566778899aabbccddeeff00112233"

/* ---- cases ---- */

static void test_off(void **state)
{
	const struct uploads_config off = { .enabled = false };
	struct uploads *u = (void *)1;
	char note[UPLOADS_NOTE];

	(void)state;
	assert_int_equal(uploads__new(&host, &off, "http://there:1",
				      &(struct dcm_http_options){ 0 }, &u, NULL),
			 0);
	assert_null(u);
	assert_int_equal(uploads__start(u, NULL), 0);
	see(u, A);
	assert_string_equal(uploads__note(u, note), "");
	uploads__free(u);
	assert_int_equal(w.n_metrics + w.n_wanted, 0);
}

static void test_sent_once(void **state)
{
	const char *const ids[] = { A, B, "~0011223344556677", "abcd", "00112233445566" };
	struct uploads *u = made(8);
	struct dcm_batch *b = batch_of(ids, 2, 1, DCM_MAPPING_FILE);

	(void)state;
	assert_int_equal(w.n_wanted, 1);
	assert_int_equal(uploads__start(u, NULL), 0);
	/* The other one has no samples. */
	uploads__see(u, b);
	uploads__see(u, b);
	await("_sent_total", 1);
	assert_int_equal(w.n_should + w.n_initiate + w.n_upload + w.n_mark, 4);
	assert_int_equal(counted("_sent_bytes_total"), 7);
	uploads__see(u, b);
	batch__unref(b);
	/* Nobody's build ids, and what has no file. */
	b = batch_of(ids + 2, 3, 3, DCM_MAPPING_FILE);
	uploads__see(u, b);
	batch__unref(b);
	b = batch_of(ids + 1, 1, 1, DCM_MAPPING_KERNEL);
	uploads__see(u, b);
	batch__unref(b);
	await("_asked_total", 1);
	uploads__free(u);
	assert_int_equal(w.n_wanted, 0);
}

static void test_answers_hold_for_a_while(void **state)
{
	struct uploads *u = made(8);

	(void)state;
	assert_int_equal(uploads__start(u, NULL), 0);
	w.should = "Debuginfo already exists and is not marked as invalid, therefore no new upload "
		   "is needed.";
	see(u, A);
	await("_known_total", 1);
	w.should = "No.";
	see(u, B);
	await("_not_wanted_total", 1);
	w.now_ns += 99 * SECOND;
	see(u, A);
	await("_asked_total", 2);
	w.now_ns += 2 * SECOND;
	see(u, A);
	await("_asked_total", 3);
	assert_int_equal(w.n_files + w.n_initiate, 0);
	uploads__free(u);
}

static void test_files_that_are_not_to_be_had(void **state)
{
	static const struct {
		int rc;
		const char *what;
	} cases[] = { { -ENOENT, "_not_found_total" },
		      { -ENODATA, "_nameless_total" },
		      { -EFBIG, "_too_large_total" },
		      { -ENOEXEC, "_unreadable_total" } };
	struct uploads *u = made(8);
	char id[41], note[UPLOADS_NOTE], want[16];

	(void)state;
	assert_int_equal(uploads__start(u, NULL), 0);
	for (unsigned i = 0; i < 4; i++) {
		w.host_rc = cases[i].rc;
		snprintf(id, sizeof(id), "%040x", i + 1);
		see(u, id);
		await(cases[i].what, 1);
		/* What the user can do something about is told. */
		snprintf(want, sizeof(want), "why %d", -cases[i].rc);
		assert_int_equal(strstr(uploads__note(u, note), want) != NULL, i >= 2);
	}
	assert_int_equal(w.n_initiate, 0);
	uploads__free(u);
}

static void test_a_server_that_is_away(void **state)
{
	/* One thread: another's looks at the clock would use up the time of a call. */
	struct uploads *u = made_with(1, 8);

	(void)state;
	w.step_ns = 70 * SECOND; /* no pause lasts */
	w.grpc_status = 14;
	assert_int_equal(uploads__start(u, NULL), 0);
	see(u, A);
	await("_failed_total", 1);
	assert_int_equal(w.n_should + w.n_files, 8);
	w.step_ns = 0;
	w.grpc_status = 0;
	see(u, A);
	await("_sent_total", 0);
	w.now_ns += 301 * SECOND;
	see(u, A);
	await("_sent_total", 1);
	uploads__free(u);
}

static void test_a_server_that_comes_back(void **state)
{
	struct uploads *u = made(8);

	(void)state;
	w.grpc_status = 14;
	assert_int_equal(uploads__start(u, NULL), 0);
	see(u, A);
	for (int i = 0; i < 2000 && w.n_should == 0; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	w.grpc_status = 0;
	/* The pause is not over by the host's clock; the system's, which waits, is far beyond that. */
	nanosleep(&(struct timespec){ .tv_nsec = 30000000 }, NULL);
	assert_int_equal(w.n_should, 1);
	w.now_ns += 2 * SECOND;
	see(u, B);
	await("_sent_total", 2);
	assert_int_equal(counted("_failed_total"), 0);
	uploads__free(u);
}

static void test_a_server_without_that_service(void **state)
{
	struct uploads *u = made(8);

	(void)state;
	w.grpc_status = 12;
	assert_int_equal(uploads__start(u, NULL), 0);
	see(u, A);
	await("_refused_total", 1);
	w.grpc_status = 0;
	see(u, B);
	await("_asked_total", 0);
	assert_int_equal(w.n_should, 1);
	w.now_ns += 101 * SECOND;
	see(u, B);
	await("_sent_total", 1);
	uploads__free(u);
}

static void test_full_queue(void **state)
{
	struct uploads *u = made(1);

	(void)state;
	see(u, A);
	see(u, B);
	see(u, A);
	assert_int_equal(counted("_queue_full_total"), 1);
	assert_int_equal(counted("_waiting"), 1);
	assert_int_equal(uploads__start(u, NULL), 0);
	await("_sent_total", 1);
	see(u, B);
	await("_sent_total", 2);
	uploads__free(u);
}

/* More ids than are remembered: none is lost, some are asked about twice. */
static void test_many(void **state)
{
	enum { MANY = 40000 };
	struct uploads *u = made(16384);
	char id[41];

	(void)state;
	w.should = "Debuginfo already exists";
	assert_int_equal(uploads__start(u, NULL), 0);
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(id, sizeof(id), "%040x", i + 1);
		do
			see(u, id);
		while (counted("_waiting") > 8000);
	}
	for (int i = 0; i < 2000 && counted("_waiting"); i++)
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	await("_waiting", 0);
	assert_true(counted("_known_total") >= MANY);
	assert_int_equal(counted("_queue_full_total"), 0);
	uploads__free(u);
}

static void test_stopped_in_the_middle(void **state)
{
	struct uploads *u = made(8);

	(void)state;
	w.hangs = true;
	assert_int_equal(uploads__start(u, NULL), 0);
	see(u, A);
	for (int i = 0; i < 2000 && !w.is_hanging; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	assert_true(w.is_hanging);
	uploads__free(u);
	assert_int_equal(w.n_wanted, 0);
	assert_false(w.is_hanging);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_off, reset),
		cmocka_unit_test_setup(test_sent_once, reset),
		cmocka_unit_test_setup(test_answers_hold_for_a_while, reset),
		cmocka_unit_test_setup(test_files_that_are_not_to_be_had, reset),
		cmocka_unit_test_setup(test_a_server_that_is_away, reset),
		cmocka_unit_test_setup(test_a_server_that_comes_back, reset),
		cmocka_unit_test_setup(test_a_server_without_that_service, reset),
		cmocka_unit_test_setup(test_full_queue, reset),
		cmocka_unit_test_setup(test_many, reset),
		cmocka_unit_test_setup(test_stopped_in_the_middle, reset),
	};

	return cmocka_run_group_tests_name("uploads", tests, NULL, NULL);
}
