/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/conf_text.h - a configuration file written out with every option as a comment
 */
#ifndef DECIMA_MAIN_CONF_TEXT_H
#define DECIMA_MAIN_CONF_TEXT_H

#include "core/base/buf.h"
#include "core/plugin/loader.h"

/*
 * Reads the file at `path` and writes it anew: its leading comment as it is, what it sets as it
 * sets it, and each option that it leaves alone as a comment with its default and its doc, from the
 * tables. The result sets the same, and comes out the same when written again: conf/ is kept that
 * way by a test.
 */
int conf_text__write(const char *path, struct loader *loader, struct buf *out, struct dcm_error *err);

#endif
