/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/stats/process.c - the process_* series that dashboards expect of every exporter
 *
 * Each is read from /proc/self when somebody asks; what cannot be read is NaN. Names and meanings:
 * https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics; fields: proc(5).
 */
#include "core/stats/stats.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/fd.h"

enum { STAT_MAX_BYTES = 4096, PROC_STAT_MAX_BYTES = 1 << 20 };

/*
 * Field `field` (counted from 1 as in proc(5), at least 3) of /proc/self/stat; NaN when unreadable.
 */
static double stat_field(int field)
{
	struct buf b = { 0 };
	const char *at;
	double v = NAN;

	if (fd__read_path(AT_FDCWD, "/proc/self/stat", STAT_MAX_BYTES, &b) == 0 && b.n) {
		at = strrchr((const char *)b.data, ')'); /* the name may hold blanks */
		for (int i = 2; at && i < field; i++)
			at = strchr(at + 1, ' ');
		if (at)
			v = strtod(at, NULL);
	}
	buf__fini(&b);
	return v;
}

static double read_cpu_seconds(void *ctx)
{
	struct rusage usage;

	(void)ctx;
	if (getrusage(RUSAGE_SELF, &usage) < 0)
		return NAN;
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static double read_virtual_bytes(void *ctx)
{
	(void)ctx;
	return stat_field(23);
}

static double read_resident_bytes(void *ctx)
{
	(void)ctx;
	return stat_field(24) * (double)sysconf(_SC_PAGESIZE);
}

static double read_threads(void *ctx)
{
	(void)ctx;
	return stat_field(20);
}

/* Boot time of /proc/stat plus the start in ticks since boot. */
static double read_start_seconds(void *ctx)
{
	struct buf b = { 0 };
	const char *at;
	double boot = NAN;

	(void)ctx;
	if (fd__read_path(AT_FDCWD, "/proc/stat", PROC_STAT_MAX_BYTES, &b) == 0 && b.n) {
		at = strstr((const char *)b.data, "\nbtime ");
		if (at)
			boot = strtod(at + strlen("\nbtime "), NULL);
	}
	buf__fini(&b);
	return boot + stat_field(22) / (double)sysconf(_SC_CLK_TCK);
}

static double read_open_fds(void *ctx)
{
	DIR *dir = opendir("/proc/self/fd");
	double n = -3; /* ".", ".." and the directory's own */

	(void)ctx;
	if (!dir)
		return NAN;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static double read_max_fds(void *ctx)
{
	struct rlimit limit;

	(void)ctx;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return NAN;
	return limit.rlim_cur == RLIM_INFINITY ? INFINITY : (double)limit.rlim_cur;
}

int stats__add_process(struct stats *s)
{
	static const struct stats_def defs[] = {
		{ STATS_COUNTER, "process_cpu_seconds_total",
		  "User and system CPU time spent, in seconds.", NULL, read_cpu_seconds, NULL },
		{ STATS_GAUGE, "process_virtual_memory_bytes", "Virtual memory size in bytes.",
		  NULL, read_virtual_bytes, NULL },
		{ STATS_GAUGE, "process_resident_memory_bytes", "Resident memory size in bytes.",
		  NULL, read_resident_bytes, NULL },
		{ STATS_GAUGE, "process_threads", "Number of threads.", NULL, read_threads, NULL },
		{ STATS_GAUGE, "process_start_time_seconds",
		  "Start time of the process since the Unix epoch, in seconds.", NULL,
		  read_start_seconds, NULL },
		{ STATS_GAUGE, "process_open_fds", "Number of open file descriptors.", NULL,
		  read_open_fds, NULL },
		{ STATS_GAUGE, "process_max_fds", "Limit of open file descriptors.", NULL,
		  read_max_fds, NULL },
	};

	for (size_t i = 0; i < sizeof(defs) / sizeof(defs[0]); i++)
		if (!stats__register(s, &defs[i], STATS_NO_LABELS))
			return -ENOMEM;
	return 0;
}
