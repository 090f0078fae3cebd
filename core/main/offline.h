/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/offline.h - the API over a store's directory, without a daemon
 */
#ifndef DECIMA_MAIN_OFFLINE_H
#define DECIMA_MAIN_OFFLINE_H

#include <decima/plugin.h>
#include <decima/query.h>

#include "core/net/http.h"

/*
 * Opens the store in DIR, answers `target` ("/api/v1/types?from=..") as the one who may do
 * everything, and closes it. The budget bounds the question, and has how far it has come. The response has
 * the status that a daemon would give; errors are about the directory itself.
 */
int offline__call(const char *dir, enum http_method method, const char *target,
		  struct dcm_budget *budget, struct http_response *ret, struct dcm_error *err);

#endif
