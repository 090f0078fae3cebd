/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/progress.c - tells who looks on how far a question has come
 */
#include "core/main/progress.h"

#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fd.h"
#include "core/base/mem.h"

enum { FIRST_MS = 1000, EACH_MS = 250 };
#define SECOND_NS INT64_C(1000000000)

struct progress {
	const char *what;
	progress_look_fn *look;
	void *ctx;
	int64_t begin_ns;
	int end_fd; /* readable: it has ended */
	pthread_t thread;
	bool is_shown; /* by the thread, until it is joined */
};

bool progress__is_watched(void)
{
	return isatty(STDERR_FILENO);
}

/* Other threads may print as well: it is one write. */
void progress__show(const char *format, ...)
{
	char text[512] = "";
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(stderr, "\r\033[K%s", text);
}

void progress__hide(void)
{
	progress__show("%s", "");
}

static void show(struct progress *p)
{
	const long long seconds = (clock__mono(&clock__system) - p->begin_ns) / SECOND_NS;
	uint64_t done = 0, total = 0;
	char share[16] = "";

	if (p->look(p->ctx, &done, &total) && total > 0)
		snprintf(share, sizeof(share), ", %.0f %%",
			 done < total ? 100.0 * (double)done / (double)total : 100.0);
	progress__show("decima %s: %lld s%s; Ctrl-C ends it", p->what, seconds, share);
	p->is_shown = true;
}

static void *run(void *ctx)
{
	struct progress *p = ctx;
	struct pollfd end = { .fd = p->end_fd, .events = POLLIN };

	for (int wait_ms = FIRST_MS; poll(&end, 1, wait_ms) <= 0; wait_ms = EACH_MS)
		show(p);
	return NULL;
}

struct progress *progress__begin(const char *what, progress_look_fn *look, void *ctx)
{
	struct progress *p = progress__is_watched() ? NEW(struct progress) : NULL;

	if (!p)
		return NULL;
	*p = (struct progress){ .what = what, .look = look, .ctx = ctx };
	p->begin_ns = clock__mono(&clock__system);
	p->end_fd = eventfd(0, EFD_CLOEXEC);
	if (p->end_fd < 0 || pthread_create(&p->thread, NULL, run, p)) {
		fd__close(p->end_fd);
		free(p);
		return NULL;
	}
	return p;
}

void progress__end(struct progress *p)
{
	if (!p)
		return;
	eventfd_write(p->end_fd, 1);
	pthread_join(p->thread, NULL);
	if (p->is_shown)
		progress__hide();
	fd__close(p->end_fd);
	free(p);
}
