/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_mapped.c - what is cut off a mapped file reads as zeroes, and nobody else's
 * SIGBUS is touched
 */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/plugin/mapped.h"
#include "tests/unit/unit.h"

enum { PAGES = 5, MANY = 600 };

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* A file of PAGES pages, each of another byte, without a name. */
static int make_file(void)
{
	char path[] = "/tmp/decima-mapped.XXXXXX", *page = malloc(page_bytes());
	int fd = mkstemp(path);

	assert_true(fd >= 0 && page);
	unlink(path);
	for (int i = 0; i < PAGES; i++) {
		memset(page, 'a' + i, page_bytes());
		assert_int_equal(write(fd, page, page_bytes()), page_bytes());
	}
	free(page);
	return fd;
}

static sigjmp_buf escape;
static volatile sig_atomic_t n_escaped;

static void on_sigbus(int number)
{
	(void)number;
	n_escaped++;
	siglongjmp(escape, 1);
}

static struct sigaction ours; /* what the first mapping installed */

/* cmocka sets a handler of its own before each test. */
static void use_ours(void)
{
	assert_int_equal(sigaction(SIGBUS, &ours, NULL), 0);
}

static void test_a_file_that_is_cut_off_reads_as_zeroes(void **state)
{
	const uint64_t before = mapped__n_lost();
	const size_t page = page_bytes();
	const uint8_t *p;
	int fd = make_file();
	(void)state;

	use_ours();
	assert_int_equal(mapped__add(fd, PAGES * page, &p), 0);
	assert_int_equal(p[4 * page], 'e');
	assert_int_equal(ftruncate(fd, (off_t)(2 * page)), 0);
	assert_int_equal(p[3 * page + 17], 0);
	assert_int_equal(p[3 * page], 0);
	assert_int_equal(p[PAGES * page - 1], 0);
	assert_int_equal(p[page], 'b');
	assert_int_equal(mapped__n_lost(), before + 2);
	close(fd);
	mapped__remove(p, PAGES * page);
}

static void test_many_files_come_and_go(void **state)
{
	static const uint8_t *maps[MANY];
	const size_t page = page_bytes();
	int fd = make_file();
	(void)state;

	use_ours();
	for (int i = 0; i < MANY; i++)
		assert_int_equal(mapped__add(fd, PAGES * page, &maps[i]), 0);
	for (int i = 0; i < MANY; i += 2)
		mapped__remove(maps[i], PAGES * page);
	assert_int_equal(ftruncate(fd, 0), 0);
	for (int i = 1; i < MANY; i += 2) {
		assert_int_equal(maps[i][page], 0);
		mapped__remove(maps[i], PAGES * page);
	}
	close(fd);
	assert_true(mapped__add(-1, page, &maps[0]) < 0);
}

/* Of a mapping that is not ours, who had the signal before gets it. */
static void test_the_signal_of_others_is_passed_on(void **state)
{
	const size_t page = page_bytes();
	int fd = make_file();
	const uint64_t before = mapped__n_lost();
	volatile const uint8_t *p = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, 0);
	(void)state;

	use_ours();
	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(ftruncate(fd, 0), 0);
	n_escaped = 0;
	if (sigsetjmp(escape, 1) == 0)
		fail_msg("%d was read from a file without bytes", p[0]);
	assert_int_equal(n_escaped, 1);
	assert_int_equal(mapped__n_lost(), before);
	munmap((void *)(uintptr_t)p, page);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_file_that_is_cut_off_reads_as_zeroes),
		cmocka_unit_test(test_many_files_come_and_go),
		cmocka_unit_test(test_the_signal_of_others_is_passed_on),
	};
	struct sigaction mine = { .sa_handler = on_sigbus };

	const uint8_t *p;
	int fd = make_file();

	sigaction(SIGBUS, &mine, NULL);
	if (mapped__add(fd, page_bytes(), &p) < 0)
		return 1;
	mapped__remove(p, page_bytes());
	close(fd);
	sigaction(SIGBUS, NULL, &ours);
	return cmocka_run_group_tests_name("mapped", tests, NULL, NULL);
}
