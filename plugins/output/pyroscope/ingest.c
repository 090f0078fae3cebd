/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/pyroscope/ingest.c - what the address of a request to /ingest says of the profile in its body
 */
#include "plugins/output/pyroscope/ingest.h"

#include <string.h>

#include "core/base/str.h"
#include "core/base/url.h"
#include "plugins/output/delivery/legacy_name.h"
#include "plugins/output/delivery/series_label.h"

/* The syntax of `name` has no escapes: what would end a value becomes "_". */
static void put_word(struct buf *out, struct dcm_str s)
{
	for (uint32_t i = 0; i < s.n; i++) {
		bool ends = s.p[i] && strchr("{},=", s.p[i]);

		url__escape(out, ends ? STR("_") : (struct dcm_str){ s.p + i, 1 });
	}
}

/* By the name that it has there, or the one that becomes that; "": it is not told. */
static struct dcm_str service_of(const struct dcm_batch *b, struct dcm_span series)
{
	const struct dcm_str service = series_label__of(b, series, STR("service_name"));

	return service.n ? service : series_label__of(b, series, STR("service.name"));
}

/* service{label=value,...}: as Pyroscope's clients name what they send. */
static void put_name(struct buf *out, const struct dcm_batch *b, struct dcm_span series)
{
	const struct dcm_str service = service_of(b, series);
	struct buf name = { 0 };
	bool is_first = true;

	put_word(out, service.n ? service : STR("unknown"));
	buf__text(out, "%7B");
	for (uint32_t i = 0; i < series.n; i++) {
		const struct dcm_pair *pair = &b->pairs[series.off + i];

		buf__reset(&name);
		legacy_name__put_pair(&name, b, series, i);
		if (str__eq(buf__view(&name), STR("service_name")) ||
		    str__starts(b->strings[pair->name], STR("__")))
			continue;
		buf__text(out, is_first ? "" : "%2C");
		buf__str(out, buf__view(&name));
		buf__text(out, "%3D");
		put_word(out, b->strings[pair->value]);
		if (name.error)
			out->error = name.error;
		is_first = false;
	}
	buf__fini(&name);
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
