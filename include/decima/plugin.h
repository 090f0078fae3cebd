/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decima/plugin.h - the whole contract between Decima and a plugin
 *
 * A plugin is a shared object that exports one function, dcm_plugin_entry(), which returns one
 * constant description: what it is called, what it can do, which options it takes, and the
 * functions that do it. The host calls the plugin through these, and the plugin calls the host
 * through `struct dcm_host`, which it is given at open(). A plugin links against nothing of
 * Decima's, and a test program can be the host (decima-plugin-check is one).
 *
 * Read first, these hold everywhere:
 *  - Versions. Structs that cross the border begin with their size in bytes as the side that made
 *    them knew it. Members are only ever appended. A plugin built for an older minor version keeps
 *    loading; one built for a newer minor or another major is refused. DCM_HAS(ptr, member) asks
 *    whether the other side has a member.
 *  - Ownership. What a function returns through `ret_` is the caller's. What is passed as const is
 *    borrowed for the call and copied by whoever needs it longer. Batches are reference-counted; a
 *    sealed batch never changes.
 *  - Errors. Functions return 0 or a negative errno, and put one sentence into `struct dcm_error`
 *    (place, object, fault, remedy). Outputs (`ret_...`) change only on success.
 *  - Loss. Data may be given up only through host->drop(reason, n), which counts it where users
 *    look.
 *  - Threads. Each member says which thread calls it. A plugin never calls the host while it holds
 *    a lock that one of its own callbacks takes; the functions that build batches are the
 *    exception, because they call nobody.
 *  - Text is (pointer, length) UTF-8 without a NUL unless it is a `const char *`. Machines are
 *    little-endian.
 *  - Times are nanoseconds since 1970 (real) or of CLOCK_MONOTONIC (mono), as the name says.
 *
 * Log of the interface (append here, raise DCM_ABI_MINOR):
 *   1.0  the first one
 *   1.1  host: http_get()
 *   1.2  host: open_guarded, perf_event, bpf_array, bpf_put; DCM_CAP_RIGHTS
 *   1.3  storage: recognises()
 *   1.4  host: add_stacks()
 *   1.5  budget: gap, gap_ctx; host: map_file, unmap_file, n_lost_pages
 *   1.6  host: regex_new, regex_free; stat: n_removals, n_set_aside, set_aside_bytes
 *   1.7  DCM_OPT_ONE_IS_LIST, DCM_UNNAMED_JIT_MAP_CUT; budget: side, side_ctx
 *   1.8  DCM_OPT_UNIQUE
 *   1.9  DCM_UNNAMED_NOT_ANSWERED
 */
#ifndef DECIMA_PLUGIN_H
#define DECIMA_PLUGIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DCM_ABI_MAGIC 0x414d4344u /* "DCMA" */
#define DCM_ABI_MAJOR 1
#define DCM_ABI_MINOR 9

/* True when the struct behind `ptr` was made by a side that knows `member`. */
#define DCM_HAS(ptr, member)                                                                       \
	((ptr)->size >= offsetof(__typeof__(*(ptr)), member) + sizeof((ptr)->member))

/* -------------------------------------------------------------------------------------------------
 * Small types
 */

/* Text that need not end in NUL. p is never NULL when n > 0. */
struct dcm_str {
	const char *p;
	uint32_t n;
};

/* xxh3-128 of a length-prefixed, little-endian serialization of the content. */
struct dcm_hash {
	uint64_t lo, hi;
};

/* One sentence for a person. Callers zero it and set size; functions that fail fill text. */
struct dcm_error {
	uint32_t size;
	char text[1020]; /* NUL-terminated */
};
#define DCM_ERROR_INIT                                                                             \
	{                                                                                          \
		.size = sizeof(struct dcm_error)                                                   \
	}

enum dcm_log_level {
	DCM_LOG_ERROR,	 /* somebody must act */
	DCM_LOG_WARNING, /* something is worse than it should be */
	DCM_LOG_INFO,	 /* what an operator wants to read once */
	DCM_LOG_DEBUG	 /* what a developer wants to read */
};

/* -------------------------------------------------------------------------------------------------
 * Options: a row is the only place where a setting is described
 *
 * The host reads the YAML under the instance's key, checks it against the table, and fills a zeroed
 * struct of `struct_size` bytes: each row says at which offset its value goes. The host owns the
 * struct and everything it points to; it lives from open() or prepare() until the instance stops or
 * the next commit() has returned. The same row makes the error messages, `decima describe`, the
 * manual page, the comments in conf/ and the page of settings.
 */

