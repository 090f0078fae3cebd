/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/delivery/uploads.h - what names the addresses that were sent: debuginfo to the server that wants it
 *
 * For each build id in the batches that went through, the server is asked whether it wants its file (Parca's protocol,
 * core/debuginfo), and gets it, reduced, from host->debuginfo(). All of that happens on threads of its own: what the
 * output does is a look into a table. What the server said is remembered for a while, both ways.
 *
 * Threads: as each function says.
 */
#ifndef DECIMA_OUTPUT_UPLOADS_H
#define DECIMA_OUTPUT_UPLOADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <decima/plugin.h>

/* The options, as a table of an output's key `debuginfo`. */
struct uploads_config {
	bool enabled;
	int64_t max_parallel, timeout_ns, max_bytes, cache_duration_ns, queue_size;
};
extern const struct dcm_table uploads__options;

struct uploads;

/*
 * In open(). url: the server's, as delivery__url() takes it, copied; http: its client's options. *ret is NULL when it is
 * not enabled, which all others take. Nothing is asked before uploads__start().
 */
int uploads__new(const struct dcm_host *host, const struct uploads_config *config, const char *url,
		 const struct dcm_http_options *http, struct uploads **ret, struct dcm_error *err);
/* In start(): the threads. 0 or of them. */
int uploads__start(struct uploads *u, struct dcm_error *err);
/* In stop(): ends what is under way, at once; what waits is given up. */
void uploads__free(struct uploads *u);

/* A batch has been delivered: the writer's thread. Waits for nothing. */
void uploads__see(struct uploads *u, const struct dcm_batch *batch);

/* For the output's state: "", or "; debuginfo: ..." about the last file that could not be sent. Any thread. */
enum { UPLOADS_NOTE = 200 };
const char *uploads__note(struct uploads *u, char text[static UPLOADS_NOTE]);

#endif
