/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/names.c - what was resolved of a file, as bytes and as a table
 *
 * A frame that does not check is searched for the mark of the next one. The checksum's seed is made
 * of the build id, so that a frame counts in its own log only. Reading costs time linear in the log,
 * whatever it says: frames that are looked into have no more than CHECK_TIMES its bytes in all, and
 * a text is hashed once, however many lines have it.
 * Threads: a table is constant. Limits: NAMES_MAX_BYTES, FRAMES_MAX_DEPTH lines of an address.
 */
#include "core/symbolize/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/le.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/symbolize/frames.h"

/* What is sound needs one; a length that is damaged, one more at the most. */
enum { CHECK_TIMES = 4 };

static const char magic[8] = { 'd', 'c', 'm', 'n', 'a', 'm', '1', '\n' };

static uint64_t check_of(const uint8_t *head, const uint8_t *payload, size_t n, struct dcm_str build_id)
{
	return hash__bytes(payload, n, hash__bytes(head, 16, hash__bytes(build_id.p, build_id.n, 0)));
}

/* --- reading --- */

struct reader {
	const uint8_t *p, *end;
	bool bad;
};

static uint64_t number(struct reader *r, uint64_t max)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64 && r->p < r->end; shift += 7) {
		uint8_t byte = *r->p++;

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			r->bad |= v > max;
			return r->bad ? 0 : v;
		}
	}
	r->bad = true;
	return 0;
}

static int64_t signed_number(struct reader *r)
{
	uint64_t v = number(r, UINT64_MAX);

	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

typedef VEC(uint32_t) id_list; /* of texts in the set, by their numbers in the frame */

/* 0, -EBADMSG, -ENOMEM. */
static int read_texts(struct reader *r, struct intern *texts, id_list *ret)
{
	uint64_t n = number(r, (uint64_t)(r->end - r->p));

	if (!vec__push(ret, 0))
		return -ENOMEM;
	for (uint64_t i = 0; i < n && !r->bad; i++) {
		struct dcm_str text = { .n = (uint32_t)number(r, UINT32_MAX) };
		uint32_t id;

		text.p = (const char *)r->p;
		if (r->bad || text.n > (size_t)(r->end - r->p) || !str__is_utf8(text))
			return -EBADMSG;
		r->p += text.n;
		id = intern__add(texts, text);
		if (id == INTERN_NONE || !vec__push(ret, id))
			return -ENOMEM;
	}
	return r->bad ? -EBADMSG : 0;
}

static uint32_t text_at(struct reader *r, const id_list *ids)
{
	return ids->v[number(r, ids->n - 1)];
}

static void read_lines(struct reader *r, const id_list *ids, struct learned_stored *lines, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		lines[i].name = text_at(r, ids);
		lines[i].system_name = text_at(r, ids);
		lines[i].file = text_at(r, ids);
		lines[i].line = (uint32_t)number(r, UINT32_MAX);
		lines[i].start_line = (uint32_t)number(r, UINT32_MAX);
	}
}

/* The entries of a frame that checks. 0, -EBADMSG, -ENOMEM. */
static int read_frame(struct names *names, struct reader *r, uint32_t n, struct dcm_str build_id)
{
	struct learned_key key = { .build_id = build_id, .hash = hash__bytes(build_id.p, build_id.n, 0) };
	struct learned_stored lines[FRAMES_MAX_DEPTH];
	id_list ids = { 0 };
	int rc = read_texts(r, &names->set.texts, &ids);

	for (uint32_t i = 0; i < n && !rc; i++) {
		struct learned what = { 0 };
		uint8_t flags;

		key.address += (uint64_t)signed_number(r);
		flags = (uint8_t)number(r, 15);
		key.addr_kind = flags & 3;
		what.asked = flags >> 2;
		what.rank = (uint32_t)number(r, UINT32_MAX);
		what.n = (uint32_t)number(r, FRAMES_MAX_DEPTH);
		read_lines(r, &ids, lines, what.n);
		if (r->bad || what.n == 0)
			rc = -EBADMSG;
		if (!rc && !learned_set__has_better(&names->set, &key, &what))
			rc = learned_set__insert_stored(&names->set, &key, &what, lines);
	}
	vec__fini(&ids);
	return rc || r->p == r->end ? rc : -EBADMSG;
}

/*
 * The frame at p: its bytes, 0 when there is no sound one, or -ENOMEM. *budget: bytes that may
 * still be looked into.
 */
static int64_t take_frame(struct names *names, const uint8_t *p, size_t n, struct dcm_str build_id,
			  uint64_t *budget)
{
	struct reader r = { 0 };
	uint32_t length;
	int rc;

	if (n < NAMES_HEAD_BYTES || memcmp(p, magic, sizeof(magic)) != 0)
		return 0;
	r.p = p + NAMES_HEAD_BYTES;
	length = le__get32(p + 8);
	if (length > n - NAMES_HEAD_BYTES || length > *budget)
		return 0;
	*budget -= length;
	if (check_of(p, r.p, length, build_id) != le__get64(p + 16))
		return 0;
	r.end = r.p + length;
	rc = read_frame(names, &r, le__get32(p + 12), build_id);
	if (rc == -ENOMEM)
		return rc;
	return rc ? 0 : NAMES_HEAD_BYTES + (int64_t)length;
}

