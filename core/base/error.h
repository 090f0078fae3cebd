/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/error.h - one sentence about what went wrong
 *
 * A function that can fail for reasons a person must read takes a `struct dcm_error *` (declared in
 * <decima/plugin.h>, because plugins fill it too) as its last parameter and returns a negative
 * errno. The sentence names, in this order and on one line: place, object, fault, remedy:
 *
 *	agent.yaml:7:5: input ebpf: unknown option "frequncy"; did you mean "frequency"?
 *
 * The pointer may be NULL everywhere: the caller then wants the code only. Text is cut at the
 * buffer's end, never split inside a UTF-8 character; control characters that came from input are
 * replaced by '?'.
 */
#ifndef DECIMA_BASE_ERROR_H
#define DECIMA_BASE_ERROR_H

#include <decima/plugin.h>

/*
 * Writes the sentence and returns `code` (a negative errno), so that callers can `return
 * error__set(...)`.
 */
int error__set(struct dcm_error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* As error__set(), with ": " and strerror(-code) at the end. */
int error__sys(struct dcm_error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Puts "PREFIX: " before the text that is already there; callers use it to add the place they know.
 */
void error__prefix(struct dcm_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* -ENOMEM with the standard sentence. */
int error__nomem(struct dcm_error *err);

#endif
