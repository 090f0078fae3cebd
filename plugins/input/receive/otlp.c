/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/otlp.c - OTLP profiles: ProfilesService/Export
 *
 * What is refused over HTTP is said as a google.rpc.Status (dcm_endpoint.refusal).
 */
#include "plugins/input/receive/otlp.h"

#include <stdio.h>

#include "core/base/str.h"
#include "plugins/input/receive/descriptors.h"

/* ---- the messages that are sent ---- */

static void put_bytes(struct buf *out, uint32_t field, struct dcm_str bytes)
{
	buf__varint(out, (uint64_t)field << 3 | 2);
	buf__varint(out, bytes.n);
	buf__str(out, bytes);
}

/* ExportProfilesServiceResponse { partial_success = 1 { rejected_profiles = 1, error_message = 2 } } */
static void put_response(struct buf *out, uint64_t n_rejected, const char *text)
{
	struct buf partial = { 0 };

	if (n_rejected) {
		buf__varint(&partial, 1 << 3);
		buf__varint(&partial, n_rejected);
	}
	put_bytes(&partial, 2, str__of(text));
	put_bytes(out, 1, buf__view(&partial));
	buf__fini(&partial);
}

static void put_json_response(struct buf *out, uint64_t n_rejected, const char *text)
{
	buf__printf(out, "{\"partialSuccess\":{\"rejectedProfiles\":\"%llu\",\"errorMessage\":",
		    (unsigned long long)n_rejected);
	buf__json(out, str__of(text));
	buf__text(out, "}}");
}

/* What there is to say of a request that was taken; a warning, where nothing was refused. */
static void put_findings(struct buf *out, const struct dcm_found *found, bool is_json)
{
	char text[sizeof(found->refusal.text) + 256] = "";
	int n = 0;

	if (found->old_version)
		n = snprintf(text, sizeof(text), "the request was read as one of OTLP %s, by its bytes: update the sender to OTLP 1.10 or later",
			     found->old_version);
	if (found->n_refused)
		snprintf(text + n, sizeof(text) - (size_t)n, "%s%s", n ? "; " : "", found->refusal.text);
	if (text[0] && is_json)
		put_json_response(out, found->n_refused, text);
	else if (text[0])
		put_response(out, found->n_refused, text);
	else if (is_json)
		buf__text(out, "{}");
}

/* ---- a call ---- */

