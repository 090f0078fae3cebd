/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/symbol_metrics.c - read when somebody looks, one callback a counter
 */
#include "core/main/symbol_metrics.h"

#include <stdlib.h>

#include "core/base/mem.h"

static const struct row {
	const char *name, *help;
	enum stats_kind kind;
	bool of_workers; /* it is in struct workers_stat, not in struct symbols_stat */
	size_t offset;	 /* of a uint64_t there */
} rows[] = {
#define ROW(kind, field, name, help)                                                               \
	{                                                                                          \
		"decima_symbols_" name, help, kind, false, offsetof(struct symbols_stat, field)    \
	}
#define WORKERS(kind, field, name, help)                                                           \
	{                                                                                          \
		"decima_workers_" name, help, kind, true, offsetof(struct workers_stat, field)     \
	}
	ROW(STATS_COUNTER, hits, "hits_total", "Addresses that were asked for and had a name."),
	ROW(STATS_COUNTER, misses, "misses_total", "Addresses that were asked for and had none."),
	ROW(STATS_COUNTER, files_read, "files_read_total", "Files whose symbols were read."),
	ROW(STATS_COUNTER, files_dropped, "files_dropped_total",
	    "Files that were offered while too many waited, or without memory."),
	ROW(STATS_COUNTER, files_bad, "files_bad_total", "Files that are no ELF files, or damaged ones."),
	ROW(STATS_COUNTER, files_unreadable, "files_unreadable_total", "Files that could not be read."),
	ROW(STATS_COUNTER, files_too_large, "files_too_large_total",
	    "Files whose symbols need more memory than allowed."),
	ROW(STATS_COUNTER, files_no_memory, "files_no_memory_total",
	    "Files for whose symbols memory ran out."),
	ROW(STATS_COUNTER, tables_evicted, "tables_evicted_total",
	    "Symbol tables that made room for others."),
	ROW(STATS_COUNTER, batches_not_learned, "batches_not_learned_total",
	    "Batches whose addresses were not remembered: the queue was full."),
	ROW(STATS_COUNTER, waits_timed_out, "waits_timed_out_total",
	    "Answers that did not wait any longer for files being read."),
	ROW(STATS_COUNTER, debuginfo_found, "debuginfo_found_total",
	    "Files whose separate debug information was found."),
	ROW(STATS_COUNTER, debuginfo_missing, "debuginfo_missing_total",
	    "Files without symbols or lines of their own, whose separate debug information was not "
	    "found."),
	ROW(STATS_COUNTER, debuginfo_unanswered, "debuginfo_unanswered_total",
	    "Times that a file system did not say whether it has separate debug information; it is "
	    "asked again."),
	ROW(STATS_COUNTER, debuginfod_asked, "debuginfod_asked_total",
	    "Files that debuginfod servers were asked for."),
	ROW(STATS_COUNTER, debuginfod_found, "debuginfod_found_total",
	    "Files that a debuginfod server had."),
	ROW(STATS_COUNTER, debuginfod_failed, "debuginfod_failed_total",
	    "Files that debuginfod servers could not be asked for."),
	ROW(STATS_COUNTER, debuginfod_dropped, "debuginfod_dropped_total",
	    "Files that debuginfod servers were not asked for: too many waited."),
	ROW(STATS_COUNTER, frames_asked, "lines_asked_total",
	    "Addresses that lines and inlined functions were asked for."),
	ROW(STATS_COUNTER, frames_given_up, "lines_given_up_total",
	    "Files that are asked for lines no more: too slow, too large or damaged."),
	ROW(STATS_COUNTER, kallsyms_errors, "kallsyms_errors_total",
	    "Failed readings of the kernel's symbols."),
	ROW(STATS_COUNTER, store_put, "store_put_total", "Files that were reduced and kept on disk."),
	ROW(STATS_COUNTER, store_failed, "store_failed_total",
	    "Files that are not kept on disk: they could not be reduced, or not be written."),
	ROW(STATS_COUNTER, store_dropped, "store_dropped_total",
	    "Files that are not kept on disk: too many waited, or memory ran out."),
	ROW(STATS_COUNTER, store_evicted, "store_evicted_total",
	    "Kept files that made room for others (symbols.max_bytes)."),
	ROW(STATS_COUNTER, store_expired, "store_expired_total",
	    "Kept files that were not used for too long (symbols.retention)."),
	ROW(STATS_COUNTER, store_set_aside, "store_set_aside_total", "Kept files that were damaged."),
	ROW(STATS_GAUGE, store_waiting, "store_waiting",
	    "Files that wait to be reduced, and the one that is."),
	ROW(STATS_GAUGE, store_bytes, "store_bytes", "Disk space of the files and names that are kept."),
	ROW(STATS_GAUGE, store_files, "store_files", "Files that are kept on disk."),
	ROW(STATS_GAUGE, store_logs, "store_logs", "Build ids of which resolved names are on disk."),
	ROW(STATS_COUNTER, names_written, "names_written_total",
	    "Addresses whose names were written to disk."),
	ROW(STATS_COUNTER, names_dropped, "names_dropped_total",
	    "Addresses whose names are not on disk: too many waited, or there was no room."),
	ROW(STATS_COUNTER, names_damaged_bytes, "names_damaged_bytes_total",
	    "Bytes of names on disk that were damaged, and are gone."),
	ROW(STATS_GAUGE, table_bytes, "table_bytes", "Memory of the symbol tables."),
	ROW(STATS_GAUGE, learned_bytes, "learned_bytes", "Memory of the names that are remembered."),
	ROW(STATS_GAUGE, kallsyms_bytes, "kallsyms_bytes", "Memory of the kernel's symbols."),
	WORKERS(STATS_COUNTER, n_questions, "questions_total",
		"Questions to the processes that read debug information."),
	WORKERS(STATS_COUNTER, n_forked, "forked_total",
		"Processes that were begun to read debug information."),
	WORKERS(STATS_COUNTER, n_timed_out, "timed_out_total",
		"Such processes that were killed: no answer in time."),
	WORKERS(STATS_COUNTER, n_out_of_memory, "out_of_memory_total",
		"Such processes that were killed: too much memory."),
	WORKERS(STATS_COUNTER, n_crashed, "crashed_total",
		"Such processes that died, or answered nonsense."),
	WORKERS(STATS_GAUGE, n_forkers,
		"forkers", "Processes that can begin such processes, one after the other; 0: no lines any more."),
	WORKERS(STATS_COUNTER, n_forkers_died, "forkers_died_total",
		"Of these, the ones that died or did not answer."),
#undef ROW
#undef WORKERS
};
enum { N_ROWS = sizeof(rows) / sizeof(rows[0]) };