enum dcm_option_type {
	DCM_OPT_BOOL,	/* bool */
	DCM_OPT_INT,	/* int64_t; may be written with its unit: 19Hz */
	DCM_OPT_FLOAT,	/* double */
	DCM_OPT_STRING, /* const char *; NULL when absent without a default */
	DCM_OPT_SECRET, /* const char *; never printed, logged or shown; `NAME_file` reads it from a file */
	DCM_OPT_CHOICE,	  /* int32_t: index into `choices` */
	DCM_OPT_DURATION, /* int64_t nanoseconds; written 10s, 1h30m */
	DCM_OPT_SIZE,	  /* int64_t bytes; written 64MiB */
	DCM_OPT_REGEX, /* const char *; checked at load: RE2's subset, anchored by whoever compiles it */
	DCM_OPT_SELECTOR, /* const char *; checked at load: type{label="value",...} */
	DCM_OPT_STRUCT,	  /* a sub-table in place, of table->struct_size bytes */
	DCM_OPT_LIST,	  /* struct dcm_list of elements */
	DCM_OPT_MAP,	  /* struct dcm_map of elements, in the file's order; keys are unique */
	DCM_OPT_UNION,	  /* struct dcm_union: exactly one key of `table` may stand here */
	DCM_OPT_SHARED,	  /* a table that the host owns, by name in `shared`: see enum dcm_shared */
};

/* [n] elements of the row's element type, each as large as that type's C type above. */
struct dcm_list {
	void *items;
	uint32_t n;
};
struct dcm_map {
	const char **keys; /* [n] */
	void *items;	   /* [n], like a list's */
	uint32_t n;
};
struct dcm_union {
	int32_t which; /* index of the row in the table; -1: none given */
	void *value;   /* the C type of that row; NULL: none */
};

/* Tables that several plugins share. The C type is named beside. */
enum dcm_shared {
	DCM_SHARED_RELABEL_RULES, /* struct dcm_list of struct dcm_relabel_rule: Prometheus' relabel_configs */
};

enum dcm_option_flag {
	DCM_OPT_REQUIRED = 1,	 /* an error when absent */
	DCM_OPT_RESTART = 2,	 /* prepare() refuses a change of it; the host says so by name */
	DCM_OPT_NO_ENV = 4,	 /* ${NAME} is not replaced in here: it has a meaning of its own */
	DCM_OPT_ONE_IS_LIST = 8, /* a single value may stand for a list of it alone (1.7) */
	/* a string of which each instance needs its own, unless `read_only` is set; in no nested table (1.8) */
	DCM_OPT_UNIQUE = 16,
};

struct dcm_table;

/*
 * A row named "" has no key of its own. Of type DCM_OPT_STRUCT it puts its table's keys among those
 * of the table it stands in (a client's options inside a job). Of any other type it must be its
 * table's only row, and its value stands where the struct would: so a list or map can hold lists.
 */
struct dcm_option {
	const char *name; /* as in YAML: lower case, digits, underscores; or "" */
	enum dcm_option_type type;
	uint32_t offset; /* of the value in the struct: use offsetof */
	const char *def; /* default as it would stand in the file; NULL: zero, absent or empty */
	const char *min, *max; /* inclusive bounds, written like the value; NULL: none */
	const char *unit; /* DCM_OPT_INT, _FLOAT: "Hz", "" ; shown, and accepted behind the number */
	const char *const *choices;    /* DCM_OPT_CHOICE: NULL-terminated */
	const struct dcm_table *table; /* DCM_OPT_STRUCT, _UNION, and lists and maps of these */
	enum dcm_option_type element; /* DCM_OPT_LIST, _MAP: what they hold (not LIST, MAP or SHARED) */
	enum dcm_shared shared;	      /* DCM_OPT_SHARED */
	uint32_t flags;		      /* enum dcm_option_flag */
	const char *doc;	      /* one or two sentences, with what it costs */
};

struct dcm_table {
	uint32_t size;	      /* sizeof(struct dcm_table) */
	uint32_t option_size; /* sizeof(struct dcm_option) as this plugin knew it */
	uint32_t struct_size; /* of the struct the offsets point into */
	uint32_t n_options;
	const struct dcm_option *options; /* [n_options] */
	/* Optional: what single rows cannot say; any thread. A fault is placed at the row that begins it: "tls.key: ..." */
	int (*check)(const void *config, struct dcm_error *err);
};

#define DCM_TABLE(struct_type, rows)                                                               \
	{                                                                                          \
		.size = sizeof(struct dcm_table), .option_size = sizeof(struct dcm_option),        \
		.struct_size = sizeof(struct_type), .n_options = sizeof(rows) / sizeof((rows)[0]), \
		.options = (rows)                                                                  \
	}

/* DCM_SHARED_RELABEL_RULES: one rule (prometheus.io: configuration, relabel_config). */
enum dcm_relabel_action {
	DCM_RELABEL_REPLACE,
	DCM_RELABEL_KEEP,
	DCM_RELABEL_DROP,
	DCM_RELABEL_KEEPEQUAL,
	DCM_RELABEL_DROPEQUAL,
	DCM_RELABEL_HASHMOD,
	DCM_RELABEL_LABELMAP,
	DCM_RELABEL_LABELDROP,
	DCM_RELABEL_LABELKEEP,
	DCM_RELABEL_LOWERCASE,
	DCM_RELABEL_UPPERCASE,
};
struct dcm_relabel_rule {
	struct dcm_list source_labels; /* of const char * */
	const char *separator;
	const char *target_label;
	const char *regex;
	int64_t modulus;
	const char *replacement;
	int32_t action; /* enum dcm_relabel_action */
};

