/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/struct_yaml.h - filled structs as YAML text: the opposite of options__fill()
 *
 * What is written reads back to an equal struct, and needs no environment.
 */
#ifndef DECIMA_TESTS_STRUCT_YAML_H
#define DECIMA_TESTS_STRUCT_YAML_H

#include <decima/plugin.h>

#include "core/base/buf.h"

/*
 * A "key: value" line of every row that has a value, secrets too; "{}" when none has one. A buffer
 * that failed says so in out->error.
 */
void struct_yaml__write(const struct dcm_table *table, const void *value, struct buf *out);

#endif
