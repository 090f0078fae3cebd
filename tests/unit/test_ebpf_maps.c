/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_maps.c - /proc/PID/maps, against what the dynamic linker says and line by
 * line
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/str.h"
#include "plugins/input/ebpf/files.h"
#include "plugins/input/ebpf/maps.h"
#include "tests/unit/ebpf_host.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"

static struct maps *parse_in_pieces(const char *text, size_t n, size_t piece)
{
	struct maps_parser p;
	struct maps *m = NULL;

	assert_int_equal(maps__parse_begin(&p), 0);
	for (size_t at = 0; at < n; at += piece)
		maps__parse(&p, text + at, n - at < piece ? n - at : piece);
	assert_int_equal(maps__parse_end(&p, &m), 0);
	return m;
}

static struct maps *parse(const char *text)
{
	return parse_in_pieces(text, strlen(text), strlen(text) + 1);
}

static int check_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct maps *m = ctx;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uint64_t at = info->dlpi_addr + ph->p_vaddr;
		struct maps_range *r;

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		r = maps__find(m, at);
		assert_non_null(r);
		/* The file offset that we compute is the segment's. */
		assert_int_equal(at - r->start + r->offset, ph->p_offset);
		assert_ptr_equal(maps__find(m, at + ph->p_memsz - 1), r);
	}
	return 0;
}

static void test_own_process(void **state)
{
	int dir = open("/proc/self", O_PATH | O_DIRECTORY);
	struct maps *m = NULL;
	char *page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int on_stack;

	(void)state;
	assert_int_equal(maps__read(&ebpf_host__rights, dir, NULL, &m), 0);
	dl_iterate_phdr(check_object, m);
	assert_int_equal(maps__find(m, (uintptr_t)test_own_process)->kind, DCM_MAPPING_FILE);
	assert_int_equal(maps__find(m, (uintptr_t)page)->kind, DCM_MAPPING_ANON);
	assert_null(maps__find(m, (uintptr_t)&on_stack));
	assert_null(maps__find(m, 0));
	assert_null(maps__find(m, UINT64_MAX));
	maps__unref(m);
	munmap(page, 4096);
	close(dir);
}

static void test_kinds(void **state)
{
	struct maps *m = parse(
		"1000-2000 r-xp 00000000 08:01 12 /usr/bin/x y\n"
		"2000-3000 rw-p 00000000 08:01 12 /usr/bin/x y\n"
		"3000-4000 rwxp 00000000 00:00 0 \n"
		"4000-5000 --xp 00001000 00:00 0                  [vdso]\n"
		"5000-6000 r-xs 0000a000 00:01 7 /memfd:jit (deleted)\n"
		"6000-7000 r-xs 00000000 00:01 7 /dev/zero (deleted)\n"
		"7000-8000 r-xp 00000000 00:00 0 [anon:v8]\n"
		"8000-9000 r-xp 00000000 fe:ff 18446744073709551 /z\n"
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n");
	const uint8_t kinds[] = { DCM_MAPPING_FILE, DCM_MAPPING_ANON, DCM_MAPPING_VDSO,
				  DCM_MAPPING_FILE, DCM_MAPPING_ANON, DCM_MAPPING_ANON,
				  DCM_MAPPING_FILE, DCM_MAPPING_ANON };

	(void)state;
	assert_int_equal(m->n, 8);
	for (uint32_t i = 0; i < m->n; i++)
		assert_int_equal(m->ranges[i].kind, kinds[i]);
	assert_true(str__eq(m->ranges[0].name, STR("/usr/bin/x y")));
	assert_int_equal(m->ranges[3].offset, 0xa000);
	assert_int_equal(m->ranges[6].major, 0xfe);
	assert_int_equal(m->ranges[6].minor, 0xff);
	assert_int_equal(m->ranges[6].ino, 18446744073709551);
	assert_ptr_equal(maps__find(m, 0x1fff), &m->ranges[0]);
	assert_null(maps__find(m, 0x2000));
	/*
	 * Writable memory is not counted, nor is the vsyscall page, which is in no address space.
	 */
	assert_int_equal(m->exec_bytes, 6 * 0x1000);
	maps__unref(m);
}

static void test_takes_files(void **state)
{
	struct maps *old = parse("1000-2000 r-xp 0 8:1 1 /a\n2000-3000 r-xp 0 8:1 2 /b\n"
				 "4000-5000 r-xp 0 8:1 3 /c\n6000-7000 r-xp 0 8:1 4 /d\n");
	struct maps *new = parse("0-800 r-xp 0 8:1 9 /0\n1000-2000 r-xp 0 8:1 1 /a\n"
				 "2000-3000 r-xp 0 8:1 7 /b\n4000-5000 r-xp 0 8:1 3 /c\n"
				 "6000-7000 r-xp 0 8:1 4 /e\n8000-9000 r-xp 0 8:1 5 /f\n");
	struct file *f = calloc(1, sizeof(*f));

	(void)state;
	f->refs = 4;
	f->offer_fd = -1;
	for (uint32_t i = 0; i < old->n; i++)
		old->ranges[i].file = f;
	maps__take_files(new, old);
	for (uint32_t i = 0; i < new->n; i++)
		assert_ptr_equal(new->ranges[i].file, i == 1 || i == 3 ? f : NULL);
	assert_int_equal(f->refs, 6);
	maps__unref(old);
	maps__unref(new);
}

static void test_nonsense(void **state)
{
	const char *const lines[] = {
		"",
		"\n\n\n",
		"x",
		"1000",
		"1000-",
		"1000-2000",
		"1000-2000 r-xp",
		"2000-1000 r-xp 0 0:0 0 \n",
		"1000-1000 r-xp 0 0:0 0 \n",
		"1000-2000 r-xp g 0:0 0 \n",
		"1000-2000 r-xp 0 0 0 \n",
		"11111111111111111-2 r-xp 0 0:0 0 \n",
		"1000-2000 r-x",
		"1000-2000 r-xpp 0 0:0 0 \n",
		"1000-2000 r-xp 0 0:0 99999999999999999999999 /x\n",
	};
	static char text[6000];
	struct maps *m;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		m = parse(lines[i]);
		assert_int_equal(m->n, 0);
		maps__unref(m);
	}
	/* A line that is longer than any path is left out, and the next one is read. */
	memset(text, 'a', sizeof(text));
	memcpy(text, "1000-2000 r-xp 0 0:0 1 /", 24);
	strncpy(text + 5000, "\n3000-4000 r-xp 0 0:0 1 /b\n", 100);
	m = parse(text);
	assert_int_equal(m->n, 1);
	assert_int_equal(m->ranges[0].start, 0x3000);
	maps__unref(m);
	/* What does not ascend would break the search. */
	m = parse("3000-4000 r-xp 0 0:0 0 \n1000-2000 r-xp 0 0:0 0 \n3800-5000 r-xp 0 0:0 0 \n");
	assert_int_equal(m->n, 1);
	maps__unref(m);
}

