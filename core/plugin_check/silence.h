/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin_check/silence.h - an HTTP client to whom no server says a word
 *
 * Calls end when their time is up (which passes faster here: silence.c), when the plugin cancels them, or with
 * the client; always on the client's own thread. So what a plugin does without an answer, and what it has under
 * way when it stops, is tried without a network.
 */
#ifndef DECIMA_PLUGIN_CHECK_SILENCE_H
#define DECIMA_PLUGIN_CHECK_SILENCE_H

#include <decima/plugin.h>

/* As struct host_services has them. */
int silence__new(void *ctx, const struct dcm_host *from, const struct dcm_http_options *options,
		 struct dcm_http_client **ret, struct dcm_error *err);
void silence__free(struct dcm_http_client *c);
int silence__start(struct dcm_http_client *c, const struct dcm_http_call *call, uint64_t *ret_id,
		   struct dcm_error *err);
void silence__cancel(struct dcm_http_client *c, uint64_t id);
int silence__sign(struct dcm_http_client *c, const struct dcm_http_signature *how, struct dcm_error *err);

#endif
