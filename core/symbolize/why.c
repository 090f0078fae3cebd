/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/why.c - what is shown for a location that has no name
 *
 * Threads: any; constant.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/symbolize/symbols.h"

const char *symbols__why(enum dcm_unnamed why)
{
	switch (why) {
	case DCM_UNNAMED_NOT_TRIED:
		return "its file has not been read yet: ask again in a moment";
	case DCM_UNNAMED_STRIPPED:
		return "stripped: the file has no symbol there; install its debug symbols, or "
		       "build it with them";
	case DCM_UNNAMED_NO_BUILD_ID:
		return "the file has no build id and cannot be told from others; link it with "
		       "-Wl,--build-id";
	case DCM_UNNAMED_FILE_GONE:
		return "the process or its file was gone before it could be read";
	case DCM_UNNAMED_NO_PERMISSION:
		return "the file may not be read by decima; run it as root or give it "
		       "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH";
	case DCM_UNNAMED_BAD_FILE:
		return "the file is not an ELF file that can be read: damaged, cut or of a foreign "
		       "kind";
	case DCM_UNNAMED_JIT_NO_MAP:
		return "JIT code, and its runtime writes no /tmp/perf-PID.map; node needs "
		       "--perf-basic-prof, Java -XX:+DumpPerfMapAtExit or an agent, Python -X perf";
	case DCM_UNNAMED_JIT_NOT_IN_MAP:
		return "JIT code that the process's perf map does not list (yet, or any more)";
	case DCM_UNNAMED_JIT_MAP_CUT:
		return "JIT code that the end of the process's perf map does not list, and only "
		       "that "
		       "was read; raise max_file_size of the input perf_map";
	case DCM_UNNAMED_KALLSYMS:
		return "the kernel hides its addresses: set kernel.kptr_restrict to 0, or to 1 and "
		       "give decima CAP_SYSLOG; or /proc/kallsyms is hidden from it, as by "
		       "ProtectKernelTunables= in a unit of systemd";
	case DCM_UNNAMED_NOT_HERE:
		return "no file with this build id was seen here, or its names had to make room "
		       "for others";
	case DCM_UNNAMED_NO_DEBUGINFO:
		return "stripped: no debuginfo for its build id in the directories of "
		       "symbols.debuginfo, nor at a debuginfod server; install its debug symbols, "
		       "or name a server in symbols.debuginfod";
	case DCM_UNNAMED_DEBUGINFO_LIMIT:
		return "stripped, and reading its debug information took too long or too much "
		       "memory and was given up; see symbols.lines_timeout and "
		       "symbols.lines_memory";
	case DCM_UNNAMED_DEBUGINFO_BAD:
		return "stripped, and the debug information that is there is damaged or belongs to "
		       "another build";
	case DCM_UNNAMED_DEBUGINFO_ASKED:
		return "stripped: a debuginfod server, or the file system that its debug link "
		       "leads to, is being asked, or will be once it answers; ask again in a "
		       "moment";
	case DCM_UNNAMED_NOT_ANSWERED:
		return "the file was not opened in time: its file system did not answer (a dead "
		       "NFS or FUSE mount), decima-broker was stopped, or decima had too many "
		       "files open (LimitNOFILE=)";
	case DCM_UNNAMED_N:
		break;
	}
	return "unknown";
}

uint32_t symbols__why_of(enum dcm_unnamed why, struct dcm_str build_id, char *out, size_t cap)
{
	static const char its[] = "its build id";
	const char *text = symbols__why(why), *at = strstr(text, its);
	int n;

	/* '~': a stand-in, which means nothing to people. */
	if (!at || build_id.n == 0 || build_id.p[0] == '~')
		n = snprintf(out, cap, "%s", text);
	else
		n = snprintf(out, cap, "%.*sbuild id %.*s%s", (int)(at - text), text,
			     STR_ARG(build_id), at + strlen(its));
	return n < 0 ? 0 : (size_t)n < cap ? (uint32_t)n : (uint32_t)cap - 1;
}

/* "name" without its directories; "[...]" stays whole. */
static struct dcm_str base_name(struct dcm_str path)
{
	const char *slash = path.n && path.p[0] != '[' ? memrchr(path.p, '/', path.n) : NULL;

	if (!slash || slash + 1 == path.p + path.n)
		return path;
	return (struct dcm_str){ slash + 1, path.n - (uint32_t)(slash + 1 - path.p) };
}

struct dcm_str symbols__place(const struct dcm_batch *b, uint32_t location)
{
	const struct dcm_location *l = &b->locations[location];
	const struct dcm_mapping *m = l->mapping == DCM_NONE ? NULL : &b->mappings[l->mapping];
	struct dcm_str file = m ? base_name(b->strings[m->file]) : STR("");

	if (m && m->kind == DCM_MAPPING_ANON)
		return STR("[anon]");
	if (file.n)
		return file;
	if (m && m->kind == DCM_MAPPING_VDSO)
		return STR("[vdso]");
	if ((m && m->kind == DCM_MAPPING_KERNEL) || l->kind == DCM_FRAME_KERNEL)
		return STR("[kernel]");
	return m ? STR("[file]") : STR("[anon]");
}

/* "+0x12" into out; its length. printf takes longer, and answers of days have tens of thousands. */
static uint32_t put_address(uint64_t address, char out[20])
{
	const uint32_t digits = address ? (67 - (uint32_t)__builtin_clzll(address)) / 4 : 1;

	memcpy(out, "+0x", 3);
	for (uint32_t i = digits; i > 0; i--, address >>= 4)
		out[2 + i] = "0123456789abcdef"[address & 15];
	return 3 + digits;
}

uint32_t symbols__fallback_name(const struct dcm_batch *batch, uint32_t location, char *out, size_t cap)
{
	struct dcm_str place = symbols__place(batch, location);
	char address[20];
	const uint32_t n = put_address(batch->locations[location].address, address);
	size_t room;

	if (cap <= n + (size_t)1) {
		out[0] = '\0';
		return 0;
	}
	room = cap - 1 - n;
	if (place.n > room)
		place.n = (uint32_t)str__utf8_cut(place.p, room);
	memcpy(out, place.p, place.n);
	memcpy(out + place.n, address, n);
	out[place.n + n] = '\0';
	return place.n + n;
}
