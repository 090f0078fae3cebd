/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/error.c - one sentence about what went wrong
 *
 * Text is formatted beside the error and copied, so that an argument may be the error's own text.
 * Thread-safe: an error belongs to its caller, and strerrordesc_np() has neither locale nor state.
 */
#include "core/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/base/str.h"

enum { TEXT_MAX = sizeof(((struct dcm_error *)NULL)->text) };

/* Bytes of text, NUL included, that the struct of this plugin's age has; 0 when it is none. */
static size_t text_bytes(const struct dcm_error *err)
{
	size_t head = offsetof(struct dcm_error, text);

	if (!err || err->size <= head)
		return 0;
	return err->size - head < TEXT_MAX ? err->size - head : TEXT_MAX;
}

/* Stores what fits of line[0..n), with the faults of input taken out. */
static void store(struct dcm_error *err, char *line, size_t n)
{
	size_t room = text_bytes(err);

	if (n >= room)
		n = str__utf8_cut(line, room - 1);
	str__clean(line, n);
	memcpy(err->text, line, n);
	err->text[n] = '\0';
}

/* vsnprintf's answer as the number of bytes that are in a buffer of `room`. */
static size_t written(int n, size_t room)
{
	if (n < 0)
		return 0;
	return (size_t)n < room ? (size_t)n : room - 1;
}

/* Appends to line[TEXT_MAX + 4]: longer than any text, so that store() sees what it cuts. */
static size_t append(char *line, size_t n, const char *text)
{
	size_t room = TEXT_MAX + 4 - n;

	return n + written(snprintf(line + n, room, "%s", text), room);
}

int error__set(struct dcm_error *err, int code, const char *fmt, ...)
{
	char line[TEXT_MAX + 4];
	va_list ap;
	int n;

	if (text_bytes(err) == 0)
		return code;
	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	store(err, line, written(n, sizeof(line)));
	return code;
}

int error__sys(struct dcm_error *err, int code, const char *fmt, ...)
{
	const char *reason = strerrordesc_np(-code);
	char line[TEXT_MAX + 4];
	va_list ap;
	size_t n;

	if (text_bytes(err) == 0)
		return code;
	va_start(ap, fmt);
	n = written(vsnprintf(line, sizeof(line), fmt, ap), sizeof(line));
	va_end(ap);
	n = append(line, n, ": ");
	n = append(line, n, reason ? reason : "Unknown error");
	store(err, line, n);
	return code;
}

void error__prefix(struct dcm_error *err, const char *fmt, ...)
{
	char line[TEXT_MAX + 4];
	va_list ap;
	size_t n;

	if (text_bytes(err) == 0)
		return;
	va_start(ap, fmt);
	n = written(vsnprintf(line, sizeof(line), fmt, ap), sizeof(line));
	va_end(ap);
	err->text[text_bytes(err) - 1] = '\0';
	n = append(line, n, ": ");
	n = append(line, n, err->text);
	store(err, line, n);
}

int error__nomem(struct dcm_error *err)
{
	return error__set(err, -ENOMEM, "out of memory");
}
