/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/host.h - the `struct dcm_host` that one instance is given, over what the program
 * offers
 *
 * core/plugin knows no queue, no symbol store and no codec: core/main (or a test, or
 * decima-plugin-check) hands their functions over in `struct host_services`. A member that is NULL
 * makes the host function answer -ENOSYS with a sentence, or do nothing where it cannot answer.
 */
#ifndef DECIMA_PLUGIN_HOST_H
#define DECIMA_PLUGIN_HOST_H

#include <decima/plugin.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/broker/broker.h"
#include "core/plugin/sources.h"
#include "core/stats/stats.h"

/*
 * Must outlive every host made of it. `ctx` is handed to the functions; they are called from any
 * thread.
 */
struct host_services {
	const struct log *log;	   /* NULL: silent */
	struct stats *stats;	   /* NULL: not counted */
	const struct clock *clock; /* NULL: the system's */
	struct sources *sources;   /* NULL: nobody names runtime addresses */
	const char *node;
	const char *data_root; /* data_dir of an instance is data_root/NAME; NULL: none */
	struct broker *broker; /* has the rights; NULL: this process itself */

	void *ctx;
	int (*emit)(void *ctx, const struct dcm_host *from, struct dcm_batch *batch,
		    dcm_done_fn done, void *done_ctx);
	void (*offer_file)(void *ctx, struct dcm_str build_id, struct dcm_str path, int fd);
	int (*build_id)(void *ctx, int fd, char ret_hex[static 129]);
	int (*kernel_symbol)(void *ctx, uint64_t address, struct dcm_str *ret_name,
			     struct dcm_str *ret_module);
	int (*resolved)(void *ctx, struct dcm_batch *batch, struct dcm_batch **ret_batch,
			struct dcm_error *err);
	int (*encode)(void *ctx, const struct dcm_batch *batch, uint32_t profile,
		      const char *format, uint8_t **ret_data, size_t *ret_n, struct dcm_error *err);
	int (*decode)(void *ctx, const char *format, const uint8_t *data, size_t n,
		      struct dcm_batch **ret_batch, struct dcm_error *err);
	int (*decode_as)(void *ctx, const struct dcm_decode *how, const uint8_t *data, size_t n,
			 struct dcm_batch **ret_batch, struct dcm_error *err);
	int (*rules_new)(void *ctx, const struct dcm_relabel_rule *rules, uint32_t n,
			 struct dcm_rules **ret, struct dcm_error *err);
	/* Without `ctx`, because the plugin calls them as they are; may be NULL without rules_new. */
	void (*rules_free)(struct dcm_rules *rules);
	int (*rules_run)(const struct dcm_rules *rules, const struct dcm_label_text *labels,
			 uint32_t n, dcm_series_fn each, void *each_ctx);
	int (*labelled)(void *ctx, struct dcm_batch *batch, const struct dcm_label_text *labels,
			uint32_t n, struct dcm_batch **ret_batch, struct dcm_error *err);
	int (*debuginfo)(void *ctx, const struct dcm_debuginfo *wish, int *ret_fd,
			 uint64_t *ret_bytes, struct dcm_error *err);
	void (*debuginfo_wanted)(void *ctx, bool wanted);
	/* Without `ctx`, because the plugin calls most of them as they are. All, or none. */
	int (*session_new)(struct dcm_session **ret, struct dcm_error *err);
	int (*sessions_new)(uint64_t max_bytes, struct dcm_sessions **ret, struct dcm_error *err);
	void (*session_free)(struct dcm_session *session);
	void (*session_anew)(struct dcm_session *session);
	int (*session_encode)(struct dcm_session *session, const struct dcm_batch *batch,
			      uint8_t **ret_data, size_t *ret_n, struct dcm_error *err);
	void (*sessions_free)(struct dcm_sessions *sessions);
	void (*sessions_stat)(struct dcm_sessions *sessions, uint32_t *ret_n, uint64_t *ret_bytes);
	int (*http_get)(void *ctx, const struct dcm_http_request *request,
			struct dcm_http_answer *ret, struct dcm_error *err);
	/* The others of a client have no `ctx`, because the plugin calls them as they are. */
	int (*http_client_new)(void *ctx, const struct dcm_host *from,
			       const struct dcm_http_options *options, struct dcm_http_client **ret,
			       struct dcm_error *err);
	void (*http_client_free)(struct dcm_http_client *client);
	int (*http_start)(struct dcm_http_client *client, const struct dcm_http_call *call,
			  uint64_t *ret_id, struct dcm_error *err);
	void (*http_cancel)(struct dcm_http_client *client, uint64_t id);
	int (*http_client_sign)(struct dcm_http_client *client,
				const struct dcm_http_signature *how, struct dcm_error *err);
	/* Ends the calls of the host's clients, and waits for their done(). NULL without http_client_new. */
	void (*http_settle)(void *ctx, const struct dcm_host *from);
	int (*page)(void *ctx, const struct dcm_host *from, const struct dcm_page *page,
		    struct dcm_error *err);
	void (*withdraw_pages)(void *ctx, const struct dcm_host *from); /* may be NULL without `page` */
	int (*serve)(void *ctx, const struct dcm_host *from, const struct dcm_endpoint *endpoint,
		     struct dcm_error *err);
	/* The host's endpoints go; 0, or -ETIMEDOUT: requests are still inside. NULL without `serve`. */
	int (*withdraw_endpoints)(void *ctx, const struct dcm_host *from, int64_t deadline_mono_ns);
	/* Without `ctx`, because the plugin calls them as they are; may be NULL without serve. */
	void (*reply_put)(struct dcm_reply *reply, int status, const char *type, const void *data,
			  size_t n);
	void (*request_waits)(const struct dcm_request *request);
	void (*reply_header)(struct dcm_reply *reply, const char *name, const char *value);
	void (*reply_problem)(struct dcm_reply *reply, int status, const char *fmt, ...)
		__attribute__((format(printf, 3, 4)));
	/* Called on each change of an instance's state, without a lock held; may be NULL. */
	void (*state_changed)(void *ctx, const struct dcm_host *host, enum dcm_state state,
			      const char *sentence);
};

