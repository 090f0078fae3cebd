/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/perf_script.c - the text that `perf script` prints
 *
 *	COMM PID/TID [CPU] SECONDS.MICROS:  PERIOD EVENT:
 *		ADDRESS SYMBOL+0xOFFSET (DSO)
 *		ADDRESS SYMBOL (inlined)
 *		ADDRESS [unknown] ([unknown])
 *	  FILE:LINE
 *
 * A sample ends with an empty line, or where the next begins. Fields that are not printed are not
 * told; a lone number behind the command is the thread's. A command may have blanks and digits, so
 * its end is the first place from which the rest of the line reads as above. Rows wait until the
 * end, because a profile's rows stand together and events take turns.
 */
#include "core/codec/perf_script.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/batch/builder.h"
#include "core/batch/limits.h"

enum {
	MAX_EVENTS = 256,
	COMM_MAX_CHARS = 64, /* of the kernel 16; leaves room for padding */
};

struct event {
	struct dcm_str name;
	bool has_period;
};

struct row {
	uint32_t event, stack, label_set;
	int64_t period;
};

/* What the first line of a sample says. */
struct header {
	struct dcm_str comm, event, rest;
	uint64_t pid, tid, cpu, period;
	int64_t time_ns;
	bool has_pid, has_cpu, has_time, has_period;
};

/* One line of a call chain. */
struct frame {
	uint64_t address;
	struct dcm_str symbol, dso, file;
	int64_t line;
};

struct reader {
	struct dcm_builder *b;
	struct dcm_error *err;
	size_t line_no;

	VEC(struct row) rows;
	struct event events[MAX_EVENTS];
	uint32_t n_events;
	int64_t first_ns, last_ns; /* of samples; -1: none yet */

	bool in_sample;
	struct header sample;
	uint32_t event;
	struct frame frame; /* the line before, which may get a source line */
	bool has_frame;
	uint32_t n_inlined, n_locations;
	struct dcm_line inlined[LOCATION_MAX_LINES];
	uint32_t locations[STACK_MAX_DEPTH];

	uint32_t comm_name, pid_name, tid_name, cpu_name; /* strings of the builder */
};

static int fault(const struct reader *r, const char *what)
{
	return error__set(r->err, -EINVAL, "perf script: line %zu: %s", r->line_no, what);
}

static int too_many(const struct reader *r, const char *what, int max)
{
	return error__set(r->err, -E2BIG, "perf script: line %zu: more than %d %s", r->line_no, max, what);
}

/* ------------------------------------------------------------------------------------------------
 * Words
 */

static struct dcm_str from(struct dcm_str s, uint32_t n)
{
	return (struct dcm_str){ s.p + n, s.n - n };
}

/* Takes a word off the front, and the blanks before it. */
static struct dcm_str word(struct dcm_str *s)
{
	uint32_t n = 0;

	*s = str__trim(*s);
	while (n < s->n && s->p[n] != ' ' && s->p[n] != '\t')
		n++;
	struct dcm_str w = { s->p, n };
	*s = from(*s, n);
	return w;
}

/* Digits off the front; false when there are none, or too many. */
static bool number(struct dcm_str *s, uint64_t *ret)
{
	uint32_t i = 0;
	uint64_t v = 0;

	for (; i < s->n && s->p[i] >= '0' && s->p[i] <= '9'; i++)
		if (__builtin_mul_overflow(v, 10u, &v) ||
		    __builtin_add_overflow(v, (unsigned)(s->p[i] - '0'), &v))
			return false;
	if (i == 0)
		return false;
	*s = from(*s, i);
	*ret = v;
	return true;
}

static bool hexadecimal(struct dcm_str s, uint64_t *ret)
{
	uint64_t v = 0;

	if (s.n == 0 || s.n > 16)
		return false;
	for (uint32_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		unsigned digit = c >= '0' && c <= '9'	? (unsigned)(c - '0')
				 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
							: 16;
		if (digit == 16)
			return false;
		v = v << 4 | digit;
	}
	*ret = v;
	return true;
}

