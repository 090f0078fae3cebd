/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/frames.c - requests and answers about frames, as bytes
 *
 * Both are little-endian and without alignment. A request: magic, flags, number of files, number of
 * addresses, time (ns), bytes, one byte a file, 8 bytes an address. An answer: magic, number of
 * addresses, of frames, bytes of text; then state and number of frames (a byte each) of each
 * address; then name, file, home (offsets in the text), line and start line of each frame; then the
 * texts with a NUL behind each, the first of them empty.
 *
 * Threads: none shared. Limits: those of frames.h, checked before memory is asked for.
 */
#include "core/symbolize/frames.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/symbolize/frames_find.h"

#define REQUEST_MAGIC	  0x31714644u /* "DFq1" */
#define ANSWER_MAGIC	  0x31614644u /* "DFa1" */
#define DEFAULT_MAX_BYTES ((uint64_t)2 << 30)

enum {
	FLAG_INLINES = 1,
	FLAG_MAP = 2,
	REQUEST_HEAD = 4 * 4 + 2 * 8,
	ANSWER_HEAD = 4 * 4,
	FRAME_BYTES = 5 * 4,
	STEPS_A_LOOK = 512,		  /* at the clock */
	MAX_TEXTS = FRAMES_MAX_ANSWER / 2 /* what is over it is left out */
};

static uint32_t le32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static uint64_t le64(const uint8_t *p)
{
	return le32(p) | (uint64_t)le32(p + 4) << 32;
}

/* --- while a request is answered --- */

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

bool frames_find__late(struct frames_find *f)
{
	if (!f->late && f->steps++ % STEPS_A_LOOK == 0)
		f->late = now_ns() >= f->deadline_ns;
	return f->late;
}