/* Where the next frame may begin, behind the first byte. */
static const uint8_t *next_mark(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *at = memmem(p + 1, (size_t)(end - p - 1), magic, sizeof(magic));

	return at ? at : end;
}

static int read_all(struct names *names, const uint8_t *p, const uint8_t *end,
		    struct dcm_str build_id, struct names_found *found)
{
	uint64_t budget = CHECK_TIMES * (uint64_t)(end - p);

	while (p < end) {
		int64_t taken = take_frame(names, p, (size_t)(end - p), build_id, &budget);

		if (taken < 0)
			return (int)taken;
		if (taken == 0) {
			const uint8_t *next = next_mark(p, end);

			found->n_bad_bytes += (uint64_t)(next - p);
			p = next;
		}
		found->n_frames += taken > 0;
		if (!found->first_bytes)
			found->first_bytes = (uint64_t)taken;
		p += taken;
	}
	return 0;
}

int names__read(const uint8_t *p, size_t n, struct dcm_str build_id, struct names **ret,
		struct names_found *ret_found)
{
	CLEANUP(names__unrefp) struct names *names = NEW(struct names);
	struct names_found found = { 0 };
	int rc;

	if (!names)
		return -ENOMEM;
	names->refs = 1;
	rc = learned_set__init(&names->set);
	if (!rc && n)
		rc = read_all(names, p, p + n, build_id, &found);
	if (rc)
		return rc;
	names->bytes = sizeof(*names) + learned_set__bytes(&names->set);
	if (ret_found)
		*ret_found = found;
	*ret = take_ptr(names);
	return 0;
}

void names__unref(struct names *n)
{
	if (!n || atomic_fetch_sub_explicit(&n->refs, 1, memory_order_acq_rel) != 1)
		return;
	learned_set__fini(&n->set);
	free(n);
}

/* --- writing --- */

/* The texts that the entries use, and the number of each within the frame: 0 is "". */
struct texts {
	const struct learned_set *set;
	uint32_t *ids;		/* [set->texts.n]; 0: it has none yet */
	VEC(uint32_t) in_frame; /* their ids in the set */
};

static uint32_t frame_id(struct texts *t, uint32_t id, struct buf *out)
{
	if (id == 0 || t->ids[id])
		return t->ids[id];
	if (!vec__push(&t->in_frame, id)) {
		out->error = -ENOMEM;
		return 0;
	}
	return t->ids[id] = (uint32_t)t->in_frame.n;
}

static void write_entry(struct texts *t, const struct learned_entry *e, uint64_t before, struct buf *out)
{
	buf__zigzag(out, (int64_t)(e->address - before));
	buf__varint(out, (uint64_t)e->addr_kind | (uint64_t)e->asked << 2);
	buf__varint(out, e->rank);
	buf__varint(out, e->n);
	for (uint32_t i = 0; i < e->n; i++) {
		const struct learned_stored *l = &t->set->lines.v[e->first + i];

		buf__varint(out, frame_id(t, l->name, out));
		buf__varint(out, frame_id(t, l->system_name, out));
		buf__varint(out, frame_id(t, l->file, out));
		buf__varint(out, l->line);
		buf__varint(out, l->start_line);
	}
}

static void write_texts(const struct texts *t, struct buf *out)
{
	buf__varint(out, t->in_frame.n);
	for (size_t i = 0; i < t->in_frame.n; i++) {
		struct dcm_str text = intern__text(&t->set->texts, t->in_frame.v[i]);

		buf__varint(out, text.n);
		buf__str(out, text);
	}
}

void names__write(const struct learned_set *set, const uint32_t *rows, size_t n_rows,
		  struct dcm_str build_id, struct buf *out)
{
	struct texts texts = { .set = set, .ids = mem__zalloc(set->texts.n, sizeof(*texts.ids)) };
	uint8_t head[NAMES_HEAD_BYTES] = { 0 };
	struct buf entries = { 0 };
	size_t start = out->n;
	uint64_t before = 0;

	if (!texts.ids)
		entries.error = -ENOMEM;
	for (size_t i = 0; i < n_rows && !entries.error; i++) {
		const struct learned_entry *e = &set->entries.v[rows[i]];

		write_entry(&texts, e, before, &entries);
		before = e->address;
	}
	buf__append(out, head, sizeof(head));
	write_texts(&texts, out);
	buf__append(out, entries.data, entries.n);
	if (!out->error)
		out->error = entries.error;
	if (!out->error && out->n - start > UINT32_MAX)
		out->error = -EFBIG;
	if (!out->error) {
		uint8_t *p = out->data + start;
		size_t n = out->n - start - sizeof(head);

		memcpy(p, magic, sizeof(magic));
		le__put32(p + 8, (uint32_t)n);
		le__put32(p + 12, (uint32_t)n_rows);
		le__put64(p + 16, check_of(p, p + sizeof(head), n, build_id));
	}
	buf__fini(&entries);
	vec__fini(&texts.in_frame);
	free(texts.ids);
}
