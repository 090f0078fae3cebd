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
 * This is the one header to include. It brings base.h (texts, hashes, errors), options.h (what an option's row says),
 * batch.h (what moves), query.h (what a storage is asked), http.h (asking other servers) and serve.h (being asked).
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
 *   2.0  the first one with host->stack_hash(), where 1.x had the hashes in every batch
 *   2.1  host->request_waits(); dcm_request.peer; dcm_http_call.keeps_method; dcm_decode.likely_version, dcm_found.version: OTLP whose bytes do not tell is what its sender's was before
 *   2.2  dcm_output_ops.write_group(): batches that wait go together
 *   3.0  dcm_http_oauth2.grant and .assertion, in a struct that stands in those of plugins; DCM_OPT_JSON;
 *        write_group() says how many batches are done
 *   3.1  dcm_storage_ops.check_within(): a check that tells how far it has come, and can be ended
 *   3.2  dcm_store_stat.retention_ms, .max_bytes: how long and how much a store keeps
 *   3.3  dcm_table.absent, .absent_means: keys of other programs' files for what nobody does here
 *   3.4  dcm_page.flags: a page that was packed when the plugin was built
 */
#ifndef DECIMA_PLUGIN_H
#define DECIMA_PLUGIN_H

#include <decima/base.h>
#include <decima/batch.h>
#include <decima/http.h>
#include <decima/options.h>
#include <decima/query.h>
#include <decima/serve.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DCM_ABI_MAGIC 0x414d4344u /* "DCMA" */
#define DCM_ABI_MAJOR 3
#define DCM_ABI_MINOR 4

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

enum dcm_metric_kind {
	DCM_COUNTER,
	DCM_GAUGE_METRIC,
	DCM_SECONDS, /* a histogram of times: metric_add() notes one, of nanoseconds */
};

enum dcm_process_event { DCM_PROCESS_SEEN, DCM_PROCESS_EXEC, DCM_PROCESS_EXIT };

/*
 * Called once: status 0 when every store that must have the batch has made it durable, or a
 * negative errno; -EFBIG: it is too large for all of them, smaller ones are not; -EMSGSIZE: for some, and others have it. On whichever thread learns it (the router's, a writer's, one of a store's own):
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

/* dcm_page.flags: data is the page as gzip, of at most 16 MiB when unpacked; else the host packs it, at each start. */
#define DCM_PAGE_GZIP 1u

/* A file that browsers may load: host->page(). */
struct dcm_page {
	uint32_t size;
	const char *path; /* "/app-1a2b.js"; "/" also answers paths of one segment that nobody else does */
	const char *type;    /* Content-Type */
	const uint8_t *data; /* [n], at most 16 MiB */
	size_t n;
	const char *headers; /* further ones, "Name: value\r\n" each; NULL: none */
	bool immutable; /* the path changes with the content: browsers may keep it for a year */
	uint64_t flags; /* DCM_PAGE_GZIP; not behind `immutable`, where older plugins have whatever is there */
};

/* Does the batch get an id that the same bytes, labels, name, measure and time always have, so that a store knows a retry? */
enum dcm_identity {
	DCM_IDENTITY_NONE, /* the instance's next one, as what it builds; so below, where it is not otherwise */
	DCM_IDENTITY_TIMED, /* if all its profiles say their time: else the same may be meant to come again */
	DCM_IDENTITY_ALWAYS, /* if one does not, the caller's time tells it from others */
};

struct dcm_temporality_of {
	struct dcm_str sample_type;
	uint32_t temporality; /* enum dcm_temporality */
};

/* What became of the session that a message was of. */
enum dcm_session_fate {
	DCM_SESSION_NONE, /* it was a batch on its own */
	DCM_SESSION_KEPT, /* the next message of it can be read */
	DCM_SESSION_UNKEPT, /* there is no room for it: batches should come on their own for a while */
};

/* What there is to say of bytes that were decoded all the same: dcm_decode.found. The caller sets the size. */
struct dcm_found {
	uint32_t size;
	const char *old_version; /* of the format, where it is an old one that was told by the bytes; static; else NULL */
	uint64_t n_refused;	  /* profiles that were left out */
	struct dcm_error refusal; /* why the first was */
	uint32_t session;	  /* enum dcm_session_fate */
	/*
	 * The label "bytes" is what an object of the stack has in the mean, so that it changes with its values and tells
	 * no two rows apart: heap profiles of gperftools and jemalloc.
	 */
	bool has_mean_sizes;
	/* Of OTLP: the version as which it was read, static; NULL: another format. And whether the bytes told it, or nothing did. */
	const char *version;
	bool is_version_told;
};

/*
 * Batches to one receiver in which nothing is said twice, and what a receiver keeps of those that come to it:
 * docs/FORMATS.md, format `session`.
 */
struct dcm_session;
struct dcm_sessions;

/* How bytes are decoded: host->decode_as(). What is zero is found out from them. */
struct dcm_decode {
	uint32_t size;
	const char *format;		     /* as decode() has it; NULL: found out */
	struct dcm_str name;		     /* first part of the types */
	const struct dcm_label_text *labels; /* [n_labels]: the series; empty values are left out */
	uint32_t n_labels;
	int64_t time_ns;    /* start of a profile that does not say its own */
	uint64_t max_bytes; /* of the bytes, unpacked; 0: 256 MiB */
	/* [n_temporalities]: sample types of which it is known, whatever the bytes say. */
	const struct dcm_temporality_of *temporalities;
	uint32_t n_temporalities;
	uint32_t identity; /* enum dcm_identity */
	/*
	 * What the numbers of "folded" and "lines" are, as a whole type, which then is the name too; "":
	 * samples. Each times `scale` (0: 1) is the value.
	 */
	struct dcm_str measure;
	int64_t scale, period, duration_ns;
	struct dcm_found *found;       /* filled in on success; may be NULL */
	struct dcm_sessions *sessions; /* "batch" reads messages of sessions, too; NULL: batches alone */
	/*
	 * "pprof": what the function at an address of the process is called, as in its symbol table, for each address
	 * without a name; "": nobody knows. On the caller's thread; the text is looked at until the next call. NULL: not asked.
	 */
	struct dcm_str (*name_of)(void *ctx, uint64_t address);
	void *name_ctx;
	const char *likely_version; /* "otlp": what it is where its bytes do not tell, as the found version of others; NULL: the newest */
};

/* A profile with other values, types and times, made of one of a batch: host->revalued(). */
struct dcm_revalue {
	uint32_t size;
	uint32_t profile;	     /* the one that it is made of */
	uint32_t columns;	     /* bit i: its type i stays; at least one does */
	const uint32_t *temporality; /* [number of types that stay], enum dcm_temporality */
	/* [its rows * number of types that stay], as in a batch; rows of nothing but 0 are left out */
	const int64_t *values;
	int64_t time_ns, duration_ns;
};

/* What host->debuginfo() is asked for. */
struct dcm_debuginfo {
	uint32_t size;
	struct dcm_str build_id, path; /* as struct dcm_mapping has them */
	uint64_t max_bytes;	       /* of the reduced file; 0: no bound of the plugin's */
	bool (*stop)(void *ctx);       /* asked at intervals: true ends it. May be NULL */
	void *stop_ctx;
};

struct dcm_rules; /* compiled relabelling: the host's */

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
	 * NAME gets the prefix "decima_" and the label instance. Asked for again it is the same. NULL when memory or the room
	 * for metrics ran out, which the others accept. metric_add() is for counters, metric_set() for gauges.
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
	 * all the same). 0: every storage, and every spool, has it; -ENODEV: nobody here keeps batches;
	 * -E2BIG: rules made the labels of a series too many; -EFBIG, -EMSGSIZE: too large for each queue, for one; or of
	 * the storage.
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
	/*
	 * "pprof", "folded", "speedscope", "batch", "lines", "push.v1", "push.v1.json", "writeraw", "otlp" and, of
	 * development version 1 for sure, "otlp.1"; bytes from anyone: bounded, checked.
	 */
	int (*decode)(const struct dcm_host *host, const char *format, const uint8_t *data,
		      size_t n, struct dcm_batch **ret_batch, struct dcm_error *err);

	/* --- matching --- */
	bool (*regex_matches)(const struct dcm_regex *regex, struct dcm_str text);

	/* --- files --- */
	/* Makes data_dir (mode 0700) when it is not there. */
	int (*data_dir_make)(const struct dcm_host *host, struct dcm_error *err);

	/* --- clients --- */
	/*
	 * Asks a server; 0 when it answered, with whatever status. Blocks until the timeout: for
	 * threads of the plugin's own, and none that stop() waits for longer than that. Proxies of
	 * the environment are not used.
	 */
	int (*http_get)(const struct dcm_host *host, const struct dcm_http_request *request,
			struct dcm_http_answer *ret, struct dcm_error *err);

	/* --- rights: the process may have given its own up after open(); any thread --- */
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

	/* --- building batches of stacks that are known to differ; as add_stack() --- */
	/*
	 * Appends stacks [n], one behind the other in `locations`, of n_locations[i] frames each,
	 * and returns the first one's id: the others follow. They are neither looked up nor found
	 * by later adds, which is most of what add_stack() costs. So this is for stores, which keep
	 * each stack once; stacks that are equal all the same get an id each, and readers add up
	 * what their rows say.
	 */
	uint32_t (*add_stacks)(struct dcm_builder *b, const uint32_t *locations,
			       const uint32_t *n_locations, uint32_t n);

	/* --- mapped files; any thread --- */
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

	/* --- matching --- */
	/*
	 * Compiles a matcher's pattern, for who keeps matchers longer than a call. 0, -EINVAL,
	 * -EFBIG, -ENOMEM.
	 */
	int (*regex_new)(const struct dcm_host *host, struct dcm_str pattern,
			 struct dcm_regex **ret_regex, struct dcm_error *err);
	void (*regex_free)(struct dcm_regex *regex); /* NULL is fine */

	/* --- pages --- */
	/*
	 * Offers a file at the server's addresses until the instance stops, to everybody who reaches
	 * them, with or without a token. In start(); what it points to is copied. 0; -EINVAL;
	 * -EEXIST: another instance has that path; -ENOTSUP: nobody serves here; -ENOMEM.
	 */
	int (*page)(const struct dcm_host *host, const struct dcm_page *page, struct dcm_error *err);

	/* --- many calls at once: http.h --- */
	/*
	 * -EINVAL: the options contradict themselves, or a file of tls_config cannot be used; files of secrets
	 * are read at calls. The options are copied. To be freed in the instance's stop() at the latest.
	 */
	int (*http_client_new)(const struct dcm_host *host, const struct dcm_http_options *options,
			       struct dcm_http_client **ret, struct dcm_error *err);
	/*
	 * Its calls that are under way are done, with -ECANCELED, when this returns. NULL is fine. Not
	 * from a callback.
	 */
	void (*http_client_free)(struct dcm_http_client *client);
	/*
	 * Begins a call: `take` and `done` come on the host's client thread, where nobody may wait for
	 * anything; they may start and cancel other calls. 0 and *ret_id (never 0; ret_id may be NULL), or
	 * -ENOMEM, -EINVAL (a URL that cannot be asked), -ESHUTDOWN (the instance is about to be stopped; its
	 * calls have ended with -ECANCELED): then no callback follows.
	 */
	int (*http_start)(struct dcm_http_client *client, const struct dcm_http_call *call,
			  uint64_t *ret_id, struct dcm_error *err);
	/* done() follows soon, with -ECANCELED, unless it came already. Never waits. */
	void (*http_cancel)(struct dcm_http_client *client, uint64_t id);

	/* --- labels outside a batch; any thread --- */
	/* Compiles relabelling rules: struct dcm_relabel_rule [n]. -EINVAL names the rule; -ENOMEM. */
	int (*rules_new)(const struct dcm_host *host, const struct dcm_relabel_rule *rules,
			 uint32_t n, struct dcm_rules **ret, struct dcm_error *err);
	void (*rules_free)(struct dcm_rules *rules); /* NULL is fine */
	/*
	 * Runs them over labels [n] of different names, none of them empty. 1: kept; `each` is called once with
	 * what came out, sorted by name. 0: a rule dropped it. -EFBIG: the rules make too much, or a regex
	 * takes too much; -ENOMEM.
	 */
	int (*rules_run)(const struct dcm_rules *rules, const struct dcm_label_text *labels,
			 uint32_t n, dcm_series_fn each, void *ctx);

	/* --- formats --- */
	/* decode() with what the bytes do not say. */
	int (*decode_as)(const struct dcm_host *host, const struct dcm_decode *how, const uint8_t *data,
			 size_t n, struct dcm_batch **ret_batch, struct dcm_error *err);
	/*
	 * A batch of profiles with other values, in the order of the changes [n]: a profile of the batch
	 * may become several, or none. What stays the same is shared with it, and it has the batch's id.
	 * -EINVAL: a change that cannot be; -ENOMEM. The caller unrefs the result.
	 */
	int (*revalued)(const struct dcm_host *host, struct dcm_batch *batch,
			const struct dcm_revalue *changes, uint32_t n, struct dcm_batch **ret_batch,
			struct dcm_error *err);

	/* --- being asked: serve.h --- */
	/*
	 * Offers an endpoint until the instance is stopped: then requests that are inside may end before the
	 * deadline, and are cancelled. In start(); what it points to is copied, but `ctx`. 0; -EINVAL; -EEXIST:
	 * somebody answers there already; -ENOTSUP: nobody serves here; -ENOMEM.
	 */
	int (*serve)(const struct dcm_host *host, const struct dcm_endpoint *endpoint,
		     struct dcm_error *err);
	/* The whole reply, instead of what was put before: its type, and bytes [n], which are copied. */
	void (*reply_put)(struct dcm_reply *reply, int status, const char *type, const void *data,
			  size_t n);
	/* A further header. */
	void (*reply_header)(struct dcm_reply *reply, const char *name, const char *value);
	/* The whole reply: a refusal as RFC 9457 has it. */
	void (*reply_problem)(struct dcm_reply *reply, int status, const char *fmt, ...)
		__attribute__((format(printf, 3, 4)));

	/*
	 * The batch with these labels [n] on each series, in place of what it has by their names: for what the caller's
	 * token says (dcm_request.labels). It has another id where that changes it, the same for the same batch and labels.
	 * -E2BIG: a series would have too many; -ENOMEM. The caller unrefs the result. Any thread.
	 */
	int (*labelled)(const struct dcm_host *host, struct dcm_batch *batch,
			const struct dcm_label_text *labels, uint32_t n,
			struct dcm_batch **ret_batch, struct dcm_error *err);

	/* --- debuginfo --- */
	/*
	 * What names the addresses of a build id (symbols, lines), reduced, as an ELF file that may be sent: 0 and a
	 * descriptor that is the caller's, to be read with pread, with its bytes. Blocks, for seconds at times: for threads
	 * of the plugin's own. -ENOENT (no file of it is to be had), -ENODATA (nothing in it names an address),
	 * -EFBIG, -ENOEXEC (it is damaged), -ETIMEDOUT, -ECANCELED (`stop`), -EAGAIN, -ENOMEM, -ENOSYS, or of the disk.
	 */
	int (*debuginfo)(const struct dcm_host *host, const struct dcm_debuginfo *wish, int *ret_fd,
			 uint64_t *ret_bytes, struct dcm_error *err);
	/*
	 * Files that inputs offer from now on stay open a while for debuginfo(), which otherwise has what is kept on disk or
	 * can be opened by its path. In open(); once more, with false, in stop().
	 */
	void (*debuginfo_wanted)(const struct dcm_host *host, bool wanted);

	/* --- sessions with another Decima --- */
	/*
	 * The sender's side, for one thread at a time. A message (the caller frees it) holds when the receiver has taken
	 * all before it since session_anew(), after which the next depends on none: whoever does not know whether one was
	 * taken begins anew. -E2BIG: the batch is too large for a session, -ENOMEM; after an error the next one begins anew.
	 */
	int (*session_new)(const struct dcm_host *host, struct dcm_session **ret, struct dcm_error *err);
	void (*session_free)(struct dcm_session *session); /* NULL is fine */
	void (*session_anew)(struct dcm_session *session);
	int (*session_encode)(struct dcm_session *session, const struct dcm_batch *batch,
			      uint8_t **ret_data, size_t *ret_n, struct dcm_error *err);
	/*
	 * The receiver's: keeps so many bytes at most, of all senders; any thread. decode_as() reads messages with it,
	 * format "batch": -ESTALE is for one that does not follow on what is known here, whose sender has to begin anew.
	 */
	int (*sessions_new)(const struct dcm_host *host, uint64_t max_bytes,
			    struct dcm_sessions **ret, struct dcm_error *err);
	void (*sessions_free)(struct dcm_sessions *sessions); /* NULL is fine */
	/* How many are kept, and the memory that they take. */
	void (*sessions_stat)(struct dcm_sessions *sessions, uint32_t *ret_n, uint64_t *ret_bytes);

	/*
	 * The client signs its requests to the first host of each call, as AWS has it. Once, before its first call; what
	 * it is given is copied, and files are read at calls. -EINVAL: something is missing, or the client's options say already
	 * who asks; -ENOTSUP: this machine's libcurl cannot; -ENOMEM.
	 */
	int (*http_client_sign)(struct dcm_http_client *client,
				const struct dcm_http_signature *how, struct dcm_error *err);

	/*
	 * As metric(), with labels of its own [n, at most 7] beside instance. The same name and labels again are the same
	 * metric with one owner more; metric_end() makes it one less (NULL is fine), and the last takes it out of /metrics: no
	 * thread may be using it then. It is for what metric_of() gave; the rest ends with the instance. NULL: no label or more
	 * than 7, a name that is none, comes twice, or is another kind's; 16,384 metrics in all, or 4,096 of one name; no memory.
	 */
	struct dcm_metric *(*metric_of)(const struct dcm_host *host, enum dcm_metric_kind kind,
					const char *name, const char *help,
					const struct dcm_label_text *labels, uint32_t n);
	void (*metric_end)(const struct dcm_host *host, struct dcm_metric *m);

	/*
	 * The content hash of a stack of the batch (docs/FORMATS.md), for who keeps stacks by it: worked out each time, from
	 * location_hashes.
	 */
	struct dcm_hash (*stack_hash)(const struct dcm_host *host, const struct dcm_batch *batch,
				      uint32_t stack);

	/*
	 * From here on answer() only waits, for batches to be stored say, and looks at nothing of the request's body: its memory
	 * goes, and another request is worked on meanwhile. On the thread of answer(), once.
	 */
	void (*request_waits)(const struct dcm_request *request);
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

