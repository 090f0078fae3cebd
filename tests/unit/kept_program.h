/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/kept_program.h - this program as a file that a symbol store keeps on disk, and names by
 *
 * kept__batch() samples a function of it, "hidden_function", which no dynamic symbol tells of. What
 * fails fails the test.
 */
#ifndef DECIMA_TESTS_UNIT_KEPT_PROGRAM_H
#define DECIMA_TESTS_UNIT_KEPT_PROGRAM_H

#include <limits.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/symbolize/elf.h"
#include "core/symbolize/symbols.h"
#include "tests/unit/shell.h"
#include "tests/unit/unit.h"

struct kept_program {
	char dir[64];			  /* of this test, for files that are kept */
	char path[PATH_MAX];		  /* where this program is kept in it */
	char build_id[ELF_BUILD_ID_TEXT]; /* of this program */
};
extern struct kept_program kept;

/* Fixtures: of the group, and a new kept.dir for each test. */
int kept__make_root(void **state);
int kept__remove_root(void **state);
int kept__new_dir(void **state);

int kept__open_self(void);
/*
 * A copy of this program, `made`, after this line of shell. Of the lines that objcopy is in: not
 * before kept__need_objcopy().
 */
int kept__open_made(const char *command);
/* One without symbols; its build id stays. */
int kept__open_bare(void);

/* To be called in the test function itself, as skip_because(), before anything is opened. */
#define kept__need_objcopy()                                                                       \
	do {                                                                                       \
		if (shell("command -v objcopy >/dev/null"))                                        \
			skip_because("objcopy is needed");                                         \
	} while (0)

/* Symbols of this configuration; in kept.dir when it names no other directory. */
struct symbols *kept__symbols(const struct symbols_config *config);
void kept__offer(struct symbols *s);
/* Until n files were put or failed, and none waits. */
struct symbols_stat kept__await(struct symbols *s, uint64_t n);
/* A reducer. */
int kept__disk_is_full(void *ctx, const struct symbols_reduction *reduction);

/* A sample in hidden_function of a file of this id. */
struct dcm_batch *kept__batch(const char *id);
/* Asks for the name, and does not wait for it. */
void kept__ask_once(struct symbols *s);
/* The name in a file of this id, or of this program's: it, or "" and why. */
void kept__assert_names(struct symbols *s, const char *id, const char *want, uint8_t want_why);
void kept__assert_named(struct symbols *s, const char *want, uint8_t want_why);

#endif
