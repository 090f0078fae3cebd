/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/cie.c - a common information entry: what many functions' CFI share
 */
#include "plugins/input/ebpf/unwind/cie.h"

#include <string.h>

/*
 * The augmentation's data, letter by letter. A letter that is not known ends the reading, not the
 * entry: 'z' told how long it all is, and what functions add is skipped by their own length.
 */
static bool read_augmentation(struct cie *c, const char *letters, struct bytes *b)
{
	uint64_t ignored;
	uint8_t encoding;

	for (; *letters; letters++) {
		switch (*letters) {
		case 'L': /* encoding of the language's data */
			bytes__u8(b);
			break;
		case 'R':
			c->encoding = bytes__u8(b);
			break;
		case 'P': /* the personality routine */
			encoding = bytes__u8(b);
			if (encoding != POINTER_OMIT &&
			    !pointer__read(b, encoding, &c->base, false, &ignored))
				return false;
			break;
		case 'S':
			c->is_signal = true;
			break;
		case 'B': /* arm64: return addresses signed with the B key; nothing follows */
			break;
		default:
			return true;
		}
	}
	return !b->bad;
}

void cie__read(struct cie *c, struct bytes b, bool is_eh, const struct pointer_base *base)
{
	const char *letters;
	const uint8_t *nul;
	uint8_t version;

	*c = (struct cie){ .gap = UNWIND_GAP_DAMAGED, .base = *base };
	version = bytes__u8(&b);
	nul = memchr(b.p, 0, bytes__left(&b));
	if (!nul)
		return;
	letters = (const char *)bytes__skip(&b, (uint64_t)(nul - b.p) + 1);
	c->gap = UNWIND_GAP_AUGMENTATION;
	if (version != 1 && version != 3 && version != 4)
		return;
	if (version == 4) {
		if (bytes__u8(&b) != 8) /* size of an address */
			return;
		c->segment_bytes = bytes__u8(&b);
	}
	c->code_align = bytes__uleb(&b);
	c->data_align = bytes__sleb(&b);
	c->ra = version == 1 ? bytes__u8(&b) : bytes__uleb(&b);
	if (*letters == 'z') {
		uint64_t n = bytes__uleb(&b);
		struct bytes data = b;

		bytes__skip(&b, n);
		data.end = b.p;
		c->has_length = true;
		if (!b.bad && !read_augmentation(c, letters + 1, &data))
			return;
	} else if (*letters && (is_eh || strcmp(letters, "armcc+") != 0)) {
		return;
	}
	c->program = b;
	c->gap = b.bad ? UNWIND_GAP_DAMAGED : UNWIND_GAP_N;
}
