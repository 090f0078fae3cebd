/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/foreign.c - what bytes are that should have been a profile, and what to do about it
 */
#include "core/codec/foreign.h"

#include <errno.h>

#include "core/base/error.h"
#include "core/base/str.h"

/* As much as one looks at, as much as is text for sure, and as much as is told of it. */
enum { LOOKED_AT_BYTES = 4096, TEXT_MIN_BYTES = 8, TOLD_BYTES = 60 };

static const struct kind {
	struct dcm_str begins;
	const char *what; /* and the remedy */
} kinds[] = {
	{ STR("<"), "it is a page (HTML or XML); ask for the profile's own path, as "
		    "/debug/pprof/heap, and look whether a proxy or a login answered" },
	{ STR("{"), "it is JSON; speedscope's is read as format speedscope, any other is not" },
	{ STR("["), "it is JSON; speedscope's is read as format speedscope, any other is not" },
	{ STR("FLR\0"),
	  "it is a Java flight recording (JFR); async-profiler's jfrconv makes pprof of it" },
	{ STR("JAVA PROFILE 1."),
	  "it is a Java heap dump (HPROF); this has objects and no stacks" },
	{ STR("--- heapz 1 ---"), "it is a heap profile of an old Java agent, which is not read; "
				  "async-profiler writes pprof" },
	{ STR("PERFILE2"),
	  "it is perf's own file; what `perf script` prints is read as format perf" },
	{ STR("\x7f"
	      "ELF"),
	  "it is a program; run it, and fetch a profile from it" },
	{ STR("PK\3\4"), "it is a zip archive; unpack it first" },
	{ STR("BZh"), "it is packed by bzip2; unpack it first" },
	{ STR("\xfd"
	      "7zXZ"),
	  "it is packed by xz; unpack it first" },
	{ STR("\x28\xb5\x2f\xfd"), "it is packed by zstd; unpack it first, or ask for gzip" },
	{ STR("# HELP "),
	  "it is a page of metrics; ask for a profile's path, as /debug/pprof/heap" },
	{ STR("# TYPE "),
	  "it is a page of metrics; ask for a profile's path, as /debug/pprof/heap" },
	{ STR("num_symbols:"),
	  "it is an answer of /pprof/symbol; ask for /pprof/heap or /pprof/profile" },
	{ STR("goroutine "),
	  "it is Go's dump of goroutines for people (debug=2); ask without debug" },
};

/* No control characters but blanks and line ends in what is looked at. */
static bool is_text(struct dcm_str s)
{
	for (uint32_t i = 0; i < s.n; i++)
		if (((uint8_t)s.p[i] < 0x20 && s.p[i] != '\t' && s.p[i] != '\n' && s.p[i] != '\r') ||
		    s.p[i] == 0x7f)
			return false;
	return s.n >= TEXT_MIN_BYTES;
}

static struct dcm_str first_line(struct dcm_str s)
{
	uint32_t n = 0;

	while (n < s.n && n < TOLD_BYTES && s.p[n] != '\n' && s.p[n] != '\r')
		n++;
	return (struct dcm_str){ s.p, (uint32_t)str__utf8_cut(s.p, n) };
}

bool foreign__tell(const char *format, const uint8_t *data, size_t n, struct dcm_error *err)
{
	struct dcm_str s = { (const char *)data,
			     n < LOOKED_AT_BYTES ? (uint32_t)n : (uint32_t)LOOKED_AT_BYTES };

	if (n == 0) {
		error__set(err, -EINVAL, "%s: it is empty; look whether the program serves this profile, and has it on",
			   format);
		return true;
	}
	while (s.n && (*s.p == ' ' || *s.p == '\n' || *s.p == '\r' || *s.p == '\t'))
		s = (struct dcm_str){ s.p + 1, s.n - 1 };
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!str__starts(s, kinds[i].begins))
			continue;
		error__set(err, -EINVAL, "%s: %s", format, kinds[i].what);
		return true;
	}
	if (!is_text(s))
		return false;
	struct dcm_str line = first_line(s);
	error__set(
		err, -EINVAL,
		"%s: it is text that begins \"%.*s\", and no profile; folded stacks and what `perf "
		"script` prints are formats folded and perf",
		format, STR_ARG(line));
	return true;
}