struct symbol_metrics {
	struct symbols *symbols;
	struct workers *workers;
	struct stats *stats;
	struct reader {
		struct symbol_metrics *owner;
		const struct row *row;
		struct stats_metric *metric;
	} readers[N_ROWS];
};

static double read_one(void *ctx)
{
	const struct reader *r = ctx;
	struct symbols_stat s = { 0 };

	if (r->row->of_workers) {
		const struct workers_stat w = workers__stat(r->owner->workers);

		return (double)*(const uint64_t *)((const char *)&w + r->row->offset);
	}
	symbols__stat(r->owner->symbols, &s);
	return (double)*(const uint64_t *)((const char *)&s + r->row->offset);
}

struct symbol_metrics *symbol_metrics__new(struct symbols *symbols, struct workers *workers,
					   struct stats *stats)
{
	struct symbol_metrics *m = NEW(struct symbol_metrics);

	if (!m)
		return NULL;
	m->symbols = symbols;
	m->workers = workers;
	m->stats = stats;
	for (size_t i = 0; i < N_ROWS; i++) {
		const struct stats_def def = { .kind = rows[i].kind,
					       .name = rows[i].name,
					       .help = rows[i].help,
					       .read = read_one,
					       .ctx = &m->readers[i] };

		if (rows[i].of_workers && !workers)
			continue;
		m->readers[i] = (struct reader){ .owner = m, .row = &rows[i] };
		m->readers[i].metric = stats__register(stats, &def, STATS_NO_LABELS);
	}
	return m;
}

void symbol_metrics__free(struct symbol_metrics *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < N_ROWS; i++)
		stats__unregister(m->stats, m->readers[i].metric);
	free(m);
}
