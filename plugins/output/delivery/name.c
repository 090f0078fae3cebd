/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/delivery/name.c - the path of a profile's file, from a template and the profile's
 * labels
 *
 * A component that the values made too long is cut and ends in the hash of what it would have been,
 * so that different long names stay different.
 */
#include "plugins/output/delivery/name.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/str.h"
#include "plugins/output/delivery/series_label.h"

static const char fit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._=+@-";

int name__check(const char *option, const char *template, struct dcm_error *err)
{
	const char *part = template;

	if (!*template || strlen(template) > NAME_PATH_MAX / 2)
		return error__set(err, -EINVAL, "%s is empty or longer than %d bytes", option,
				  NAME_PATH_MAX / 2);
	for (const char *at = template; *at; at++) {
		if (*at == '{') {
			size_t n = strcspn(at + 1, "{}/");

			if (n == 0 || at[1 + n] != '}')
				return error__set(err, -EINVAL,
						  "%s \"%s\": \"{\" at byte %zu begins no "
						  "{placeholder}",
						  option, template, (size_t)(at - template) + 1);
			at += 1 + n;
		} else if (*at == '}') {
			return error__set(err, -EINVAL, "%s \"%s\": \"}\" at byte %zu ends nothing",
					  option, template, (size_t)(at - template) + 1);
		} else if (*at != '/' && !strchr(fit, *at)) {
			return error__set(err, -EINVAL,
					  "%s \"%s\": byte %zu is none of letters, digits "
					  "and ._=+@-/{}",
					  option, template, (size_t)(at - template) + 1);
		}
	}
	do {
		size_t n = strcspn(part, "/");

		if (n == 0 || *part == '.')
			return error__set(err, -EINVAL,
					  "%s \"%s\": the part at byte %zu is empty or begins "
					  "with a dot; write a relative path such as "
					  "{service_name}/{type}-{time}",
					  option, template, (size_t)(part - template) + 1);
		part += n;
	} while (*part && part++);
	return 0;
}

static void put_value(struct buf *out, struct dcm_str value)
{
	uint32_t n = value.n < NAME_VALUE_MAX ? value.n : NAME_VALUE_MAX;

	if (n == 0)
		buf__text(out, "unknown");
	for (uint32_t i = 0; i < n; i++) {
		char c = value.p[i];
		bool ok = c && strchr(fit, c) && !(i == 0 && c == '.');

		buf__byte(out, ok ? (uint8_t)c : '_');
	}
}

/*
 * name and sample type of the profile's first type; that is what people call it: process_cpu.cpu.
 */
static void put_type(struct buf *out, const struct dcm_batch *b, const struct dcm_profile *p)
{
	const struct dcm_type *t = &b->types[p->type_off];

	put_value(out, b->strings[t->name]);
	buf__byte(out, '.');
	put_value(out, b->strings[t->sample_type]);
}

/* Parts of the time: where they stand in "2026-11-21T09"; {time} is all of it, closer together. */
static const struct part {
	const char *name;
	uint8_t from, n;
} parts[] = {
	{ "time", 0, 0 },  { "date", 0, 10 }, { "year", 0, 4 },
	{ "month", 5, 2 }, { "day", 8, 2 },   { "hour", 11, 2 },
};

static const struct part *part_of(struct dcm_str name)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (str__eq(name, str__of(parts[i].name)))
			return &parts[i];
	return NULL;
}

static void put_time(struct buf *out, const struct part *part, int64_t time_ns)
{
	time_t seconds = (time_t)(time_ns / 1000000000);
	int64_t ms = time_ns / 1000000 % 1000;
	char text[32];
	struct tm tm;

	if (ms < 0) {
		seconds--;
		ms += 1000;
	}
	if (!gmtime_r(&seconds, &tm)) {
		buf__text(out, "unknown");
		return;
	}
	if (part->n) {
		strftime(text, sizeof(text), "%Y-%m-%dT%H", &tm);
		buf__append(out, text + part->from, part->n);
		return;
	}
	strftime(text, sizeof(text), "%Y%m%dT%H%M%S", &tm);
	buf__printf(out, "%s.%03dZ", text, (int)ms);
}

/*
 * Of the batch's id and what the profile is in it. A batch that never is a retry has none: what the profile says of itself
 * is left then.
 */
static void put_id(struct buf *out, const struct dcm_batch *b, uint32_t profile)
{
	const struct dcm_profile *p = &b->profiles[profile];
	const uint64_t parts_of_it[] = { b->id.source.lo,
					 b->id.source.hi,
					 b->id.sequence,
					 profile,
					 b->series_hashes[p->series].lo,
					 (uint64_t)p->time_ns,
					 p->n_rows };

	buf__printf(out, "%016llx",
		    (unsigned long long)hash__bytes(parts_of_it, sizeof(parts_of_it), 0));
}

static void put_placeholder(struct buf *out, struct dcm_str name, const struct dcm_batch *b,
			    uint32_t profile)
{
	const struct dcm_profile *p = &b->profiles[profile];
	const struct part *part = part_of(name);

	if (str__eq(name, STR("type")))
		put_type(out, b, p);
	else if (part)
		put_time(out, part, p->time_ns);
	else if (str__eq(name, STR("id")))
		put_id(out, b, profile);
	else if (str__eq(name, STR("series")))
		buf__printf(out, "%016llx", (unsigned long long)b->series_hashes[p->series].lo);
	else
		put_value(out, series_label__of(b, b->series[p->series], name));
}

/* Cuts the component that begins at `from`; the file systems' limit is 255 bytes. */
static void cut_component(struct buf *out, size_t from)
{
	uint64_t hash;

	if (out->error || out->n - from <= NAME_COMPONENT_MAX)
		return;
	hash = hash__bytes(out->data + from, out->n - from, 0);
	out->n = from + NAME_COMPONENT_MAX - 17;
	buf__printf(out, "-%016llx", (unsigned long long)hash);
}

bool name__has(const char *template, const char *placeholder)
{
	size_t n = strlen(placeholder);

	for (const char *at = strchr(template, '{'); at; at = strchr(at + 1, '{'))
		if (strncmp(at + 1, placeholder, n) == 0 && at[1 + n] == '}')
			return true;
	return false;
}

int name__expand(const char *template, const struct dcm_batch *batch, uint32_t profile, struct buf *out)
{
	size_t begin = out->n, from = begin;

	for (const char *at = template; *at; at++) {
		if (*at == '{') {
			size_t n = strcspn(at + 1, "}");

			put_placeholder(out, (struct dcm_str){ at + 1, (uint32_t)n }, batch, profile);
			at += 1 + n;
		} else {
			if (*at == '/')
				cut_component(out, from);
			buf__byte(out, (uint8_t)*at);
			if (*at == '/')
				from = out->n;
		}
	}
	cut_component(out, from);
	if (out->error)
		return out->error;
	return out->n - begin > NAME_PATH_MAX ? -ENAMETOOLONG : 0;
}