enum dcm_health {
	DCM_HEALTH_UNKNOWN, /* not asked yet */
	DCM_HEALTH_UP,
	DCM_HEALTH_DOWN, /* the last time it was asked failed, or it cannot be asked (it may have no url then): `error` says why */
	DCM_HEALTH_OFF,	 /* it says itself that it does not have this profile: not an error */
	DCM_HEALTH_DROPPED, /* found, and dropped by relabelling: not asked */
};
/* One thing that an input collects from: an address and a profile of it. Borrowed for the call. */
struct dcm_target {
	uint32_t size;
	uint32_t health; /* enum dcm_health */
	struct dcm_str job, profile, url;
	const struct dcm_label_text *discovered,
		*labels; /* [n_discovered] as it was found, [n_labels] as its profiles have them */
	uint32_t n_discovered, n_labels;
	struct dcm_str error;
	int64_t interval_ns, timeout_ns;
	int64_t last_real_ns;	 /* when it was last asked; 0: never */
	int64_t duration_ns;	 /* of that */
	int64_t next_real_ns;	 /* when it will be asked; 0: never */
	uint64_t bytes, samples; /* of the last answer: as sent; rows */
	uint64_t n_asked, n_failed;
};
/* Not 0 ends the walk. */
typedef int (*dcm_target_fn)(void *ctx, const struct dcm_target *target);

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
	/*
	 * What it collects from, each target once: for /api/v1/targets. Until `each` returns
	 * other than 0. NULL: this machine, or what its state says. Any thread.
	 */
	void (*targets)(void *instance, dcm_target_fn each, void *ctx);
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

	/*
	 * check() within a budget (may be NULL), which is told of progress. -ETIMEDOUT, -ECANCELED: it ended with a
	 * sentence of how far it came, and what was found until then was reported. NULL: check() is called,
	 * which nobody can end. From 3.1 on.
	 */
	int (*check_within)(void *instance, struct dcm_budget *budget, dcm_report_fn report,
			    void *ctx, struct dcm_error *err);
};

