/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/s3/s3.c - an output that puts each profile as an object into storage that speaks S3's protocol
 *
 * Batches come with names (DCM_CAP_NAMED); each profile is encoded by the host and is the body of one PUT, signed by the
 * host's HTTP client. The object's key is made of the profile's labels, its time and what tells it from others, so that a
 * retry, after a kill too, overwrites the object that it may have put before, and adds none. What is wrong with keys, bucket
 * or clock is told and tried again (answer.h); an object that is refused goes without the others of its batch.
 *
 * Threads: write() on the output's writer thread; lifecycle on the control thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/url.h"
#include "plugins/output/delivery/delivery.h"
#include "plugins/output/delivery/flights.h"
#include "plugins/output/delivery/format.h"
#include "plugins/output/delivery/name.h"
#include "plugins/output/delivery/sender.h"
#include "plugins/output/s3/answer.h"

/* ---- options ---- */

struct s3_config {
	const char *endpoint, *region, *bucket, *prefix, *object_name;
	bool path_style;
	int32_t format; /* index into formats */
	struct dcm_http_secret access_key, secret_key, session_token;
	struct dcm_http_options http;
};

#define AT(member) offsetof(struct s3_config, member)
static const struct dcm_option rows[] = {
	{
		.name = "endpoint",
		.type = DCM_OPT_STRING,
		.offset = AT(endpoint),
		.flags = DCM_OPT_RESTART,
		.doc = "Where the storage is: http:// or https:// and a host. Default: Amazon's, "
		       "https://s3.REGION.amazonaws.com.",
	},
	{
		.name = "region",
		.type = DCM_OPT_STRING,
		.offset = AT(region),
		.flags = DCM_OPT_RESTART,
		.def = "us-east-1",
		.doc = "The bucket's region, which is signed; most servers other than Amazon's "
		       "take the default.",
	},
	{
		.name = "bucket",
		.type = DCM_OPT_STRING,
		.offset = AT(bucket),
		.flags = DCM_OPT_REQUIRED | DCM_OPT_RESTART,
		.doc = "The bucket, which has to be there.",
	},
	{
		.name = "path_style",
		.type = DCM_OPT_BOOL,
		.offset = AT(path_style),
		.flags = DCM_OPT_RESTART,
		.def = "true",
		.doc = "Whether the bucket stands in the path, as every server of one's own takes "
		       "it; "
		       "false: before the host's name.",
	},
	{
		.name = "prefix",
		.type = DCM_OPT_STRING,
		.offset = AT(prefix),
		.flags = DCM_OPT_RESTART,
		.doc = "Stands before each object's key, with a slash between; it may have the "
		       "placeholders of object_name.",
	},
	{
		.name = "object_name",
		.type = DCM_OPT_STRING,
		.offset = AT(object_name),
		.flags = DCM_OPT_RESTART,
		.def = "{service_name}/dt={date}/hour={hour}/{type}-{time}-{id}",
		.doc = "Key of an object, without the extension. {type}, {time}, {date}, {year}, "
		       "{month}, {day}, {hour}, {series} and {id} are replaced, the times in UTC, "
		       "and any "
		       "other {label} by the profile's label. {id} tells profiles apart, and is "
		       "the same "
		       "when one is put again. An object of the same key is overwritten.",
	},
	{
		.name = "format",
		.type = DCM_OPT_CHOICE,
		.offset = AT(format),
		.flags = DCM_OPT_RESTART,
		.def = "pprof",
		.choices = format_names,
		.doc = "pprof (.pb.gz, for go tool pprof), folded (for flamegraph.pl), "
		       "speedscope, or html (a page with the flame graph).",
	},
	{
		.name = "access_key",
		.type = DCM_OPT_STRING,
		.offset = AT(access_key.text),
		.flags = DCM_OPT_RESTART,
		.doc = "Names the key that requests are signed with. Without any of these options "
		       "the "
		       "environment's AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and "
		       "AWS_SESSION_TOKEN "
		       "hold.",
	},
	{
		.name = "access_key_file",
		.type = DCM_OPT_STRING,
		.offset = AT(access_key.file),
		.flags = DCM_OPT_PATH | DCM_OPT_RESTART,
		.doc = "Holds it; read again when it changes.",
	},
	{
		.name = "secret_key",
		.type = DCM_OPT_SECRET,
		.offset = AT(secret_key.text),
		.flags = DCM_OPT_RESTART,
		.doc = "The key itself; it is never sent.",
	},
	{
		.name = "secret_key_file",
		.type = DCM_OPT_STRING,
		.offset = AT(secret_key.file),
		.flags = DCM_OPT_PATH | DCM_OPT_RESTART,
		.doc = "Holds the key; read again when it changes.",
	},
	{
		.name = "session_token",
		.type = DCM_OPT_SECRET,
		.offset = AT(session_token.text),
		.flags = DCM_OPT_RESTART,
		.doc = "Belongs to keys that are lent for a time.",
	},
	{
		.name = "session_token_file",
		.type = DCM_OPT_STRING,
		.offset = AT(session_token.file),
		.flags = DCM_OPT_PATH | DCM_OPT_RESTART,
		.doc = "Holds the token; read again when it changes.",
	},
	{
		.name = "",
		.type = DCM_OPT_SHARED,
		.shared = DCM_SHARED_HTTP_CLIENT,
		.offset = AT(http),
	},
};
#undef AT

