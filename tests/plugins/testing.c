/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/plugins/testing.c - an output that misbehaves as its configuration says
 *
 *	outputs:
 *	  testing: { mode: hang }
 *
 * For tests of everything around plugins: the pipeline, reload, states, and decima-plugin-check,
 * which must find each of the leaks. `hang` waits in write() until the process ends, or for the
 * file `release` to be there, and asks its host for the time all along, which it may;
 * `fail_for_good` fails until that file is there. One instance at a time has the file `lock`.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <decima/plugin.h>

enum mode {
	MODE_OK,
	MODE_FAIL_OPEN,	     /* with a sentence; may heal: -EADDRINUSE */
	MODE_FAIL_OPEN_MUTE, /* without one */
	MODE_FAIL_START,
	MODE_FAIL_FOR_GOOD, /* open says -EPERM, until it is released */
	MODE_FAIL_TWICE,    /* open: the first two times of the process */
	MODE_HANG,
	MODE_AGAIN,
	MODE_REJECT,
	MODE_BUSY,   /* prepare says -EBUSY */
	MODE_REFUSE, /* prepare says -EINVAL */
	MODE_LEAK_MEMORY,
	MODE_LEAK_FD,
	MODE_LEAK_THREAD,
	MODE_LEAK_CHANGE, /* a descriptor at each commit */
	MODE_CRASH_WITHOUT_MEMORY,
};
static const char *const modes[] = { "ok",
				     "fail_open",
				     "fail_open_mute",
				     "fail_start",
				     "fail_for_good",
				     "fail_twice",
				     "hang",
				     "again",
				     "reject",
				     "busy",
				     "refuse",
				     "leak_memory",
				     "leak_fd",
				     "leak_thread",
				     "leak_change",
				     "crash_without_memory",
				     NULL };

struct testing_config {
	int32_t mode;
	const char *release;
	const char *lock;
	int64_t number, generation;
};

static const struct dcm_option rows[] = {
	{
		.name = "mode",
		.type = DCM_OPT_CHOICE,
		.offset = offsetof(struct testing_config, mode),
		.def = "ok",
		.choices = modes,
		.doc = "How to misbehave.",
	},
	{
		.name = "release",
		.type = DCM_OPT_STRING,
		.offset = offsetof(struct testing_config, release),
		.doc = "A file that ends the hanging, and what fails for good, when it is there.",
	},
	{
		.name = "lock",
		.type = DCM_OPT_STRING,
		.offset = offsetof(struct testing_config, lock),
		.flags = DCM_OPT_RESTART,
		.doc = "A file that only one instance can have open.",
	},
	{
		.name = "generation",
		.type = DCM_OPT_INT,
		.offset = offsetof(struct testing_config, generation),
		.def = "0",
		.flags = DCM_OPT_RESTART,
		.doc = "Another one takes a restart.",
	},
	{
		.name = "number",
		.type = DCM_OPT_INT,
		.offset = offsetof(struct testing_config, number),
		.def = "5",
		.min = "1",
		.max = "10",
		.unit = "Hz",
		.doc = "A number with bounds; it does nothing.",
	},
};
static const struct dcm_table options = DCM_TABLE(struct testing_config, rows);

struct testing {
	const struct dcm_host *host;
	pthread_mutex_t mutex; /* guards config: commit() comes while write() runs */
	const struct testing_config *config;
	int lock; /* -1: none */
};

static unsigned n_opens; /* MODE_FAIL_TWICE needs a memory beyond the instance */
static void *volatile leaked;

static int fail(struct dcm_error *err, int code, const char *sentence)
{
	if (err)
		snprintf(err->text, sizeof(err->text), "%s", sentence);
	return code;
}

static bool is_released(const char *file)
{
	return file && file[0] && access(file, F_OK) == 0;
}

/* 0, with the descriptor or -1 when there is nothing to lock. */
static int take_lock(const char *file, int *ret, struct dcm_error *err)
{
	int r;

	*ret = -1;
	if (!file || !file[0])
		return 0;
	*ret = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (*ret < 0)
		return fail(err, -errno, "the lock cannot be opened");
	if (flock(*ret, LOCK_EX | LOCK_NB) == 0)
		return 0;
	r = errno == EWOULDBLOCK ? -EBUSY : -errno;
	close(*ret);
	return fail(err, r, "another has the lock");
}

static int testing_open(const struct dcm_host *host, const void *config, void **ret_instance,
			struct dcm_error *err)
{
	const struct testing_config *c = config;
	struct testing *t;
	int lock, r;

