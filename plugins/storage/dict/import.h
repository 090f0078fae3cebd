/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/dict/import.h - between the files that bring things in; dict.h is for all others
 */
#ifndef DECIMA_STORAGE_DICT_IMPORT_H
#define DECIMA_STORAGE_DICT_IMPORT_H

#include "plugins/storage/dict/dict.h"

/* A batch without such entries has no such column, and nothing is an offset from nothing. */
#define COLUMN_AT(column, off) ((column) ? (column) + (off) : NULL)

/* The location's number in `to`; DCM_NONE when memory ran out. */
uint32_t dict_import__location(struct dict_import *im, uint32_t id);

#endif
