/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_host.c - what a plugin is offered, the life of an instance, and who is asked for
 * names
 */
#include "core/plugin/host.h"

#include <errno.h>
#include <malloc.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/batch/identity.h"
#include "core/plugin/emissions.h"
#include "core/plugin/sources.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

struct setup {
	struct log log;
	int log_fd;
	struct stats *stats;
	struct clock clock;
	struct host_services services;
	struct dcm_host *host;
	_Atomic int n_changes;
};

static void changed(void *ctx, const struct dcm_host *host, enum dcm_state state, const char *sentence)
{
	struct setup *s = ctx;

	(void)state;
	(void)sentence;
	assert_ptr_equal(host, s->host);
	s->n_changes++;
}

static void begin(struct setup *s)
{
	memset(s, 0, sizeof(*s));
	s->log_fd = memfd_create("log", MFD_CLOEXEC);
	assert_true(s->log_fd >= 0);
	s->log = (struct log){ .fd = s->log_fd, .level = DCM_LOG_DEBUG };
	s->clock = clock__fake(1000000000, 5000000000);
	assert_int_equal(stats__new(NULL, &s->stats), 0);
	s->services = (struct host_services){ .log = &s->log,
					      .stats = s->stats,
					      .clock = &s->clock,
					      .node = "n1",
					      .data_root = "/tmp",
					      .ctx = s,
					      .state_changed = changed };
	assert_int_equal(host__new("file#2", &s->services, &s->host, NULL), 0);
}

static void end(struct setup *s)
{
	host__free(s->host);
	stats__free(s->stats);
	close(s->log_fd);
}

/* What was logged since the last call. */
static const char *logged(struct setup *s)
{
	static char text[4096];
	ssize_t n = pread(s->log_fd, text, sizeof(text) - 1, 0);

	assert_true(n >= 0);
	text[n] = '\0';
	assert_int_equal(ftruncate(s->log_fd, 0), 0);
	lseek(s->log_fd, 0, SEEK_SET);
	return text;
}

static void it_says_who_it_is(void **state)
{
	static struct setup s;

	(void)state;
	begin(&s);
	assert_int_equal(s.host->size, sizeof(*s.host));
	assert_string_equal(s.host->instance, "file#2");
	assert_string_equal(s.host->node, "n1");
	assert_string_equal(s.host->data_dir, "/tmp/file#2");
	assert_int_equal(s.host->mono_ns(s.host), 1000000000);
	assert_int_equal(s.host->real_ns(s.host), 5000000000);
	end(&s);
}

static void names_fit_into_files(void **state)
{
	static const char *const bad[] = { "", ".", "..", ".hidden", "a/b", "a b", "a\n", "größe" };
	struct host_services services = { 0 };
	struct dcm_host *h = NULL;
	char longest[66];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct dcm_error err = DCM_ERROR_INIT;

		assert_int_equal(host__new(bad[i], &services, &h, &err), -EINVAL);
		assert_true(err.text[0]);
	}
	memset(longest, 'a', 65);
	longest[65] = '\0';
	assert_int_equal(host__new(longest, &services, &h, NULL), -EINVAL);
	longest[64] = '\0';
	assert_int_equal(host__new(longest, &services, &h, NULL), 0);
	host__free(h);
}

