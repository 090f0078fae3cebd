/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/symbols.h - the symbol store: which function lies at (build id, address)
 *
 * Inputs offer files while they can be opened; a worker thread reads them, in the order in which
 * they came, into reduced tables that are kept least-recently-used within `table_bytes`. What was
 * asked for once is remembered beside them within `learned_bytes`, so that a name outlives its
 * table. A sealed batch is never changed: naming makes an overlay. Kernel symbols come from
 * /proc/kallsyms, read at first use and again when the modules change.
 *
 * Files with debug information stay open (max_sources), so that lines and inlined functions can be
 * asked of them for the addresses that were sampled; so do separate debuginfo files, which are
 * found by build id and by link.
 *
 * With store_dir, what is read is also reduced and kept on disk by build id (depot.h), what is
 * resolved is written down beside it (scribe.h), and a build id that is asked for and was never
 * offered is looked up there: names outlive the file, and the process.
 *
 * A file that has no build id is known by a stand-in that its input makes from the file's identity,
 * '~' and 16 hex digits; the store treats it like any other.
 *
 * Any thread may call anything but new and free. Lock order: none nests.
 */
#ifndef DECIMA_SYMBOLIZE_SYMBOLS_H
#define DECIMA_SYMBOLIZE_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "core/broker/broker.h"
#include "core/symbolize/elf.h"

struct symbols;

/* A request of frames.h and its files, to be answered elsewhere. */
struct symbols_frames_call {
	const uint8_t *request; /* [n] */
	size_t n;
	const int *fds; /* [n_fds], borrowed */
	uint32_t n_fds;
	int64_t timeout_ns;	 /* who has not answered by then is to be killed */
	bool (*stop)(void *ctx); /* the store ends: who has not answered is to be killed now */
	void *stop_ctx;
};
/*
 * Appends the answer. -EAGAIN: nobody can be asked just now; -ECANCELED: stopped; any other error
 * counts against the file: after three of -ETIMEDOUT, and after one of any other, it is done.
 */
typedef int (*symbols_frames_fn)(void *ctx, const struct symbols_frames_call *call,
				 struct buf *ret_answer);

/* One URL, whose content goes into the file. */
struct symbols_fetch {
	const char *url;
	int fd; /* borrowed: empty, at its start */
	bool (*stop)(void *ctx);
	void *stop_ctx;
};
/* -ENOENT: the server does not have it; any other error: it could not be asked. */
typedef int (*symbols_fetch_fn)(void *ctx, const struct symbols_fetch *fetch);

/* One file, which is to be reduced (extract.h) into another. */
struct symbols_reduction {
	int in_fd, out_fd;    /* borrowed; out is empty */
	const char *build_id; /* of a file without one, as extract__file_as() has it; NULL: none */
	int64_t timeout_ns;
	bool (*stop)(void *ctx); /* as above; may be NULL */
	void *stop_ctx;
};
/* 0, -ENODATA (nothing in it is worth keeping), -ETIMEDOUT, -ECANCELED, or another failure. */
typedef int (*symbols_reduce_fn)(void *ctx, const struct symbols_reduction *reduction);

/* Zero means the default. */
struct symbols_config {
	uint64_t table_bytes;	       /* of all tables; 64 MiB */
	uint64_t learned_bytes;	       /* of remembered names; 32 MiB */
	uint64_t queue_bytes;	       /* of batches that wait to be learned; 64 MiB */
	uint32_t max_files;	       /* open descriptors that wait to be read; 256 */
	uint32_t max_sources;	       /* files that stay open for lines; 128 */
	const char *const *debug_dirs; /* [n_debug_dirs] with separate debuginfo; kept, not copied */
	uint32_t n_debug_dirs;
	const char *const *debuginfod; /* [n_debuginfod] URLs of servers; kept; none: nobody is asked */
	uint32_t n_debuginfod;
	const char *debuginfod_dir; /* where what they have is put, searched after debug_dirs; kept */
	uint64_t debuginfod_bytes; /* of that directory; 2 GiB */
	/* Until servers that failed are asked again, doubled with each time up to 64-fold; 1 min. */
	int64_t debuginfod_retry_ns;
	const char *store_dir; /* reduced files are kept there, by build id; NULL: nowhere; copied */
	bool store_read_only;  /* and names are taken from there, but nothing is put */
	uint64_t store_bytes;  /* of that directory; 1 GiB */
	int64_t store_age_ns;  /* since the last use of a file; 0: no bound */
	symbols_reduce_fn reduce; /* one thread at a time, uploads', and symbols__provide()'s; NULL: in the calling thread */
	void *reduce_ctx;
	symbols_fetch_fn fetch; /* on a thread of its own; not NULL when there are servers */
	void *fetch_ctx;
	const char *temporary_dir; /* for what symbols__provide() makes; kept; NULL: TMPDIR */
	bool no_files;		   /* what is offered is not read: names are made elsewhere */
	bool lines, inlines;	   /* ask for these; off by default */
	int64_t frames_timeout_ns; /* of one request for lines; 5 s */
	uint64_t frames_bytes;	   /* of debug sections of one file, decompressed; 1 GiB */
	symbols_frames_fn frames; /* any thread, several at once; NULL: asked in the calling thread */
	void *frames_ctx;
	const char *kallsyms_path, *modules_path; /* /proc/kallsyms, /proc/modules; kept, not copied */
	/*
	 * Opens /proc/kallsyms in the place of the path, and files at paths that processes and
	 * files name; kept; may be NULL.
	 */
	struct broker *broker;
	const struct clock *clock; /* the machine's; kept */
};

