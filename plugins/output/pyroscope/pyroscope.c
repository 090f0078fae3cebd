/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/pyroscope/pyroscope.c - an output that sends each profile to Pyroscope, by push.v1 or /ingest
 *
 * Batches come with names (DCM_CAP_NAMED); each profile is encoded by the host as pprof, and goes in a request of its own, several at once:
 * in a message of push.v1 (push.h), or as a body whose address says its labels and its time (ingest.h). What the server may
 * take later is tried again (plugins/output/delivery); a profile that it refuses goes without the others of its batch, and
 * its sentence stands in the output's state. A profile that was taken is not sent again by a retry, but one whose answer was
 * lost is: neither way knows ids.
 *
 * Threads: write() on the output's writer thread; lifecycle on the control thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/output/delivery/delivery.h"
#include "plugins/output/delivery/flights.h"
#include "plugins/output/delivery/legacy_name.h"
#include "plugins/output/delivery/sender.h"
#include "plugins/output/delivery/series_label.h"
#include "plugins/output/pyroscope/ingest.h"
#include "plugins/output/pyroscope/push.h"

/* ---- options ---- */

enum protocol { PROTOCOL_PUSH, PROTOCOL_INGEST };
static const char *const protocols[] = { "push", "ingest", NULL };
enum { TENANT_BYTES = 150 };
static const char *const paths[] = { "/push.v1.PusherService/Push", "/ingest" };

struct pyroscope_config {
	const char *url;
	int32_t protocol; /* enum protocol */
	struct push_limits limits;
	const char *tenant, *tenant_label;
	struct dcm_http_options http;
};

static const struct dcm_option rows[] = {
	{
		.name = "url",
		.type = DCM_OPT_STRING,
		.offset = offsetof(struct pyroscope_config, url),
		.flags = DCM_OPT_REQUIRED | DCM_OPT_RESTART,
		.doc = "Where Pyroscope is: http:// or https://, a host, and what stands before "
		       "/ingest and /push.v1.PusherService there.",
	},
	{
		.name = "protocol",
		.type = DCM_OPT_CHOICE,
		.offset = offsetof(struct pyroscope_config, protocol),
		.flags = DCM_OPT_RESTART,
		.choices = protocols,
		.def = "push",
		.doc = "push: push.v1, of Pyroscope 1.0 and later. ingest: /ingest, of earlier "
		       "ones, too; what its names cannot say of values becomes \"_\", and profiles "
		       "go "
		       "whole, however large. " LEGACY_NAMES_DOC,
	},
	{
		.name = "max_profile_samples",
		.type = DCM_OPT_INT,
		.offset = offsetof(struct pyroscope_config, limits.rows),
		.flags = DCM_OPT_RESTART,
		.def = "16000",
		.min = "0",
		.max = "4294967295",
		.doc = "By push, a profile with more samples goes in parts with some each, where "
		       "what "
		       "it counts adds up: Pyroscope's validation.max-profile-stacktrace-samples. "
		       "0: "
		       "no bound.",
	},
	{
		.name = "max_profile_bytes",
		.type = DCM_OPT_SIZE,
		.offset = offsetof(struct pyroscope_config, limits.bytes),
		.flags = DCM_OPT_RESTART,
		.def = "1MiB",
		.min = "0",
		.max = "4GiB",
		.doc = "The same of a profile's bytes, unpacked: not above Pyroscope's "
		       "validation.max-profile-size-bytes (4 MiB) and "
		       "distributor.ingestion-burst-size-mb (2 MiB).",
	},
	{
		.name = "tenant",
		.type = DCM_OPT_STRING,
		.offset = offsetof(struct pyroscope_config, tenant),
		.def = "",
		.flags = DCM_OPT_RESTART,
		.doc = "Whose the profiles are: X-Scope-OrgID, which a Pyroscope with several "
		       "tenants asks "
		       "for. Empty: nobody is named.",
	},
	{
		.name = "tenant_label",
		.type = DCM_OPT_STRING,
		.offset = offsetof(struct pyroscope_config, tenant_label),
		.def = "",
		.flags = DCM_OPT_RESTART,
		.doc = "A label that says it of each series; those without it are the option "
		       "tenant's. Profiles that are nobody's then, or whose label can be no "
		       "tenant's, are lost, and counted (not_encoded). While the server refuses "
		       "one tenant, the others wait: outputs with selectors keep them apart.",
	},
	{
		.name = "",
		.type = DCM_OPT_SHARED,
		.shared = DCM_SHARED_HTTP_CLIENT,
		.offset = offsetof(struct pyroscope_config, http),
	},
};