static void states_are_logged_when_they_change(void **state)
{
	static struct setup s;
	struct host_state now;

	(void)state;
	begin(&s);
	s.host->set_state(s.host, DCM_STATE_OK, "all %s", "well");
	assert_non_null(strstr(logged(&s), "info file#2: ok: all well"));
	s.host->set_state(s.host, DCM_STATE_OK, "all well");
	assert_string_equal(logged(&s), "");
	assert_int_equal(s.n_changes, 1);
	/* Another sentence of the same state is news for pages, and for the log now and then. */
	s.host->set_state(s.host, DCM_STATE_OK, "done %d", 1);
	s.host->set_state(s.host, DCM_STATE_OK, "done %d", 2);
	assert_string_equal(logged(&s), "");
	s.clock.fake_mono_ns += 11000000000;
	s.host->set_state(s.host, DCM_STATE_OK, "done %d", 3);
	assert_non_null(strstr(logged(&s), "done 3"));
	/* The last one is never kept from the log: it stands, and nothing may follow it for days. */
	assert_int_equal(host__log_state(s.host), INT64_MAX);
	s.clock.fake_mono_ns += 1000000000;
	s.host->set_state(s.host, DCM_STATE_OK, "done %d", 4);
	s.host->set_state(s.host, DCM_STATE_OK, "done %d", 4);
	assert_int_equal(host__log_state(s.host), s.clock.fake_mono_ns + 9000000000);
	assert_string_equal(logged(&s), "");
	s.clock.fake_mono_ns += 9000000000;
	assert_int_equal(host__log_state(s.host), INT64_MAX);
	assert_non_null(strstr(logged(&s), "ok: done 4"));
	assert_int_equal(host__log_state(s.host), INT64_MAX);
	assert_string_equal(logged(&s), "");
	host__state(s.host, &now);
	assert_int_equal(now.state, DCM_STATE_OK);
	assert_string_equal(now.sentence, "done 4");
	s.host->set_state(s.host, DCM_STATE_FAILED, "bad\nline");
	assert_non_null(strstr(logged(&s), "error file#2: failed: bad?line"));
	end(&s);
}

static void the_cores_trouble_shows_while_the_plugin_is_content(void **state)
{
	static struct setup s;
	struct host_state now;

	(void)state;
	begin(&s);
	s.host->set_state(s.host, DCM_STATE_OK, "fine");
	host__set_trouble(s.host, "does not answer");
	host__state(s.host, &now);
	assert_int_equal(now.state, DCM_STATE_DEGRADED);
	assert_string_equal(now.sentence, "does not answer");
	/* The plugin knows better what is wrong. */
	s.host->set_state(s.host, DCM_STATE_DEGRADED, "disk full");
	host__state(s.host, &now);
	assert_string_equal(now.sentence, "disk full");
	host__set_trouble(s.host, "");
	host__state(s.host, &now);
	assert_string_equal(now.sentence, "disk full");
	s.host->set_state(s.host, DCM_STATE_OK, "fine");
	host__state(s.host, &now);
	assert_int_equal(now.state, DCM_STATE_OK);
	end(&s);
}

static double ended_total(const struct setup *s, const char *job)
{
	return stats__value(s->stats, "decima_ended_total",
			    STATS_LABELS({ "instance", "file#2" }, { "job", job }));
}

static void note_times(void *ctx, const struct stats_view *view)
{
	if (strcmp(view->name, "decima_took_seconds") == 0)
		*(struct stats_view *)ctx = *view;
}

/* Reads anything as a batch that has no id, or "own" as one that has. */
static int decode_what_says_no_id(void *ctx, const char *format, const uint8_t *data, size_t n,
				  struct dcm_batch **ret, struct dcm_error *err)
{
	struct dcm_builder *b = builder__new(0);

	(void)ctx;
	(void)data;
	(void)n;
	if (strcmp(format, "own") == 0)
		builder__set_source(b, (struct dcm_hash){ 5, 6 }, 7);
	int r = builder__seal(b, ret, err);
	builder__free(b);
	return r;
}

/* Whoever a batch is sent to knows it again by its id, wherever it came from: no two have the same. */
static void what_is_decoded_has_an_id(void **state)
{
	static struct setup s;
	struct dcm_batch_id ids[4];

	(void)state;
	begin(&s);
	s.services.decode = decode_what_says_no_id;
	for (int i = 0; i < 4; i++) {
		struct dcm_builder *builder = s.host->builder_new(s.host, 0);
		struct dcm_batch *b = NULL;

		assert_int_equal(i < 3 ? s.host->decode(s.host, i < 2 ? "none" : "own", NULL, 0, &b, NULL)
				       : s.host->seal(builder, &b, NULL),
				 0);
		ids[i] = b->id;
		s.host->batch_unref(b);
		s.host->builder_free(builder);
	}
	assert_true(ids[0].source.lo || ids[0].source.hi);
	assert_memory_equal(&ids[0].source, &ids[1].source, sizeof(ids[0].source));
	assert_memory_equal(&ids[0].source, &ids[3].source, sizeof(ids[0].source));
	assert_int_not_equal(ids[0].sequence, ids[1].sequence);
	assert_int_not_equal(ids[0].sequence, ids[3].sequence);
	assert_int_not_equal(ids[1].sequence, ids[3].sequence);
	assert_true(ids[2].source.lo == 5 && ids[2].source.hi == 6 && ids[2].sequence == 7);
	end(&s);
}