/* -------------------------------------------------------------------------------------------------
 * The batch: everything that moves
 *
 * Column-shaped, self-contained, immutable once sealed. Ids are indexes into the batch's own
 * tables. Sealing has checked every index, so readers need not. DCM_NONE means "none" wherever an
 * id may be absent.
 */

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
	uint64_t sequence;
};

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
	const struct dcm_hash *stack_hashes;	/* [n_stacks] */
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
};

/* -------------------------------------------------------------------------------------------------
 * Questions to a store
 */

struct dcm_regex; /* the host's compiled pattern: host->regex_matches() */

enum dcm_match_op { DCM_EQ, DCM_NE, DCM_RE, DCM_NRE };

/*
 * A row's value of a name is its series label, else its sample label (a number in decimal), else
 * "". Rows match when all matchers do.
 */
struct dcm_matcher {
	uint32_t op; /* enum dcm_match_op */
	struct dcm_str name, value;
	const struct dcm_regex *regex; /* compiled from value; set for DCM_RE and DCM_NRE */
};

/*
 * What an answer lacks because the store has lost it, or cannot read it. A gap may be larger than
 * what the question asked for: where nobody can tell any more what was lost, its whole time is
 * told.
 */
struct dcm_gap {
	uint32_t size;
	struct dcm_str what, why; /* for people: "blocks/7.blk"; "a chunk is damaged" */
	int64_t from_ms, to_ms;	  /* [from, to): what is missing starts there */
	uint64_t n_profiles;	  /* at most so many, as questions count; 0: nobody knows */
};
typedef void (*dcm_gap_fn)(void *ctx, const struct dcm_gap *gap);

/* What a question may cost (the asker's; with cancel), and how it is doing (the store's). */
struct dcm_budget {
	int64_t deadline_mono_ns;     /* -ETIMEDOUT beyond it; 0: none */
	uint64_t max_bytes;	      /* of memory; -E2BIG beyond it; 0: none */
	_Atomic int cancelled;	      /* set to 1 by the asker: -ECANCELED within 100 ms */
	_Atomic uint64_t done, total; /* progress, in rows or bytes */
	/*
	 * (1.5) Told of everything that is left out of the answer, before the question returns and
	 * by one thread at a time. NULL: nobody wants to know.
	 */
	dcm_gap_fn gap;
	void *gap_ctx;
	/*
	 * (1.7) A merge that succeeds tells of each selection's profiles that match: how many, the
	 * sum of their durations, their period when it is one, else 0. One thread at a time.
	 */
	void (*side)(void *ctx, uint32_t sel, uint64_t n, int64_t duration_ns, int64_t period);
	void *side_ctx;
};

struct dcm_select {
	uint32_t size;
	struct dcm_str type; /* as written above; empty: every type (lists and remove only) */
	const struct dcm_matcher *matchers; /* [n_matchers] */
	uint32_t n_matchers;
	int64_t from_ms, to_ms;	   /* [from, to), real, compared with the profile's start */
	struct dcm_budget *budget; /* NULL: unlimited */
};

struct dcm_group_by {
	const struct dcm_str *labels; /* [n] distinct: series or sample labels; a missing one counts as "" */
	uint32_t n;
};

/*
 * What questions count. A profile of k types is k profiles here, one a type. It matches, and counts
 * in a group, when one of its rows does; one without rows counts as if it had a row without sample
 * labels. Of two profiles of one series and type at one millisecond, delta ones both count, and of
 * the others only the one written last is there.
 */

/*
 * Answers of the lists. `each` returns 0 to go on; another value ends the list, which returns it.
 */
struct dcm_type_info {
	struct dcm_str name, sample_type, sample_unit, period_type, period_unit;
	uint32_t temporality;
	uint64_t n_profiles;
	int64_t first_ms, last_ms; /* start times of the first and last profile */
};
typedef int (*dcm_type_fn)(void *ctx, const struct dcm_type_info *info);
typedef int (*dcm_name_fn)(void *ctx, struct dcm_str name, uint64_t n_series);
struct dcm_label_text {
	struct dcm_str name, value;
};
typedef int (*dcm_series_fn)(void *ctx, const struct dcm_label_text *labels, uint32_t n);

/*
 * One point per step that has a profile, ascending; t_ms is floor(t / step) * step, or the
 * profile's with step 0.
 */
struct dcm_points {
	const struct dcm_label_text *labels; /* [n_labels]: the group's, in the order asked for; all with step 0, n 0 */
	uint32_t n_labels, n;
	const int64_t *t_ms;
	const int64_t *value; /* total of the rows that match: delta sums, gauge means, cumulative increases */
	const int64_t *duration_ns; /* sum of the profiles' durations */
	const uint32_t *n_profiles;
};
typedef int (*dcm_points_fn)(void *ctx, const struct dcm_points *points);

