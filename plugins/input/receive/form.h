/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/form.h - the parts of a multipart/form-data body
 *
 * Source: RFC 7578, and RFC 2046, 5.1.1, for how parts are told from each other. Everything is a view into the body.
 */
#ifndef DECIMA_RECEIVE_FORM_H
#define DECIMA_RECEIVE_FORM_H

#include <stdbool.h>
#include <stddef.h>

#include <decima/plugin.h>

struct form {
	struct dcm_str boundary; /* without its leading dashes */
	const uint8_t *p, *end;	 /* what is left */
	const char *fault;	 /* what is wrong, once something is; a literal */
};

struct form_part {
	struct dcm_str name; /* of its Content-Disposition; "" when there is none */
	const uint8_t *data; /* [n] */
	size_t n;
};

/* True when the Content-Type says multipart/form-data; without a usable boundary the first form__next() says so. */
bool form__begin(struct form *f, struct dcm_str content_type, const uint8_t *body, size_t n);

/* The next part; false at the end, and on a fault. */
bool form__next(struct form *f, struct form_part *ret);

#endif
