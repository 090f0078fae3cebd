/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_legacy.c - pprof's older formats: what each says, what is refused, what memory it takes
 *
 * A batch is written as text and compared: types with their temporality, period, then a line for each
 * row. tests/e2e/codec_legacy.sh asks Go's reader and jeprof about files by the thousand.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/type.h"
#include "core/codec/codec.h"
#include "core/codec/legacy.h"
#include "core/codec/pprof.h"
#include "core/deflate/deflate.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/paths.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define DATA TEST_SRCDIR "/tests/data/pprof/"

static void put_frame(struct buf *out, const struct dcm_batch *b, const struct dcm_location *l)
{
	static const char *const kinds[] = {
		[DCM_ADDR_NONE] = "none:",
		[DCM_ADDR_RUNTIME] = "",
		[DCM_ADDR_FILE_OFFSET] = "file:",
		[DCM_ADDR_VADDR] = "elf:",
	};

	buf__printf(out, " %s%" PRIx64, kinds[l->addr_kind], l->address);
	if (l->mapping != DCM_NONE && b->mappings[l->mapping].file)
		buf__printf(out, "@%.*s", STR_ARG(b->strings[b->mappings[l->mapping].file]));
	if (l->mapping != DCM_NONE && b->mappings[l->mapping].build_id)
		buf__printf(out, "#%.*s", STR_ARG(b->strings[b->mappings[l->mapping].build_id]));
	for (uint32_t i = 0; i < l->n_lines; i++)
		buf__printf(out, "=%.*s",
			    STR_ARG(b->strings[b->functions[b->lines[l->line_off + i].function].name]));
}

static void put_row(struct buf *out, const struct dcm_batch *b, uint32_t row)
{
	const struct dcm_profile *p = &b->profiles[0];
	struct dcm_span stack = b->stacks[b->row_stacks[row]], set = b->label_sets[b->row_labels[row]];

	for (uint32_t i = 0; i < p->n_types; i++)
		buf__printf(out, "%s%" PRId64, i ? "," : "", b->values[row * p->n_types + i]);
	for (uint32_t i = 0; i < set.n; i++) {
		const struct dcm_label *l = &b->labels[set.off + i];
		buf__printf(out, " %.*s=%" PRId64, STR_ARG(b->strings[l->name]), l->num);
	}
	for (uint32_t i = 0; i < stack.n; i++)
		put_frame(out, b, &b->locations[b->stack_locations[stack.off + i]]);
	buf__byte(out, '\n');
}

/* All that a test looks at. The caller frees. */
static char *text_of(const struct dcm_batch *b)
{
	static const char *const words[] = {
		[DCM_DELTA] = "delta", [DCM_GAUGE] = "gauge", [DCM_CUMULATIVE] = "cumulative"
	};
	struct buf out = { 0 };
	size_t n;

	for (uint32_t i = 0; i < b->n_types; i++) {
		char type[1024];
		type__format(b, &b->types[i], type, sizeof(type));
		buf__printf(&out, "%s %s\n", type, words[b->types[i].temporality]);
	}
	buf__printf(&out, "period %" PRId64, b->profiles[0].period);
	if (b->profiles[0].duration_ns)
		buf__printf(&out, " duration %" PRId64, b->profiles[0].duration_ns);
	buf__byte(&out, '\n');
	for (uint32_t row = 0; row < b->n_rows; row++)
		put_row(&out, b, row);
	buf__byte(&out, '\0');
	return (char *)buf__take(&out, &n);
}

static void assert_reads(const void *bytes, size_t n, const char *expected)
{
	struct dcm_error err = DCM_ERROR_INIT;
	CLEANUP(batch__unrefp) struct dcm_batch *b = NULL;

	assert_true(legacy__is(bytes, n));
	assert_string_equal(codec__sniff(bytes, n), "pprof");
	if (codec__decode(NULL, bytes, n, &b, &err) < 0)
		fail_msg("%.*s: %s", (int)n, (const char *)bytes, err.text);
	char *got = text_of(b);
	assert_string_equal(got, expected);
	free(got);
}