struct dcm_store_stat {
	uint32_t size;
	uint64_t bytes;
	/*
	 * What profiles refer to, each once: those of profiles that went may count for a while, and
	 * a store with a list of them for each stretch of time gives the longest that it has read.
	 */
	uint64_t n_series, n_stacks, n_locations;
	/*
	 * As questions count; rows of one (stack, label set) of a profile are one. A state that a
	 * later write replaced may count until the store writes that part of its data anew: to know
	 * of it the store would have to read.
	 */
	uint64_t n_profiles, n_rows;
	int64_t first_ms, last_ms; /* 0,0 when empty */
	struct dcm_str place;	   /* directory or address, for people; "memory" */
	/*
	 * (1.6) Removals whose rows, which no question finds any more, still take room, and still
	 * count above.
	 */
	uint32_t n_removals;
	uint32_t n_set_aside; /* (1.6) files of data that could not be read, kept for people; in no other number */
	uint64_t set_aside_bytes; /* (1.6) of them */
};

/* A finding: place, fault and remedy in a sentence, borrowed. ERROR: it will not work so. */
typedef void (*dcm_report_fn)(void *ctx, enum dcm_log_level level, const char *sentence);

/* -------------------------------------------------------------------------------------------------
 * The host
 *
 * Every function may be called from any thread, and after open() has begun until stop() has
 * returned, unless it says otherwise. `host` is always the pointer that open() was given: it also
 * tells the host which instance calls.
 */

struct dcm_builder;
struct dcm_metric;

enum dcm_state {
	DCM_STATE_STARTING,
	DCM_STATE_OK,
	DCM_STATE_DEGRADED, /* works, but less than it should: the sentence says what is missing */
	DCM_STATE_FAILED,   /* does not work: the sentence says the one thing to do */
	DCM_STATE_STOPPED,
};

enum dcm_metric_kind { DCM_COUNTER, DCM_GAUGE_METRIC };

enum dcm_process_event { DCM_PROCESS_SEEN, DCM_PROCESS_EXEC, DCM_PROCESS_EXIT };

/*
 * Called once: status 0 when every store that must have the batch has made it durable, or a
 * negative errno. On whichever thread learns it (the router's, a writer's, one of a store's own):
 * it must not wait for anything.
 */
typedef void (*dcm_done_fn)(void *ctx, int status);

/* A name for an address, from resolve() of a symbol source. `name` is there; the rest may be 0. */
struct dcm_symbol {
	struct dcm_str name, system_name, file;
	int64_t line;
	uint64_t start; /* first address of the symbol */
};
/* i: index into the addresses asked for. Called at most once for each. */
typedef void (*dcm_symbol_fn)(void *ctx, uint32_t i, const struct dcm_symbol *symbol);

/* What host->http_get() asks for. Members that are zero mean what their comment says. */
struct dcm_http_request {
	uint32_t size;
	const char *url; /* https://HOST[:PORT]/PATH?QUERY, http://..., unix:/PATH/TO/SOCKET:/PATH */
	const char *bearer;  /* token; NULL: none */
	const char *ca_file; /* PEM file of the authorities to trust; NULL: the system's */
	bool insecure;	     /* the server's certificate is not checked */
	int64_t timeout_ns;  /* of the whole; 0: 10 s */
	uint64_t max_bytes;  /* of the answer's body; 0: 16 MiB */
};
struct dcm_http_answer {
	uint32_t size;
	int status;    /* 200, ... */
	uint8_t *data; /* [n], and a NUL behind; NULL when n is 0; the caller's to free */
	size_t n;
};

/* What a process without rights has opened for it: see open_guarded(). */
enum dcm_guarded_kind {
	/* dir: a directory /proc/PID. */
	DCM_GUARDED_MAPS = 1, /* the text of its mappings, to be read */
	DCM_GUARDED_ENVIRON,  /* its environment, to be read */
	DCM_GUARDED_EXE,      /* its program, to be read: an ELF file */
	DCM_GUARDED_EXE_PATH, /* the same, to be looked at (O_PATH): any file */
	DCM_GUARDED_ROOT,     /* its root directory (O_PATH) */
	DCM_GUARDED_MOUNTS,   /* its mount namespace (O_PATH) */
	DCM_GUARDED_MAPPED,   /* what is mapped at [start, end), to be read: an ELF file */
	/* dir: any directory; links in `path` lead nowhere outside it. */
	DCM_GUARDED_CODE, /* an ELF file, to be read */
	DCM_GUARDED_NAMES, /* perf-N.map or jit-N.dump, to be read; the last part of `path` is no link */
	/* dir: where the unified cgroup hierarchy is mounted. */
	DCM_GUARDED_CGROUP, /* the directory with the id `start` (O_PATH) */
};
struct dcm_guarded {
	uint32_t size;
	uint32_t what; /* enum dcm_guarded_kind */
	int dir;       /* borrowed */
	uint64_t start, end;
	const char *path; /* NULL for what has none */
};

struct perf_event_attr; /* <linux/perf_event.h> */

