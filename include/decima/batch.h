/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decima/batch.h - the batch: everything that moves; a part of <decima/plugin.h>
 *
 * Column-shaped, self-contained, immutable once sealed. Ids are indexes into the batch's own
 * tables. Sealing has checked every index, so readers need not. DCM_NONE means "none" wherever an
 * id may be absent.
 */
#ifndef DECIMA_BATCH_H
#define DECIMA_BATCH_H

#include <stdatomic.h>
#include <stdbool.h>

#include <decima/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DCM_NONE UINT32_MAX

enum dcm_mapping_kind {
	DCM_MAPPING_FILE,   /* an ELF file (or whatever a pprof's mapping names) */
	DCM_MAPPING_KERNEL, /* the kernel's text, "[kernel]" */
	DCM_MAPPING_MODULE, /* a kernel module, "[name]" */
	DCM_MAPPING_VDSO,   /* "[vdso]" */
	DCM_MAPPING_ANON,   /* memory without a file: JIT code */
};

struct dcm_mapping {
	uint64_t start, limit; /* addresses [start, limit) in the process; 0,0 when unknown */
	uint64_t offset;       /* file offset that `start` maps */
	uint32_t file;	       /* string: path as the process sees it */
	/*
	 * String: lower-case hex; 0 ("") when there is none. An input that can tell a file without
	 * one from others gives it a stand-in, '~' and 16 hex digits of its identity, and offers
	 * the file under that: it means nothing on another machine, so exporters write "" for it.
	 */
	uint32_t build_id;
	uint32_t kind; /* enum dcm_mapping_kind */
};

struct dcm_function {
	uint32_t name;	      /* string: for people (demangled) */
	uint32_t system_name; /* string: as in the symbol table; 0: same as name */
	uint32_t file;	      /* string */
	int64_t start_line;   /* 0: unknown */
};

struct dcm_line {
	uint32_t function; /* DCM_NONE: unknown */
	uint32_t column;   /* 0: unknown */
	int64_t line;	   /* 0: unknown */
};

/* A process for good: a pid is reused, these three together are not. */
struct dcm_process {
	uint32_t pid;	     /* as the host's root pid namespace counts */
	uint32_t generation; /* counts exec()s seen of this pid since start_ns */
	uint64_t start_ns; /* CLOCK_BOOTTIME at which it started (/proc/PID/stat field 22, in ns); 0: unknown */
};

enum dcm_addr_kind {
	DCM_ADDR_NONE, /* no address; names only */
	DCM_ADDR_VADDR, /* ELF virtual address (p_vaddr space) of the mapping's file; kernel: absolute */
	DCM_ADDR_FILE_OFFSET, /* offset in the mapping's file */
	DCM_ADDR_RUNTIME,     /* address in the process's memory */
};

enum dcm_frame_kind {
	DCM_FRAME_NATIVE,
	DCM_FRAME_KERNEL,
	DCM_FRAME_JIT,
	DCM_FRAME_INTERPRETED,
	DCM_FRAME_NOTE, /* not code: "[truncated: ...]", a reason of quality */
};

/* Why a location has no name. Kept beside the location, never part of its identity. */
enum dcm_unnamed {
	DCM_UNNAMED_NOT_TRIED,	    /* named when read, from the symbol store */
	DCM_UNNAMED_STRIPPED,	    /* the file was read and has no symbol there */
	DCM_UNNAMED_NO_BUILD_ID,    /* the file cannot be told from others, and is gone */
	DCM_UNNAMED_FILE_GONE,	    /* the process or file had ended before it could be read */
	DCM_UNNAMED_NO_PERMISSION,  /* the file may not be read by us */
	DCM_UNNAMED_BAD_FILE,	    /* the file is not an ELF file we can read */
	DCM_UNNAMED_JIT_NO_MAP,	    /* JIT code, and the runtime writes no perf map */
	DCM_UNNAMED_JIT_NOT_IN_MAP, /* JIT code that the perf map does not (yet, or any more) list */
	DCM_UNNAMED_KALLSYMS,	    /* /proc/kallsyms shows no addresses to us, or is empty */
	DCM_UNNAMED_NOT_HERE, /* no file with this build id was offered here, or its names made room */
	DCM_UNNAMED_NO_DEBUGINFO, /* stripped, and no separate debuginfo was found for its build id */
	DCM_UNNAMED_DEBUGINFO_LIMIT, /* reading its debuginfo took too long or too much, and was given up */
	DCM_UNNAMED_DEBUGINFO_BAD, /* its debuginfo is damaged, or another file's */
	DCM_UNNAMED_DEBUGINFO_ASKED, /* who may have its debuginfo is being asked, or does not answer */
	DCM_UNNAMED_JIT_MAP_CUT, /* JIT code, and only the end of a perf map that is too large was read */
	DCM_UNNAMED_NOT_ANSWERED, /* whoever opens files for us did not answer in time */
	DCM_UNNAMED_N
};

