/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/banned.h - functions that nobody here may call; included by the build's -include flag
 *
 * Each has a safe neighbour: snprintf, buf__*, units__parse_*, strspn, mem__*.
 */
#ifndef DECIMA_BASE_BANNED_H
#define DECIMA_BASE_BANNED_H

/* The headers that declare them come first, so that the poison meets our code only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef strcpy
#undef strcat
#undef sprintf
#undef vsprintf
#undef strtok
#undef atoi
#undef atol
#undef alloca
#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atol

#endif
