/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/gate.h - who may do what, as the settings of the server have it
 *
 * Made at the start and at each reload: tokens, names and proxies change without a restart.
 */
#ifndef DECIMA_MAIN_GATE_H
#define DECIMA_MAIN_GATE_H

#include "core/main/server_settings.h"
#include "core/net/access.h"

/* Rules that have copies of all texts, with one user: listener__set_rules() and listener_options take them from it, or rules->free(). 0 or -ENOMEM. */
int gate__make(const struct server_settings *s, struct access_rules **ret, struct dcm_error *err);

#endif