struct dcm_location {
	uint32_t mapping; /* or DCM_NONE */
	uint32_t process; /* only for DCM_ADDR_RUNTIME, else DCM_NONE */
	uint64_t address; /* of the sampled instruction (for callers: already return address - 1) */
	uint8_t addr_kind; /* enum dcm_addr_kind */
	uint8_t kind;	   /* enum dcm_frame_kind */
	uint8_t unnamed;   /* enum dcm_unnamed, when n_lines == 0 */
	uint8_t reserved;  /* 0 */
	uint32_t line_off; /* lines[line_off .. line_off + n_lines), inlined callee first */
	uint32_t n_lines;  /* 0: not named (yet) */
};

/* A series label: indexed, changes slowly. Names are unique within a series, and sorted. */
struct dcm_pair {
	uint32_t name, value; /* strings; value is never "" in a sealed batch */
};

/*
 * A sample label: a string (unit == DCM_NONE) or a number with a unit (string id, 0 for none).
 * Sorted by name.
 */
struct dcm_label {
	uint32_t name;
	uint32_t str; /* string; 0 for a number */
	int64_t num;
	uint32_t unit; /* DCM_NONE: it is a string */
};

/* Element of an offset table: items[off .. off + n). */
struct dcm_span {
	uint32_t off, n;
};

enum dcm_temporality {
	DCM_DELTA,	/* values of disjoint times: they add */
	DCM_GAUGE,	/* a state: heap in use, goroutines; merges are means over time */
	DCM_CUMULATIVE, /* since the process started; merges are reset-safe differences */
};

/*
 * Written name:sample_type:sample_unit:period_type:period_unit, and ":delta" behind it when
 * temporality is delta.
 */
struct dcm_type {
	uint32_t name, sample_type, sample_unit, period_type, period_unit; /* strings */
	uint32_t temporality; /* enum dcm_temporality */
};

struct dcm_profile {
	uint32_t series;
	uint32_t type_off, n_types; /* types[type_off ..): one value a row and type; 1 <= n_types <= 16 */
	uint32_t reserved;	    /* 0 */
	int64_t time_ns;	    /* start, real */
	int64_t duration_ns;	    /* >= 0 */
	int64_t period;		    /* in the period unit; 0: unknown */
	uint64_t row_off;	    /* rows[row_off .. row_off + n_rows) */
	uint32_t n_rows;
	uint32_t reserved2; /* 0 */
	uint64_t value_off; /* values[value_off + row * n_types + type], row counted from 0 in the profile */
};

/* Recognises a retry: the same source never gives one sequence to two batches. */
struct dcm_batch_id {
	struct dcm_hash source; /* of node, the instance's name and when it started; all zero: no id, never a retry */
	uint64_t sequence; /* counted upwards, or DCM_BATCH_ONCE */
};

/* The source is no sender: it is made of what the batch was made of (bytes that came, another batch), and names no other. */
#define DCM_BATCH_ONCE UINT64_MAX

struct dcm_batch {
	uint32_t size;
	struct dcm_batch_id id;
	uint64_t bytes; /* memory that this batch keeps alive: what queues count */

	uint32_t n_strings, n_mappings, n_functions, n_lines, n_processes, n_locations, n_stacks;
	uint32_t n_stack_locations, n_series, n_pairs, n_label_sets, n_labels, n_types, n_profiles;
	uint64_t n_rows, n_values;

	const struct dcm_str *strings; /* [0] is "" */
	const struct dcm_mapping *mappings;
	const struct dcm_function *functions;
	const struct dcm_line *lines;
	const struct dcm_process *processes;
	const struct dcm_location *locations;
	const struct dcm_hash *location_hashes; /* [n_locations] */
	const struct dcm_span *stacks;		/* [n_stacks] into stack_locations */
	const uint32_t *stack_locations;	/* locations, leaf first */
	const struct dcm_span *series;		/* [n_series] into pairs */
	const struct dcm_pair *pairs;
	const struct dcm_hash *series_hashes; /* [n_series] */
	const struct dcm_span *label_sets;    /* [n_label_sets] into labels; [0] is the empty set */
	const struct dcm_label *labels;
	const struct dcm_type *types;
	const struct dcm_profile *profiles;
	const uint32_t *row_stacks; /* [n_rows] */
	const uint32_t *row_labels; /* [n_rows] label sets */
	const int64_t *values;	    /* [n_values] */

	/*
	 * What its stacks are called where they come from, when other batches come from there too: the same origin
	 * and number are the same stack, with all that its locations say, as long as the process lives. So a store need
	 * look at each once. origin 0: not known; stack_origins is then NULL.
	 */
	uint64_t origin;
	const uint32_t *stack_origins; /* [n_stacks] */
};

#ifdef __cplusplus
}
#endif

#endif
