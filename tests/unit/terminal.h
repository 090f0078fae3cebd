/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/terminal.h - a device that tells when it was opened
 *
 * A pseudo-terminal's master sees a hang-up once somebody had the other end open and closed it.
 */
#ifndef DECIMA_TESTS_UNIT_TERMINAL_H
#define DECIMA_TESTS_UNIT_TERMINAL_H

#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>

/* The path of the other end of what posix_openpt() gave; NULL: there is none. */
static inline const char *terminal__of(int master)
{
	return master >= 0 && !unlockpt(master) ? ptsname(master) : NULL;
}

static inline bool terminal__was_opened(int master)
{
	struct pollfd p = { .fd = master };

	return poll(&p, 1, 0) > 0 && p.revents & POLLHUP;
}

#endif