/* Pyroscope's rule (its docs, "Configure server, Multi-tenancy"): letters, digits and !-_.*'(), 150 at most, and neither "." nor "..". */
static bool is_tenant(struct dcm_str s)
{
	for (uint32_t i = 0; i < s.n; i++)
		if (!s.p[i] || !strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456"
				       "789!-_.*'()",
				       s.p[i]))
			return false;
	return s.n <= TENANT_BYTES && !str__eq(s, STR(".")) && !str__eq(s, STR(".."));
}

static int check_config(const void *config, struct dcm_error *err)
{
	const struct pyroscope_config *c = config;

	if (!is_tenant(str__of(c->tenant)))
		return error__set(err, -EINVAL, "tenant: \"%.160s\" is none; it has letters, digits and !-_.*'(), %d at most",
				  c->tenant, TENANT_BYTES);
	for (uint32_t i = 0; i < c->http.http_headers.n; i++)
		if ((c->tenant[0] || c->tenant_label[0]) &&
		    strcasecmp(c->http.http_headers.keys[i], "x-scope-orgid") == 0)
			return error__set(err, -EINVAL, "http_headers: %s is what tenant and tenant_label say, too; leave it out there",
					  c->http.http_headers.keys[i]);
	return delivery__check_url("url", c->url, err);
}

static const struct dcm_table options = {
	.size = sizeof(options),
	.option_size = sizeof(struct dcm_option),
	.struct_size = sizeof(struct pyroscope_config),
	.n_options = sizeof(rows) / sizeof(rows[0]),
	.options = rows,
	.check = check_config,
};

/* ---- lifecycle ---- */

struct pyroscope {
	struct sender sender;
	const struct pyroscope_config *config;
	struct flights flights;
	struct legacy_labels labels; /* of a batch of the write at hand */
};

static void pyroscope_stop(void *instance)
{
	struct pyroscope *p = instance;

	sender__close(&p->sender);
	flights__close(&p->flights);
	legacy_labels__fini(&p->labels);
	free(p);
}

static int pyroscope_open(const struct dcm_host *host, const void *config, void **ret_instance,
			  struct dcm_error *err)
{
	const struct pyroscope_config *c = config;
	const struct sender_config how = {
		.http = &c->http,
		.url = c->url,
		.path = paths[c->protocol],
		.metric = "pyroscope_sent_total",
	};
	struct pyroscope *p = NEW(struct pyroscope);
	int r = p ? sender__open(&p->sender, host, &how, err) : error__nomem(err);

	if (r == 0)
		r = flights__open(&p->flights, &p->sender, err);

	if (r < 0 && p)
		pyroscope_stop(p);
	if (r < 0)
		return r;
	p->config = c;
	*ret_instance = p;
	return r;
}

static int pyroscope_start(void *instance, struct dcm_error *err)
{
	struct pyroscope *p = instance;

	(void)err;
	sender__start(&p->sender);
	return 0;
}

/* ---- work ---- */

static struct push_progress progress_of(const struct flight_note *n)
{
	return (struct push_progress){ .rows = n->v[0], .parts = n->v[1], .most = n->v[2] };
}

/* The profile's, or the option's; "": nobody's. */
static struct dcm_str tenant_of(const struct pyroscope *p, const struct dcm_batch *b, uint32_t profile)
{
	const struct dcm_span series = b->series[b->profiles[profile].series];
	const struct dcm_str tenant = series_label__of(b, series, str__of(p->config->tenant_label));

	return tenant.n ? tenant : str__of(p->config->tenant);
}

static int make_headers(const struct pyroscope *p, struct flight *f, const struct dcm_batch *batch,
			struct dcm_str type, uint32_t *ret_n, struct dcm_error *err)
{
	const struct dcm_str tenant = tenant_of(p, batch, f->profile);

	*ret_n = 0;
	f->headers[(*ret_n)++] = (struct dcm_http_header){ STR("content-type"), type };
	if (!is_tenant(tenant) || (tenant.n == 0 && p->config->tenant_label[0]))
		return error__set(err, -EILSEQ, "the label %s of a series names no tenant, and the option tenant none for such",
				  p->config->tenant_label);
	if (tenant.n)
		f->headers[(*ret_n)++] = (struct dcm_http_header){ STR("x-scope-orgid"), tenant };
	return 0;
}