/* ------------------------------------------------------------------------------------------------
 * The first line of a sample
 */

/* "13549" or "13549/13550" */
static bool parse_ids(struct dcm_str w, struct header *h)
{
	if (!number(&w, &h->tid))
		return false;
	h->has_pid = w.n > 0;
	if (!h->has_pid)
		return true;
	h->pid = h->tid;
	if (w.p[0] != '/')
		return false;
	w = from(w, 1);
	return number(&w, &h->tid) && w.n == 0;
}

static bool parse_cpu(struct dcm_str w, struct header *h)
{
	if (w.n < 3 || w.p[0] != '[' || w.p[w.n - 1] != ']')
		return false;
	w = (struct dcm_str){ w.p + 1, w.n - 2 };
	return number(&w, &h->cpu) && w.n == 0;
}

/* "5279.782615:" in seconds; up to nine digits of fraction */
static bool parse_time(struct dcm_str w, struct header *h)
{
	uint64_t seconds, fraction;

	if (!number(&w, &seconds) || w.n < 3 || w.p[0] != '.' || seconds > INT64_MAX / 2000000000)
		return false;
	w = from(w, 1);
	uint32_t n_digits = w.n;
	if (!number(&w, &fraction) || !str__eq(w, STR(":")))
		return false;
	for (n_digits -= w.n; n_digits < 9; n_digits++)
		fraction *= 10;
	if (n_digits > 9)
		return false;
	h->time_ns = (int64_t)(seconds * 1000000000 + fraction);
	return true;
}

/* "cpu-clock:pppH:" without its colon and modifiers */
static bool parse_event(struct dcm_str w, struct header *h)
{
	if (w.n < 2 || w.p[w.n - 1] != ':')
		return false;
	w.n--;
	uint32_t n = w.n;
	while (n && strchr("ukhGHpPSDIWeb", w.p[n - 1]))
		n--;
	if (n > 1 && n < w.n && w.p[n - 1] == ':')
		w.n = n - 1;
	h->event = w;
	return true;
}

/* Everything behind the command. */
static bool parse_fields(struct dcm_str s, struct header *h)
{
	*h = (struct header){ .comm = h->comm };
	if (!parse_ids(word(&s), h))
		return false;
	struct dcm_str w = word(&s);
	h->has_cpu = parse_cpu(w, h);
	if (h->has_cpu)
		w = word(&s);
	h->has_time = parse_time(w, h);
	if (h->has_time)
		w = word(&s);
	struct dcm_str digits = w;
	h->has_period = number(&digits, &h->period) && digits.n == 0 && h->period <= INT64_MAX;
	if (h->has_period)
		w = word(&s);
	h->rest = str__trim(s);
	return (h->has_cpu || h->has_time) && parse_event(w, h);
}

