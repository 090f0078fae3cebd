/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/encode.c - what encoders have in common
 */
#include "core/codec/encode.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/type.h"

int encode__range(const struct dcm_batch *b, uint32_t profile, const char *format,
		  uint32_t *ret_first, uint32_t *ret_end, struct dcm_error *err)
{
	if (b->n_profiles == 0)
		return error__set(err, -EINVAL, "%s: the batch has no profile", format);
	if (profile != DCM_NONE && profile >= b->n_profiles)
		return error__set(err, -EINVAL, "%s: profile %u is not one of the batch's %u",
				  format, profile, b->n_profiles);
	*ret_first = profile == DCM_NONE ? 0 : profile;
	*ret_end = profile == DCM_NONE ? b->n_profiles : profile + 1;
	return 0;
}

static bool same_text(const struct dcm_batch *b, uint32_t x, uint32_t y)
{
	return x == y || str__eq(b->strings[x], b->strings[y]);
}

bool encode__same_type(const struct dcm_batch *b, uint32_t a, uint32_t other)
{
	const struct dcm_type *x = &b->types[a], *y = &b->types[other];

	return a == other || (x->temporality == y->temporality && same_text(b, x->name, y->name) &&
			      same_text(b, x->sample_type, y->sample_type) &&
			      same_text(b, x->sample_unit, y->sample_unit) &&
			      same_text(b, x->period_type, y->period_type) &&
			      same_text(b, x->period_unit, y->period_unit));
}

/* "libfoo.so" of "/usr/lib/libfoo.so"; names in brackets stay whole. */
static struct dcm_str base_name(struct dcm_str path)
{
	const char *slash = path.n && path.p[0] != '[' ? memrchr(path.p, '/', path.n) : NULL;
	uint32_t at = slash ? (uint32_t)(slash + 1 - path.p) : 0;

	return at == path.n ? path : (struct dcm_str){ path.p + at, path.n - at };
}

/* What an address without a name counts in. */
static struct dcm_str place_of(const struct dcm_batch *b, const struct dcm_location *l)
{
	static const char *const places[] = {
		[DCM_MAPPING_FILE] = "[file]",	   [DCM_MAPPING_KERNEL] = "[kernel]",
		[DCM_MAPPING_MODULE] = "[module]", [DCM_MAPPING_VDSO] = "[vdso]",
		[DCM_MAPPING_ANON] = "[anon]",
	};

	if (l->mapping == DCM_NONE)
		return l->kind == DCM_FRAME_KERNEL ? STR("[kernel]") : STR("[anon]");
	const struct dcm_mapping *m = &b->mappings[l->mapping];
	struct dcm_str file = base_name(b->strings[m->file]);
	return file.n && m->kind != DCM_MAPPING_ANON ? file : str__of(places[m->kind]);
}

void encode__frame_name(const struct dcm_batch *b, uint32_t location, uint32_t line, struct buf *out)
{
	const struct dcm_location *l = &b->locations[location];

	if (line == DCM_NONE) {
		if (l->addr_kind == DCM_ADDR_NONE) {
			buf__text(out, "[unknown]");
			return;
		}
		buf__str(out, place_of(b, l));
		buf__printf(out, "+0x%" PRIx64, l->address);
		return;
	}
	const struct dcm_line *n = &b->lines[line];
	const struct dcm_function *f = n->function == DCM_NONE ? NULL : &b->functions[n->function];
	if (f && b->strings[f->name].n)
		buf__str(out, b->strings[f->name]);
	else if (f && b->strings[f->file].n)
		buf__printf(out, "%.*s:%" PRId64, STR_ARG(b->strings[f->file]), n->line);
	else
		buf__text(out, "[unknown]");
}

void encode__title(const struct dcm_batch *b, uint32_t profile, uint32_t k, struct buf *out)
{
	const struct dcm_profile *p = &b->profiles[profile];
	struct dcm_span pairs = b->series[p->series];
	char type[6 * (TYPE_PART_MAX_BYTES + 1)];

	type__format(b, &b->types[p->type_off + k], type, sizeof(type));
	buf__text(out, type);
	for (uint32_t i = 0; i < pairs.n; i++) {
		const struct dcm_pair *pair = &b->pairs[pairs.off + i];
		buf__text(out, i ? ", " : "{");
		buf__str(out, b->strings[pair->name]);
		buf__text(out, "=");
		buf__json(out, b->strings[pair->value]);
	}
	if (pairs.n)
		buf__text(out, "}");
}

int encode__end(const struct buf *out, const char *format, struct dcm_error *err)
{
	if (out->error == -ENOMEM)
		return error__nomem(err);
	if (out->error)
		return error__set(err, out->error, "%s: it takes more than the limit of %zu bytes",
				  format, out->limit);
	return 0;
}