/* As who links with us has it: who does not asks the host. */
static void stacks_have_hashes(void **state)
{
	static struct setup s;
	CLEANUP(batch__unrefp) struct dcm_batch *b = random_batch__new(1, 0);

	(void)state;
	begin(&s);
	assert_true(b->n_stacks > 0);
	for (uint32_t i = 0; i < b->n_stacks; i++) {
		const struct dcm_hash told = s.host->stack_hash(s.host, b, i),
				      want = identity__stack(b, i);

		assert_memory_equal(&told, &want, sizeof(want));
	}
	end(&s);
}

/* Two owners of one metric: it goes with the second, and another job's is another metric. */
static void metrics_with_labels_end(void **state)
{
	static struct setup s;
	struct dcm_label_text label[8] = { { STR("job"), STR("a") } };
	struct dcm_metric *a, *again, *b, *times;
	static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h" };
	struct stats_view noted = { 0 };

	(void)state;
	begin(&s);
	a = s.host->metric_of(s.host, DCM_COUNTER, "ended_total", "Ended.", label, 1);
	again = s.host->metric_of(s.host, DCM_COUNTER, "ended_total", "Ended.", label, 1);
	label[0].value = STR("b");
	b = s.host->metric_of(s.host, DCM_COUNTER, "ended_total", "Ended.", label, 1);
	assert_ptr_equal(a, again);
	assert_ptr_not_equal(a, b);
	s.host->metric_add(a, 3);
	s.host->metric_add(b, 5);
	s.host->metric_end(s.host, a);
	assert_true(ended_total(&s, "a") == 3);
	s.host->metric_end(s.host, again);
	assert_true(ended_total(&s, "a") == 0);
	s.host->metric_end(s.host, NULL);
	assert_true(ended_total(&s, "b") == 5);
	times = s.host->metric_of(s.host, DCM_SECONDS, "took_seconds", "Took.", label, 1);
	s.host->metric_add(times, 1500000000);
	s.host->metric_add(times, 500000000);
	stats__each(s.stats, note_times, &noted);
	assert_int_equal(noted.count, 2);
	assert_true(noted.value == 2);
	for (int i = 0; i < 8; i++)
		label[i] = (struct dcm_label_text){ { names[i], 1 }, STR("x") };
	assert_non_null(s.host->metric_of(s.host, DCM_COUNTER, "many_total", "Many.", label, 7));
	assert_null(s.host->metric_of(s.host, DCM_COUNTER, "more_total", "More.", label, 8));
	assert_null(s.host->metric_of(s.host, DCM_COUNTER, "none_total", "None.", label, 0));
	assert_null(s.host->metric_of(s.host, (enum dcm_metric_kind)9, "odd_total", "Odd.", label, 1));
	host__free(s.host);
	assert_true(ended_total(&s, "b") == 0);
	stats__free(s.stats);
	close(s.log_fd);
}

static void metrics_carry_the_instance(void **state)
{
	static struct setup s;
	struct dcm_metric *m, *g;

	(void)state;
	begin(&s);
	m = s.host->metric(s.host, DCM_COUNTER, "things_total", "Things.");
	g = s.host->metric(s.host, DCM_GAUGE_METRIC, "level", "Level.");
	s.host->metric_add(m, 3);
	s.host->metric_add(m, 4);
	s.host->metric_set(g, 1.5);
	s.host->metric_add(NULL, 1);
	s.host->metric_set(NULL, 1);
	assert_true(stats__value(s.stats, "decima_things_total",
				 STATS_LABELS({ "instance", "file#2" })) == 7);
	assert_true(stats__value(s.stats, "decima_level", STATS_LABELS({ "instance", "file#2" })) == 1.5);
	s.host->drop(s.host, "lost_it", 9);
	assert_true(stats__value(s.stats, "decima_dropped_total",
				 STATS_LABELS({ "instance", "file#2" }, { "reason", "lost_it" })) == 9);
	host__free(s.host);
	assert_true(stats__value(s.stats, "decima_things_total",
				 STATS_LABELS({ "instance", "file#2" })) == 0);
	stats__free(s.stats);
	close(s.log_fd);
}

