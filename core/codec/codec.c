/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/codec.c - formats by name, and what bytes look like
 *
 * Bytes that are no text say what they are, and so does text of pprof's older formats. Other text could begin as a zlib stream does ("x 5"); one of
 * those has control characters, though, so text is taken for none. What kind of text it is can be
 * open, as a folded line may read like one of perf script: the file's name then decides.
 */
#include "core/codec/codec.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/copy.h"
#include "core/deflate/deflate.h"
#include "core/codec/folded.h"
#include "core/codec/html.h"
#include "core/codec/legacy.h"
#include "core/codec/otlp.h"
#include "core/codec/perf_script.h"
#include "core/codec/pprof.h"
#include "core/codec/pushed.h"
#include "core/codec/sampled.h"
#include "core/codec/speedscope.h"
#include "core/codec/wire.h"
#include "core/codec/wire_tables.h"

/* As much as sniffing reads. */
enum { SNIFF_BYTES = 4096 };

static int encode_wire(const struct dcm_batch *b, uint32_t profile, struct buf *out, struct dcm_error *err)
{
	CLEANUP(batch__unrefp) struct dcm_batch *one = NULL;
	int r = profile == DCM_NONE ? 0 : batch__one(b, profile, &one, err);

	if (r < 0)
		return r;
	r = wire__encode(one ? one : b, out);
	if (r == -ENOMEM)
		return error__nomem(err);
	return r < 0 ? error__set(err, r, "batch: it takes more than the limit of %zu bytes", out->limit)
		     : 0;
}

static int decode_wire(const uint8_t *data, size_t n, const struct decode_options *o,
		       struct dcm_batch **ret, struct dcm_error *err)
{
	uint64_t max_bytes = decode__max_bytes(o, DECODE_MAX_BYTES);

	if (n > max_bytes)
		return error__set(err, -E2BIG, "batch: %zu bytes, more than the limit of %llu", n,
				  (unsigned long long)max_bytes);
	return wire__decode(data, n, ret, err);
}

static const struct format {
	const char *name;
	const char *ends; /* of file names, separated by blanks */
	int (*encode)(const struct dcm_batch *b, uint32_t profile, struct buf *out,
		      struct dcm_error *err); /* NULL: in only */
	int (*decode)(const uint8_t *data, size_t n, const struct decode_options *o,
		      struct dcm_batch **ret, struct dcm_error *err); /* NULL: out only */
} formats[] = {
	{ "pprof", ".pb.gz .pprof .pb .prof", pprof__encode, pprof__decode },
	{ "folded", ".folded .txt .collapsed", folded__encode, folded__decode },
	{ "speedscope", ".speedscope.json .json", speedscope__encode, speedscope__decode },
	{ "html", ".html .htm", html__encode, NULL },
	{ "perf", ".perf", NULL, perf_script__decode },
	{ "batch", ".dcm", encode_wire, decode_wire },
	{ "lines", "", NULL, folded__decode_lines },
	{ "push.v1", "", NULL, pushed__decode },
	{ "push.v1.json", "", NULL, pushed__decode_json },
	{ "writeraw", "", NULL, pushed__decode_raw },
	{ "writearrow", "", NULL, sampled__decode },
	{ "otlp", "", NULL, otlp__decode },
	{ "otlp.1", "", NULL, otlp__decode_current },
	{ "otlp.json", "", NULL, otlp__decode_json },
};
#define N_FORMATS (sizeof(formats) / sizeof(formats[0]))

