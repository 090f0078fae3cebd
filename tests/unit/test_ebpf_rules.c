/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_rules.c - unwind rules of files that have gone make room for others
 */
#include "tests/unit/ebpf_memory.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "plugins/input/ebpf/tables/state.h"

/* Rules of files that are gone fill the dictionary, as on a machine that builds all day. */
static void fill_dictionary(struct tables *t)
{
	static struct unwind_rule rules[DICTIONARY_NEW + 1];
	static uint16_t numbers[DICTIONARY_NEW + 1];
	static int16_t turn;

	for (int n = 0; n < 200 && dictionary__room(&t->rules) > 8; n++) {
		turn++;
		for (int i = 1; i <= DICTIONARY_NEW; i++)
			rules[i] = (struct unwind_rule){ .cfa = UNWIND_CFA_SP, .off = turn, .cfa_off = i };
		assert_int_equal(dictionary__numbers(&t->rules, rules, DICTIONARY_NEW + 1, numbers), 0);
	}
}

static int add_libc(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	if (strstr(info->dlpi_name, "libc.so"))
		*(int *)ctx = open(info->dlpi_name, O_RDONLY | O_CLOEXEC);
	return 0;
}

/* Has it compiled, and waits until that is done. */
static struct tables_stat add(struct tables *t, const char *name, int fd)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	struct tables_stat s;

	assert_int_equal(tables__file(t, name, fd), 0);
	for (int i = 0; i < 60000; i++) {
		s = tables__stat(t);
		if (s.builds >= s.n_files)
			return s;
		nanosleep(&ms, NULL);
	}
	fail_msg("tables were not built within a minute");
	return s;
}

static void test_rules_of_the_gone_make_room(void **state)
{
	struct ebpf_memory *m = calloc(1, sizeof(*m));
	struct tables_memory memory = ebpf_memory__of(m);
	struct tables *t = tables__new(&memory, 4 << 20);
	int libc = -1, self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct tables_stat stat;
	uint64_t refused;

	(void)state;
	dl_iterate_phdr(add_libc, &libc);
	if (libc < 0)
		skip_because("no C library of its own");
	fill_dictionary(t);
	refused = tables__stat(t).rules_refused;
	assert_int_equal(tables__start(t), 0);
	stat = add(t, "first", self);
	assert_int_equal(stat.n_ready, 1);
	assert_int_equal(stat.rules_refused, refused);
	assert_in_range(stat.n_rules, 10, TABLES_RULES / 8);
	assert_true(m->recycled > 0);
	/* Not at every turn: what finds no room within a minute is counted. */
	fill_dictionary(t);
	refused = tables__stat(t).rules_refused;
	stat = add(t, "libc", libc);
	assert_int_equal(stat.n_ready, 2);
	assert_true(stat.rules_refused > refused);
	/* A minute later it has some, and what nobody has used goes. */
	m->epoch += 6;
	refused = stat.rules_refused;
	stat = add(t, "again", libc);
	assert_int_equal(stat.evictions, 2);
	assert_int_equal(stat.n_ready, 1);
	assert_int_equal(stat.rules_refused, refused);
	assert_in_range(stat.n_rules, 10, TABLES_RULES / 8);
	tables__free(t);
	close(libc);
	close(self);
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules_of_the_gone_make_room),
	};

	return cmocka_run_group_tests_name("ebpf_rules", tests, NULL, NULL);
}