/* The same text in pieces of any size, with bytes changed at random. */
static void test_pieces(void **state)
{
	struct random r = { 1 };
	char text[4096], name[32];
	size_t n = 0;

	(void)state;
	for (unsigned i = 1; n < sizeof(text) - 200; i++) {
		snprintf(name, sizeof(name), i % 3 ? "/lib/x%u.so" : "[%u]", i / 4);
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      "%x000-%x000 r-%cp %08x 08:01 %u %s\n", i * 2, i * 2 + 1,
				      i % 4 ? 'x' : '-', i << 12, i % 3 ? i : 0, name);
	}
	for (int round = 0; round < 200; round++) {
		struct maps *whole, *pieces;

		if (round)
			text[random__below(&r, n)] = (char)random__below(&r, 256);
		whole = parse_in_pieces(text, n, n);
		pieces = parse_in_pieces(text, n, 1 + random__below(&r, 50));
		assert_int_equal(whole->n, pieces->n);
		for (uint32_t i = 0; i < whole->n; i++) {
			assert_int_equal(whole->ranges[i].start, pieces->ranges[i].start);
			assert_true(str__eq(whole->ranges[i].name, pieces->ranges[i].name));
			if (i)
				assert_true(whole->ranges[i].start >= whole->ranges[i - 1].end);
		}
		maps__unref(whole);
		maps__unref(pieces);
	}
}

static void test_bounded(void **state)
{
	struct maps_parser p;
	struct maps *m;
	char line[128];

	(void)state;
	assert_int_equal(maps__parse_begin(&p), 0);
	for (uint64_t i = 1; i <= MAPS_RANGES + 10; i++) {
		int n = snprintf(line, sizeof(line), "%llx000-%llx800 r-xp 0 0:0 0 \n",
				 (unsigned long long)i, (unsigned long long)i);

		maps__parse(&p, line, (size_t)n);
	}
	assert_int_equal(maps__parse_end(&p, &m), 0);
	assert_int_equal(m->n, MAPS_RANGES);
	assert_true(m->cut);
	for (uint64_t i = 1; i <= MAPS_RANGES; i++) {
		assert_ptr_equal(maps__find(m, i << 12), &m->ranges[i - 1]);
		assert_null(maps__find(m, (i << 12) + 0x800));
	}
	maps__unref(m);
}

