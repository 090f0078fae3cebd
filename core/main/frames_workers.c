/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/frames_workers.c - debug information of strangers is read in processes without rights
 *
 * Two workers: one for what is learned as it comes, one for questions meanwhile.
 * Threads: asking, any; several at once.
 */
#include "core/main/frames_workers.h"

#include <errno.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/symbolize/frames.h"

enum { N_WORKERS = 2, MAX_REQUEST = 64 << 10, NOBODY = 65534 };

static int answer(const struct worker_request *request, struct buf *ret_answer)
{
	return frames__answer(request->bytes, request->n, request->fds, request->n_fds, ret_answer);
}

static const worker_fn tasks[] = { answer };

int frames_workers__new(uint64_t memory_bytes, struct workers **ret, struct dcm_error *err)
{
	bool root = geteuid() == 0;

	return workers__new(&(struct workers_config){ .tasks = tasks,
						      .n_tasks = 1,
						      .n_workers = N_WORKERS,
						      .memory_bytes = memory_bytes,
						      .max_request_bytes = MAX_REQUEST,
						      .max_answer_bytes = FRAMES_MAX_ANSWER,
						      .uid = root ? NOBODY : 0,
						      .gid = root ? NOBODY : 0 },
			    ret, err);
}

int frames_workers__ask(void *ctx, const struct symbols_frames_call *call, struct buf *ret_answer)
{
	int rc = workers__ask(ctx,
			      &(struct worker_question){ .bytes = call->request,
							 .n = call->n,
							 .fds = call->fds,
							 .n_fds = call->n_fds,
							 .deadline_mono_ns = clock__mono(&clock__system) +
									     call->timeout_ns },
			      ret_answer);

	/* No workers any more: not the file's fault. */
	return rc == -EPIPE ? -EAGAIN : rc;
}