/*
 * -EINVAL: a name that does not fit into file names and metrics ([A-Za-z0-9_.#-], 1 to 64 bytes, no
 * leading dot).
 */
int host__new(const char *instance, const struct host_services *services, struct dcm_host **ret,
	      struct dcm_error *err);
/* Unregisters the instance's metrics. Only after the plugin's stop() has returned. */
void host__free(struct dcm_host *h);
DEFINE_CLEANUP(struct dcm_host *, host__free);

/*
 * Answers every emit() whose `done` is still owed with -ECANCELED, and waits for those being
 * called: afterwards no `done` of this host runs or will. Calls to servers that are under way end likewise. Its pages are
 * gone, and its endpoints, with nobody inside. Before the plugin's stop(); the control thread.
 */
void host__settle(struct dcm_host *h);
/*
 * Before that, while there is time: nobody is let into its endpoints any more, and those inside end. -ETIMEDOUT: somebody
 * has not, though he was cancelled.
 */
int host__withdraw(struct dcm_host *h, int64_t deadline_mono_ns);
/* emit() with `done` works again: before the plugin's open(). */
void host__reopen(struct dcm_host *h);

/* How the instance does, for people. `since_real_ns`: when that came to be. Any thread. */
struct host_state {
	enum dcm_state state;
	int64_t since_real_ns;
	char sentence[512];
};
void host__state(struct dcm_host *h, struct host_state *ret);
/* As host->set_state(), with a whole sentence: for the core's own findings about the instance. */
void host__set_state(struct dcm_host *h, enum dcm_state state, const char *sentence);
/*
 * What the core knows and the plugin does not ("has not returned from write for 42s"): shown as
 * degraded while the plugin itself says that all is well. "" ends it. Any thread.
 */
void host__set_trouble(struct dcm_host *h, const char *sentence);
/*
 * Logs the sentence that stands and came too soon after another one of the same state to be logged
 * then, once ten seconds have passed. When that is (mono); INT64_MAX: there is none. Any thread.
 */
int64_t host__log_state(struct dcm_host *h);

const struct host_services *host__services(const struct dcm_host *h);

#endif