static bool given(const char *s)
{
	return s && s[0];
}

static bool is_set(const struct dcm_http_secret *s)
{
	return given(s->text) || given(s->file);
}

static int check_secret(const char *name, const struct dcm_http_secret *s, struct dcm_error *err)
{
	if (given(s->text) && given(s->file))
		return error__set(err, -EINVAL, "%s: stands beside %s_file; keep one of the two",
				  name, name);
	return 0;
}

static int check_keys(const struct s3_config *c, struct dcm_error *err)
{
	int r = check_secret("access_key", &c->access_key, err);

	if (r == 0)
		r = check_secret("secret_key", &c->secret_key, err);
	if (r == 0)
		r = check_secret("session_token", &c->session_token, err);
	if (r == 0 && is_set(&c->access_key) != is_set(&c->secret_key))
		return error__set(err, -EINVAL, "%s: needs the other half; add %s, or a file of it",
				  is_set(&c->access_key) ? "access_key" : "secret_key",
				  is_set(&c->access_key) ? "secret_key" : "access_key");
	if (r == 0 && is_set(&c->session_token) && !is_set(&c->access_key))
		return error__set(err, -EINVAL,
				  "session_token: needs access_key and secret_key; add them");
	return r;
}

static bool is_word(const char *s, size_t max)
{
	return s[0] && strlen(s) <= max && s[0] != '.' &&
	       !s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")];
}

static int check_places(const struct s3_config *c, struct dcm_error *err)
{
	if (given(c->endpoint) && delivery__check_url("endpoint", c->endpoint, err) < 0)
		return -EINVAL;
	/* What is signed is the host and the path as they stand. */
	if (given(c->endpoint) && strpbrk(c->endpoint, "%@"))
		return error__set(err, -EINVAL, "endpoint: \"%s\" has a user or an escape in it; write the host and its port alone",
				  c->endpoint);
	if (!is_word(c->region, 63))
		return error__set(err, -EINVAL,
				  "region: \"%.80s\" is not one; write eu-central-1, for one",
				  c->region);
	if (!is_word(c->bucket, 63))
		return error__set(err, -EINVAL,
				  "bucket: \"%.80s\" is not one: up to 63 letters, digits and -_.",
				  c->bucket);
	return 0;
}

static int check_config(const void *config, struct dcm_error *err)
{
	const struct s3_config *c = config;
	int r = check_places(c, err);

	if (r == 0)
		r = check_keys(c, err);
	if (r == 0 && given(c->prefix))
		r = name__check("prefix", c->prefix, err);
	if (r == 0)
		r = name__check("object_name", c->object_name, err);
	if (r < 0)
		return r;
	if (!name__has(c->object_name, "id") &&
	    !(name__has(c->object_name, "time") && name__has(c->object_name, "series")))
		return error__set(
			err, -EINVAL,
			"object_name \"%s\": profiles would overwrite one another; put {id} into "
			"it, or {time} and {series}",
			c->object_name);
	return 0;
}

