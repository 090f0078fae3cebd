/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/programs/bpf_updates.c - spends its time in bpf(2), updating a map
 *
 *	bpf_updates SECONDS [control]
 *
 * For the time of an update the kernel runs no program of a perf event on that CPU, so that much of what this does
 * has no samples. With `control` it does a system call of no such effect. Seconds are of CPU time, half a minute of the
 * clock at most. Needs CAP_BPF.
 */
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { KEY_BYTES = 512, VALUE_BYTES = 30000, N_ENTRIES = 64 };

static char key[KEY_BYTES], value[VALUE_BYTES];

static int make_map(void)
{
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	union bpf_attr a;

	/* Before Linux 5.11 maps counted as locked memory. */
	setrlimit(RLIMIT_MEMLOCK, &all);
	memset(&a, 0, sizeof(a));
	a.map_type = BPF_MAP_TYPE_HASH;
	a.key_size = KEY_BYTES;
	a.value_size = VALUE_BYTES;
	a.max_entries = N_ENTRIES;
	return (int)syscall(SYS_bpf, BPF_MAP_CREATE, &a, sizeof(a));
}

static void update(int map, int i)
{
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	key[0] = (char)(i % N_ENTRIES);
	a.map_fd = (uint32_t)map;
	a.key = (uintptr_t)key;
	a.value = (uintptr_t)value;
	syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &a, sizeof(a));
}

static double seconds_used(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
	int is_control = argc > 2, map = make_map();
	time_t end = time(NULL) + 30;

	if (map < 0) {
		perror("bpf");
		return 1;
	}
	while (seconds_used() < seconds && time(NULL) < end)
		for (int i = 0; i < 200; i++) {
			if (is_control)
				syscall(SYS_getppid);
			else
				update(map, i);
		}
	/* What it has had, for who compares. */
	printf("%.3f\n", seconds_used());
	return 0;
}
