/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/web/embed.h - a file's bytes in an object, by the assembler
 *
 * EMBED(1, "/path/file") makes embedded_1 and embedded_end_1. Symbols with a dot of a C name's like, hidden: they are
 * found within this object alone.
 */
#ifndef DECIMA_PLUGINS_OUTPUT_WEB_EMBED_H
#define DECIMA_PLUGINS_OUTPUT_WEB_EMBED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct asset {
	const char *name, *type;
	const uint8_t *data, *end;
	bool immutable; /* the name changes with the content */
	bool is_gzip;	/* data is, of the file */
};

#define EMBED(id, path)                                                                            \
	extern const uint8_t embedded_##id[] __attribute__((visibility("hidden")));                \
	extern const uint8_t embedded_end_##id[] __attribute__((visibility("hidden")));            \
	__asm__(".pushsection .rodata\n"                                                           \
		".hidden embedded_" #id "\n.globl embedded_" #id "\n"                              \
		".hidden embedded_end_" #id "\n.globl embedded_end_" #id "\n"                      \
		"embedded_" #id ": .incbin \"" path "\"\n"                                         \
		"embedded_end_" #id ": .byte 0\n"                                                  \
		".popsection")

#endif