/* Batches that write_group() is given at most: so many of one source may come to a store again, with gaps between them. */
enum { DCM_GROUP_MAX = 64 };

struct dcm_output_ops {
	uint32_t size;
	/*
	 * On the output's own writer thread, one batch at a time, until the deadline. 0: done;
	 * -EAGAIN: keep it and try again later; another: give up (the host counts it). NULL: a
	 * frontend, which gets no batches.
	 */
	int (*write)(void *instance, struct dcm_batch *batch, int64_t deadline_mono_ns,
		     struct dcm_error *err);
	/*
	 * On the same thread, after write() has given up on the batch as often as the configuration allows: was
	 * it for one profile alone? 0 and which: the host counts that one as rejected, and keeps it beside what write()
	 * has said of it where there is a spool; write() comes again with the same batch, goes on behind the profile,
	 * and names each at most once. -ENOENT: no, the whole batch goes. NULL: always so.
	 */
	int (*pass_over)(void *instance, struct dcm_batch *batch, uint32_t *ret_profile);
	/*
	 * On the same thread: n batches that wait, 2 to DCM_GROUP_MAX, in their order, as write() is given one. 0: the first *ret_n_done of them, at
	 * least one, are done, and the others come again; it is n unless set. -EAGAIN: all come again, fewer at once; another: each
	 * comes to write() by itself, also one that is done already, and nothing is counted yet. NULL: each always does. From 2.2 on.
	 */
	int (*write_group)(void *instance, struct dcm_batch *const *batches, uint32_t n,
			   uint32_t *ret_n_done, int64_t deadline_mono_ns, struct dcm_error *err);
};

enum dcm_kind { DCM_INPUT, DCM_STORAGE, DCM_OUTPUT };

enum dcm_cap {
	DCM_CAP_NAMED = 1, /* output: batches come as host->resolved() would make them */
	/*
	 * input: open() needs rights. It is called before the process gives them up, starts no
	 * thread, and what it needs later it asks the host for.
	 */
	DCM_CAP_RIGHTS = 2,
	/*
	 * storage, output: writes go to another machine, which may be away. Batches are kept on disk until
	 * write() has taken them, unless the configuration says no.
	 */
	DCM_CAP_REMOTE = 4,
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
