/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/otlp.h - OTLP profiles, in only
 *
 * Source: https://github.com/open-telemetry/opentelemetry-proto, opentelemetry/proto/profiles/v1development and
 * collector/profiles/v1development: an ExportProfilesServiceRequest, or the ProfilesData of a file, which have the same
 * fields. All versions of v1development carry one package and path, and numbered their fields anew from time to time; what
 * the bytes are is found out from them (otlp_layout.c), or told to be the current one.
 *
 * What a request becomes:
 *   series      attributes of the resource, the scope's name, version and attributes (otel_scope_..), and those of the profile.
 *               Names are of letters, digits and '_'; some have Decima's own (otlp_labels.c has the list): k8s.pod.name is pod.
 *               Where there is no service.name, the container or the program is the service. process.pid is of samples.
 *   type        name as with pprof, process_cpu where the period is one of cpu. Values are differences, but for what the usual
 *               gauges are called, and what ValueType (until 1.8) says to count up.
 *   samples     of one series, type and 10 s are one profile, as far as they have timestamps: a time of 10 s counts from the
 *               profile's start, or, where it has no duration, from 1970. Others are at the profile's time. Rows whose values are all
 *               0 are left out.
 *   labels      attributes of the sample, string or number with a unit; trace_id and span_id of its link. A name that the series
 *               has becomes exported_NAME; one that comes again, NAME_2.
 *   locations   as with pprof, but that an address outside its mapping's range is one of the ELF file when the mapping has a
 *               build id. profile.frame.type says which frames are of the kernel, interpreted or JIT; one with a name has no address.
 *   build id    process.executable.build_id.gnu of the mapping; others (.go, .htlhash) become a stand-in (plugin.h).
 *   payload     of a profile without samples: pprof is read, another format refused, alone (decode_notes).
 *   ignored     profile_id, dropped_attributes_count, comments, units of attributes until 1.7.
 */
#ifndef DECIMA_CODEC_OTLP_H
#define DECIMA_CODEC_OTLP_H

#include <decima/plugin.h>

#include "core/codec/decode.h"

/* Of whatever version the bytes are. o->notes is told of an old one, and of what was refused alone. */
int otlp__decode(const uint8_t *data, size_t n, const struct decode_options *o,
		 struct dcm_batch **ret, struct dcm_error *err);

/* Of development version 1, whatever they look like: as of 1.10. */
int otlp__decode_current(const uint8_t *data, size_t n, const struct decode_options *o,
			 struct dcm_batch **ret, struct dcm_error *err);

/* JSON, of 1.8 on, whose names tell (otlp_json.c). */
int otlp__decode_json(const uint8_t *data, size_t n, const struct decode_options *o,
		      struct dcm_batch **ret, struct dcm_error *err);

#endif
