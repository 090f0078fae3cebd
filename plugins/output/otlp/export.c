/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/otlp/export.c - profiles of batches as an ExportProfilesServiceRequest
 */
#include "plugins/output/otlp/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/protobuf.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "plugins/output/delivery/profile_id.h"
#include "plugins/output/delivery/series_label.h"
#include "plugins/output/otlp/dictionary.h"
#include "plugins/output/otlp/names.h"

struct export
{
	const struct numbering *as;
	const struct dcm_batch *b;
	struct dictionary dictionary;
	struct buf resources;		       /* that are done, as fields of the request */
	struct buf profiles;		       /* of the series at hand, as fields of its scope */
	uint32_t series;		       /* DCM_NONE: none yet */
	struct buf profile, sample, list, any; /* scratch */
	struct buf locations; /* location_indices of the profile at hand, where there are such */
	uint32_t n_locations;
	uint32_t *starts;	 /* [n_stacks] of a stack in there; DCM_NONE: not yet */
	struct buf sets;	 /* attribute_indices of label sets, packed */
	struct dcm_span *set_at; /* [n_label_sets] in there; off DCM_NONE: not yet */
	uint32_t n_profiles;
	bool nomem;
};

/* ---- lifecycle ---- */

static void forget_sets(struct export *e)
{
	buf__reset(&e->sets);
	memset(e->set_at, 0xff, ((size_t)e->b->n_label_sets + 1) * sizeof(*e->set_at));
}

static void forget_locations(struct export *e)
{
	buf__reset(&e->locations);
	e->n_locations = 0;
	memset(e->starts, 0xff, ((size_t)e->b->n_stacks + 1) * sizeof(*e->starts));
}

void export__free(struct export *e)
{
	if (!e)
		return;
	dictionary__fini(&e->dictionary);
	buf__fini(&e->resources);
	buf__fini(&e->profiles);
	buf__fini(&e->profile);
	buf__fini(&e->sample);
	buf__fini(&e->list);
	buf__fini(&e->any);
	buf__fini(&e->locations);
	buf__fini(&e->sets);
	free(e->starts);
	free(e->set_at);
	free(e);
}

static int make_maps(struct export *e)
{
	free(e->starts);
	free(e->set_at);
	e->starts = mem__resize(NULL, (size_t)e->b->n_stacks + 1, sizeof(*e->starts));
	e->set_at = mem__resize(NULL, (size_t)e->b->n_label_sets + 1, sizeof(*e->set_at));
	if (!e->starts || !e->set_at)
		return -ENOMEM;
	forget_sets(e);
	forget_locations(e);
	return 0;
}

struct export *export__new(const struct numbering *as, const struct dcm_batch *b)
{
	struct export *e = NEW(struct export);

	if (!e)
		return NULL;
	e->as = as;
	e->b = b;
	e->series = DCM_NONE;
	if (dictionary__init(&e->dictionary, as, b) < 0 || make_maps(e) < 0) {
		export__free(e);
		return NULL;
	}
	return e;
}

/* ---- resources ---- */

static struct dcm_str text_of(const struct export *e, uint32_t string)
{
	return e->b->strings[string];
}

static bool is_of_scope(struct dcm_str name)
{
	return str__eq(name, STR("otel_scope_name")) || str__eq(name, STR("otel_scope_version"));
}

/* Resource { attributes = 1 }, of KeyValue { key = 1, value = 2 } */
static void put_resource(struct export *e, struct dcm_span series, struct buf *out)
{
	const struct names_beside beside = {
		.pod = series_label__of(e->b, series, STR("pod")).n > 0,
		.host_name = series_label__of(e->b, series, STR("host_name")).n > 0,
	};

	for (uint32_t i = 0; i < series.n; i++) {
		const struct dcm_pair *pair = &e->b->pairs[series.off + i];
		const struct dictionary_value v = { .text = text_of(e, pair->value) };

		if (is_of_scope(text_of(e, pair->name)))
			continue;
		pb__put_str(&e->list, 1, names__key(text_of(e, pair->name), beside));
		dictionary__put_value(&e->any, &v);
		pb__put_nested(&e->list, 2, &e->any);
		pb__put_nested(out, 1, &e->list);
	}
}

/* InstrumentationScope { name = 1, version = 2 } */
static void put_scope(struct export *e, struct dcm_span series, struct buf *out)
{
	struct dcm_str name = series_label__of(e->b, series, STR("otel_scope_name"));
	struct dcm_str version = series_label__of(e->b, series, STR("otel_scope_version"));

	pb__put_str(out, 1, name.n ? name : STR("decima"));
	if (version.n)
		pb__put_str(out, 2, version);
}