struct dcm_host {
	uint32_t size;
	uint16_t abi_major, abi_minor;
	const char *instance; /* name of the calling instance: unique, fit for file names and metrics */
	const char *node;     /* this machine's name */
	const char *data_dir; /* a directory of this instance's own; made at first use by data_dir_make() */

	/* --- telling people --- */
	void (*log)(const struct dcm_host *host, enum dcm_log_level level, const char *fmt, ...)
		__attribute__((format(printf, 3, 4)));
	/*
	 * n things (rows, samples, profiles: `reason` says which, as "ring_full" or
	 * "samples_no_memory") are lost.
	 */
	void (*drop)(const struct dcm_host *host, const char *reason, uint64_t n);
	/* Shown by /api/v1/pipeline, `decima targets` and the log on every change of state. */
	void (*set_state)(const struct dcm_host *host, enum dcm_state state, const char *fmt, ...)
		__attribute__((format(printf, 3, 4)));
	/*
	 * NAME gets the prefix "decima_" and the label instance; NULL when memory ran out, which
	 * the others accept.
	 */
	struct dcm_metric *(*metric)(const struct dcm_host *host, enum dcm_metric_kind kind,
				     const char *name, const char *help);
	void (*metric_add)(struct dcm_metric *m, uint64_t n);
	void (*metric_set)(struct dcm_metric *m, double value);

	/* --- time: fakeable --- */
	int64_t (*mono_ns)(const struct dcm_host *host);
	int64_t (*real_ns)(const struct dcm_host *host);

	/* --- building batches; a builder belongs to one thread at a time --- */
	/*
	 * Adds return the id of an equal entry or of a new one. A failed add (memory, limit, bad
	 * id) makes the builder sticky-failed: it returns 0 from then on, and seal reports the
	 * first failure. max_bytes 0: 256 MiB. builder_new: NULL when memory ran out.
	 */
	struct dcm_builder *(*builder_new)(const struct dcm_host *host, uint64_t max_bytes);
	void (*builder_free)(struct dcm_builder *b);
	uint32_t (*add_string)(struct dcm_builder *b, struct dcm_str s);
	uint32_t (*add_mapping)(struct dcm_builder *b, const struct dcm_mapping *m);
	uint32_t (*add_function)(struct dcm_builder *b, const struct dcm_function *f);
	uint32_t (*add_process)(struct dcm_builder *b, const struct dcm_process *p);
	/* line_off and n_lines of `l` are ignored: the lines are given beside it. */
	uint32_t (*add_location)(struct dcm_builder *b, const struct dcm_location *l,
				 const struct dcm_line *lines, uint32_t n_lines);
	uint32_t (*add_stack)(struct dcm_builder *b, const uint32_t *locations,
			      uint32_t n); /* leaf first; n may be 0 */
	/* In any order, empty values are left out; a name that comes twice is an error. */
	uint32_t (*add_series)(struct dcm_builder *b, const struct dcm_pair *pairs, uint32_t n);
	uint32_t (*add_label_set)(struct dcm_builder *b, const struct dcm_label *labels, uint32_t n);
	/* series, times and period of `head` count; rows that follow are its. Returns its index. */
	uint32_t (*add_profile)(struct dcm_builder *b, const struct dcm_profile *head,
				const struct dcm_type *types, uint32_t n_types);
	/* values [n_types of the profile]. Equal (stack, label set) may come again: they add up. */
	void (*add_row)(struct dcm_builder *b, uint32_t stack, uint32_t label_set, const int64_t *values);
	/*
	 * Checks everything, computes the hashes, gives the batch its id. The builder is empty and
	 * reusable after it.
	 */
	int (*seal)(struct dcm_builder *b, struct dcm_batch **ret_batch, struct dcm_error *err);

	/* --- moving batches --- */
	struct dcm_batch *(*batch_ref)(struct dcm_batch *batch);
	void (*batch_unref)(struct dcm_batch *batch); /* NULL is fine */
	/*
	 * Hands a sealed batch on (taking its own reference). Never blocks. -EAGAIN: the queue is
	 * full; the caller tries again later or calls drop(). -ESHUTDOWN: the program ends;
	 * -ENOMEM. `done` (may be NULL) is called exactly once when 0 was returned, and before
	 * stop() at the latest: then with -ECANCELED when the batch is still on its way (it goes on
	 * all the same).
	 */
	int (*emit)(const struct dcm_host *host, struct dcm_batch *batch, dcm_done_fn done, void *ctx);