static const struct format *find(const char *name)
{
	for (size_t i = 0; i < N_FORMATS; i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return NULL;
}

int codec__encode(const struct dcm_batch *b, uint32_t profile, const char *format, struct buf *out,
		  struct dcm_error *err)
{
	const struct format *f = find(format);

	if (!f || !f->encode)
		return error__set(err, -EINVAL,
				  "format \"%s\" is not one that can be written: pprof, folded, "
				  "speedscope, html, batch",
				  format);
	return f->encode(b, profile, out, err);
}

int codec__encode_bytes(const struct dcm_batch *b, uint32_t profile, const char *format,
			uint8_t **ret_data, size_t *ret_n, struct dcm_error *err)
{
	struct buf out = { 0 };
	int r = codec__encode(b, profile, format, &out, err);

	if (r == 0 && out.error)
		r = error__nomem(err);
	if (r == 0)
		*ret_data = buf__take(&out, ret_n);
	buf__fini(&out);
	return r;
}

static const char *format_of_name(struct dcm_str s)
{
	for (size_t i = 0; i < N_FORMATS; i++) {
		const char *end = formats[i].ends;
		while (*end) {
			uint32_t n = (uint32_t)strcspn(end, " ");
			if (s.n > n && str__ends(s, (struct dcm_str){ end, n }))
				return formats[i].name;
			end += n + (end[n] == ' ');
		}
	}
	return NULL;
}

const char *codec__format_of_name(const char *name)
{
	return format_of_name(str__of(name));
}

/* True when the first bytes are text: no control characters but blanks and line ends. */
static bool is_text(const uint8_t *data, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (data[i] < 0x20 && data[i] != '\t' && data[i] != '\n' && data[i] != '\r')
			return false;
	return n > 0;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* perf script's time, "5279.782615:", as a word of the line; or an indented address, a frame. */
static bool is_perf_line(const char *p, const char *end)
{
	if (*p == '\t') {
		while (p < end && (*p == '\t' || *p == ' '))
			p++;
		const char *word = p;
		while (p < end && (is_digit(*p) || (*p >= 'a' && *p <= 'f')))
			p++;
		return p > word && p < end && *p == ' ';
	}
	while (p < end) {
		const char *word = p;
		while (p < end && is_digit(*p))
			p++;
		if (p > word && p < end && *p == '.') {
			const char *fraction = ++p;
			while (p < end && is_digit(*p))
				p++;
			if (p > fraction && end - p >= 2 && p[0] == ':' && p[1] == ' ')
				return true;
		}
		while (p < end && *p != ' ')
			p++;
		p += p < end;
	}
	return false;
}

static const char *sniff_lines(const char *p, const char *end)
{
	while (p < end) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));
		stop = stop ? stop : end;
		if (is_perf_line(p, stop))
			return "perf";
		p = stop + 1;
	}
	return "folded";
}

/* What a name says of text: "x.folded.gz" that it is folded. Any text may be in a ".txt". */
static const char *text_of_name(const char *file)
{
	struct dcm_str s = file ? str__of(file) : STR("");

	if (str__ends(s, STR(".gz")))
		s.n -= 3;
	const char *format = str__ends(s, STR(".txt")) ? NULL : format_of_name(s);
	return format && (strcmp(format, "folded") == 0 || strcmp(format, "perf") == 0) ? format : NULL;
}

/* What the bytes look like once gzip is taken off. */
static const char *sniff_named(const char *file, const uint8_t *data, size_t n)
{
	size_t some = n < SNIFF_BYTES ? n : SNIFF_BYTES, blanks = 0;

	if (n >= WIRE_MAGIC_BYTES && memcmp(data, wire__batch_header.magic, WIRE_MAGIC_BYTES) == 0)
		return "batch";
	if (!is_text(data, some))
		return n > 0 ? "pprof" : NULL;
	if (legacy__is(data, some))
		return "pprof";
	const char *named = text_of_name(file);
	if (named)
		return named;
	while (blanks < some && strchr(" \t\r\n", data[blanks]))
		blanks++;
	if (blanks < some && data[blanks] == '{')
		return "speedscope";
	return sniff_lines((const char *)data, (const char *)data + some);
}

const char *codec__sniff(const uint8_t *data, size_t n)
{
	return deflate__is_gzip(data, n) ? "pprof" : sniff_named(NULL, data, n);
}

static int decode_as(const char *format, const uint8_t *data, size_t n,
		     const struct decode_options *o, struct dcm_batch **ret, struct dcm_error *err)
{
	const struct format *f = find(format);

	if (!f || !f->decode)
		return error__set(err, -EINVAL,
				  "format \"%s\" is not one that can be read: pprof, folded, "
				  "speedscope, perf, batch",
				  format);
	return f->decode(data, n, o, ret, err);
}

