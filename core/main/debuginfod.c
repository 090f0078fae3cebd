/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/debuginfod.c - what a debuginfod server has, into a file
 *
 * Threads: the symbol store's fetcher.
 */
#include "core/main/debuginfod.h"

#include <errno.h>

#include "core/base/fd.h"
#include "core/net/http_client.h"

struct writing {
	const struct symbols_fetch *fetch;
	uint64_t left;
};

static int take(void *ctx, const void *data, size_t n)
{
	struct writing *w = ctx;

	if (n > w->left)
		return -EFBIG;
	w->left -= n;
	return fd__write_all(w->fetch->fd, data, n);
}

static bool stop(void *ctx)
{
	const struct writing *w = ctx;

	return w->fetch->stop(w->fetch->stop_ctx);
}

int debuginfod__fetch(void *ctx, const struct symbols_fetch *fetch)
{
	const struct debuginfod_limits *limits = ctx;
	struct writing w = { fetch, limits->max_bytes };
	struct http_response response = { 0 };
	int rc = http_client__call(&(struct http_call){ .method = HTTP_GET,
							.url = fetch->url,
							.timeout_ns = limits->timeout_ns,
							.outside = true,
							.take = take,
							.stop = stop,
							.ctx = &w },
				   &response, NULL);

	if (rc == 0 && response.status != 200)
		rc = response.status == 404 ? -ENOENT : -EIO;
	http_response__fini(&response);
	return rc;
}