	/* --- names --- */
	/*
	 * Offers the file behind a build id while it can be opened. fd is borrowed (read with
	 * pread). Cheap when known.
	 */
	void (*offer_file)(const struct dcm_host *host, struct dcm_str build_id,
			   struct dcm_str path, int fd);
	/* The build id of an open file in lower-case hex: 0, -ENODATA (none), -ENOEXEC (no ELF). */
	int (*build_id)(const struct dcm_host *host, int fd, char ret_hex[static 129]);
	/*
	 * The kernel's symbol at an absolute address; module is "" for the kernel. The texts live
	 * as long as the instance. 0; -ENOENT; -EACCES (kptr_restrict), -ENODATA (an empty list) or
	 * another error when there is no list; -ENOMEM.
	 */
	int (*kernel_symbol)(const struct dcm_host *host, uint64_t address,
			     struct dcm_str *ret_name, struct dcm_str *ret_module);
	/*
	 * Tells the symbol sources (inputs with `process`) of a process that has or runs code of no
	 * file (JIT).
	 */
	void (*process_event)(const struct dcm_host *host, enum dcm_process_event event,
			      const struct dcm_process *process);
	/* Asks them for names of runtime addresses of one process; `each` gets those found. */
	void (*resolve_runtime)(const struct dcm_host *host, const struct dcm_process *process,
				const uint64_t *addresses, uint32_t n, dcm_symbol_fn each,
				void *ctx, enum dcm_unnamed *ret_why);
	/* A view in which every location that can be named has lines. The caller unrefs it. */
	int (*resolved)(const struct dcm_host *host, struct dcm_batch *batch,
			struct dcm_batch **ret_batch, struct dcm_error *err);

	/* --- formats --- */
	/*
	 * "pprof" (gzip), "folded", "speedscope", "html", "batch". One profile (by index) or all
	 * with DCM_NONE. Caller frees.
	 */
	int (*encode)(const struct dcm_host *host, const struct dcm_batch *batch, uint32_t profile,
		      const char *format, uint8_t **ret_data, size_t *ret_n, struct dcm_error *err);
	/* "pprof", "folded", "speedscope", "batch"; bytes from anyone: bounded, checked. */
	int (*decode)(const struct dcm_host *host, const char *format, const uint8_t *data,
		      size_t n, struct dcm_batch **ret_batch, struct dcm_error *err);

	/* --- matching --- */
	bool (*regex_matches)(const struct dcm_regex *regex, struct dcm_str text);

	/* --- files --- */
	/* Makes data_dir (mode 0700) when it is not there. */
	int (*data_dir_make)(const struct dcm_host *host, struct dcm_error *err);

	/* --- clients (1.1) --- */
	/*
	 * Asks a server; 0 when it answered, with whatever status. Blocks until the timeout: for
	 * threads of the plugin's own, and none that stop() waits for longer than that. Proxies of
	 * the environment are not used.
	 */
	int (*http_get)(const struct dcm_host *host, const struct dcm_http_request *request,
			struct dcm_http_answer *ret, struct dcm_error *err);

	/* --- rights (1.2): the process may have given its own up after open(); any thread --- */
	/*
	 * A descriptor of what others may not open, or a negative errno: -ENOEXEC for a file of
	 * another kind, -ETIMEDOUT when none came within a second. Regular files only, no FIFOs.
	 */
	int (*open_guarded)(const struct dcm_host *host, const struct dcm_guarded *g);
	/*
	 * perf_event_open(2) on one CPU for every process: PERF_TYPE_SOFTWARE, the CPU clock or the
	 * side-band's dummy.
	 */
	int (*perf_event)(const struct dcm_host *host, const struct perf_event_attr *attr, uint32_t cpu);
	/* A BPF array of n values that can be mapped (descriptor); puts one into an array of maps (0). */
	int (*bpf_array)(const struct dcm_host *host, uint32_t value_bytes, uint32_t n);
	int (*bpf_put)(const struct dcm_host *host, int array_of_maps, uint32_t index, int array);

	/* --- building batches of stacks that are known to differ (1.4); as add_stack() --- */
	/*
	 * Appends stacks [n], one behind the other in `locations`, of n_locations[i] frames each,
	 * and returns the first one's id: the others follow. They are neither looked up nor found
	 * by later adds, which is most of what add_stack() costs. So this is for stores, which keep
	 * each stack once; stacks that are equal all the same get an id each, and readers add up
	 * what their rows say.
	 */
	uint32_t (*add_stacks)(struct dcm_builder *b, const uint32_t *locations,
			       const uint32_t *n_locations, uint32_t n);

	/* --- mapped files (1.5); any thread --- */
	/*
	 * The first n bytes (n > 0) of a file, read-only, until unmap_file(), also when it has been
	 * closed. What the disk cannot give, or was cut off the file since, reads as zeroes from
	 * the first touch on, where a mapping of the plugin's own would end the process with
	 * SIGBUS: so bytes have checksums, and are checked each time.
	 */
	int (*map_file)(const struct dcm_host *host, int fd, size_t n, const uint8_t **ret);
	void (*unmap_file)(const struct dcm_host *host, const uint8_t *p, size_t n);
	/*
	 * How many pages were lost so, of all files: who relies on what was checked before looks
	 * again when it changes.
	 */
	uint64_t (*n_lost_pages)(const struct dcm_host *host);

	/* --- matching (1.6) --- */
	/*
	 * Compiles a matcher's pattern, for who keeps matchers longer than a call. 0, -EINVAL,
	 * -EFBIG, -ENOMEM.
	 */
	int (*regex_new)(const struct dcm_host *host, struct dcm_str pattern,
			 struct dcm_regex **ret_regex, struct dcm_error *err);
	void (*regex_free)(struct dcm_regex *regex); /* NULL is fine */
};