/* Starts the worker. NULL config: all defaults. */
int symbols__new(const struct symbols_config *config, struct symbols **ret_symbols,
		 struct dcm_error *err);
/* Ends the worker (what waits is dropped). Strings that symbols__kernel() gave die here. */
void symbols__free(struct symbols *s);
DEFINE_CLEANUP(struct symbols *, symbols__free);

/*
 * Offers the file behind a build id. path, as its process sees it, is where a debug link starts. fd
 * is borrowed: the store duplicates it, so the process may end at once. Cheap when the id is known.
 * Beyond max_files that wait (or descriptors the system gives) the file is read here and now
 * instead, in the caller's time, so that nothing is lost. An empty build id is ignored. Of several
 * files with one build id the one that tells most is kept: a stripped one gives way to one with
 * symbols. Each is read once, and at most four of an id; the first one's owner and root say what
 * an id's names are, others do not.
 */
void symbols__offer(struct symbols *s, struct dcm_str build_id, struct dcm_str path, int fd);

struct symbols_upload {
	int fd;			 /* borrowed, at any offset */
	const char *build_id;	 /* that it is said to have; NULL: nobody said one */
	bool is_assigned;	 /* ... and has, if it has none: it is known by a hash */
	bool replace;		 /* in the place of what is kept, whatever that tells */
	bool (*stop)(void *ctx); /* nobody waits for it any more; may be NULL */
	void *stop_ctx;
};
enum symbols_upload_fate { SYMBOLS_UPLOAD_STORED, SYMBOLS_UPLOAD_KNOWN, SYMBOLS_UPLOAD_REPLACED };
struct symbols_uploaded {
	enum symbols_upload_fate fate; /* KNOWN: what is kept says the same */
	char build_id[ELF_BUILD_ID_TEXT];
	bool functions, lines; /* what the file tells */
	uint64_t bytes;	       /* of the reduced file */
};
/*
 * Takes a file that a stranger sent, a program or its separate debuginfo, into store_dir, and names
 * with it what is asked for from now on. What parses it first is `reduce`. In the caller's time,
 * which may be seconds; one after the other. What is kept gives way to a file that tells more
 * and, where both have symbols, names the same; before any other it keeps its place, unless
 * `replace` says otherwise: then what was learned from it is forgotten, too.
 * 0, or -ENOEXEC (no ELF file that can be read), -EINVAL (neither a program nor a library),
 * -ENODATA (no build id), -ENXIO (another one than was said), -ENOMSG (nothing in it names an
 * address), -EEXIST (what is kept keeps its place), -EROFS and -ENOTSUP (nothing is kept here), -ETIMEDOUT, -ECANCELED, -ENOMEM,
 * or of reducing and writing. err has the sentence.
 */
int symbols__upload(struct symbols *s, const struct symbols_upload *upload,
		    struct symbols_uploaded *ret, struct dcm_error *err);

/* What names the addresses of a build id, to be sent to somebody. */
struct symbols_wish {
	struct dcm_str build_id;
	struct dcm_str path;	 /* of its file, where it is known; or "" */
	uint64_t max_bytes;	 /* of the reduced file; 0: no bound of its own */
	bool (*stop)(void *ctx); /* nobody waits for it any more; may be NULL */
	void *stop_ctx;
};
struct symbols_provided {
	int fd; /* the caller's: read with pread */
	uint64_t bytes;
};
/*
 * A reduced file: what is kept, or made of the file that was offered or lies at `path`, or of its separate
 * debuginfo. In the caller's time, which may be seconds. Works without store_dir, and with no_files. 0; -ENOENT
 * (no such file is to be had), -ENODATA (nothing in it names an address), -EFBIG, -ENOEXEC, -ETIMEDOUT, -ECANCELED,
 * -EAGAIN, -ENOMEM, or of reducing. err has the sentence.
 */
int symbols__provide(struct symbols *s, const struct symbols_wish *wish,
		     struct symbols_provided *ret, struct dcm_error *err);
