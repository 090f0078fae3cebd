/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/demangle.h - names of C++ and Rust as people write them
 *
 * C++ (Itanium ABI), Rust legacy and Rust v0, through libiberty. Parameters and return types are
 * left out, template arguments stay: std::vector<int, std::allocator<int> >::push_back. Rust's hash
 * (::h0123456789abcdef) and crate ids go. Other names, C's above all, are left alone. A symbol
 * version behind '@' is cut in any case.
 *
 * Any thread; nothing is shared, nothing is allocated. Names come from foreign files: input of more
 * than DEMANGLE_MAX_INPUT bytes is left as it is, output beyond the caller's room is cut and ends
 * in "...", and the time is bounded by the output. A call may need 1 MiB of stack (435 bytes a
 * level were measured, of 2048 at most).
 */
#ifndef DECIMA_SYMBOLIZE_DEMANGLE_H
#define DECIMA_SYMBOLIZE_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <decima/plugin.h>

enum {
	DEMANGLE_MAX_INPUT = 4096, /* bytes of a mangled name */
	DEMANGLE_MAX_OUTPUT = 4096 /* a sensible size for the caller's buffer, with the NUL */
};

/*
 * Writes the name for people into out[cap] (NUL-terminated, cap > 0) and returns its length. The
 * text is the raw name, cut to the room there is, when it is not a mangled one. What is not UTF-8
 * and control characters become '?'.
 */
uint32_t demangle__name(struct dcm_str raw, char *out, size_t cap);

#endif