static const struct dcm_table options = {
	.size = sizeof(options),
	.option_size = sizeof(struct dcm_option),
	.struct_size = sizeof(struct s3_config),
	.n_options = sizeof(rows) / sizeof(rows[0]),
	.options = rows,
	.check = check_config,
};

/* ---- lifecycle ---- */

struct s3_output {
	struct sender sender;
	struct flights flights;
	const struct s3_config *config;
	struct dcm_http_header headers[1]; /* of each object */
	char *place;			   /* the bucket's URL */
	char *template;			   /* prefix and object_name */
};

static void s3_stop(void *instance)
{
	struct s3_output *o = instance;

	sender__close(&o->sender);
	flights__close(&o->flights);
	free(o->place);
	free(o->template);
	free(o);
}

static char *text_of(struct buf *b)
{
	buf__byte(b, 0);
	if (b->error) {
		buf__fini(b);
		return NULL;
	}
	return (char *)buf__take(b, &(size_t){ 0 });
}

/* The bucket's URL, without a slash at its end; freed by the caller. NULL: no memory. */
static char *bucket_url(const struct s3_config *c)
{
	struct buf place = { 0 };
	char *endpoint, *host;

	if (!given(c->endpoint))
		buf__printf(&place, "https://s3.%s.amazonaws.com", c->region);
	buf__byte(&place, 0);
	endpoint = place.error
			   ? NULL
			   : delivery__url(given(c->endpoint) ? c->endpoint : (const char *)place.data,
					   "");
	buf__reset(&place);
	if (!endpoint) {
		buf__fini(&place);
		return NULL;
	}
	host = strstr(endpoint, "://") + 3;
	if (c->path_style)
		buf__printf(&place, "%s/%s", endpoint, c->bucket);
	else
		buf__printf(&place, "%.*s%s.%s", (int)(host - endpoint), endpoint, c->bucket, host);
	free(endpoint);
	return text_of(&place);
}

/* The configuration's keys, or the environment's. */
static void find_keys(const struct s3_config *c, struct dcm_http_signature *how)
{
	how->access_key = c->access_key;
	how->secret_key = c->secret_key;
	how->token = c->session_token;
	if (is_set(&c->access_key))
		return;
	how->access_key.text = getenv("AWS_ACCESS_KEY_ID");
	how->secret_key.text = getenv("AWS_SECRET_ACCESS_KEY");
	how->token.text = getenv("AWS_SESSION_TOKEN");
}

static int open_sender(struct s3_output *o, const struct dcm_host *host, struct dcm_error *err)
{
	const struct sender_config how = {
		.http = &o->config->http, .url = o->place, .path = "", .metric = "s3_put_total"
	};
	struct dcm_http_signature signature = { .size = sizeof(signature),
						.region = o->config->region,
						.service = "s3" };
	int r = sender__open(&o->sender, host, &how, err);

	if (r == 0)
		r = flights__open(&o->flights, &o->sender, err);
	if (r < 0)
		return r;
	find_keys(o->config, &signature);
	return host->http_client_sign(o->sender.client, &signature, err);
}

static int s3_open(const struct dcm_host *host, const void *config, void **ret_instance,
		   struct dcm_error *err)
{
	const struct s3_config *c = config;
	struct s3_output *o = NEW(struct s3_output);
	struct buf template = { 0 };
	int r;

	if (!o)
		return error__nomem(err);
	o->config = c;
	o->headers[0] = (struct dcm_http_header){ { "content-type", 12 }, formats[c->format].type };
	buf__printf(&template, "%s%s%s", given(c->prefix) ? c->prefix : "",
		    given(c->prefix) ? "/" : "", c->object_name);
	o->place = bucket_url(c);
	o->template = text_of(&template);
	r = o->place && o->template ? open_sender(o, host, err) : error__nomem(err);
	if (r < 0)
		s3_stop(o);
	else
		*ret_instance = o;
	return r;
}

