/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/decode.c - what decoders have in common
 */
#include "core/codec/decode.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/batch/builder.h"
#include "core/batch/limits.h"
#include "core/batch/type.h"

uint64_t decode__max_bytes(const struct decode_options *o, uint64_t usual)
{
	uint64_t max = o && o->max_bytes ? o->max_bytes : usual;

	return max < UINT32_MAX ? max : UINT32_MAX - 1;
}

int decode__batch(decode_fn decode, const uint8_t *data, size_t n, const struct decode_options *o,
		  struct dcm_batch **ret, struct dcm_error *err)
{
	static const struct decode_options none;
	CLEANUP(builder__freep)
	struct dcm_builder *b = builder__new(2 * decode__max_bytes(o, DECODE_MAX_BYTES));
	if (!b)
		return error__nomem(err);
	int r = decode(data, n, o ? o : &none, b, err);
	return r < 0 ? r : builder__seal(b, ret, err);
}

uint32_t decode__series(const struct decode_options *o, struct dcm_builder *b)
{
	CLEANUP(mem__freep)
	struct dcm_pair *pairs = mem__zalloc(o->n_labels, sizeof(*pairs));
	if (!pairs) {
		builder__fail(b, -ENOMEM, "out of memory");
		return 0;
	}
	for (uint32_t i = 0; i < o->n_labels; i++)
		pairs[i] = (struct dcm_pair){ builder__string(b, o->labels[i].name),
					      builder__string(b, o->labels[i].value) };
	return builder__series(b, pairs, o->n_labels);
}

uint32_t decode__type_part(struct dcm_builder *b, struct dcm_str text)
{
	char part[TYPE_PART_MAX_BYTES];
	uint32_t n = text.n < sizeof(part) ? text.n : (uint32_t)sizeof(part);

	if (n)
		memcpy(part, text.p, n);
	return builder__string(b, (struct dcm_str){ part, type__clean(part, n) });
}

struct dcm_str decode__usual_name(const struct dcm_str *sample_types, size_t n)
{
	static const char *const usual[][2] = {
		{ "cpu", "process_cpu" },	 { "itimer", "process_cpu" },
		{ "inuse_space", "memory" },	 { "alloc_space", "memory" },
		{ "goroutine", "goroutine" },	 { "threadcreate", "threadcreate" },
		{ "contentions", "contention" }, { "wall", "wall" },
	};

	for (size_t k = 0; k < sizeof(usual) / sizeof(usual[0]); k++)
		for (size_t i = 0; i < n; i++)
			if (str__eq(sample_types[i], str__of(usual[k][0])))
				return str__of(usual[k][1]);
	return sample_types[n - 1];
}

enum dcm_temporality decode__temporality(const struct decode_options *o, struct dcm_str name,
					 struct dcm_str sample_type, int64_t duration_ns)
{
	for (uint32_t i = 0; i < o->n_temporalities; i++)
		if (str__eq(o->temporalities[i].sample_type, sample_type))
			return (enum dcm_temporality)o->temporalities[i].temporality;
	if (o->has_temporality)
		return o->temporality;
	/* Python's pypprof, which has to say some duration, says 1 ns of what is of a moment. */
	if (duration_ns > 1)
		return DCM_DELTA;
	return type__usual(&(struct type_text){ .name = name, .sample_type = sample_type });
}

bool decode__is_note(struct dcm_str name)
{
	return name.n > 2 && name.p[0] == '[' && name.p[name.n - 1] == ']';
}

enum dcm_mapping_kind decode__mapping_kind(struct dcm_str file)
{
	static const char *const memory[] = { "//anon",	     "[anon",	  "[heap]",  "[stack",
					      "anon_inode:", "/dev/zero", "/memfd:", "/SYSV" };

	if (file.n == 0)
		return DCM_MAPPING_ANON;
	for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++)
		if (str__starts(file, str__of(memory[i])))
			return DCM_MAPPING_ANON;
	if (str__starts(file, STR("[vdso")))
		return DCM_MAPPING_VDSO;
	/* "[kernel.kallsyms]_stext" and "[guest.kernel.kallsyms]" are perf's. */
	if (str__starts(file, STR("[kernel]")) || str__starts(file, STR("[kernel.")) ||
	    str__starts(file, STR("[guest.kernel")))
		return DCM_MAPPING_KERNEL;
	if (file.p[0] == '[' && file.p[file.n - 1] == ']')
		return DCM_MAPPING_MODULE;
	return DCM_MAPPING_FILE;
}

enum decode_frame decode__frame(struct dcm_str s)
{
	static const struct {
		const char *text;
		enum decode_frame type;
	} known[] = {
		{ "native", DECODE_FRAME_NATIVE },
		{ "go", DECODE_FRAME_NATIVE },
		{ "rust", DECODE_FRAME_NATIVE },
		{ "kernel", DECODE_FRAME_KERNEL },
		{ "jvm", DECODE_FRAME_JIT },
		{ "v8js", DECODE_FRAME_JIT },
		{ "dotnet", DECODE_FRAME_JIT },
		{ "phpjit", DECODE_FRAME_JIT },
		{ "luajit", DECODE_FRAME_JIT },
		{ "cpython", DECODE_FRAME_INTERPRETED },
		{ "php", DECODE_FRAME_INTERPRETED },
		{ "perl", DECODE_FRAME_INTERPRETED },
		{ "ruby", DECODE_FRAME_INTERPRETED },
		{ "beam", DECODE_FRAME_INTERPRETED },
		{ "lua", DECODE_FRAME_INTERPRETED },
		{ "abort-marker", DECODE_FRAME_ABORT },
		/* Of whatever runtime: what our own output has where it does not know which. */
		{ "jit", DECODE_FRAME_JIT },
		{ "interpreted", DECODE_FRAME_INTERPRETED },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (str__eq(s, str__of(known[i].text)))
			return known[i].type;
	return DECODE_FRAME_UNTOLD;
}

uint32_t decode__build_id(struct dcm_builder *b, struct dcm_str id, bool is_gnu)
{
	char text[BUILD_ID_MAX_CHARS + 1];
	bool is_hex = is_gnu && id.n < sizeof(text);

	for (uint32_t i = 0; is_hex && i < id.n; i++) {
		is_hex = str__hex_digit(id.p[i]) >= 0;
		text[i] = id.p[i] >= 'A' && id.p[i] <= 'F' ? (char)(id.p[i] - 'A' + 'a') : id.p[i];
	}
	if (is_hex)
		return builder__string(b, (struct dcm_str){ text, id.n });
	snprintf(text, sizeof(text), "~%016llx", (unsigned long long)hash__bytes(id.p, id.n, 0));
	return builder__string(b, str__of(text));
}
