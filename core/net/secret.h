/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/secret.h - a text that the configuration has, or a file that is read again when it changes
 *
 * A file is looked at once a second at most, and read when its inode, size or times differ; an
 * unreadable one is looked at again at the next call. One thread at a time.
 */
#ifndef DECIMA_NET_SECRET_H
#define DECIMA_NET_SECRET_H

#include <stdint.h>
#include <sys/stat.h>

#include <decima/plugin.h>

#include "core/base/buf.h"

struct secret {
	const char *key;  /* the option, for sentences; a literal */
	const char *text; /* NULL: none, or in the file */
	const char *file; /* NULL: none */
	struct buf content;
	struct stat seen;
	int64_t looked_mono_ns; /* 0: never, or in vain */
	uint64_t version;	/* rises with each content that is read */
};

/* What is empty is not given. The texts are borrowed for the secret's life. */
struct secret secret__of(const char *key, const char *text, const char *file);
void secret__fini(struct secret *s); /* wipes what came from a file */

static inline int secret__is_given(const struct secret *s)
{
	return s->text || s->file;
}

/*
 * The text without spaces around it where it comes from a file; "" when none is given. Valid until the
 * next call. NULL: the file cannot be read, is larger than a MiB, or has a NUL: err says so, -EACCES or
 * -ENOMEM in *ret_fault.
 */
const char *secret__get(struct secret *s, int64_t now_mono_ns, int *ret_fault, struct dcm_error *err);

#endif