#define MAPS                                                                                       \
	"\nMAPPED_LIBRARIES:\n"                                                                    \
	"00400000-00452000 r-xp 00000000 08:02 173521 /usr/bin/my server (deleted)\n"              \
	"00651000-00652000 r--p 00051000 08:02 173521 /usr/bin/my server (deleted)\n"              \
	"7f0000001000-7f0000100000 r-xp 00001000 08:02 99 /usr/lib/libc-2.31.so\n"                 \
	"7f0000100000-7f0000200000 rw-p 00000000 00:00 0\n"                                        \
	"7f0000300000-7f0000301000 r-xp 00000000 00:00 0 [vdso]\n"

#define ALLOC                                                                                      \
	"memory:alloc_objects:count:space:bytes cumulative\n"                                      \
	"memory:alloc_space:bytes:space:bytes cumulative\n"
#define INUSE                                                                                      \
	"memory:inuse_objects:count:space:bytes gauge\n"                                           \
	"memory:inuse_space:bytes:space:bytes gauge\n"

#define X32	"my.own/count-of.many+things_0001"
#define LONGEST X32 X32 X32 X32

/* Each text, and what it says. */
static const struct {
	const char *text, *expected;
} formats[] = {
	/* gperftools: everything, what was allocated too */
	{ "heap profile:      3:     3072 [    13:     6688] @ heapprofile\n"
	  "     1:     1024 [     1:     1024] @ 0x401235 0x7f0000002001 0x500000\n"
	  "     2:     2048 [    12:     5664] @ 0x401235\n" MAPS,
	  ALLOC INUSE "period 1\n"
		      "1,1024,1,1024 bytes=1024 file:1234@/usr/bin/my server "
		      "file:2000@/usr/lib/libc-2.31.so 4fffff\n"
		      "12,5664,2,2048 bytes=1024 file:1234@/usr/bin/my server\n" },
	/* tcmalloc: sampled, and the numbers twice; no mappings, a label for each size */
	{ "heap profile:      3:  2524288 [     3:  2524288] @ heap_v2/524288\r\n"
	  "# a comment\r\n"
	  "     1:   524288 [     1:   524288] @ 0x1001 0x2001\r\n"
	  "\r\n"
	  "     2:  2000000 [     2:  2000000] @ 0x3001 0x2001 junk 0x4001\r\n",
	  INUSE "period 524288\n"
		"1,829411 bytes=524288 1000 2000\n"
		"2,2348723 bytes=1000000 3000 2000 4000\n" },
	/* Go before 1.9: the rate is twice what it samples by; a sample that has nothing in use */
	{ "heap profile: 1: 524288 [3: 1572864] @ heap/1048576\n"
	  "1: 524288 [3: 1572864] @ 0x1001\n0: 0 [1: 524288] @ 0x1001\n0: 0 [0: 0] @ 0x99\n",
	  ALLOC INUSE "period 524288\n"
		      "4,2488234,1,829411 bytes=524288 1000\n"
		      "1,829411,0,0 bytes=524288 1000\n" },
	{ "heap profile: 2: 3000 [ 2: 3000] @ growthz\n 2: 3000 [ 2: 3000] @ 0x11\n",
	  "growth:objects:count:space:bytes cumulative\ngrowth:space:bytes:space:bytes cumulative\n"
	  "period 1\n2,3000 bytes=1500 10\n" },
	{ "heap profile: 2: 3000 [ 0: 0] @ fragmentationz\n 2: 3000 [ 0: 0] @\n",
	  "fragmentation:objects:count:space:bytes gauge\nfragmentation:space:bytes:space:bytes "
	  "gauge\n"
	  "period 1\n2,3000 bytes=1500\n" },
	/* jemalloc: the sums of all threads, without what was allocated, and with */
	{ "heap_v2/524288\n  t*: 15: 2006688 [0: 0]\n  t3: 15: 2006688 [0: 0]\n"
	  "@ 0x401235 0x500001\n  t*: 13: 6688 [0: 0]\n  t3: 13: 6688 [0: 0]\n"
	  "@ 0x7f0000002001\n  t*: 2: 2000000 [0: 0]\n  t3: 2: 2000000 [0: 0]\n" MAPS,
	  INUSE "period 524288\n"
		"13254,6819088 bytes=514 file:1234@/usr/bin/my server "
		"500000\n"
		"2,2348723 bytes=1000000 "
		"file:2000@/usr/lib/libc-2.31.so\n" },
	{ "heap_v2/1\n  t*: 1: 10 [2: 20]\n@ 0x11\n  t*: 1: 10 [2: 20]\n",
	  ALLOC INUSE "period 1\n2,20,1,10 bytes=10 10\n" },
	/* Go's counts; one whose stack nobody knows */
	{ "\n# text\ngoroutine profile: total 7\n3 @ 0x11 0x21\n#\t0x10\tmain.work+0x1\n\n4 @\n",
	  "goroutine:goroutine:count:goroutine:count gauge\nperiod 1\n3 10 20\n4\n" },
	{ "threadcreate profile: total 1\n1 @ 0x401235\n--- Memory map: ---\n"
	  "  00400000-00452000: /bin/x (@1000) ABC1\n",
	  "threadcreate:threadcreate:count:threadcreate:count cumulative\nperiod 1\n"
	  "1 file:2234@/bin/x#abc1\n" },
	/* A name as long as a type's may be */
	{ LONGEST " profile: total 1\n1 @ 0x11\n",
	  LONGEST ":" LONGEST ":count:" LONGEST ":count gauge\nperiod 1\n1 10\n" },
	/* Waiting for locks: cycles are 4 to a nanosecond; since a reset, so it is no delta */
	{ "--- contentionz 1 ---\ncycles/second = 4000000000\nsampling period = 100\n"
	  "ms since reset = 1500\ndiscarded samples = 0\n  4000  27 @ 0x11 0x21\n",
	  "contention:contentions:count:contentions:count cumulative\n"
	  "contention:delay:nanoseconds:contentions:count cumulative\n"
	  "period 100 duration 1500000000\n2700,100000 10 20\n" },
	{ "--- mutex:\nsampling period=0\n12 3 @ 0x11\n--- Memory map: ---\n10-20 x 7 0:0 1 /a\n",
	  "mutex:contentions:count:contentions:count cumulative\n"
	  "mutex:delay:nanoseconds:contentions:count cumulative\n"
	  "period 0\n3,12 file:7@/a\n" },
	/* Go's other one, which is as the one before but for the first line */
	{ "--- contention:\ncycles/second=1000000000\n12 3 @ 0x11\n",
	  "block:contentions:count:contentions:count cumulative\n"
	  "block:delay:nanoseconds:contentions:count cumulative\n"
	  "period 1\n3,12 10\n" },
	/* Threads: the leaf as it is, which may come again; one like the one before; one unknown */
	{ "--- threadz 1 ---\n\n--- Thread 7f (name: main/1) stack: ---\n  PC:  0x11: f(arg *)\n"
	  "  0x00000011: f(arg *)\n  0x21: main\n--- Thread 80 (name: b/2) stack: ---\n"
	  "  [same as previous thread]\n--- Thread 81 (name: c/3) stack: ---\n"
	  "--- Thread 82 (name: d/4) stack: ---\n 0x31\n   creator: 0x21 0x41\n"
	  "---- no stack trace for 2 threads\n",
	  "thread:thread:count:thread:count gauge\nperiod 1\n2 11 20\n1\n1 31 20 40\n" },
	/* Names that stand before: of callers, of the leaf of a heap, of inlined calls, of operators */
	{ "--- symbol\nbinary=/bin/x\n0x0000000000000011 leaf\n0x20 "
	  "outer--inner<0000000000001361>\n0x0\n"
	  "0x40 0x40\n0x30 C::operator--(int)\n---\n--- heap\n"
	  "heap profile: 1: 8 [ 1: 8] @ heapprofile\n 1: 8 [ 1: 8] @ 0x11 0x21 0x31 0x41\n",
	  INUSE "period 1\n1,8 bytes=8 10=leaf 20=inner=outer "
		"30=C::operator--(int) 40\n" },
	{ "--- symbol\n0x10 f\n---\n--- contention\n--- contentionz 1 ---\n4 1 @ 0x11\n",
	  "contention:contentions:count:contentions:count cumulative\n"
	  "contention:delay:nanoseconds:contentions:count cumulative\n"
	  "period 1\n1,4 10=f\n" },
};

