/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/interrupt.h - Ctrl-C ends what is under way here, and not the program
 *
 * From begin to end the first SIGINT or SIGTERM calls a function, on a thread of its own; the next one ends the
 * program as ever. Threads that are begun meanwhile have both blocked, so begin before them.
 */
#ifndef DECIMA_MAIN_INTERRUPT_H
#define DECIMA_MAIN_INTERRUPT_H

struct interrupt;

/* ctx lives until the end. NULL: descriptors or memory ran out, and signals do what they did. */
struct interrupt *interrupt__begin(void (*fn)(void *ctx), void *ctx);
/* By the same thread. Waits for a call that is under way. NULL is fine. */
void interrupt__end(struct interrupt *i);

#endif
