/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/frames_workers.c - debug information of strangers is read in processes without rights
 *
 * Five workers: one for what is learned as it comes, one for questions meanwhile, one for files that
 * are reduced to be kept, one for a file that is sent here, one for
 * a file that is sent on. Threads: asking, any; several at once.
 */
#include "core/main/frames_workers.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/symbolize/extract.h"
#include "core/symbolize/frames.h"

enum { N_WORKERS = 5, MAX_REQUEST = 64 << 10, NOBODY = 65534 };

static int answer(const struct worker_request *request, struct buf *ret_answer)
{
	return frames__answer(request->bytes, request->n, request->fds, request->n_fds, ret_answer);
}

/* The first file into the second; the text is the build id that it gets if it has none. */
static int reduce(const struct worker_request *request, struct buf *ret_answer)
{
	struct extract_report report;
	struct dcm_error err = DCM_ERROR_INIT;
	char id[ELF_BUILD_ID_TEXT];

	(void)ret_answer;
	if (request->n_fds != 2 || request->n >= sizeof(id))
		return -EINVAL;
	memcpy(id, request->bytes, request->n);
	id[request->n] = '\0';
	return extract__file_as(request->fds[0], request->fds[1], EXTRACT_FAST, id[0] ? id : NULL,
				&report, &err);
}

enum { ANSWER, REDUCE, N_TASKS };
static const worker_fn tasks[N_TASKS] = { answer, reduce };

int frames_workers__new(uint64_t memory_bytes, uint64_t file_bytes, struct workers **ret,
			struct dcm_error *err)
{
	bool root = geteuid() == 0;

	return workers__new(&(struct workers_config){ .tasks = tasks,
						      .n_tasks = N_TASKS,
						      .n_workers = N_WORKERS,
						      .memory_bytes = memory_bytes,
						      .file_bytes = file_bytes,
						      .max_request_bytes = MAX_REQUEST,
						      .max_answer_bytes = FRAMES_MAX_ANSWER,
						      .uid = root ? NOBODY : 0,
						      .gid = root ? NOBODY : 0 },
			    ret, err);
}

int frames_workers__ask(void *ctx, const struct symbols_frames_call *call, struct buf *ret_answer)
{
	int rc = workers__ask(ctx,
			      &(struct worker_question){
				      .task = ANSWER,
				      .bytes = call->request,
				      .n = call->n,
				      .fds = call->fds,
				      .n_fds = call->n_fds,
				      .deadline_mono_ns = clock__mono(&clock__system) + call->timeout_ns,
				      .stop = call->stop,
				      .stop_ctx = call->stop_ctx },
			      ret_answer);

	/* None was to be had: not the file's fault. */
	return rc == -EPIPE || rc == -EBUSY ? -EAGAIN : rc;
}

int frames_workers__reduce(void *ctx, const struct symbols_reduction *r)
{
	struct buf answer = { 0 };
	int rc = workers__ask(ctx,
			      &(struct worker_question){
				      .task = REDUCE,
				      .bytes = r->build_id ? r->build_id : "",
				      .n = r->build_id ? strlen(r->build_id) : 0,
				      .fds = (const int[]){ r->in_fd, r->out_fd },
				      .n_fds = 2,
				      .deadline_mono_ns = clock__mono(&clock__system) + r->timeout_ns,
				      .stop = r->stop,
				      .stop_ctx = r->stop_ctx },
			      &answer);

	buf__fini(&answer);
	return rc;
}