static int decode_plain(const char *format, const uint8_t *data, size_t n,
			const struct decode_options *o, struct dcm_batch **ret, struct dcm_error *err)
{
	if (format)
		return decode_as(format, data, n, o, ret, err);
	format = sniff_named(o ? o->file : NULL, data, n);
	if (!format)
		return error__set(
			err, -EINVAL,
			"the %zu bytes look like none of pprof, folded, speedscope, perf, batch", n);
	if (o && o->notes)
		o->notes->guessed = format;
	return decode_as(format, data, n, o, ret, err);
}

static bool all_say_their_time(const struct dcm_batch *b, int64_t fallback_ns)
{
	for (uint32_t i = 0; i < b->n_profiles; i++)
		if (b->profiles[i].time_ns == fallback_ns)
			return false;
	return b->n_profiles > 0;
}

/* Texts of different lengths do not run into each other. */
static void mix_text(struct dcm_hash *h, struct dcm_str s)
{
	struct dcm_hash words[2] = { *h, hash__bytes128(s.p, s.n) };

	*h = hash__bytes128(words, sizeof(words));
}

/* The same text may count two things: as many objects allocated as are in use. */
static void mix_measure(struct dcm_hash *h, const struct decode_measure *m)
{
	const int64_t numbers[] = { m->scale, m->period, m->duration_ns };

	mix_text(h, m->type);
	mix_text(h, (struct dcm_str){ (const char *)numbers, sizeof(numbers) });
}

/* The batch is ours alone yet. One of another Decima says its id itself. */
static void identify(const uint8_t *data, size_t n, const struct decode_options *o, struct dcm_batch *b)
{
	if (b->id.source.lo || b->id.source.hi)
		return;
	/* The bytes hold it then, and the caller's, which was not needed, may be another at a retry. */
	const bool timed = all_say_their_time(b, o->time_ns);

	if (o->identity == DCM_IDENTITY_TIMED && !timed)
		return;
	b->id = (struct dcm_batch_id){ .source = hash__bytes128(data, n), .sequence = DCM_BATCH_ONCE };
	if (!timed)
		mix_text(&b->id.source,
			 (struct dcm_str){ (const char *)&o->time_ns, sizeof(o->time_ns) });
	mix_text(&b->id.source, o->name);
	for (uint32_t i = 0; i < o->n_labels; i++) {
		mix_text(&b->id.source, o->labels[i].name);
		mix_text(&b->id.source, o->labels[i].value);
	}
	if (o->measure)
		mix_measure(&b->id.source, o->measure);
}

static int decode_any(const char *format, const uint8_t *data, size_t n,
		      const struct decode_options *o, struct dcm_batch **ret, struct dcm_error *err)
{
	struct buf plain = { 0 };

	if (!deflate__is_gzip(data, n) || (format && !find(format)))
		return decode_plain(format, data, n, o, ret, err);
	int r = deflate__unpack(data, n, decode__max_bytes(o, DECODE_MAX_BYTES), &plain, err);
	if (r == 0 && deflate__is_gzip(plain.data, plain.n))
		r = error__set(err, -EINVAL, "what it unpacks to is gzip again; unpack it once");
	if (r < 0)
		error__prefix(err, "%s", format ? format : "gzip");
	else
		r = decode_plain(format, plain.data, plain.n, o, ret, err);
	buf__fini(&plain);
	return r;
}

int codec__decode_with(const char *format, const uint8_t *data, size_t n,
		       const struct decode_options *o, struct dcm_batch **ret, struct dcm_error *err)
{
	int r = decode_any(format, data, n, o, ret, err);

	if (r == 0 && o && o->identity != DCM_IDENTITY_NONE)
		identify(data, n, o, *ret);
	return r;
}

int codec__decode(const char *format, const uint8_t *data, size_t n, struct dcm_batch **ret,
		  struct dcm_error *err)
{
	return codec__decode_with(format, data, n, NULL, ret, err);
}