/* ResourceProfiles { resource = 1, scope_profiles = 2: ScopeProfiles { scope = 1, profiles = 2 } } */
static void end_series(struct export *e)
{
	struct buf resource = { 0 }, scope = { 0 }, all = { 0 };

	if (e->series == DCM_NONE || e->profiles.n == 0)
		return;
	put_resource(e, e->b->series[e->series], &all);
	pb__put_nested(&resource, 1, &all);
	put_scope(e, e->b->series[e->series], &all);
	pb__put_nested(&scope, 1, &all);
	buf__append(&scope, e->profiles.data, e->profiles.n);
	pb__put_nested(&resource, 2, &scope);
	pb__put_nested(&e->resources, 1, &resource);
	buf__reset(&e->profiles);
	buf__fini(&resource);
	buf__fini(&scope);
	buf__fini(&all);
}

/* ---- samples ---- */

/* A sample's attributes, packed, in e->sets. */
static struct dcm_span attributes_of(struct export *e, uint32_t label_set)
{
	struct dcm_span *at = &e->set_at[label_set], set = e->b->label_sets[label_set];

	if (at->off != DCM_NONE)
		return *at;
	at->off = (uint32_t)e->sets.n;
	for (uint32_t i = 0; i < set.n; i++) {
		const struct dcm_label *l = &e->b->labels[set.off + i];
		const struct dictionary_value v = {
			.is_number = l->unit != DCM_NONE,
			.text = text_of(e, l->str),
			.number = l->num,
			.unit = l->unit != DCM_NONE ? text_of(e, l->unit) : STR(""),
		};
		struct dcm_str key = names__key(text_of(e, l->name), (struct names_beside){ 0 });

		buf__varint(&e->sets, dictionary__attribute(&e->dictionary, key, &v));
	}
	at->n = (uint32_t)e->sets.n - at->off;
	return *at;
}

/* Where the stack stands among the profile's location_indices. */
static uint32_t range_of(struct export *e, uint32_t stack)
{
	const struct dcm_span s = e->b->stacks[stack];

	if (e->starts[stack] != DCM_NONE)
		return e->starts[stack];
	e->starts[stack] = e->n_locations;
	e->n_locations += s.n;
	for (uint32_t i = 0; i < s.n; i++)
		buf__varint(&e->locations,
			    dictionary__location(&e->dictionary, e->b->stack_locations[s.off + i]));
	return e->starts[stack];
}

/* One row with [n] of its values, as a field of the profile. */
static void put_sample(struct export *e, uint64_t row, const int64_t *values, uint32_t n)
{
	uint32_t stack = e->b->row_stacks[row];
	struct dcm_span attributes = attributes_of(e, e->b->row_labels[row]);

	if (e->as->is_ranged) {
		pb__put_varint(&e->sample, 1, range_of(e, stack));
		pb__put_varint(&e->sample, 2, e->b->stacks[stack].n);
	} else {
		pb__put_varint(&e->sample, 1, dictionary__stack(&e->dictionary, stack));
	}
	if (attributes.n && !e->sets.error)
		pb__put_bytes(&e->sample, e->as->sample.attributes, e->sets.data + attributes.off,
			      attributes.n);
	for (uint32_t i = 0; i < n; i++)
		buf__varint(&e->list, (uint64_t)values[i]);
	pb__put_nested(&e->sample, e->as->sample.values, &e->list);
	pb__put_nested(&e->profile, 2, &e->sample);
}

/* ---- profiles ---- */

/* ValueType { type_strindex = 1, unit_strindex = 2, aggregation_temporality = 3 }; 1: differences, 2: counts up */
static void put_type(struct export *e, uint32_t field, uint32_t type, uint32_t unit, uint32_t temporality)
{
	pb__put_varint(&e->list, 1, dictionary__string(&e->dictionary, text_of(e, type)));
	pb__put_varint(&e->list, 2, dictionary__string(&e->dictionary, text_of(e, unit)));
	if (e->as->has_temporality)
		pb__put_varint(&e->list, 3, temporality);
	pb__put_nested(&e->profile, field, &e->list);
}

static uint32_t temporality_of(const struct dcm_type *t)
{
	return t->temporality == DCM_DELTA ? 1 : t->temporality == DCM_CUMULATIVE ? 2 : 0;
}

