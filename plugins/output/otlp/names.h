/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/otlp/names.h - what OpenTelemetry calls what labels and frames say
 *
 * Sources: opentelemetry.io/docs/specs/semconv: registry/attributes (container, host, k8s, process, profile, service, thread).
 * core/codec/otlp.h says what becomes of them when they are received. Pure functions; any thread.
 */
#ifndef DECIMA_OUTPUT_OTLP_NAMES_H
#define DECIMA_OUTPUT_OTLP_NAMES_H

#include <stdbool.h>

#include <decima/plugin.h>

/* Labels that a series has and that make others mean something else. */
struct names_beside {
	bool pod, host_name;
};

/* The key of the label `name`; the name itself where there is none. */
struct dcm_str names__key(struct dcm_str name, struct names_beside beside);

/* profile.frame.type of a frame in a file of that name (may be ""): a runtime's, or "jit" and "interpreted". */
struct dcm_str names__frame(enum dcm_frame_kind kind, struct dcm_str file);

#endif
