/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/path.h - where in an object a walk stands: "scrape_configs[1].job_name"
 *
 * Push a part, go on, pop back to what push returned. A path too long for its buffer is cut.
 */
#ifndef DECIMA_CONFIG_PATH_H
#define DECIMA_CONFIG_PATH_H

#include <stddef.h>
#include <stdint.h>

#define PATH_TEXT_BYTES 256

struct path {
	char text[PATH_TEXT_BYTES];
	size_t n; /* also of what was cut, so that pop finds its way back */
};

size_t path__push(struct path *p, const char *key); /* "" adds nothing */
size_t path__push_index(struct path *p, uint32_t i);
void path__pop(struct path *p, size_t mark);
const char *path__text(const struct path *p);

#endif
