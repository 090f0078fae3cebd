/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/dump.h - trees as YAML text
 *
 * What is written reads back to an equal tree. Comments and anchors of the original are gone.
 */
#ifndef DECIMA_CONFIG_DUMP_H
#define DECIMA_CONFIG_DUMP_H

#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/config/tree.h"

/*
 * The node's block, each line after `indent` spaces; a scalar is one line. Knows no secrets: not
 * for showing.
 */
void dump__node(const struct node *n, unsigned indent, struct buf *out);

/* One scalar, in double quotes when anything less would read as something else. */
void dump__scalar(struct dcm_str text, struct buf *out);

#endif
