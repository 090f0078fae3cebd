/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/pprof_input.h - a pprof while it is read: private to pprof_*.c
 *
 * A profile's fields may come in any order, and producers write samples before what these refer to.
 * So the first pass over the bytes only notes where each message stands (pprof_decode.c); then come
 * strings, mappings, functions and locations (pprof_tables.c), and the samples last, with their
 * labels (pprof_labels.c).
 */
#ifndef DECIMA_CODEC_PPROF_INPUT_H
#define DECIMA_CODEC_PPROF_INPUT_H

#include <decima/plugin.h>

#include "core/base/arena.h"
#include "core/base/hash.h"
#include "core/base/protobuf.h"
#include "core/base/vec.h"
#include "core/batch/limits.h"
#include "core/codec/decode.h"

enum { PPROF_MAX_MAPPINGS = 1 << 20 };

/* Where a message (or a string) stands in the bytes. */
struct pprof_piece {
	uint32_t off, n;
};
struct pprof_pieces {
	struct pprof_piece *v;
	size_t n, cap;
};

/*
 * From a producer's id, which may be any number but 0, to ours. Small ids are told by an array, the
 * others by a hash table. When ids count up from 1 and so do ours from 0, as is usual, nothing has
 * to be looked up.
 */
struct pprof_ids {
	uint32_t *dense; /* [n_dense] */
	uint64_t n_dense;
	uint64_t n;	  /* of them */
	uint64_t n_plain; /* ids 1..n_plain are ours plus 1, and there are no others; else 0 */
	struct hindex sparse;
	struct {
		uint64_t id;
		uint32_t value;
	} * entries; /* [n_entries] */
	uint32_t n_entries, cap;
};

/* A mapping, and how addresses in it count. */
enum pprof_addresses { PPROF_IN_PROCESS, PPROF_IN_FILE, PPROF_IN_ELF };

struct pprof_mapping {
	struct dcm_mapping raw;
	uint32_t addresses; /* enum pprof_addresses */
	uint32_t ids[2];    /* the builder's, without and with the range; DCM_NONE: not added yet */
};

struct pprof_input {
	const uint8_t *data;
	size_t n;
	uint64_t max_entries; /* of all tables together */
	const struct decode_options *o;
	bool is_total; /* the values are since a start, whatever the duration says */
	struct dcm_builder *b;
	struct dcm_error *err;

	struct pprof_pieces strings, mappings, functions, locations, sample_types, comments;
	struct pprof_piece period_type;
	uint64_t n_samples;
	uint64_t n_counted, n_counted_ids; /* samples whose ids were counted, and these */
	int64_t time_ns, duration_ns, period;

	uint32_t *string_ids;  /* [strings.n] the builder's; DCM_NONE: not added yet */
	uint32_t *label_names; /* [strings.n] the builder's, as the name of a sample label */
	struct pprof_mapping *in_mappings; /* [mappings.n] */
	struct pprof_ids mapping_ids;	   /* to in_mappings */
	struct pprof_ids function_ids;	   /* to the builder's, perhaps with FUNCTION_IS_NOTE */
	struct pprof_ids location_ids;	   /* to the builder's */

	/* The series and the types, by the options or by our own comments. */
	struct arena arena;
	struct dcm_label_text *labels; /* [n_labels] */
	uint32_t n_labels;
};

#define PPROF_FUNCTION_IS_NOTE	0x80000000u
#define PPROF_FUNCTION_IS_EMPTY 0xfffffffeu

/* An entry, for sentences: "pprof: sample 17: ..". */
struct pprof_place {
	const char *what;
	size_t i;
};

int pprof_input__fault(struct pprof_input *in, struct pprof_place at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* What the reader found, as a fault of the entry; 0 when it found none. */
int pprof_input__check(struct pprof_input *in, struct pprof_place at, const struct pb_reader *r);

static inline struct pb_reader pprof_input__reader(const struct pprof_input *in, struct pprof_piece piece)
{
	return pb__reader(in->data + piece.off, piece.n);
}

/*
 * Fields 1..n of a message of numbers into ret[1..n], as proto3 has it: the last one counts, absent
 * is 0. names[1..n] for sentences. *ret_present (may be NULL): bit k when field k was there.
 */
int pprof_input__numbers(struct pprof_input *in, struct pprof_place at, struct pprof_piece piece,
			 const char *const *names, uint32_t n, uint64_t *ret, uint32_t *ret_present);

/* The text of string_table[index]. */
int pprof_input__text(struct pprof_input *in, struct pprof_place at, const char *field,
		      uint64_t index, struct dcm_str *ret);
/* The same as a string of the builder. */
int pprof_input__string(struct pprof_input *in, struct pprof_place at, const char *field,
			uint64_t index, uint32_t *ret);

/* Mappings, functions and locations into the builder. */
int pprof_input__tables(struct pprof_input *in);

/*
 * The labels of one sample, which the caller notes in pieces[n]; and those of samples before, as
 * bytes and the set that they made: few sets serve most samples. Two sets of one place push each
 * other out at each turn, so there are many more places than sets that are usual. A zeroed struct
 * is fine.
 */
enum { PPROF_LABEL_MEMOS = 1024 };
struct pprof_labels {
	uint32_t n;
	struct pprof_piece pieces[LABELS_MAX];
	struct pprof_label_memo {
		const uint8_t *bytes; /* from the first label to the last one's end; NULL: none */
		size_t n_bytes, n_first;
		uint32_t label_set;
	} memos[PPROF_LABEL_MEMOS];
};

/* The builder's label set of the n > 0 labels noted (pprof_labels.c). */
int pprof_labels__set(struct pprof_input *in, struct pprof_place at, struct pprof_labels *labels,
		      uint32_t *ret);

uint32_t pprof_ids__find_sparse(const struct pprof_ids *ids, uint64_t id);

/* DCM_NONE when no entry has this id. */
static inline uint32_t pprof_ids__find(const struct pprof_ids *ids, uint64_t id)
{
	if (__builtin_expect(id - 1 < ids->n_plain, 1))
		return (uint32_t)(id - 1);
	return id < ids->n_dense ? ids->dense[id] : pprof_ids__find_sparse(ids, id);
}
void pprof_ids__fini(struct pprof_ids *ids);

#endif
