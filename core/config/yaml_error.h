/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/yaml_error.h - libyaml's complaints as sentences with a remedy
 */
#ifndef DECIMA_CONFIG_YAML_ERROR_H
#define DECIMA_CONFIG_YAML_ERROR_H

#include <yaml.h>

#include <decima/plugin.h>

/* What a parser says that has failed on `text`: -EINVAL, or -ENOMEM when that was the reason. */
int yaml__error(const yaml_parser_t *parser, const char *file, struct dcm_str text,
		struct dcm_error *err);

#endif
