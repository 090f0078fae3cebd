/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * bpf/tables.h - how unwind tables lie in the memory that user space fills and BPF programs read
 *
 * The heap is made of slabs of 1 MiB, each a memory-mapped array of 16 chunks of 64 KiB, made when
 * they are needed and held in an array of maps. An address in it is 32 bits: the chunk above, the
 * byte in the chunk below; no object crosses a chunk's end, so that one bound serves the verifier.
 * In the heap lie
 *
 *	a process image's mappings:  struct tables_mapping [n], ascending
 *	a file's table:              struct tables_head, and a page's address for each 64 KiB of the file
 *	a code page:                 struct tables_page and its rows
 *
 * `slots` names the mappings of each process image. Rules, 8 bytes each (bpf/unwind.h), are shared
 * by all files, and a row names one by its number.
 *
 * Everything is written through mapped memory while programs read. An object never changes after
 * it was published but for single words; it is published by storing its address, withdrawn by
 * storing another, and its memory is used again a second later and only after `recycled` was
 * raised. A walk that finds `recycled` raised at its end throws its result away.
 *
 * Includers bring __u16, __u32, __u64 (linux/types.h).
 */
#ifndef DECIMA_BPF_TABLES_H
#define DECIMA_BPF_TABLES_H

enum {
	TABLES_CHUNK_BYTES = 65536,
	TABLES_SLAB_CHUNKS = 16,
	TABLES_SLABS = 256,
	TABLES_RULES = 32768,
	TABLES_BUCKETS = 2048,	   /* of slots; a power of two */
	TABLES_WAYS = 8,	   /* slots of a bucket */
	TABLES_MAPPINGS = 2048,	   /* of an image: as many as a chunk holds; a power of two */
	TABLES_PAGE_BYTES = 65536, /* of code that a code page stands for */
	TABLES_BLOCKS = 256,	   /* of a code page, 256 bytes of code each */
	TABLES_PAGE_ROWS = (TABLES_CHUNK_BYTES - 2 * (TABLES_BLOCKS + 2)) / 4,
};

/* What stands where a mapping's table would: its code has none. */
enum tables_without {
	TABLES_IS_PENDING = 0,	   /* not yet */
	TABLES_IS_MEMORY = 1,	   /* JIT code: frame pointers */
	TABLES_IS_OVER_BUDGET = 2, /* the heap has no room for it */
	TABLES_IS_STACK = 3,	   /* the process's stack, made executable: nothing returns there */
	TABLES_IS_UNKNOWN = 4,	   /* a file that nobody can read: frame pointers are a guess */
	TABLES_IS_ADDRESS = 64,	   /* this and what is above are addresses */
};

struct tables_mapping {
	__u64 start, end; /* [start, end) */
	__u64 bias;	  /* an address less this is an offset in the file */
	__u32 table;	  /* address of a struct tables_head, or enum tables_without */
	__u32 reserved;
};

enum tables_head_flag {
	TABLES_HEAD_BARE = 1, /* most of the code has no rule: it is taken to keep frame pointers */
};

struct tables_head {
	__u32 used;	  /* `epoch` when a walk last came here; written by programs */
	__u32 first_page; /* file offset >> 16 of page[0] */
	__u32 n_pages;
	__u32 flags; /* enum tables_head_flag */
		     /* __u32 page[n_pages] follow: addresses of code pages; 0: no code there */
};

struct tables_page {
	/*
	 * start[b] is the row that holds at the first byte of block b, and start[TABLES_BLOCKS] is
	 * the last row. The row of a byte is the last one that does not begin behind it.
	 */
	__u16 start[TABLES_BLOCKS + 1];
	__u16 reserved;
	/*
	 * __u32 row[] follow: where it begins in the page << 16 | number of its rule. row[0] begins
	 * at 0.
	 */
};

/*
 * In exec_pages: other files have been where files are, in as many pages. So the count does not tell
 * whether the mappings are those of now.
 */
#define TABLES_TURNS (1ull << 63)

/* A process image. */
struct tables_slot {
	__u32 pid;  /* 0: free */
	__u32 used; /* as above */
	__u64 start_ns, exec_id;
	__u64 exec_pages; /* that the image had when its mappings were listed; 0: not known; TABLES_TURNS */
	__u64 mappings; /* how many << 32 | address */
};

struct tables_bucket {
	struct tables_slot slot[TABLES_WAYS];
};

static inline __u32 tables_bucket_of(__u32 pid)
{
	return (pid * 0x9e3779b1u) >> 16 & (TABLES_BUCKETS - 1);
}

#endif