static bool parse_header(struct dcm_str line, struct header *h)
{
	struct dcm_str s = str__trim(line);

	for (uint32_t i = 1; i < s.n && i < COMM_MAX_CHARS; i++) {
		if (s.p[i - 1] != ' ' || s.p[i] < '0' || s.p[i] > '9')
			continue;
		h->comm = str__trim((struct dcm_str){ s.p, i });
		if (parse_fields(from(s, i), h))
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------------------------------------
 * Call chains
 */

/* Where the parenthesis opens that the last character closes; s.n when there is none. */
static uint32_t opening(struct dcm_str s)
{
	uint32_t depth = 0;

	for (uint32_t i = s.n; i-- > 0;) {
		depth += s.p[i] == ')';
		if (s.p[i] == '(' && --depth == 0)
			return i;
		if (depth == 0)
			break;
	}
	return s.n;
}

/* "read_plain+0x101" without the offset */
static struct dcm_str without_offset(struct dcm_str s)
{
	const char *plus = s.n ? memrchr(s.p, '+', s.n) : NULL;
	uint32_t at = plus ? (uint32_t)(plus - s.p) : 0;
	uint64_t ignored;

	if (at && s.n - at > 3 && plus[1] == '0' && plus[2] == 'x' &&
	    hexadecimal(from(s, at + 3), &ignored))
		s.n = at;
	return s;
}

static bool parse_frame(struct dcm_str line, struct frame *ret)
{
	struct dcm_str s = line;
	struct frame f = { 0 };

	if (!hexadecimal(word(&s), &f.address))
		return false;
	s = str__trim(s);
	f.dso = f.file = STR("");
	uint32_t open = opening(s);
	if (open < s.n) {
		f.dso = (struct dcm_str){ s.p + open + 1, s.n - open - 2 };
		s.n = open;
	}
	f.symbol = without_offset(str__trim(s));
	if (str__eq(f.symbol, STR("[unknown]")))
		f.symbol = STR("");
	if (str__eq(f.dso, STR("[unknown]")))
		f.dso = STR("");
	*ret = f;
	return true;
}

/* "  main.c:12", behind the frame that it belongs to */
static bool parse_source(struct dcm_str line, struct frame *f)
{
	struct dcm_str s = str__trim(line);
	const char *colon = s.n ? memrchr(s.p, ':', s.n) : NULL;
	uint64_t v;

	if (!colon || colon == s.p)
		return false;
	struct dcm_str file = { s.p, (uint32_t)(colon - s.p) }, digits = from(s, file.n + 1);
	if (!number(&digits, &v) || digits.n || v > INT32_MAX)
		return false;
	f->file = file;
	f->line = (int64_t)v;
	return true;
}

static bool is_inlined(const struct frame *f)
{
	return str__eq(f->dso, STR("inlined"));
}

/* The mapping and kind of address that a frame's object means. */
static void place(struct reader *r, const struct frame *f, struct dcm_location *l)
{
	enum dcm_mapping_kind kind = decode__mapping_kind(f->dso);

	if (str__starts(f->dso, STR("/tmp/perf-")) && str__ends(f->dso, STR(".map")))
		kind = DCM_MAPPING_ANON;
	if (kind == DCM_MAPPING_KERNEL || kind == DCM_MAPPING_MODULE) {
		l->kind = DCM_FRAME_KERNEL;
		l->addr_kind = DCM_ADDR_VADDR;
	} else if (kind == DCM_MAPPING_ANON || f->address >> 32) {
		l->kind = kind == DCM_MAPPING_ANON && f->dso.n ? DCM_FRAME_JIT : DCM_FRAME_NATIVE;
		l->addr_kind = DCM_ADDR_RUNTIME;
		uint64_t pid = r->sample.has_pid ? r->sample.pid : r->sample.tid;
		if (pid <= UINT32_MAX)
			l->process = builder__process(r->b,
						      &(struct dcm_process){ .pid = (uint32_t)pid });
	} else {
		l->addr_kind = DCM_ADDR_FILE_OFFSET;
	}
	if (f->dso.n)
		l->mapping = builder__mapping(
			r->b,
			&(struct dcm_mapping){ .file = builder__string(r->b, f->dso), .kind = kind });
}

/* The frame of the line before, now that all of it is known. */
static int end_frame(struct reader *r)
{
	const struct frame *f = &r->frame;
	struct dcm_location l = { .mapping = DCM_NONE, .process = DCM_NONE };

	if (!r->has_frame)
		return 0;
	r->has_frame = false;
	if (f->symbol.n || f->line) {
		if (r->n_inlined == LOCATION_MAX_LINES)
			return too_many(r, "inlined frames of one address", LOCATION_MAX_LINES);
		struct dcm_function function = { .name = builder__string(r->b, f->symbol),
						 .file = builder__string(r->b, f->file) };
		r->inlined[r->n_inlined++] = (struct dcm_line){
			.function = builder__function(r->b, &function), .line = f->line
		};
	}
	/* An inlined call belongs to the frame that follows. */
	if (is_inlined(f))
		return 0;
	if (r->n_locations == STACK_MAX_DEPTH)
		return too_many(r, "frames of one sample", STACK_MAX_DEPTH);
	l.address = f->address;
	place(r, f, &l);
	r->locations[r->n_locations++] = builder__location(r->b, &l, r->inlined, r->n_inlined);
	r->n_inlined = 0;
	return 0;
}

static int begin_frame(struct reader *r, const struct frame *f)
{
	int e = end_frame(r);

	r->frame = *f;
	r->has_frame = true;
	return e;
}

/* ------------------------------------------------------------------------------------------------
 * Samples
 */

static uint32_t label_set(struct reader *r)
{
	const struct header *h = &r->sample;
	struct dcm_label labels[4];
	uint32_t n = 0;

	labels[n++] = (struct dcm_label){ r->comm_name, builder__string(r->b, h->comm), 0, DCM_NONE };
	if (h->tid <= INT64_MAX)
		labels[n++] = (struct dcm_label){ r->tid_name, 0, (int64_t)h->tid, 0 };
	if (h->has_pid && h->pid <= INT64_MAX)
		labels[n++] = (struct dcm_label){ r->pid_name, 0, (int64_t)h->pid, 0 };
	if (h->has_cpu && h->cpu <= INT64_MAX)
		labels[n++] = (struct dcm_label){ r->cpu_name, 0, (int64_t)h->cpu, 0 };
	return builder__label_set(r->b, labels, n);
}

static int end_sample(struct reader *r)
{
	if (!r->in_sample)
		return 0;
	r->in_sample = false;
	int e = end_frame(r);
	if (e < 0)
		return e;
	if (r->n_inlined) {
		struct dcm_location l = { .mapping = DCM_NONE, .process = DCM_NONE };
		if (r->n_locations == STACK_MAX_DEPTH)
			return too_many(r, "frames of one sample", STACK_MAX_DEPTH);
		r->locations[r->n_locations++] = builder__location(r->b, &l, r->inlined, r->n_inlined);
	}
	struct row row = { r->event, builder__stack(r->b, r->locations, r->n_locations),
			   label_set(r), (int64_t)r->sample.period };
	return vec__push(&r->rows, row) ? 0 : error__nomem(r->err);
}

static int find_event(struct reader *r, const struct header *h)
{
	uint32_t i = r->event; /* mostly the same again */

	if (i >= r->n_events || !str__eq(r->events[i].name, h->event))
		for (i = 0; i < r->n_events && !str__eq(r->events[i].name, h->event);)
			i++;
	if (i == MAX_EVENTS)
		return too_many(r, "events", MAX_EVENTS);
	if (i == r->n_events)
		r->events[r->n_events++] = (struct event){ .name = h->event };
	r->events[i].has_period |= h->has_period;
	r->event = i;
	return 0;
}

static int begin_sample(struct reader *r, const struct header *h)
{
	struct frame f;

	int e = end_sample(r);
	if (e == 0)
		e = find_event(r, h);
	if (e < 0)
		return e;
	r->sample = *h;
	r->in_sample = true;
	r->n_locations = r->n_inlined = 0;
	if (h->has_time) {
		r->first_ns = r->first_ns < 0 || h->time_ns < r->first_ns ? h->time_ns : r->first_ns;
		r->last_ns = h->time_ns > r->last_ns ? h->time_ns : r->last_ns;
	}
	/* Without call chains the one frame stands behind the event. */
	return parse_frame(h->rest, &f) ? begin_frame(r, &f) : 0;
}

static int read_line(struct reader *r, struct dcm_str line)
{
	struct header h;
	struct frame f;
	bool indented = line.n && (line.p[0] == ' ' || line.p[0] == '\t');

	if (str__trim(line).n == 0)
		return end_sample(r);
	if (line.p[0] == '#')
		return 0;
	if (line.p[0] != '\t' && parse_header(line, &h))
		return begin_sample(r, &h);
	if (!r->in_sample)
		return fault(r, "it is no first line of a sample: COMM PID TIME: EVENT:");
	if (indented && parse_frame(line, &f))
		return begin_frame(r, &f);
	if (r->has_frame && parse_source(line, &r->frame))
		return 0;
	return fault(
		r, "it is neither a frame, ADDRESS SYMBOL (FILE), nor the first line of a sample");
}

/* ------------------------------------------------------------------------------------------------
 * Profiles
 */

static bool counts_nanoseconds(struct dcm_str event)
{
	return str__eq(event, STR("cpu-clock")) || str__eq(event, STR("task-clock"));
}

/* One profile an event: its rows in the order of the text. */
static void add_profile(struct reader *r, uint32_t event, const struct decode_options *o)
{
	const struct event *e = &r->events[event];
	uint32_t name = decode__type_part(r->b, o->name.n ? o->name : STR("perf"));
	enum dcm_temporality temporality = o->has_temporality ? o->temporality : DCM_DELTA;
	const struct dcm_type types[] = {
		{ .name = name,
		  .sample_type = builder__string(r->b, STR("samples")),
		  .sample_unit = builder__string(r->b, STR("count")),
		  .temporality = temporality },
		{ .name = name,
		  .sample_type = decode__type_part(r->b, e->name),
		  .sample_unit = builder__string(
			  r->b, counts_nanoseconds(e->name) ? STR("nanoseconds") : STR("count")),
		  .temporality = temporality },
	};
	struct dcm_profile head = {
		.series = decode__series(o, r->b),
		.time_ns = o->time_ns,
		.duration_ns = r->last_ns > r->first_ns ? r->last_ns - r->first_ns : 0,
	};

	builder__profile(r->b, &head, types, e->has_period ? 2 : 1);
	for (size_t i = 0; i < r->rows.n; i++) {
		const struct row *row = &r->rows.v[i];
		if (row->event == event)
			builder__row(r->b, row->stack, row->label_set, (int64_t[]){ 1, row->period });
	}
}

static int read_lines(struct reader *r, const char *p, const char *end)
{
	int e = 0;

	while (e == 0 && p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		const char *stop = newline ? newline : end;
		r->line_no++;
		e = read_line(r, (struct dcm_str){ p, (uint32_t)(stop - p) });
		p = newline ? newline + 1 : end;
	}
	return e < 0 ? e : end_sample(r);
}

static int read_script(const uint8_t *data, size_t n, const struct decode_options *o,
		       struct dcm_builder *b, struct dcm_error *err)
{
	uint64_t max_bytes = decode__max_bytes(o, DECODE_MAX_BYTES);

	if (n > max_bytes)
		return error__set(err, -E2BIG, "perf script: %zu bytes, more than the limit of %llu",
				  n, (unsigned long long)max_bytes);
	struct reader *r = NEW(struct reader);
	if (!r)
		return error__nomem(err);
	r->b = b;
	r->err = err;
	r->first_ns = r->last_ns = -1;
	r->comm_name = builder__string(b, STR("comm"));
	r->pid_name = builder__string(b, STR("pid"));
	r->tid_name = builder__string(b, STR("tid"));
	r->cpu_name = builder__string(b, STR("cpu"));
	int e = n ? read_lines(r, (const char *)data, (const char *)data + n) : 0;
	if (e == 0 && r->n_events == 0)
		e = error__set(err, -EINVAL, "perf script: there is no sample in it");
	for (uint32_t i = 0; e == 0 && i < r->n_events; i++)
		add_profile(r, i, o);
	vec__fini(&r->rows);
	free(r);
	return e;
}

int perf_script__decode(const uint8_t *data, size_t n, const struct decode_options *o,
			struct dcm_batch **ret, struct dcm_error *err)
{
	return decode__batch(read_script, data, n, o, ret, err);
}