/* An instance that is tried again for days asks for its metrics each time. */
static void one_metric_is_one_however_often(void **state)
{
	static struct setup s;
	struct dcm_metric *m;
	size_t before;

	(void)state;
	begin(&s);
	m = s.host->metric(s.host, DCM_COUNTER, "things_total", "Things.");
	before = mallinfo2().uordblks;
	for (unsigned i = 0; i < 100000; i++)
		assert_ptr_equal(s.host->metric(s.host, DCM_COUNTER, "things_total", "Things."), m);
	assert_in_range(mallinfo2().uordblks, 0, before + 4096);
	host__free(s.host);
	stats__free(s.stats);
	close(s.log_fd);
}

static struct dcm_batch *seal_empty(struct dcm_host *h, struct dcm_builder *b)
{
	struct dcm_batch *batch = NULL;

	assert_int_equal(h->seal(b, &batch, NULL), 0);
	return batch;
}

static void no_two_batches_share_an_id(void **state)
{
	static struct setup s;
	struct dcm_builder *a, *b;
	struct dcm_batch *batches[4];

	(void)state;
	begin(&s);
	a = s.host->builder_new(s.host, 0);
	b = s.host->builder_new(s.host, 0);
	batches[0] = seal_empty(s.host, a);
	batches[1] = seal_empty(s.host, b);
	batches[2] = seal_empty(s.host, a);
	batches[3] = seal_empty(s.host, b);
	for (int i = 0; i < 4; i++) {
		for (int k = 0; k < i; k++) {
			assert_memory_equal(&batches[i]->id.source, &batches[k]->id.source,
					    sizeof(struct dcm_hash));
			assert_int_not_equal(batches[i]->id.sequence, batches[k]->id.sequence);
		}
	}
	for (int i = 0; i < 4; i++)
		s.host->batch_unref(batches[i]);
	s.host->builder_free(a);
	s.host->builder_free(b);
	end(&s);
}

static void what_is_not_offered_says_so(void **state)
{
	struct host_services services = { 0 };
	struct dcm_host *h = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	enum dcm_unnamed why;
	struct dcm_process p = { .pid = 1 };
	struct dcm_batch *out;
	uint8_t *data;
	size_t n;

	(void)state;
	assert_int_equal(host__new("x", &services, &h, NULL), 0);
	h->log(h, DCM_LOG_ERROR, "nobody hears %s", "this");
	h->drop(h, "x", 1);
	assert_null(h->metric(h, DCM_COUNTER, "x_total", "x"));
	assert_int_equal(h->emit(h, NULL, NULL, NULL), -ENOSYS);
	assert_int_equal(h->encode(h, NULL, 0, "pprof", &data, &n, &err), -ENOSYS);
	assert_non_null(strstr(err.text, "x: this host offers no encoder"));
	assert_int_equal(h->decode(h, "pprof", NULL, 0, &out, &err), -ENOSYS);
	assert_int_equal(h->resolved(h, NULL, &out, &err), -ENOSYS);
	assert_int_equal(h->data_dir_make(h, &err), -ENOSYS);
	assert_int_equal(h->http_get(h, &(struct dcm_http_request){ .url = "http://x" },
				     &(struct dcm_http_answer){ 0 }, &err),
			 -ENOSYS);
	assert_non_null(strstr(err.text, "x: this host offers no HTTP client"));
	struct dcm_http_client *client = NULL;
	assert_int_equal(h->http_client_new(h, &(struct dcm_http_options){ 0 }, &client, &err), -ENOSYS);
	assert_non_null(strstr(err.text, "x: this host offers no HTTP client"));
	assert_int_equal(h->http_start(NULL, &(struct dcm_http_call){ .url = "http://x" }, NULL, &err),
			 -ENOSYS);
	h->http_cancel(NULL, 1);
	h->http_client_free(NULL);
	assert_int_equal(h->page(h, &(struct dcm_page){ .size = sizeof(struct dcm_page) }, &err), -ENOSYS);
	host__settle(h);
	h->process_event(h, DCM_PROCESS_SEEN, &p);
	h->resolve_runtime(h, &p, NULL, 0, NULL, NULL, &why);
	assert_int_equal(why, DCM_UNNAMED_JIT_NO_MAP);
	h->offer_file(h, STR("00"), STR("/x"), -1);
	host__free(h);
}

