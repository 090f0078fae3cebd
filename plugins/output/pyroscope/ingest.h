/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/pyroscope/ingest.h - what the address of a request to /ingest says of the profile in its body
 *
 * grafana.com/docs/pyroscope/latest/reference-server-api: "Ingestion", /ingest.
 */
#ifndef DECIMA_OUTPUT_PYROSCOPE_INGEST_H
#define DECIMA_OUTPUT_PYROSCOPE_INGEST_H

#include <decima/plugin.h>

#include "core/base/buf.h"

/* Appends "URL?name=..", which says the labels and the time, and a zero. */
void ingest__address(const char *url, const struct dcm_batch *b, const struct dcm_profile *profile,
		     struct buf *out);

#endif