static uint32_t first_at(const struct frames_find *f, uint64_t address)
{
	uint32_t lo = 0, hi = f->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (f->targets[mid].address < address)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

uint32_t frames_find__range(const struct frames_find *f, uint64_t from, uint64_t to, uint32_t *ret_end)
{
	uint32_t first = first_at(f, from);

	*ret_end = first;
	while (*ret_end < f->n && f->targets[*ret_end].address < to)
		(*ret_end)++;
	return first;
}

void frames_find__begin(struct frames_find *f, struct frames_target *t)
{
	t->first = (uint32_t)f->found.n;
	t->n = 0;
}

static uint32_t text_id(struct frames_find *f, const char *text)
{
	size_t n = text ? strnlen(text, FRAMES_MAX_TEXT + 1) : 0;
	uint32_t id;

	if (n > FRAMES_MAX_TEXT || f->texts.arena.total_bytes > MAX_TEXTS)
		return 0;
	id = intern__add(&f->texts, (struct dcm_str){ text, (uint32_t)n });
	if (id == INTERN_NONE)
		f->no_memory = true;
	return id == INTERN_NONE ? 0 : id;
}

void frames_find__add(struct frames_find *f, struct frames_target *t, const struct frame *frame)
{
	struct frames_found found = { text_id(f, frame->name), text_id(f, frame->file),
				      text_id(f, frame->home), frame->line, frame->start_line };

	if (t->n >= FRAMES_MAX_DEPTH)
		return;
	if (vec__push(&f->found, found))
		t->n++;
	else
		f->no_memory = true;
}

void frames_find__done(struct frames_find *f, struct frames_target *t)
{
	if (t->state == FRAMES_NOTHING)
		f->n_done++;
	t->state = FRAMES_FOUND;
}

void frames_find__rest(struct frames_find *f, enum frames_state state)
{
	for (uint32_t i = 0; i < f->n; i++) {
		if (f->targets[i].state == FRAMES_NOTHING)
			f->targets[i].state = (uint8_t)state;
	}
	f->n_done = f->n;
}

/* --- the request --- */

int frames__ask(const struct frames_question *q, struct buf *out)
{
	if (q->n > FRAMES_MAX_ADDRESSES || q->n_files == 0 || q->n_files > FRAMES_MAX_FILES)
		return -EINVAL;
	buf__le32(out, REQUEST_MAGIC);
	buf__le32(out, (q->inlines ? FLAG_INLINES : 0u) | (q->map ? FLAG_MAP : 0u));
	buf__le32(out, q->n_files);
	buf__le32(out, q->n);
	buf__le64(out, (uint64_t)q->budget_ns);
	buf__le64(out, q->max_bytes);
	buf__append(out, q->files, q->n_files);
	for (uint32_t i = 0; i < q->n; i++)
		buf__le64(out, q->addresses[i]);
	return out->error;
}

/* Descriptors by what they are, -1 for those that are not there. */
struct files {
	int fd[FRAMES_MAX_FILES];
};

static int read_files(const uint8_t *kinds, uint32_t n, const int *fds, struct files *ret)
{
	for (uint32_t i = 0; i < FRAMES_MAX_FILES; i++)
		ret->fd[i] = -1;
	for (uint32_t i = 0; i < n; i++) {
		if (kinds[i] >= FRAMES_MAX_FILES || ret->fd[kinds[i]] >= 0 || fds[i] < 0)
			return -EINVAL;
		ret->fd[kinds[i]] = fds[i];
	}
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct frames_target *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

static int read_request(const uint8_t *p, size_t n, const int *fds, uint32_t n_fds,
			struct files *ret_files, struct frames_find *f)
{
	uint32_t n_files, n_addresses;
	uint64_t budget;

	if (n < REQUEST_HEAD || le32(p) != REQUEST_MAGIC)
		return -EINVAL;
	n_files = le32(p + 8);
	n_addresses = le32(p + 12);
	budget = le64(p + 16);
	if (n_files != n_fds || n_files > FRAMES_MAX_FILES || n_addresses > FRAMES_MAX_ADDRESSES ||
	    n != REQUEST_HEAD + n_files + (size_t)n_addresses * 8 || budget > INT64_MAX / 2 ||
	    read_files(p + REQUEST_HEAD, n_files, fds, ret_files))
		return -EINVAL;
	f->inlines = le32(p + 4) & FLAG_INLINES;
	f->map = le32(p + 4) & FLAG_MAP;
	f->deadline_ns = now_ns() + (int64_t)budget;
	f->max_bytes = le64(p + 24) ? le64(p + 24) : DEFAULT_MAX_BYTES;
	f->n = n_addresses;
	f->targets = mem__zalloc(n_addresses, sizeof(*f->targets));
	if (!f->targets)
		return -ENOMEM;
	p += REQUEST_HEAD + n_files;
	for (uint32_t i = 0; i < n_addresses; i++)
		f->targets[i] = (struct frames_target){ .address = le64(p + (size_t)i * 8), .index = i };
	if (n_addresses)
		qsort(f->targets, n_addresses, sizeof(*f->targets), by_address);
	return 0;
}

/* --- the answer --- */

static int by_index(const void *a, const void *b)
{
	const struct frames_target *x = a, *y = b;

	return (x->index > y->index) - (x->index < y->index);
}

static int write_answer(struct frames_find *f, struct buf *out)
{
	uint32_t n_frames = 0, *offsets = mem__zalloc(f->texts.n, sizeof(*offsets)), at = 0;

	if (!offsets)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->texts.n; i++) {
		offsets[i] = at;
		at += f->texts.texts[i].n + 1;
	}
	if (f->n)
		qsort(f->targets, f->n, sizeof(*f->targets), by_index);
	for (uint32_t i = 0; i < f->n; i++)
		n_frames += f->targets[i].n;
	buf__le32(out, ANSWER_MAGIC);
	buf__le32(out, f->n);
	buf__le32(out, n_frames);
	buf__le32(out, at);
	for (uint32_t i = 0; i < f->n; i++) {
		buf__byte(out, f->targets[i].state);
		buf__byte(out, (uint8_t)f->targets[i].n);
	}
	for (uint32_t i = 0; i < f->n; i++) {
		const struct frames_target *t = &f->targets[i];

		for (uint32_t k = t->first; k < t->first + t->n; k++) {
			buf__le32(out, offsets[f->found.v[k].name]);
			buf__le32(out, offsets[f->found.v[k].file]);
			buf__le32(out, offsets[f->found.v[k].home]);
			buf__le32(out, f->found.v[k].line);
			buf__le32(out, f->found.v[k].start_line);
		}
	}
	for (uint32_t i = 0; i < f->texts.n; i++) {
		buf__str(out, f->texts.texts[i]);
		buf__byte(out, 0);
	}
	free(offsets);
	return out->error;
}

static void find(struct frames_find *f, const struct files *files)
{
	if (files->fd[FRAMES_ELF] >= 0)
		frames_go__find(f, files->fd[FRAMES_ELF], true);
	if (f->n_done < f->n && files->fd[FRAMES_DEBUG] >= 0)
		frames_dwarf__find(f, files->fd[FRAMES_DEBUG], files->fd[FRAMES_ALT],
				   files->fd[FRAMES_PACKAGE]);
	if (f->n_done < f->n && files->fd[FRAMES_ELF] >= 0)
		frames_dwarf__find(f, files->fd[FRAMES_ELF], files->fd[FRAMES_ALT],
				   files->fd[FRAMES_PACKAGE]);
	if (f->n_done < f->n && files->fd[FRAMES_ELF] >= 0)
		frames_go__find(f, files->fd[FRAMES_ELF], false);
	if (f->late)
		frames_find__rest(f, FRAMES_LATE);
}

int frames__answer(const uint8_t *request, size_t n, const int *fds, uint32_t n_fds, struct buf *ret_answer)
{
	struct frames_find f = { 0 };
	struct files files;
	int rc = intern__init(&f.texts);

	if (!rc)
		rc = read_request(request, n, fds, n_fds, &files, &f);
	if (!rc) {
		find(&f, &files);
		rc = f.no_memory ? -ENOMEM : write_answer(&f, ret_answer);
	}
	free(f.targets);
	vec__fini(&f.found);
	intern__fini(&f.texts);
	return rc;
}

/* --- reading it --- */

/* Where the parts of an answer begin. */
struct parts {
	const uint8_t *spans, *frames, *text;
	uint32_t n, n_frames, n_text;
};

static int find_parts(const uint8_t *p, size_t n, uint32_t n_addresses, struct parts *ret)
{
	if (n < ANSWER_HEAD || n > FRAMES_MAX_ANSWER || le32(p) != ANSWER_MAGIC || le32(p + 4) != n_addresses)
		return -EBADMSG;
	ret->n = n_addresses;
	ret->n_frames = le32(p + 8);
	ret->n_text = le32(p + 12);
	if (ret->n_text == 0 || n != ANSWER_HEAD + 2 * (uint64_t)ret->n +
						FRAME_BYTES * (uint64_t)ret->n_frames + ret->n_text)
		return -EBADMSG;
	ret->spans = p + ANSWER_HEAD;
	ret->frames = ret->spans + 2 * (size_t)ret->n;
	ret->text = ret->frames + FRAME_BYTES * (size_t)ret->n_frames;
	return ret->text[0] == 0 && ret->text[ret->n_text - 1] == 0 ? 0 : -EBADMSG;
}

static int read_spans(const struct parts *p, struct frames *ret)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		uint8_t state = p->spans[2 * i], n = p->spans[2 * i + 1];

		if (state >= FRAMES_N_STATES || n > FRAMES_MAX_DEPTH || n > p->n_frames - at ||
		    (state == FRAMES_FOUND) != (n > 0))
			return -EBADMSG;
		ret->spans[i] = (struct frames_span){ at, n, state };
		at += n;
	}
	return at == p->n_frames ? 0 : -EBADMSG;
}

