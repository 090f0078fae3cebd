/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/generate.h - what the verb tables turn into besides --help: a manual page and shell
 * completions
 *
 * Each writes to stdout. The build runs them (`decima generate KIND`) and installs what they print,
 * so that no page can disagree with the program.
 */
#ifndef DECIMA_MAIN_GENERATE_H
#define DECIMA_MAIN_GENERATE_H

#include "core/main/args.h"

void generate__man(const struct args_verb *verbs); /* man(7), section 1 */
void generate__bash(const struct args_verb *verbs);
void generate__zsh(const struct args_verb *verbs);
void generate__fish(const struct args_verb *verbs);

#endif
