/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/versions.c - which versions of OTLP came, and what each peer's requests were of
 */
#include "plugins/input/receive/versions.h"

#include <string.h>

#include "core/base/hash.h"
#include "core/base/str.h"
#include "plugins/input/receive/desk.h"

/* The newest first; those that a decoder finds (struct dcm_found). */
static const struct {
	const char *name, *protocol;
} known[VERSIONS_N] = { { "1.10", "otlp" },
			{ "1.9", "otlp 1.9" },
			{ "1.8", "otlp 1.8" },
			{ "1.7", "otlp 1.7" },
			{ "1.5", "otlp 1.5" } };

void versions__init(struct versions *v, const struct dcm_host *host)
{
	*v = (struct versions){ .host = host };
	pthread_mutex_init(&v->lock, NULL);
	for (size_t i = 0; i < VERSIONS_N; i++) {
		const struct dcm_label_text label = { STR("version"), str__of(known[i].name) };

		v->taken[i] = host->metric_of(
			host, DCM_COUNTER, "receive_otlp_requests_total",
			"OTLP requests that were taken, by the version as which they were read.",
			&label, 1);
	}
}

void versions__fini(struct versions *v)
{
	pthread_mutex_destroy(&v->lock);
}

static size_t index_of(const struct dcm_found *found)
{
	for (size_t i = 1; found->version && i < VERSIONS_N; i++)
		if (strcmp(found->version, known[i].name) == 0)
			return i;
	return 0;
}

static uint64_t peer_of(const struct dcm_request *q)
{
	struct dcm_str agent = desk__field(q->headers, q->n_headers, "user-agent");
	struct dcm_str peer = DCM_HAS(q, peer) ? q->peer : STR("");

	return hash__bytes(agent.p, agent.n, hash__bytes(peer.p, peer.n, 0));
}

const char *versions__likely(struct versions *v, const struct dcm_request *q)
{
	const uint64_t peer = peer_of(q);
	const size_t at = peer % VERSIONS_PEERS_MAX;
	const char *version;

	pthread_mutex_lock(&v->lock);
	version = v->peers[at].peer == peer ? v->peers[at].version : NULL;
	pthread_mutex_unlock(&v->lock);
	return version;
}

void versions__note(struct versions *v, const struct dcm_request *q, const struct dcm_found *found)
{
	const uint64_t peer = peer_of(q);
	const size_t at = peer % VERSIONS_PEERS_MAX, i = index_of(found);

	v->host->metric_add(v->taken[i], 1);
	if (!found->is_version_told)
		return;
	pthread_mutex_lock(&v->lock);
	v->peers[at].peer = peer;
	v->peers[at].version = known[i].name;
	pthread_mutex_unlock(&v->lock);
}

const char *versions__protocol(const struct dcm_found *found)
{
	return known[index_of(found)].protocol;
}
