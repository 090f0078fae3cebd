/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/selfprofile/leaf.c - the caller of a function that has made no frame
 *
 * Code is read where objects say that it is loaded; nothing in Decima is unloaded. Instructions: Intel SDM, volume 2, CALL, PUSH, ENDBR64.
 */
#include "core/selfprofile/leaf.h"

#include <string.h>

/* Larger functions have a frame. */
#define LONGEST 4096

#if defined(__x86_64__)

enum { CALL_BYTES = 5, CALL = 0xe8, PUSH_RBP = 0x55 };

static bool is_code(const struct objects *o, uint64_t at, uint64_t n)
{
	uint32_t i = objects__find(o, at);

	return i != DCM_NONE && n <= o->v.v[i].limit - at;
}

/* The target of the direct call before `word`, or 0. */
static uint64_t called_before(const struct objects *o, uint64_t word)
{
	const uint8_t *call = (const uint8_t *)(uintptr_t)(word - CALL_BYTES);
	int32_t relative;

	if (word < CALL_BYTES || !is_code(o, word - CALL_BYTES, CALL_BYTES) || call[0] != CALL)
		return 0;
	memcpy(&relative, call + 1, sizeof(relative));
	return word + (uint64_t)(int64_t)relative;
}

bool leaf__returns_to(const struct objects *o, uint64_t pc, uint64_t word)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint64_t begin = called_before(o, word);
	const uint8_t *code;

	if (!begin || begin > pc || pc - begin > LONGEST ||
	    !is_code(o, begin, pc - begin + sizeof(endbr64) + 1))
		return false;
	code = (const uint8_t *)(uintptr_t)begin;
	if (memcmp(code, endbr64, sizeof(endbr64)) == 0) {
		code += sizeof(endbr64);
		begin += sizeof(endbr64);
	}
	return code[0] != PUSH_RBP || pc <= begin;
}

#else

bool leaf__returns_to(const struct objects *o, uint64_t pc, uint64_t word)
{
	(void)o;
	(void)pc;
	(void)word;
	return false;
}

#endif
