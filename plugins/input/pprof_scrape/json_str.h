/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/json_str.h - texts of JSON, borrowed from jansson's values
 *
 * Of what is no text, and of what is not there, p is NULL.
 */
#ifndef DECIMA_PPROF_SCRAPE_JSON_STR_H
#define DECIMA_PPROF_SCRAPE_JSON_STR_H

#include <jansson.h>

#include <decima/plugin.h>

static inline struct dcm_str json_str__of(const json_t *v)
{
	return (struct dcm_str){ json_string_value(v), (uint32_t)json_string_length(v) };
}

static inline struct dcm_str json_str__at(const json_t *object, const char *key)
{
	return json_str__of(json_object_get(object, key));
}

#endif