static void test_texts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		assert_reads(formats[i].text, strlen(formats[i].text), formats[i].expected);
}

/* What programs of today wrote: gperftools 2.10 and jemalloc 5.3 (tests/programs/allocate.cc). */
static void test_files(void **state)
{
	(void)state;
	static const char *const files[] = { "gperftools.heap", "gperftools.prof", "jemalloc.heap" };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct buf in = { 0 };
		struct dcm_error err = DCM_ERROR_INIT;
		CLEANUP(batch__unrefp) struct dcm_batch *b = NULL;
		char path[512];
		int64_t sum = 0;
		bool in_program = false;

		snprintf(path, sizeof(path), DATA "%s", files[i]);
		assert_int_equal(fd__read_path(AT_FDCWD, path, 1 << 20, &in), 0);
		assert_string_equal(codec__sniff(in.data, in.n), "pprof");
		if (codec__decode(NULL, in.data, in.n, &b, &err) < 0)
			fail_msg("%s: %s", files[i], err.text);
		assert_true(b->n_rows > 0);
		for (uint64_t k = 0; k < b->n_values; k++)
			sum += b->values[k];
		assert_true(sum > 1000000);
		for (uint32_t k = 0; k < b->n_locations; k++) {
			const struct dcm_location *l = &b->locations[k];
			in_program |= l->addr_kind == DCM_ADDR_FILE_OFFSET &&
				      str__ends(b->strings[b->mappings[l->mapping].file],
						STR("/allocate"));
		}
		assert_true(in_program);
		buf__fini(&in);
	}
}

