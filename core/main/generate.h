/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/generate.h - what the verb tables turn into besides --help: a manual page
 *
 * The build runs it (`decima generate man`) and installs what it prints, so that the page cannot
 * disagree with the program.
 */
#ifndef DECIMA_MAIN_GENERATE_H
#define DECIMA_MAIN_GENERATE_H

#include "core/main/args.h"

void generate__man(const struct args_verb *verbs); /* man(7), section 1, on stdout */

#endif
