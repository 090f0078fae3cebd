/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/plugins/ledger.c - an input that keeps books: what it has handed in, and what was
 * acknowledged
 *
 * Profile N has one row of value N % 7 + 1 with the one frame "fN". Before it is emitted, N becomes
 * a line of DIR/emitted; when it is acknowledged, one of DIR/acknowledged. Lines are single writes,
 * so they are there after SIGKILL. A start goes on behind the last number of DIR/emitted, so that
 * no number comes twice.
 *
 * When a log is kept of what is written to a disk, `marks` puts acknowledgements into it, so that
 * it is known which came before what (tests/storage/power_cut.c).
 *
 * Threads: as the host calls; acknowledgements come from any.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <decima/plugin.h>

struct config {
	const char *directory;
	const char *marks;
	int64_t late_ns;
	int64_t interval_ns;
	int64_t profiles;
};

static const struct dcm_option rows[] = {
	{ .name = "directory",
	  .type = DCM_OPT_STRING,
	  .flags = DCM_OPT_REQUIRED,
	  .offset = offsetof(struct config, directory),
	  .doc = "Where the books are." },
	{ .name = "marks",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct config, marks),
	  .doc = "A disk whose last 4096 bytes get the number of each acknowledgement." },
	{ .name = "late",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct config, late_ns),
	  .def = "0",
	  .min = "0",
	  .doc = "Of each eight profiles, the second is so much late, the third twice as much." },
	{ .name = "interval",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct config, interval_ns),
	  .def = "10ms",
	  .min = "1ms",
	  .doc = "How often profiles are emitted." },
	{ .name = "profiles",
	  .type = DCM_OPT_INT,
	  .offset = offsetof(struct config, profiles),
	  .def = "4",
	  .min = "1",
	  .doc = "How many at once, each a batch of its own." },
};
static const struct dcm_table options = DCM_TABLE(struct config, rows);

struct ledger {
	const struct dcm_host *host;
	const struct config *config;
	struct dcm_builder *builder;
	int emitted, acknowledged, marks; /* -1: none */
	uint64_t last;			  /* number */
};

struct waiting {
	int fd, marks;
	uint64_t number;
};

enum { MARK_BYTES = 4096 };

#define TEXT(literal) ((struct dcm_str){ "" literal, sizeof(literal) - 1 })

static int fail(struct dcm_error *err, int code, const char *sentence)
{
	if (err && err->size > offsetof(struct dcm_error, text))
		snprintf(err->text, err->size - offsetof(struct dcm_error, text), "%s", sentence);
	return code;
}