static void test_gone(void **state)
{
	struct maps *m = NULL;
	int dir = open("/", O_PATH | O_DIRECTORY);

	(void)state;
	assert_int_equal(maps__read(&ebpf_host__rights, dir, NULL, &m), -ESRCH);
	close(dir);
	/* Kernel threads have none. */
	dir = open("/proc/2", O_PATH | O_DIRECTORY);
	if (dir < 0 || geteuid() != 0)
		skip_because("needs root and /proc/2, kthreadd");
	assert_int_equal(maps__read(&ebpf_host__rights, dir, NULL, &m), -ENODATA);
	close(dir);
}

static int texts[2]; /* a pipe: what there is to be read */

static int open_text(const struct dcm_host *host, const struct dcm_guarded *g)
{
	(void)host;
	(void)g;
	return dup(texts[0]);
}

/* So many lines of mappings in the pipe, and no more to come if `ends`. */
static void write_lines(uint32_t n, bool ends)
{
	char line[64];

	assert_int_equal(pipe2(texts, O_CLOEXEC), 0);
	for (uint32_t i = 1; i <= n; i++) {
		int len = snprintf(line, sizeof(line), "%x000-%x000 r-xp 00000000 00:00 0 \n", i, i + 1);

		assert_int_equal(write(texts[1], line, (size_t)len), len);
	}
	if (ends)
		close(texts[1]);
}

/* Time that is over ends the reading of what goes on, and takes nothing of what is complete. */
static void test_patience(void **state)
{
	struct dcm_host host = { .open_guarded = open_text };
	struct errands *errands = errands__new("maps", 60 * INT64_C(1000000000));
	struct maps_reader reader = { .errands = errands, .patience_ns = 0, .pid = 1 };
	struct maps *m = NULL;

	(void)state;
	write_lines(10, true);
	assert_int_equal(maps__read(&host, -1, &reader, &m), 0);
	assert_int_equal(m->n, 10);
	maps__unref(m);
	close(texts[0]);
	write_lines(1000, true);
	assert_int_equal(maps__read(&host, -1, &reader, &m), -ETIMEDOUT);
	close(texts[0]);
	reader.patience_ns = 60 * INT64_C(1000000000);
	write_lines(1000, true);
	assert_int_equal(maps__read(&host, -1, &reader, &m), 0);
	assert_int_equal(m->n, 1000);
	maps__unref(m);
	close(texts[0]);
	errands__free(errands);
}

/* Whose mappings hang is silent; who is not read because those of others do is not. */
static void test_others_hang(void **state)
{
	struct dcm_host host = { .open_guarded = open_text };
	struct errands *errands = errands__new("maps", 1000000);
	struct maps_reader reader = { .errands = errands, .patience_ns = 60 * INT64_C(1000000000) };
	struct maps *m = NULL;

	(void)state;
	write_lines(0, false);
	for (reader.pid = 1; errands__stat(errands).n_stuck < ERRANDS_STUCK_MAX; reader.pid++)
		assert_true(maps__read(&host, -1, &reader, &m) < 0);
	assert_int_equal(maps__read(&host, -1, &reader, &m), -EAGAIN);
	reader.pid--;
	assert_int_equal(maps__read(&host, -1, &reader, &m), -ETIMEDOUT);
	close(texts[1]);
	close(texts[0]);
	errands__free(errands);
}

static void test_no_memory(void **state)
{
	static const char text[] = "1000-2000 r-xp 0 8:1 1 /a\n2000-3000 r-xp 0 8:1 2 /b\n"
				   "4000-5000 r-xp 0 8:1 3 /c\n";

	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct maps_parser p;
		struct maps *m = NULL;
		int r = maps__parse_begin(&p);

		if (r == 0) {
			maps__parse(&p, text, sizeof(text) - 1);
			r = maps__parse_end(&p, &m);
		}
		failmalloc__disarm();
		if (r == 0) {
			assert_int_equal(m->n, 3);
			maps__unref(m);
			continue;
		}
		assert_int_equal(r, -ENOMEM);
		assert_null(m);
	}
}

/* What the kernel told and what /proc shows are held against each other by name, which in /proc says that the file went. */
static void test_same_file(void **state)
{
	struct maps_range told = { .ino = 7, .generation = 1, .is_told = true, .name = STR("/lib/a.so") };
	struct maps_range later = told, shown = { .ino = 7, .name = STR("/lib/a.so (deleted)") };

	(void)state;
	assert_true(maps_range__same_file(&told, &shown));
	assert_true(maps_range__same_file(&shown, &told));
	later.generation = 2;
	assert_false(maps_range__same_file(&told, &later));
	shown.name = STR("/lib/b.so");
	assert_false(maps_range__same_file(&told, &shown));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_process), cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_takes_files), cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_pieces),	    cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_gone),	    cmocka_unit_test(test_same_file),
		cmocka_unit_test(test_patience),    cmocka_unit_test(test_others_hang),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests_name("ebpf_maps", tests, NULL, NULL);
}
