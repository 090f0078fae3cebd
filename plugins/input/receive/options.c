/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/options.c - what the configuration says of receiving
 */
#include "plugins/input/receive/options.h"

static const char *const old_choices[] = { "read", "refuse", NULL };
static const char *const answers[] = { "stored", "queued", NULL };

static const struct dcm_option rows[] = {
	{ .name = "decima",
	  .type = DCM_OPT_BOOL,
	  .offset = offsetof(struct receive_options, decima),
	  .def = "true",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Take what the output decima of other machines sends: /decima.v1.Ingest/Write." },
	{ .name = "ingest",
	  .type = DCM_OPT_BOOL,
	  .offset = offsetof(struct receive_options, ingest),
	  .def = "true",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Take profiles at POST /api/v1/ingest: pprof, folded, speedscope and what else is "
		 "known by its bytes." },
	{ .name = "pyroscope",
	  .type = DCM_OPT_BOOL,
	  .offset = offsetof(struct receive_options, pyroscope),
	  .def = "true",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Take what Pyroscope's clients send: POST /ingest, and push.v1 at "
		 "/push.v1.PusherService/Push, by Connect and by gRPC." },
	{ .name = "parca",
	  .type = DCM_OPT_BOOL,
	  .offset = offsetof(struct receive_options, parca),
	  .def = "true",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Take what agents of Parca send: gRPC's WriteArrow and WriteRaw of "
		 "parca.profilestore.v1alpha1.ProfileStoreService, and what one said "
		 "that has ended with an error." },
	{ .name = "otlp",
	  .type = DCM_OPT_BOOL,
	  .offset = offsetof(struct receive_options, otlp),
	  .def = "true",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Take OTLP profiles: POST /v1development/profiles, and gRPC's "
		 "opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export." },
	{ .name = "otlp_old",
	  .type = DCM_OPT_CHOICE,
	  .offset = offsetof(struct receive_options, otlp_old),
	  .def = "read",
	  .choices = old_choices,
	  .flags = DCM_OPT_RESTART,
	  .doc = "OTLP profiles that do not say their version. read: those of OTLP 1.4, 1.5 and "
		 "1.7 to "
		 "1.9 are told by their bytes, and read; refuse: all are read as of 1.10, as the "
		 "specification has it, and others refused or misread." },
	{ .name = "answer",
	  .type = DCM_OPT_CHOICE,
	  .offset = offsetof(struct receive_options, answer),
	  .def = "stored",
	  .choices = answers,
	  .flags = DCM_OPT_RESTART,
	  .doc = "stored: who sends hears that it went well once every store has it as durable as "
		 "it makes it; "
		 "queued: as soon as it is on its way there." },
	{ .name = "answer_within",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct receive_options, answer_within_ns),
	  .def = "10s",
	  .min = "100ms",
	  .max = "1h",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Who sends hears by then that the stores do not have it yet, as while a disk is "
		 "full, and sends it again later. Shorter than those who send wait by themselves; "
		 "of gRPC's clients that say how long they do, four fifths of that count when it "
		 "is less." },
	{ .name = "silent_after",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct receive_options, silent_after_ns),
	  .def = "5m",
	  .min = "1s",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Who has sent nothing for longer is down in the list of who sends (`decima "
		 "targets`). "
		 "Longer than the pause between what they send: ten seconds, for this program's "
		 "sampler." },
	{ .name = "max_body",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct receive_options, max_body_bytes),
	  .def = "64MiB",
	  .min = "1KiB",
	  .max = "64MiB",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Most bytes of one request, as they are sent. Agents of Parca send up to 32 MiB; "
		 "all "
		 "requests' bodies together have 64 MiB." },
	{ .name = "max_unpacked",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct receive_options, max_unpacked_bytes),
	  .def = "64MiB",
	  .min = "1KiB",
	  .max = "1GiB",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Most bytes of one request, unpacked; what is made of them takes up to twice as "
		 "much more, and of JSON up to 16 times." },
	{ .name = "max_sessions",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct receive_options, max_sessions_bytes),
	  .def = "256MiB",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Most memory for what the outputs decima of other machines have sent already and "
		 "need "
		 "not send again, some 2 to 40 MiB for each. Those for which there is no room send "
		 "everything each time, which takes ten times the network and three times the CPU; "
		 "0: all do." },
};

const struct dcm_table receive_options__table = DCM_TABLE(struct receive_options, rows);
