/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/json_text.c - JSON from anyone into jansson's tree, within a limit of memory
 */
#include "core/codec/json_text.h"

#include <errno.h>
#include <stdbool.h>

#include "core/base/error.h"

/* What jansson 2.14 allocates, rounded up: an object with its first buckets, an array, .. */
enum { OBJECT_BYTES = 320, ARRAY_BYTES = 160, PAIR_BYTES = 64, VALUE_BYTES = 48 };
#define TREE_BYTES_PER_BYTE 16 /* allowed: what lists of short numbers take */

/* Upper bound of the memory that the tree of this text takes. */
static uint64_t tree_bytes(const uint8_t *data, size_t n)
{
	uint64_t bytes = n + VALUE_BYTES;
	bool in_string = false;

	for (size_t i = 0; i < n; i++) {
		uint8_t c = data[i];
		if (in_string && c == '\\')
			i++;
		else if (c == '"')
			in_string = !in_string;
		else if (!in_string)
			bytes += c == '{'   ? OBJECT_BYTES
				 : c == '[' ? ARRAY_BYTES
				 : c == ':' ? PAIR_BYTES
				 : c == ',' ? VALUE_BYTES
					    : 0;
	}
	return bytes;
}

int json_text__load(const char *format, const uint8_t *data, size_t n, uint64_t max_bytes,
		    json_t **ret, struct dcm_error *err)
{
	json_error_t e;

	if (n > max_bytes || tree_bytes(data, n) > max_bytes * TREE_BYTES_PER_BYTE)
		return error__set(err, -E2BIG,
				  "%s: %zu bytes of JSON take more memory than the limit of "
				  "%llu allows",
				  format, n, (unsigned long long)max_bytes * TREE_BYTES_PER_BYTE);
	json_t *tree = json_loadb((const char *)data, n, JSON_REJECT_DUPLICATES, &e);
	if (tree) {
		*ret = tree;
		return 0;
	}
	if (json_error_code(&e) == json_error_out_of_memory)
		return error__nomem(err);
	return error__set(err, -EINVAL, "%s: line %d, column %d: %s", format, e.line, e.column, e.text);
}