/* Files that are offered from now on stay open a while for symbols__provide(); as often false as true. */
void symbols__want_files(struct symbols *s, bool wanted);

/*
 * What the files that are kept of a build id tell: SYMBOLS_KEPT_LINES or 0 beside functions. -ENOENT:
 * none is kept, or it is no build id; -ENOTSUP: nothing is kept here. Looks on the disk.
 */
enum { SYMBOLS_KEPT_LINES = 1 };
int symbols__kept(struct symbols *s, const char *build_id);

/*
 * Copies what is kept in store_dir into a directory, which is made: a store_dir of its own. In the
 * caller's time, beside everything else. 0 (also when nothing is kept here), or of the disk.
 */
int symbols__backup(struct symbols *s, const char *dir, struct dcm_error *err);

/*
 * Remembers the names of a batch's locations once the files offered before are read. Takes a
 * reference; never waits.
 */
void symbols__learn(struct symbols *s, struct dcm_batch *batch);

/*
 * An overlay in which every location that can be named has a line, and every other one says why not
 * (`unnamed`). Waits for files that are still in the queue, at most wait_ns (0: not at all). The
 * caller unrefs the batch, which may be the same one with another reference when there was nothing
 * to name.
 */
int symbols__resolve(struct symbols *s, struct dcm_batch *batch, int64_t wait_ns,
		     struct dcm_batch **ret_batch, struct dcm_error *err);

/*
 * The kernel's function at an absolute address; texts live until symbols__free(). module is "" for
 * the kernel itself. 0, -ENOENT, -EACCES (no addresses are shown to us), -ENOMEM.
 */
int symbols__kernel(struct symbols *s, uint64_t address, struct dcm_str *ret_name,
		    struct dcm_str *ret_module);

/*
 * What is written for a location without a name, into out[cap] (cap > 0, NUL-terminated); returns
 * its length: "libfoo.so+0x1234", "[vdso]+0x12", "[anon]+0x12", "[kernel]+0xffffffff81000000",
 * "[name]+0x.." of a module.
 */
uint32_t symbols__fallback_name(const struct dcm_batch *batch, uint32_t location, char *out, size_t cap);
/* The part of it before the address. Lives as long as the batch. */
struct dcm_str symbols__place(const struct dcm_batch *batch, uint32_t location);

/* A sentence for people: why there is no name, and what would help. Never NULL. */
const char *symbols__why(enum dcm_unnamed why);

/*
 * The same into out[cap] (cap > 0, NUL-terminated), with the build id in the place of "its build
 * id" where it says so; returns the length.
 */
uint32_t symbols__why_of(enum dcm_unnamed why, struct dcm_str build_id, char *out, size_t cap);

/* Counters count up from the start; the others are of now. */
struct symbols_stat {
	uint64_t lookups, hits, misses;			 /* of addresses; lookups = hits + misses */
	uint64_t learned_hits;				 /* hits that no table was needed for */
	uint64_t files_offered, files_read, files_known; /* known: offers of an id that was there */
	uint64_t files_inline;				 /* read in the offering thread */
	uint64_t files_dropped;				 /* offers lost: out of memory */
	uint64_t files_bad, files_unreadable, files_too_large, files_no_memory; /* read with an error */
	uint64_t tables_evicted;
	uint64_t batches_learned, batches_not_learned; /* not: the queue was full */
	uint64_t waits_timed_out;
	uint64_t debuginfo_found,
		debuginfo_missing;     /* of files that have no symbols or no lines of their own */
	uint64_t debuginfo_unanswered; /* where it may be, nobody answered; looked for again */
	uint64_t debuginfod_asked, debuginfod_found, debuginfod_failed; /* failed: not "has none" */
	uint64_t debuginfod_dropped;					/* too many waited */
	uint64_t frames_asked;	  /* addresses that lines were asked for */
	uint64_t frames_given_up; /* files that are asked no more */
	uint64_t kallsyms_loads, kallsyms_errors;
	uint64_t table_bytes, learned_bytes, kallsyms_bytes;
	uint32_t n_tables, n_files, n_queued, n_sources;
	/* The files that are kept in store_dir. */
	uint64_t store_bytes, store_files, store_put, store_evicted, store_expired, store_set_aside;
	uint64_t store_failed, store_dropped; /* not kept: could not be reduced or written; too many waited */
	uint64_t store_waiting;
	/* What was resolved and is written down there: logs, one for each build id; addresses. */
	uint64_t store_logs, names_written;
	uint64_t names_dropped; /* addresses not written: too many waited, or their log is full */
	uint64_t names_damaged_bytes;
	char store_state[256]; /* why nothing new is kept; "": all is well, or there is no store_dir */
};
void symbols__stat(struct symbols *s, struct symbols_stat *ret);

#endif
