/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/frames_package.h - units of a DWARF package (.dwp); private to this folder
 *
 * -gsplit-dwarf leaves a skeleton of each unit in the program, and dwp(1) puts what was split off
 * into one file beside it. libdw 0.188 does not read packages, so a unit is handed to it as an ELF
 * file of its own, made in memory around the unit's contributions.
 *
 * Such a unit says addresses by their number in the program's .debug_addr, and by their distance
 * from the skeleton's low_pc, which libdw does not know then. Both are given to it less that
 * low_pc: a unit's addresses are `bias` lower than the program's.
 *
 * Threads: none shared. Sources: DWARF 5, 7.3.5 (packages, the index), 7.27 (.debug_addr).
 */
#ifndef DECIMA_SYMBOLIZE_FRAMES_PACKAGE_H
#define DECIMA_SYMBOLIZE_FRAMES_PACKAGE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/symbolize/elf_open.h"

/* DW_SECT_*, by which an index names sections; and what all units share. */
enum frames_package_section {
	FRAMES_PACKAGE_STR = 0,
	FRAMES_PACKAGE_INFO = 1,
	FRAMES_PACKAGE_ABBREV = 3,
	FRAMES_PACKAGE_LINE = 4,
	FRAMES_PACKAGE_STR_OFFSETS = 6,
	FRAMES_PACKAGE_RNGLISTS = 8,
	FRAMES_PACKAGE_N_SECTIONS
};

struct frames_package {
	struct elf_open file;
	struct frames_package_part {
		const uint8_t *p; /* [n]; NULL: not there */
		uint64_t n;
	} sections[FRAMES_PACKAGE_N_SECTIONS], index;
};

/* A unit by itself. */
struct frames_unit {
	struct buf image, addresses;
	Elf *elf;
	Dwarf *dwarf;
	Dwarf_Die die;
};

/*
 * fd is borrowed; map, max_bytes: as elf_open__begin(). False: no package of DWARF 5. To be
 * fini()ed in any case.
 */
bool frames_package__open(struct frames_package *p, int fd, bool map, uint64_t max_bytes);
void frames_package__fini(struct frames_package *p);

/*
 * The unit of a skeleton by its id. program: where .debug_addr is. False: it is not there, or
 * cannot be read. To be fini()ed in any case, before the package.
 */
bool frames_package__unit(const struct frames_package *p, Elf *program, Dwarf_Die *skeleton,
			  uint64_t id, uint64_t bias, struct frames_unit *ret);
void frames_unit__fini(struct frames_unit *u);

#endif
