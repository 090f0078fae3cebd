/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * bpf/walk.bpf.h - what a walk over a live user stack stands on: stack memory, tables, the state
 *
 * Stack memory is read a window at a time (up to the page's end, which either is there whole or not
 * at all), since 80 reads of 8 bytes cost ten times as much. 32-bit code, and all code when tables
 * are off, is walked by frame pointers alone.
 */
#ifndef DECIMA_BPF_WALK_H
#define DECIMA_BPF_WALK_H

#include "bpf/sampler.h"
#include "bpf/tables.h"
#include "bpf/unwind.h"

enum {
	WINDOW_BYTES = 4096,
	WINDOW_WORDS = WINDOW_BYTES / 8,
};

volatile __u32 epoch; /* see tables.h */

struct slab {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, TABLES_SLAB_CHUNKS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, TABLES_CHUNK_BYTES);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, TABLES_SLABS);
	__type(key, __u32);
	__array(values, struct slab);
} slabs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, TABLES_RULES);
	__type(key, __u32);
	__type(value, struct unwind_rule);
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, TABLES_BUCKETS);
	__type(key, __u32);
	__type(value, struct tables_bucket);
} slots SEC(".maps");

struct step;
static __always_inline void *step_chunk(struct step *s, __u32 address);
static __always_inline const struct unwind_rule *step_rule(struct step *s, __u32 number);
static __always_inline int step_word(struct step *s, __u64 addr, __u64 *ret);
static __always_inline int step_code(struct step *s, __u64 addr, __u8 *ret);

#include "bpf/step.h"

struct walk {
	struct step step; /* first: the functions below get back to us by it */
	__u32 compat;
	__u32 n;	  /* frames in the record, kernel's included */
	__u32 limit;	  /* of n */
	__u32 windows;	  /* reads of user stack memory for this sample */
	__u64 exec_pages; /* as in its slot */
	__u64 window_start, window_bytes;
	__u64 window[WINDOW_WORDS];
};

static __always_inline void *step_chunk(struct step *s, __u32 address)
{
	__u32 slab = address / (TABLES_CHUNK_BYTES * TABLES_SLAB_CHUNKS);
	__u32 chunk = address / TABLES_CHUNK_BYTES % TABLES_SLAB_CHUNKS;
	void *map = bpf_map_lookup_elem(&slabs, &slab);

	(void)s;
	return map ? bpf_map_lookup_elem(map, &chunk) : 0;
}

static __always_inline const struct unwind_rule *step_rule(struct step *s, __u32 number)
{
	(void)s;
	return bpf_map_lookup_elem(&rules, &number);
}

/*
 * From `addr` to the end of its page; from the frame's stack pointer when that lies below it in the
 * same page, because a saved frame pointer lies below its return address.
 */
static __always_inline int window_fill(struct walk *w, __u64 addr)
{
	__u64 from = w->step.sp & ~7ull;
	__u32 n;

	if (from > addr || (from ^ addr) >= WINDOW_BYTES)
		from = addr;
	n = WINDOW_BYTES - (from & (WINDOW_BYTES - 1));
	w->windows++;
	w->window_bytes = 0;
	if (bpf_probe_read_user(w->window, n, (void *)from))
		return -1;
	w->window_start = from;
	w->window_bytes = n;
	return 0;
}

static __always_inline int step_word(struct step *s, __u64 addr, __u64 *ret)
{
	struct walk *w = (struct walk *)s;
	__u64 at = addr - w->window_start;

	if (addr & 7) {
		w->windows++;
		return bpf_probe_read_user(ret, sizeof(*ret), (void *)addr) ? -1 : 0;
	}
	if (at >= w->window_bytes) {
		if (window_fill(w, addr))
			return -1;
		at = addr - w->window_start;
	}
	at >>= 3;
	if (at >= WINDOW_WORDS)
		return -1;
	*ret = w->window[at];
	return 0;
}

static __always_inline int step_code(struct step *s, __u64 addr, __u8 *ret)
{
	(void)s;
	return bpf_probe_read_user(ret, ARCH_CODE_BYTES, (void *)addr) ? -1 : 0;
}

/* -------------------------------------------------------------------------------------------------
 * By frame pointers alone
 */

static __always_inline __u32 word_bytes(const struct walk *w)
{
	return w->compat ? 4 : 8;
}

static __always_inline int frame_word(struct walk *w, __u64 addr, __u64 *ret)
{
	__u32 word;

	if (!w->compat)
		return step_word(&w->step, addr, ret);
	w->windows++;
	if (bpf_probe_read_user(&word, sizeof(word), (void *)addr))
		return 1;
	*ret = word;
	return 0;
}

/*
 * Code without frame pointers keeps anything where they would be, and 32-bit code often has none. No
 * table says which it is; that a call leads to what is taken for a return address, its bytes do.
 */
static __always_inline int is_return_address(struct walk *w, __u64 ra)
{
	__u8 code[ARCH_CODE_BYTES];

	if (!step_is_code(ra))
		return 0;
	return !w->compat ||
	       (step_code(&w->step, ra - ARCH_CODE_BYTES, code) == 0 && arch_is_after_call(code));
}

/*
 * The two members of the frame record at `fp`: its caller's frame pointer, and the return address.
 */
