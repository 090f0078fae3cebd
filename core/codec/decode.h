/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/decode.h - what every decoder is told beside the bytes, and what they all do with it
 *
 * A profile's bytes do not say where they come from: its name, labels and time are the caller's to
 * give. A zeroed struct, or NULL, means "found out from the bytes, usual limits".
 *
 * Decoders take bytes from anyone. Each checks sizes against a limit before it allocates, takes
 * time that is linear in the (decompressed) input, and answers with a sentence that names the
 * format, the entry and the fault. -EINVAL: the bytes are not of that format, or contradict
 * themselves; -E2BIG: a limit; -ENOMEM. Pure functions; any thread, several at once.
 */
#ifndef DECIMA_CODEC_DECODE_H
#define DECIMA_CODEC_DECODE_H

#include <stdbool.h>

#include <decima/plugin.h>

/* What a decoder found out. */
struct decode_notes {
	const char *guessed; /* the format, where none was given; static */
	size_t n_rounded; /* values of folded text with a fraction, which a batch has no room for */
	const char *old_version; /* of the format, when it was told by the bytes and is not the current one; static */
	const char *version; /* as struct dcm_found has it */
	bool is_version_told;
	uint64_t n_refused;	  /* profiles that were left out, the others being taken */
	struct dcm_error refusal; /* why the first was */
	bool has_mean_sizes;	  /* as struct dcm_found has it */
};

struct decode_measure;

struct decode_options {
	struct dcm_str name;		     /* first part of the types; "": found out */
	const struct dcm_label_text *labels; /* [n_labels]: the series; empty values are left out */
	uint32_t n_labels;
	int64_t time_ns;  /* start of profiles that do not say theirs */
	const char *file; /* the name they came under, for what the bytes leave open; may be NULL */
	struct decode_notes *notes; /* may be NULL */
	/*
	 * Of the decompressed input; 0: 256 MiB (speedscope: 32 MiB); never more than 4 GiB - 1.
	 * The batch may have twice as much.
	 */
	uint64_t max_bytes;
	bool has_temporality; /* `temporality` counts; else: delta with a duration, else the usual */
	enum dcm_temporality temporality;
	/* [n_temporalities]: of these sample types it is known all the same. */
	const struct dcm_temporality_of *temporalities;
	uint32_t n_temporalities;
	uint32_t identity;	    /* enum dcm_identity */
	const char *likely_version; /* as struct dcm_decode has it */
	const struct decode_measure *measure; /* of text that does not say what it counts; NULL: the format's own */
	/*
	 * pprof: names of addresses in the process that have none, for people and as in the symbol table. False: nobody
	 * knows. NULL: not asked.
	 */
	bool (*name_of)(void *ctx, uint64_t address, struct dcm_str *ret_name,
			struct dcm_str *ret_system_name);
	void *name_ctx;
	bool has_elf_addresses; /* pprof: addresses in files are the ELF files' already, wherever these were mapped */
};

/* What the numbers of a text are, and how many there are to each of them. */
struct decode_measure {
	struct dcm_str type; /* as type.h has it, with the name */
	int64_t scale;	     /* > 0; each number times this is the value */
	int64_t period, duration_ns;
};

#define DECODE_MAX_BYTES ((uint64_t)256 << 20)

/*
 * A decoder: adds what the bytes say to a builder, several of them to one if the caller likes. What
 * the builder refuses (a text of more than 1 MiB, its own limit) sticks to it and shows when it is
 * sealed. On failure its content is undefined.
 */
typedef int (*decode_fn)(const uint8_t *data, size_t n, const struct decode_options *o,
			 struct dcm_builder *b, struct dcm_error *err);

/* Runs a decoder with a builder of its own and seals. o may be NULL. */
int decode__batch(decode_fn decode, const uint8_t *data, size_t n, const struct decode_options *o,
		  struct dcm_batch **ret, struct dcm_error *err);

/* --- for decoders --- */

/* max_bytes as it counts: `usual` when 0, bounded by 32 bits. */
uint64_t decode__max_bytes(const struct decode_options *o, uint64_t usual);

/* The caller's labels as a series of the builder. */
uint32_t decode__series(const struct decode_options *o, struct dcm_builder *b);

/* A string of the builder that may be part of a type: other characters become '_'. */
uint32_t decode__type_part(struct dcm_builder *b, struct dcm_str text);

/*
 * What a profile with these [n] sample types (n > 0) is called where its source does not say:
 * process_cpu, memory, goroutine, contention, ..; else as the last of them.
 */
struct dcm_str decode__usual_name(const struct dcm_str *sample_types, size_t n);

/* The temporality of a type of these texts, by the options, the duration, or what is usual. */
enum dcm_temporality decode__temporality(const struct decode_options *o, struct dcm_str name,
					 struct dcm_str sample_type, int64_t duration_ns);

/* True when a name in brackets, "[truncated: ..]", stands where code has a function. */
bool decode__is_note(struct dcm_str name);

/*
 * What kind of mapping a file's name means: "[kernel]", "[kernel.kallsyms]" the kernel, "[vdso]",
 * "" and "//anon" and "[heap]" and the like memory without a file, "[name]" a module.
 */
enum dcm_mapping_kind decode__mapping_kind(struct dcm_str file);

/* What OpenTelemetry's profile.frame.type, and the frame_type of Parca's agent, which is the same, say of a frame. */
enum decode_frame {
	DECODE_FRAME_UNTOLD,
	DECODE_FRAME_NATIVE,
	DECODE_FRAME_KERNEL,
	DECODE_FRAME_JIT,
	DECODE_FRAME_INTERPRETED,
	DECODE_FRAME_ABORT
};
enum decode_frame decode__frame(struct dcm_str type);

/* The builder's string of a build id. One that is no GNU one, hex, tells files apart all the same: by a stand-in. */
uint32_t decode__build_id(struct dcm_builder *b, struct dcm_str id, bool is_gnu);

#endif
