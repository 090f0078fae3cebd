/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/path.h - where in an object a walk stands: "scrape_configs[1].job_name"
 *
 * Push a part, go on, pop back to what push returned. A path too long for its buffer is cut.
 * path__place() goes the other way: from a sentence to the place that it is about.
 */
#ifndef DECIMA_CONFIG_PATH_H
#define DECIMA_CONFIG_PATH_H

#include <stddef.h>
#include <stdint.h>

#include "core/config/tree.h"

#define PATH_TEXT_BYTES 256

struct path {
	char text[PATH_TEXT_BYTES];
	size_t n; /* also of what was cut, so that pop finds its way back */
};

size_t path__push(struct path *p, const char *key); /* "" adds nothing */
size_t path__push_index(struct path *p, uint32_t i);
void path__pop(struct path *p, size_t mark);
const char *path__text(const struct path *p);

/*
 * Where in n the value stands whose path the sentence begins with: "directory ...", "tls.key: ...",
 * "filter.comms[2]: ...". In a list or map, the element or key that is quoted right behind it:
 * "listen: \"nowhere\" ...". NULL: no path, or one that is not written in n, which may be NULL.
 */
const struct place *path__place(const struct node *n, const char *sentence);

#endif