struct clients {
	const struct dcm_host *made_for, *settled;
	unsigned n_freed;
};

static int make_client(void *ctx, const struct dcm_host *from, const struct dcm_http_options *options,
		       struct dcm_http_client **ret, struct dcm_error *err)
{
	struct clients *c = ctx;

	(void)options;
	(void)err;
	c->made_for = from;
	*ret = ctx;
	return 0;
}

static void free_client(struct dcm_http_client *client)
{
	((struct clients *)(void *)client)->n_freed++;
}

static void settle_clients(void *ctx, const struct dcm_host *from)
{
	((struct clients *)ctx)->settled = from;
}

static void clients_are_the_hosts_and_settle_with_it(void **state)
{
	struct clients c = { 0 };
	struct host_services services = { .ctx = &c,
					  .http_client_new = make_client,
					  .http_client_free = free_client,
					  .http_settle = settle_clients };
	struct dcm_http_client *client = NULL;
	struct dcm_host *h = NULL;

	(void)state;
	assert_int_equal(host__new("x", &services, &h, NULL), 0);
	assert_int_equal(h->http_client_new(h, &(struct dcm_http_options){ 0 }, &client, NULL), 0);
	assert_ptr_equal(c.made_for, h);
	h->http_client_free(client);
	assert_int_equal(c.n_freed, 1);
	host__settle(h);
	assert_ptr_equal(c.settled, h);
	host__free(h);
}