/* -------------------------------------------------------------------------------------------------
 * What a plugin does
 */

/*
 * Common to all kinds. Called one after the other by the host's control thread:
 *   open -> start -> (prepare -> commit | abort)* -> drain -> stop
 */
struct dcm_lifecycle {
	uint32_t size;
	/*
	 * Takes what needs privilege (descriptors, BPF), checks what the table could not. host and
	 * config outlive the instance. On failure nothing is left behind and stop() is not called.
	 * In a reload the instance that this one replaces may still run: -EBUSY or -EADDRINUSE when
	 * it has what only one can have, and open() comes again after its stop().
	 */
	int (*open)(const struct dcm_host *host, const void *config, void **ret_instance,
		    struct dcm_error *err);
	/* Begins the work: threads start here. On failure stop() follows. */
	int (*start)(void *instance, struct dcm_error *err);
	/*
	 * Gets ready for a new configuration without disturbing the old one and without taking
	 * anything exclusive. -EBUSY with a sentence that names the key: needs a restart. NULL: the
	 * host restarts the instance instead.
	 */
	int (*prepare)(void *instance, const void *config, void **ret_change, struct dcm_error *err);
	void (*commit)(void *instance, void *change); /* cannot fail */
	void (*abort)(void *instance, void *change);
	/*
	 * Hands on what is held, before the deadline; what cannot be handed on goes through
	 * host->drop(). An error is logged, and stop() follows all the same. NULL: nothing is held.
	 */
	int (*drain)(void *instance, int64_t deadline_mono_ns);
	/* Ends every thread and frees the instance; no call from or to it follows. */
	void (*stop)(void *instance);
	/*
	 * Optional, before open() or without it (`decima check`): looks whether this machine lets
	 * the plugin work with that configuration, and reports each finding with its one remedy.
	 * Changes nothing, and takes nothing for longer than a look. On the main thread of a
	 * program that has no other, with the rights that open() will have.
	 */
	void (*preflight)(const struct dcm_host *host, const void *config, dcm_report_fn report,
			  void *ctx);
};

struct dcm_input_ops {
	uint32_t size;
	/*
	 * On the host's scheduler thread, each `interval_ns` after the last ended. Returns 0 or an
	 * error to be logged.
	 */
	int (*collect)(void *instance, struct dcm_error *err);
	int64_t (*interval_ns)(void *instance); /* on the same thread; may change */
	/*
	 * Symbol source: from the thread of the input that saw the process. Must not block on
	 * anything but files.
	 */
	void (*process)(void *instance, enum dcm_process_event event, const struct dcm_process *process);
	/*
	 * Names runtime addresses of a process: calls `each` for those it knows. Returns 0, or
	 * -ENOENT when it knows nothing of that process; *ret_why says why the others have no name.
	 * Any thread, several at once.
	 */
	int (*resolve)(void *instance, const struct dcm_process *process, const uint64_t *addresses,
		       uint32_t n, dcm_symbol_fn each, void *ctx, enum dcm_unnamed *ret_why);
};

/*
 * Any thread calls any of these, several at once, except write (one thread at a time). retain,
 * remove, maintain, backup and check may be NULL: the host then refuses what needs them.
 */
struct dcm_storage_ops {
	uint32_t size;
	/*
	 * All of a batch or nothing of it. Takes its own references. `done` is called once, from
	 * any thread, perhaps before write returns, when the batches are as durable as this store
	 * makes them. -EAGAIN: later; -ENOSPC and -EIO: the store refuses until it has recovered;
	 * another: these batches can never be stored (so a store that lacks memory says -EAGAIN).
	 * After an error `done` is not called, and none of the batches is stored. A batch id seen
	 * before, also in the same call, is acknowledged and not stored again.
	 */
	int (*write)(void *instance, struct dcm_batch *const *batches, uint32_t n, dcm_done_fn done,
		     void *ctx, struct dcm_error *err);

	/* Lists; each sorted by text, each entry once. `type` of the selection may be empty. */
	int (*types)(void *instance, const struct dcm_select *sel, dcm_type_fn each, void *ctx,
		     struct dcm_error *err);
	int (*labels)(void *instance, const struct dcm_select *sel, dcm_name_fn each, void *ctx,
		      struct dcm_error *err);
	int (*values)(void *instance, const struct dcm_select *sel, struct dcm_str name,
		      dcm_name_fn each, void *ctx, struct dcm_error *err);
	int (*series)(void *instance, const struct dcm_select *sel, dcm_series_fn each, void *ctx,
		      struct dcm_error *err);