	switch ((enum mode)c->mode) {
	case MODE_FAIL_OPEN:
		return fail(err, -EADDRINUSE, "port 7070 is in use; stop whoever has it");
	case MODE_FAIL_OPEN_MUTE:
		return -EADDRINUSE;
	case MODE_FAIL_FOR_GOOD:
		if (!is_released(c->release))
			return fail(err, -EPERM, "CAP_BPF is missing; start as root");
		break;
	case MODE_FAIL_TWICE:
		if (n_opens++ < 2)
			return fail(err, -EIO, "not yet");
		break;
	default:
		break;
	}
	r = take_lock(c->lock, &lock, err);
	if (r < 0)
		return r;
	t = malloc(sizeof(*t));
	if (!t && c->mode == MODE_CRASH_WITHOUT_MEMORY)
		abort();
	if (!t) {
		if (lock >= 0)
			close(lock);
		return fail(err, -ENOMEM, "out of memory");
	}
	t->lock = lock;
	t->host = host;
	t->config = config;
	pthread_mutex_init(&t->mutex, NULL);
	if (c->mode == MODE_LEAK_MEMORY)
		leaked = malloc(100);
	if (c->mode == MODE_LEAK_FD)
		(void)!open("/dev/null", O_RDONLY);
	*ret_instance = t;
	return 0;
}

static void *stay(void *arg)
{
	pause();
	return arg;
}

static int testing_start(void *instance, struct dcm_error *err)
{
	struct testing *t = instance;
	pthread_t thread;

	if (t->config->mode == MODE_FAIL_START)
		return fail(err, -EIO, "start was told to fail");
	if (t->config->mode == MODE_LEAK_THREAD)
		(void)pthread_create(&thread, NULL, stay, NULL);
	return 0;
}

static int testing_prepare(void *instance, const void *config, void **ret_change, struct dcm_error *err)
{
	const struct testing_config *c = config;

	(void)instance;
	if (c->mode == MODE_BUSY)
		return fail(err, -EBUSY, "mode needs a restart");
	if (c->mode == MODE_REFUSE)
		return fail(err, -EINVAL, "mode refuse is impossible");
	*ret_change = (void *)(uintptr_t)config;
	return 0;
}

static void testing_commit(void *instance, void *change)
{
	struct testing *t = instance;

	pthread_mutex_lock(&t->mutex);
	t->config = change;
	if (t->config->mode == MODE_LEAK_CHANGE)
		(void)!open("/dev/null", O_RDONLY);
	pthread_mutex_unlock(&t->mutex);
}

static void testing_abort(void *instance, void *change)
{
	(void)instance;
	(void)change;
}

static void testing_stop(void *instance)
{
	struct testing *t = instance;

	if (t->lock >= 0)
		close(t->lock);
	pthread_mutex_destroy(&t->mutex);
	free(t);
}

/* The one place where a sleep is right: nobody else may wake it. */
static void hang(const struct dcm_host *host, const char *release)
{
	while (host->mono_ns(host) > 0 && !is_released(release))
		usleep(1000);
}

static int testing_write(void *instance, struct dcm_batch *batch, int64_t deadline_mono_ns,
			 struct dcm_error *err)
{
	struct testing *t = instance;
	char release[256];
	enum mode mode;

	(void)batch;
	(void)deadline_mono_ns;
	pthread_mutex_lock(&t->mutex);
	mode = (enum mode)t->config->mode;
	snprintf(release, sizeof(release), "%s", t->config->release ? t->config->release : "");
	pthread_mutex_unlock(&t->mutex);
	switch (mode) {
	case MODE_HANG:
		hang(t->host, release);
		return 0;
	case MODE_AGAIN:
		return fail(err, -EAGAIN, "the other side is away");
	case MODE_REJECT:
		return fail(err, -EINVAL, "this batch will never do");
	default:
		return 0;
	}
}

static const struct dcm_lifecycle lifecycle = {
	.size = sizeof(lifecycle),
	.open = testing_open,
	.start = testing_start,
	.prepare = testing_prepare,
	.commit = testing_commit,
	.abort = testing_abort,
	.stop = testing_stop,
};

static const struct dcm_output_ops output = {
	.size = sizeof(output),
	.write = testing_write,
};

static const struct dcm_plugin plugin = {
	DCM_PLUGIN_HEAD,
	.kind = DCM_OUTPUT,
	.name = "testing",
	.version = "1.0",
	.summary = "Misbehaves as it is told: for tests.",
	.options = &options,
	.lifecycle = &lifecycle,
	.output = &output,
};

const struct dcm_plugin *dcm_plugin_entry(void)
{
	return &plugin;
}