static int read_frames(const struct parts *p, struct frames *ret)
{
	for (uint32_t i = 0; i < p->n_frames; i++) {
		const uint8_t *raw = p->frames + (size_t)i * FRAME_BYTES;
		uint32_t name = le32(raw), file = le32(raw + 4), home = le32(raw + 8);

		if (name >= p->n_text || file >= p->n_text || home >= p->n_text)
			return -EBADMSG;
		ret->frames[i] = (struct frame){ ret->text + name, ret->text + file,
						 ret->text + home, le32(raw + 12), le32(raw + 16) };
	}
	return 0;
}

int frames__read(const uint8_t *answer, size_t n, uint32_t n_addresses, struct frames *ret)
{
	struct parts p;
	int rc = find_parts(answer, n, n_addresses, &p);

	*ret = (struct frames){ 0 };
	if (rc)
		return rc;
	ret->n = p.n;
	ret->n_frames = p.n_frames;
	ret->spans = mem__zalloc(p.n, sizeof(*ret->spans));
	ret->frames = mem__zalloc(p.n_frames, sizeof(*ret->frames));
	ret->text = mem__dup(p.text, p.n_text);
	rc = ret->spans && ret->frames && ret->text ? 0 : -ENOMEM;
	if (!rc)
		rc = read_spans(&p, ret);
	if (!rc)
		rc = read_frames(&p, ret);
	if (rc)
		frames__fini(ret);
	return rc;
}

void frames__fini(struct frames *f)
{
	free(f->spans);
	free(f->frames);
	free(f->text);
	*f = (struct frames){ 0 };
}