static int s3_start(void *instance, struct dcm_error *err)
{
	struct s3_output *o = instance;

	(void)err;
	sender__start(&o->sender);
	return 0;
}

/* ---- work ---- */

/* What is signed is the path as it stands, so all is escaped that S3 escapes before it compares. */
static int put_url(const struct s3_output *o, const struct dcm_batch *batch, uint32_t profile,
		   struct buf *out)
{
	struct buf key = { 0 };
	int r = name__expand(o->template, batch, profile, &key);
	size_t from = 0;

	buf__text(&key, formats[o->config->format].extension);
	buf__text(out, o->sender.url);
	while (r == 0 && !key.error && from < key.n) {
		const char *part = (const char *)key.data + from;
		const char *slash = memchr(part, '/', key.n - from);
		size_t n = slash ? (size_t)(slash - part) : key.n - from;

		buf__byte(out, '/');
		url__escape(out, (struct dcm_str){ part, (uint32_t)n });
		from += n + 1;
	}
	buf__byte(out, 0);
	if (r == 0 && (key.error || out->error))
		r = -ENOMEM;
	buf__fini(&key);
	return r;
}

static int make(void *ctx, struct flight *f, const struct dcm_batch *batch, struct dcm_error *err)
{
	struct s3_output *o = ctx;
	const struct dcm_host *host = o->sender.host;
	size_t n = 0;
	int r = host->encode(host, batch, f->profile, format_names[o->config->format], &f->data, &n, err);

	if (r == 0)
		r = put_url(o, batch, f->profile, &f->url);
	if (r < 0)
		return r == -ENOMEM ? -EAGAIN : -EILSEQ;
	f->request = (struct delivery_request){ .url = (const char *)f->url.data,
						.place = o->place,
						.method = "PUT",
						.headers = o->headers,
						.n_headers = 1,
						.data = f->data,
						.n = n,
						.judge = s3_answer__judge,
						.answer_header = "etag" };
	return 0;
}

static const struct flights_ops flights_ops = { make, NULL };

static int s3_write(void *instance, struct dcm_batch *batch, int64_t deadline_mono_ns,
		    struct dcm_error *err)
{
	struct s3_output *o = instance;

	return flights__write(&o->flights, batch, &flights_ops, o, deadline_mono_ns, err);
}

static int s3_write_group(void *instance, struct dcm_batch *const *batches, uint32_t n,
			  uint32_t *ret_n_done, int64_t deadline_mono_ns, struct dcm_error *err)
{
	struct s3_output *o = instance;

	return flights__write_group(&o->flights, batches, n, &flights_ops, o, ret_n_done,
				    deadline_mono_ns, err);
}

static int s3_pass_over(void *instance, struct dcm_batch *batch, uint32_t *ret_profile)
{
	return flights__pass_over(&((struct s3_output *)instance)->flights, batch, ret_profile);
}

/* ---- what the host is told ---- */

static const struct dcm_lifecycle lifecycle = {
	.size = sizeof(lifecycle),
	.open = s3_open,
	.start = s3_start,
	.stop = s3_stop,
};

static const struct dcm_output_ops output = {
	.size = sizeof(output),
	.write = s3_write,
	.pass_over = s3_pass_over,
	.write_group = s3_write_group,
};

static const struct dcm_plugin plugin = {
	DCM_PLUGIN_HEAD,
	.kind = DCM_OUTPUT,
	.caps = DCM_CAP_NAMED | DCM_CAP_REMOTE,
	.name = "s3",
	.version = "1.0",
	.summary =
		"Puts each profile as an object into S3, or into storage that speaks its protocol.",
	.options = &options,
	.lifecycle = &lifecycle,
	.output = &output,
};

const struct dcm_plugin *dcm_plugin_entry(void)
{
	return &plugin;
}
