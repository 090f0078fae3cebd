/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/perf_map/dump.c - reads a jitdump: names and lines of code that a runtime made
 *
 * The bytes of the code are passed over. Lines come in a record before the one that says where the
 * code lies and how long it is, so they wait for it. All numbers are as the machine writes them;
 * a file of another byte order is not of a process here.
 *
 * Threads: the owner's. Limits: see dump.h.
 */
#include "plugins/input/perf_map/dump.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"

enum {
	MAGIC = 0x4A695444,
	HEADER_BYTES = 40, /* at least; the header says how many */
	HEAD_BYTES = 16,
	LOAD_BYTES = HEAD_BYTES + 40, /* and the name */
	MOVE_BYTES = HEAD_BYTES + 48,
	LINES_BYTES = HEAD_BYTES + 16, /* and the entries */
	LINE_BYTES = 16,	       /* and the file's name */
	FILE_MAX = MAP_MAX_NAME - 16,  /* of a place: the rest is for the line */
	/*
	 * V8 places its lines behind an ELF header that tools of 2016 put before the code, and
	 * still does (kElfHeaderSize).
	 */
	V8_SHIFT = 0x40,
};

enum record { CODE_LOAD, CODE_MOVE, CODE_LINES };

static uint32_t u32_at(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint64_t u64_at(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

void dump__init(struct dump *d, uint64_t max_bytes)
{
	*d = (struct dump){ 0 };
	map__init(&d->lines, max_bytes);
}

void dump__fini(struct dump *d)
{
	map__fini(&d->lines);
	vec__fini(&d->pending);
	vec__fini(&d->places);
}

void dump__reset(struct dump *d)
{
	map__reset(&d->lines);
	d->started = d->broken = false;
	d->to_skip = d->credit = 0;
	d->pending.n = d->places.n = 0;
}

uint64_t dump__bytes(const struct dump *d)
{
	return map__bytes(&d->lines) + d->pending.cap * sizeof(*d->pending.v) + d->places.cap;
}

int dump__settle(struct dump *d)
{
	return map__settle(&d->lines);
}

/* --- work --- */

/* Bytes of the file that were passed pay for what records ask for. */
static void pay(struct dump *d, uint64_t bytes)
{
	uint64_t room = DUMP_MAX_WORK - d->credit,
		 paid = bytes < room ? bytes * DUMP_WORK_PER_BYTE : room;

	d->credit += paid < room ? paid : room;
}

/* A range with [n] bytes of text is copied: 0, or -EDQUOT when that is not paid for. */
static int charge(struct dump *d, uint32_t n)
{
	uint64_t work = DUMP_RANGE_WORK + (uint64_t)n;

	if (work > d->credit)
		return -EDQUOT;
	d->credit -= work;
	d->work += work;
	return 0;
}

/* --- lines --- */

/* One entry's place into `places`; -EPROTO when it is no text. */
static int add_place(struct dump *d, uint64_t address, struct dcm_str file, uint32_t line)
{
	struct dump_line entry = { .address = address, .place = (uint32_t)d->places.n };
	char number[16];
	int n = snprintf(number, sizeof(number), ":%" PRIu32, line);

	if (d->places.n + file.n + sizeof(number) > DUMP_MAX_PLACES)
		return -EPROTO;
	if (!vec__reserve(&d->places, file.n + (size_t)n))
		return -ENOMEM;
	memcpy(d->places.v + d->places.n, file.p, file.n);
	memcpy(d->places.v + d->places.n + file.n, number, (size_t)n);
	d->places.n += file.n + (size_t)n;
	entry.n_place = file.n + (uint32_t)n;
	return vec__push(&d->pending, entry) ? 0 : -ENOMEM;
}

/* A file's name of one byte 0xff stands for that of the entry before it. */
static bool is_repeated(struct dcm_str file)
{
	return file.n == 1 && (uint8_t)file.p[0] == 0xff;
}

static int parse_lines(struct dump *d, const uint8_t *p, size_t n)
{
	uint64_t n_entries = u64_at(p + HEAD_BYTES + 8);
	struct dcm_str file = { "", 0 };
	size_t at = LINES_BYTES;

	for (uint64_t i = 0; i < n_entries; i++) {
		const uint8_t *end;
		struct dcm_str text;
		int rc;

		if (n - at <= LINE_BYTES)
			return -EPROTO;
		end = memchr(p + at + LINE_BYTES, '\0', n - at - LINE_BYTES);
		if (!end)
			return -EPROTO;
		text = (struct dcm_str){ (const char *)p + at + LINE_BYTES,
					 (uint32_t)(end - p - at - LINE_BYTES) };
		if (is_repeated(text)) {
			rc = charge(d, file.n);
			if (rc)
				return rc;
		} else {
			file = text;
			if (file.n > FILE_MAX || !str__is_utf8(file))
				return -EPROTO;
		}
		rc = add_place(d, u64_at(p + at), file, u32_at(p + at + 8));
		if (rc)
			return rc;
		at = (size_t)(end + 1 - p);
	}
	return 0;
}

static void forget_pending(struct dump *d)
{
	d->pending.n = d->places.n = 0;
}

static int take_lines(struct dump *d, const uint8_t *p, size_t n)
{
	int rc;

	forget_pending(d);
	d->pending_code = u64_at(p + HEAD_BYTES);
	rc = parse_lines(d, p, n);
	if (rc)
		forget_pending(d);
	return rc;
}

/*
 * The lines that wait become those of the code at [code, code + bytes): each holds up to the next.
 */
static int place_lines(struct dump *d, uint64_t code, uint64_t bytes, uint64_t shift)
{
	int rc = 0;

	for (size_t i = 0; i < d->pending.n; i++)
		if (d->pending.v[i].address - shift - code >= bytes)
			return -EPROTO;
	for (size_t i = 0; i < d->pending.n && !rc; i++) {
		const struct dump_line *l = &d->pending.v[i];
		uint64_t from = l->address - shift, until = code + bytes;

		/* They come in order of address; what does not, is covered by what comes later. */
		if (i + 1 < d->pending.n && l[1].address - shift >= from)
			until = l[1].address - shift;
		if (until > from)
			rc = map__add(&d->lines, from, until - from,
				      (struct dcm_str){ d->places.v + l->place, l->n_place });
	}
	return rc;
}

/* --- records --- */

static bool is_of_v8(struct dcm_str name)
{
	static const char *const tags[] = { "JS:", "Function:", "LazyCompile:", "Script:", "Eval:" };

	for (size_t i = 0; i < sizeof(tags) / sizeof(*tags); i++)
		if (str__starts(name, str__of(tags[i])))
			return true;
	return false;
}

static int take_load(struct dump *d, struct map *names, const uint8_t *p, size_t n)
{
	uint64_t code = u64_at(p + HEAD_BYTES + 16), bytes = u64_at(p + HEAD_BYTES + 24);
	struct dcm_str name = { (const char *)p + LOAD_BYTES,
				(uint32_t)strnlen((const char *)p + LOAD_BYTES, n - LOAD_BYTES) };
	int rc = 0, lines = 0;

	if (d->pending.n && d->pending_code == code)
		lines = place_lines(d, code, bytes, is_of_v8(name) ? V8_SHIFT : 0);
	if (lines != -ENOMEM)
		rc = map__add(names, code, bytes, name);
	if (lines == -ENOMEM || rc == -ENOMEM)
		return -ENOMEM; /* it comes again, and its lines wait on */
	forget_pending(d);
	return rc ? rc : lines;
}

/* What is known of [from, from + bytes) holds at `to`, too. */
static int move_names(struct dump *d, struct map *m, uint64_t from, uint64_t to, uint64_t bytes)
{
	struct map_piece piece;
	uint64_t at = from;
	int rc = map__settle(m);

	while (!rc && at < from + bytes && map__next(m, at, from + bytes, &piece)) {
		char name[MAP_MAX_NAME];

		rc = charge(d, piece.name.n);
		if (rc)
			break;
		memcpy(name, piece.name.p, piece.name.n);
		rc = map__add(m, piece.start - from + to, piece.end - piece.start,
			      (struct dcm_str){ name, piece.name.n });
		at = piece.end;
	}
	return rc;
}

static int take_move(struct dump *d, struct map *names, const uint8_t *p)
{
	uint64_t from = u64_at(p + HEAD_BYTES + 16), to = u64_at(p + HEAD_BYTES + 24),
		 bytes = u64_at(p + HEAD_BYTES + 32);
	int rc;

	if (bytes > MAP_MAX_RANGE || from + bytes < from || to + bytes < to)
		return -EPROTO;
	rc = move_names(d, names, from, to, bytes);
	return rc ? rc : move_names(d, &d->lines, from, to, bytes);
}

/* Bytes of a record that must be there for it to be taken. */
static size_t wanted(uint32_t id, size_t total)
{
	switch ((enum record)id) {
	case CODE_LOAD:
		return total < LOAD_BYTES + MAP_MAX_NAME ? total : LOAD_BYTES + MAP_MAX_NAME;
	case CODE_MOVE:
		return MOVE_BYTES;
	case CODE_LINES:
		return total;
	default:
		return HEAD_BYTES;
	}
}

static size_t smallest(uint32_t id)
{
	static const size_t bytes[] = { LOAD_BYTES + 1, MOVE_BYTES, LINES_BYTES };

	return id < sizeof(bytes) / sizeof(*bytes) ? bytes[id] : HEAD_BYTES;
}

/* A record of [n] bytes, as many as wanted() says. */
static int take_record(struct dump *d, struct map *names, const uint8_t *p, size_t n)
{
	switch ((enum record)u32_at(p)) {
	case CODE_LOAD:
		return take_load(d, names, p, n);
	case CODE_MOVE:
		return take_move(d, names, p);
	case CODE_LINES:
		return take_lines(d, p, n);
	default:
		return 0;
	}
}

static int begin(struct dump *d, const uint8_t *p)
{
	uint32_t total = u32_at(p + 8);

	if (u32_at(p) != MAGIC || total < HEADER_BYTES)
		return -EPROTO;
	d->started = true;
	d->to_skip = total;
	d->credit = DUMP_MAX_WORK; /* a record is paid for by those before it: the first have none */
	return 0;
}

/* Takes what stands at p, or says that more of it is needed (*ret_more). */
static int step(struct dump *d, struct map *names, const uint8_t *p, size_t n, bool *ret_more)
{
	uint32_t id, total;
	int rc;

	*ret_more = n < (d->started ? (size_t)HEAD_BYTES : HEADER_BYTES);
	if (*ret_more)
		return 0;
	if (!d->started)
		return begin(d, p) ? -EBADMSG : 0;
	id = u32_at(p);
	total = u32_at(p + 4);
	if (total < HEAD_BYTES)
		return -EBADMSG;
	rc = total < smallest(id) || (id == CODE_LINES && total > DUMP_MAX_RECORD) ? -EPROTO : 0;
	*ret_more = !rc && n < wanted(id, total);
	if (*ret_more)
		return 0;
	if (!rc)
		rc = take_record(d, names, p, wanted(id, total));
	if (rc == -ENOMEM)
		return rc;
	d->to_skip = total;
	d->n_records++;
	d->n_cut += rc == -EDQUOT;
	d->n_skipped += rc && rc != -EDQUOT;
	return 0;
}

int dump__feed(struct dump *d, struct map *names, const void *data, size_t n, size_t *ret_used)
{
	const uint8_t *p = data;
	const uint64_t until = d->work + DUMP_MAX_WORK;
	size_t at = 0;
	bool more = false;
	int rc = 0;

	while (at < n && !more && !rc) {
		size_t skip = d->to_skip < n - at ? (size_t)d->to_skip : n - at;

		if (d->broken)
			skip = n - at;
		at += skip;
		pay(d, skip);
		d->to_skip -= d->broken ? 0 : skip;
		if (skip)
			continue;
		if (d->work >= until)
			break;
		rc = step(d, names, p + at, n - at, &more);
		if (rc == -EBADMSG) {
			d->broken = true;
			d->n_records++;
			d->n_skipped++;
			rc = 0;
		}
	}
	*ret_used = at;
	return rc;
}

bool dump__find(const struct dump *d, uint64_t address, struct dcm_str *ret_file, int64_t *ret_line)
{
	struct dcm_str place;
	uint64_t start;
	const char *colon;

	if (!map__find(&d->lines, address, &place, &start))
		return false;
	colon = memrchr(place.p, ':', place.n);
	if (!colon)
		return false; /* a file's name so odd that it was cut */
	*ret_file = (struct dcm_str){ place.p, (uint32_t)(colon - place.p) };
	*ret_line = 0;
	for (const char *c = colon + 1; c < place.p + place.n; c++)
		*ret_line = *ret_line * 10 + (*c - '0');
	return true;
}