static void put_time(struct export *e, const struct dcm_profile *p)
{
	if (e->as->is_ranged) {
		pb__put_varint(&e->profile, e->as->profile.time, (uint64_t)p->time_ns);
	} else {
		pb__put_tag(&e->profile, e->as->profile.time, PB_FIXED64);
		buf__le64(&e->profile, (uint64_t)p->time_ns);
	}
	pb__put_varint(&e->profile, e->as->profile.duration, (uint64_t)p->duration_ns);
}

static void put_id(struct export *e, uint32_t profile, uint32_t k)
{
	const struct dcm_hash id = profile_id__of(e->b, profile, k);

	pb__put_bytes(&e->profile, e->as->profile.id, &id, sizeof(id));
}

/* What a profile of the types [k, k + n) has beside its samples. */
static void put_head(struct export *e, uint32_t profile, uint32_t k, uint32_t n)
{
	const struct dcm_profile *p = &e->b->profiles[profile];
	const struct dcm_type *types = &e->b->types[p->type_off + k];

	for (uint32_t i = 0; i < n; i++)
		put_type(e, 1, types[i].sample_type, types[i].sample_unit, temporality_of(&types[i]));
	put_time(e, p);
	if (types->period_type || types->period_unit)
		put_type(e, e->as->profile.period_type, types->period_type, types->period_unit, 0);
	pb__put_varint(&e->profile, e->as->profile.period, (uint64_t)p->period);
	put_id(e, profile, k);
	if (e->locations.n)
		pb__put_nested(&e->profile, e->as->profile.location_indices, &e->locations);
}

static bool is_zero(const int64_t *values, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (values[i])
			return false;
	return true;
}

/* The profile's types [k, k + n) as one of OTLP's. 0 or -ENOMEM. */
static int put_profile(struct export *e, uint32_t profile, uint32_t k, uint32_t n)
{
	const struct dcm_profile *p = &e->b->profiles[profile];
	uint32_t n_samples = 0;

	if (e->as->is_ranged)
		forget_locations(e);
	if (e->as->has_tables_in_profile) {
		forget_sets(e);
		if (dictionary__reset(&e->dictionary) < 0)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < p->n_rows; i++) {
		const int64_t *values = &e->b->values[p->value_off + (uint64_t)i * p->n_types + k];

		if (is_zero(values, n))
			continue;
		put_sample(e, p->row_off + i, values, n);
		n_samples++;
	}
	if (n_samples == 0)
		return 0;
	put_head(e, profile, k, n);
	if (e->as->has_tables_in_profile)
		dictionary__put(&e->dictionary, &e->profile);
	pb__put_nested(&e->profiles, 2, &e->profile);
	e->n_profiles++;
	return 0;
}

static bool has_failed(const struct export *e)
{
	return e->nomem || e->dictionary.nomem || e->resources.error || e->profiles.error ||
	       e->sets.error || e->locations.error;
}

int export__add(struct export *e, uint32_t profile)
{
	const struct dcm_profile *p = &e->b->profiles[profile];
	uint32_t each = e->as->is_ranged ? p->n_types : 1;
	int r = 0;

	if (p->series != e->series)
		end_series(e);
	e->series = p->series;
	for (uint32_t k = 0; r == 0 && k < p->n_types; k += each)
		r = put_profile(e, profile, k, each);
	return r == 0 && !has_failed(e) ? 0 : -ENOMEM;
}

int export__turn(struct export *e, const struct dcm_batch *b)
{
	end_series(e);
	e->series = DCM_NONE;
	e->b = b;
	return dictionary__turn(&e->dictionary, b) < 0 ? -ENOMEM : make_maps(e);
}

/* ---- the request ---- */

uint32_t export__n_profiles(const struct export *e)
{
	return e->n_profiles;
}

size_t export__n_bytes(const struct export *e)
{
	return e->resources.n + e->profiles.n +
	       (e->as->has_tables_in_profile ? 0 : e->dictionary.n_bytes);
}

/* ExportProfilesServiceRequest { resource_profiles = 1, dictionary = 2 } */
void export__take(struct export *e, struct buf *out)
{
	struct buf tables = { 0 };

	end_series(e);
	buf__append(out, e->resources.data ? e->resources.data : (const uint8_t *)"", e->resources.n);
	if (e->resources.error && !out->error)
		out->error = e->resources.error;
	if (!e->as->has_tables_in_profile) {
		dictionary__put(&e->dictionary, &tables);
		pb__put_nested(out, 2, &tables);
	}
	buf__fini(&tables);
}