/* --- gperftools' CPU profiles --- */

static void put_word(struct buf *out, unsigned form, uint64_t v)
{
	unsigned size = form & 2 ? 8 : 4;

	for (unsigned i = 0; i < size; i++)
		buf__byte(out, (uint8_t)(v >> 8 * (form & 1 ? size - 1 - i : i)));
}

static void put_words(struct buf *out, unsigned form, const uint64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put_word(out, form, v[i]);
}

#define CPU_TYPES                                                                                  \
	"process_cpu:samples:count:cpu:nanoseconds:delta delta\n"                                  \
	"process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta delta\nperiod 10000000\n"

static void test_cpu(void **state)
{
	(void)state;
	/* The second frames differ; the leaf comes again in one; the end, and the mappings. */
	static const uint64_t words[] = { 0,  3, 0,	   10000, 0,	/* */
					  1,  3, 0x11,	   0x11,  0x21, /* */
					  20, 2, 0x11,	   0x31,	/* */
					  2,  1, 0x400011,		/* */
					  0,  1, 0 };
	static const char maps[] = "build=/opt\n00400000-00500000: $build/x\n";

	for (unsigned form = 0; form < 4; form++) {
		struct buf in = { 0 };
		put_words(&in, form, words, sizeof(words) / sizeof(words[0]));
		buf__text(&in, maps);
		assert_reads(in.data, in.n,
			     CPU_TYPES
			     "1,10000000 11 20\n20,200000000 11 30\n2,20000000 file:11@/opt/x\n");
		/* Behind names. */
		struct buf named = { 0 };
		buf__text(&named, "--- symbol\n0x20 caller\n---\n--- profile\n");
		buf__append(&named, in.data, in.n - sizeof(maps) + 1);
		assert_reads(named.data, named.n,
			     CPU_TYPES
			     "1,10000000 11 20=caller\n20,200000000 11 30\n2,20000000 400011\n");
		buf__fini(&named);
		/* Cut off in a stack, or behind one: the latter may be all there is. */
		for (size_t n = in.n; n-- > 0;) {
			CLEANUP(batch__unrefp) struct dcm_batch *b = NULL;
			int r = pprof__decode(in.data, n, NULL, &b, NULL);
			assert_true(r == 0 || r == -EINVAL);
		}
		buf__fini(&in);
	}
}