static void the_data_directory_is_private(void **state)
{
	static struct setup s;
	char root[] = "/tmp/decima-host-XXXXXX";
	struct stat st;

	(void)state;
	begin(&s);
	host__free(s.host);
	assert_non_null(mkdtemp(root));
	s.services.data_root = root;
	assert_int_equal(host__new("file", &s.services, &s.host, NULL), 0);
	assert_int_equal(s.host->data_dir_make(s.host, NULL), 0);
	assert_int_equal(s.host->data_dir_make(s.host, NULL), 0);
	assert_int_equal(stat(s.host->data_dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	rmdir(s.host->data_dir);
	rmdir(root);
	end(&s);
}

/* ---- done callbacks that outlive the plugin ---- */

static void count(void *ctx, int status)
{
	int *n = ctx;

	n[0]++;
	n[1] = status;
}

static void done_is_called_once_by_whoever_is_first(void **state)
{
	struct emissions *all = emissions__new();
	struct emission *a, *b, *c;
	int na[2] = { 0 }, nb[2] = { 0 }, nc[2] = { 0 };

	(void)state;
	assert_int_equal(emissions__add(all, count, na, &a), 0);
	assert_int_equal(emissions__add(all, count, nb, &b), 0);
	assert_int_equal(emissions__add(all, count, nc, &c), 0);
	emission__done(a, 0);
	assert_true(emission__cancel(c));
	assert_int_equal(na[0], 1);
	emissions__settle(all);
	assert_int_equal(nb[0], 1);
	assert_int_equal(nb[1], -ECANCELED);
	assert_int_equal(nc[0], 0);
	assert_int_equal(emissions__add(all, count, na, &a), -ESHUTDOWN);
	emissions__unref(all);
	/* The batch comes through after all, and finds nobody. */
	emission__done(b, 0);
	assert_int_equal(nb[0], 1);
}

/* The plugin is stopped while it hands a batch in, which is then refused. */
static int settle_and_refuse(void *ctx, const struct dcm_host *host, struct dcm_batch *batch,
			     dcm_done_fn done, void *done_ctx)
{
	struct setup *s = ctx;

	(void)host;
	(void)batch;
	(void)done;
	(void)done_ctx;
	host__settle(s->host);
	return -EAGAIN;
}

static void it_hears_once_what_becomes_of_a_batch(void **state)
{
	static struct setup s;
	struct dcm_batch *b = random_batch__new(1, 0);
	int n[2] = { 0 };

	(void)state;
	begin(&s);
	s.services.emit = settle_and_refuse;
	assert_int_equal(s.host->emit(s.host, b, count, n), 0);
	assert_int_equal(n[0], 1);
	assert_int_equal(n[1], -ECANCELED);
	assert_int_equal(
		stats__value(s.stats, "decima_dropped_total",
			     STATS_LABELS({ "instance", "file#2" }, { "reason", "shutdown" })),
		batch__n_rows(b));
	assert_true(batch__n_rows(b) > 0);
	batch__unref(b);
	end(&s);
}

enum { N_OWED = 2000 };

struct race {
	struct emission *owed[N_OWED];
	_Atomic int n_done;
};

static void tell(void *ctx, int status)
{
	struct race *r = ctx;

	(void)status;
	r->n_done++;
}

static void *finish(void *arg)
{
	struct race *r = arg;

	for (int i = 0; i < N_OWED; i++)
		emission__done(r->owed[i], 0);
	return NULL;
}

static void settling_while_they_come(void **state)
{
	static struct race r;
	struct emissions *all = emissions__new();
	pthread_t thread;

	(void)state;
	for (int i = 0; i < N_OWED; i++)
		assert_int_equal(emissions__add(all, tell, &r, &r.owed[i]), 0);
	assert_int_equal(pthread_create(&thread, NULL, finish, &r), 0);
	emissions__settle(all);
	assert_int_equal(r.n_done, N_OWED);
	emissions__unref(all);
	pthread_join(thread, NULL);
	assert_int_equal(r.n_done, N_OWED);
}

/* ---- symbol sources ---- */

/* Knows addresses that are multiples of `step`, of any process but pid 0. */
struct fake_source {
	uint64_t step;
	const char *name;
	enum dcm_unnamed why;
	_Atomic int n_events, n_inside;
	_Atomic bool is_gone;
};

static void source_process(void *instance, enum dcm_process_event event, const struct dcm_process *process)
{
	struct fake_source *f = instance;

	(void)event;
	(void)process;
	assert_false(f->is_gone);
	f->n_events++;
}

static int source_resolve(void *instance, const struct dcm_process *process, const uint64_t *addresses,
			  uint32_t n, dcm_symbol_fn each, void *ctx, enum dcm_unnamed *ret_why)
{
	struct fake_source *f = instance;
	struct dcm_symbol symbol = { .name = str__of(f->name) };

	assert_false(f->is_gone);
	if (process->pid == 0)
		return -ENOENT;
	f->n_inside++;
	for (uint32_t i = 0; i < n; i++)
		if (addresses[i] % f->step == 0)
			each(ctx, i, &symbol);
	*ret_why = f->why;
	f->n_inside--;
	return 0;
}

static const struct dcm_input_ops source_ops = { .size = sizeof(source_ops),
						 .process = source_process,
						 .resolve = source_resolve };

struct named {
	const char *v[10000];
	unsigned n;
};

static void take(void *ctx, uint32_t i, const struct dcm_symbol *symbol)
{
	struct named *n = ctx;

	assert_null(n->v[i]);
	n->v[i] = symbol->name.p;
	n->n++;
}

static void the_first_name_of_an_address_counts(void **state)
{
	struct sources *s = sources__new();
	struct fake_source a = { .step = 2, .name = "two", .why = DCM_UNNAMED_JIT_NOT_IN_MAP },
			   b = { .step = 3, .name = "three" };
	static struct named named;
	static uint64_t addresses[10000];
	struct dcm_process p = { .pid = 1 }, nobody = { .pid = 0 };
	enum dcm_unnamed why;

	(void)state;
	for (uint64_t i = 0; i < 10000; i++)
		addresses[i] = i;
	assert_int_equal(sources__add(s, "a", &source_ops, &a), 0);
	assert_int_equal(sources__add(s, "b", &source_ops, &b), 0);
	sources__resolve(s, &p, addresses, 10000, take, &named, &why);
	assert_int_equal(why, DCM_UNNAMED_JIT_NOT_IN_MAP);
	for (unsigned i = 0; i < 10000; i++) {
		const char *want = i % 2 == 0 ? "two" : i % 3 == 0 ? "three" : NULL;

		assert_ptr_equal(!named.v[i], !want);
		if (want)
			assert_string_equal(named.v[i], want);
	}
	sources__resolve(s, &nobody, addresses, 10, take, &named, &why);
	assert_int_equal(why, DCM_UNNAMED_JIT_NO_MAP);
	sources__process_event(s, DCM_PROCESS_EXEC, &p);
	assert_int_equal(a.n_events + b.n_events, 2);
	sources__remove(s, &a);
	sources__remove(s, &a);
	sources__process_event(s, DCM_PROCESS_EXIT, &p);
	assert_int_equal(a.n_events + b.n_events, 3);
	sources__free(s);
}

struct crowd {
	struct sources *sources;
	_Atomic bool is_over;
};

static void ignore(void *ctx, uint32_t i, const struct dcm_symbol *symbol)
{
	(void)ctx;
	(void)i;
	(void)symbol;
}

static void *ask(void *arg)
{
	struct crowd *c = arg;
	struct dcm_process p = { .pid = 1 };
	uint64_t addresses[64] = { 0 };

	while (!c->is_over) {
		sources__resolve(c->sources, &p, addresses, 64, ignore, NULL, NULL);
		sources__process_event(c->sources, DCM_PROCESS_SEEN, &p);
	}
	return NULL;
}

static void removing_waits_for_those_inside(void **state)
{
	static struct fake_source sources[6];
	struct crowd c = { .sources = sources__new() };
	struct random random = { 11 };
	bool is_there[6] = { false };
	pthread_t threads[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask, &c), 0);
	for (int i = 0; i < 3000; i++) {
		unsigned k = (unsigned)random__below(&random, 6);

		if (is_there[k]) {
			sources__remove(c.sources, &sources[k]);
			assert_int_equal(sources[k].n_inside, 0);
			sources[k].is_gone = true;
		} else {
			sources[k].is_gone = false;
			sources[k].step = 1;
			assert_int_equal(sources__add(c.sources, "one", &source_ops, &sources[k]), 0);
		}
		is_there[k] = !is_there[k];
	}
	c.is_over = true;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	sources__free(c.sources);
}

static void every_allocation_may_fail(void **state)
{
	struct host_services services = { .data_root = "/tmp", .node = "n" };

	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct dcm_host *h = NULL;
		int r = host__new("file", &services, &h, NULL);

		failmalloc__disarm();
		assert_true(r == 0 || r == -ENOMEM);
		host__free(h);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_says_who_it_is),
		cmocka_unit_test(names_fit_into_files),
		cmocka_unit_test(states_are_logged_when_they_change),
		cmocka_unit_test(the_cores_trouble_shows_while_the_plugin_is_content),
		cmocka_unit_test(metrics_carry_the_instance),
		cmocka_unit_test(what_is_decoded_has_an_id),
		cmocka_unit_test(stacks_have_hashes),
		cmocka_unit_test(metrics_with_labels_end),
		cmocka_unit_test(one_metric_is_one_however_often),
		cmocka_unit_test(no_two_batches_share_an_id),
		cmocka_unit_test(what_is_not_offered_says_so),
		cmocka_unit_test(clients_are_the_hosts_and_settle_with_it),
		cmocka_unit_test(the_data_directory_is_private),
		cmocka_unit_test(done_is_called_once_by_whoever_is_first),
		cmocka_unit_test(it_hears_once_what_becomes_of_a_batch),
		cmocka_unit_test(settling_while_they_come),
		cmocka_unit_test(the_first_name_of_an_address_counts),
		cmocka_unit_test(removing_waits_for_those_inside),
		cmocka_unit_test(every_allocation_may_fail),
	};
	return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}
