/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/era_record.h - what a dictionary has gained, as bytes, and back
 *
 * An era's dictionary is kept in memory (plugins/storage/dict) and written as records, one for what
 * came since the one before: with each seal, before the block that refers to it is committed. Read
 * back in order, they make the dictionary again, number for number. A record says which numbers it
 * begins at; where one before it is lost, these are filled with entries that say so, and everything
 * else keeps its meaning.
 *
 * docs/FORMATS.md has every byte. What is read is hostile. One thread; the dictionary is not used
 * by others meanwhile.
 */
#ifndef DECIMA_STORAGE_LOCAL_ERA_RECORD_H
#define DECIMA_STORAGE_LOCAL_ERA_RECORD_H

#include "core/base/buf.h"
#include "plugins/storage/dict/dict.h"

/*
 * Appends what came since `since`, and the lines and reasons of the older locations `learnt`
 * [n_learnt], ascending. 0 or -ENOMEM; `to` is then as before.
 */
int era_record__encode(const struct dict *d, const struct dict_counts *since,
		       const uint32_t *learnt, size_t n_learnt, struct buf *to);

/*
 * Adds what a record holds. *ret_lost: entries that had to be filled in before it. -EBADMSG: it is
 * no record, or does not follow what is there; -EPROTONOSUPPORT, of all functions here: of a later
 * version; -ENOMEM. After a failure the dictionary can only be freed.
 */
int era_record__decode(struct dict *d, const uint8_t *p, size_t n, uint64_t *ret_lost);

/*
 * The same of strings, label sets, series and types alone, into a dictionary of nothing else; the rest is
 * stepped over. *have: what the records so far have of each kind, zeroed before the first.
 */
int era_record__decode_names(struct dict *d, const uint8_t *p, size_t n, struct dict_counts *have,
			     uint64_t *ret_lost);

/* Counts as ERA_RECORD_COUNTS_BYTES, in the order of the kinds. */
enum { ERA_RECORD_COUNTS_BYTES = 40 };
void era_record__put_counts(struct buf *to, const struct dict_counts *c);
struct dict_counts era_record__get_counts(const uint8_t *p);

/* The numbers at which a record begins, and ends. 0 or -EBADMSG. */
int era_record__first(const uint8_t *p, size_t n, struct dict_counts *ret);
int era_record__end(const uint8_t *p, size_t n, struct dict_counts *ret);
/*
 * The same for a record that begins where the dictionary has entries already. They must say what
 * the record does, but for those of a dictionary with gaps. 0, -ENOMEM, or -EBADMSG: some entries
 * may then have come in, at other numbers.
 */
int era_record__merge(struct dict *d, const uint8_t *p, size_t n);

#endif