/* What is behind names of numbers, and says a period of 1 us: frames as they are, and counts alone. */
static void test_cpu_numbered(void **state)
{
	(void)state;
	/* One stack alone, so that its second frame would be taken for the handler's. */
	static const uint64_t words[] = { 0, 3, 0, 1, 0, /* */
					  7, 3, 1, 2, 3, /* */
					  5, 3, 3, 2, 1, /* */
					  0, 1, 0 };
	struct buf in = { 0 };

	buf__text(&in, "--- symbol\nbinary=unknown\n0x0000000000000001 a.inner(A.java:3)\n0x2 "
		       "a.outer(A.java:9)\n"
		       "0x3 a.run(A.java:12)\n---\n--- profile\n");
	put_words(&in, 3, words, sizeof(words) / sizeof(words[0]));
	assert_reads(in.data, in.n,
		     "process_cpu:samples:count:cpu:nanoseconds:delta delta\nperiod 0\n"
		     "7 1=a.inner(A.java:3) 2=a.outer(A.java:9) 3=a.run(A.java:12)\n"
		     "5 3=a.run(A.java:12) 2=a.outer(A.java:9) 1=a.inner(A.java:3)\n");
	buf__fini(&in);
}

/* A frame that all stacks have behind the leaf is the handler's, twice; not where some have another. */
static void test_cpu_handler(void **state)
{
	(void)state;
	static const uint64_t head[] = { 0, 3, 0, 10000, 0 };

	for (unsigned n_others = 0; n_others < 3; n_others++) {
		struct buf in = { 0 };
		struct dcm_error err = DCM_ERROR_INIT;
		CLEANUP(batch__unrefp) struct dcm_batch *b = NULL;
		put_words(&in, 2, head, 5);
		for (unsigned k = 0; k < 40; k++) {
			const uint64_t other = k < n_others;
			const uint64_t stack[] = { 1, 4, 8 + k % 2, 0x1000 - other, 0xfff, 0x31 + k };
			put_words(&in, 2, stack, 6);
		}
		assert_int_equal(pprof__decode(in.data, in.n, NULL, &b, &err), 0);
		char *got = text_of(b);
		size_t n = strlen(got);
		/* The last one: its leaf is 9, its root 0x31 + 39 - 1. */
		const char *last = n_others < 2 ? "1,10000000 9 57\n" : "1,10000000 9 fff ffe 57\n";
		assert_string_equal(got + n - strlen(last), last);
		free(got);
		buf__fini(&in);
	}
}

/* --- what is refused --- */

