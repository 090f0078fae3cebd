/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin_check/cases.h - the questions that decima-plugin-check asks of a plugin
 *
 * A case runs in a child process of its own, so that a crash or a hang is an answer too. It ends by
 * one of the verdicts or by returning, which means that all is well. What a case leaves behind dies
 * with it.
 */
#ifndef DECIMA_PLUGIN_CHECK_CASES_H
#define DECIMA_PLUGIN_CHECK_CASES_H

#include <stdnoreturn.h>

#include <decima/plugin.h>

#include "core/config/tree.h"
#include "core/plugin/instance.h"
#include "core/plugin/loader.h"

struct check {
	const struct plugin *plugin;
	const struct node *config; /* what --config says; NULL: nothing */
	struct host_services services;
	unsigned sweep_seconds; /* that making allocations fail may take */
	int verdict_fd;		/* the parent reads it */
};

/* Ends the case. One line; a note behind "ok" is fine. */
noreturn void verdict__fail(const struct check *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
noreturn void verdict__skip(const struct check *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
noreturn void verdict__pass(const struct check *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* options.c */
void case__unknown_key(const struct check *c);
void case__bad_values(const struct check *c);
/* life.c */
void case__lifecycle(const struct check *c);
void case__stop_without_drain(const struct check *c);
void case__change(const struct check *c);
void case__work(const struct check *c);
void case__no_memory(const struct check *c);

/* work.c: gives the plugin something to do once. 0 or what it said; *ret_said: in words. */
int work__once(const struct check *c, struct instance *i, struct dcm_error *err);

#endif
