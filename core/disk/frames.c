/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/disk/frames.c - writes, checks and finds frames
 *
 * The walk costs time linear in the file: what is no frame is looked at in steps of 8 bytes, of
 * which only those that begin with the magic are hashed, and of payloads that do not verify no more
 * than a few times the file. No state, any thread.
 */
#include "core/disk/frames.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/le.h"

static const uint8_t head_magic[8] = { 'D', 'C', 'M', 'L', 'O', 'G', 0x0d, 0x0a };
enum { VERSION = 1 };
#define FRAME_MAGIC 0x4d524644u /* "DFRM" */
#define HEAD_SEED   0x646563696d616c67u
#define LSN_MAX	    ((uint64_t)1 << 62)

/* Offsets of the head's fields. */
enum {
	HEAD_VERSION = 8,
	HEAD_KIND = 10,
	HEAD_ALIGN = 12,
	HEAD_NUMBER = 16,
	HEAD_SALT = 24,
	HEAD_SYNCED = 32,
	HEAD_TAIL = 40,
	HEAD_NEXT = 48,
	HEAD_CHECK = 56,
};

/* Of a frame's. */
enum {
	AT_MAGIC = 0,
	AT_LENGTH = 4,
	AT_LSN = 8,
	AT_TYPE = 16,
	AT_ZERO = 18,
	AT_SYNCED = 20, /* lsn - synced_lsn; 0: too far away to say, or nothing was synced */
	AT_PAYLOAD_CHECK = 24,
	AT_HEAD_CHECK = 28,
};

static uint32_t check32(const void *p, size_t n, uint64_t seed)
{
	return (uint32_t)hash__bytes(p, n, seed);
}

void frames__put_head(uint8_t to[static FRAMES_HEAD_BYTES], const struct frames_head *h)
{
	assert(h->kind <= UINT16_MAX && h->salt);
	memcpy(to, head_magic, sizeof(head_magic));
	le__put16(to + HEAD_VERSION, VERSION);
	le__put16(to + HEAD_KIND, (uint16_t)h->kind);
	le__put32(to + HEAD_ALIGN, h->align);
	le__put64(to + HEAD_NUMBER, h->number);
	le__put64(to + HEAD_SALT, h->salt);
	le__put64(to + HEAD_SYNCED, h->synced_lsn);
	le__put64(to + HEAD_TAIL, h->tail_lsn);
	le__put64(to + HEAD_NEXT, h->next_lsn);
	le__put64(to + HEAD_CHECK, hash__bytes(to, HEAD_CHECK, HEAD_SEED));
}

int frames__get_head(const uint8_t *p, size_t n, struct frames_head *ret)
{
	struct frames_head h;

	if (n < FRAMES_HEAD_BYTES || memcmp(p, head_magic, sizeof(head_magic)) != 0 ||
	    le__get64(p + HEAD_CHECK) != hash__bytes(p, HEAD_CHECK, HEAD_SEED))
		return -EUCLEAN;
	if (le__get16(p + HEAD_VERSION) != VERSION)
		return -EPROTONOSUPPORT;
	h = (struct frames_head){
		.kind = le__get16(p + HEAD_KIND),
		.align = le__get32(p + HEAD_ALIGN),
		.number = le__get64(p + HEAD_NUMBER),
		.salt = le__get64(p + HEAD_SALT),
		.synced_lsn = le__get64(p + HEAD_SYNCED),
		.tail_lsn = le__get64(p + HEAD_TAIL),
		.next_lsn = le__get64(p + HEAD_NEXT),
	};
	if (h.align < FRAME_ALIGN || h.align > FRAMES_ALIGN_MAX || (h.align & (h.align - 1)) ||
	    !h.salt || h.tail_lsn < h.synced_lsn || h.next_lsn <= h.tail_lsn || h.next_lsn > LSN_MAX)
		return -EUCLEAN;
	*ret = h;
	return 0;
}

void frames__put(struct buf *b, uint64_t lsn, uint16_t type, const void *payload, uint32_t n)
{
	size_t size = frames__size(n);
	uint8_t *to = buf__reserve(b, size);

	assert(n > 0 && n <= FRAME_MAX_BYTES && lsn > 0 && lsn < LSN_MAX);
	if (!to)
		return;
	memset(to, 0, FRAME_HEAD_BYTES);
	le__put32(to + AT_MAGIC, FRAME_MAGIC);
	le__put32(to + AT_LENGTH, n);
	le__put64(to + AT_LSN, lsn);
	le__put16(to + AT_TYPE, type);
	memcpy(to + FRAME_HEAD_BYTES, payload, n);
	memset(to + FRAME_HEAD_BYTES + n, 0, size - FRAME_HEAD_BYTES - n);
	b->n += size;
	b->data[b->n] = '\0';
}

