/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/programs/bpf_spin.c - spends its time in a BPF program of its own, which it has the kernel run
 *
 *	bpf_spin SECONDS [NAME]
 *
 * main > run > (the kernel) > bpf_prog_TAG_NAME, which is "spins". Needs CAP_BPF.
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

enum { N_ADDITIONS = 4000 };

static struct bpf_insn code[N_ADDITIONS + 2];

static int load(const char *name)
{
	static const char license[] = "Apache-2.0";
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	union bpf_attr a;
	int n = 0;

	/* Before Linux 5.11 programs counted as locked memory. */
	setrlimit(RLIMIT_MEMLOCK, &all);
	code[n++] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K };
	while (n <= N_ADDITIONS)
		code[n++] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_ADD | BPF_K, .imm = 1 };
	code[n++] = (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT };
	memset(&a, 0, sizeof(a));
	a.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
	a.insns = (uintptr_t)code;
	a.insn_cnt = (uint32_t)n;
	a.license = (uintptr_t)license;
	strncpy(a.prog_name, name, sizeof(a.prog_name) - 1);
	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &a, sizeof(a));
}

/* The caller of what the kernel runs; not inlined, and no tail call. */
__attribute__((noinline)) static int run(int program)
{
	static char packet[64];
	union bpf_attr a;
	long status;

	memset(&a, 0, sizeof(a));
	a.test.prog_fd = (uint32_t)program;
	a.test.data_in = (uintptr_t)packet;
	a.test.data_size_in = sizeof(packet);
	a.test.repeat = 20000;
	status = syscall(SYS_bpf, BPF_PROG_TEST_RUN, &a, sizeof(a));
	return status < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	int program = load(argc > 2 ? argv[2] : "spins");

	if (program < 0) {
		perror("bpf");
		return 1;
	}
	while (time(NULL) < end)
		if (run(program) < 0) {
			perror("run");
			return 1;
		}
	return 0;
}