static bool is_version(struct dcm_str s)
{
	for (uint32_t i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return s.n > 0 && s.p[0] != '0';
}

/* NULL: refused. */
static const char *format_of(struct desk *d, const struct otlp_call *call, struct desk_verdict *v)
{
	if (call->n_versions == 0)
		return call->is_json				  ? "otlp.json"
		       : d->options->otlp_old == RECEIVE_OLD_READ ? "otlp"
								  : "otlp.1";
	if (call->n_versions > 1)
		desk__refuse(d, v, 400, "OTLP-Profiles-Development-Version comes %u times; send it once",
			     call->n_versions);
	else if (!is_version(call->version))
		desk__refuse(d, v, 400, "OTLP-Profiles-Development-Version: \"%.*s\" is no version: it is a number from 1 on",
			     (int)(call->version.n < 64 ? call->version.n : 64), call->version.p);
	else if (!str__eq(call->version, STR("1")))
		desk__refuse(d, v, 400, "OTLP-Profiles-Development-Version: %.*s is not read here; 1 is, the profiles of OTLP 1.10 and 1.11",
			     (int)(call->version.n < 64 ? call->version.n : 64), call->version.p);
	else
		return call->is_json ? "otlp.json" : "otlp.1";
	return NULL;
}

void otlp__export(struct desk *d, const struct otlp_call *call, const struct dcm_request *q,
		  struct desk_verdict *ret, struct buf *response)
{
	struct dcm_found found = { .size = sizeof(found), .refusal = DCM_ERROR_INIT };
	struct dcm_decode how = { .identity = DCM_IDENTITY_TIMED, .found = &found };

	how.format = format_of(d, call, ret);
	if (!how.format)
		return;
	if (call->n == 0) { /* a request without anything is one */
		*ret = (struct desk_verdict){ .status = 200, .error = DCM_ERROR_INIT };
		return;
	}
	how.likely_version = versions__likely(d->versions, q);
	desk__take(d, &how, call->request, call->n, q, ret);
	desk__note(d, versions__protocol(&found), q, ret);
	if (ret->status != 200)
		return;
	versions__note(d->versions, q, &found);
	put_findings(response, &found, call->is_json);
}

/* ---- HTTP ---- */

static const char protobuf[] = "application/x-protobuf", json[] = "application/json";

static struct otlp_call call_of(const struct dcm_request *q)
{
	struct otlp_call call = { .request = q->body, .n = q->n_body };

	for (uint32_t i = 0; i < q->n_headers; i++)
		if (str__eq(q->headers[i].name, STR("otlp-profiles-development-version"))) {
			call.version = q->headers[i].value;
			call.n_versions++;
		}
	return call;
}

static void answer(void *ctx, const struct dcm_request *q, struct dcm_reply *reply)
{
	struct desk *d = ctx;
	struct otlp_call call = call_of(q);
	struct dcm_str type = desk__media_type(q);
	struct buf response = { 0 };
	struct desk_verdict v;

	call.is_json = str__eq(type, str__of(json));
	if (!call.is_json && !str__eq(type, str__of(protobuf))) {
		desk__refuse(d, &v, 415,
			     "Content-Type %.*s is not read here; have the exporter send %s or %s",
			     (int)(type.n < 64 ? type.n : 64), type.p, protobuf, json);
		d->host->reply_header(reply, "Accept-Post", "application/x-protobuf, application/json");
		desk__tell(d, &v, reply);
		return;
	}
	otlp__export(d, &call, q, &v, &response);
	if (v.status == 200)
		d->host->reply_put(reply, 200, call.is_json ? json : protobuf,
				   response.data ? response.data : (const uint8_t *)"", response.n);
	else
		desk__tell(d, &v, reply);
	buf__fini(&response);
}

static void answer_grpc(void *ctx, const struct dcm_request *q, struct dcm_reply *reply)
{
	struct desk *d = ctx;
	const struct otlp_call call = call_of(q);
	struct buf response = { 0 };
	struct desk_verdict v;

	otlp__export(d, &call, q, &v, &response);
	if (desk__tell(d, &v, reply))
		d->host->reply_put(reply, 200, protobuf,
				   response.data ? response.data : (const uint8_t *)"", response.n);
	buf__fini(&response);
}

static void answer_experimental(void *ctx, const struct dcm_request *q, struct dcm_reply *reply)
{
	struct desk *d = ctx;
	struct desk_verdict v;

	(void)q;
	desk__refuse(d, &v,
		     400, "profiles of OTLP 1.3 (v1experimental) are not read; update the sender to OTLP 1.10 or later");
	desk__tell(d, &v, reply);
}

int otlp__serve(struct desk *d, struct dcm_error *err)
{
	static const struct {
		const char *path;
		void (*answer)(void *ctx, const struct dcm_request *q, struct dcm_reply *reply);
		bool is_grpc;
	} doors[] = {
		{ "/v1development/profiles", answer, false },
		{ "/v1/profiles", answer, false },
		{ "/v1experimental/profiles", answer_experimental, false },
		{ "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
		  answer_grpc, true },
		{ "/opentelemetry.proto.collector.profiles.v1experimental.ProfilesService/Export",
		  answer_experimental, true },
	};
	int r = 0;

	for (size_t i = 0; i < sizeof(doors) / sizeof(doors[0]) && r == 0; i++) {
		/* What is refused is not listed by server reflection. */
		const bool is_listed = doors[i].answer == answer_grpc;
		const struct dcm_endpoint endpoint = {
			.path = doors[i].path,
			.doc = "takes OTLP profiles: ExportProfilesServiceRequest",
			.answer = doors[i].answer,
			.refusal = DCM_REFUSAL_STATUS,
			.grpc = doors[i].is_grpc,
			.descriptors = is_listed ? descriptors_otlp : NULL,
			.n_descriptors = is_listed ? sizeof(descriptors_otlp) : 0,
		};

		r = desk__serve(d, endpoint, err);
	}
	return r;
}
