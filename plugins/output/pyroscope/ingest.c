/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/pyroscope/ingest.c - what the address of a request to /ingest says of the profile in its body
 */
#include "plugins/output/pyroscope/ingest.h"

#include <string.h>

#include "core/base/str.h"
#include "core/base/url.h"

/* The syntax of `name` has no escapes: what would end a name or a value becomes "_". */
static void put_word(struct buf *out, struct dcm_str s)
{
	for (uint32_t i = 0; i < s.n; i++) {
		bool ends = s.p[i] && strchr("{},=", s.p[i]);

		url__escape(out, ends ? STR("_") : (struct dcm_str){ s.p + i, 1 });
	}
}

/* service{label=value,...}: as Pyroscope's clients name what they send. */
static void put_name(struct buf *out, const struct dcm_batch *b, struct dcm_span series)
{
	struct dcm_str service = STR("unknown");
	bool is_first = true;

	for (uint32_t i = 0; i < series.n; i++) {
		const struct dcm_pair *pair = &b->pairs[series.off + i];

		if (str__eq(b->strings[pair->name], STR("service_name")) && b->strings[pair->value].n)
			service = b->strings[pair->value];
	}
	put_word(out, service);
	buf__text(out, "%7B");
	for (uint32_t i = 0; i < series.n; i++) {
		const struct dcm_pair *pair = &b->pairs[series.off + i];
		struct dcm_str name = b->strings[pair->name];

		if (str__eq(name, STR("service_name")) || str__starts(name, STR("__")))
			continue;
		buf__text(out, is_first ? "" : "%2C");
		put_word(out, name);
		buf__text(out, "%3D");
		put_word(out, b->strings[pair->value]);
		is_first = false;
	}
	buf__text(out, "%7D");
}

void ingest__address(const char *url, const struct dcm_batch *b, const struct dcm_profile *profile,
		     struct buf *out)
{
	buf__printf(out, "%s?name=", url);
	put_name(out, b, b->series[profile->series]);
	buf__printf(out, "&from=%lld&until=%lld&format=pprof&spyName=decima",
		    (long long)profile->time_ns, (long long)(profile->time_ns + profile->duration_ns));
	buf__byte(out, 0);
}
