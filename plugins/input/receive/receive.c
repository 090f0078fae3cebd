/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/receive.c - profiles that others send
 *
 * Endpoints at the server's addresses, one file for each protocol, all of them over one desk (desk.h). There is no thread of
 * its own: requests come on the host's.
 */
#include <stdlib.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "plugins/input/receive/decima.h"
#include "plugins/input/receive/desk.h"
#include "plugins/input/receive/ingest.h"
#include "plugins/input/receive/otlp.h"
#include "plugins/input/receive/parca.h"
#include "plugins/input/receive/pyroscope.h"
#include "plugins/input/receive/telemetry.h"

struct receive {
	const struct dcm_host *host;
	struct desk desk;
	struct senders *senders;
	struct versions versions;
	struct decima_door decima;
};

static int receive_open(const struct dcm_host *host, const void *config, void **ret_instance,
			struct dcm_error *err)
{
	struct receive *r = NEW(struct receive);

	if (!r)
		return error__nomem(err);
	r->host = host;
	r->senders = senders__new(host, ((const struct receive_options *)config)->silent_after_ns);
	if (!r->senders) {
		free(r);
		return error__nomem(err);
	}
	desk__init(&r->desk, host, config);
	r->desk.senders = r->senders;
	versions__init(&r->versions, host);
	r->desk.versions = &r->versions;
	*ret_instance = r;
	return 0;
}

static int receive_start(void *instance, struct dcm_error *err)
{
	struct receive *r = instance;
	const struct receive_options *o = r->desk.options;
	int e = 0;

	if (o->decima)
		e = decima__serve(&r->decima, &r->desk, err);
	if (e == 0 && o->ingest)
		e = ingest__serve(&r->desk, err);
	if (e == 0 && o->pyroscope)
		e = pyroscope__serve(&r->desk, err);
	if (e == 0 && o->pyroscope)
		e = push__serve(&r->desk, err);
	if (e == 0 && o->parca)
		e = parca__serve(&r->desk, err);
	if (e == 0 && o->parca)
		e = telemetry__serve(&r->desk, err);
	if (e == 0 && o->otlp)
		e = otlp__serve(&r->desk, err);
	if (e == 0)
		r->host->set_state(r->host, DCM_STATE_OK, "takes%s%s%s%s%s at the server's addresses",
				   o->decima ? " decima.v1" : "", o->ingest ? " /api/v1/ingest" : "",
				   o->pyroscope ? " /ingest push.v1" : "",
				   o->parca ? " WriteRaw" : "", o->otlp ? " OTLP" : "");
	return e;
}

static void receive_stop(void *instance)
{
	struct receive *r = instance;

	decima__close(&r->decima);
	senders__free(r->senders);
	versions__fini(&r->versions);
	free(r);
}

static void receive_targets(void *instance, dcm_target_fn each, void *ctx)
{
	senders__each(((struct receive *)instance)->senders, each, ctx);
}

static const struct dcm_lifecycle lifecycle = {
	.size = sizeof(lifecycle),
	.open = receive_open,
	.start = receive_start,
	.stop = receive_stop,
};
static const struct dcm_input_ops ops = { .size = sizeof(ops), .targets = receive_targets };
static const struct dcm_plugin plugin = {
	DCM_PLUGIN_HEAD,
	.kind = DCM_INPUT,
	.name = "receive",
	.version = "1",
	.summary = "Takes profiles that others send: another Decima, by a plain request, by OTLP, "
		   "and as Pyroscope's clients and Parca's agents do.",
	.options = &receive_options__table,
	.lifecycle = &lifecycle,
	.input = &ops,
};

const struct dcm_plugin *dcm_plugin_entry(void)
{
	return &plugin;
}
