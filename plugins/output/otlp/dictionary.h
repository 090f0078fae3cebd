/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/otlp/dictionary.h - the tables of a request: what its samples refer to, each thing once
 *
 * An entry is its bytes: two that read the same are one, as an overlay may have them, and entry 0 of each table is the empty
 * message, the zero value. Memory that runs out is remembered and told at the end. One thread at a time.
 *
 * What a location becomes:
 *   address     of ELF: itself, in a mapping without a range, or, without a build id, one of all addresses. An offset in a
 *               file: an address in the mapping's range, or, where the batch knows none, in one that begins at 4 GiB.
 *   mapping     process.executable.build_id.gnu, but for stand-ins, which mean nothing elsewhere. "//anon" is memory
 *               without a file.
 *   type        profile.frame.type (names.h)
 */
#ifndef DECIMA_OUTPUT_OTLP_DICTIONARY_H
#define DECIMA_OUTPUT_OTLP_DICTIONARY_H

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/base/intern.h"
#include "plugins/output/otlp/numbering.h"

struct dictionary {
	const struct numbering *as;
	const struct dcm_batch *b;
	struct intern tables[N_TABLES];
	uint32_t *function_ids, *location_ids,
		*stack_ids; /* entries, by the batch's ids; DCM_NONE: not there yet */
	struct buf attribute, value, mapping, function, line, lines, location, indices, stack; /* scratch */
	size_t n_bytes; /* of all entries, as they are written */
	bool nomem;
};

/* 0 or -ENOMEM; dictionary__fini() in either case. The batch is borrowed. */
int dictionary__init(struct dictionary *d, const struct numbering *as, const struct dcm_batch *b);
void dictionary__fini(struct dictionary *d);
/* Of another batch from now on, which is borrowed likewise; what is there stays. 0 or -ENOMEM. */
int dictionary__turn(struct dictionary *d, const struct dcm_batch *b);
/* Empty again, for the next profile of a version that has its tables there. 0 or -ENOMEM. */
int dictionary__reset(struct dictionary *d);

/* The entries of what the batch has. */
uint32_t dictionary__string(struct dictionary *d, struct dcm_str s);
uint32_t dictionary__location(struct dictionary *d, uint32_t location);
uint32_t dictionary__stack(struct dictionary *d, uint32_t stack);

/* An attribute's value: text, or a number with a unit ("": none). */
struct dictionary_value {
	bool is_number;
	struct dcm_str text, unit;
	int64_t number;
};
uint32_t dictionary__attribute(struct dictionary *d, struct dcm_str key,
			       const struct dictionary_value *v);

/* AnyValue, appended. */
void dictionary__put_value(struct buf *out, const struct dictionary_value *v);

/* All tables as fields, appended. */
void dictionary__put(const struct dictionary *d, struct buf *out);

#endif