	/*
	 * Sums per step and group; step_ms 0: a point per profile time. Groups come sorted by their
	 * values. Values are made of totals as merge makes them of stacks; gauges are divided by
	 * the number of profiles in the step.
	 */
	int (*time_series)(void *instance, const struct dcm_select *sel, int64_t step_ms,
			   const struct dcm_group_by *by, dcm_points_fn each, void *ctx,
			   struct dcm_error *err);
	/*
	 * Adds up stacks over [n_sel] selections at once (two make a diff) and writes the answer
	 * into the builder: one profile for each group that has rows, with the group's labels as
	 * series and one value per selection in each row (types as selected, time = the smallest
	 * from; of the first selection's profiles that count in the group: duration = their sum,
	 * period = theirs when it is one, else 0). Delta: sum. Gauge: per series the sum over its
	 * profiles in range divided by their number (of all of the series and type, whether a row
	 * of theirs matches or not), in fixed point with 20 fractional bits rounded to nearest,
	 * then the sum over series, rounded half up. Cumulative: per series the sum of increases
	 * over the profile before it (outside the range too), (stack, label set) by (stack, label
	 * set), 0 where one has none; when any decreased, whether it matches or not, it is a reset
	 * and the profile counts whole; the first profile of a series counts nothing. Sums that
	 * leave 64 bits are held at the limit. Rows whose values are all 0 are left out; equal
	 * stacks may come in several rows.
	 */
	int (*merge)(void *instance, const struct dcm_select *sel, uint32_t n_sel,
		     const struct dcm_group_by *by, const struct dcm_host *host,
		     struct dcm_builder *answer, struct dcm_error *err);

	/*
	 * Removes what starts before cutoff_ms, then the oldest until the store is within max_bytes
	 * (0: no bound).
	 */
	int (*retain)(void *instance, int64_t cutoff_ms, uint64_t max_bytes,
		      uint64_t *ret_n_profiles, struct dcm_error *err);
	/*
	 * Removes the rows that match, and profiles of which none is left; counts the profiles that
	 * lost something.
	 */
	int (*remove)(void *instance, const struct dcm_select *sel, uint64_t *ret_n_profiles,
		      struct dcm_error *err);
	/* Housekeeping for about that long; the host calls it when idle. */
	int (*maintain)(void *instance, int64_t budget_ns, struct dcm_error *err);
	/*
	 * A copy that open() accepts as the store's directory; `dir` is made and must not exist. On
	 * failure nothing of it is left.
	 */
	int (*backup)(void *instance, const char *dir, struct dcm_error *err);
	/* Looks for damage and reports each finding; 0 when there is none, -EUCLEAN otherwise. */
	int (*check)(void *instance, dcm_report_fn report, void *ctx, struct dcm_error *err);
	/* At once, from numbers that are kept: waits for no question. */
	void (*stat)(void *instance, struct dcm_store_stat *ret);

	/*
	 * Is there a store of this kind in the directory? 1, 0, or a negative errno when it cannot
	 * tell. Without an instance; opens nothing for long, and changes nothing. Commands with
	 * --data DIR look for the plugin this way, and then open an instance with the options path:
	 * DIR and, where the plugin has that one, read_only: true. NULL: none of its stores is a
	 * directory. On the main thread, before any open().
	 */
	int (*recognises)(const char *dir);
};

struct dcm_output_ops {
	uint32_t size;
	/*
	 * On the output's own writer thread, one batch at a time, until the deadline. 0: done;
	 * -EAGAIN: keep it and try again later; another: give up (the host counts it). NULL: a
	 * frontend, which gets no batches.
	 */
	int (*write)(void *instance, struct dcm_batch *batch, int64_t deadline_mono_ns,
		     struct dcm_error *err);
};

enum dcm_kind { DCM_INPUT, DCM_STORAGE, DCM_OUTPUT };

enum dcm_cap {
	DCM_CAP_NAMED = 1, /* output: batches come as host->resolved() would make them */
	/*
	 * input: open() needs rights. It is called before the process gives them up, starts no
	 * thread, and what it needs later it asks the host for.
	 */
	DCM_CAP_RIGHTS = 2,
};

struct dcm_plugin {
	uint32_t size;
	uint32_t magic; /* DCM_ABI_MAGIC */
	uint16_t abi_major, abi_minor;
	uint32_t kind;	     /* enum dcm_kind */
	uint64_t caps;	     /* enum dcm_cap */
	const char *name;    /* as in YAML; KIND_NAME.so is the file's name */
	const char *version; /* of the plugin, free text */
	const char *summary; /* one sentence */
	const struct dcm_table *options;
	const struct dcm_lifecycle *lifecycle;
	const struct dcm_input_ops *input; /* the one that `kind` names; the others are NULL */
	const struct dcm_storage_ops *storage;
	const struct dcm_output_ops *output;
};

#define DCM_PLUGIN_HEAD                                                                            \
	.size = sizeof(struct dcm_plugin), .magic = DCM_ABI_MAGIC, .abi_major = DCM_ABI_MAJOR,     \
	.abi_minor = DCM_ABI_MINOR

/* The one exported symbol. The same pointer at every call; any thread. */
#define DCM_ENTRY_SYMBOL "dcm_plugin_entry"
__attribute__((visibility("default"))) const struct dcm_plugin *dcm_plugin_entry(void);

#ifdef __cplusplus
}
#endif

#endif
