/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/progress.h - tells who looks on how far a question has come
 *
 * A line on standard error, from a second on, where that is a terminal; it is gone when the question has ended.
 */
#ifndef DECIMA_MAIN_PROGRESS_H
#define DECIMA_MAIN_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* How much of how much is done, in any unit; false, or a total of 0: nobody knows yet. On a thread of its own. */
typedef bool progress_look_fn(void *ctx, uint64_t *ret_done, uint64_t *ret_total);

/* Does anybody look on? */
bool progress__is_watched(void);
/* The line itself, for who has moments of his own for it, and knows that somebody looks on; and away with it. */
void progress__show(const char *format, ...) __attribute__((format(printf, 1, 2)));
void progress__hide(void);

struct progress;

/* `what` and ctx live until the end. NULL: nobody looks on, or memory ran out. */
struct progress *progress__begin(const char *what, progress_look_fn *look, void *ctx);
/* Waits for a look that is under way. NULL is fine. */
void progress__end(struct progress *p);

#endif