static void test_refusals(void **state)
{
	(void)state;
	static const struct {
		const char *text, *sentence;
	} cases[] = {
		{ "heap profile: 1: 2 [3: 4] @ heap_v3/5\n",
		  "pprof: heap profile, line 1: its kind \"heap_v3\" is not known" },
		{ "heap profile: 1: 2 [3: 4\n", "pprof: heap profile, line 1: expected N: BYTES" },
		{ "heap profile: 1: 2 [3: 4] @ heap/1\n\n1: 2 [3: 4] 0x1\n",
		  "pprof: heap profile, line 3: expected N: BYTES [N: BYTES] @ 0x.., not \"1: 2 "
		  "[3: 4] 0x1\"" },
		{ "heap profile: 1: 2 [1: 2] @ heap_v2/1\n0: 5 [0: 5] @ 0x1\n",
		  "pprof: heap profile, line 2: 5 bytes of no object" },
		{ "heap profile: 1: 9223372036854775808 [1: 2] @ heap_v2/1\n",
		  "pprof: heap profile, line 1: a number is beyond 64 bits" },
		{ "heap profile: 1: 2 [1: 2] @ heap_v2/99999999999999999999\n",
		  "a number is beyond 64 bits" },
		{ "goroutine profile: total 1\n1 @ 0x10000000000000000\n",
		  "pprof: Go count profile, line 2: a number is beyond 64 bits" },
		{ "goroutine profile: total 1\nmain.work\n",
		  "pprof: Go count profile, line 2: expected N @ 0x.., not \"main.work\"" },
		{ LONGEST "x profile: total 1\n1 @ 0x1\n",
		  "pprof: Go count profile, line 1: its name has 129 bytes, more than 128" },
		{ "heap_v2/x\n", "pprof: jemalloc heap profile, line 1: expected heap_v2/RATE" },
		{ "heap_v2/5\n",
		  "pprof: jemalloc heap profile: it is cut off behind its first line" },
		{ "heap_v2/5\n@ 0x1\n", "line 2: a stack before the sums of everything" },
		{ "heap_v2/5\n t*: 1: 2 [0: 0]\n t*: 1: 2 [0: 0]\n",
		  "line 3: sums without a stack" },
		{ "heap_v2/5\n t*: 1: 2 [0: 0]\nwhat\n", "line 3: expected \"@\" and a stack" },
		{ "--- mutex:\ncycles/second=-5\n", "line 2: cycles/second is negative" },
		{ "--- contentionz 1 ---\nformat = java\n", "line 2: it is of an old Java agent" },
		{ "--- mutex:\n5 @ 0x1\n",
		  "pprof: contention profile, line 2: expected CYCLES N @ 0x.." },
		{ "--- symbol\n0x1 f\n", "pprof: symbols, line 2: the symbols have no end" },
		{ "--- symbol\n0x1 f\n---\nnothing\n", "line 4: no profile is behind the symbols" },
		{ "--- symbol\n0x11111111111111111 f\n---\n", "a number is beyond 64 bits" },
		{ "", "pprof: it is empty; look whether the program serves this profile" },
		{ "\n<!DOCTYPE html>\n<p>login", "pprof: it is a page (HTML or XML)" },
		{ "{\"error\":\"x\"}", "pprof: it is JSON" },
		{ "404 page not found\n",
		  "pprof: it is text that begins \"404 page not found\", and no profile" },
		{ "# HELP up x\n", "pprof: it is a page of metrics" },
		{ "num_symbols: 1\n", "pprof: it is an answer of /pprof/symbol" },
		{ "goroutine 1 [running]:\n", "Go's dump of goroutines for people (debug=2)" },
		{ "--- heapz 1 ---\nformat = java\n",
		  "pprof: it is a heap profile of an old Java agent" },
		{ "PERFILE2xxxx", "pprof: it is perf's own file" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct dcm_batch *b = NULL;
		const char *text = cases[i].text;
		if (pprof__decode((const uint8_t *)text, strlen(text), NULL, &b, &err) != -EINVAL)
			fail_msg("not refused: %s (%s)", text, err.text);
		if (!strstr(err.text, cases[i].sentence))
			fail_msg("%s: %s", text, err.text);
		assert_null(b);
	}
	static const uint8_t jfr[] = { 'F', 'L', 'R', 0, 0, 2 };
	static const uint8_t java_cpu[] = { 0, 0, 0, 0, 3, 0, 0, 0, 1, 0,
					    0, 0, 9, 0, 0, 0, 0, 0, 0, 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *b = NULL;
	assert_int_equal(pprof__decode(jfr, sizeof(jfr), NULL, &b, &err), -EINVAL);
	assert_non_null(strstr(err.text, "Java flight recording"));
	assert_int_equal(pprof__decode(java_cpu, sizeof(java_cpu), NULL, &b, &err), -EINVAL);
	assert_non_null(strstr(err.text, "old Java agent"));
}

/* --- options, gzip --- */

static void test_options(void **state)
{
	(void)state;
	static const char text[] =
		"heap profile: 2: 3000 [ 2: 3000] @ growthz\n 2: 3000 [ 2: 3000] @ 0x11\n";
	const struct dcm_label_text label = { STR("job"), STR("a") };
	const struct decode_options o = {
		.name = STR("mine"),
		.labels = &label,
		.n_labels = 1,
		.time_ns = 5,
		.has_temporality = true,
		.temporality = DCM_DELTA,
	};
	struct dcm_error err = DCM_ERROR_INIT;
	CLEANUP(batch__unrefp) struct dcm_batch *b = NULL;
	struct buf packed = { 0 };

	assert_int_equal(deflate__pack((const uint8_t *)text, strlen(text), 6, &packed), 0);
	if (codec__decode_with(NULL, packed.data, packed.n, &o, &b, &err) < 0)
		fail_msg("%s", err.text);
	buf__fini(&packed);
	char *got = text_of(b);
	assert_string_equal(got, "mine:objects:count:space:bytes:delta delta\n"
				 "mine:space:bytes:space:bytes:delta delta\nperiod 1\n"
				 "2,3000 bytes=1500 10\n");
	free(got);
	assert_int_equal(b->profiles[0].time_ns, 5);
	assert_int_equal(b->n_pairs, 1);
}

/* --- limits --- */

/* A head and n times a text, behind which its number stands when it ends in "0x". */
static int read_many(const char *head, const char *line, size_t n, uint64_t max_bytes,
		     struct dcm_error *err)
{
	const struct decode_options o = { .max_bytes = max_bytes };
	struct dcm_batch *b = NULL;
	struct buf in = { 0 };

	buf__text(&in, head);
	for (size_t i = 0; i < n; i++) {
		buf__text(&in, line);
		if (str__ends(str__of(line), STR("0x")))
			buf__printf(&in, "%zx", i);
	}
	int r = pprof__decode(in.data, in.n, &o, &b, err);
	buf__fini(&in);
	batch__unref(b);
	return r;
}

static void test_limits(void **state)
{
	(void)state;
	struct dcm_error err = DCM_ERROR_INIT;
	static const char head[] = "goroutine profile: total 1\n";

	assert_int_equal(read_many(head, "1 @ 0x1\n", 20000, 1 << 20, &err), 0);
	assert_int_equal(read_many(head, "1 @\n", 100000, 1 << 20, &err), -E2BIG);
	assert_non_null(strstr(err.text, "more samples than so many bytes should need"));
	assert_int_equal(read_many("goroutine profile: total 1\n1 @", " 0x", 100000, 1 << 20, &err),
			 -E2BIG);
	assert_non_null(strstr(err.text, "more addresses than so many bytes should need"));
	assert_int_equal(read_many("goroutine profile: total 1\n1 @", " 0x", 5000, 1 << 20, &err), -E2BIG);
	assert_non_null(strstr(err.text, "more than 4096 locations"));
	assert_int_equal(read_many(head, "1 @ 0x1\n", 1000, 100, &err), -E2BIG);
	/* Names that grow by what variables say: 4 KiB a time, of 3 bytes. */
	struct buf vars = { 0 };
	buf__text(&vars, "goroutine profile: total 1\n1 @ 0x11\n--- Memory map: ---\na=");
	for (int i = 0; i < 4096; i++)
		buf__byte(&vars, 'x');
	buf__text(&vars, "\n10-20: ");
	assert_int_equal(read_many((const char *)vars.data, "$a", 100, 0, &err), 0);
	assert_int_equal(read_many((const char *)vars.data, "$a", 2000, 0, &err), -EINVAL);
	assert_non_null(strstr(err.text, "the variables make more of the files' names"));
	buf__fini(&vars);
}

/* Many mappings that lie over each other, many addresses: not the product of both. */
static void test_many_mappings(void **state)
{
	(void)state;
	struct buf in = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	CLEANUP(batch__unrefp) struct dcm_batch *b = NULL;
	enum { N = 200000 };

	buf__text(&in, "goroutine profile: total 1\n");
	for (int i = 0; i < N; i++)
		buf__printf(&in, "1 @ 0x%x\n", 0x10001 + 16 * i);
	buf__text(&in, "--- Memory map: ---\n1000-2000: /first\n");
	for (int i = N; i-- > 0;)
		buf__printf(&in, "%x-f0000000: /%x\n", 0x10000 + 16 * i, i);
	assert_int_equal(codec__decode(NULL, in.data, in.n, &b, &err), 0);
	buf__fini(&in);
	assert_int_equal(b->n_rows, N);
	/* The first that covers it: the one that begins there, as those are listed from the last. */
	for (uint32_t i = 0; i < N; i += 1000) {
		const struct dcm_location *l =
			&b->locations[b->stack_locations[b->stacks[b->row_stacks[i]].off]];
		char name[16];
		snprintf(name, sizeof(name), "/%x", i);
		struct dcm_str file = b->strings[b->mappings[l->mapping].file];
		assert_int_equal(file.n, strlen(name));
		assert_memory_equal(file.p, name, file.n);
		assert_int_equal(l->address, 0);
	}
}

/* --- damage, memory --- */

static void test_damage(void **state)
{
	(void)state;
	struct random r = { 7 };
	unsigned n_fine = 0, n_refused = 0;

	for (size_t i = 0; i < 4000; i++) {
		const char *text = formats[i % (sizeof(formats) / sizeof(formats[0]))].text;
		size_t n = strlen(text);
		uint8_t *bytes = malloc(n);
		struct dcm_error err = DCM_ERROR_INIT;
		CLEANUP(batch__unrefp) struct dcm_batch *b = NULL;
		memcpy(bytes, text, n);
		for (uint64_t k = 1 + random__below(&r, 3); k; k--)
			bytes[random__below(&r, n)] =
				(uint8_t) "\n 0x9fA-@:[]=$\x80/"[random__below(&r, 17)];
		size_t cut = random__below(&r, 3) ? n : random__below(&r, n);
		int got = pprof__decode(bytes, cut, NULL, &b, &err);
		free(bytes);
		assert_true(got == 0 || err.text[0]);
		n_fine += got == 0;
		n_refused += got < 0;
	}
	assert_true(n_fine > 500 && n_refused > 500);
}

static void test_no_memory(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof(formats) / sizeof(formats[0]); k++) {
		const char *text = formats[k].text;
		FAILMALLOC_SWEEP (i) {
			struct dcm_error err = DCM_ERROR_INIT;
			struct dcm_batch *b = NULL;
			int r = pprof__decode((const uint8_t *)text, strlen(text), NULL, &b, &err);
			failmalloc__disarm();
			if (r == 0) {
				batch__unref(b);
				continue;
			}
			assert_int_equal(r, -ENOMEM);
			assert_non_null(strstr(err.text, "memory"));
			assert_null(b);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),	      cmocka_unit_test(test_files),
		cmocka_unit_test(test_cpu),	      cmocka_unit_test(test_cpu_handler),
		cmocka_unit_test(test_cpu_numbered),  cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_options),	      cmocka_unit_test(test_limits),
		cmocka_unit_test(test_many_mappings), cmocka_unit_test(test_damage),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests_name("legacy", tests, NULL, NULL);
}
