/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/md5.h - the hash that Prometheus' action hashmod is defined by
 *
 * Not for anything that wants security. Source: RFC 1321.
 */
#ifndef DECIMA_PIPELINE_MD5_H
#define DECIMA_PIPELINE_MD5_H

#include <stddef.h>
#include <stdint.h>

void md5(const void *p, size_t n, uint8_t ret_digest[static 16]);

#endif