/* Parts that were taken are not sent again when the batch is. */
static int make_part(struct pyroscope *p, struct flight *f, const struct dcm_batch *batch,
		     struct dcm_error *err)
{
	static const char *const types[] = { "application/proto", NULL };
	const struct push_progress at = progress_of(&f->note);
	struct push_progress next = { 0 };
	int r = push__request(p->sender.host, batch, f->profile, &p->config->limits, &at, &next,
			      &f->message, err);

	f->next = (struct flight_note){ { next.rows, next.parts, next.most } };
	f->request = (struct delivery_request){ .url = p->sender.url,
						.headers = f->headers,
						.data = f->message.data,
						.n = f->message.n,
						.answer_types = types };
	return r < 0 ? r
		     : make_headers(p, f, batch, STR("application/proto"), &f->request.n_headers, err);
}

/* Pyroscope goes by the address's format=pprof; gigapipe takes this type alone, and forms. */
static int make_whole(struct pyroscope *p, struct flight *f, const struct dcm_batch *batch,
		      struct dcm_error *err)
{
	size_t n = 0;
	int r = p->sender.host->encode(p->sender.host, batch, f->profile, "pprof", &f->data, &n, err);

	if (r < 0)
		return r == -ENOMEM ? -EAGAIN : -EILSEQ;
	ingest__address(p->sender.url, batch, &batch->profiles[f->profile], &f->url);
	f->request = (struct delivery_request){
		.url = (const char *)f->url.data, .headers = f->headers, .data = f->data, .n = n
	};
	if (f->url.error)
		return error__set(err, -EAGAIN, "no memory for a request");
	return make_headers(p, f, batch, STR("binary/octet-stream"), &f->request.n_headers, err);
}

static int make(void *ctx, struct flight *f, const struct dcm_batch *batch, struct dcm_error *err)
{
	struct pyroscope *p = ctx;
	const struct dcm_batch *named = NULL;

	if (legacy_labels__of(&p->labels, batch, &named) < 0)
		return error__set(err, -EAGAIN, "no memory for names of labels");
	return p->config->protocol == PROTOCOL_PUSH ? make_part(p, f, named, err)
						    : make_whole(p, f, named, err);
}

static bool has_more(void *ctx, const struct flight *f, const struct dcm_batch *batch)
{
	const struct pyroscope *p = ctx;

	return p->config->protocol == PROTOCOL_PUSH &&
	       progress_of(&f->note).rows < batch->profiles[f->profile].n_rows;
}

static const struct flights_ops flights_ops = { make, has_more };

static int pyroscope_write_group(void *instance, struct dcm_batch *const *batches, uint32_t n,
				 uint32_t *ret_n_done, int64_t deadline_mono_ns, struct dcm_error *err)
{
	struct pyroscope *p = instance;
	int r = flights__write_group(&p->flights, batches, n, &flights_ops, p, ret_n_done,
				     deadline_mono_ns, err);

	/* The next batch may be where one of these was. */
	legacy_labels__fini(&p->labels);
	return r;
}

static int pyroscope_write(void *instance, struct dcm_batch *batch, int64_t deadline_mono_ns,
			   struct dcm_error *err)
{
	uint32_t n_done;

	return pyroscope_write_group(instance, &batch, 1, &n_done, deadline_mono_ns, err);
}

static int pyroscope_pass_over(void *instance, struct dcm_batch *batch, uint32_t *ret_profile)
{
	struct pyroscope *p = instance;

	return flights__pass_over(&p->flights, batch, ret_profile);
}

/* ---- what the host is told ---- */

static const struct dcm_lifecycle lifecycle = {
	.size = sizeof(lifecycle),
	.open = pyroscope_open,
	.start = pyroscope_start,
	.stop = pyroscope_stop,
};

static const struct dcm_output_ops output = {
	.size = sizeof(output),
	.write = pyroscope_write,
	.pass_over = pyroscope_pass_over,
	.write_group = pyroscope_write_group,
};

static const struct dcm_plugin plugin = {
	DCM_PLUGIN_HEAD,
	.kind = DCM_OUTPUT,
	.caps = DCM_CAP_NAMED | DCM_CAP_REMOTE,
	.name = "pyroscope",
	.version = "1.0",
	.summary = "Sends each profile to Pyroscope, or to what takes its push.v1 or /ingest.",
	.options = &options,
	.lifecycle = &lifecycle,
	.output = &output,
};

const struct dcm_plugin *dcm_plugin_entry(void)
{
	return &plugin;
}
