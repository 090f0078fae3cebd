/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_pulse.c - an event that runs is alive, one that was turned off is not
 *
 * What the kernel does when a CPU goes away, turn its events off for good, is tried out by
 * tests/kernels/guest/cpus.sh.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plugins/input/ebpf/pulse.h"
#include "tests/unit/unit.h"

/* Of this thread, so that no right is needed; -1: not even that is to be had. */
static int open_own(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.read_format = PULSE_READ_FORMAT,
		.exclude_kernel = 1,
		.disabled = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void test_pulse(void **state)
{
	struct pulse p = { 0 };
	int fd = open_own();

	(void)state;
	if (fd < 0)
		skip_because("no perf event can be opened here");
	/* Never on. */
	assert_false(pulse__beats(&p, fd));
	assert_int_equal(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	for (int i = 0; i < 100; i++)
		assert_true(pulse__beats(&p, fd));
	assert_int_equal(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	pulse__beats(&p, fd); /* for the moment before it was off */
	assert_false(pulse__beats(&p, fd));
	assert_int_equal(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	assert_true(pulse__beats(&p, fd));
	close(fd);
}

static void test_what_cannot_be_read(void **state)
{
	struct pulse p = { 0 };
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(pulse__beats(&p, fd));
	assert_true(pulse__beats(&p, -1));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pulse),
		cmocka_unit_test(test_what_cannot_be_read),
	};

	return cmocka_run_group_tests_name("ebpf_pulse", tests, NULL, NULL);
}