/*
 * The payload's check depends on the LSN too, so that two frames with one header swapped do not
 * verify.
 */
static uint32_t payload_check(const uint8_t *frame, uint32_t n, uint64_t salt)
{
	return check32(frame + FRAME_HEAD_BYTES, n, salt ^ le__get64(frame + AT_LSN));
}

void frames__seal(struct buf *b, const struct frames_head *h, uint64_t synced_lsn)
{
	for (size_t at = 0; at < b->n;) {
		uint8_t *f = b->data + at;
		uint32_t n = le__get32(f + AT_LENGTH);
		uint64_t back = le__get64(f + AT_LSN) - synced_lsn;

		assert(le__get64(f + AT_LSN) > synced_lsn);
		le__put32(f + AT_SYNCED, back > UINT32_MAX ? 0 : (uint32_t)back);
		le__put32(f + AT_PAYLOAD_CHECK, payload_check(f, n, h->salt));
		le__put32(f + AT_HEAD_CHECK, check32(f, AT_HEAD_CHECK, h->salt));
		at += frames__size(n);
	}
}

/*
 * Is there a header at f, of which `room` bytes may be read, that is ours? Its length is then
 * within them.
 */
static bool head_is_ours(const uint8_t *f, size_t room, uint64_t salt)
{
	uint32_t n;
	uint64_t lsn;

	if (room < FRAME_HEAD_BYTES || le__get32(f + AT_MAGIC) != FRAME_MAGIC)
		return false;
	n = le__get32(f + AT_LENGTH);
	lsn = le__get64(f + AT_LSN);
	if (n == 0 || n > FRAME_MAX_BYTES || n > room - FRAME_HEAD_BYTES || lsn == 0 ||
	    lsn >= LSN_MAX || le__get16(f + AT_ZERO) != 0)
		return false;
	if (le__get32(f + AT_SYNCED) > lsn)
		return false;
	return le__get32(f + AT_HEAD_CHECK) == check32(f, AT_HEAD_CHECK, salt);
}

/* Steps over what is no frame and counts it; room that was only allocated is zeros. */
static void step_over(struct frames_cursor *c, size_t n)
{
	const uint8_t *p = c->p + c->at;

	if (n != sizeof(uint64_t) || le__get64(p) != 0)
		for (size_t i = 0; i < n; i++)
			c->n_bad_bytes += p[i] != 0;
	c->at += n;
}

static uint64_t synced_of(const uint8_t *f)
{
	uint32_t back = le__get32(f + AT_SYNCED);

	return back ? le__get64(f + AT_LSN) - back : 0;
}

bool frames__next(struct frames_cursor *c, struct frame *ret)
{
	if (c->at < frames__begin(&c->head))
		c->at = c->end = frames__begin(&c->head);
	while (c->at < c->n) {
		const uint8_t *f = c->p + c->at;
		size_t room = c->n - c->at;

		if (!head_is_ours(f, room, c->head.salt)) {
			step_over(c, room < FRAME_ALIGN ? room : FRAME_ALIGN);
			continue;
		}
		uint32_t n = le__get32(f + AT_LENGTH);
		size_t size = frames__size(n) < room ? frames__size(n) : room;

		/*
		 * Its length may reach over frames that were written after it was given up, so it
		 * is not believed; but no file may make us hash it over and over.
		 */
		if (le__get32(f + AT_PAYLOAD_CHECK) != payload_check(f, n, c->head.salt)) {
			c->n_hashed_in_vain += n;
			step_over(c, c->n_hashed_in_vain / 4 <= c->n ? FRAME_ALIGN : size);
			continue;
		}
		*ret = (struct frame){
			.lsn = le__get64(f + AT_LSN),
			.synced_lsn = synced_of(f),
			.type = le__get16(f + AT_TYPE),
			.payload = f + FRAME_HEAD_BYTES,
			.n = n,
			.at = c->at,
		};
		c->end = c->at + frames__size(n);
		c->at += size;
		return true;
	}
	return false;
}
