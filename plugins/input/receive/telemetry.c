/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/telemetry.c - parca.telemetry.v1alpha1.TelemetryService, a unary method of gRPC
 *
 * What watches over an agent of Parca tells the server that it has ended with an error, and what it had said. From where Go
 * says why, that goes into the log, where who looks after the agents reads it; but not more often than each LOG_NS, and is
 * counted in any case.
 */
#include "plugins/input/receive/telemetry.h"

#include <stdatomic.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/protobuf.h"
#include "core/base/str.h"
#include "plugins/input/receive/descriptors.h"

#define LOG_NS INT64_C(1000000000)

/* Bytes that go into the log: of what it said, and of what it says of itself. */
enum { SAID_MAX = 1200, ABOUT_MAX = 400 };

/* ReportPanicRequest, ReportPanicRequest.MetadataEntry */
enum { PANIC_STDERR = 1, PANIC_METADATA = 2, ENTRY_KEY = 1, ENTRY_VALUE = 2 };

struct panic {
	struct dcm_str said;
	struct buf about; /* "name=value, .." */
};

static bool read_entry(struct dcm_str message, struct panic *p)
{
	struct pb_reader r = pb__reader_of(message);
	struct dcm_str key = STR(""), value = STR("");
	struct pb_field f;

	while (pb__next(&r, &f)) {
		if (f.number == ENTRY_KEY && f.type == PB_BYTES)
			key = pb__str(&f);
		else if (f.number == ENTRY_VALUE && f.type == PB_BYTES)
			value = pb__str(&f);
	}
	if (p->about.n < ABOUT_MAX)
		buf__printf(&p->about, "%s%.*s=%.*s", p->about.n ? ", " : "", STR_ARG(key),
			    STR_ARG(value));
	return !r.fault;
}

static const char *read_panic(const uint8_t *data, size_t n, struct panic *p)
{
	struct pb_reader r = pb__reader(data, n);
	struct pb_field f;

	while (pb__next(&r, &f)) {
		if (f.type != PB_BYTES)
			continue;
		if (f.number == PANIC_STDERR)
			p->said = pb__str(&f);
		else if (f.number == PANIC_METADATA && !read_entry(pb__str(&f), p))
			return "an entry of its metadata is none";
	}
	return r.fault;
}

static bool find_last(struct dcm_str text, struct dcm_str word, uint32_t *ret_at)
{
	for (uint32_t at = text.n; at-- > 0;)
		if (text.n - at >= word.n && memcmp(text.p + at, word.p, word.n) == 0) {
			*ret_at = at;
			return true;
		}
	return false;
}

/* Where it says why, the last time: stacks of goroutines follow. Without, so that its end is in, from a whole character on. */
static uint32_t begin_of(struct dcm_str said)
{
	static const char *const begins[] = { "panic: ", "fatal error: ", "unexpected fault address",
					      "SIGSEGV" };
	uint32_t begin = said.n > SAID_MAX ? said.n - SAID_MAX : 0;

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (find_last(said, str__of(begins[i]), &begin))
			return begin;
	while (begin < said.n && ((unsigned char)said.p[begin] & 0xc0) == 0x80)
		begin++;
	return begin;
}

/* In one line. */
static void put_why(struct dcm_str said, char to[static SAID_MAX + 1])
{
	uint32_t n = 0;

	for (uint32_t i = begin_of(said); i < said.n && n < SAID_MAX; i++)
		to[n++] = said.p[i] && said.p[i] != '\n' && said.p[i] != '\t' ? said.p[i] : ' ';
	to[str__utf8_cut(to, n)] = '\0';
}

static void show(struct desk *d, const struct panic *p)
{
	const int64_t now = d->host->mono_ns(d->host);
	int64_t next = atomic_load(&d->panics_told_ns);
	struct dcm_str about = buf__view(&p->about);
	char said[SAID_MAX + 1];

	d->host->metric_add(d->panics, 1);
	if (now < next || !atomic_compare_exchange_strong(&d->panics_told_ns, &next, now + LOG_NS))
		return;
	about.n = (uint32_t)str__utf8_cut(about.p, about.n < ABOUT_MAX ? about.n : ABOUT_MAX);
	put_why(p->said, said);
	d->host->log(d->host, DCM_LOG_WARNING,
		     "an agent of Parca (%.*s) has ended with an error: %s", STR_ARG(about), said);
}

static void take_panic(void *ctx, const struct dcm_request *q, struct dcm_reply *reply)
{
	struct desk *d = ctx;
	struct panic p = { .said = STR("") };
	const char *fault = read_panic(q->body, q->n_body, &p);

	if (fault) {
		d->host->reply_problem(reply, 400, "this is no ReportPanicRequest: %s", fault);
	} else {
		show(d, &p);
		d->host->reply_put(reply, 200, "application/proto", "", 0);
	}
	buf__fini(&p.about);
}

int telemetry__serve(struct desk *d, struct dcm_error *err)
{
	return desk__serve(d,
			   (struct dcm_endpoint){
				   .path = "/parca.telemetry.v1alpha1.TelemetryService/ReportPanic",
				   .doc = "takes what an agent of Parca said before it ended with "
					  "an error, and logs it",
				   .answer = take_panic,
				   .grpc = 1,
				   .descriptors = descriptors_telemetry,
				   .n_descriptors = sizeof(descriptors_telemetry) },
			   err);
}
