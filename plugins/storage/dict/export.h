/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/dict/export.h - between the files that give things out; dict.h is for all others
 */
#ifndef DECIMA_STORAGE_DICT_EXPORT_H
#define DECIMA_STORAGE_DICT_EXPORT_H

#include "plugins/storage/dict/dict.h"

/*
 * Gives out a location that was not yet: its number in the builder; 0 with -ENOMEM in *err when our
 * own memory ran out.
 */
uint32_t dict_export__new_location(struct dict_export *ex, uint32_t id, int *err);

#endif