static int open_book(const char *directory, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

static int note(int fd, uint64_t number)
{
	char line[24];
	int n = snprintf(line, sizeof(line), "%" PRIu64 "\n", number);

	return write(fd, line, (size_t)n) == n ? 0 : -EIO;
}

/*
 * Into the disk itself, and not synced: a flush would make durable what a store has forgotten to
 * sync.
 */
static int mark(int disk, uint64_t number)
{
	_Alignas(MARK_BYTES) char sector[MARK_BYTES] = "";
	off_t end = lseek(disk, 0, SEEK_END);

	snprintf(sector, sizeof(sector), "decima-mark %" PRIu64 "\n", number);
	return pwrite(disk, sector, sizeof(sector), end - MARK_BYTES) == MARK_BYTES ? 0 : -EIO;
}

/* The number on the last line; 0: there is none. */
static uint64_t last_number(int fd)
{
	char tail[65] = "";
	off_t end = lseek(fd, 0, SEEK_END), from = end > 64 ? end - 64 : 0;
	ssize_t n = pread(fd, tail, 64, from);

	if (n <= 0)
		return 0;
	tail[n - 1] = '\0'; /* the newline */
	const char *line = strrchr(tail, '\n');
	return strtoull(line ? line + 1 : tail, NULL, 10);
}

static void ledger_stop(void *instance)
{
	struct ledger *l = instance;

	if (l->builder)
		l->host->builder_free(l->builder);
	if (l->emitted >= 0)
		close(l->emitted);
	if (l->acknowledged >= 0)
		close(l->acknowledged);
	if (l->marks >= 0)
		close(l->marks);
	free(l);
}

static int ledger_open(const struct dcm_host *host, const void *config, void **ret_instance,
		       struct dcm_error *err)
{
	const struct config *c = config;
	struct ledger *l = calloc(1, sizeof(*l));

	if (!l)
		return fail(err, -ENOMEM, "out of memory");
	l->host = host;
	l->config = c;
	l->emitted = open_book(c->directory, "emitted");
	l->acknowledged = open_book(c->directory, "acknowledged");
	l->marks = c->marks ? open(c->marks, O_WRONLY | O_DIRECT | O_CLOEXEC) : -1;
	l->builder = host->builder_new(host, 1 << 20);
	if (!l->builder || l->emitted < 0 || l->acknowledged < 0 || (c->marks && l->marks < 0)) {
		ledger_stop(l);
		return fail(err, -EIO, "the books cannot be opened");
	}
	l->last = last_number(l->emitted);
	*ret_instance = l;
	return 0;
}

static int ledger_start(void *instance, struct dcm_error *err)
{
	(void)instance, (void)err;
	return 0;
}

static void acknowledge(void *ctx, int status)
{
	struct waiting *w = ctx;

	if (status == 0) {
		note(w->fd, w->number);
		if (w->marks >= 0)
			mark(w->marks, w->number);
	}
	free(w);
}

static void build(const struct ledger *l, uint64_t number)
{
	const struct dcm_host *h = l->host;
	struct dcm_builder *b = l->builder;
	char name[24];
	int n = snprintf(name, sizeof(name), "f%" PRIu64, number);
	struct dcm_pair label = { h->add_string(b, TEXT("service_name")),
				  h->add_string(b, TEXT("ledger")) };
	uint32_t count = h->add_string(b, TEXT("count"));
	struct dcm_type type = { .name = h->add_string(b, TEXT("ledger")),
				 .sample_type = count,
				 .sample_unit = count,
				 .period_type = count,
				 .period_unit = count,
				 .temporality = DCM_DELTA };
	struct dcm_profile head = { .series = h->add_series(b, &label, 1),
				    .time_ns = h->real_ns(h) - (int64_t)(number % 8) * l->config->late_ns,
				    .duration_ns = l->config->interval_ns,
				    .period = 1 };
	struct dcm_function function = { .name = h->add_string(b, (struct dcm_str){ name, (uint32_t)n }) };
	struct dcm_line line = { .function = h->add_function(b, &function) };
	struct dcm_location location = { .mapping = DCM_NONE,
					 .process = DCM_NONE,
					 .addr_kind = DCM_ADDR_NONE,
					 .kind = DCM_FRAME_INTERPRETED };
	uint32_t frame = h->add_location(b, &location, &line, 1);
	int64_t value = (int64_t)(number % 7 + 1);

	h->add_profile(b, &head, &type, 1);
	h->add_row(b, h->add_stack(b, &frame, 1), 0, &value);
}

/* -EAGAIN: there is no room now; the number is not used again. */
static int emit_one(struct ledger *l, struct dcm_error *err)
{
	struct dcm_batch *batch = NULL;
	struct waiting *w = malloc(sizeof(*w));
	int r;

	if (!w)
		return fail(err, -ENOMEM, "out of memory");
	*w = (struct waiting){ l->acknowledged, l->marks, ++l->last };
	build(l, w->number);
	r = l->host->seal(l->builder, &batch, err);
	if (r == 0)
		r = note(l->emitted, w->number);
	if (r == 0)
		r = l->host->emit(l->host, batch, acknowledge, w);
	if (r < 0)
		free(w);
	l->host->batch_unref(batch);
	return r;
}

static int ledger_collect(void *instance, struct dcm_error *err)
{
	struct ledger *l = instance;
	int r = 0;

	for (int64_t i = 0; r == 0 && i < l->config->profiles; i++)
		r = emit_one(l, err);
	return r == -EAGAIN || r == -ESHUTDOWN ? 0 : r;
}

static int64_t ledger_interval_ns(void *instance)
{
	return ((struct ledger *)instance)->config->interval_ns;
}

static const struct dcm_lifecycle lifecycle = {
	.size = sizeof(lifecycle),
	.open = ledger_open,
	.start = ledger_start,
	.stop = ledger_stop,
};

static const struct dcm_input_ops input = {
	.size = sizeof(input),
	.collect = ledger_collect,
	.interval_ns = ledger_interval_ns,
};

static const struct dcm_plugin plugin = {
	DCM_PLUGIN_HEAD,
	.kind = DCM_INPUT,
	.name = "ledger",
	.version = "1",
	.summary = "Keeps books of what was acknowledged.",
	.options = &options,
	.lifecycle = &lifecycle,
	.input = &input,
};

const struct dcm_plugin *dcm_plugin_entry(void)
{
	return &plugin;
}