static __always_inline int frame_record(struct walk *w, __u64 fp, __u64 *ret_fp, __u64 *ret_ra)
{
	__u32 record[2];

	if (!w->compat)
		return step_word(&w->step, fp, ret_fp) || step_word(&w->step, fp + 8, ret_ra);
	w->windows++;
	if (bpf_probe_read_user(record, sizeof(record), (void *)fp))
		return 1;
	*ret_fp = record[0];
	*ret_ra = record[1];
	return 0;
}

/*
 * The leaf's caller where the stack pointer tells it: 1 when it is in the state, or `outcome` is.
 */
static __always_inline int frame_pointer_leaf(struct walk *w)
{
	__u64 sp = w->step.sp, ra = 0;
	__u8 code[ARCH_CODE_BYTES];
	__u32 word = word_bytes(w);
	enum arch_leaf leaf;

	if (step_code(&w->step, w->step.pc - ARCH_CODE_BEFORE, code))
		return 0;
	leaf = w->compat ? arch_leaf_rule_compat(code) : arch_leaf_rule(code);
	if (leaf == ARCH_LEAF_FRAME || sp & (word - 1))
		return 0;
	if (leaf == ARCH_LEAF_PAST_SP)
		sp += word;
	w->step.interrupted = 0;
	if (frame_word(w, sp, &ra))
		w->step.outcome = SAMPLER_OUTCOME_READ_FAULT;
	else if (!is_return_address(w, arch_code(ra)))
		w->step.outcome = SAMPLER_OUTCOME_BAD_RA;
	w->step.pc = arch_code(ra);
	w->step.sp = sp + word;
	return 1;
}

/*
 * Above the record of the outermost function lies what the kernel put there: argc, and argv[0], which
 * lies still higher. Of 32-bit code a record of zeros may be anything.
 */
static __always_inline int is_above_root(struct walk *w, __u64 fp)
{
	__u64 argv = 0;

	return !w->compat ||
	       (frame_word(w, fp + 8, &argv) == 0 && argv > fp && argv - fp <= STEP_MAX_JUMP_BYTES);
}

/* From the frame in the state to its caller, as step_to_caller(). */
static __always_inline int frame_pointer_step(struct walk *w)
{
	__u64 fp = w->step.fp, next = 0, ra = 0;

	if (w->step.interrupted && frame_pointer_leaf(w))
		return w->step.outcome != SAMPLER_OUTCOME_NONE;
	w->step.interrupted = 0;
	/* A register that is 0 is no end of frames: there may have been none. */
	if (fp == 0)
		return step_end(&w->step, w->step.fp_ends ? SAMPLER_OUTCOME_ROOT : SAMPLER_OUTCOME_BAD_FP);
	if (fp & (word_bytes(w) - 1) || fp < w->step.sp || fp - w->step.sp > STEP_MAX_JUMP_BYTES)
		return step_end(&w->step, SAMPLER_OUTCOME_BAD_FP);
	if (frame_record(w, fp, &next, &ra))
		return step_end(&w->step, SAMPLER_OUTCOME_READ_FAULT);
	ra = arch_code(ra);
	if (next == 0 && !step_is_code(ra))
		return step_end(&w->step, is_above_root(w, fp) ? SAMPLER_OUTCOME_ROOT
							       : SAMPLER_OUTCOME_BAD_RA);
	if (!is_return_address(w, ra))
		return step_end(&w->step, SAMPLER_OUTCOME_BAD_RA);
	w->step.pc = ra;
	w->step.sp = fp + 2 * word_bytes(w);
	w->step.fp = next;
	w->step.fp_ends = 1;
	return 0;
}

/* -------------------------------------------------------------------------------------------------
 * The state
 */

static __always_inline void walk_begin(struct walk *w, arch_regs *regs)
{
	struct step *s = &w->step;

	w->window_bytes = 0;
	s->pc = arch_pc(regs);
	s->sp = arch_sp(regs);
	s->fp = arch_fp(regs);
	arch_dwarf_regs(s->regs, regs);
	s->signal_sp = 0;
	s->rbx_at = STEP_LIVE;
	s->bytes = 0;
	s->epoch = epoch;
	s->interrupted = 1;
	s->fp_lost = 0;
	s->fp_ends = 0;
	s->n_bare = 0;
	s->mappings = s->n_mappings = 0;
}

/* The process image's mappings: 0, or -1 when nobody has announced it. */
static __always_inline int walk_open(struct walk *w, const struct sampler_sample *sample)
{
	__u32 number = tables_bucket_of(sample->head.pid);
	struct tables_bucket *bucket = bpf_map_lookup_elem(&slots, &number);

	if (!bucket)
		return -1;
	STEP_UNROLL
	for (int i = 0; i < TABLES_WAYS; i++) {
		struct tables_slot *slot = &bucket->slot[i];
		__u64 mappings;

		if (*(volatile __u32 *)&slot->pid != sample->head.pid)
			continue;
		if (*(volatile __u64 *)&slot->start_ns != sample->head.start_ns ||
		    *(volatile __u64 *)&slot->exec_id != sample->head.exec_id)
			return -1;
		/* 0 while the slot is being written; the image's own once the above is. */
		mappings = *(volatile __u64 *)&slot->mappings;
		w->exec_pages = slot->exec_pages;
		if (mappings == 0)
			return -1;
		if (slot->used != w->step.epoch)
			slot->used = w->step.epoch;
		w->step.mappings = (__u32)mappings;
		w->step.n_mappings = mappings >> 32;
		return 0;
	}
	return -1;
}

#endif
