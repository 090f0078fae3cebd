/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/secret.c - a text that the configuration has, or a file that is read again when it changes
 */
#include "core/net/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/fd.h"

enum { FILE_MAX_BYTES = 1 << 20 };

#define LOOK_AGAIN_NS INT64_C(1000000000)

struct secret secret__of(const char *key, const char *text, const char *file)
{
	return (struct secret){
		.key = key,
		.text = text && text[0] ? text : NULL,
		.file = file && file[0] ? file : NULL,
	};
}

void secret__fini(struct secret *s)
{
	buf__wipe(&s->content);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* As Go's strings.TrimSpace does: files end in a newline. */
static void trim(struct buf *b)
{
	static const char spaces[] = " \t\r\n\v\f";
	size_t from = 0;

	while (b->n > 0 && memchr(spaces, b->data[b->n - 1], sizeof(spaces) - 1))
		b->n--;
	while (from < b->n && memchr(spaces, b->data[from], sizeof(spaces) - 1))
		from++;
	memmove(b->data, b->data + from, b->n - from);
	b->n -= from;
	b->data[b->n] = '\0';
}

/* A file that changes while it is read has another time afterwards, and is read again. */
static int read_again(struct secret *s, const struct stat *now)
{
	struct buf b = { 0 };
	CLEANUP(fd__closep) int fd = fd__open_regular(s->file);
	int r = fd < 0 ? fd : fd__read_all(fd, FILE_MAX_BYTES, &b);

	/* Also of an empty file there is a text. */
	if (r == 0 && !buf__reserve(&b, 1))
		r = b.error;
	if (r == 0 && memchr(b.data, '\0', b.n))
		r = -EILSEQ;
	if (r < 0) {
		buf__wipe(&b);
		return r;
	}
	trim(&b);
	s->seen = *now;
	/* What is written again within the clock's tick has the same time. */
	if (time(NULL) - now->st_mtim.tv_sec <= 1)
		s->seen.st_size = -1;
	if (s->version && b.n == s->content.n && memcmp(b.data, s->content.data, b.n) == 0) {
		buf__wipe(&b);
		return 0;
	}
	secret__fini(s);
	s->content = b;
	s->version++;
	return 0;
}

static int look(struct secret *s)
{
	struct stat now;

	if (stat(s->file, &now) < 0)
		return -errno;
	return s->version && is_same(&now, &s->seen) ? 0 : read_again(s, &now);
}

const char *secret__get(struct secret *s, int64_t now, int *ret_fault, struct dcm_error *err)
{
	int r;

	if (!s->file)
		return s->text ? s->text : "";
	if (s->looked_mono_ns == 0 || now - s->looked_mono_ns >= LOOK_AGAIN_NS) {
		s->looked_mono_ns = 0;
		r = look(s);
		if (r == -ENOMEM) {
			*ret_fault = error__nomem(err);
			return NULL;
		}
		if (r < 0) {
			*ret_fault = error__set(err, -EACCES,
						"%s %s: %s; put it there, readable for our user",
						s->key, s->file,
						r == -EILSEQ	? "is not text"
						: r == -ENOEXEC ? "is no regular file"
								: strerrordesc_np(-r));
			return NULL;
		}
		s->looked_mono_ns = now;
	}
	return (const char *)s->content.data;
}
